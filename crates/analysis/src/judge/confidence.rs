//! How far a run's figures can be trusted, as one word with reasons. The rule is in two tables of
//! `docs/method.md` (section Confidence); a test compares them with those here.
//!
//! The level applies to all figures together. A fault of a single figure is a finding.

mod read;

use crate::figures::Figures;
use crate::figures::engines::{EngineInfo, title};
use crate::figures::findings::{Finding, Id, Severity};
use crate::figures::group::Group;
use crate::figures::lists::unique;
use schemars::JsonSchema;
use serde::Serialize;

/// How far to trust a run's figures.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Confidence {
    /// The lowest level that a reason allows.
    pub level: Level,
    /// Why it is not high, the worst first.
    pub reasons: Vec<Reason>,
}

impl Confidence {
    /// `low: 61 % CPU stolen; writers 20x unequal`.
    pub fn words(&self) -> String {
        let reasons: Vec<&str> = self.reasons.iter().map(|reason| reason.text.as_str()).collect();
        match reasons.as_slice() {
            [] => self.level.word().to_owned(),
            reasons => format!("{}: {}", self.level.word(), reasons.join("; ")),
        }
    }
}

/// A level of confidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Not even the order of engines is reliable.
    Low,
    /// The order of engines that are far apart is reliable; the distance may not be.
    Medium,
    /// No reason to expect a figure outside its range.
    High,
}

impl Level {
    /// `low`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// What lowers the confidence.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Reason {
    /// Its stable name: of a graded reading or of a finding.
    pub id: String,
    /// The highest level that it allows.
    pub level: Level,
    /// A short clause: `61 % CPU stolen`.
    pub text: String,
}

/// A reading that lowers the confidence in two steps.
#[derive(Clone, Copy, Debug)]
struct Grade {
    id: &'static str,
    medium: Bound,
    low: Bound,
}

/// The bound from which a reading counts.
#[derive(Clone, Copy, Debug)]
enum Bound {
    AtLeast(f64),
    Below(f64),
    Never,
}

impl Bound {
    fn reached(self, reading: f64) -> bool {
        match self {
            Self::AtLeast(bound) => reading >= bound,
            Self::Below(bound) => reading < bound,
            Self::Never => false,
        }
    }
}

/// The documentation's table and [`read::reading`] define each reading. Headline figures are
/// records per second of loads and, at the largest number of threads, operations per second of
/// roles (p99 of roles with a target rate), of every engine.
const GRADES: [Grade; 7] = [
    Grade { id: "no-figures", medium: Bound::Never, low: Bound::Below(1.0) },
    Grade { id: "few-trials", medium: Bound::Below(6.0), low: Bound::Below(4.0) },
    Grade { id: "spread", medium: Bound::AtLeast(20.0), low: Bound::AtLeast(50.0) },
    Grade { id: "cpu-stolen", medium: Bound::AtLeast(1.0), low: Bound::AtLeast(10.0) },
    Grade { id: "not-steady", medium: Bound::AtLeast(1.0), low: Bound::AtLeast(50.0) },
    Grade { id: "writers-unequal", medium: Bound::AtLeast(2.0), low: Bound::AtLeast(5.0) },
    Grade { id: "cases-not-done", medium: Bound::AtLeast(0.1), low: Bound::AtLeast(25.0) },
];

/// Findings that lower the confidence, each with its clause and whether that names the engines.
/// Every other invalid finding lowers it to low.
const FINDINGS: [(Id, Level, bool, &str); 25] = [
    (Id::KeysMissing, Level::Low, true, "keys missing"),
    (Id::ValuesWrong, Level::Low, true, "wrong values"),
    (Id::VerifyFailed, Level::Low, true, "failed verification"),
    (Id::DataDamaged, Level::Low, true, "data damaged"),
    (Id::DebugBuild, Level::Low, true, "built without optimisation"),
    (Id::RamLimitNotReal, Level::Low, false, "RAM limit without effect"),
    (Id::RamLimitNotHeld, Level::Low, false, "RAM limit not enforced"),
    (Id::DataDirInMemory, Level::Low, false, "data in memory, on no drive"),
    (Id::CommitNotFlushed, Level::Low, true, "commits not flushed"),
    (Id::ConcurrentRun, Level::Low, false, "another run at the same time"),
    (Id::ClockDrifted, Level::Low, false, "clock drifted"),
    (Id::OperationsFailed, Level::Medium, true, "operations failed"),
    (Id::OpenLoopBehind, Level::Medium, true, "target rate not reached"),
    (Id::NotSettled, Level::Medium, true, "background work not finished"),
    (Id::WritesStalled, Level::Medium, true, "writes stalled"),
    (Id::BusyHost, Level::Medium, false, "busy host"),
    (Id::ForeignIo, Level::Medium, false, "other processes on the drive"),
    (Id::CpuThrottled, Level::Medium, false, "CPU quota reached"),
    (Id::IoLimitAbove, Level::Medium, false, "I/O limited by others"),
    (Id::DiscardOnline, Level::Medium, false, "drive discarded while measured"),
    (Id::DriveUnwell, Level::Medium, false, "drive unhealthy"),
    (Id::AssertionsOn, Level::Medium, true, "built with assertions"),
    (Id::DriveShared, Level::Medium, false, "drive shared while its baseline was taken"),
    (Id::ClientsUneven, Level::Medium, true, "clients far apart"),
    (Id::AboveCeiling, Level::Medium, true, "above the raw-device baseline"),
];

/// Judges a run by its figures and findings.
pub(crate) fn judge(figures: &Figures) -> Confidence {
    let Figures { groups, findings, engines, .. } = figures;
    let graded = GRADES.iter().filter_map(|grade| {
        let (reading, text) = read::reading(grade.id, groups, findings, engines)?;
        let level = match (grade.low.reached(reading), grade.medium.reached(reading)) {
            (true, _) => Level::Low,
            (false, true) => Level::Medium,
            (false, false) => return None,
        };
        Some(Reason { id: grade.id.to_owned(), level, text })
    });
    let reasons_of_findings = findings.iter().filter_map(|finding| {
        let level = level_of(finding)?;
        Some(Reason { id: finding.id.as_str(), level, text: clause(finding, groups, engines) })
    });
    // Among equals the findings come first: they void figures, readings only vary them.
    let mut reasons: Vec<Reason> = reasons_of_findings.chain(graded).collect();
    let invalid = |reason: &Reason| {
        let source = findings.iter().find(|finding| finding.id.as_str() == reason.id);
        source.is_some_and(|finding| finding.severity == Severity::Invalid)
    };
    reasons.sort_by_key(|reason| (!invalid(reason), reason.level));
    let level = reasons.iter().map(|reason| reason.level).min().unwrap_or(Level::High);
    Confidence { level, reasons }
}

fn level_of(finding: &Finding) -> Option<Level> {
    let level = FINDINGS.iter().find(|(id, ..)| *id == finding.id).map(|(_, level, ..)| *level);
    level.or_else(|| (finding.severity == Severity::Invalid).then_some(Level::Low))
}

/// `RocksDB: writes stalled`.
fn clause(finding: &Finding, groups: &[Group], engines: &[EngineInfo]) -> String {
    let Some((.., names, what)) = FINDINGS.iter().find(|(id, ..)| *id == finding.id) else {
        return finding.id.as_str().replace('-', " ");
    };
    let matches =
        |group: &&Group| group.trials.iter().any(|trial| finding.cases.contains(&trial.case));
    let affected = groups.iter().filter(|group| *names && matches(group));
    match unique(affected.map(|group| title(engines, group))).as_slice() {
        [] => (*what).to_owned(),
        who => format!("{}: {what}", who.join(", ")),
    }
}

#[cfg(test)]
mod tests;
