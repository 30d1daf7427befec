//! Whether what an engine calls committed reached the drive: the class is checked, not believed.

use super::{Finding, Id, Measured, measured};
use crate::report::block_io::{flushes_and_fua, writes};
use crate::report::evidence::Evidence;
use crate::units::grouped;
use kvdyno_record::blockio::Watch;
use kvdyno_record::engine::Durability;
use kvdyno_record::files::RecordError;
use kvdyno_record::host::Drive;

/// Fewer commits say nothing.
const COMMITS_MIN: u64 = 1000;

/// Writers at work together may share a flush, never more than there are. Below this share of the
/// flushes that even then are needed, nobody flushed: those that were seen are somebody else's.
const SHARE: f64 = 0.01;

pub(super) fn findings(evidence: &Evidence) -> Result<Vec<Finding>, RecordError> {
    let Some(drive) = evidence.run.host_before.drive.as_ref() else { return Ok(Vec::new()) };
    // What is in a drive without a cache, or with one that outlives the power, is durable.
    if drive.write_cache.as_deref() != Some("write back") {
        return Ok(Vec::new());
    }
    let mut cases = Vec::new();
    for one in measured(evidence) {
        if let Some(words) = not_flushed(evidence, &one, drive)? {
            cases.push((one.id(), words));
        }
    }
    let advice = "do not read its figures as of class `commit`: look at the engine's options, at \
         the mount's (`nobarrier`), and whether the data lies in the place at all";
    Ok(Finding::of_cases(Id::CommitNotFlushed, cases, advice).into_iter().collect())
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
    if class != Durability::Commit || commits < COMMITS_MIN || one.of_harness() || !stored {
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
    if evidence.run.block_io != Watch::Off
        && let Some(file) = one.case.folder().map(|folder| folder.block_io()).transpose()?.flatten()
        && let Some(phase) = file.phases.iter().find(|phase| phase.phase == one.phase.name)
    {
        let (flushes, fua) = flushes_and_fua(&phase.io);
        let seen = flushes.max(of_disk.unwrap_or(0)) + fua + phase.io.lost.requests();
        let words = format!("{flushes} flushes and {fua} FUA writes at {}", drive.name);
        return Ok(Some((seen, words)));
    }
    // The kernel counts flushes, not FUA: where a drive has that, few flushes may be enough.
    let has_fua = drive.queue.get("fua").is_none_or(|fua| fua != "0");
    Ok(of_disk.filter(|_| !has_fua).map(|flushes| {
        let words = format!("{flushes} flushes at {}, which has no FUA", drive.name);
        (flushes, words)
    }))
}

/// The most that write at the same time, and so may share a flush.
fn writers(one: &Measured<'_>) -> u64 {
    let planned = one.drive.roles.iter();
    let writing = planned.filter(|role| role.mix.iter().any(|entry| entry.op.writes()));
    writing.map(|role| u64::from(role.threads) * u64::from(role.depth.unwrap_or(1).max(1))).sum()
}
