//! A block of rows under one heading: a label, a cell for each engine, and how they compare.

use super::line::{COLUMNS_MAX, Line, cut};
use crate::tone::Tone;
use crate::versus::INTERVAL_MAX;
use kvdyno_analysis::figures::catalogue as c;
use kvdyno_analysis::figures::group::Group;
use kvdyno_analysis::figures::metric::Metric;
use kvdyno_analysis::figures::ratio::format_factor;
use kvdyno_analysis::figures::relative::{RelativeTo, Significance};
use kvdyno_analysis::judge::versus::least;
use kvdyno_record::units;

/// Columns of a row's label.
const LABEL: usize = 23;

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

/// Of what is counted per second.
pub(super) const RATE: Than = ("more", "fewer");

/// Of times and costs.
pub(super) const TIME: Than = ("higher", "lower");

/// How the first of two figures compares with the second: `2.5x more (1.3-4.3)`.
pub(super) fn versus(
    (group, one): (&Group, &Metric),
    (other_group, other): (&Group, &Metric),
    than: Than,
) -> String {
    let Some(relative) = RelativeTo::between("", (other_group, other), (group, one)) else {
        return String::new();
    };
    if relative.reason.is_some() {
        return "not comparable".to_owned();
    }
    let RelativeTo { ratio, verdict, .. } = relative;
    if ratio <= 0.0 {
        return String::new();
    }
    let turned = ratio < 1.0;
    let word = if turned { than.1 } else { than.0 };
    let upward = |ratio: f64| if turned { 1.0 / ratio } else { ratio };
    let text = format!("{}x {word}", factor(upward(ratio)));
    // Other figures describe: they have a ratio, and no verdict.
    let primary = [&c::OPS_PER_S, &c::RECORDS_PER_S, &c::INSTRUCTIONS_PER_OP];
    let primary = primary.iter().any(|figure| figure.name == one.name);
    let ends = relative.low.zip(relative.high);
    match (verdict, ends.filter(|(low, high)| high / low <= INTERVAL_MAX)) {
        (_, Some((low, high))) if !primary => format!("{text} ({})", range(low, high, turned)),
        (Significance::NotDistinguishable, _) if relative.decided => {
            let counted = one.name == c::INSTRUCTIONS_PER_OP.name;
            let within = if counted { least(one.name) } else { group.within };
            format!("equal within {}", units::percent(within))
        }
        (Significance::NotDistinguishable, _) => "undecided".to_owned(),
        (Significance::SpreadUnknown, _) => match one.n.min(other.n) {
            1 => format!("{text} (1 trial)"),
            n => format!("{text} ({n} trials)"),
        },
        (_, Some((low, high))) => format!("{text} ({})", range(low, high, turned)),
        (_, None) => text,
    }
}

/// `1.3-4.3`; of a ratio that was turned over, so is its interval.
fn range(low: f64, high: f64, turned: bool) -> String {
    let (least, most) = if turned { (1.0 / high, 1.0 / low) } else { (low, high) };
    format!("{}-{}", factor(least), factor(most))
}

fn factor(ratio: f64) -> String {
    format_factor(ratio, ratio)
}
