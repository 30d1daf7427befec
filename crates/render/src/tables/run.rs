//! The run table: what each role got.

use super::super::table::{Side, Table};
use super::number::{beside, grouped, microseconds, spread, trials, whole};
use super::{Axes, Cells, Titled, base_title, by_volume, own_threads, runs, with_base};
use kvdyno_analysis::catalogue as c;
use kvdyno_analysis::findings::Id;
use kvdyno_analysis::group::several;
use kvdyno_analysis::group::{Group, OpRow, RoleRow, RunRow};
use kvdyno_analysis::metric::{Definition, Metrics};
use kvdyno_analysis::summary::Summary;

const RUN_AID: &str = "\
Medians over trials; spread is the range of the median (of six trials and more its 95 % interval,
else the extremes). Percentiles are of all trials' operations together, and are left out where fewer
than ten samples lie beyond. Readers and writer ran side by side in the same window. threads: the
client group's own, @ the number swept. vs.: ops/s over the first engine's of the same durability
class; ~ no significant difference; ? fewer than four trials, too few to be sure.";

const OPEN_AID: &str = "\
service: from the start of a call. response: from its scheduled start, so that waiting counts.";

const SHARED_AID: &str = "\
Rows of one engine took turns on one database, in this order: the later ones found it older, written
to by those before. What looks like an effect of threads may be one of age.";

/// A line for each role, its response times and its operations.
pub(super) fn run(summary: &Summary, axes: &Axes, wide: bool) -> Titled {
    use Side::{Left, Right};
    let open = runs(summary).any(|(_, run)| run.roles.iter().any(|role| role.open_loop));
    let phases = several(runs(summary).map(|(_, run)| run.phase.as_str()));
    let mut columns = axes.columns();
    columns.push(("threads", Right));
    if phases {
        columns.push(("phase", Left));
    }
    columns.extend([("clients", Left), ("op", Left), ("ops/s", Right), ("spread\n%", Right)]);
    columns.push(("vs.\nbase", Right));
    if axes.volume {
        columns.push(("vs.\nvol", Right));
    }
    if open {
        columns.push(("time", Left));
    }
    columns.extend([
        ("p50\nus", Right),
        ("p99\nus", Right),
        ("p99.9\nus", Right),
        ("p99.99\nus", Right),
        ("max\nus", Right),
    ]);
    if wide {
        columns.extend([
            ("mean\nus", Right),
            ("p90\nus", Right),
            ("items/s", Right),
            ("found\n%", Right),
            ("errors", Right),
            ("backlog", Right),
            ("n", Right),
        ]);
    }
    let besides = || runs(summary).flat_map(|(_, run)| &run.roles);
    let base = base_title(besides().filter_map(|role| role.beside.as_ref()));
    let mut table = Table::titled(with_base(columns, &base));
    for (group, run) in runs(summary) {
        for role in &run.roles {
            let lines = RoleLines { group, run, role, axes, phases, open, wide };
            lines.add(&mut table);
        }
    }
    let mut aid = RUN_AID.to_owned();
    if axes.volume {
        aid += &by_volume(
            runs(summary)
                .flat_map(|(_, run)| &run.roles)
                .find_map(|role| role.beside_volume.as_ref()),
        );
    }
    if open {
        aid += &format!("\n{OPEN_AID}");
    }
    if summary.findings.iter().any(|finding| finding.id == Id::DatabaseShared) {
        aid += &format!("\n{SHARED_AID}");
    }
    Titled { name: "run", title: "Run: what each client group got", table, aid }
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
        cells.push(own_threads(role.threads, group));
        if self.phases {
            cells.push(self.run.phase.clone());
        }
        cells.extend([role.role.clone(), op.to_owned()]);
        let mut row = Cells::new(table, group, metrics, &c::OPS_PER_S);
        cells.push(row.main(grouped));
        cells.push(spread(metrics.get(&c::OPS_PER_S)));
        let whole_role = op == role.mix;
        cells.push(beside(role.beside.as_ref().filter(|_| whole_role)));
        if self.axes.volume {
            cells.push(beside(role.beside_volume.as_ref().filter(|_| whole_role)));
        }
        if self.open {
            cells.push(if role.open_loop { kind.to_owned() } else { "service".to_owned() });
        }
        cells.extend(times[..5].iter().map(|definition| row.figure(definition, microseconds)));
        if self.wide {
            cells.extend(times[5..].iter().map(|definition| row.figure(definition, microseconds)));
            cells.extend([
                row.figure(&c::ITEMS_PER_S, grouped),
                row.figure(&c::FOUND, |percent| format!("{percent:.2}")),
                row.figure(&c::ERRORS, whole),
                row.figure(&c::BACKLOG, whole),
                trials(metrics.get(&c::OPS_PER_S)),
            ]);
        }
        table.row(&cells);
    }
}
