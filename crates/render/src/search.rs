//! The curve of a search as a table: a line for each point, the easiest first.

use crate::table::{Side, Table};
use crate::wrap::wrap;
use kvdyno_analysis::answers::search::words::format_spread;
use kvdyno_analysis::answers::search::{Condition, Point, SearchResult};
use kvdyno_analysis::stats::median;
use kvdyno_record::search::Axis;
use kvdyno_record::units;

/// The curve.
pub fn curve(answer: &SearchResult) -> Table {
    let ram = answer.axis == Axis::Ram;
    let mut titles = match &answer.axis {
        Axis::Ram => vec!["RAM".to_owned(), "data\n/RAM".to_owned()],
        Axis::Rate { role } => vec![format!("offered\nto {role}"), "done".to_owned()],
    };
    titles.extend(answer.conditions.iter().map(title));
    titles.push("met".to_owned());
    let mut table = Table::new(titles.into_iter().map(|title| (title, Side::Right)));
    let points = answer.points.iter().rev();
    let points: Vec<&Point> = if ram { points.collect() } else { points.rev().collect() };
    for point in points.into_iter().chain(&answer.fastest) {
        let cells = cells(answer, point, &mut table);
        table.row(&cells);
    }
    table
}

fn title(condition: &Condition) -> String {
    let bound = condition.unit.format_value(condition.bound);
    let sign = condition.unit.sign();
    let equal = if condition.inclusive { "=" } else { "" };
    format!("{}\n{sign}{equal} {bound}", condition.about)
}

fn cells(answer: &SearchResult, point: &Point, table: &mut Table) -> Vec<String> {
    let mut cells = match (&answer.axis, point.value) {
        (Axis::Ram, value) => {
            let bytes = value.unwrap_or(0).max(1);
            let ratio = answer.user_bytes as f64 / bytes as f64;
            vec![answer.format_value(bytes), format!("{ratio:.2}")]
        }
        (Axis::Rate { .. }, value) => {
            let done: Vec<f64> = point.done_per_s.iter().flatten().copied().collect();
            let offered =
                value.map_or("closed loop".to_owned(), |value| answer.format_value(value));
            vec![offered, median(&done).map_or("-".to_owned(), units::rate)]
        }
    };
    for (condition, values) in answer.conditions.iter().zip(&point.figures) {
        let figure = if has_ranges(answer) {
            format_spread(condition, values)
        } else {
            format_median(condition, values)
        };
        cells.push(figure.unwrap_or_else(|| "-".to_owned()));
    }
    let marks: Vec<String> =
        point.whys.iter().chain(&point.void).map(|why| table.footnotes.mark(why)).collect();
    let votes = match (point.value, point.complete) {
        (None, _) => "not judged".to_owned(),
        _ if point.void.is_some() => "not judged".to_owned(),
        (_, true) => format!("{} of {}", point.met, point.trials),
        (_, false) => "not done yet".to_owned(),
    };
    cells.push([vec![votes], marks].concat().join(" "));
    cells
}

/// Whether ranges are shown: more than two are wider than a terminal.
fn has_ranges(answer: &SearchResult) -> bool {
    answer.conditions.len() <= 2
}

fn format_median(condition: &Condition, values: &[Option<f64>]) -> Option<String> {
    let values: Vec<f64> = values.iter().flatten().copied().collect();
    median(&values).map(|value| condition.unit.format_value(value))
}

/// How to read it.
pub fn reading_aid(answer: &SearchResult) -> String {
    let ranges = if has_ranges(answer) { " (and their range)" } else { "; --json has each" };
    let mut aid = format!(
        "Medians of the trials{ranges}. A point meets the target when each of its trials does."
    );
    let mut columns: Vec<&str> = Vec::new();
    for clock in answer.conditions.iter().flat_map(|condition| condition.clocks.values()) {
        if columns.contains(clock) {
            continue;
        }
        columns.push(clock);
        let roles = roles_with(answer, clock);
        aid += &match *clock {
            "response" => format!(
                " Latencies of {roles} are response times, from the moment at which an operation \
                 was due (an open loop){}.",
                if answer.fastest.is_some() {
                    "; in the closed loop service times of calls"
                } else {
                    ""
                }
            ),
            _ => format!(" Latencies of {roles} are service times of calls (a closed loop)."),
        };
    }
    wrap(&aid, 0)
}

fn roles_with(answer: &SearchResult, clock_name: &str) -> String {
    let all = answer.conditions.iter().flat_map(|condition| &condition.clocks);
    let mut roles: Vec<&str> =
        all.filter(|(_, clock)| **clock == clock_name).map(|(role, _)| role.as_str()).collect();
    roles.sort_unstable();
    roles.dedup();
    roles.join(", ")
}

#[cfg(test)]
mod tests;
