//! The table of block I/O, where it was watched.

use super::column::{Column, Kind, text};
use super::line::Line;
use super::row::Row;
use crate::format::{microseconds, ratio};
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::figures::block_io::{IoRow, PhaseIo};
use kvdyno_analysis::figures::metric::Metrics;
use kvdyno_record::blockio::IoKind;
use kvdyno_record::units::group_digits;

const AID: &str = "\
Requests as the kernel handed them to the device's driver and had them completed, all trials
together; the wait in its scheduler before that is not in the times. ours: the worker, its server,
kvdyno. kernel: writeback, journals and flushes, on whose behalf it does not say. /write: per
operation that writes. FUA: durable without a flush. Times are within 7 %, by slots of 12.5 %; max
is the end of the slot. --wide: per operation of any role, and rows below 1 % of the requests.";

/// Rows with a smaller share of their phase's requests are left out, except flushes.
const RARE: f64 = 0.01;

/// A row for each device, kind and owner.
pub(super) static KIND: Kind = Kind {
    name: "io",
    title: "Block I/O, as the kernel saw it",
    sheet: "",
    always: false,
    csv: false,
    engines: true,
    main: None,
    columns: COLUMNS,
    rows,
    lines: |row, wide| {
        let rare = row.io.is_some_and(|(phase, io)| is_rare(phase, io));
        if wide || !rare { vec![*row] } else { Vec::new() }
    },
    aid: |summary, _, _| {
        let mut aid = AID.to_owned();
        for phase in summary.block_io.iter().filter(|phase| phase.lost + phase.lost_of_log > 0) {
            let label = summary.groups.get(phase.group).map_or("", |group| group.label.as_str());
            let (of_counts, of_log) = (group_digits(phase.lost), group_digits(phase.lost_of_log));
            aid += &format!(
                "\nLost in {} of {label}: {of_counts} requests of the counts, {of_log} lines of \
                 the log.",
                phase.phase
            );
        }
        aid
    },
};

/// The figures of rows whose numbers are not in the catalogue: none.
pub(super) static NO_FIGURES: Metrics = Metrics(Vec::new());

fn rows(summary: &Summary) -> Vec<Row<'_>> {
    let rows = summary.block_io.iter().flat_map(|phase| {
        phase.rows.iter().filter_map(move |row| {
            let group = summary.groups.get(phase.group)?;
            let of_phase = Row::new(phase.group, group, &phase.phase, &NO_FIGURES);
            Some(Row { io: Some((phase, row)), ..of_phase })
        })
    });
    rows.collect()
}

fn is_rare(phase: &PhaseIo, row: &IoRow) -> bool {
    let all: u64 = phase.rows.iter().map(|row| row.count).sum();
    row.kind != IoKind::Flush && (row.count as f64) < RARE * all as f64
}

const COLUMNS: &[Column] = &[
    text("threads", |line| line.threads_of_all()),
    text("phase", |line| line.row.phase.to_owned()).left_aligned(),
    text("device", |line| io_cell(line, |io| io.device.clone()))
        .left_aligned()
        .when(|shown| shown.devices),
    text("kind", |line| io_cell(line, |io| io.kind.as_str().to_owned())).left_aligned(),
    text("by", |line| io_cell(line, |io| io.owner.as_str().to_owned())).left_aligned(),
    text("I/Os", |line| io_cell(line, |io| group_digits(io.count))),
    text("/op", |line| io_ratio(line, |phase, _| phase.operations)).wide_only(),
    text("/write", |line| {
        io_ratio(line, |phase, io| match io.kind {
            IoKind::Write | IoKind::Metadata | IoKind::Flush => phase.writes,
            _ => 0,
        })
    }),
    text("KB", |line| io_cell(line, |io| ratio(io.bytes as f64 / io.count.max(1) as f64 / 1e3))),
    text("FUA", |line| io_cell(line, |io| group_digits(io.fua))),
    text("p50\nus", |line| io_cell(line, |io| time(io.latency_ns_p50))),
    text("p99\nus", |line| io_cell(line, |io| time(io.latency_ns_p99))),
    text("max\nus", |line| io_cell(line, |io| time(Some(io.latency_ns_max as f64)))),
];

fn io_cell(line: &Line<'_, '_>, word: fn(&IoRow) -> String) -> String {
    line.row.io.map_or_else(String::new, |(_, io)| word(io))
}

fn io_ratio(line: &Line<'_, '_>, many: fn(&PhaseIo, &IoRow) -> u64) -> String {
    let Some((phase, io)) = line.row.io else { return String::new() };
    match many(phase, io) {
        0 => "-".to_owned(),
        many => ratio(io.count as f64 / many as f64),
    }
}

fn time(ns: Option<f64>) -> String {
    ns.map_or_else(|| "-".to_owned(), microseconds)
}
