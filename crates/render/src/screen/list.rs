//! Shapes that are a list: many settings or engines, the jobs of a bare drive, the points of a
//! search. A line for each, as many as fit.

use super::super::columns::{Row as TableRow, jobs};
use super::super::format::{self, ratio, ratio_cell, spread};
use super::super::table::{Side, Table};
use super::super::wrap::wrap;
use super::block::NAME_MAX;
use super::contest::Contest;
use super::line::{COLUMNS_MAX, Line, Part, cut, sentence};
use kvdyno_analysis::answers::search as found;
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::figures::catalogue as c;
use kvdyno_analysis::figures::group::data;
use kvdyno_analysis::figures::group::{Group, LoadRow, RoleRow, RunRow};
use kvdyno_analysis::figures::lists::{several, unique};
use kvdyno_analysis::figures::metric::{Definition, Metrics};
use kvdyno_record::units;

/// Lines of an engine's fate.
const FATE_LINES: usize = 3;

/// Lines of a search's answer.
const SENTENCE_LINES: usize = 8;

/// A row of an engine at a setting: what it is, and its figures.
struct Row<'s> {
    group: &'s Group,
    run: Option<&'s RunRow>,
    load: Option<&'s LoadRow>,
}

/// A column: its title, and what a row has in it.
struct Column<'s> {
    title: String,
    side: Side,
    cell: Box<dyn Fn(&Row<'s>) -> String + 's>,
}

/// A row for each engine at each setting, at its largest number of threads.
pub(super) fn settings(contest: &Contest<'_>, room: usize) -> Part {
    let rows = rows(contest);
    let mut columns = axes(contest, &rows);
    columns.extend(figures(&rows));
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

/// As many rows of a table as fit; its title stays.
fn fitted(table: &Table, room: usize, what: &str) -> Part {
    let text = table.text();
    let mut lines: Vec<Line> = text.lines().map(Line::plain).collect();
    let mut left_out = None;
    if lines.len() > room {
        // The reasons below a table go before its rows do.
        let notes = table.footnotes.lines().len();
        lines.truncate(lines.len().saturating_sub(notes).max(1).min(room.max(1)));
        let head = text.lines().count() - notes - table.rows().len();
        let shown = lines.len().saturating_sub(head);
        let more = table.rows().len().saturating_sub(shown);
        left_out = (more > 0).then(|| format!("{more} more {what}"));
    }
    Part { lines, left_out }
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
            let row = Row { group, run: Some(run), load: load_of(contest, group) };
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
            rows.push(Row { group, run: None, load: group.load.as_ref() });
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

/// The figures: of each client group its rate and its p99, of the load its rate, and the cost.
fn figures<'s>(rows: &[Row<'s>]) -> Vec<Column<'s>> {
    let mut columns: Vec<Column<'s>> = Vec::new();
    let mut add = |title: String, cell: Box<dyn Fn(&Row<'s>) -> String + 's>| {
        columns.push(Column { title, side: Side::Right, cell });
    };
    let mut roles: Vec<(&'s str, bool)> = Vec::new();
    let all = || rows.iter().filter_map(|row| row.run).flat_map(|run| &run.roles);
    for role in all() {
        if roles.iter().all(|(name, _)| *name != role.role) {
            roles.push((&role.role, role.open_loop));
        }
    }
    for (name, open) in roles {
        let roles = all().filter(|role| role.role == name);
        let ops = unique(roles.flat_map(|role| role.ops.iter().map(|row| row.op.as_str())));
        let of_role = move |definition: &'static Definition| {
            Box::new(move |row: &Row<'s>| {
                figure(row.group, role_of(row, name).map(|role| &role.metrics), definition)
            })
        };
        let short = cut(name, 10);
        if open {
            let target = move |row: &Row<'s>| {
                let rate = role_of(row, name).and_then(offered);
                rate.map_or_else(|| "-".to_owned(), units::grouped)
            };
            add(format!("{short}\ntarget/s"), Box::new(target));
        }
        add(format!("{short}\nops/s"), of_role(&c::OPS_PER_S));
        let p99 = if open { &c::RESPONSE_P99 } else { &c::SERVICE_P99 };
        if ops.is_empty() {
            add("p99\nus".to_owned(), of_role(p99));
        }
        for op in ops {
            let cell = move |row: &Row<'s>| {
                let operation = role_of(row, name)
                    .and_then(|role| role.by_operation().find(|(other, _)| *other == op));
                figure(row.group, operation.map(|(_, metrics)| metrics), p99)
            };
            add(format!("{op}\np99 us"), Box::new(cell));
        }
    }
    if rows.iter().any(|row| row.load.is_some()) {
        let load = |row: &Row<'s>| row.load.map(|load| &load.metrics);
        let cell = move |row: &Row<'s>| figure(row.group, load(row), &c::RECORDS_PER_S);
        add("load\nrecords/s".to_owned(), Box::new(cell));
    }
    let costs: [(&str, &'static Definition); 3] = [
        ("write\namp.", &c::WRITE_AMPLIFICATION),
        ("space\namp.", &c::SPACE_AMPLIFICATION),
        ("RSS\nMiB", &c::RSS_PEAK),
    ];
    for (title, definition) in costs {
        let cell = move |row: &Row<'s>| {
            let load = row.load.map(|load| &load.metrics);
            figure(row.group, row.run.map(|run| &run.metrics).or(load), definition)
        };
        add(title.to_owned(), Box::new(cell));
    }
    columns
}

fn role_of<'s>(row: &Row<'s>, name: &str) -> Option<&'s RoleRow> {
    row.run?.roles.iter().find(|role| role.role == name)
}

/// A figure; with `*` where trials are missing; else what became of the engine.
fn figure(group: &Group, metrics: Option<&Metrics>, definition: &Definition) -> String {
    let format = format::format_for(definition).text;
    let Some(metric) = metrics.and_then(|metrics| metrics.get(definition)) else {
        return "-".to_owned();
    };
    match metric.value {
        Some(value) if group.fate(metric.n).is_some() => {
            format!("{} {}/{}", format(value), metric.n, group.trials.len())
        }
        Some(value) => format(value),
        None => {
            let fate = group.fate(0);
            let fate = fate.as_deref().and_then(|fate| fate.split(" (").next());
            fate.map_or_else(|| "-".to_owned(), |fate| cut(fate, 12))
        }
    }
}

/// What became of each engine, where none has a figure: in the words of its first case that says.
pub(super) fn fates(contest: &Contest<'_>, room: usize) -> Part {
    let line = |label: &&str| {
        let has_label = |group: &&&Group| group.label == **label;
        let groups = || contest.groups.iter().filter(has_label);
        let fate = groups().find_map(|group| group.fate(0))?;
        let message = groups().flat_map(|group| &group.trials).find_map(|t| t.message.as_deref());
        let message = message.map_or_else(String::new, |message| format!(": {message}"));
        Some(sentence(None, "", &format!("{} {fate}{message}", contest.name(label)), FATE_LINES))
    };
    let fates: Vec<Vec<Line>> = contest.labels.iter().filter_map(line).collect();
    let mut lines: Vec<Line> = Vec::new();
    let fit = fates.iter().take_while(|fate| {
        let fits = lines.len() + fate.len() <= room;
        if fits {
            lines.extend_from_slice(fate);
        }
        fits
    });
    let more = fates.len() - fit.count();
    Part { lines, left_out: (more > 0).then(|| format!("{more} more engines")) }
}

type DriveColumn = (&'static str, Side, fn(&TableRow<'_>) -> String);

/// The line of each job.
const DRIVE: [DriveColumn; 13] = [
    ("job", Side::Left, |row| match row.op {
        Some(_) => String::new(),
        None => cut(&row.group.label, 24),
    }),
    ("volume", Side::Left, |row| row.group.volume.clone().unwrap_or_default()),
    ("I/O", Side::Left, |row| match row.op {
        Some(op) => format!("  {}", drive_operation(op)),
        None => row.drive_io().unwrap_or_default().to_owned(),
    }),
    ("block", Side::Right, |row| {
        row.block_bytes().map_or_else(|| "-".to_owned(), units::exact_bytes)
    }),
    ("depth", Side::Right, |row| {
        row.role.and_then(|(_, role)| role.depth).unwrap_or(1).to_string()
    }),
    ("threads", Side::Right, |row| row.threads().unwrap_or(0).to_string()),
    ("IOPS", Side::Right, |row| figure(row.group, Some(row.metrics), &c::OPS_PER_S)),
    ("spread %", Side::Right, |row| spread(row.metric(&c::OPS_PER_S))),
    ("vs. vol", Side::Right, |row| ratio_cell(row.relative_volume())),
    ("MB/s", Side::Right, |row| {
        let both = row.value(&c::OPS_PER_S).zip(row.block_bytes());
        let bytes = both.map(|(iops, block)| iops * block as f64 / 1e6);
        bytes.map_or_else(|| "-".to_owned(), ratio)
    }),
    ("p50 us", Side::Right, |row| latency(row, &c::SERVICE_P50)),
    ("p99 us", Side::Right, |row| latency(row, &c::SERVICE_P99)),
    ("p99.9 us", Side::Right, |row| latency(row, &c::SERVICE_P999)),
];

/// The columns that only several volumes have.
const OF_VOLUMES: [&str; 2] = ["volume", "vs. vol"];

/// What gives way to them: the name of a job has its block.
const OF_ONE_VOLUME: [&str; 4] = ["block", "threads", "spread %", "MB/s"];

/// Of reads and writes each, where a job does both.
fn latency(row: &TableRow<'_>, definition: &Definition) -> String {
    if row.is_pooled() {
        return String::new();
    }
    figure(row.group, Some(row.metrics), definition)
}

/// What an operation is to a drive.
fn drive_operation(op: &str) -> &str {
    match op {
        "get" => "reads",
        "update" | "insert" => "writes",
        "delete" => "trims",
        other => other,
    }
}

/// A line for each job of a bare drive.
pub(super) fn drives(summary: &Summary, room: usize) -> Part {
    let table = drive_table(summary);
    table.map_or_else(Part::default, |table| fitted(&table, room, "jobs").within())
}

/// A line for each job of a bare drive, and each kind of its I/Os; none: there is no job.
pub(crate) fn drive_table(summary: &Summary) -> Option<Table> {
    let jobs = || jobs(summary).into_iter();
    jobs().next()?;
    let volumes = several(jobs().map(|row| &row.group.volume));
    let others: &[&str] = if volumes { &OF_ONE_VOLUME } else { &OF_VOLUMES };
    let columns = || DRIVE.iter().filter(|(title, ..)| !others.contains(title));
    let titles = columns().map(|(title, side, _)| ((*title).to_owned(), *side));
    let mut table = Table::new(titles);
    for row in jobs().flat_map(TableRow::roles) {
        table.row(&columns().map(|(.., cell)| cell(&row)).collect::<Vec<_>>());
    }
    Some(table)
}

/// The answer of a search, and its points.
pub(super) fn search(answer: &found::SearchResult, room: usize) -> Part {
    let sentences = wrap(&kvdyno_record::text::one_line(&answer.sentences.join(" ")), 0);
    let mut lines: Vec<Line> = sentences.lines().take(SENTENCE_LINES).map(Line::plain).collect();
    lines.push(Line::blank());
    let curve = fitted(&crate::search::curve(answer), room.saturating_sub(lines.len()), "points");
    lines.extend(curve.lines);
    Part { lines, left_out: curve.left_out }.within()
}
