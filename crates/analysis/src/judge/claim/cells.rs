//! The figures of a claim's cells, at each point of the dimensions that they leave open.

use crate::figures::group::{Group, RoleRow, RunRow};
use crate::figures::metric::{Metric, Metrics};
use crate::figures::narrow::Narrowed;
use kvdyno_record::claim::{Cell, Threads, Window};
use kvdyno_record::units;
use std::collections::BTreeMap;

/// With more points than this only the first are judged.
const POINTS_MAX: usize = 1000;

/// The dimensions that a cell can leave open.
const AXES: usize = 7;

/// The index of the RAM limit among them.
const RAM: usize = 4;

type Open = [Option<String>; AXES];

/// A cell's figure at a point.
#[derive(Clone, Debug)]
pub(super) struct CellMatch<'g> {
    pub(super) group: &'g Group,
    /// The values of the dimensions that the cell leaves open, in this order: part, volume, tier,
    /// threads, RAM, records, window; none: the cell sets it.
    open: Open,
    /// The values, by the number of the trial.
    pub(super) values: BTreeMap<u32, f64>,
    missing: Option<String>,
}

/// Every point: its name, and the figure of each cell. A dimension that two cells leave open has
/// the same value in both; but parts of a suite that have one RAM limit each may have different
/// ones. Or why there is no point.
pub(super) fn points<'g>(
    cells: &[&Cell],
    groups: &'g [Group],
) -> Result<Vec<(String, Vec<CellMatch<'g>>)>, String> {
    let cell_matches = cells.iter().map(|cell| find(cell, groups)).collect::<Result<Vec<_>, _>>();
    let mut cell_matches = cell_matches?;
    if cells.iter().all(|cell| cell.part.is_some())
        && cell_matches.iter().all(|cell| has_one_limit(cell))
    {
        cell_matches.iter_mut().flatten().for_each(|cell| cell.open[RAM] = None);
    }
    let mut points: Vec<Vec<CellMatch<'g>>> = vec![Vec::new()];
    for matches in &cell_matches {
        let mut next = Vec::new();
        for point in &points {
            for cell_match in matches {
                if next.len() < POINTS_MAX && point.iter().all(|other| agree(other, cell_match)) {
                    next.push(point.iter().chain([cell_match]).cloned().collect());
                }
            }
        }
        points = next;
    }
    if points.is_empty() {
        return Err("expected a point that all its cells share, found none".to_owned());
    }
    let names: Vec<Open> = points.iter().map(|point| merge_open_axes(point)).collect();
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
            let trouble = self.group.describe_outcomes();
            let why = trouble.or_else(|| self.missing.clone());
            let why = why.unwrap_or_else(|| "it has no such figure".to_owned());
            format!("{}: {why}", self.group.label)
        })
    }

    /// Why some trials have no figure here; none: all have it.
    pub(super) fn incomplete(&self) -> Option<String> {
        let (with, all) = (self.values.len(), self.group.trials.len());
        let why = self.missing.as_ref().filter(|_| with < all)?;
        Some(format!("{with} of {all} trials have the figure: {why}"))
    }
}

fn has_one_limit(matches: &[CellMatch<'_>]) -> bool {
    matches.iter().all(|cell| cell.open[RAM] == matches[0].open[RAM])
}

/// Whether the dimensions that are open in both have the same values.
fn agree(one: &CellMatch<'_>, other: &CellMatch<'_>) -> bool {
    one.open.iter().zip(&other.open).all(|(one, other)| match (one, other) {
        (Some(one), Some(other)) => one == other,
        _ => true,
    })
}

fn merge_open_axes(point: &[CellMatch<'_>]) -> Open {
    std::array::from_fn(|axis| {
        let mut values = point.iter().filter_map(|cell| cell.open[axis].clone());
        values.find(|value| !value.is_empty())
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
        let window = match &run.window {
            _ if run.phase == phase => None,
            Some(window) if window.phase == phase => Some(window.number),
            _ => return None,
        };
        Some(Row { group, phase: &run.phase, window, run: Some(run) })
    });
    load.into_iter().chain(runs).collect()
}

/// The figures of a cell, or which part of it was not measured.
fn find<'g>(cell: &Cell, groups: &'g [Group]) -> Result<Vec<CellMatch<'g>>, String> {
    let mut candidates: Narrowed<&Group> = Narrowed::new(groups.iter().collect());
    candidates.keep_matching("part", cell.part.as_ref(), |group| group.part == cell.part)?;
    candidates
        .keep_matching("engine", Some(&cell.engine), |group| group.is_called(&cell.engine))?;
    candidates
        .keep_matching("volume", cell.volume.as_ref(), |group| group.volume == cell.volume)?;
    candidates.keep_matching("tier", cell.tier.as_ref(), |group| group.tier_name == cell.tier)?;
    let ram = cell.ram_bytes.map(units::bytes);
    candidates.keep_matching("RAM of", ram, |group| group.ram_limit_bytes == cell.ram_bytes)?;
    let records = cell.records.map(units::count);
    candidates.keep_matching("data of", records, |group| Some(group.records) == cell.records)?;
    candidates
        .keep_matching("phase", Some(&cell.phase), |group| !rows(group, &cell.phase).is_empty())?;
    let most = candidates.remaining().iter().filter_map(|group| group.threads_swept).max();
    let threads = cell.threads.map(|threads| match threads {
        Threads::Exactly(n) => (n, n),
        Threads::Between(low, high) => (low, high),
        Threads::Most => (most.unwrap_or(0), most.unwrap_or(0)),
    });
    let mut candidates = candidates.into_remaining();
    if let Some((low, high)) = threads {
        candidates.retain(|group| group.threads_swept.is_none_or(|n| (low..=high).contains(&n)));
        if candidates.is_empty() {
            let range = if low == high { low.to_string() } else { format!("{low} to {high}") };
            return Err(format!("no point with {range} threads was measured"));
        }
    }
    let rows: Vec<Row<'g>> =
        candidates.into_iter().flat_map(|group| rows(group, &cell.phase)).collect();
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
    rows.keep_matching("window", name, |row| row.window.is_some() && Some(row.window) == window)?;
    rows.into_remaining().into_iter().map(|row| find_row(cell, row)).collect()
}

fn find_row<'g>(cell: &Cell, row: Row<'g>) -> Result<CellMatch<'g>, String> {
    let group = row.group;
    let metric = metric(cell, row)?;
    let per_trial = metric.map_or(&[][..], |metric| &metric.per_trial);
    let numbered = group.trials.iter().zip(per_trial);
    // Trials that have too few samples are the slow ones.
    let short = metric.and_then(Metric::describe_short_trials);
    let unjudged = group.describe_void().or(short);
    let valid = numbered.filter(|_| unjudged.is_none());
    let values = valid.filter_map(|(trial, value)| Some((trial.trial, (*value)?))).collect();
    let open = |is_set: bool, word: Option<String>| (!is_set).then(|| word.unwrap_or_default());
    // A bare drive has no records, and no limit that its direct I/O would use.
    let keyless = group.bare_drive;
    let sets_threads = matches!(cell.threads, Some(Threads::Exactly(_) | Threads::Most));
    let window = row.window.map(|number| format!("w{number}"));
    let open = [
        open(cell.part.is_some(), group.part.as_ref().map(|part| format!("{part}:"))),
        open(cell.volume.is_some(), group.volume.as_ref().map(|volume| format!("@{volume}"))),
        open(cell.tier.is_some(), group.tier_name.as_ref().map(|tier| format!("%{tier}"))),
        open(sets_threads, group.threads_swept.map(|threads| format!("#{threads}"))),
        open(cell.ram_bytes.is_some() || keyless, group.ram_limit_bytes.map(units::bytes)),
        open(cell.records.is_some() || keyless, Some(units::count(group.records))),
        // A load, and a phase without windows, belong to every window of another phase.
        open(cell.window.is_some() || window.is_none(), window),
    ];
    let missing = unjudged.or_else(|| metric.and_then(|metric| metric.missing.clone()));
    Ok(CellMatch { group, open, values, missing })
}

/// The figure of a load, of a measured phase's role, or of the phase as a whole.
fn metric<'g>(cell: &Cell, row: Row<'g>) -> Result<Option<&'g Metric>, String> {
    let figure_of =
        |metrics: &'g Metrics| metrics.0.iter().find(|metric| metric.name == cell.figure);
    let Some(run) = row.run else {
        return Ok(row.group.load.as_ref().and_then(|load| figure_of(&load.metrics)));
    };
    let phase_figure = figure_of(&run.metrics);
    match role(cell, run)? {
        None => match (phase_figure, run.roles.as_slice()) {
            (Some(phase_figure), _) => Ok(Some(phase_figure)),
            (None, [role]) => Ok(figure_of(&role.metrics)),
            (None, roles) => {
                let names: Vec<&str> = roles.iter().map(|role| role.role.as_str()).collect();
                let (phase, figure) = (row.phase, &cell.figure);
                let names = names.join(", ");
                Err(format!("expected a role for {figure} of {phase}: add one of {names}"))
            }
        },
        Some(role) => {
            let op = cell.op.as_deref();
            let metrics = role.metrics_by_operation().find(|(name, _)| Some(*name) == op);
            let metrics = metrics.map(|(_, metrics)| metrics);
            let metrics = if op.is_none() { Some(&role.metrics) } else { metrics };
            Ok(metrics.and_then(figure_of).or(phase_figure))
        }
    }
}

fn role<'g>(cell: &Cell, run: &'g RunRow) -> Result<Option<&'g RoleRow>, String> {
    let Some(name) = &cell.role else { return Ok(None) };
    let role = run.roles.iter().find(|role| role.role == *name);
    role.map(Some).ok_or_else(|| format!("unknown role `{name}` of phase {}", cell.phase))
}
