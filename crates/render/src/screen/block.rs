//! A block of rows under one heading: a label, a cell for each engine, and how they compare.

use super::super::footnotes::Footnotes;
use super::line::{COLUMNS_MAX, Line, cut};
use crate::tone::Tone;
use crate::versus::INTERVAL_MAX;
use kvdyno_analysis::figures::catalogue as c;
use kvdyno_analysis::figures::group::Group;
use kvdyno_analysis::figures::metric::Metric;
use kvdyno_analysis::figures::ratio::format_factor;
use kvdyno_analysis::figures::relative::{NOT_COMPARABLE, RelativeTo, Significance};
use kvdyno_analysis::judge::versus::least_difference;
use kvdyno_record::units;

/// Columns of a row's label.
const LABEL: usize = 25;

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
    /// How two engines compare; for one engine, how far its trials lie apart.
    pub(super) compared: String,
}

/// The heading over the cells.
pub(super) struct Names {
    pub(super) engines: Vec<String>,
    /// Columns of each engine's cells, the same in all blocks.
    pub(super) widths: Vec<usize>,
    /// The heading over the comparison.
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
        let mut lines = vec![Line::with_tone(Tone::Strong, word, text)];
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

/// The words for figures that are counted per second.
pub(super) const RATE: Than = ("more", "fewer");

/// The words for times and costs.
pub(super) const TIME: Than = ("higher", "lower");

/// A ratio that differs by more than this factor from that of the medians beside it has a note on
/// what it is.
const RATIOS_APART: f64 = 1.1;

const RATIO: &str = "ratio: the geometric mean over pairs of trials; the values are medians";

/// How the first of two figures compares with the second: `2.5x more (1.3-4.3)`.
pub(super) fn versus(
    (group, one): (&Group, &Metric),
    (other_group, other): (&Group, &Metric),
    than: Than,
    notes: &mut Footnotes,
) -> String {
    let Some(relative) = RelativeTo::between("", (other_group, other), (group, one)) else {
        return String::new();
    };
    if relative.reason.is_some() {
        return NOT_COMPARABLE.to_owned();
    }
    let RelativeTo { ratio, verdict, .. } = relative;
    if ratio <= 0.0 {
        return String::new();
    }
    let turned = ratio < 1.0;
    let word = if turned { than.1 } else { than.0 };
    let upward = |ratio: f64| if turned { 1.0 / ratio } else { ratio };
    let mut times = |spread: &str| {
        let medians = one.value.zip(other.value).map(|(one, other)| one / other);
        let apart = |medians: f64| (ratio / medians).ln().abs() > RATIOS_APART.ln();
        let mark = if medians.is_some_and(apart) { notes.mark(RATIO) } else { String::new() };
        let words = [format!("{}x {word}", factor(upward(ratio))), spread.to_owned(), mark];
        words.into_iter().filter(|words| !words.is_empty()).collect::<Vec<_>>().join(" ")
    };
    // Other figures describe: they have a ratio, and no verdict.
    let primary = [&c::OPS_PER_S, &c::RECORDS_PER_S, &c::INSTRUCTIONS_PER_OP, &c::RESPONSE_P99];
    let primary = primary.iter().any(|figure| figure.name == one.name);
    let ends = relative.low.zip(relative.high);
    match (verdict, ends.filter(|(low, high)| high / low <= INTERVAL_MAX)) {
        (Significance::NotDistinguishable, Some((low, high))) if !primary => {
            format!("{}-{}x", factor(low), factor(high))
        }
        (Significance::NotDistinguishable, _) if relative.decided => {
            let counted = one.name == c::INSTRUCTIONS_PER_OP.name;
            let within = if counted { least_difference(one.name) } else { group.within };
            format!("equal within {}", units::percent(within))
        }
        (Significance::NotDistinguishable, Some((low, high))) => {
            format!("undecided ({}-{}x)", factor(low), factor(high))
        }
        (Significance::NotDistinguishable, None) => "undecided".to_owned(),
        (Significance::SpreadUnknown, _) => match one.n.min(other.n) {
            1 => times("(1 trial)"),
            n => times(&format!("({n} trials)")),
        },
        (_, Some((low, high))) => times(&range(low, high, turned)),
        (_, None) => times(""),
    }
}

/// `(1.3-4.3)`; the interval of a ratio that was turned over is turned over, too.
fn range(low: f64, high: f64, turned: bool) -> String {
    let (least, most) = if turned { (1.0 / high, 1.0 / low) } else { (low, high) };
    format!("({}-{})", factor(least), factor(most))
}

fn factor(ratio: f64) -> String {
    format_factor(ratio, ratio)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_analysis::fixture::Fixture;

    /// One slow trial of four moves the mean of the pairs and hardly the median.
    #[test]
    fn a_ratio_that_is_not_that_of_the_values_beside_it_says_what_it_is() {
        let group = Fixture::with_trials(4).summary().figures.groups.remove(0);
        let metric = |values: [f64; 4]| Metric::new(&c::SERVICE_P99, values.map(Ok).to_vec());
        let base = metric([1000.0, 1010.0, 990.0, 1000.0]);
        let mut notes = Footnotes::default();
        let mut words =
            |values| versus((&group, &metric(values)), (&group, &base), TIME, &mut notes);
        assert_eq!(words([2000.0, 2020.0, 1980.0, 2000.0]), "2.0x higher (2.0-2.0)");
        let scattered = words([2000.0, 2020.0, 1980.0, 3200.0]);
        assert!(
            scattered.starts_with("2.2x higher (") && scattered.ends_with(" [1]"),
            "{scattered}"
        );
        assert_eq!(words([2000.0, 2020.0, 1980.0, 6000.0]), "0.53-13x");
        assert_eq!(notes.lines(), [format!("[1] {RATIO}")]);
    }
}
