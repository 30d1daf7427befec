//! Where the time went: a line for each load and for each role of each measured phase.

use super::super::table::{Side, Table};
use super::super::wrap::wrap;
use super::number::whole;
use super::{Axes, Titled, own_threads};
use kvdyno_analysis::catalogue as c;
use kvdyno_analysis::explain::{Cause, Explained};
use kvdyno_analysis::group::Group;
use kvdyno_analysis::group::several;
use kvdyno_analysis::metric::Definition;
use kvdyno_analysis::summary::Summary;

const AID: &str = "\
Percent of the time of the load's or client group's own threads; a line adds up to 100. user, sys:
on a CPU. wait CPU: runnable, waiting for CPU. device: waiting in calls that read, write or sync
files, or for a page of a mapped file. stall: held up by the engine, by its own account. lock:
waiting for other threads. idle: a target rate with nothing due. other: anything else, and what is
not known. What a thread waited for is a sample, some twenty a second. most: what took half or more.
--wide: what the device's part is made of, and how many samples it rests on.";

pub(super) fn time(summary: &Summary, axes: &Axes, wide: bool) -> Titled {
    use Side::{Left, Right};
    let runs = || rows(summary).filter(|(_, one)| !one.load);
    let phases = several(runs().map(|(_, one)| one.phase.as_str()));
    let mut columns = axes.columns();
    columns.push(("threads", Right));
    if phases {
        columns.push(("phase", Left));
    }
    columns.push(("of", Left));
    columns.extend(PARTS.map(|(title, _)| (title, Right)));
    if wide {
        columns.extend(AT_DEVICE.map(|(title, _)| (title, Right)));
        columns.push(("samples", Right));
    }
    columns.push(("most", Left));
    let mut table = Table::new(columns);
    for (group, one) in rows(summary) {
        let mut cells = axes.cells(group);
        cells.push(if one.load {
            one.threads.to_string()
        } else {
            own_threads(one.threads, group)
        });
        if phases {
            cells.push(one.phase.clone());
        }
        cells.extend(line(&mut table, one, wide));
        table.row(&cells);
    }
    let mut aid = AID.to_owned();
    for (group, one) in
        rows(summary).filter(|(group, one)| wide && one.sentence.is_some() && group.competes())
    {
        let threads = group.threads.map_or_else(String::new, |threads| format!(" {threads}"));
        let sentence = one.sentence.as_deref().unwrap_or_default();
        aid += &format!("\n{}", wrap(&format!("{}{threads}: {sentence}.", group.label), 2));
    }
    Titled { name: "time", title: "Where the time went", table, aid }
}

fn rows(summary: &Summary) -> impl Iterator<Item = (&Group, &Explained)> {
    summary.explained.iter().filter_map(|one| Some((summary.groups.get(one.group)?, one)))
}

const PARTS: [(&str, &Definition); 8] = [
    ("user\n%", &c::TIME_USER),
    ("sys\n%", &c::TIME_SYSTEM),
    ("wait\nCPU", &c::TIME_RUNQUEUE),
    ("device\n%", &c::TIME_DEVICE),
    ("stall\n%", &c::TIME_STALL),
    ("lock\n%", &c::TIME_LOCK),
    ("idle\n%", &c::TIME_IDLE),
    ("other\n%", &c::TIME_OTHER),
];

const AT_DEVICE: [(&str, &Definition); 3] = [
    ("read\n%", &c::TIME_DEVICE_READ),
    ("write\n%", &c::TIME_DEVICE_WRITE),
    ("sync\n%", &c::TIME_DEVICE_SYNC),
];

fn line(table: &mut Table, one: &Explained, wide: bool) -> Vec<String> {
    let mut cells = vec![one.role.as_deref().unwrap_or("load").to_owned()];
    let network = one.metrics.value(&c::TIME_NETWORK).unwrap_or(0.0);
    for (_, definition) in PARTS {
        let other = std::ptr::eq(definition, &raw const c::TIME_OTHER);
        let cell = table.figure(&one.metrics, definition, |percent| {
            whole(if other { percent + network } else { percent })
        });
        cells.push(cell);
    }
    if wide {
        cells.extend(AT_DEVICE.map(|(_, part)| table.figure(&one.metrics, part, whole)));
        cells.push(one.looks.to_string());
    }
    cells.push(one.cause.map_or("-", Cause::word).to_owned());
    cells
}
