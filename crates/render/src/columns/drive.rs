//! The bare drive's tables: what each job gave and cost, and how long its I/Os took.

use super::column::CellSource::{Range, Time};
use super::column::{Column, Kind, column, export_column, figure, main, sheet, text};
use super::lead::count;
use super::row::Row;
use super::row::jobs;
use crate::cell::Cell;
use crate::format::{format_spread, ratio, ratio_cell, trials};
use crate::wrap::wrap;
use kvdyno_analysis::figures::catalogue as c;
use kvdyno_analysis::figures::lists::{group_equal, unique};
use kvdyno_analysis::figures::ratio::format_ratio;
use kvdyno_record::column::ColumnName as Asked;
use kvdyno_record::hlog::Kind as Clock;
use kvdyno_record::units;

const AID: &str = "\
depth: I/Os that each thread keeps in flight; 1 waits for each. IOPS and MB/s (10^6 bytes) are of
the jobs' own calls. I/Os/op: device I/Os per call. Below 1: a cache served some. Above 1: large
calls were split, flushes made the filesystem write, or another process used the drive. CPU is the
whole process's. *: a raw-device ceiling: the limit of the engines. --wide: CPU %, context
switches, queue.";

const TIMES_AID: &str = "\
total: from the start of an I/O to its answer. submit: submission latency, until it was handed to
the kernel (fio's slat). complete: completion latency, from there to its answer (clat). A call that
waits (psync, mmap) has no such parts.";

/// A row for each job, and each kind of I/O where it has several.
pub(super) static KIND: Kind = Kind {
    name: "drive",
    title: "The drive",
    sheet: "Drive",
    always: false,
    csv: true,
    engines: false,
    main: Some(&c::OPS_PER_S),
    columns: COLUMNS,
    rows: |summary| jobs(summary).into_iter().flat_map(Row::roles).collect(),
    lines: |row, _| row.op.is_none().then_some(*row).into_iter().collect(),
    aid: |_, rows, _| [AID.to_owned(), explain_ratios(rows), ran(rows)].concat(),
};

/// How long a job's I/Os took, for each kind of I/O where a role has several.
pub(super) static TIMES: Kind = Kind {
    name: "drive-times",
    title: "The drive: how long an I/O took",
    sheet: "",
    always: false,
    csv: false,
    columns: TIME_COLUMNS,
    lines: |row, _| {
        let Some((_, role)) = row.role.filter(|(_, role)| row.op.is_some() || role.ops.is_empty())
        else {
            return Vec::new();
        };
        let clocks: &[Clock] = match role.depth {
            Some(_) => &[Clock::Submit, Clock::Completion, Clock::Service],
            None => &[Clock::Service],
        };
        clocks.iter().map(|clock| Row { clock: *clock, ..*row }).collect()
    },
    aid: |_, _, _| TIMES_AID.to_owned(),
    ..KIND
};

/// The ends of the ratio to the first volume.
fn format_interval(row: Row<'_>) -> String {
    let ends = row.relative_volume().and_then(|relative| relative.low.zip(relative.high));
    ends.map_or_else(String::new, |(low, high)| {
        format!("{} to {}", format_ratio(low, 2), format_ratio(high, 2))
    })
}

/// How to read the ratio of a job to the same job on the first volume.
fn explain_ratios(rows: &[Row<'_>]) -> String {
    let Some(relative) = rows.iter().find_map(Row::relative_volume) else { return String::new() };
    let text = format!(
        "vs. vol: IOPS over the same job's on {}, by pairs of trials (= equal, ~ undecided, ? too \
         few trials).",
        relative.base
    );
    format!("\n{}", wrap(&text, 0))
}

/// How jobs were executed: a line for each way, with its jobs.
fn ran(rows: &[Row<'_>]) -> String {
    let ways =
        rows.iter().filter_map(|row| Some((row.job()?.executed_as.as_deref()?, &row.group.label)));
    let line = |lines: Vec<(&str, &String)>| {
        let jobs = unique(lines.iter().map(|(_, label)| label.as_str()));
        let (way, _) = lines[0];
        format!("\n{}", wrap(&format!("ran as {way}: {}", jobs.join(", ")), 0))
    };
    group_equal(ways, |(a, _), (b, _)| a == b).into_iter().map(line).collect()
}

const COLUMNS: &[Column] = &[
    text("job", |line| {
        let mark = if line.row.group.ceiling { "*" } else { "" };
        format!("{}{mark}", line.row.group.label)
    })
    .left_aligned(),
    text("volume", |line| line.row.group.volume.clone().unwrap_or_default())
        .left_aligned()
        .when(|shown| shown.volumes),
    export_column("I/O", "io", "I/O", |row| Cell::text_or_empty(row.drive_io())).left_aligned(),
    export_column("calls", "method", "calls", |row| {
        Cell::text_or_empty(row.job().map(|job| &job.method))
    })
    .left_aligned(),
    export_column("", "ran", "ran as", |row| {
        Cell::text_or_empty(row.job().and_then(|job| job.executed_as.as_ref()))
    })
    .width(40),
    text("block", |line| line.row.block_bytes().map_or_else(|| "-".to_owned(), units::exact_bytes)),
    export_column("", "block_bytes", "block, B", |row| Cell::count(row.block_bytes())),
    export_column("depth", "depth", "depth", |row| {
        count(row.role.map(|(_, role)| role.depth.unwrap_or(1)))
    }),
    export_column("threads", "threads", "threads", |row| count(row.threads())),
    export_column("", "ceiling", "ceiling", |row| Cell::text(row.group.ceiling.to_string())),
    export_column("", "op", "operation", |row| Cell::text(row.op_or_all())),
    figure(&c::OPERATIONS, "", "I/Os done"),
    figure(&c::WINDOW, "", "window, s"),
    figure(&c::RATE_WINDOW, "", "rate window, s"),
    main(&c::OPS_PER_S, "IOPS", "IOPS").formula("{I/Os done}/{rate window, s}"),
    text("spread\n%", |line| format_spread(line.row.metric(&c::OPS_PER_S))),
    text("vs.\nvol", |line| ratio_cell(line.row.relative_volume())).when(|shown| shown.volumes),
    text("vs. vol\n99 %", |line| format_interval(line.row))
        .when(|shown| shown.volumes && shown.wide),
    sheet("IOPS, low end of range", Range(&c::OPS_PER_S, |(low, _)| low)),
    sheet("IOPS, high end of range", Range(&c::OPS_PER_S, |(_, high)| high)),
    text("MB/s", |line| {
        if line.row.replayed_bytes_per_s().is_some() {
            return line.figure_as(&c::USER_BYTES_PER_S, |bytes| ratio(bytes / 1e6));
        }
        let Some(bytes) = line.row.block_bytes() else { return "-".to_owned() };
        line.figure_as(&c::OPS_PER_S, |iops| ratio(iops * bytes as f64 / 1e6))
    }),
    figure(&c::CPU_PER_OP, "CPU\nus/op", "CPU, us/op"),
    // The device's I/Os of the kinds that the job makes.
    text("I/Os\n/op", |line| {
        let writes = line.row.value(&c::DEVICE_WRITES_PER_OP);
        let does = line.row.role.map(|(_, role)| role.does).unwrap_or_default();
        match (does.reads, does.writes, writes) {
            (true, true, Some(writes)) => {
                line.figure_as(&c::DEVICE_READS_PER_OP, |reads| ratio(reads + writes))
            }
            (true, false, _) => line.figure(&c::DEVICE_READS_PER_OP),
            _ => line.figure(&c::DEVICE_WRITES_PER_OP),
        }
    }),
    figure(&c::CPU_PERCENT, "CPU\n%", "CPU, %").wide_only(),
    figure(&c::SWITCHES_PER_OP, "ctx\n/op", "ctx switches/op").wide_only(),
    figure(&c::DEVICE_BUSY, "busy\n%", "device busy, %").wide_only(),
    figure(&c::DEVICE_QUEUE, "queue", "queue depth, mean").wide_only(),
    figure(&c::DEVICE_FLUSHES, "flushes", "device flushes").wide_only(),
    figure(&c::STEAL, "stolen\n%", "stolen, %").wide_only(),
    text("n", |line| trials(line.row.metric(&c::OPS_PER_S))).wide_only(),
    figure(&c::SUBMIT_P50, "", "submit p50, us"),
    figure(&c::SUBMIT_P95, "", "submit p95, us"),
    figure(&c::SUBMIT_P99, "", "submit p99, us"),
    figure(&c::COMPLETION_P50, "", "complete p50, us"),
    figure(&c::COMPLETION_P95, "", "complete p95, us"),
    figure(&c::COMPLETION_P99, "", "complete p99, us"),
    figure(&c::COMPLETION_P999, "", "complete p99.9, us"),
    figure(&c::COMPLETION_P9999, "", "complete p99.99, us"),
    figure(&c::COMPLETION_MAX, "", "complete max, us"),
    figure(&c::SERVICE_P50, "", "lat p50, us"),
    figure(&c::SERVICE_P95, "", "lat p95, us"),
    figure(&c::SERVICE_P99, "", "lat p99, us"),
    figure(&c::SERVICE_P999, "", "lat p99.9, us"),
    figure(&c::SERVICE_P9999, "", "lat p99.99, us"),
    figure(&c::SERVICE_MAX, "", "lat max, us"),
    figure(&c::ERRORS, "", "errors"),
];

const TIME_COLUMNS: &[Column] = &[
    export_column("job", "", "", |row| Cell::text(&row.group.label)).left_aligned(),
    COLUMNS[1],
    export_column("threads", "", "", |row| count(row.threads())),
    // What a drive does for an operation.
    text("I/O", |line| {
        let verb = match line.row.op() {
            "get" => "read",
            "update" | "insert" => "write",
            "delete" => "trim",
            other => other,
        };
        verb.to_owned()
    })
    .left_aligned(),
    text("time", |line| {
        let deep = line.row.role.is_some_and(|(_, role)| role.depth.is_some());
        let name = match line.row.clock {
            Clock::Submit => "submit",
            Clock::Completion => "complete",
            _ if deep => "total",
            _ => "lat",
        };
        name.to_owned()
    })
    .left_aligned(),
    column(Time(0), "p50\nus", "", ""),
    column(Time(2), "p95\nus", "", "").optional(Asked::P95),
    column(Time(3), "p99\nus", "", ""),
    column(Time(4), "p99.9\nus", "", ""),
    column(Time(5), "p99.99\nus", "", ""),
    column(Time(6), "max\nus", "", ""),
];
