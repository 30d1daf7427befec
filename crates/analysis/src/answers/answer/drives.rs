//! The answer of a run that measured only bare drives or the load generator.

use super::headline::time;
use super::words;
use crate::figures::Figures;
use crate::figures::catalogue as c;
use crate::figures::group::{Group, RunRow};
use crate::figures::lists::{several, together};
use kvdyno_record::operations::OpInfo;
use kvdyno_record::units;

/// `14.7 k writes/s, p99 263 us at depth 1`: for each volume the job with the least in flight, and
/// the fastest job where that is another one.
pub(super) fn headline(figures: &Figures) -> Option<String> {
    // Beside a drive the load generator's own rate is no answer.
    let drives = figures.groups.iter().any(|group| group.bare_drive);
    let groups = figures.groups.iter().filter(|group| !(drives && group.stores_nothing));
    let measured = groups.flat_map(|group| group.runs.iter().map(move |run| (group, run)));
    let jobs = measured.filter(|(_, run)| rate(run).is_some());
    let volumes = together(jobs, |(a, _), (b, _)| a.volume == b.volume);
    let named = several(volumes.iter().map(|jobs| &jobs[0].0.volume));
    let one = |jobs: &Vec<(&Group, &RunRow)>| {
        let least = jobs.iter().min_by_key(|(group, run)| (in_flight(run), group.threads))?;
        let most = jobs.iter().max_by(|a, b| order(rate(a.1), rate(b.1)))?;
        let mut text = match &jobs[0].0.volume {
            Some(volume) if named => format!("on {volume}: "),
            _ => String::new(),
        };
        let label = |group: &Group| {
            if jobs.len() > 1 { format!(" ({})", group.label) } else { String::new() }
        };
        text += &format!("{}{}", job(least.1)?, label(least.0));
        if !std::ptr::eq(least.1, most.1) {
            text += &format!("; {}{}", job(most.1)?, label(most.0));
        }
        Some(text)
    };
    let all: Vec<String> = volumes.iter().filter_map(one).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// `14.7 k writes/s, p99 263 us at depth 1`.
fn job(run: &RunRow) -> Option<String> {
    let role = run.roles.first()?;
    let rate = units::si(rate(run)?);
    let times = role.by_operation().filter_map(|(op, metrics)| {
        let op = if role.is_mix() { format!("{} ", words::of_drive(op).0) } else { String::new() };
        Some(format!("{op}p99 {}", time(metrics.value(role.p99())?)))
    });
    let times: String = times.map(|time| format!(", {time}")).collect();
    let depth = role.depth.unwrap_or(1);
    let threads = match role.threads {
        1 => String::new(),
        n => format!(", {n} threads"),
    };
    let mut summed = role.mix.split('+').filter(|op| OpInfo::is_summed(op));
    let unit = if run.job.is_some() {
        match (summed.next(), summed.next()) {
            (Some(op), None) => format!("{}/s", words::of_drive(op).1),
            _ => "I/Os/s".to_owned(),
        }
    } else {
        words::per_second(role)
    };
    let depth = if run.job.is_some() { format!(" at depth {depth}") } else { String::new() };
    Some(format!("{rate} {unit}{times}{depth}{threads}"))
}

fn rate(run: &RunRow) -> Option<f64> {
    run.roles.first()?.metrics.value(&c::OPS_PER_S)
}

fn order(a: Option<f64>, b: Option<f64>) -> std::cmp::Ordering {
    a.unwrap_or(0.0).total_cmp(&b.unwrap_or(0.0))
}

fn in_flight(run: &RunRow) -> u32 {
    run.roles.first().map_or(0, crate::figures::group::RoleRow::in_flight)
}
