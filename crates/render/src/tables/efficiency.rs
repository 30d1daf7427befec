//! How far from the drive: each engine's I/Os a second against those of the bare drive.

use super::super::table::{Side, Table};
use super::number::{grouped, ratio, whole};
use super::{Axes, Cells, Titled, runs};
use kvdyno_analysis::catalogue as c;
use kvdyno_analysis::efficiency::{Against, Efficiency};
use kvdyno_analysis::group::several;
use kvdyno_analysis::group::{Group, RunRow};
use kvdyno_analysis::summary::Summary;

const AID: &str = "\
reads and writes: of the whole device in the window, not this process alone. baseline: what the raw
device gave as many in flight, by the best calls at queue depth 1 per thread (for an engine that
keeps several in flight: by any). share: the engine's I/Os a second over the baseline's; above 110 %
it says nothing. peak: over the most that any baseline reached. limit: what took half or more of the
time of the client group with the most operations in flight, as \"Where the time went\" says it.
cached: fewer than one I/O in a hundred operations, so it is memory that was measured.";

/// A line for each measured phase of each engine; none where the run has no ceiling.
pub(super) fn efficiency(summary: &Summary, axes: &Axes, wide: bool) -> Titled {
    use Side::{Left, Right};
    let phases = several(standings(summary).map(|(_, run, _)| run.phase.as_str()));
    let mut columns = axes.columns();
    columns.push(("threads", Right));
    if phases {
        columns.push(("phase", Left));
    }
    columns.extend([
        ("reads\n/s", Right),
        ("writes\n/s", Right),
        ("I/Os\n/op", Right),
        ("baseline", Left),
        ("I/Os\n/s", Right),
        ("share\n%", Right),
        ("% of\npeak", Right),
        ("CPU\n%", Right),
        ("limit", Left),
    ]);
    if wide {
        columns.extend([("queue", Right), ("busy\n%", Right), ("peak", Left), ("I/Os\n/s", Right)]);
    }
    let mut table = Table::new(columns);
    for (group, run, standing) in standings(summary) {
        let mut cells = axes.cells(group);
        let own = run.roles.iter().map(|role| role.threads).sum();
        cells.push(group.threads.unwrap_or(own).to_string());
        if phases {
            cells.push(run.phase.clone());
        }
        cells.extend(line(&mut table, group, run, standing, wide));
        table.row(&cells);
    }
    Titled { name: "baseline", title: "How far from the raw device", table, aid: AID.to_owned() }
}

fn standings(summary: &Summary) -> impl Iterator<Item = (&Group, &RunRow, &Efficiency)> {
    let asked_for = summary.groups.iter().any(|group| group.ceiling);
    let all = runs(summary).filter_map(|(group, run)| Some((group, run, run.efficiency.as_ref()?)));
    all.filter(move |_| asked_for)
}

fn line(
    table: &mut Table,
    group: &Group,
    run: &RunRow,
    standing: &Efficiency,
    wide: bool,
) -> Vec<String> {
    let mut row = Cells::new(table, group, &run.metrics, &c::DEVICE_READS_PER_S);
    let mut cells = vec![
        row.main(grouped),
        row.figure(&c::DEVICE_WRITES_PER_S, grouped),
        standing.ios_per_op.map_or_else(|| "-".to_owned(), ratio),
    ];
    let ceiling = standing.ceiling.as_ref();
    cells.push(ceiling.map_or_else(|| "-".to_owned(), Against::name));
    cells.push(ceiling.map_or_else(|| "-".to_owned(), |ceiling| grouped(ceiling.ios_per_s)));
    let mut share = row.figure(&c::CEILING_SHARE, whole);
    if standing.reads_alone && ceiling.is_some() {
        let note = "of reads alone: no baseline here covers its writes";
        share = format!("{share} {}", row.table.footnotes.mark(note));
    }
    cells.extend([share, row.figure(&c::DRIVE_SHARE, whole)]);
    cells.push(row.figure(&c::CPU_PERCENT, whole));
    cells.push(if row.dead { "-".to_owned() } else { limit(row.table, standing) });
    if wide {
        let most = standing.drive.as_ref();
        let mut row = Cells::new(table, group, &run.metrics, &c::DEVICE_READS_PER_S);
        cells.push(row.figure(&c::DEVICE_QUEUE, ratio));
        cells.push(row.figure(&c::DEVICE_BUSY, ratio));
        cells.push(most.map_or_else(|| "-".to_owned(), Against::name));
        cells.push(most.map_or_else(|| "-".to_owned(), |most| grouped(most.ios_per_s)));
    }
    cells
}

fn limit(table: &mut Table, standing: &Efficiency) -> String {
    let cached = if standing.cached { ", cached" } else { "" };
    match (standing.limit, &standing.why_no_limit) {
        (Some(limit), _) => format!("{}{cached}", limit.word()),
        (None, Some(why)) => format!("- {}", table.footnotes.mark(why)),
        (None, None) => "-".to_owned(),
    }
}
