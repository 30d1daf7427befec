//! The figures that a claim's cells mean, point by point of what they leave open.

use crate::group::{Group, RoleRow, RunRow};
use crate::metric::{Metric, Metrics};
use crate::narrow::Narrowed;
use kvdyno_record::claim::{Cell, Threads, Window};
use kvdyno_record::units;
use kvdyno_record::workload::window_of;
use std::collections::BTreeMap;

/// More points than this are told of by their first.
const POINTS_MAX: usize = 1000;

/// What a cell can leave open.
const AXES: usize = 7;

type Open = [Option<String>; AXES];

/// A cell's figure at a point.
#[derive(Clone, Debug)]
pub(super) struct CellMatch<'g> {
    group: &'g Group,
    /// What the cell leaves open, in this order: part, volume, tier, threads, RAM, records, window;
    /// none: the cell says it.
    open: Open,
    /// By the number of the trial.
    pub(super) values: BTreeMap<u32, f64>,
    missing: Option<String>,
}

/// Every point: its name, and the figure of each cell. What two cells leave open is the same in
/// both. Or why there is none.
pub(super) fn points<'g>(
    cells: &[&Cell],
    groups: &'g [Group],
) -> Result<Vec<(String, Vec<CellMatch<'g>>)>, String> {
    let mut points: Vec<Vec<CellMatch<'g>>> = vec![Vec::new()];
    for cell in cells {
        let found = find(cell, groups)?;
        let mut next = Vec::new();
        for point in &points {
            for found in &found {
                if next.len() < POINTS_MAX && point.iter().all(|other| agree(other, found)) {
                    next.push(point.iter().chain([found]).cloned().collect());
                }
            }
        }
        points = next;
    }
    if points.is_empty() {
        return Err("its cells have no point in common: they were measured elsewhere".to_owned());
    }
    let names: Vec<Open> = points.iter().map(|point| together(point)).collect();
    let varies: Vec<usize> =
        (0..AXES).filter(|axis| names.iter().any(|name| name[*axis] != names[0][*axis])).collect();
    let name = |open: &Open| {
        let words = varies.iter().filter_map(|axis| open[*axis].clone());
        words.collect::<Vec<_>>().join(" ")
    };
    Ok(names.iter().map(name).zip(points).collect())
}

impl CellMatch<'_> {
    /// Why there is no figure here.
    pub(super) fn missing(&self) -> Option<String> {
        self.values.is_empty().then(|| {
            let trouble = self.group.trouble();
            let why = trouble.or_else(|| self.missing.clone());
            let why = why.unwrap_or_else(|| "it has no such figure".to_owned());
            format!("{}: {why}", self.group.label)
        })
    }
}

/// What is open in both is the same.
fn agree(one: &CellMatch<'_>, other: &CellMatch<'_>) -> bool {
    one.open.iter().zip(&other.open).all(|(one, other)| match (one, other) {
        (Some(one), Some(other)) => one == other,
        _ => true,
    })
}

fn together(point: &[CellMatch<'_>]) -> Open {
    std::array::from_fn(|axis| {
        let mut said = point.iter().filter_map(|found| found.open[axis].clone());
        said.find(|said| !said.is_empty())
    })
}

/// A phase of a group, or one of its windows.
#[derive(Clone, Copy)]
struct Row<'g> {
    group: &'g Group,
    phase: &'g str,
    window: Option<u32>,
    /// None: it is the load.
    run: Option<&'g RunRow>,
}

/// The rows of a phase: several, where it has windows.
fn rows<'g>(group: &'g Group, phase: &str) -> Vec<Row<'g>> {
    let load = group.load.as_ref().filter(|load| load.phase == phase);
    let load = load.map(|load| Row { group, phase: &load.phase, window: None, run: None });
    let runs = group.runs.iter().filter_map(|run| {
        let window = match window_of(&run.phase) {
            _ if run.phase == phase => None,
            Some((of, number)) if of == phase => Some(number),
            _ => return None,
        };
        Some(Row { group, phase: &run.phase, window, run: Some(run) })
    });
    load.into_iter().chain(runs).collect()
}

/// The figures of a cell, or what of it was not measured.
fn find<'g>(cell: &Cell, groups: &'g [Group]) -> Result<Vec<CellMatch<'g>>, String> {
    let mut left: Narrowed<&Group> = Narrowed::new(groups.iter().collect());
    left.keep("part", cell.part.as_ref(), |group| group.part == cell.part)?;
    left.keep("engine", Some(&cell.engine), |group| group.is_called(&cell.engine))?;
    left.keep("volume", cell.volume.as_ref(), |group| group.volume == cell.volume)?;
    left.keep("tier", cell.tier.as_ref(), |group| group.tier == cell.tier)?;
    let ram = cell.ram_bytes.map(units::bytes);
    left.keep("RAM of", ram, |group| group.ram_limit_bytes == cell.ram_bytes)?;
    let records = cell.records.map(units::count);
    left.keep("data of", records, |group| Some(group.records) == cell.records)?;
    left.keep("phase", Some(&cell.phase), |group| !rows(group, &cell.phase).is_empty())?;
    let most = left.left().iter().filter_map(|group| group.threads).max();
    let threads = cell.threads.map(|threads| match threads {
        Threads::Exactly(n) => (n, n),
        Threads::Between(low, high) => (low, high),
        Threads::Most => (most.unwrap_or(0), most.unwrap_or(0)),
    });
    let mut left = left.into_left();
    if let Some((low, high)) = threads {
        left.retain(|group| group.threads.is_none_or(|n| (low..=high).contains(&n)));
        if left.is_empty() {
            let range = if low == high { low.to_string() } else { format!("{low} to {high}") };
            return Err(format!("no point with {range} threads was measured"));
        }
    }
    let rows: Vec<Row<'g>> = left.into_iter().flat_map(|group| rows(group, &cell.phase)).collect();
    let last = rows.iter().filter_map(|row| row.window).max();
    let window = cell.window.map(|window| match window {
        Window::Number(number) => Some(number),
        Window::Last => last,
    });
    let name = window.map(|window| match window {
        Some(number) => format!("w{number} of {}", cell.phase),
        None => format!("of {}", cell.phase),
    });
    let mut rows = Narrowed::new(rows);
    rows.keep("window", name, |row| row.window.is_some() && Some(row.window) == window)?;
    rows.into_left().into_iter().map(|row| find_row(cell, row)).collect()
}

fn find_row<'g>(cell: &Cell, row: Row<'g>) -> Result<CellMatch<'g>, String> {
    let group = row.group;
    let metric = metric(cell, row)?;
    let per_trial = metric.map_or(&[][..], |metric| &metric.per_trial);
    let numbered = group.trials.iter().zip(per_trial);
    let values = numbered.filter_map(|(trial, value)| Some((trial.trial, (*value)?))).collect();
    let open = |said: bool, word: Option<String>| (!said).then(|| word.unwrap_or_default());
    // A bare drive has neither records nor a limit that its direct I/O would feel.
    let keyless = group.bare_drive;
    let one = matches!(cell.threads, Some(Threads::Exactly(_) | Threads::Most));
    let window = row.window.map(|number| format!("w{number}"));
    let open = [
        open(cell.part.is_some(), group.part.as_ref().map(|part| format!("{part}:"))),
        open(cell.volume.is_some(), group.volume.as_ref().map(|volume| format!("@{volume}"))),
        open(cell.tier.is_some(), group.tier.as_ref().map(|tier| format!("%{tier}"))),
        open(one, group.threads.map(|threads| format!("#{threads}"))),
        open(cell.ram_bytes.is_some() || keyless, group.ram_limit_bytes.map(units::bytes)),
        open(cell.records.is_some() || keyless, Some(units::count(group.records))),
        // A load, and a phase that is one, belong to every window of another.
        open(cell.window.is_some() || window.is_none(), window),
    ];
    Ok(CellMatch { group, open, values, missing: metric.and_then(|metric| metric.missing.clone()) })
}

/// The figure; of a measured phase that of the client group, or of the phase as a whole.
fn metric<'g>(cell: &Cell, row: Row<'g>) -> Result<Option<&'g Metric>, String> {
    let of = |metrics: &'g Metrics| metrics.0.iter().find(|metric| metric.name == cell.figure);
    let Some(run) = row.run else {
        return Ok(row.group.load.as_ref().and_then(|load| of(&load.metrics)));
    };
    let own = of(&run.metrics);
    match role(cell, run)? {
        None => match (own, run.roles.as_slice()) {
            (Some(own), _) => Ok(Some(own)),
            (None, [role]) => Ok(of(&role.metrics)),
            (None, roles) => {
                let names: Vec<&str> = roles.iter().map(|role| role.role.as_str()).collect();
                let (phase, figure) = (row.phase, &cell.figure);
                let names = names.join(", ");
                Err(format!("{phase} has {figure} of each client group: say which of {names}"))
            }
        },
        Some(role) => {
            let op = cell.op.as_deref();
            let metrics = role.by_operation().find(|(name, _)| Some(*name) == op);
            let metrics = metrics.map(|(_, metrics)| metrics);
            let metrics = if op.is_none() { Some(&role.metrics) } else { metrics };
            Ok(metrics.and_then(of).or(own))
        }
    }
}

fn role<'g>(cell: &Cell, run: &'g RunRow) -> Result<Option<&'g RoleRow>, String> {
    let Some(name) = &cell.role else { return Ok(None) };
    let role = run.roles.iter().find(|role| role.role == *name);
    role.map(Some).ok_or_else(|| format!("{} has no client group {name}", cell.phase))
}
