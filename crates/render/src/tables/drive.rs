//! The bare drive's tables: what each job gave and cost, and how long its I/Os took.

use super::super::table::{Side, Table};
use super::number::{grouped, microseconds, ratio, spread, trials, whole};
use super::{Cells, Titled};
use kvdyno_analysis::catalogue as c;
use kvdyno_analysis::group::several;
use kvdyno_analysis::group::{Does, Group, RoleRow, RunRow};
use kvdyno_analysis::job::Job;
use kvdyno_analysis::metric::{Definition, Metrics};
use kvdyno_analysis::summary::Summary;
use kvdyno_record::units;

const RATES_AID: &str = "\
depth: I/Os that each thread keeps in flight; 1 waits for each. IOPS and MB/s (10^6 bytes) are of
the jobs' own calls. I/Os/op are the device's of that kind over them: below 1 a cache served some,
above 1 large ones were cut up or others were at the drive. CPU is the whole process's. *: a
raw-device baseline, which engines are held against. --wide: CPU %, context switches, queue.";

const TIMES_AID: &str = "\
total: from the start of an I/O to its answer. submit: submission latency, until it was handed to
the kernel (fio's slat). complete: completion latency, from there to its answer (clat). A call that
waits (psync, mmap) has no such parts.";

/// Every measured phase of a bare drive, with its job: like beside like, by depth and threads. (The
/// plan's order is drawn at random.)
pub(in super::super) fn jobs(summary: &Summary) -> Vec<(&Group, &RunRow, &Job)> {
    let mut jobs: Vec<(&Group, &RunRow, &Job)> = Vec::new();
    for group in &summary.groups {
        jobs.extend(group.runs.iter().filter_map(|run| Some((group, run, run.job.as_ref()?))));
    }
    jobs.sort_by_key(|(group, _, job)| {
        (&job.io, job.block_bytes, &job.method, job.depth, group.threads, &group.label)
    });
    jobs
}

/// The same job was done on several volumes.
fn volumes(summary: &Summary) -> bool {
    several(jobs(summary).iter().map(|(group, ..)| &group.volume))
}

/// A line for each job: what it gave, and what that cost.
pub(super) fn rates(summary: &Summary, wide: bool) -> Titled {
    use Side::{Left, Right};
    let volumes = volumes(summary);
    let mut columns = vec![("job", Left)];
    columns.extend(volumes.then_some(("volume", Left)));
    columns.extend([
        ("I/O", Left),
        ("calls", Left),
        ("block", Right),
        ("depth", Right),
        ("threads", Right),
        ("IOPS", Right),
        ("spread\n%", Right),
        ("MB/s", Right),
        ("CPU\nus/op", Right),
        ("I/Os\n/op", Right),
    ]);
    if wide {
        columns.extend([
            ("CPU\n%", Right),
            ("ctx\n/op", Right),
            ("busy\n%", Right),
            ("queue", Right),
            ("flushes", Right),
            ("stolen\n%", Right),
            ("n", Right),
        ]);
    }
    let mut table = Table::new(columns);
    for (group, run, job) in jobs(summary) {
        for role in &run.roles {
            let cells = rate_cells(&mut table, group, (run, role, job), (volumes, wide));
            table.row(&cells);
        }
    }
    Titled { name: "drive", title: "The drive", table, aid: rates_aid(summary) }
}

fn rate_cells(
    table: &mut Table,
    group: &Group,
    (run, role, job): (&RunRow, &RoleRow, &Job),
    (volumes, wide): (bool, bool),
) -> Vec<String> {
    let mark = if group.ceiling { "*" } else { "" };
    let mut cells = vec![format!("{}{mark}", group.label)];
    cells.extend(group.volume.clone().filter(|_| volumes));
    cells.extend([
        job.io.clone(),
        job.method.clone(),
        units::exact_bytes(job.block_bytes),
        role.depth.unwrap_or(1).to_string(),
        role.threads.to_string(),
    ]);
    let mut row = Cells::new(table, group, &role.metrics, &c::OPS_PER_S);
    cells.push(row.main(grouped));
    cells.push(spread(role.metrics.get(&c::OPS_PER_S)));
    cells.push(row.figure(&c::OPS_PER_S, |iops| ratio(iops * job.block_bytes as f64 / 1e6)));
    let mut row = Cells::new(table, group, &run.metrics, &c::CPU_PER_OP);
    cells.extend([
        row.figure(&c::CPU_PER_OP, |ns| ratio(ns / 1e3)),
        ios_per_op(&mut row, role.does),
    ]);
    if wide {
        cells.extend([
            row.figure(&c::CPU_PERCENT, whole),
            row.figure(&c::SWITCHES_PER_OP, ratio),
            row.figure(&c::DEVICE_BUSY, ratio),
            row.figure(&c::DEVICE_QUEUE, ratio),
            row.figure(&c::DEVICE_FLUSHES, whole),
            row.figure(&c::STEAL, ratio),
            trials(role.metrics.get(&c::OPS_PER_S)),
        ]);
    }
    cells
}

/// The device's I/Os of the kinds that the job makes.
fn ios_per_op(row: &mut Cells<'_>, does: Does) -> String {
    let writes = row.metrics.value(&c::DEVICE_WRITES_PER_OP).unwrap_or(0.0);
    match (does.reads, does.writes) {
        (true, true) => row.figure(&c::DEVICE_READS_PER_OP, |reads| ratio(reads + writes)),
        (true, false) => row.figure(&c::DEVICE_READS_PER_OP, ratio),
        _ => row.figure(&c::DEVICE_WRITES_PER_OP, ratio),
    }
}

/// How to read it, and what really ran: a line for each way, with its jobs.
fn rates_aid(summary: &Summary) -> String {
    let mut ways: Vec<(&str, Vec<&str>)> = Vec::new();
    for (group, _, job) in jobs(summary) {
        let Some(ran) = job.ran.as_deref() else { continue };
        match ways.iter_mut().find(|(way, _)| *way == ran) {
            Some((_, jobs)) if jobs.contains(&group.label.as_str()) => {}
            Some((_, jobs)) => jobs.push(&group.label),
            None => ways.push((ran, vec![&group.label])),
        }
    }
    let mut aid = RATES_AID.to_owned();
    for (way, jobs) in ways {
        let line = format!("ran as {way}: {}", jobs.join(", "));
        aid += &format!("\n{}", super::super::wrap::wrap(&line, 0));
    }
    aid
}

const TIMES: [&Definition; 5] =
    [&c::SERVICE_P50, &c::SERVICE_P99, &c::SERVICE_P999, &c::SERVICE_P9999, &c::SERVICE_MAX];

const SUBMITS: [&Definition; 5] =
    [&c::SUBMIT_P50, &c::SUBMIT_P99, &c::SUBMIT_P999, &c::SUBMIT_P9999, &c::SUBMIT_MAX];

const COMPLETIONS: [&Definition; 5] = [
    &c::COMPLETION_P50,
    &c::COMPLETION_P99,
    &c::COMPLETION_P999,
    &c::COMPLETION_P9999,
    &c::COMPLETION_MAX,
];

/// Lines for each job: its times, and of each kind of I/O where it has several.
pub(super) fn times(summary: &Summary) -> Titled {
    use Side::{Left, Right};
    let volumes = volumes(summary);
    let mut columns = vec![("job", Left)];
    columns.extend(volumes.then_some(("volume", Left)));
    columns.extend([
        ("threads", Right),
        ("I/O", Left),
        ("time", Left),
        ("p50\nus", Right),
        ("p99\nus", Right),
        ("p99.9\nus", Right),
        ("p99.99\nus", Right),
        ("max\nus", Right),
    ]);
    let mut table = Table::new(columns);
    for (group, run, _) in jobs(summary) {
        for role in &run.roles {
            if role.ops.is_empty() {
                lines(&mut table, (group, volumes), verb(&role.mix), role, &role.metrics);
            }
            for op in &role.ops {
                lines(&mut table, (group, volumes), verb(&op.op), role, &op.metrics);
            }
        }
    }
    let title = "The drive: how long an I/O took";
    Titled { name: "drive-times", title, table, aid: TIMES_AID.to_owned() }
}

fn lines(
    table: &mut Table,
    (group, volumes): (&Group, bool),
    io: &str,
    role: &RoleRow,
    metrics: &Metrics,
) {
    let parts: &[(&str, &[&Definition])] = match role.depth {
        Some(_) => &[("submit", &SUBMITS), ("complete", &COMPLETIONS), ("total", &TIMES)],
        None => &[("lat", &TIMES)],
    };
    for (name, times) in parts {
        let threads = role.threads.to_string();
        let mut cells = vec![group.label.clone()];
        cells.extend(group.volume.clone().filter(|_| volumes));
        cells.extend([threads, io.to_owned(), (*name).to_owned()]);
        let mut row = Cells::new(table, group, metrics, &c::OPS_PER_S);
        cells.extend(times.iter().map(|time| row.figure(time, microseconds)));
        table.row(&cells);
    }
}

/// What a drive does for an operation.
fn verb(op: &str) -> &str {
    match op {
        "get" => "read",
        "update" | "insert" => "write",
        other => other,
    }
}
