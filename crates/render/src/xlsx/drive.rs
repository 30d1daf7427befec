//! The drive's sheet: what each job of the bare drive gave, and what that cost.

use super::sheet::Show::{Count, Fine, Plain, Ratio, Tenth};
use super::sheet::{Cell, heading};
use super::trial_table::{Column, Line, Lines, Origin, Placed, column, write};
use kvdyno_analysis::catalogue as c;
use kvdyno_analysis::group::Group;
use kvdyno_analysis::trials::At;

/// Times of a job's calls; the latency sheet has those of each kind of I/O.
const TIMES: [Column; 18] = [
    column("operations", "I/Os done", Count, Origin::Figure(&c::OPERATIONS, 1.0)),
    column("window", "window, s", Fine, Origin::Figure(&c::WINDOW, 1e-9)),
    column("rate", "IOPS", Count, Origin::Formula(&c::OPS_PER_S, 1.0, "{operations}/{window}")),
    column("low", "IOPS, low end of range", Count, Origin::Range(&c::OPS_PER_S, |(low, _)| low)),
    column(
        "high",
        "IOPS, high end of range",
        Count,
        Origin::Range(&c::OPS_PER_S, |(_, high)| high),
    ),
    column("slat50", "submit p50, us", Ratio, Origin::Figure(&c::SUBMIT_P50, 1e-3)),
    column("slat99", "submit p99, us", Ratio, Origin::Figure(&c::SUBMIT_P99, 1e-3)),
    column("clat50", "complete p50, us", Ratio, Origin::Figure(&c::COMPLETION_P50, 1e-3)),
    column("clat99", "complete p99, us", Ratio, Origin::Figure(&c::COMPLETION_P99, 1e-3)),
    column("clat999", "complete p99.9, us", Ratio, Origin::Figure(&c::COMPLETION_P999, 1e-3)),
    column("clat9999", "complete p99.99, us", Ratio, Origin::Figure(&c::COMPLETION_P9999, 1e-3)),
    column("clat_max", "complete max, us", Tenth, Origin::Figure(&c::COMPLETION_MAX, 1e-3)),
    column("lat50", "lat p50, us", Ratio, Origin::Figure(&c::SERVICE_P50, 1e-3)),
    column("lat99", "lat p99, us", Ratio, Origin::Figure(&c::SERVICE_P99, 1e-3)),
    column("lat999", "lat p99.9, us", Ratio, Origin::Figure(&c::SERVICE_P999, 1e-3)),
    column("lat9999", "lat p99.99, us", Ratio, Origin::Figure(&c::SERVICE_P9999, 1e-3)),
    column("lat_max", "lat max, us", Tenth, Origin::Figure(&c::SERVICE_MAX, 1e-3)),
    column("errors", "errors", Count, Origin::Figure(&c::ERRORS, 1.0)),
];

/// A line for each job; none without a bare drive.
pub(super) fn sheet(groups: &Lines<'_>) -> anyhow::Result<Option<Placed>> {
    let mut lines: Vec<Line<'_>> = Vec::new();
    for (at, (group, _)) in groups.groups.iter().enumerate() {
        jobs(at, group, &mut lines);
    }
    if lines.is_empty() {
        return Ok(None);
    }
    let about = [
        heading("I/O", 14, Plain),
        heading("calls", 12, Plain),
        heading("block, B", 10, Count),
        heading("depth", 8, Count),
        heading("job's threads", 8, Count),
        heading("baseline", 8, Plain),
        heading("ran as", 40, Plain),
        heading("CPU, us/op", 10, Ratio),
    ];
    write("Drive", &about, &TIMES, groups, &lines).map(Some)
}

fn jobs<'s>(at: usize, group: &'s Group, lines: &mut Vec<Line<'s>>) {
    for run in &group.runs {
        let Some(job) = &run.job else { continue };
        for role in &run.roles {
            lines.push(Line {
                group: at,
                place: None,
                about: vec![
                    Cell::text(&job.io),
                    Cell::text(&job.method),
                    Cell::count(Some(job.block_bytes)),
                    Cell::count(Some(role.depth.unwrap_or(1).into())),
                    Cell::count(Some(role.threads.into())),
                    Cell::text(if group.ceiling { "baseline" } else { "" }),
                    Cell::text(job.ran.as_deref().unwrap_or_default()),
                    Cell::number(run.metrics.value(&c::CPU_PER_OP).map(|ns| ns / 1e3)),
                ],
                phase: &run.phase,
                at: Some(At { phase: &run.phase, role: &role.role, op: None }),
                metrics: &role.metrics,
                base: None,
                beside: None,
            });
        }
    }
}
