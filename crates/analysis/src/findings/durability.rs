//! What the drive was asked for, by whom: whether what an engine calls committed was flushed (the
//! class is checked, not believed), and whether others used the drive, too.

use super::finding::{Finding, Measured};
use super::kinds::Id;
use super::storage;
use crate::block_io::{flushes_and_fua, writes};
use crate::evidence::Evidence;
use kvdyno_record::blockio::{BlockIo, Cell, IoOwner, Watch};
use kvdyno_record::engine::Durability;
use kvdyno_record::files::{CaseFolder, RecordError};
use kvdyno_record::host::Drive;
use kvdyno_record::units::{grouped, percent};

/// Fewer commits say nothing.
const COMMITS_MIN: u64 = 1000;

/// Writers at work together may share a flush, never more than there are. Below this share of the
/// flushes that even then are needed, nobody flushed: those that were seen are somebody else's.
const SHARE: f64 = 0.01;

pub(super) fn findings(evidence: &Evidence) -> Result<Vec<Finding>, RecordError> {
    Ok(unflushed(evidence)?.into_iter().chain(foreign(evidence)?).collect())
}

fn unflushed(evidence: &Evidence) -> Result<Option<Finding>, RecordError> {
    Finding::of_files(Id::CommitNotFlushed, evidence, |one| {
        let drive = storage::case_storage(evidence, one.record).and_then(|below| below.drive);
        // What is in a drive without a cache, or with one that outlives the power, is durable.
        let cached = |drive: &&Drive| drive.write_cache.as_deref() == Some("write back");
        drive.filter(cached).map_or(Ok(None), |drive| not_flushed(evidence, one, drive))
    })
}

/// What shows that a phase committed without flushing, if it did.
fn not_flushed(
    evidence: &Evidence,
    one: &Measured<'_>,
    drive: &Drive,
) -> Result<Option<String>, RecordError> {
    let commits = writes(one.phase);
    let class = one.case.case.options.durability;
    // A server on another machine keeps nothing here, and the null engine nothing anywhere.
    let stored = one.phase.database.is_some_and(|size| size.allocated_bytes > 0);
    if class != Durability::Commit || commits < COMMITS_MIN || one.of_load_generator() || !stored {
        return Ok(None);
    }
    let Some((flushes, words)) = flushed(evidence, one, drive)? else { return Ok(None) };
    let writers = writers(one).max(1);
    let needed = commits as f64 / writers as f64;
    let none = (flushes as f64) < SHARE * needed;
    Ok(none.then(|| {
        let by = if writers == 1 { "1 writer".to_owned() } else { format!("{writers} writers") };
        format!("{} commits by {by}, {words}", grouped(commits))
    }))
}

/// Flushes, and writes that need none, and in words where they were counted. None where they were
/// not, or not all.
fn flushed(
    evidence: &Evidence,
    one: &Measured<'_>,
    drive: &Drive,
) -> Result<Option<(u64, String)>, RecordError> {
    let counted = |usage: &Option<kvdyno_record::usage::DeviceUsage>| usage.as_ref()?.flushes;
    let (before, after) = (counted(&one.phase.before.device), counted(&one.phase.after.device));
    let of_disk = before.zip(after).and_then(|(before, after)| after.checked_sub(before));
    if let Some(io) = watched(evidence, one)? {
        let (flushes, fua) = flushes_and_fua(&io);
        let seen = flushes.max(of_disk.unwrap_or(0)) + fua + io.lost.requests();
        let words = format!("{} and {fua} FUA writes at {}", many(flushes), drive.name);
        return Ok(Some((seen, words)));
    }
    // The kernel counts flushes, not FUA: where a drive has that, few flushes may be enough.
    let has_fua = drive.queue.get("fua").is_none_or(|fua| fua != "0");
    Ok(of_disk.filter(|_| !has_fua).map(|flushes| {
        let words = format!("{} at {}, which has no FUA", many(flushes), drive.name);
        (flushes, words)
    }))
}

/// The most that write at the same time, and so may share a flush.
fn writers(one: &Measured<'_>) -> u64 {
    let planned = one.mix.roles.iter();
    let writing = planned.filter(|role| role.mix.iter().any(|entry| entry.op.writes()));
    writing.map(|role| u64::from(role.threads) * u64::from(role.depth.unwrap_or(1).max(1))).sum()
}

fn many(flushes: u64) -> String {
    if flushes == 1 { "1 flush".to_owned() } else { format!("{} flushes", grouped(flushes)) }
}

/// What the kernel saw of a phase, where it was watched.
fn watched(evidence: &Evidence, one: &Measured<'_>) -> Result<Option<BlockIo>, RecordError> {
    if evidence.run.block_io == Watch::Off {
        return Ok(None);
    }
    let file = one.case.folder().map(CaseFolder::block_io).transpose()?.flatten();
    let phases = file.map_or_else(Vec::new, |file| file.phases);
    let phase = phases.into_iter().find(|phase| phase.phase == one.phase.name);
    Ok(phase.map(|phase| phase.io))
}

/// Below this share of the requests, or this many, others do not matter.
const FOREIGN_SHARE: f64 = 0.01;
const FOREIGN_MIN: u64 = 100;

fn foreign(evidence: &Evidence) -> Result<Option<Finding>, RecordError> {
    Finding::of_files(Id::ForeignIo, evidence, |one| {
        if one.of_load_generator() {
            return Ok(None);
        }
        Ok(watched(evidence, one)?.and_then(|io| of_others(&io)))
    })
}

fn of_others(io: &BlockIo) -> Option<String> {
    let sum = |of: &dyn Fn(&&Cell) -> bool| -> u64 {
        io.cells.iter().filter(of).map(|cell| cell.count).sum()
    };
    let (all, foreign) = (sum(&|_| true), sum(&|cell| cell.owner == IoOwner::Foreign));
    let share = foreign as f64 / all.max(1) as f64;
    let words = "of the requests at the drive were of other processes";
    (foreign >= FOREIGN_MIN && share >= FOREIGN_SHARE)
        .then(|| format!("{} ({}) {words}", grouped(foreign), percent(share)))
}
