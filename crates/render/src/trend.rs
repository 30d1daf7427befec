//! A history on a terminal: the runs, each figure's levels, where they changed, the gate.

use crate::figure_series::{TITLES, left_out_lines, name_cells, value_cell};
use crate::format::format_change;
use crate::header::moment;
use crate::table::{Side as Column, Table};
use crate::tone::Tone;
use crate::versus::{Line, escape_lines, gate, join_first};
use kvdyno_analysis::answers::trend::{Levels, Trend};
use kvdyno_analysis::judge::versus::{BIAS, Verdict};
use kvdyno_record::units;

/// More runs with changes than this are only counted.
const RUNS_MAX: usize = 12;

/// The lines above the table.
pub fn header(trend: &Trend) -> Vec<Line> {
    let (first, last) = (trend.runs.first(), trend.runs.last());
    let span = first.zip(last).map_or_else(String::new, |(first, last)| {
        let (from, to) = (moment(first.started_unix_ns), moment(last.started_unix_ns));
        format!(", {} ({from}) to {} ({to})", first.label, last.label)
    });
    let runs = format!("{} of {}{span}", units::pluralize(trend.runs.len(), "run"), trend.suite);
    let mut lines =
        vec![(Tone::Strong, "history", runs), (Tone::Strong, "machine", trend.machine.clone())];
    lines.extend(left_out_lines(&trend.left_out));
    escape_lines(lines)
}

/// A line for each figure: the level it has now, the newest run, its last change.
pub fn table(trend: &Trend) -> Table {
    let titles = [
        ("runs", Column::Right),
        ("first level", Column::Right),
        ("level now", Column::Right),
        ("newest", Column::Right),
        ("last change", Column::Left),
    ];
    let mut table = Table::new(TITLES.into_iter().chain(titles));
    for series in &trend.figures {
        let Levels { changes, levels, .. } = &series.judgement;
        let ends = [levels.first().copied(), levels.last().copied()];
        let newest = series.values.last().copied().flatten();
        let numbers = ends.into_iter().chain([newest]).map(|value| value_cell(series, value));
        let change = changes.last().map_or_else(
            || "-".to_owned(),
            |change| {
                format!("{} at {}", format_change(change.ratio), trend.runs[change.run_index].label)
            },
        );
        let mut row = Vec::from(name_cells(series));
        row.push(series.values.iter().flatten().count().to_string());
        row.extend(numbers.chain([change]));
        table.row(&row);
    }
    table
}

/// How to read the table.
pub fn reading_aid(trend: &Trend) -> String {
    format!(
        "Levels are medians of runs between two changes. A change is where the runs before and \
         after differ by more than {} and by more than chance (E-divisive, p < 0.001).",
        list_shares(trend)
    )
}

/// The shares that tell two levels apart: `1 %`; with counted instructions `0.1 % or 1 %`.
fn list_shares(trend: &Trend) -> String {
    let mut shares: Vec<f64> = trend.figures.iter().map(|series| series.judgement.least).collect();
    shares.sort_by(f64::total_cmp);
    shares.dedup();
    if shares.is_empty() {
        shares.push(BIAS);
    }
    shares.into_iter().map(units::percent).collect::<Vec<_>>().join(" or ")
}

/// The lines below the table: changes by run, the newest first, and the gate.
pub fn footer(trend: &Trend) -> Vec<Line> {
    let by_run = trend.changes_by_run();
    let mut lines: Vec<Line> = by_run
        .iter()
        .take(RUNS_MAX)
        .map(|(at, changes)| {
            let run = &trend.runs[*at];
            let worse = changes.iter().any(|(_, change)| change.verdict == Verdict::Regressed);
            let tone = if worse { Tone::Bad } else { Tone::Good };
            let changes: Vec<String> = changes
                .iter()
                .map(|(series, change)| {
                    format!("{} {}", series.name(), format_change(change.ratio))
                })
                .collect();
            let differs = if run.differs.is_empty() {
                String::new()
            } else {
                format!(" ({})", run.differs.join("; "))
            };
            (tone, "changed", format!("{}{differs}: {}", run.label, join_first(&changes)))
        })
        .collect();
    match by_run.len().checked_sub(RUNS_MAX) {
        Some(more @ 1..) => {
            lines.push((
                Tone::Strong,
                "changed",
                format!("and at {}", units::pluralize(more, "more run")),
            ));
        }
        _ if by_run.is_empty() => {
            let text = "no figure changed its level".to_owned();
            lines.push((Tone::Good, "changed", text));
        }
        _ => {}
    }
    let words = [
        "nothing is worse than the last stable level by more than",
        "worse than the last stable level by more than",
        "whether anything is worse than the last stable level by more than",
    ];
    let words = words.map(str::to_owned);
    lines.extend(trend.gate.as_ref().map(|result| gate(result, &words)).unwrap_or_default());
    escape_lines(lines)
}
