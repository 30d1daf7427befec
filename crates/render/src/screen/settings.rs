//! Engines at several settings: a line for each engine in each phase of a setting, as many as fit.
//! Engines of one setting and phase follow each other, so that what fits can be compared.

use super::super::table::{Side, Table};
use super::block::NAME_MAX;
use super::contest::Contest;
use super::line::{COLUMNS_MAX, Part, cut};
use super::list::{figure, fitted};
use kvdyno_analysis::figures::catalogue as c;
use kvdyno_analysis::figures::group::data;
use kvdyno_analysis::figures::group::{Group, LoadRow, RoleRow, RunRow};
use kvdyno_analysis::figures::lists::{several, together, unique};
use kvdyno_analysis::figures::metric::{Definition, Metrics};
use kvdyno_record::units;

/// Of more client groups each has rows of its own, in place of columns.
const ROLE_COLUMNS_MAX: usize = 2;

/// A row of an engine at a setting: what it is, and its figures.
#[derive(Clone, Copy)]
struct Row<'s> {
    group: &'s Group,
    run: Option<&'s RunRow>,
    load: Option<&'s LoadRow>,
    /// A client group, where each has its rows; and an operation, where it has several.
    role: Option<(&'s RoleRow, Option<(&'s str, &'s Metrics)>)>,
}

/// A column: its title, and what a row has in it.
struct Column<'s> {
    title: String,
    side: Side,
    cell: Box<dyn Fn(&Row<'s>) -> String + 's>,
}

/// A row for each engine at each setting, at its largest number of threads.
pub(super) fn part(contest: &Contest<'_>, room: usize) -> Part {
    let mut rows = rows(contest);
    let by_role = role_names(&rows).len() > ROLE_COLUMNS_MAX;
    if by_role {
        rows = rows.into_iter().flat_map(split_roles).collect();
    }
    let rows = sort_by_question(rows);
    let mut columns = axes(contest, &rows);
    columns.extend(if by_role { clients(&rows) } else { roles(&rows) });
    columns.extend(costs(&rows));
    let mut left_out: Vec<String> = Vec::new();
    let measured = contest.groups.iter().filter(|group| !group.runs.is_empty());
    if several(measured.map(|group| group.threads_swept)) {
        left_out.push("other numbers of threads".to_owned());
    }
    let mut part = table(&rows, &columns, room);
    while widest(&part) > COLUMNS_MAX && columns.len() > 2 {
        columns.pop();
        part = table(&rows, &columns, room);
    }
    left_out.extend(part.left_out.take());
    let left_out =
        if left_out.is_empty() { "further figures".to_owned() } else { left_out.join("; ") };
    Part { left_out: Some(left_out), ..part.within() }
}

fn widest(part: &Part) -> usize {
    part.lines.iter().map(|line| line.text.chars().count()).max().unwrap_or(0)
}

fn table<'s>(rows: &[Row<'s>], columns: &[Column<'s>], room: usize) -> Part {
    let titles = columns.iter().map(|column| (column.title.clone(), column.side));
    let mut table = Table::new(titles);
    for row in rows {
        let cells: Vec<String> = columns.iter().map(|column| (column.cell)(row)).collect();
        table.row(&cells);
    }
    fitted(&table, room, "rows")
}

fn rows<'s>(contest: &Contest<'s>) -> Vec<Row<'s>> {
    let setting = |group: &Group, run: &RunRow| {
        let means = (group.ram(), group.volume.clone(), group.durability);
        let rates: Vec<String> =
            run.roles.iter().map(|role| format!("{:?}", offered(role))).collect();
        (group.label.clone(), group.data_sizes(), means, run.phase.clone(), rates)
    };
    let mut rows: Vec<Row<'s>> = Vec::new();
    for group in &contest.groups {
        for run in &group.runs {
            let own_setting = setting(group, run);
            let existing = rows
                .iter_mut()
                .find(|row| row.run.is_some_and(|other| setting(row.group, other) == own_setting));
            let row = Row { group, run: Some(run), load: load_of(contest, group), role: None };
            match existing {
                Some(existing) if existing.group.threads_swept < group.threads_swept => {
                    *existing = row;
                }
                Some(_) => {}
                None => rows.push(row),
            }
        }
    }
    // Loads that nothing was measured on.
    for group in contest.groups.iter().filter(|group| group.load.is_some()) {
        let is_told = |row: &Row<'_>| {
            row.load.is_some_and(|load| std::ptr::eq(load, group.load.as_ref().unwrap_or(load)))
        };
        if !rows.iter().any(is_told) {
            rows.push(Row { group, run: None, load: group.load.as_ref(), role: None });
        }
    }
    rows
}

fn offered(role: &RoleRow) -> Option<u64> {
    let rate = role.metrics.value(&c::OFFERED_OPS_PER_S).filter(|_| role.open_loop)?;
    Some(rate.round() as u64)
}

/// The load of the same engine and setting.
fn load_of<'s>(contest: &Contest<'s>, group: &'s Group) -> Option<&'s LoadRow> {
    let is_peer = |other: &&&Group| {
        let means = |g: &Group| (g.ram(), g.volume.clone(), g.durability);
        let same_data = other.data_sizes() == group.data_sizes();
        other.label == group.label && same_data && means(other) == means(group)
    };
    let own_load = group.load.as_ref();
    own_load.or_else(|| contest.groups.iter().filter(is_peer).find_map(|other| other.load.as_ref()))
}

/// What distinguishes the rows.
fn axes<'s>(contest: &'s Contest<'s>, rows: &[Row<'s>]) -> Vec<Column<'s>> {
    fn column<'s>(title: &str, cell: impl Fn(&Row<'s>) -> String + 's) -> Column<'s> {
        Column { title: title.to_owned(), side: Side::Left, cell: Box::new(cell) }
    }
    let mut columns = vec![column("engine", |row| match &row.group.part {
        Some(_) => cut(row.group.engine_label(), NAME_MAX),
        None => contest.name(&row.group.label),
    })];
    let groups = || rows.iter().map(|row| row.group);
    if groups().any(|group| group.part.is_some()) {
        columns.push(column("part", |row| row.group.part.clone().unwrap_or_default()));
    }
    if several(groups().map(|group| group.volume.clone())) {
        columns.push(column("volume", |row| row.group.volume.clone().unwrap_or_default()));
    }
    if several(groups().map(data)) {
        columns.push(column("data", |row| data(row.group)));
    }
    if several(groups().map(Group::ram)) || groups().any(|group| !group.is_held()) {
        columns.push(column("RAM", move |row| {
            let not = if row.group.is_held() { "" } else { " NOT HELD" };
            format!("{}{not}", row.group.ram())
        }));
    }
    if several(groups().map(|group| group.durability)) {
        columns.push(column("durability", |row| row.group.durability.as_str().to_owned()));
    }
    if several(groups().map(|group| group.power_loss)) {
        columns.push(column("power loss", |row| row.group.power_loss_in_words().to_owned()));
    }
    if several(rows.iter().map(|row| row.run.map(|run| run.phase.as_str()))) {
        columns.push(column("phase", |row| {
            row.run.map_or_else(|| "load".to_owned(), |run| cut(&run.phase, 16))
        }));
    }
    if rows.iter().any(|row| row.run.is_some()) {
        let threads = |row: &Row<'s>| {
            let threads = row.run.map(|run| row.group.threads_at(run));
            threads.map_or_else(|| "-".to_owned(), |threads| threads.to_string())
        };
        columns.push(Column { side: Side::Right, ..column("threads", threads) });
    }
    columns
}

/// Of each client group its rate and its p99.
fn roles<'s>(rows: &[Row<'s>]) -> Vec<Column<'s>> {
    let mut columns: Vec<Column<'s>> = Vec::new();
    let all = || rows.iter().filter_map(|row| row.run).flat_map(|run| &run.roles);
    for name in role_names(rows) {
        let roles = || all().filter(|role| role.role == name);
        let open = roles().any(|role| role.open_loop);
        let ops = unique(roles().flat_map(|role| role.ops.iter().map(|row| row.op.as_str())));
        let of_role = move |definition: &'static Definition| {
            move |row: &Row<'s>| {
                figure(row.group, role_of(row, name).map(|role| &role.metrics), definition)
            }
        };
        let short = cut(name, 10);
        if open {
            columns
                .push(right(&format!("{short}\ntarget/s"), move |row| target(role_of(row, name))));
        }
        columns.push(right(&format!("{short}\nops/s"), of_role(&c::OPS_PER_S)));
        let p99 = if open { &c::RESPONSE_P99 } else { &c::SERVICE_P99 };
        if ops.is_empty() {
            columns.push(right("p99\nus", of_role(p99)));
        }
        for op in ops {
            columns.push(right(&format!("{op}\np99 us"), move |row| {
                let operation = role_of(row, name)
                    .and_then(|role| role.by_operation().find(|(other, _)| *other == op));
                figure(row.group, operation.map(|(_, metrics)| metrics), p99)
            }));
        }
    }
    columns
}

/// The client group of a row, its rate and its p99.
fn clients<'s>(rows: &[Row<'s>]) -> Vec<Column<'s>> {
    let name = |row: &Row<'s>| match row.role {
        Some((role, Some((op, _)))) => cut(&format!("{} {op}", role.role), 16),
        Some((role, None)) => cut(&role.role, 16),
        None => "-".to_owned(),
    };
    let metrics = |row: &Row<'s>| {
        let (role, op) = row.role?;
        Some(op.map_or(&role.metrics, |(_, metrics)| metrics))
    };
    let p99 = move |row: &Row<'s>| {
        let open = row.role.is_some_and(|(role, _)| role.open_loop);
        figure(row.group, metrics(row), if open { &c::RESPONSE_P99 } else { &c::SERVICE_P99 })
    };
    let mut columns = vec![Column { side: Side::Left, ..right("clients", name) }];
    if rows.iter().any(|row| row.role.is_some_and(|(role, _)| role.open_loop)) {
        columns.push(right("target/s", |row| target(row.role.map(|(role, _)| role))));
    }
    columns.push(right("ops/s", move |row| figure(row.group, metrics(row), &c::OPS_PER_S)));
    columns.push(right("p99 us", p99));
    columns
}

/// The rate of the load, and the costs.
fn costs<'s>(rows: &[Row<'s>]) -> Vec<Column<'s>> {
    let mut columns: Vec<Column<'s>> = Vec::new();
    if rows.iter().any(|row| row.load.is_some()) {
        columns.push(right("load\nrecords/s", |row| {
            figure(row.group, row.load.map(|load| &load.metrics), &c::RECORDS_PER_S)
        }));
    }
    let costs: [(&str, &'static Definition); 3] = [
        ("write\namp.", &c::WRITE_AMPLIFICATION),
        ("space\namp.", &c::SPACE_AMPLIFICATION),
        ("RSS\nMiB", &c::RSS_PEAK),
    ];
    columns.extend(costs.map(|(title, definition)| {
        right(title, move |row: &Row<'s>| {
            let load = row.load.map(|load| &load.metrics);
            figure(row.group, row.run.map(|run| &run.metrics).or(load), definition)
        })
    }));
    columns
}

fn right<'s>(title: &str, cell: impl Fn(&Row<'s>) -> String + 's) -> Column<'s> {
    Column { title: title.to_owned(), side: Side::Right, cell: Box::new(cell) }
}

fn target(role: Option<&RoleRow>) -> String {
    role.and_then(offered).map_or_else(|| "-".to_owned(), units::grouped)
}

fn role_names<'s>(rows: &[Row<'s>]) -> Vec<&'s str> {
    let runs = rows.iter().filter_map(|row| row.run);
    unique(runs.flat_map(|run| run.roles.iter().map(|role| role.role.as_str())))
}

/// A row for each client group, and each of its operations; one without any stays.
fn split_roles(row: Row<'_>) -> Vec<Row<'_>> {
    let roles = row.run.map_or(&[][..], |run| &run.roles);
    let split: Vec<Row<'_>> = roles
        .iter()
        .flat_map(|role| match role.ops.as_slice() {
            [] => vec![(role, None)],
            _ => role.by_operation().map(|operation| (role, Some(operation))).collect(),
        })
        .map(|role| Row { role: Some(role), ..row })
        .collect();
    if split.is_empty() { vec![row] } else { split }
}

/// Brings together what was asked of all engines; engines and questions stay in their order.
fn sort_by_question<'s>(rows: Vec<Row<'s>>) -> Vec<Row<'s>> {
    let question = |row: &Row<'s>| {
        let group = row.group;
        let means = (group.ram(), group.volume.clone(), group.durability);
        let phase = row.run.map(|run| &run.phase);
        let clients = row.role.map(|(role, op)| (&role.role, op.map(|(op, _)| op)));
        (&group.part, group.data_sizes(), means, phase, clients)
    };
    together(rows, |one, other| question(one) == question(other)).into_iter().flatten().collect()
}

fn role_of<'s>(row: &Row<'s>, name: &str) -> Option<&'s RoleRow> {
    row.run?.roles.iter().find(|role| role.role == name)
}
