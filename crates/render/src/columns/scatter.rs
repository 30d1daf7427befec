//! The scatter table: why two rates are not known better, and which repeats would change that.

use super::column::{Column, Kind, text};
use super::line::Line;
use super::row::{Row, engine_phases};
use kvdyno_analysis::figures::catalogue as c;
use kvdyno_analysis::figures::scatter::Scatter;

const AID: &str = "\
scatter: the standard deviation of a trial's ratio of rates to the first engine's, by the clock.
inside: the share of its variance from within the trials, which a longer phase has less of (by the
scatter of its turns, or of its eighths). Between trials processes, databases and the machine
differ. next: the repeats that narrow the interval most in a given time.";

/// A row for each role that is compared with the first engine's.
pub(super) static KIND: Kind = Kind {
    name: "scatter",
    title: "Scatter: where it comes from",
    sheet: "",
    always: false,
    csv: false,
    engines: true,
    main: Some(&c::OPS_PER_S),
    columns: COLUMNS,
    rows: |summary| {
        let rows = engine_phases(summary).into_iter().flat_map(Row::roles);
        rows.filter(|row| row.op.is_none() && scatter(row).is_some()).collect()
    },
    lines: |row, wide| if wide { vec![*row] } else { Vec::new() },
    aid: |_, _, _| AID.to_owned(),
};

const COLUMNS: &[Column] = &[
    text("threads", |line| line.own_threads()),
    text("phase", |line| line.row.phase.to_owned()).left_aligned().when(|shown| shown.phases),
    text("pairs", |line| cell(line, |scatter| scatter.trials.to_string())),
    text("scatter\n%", |line| cell(line, |scatter| percent(scatter.deviation))),
    text("inside\n%", |line| cell(line, |scatter| percent(scatter.within_share))),
    text("parts", |line| cell(line, |scatter| scatter.windows.to_string())),
    text("next", |line| cell(line, Scatter::advice)).left_aligned(),
];

fn scatter<'s>(row: &Row<'s>) -> Option<&'s Scatter> {
    row.role?.1.scatter.as_ref()
}

fn cell(line: &Line<'_, '_>, read: impl Fn(&Scatter) -> String) -> String {
    scatter(&line.row).map(read).unwrap_or_default()
}

fn percent(share: f64) -> String {
    format!("{:.1}", share * 100.0)
}
