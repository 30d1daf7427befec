//! One engine over its versions: a line for each version, a column for each rate, and the steps
//! that changed a rate.

use super::super::table::{Side, Table};
use super::line::{COLUMNS_MAX, Line, Part, cut};
use kvdyno_analysis::answers::history::{History, VersionSeries};
use kvdyno_record::units;

/// The figures that have a column.
const RATES: [&str; 2] = ["records_per_s", "ops_per_s"];

/// As many columns as fit beside each other, and as many steps as there is room for.
pub(super) fn part(history: &History, room: usize) -> Part {
    let rates: Vec<&VersionSeries> =
        history.figures.iter().filter(|series| RATES.contains(&series.figure)).collect();
    let mut columns = rates.len();
    let mut lines = lines(history, &rates[..columns]);
    while columns > 1 && lines.iter().any(|line| line.chars().count() > COLUMNS_MAX) {
        columns -= 1;
        lines = self::lines(history, &rates[..columns]);
    }
    let trials = rates.iter().map(|series| series.trials()).max().unwrap_or(0);
    let mut part: Vec<Line> = lines.into_iter().map(Line::plain).collect();
    part.push(Line::blank());
    let changes = history.changes();
    part.extend(history.sentence().map(Line::plain));
    if !changes.is_empty() {
        let text = format!("Steps that changed a rate ({trials} trials), the largest first:");
        part.push(Line::plain(text));
    }
    let fit = changes.len().min(room.saturating_sub(part.len() + 1));
    part.extend(
        changes[..fit].iter().map(|text| Line::plain(cut(&format!("  {text}"), COLUMNS_MAX))),
    );
    part.truncate(room);
    let hidden = [(changes.len() - fit, "steps"), (rates.len() - columns, "rates")];
    let hidden = hidden.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}"));
    let hidden: Vec<String> = hidden.collect();
    Part { lines: part, left_out: (!hidden.is_empty()).then(|| hidden.join(", ")) }
}

fn lines(history: &History, rates: &[&VersionSeries]) -> Vec<String> {
    let title = |series: &&VersionSeries| {
        let scope = series.scope();
        let (first, rest) = scope.split_once(' ').unwrap_or((&scope, "records"));
        (format!("{first}\n{rest}/s"), Side::Right)
    };
    let engine = (history.engine.clone(), Side::Left);
    let mut table = Table::new(std::iter::once(engine).chain(rates.iter().map(title)));
    let columns: Vec<Vec<String>> = rates.iter().map(|rate| rate.cells(units::si)).collect();
    for (index, version) in history.versions.iter().enumerate() {
        let cells = columns.iter().map(|column| column[index].clone());
        table.row(&std::iter::once(version.version.clone()).chain(cells).collect::<Vec<_>>());
    }
    table.text().lines().map(|line| line.trim_end().to_owned()).collect()
}
