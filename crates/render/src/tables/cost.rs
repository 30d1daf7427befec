//! The cost table: what a phase took, all roles together.

use super::super::table::{Side, Table};
use super::number::{mebibytes, microseconds, ratio, trials, whole};
use super::{Axes, Cells, Titled, runs};
use kvdyno_analysis::catalogue as c;
use kvdyno_analysis::group::several;
use kvdyno_analysis::group::{Group, RunRow};
use kvdyno_analysis::summary::Summary;

const COST_AID: &str = "\
Costs are the whole process's and the device's, so of all client groups together: /op is per
operation of any, background work and the load generator included. reads, read and written are of
the whole device, not this process alone. write amp: device bytes / bytes of keys and values.
cached: share of the database in the page cache before > after. data:RAM: allocated bytes / RAM
limit in force (without one: the machine's memory). --wide: context switches, read amp, faults,
flushes, latency and queue of the device.";

const SWAP_AID: &str = "
swap in, swap out: read from and written to the swap that was made for the case.";

/// A line for each measured phase.
pub(super) fn cost(summary: &Summary, axes: &Axes, wide: bool) -> Titled {
    use Side::{Left, Right};
    let phases = several(runs(summary).map(|(_, run)| run.phase.as_str()));
    let mut columns = axes.columns();
    columns.push(("threads", Right));
    if phases {
        columns.push(("phase", Left));
    }
    columns.extend([("CPU\nus/op", Right), ("CPU\n%", Right)]);
    if wide {
        columns.push(("ctx\n/op", Right));
    }
    columns.extend([("reads\n/op", Right), ("read\nKB/op", Right), ("written\nKB/op", Right)]);
    if wide {
        columns.push(("read\namp", Right));
    }
    columns.extend([
        ("write\namp", Right),
        ("space\namp", Right),
        ("cached\n%", Right),
        ("data\n:RAM", Right),
        ("RSS\nMiB", Right),
    ]);
    if wide {
        columns.extend([
            ("faults\nmajor", Right),
            ("writes\n/op", Right),
            ("written\nMiB", Right),
            ("read\nMiB", Right),
            ("flushes", Right),
            ("busy\n%", Right),
            ("queue", Right),
            ("read\nus", Right),
            ("write\nus", Right),
            ("flush\nus", Right),
            ("stolen\n%", Right),
            ("n", Right),
        ]);
    }
    let swaps = runs(summary).any(|(_, run)| run.metrics.get(&c::SWAP_IN_BYTES_PER_OP).is_some());
    if swaps {
        columns.extend([("swap in\nKB/op", Right), ("swap out\nKB/op", Right)]);
    }
    let mut table = Table::new(columns);
    for (group, run) in runs(summary) {
        let mut cells = axes.cells(group);
        let own = run.roles.iter().map(|role| role.threads).sum();
        cells.push(group.threads.unwrap_or(own).to_string());
        if phases {
            cells.push(run.phase.clone());
        }
        cells.extend(cost_cells(&mut table, group, run, wide));
        if swaps {
            cells.extend(swap_cells(&mut table, group, run));
        }
        table.row(&cells);
    }
    let swap_aid = if swaps { SWAP_AID } else { "" };
    let aid = format!("{COST_AID}{swap_aid}");
    Titled { name: "cost", title: "Cost of the run, all client groups together", table, aid }
}

/// Nothing where a case has no swap of its own: nothing is missing there.
fn swap_cells(table: &mut Table, group: &Group, run: &RunRow) -> [String; 2] {
    let mut row = Cells::new(table, group, &run.metrics, &c::CPU_PER_OP);
    [&c::SWAP_IN_BYTES_PER_OP, &c::SWAP_OUT_BYTES_PER_OP].map(|definition| {
        let had = run.metrics.get(definition).is_some();
        if had { row.figure(definition, |bytes| ratio(bytes / 1e3)) } else { String::new() }
    })
}

fn cost_cells(table: &mut Table, group: &Group, run: &RunRow, wide: bool) -> Vec<String> {
    let metrics = &run.metrics;
    let mut row = Cells::new(table, group, metrics, &c::CPU_PER_OP);
    let cached = |row: &mut Cells<'_>| match [&c::RESIDENT_BEFORE, &c::RESIDENT_AFTER]
        .map(|d| metrics.value(d))
    {
        [Some(before), Some(after)] => format!("{before:.0} > {after:.0}"),
        _ => row.figure(&c::RESIDENT_AFTER, whole),
    };
    let mut main = row.main(|ns| ratio(ns / 1e3));
    if let Some(why) = &run.different_mix {
        main += &format!(" {}", row.table.footnotes.mark(&format!("not to be compared: {why}")));
    }
    let mut cells = vec![main, row.figure(&c::CPU_PERCENT, whole)];
    if wide {
        cells.push(row.figure(&c::SWITCHES_PER_OP, ratio));
    }
    cells.extend([
        row.figure(&c::DEVICE_READS_PER_OP, ratio),
        row.figure(&c::DEVICE_READ_BYTES_PER_OP, |bytes| ratio(bytes / 1e3)),
        row.figure(&c::DEVICE_WRITE_BYTES_PER_OP, |bytes| ratio(bytes / 1e3)),
    ]);
    if wide {
        cells.push(row.figure(&c::READ_AMPLIFICATION, ratio));
    }
    cells.extend([
        row.figure(&c::WRITE_AMPLIFICATION, ratio),
        row.figure(&c::SPACE_AMPLIFICATION, ratio),
        cached(&mut row),
        row.figure(&c::DATA_TO_RAM, ratio),
        row.figure(&c::RSS_PEAK, mebibytes),
    ]);
    if wide {
        cells.extend([
            row.figure(&c::FAULTS_MAJOR, whole),
            row.figure(&c::DEVICE_WRITES_PER_OP, ratio),
            row.figure(&c::DEVICE_WRITE_BYTES, mebibytes),
            row.figure(&c::DEVICE_READ_BYTES, mebibytes),
            row.figure(&c::DEVICE_FLUSHES, whole),
            row.figure(&c::DEVICE_BUSY, ratio),
            row.figure(&c::DEVICE_QUEUE, ratio),
            row.figure(&c::DEVICE_READ_LATENCY, microseconds),
            row.figure(&c::DEVICE_WRITE_LATENCY, microseconds),
            row.figure(&c::DEVICE_FLUSH_LATENCY, microseconds),
            row.figure(&c::STEAL, ratio),
            trials(metrics.get(&c::WALL)),
        ]);
    }
    cells
}
