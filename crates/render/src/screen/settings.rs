//! Engines at several settings: a line for each engine and each group of its clients in each phase
//! of a setting, as many as fit. Lines that compare engines follow each other.

use super::super::table::{Side, Table};
use super::block::NAME_MAX;
use super::contest::Contest;
use super::line::{COLUMNS_MAX, Part, cut};
use super::list::{figure, fit_table};
use kvdyno_analysis::figures::catalogue as c;
use kvdyno_analysis::figures::group::{Group, LoadRow, RoleRow, RunRow, data};
use kvdyno_analysis::figures::lists::{group_equal, has_several};
use kvdyno_analysis::figures::metric::{Definition, Metrics};
use kvdyno_analysis::figures::validity::ValidityWord;
use kvdyno_record::engine::Durability;
use kvdyno_record::units;

/// Letters of a role's name, and of a phase's.
const SHORT: usize = 16;

/// Conditions that give way to the rate and its p99; threads only where all rows have as many.
const NEEDED_LEAST: [&str; 3] = ["power loss", "durability", "threads"];

/// A group of clients of an engine at a setting, or a load that nothing was measured on.
#[derive(Clone, Copy)]
struct Row<'s> {
    group: &'s Group,
    run: Option<&'s RunRow>,
    load: Option<&'s LoadRow>,
    clients: Option<Clients<'s>>,
    /// Whether it is the first row of its phase, which has the phase's costs.
    first: bool,
}

/// A group of clients, or one of its operations.
#[derive(Clone, Copy)]
struct Clients<'s> {
    role: &'s RoleRow,
    /// The operation; none: the role has one kind.
    op: Option<&'s str>,
    metrics: &'s Metrics,
}

/// A column: its title, and what a row has in it.
struct Column<'s> {
    title: String,
    side: Side,
    cell: Box<dyn Fn(&Row<'s>) -> String + 's>,
}

/// Rows of each engine at each setting, at its largest number of threads.
pub(super) fn part(contest: &Contest<'_>, room: usize) -> Part {
    let sets = group_by_work(rows(contest));
    let rows: Vec<Row<'_>> = sets.iter().flatten().copied().collect();
    let mut columns = axes(contest, &rows);
    columns.extend(figures(&rows));
    let mut left_out: Vec<String> = Vec::new();
    let measured = contest.groups.iter().filter(|group| !group.runs.is_empty());
    if has_several(measured.map(|group| group.threads_swept)) {
        left_out.push("other numbers of threads".to_owned());
    }
    while widest(&table(&rows, &columns)) > COLUMNS_MAX && columns.len() > 2 {
        let column = columns.remove(least_needed_column(&columns, &rows));
        left_out.extend(NEEDED_LEAST.contains(&column.title.as_str()).then_some(column.title));
    }
    let table = table(&rows, &columns);
    let mut part = fit_table(&table, sets_room(&sets, &table, room), "rows");
    left_out.extend(part.left_out.take());
    left_out.push("further figures".to_owned());
    Part { left_out: Some(left_out.join("; ")), ..part.cut_lines() }
}

/// The column that gives way where the table is too wide: costs, then conditions, then figures.
fn least_needed_column<'s>(columns: &[Column<'s>], rows: &[Row<'s>]) -> usize {
    let last = columns.len() - 1;
    let times = columns.iter().position(|column| column.title.starts_with("p99"));
    if times.is_some_and(|times| times < last) {
        return last;
    }
    let is_needed = |column: &Column<'s>| has_several(rows.iter().map(|row| (column.cell)(row)));
    let find = |title: &&str| {
        let may_go = |column: &Column<'s>| {
            column.title == *title && (*title != "threads" || !is_needed(column))
        };
        columns.iter().position(may_go)
    };
    NEEDED_LEAST.iter().find_map(find).unwrap_or(last)
}

/// Returns the lines of as many whole sets as fit; where not even one fits, all the room.
fn sets_room(sets: &[Vec<Row<'_>>], table: &Table, room: usize) -> usize {
    let notes = table.footnotes.lines().len();
    let head = table.text().lines().count() - notes - table.rows().len();
    let ends = sets.iter().scan(head, |end, set| {
        *end += set.len();
        Some(*end)
    });
    let whole = ends.take_while(|end| *end <= room).last();
    if head + table.rows().len() + notes <= room { room } else { whole.unwrap_or(room) }
}

fn widest(table: &Table) -> usize {
    table.text().lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

fn table<'s>(rows: &[Row<'s>], columns: &[Column<'s>]) -> Table {
    let titles = columns.iter().map(|column| (column.title.clone(), column.side));
    let mut table = Table::new(titles);
    for row in rows {
        let cells: Vec<String> = columns.iter().map(|column| (column.cell)(row)).collect();
        table.row(&cells);
    }
    table
}

/// The conditions that a group was measured under, without its engine.
#[derive(PartialEq)]
struct Setting<'s> {
    data: (u64, u32, u64),
    ram: String,
    volume: &'s Option<String>,
    durability: Durability,
}

fn group_setting(group: &Group) -> Setting<'_> {
    Setting {
        data: group.data_sizes(),
        ram: group.ram(),
        volume: &group.volume,
        durability: group.durability,
    }
}

fn rows<'s>(contest: &Contest<'s>) -> Vec<Row<'s>> {
    let work = |group: &'s Group, run: &'s RunRow| {
        let rates: Vec<Option<u64>> = run.roles.iter().map(offered_rate).collect();
        (&group.label, group_setting(group), &run.phase, rates)
    };
    let mut measured: Vec<(&'s Group, &'s RunRow)> = Vec::new();
    for group in &contest.groups {
        for run in &group.runs {
            let same = |(other, its_run): &&mut (&'s Group, &'s RunRow)| {
                work(other, its_run) == work(group, run)
            };
            match measured.iter_mut().find(same) {
                Some(other) if other.0.threads_swept < group.threads_swept => *other = (group, run),
                Some(_) => {}
                None => measured.push((group, run)),
            }
        }
    }
    let mut rows: Vec<Row<'s>> = Vec::new();
    for (group, run) in measured {
        rows.extend(run_rows(group, run, find_load(contest, group)));
    }
    // Loads that nothing was measured on.
    for group in &contest.groups {
        let Some(load) = &group.load else { continue };
        let is_listed =
            rows.iter().any(|row| row.load.is_some_and(|other| std::ptr::eq(other, load)));
        if !is_listed {
            rows.push(Row { group, run: None, load: Some(load), clients: None, first: true });
        }
    }
    rows
}

/// A row for each group of clients and each of its operations; at least one.
fn run_rows<'s>(
    group: &'s Group,
    run: &'s RunRow,
    load: Option<&'s LoadRow>,
) -> impl Iterator<Item = Row<'s>> {
    let of_role = |role: &'s RoleRow| -> Vec<Clients<'s>> {
        let by_operation = role.metrics_by_operation();
        by_operation
            .map(|(op, metrics)| Clients { role, op: role.is_mix().then_some(op), metrics })
            .collect()
    };
    let clients: Vec<Clients<'s>> = run.roles.iter().flat_map(of_role).collect();
    let clients: Vec<Option<Clients<'s>>> =
        if clients.is_empty() { vec![None] } else { clients.into_iter().map(Some).collect() };
    clients.into_iter().enumerate().map(move |(index, clients)| Row {
        group,
        run: Some(run),
        load,
        clients,
        first: index == 0,
    })
}

fn offered_rate(role: &RoleRow) -> Option<u64> {
    role.offered_rate().map(|rate| rate.round() as u64)
}

/// The load of the same engine and setting.
fn find_load<'s>(contest: &Contest<'s>, group: &'s Group) -> Option<&'s LoadRow> {
    let is_peer = |other: &&&Group| {
        other.label == group.label && group_setting(other) == group_setting(group)
    };
    let own_load = group.load.as_ref();
    own_load.or_else(|| contest.groups.iter().filter(is_peer).find_map(|other| other.load.as_ref()))
}

/// Sets of rows that did the same work on other engines; sets and engines stay in their order.
fn group_by_work(rows: Vec<Row<'_>>) -> Vec<Vec<Row<'_>>> {
    group_equal(rows, |one, other| {
        let phase = |row: &Row<'_>| row.run.map(|run| run.phase.clone());
        let clients = |row: &Row<'_>| {
            row.clients.map(|clients| (clients.role.role.clone(), clients.op.map(str::to_owned)))
        };
        one.group.part == other.group.part
            && group_setting(one.group) == group_setting(other.group)
            && (phase(one), clients(one)) == (phase(other), clients(other))
    })
}

/// The columns that distinguish the rows.
fn axes<'s>(contest: &'s Contest<'s>, rows: &[Row<'s>]) -> Vec<Column<'s>> {
    let mut columns = vec![left_column("engine", |row| match &row.group.part {
        Some(_) => cut(row.group.engine_label(), NAME_MAX),
        None => contest.name(&row.group.label),
    })];
    let groups = || rows.iter().map(|row| row.group);
    if groups().any(|group| group.part.is_some()) {
        columns.push(left_column("part", |row| row.group.part.clone().unwrap_or_default()));
    }
    if has_several(groups().map(|group| group.volume.clone())) {
        columns.push(left_column("volume", |row| row.group.volume.clone().unwrap_or_default()));
    }
    if has_several(groups().map(data)) {
        columns.push(left_column("data", |row| data(row.group)));
    }
    if has_several(groups().map(Group::ram)) || groups().any(|group| !group.is_held()) {
        columns.push(left_column("RAM", move |row| {
            let not = if row.group.is_held() { "" } else { " NOT HELD" };
            format!("{}{not}", row.group.ram())
        }));
    }
    if has_several(groups().map(|group| group.durability)) {
        columns.push(left_column("durability", |row| row.group.durability.as_str().to_owned()));
    }
    if has_several(groups().map(|group| group.power_loss)) {
        columns.push(left_column("power loss", |row| row.group.power_loss_in_words().to_owned()));
    }
    if has_several(rows.iter().map(|row| row.run.map(|run| run.phase.as_str()))) {
        columns.push(left_column("phase", |row| {
            row.run.map_or_else(|| "load".to_owned(), |run| cut(&run.phase, SHORT))
        }));
    }
    if rows.iter().any(|row| row.run.is_some()) {
        let threads = |row: &Row<'s>| {
            let threads = row.run.map(|run| row.group.phase_threads(run));
            threads.map_or_else(|| "-".to_owned(), |threads| threads.to_string())
        };
        columns.push(right_column("threads", threads));
    }
    columns
}

/// The clients with their rate and their p99, the rate of the load, and the costs.
fn figures<'s>(rows: &[Row<'s>]) -> Vec<Column<'s>> {
    let mut columns: Vec<Column<'s>> = Vec::new();
    let clients = || rows.iter().filter_map(|row| row.clients);
    if has_several(clients().map(|clients| (&clients.role.role, clients.op))) {
        columns.push(left_column("clients", |row| match row.clients {
            Some(Clients { role, op: Some(op), .. }) => {
                let letters = SHORT.saturating_sub(op.len() + 1).max(SHORT / 2);
                format!("{} {op}", cut(&role.role, letters))
            }
            Some(Clients { role, .. }) => cut(&role.role, SHORT),
            None => "-".to_owned(),
        }));
    }
    let rated = clients().any(|clients| clients.role.open_loop);
    if rated {
        columns.push(right_column("offered/s", |row| {
            let role = row.clients.map(|clients| clients.role);
            role.and_then(offered_rate).map_or_else(|| "-".to_owned(), units::group_digits)
        }));
    }
    columns.push(right_column("ops/s", |row| {
        let rate = figure(row.group, row.clients.map(|clients| clients.metrics), &c::OPS_PER_S);
        let measured = row.clients.filter(|clients| clients.metrics.value(&c::OPS_PER_S).is_some());
        let validity = measured.and_then(|clients| clients.role.validity.as_ref());
        match validity.map(|validity| validity.word) {
            Some(ValidityWord::Burst) => format!("{rate} burst"),
            Some(ValidityWord::Void) => format!("{rate} void"),
            Some(ValidityWord::Sustained) | None => rate,
        }
    }));
    let title = if rated { "p99 us\n(open loop: response)" } else { "p99 us" };
    columns.push(right_column(title, |row| {
        row.clients.map_or_else(
            || "-".to_owned(),
            |clients| figure(row.group, Some(clients.metrics), clients.role.p99()),
        )
    }));
    columns.extend(costs(rows));
    columns
}

/// The rate of the load, and the costs: once for each phase.
fn costs<'s>(rows: &[Row<'s>]) -> Vec<Column<'s>> {
    let cost = |title: &str, of_load: bool, definition: &'static Definition| {
        right_column(title, move |row: &Row<'s>| {
            let load = row.load.map(|load| &load.metrics);
            let run = row.run.map(|run| &run.metrics).filter(|_| !of_load);
            if row.first { figure(row.group, run.or(load), definition) } else { String::new() }
        })
    };
    let load = rows.iter().any(|row| row.load.is_some());
    let load = load.then(|| cost("load\nrecords/s", true, &c::RECORDS_PER_S));
    let costs = [
        cost("write\namp.", false, &c::WRITE_AMPLIFICATION),
        cost("space\namp.", false, &c::SPACE_AMPLIFICATION),
        cost("RSS\nMiB", false, &c::RSS_PEAK),
    ];
    load.into_iter().chain(costs).collect()
}

fn left_column<'s>(title: &str, cell: impl Fn(&Row<'s>) -> String + 's) -> Column<'s> {
    Column { title: title.to_owned(), side: Side::Left, cell: Box::new(cell) }
}

fn right_column<'s>(title: &str, cell: impl Fn(&Row<'s>) -> String + 's) -> Column<'s> {
    Column { title: title.to_owned(), side: Side::Right, cell: Box::new(cell) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_engine_did_stands_before_what_it_promises() {
        let titles = ["engine", "durability", "power loss", "phase", "threads", "ops/s", "p99 us"];
        let mut columns: Vec<Column<'_>> = titles
            .iter()
            .chain(&["RSS\nMiB"])
            .map(|title| left_column(title, |_| String::new()))
            .collect();
        let mut order = Vec::new();
        while columns.len() > 3 {
            let column = columns.remove(least_needed_column(&columns, &[]));
            order.push(column.title);
        }
        assert_eq!(order, ["RSS\nMiB", "power loss", "durability", "threads", "p99 us"]);
    }
}
