//! Phases in turns: other programs take CPUs from two builds in unequal parts, so the time that a
//! role's threads waited for a CPU is left out of its rate.

use kvdyno_record::case::{PhaseRecord, RoleResult};
use kvdyno_record::usage::Snapshot;

/// CPU time of threads that are not the role's, as a share of the phase. Beyond it the role may
/// have waited for threads of its own process, which is the engine's price.
const OTHERS_MAX: f64 = 0.05;

/// The share of its time in which a role of a phase in turns did not wait for a CPU. 1 where the
/// phase is measured at a stretch, the role has several threads, or that is not known.
pub(super) fn share_with_cpu(phase: &PhaseRecord, role: &RoleResult) -> f64 {
    let usage = role.usage.filter(|_| phase.turns.is_some() && role.threads == 1);
    let Some((usage, waited_ns)) = usage.and_then(|usage| Some((usage, usage.runqueue_ns?))) else {
        return 1.0;
    };
    let process = |snapshot: &Snapshot| {
        snapshot.process.as_ref().map(|process| process.user_ns + process.system_ns)
    };
    let Some((before, after)) = process(&phase.before).zip(process(&phase.after)) else {
        return 1.0;
    };
    let of_others = after.saturating_sub(before).saturating_sub(usage.user_ns + usage.system_ns);
    if usage.time_ns == 0 || of_others as f64 > OTHERS_MAX * usage.time_ns as f64 {
        return 1.0;
    }
    1.0 - waited_ns.min(usage.time_ns) as f64 / usage.time_ns as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_record::turns::TurnsRecord;
    use kvdyno_record::usage::{ProcessUsage, ThreadsUsage};

    fn phase(process_ns: u64) -> PhaseRecord {
        let at = |user_ns| {
            let process = ProcessUsage { user_ns, ..ProcessUsage::default() };
            Snapshot { process: Some(process), ..Snapshot::default() }
        };
        let turns = TurnsRecord { number: 2, stopped_ns: 1, with: "0002".to_owned() };
        let (before, after) = (at(50), at(50 + process_ns));
        PhaseRecord { turns: Some(turns), before, after, ..PhaseRecord::default() }
    }

    fn role() -> RoleResult {
        let usage = ThreadsUsage {
            time_ns: 1_000,
            user_ns: 700,
            runqueue_ns: Some(250),
            ..ThreadsUsage::default()
        };
        RoleResult {
            role: "readers".to_owned(),
            threads: 1,
            window_ns: 1_000,
            windows: Vec::new(),
            offered_per_s: None,
            backlog: 0,
            own_ns: 0,
            usage: Some(usage),
            ops: std::collections::BTreeMap::new(),
        }
    }

    #[test]
    fn waits_for_a_cpu_are_left_out_of_turns() {
        assert!((share_with_cpu(&phase(700), &role()) - 0.75).abs() < 1e-9);
        let stretch = PhaseRecord { turns: None, ..phase(700) };
        assert!((share_with_cpu(&stretch, &role()) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn waits_for_threads_of_its_own_process_are_not() {
        assert!((share_with_cpu(&phase(751), &role()) - 1.0).abs() < 1e-9);
        let two = RoleResult { threads: 2, ..role() };
        assert!((share_with_cpu(&phase(700), &two) - 1.0).abs() < 1e-9);
    }
}
