//! The run table: what each role got.

use super::column::CellSource::{OverBase, Range, Role, Tail, Time, Verdict};
use super::column::{Column, Kind, column, export_column, figure, main, sheet, text};
use super::lead::count;
use super::row::Row;
use super::row::engine_phases;
use crate::cell::Cell;
use crate::format::{Show, format_spread, ratio_cell, trials};
use kvdyno_analysis::figures::catalogue as c;
use kvdyno_analysis::figures::findings::Id;
use kvdyno_record::column::ColumnName as Asked;
use kvdyno_record::hlog::Kind as Clock;

const AID: &str = "\
Medians over trials, of percentiles too, each trial's own; spread is the range of the median (of
six trials and more its 95 % interval, else the extremes). A percentile is left out where fewer
than ten samples lie beyond it, in a trial by itself and in all of them together. A group that does
several operations has them of each (--wide: of all together, too). Readers and writer ran side by
side in the same window. threads: the role's own, @ the number swept. vs.: ops/s over the
first engine's of the same durability class; = equal; ~ undecided; ? fewer than four trials.";

const OPEN_AID: &str = "
service: from the start of a call. response: from its scheduled start, so that waiting counts.";

const SHARED_AID: &str = "
Rows of one engine took turns on one database, in this order: the later ones found it older, written
to by those before. What looks like an effect of threads may be one of age.";

/// A row for each role and each of its operations.
pub(super) static KIND: Kind = Kind {
    name: "run",
    title: "Run: what each role got",
    sheet: "Run",
    always: true,
    csv: true,
    engines: true,
    main: Some(&c::OPS_PER_S),
    columns: COLUMNS,
    rows: |summary| engine_phases(summary).into_iter().flat_map(Row::roles).collect(),
    // The response times of an open loop have a line of their own.
    lines: |row, wide| match row.role.filter(|(_, role)| role.open_loop) {
        Some(_) if wide || !row.is_pooled() => vec![*row, Row { clock: Clock::Response, ..*row }],
        _ => vec![*row],
    },
    aid: |summary, rows, shown| {
        let shared = summary.findings.iter().any(|finding| finding.id == Id::DatabaseShared);
        format!(
            "{AID}{}{}{}",
            shown.volume_note(rows),
            if shown.open { OPEN_AID } else { "" },
            if shared { SHARED_AID } else { "" }
        )
    },
};

const COLUMNS: &[Column] = &[
    text("threads", |line| line.own_threads()),
    export_column("", "threads", "threads", |row| count(row.threads())),
    text("phase", |line| line.row.phase.to_owned()).left_aligned().when(|shown| shown.phases),
    export_column("clients", "role", "role", |row| Cell::text_or_empty(row.role_name()))
        .left_aligned(),
    text("op", |line| {
        let op = if line.shown.wide { line.row.op_or_all() } else { line.row.op() };
        format!("{}{op}", if line.row.op.is_some() { "  " } else { "" })
    })
    .left_aligned(),
    export_column("", "op", "operation", |row| Cell::text(row.op_or_all())),
    figure(&c::OPERATIONS, "", "operations"),
    figure(&c::WINDOW, "took\ns", "window, s").optional(Asked::Took),
    figure(&c::RATE_WINDOW, "", "rate window, s"),
    main(&c::OPS_PER_S, "ops/s", "ops/s").formula("{operations}/{rate window, s}"),
    figure(&c::BURST_OPS_PER_S, "burst\nops/s", "burst, ops/s").wide_only(),
    text("spread\n%", |line| format_spread(line.row.metric(&c::OPS_PER_S))),
    sheet("ops/s, low end of range", Range(&c::OPS_PER_S, |(low, _)| low)),
    sheet("ops/s, high end of range", Range(&c::OPS_PER_S, |(_, high)| high)),
    text("vs.\n{base}", |line| ratio_cell(line.row.relative())),
    text("vs.\nvol", |line| ratio_cell(line.row.relative_volume())).when(|shown| shown.volume),
    sheet("vs. base", OverBase(|over| Some(over.ratio))),
    sheet("vs. base, low", OverBase(|over| over.low)),
    sheet("vs. base, high", OverBase(|over| over.high)),
    sheet("verdict vs. base", Verdict),
    text("time", |line| line.row.clock.as_str().to_owned()).left_aligned().when(|shown| shown.open),
    column(Time(0), "p50\nus", "", ""),
    column(Time(2), "p95\nus", "", "").optional(Asked::P95),
    column(Time(3), "p99\nus", "", ""),
    column(Time(4), "p99.9\nus", "", ""),
    column(Time(5), "p99.99\nus", "", ""),
    column(Time(6), "max\nus", "", ""),
    column(Tail(0), "> 1 ms\n%", "", "").optional(Asked::Over1Ms),
    column(Tail(1), "> 2 ms\n%", "", "").optional(Asked::Over2Ms),
    column(Tail(2), "> 4 ms\n%", "", "").optional(Asked::Over4Ms),
    column(Tail(3), "rms\nus", "", "").optional(Asked::Rms),
    column(Tail(4), "dev\nus", "", "").optional(Asked::Deviation),
    figure(&c::SERVICE_MAX, "", "service max, us"),
    sheet("service time, s summed", Role(|_, op| op.service_ns as f64 / 1e9)).show(Show::Ratio),
    figure(&c::SERVICE_MEAN, "mean\nus", "service mean, us")
        .formula("{service time, s summed}*1000000/{operations}")
        .wide_only(),
    column(Time(1), "p90\nus", "", "").wide_only(),
    sheet("records or keys", Role(|_, op| op.items as f64)),
    figure(&c::ITEMS_PER_S, "items/s", "records or keys/s")
        .formula("{records or keys}/{rate window, s}")
        .optional(Asked::ItemsPerS),
    sheet("keys found", Role(|_, op| op.hits as f64)),
    sheet("keys missing", Role(|_, op| op.misses as f64)),
    figure(&c::FOUND, "found\n%", "found, %")
        .formula("100*{keys found}/({keys found}+{keys missing})")
        .wide_only(),
    figure(&c::WRONG, "", "wrong values"),
    figure(&c::ERRORS, "errors", "errors").wide_only(),
    figure(&c::RETRIES, "retries", "retries").wide_only(),
    sheet("keys+values read, B", Role(|_, op| op.read_bytes as f64)),
    sheet("keys+values written, B", Role(|_, op| op.write_bytes as f64)),
    figure(&c::USER_BYTES_PER_S, "MB/s", "keys+values, MB/s")
        .formula("({keys+values read, B}+{keys+values written, B})/1000000/{rate window, s}")
        .optional(Asked::MbPerS),
    figure(&c::OFFERED_OPS_PER_S, "", "offered, ops/s"),
    figure(&c::BACKLOG, "backlog", "backlog, ops").wide_only(),
    text("n", |line| trials(line.row.metric(&c::OPS_PER_S))).wide_only(),
];
