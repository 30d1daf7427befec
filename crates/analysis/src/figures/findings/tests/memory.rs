//! Findings about the RAM limit, and about what was read into memory.

use super::finding_after;
use crate::figures::findings::Id;
use crate::fixture::Fixture;
use kvdyno_record::workload::{Activity, Phase};

#[test]
fn a_limit_that_is_not_held_has_advice_for_what_was_done() {
    let open = |fixture: &mut Fixture| {
        for case in &mut fixture.cases {
            case.record.ram_limit.enforced_by = None;
            case.record.ram_limit.reason = Some("no cgroup can be made".to_owned());
        }
    };
    let finding = finding_after(Id::RamLimitNotHeld, open);
    assert!(finding.evidence.contains("28.0 MiB was requested and not enforced: no cgroup"));
    assert!(finding.advice.contains("doctor"), "{finding:?}");
    let finding = finding_after(Id::RamLimitNotHeld, |fixture| {
        open(fixture);
        fixture.run.command.push("--no-ram-limit".to_owned());
    });
    assert!(finding.advice.contains("--no-ram-limit"), "{finding:?}");
}

#[test]
fn data_that_was_warmed_and_is_read_from_the_drive_is_not_in_memory() {
    let finding = finding_after(Id::DataNotInMemory, warm);
    let evidence = &finding.evidence;
    let words = "from the drive for each of";
    assert!(evidence.contains("the engine read") && evidence.contains(words), "{evidence}");
}

/// Other processes read from the same device: that says nothing of the engine's data.
#[test]
fn reads_of_other_processes_are_not_the_engines() {
    let mut fixture = Fixture::new();
    warm(&mut fixture);
    for case in &mut fixture.cases {
        for phase in &mut case.record.phases {
            phase.after.process.as_mut().unwrap().input_blocks_512 = 0;
        }
    }
    let findings = fixture.summary().findings.clone();
    assert!(findings.iter().all(|finding| finding.id != Id::DataNotInMemory), "{findings:?}");
}

/// LMDB's data is warmed before it is measured.
fn warm(fixture: &mut Fixture) {
    for case in fixture.plan.cases.iter_mut().filter(|case| case.engine == "lmdb") {
        case.phases.insert(0, Phase::new("warm", Activity::Warm));
    }
}
