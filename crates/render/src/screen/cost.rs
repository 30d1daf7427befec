//! What the largest number of threads cost each engine.

use super::super::footnotes::Footnotes;
use super::block::{Block, Row, TIME};
use super::cells::{Figure, Source, row};
use super::engines::capitalise;
use super::runs::{Detail, Runs};
use kvdyno_analysis::figures::catalogue as c;
use kvdyno_analysis::figures::explain::Explained;
use kvdyno_analysis::figures::group::{Group, RunRow};
use kvdyno_analysis::figures::metric::Definition;

/// The most figures that are shown where room is short.
const SHORT: usize = 3;

pub(super) fn block(runs: &Runs<'_>, notes: &mut Footnotes) -> Block {
    let last = runs.headline();
    let group_runs = runs.engine_runs(last);
    let of_phase: Vec<Source<'_>> = group_runs
        .iter()
        .map(|at| Source {
            group: at.map(|(group, _)| group),
            metrics: at.map(|(_, run)| &run.metrics),
            beside: None,
            validity: None,
        })
        .collect();
    let apart = group_runs.iter().flatten().any(|(_, run)| run.different_mix.is_some());
    let counted = Figure { definition: &c::INSTRUCTIONS_PER_OP, than: Some(TIME) };
    let mut figures = vec![
        ("write amp.", Figure::uncompared(&c::WRITE_AMPLIFICATION)),
        ("space amp.", Figure::uncompared(&c::SPACE_AMPLIFICATION)),
        ("peak RSS MiB", Figure::uncompared(&c::RSS_PEAK)),
    ];
    if !apart {
        figures.extend([
            ("instructions/op", counted),
            ("of the engine", Figure::uncompared(&c::ENGINE_INSTRUCTIONS_PER_OP)),
            ("CPU us/op", Figure::uncompared(&c::CPU_PER_OP)),
            ("client us/op", Figure::uncompared(&c::CLIENT_CPU_PER_OP)),
            ("KB read/op", Figure::uncompared(&c::DEVICE_READ_BYTES_PER_OP)),
        ]);
    }
    if runs.detail < Detail::Few {
        figures.truncate(SHORT);
    }
    let mut rows: Vec<Row> = ceiling(&group_runs).into_iter().collect();
    for (label, figure) in figures {
        // What is missing here is said in the tables; a fate was said above.
        rows.extend(row(label, &of_phase, figure, &mut Footnotes::default()));
    }
    if runs.detail >= Detail::Few {
        rows.extend(waits(runs, &group_runs));
    }
    if apart && !rows.is_empty() && runs.detail >= Detail::Few {
        notes.mark("CPU and reads of each operation left out: different mixes (--table cost)");
    }
    let is_counted = group_runs.iter().flatten().any(|(group, _)| group.is_counted());
    let title = match last {
        _ if is_counted => capitalise(runs.phase),
        Some(threads) => format!("Cost at {threads}"),
        None => "Cost".to_owned(),
    };
    Block { title, rows }
}

/// How much of the raw device's rate each engine reached; its range where that spans 100 %.
fn ceiling(group_runs: &[Option<(&Group, &RunRow)>]) -> Option<Row> {
    let cell = |at: &Option<(&Group, &RunRow)>| {
        let (_, run) = (*at)?;
        let value = run.metrics.value(&c::CEILING_SHARE)?;
        let (low, high) = run.ceiling_share_range()?;
        let spans = low < 100.0 && high >= 100.0;
        Some(if spans { format!("{low:.0}-{high:.0}%") } else { format!("{value:.0}%") })
    };
    cells("of the drive's IOPS", group_runs.iter().map(cell).collect())
}

/// What the first role's threads waited for.
fn waits(runs: &Runs<'_>, group_runs: &[Option<(&Group, &RunRow)>]) -> Vec<Row> {
    let Some(role) = group_runs.iter().flatten().find_map(|(_, run)| run.roles.first()) else {
        return Vec::new();
    };
    let explained = |group: &Group| -> Option<&Explained> {
        let summary = runs.contest.summary;
        let at = summary.groups.iter().position(|other| std::ptr::eq(other, group))?;
        summary.explained.iter().find(|entry| {
            entry.group == at
                && entry.phase == runs.phase
                && entry.role.as_ref() == Some(&role.role)
        })
    };
    let share = |definition: &'static Definition| {
        let cell = |at: &Option<(&Group, &RunRow)>| {
            let value = explained((*at)?.0)?.metrics.value(definition)?;
            Some(format!("{value:.0}%"))
        };
        group_runs.iter().map(cell).collect::<Vec<_>>()
    };
    let name = &role.role;
    [
        cells(&format!("{name}: wait disk"), share(&c::TIME_DEVICE)),
        cells(&format!("{name}: wait CPU"), share(&c::TIME_RUNQUEUE)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A row of words; none where no engine has any.
fn cells(label: &str, cells: Vec<Option<String>>) -> Option<Row> {
    cells.iter().any(Option::is_some).then(|| Row {
        label: label.to_owned(),
        cells: cells.into_iter().map(|cell| cell.unwrap_or_else(|| "-".to_owned())).collect(),
        compared: String::new(),
    })
}
