//! Rates that all engines can sustain: pilots run first, and the other cases get a share of what
//! the slowest engine did in them.

use super::runner::{Ended, RunEnvironment};
use crate::printer::{Printer, Progress};
use crate::records::begun;
use kvdyno_analysis::figures::evidence::Evidence;
use kvdyno_record::case::{CaseRecord, PhaseRecord};
use kvdyno_record::plan::{Case, Plan};
use kvdyno_record::redact::without_secrets;
use kvdyno_record::units;
use kvdyno_record::workload::{Phase, PilotRate, Rate, Schedule};

/// A pilot that is done.
#[derive(Clone, Copy)]
struct Pilot<'p> {
    case: &'p Case,
    record: &'p CaseRecord,
}

/// Runs the pilots of a plan whose rates are not known, and puts the rates into the plan. An engine
/// whose pilot fails counts for no rate. Returns `Complete` or `Interrupted`.
pub(super) fn find_rates(
    env: &mut RunEnvironment,
    plan: &mut Plan,
    progress: &Progress<'_>,
    printer: &Printer,
) -> anyhow::Result<Ended> {
    if !plan.cases.iter().any(Case::lacks_rate) {
        return Ok(Ended::Complete);
    }
    let cases = plan.cases.iter().filter(|case| case.is_pilot()).cloned().collect();
    if env.cases(&Plan { cases, ..plan.clone() }, progress)? == Ended::Interrupted {
        return Ok(Ended::Interrupted);
    }
    let evidence = Evidence::read(&env.dir)?;
    let recorded = evidence.recorded_cases().filter(|(case, _)| case.case.is_pilot());
    let mut pilots = Vec::new();
    for (case, record) in recorded {
        if case.is_done() {
            pilots.push(Pilot { case: &case.case, record });
        } else {
            let outcome = record.outcome.as_str();
            printer.warning(&format!("{} {outcome}: the rates do not count it", case.case.id));
        }
    }
    for note in set_rates(plan, &pilots) {
        printer.note(&note);
    }
    begun::write_plan(&env.dir, &without_secrets(plan)?)?;
    Ok(Ended::Complete)
}

/// Sets each rate that a pilot found; returns a note for each.
fn set_rates(plan: &mut Plan, pilots: &[Pilot<'_>]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for case in plan.cases.iter_mut().filter(|case| case.lacks_rate()) {
        let (peers, setting) = (peers(pilots, case), setting_words(case));
        for role in case.phases.iter_mut().flat_map(Phase::roles_mut) {
            let Some(rule) = role.pilot.as_ref().filter(|_| role.rate.is_none()) else { continue };
            let Some((engine, rate)) = find_slowest(&peers, rule) else { continue };
            let operations_per_s = (rate * rule.share).max(1.0).round();
            role.rate = Some(Rate::new(operations_per_s, Schedule::Poisson));
            let note = format!(
                "{} at {}/s for all engines{setting}: {:.0} % of {engine} in `{}`",
                role.name,
                units::group_digits(operations_per_s as u64),
                rule.share * 100.0,
                rule.phase
            );
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    notes
}

/// The pilots of a case's setting and durability class. The null engine has one class, whatever the
/// others have: without pilots of its class, a case gets all of its setting.
fn peers<'p>(pilots: &[Pilot<'p>], case: &Case) -> Vec<Pilot<'p>> {
    let is_alike = |pilot: &&Pilot<'_>| has_same_setting(pilot.case, case);
    let alike: Vec<Pilot<'p>> = pilots.iter().filter(is_alike).copied().collect();
    let class = |pilot: &&Pilot<'_>| pilot.case.options.durability == case.options.durability;
    let of_class: Vec<Pilot<'p>> = alike.iter().filter(class).copied().collect();
    if of_class.is_empty() { alike } else { of_class }
}

/// ` of class async, RAM limit 1.00 GiB, on xfs`.
fn setting_words(case: &Case) -> String {
    let class = case.options.durability.as_str();
    let ram = case.ram_limit_bytes.map(|bytes| format!(", RAM limit {}", units::bytes(bytes)));
    let volume = case.volume.as_ref().map(|volume| format!(", on {}", volume.name));
    format!(" of class {class}{}{}", ram.unwrap_or_default(), volume.unwrap_or_default())
}

/// The slowest engine of the pilots, with its operations a second in the phase.
fn find_slowest<'p>(pilots: &[Pilot<'p>], rule: &PilotRate) -> Option<(&'p str, f64)> {
    let rates = pilots.iter().filter_map(|pilot| {
        Some((pilot.case.label.as_str(), sustained_rate(&pilot.record.phases, &rule.phase)?))
    });
    rates.filter(|(_, rate)| *rate > 0.0).min_by(|(_, a), (_, b)| a.total_cmp(b))
}

/// The operations per second of a phase; its time includes the work that it left behind.
fn sustained_rate(phases: &[PhaseRecord], name: &str) -> Option<f64> {
    let index = phases.iter().position(|phase| phase.name == name)?;
    let settle = phases.get(index + 1).filter(|next| next.kind == "settle");
    let deferred_ns = phases[index].deferred_ns(settle);
    let rates = phases[index].roles.iter().filter_map(|role| {
        let count = role.summed_ops().map(|op| op.count).sum();
        role.sustained_per_second(count, deferred_ns)
    });
    Some(rates.sum())
}

/// Whether two cases have the same part, data set, RAM limit, memory tier and volume.
pub(super) fn has_same_setting(a: &Case, b: &Case) -> bool {
    let volume = |case: &Case| case.volume.as_ref().map(|volume| volume.name.clone());
    a.part == b.part
        && a.ram_limit_bytes == b.ram_limit_bytes
        && a.tier == b.tier
        && a.data.unpacked() == b.data.unpacked()
        && volume(a) == volume(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_record::case::{OpResult, RoleResult};
    use kvdyno_record::usage::Snapshot;

    fn phase(name: &str, kind: &str, wall_s: u64, operations: u64) -> PhaseRecord {
        let op = OpResult { count: operations, write_bytes: 1, ..OpResult::default() };
        let role = RoleResult {
            role: "writer".to_owned(),
            threads: 1,
            window_ns: wall_s * 1_000_000_000,
            windows: Vec::new(),
            offered_per_s: None,
            backlog: 0,
            own_ns: 0,
            usage: None,
            ops: [("update".to_owned(), op)].into(),
        };
        PhaseRecord {
            name: name.to_owned(),
            kind: kind.to_owned(),
            wall_ns: wall_s * 1_000_000_000,
            roles: if operations > 0 { vec![role] } else { Vec::new() },
            ..PhaseRecord::default()
        }
    }

    #[test]
    fn a_rate_is_sustained_over_the_work_that_was_left_behind() {
        let phases = [
            phase("load", "load", 1, 100),
            phase("alone", "measure", 4, 4000),
            phase("alone-settle", "settle", 4, 0),
            phase("rest", "settle", 100, 0),
        ];
        assert_eq!(sustained_rate(&phases, "alone"), Some(500.0));
        assert_eq!(sustained_rate(&phases[..2], "alone"), Some(1000.0));
        // The time to sync the page cache at the end is a part of it.
        let mut synced = phases.clone();
        synced[1].synced = Some((Snapshot::default(), 2_000_000_000));
        assert_eq!(sustained_rate(&synced, "alone"), Some(400.0));
        assert_eq!(sustained_rate(&phases, "other"), None);
    }
}
