//! Phases in turns: other programs take CPUs from two builds in unequal parts, so the time that a
//! role's thread waited for a CPU is left out of its rate. One decision holds for all trials of
//! both builds.

use super::evidence::CaseEvidence;
use kvdyno_record::case::{PhaseRecord, RoleResult};
use kvdyno_record::usage::{Snapshot, ThreadsUsage};
use std::collections::BTreeSet;

/// CPU time of threads that are not the role's, as a share of the phase. Beyond it the role may
/// have waited for threads of its own process, which is the engine's price.
const OTHERS_MAX: f64 = 0.05;

/// Notes at each case which phases have rates without waits for a CPU: those in turns, unless one
/// of the run's cases was not in turns, has several threads in a role, or may have waited for its
/// own process.
pub(super) fn decide_waits(cases: &mut [CaseEvidence]) {
    let records = cases.iter().filter(|case| case.case.turns_with.is_some());
    let records = records.filter_map(|case| case.record.as_ref());
    let phases: Vec<&PhaseRecord> = records.flat_map(|record| &record.phases).collect();
    let in_turns = phases.iter().filter(|phase| phase.turns.is_some());
    let names: BTreeSet<&String> = in_turns.map(|phase| &phase.name).collect();
    let alone = |name: &String| {
        let mut records = phases.iter().filter(|phase| phase.name == *name && !phase.stopped);
        records.all(|phase| works_alone(phase))
    };
    let without_waits: BTreeSet<String> = names.into_iter().filter(|n| alone(n)).cloned().collect();
    for case in cases.iter_mut().filter(|case| case.case.turns_with.is_some()) {
        case.without_waits.clone_from(&without_waits);
    }
}

/// Whether one thread was measured in turns, and the rest of its process did hardly anything.
fn works_alone(phase: &PhaseRecord) -> bool {
    let [role] = phase.roles.as_slice() else { return false };
    let process = |snapshot: &Snapshot| {
        snapshot.process.as_ref().map(|process| process.user_ns + process.system_ns)
    };
    let process = process(&phase.before).zip(process(&phase.after));
    let Some((usage, (before, after))) = role.usage.zip(process) else { return false };
    let of_others = after.saturating_sub(before).saturating_sub(usage.user_ns + usage.system_ns);
    // A thread that waits beside a server may wait for the server.
    let has_server = phase.before.server.is_some() || phase.before.elsewhere;
    phase.turns.is_some()
        && !has_server
        && role.threads == 1
        && usage.time_ns > 0
        && usage.runqueue_ns.is_some()
        && of_others as f64 <= OTHERS_MAX * usage.time_ns as f64
}

/// The share of its time in which a role did not wait for a CPU.
pub(crate) fn share_with_cpu(role: &RoleResult) -> f64 {
    let Some(ThreadsUsage { time_ns, runqueue_ns: Some(waited_ns), .. }) = role.usage else {
        return 1.0;
    };
    1.0 - waited_ns.min(time_ns) as f64 / time_ns.max(1) as f64
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
        let roles = vec![role()];
        PhaseRecord { turns: Some(turns), before, after, roles, ..PhaseRecord::default() }
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
    fn waits_for_a_cpu_are_left_out_where_the_thread_works_alone() {
        assert!((share_with_cpu(&role()) - 0.75).abs() < 1e-9);
        assert!(works_alone(&phase(700)));
        assert!(!works_alone(&phase(751)), "it may have waited for its own process");
        assert!(!works_alone(&PhaseRecord { turns: None, ..phase(700) }), "at a stretch");
        let two = RoleResult { threads: 2, ..role() };
        assert!(!works_alone(&PhaseRecord { roles: vec![two], ..phase(700) }));
    }
}
