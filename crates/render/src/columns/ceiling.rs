//! How far from the drive: each engine's I/Os per second compared with the bare drive's.

use super::column::{Column, Kind, figure, main, text};
use super::line::Line;
use super::row::engine_phases;
use crate::format::{format_count, ratio};
use kvdyno_analysis::figures::catalogue as c;
use kvdyno_analysis::figures::efficiency::{CeilingCase, Efficiency};

const AID: &str = "\
reads and writes: of the whole device in the window, not this process alone. ceiling: what the raw
device gave as many in flight, by the best calls at queue depth 1 per thread (for an engine that
keeps several in flight: by any). share: the engine's I/Os a second over the ceiling's; above 110 %
it says nothing. peak: over the most that any ceiling reached. limit: what took half or more of the
time of the role with the most operations in flight, as \"Where the time went\" says it.
cached: fewer than one I/O in a hundred operations, so it is memory that was measured.";

/// A row for each measured phase of each engine; none where the run has no ceiling.
pub(super) static KIND: Kind = Kind {
    name: "ceiling",
    title: "How far from the raw device",
    sheet: "",
    always: false,
    csv: false,
    engines: true,
    main: Some(&c::DEVICE_READS_PER_S),
    columns: COLUMNS,
    rows: |summary| {
        let mut rows = engine_phases(summary);
        let asked_for = summary.groups.iter().any(|group| group.ceiling);
        rows.retain(|row| asked_for && row.efficiency().is_some());
        rows
    },
    lines: |row, _| vec![*row],
    aid: |_, _, _| AID.to_owned(),
};

const COLUMNS: &[Column] = &[
    text("threads", |line| line.threads_of_all()),
    text("phase", |line| line.row.phase.to_owned()).left_aligned().when(|shown| shown.phases),
    main(&c::DEVICE_READS_PER_S, "reads\n/s", ""),
    figure(&c::DEVICE_WRITES_PER_S, "writes\n/s", ""),
    text("I/Os\n/op", |line| efficiency_cell(line, |standing| standing.ios_per_op.map(ratio))),
    text("ceiling", |line| {
        efficiency_cell(line, |standing| standing.ceiling.as_ref().map(CeilingCase::name))
    })
    .left_aligned(),
    text("I/Os\n/s", |line| {
        efficiency_cell(line, |standing| Some(format_count(standing.ceiling.as_ref()?.ios_per_s)))
    }),
    text("share\n%", |line| {
        let share = line.figure(&c::CEILING_SHARE);
        match line.row.efficiency() {
            Some(standing) if standing.reads_alone && standing.ceiling.is_some() => {
                let note = "of reads alone: no ceiling here covers its writes";
                format!("{share} {}", line.notes.mark(note))
            }
            _ => share,
        }
    }),
    figure(&c::DRIVE_SHARE, "% of\npeak", ""),
    figure(&c::CPU_PERCENT, "CPU\n%", ""),
    text("limit", limit).left_aligned(),
    figure(&c::DEVICE_QUEUE, "queue", "").wide_only(),
    figure(&c::DEVICE_BUSY, "busy\n%", "").wide_only(),
    text("peak", |line| {
        efficiency_cell(line, |standing| standing.drive.as_ref().map(CeilingCase::name))
    })
    .left_aligned()
    .wide_only(),
    text("I/Os\n/s", |line| {
        efficiency_cell(line, |standing| Some(format_count(standing.drive.as_ref()?.ios_per_s)))
    })
    .wide_only(),
];

fn efficiency_cell(line: &Line<'_, '_>, word: fn(&Efficiency) -> Option<String>) -> String {
    line.row.efficiency().and_then(word).unwrap_or_else(|| "-".to_owned())
}

fn limit(line: &mut Line<'_, '_>) -> String {
    let Some(standing) = line.row.efficiency().filter(|_| !line.dead) else {
        return "-".to_owned();
    };
    let cached = if standing.cached { ", cached" } else { "" };
    match (standing.limit, &standing.why_no_limit) {
        (Some(limit), _) => format!("{}{cached}", limit.as_str()),
        (None, Some(why)) => format!("- {}", line.notes.mark(why)),
        (None, None) => "-".to_owned(),
    }
}
