//! The tables of a run on a terminal: what the load took, what each role got, what that cost.

use super::catalogue as c;
use super::group::{Group, LoadRow, OpRow, RoleRow, RunRow};
use super::metric::{Definition, Metric, Metrics};
use super::summary::Summary;
use super::table::{Side, Table};
use crate::units;

/// A table with its title and how to read it.
#[derive(Clone, Debug)]
pub struct Titled {
    /// Its name in file names: `load`.
    pub name: &'static str,
    /// What it is.
    pub title: String,
    /// The table.
    pub table: Table,
    /// How to read it, in lines.
    pub aid: &'static str,
}

/// Every table that has rows.
pub fn all(summary: &Summary, wide: bool) -> Vec<Titled> {
    let axes = Axes::of(&summary.groups);
    let tables = [load(summary, &axes, wide), run(summary, &axes, wide), cost(summary, &axes, wide)];
    tables.into_iter().filter(|titled| !titled.table.is_empty()).collect()
}

const LOAD_AID: &str = "\
wall includes the final sync. CPU % = (user + sys) / wall: over 100 is work in background threads,
under 100 is waiting. FS in and out are getrusage's 512-byte units: out counts pages made dirty, not
what the drive wrote, and is here because studies quote it. device written and write amp (device
bytes / bytes of keys and values) cover load and settle, up to the end of a sync; the drive's own
writes come on top. x base: records/s over the first engine's of the same durability class.";

const RUN_AID: &str = "\
Medians over trials; spread is the range of the median (of six trials and more its 95 % interval,
else the extremes). Percentiles are of all trials' operations together, and are left out where fewer
than ten samples lie beyond. Readers and writer ran side by side in the same window. x base: ops/s
over the first engine's of the same durability class; ~ they cannot be told apart; ? one trial only.";

const OPEN_AID: &str = "\
service: from the start of a call. response: from its scheduled start, so that waiting counts.";

const COST_AID: &str = "\
Costs are the whole process's and the device's, so they are of all roles together: /op is per
operation of any role, background work and the harness included. write amp and read amp: device
bytes / bytes of keys and values. cached: share of the database in the page cache before > after.
data:RAM: allocated bytes / RAM limit in force (without one: the machine's memory).";

/// The load table, with the columns of the studies.
fn load(summary: &Summary, axes: &Axes, wide: bool) -> Titled {
    use Side::Right;
    let mut columns = axes.columns();
    columns.extend([
        ("wall", Right),
        ("user", Right),
        ("sys", Right),
        ("CPU\n%", Right),
        ("size", Right),
        ("ctx\nvol", Right),
        ("ctx\ninvol", Right),
        ("FS in", Right),
        ("FS out", Right),
        ("FS out\n/record", Right),
        ("device\nwritten", Right),
        ("write\namp", Right),
        ("settle", Right),
        ("records/s", Right),
        ("x base", Right),
    ]);
    if wide {
        columns.extend([
            ("of it\nload", Right),
            ("of it\nsettle", Right),
            ("sync", Right),
            ("device\nread", Right),
            ("space\namp", Right),
            ("faults\nmajor", Right),
            ("RSS\npeak", Right),
            ("n", Right),
        ]);
    }
    let mut table = Table::new(columns);
    for group in &summary.groups {
        if let Some(load) = &group.load {
            let mut cells = axes.cells(group);
            cells.extend(load_cells(&mut table, group, load, wide));
            table.row(cells);
        }
    }
    Titled { name: "load", title: "Load".to_owned(), table, aid: LOAD_AID }
}

fn load_cells(table: &mut Table, group: &Group, load: &LoadRow, wide: bool) -> Vec<String> {
    let metrics = &load.metrics;
    let mut figure = |definition: &Definition, format: fn(f64) -> String| {
        table.figure(metrics, definition, format)
    };
    let mut cells = vec![
        or_trouble(group, metrics, &c::WALL, figure(&c::WALL, clock)),
        figure(&c::CPU_USER, clock),
        figure(&c::CPU_SYSTEM, clock),
        figure(&c::CPU_PERCENT, whole),
        figure(&c::DATABASE_ALLOCATED, bytes),
        figure(&c::SWITCHES_VOLUNTARY, whole),
        figure(&c::SWITCHES_INVOLUNTARY, whole),
        figure(&c::FS_INPUTS, whole),
        figure(&c::FS_OUTPUTS, whole),
        figure(&c::FS_OUTPUTS_PER_RECORD, ratio),
        figure(&c::DEVICE_WRITE_BYTES, bytes),
        figure(&c::WRITE_AMPLIFICATION, ratio),
        figure(&c::SETTLE_WALL, time),
        figure(&c::RECORDS_PER_S, grouped),
        load.beside.as_ref().map_or_else(|| "-".to_owned(), super::comparison::Beside::cell),
    ];
    if wide {
        cells.extend([
            figure(&c::DEVICE_WRITE_BYTES_LOAD, bytes),
            figure(&c::DEVICE_WRITE_BYTES_SETTLE, bytes),
            figure(&c::SYNC_WALL, time),
            figure(&c::DEVICE_READ_BYTES, bytes),
            figure(&c::SPACE_AMPLIFICATION, ratio),
            figure(&c::FAULTS_MAJOR, whole),
            figure(&c::RSS_PEAK, bytes),
            trials(metrics.get(&c::WALL)),
        ]);
    }
    cells
}

/// The run table: what each role got.
fn run(summary: &Summary, axes: &Axes, wide: bool) -> Titled {
    use Side::{Left, Right};
    let rows = || summary.groups.iter().flat_map(|group| group.runs.iter().map(move |r| (group, r)));
    let open = rows().any(|(_, run)| run.roles.iter().any(|role| role.open_loop));
    let phases = several(rows().map(|(_, run)| run.phase.as_str()));
    let mut columns = axes.columns();
    columns.push(("threads", Right));
    if phases {
        columns.push(("phase", Left));
    }
    columns.extend([("role", Left), ("op", Left), ("ops/s", Right), ("spread", Right)]);
    columns.push(("x base", Right));
    if open {
        columns.push(("time", Left));
    }
    columns.extend([
        ("p50", Right),
        ("p99", Right),
        ("p99.9", Right),
        ("p99.99", Right),
        ("max", Right),
    ]);
    if wide {
        columns.extend([
            ("mean", Right),
            ("p90", Right),
            ("items/s", Right),
            ("found\n%", Right),
            ("errors", Right),
            ("backlog", Right),
            ("n", Right),
        ]);
    }
    let mut table = Table::new(columns);
    for (group, run) in rows() {
        for role in &run.roles {
            let lines = RoleLines { group, run, role, axes, phases, open, wide };
            lines.add(&mut table);
        }
    }
    let aid = if open { OPEN_AID } else { RUN_AID };
    Titled { name: "run", title: "Run: what each role got".to_owned(), table, aid }
}

/// The lines of one role: itself, its response times, its operations.
struct RoleLines<'s> {
    group: &'s Group,
    run: &'s RunRow,
    role: &'s RoleRow,
    axes: &'s Axes,
    phases: bool,
    open: bool,
    wide: bool,
}

const SERVICE: [&Definition; 7] = [
    &c::SERVICE_P50,
    &c::SERVICE_P99,
    &c::SERVICE_P999,
    &c::SERVICE_P9999,
    &c::SERVICE_MAX,
    &c::SERVICE_MEAN,
    &c::SERVICE_P90,
];

const RESPONSE: [&Definition; 7] = [
    &c::RESPONSE_P50,
    &c::RESPONSE_P99,
    &c::RESPONSE_P999,
    &c::RESPONSE_P9999,
    &c::RESPONSE_MAX,
    &c::SERVICE_MEAN,
    &c::RESPONSE_P90,
];

impl RoleLines<'_> {
    fn add(&self, table: &mut Table) {
        let role = self.role;
        self.line(table, &role.mix, &role.metrics, &SERVICE, "service");
        if role.open_loop {
            self.line(table, &role.mix, &role.metrics, &RESPONSE, "response");
        }
        for OpRow { op, metrics, .. } in &role.ops {
            self.line(table, &format!("  {op}"), metrics, &SERVICE, "service");
        }
    }

    fn line(
        &self,
        table: &mut Table,
        op: &str,
        metrics: &Metrics,
        times: &[&Definition; 7],
        kind: &str,
    ) {
        let (group, role) = (self.group, self.role);
        let mut cells = self.axes.cells(group);
        cells.push(group.threads.unwrap_or(role.threads).to_string());
        if self.phases {
            cells.push(self.run.phase.clone());
        }
        cells.extend([role.role.clone(), op.to_owned()]);
        let ops = table.figure(metrics, &c::OPS_PER_S, grouped);
        cells.push(or_trouble(group, metrics, &c::OPS_PER_S, ops));
        cells.push(spread(metrics.get(&c::OPS_PER_S)));
        let whole_role = op == role.mix;
        let beside = role.beside.as_ref().filter(|_| whole_role);
        cells.push(beside.map_or_else(|| "-".to_owned(), super::comparison::Beside::cell));
        if self.open {
            cells.push(if role.open_loop { kind.to_owned() } else { "service".to_owned() });
        }
        let mut figure = |definition: &Definition| table.figure(metrics, definition, time);
        cells.extend(times[..5].iter().map(|definition| figure(definition)));
        if self.wide {
            cells.extend(times[5..].iter().map(|definition| figure(definition)));
            cells.extend([
                table.figure(metrics, &c::ITEMS_PER_S, grouped),
                table.figure(metrics, &c::FOUND, |percent| format!("{percent:.2}")),
                table.figure(metrics, &c::ERRORS, whole),
                table.figure(metrics, &c::BACKLOG, whole),
                trials(metrics.get(&c::OPS_PER_S)),
            ]);
        }
        table.row(cells);
    }
}

/// The cost table: what a phase took, all roles together.
fn cost(summary: &Summary, axes: &Axes, wide: bool) -> Titled {
    use Side::{Left, Right};
    let rows = || summary.groups.iter().flat_map(|group| group.runs.iter().map(move |r| (group, r)));
    let phases = several(rows().map(|(_, run)| run.phase.as_str()));
    let mut columns = axes.columns();
    columns.push(("threads", Right));
    if phases {
        columns.push(("phase", Left));
    }
    columns.extend([
        ("CPU\nus/op", Right),
        ("CPU\n%", Right),
        ("ctx\n/op", Right),
        ("device\nreads/op", Right),
        ("KB read\n/op", Right),
        ("KB written\n/op", Right),
        ("read\namp", Right),
        ("write\namp", Right),
        ("space\namp", Right),
        ("cached %", Right),
        ("data:RAM", Right),
        ("RSS\npeak", Right),
    ]);
    if wide {
        columns.extend([
            ("faults\nmajor", Right),
            ("device\nwrites/op", Right),
            ("device\nwritten", Right),
            ("device\nread", Right),
            ("flushes", Right),
            ("busy\n%", Right),
            ("queue", Right),
            ("stolen\n%", Right),
            ("n", Right),
        ]);
    }
    let mut table = Table::new(columns);
    for (group, run) in rows() {
        let mut cells = axes.cells(group);
        let own = run.roles.iter().map(|role| role.threads).sum();
        cells.push(group.threads.unwrap_or(own).to_string());
        if phases {
            cells.push(run.phase.clone());
        }
        cells.extend(cost_cells(&mut table, group, run, wide));
        table.row(cells);
    }
    let title = "Cost of the run, all roles together".to_owned();
    Titled { name: "cost", title, table, aid: COST_AID }
}

fn cost_cells(table: &mut Table, group: &Group, run: &RunRow, wide: bool) -> Vec<String> {
    let metrics = &run.metrics;
    let mut figure = |definition: &Definition, format: fn(f64) -> String| {
        table.figure(metrics, definition, format)
    };
    let cached = match [&c::RESIDENT_BEFORE, &c::RESIDENT_AFTER].map(|d| metrics.value(d)) {
        [Some(before), Some(after)] => format!("{before:.0} > {after:.0}"),
        _ => figure(&c::RESIDENT_AFTER, whole),
    };
    let mut cells = vec![
        or_trouble(group, metrics, &c::CPU_PER_OP, figure(&c::CPU_PER_OP, |ns| ratio(ns / 1e3))),
        figure(&c::CPU_PERCENT, whole),
        figure(&c::SWITCHES_PER_OP, ratio),
        figure(&c::DEVICE_READS_PER_OP, ratio),
        figure(&c::DEVICE_READ_BYTES_PER_OP, |bytes| ratio(bytes / 1e3)),
        figure(&c::DEVICE_WRITE_BYTES_PER_OP, |bytes| ratio(bytes / 1e3)),
        figure(&c::READ_AMPLIFICATION, ratio),
        figure(&c::WRITE_AMPLIFICATION, ratio),
        figure(&c::SPACE_AMPLIFICATION, ratio),
        cached,
        figure(&c::DATA_TO_RAM, ratio),
        figure(&c::RSS_PEAK, bytes),
    ];
    if wide {
        cells.extend([
            figure(&c::FAULTS_MAJOR, whole),
            figure(&c::DEVICE_WRITES_PER_OP, ratio),
            figure(&c::DEVICE_WRITE_BYTES, bytes),
            figure(&c::DEVICE_READ_BYTES, bytes),
            figure(&c::DEVICE_FLUSHES, whole),
            figure(&c::DEVICE_BUSY, ratio),
            figure(&c::DEVICE_QUEUE, ratio),
            figure(&c::STEAL, ratio),
            trials(metrics.get(&c::WALL)),
        ]);
    }
    cells
}

/// What tells groups apart: the engine and its durability class always, the rest where it differs.
struct Axes {
    data: bool,
    ram: bool,
}

impl Axes {
    fn of(groups: &[Group]) -> Self {
        Self {
            data: several(groups.iter().map(data)),
            ram: several(groups.iter().map(|group| group.ram_limit_bytes)),
        }
    }

    fn columns(&self) -> Vec<(&'static str, Side)> {
        let mut columns = vec![("engine", Side::Left), ("durability", Side::Left)];
        if self.data {
            columns.push(("data", Side::Right));
        }
        if self.ram {
            columns.push(("RAM", Side::Right));
        }
        columns
    }

    fn cells(&self, group: &Group) -> Vec<String> {
        let mut cells = vec![group.label.clone(), group.durability.as_str().to_owned()];
        if self.data {
            cells.push(data(group));
        }
        if self.ram {
            cells.push(group.ram_limit_bytes.map_or_else(|| "all".to_owned(), units::bytes));
        }
        cells
    }
}

/// The data of a group in a few words: `80 M x 16+4000`.
pub(super) fn data(group: &Group) -> String {
    let records = units::count(group.records);
    format!("{records} x {}+{}", group.key_bytes, group.value_bytes_mean)
}

fn several<T: PartialEq>(mut values: impl Iterator<Item = T>) -> bool {
    let first = values.next();
    values.any(|value| Some(value) != first)
}

/// The main figure's cell; where no trial has one, how they ended.
fn or_trouble(group: &Group, metrics: &Metrics, main: &Definition, cell: String) -> String {
    match (group.trouble(), metrics.value(main)) {
        (Some(trouble), None) => trouble,
        (Some(trouble), Some(_)) => format!("{cell} ({trouble})"),
        (None, _) => cell,
    }
}

/// How far the range of a figure lies around it: `-3 +5 %`.
fn spread(metric: Option<&Metric>) -> String {
    let Some(metric) = metric.filter(|metric| metric.n > 1) else { return "-".to_owned() };
    match (metric.value.filter(|value| *value > 0.0), metric.range()) {
        (Some(value), Some((low, high))) => {
            let percent = |end: f64| 100.0 * (end - value) / value;
            format!("{:+.0} {:+.0} %", percent(low).min(-0.0), percent(high).max(0.0))
        }
        _ => "-".to_owned(),
    }
}

fn trials(metric: Option<&Metric>) -> String {
    metric.map_or_else(|| "-".to_owned(), |metric| metric.n.to_string())
}

/// As time(1) prints it: `1:15.70`, `2:13:40.00`.
fn clock(ns: f64) -> String {
    let hundredths = (ns / 1e7).round() as u64;
    let (seconds, rest) = (hundredths / 100, hundredths % 100);
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    let seconds = seconds % 60;
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}.{rest:02}")
    } else {
        format!("{minutes}:{seconds:02}.{rest:02}")
    }
}

fn time(ns: f64) -> String {
    units::duration(ns.max(0.0) as u64)
}

fn bytes(number: f64) -> String {
    units::bytes(number.max(0.0) as u64)
}

fn grouped(number: f64) -> String {
    if number < 100.0 { ratio(number) } else { units::grouped(number.round() as u64) }
}

fn whole(number: f64) -> String {
    format!("{number:.0}")
}

/// Three digits or so: `0.012`, `1.23`, `12.3`, `1234`.
fn ratio(number: f64) -> String {
    match number.abs() {
        0.0 => "0".to_owned(),
        n if n < 0.000_5 => format!("{number:.1e}"),
        n if n < 0.1 => format!("{number:.3}"),
        n if n < 10.0 => format!("{number:.2}"),
        n if n < 100.0 => format!("{number:.1}"),
        _ => whole(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_the_studies_print_them() {
        assert_eq!(clock(710.91e9), "11:50.91");
        assert_eq!(clock(8_020e9), "2:13:40.00");
        assert_eq!(clock(59.999e9), "1:00.00");
        assert_eq!(
            [0.0, 0.000_04, 0.0123, 1.234, 12.34, 1234.5].map(ratio),
            ["0", "4.0e-5", "0.012", "1.23", "12.3", "1234"]
        );
    }
}
