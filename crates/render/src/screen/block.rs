//! A block of rows under one heading: a label, a cell for each engine, and how they compare.

use super::line::{COLUMNS_MAX, Line, cut};
use crate::tone::Tone;
use kvdyno_analysis::metric::Metric;
use kvdyno_analysis::stats::MIN_TRIALS;

/// Columns of a row's label.
const LABEL: usize = 22;

/// Columns of an engine's name.
pub(super) const NAME_MAX: usize = 16;

/// Columns of a cell, at least.
const WIDTH_MIN: usize = 10;

/// Rows under a heading.
pub(super) struct Block {
    pub(super) title: String,
    pub(super) rows: Vec<Row>,
}

/// A row.
pub(super) struct Row {
    pub(super) label: String,
    pub(super) cells: Vec<String>,
    /// Of two engines how they compare; of one how far its trials lie apart.
    pub(super) compared: String,
}

/// The heading over the cells.
pub(super) struct Names {
    pub(super) engines: Vec<String>,
    /// Columns of each engine's cells, the same in all blocks.
    pub(super) widths: Vec<usize>,
    /// Over what compares them.
    pub(super) compared: String,
}

impl Block {
    /// A block with its heading; nothing where it has no rows.
    pub(super) fn lines(&self, names: &Names) -> Vec<Line> {
        if self.rows.is_empty() {
            return Vec::new();
        }
        let widths = &names.widths;
        let line = |label: &str, cells: &[String], compared: &str| {
            let mut text = String::new();
            for (cell, width) in cells.iter().zip(widths) {
                text += &format!(" {cell:>width$}");
            }
            if !compared.is_empty() {
                text += &format!("   {compared}");
            }
            let text = cut(text.trim_end(), COLUMNS_MAX - LABEL);
            (format!("{:<LABEL$}", cut(label, LABEL)), text)
        };
        let has_any = self.rows.iter().any(|row| !row.compared.is_empty());
        let compared = if has_any { names.compared.as_str() } else { "" };
        let (word, text) = line(&self.title, &names.engines, compared);
        let mut lines = vec![Line::marked(Tone::Strong, word, text)];
        for row in &self.rows {
            let (label, text) = line(&format!("  {}", row.label), &row.cells, &row.compared);
            lines.push(Line::plain(format!("{label}{text}")));
        }
        lines
    }
}

/// The columns that each engine's cells need in any block.
pub(super) fn widths(engines: &[String], blocks: &[Block]) -> Vec<usize> {
    let rows = || blocks.iter().flat_map(|block| &block.rows);
    let width = |at: usize| {
        let cells = rows().map(|row| row.cells[at].chars().count());
        cells.chain([engines[at].chars().count(), WIDTH_MIN]).max().unwrap_or(WIDTH_MIN)
    };
    (0..engines.len()).map(width).collect()
}

/// The words for one figure being larger and smaller than another.
pub(super) type Than = (&'static str, &'static str);

/// Of what is counted a second.
pub(super) const RATE: Than = ("more", "fewer");

/// Of times and costs.
pub(super) const TIME: Than = ("higher", "lower");

/// How the first of two figures compares with the second: `2.5x more (1.3-4.3)`.
pub(super) fn versus(one: Option<&Metric>, other: Option<&Metric>, than: Than) -> String {
    let (Some(one), Some(other)) = (one, other) else { return String::new() };
    let (Some(a), Some(b)) = (one.value.filter(|v| *v > 0.0), other.value.filter(|v| *v > 0.0))
    else {
        return String::new();
    };
    let ((high, low), word) = if a >= b { ((one, other), than.0) } else { ((other, one), than.1) };
    let ratio = f64::max(a, b) / f64::min(a, b);
    let trials = one.n.min(other.n);
    if trials < 2 {
        return format!("{}x {word} (1 trial)", times(ratio));
    }
    let (Some(of_high), Some(of_low)) = (high.range(), low.range()) else { return String::new() };
    if of_high.0 <= of_low.1 {
        return "no significant difference".to_owned();
    }
    if trials < MIN_TRIALS {
        return format!("{}x {word} ({trials} trials)", times(ratio));
    }
    let (least, most) = (of_high.0 / of_low.1, of_high.1 / of_low.0);
    format!("{}x {word} ({}-{})", times(ratio), times(least), times(most))
}

/// Two digits are enough, three where it is close.
fn times(ratio: f64) -> String {
    match ratio {
        ..1.995 => format!("{ratio:.2}"),
        ..9.95 => format!("{ratio:.1}"),
        _ => kvdyno_record::units::grouped(ratio.min(u64::MAX as f64).round() as u64),
    }
}
