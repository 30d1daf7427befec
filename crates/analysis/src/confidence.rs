//! How far a run's figures are to be trusted, in a word, and why: by the rule that `docs/method.md`
//! has as two tables (section Confidence), which a test holds to those here.
//!
//! It is about the figures as a whole. What is wrong with a single one is a finding.

mod clause;
mod read;

use super::group::Group;
use super::summary::EngineInfo;
use crate::findings::{Finding, Id, Severity};
use schemars::JsonSchema;
use serde::Serialize;

/// How far to trust a run's figures.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Confidence {
    /// The least that any reason allows.
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
    /// Not even the order of engines is to be relied on.
    Low,
    /// The order of engines that are far apart holds; how far apart they are may not.
    Medium,
    /// Nothing was found that would change a figure by more than its range says.
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
    /// The most that it allows.
    pub level: Level,
    /// A short clause: `61 % CPU stolen`.
    pub text: String,
}

/// A reading that lowers the confidence by how much it is.
#[derive(Clone, Copy, Debug)]
struct Grade {
    id: &'static str,
    medium: Bound,
    low: Bound,
}

/// From where on a reading counts.
#[derive(Clone, Copy, Debug)]
enum Bound {
    From(f64),
    Below(f64),
    Never,
}

impl Bound {
    fn reached(self, reading: f64) -> bool {
        match self {
            Self::From(bound) => reading >= bound,
            Self::Below(bound) => reading < bound,
            Self::Never => false,
        }
    }
}

/// What each reads is said in the documentation's table and by [`read::reading`]. Headline figures
/// are records a second of loads and, at the largest number of threads, operations a second of
/// roles (of those on a schedule: p99), of every engine.
const GRADES: [Grade; 7] = [
    Grade { id: "no-figures", medium: Bound::Never, low: Bound::Below(1.0) },
    Grade { id: "few-trials", medium: Bound::Below(6.0), low: Bound::Below(4.0) },
    Grade { id: "spread", medium: Bound::From(20.0), low: Bound::From(50.0) },
    Grade { id: "cpu-stolen", medium: Bound::From(1.0), low: Bound::From(10.0) },
    Grade { id: "not-steady", medium: Bound::From(1.0), low: Bound::From(50.0) },
    Grade { id: "writers-unequal", medium: Bound::From(2.0), low: Bound::From(5.0) },
    Grade { id: "cases-not-done", medium: Bound::From(0.1), low: Bound::From(25.0) },
];

/// Findings that lower the confidence by being there; beside these every invalid one, to low.
const FINDINGS: [(Id, Level); 18] = [
    (Id::RamLimitNotHeld, Level::Low),
    (Id::PlaceInMemory, Level::Low),
    (Id::CommitNotFlushed, Level::Low),
    (Id::RunBeside, Level::Low),
    (Id::ClockDrifted, Level::Low),
    (Id::OperationsFailed, Level::Medium),
    (Id::OpenLoopBehind, Level::Medium),
    (Id::NotSettled, Level::Medium),
    (Id::WritesStalled, Level::Medium),
    (Id::BusyHost, Level::Medium),
    (Id::ForeignIo, Level::Medium),
    (Id::CpuThrottled, Level::Medium),
    (Id::IoLimitAbove, Level::Medium),
    (Id::DiscardOnline, Level::Medium),
    (Id::DriveUnwell, Level::Medium),
    (Id::AssertionsOn, Level::Medium),
    (Id::DriveShared, Level::Medium),
    (Id::AboveCeiling, Level::Medium),
];

/// Judges a run by its figures and findings.
pub(super) fn judge(groups: &[Group], findings: &[Finding], engines: &[EngineInfo]) -> Confidence {
    let graded = GRADES.iter().filter_map(|grade| {
        let (reading, text) = read::reading(grade.id, groups, findings, engines)?;
        let level = match (grade.low.reached(reading), grade.medium.reached(reading)) {
            (true, _) => Level::Low,
            (false, true) => Level::Medium,
            (false, false) => return None,
        };
        Some(Reason { id: grade.id.to_owned(), level, text })
    });
    let found = findings.iter().filter_map(|finding| {
        let level = level_of(finding)?;
        Some(Reason { id: finding.id.as_str(), level, text: clause::of(finding, groups, engines) })
    });
    // The findings first among equals: what voids figures is said before how they vary.
    let mut reasons: Vec<Reason> = found.chain(graded).collect();
    let invalid = |reason: &Reason| {
        let of = findings.iter().find(|finding| finding.id.as_str() == reason.id);
        of.is_some_and(|finding| finding.severity == Severity::Invalid)
    };
    reasons.sort_by_key(|reason| (!invalid(reason), reason.level));
    let level = reasons.iter().map(|reason| reason.level).min().unwrap_or(Level::High);
    Confidence { level, reasons }
}

fn level_of(finding: &Finding) -> Option<Level> {
    if finding.severity == Severity::Invalid {
        return Some(Level::Low);
    }
    FINDINGS.iter().find(|(id, _)| *id == finding.id).map(|(_, level)| *level)
}

#[cfg(test)]
mod tests;
