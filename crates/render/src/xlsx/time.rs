//! The time sheet: where the time of each load and role went, and what it comes to.

use super::sheet::Show::{Count, Plain, Tenth};
use super::sheet::{Cell, heading};
use super::trial_table::{Column, Line, Lines, Origin, Placed, column, write};
use kvdyno_analysis::catalogue as c;
use kvdyno_analysis::explain::{Cause, Explained};
use kvdyno_analysis::summary::Summary;

const COLUMNS: [Column; 12] = [
    column("user", "CPU user, %", Tenth, Origin::Figure(&c::TIME_USER, 1.0)),
    column("system", "CPU sys, %", Tenth, Origin::Figure(&c::TIME_SYSTEM, 1.0)),
    column("runqueue", "no CPU, %", Tenth, Origin::Figure(&c::TIME_RUNQUEUE, 1.0)),
    column("device", "device, %", Tenth, Origin::Figure(&c::TIME_DEVICE, 1.0)),
    column("stall", "stall, %", Tenth, Origin::Figure(&c::TIME_STALL, 1.0)),
    column("lock", "lock, %", Tenth, Origin::Figure(&c::TIME_LOCK, 1.0)),
    column("idle", "idle, %", Tenth, Origin::Figure(&c::TIME_IDLE, 1.0)),
    column("network", "network, %", Tenth, Origin::Figure(&c::TIME_NETWORK, 1.0)),
    column("other", "other, %", Tenth, Origin::Figure(&c::TIME_OTHER, 1.0)),
    column("read", "of device: read, %", Tenth, Origin::Figure(&c::TIME_DEVICE_READ, 1.0)),
    column("write", "of device: write, %", Tenth, Origin::Figure(&c::TIME_DEVICE_WRITE, 1.0)),
    column("sync", "of device: sync, %", Tenth, Origin::Figure(&c::TIME_DEVICE_SYNC, 1.0)),
];

/// A line for each load and each role of each measured phase.
pub(super) fn sheet(summary: &Summary, groups: &Lines<'_>) -> anyhow::Result<Placed> {
    let line = |one: &'_ Explained| {
        let role = one.role.as_deref().filter(|_| !one.load).unwrap_or_default();
        vec![
            Cell::text(&one.phase),
            Cell::text(role),
            Cell::Number(one.looks as f64),
            one.cause.map_or(Cell::Empty, |cause| Cell::text(Cause::word(cause))),
            one.sentence.as_ref().map_or(Cell::Empty, Cell::text),
        ]
    };
    let lines = summary.explained.iter().map(|one| Line {
        group: one.group,
        place: None,
        about: line(one),
        phase: &one.phase,
        at: None,
        metrics: &one.metrics,
        base: None,
        beside: None,
    });
    let lines: Vec<Line<'_>> = lines.collect();
    let about = [
        heading("phase", 12, Plain),
        heading("role", 12, Plain),
        heading("looks", 8, Count),
        heading("most", 12, Plain),
        heading("in words", 60, Plain),
    ];
    write("Time", &about, &COLUMNS, groups, &lines)
}
