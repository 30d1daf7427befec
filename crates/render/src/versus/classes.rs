//! What a stronger promise costs, as a table: a line for each engine and rate.

use super::{Line, interval, sample};
use crate::table::{Side as Column, Table};
use crate::tone::Tone;
use kvdyno_analysis::judge::versus::Row;
use kvdyno_analysis::judge::versus::classes::{ClassComparison, EngineClasses};
use kvdyno_record::text::escape_line;

const AID: &str = "\
Medians over trials. ratio: {new} over {base}, the geometric mean over pairs of trials, with its
99 % interval from four pairs on. Rates: more is better.";

/// The line above the table.
pub fn header(comparison: &ClassComparison) -> Vec<Line> {
    let [base, new] = comparison.classes.map(|class| class.as_str());
    let text = format!("durability {new} against {base} in {}", comparison.run);
    let mut lines = vec![(Tone::Strong, "compared", escape_line(&text).into_owned())];
    let mut invalid = comparison.engines.iter().map(|engine| &engine.versus.base.invalid);
    if let Some(findings) = invalid.find(|findings| !findings.is_empty()) {
        let text = format!("the figures of this run are void: {}", findings.join(", "));
        lines.push((Tone::Bad, "INVALID", escape_line(&text).into_owned()));
    }
    lines
}

/// A line for each judged figure of each engine.
pub fn table(comparison: &ClassComparison) -> Table {
    let [base, new] = comparison.classes.map(|class| class.as_str());
    let columns = [
        ("engine", Column::Left),
        ("case", Column::Left),
        ("of", Column::Left),
        ("figure", Column::Left),
        (base, Column::Right),
        (new, Column::Right),
        ("ratio", Column::Right),
        ("interval", Column::Right),
    ];
    let mut table = Table::new(columns);
    for EngineClasses { engine, versus } in &comparison.engines {
        for pair in &versus.pairs {
            for row in pair.rows.iter().filter(|row| row.primary) {
                let interval = certainty(row, &mut table);
                table.row(&[
                    engine.clone(),
                    pair.name.clone(),
                    row.scope.clone(),
                    row.figure.to_owned(),
                    sample(row, &row.base),
                    sample(row, &row.new),
                    row.ratio.map_or_else(|| "-".to_owned(), super::ratio),
                    interval,
                ]);
            }
        }
    }
    table
}

/// How to read the table.
pub fn reading_aid(comparison: &ClassComparison) -> String {
    let [base, new] = comparison.classes.map(|class| class.as_str());
    AID.replace("{base}", base).replace("{new}", new)
}

/// What was left out, and where more is to be seen.
pub fn footer(comparison: &ClassComparison) -> Vec<Line> {
    let unpaired = comparison.engines.iter().flat_map(|engine| &engine.versus.unpaired);
    let unpaired = unpaired.map(|case| format!("{}: {}", case.name, case.reason));
    let single = comparison.left_out.iter();
    let single = single.map(|label| format!("{label}: it was measured in one of the classes only"));
    let left_out = single.chain(unpaired);
    let mut lines: Vec<Line> =
        left_out.map(|text| (Tone::Warning, "left out", escape_line(&text).into_owned())).collect();
    if let Some(EngineClasses { versus, .. }) = comparison.engines.first() {
        let labels = [&versus.base, &versus.new].map(|side| side.label.as_deref().unwrap_or("-"));
        let [base, new] = labels;
        let text =
            format!("`kvdyno compare {} --engines {base},{new}`: all figures", comparison.run);
        lines.push((Tone::Strong, "more", escape_line(&text).into_owned()));
    }
    lines
}

/// `0.310 .. 0.352`, or the number of trials that are too few for it.
fn certainty(row: &Row, table: &mut Table) -> String {
    match (row.ratio_low, row.base.n.min(row.new.n)) {
        (Some(_), _) => interval(row, table),
        (None, 0) => "-".to_owned(),
        (None, 1) => "1 trial".to_owned(),
        (None, trials) => format!("{trials} trials"),
    }
}
