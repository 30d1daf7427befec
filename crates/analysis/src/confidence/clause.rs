//! A finding in a short clause.

use super::super::group::Group;
use super::super::summary::{EngineInfo, title};
use crate::findings::{Finding, Id};

/// `RocksDB stalled`.
pub(super) fn of(finding: &Finding, groups: &[Group], engines: &[EngineInfo]) -> String {
    let who = || names(finding, groups, engines);
    let about = |what: &str| match who().as_str() {
        "" => what.to_owned(),
        who => format!("{who}: {what}"),
    };
    match finding.id {
        Id::KeysMissing => about("keys missing"),
        Id::ValuesWrong => about("wrong values"),
        Id::VerifyFailed => about("failed verification"),
        Id::DataDamaged => about("data damaged"),
        Id::DebugBuild => about("built without optimisation"),
        Id::RamLimitNotReal => "RAM limit without effect".to_owned(),
        Id::RamLimitNotHeld => "RAM limit not enforced".to_owned(),
        Id::PlaceInMemory => "data in memory, on no drive".to_owned(),
        Id::CommitNotFlushed => about("commits not flushed"),
        Id::RunBeside => "another run at the same time".to_owned(),
        Id::ClockDrifted => "clock drifted".to_owned(),
        Id::OperationsFailed => about("operations failed"),
        Id::OpenLoopBehind => about("target rate not reached"),
        Id::NotSettled => about("background work not finished"),
        Id::WritesStalled => about("writes stalled"),
        Id::BusyHost => "busy host".to_owned(),
        Id::ForeignIo => "other processes on the drive".to_owned(),
        Id::CpuThrottled => "CPU quota reached".to_owned(),
        Id::IoLimitAbove => "I/O limited by others".to_owned(),
        Id::DiscardOnline => "drive discarded while measured".to_owned(),
        Id::DriveUnwell => "drive unhealthy".to_owned(),
        Id::AssertionsOn => about("built with assertions"),
        Id::DriveShared => "drive shared while its baseline was taken".to_owned(),
        Id::AboveCeiling => about("above the raw-device baseline"),
        other => other.as_str().replace('-', " "),
    }
}

/// The engines that it is about, where it is not about all of them.
fn names(finding: &Finding, groups: &[Group], engines: &[EngineInfo]) -> String {
    let about =
        |group: &&Group| group.trials.iter().any(|trial| finding.cases.contains(&trial.case));
    let mut names: Vec<&str> = Vec::new();
    for group in groups.iter().filter(about) {
        let name = title(engines, group);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(", ")
}
