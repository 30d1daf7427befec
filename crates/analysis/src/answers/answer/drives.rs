//! The answer of a run that measured only bare drives or the load generator.

use super::headline::time;
use super::words;
use crate::figures::Figures;
use crate::figures::catalogue as c;
use crate::figures::group::{Group, RoleRow, RunRow};
use crate::figures::job::drive_words;
use crate::figures::lists::{group_equal, has_several};
use crate::figures::ratio::format_factor;
use crate::figures::relative::{NOT_COMPARABLE, RelativeTo, Significance};
use crate::judge::claim::{ClaimPoint, ClaimVerdict, Claimed};
use kvdyno_record::claim::{Bound, Cell, Relation, Side, Test};
use kvdyno_record::operations::OpInfo;
use kvdyno_record::units;

/// The engine of jobs that fio runs.
const FIO: &str = "fio";

/// The suite's claims about times, then the jobs:
/// `fsync p99 12.0 ms (11.1 to 13.0), threshold 10.0 ms: not met; 231 writes/s, p99 4.0 ms`.
pub(super) fn headline(figures: &Figures, claims: &[Claimed]) -> Option<String> {
    let (claimed, mut clauses): (Vec<&str>, Vec<String>) =
        claims.iter().flat_map(|claim| describe_claim(figures, claim)).unzip();
    clauses.push(jobs(figures, &claimed)?);
    Some(clauses.join("; "))
}

/// Describes a claim that an operation's time stays below a bound: the operation and a text for
/// each point. Empty: the claim is about something else.
fn describe_claim<'c>(figures: &Figures, claim: &'c Claimed) -> Vec<(&'c str, String)> {
    let Relation { left: Side::Figure(cell), test: Test::Below(Bound::Number(bound)) } =
        &claim.relation
    else {
        return Vec::new();
    };
    let (Some(op), Some(name)) = (&cell.op, cell.figure.strip_prefix("service_ns_")) else {
        return Vec::new();
    };
    let alone = claim.points.len() == 1;
    let point = |point: &ClaimPoint| {
        let volume = point.label.strip_prefix('@').filter(|_| !alone);
        let value = find_row_value(figures, cell, volume).or(point.value)?;
        let interval = point
            .low
            .zip(point.high)
            .map_or_else(String::new, |(low, high)| format!(" ({} to {})", time(low), time(high)));
        let verdict = match (point.verdict, &point.reason) {
            (ClaimVerdict::Holds, _) => "met".to_owned(),
            (ClaimVerdict::DoesNotHold, _) => "not met".to_owned(),
            (ClaimVerdict::Undecided, None) => "undecided".to_owned(),
            (ClaimVerdict::Undecided, Some(why)) => format!("undecided ({why})"),
        };
        let place = volume.map_or_else(String::new, |volume| format!("on {volume}: "));
        let (what, name) = (drive_words(op).0, name.replace('_', "."));
        let (value, bound) = (time(value), time(*bound));
        let text = format!("{place}{what} {name} {value}{interval}, threshold {bound}: {verdict}");
        Some((op.as_str(), text))
    };
    claim.points.iter().filter_map(point).collect()
}

/// The figure of an operation in the tables: it may merge the samples of all trials. None where
/// several rows have that operation.
fn find_row_value(figures: &Figures, cell: &Cell, volume: Option<&str>) -> Option<f64> {
    let groups = figures.groups.iter().filter(|group| {
        group.is_called(&cell.engine) && (volume.is_none() || group.volume.as_deref() == volume)
    });
    let roles = groups.filter_map(|group| group.run(&cell.phase)).flat_map(|run| &run.roles);
    let operations = roles.flat_map(RoleRow::metrics_by_operation);
    let mut of_cell = operations.filter(|(op, _)| Some(*op) == cell.op.as_deref());
    let (_, metrics) = of_cell.next().filter(|_| of_cell.next().is_none())?;
    metrics.get_by_name(&cell.figure)?.value
}

/// `14.7 k writes/s, p99 263 us at depth 1`: for each volume the job with the least in flight, and
/// the fastest job where that is another one. Leaves out times of the operations `claimed`.
fn jobs(figures: &Figures, claimed: &[&str]) -> Option<String> {
    // Beside a drive the load generator's own rate is no answer.
    let drives = figures.groups.iter().any(|group| group.bare_drive);
    let groups = figures.groups.iter().filter(|group| !(drives && group.stores_nothing));
    let measured = groups.flat_map(|group| group.runs.iter().map(move |run| (group, run)));
    // fio's rate stands beside kvdyno's rate of the same job.
    let is_twin = |group: &Group| figures.groups.iter().any(|own| is_fio_twin(own, group));
    let jobs = measured.filter(|(group, run)| rate(run).is_some() && !is_twin(group));
    let volumes = group_equal(jobs, |(a, _), (b, _)| a.volume == b.volume);
    let has_several_volumes = has_several(volumes.iter().map(|jobs| &jobs[0].0.volume));
    let describe_volume = |jobs: &Vec<(&Group, &RunRow)>| {
        let least = jobs.iter().min_by_key(|(group, run)| (in_flight(run), group.threads))?;
        let most = jobs.iter().max_by(|a, b| order(rate(a.1), rate(b.1)))?;
        let mut text = match &jobs[0].0.volume {
            Some(volume) if has_several_volumes => format!("on {volume}: "),
            _ => String::new(),
        };
        let label = |group: &Group| {
            if jobs.len() > 1 { format!(" ({})", group.label) } else { String::new() }
        };
        let describe = |(group, run): &(&Group, &RunRow)| {
            let by_fio = describe_fio(figures, group, run).unwrap_or_default();
            Some(format!("{}{}{by_fio}", job(run, claimed)?, label(group)))
        };
        text += &describe(least)?;
        if !std::ptr::eq(least.1, most.1) {
            text += &format!("; {}", describe(most)?);
        }
        Some(text)
    };
    let all: Vec<String> = volumes.iter().filter_map(describe_volume).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// Whether `other` is fio's run of the job of `own`.
fn is_fio_twin(own: &Group, other: &Group) -> bool {
    other.engine == FIO
        && other.label.strip_suffix("-fio") == Some(&own.label)
        && (&other.volume, other.threads) == (&own.volume, own.threads)
}

/// `; fio itself: 18.0 k I/Os/s, 0.94x kvdyno's (0.92 to 0.96)`, where it ran the same job.
fn describe_fio(figures: &Figures, group: &Group, run: &RunRow) -> Option<String> {
    let other = figures.groups.iter().find(|other| is_fio_twin(group, other))?;
    let role = other.run(&run.phase)?.roles.first()?;
    let own = run.roles.first()?.metrics.get(&c::OPS_PER_S)?;
    let others = role.metrics.get(&c::OPS_PER_S)?;
    let ratio = RelativeTo::between("kvdyno's", (group, own), (other, others))?;
    let rate = units::si(others.value?);
    Some(format!("; fio itself: {rate} {}{}", rate_unit(role), describe_ratio(&ratio)))
}

/// `14.7 k writes/s, p99 263 us at depth 1`.
fn job(run: &RunRow, claimed: &[&str]) -> Option<String> {
    let role = run.roles.first()?;
    let rate = units::si(rate(run)?);
    let operations = role.metrics_by_operation().filter(|(op, _)| !claimed.contains(op));
    let times = operations.filter_map(|(op, metrics)| {
        let op = if role.is_mix() { format!("{} ", drive_words(op).0) } else { String::new() };
        Some(format!("{op}p99 {}", time(metrics.value(role.p99())?)))
    });
    let times: String = times.map(|time| format!(", {time}")).collect();
    let depth = role.depth.unwrap_or(1);
    let threads = match role.threads {
        1 => String::new(),
        n => format!(", {n} threads"),
    };
    let unit = if run.job.is_some() { rate_unit(role) } else { words::per_second(role) };
    let depth = if run.job.is_some() { format!(" at depth {depth}") } else { String::new() };
    let ratio = role.relative_volume.as_ref().map_or_else(String::new, describe_ratio);
    Some(format!("{rate} {unit}{ratio}{times}{depth}{threads}"))
}

/// What a drive's rate counts: `writes/s`, or `I/Os/s` of several kinds.
fn rate_unit(role: &RoleRow) -> String {
    let mut summed = role.mix.split('+').filter(|op| OpInfo::is_summed(op));
    match (summed.next(), summed.next()) {
        (Some(op), None) => format!("{}/s", drive_words(op).1),
        _ => "I/Os/s".to_owned(),
    }
}

/// `, 2.1x disk (2.0 to 2.2)`: against the first volume.
fn describe_ratio(relative: &RelativeTo) -> String {
    let RelativeTo { base, ratio, low, high, verdict, decided, reason, .. } = relative;
    if let Some(why) = reason {
        return format!(", {NOT_COMPARABLE} with {base} ({why})");
    }
    match verdict {
        Significance::Base => String::new(),
        Significance::NotDistinguishable if *decided => format!(", equal to {base}"),
        Significance::Different | Significance::NotDistinguishable if low.is_some() => {
            let undecided = if *verdict == Significance::Different { "" } else { ": undecided" };
            let [low, high] = [low, high].map(|end| end.unwrap_or(*ratio));
            let [low, high] = [format_factor(low, low), format_factor(high, high)];
            format!(", {}x {base} ({low} to {high}{undecided})", format_factor(*ratio, *ratio))
        }
        _ => format!(", {}x {base} (too few trials to be sure)", format_factor(*ratio, *ratio)),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_to_the_first_volume_tells_how_sure_it_is() {
        let words = |verdict, interval: Option<(f64, f64)>, decided, why: Option<&str>| {
            let (low, high) = interval.unzip();
            let (base, more_pairs, reason) = ("disk".to_owned(), None, why.map(str::to_owned));
            let relative =
                RelativeTo { base, ratio: 2.1, low, high, verdict, decided, more_pairs, reason };
            describe_ratio(&relative)
        };
        let ends = Some((0.9, 2.2));
        assert_eq!(words(Significance::Base, None, true, None), "");
        assert_eq!(words(Significance::Different, ends, true, None), ", 2.1x disk (0.90 to 2.2)");
        assert_eq!(words(Significance::NotDistinguishable, ends, true, None), ", equal to disk");
        let open = words(Significance::NotDistinguishable, ends, false, None);
        assert_eq!(open, ", 2.1x disk (0.90 to 2.2: undecided)");
        let few = words(Significance::SpreadUnknown, None, false, None);
        assert_eq!(few, ", 2.1x disk (too few trials to be sure)");
        let void = words(Significance::SpreadUnknown, None, false, Some("void: debug-build"));
        assert_eq!(void, ", not comparable with disk (void: debug-build)");
    }
}
