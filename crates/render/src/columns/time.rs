//! Where the time went: a row for each load and for each role of each measured phase.

use super::column::{Column, Kind, export_column, figure, text};
use super::lead::count;
use super::row::explained_rows;
use crate::cell::Cell;
use crate::format::format_integer;
use crate::wrap::wrap;
use kvdyno_analysis::figures::catalogue as c;
use kvdyno_analysis::figures::explain::Cause;

const AID: &str = "\
Percent of the time of the load's or role's own threads; a line adds up to 100. user, sys:
on a CPU. wait CPU: ready but without a CPU. device: waiting in calls that read, write or sync
files, or for a page of a mapped file. stall: held up by the engine, by its own account. lock:
waiting for other threads. idle: nothing due at the offered rate. other: anything else, and what is
not known. What a thread waited for is a sample, some twenty a second. most: what took half or more.
--wide: what the device's part is made of, and how many samples it rests on.";

pub(super) static KIND: Kind = Kind {
    name: "time",
    title: "Where the time went",
    sheet: "Time",
    always: true,
    csv: true,
    engines: true,
    main: None,
    columns: COLUMNS,
    rows: |summary| explained_rows(summary).collect(),
    lines: |row, _| vec![*row],
    aid: |_, rows, shown| {
        let mut aid = AID.to_owned();
        for row in rows.iter().filter(|row| shown.wide && row.group.competes()) {
            let Some(sentence) = row.explained.and_then(|one| one.sentence.as_ref()) else {
                continue;
            };
            let threads = row.group.threads_swept.map_or_else(String::new, |n| format!(" {n}"));
            let label = &row.group.label;
            aid += &format!("\n{}", wrap(&format!("{label}{threads}: {sentence}."), 2));
        }
        aid
    },
};

const COLUMNS: &[Column] = &[
    text("threads", |line| match line.row.explained {
        Some(one) if one.load => one.threads.to_string(),
        _ => line.own_threads(),
    }),
    text("phase", |line| line.row.phase.to_owned()).left_aligned().when(|shown| shown.phases),
    text("of", |line| line.row.role_name().unwrap_or("load").to_owned()).left_aligned(),
    export_column("", "role", "role", |row| Cell::text_or_empty(row.role_name())),
    export_column("", "threads", "threads", |row| count(row.threads())),
    figure(&c::TIME_USER, "user\n%", "CPU user, %"),
    figure(&c::TIME_SYSTEM, "sys\n%", "CPU sys, %"),
    figure(&c::TIME_RUNQUEUE, "wait\nCPU", "no CPU, %"),
    figure(&c::TIME_DEVICE, "device\n%", "device, %"),
    figure(&c::TIME_STALL, "stall\n%", "stall, %"),
    figure(&c::TIME_LOCK, "lock\n%", "lock, %"),
    figure(&c::TIME_IDLE, "idle\n%", "idle, %"),
    figure(&c::TIME_NETWORK, "", "network, %"),
    text("other\n%", |line| {
        let network = line.row.value(&c::TIME_NETWORK).unwrap_or(0.0);
        line.figure_as(&c::TIME_OTHER, |percent| format_integer(percent + network))
    }),
    figure(&c::TIME_OTHER, "", "other, %"),
    figure(&c::TIME_DEVICE_READ, "read\n%", "of device: read, %").wide_only(),
    figure(&c::TIME_DEVICE_WRITE, "write\n%", "of device: write, %").wide_only(),
    figure(&c::TIME_DEVICE_SYNC, "sync\n%", "of device: sync, %").wide_only(),
    export_column("samples", "samples", "samples", |row| {
        Cell::count(row.explained.map(|one| one.wait_samples))
    })
    .wide_only(),
    export_column("most", "cause", "most", |row| {
        Cell::text_or_empty(row.explained.and_then(|one| one.cause).map(Cause::as_str))
    })
    .left_aligned(),
    export_column("", "sentence", "in words", |row| {
        Cell::text_or_empty(row.explained.and_then(|one| one.sentence.as_ref()))
    })
    .width(60),
];
