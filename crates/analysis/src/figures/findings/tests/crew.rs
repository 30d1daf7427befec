//! Ranks of a crew that are outliers, and ranks that are not.

use super::*;
use kvdyno_record::case::PhaseRecord;
use kvdyno_record::workload::{Activity, Rate, Schedule};

/// The finding after a change of one case's phase.
fn uneven(change: impl FnOnce(&mut PhaseRecord)) -> Option<Finding> {
    let mut fixture = Fixture::with_crew();
    change(fixture.case("lmdb_t2_r1").phase("measure"));
    fixture.summary().figures.findings.into_iter().find(|finding| finding.id == Id::ClientsUneven)
}

#[test]
fn ranks_that_are_nearly_as_fast_as_each_other_are_no_finding() {
    assert_eq!(uneven(|_| {}), None);
}

#[test]
fn a_rank_that_is_slower_or_faster_than_the_median_one_is_named() {
    let paced = |percent: u64| {
        uneven(|phase| {
            for role in &mut phase.roles {
                let range = role.windows.len() / 4 * 2..role.windows.len() / 4 * 3;
                for thread in &mut role.windows[range] {
                    thread.operations = thread.operations * percent / 100;
                }
            }
        })
    };
    let slow = paced(40).unwrap();
    assert_eq!(slow.cases, ["0003_lmdb_t2_r1"]);
    let words = "measure: rank 2 of 4 (node1) made";
    assert!(slow.evidence.contains(words), "{slow:?}");
    // The median rank's threads did 98 or 100 parts where this one's did 101.
    let share = "41.2 % of what its threads would have at the median rank's pace";
    assert!(slow.evidence.contains(share), "{slow:?}");
    assert!(slow.evidence.contains("its worker had 0.22 CPUs, the median one's 0.22"), "{slow:?}");
    assert_eq!(paced(80), None);
    assert!(paced(150).unwrap().evidence.contains("rank 2 of 4"));
}

/// A few operations, as on a schedule, say nothing about a rank's pace.
#[test]
fn few_operations_are_no_pace() {
    let few = uneven(|phase| {
        for role in &mut phase.roles {
            for (index, thread) in role.windows.iter_mut().enumerate() {
                thread.operations = if index % 4 == 2 { 3 } else { 9 };
            }
        }
    });
    assert_eq!(few, None);
}

/// An open loop's rate is its schedule's: a slow rank shows in its backlog.
#[test]
fn a_rank_that_is_behind_its_schedule_alone_is_named() {
    let behind = |backlogs: [u64; 4]| {
        let mut fixture = Fixture::with_crew();
        let case = fixture.case("lmdb_t2_r1");
        for phase in &mut case.record.case.phases {
            if let Activity::Measure(mix) = &mut phase.work {
                for role in &mut mix.roles {
                    role.rate = Some(Rate::new(1000.0, Schedule::Fixed));
                }
            }
        }
        let phase = case.phase("measure");
        for role in &mut phase.roles {
            role.offered_per_s = Some(1000.0);
            role.windows.iter_mut().for_each(|thread| thread.operations = 1000);
        }
        for (rank, backlog) in phase.ranks.iter_mut().zip(backlogs) {
            rank.backlog = backlog;
        }
        fixture.replan();
        let findings = fixture.summary().figures.findings;
        findings.into_iter().find(|finding| finding.id == Id::ClientsUneven)
    };
    let late = behind([3, 0, 0, 1000]).unwrap();
    assert!(late.evidence.contains("rank 3 of 4 (node1) left 25.0 % of its"), "{late:?}");
    assert_eq!(behind([3, 0, 0, 3]), None, "the end of the phase explains it");
    assert_eq!(behind([1000; 4]), None, "all of them are behind: another finding");
}

#[test]
fn ranks_that_began_far_apart_are_named_within_the_clock_error() {
    let late = |error_ns| {
        uneven(|phase| {
            (phase.ranks[3].skew_ns, phase.ranks[3].clock_error_ns) = (130_000_000, error_ns);
        })
    };
    let finding = late(1_000_000).unwrap();
    let words = "rank 3 of 4 (node1) began 129 ms after rank 0 of 4 (node0), a slice is 1.00 s";
    assert!(finding.evidence.contains(words), "{finding:?}");
    assert_eq!(late(40_000_000), None);
}

/// Ranks on other hosts have their own processors.
#[test]
fn the_clients_of_a_crew_can_have_each_hosts_processors() {
    let bound = |hosts: bool| {
        let mut fixture = Fixture::with_crew();
        fixture.run.host_before.machine.cpus = 2;
        let phase = fixture.case("lmdb_t2_r1").phase("measure");
        let window = phase.wall_ns;
        (phase.before.server, phase.after.server) =
            (phase.before.process.clone(), phase.after.process.clone());
        phase.before.process.as_mut().unwrap().user_ns = 0;
        phase.after.process.as_mut().unwrap().user_ns = window * 5 / 2;
        for rank in &mut phase.ranks {
            rank.cpus = 2;
            if !hosts {
                rank.host = "node0".to_owned();
            }
        }
        fixture.summary().figures.findings.into_iter().any(|finding| finding.id == Id::ClientBound)
    };
    assert!(bound(false), "2.5 of 2 CPUs");
    assert!(!bound(true), "2.5 of 4 CPUs");
}
