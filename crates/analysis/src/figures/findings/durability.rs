//! Which I/O reached the drive, and from whom: whether commits were flushed (the class is verified,
//! not trusted), and whether other processes used the drive.

use super::finding::{Finding, Measured};
use super::kinds::Id;
use super::storage;
use crate::figures::block_io::{flushes_and_fua, writes};
use crate::figures::evidence::Evidence;
use crate::figures::group::without_part;
use crate::figures::lists::{group_equal, has_several, unique};
use crate::figures::spent::Spent;
use kvdyno_record::blockio::{BlockIo, Cell, IoOwner, Watch};
use kvdyno_record::engine::Durability;
use kvdyno_record::files::{CaseDir, RecordError};
use kvdyno_record::host::Drive;
use kvdyno_record::units::{group_digits, percent};
use kvdyno_record::workload::{Mix, Phase};

/// With fewer commits there is no finding.
const COMMITS_MIN: u64 = 1000;

/// Writers that commit together may share a flush, at most one per group of all writers. Below this
/// share of the flushes needed even then, the engine did not flush: the flushes are another's.
const SHARE: f64 = 0.01;

pub(super) fn findings(evidence: &Evidence) -> Result<Vec<Finding>, RecordError> {
    let findings =
        [unflushed_commits(evidence)?, foreign_io(evidence)?, unequal_promises(evidence)];
    Ok(findings.into_iter().flatten().collect())
}

/// Engines that write in one durability class and lose different data in a power loss.
fn unequal_promises(evidence: &Evidence) -> Option<Finding> {
    let writing = evidence.cases.iter().filter(|case| {
        let competes = !case.stores_nothing() && !case.is_bare_drive() && !case.case.ceiling;
        competes && case.case.phases.iter().filter_map(Phase::mix).any(Mix::writes)
    });
    let promises = writing.filter_map(|case| {
        let engine = without_part(&case.case.label, case.case.part.as_deref());
        Some((case.case.options.durability, case.power_loss()?, engine))
    });
    let by_class = group_equal(unique(promises), |a, b| a.0 == b.0);
    let class =
        by_class.into_iter().find(|class| has_several(class.iter().map(|promise| promise.1)))?;
    let class_name = class[0].0.as_str();
    let engines = class.iter().map(|(_, lost, engine)| format!("{engine} {}", lost.as_str()));
    let engines: Vec<String> = engines.collect();
    let text = format!("in class {class_name}, in a power loss {}", engines.join(", "));
    Some(Finding::new(Id::PowerLossDiffers, text))
}

fn unflushed_commits(evidence: &Evidence) -> Result<Option<Finding>, RecordError> {
    Finding::from_files(Id::CommitNotFlushed, evidence, |measured| {
        let drive =
            storage::case_storage(evidence, measured.record).and_then(|storage| storage.drive);
        // Data in a drive without a cache, or with a protected cache, is durable.
        let cached = |drive: &&Drive| drive.write_cache.as_deref() == Some("write back");
        drive.filter(cached).map_or(Ok(None), |drive| unflushed_evidence(evidence, measured, drive))
    })
}

/// The evidence that a phase committed without flushing; none where it flushed.
fn unflushed_evidence(
    evidence: &Evidence,
    measured: &Measured<'_>,
    drive: &Drive,
) -> Result<Option<String>, RecordError> {
    let commits = writes(measured.phase);
    let class = measured.case.case.options.durability;
    // A server on another machine stores nothing here, and the null engine nothing at all.
    let stored = measured.phase.database.is_some_and(|size| size.used_bytes > 0);
    if class != Durability::Commit
        || commits < COMMITS_MIN
        || measured.measures_load_generator()
        || !stored
    {
        return Ok(None);
    }
    let Some((flushes, words)) = count_flushes(evidence, measured, drive)? else { return Ok(None) };
    let writers = writers(measured).max(1);
    let needed = commits as f64 / writers as f64;
    let none = (flushes as f64) < SHARE * needed;
    Ok(none.then(|| {
        let by = if writers == 1 { "1 writer".to_owned() } else { format!("{writers} writers") };
        format!("{} commits by {by}, {words}", group_digits(commits))
    }))
}

/// Counts flushes and writes with FUA, with the words for them. None where they were not counted,
/// or not all.
fn count_flushes(
    evidence: &Evidence,
    measured: &Measured<'_>,
    drive: &Drive,
) -> Result<Option<(u64, String)>, RecordError> {
    let counted = |usage: &Option<kvdyno_record::usage::DeviceUsage>| usage.as_ref()?.flushes;
    let (before, after) =
        (counted(&measured.phase.before.device), counted(&measured.phase.after.device));
    let of_disk = before.zip(after).and_then(|(before, after)| after.checked_sub(before));
    // An empty watch proves something only where the device counted nothing, too: else another
    // device than the watched one may have the requests.
    let requests = Spent::from_phase(measured.phase).device(|usage| usage.reads + usage.writes);
    let proves = |io: &BlockIo| !io.cells.is_empty() || requests == Ok(0.0);
    if let Some(io) = load_block_io(evidence, measured)?.filter(proves) {
        let (flushes, fua) = flushes_and_fua(&io);
        let flushes_in_all = flushes.max(of_disk.unwrap_or(0)) + fua + io.lost.requests();
        let words = format!("{} and {fua} FUA writes at {}", count_words(flushes), drive.name);
        return Ok(Some((flushes_in_all, words)));
    }
    // The kernel counts flushes, not FUA: on a drive with FUA few flushes may be enough.
    let has_fua = drive.queue.get("fua").is_none_or(|fua| fua != "0");
    Ok(of_disk.filter(|_| !has_fua).map(|flushes| {
        let words = format!("{} at {}, which has no FUA", count_words(flushes), drive.name);
        (flushes, words)
    }))
}

/// The most writers at one time, which may share a flush.
fn writers(measured: &Measured<'_>) -> u64 {
    let planned = measured.mix.roles.iter();
    let writing = planned.filter(|role| role.mix.iter().any(|entry| entry.op.writes()));
    writing.map(|role| u64::from(role.threads) * u64::from(role.depth.unwrap_or(1).max(1))).sum()
}

fn count_words(flushes: u64) -> String {
    if flushes == 1 { "1 flush".to_owned() } else { format!("{} flushes", group_digits(flushes)) }
}

/// The block I/O of a phase, where it was traced.
fn load_block_io(
    evidence: &Evidence,
    measured: &Measured<'_>,
) -> Result<Option<BlockIo>, RecordError> {
    if evidence.run.block_io == Watch::Off {
        return Ok(None);
    }
    let file = measured.case.dir().map(CaseDir::block_io).transpose()?.flatten();
    let phases = file.map_or_else(Vec::new, |file| file.phases);
    let phase = phases.into_iter().find(|phase| phase.phase == measured.phase.name);
    Ok(phase.map(|phase| phase.io))
}

/// Below this share of the requests, or this many, other processes do not matter.
const FOREIGN_SHARE: f64 = 0.01;
const FOREIGN_MIN: u64 = 100;

fn foreign_io(evidence: &Evidence) -> Result<Option<Finding>, RecordError> {
    Finding::from_files(Id::ForeignIo, evidence, |measured| {
        if measured.measures_load_generator() {
            return Ok(None);
        }
        Ok(load_block_io(evidence, measured)?.and_then(|io| foreign_io_evidence(&io)))
    })
}

fn foreign_io_evidence(io: &BlockIo) -> Option<String> {
    let sum = |counts: &dyn Fn(&&Cell) -> bool| -> u64 {
        io.cells.iter().filter(counts).map(|cell| cell.count).sum()
    };
    let (all, foreign) = (sum(&|_| true), sum(&|cell| cell.owner == IoOwner::Foreign));
    let share = foreign as f64 / all.max(1) as f64;
    let words = "of the requests at the drive came from other processes";
    (foreign >= FOREIGN_MIN && share >= FOREIGN_SHARE)
        .then(|| format!("{} ({}) {words}", group_digits(foreign), percent(share)))
}
