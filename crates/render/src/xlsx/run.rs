//! The run sheet: what each role got, and each of its operations.

use super::sheet::Show::{Count, Fine, Plain, Ratio, Tenth};
use super::sheet::{Cell, heading};
use super::trial_table::{Column, Line, Lines, Origin, Placed, column, write};
use kvdyno_analysis::catalogue as c;
use kvdyno_analysis::group::{RoleRow, RunRow};
use kvdyno_analysis::metric::Metrics;
use kvdyno_analysis::trials::At;

const COLUMNS: [Column; 22] = [
    column("operations", "operations", Count, Origin::Figure(&c::OPERATIONS, 1.0)),
    column("window", "window, s", Fine, Origin::Figure(&c::WINDOW, 1e-9)),
    column("rate", "ops/s", Count, Origin::Formula(&c::OPS_PER_S, 1.0, "{operations}/{window}")),
    column("low", "ops/s, low end of range", Count, Origin::Range(&c::OPS_PER_S, |(low, _)| low)),
    column(
        "high",
        "ops/s, high end of range",
        Count,
        Origin::Range(&c::OPS_PER_S, |(_, high)| high),
    ),
    column("over", "vs. base", Ratio, Origin::OverBase("rate", 1.0)),
    column("percent", "% of base", Tenth, Origin::OverBase("rate", 100.0)),
    column("verdict", "beside the base", Plain, Origin::Verdict),
    column("items", "records or keys", Count, Origin::Role(|_, op| Ok(op.items as f64))),
    column(
        "items_rate",
        "records or keys/s",
        Count,
        Origin::Formula(&c::ITEMS_PER_S, 1.0, "{items}/{window}"),
    ),
    column(
        "service",
        "service time, s summed",
        Ratio,
        Origin::Role(|_, op| Ok(op.service_ns as f64 / 1e9)),
    ),
    column(
        "mean",
        "service mean, us",
        Ratio,
        Origin::Formula(&c::SERVICE_MEAN, 1e-3, "{service}*1000000/{operations}"),
    ),
    column("max", "service max, us", Tenth, Origin::Figure(&c::SERVICE_MAX, 1e-3)),
    column("found", "keys found", Count, Origin::Role(|_, op| Ok(op.found as f64))),
    column("missing", "keys missing", Count, Origin::Role(|_, op| Ok(op.missing as f64))),
    column(
        "found_share",
        "found, %",
        Ratio,
        Origin::Formula(&c::FOUND, 1.0, "100*{found}/({found}+{missing})"),
    ),
    column("wrong", "wrong values", Count, Origin::Figure(&c::WRONG, 1.0)),
    column("errors", "errors", Count, Origin::Figure(&c::ERRORS, 1.0)),
    column("read", "keys+values read, B", Count, Origin::Role(|_, op| Ok(op.read_bytes as f64))),
    column(
        "written",
        "keys+values written, B",
        Count,
        Origin::Role(|_, op| Ok(op.write_bytes as f64)),
    ),
    column("offered", "offered, ops/s", Count, Origin::Figure(&c::OFFERED_OPS_PER_S, 1.0)),
    column("backlog", "backlog, ops", Count, Origin::Figure(&c::BACKLOG, 1.0)),
];

/// A role, or one of its operations, by where it stands in the summary. Lines of the run and of
/// the latency sheet come in this order.
pub(super) fn roles<'s>(runs: &'s [RunRow]) -> impl Iterator<Item = RolePart<'s>> {
    runs.iter().enumerate().flat_map(|(run_at, run)| {
        run.roles.iter().enumerate().flat_map(move |(role_at, role)| {
            let part = move |op: Option<&'s str>, metrics: &'s Metrics| RolePart {
                at: (run_at, role_at),
                run,
                role,
                op,
                metrics,
            };
            let ops = role.ops.iter().map(move |op| part(Some(&op.op), &op.metrics));
            std::iter::once(part(None, &role.metrics)).chain(ops)
        })
    })
}

/// A role as a whole, or one of its operations.
pub(super) struct RolePart<'s> {
    pub(super) at: (usize, usize),
    pub(super) run: &'s RunRow,
    pub(super) role: &'s RoleRow,
    /// None: all together.
    pub(super) op: Option<&'s str>,
    pub(super) metrics: &'s Metrics,
}

/// A line for each role and each of its operations.
pub(super) fn sheet(groups: &Lines<'_>) -> anyhow::Result<Placed> {
    let mut lines: Vec<Line<'_>> = Vec::new();
    // What a whole role is put in relation to: the same role of the first engine at equal work.
    let mut whole: Vec<(usize, (usize, usize), usize)> = Vec::new();
    for (at, group) in groups.engines() {
        for part in roles(&group.runs) {
            let place = lines.len();
            let mut base = None;
            if part.op.is_none() && group.competes() {
                let peer = |(other, role, _): &&(usize, (usize, usize), usize)| {
                    *role == part.at && groups.groups[*other].0.run_peers == group.run_peers
                };
                base = whole.iter().find(peer).map(|(_, _, line)| *line).or(Some(place));
                whole.push((at, part.at, place));
            }
            let op = part.op.map_or_else(|| part.role.mix.clone(), |op| format!("of it {op}"));
            lines.push(Line {
                group: at,
                place: part.op.is_none().then_some((at, part.at.0, part.at.1)),
                about: vec![
                    Cell::text(&part.run.phase),
                    Cell::text(&part.role.role),
                    Cell::count(Some(part.role.threads.into())),
                    Cell::text(op),
                ],
                phase: &part.run.phase,
                at: Some(At { phase: &part.run.phase, role: &part.role.role, op: part.op }),
                metrics: part.metrics,
                base,
                beside: part.role.beside.as_ref().filter(|_| part.op.is_none()),
            });
        }
    }
    let about = [
        heading("phase", 12, Plain),
        heading("role", 12, Plain),
        heading("role's threads", 8, Count),
        heading("operation", 16, Plain),
    ];
    write("Run", &about, &COLUMNS, groups, &lines)
}
