//! What to bear in mind about a run's figures: typed warnings, each with its evidence and with
//! advice that knows what was already done.
//!
//! A finding is about figures, not about the program: what a machine cannot do before anything ran
//! is the doctor's, and a record that contradicts itself is `kvdyno check`'s.

mod below;
mod ceiling;
mod database;
mod drive;
mod durability;
mod explain;
mod integrity;
mod machine;
mod memory;
mod method;
mod portable;
mod steady;

use crate::evidence::{CaseEvidence, Evidence};
use crate::explain::Explained;
use crate::group::Group;
use crate::summary::Harness;
use kvdyno_record::case::{CaseRecord, PhaseRecord};
use kvdyno_record::files::RecordError;
use kvdyno_record::workload::{Drive, Work};
use schemars::JsonSchema;
use serde::Serialize;

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The figures are void.
    Invalid,
    /// The figures may mislead.
    Warning,
    /// The figures hold, within this.
    Info,
}

macro_rules! kinds {
    ($($(#[doc = $doc:literal])* $kind:ident = $severity:ident;)*) => {
        /// What was found. The names are stable: suites and scripts refer to them.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema,
        )]
        #[serde(rename_all = "kebab-case")]
        pub enum Id {
            $($(#[doc = $doc])* $kind,)*
        }

        impl Id {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$kind),*];

            /// How much it weighs.
            pub fn severity(self) -> Severity {
                match self {
                    $(Self::$kind => Severity::$severity,)*
                }
            }
        }
    };
}

kinds! {
    /// Keys that must be there were not found.
    KeysMissing = Invalid;
    /// Values came back with the wrong key, length or checksum.
    ValuesWrong = Invalid;
    /// The verify phase found fewer records or other values than were loaded.
    VerifyFailed = Invalid;
    /// The engine said that its data is damaged.
    DataDamaged = Invalid;
    /// The record is not what was sealed when the run ended.
    RecordAltered = Invalid;
    /// A worker was built without optimisation.
    DebugBuild = Invalid;
    /// The RAM limit was in force, and the data was cached outside it.
    RamLimitNotReal = Invalid;
    /// The RAM limit asked for was not held.
    RamLimitNotHeld = Warning;
    /// The data lies on a filesystem in memory.
    PlaceInMemory = Warning;
    /// Cases did not run to their end.
    CasesNotDone = Warning;
    /// A case that came to its end had failed before.
    TriedAgain = Warning;
    /// An engine does not fit its RAM limit.
    DoesNotFit = Info;
    /// The run is not complete.
    RunPartial = Info;
    /// The drive was not read: figures are of memory.
    DataAllCached = Info;
    /// Operations failed.
    OperationsFailed = Warning;
    /// An open loop was not kept.
    OpenLoopBehind = Warning;
    /// An engine did not come to rest before it was measured.
    NotSettled = Warning;
    /// An engine called writes committed that were not flushed to the drive.
    CommitNotFlushed = Warning;
    /// Readers are compared beside writers of very different speed.
    WritersUnequal = Warning;
    /// An engine delayed or stopped writes while it was measured.
    WritesStalled = Warning;
    /// The rate changed while it was measured.
    NotSteady = Warning;
    /// The data lies on an overlay.
    PlaceOverlay = Warning;
    /// There is no block device under the place, or it has no counters.
    DriveUncounted = Warning;
    /// Readahead is on and large.
    ReadaheadLarge = Warning;
    /// The hypervisor took CPU time away.
    CpuStolen = Warning;
    /// The machine was busy when the run began.
    BusyHost = Warning;
    /// Another run measured on the same machine at the same time.
    RunBeside = Warning;
    /// Other processes used the drive while it was measured.
    ForeignIo = Warning;
    /// Memory past the limit can go to swap.
    SwapOn = Warning;
    /// The kernel evicts cold memory by itself, limit or no limit.
    DamonOn = Warning;
    /// Others limit our memory, tighter than the machine does.
    MemoryLimitAbove = Warning;
    /// Limits of CPU time that others have set stopped threads during the run.
    CpuThrottled = Warning;
    /// Others limit our I/O.
    IoLimitAbove = Warning;
    /// Deleted files were discarded on the drive while it was measured.
    DiscardOnline = Warning;
    /// The drive is failing, worn or hot by its own account.
    DriveUnwell = Warning;
    /// An engine was built with assertions.
    AssertionsOn = Warning;
    /// A worker's clock ran at another rate than the system's.
    ClockDrifted = Warning;
    /// The harness is a large part of what was measured.
    HarnessShare = Warning;
    /// Others were at the drive while it was measured by itself.
    DriveShared = Warning;
    /// An engine made more I/Os than the bare drive could.
    AboveCeiling = Warning;
    /// The drive is virtual: a cache may lie behind it.
    DriveVirtual = Info;
    /// The database is small against the drive.
    SmallAgainstDrive = Info;
    /// What the drive itself writes is not in the figures.
    DriveInsideUnseen = Info;
    /// The kernel holds back writes in the background for the sake of reads.
    WritesThrottled = Info;
    /// Loaded data was not verified.
    NotVerified = Info;
    /// Far less of a database is on the drive than was put into it.
    DatabaseTooSmall = Warning;
    /// Cases worked on a database that others had written to before.
    DatabaseShared = Info;
    /// Cases wrote to databases that shared their blocks with what they were copied from.
    DatabaseReflinked = Warning;
    /// Measured for less than a minute.
    ShortMeasure = Info;
    /// Too few slices to see a trend.
    FewSlices = Info;
    /// Too few trials for an interval.
    FewTrials = Info;
    /// A slower clock had to be used.
    SlowClock = Info;
    /// Tails that the machine alone would explain.
    TailBelowHarness = Info;
    /// Threads were ready to run and had no CPU.
    CpuWanting = Warning;
    /// Most of the time went into waiting for flushes, one a write or so.
    BoundByFlushes = Info;
    /// Most of the time went into waiting for single requests to the drive.
    BoundByLatency = Info;
    /// Most of the time went into waiting for a drive that gives no more.
    BoundByDrive = Info;
    /// Most of the time was spent computing.
    BoundByCpu = Info;
    /// Most of the time went into waiting for other threads.
    BoundByLock = Info;
    /// An engine built for any processor is compared where the CPU decides.
    PortableBuild = Info;
}

impl Id {
    /// Its stable name: `ram-limit-not-real`.
    pub fn as_str(self) -> String {
        let name = format!("{self:?}");
        let mut text = String::with_capacity(name.len() + 4);
        for (at, letter) in name.char_indices() {
            if at > 0 && letter.is_uppercase() {
                text.push('-');
            }
            text.push(letter.to_ascii_lowercase());
        }
        text
    }
}

/// A typed warning.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Finding {
    /// What was found.
    pub id: Id,
    /// How much it weighs.
    pub severity: Severity,
    /// What shows it, with figures.
    pub evidence: String,
    /// What would help.
    pub advice: String,
    /// The cases it is about; empty: all of the run.
    pub cases: Vec<String>,
}

impl Finding {
    /// About the whole run.
    fn of_run(id: Id, evidence: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            id,
            severity: id.severity(),
            evidence: evidence.into(),
            advice: advice.into(),
            cases: Vec::new(),
        }
    }

    /// About cases: each with its evidence, of which the first is quoted. None where there is none.
    fn of_cases(
        id: Id,
        evidence: impl IntoIterator<Item = (String, String)>,
        advice: impl Into<String>,
    ) -> Option<Self> {
        let mut quoted = None;
        let mut cases: Vec<String> = Vec::new();
        for (case, words) in evidence {
            quoted.get_or_insert_with(|| format!("{case}: {words}"));
            if cases.last() != Some(&case) {
                cases.push(case);
            }
        }
        Some(Self { cases, ..Self::of_run(id, quoted?, advice) })
    }
}

/// Everything that is to be said about a run, the worst first.
pub fn judge(
    evidence: &Evidence,
    groups: &[Group],
    harness: Option<&Harness>,
    explained: &[Explained],
) -> Result<Vec<Finding>, RecordError> {
    let mut findings = Vec::new();
    findings.extend(integrity::altered(&evidence.altered()?));
    findings.extend(integrity::findings(evidence));
    // What the host of the record says of itself is no evidence of a machine elsewhere.
    if !evidence.is_imported() {
        findings.extend(memory::findings(evidence));
        findings.extend(drive::findings(evidence));
        findings.extend(machine::findings(evidence));
    }
    findings.extend(ceiling::findings(groups));
    findings.extend(durability::findings(evidence)?);
    findings.extend(method::findings(evidence, groups, harness)?);
    findings.extend(steady::findings(evidence, groups)?);
    findings.extend(explain::findings(groups, explained));
    findings.extend(portable::findings(evidence, groups, explained));
    findings.extend(database::findings(evidence));
    findings.sort_by_key(|finding| (finding.severity, finding.id));
    Ok(findings)
}

/// Every phase that was measured, with its plan.
fn measured(evidence: &Evidence) -> impl Iterator<Item = Measured<'_>> {
    evidence.recorded().flat_map(|(case, record)| {
        record.phases.iter().filter_map(move |phase| {
            let planned = case.case.phases.iter().find(|planned| planned.name == phase.name)?;
            let Work::Measure(drive) = &planned.work else { return None };
            Some(Measured { case, record, phase, drive })
        })
    })
}

/// A measured phase, and what it belongs to.
#[derive(Clone, Copy)]
struct Measured<'e> {
    case: &'e CaseEvidence,
    record: &'e CaseRecord,
    phase: &'e PhaseRecord,
    drive: &'e Drive,
}

impl Measured<'_> {
    fn id(&self) -> String {
        self.case.case.id.clone()
    }

    /// Bytes and I/Os read at the device.
    fn device_reads(&self) -> Option<u64> {
        let (before, after) = (&self.phase.before.device, &self.phase.after.device);
        after.as_ref()?.reads.checked_sub(before.as_ref()?.reads)
    }

    fn lookups(&self) -> u64 {
        let ops = self.phase.roles.iter().flat_map(|role| role.ops.values());
        ops.map(|op| op.found + op.missing).sum()
    }

    /// Its engine stores nothing.
    fn of_harness(&self) -> bool {
        of_harness(self.record)
    }
}

fn of_harness(record: &CaseRecord) -> bool {
    let worker = record.worker.as_ref();
    worker.is_some_and(|worker| worker.description.engine.capabilities.measures_the_harness)
}

#[cfg(test)]
mod tests;
