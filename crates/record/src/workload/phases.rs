//! What follows from the phases of a case together, and from an operation's name.

use super::{Activity, Mix, MixEntry, Op, Phase};
use crate::expected_hits::ExpectedHits;
use crate::operations::OpInfo;
use crate::replay::replays;

/// Whether some phase deletes, has records that expire, replays a trace, or reads links that may be
/// missing, so that a miss is a valid answer.
pub fn allows_misses(phases: &[Phase]) -> bool {
    let mut entries = phases.iter().filter_map(Phase::mix).flat_map(Mix::entries);
    entries.any(|entry| entry.op.is_of_graph()) || may_remove(phases)
}

/// Whether some phase deletes, has records that expire, or replays a trace, so that not all that
/// was written has to exist.
pub fn may_remove(phases: &[Phase]) -> bool {
    let mut roles = phases.iter().filter_map(Phase::mix).flat_map(|mix| &mix.roles);
    roles.any(|role| {
        role.expected_hits == ExpectedHits::Any || role.mix.iter().any(MixEntry::removes)
    }) || replays(phases).next().is_some()
}

impl MixEntry {
    /// Whether records are gone afterwards: deleted, or at the end of their time to live.
    fn removes(&self) -> bool {
        self.op == Op::Delete || self.ttl_ns.is_some()
    }
}

/// The most operations that one thread keeps in flight; 1 where none does.
pub fn depth(phases: &[Phase]) -> u32 {
    let roles = phases.iter().filter_map(Phase::mix).flat_map(|mix| &mix.roles);
    roles.filter_map(|role| role.depth).max().unwrap_or(1)
}

/// The numbers of [`Domain::Predicted`] in the first of these phases, and how many items YCSB's
/// scrambled zipfian hashes its ranks over: the records, the inserts that are expected, and one,
/// because its bounds are inclusive (`CoreWorkload.init`, YCSB 0.17).
///
/// The number is fixed beforehand, because one item more moves every hot key. YCSB expects twice as
/// many inserts as the operations' count and the mix say, and none where only time ends a run. A
/// warmup takes the number of the measured phase after it, whose data it warms.
pub fn ycsb_items(records: u64, phases: &[Phase]) -> u64 {
    let mut measured = phases.iter().filter_map(|phase| match &phase.work {
        Activity::Measure(mix) => Some(mix),
        _ => None,
    });
    records + measured.next().and_then(expected_inserts).unwrap_or(0) + 1
}

/// How many inserts YCSB expects; none: only time ends the run.
fn expected_inserts(mix: &Mix) -> Option<u64> {
    let (operations, role) = (mix.ends.operations?, mix.roles.first()?);
    let weight = |inserts: bool| {
        let counted = role.mix.iter().filter(|entry| !inserts || entry.op == Op::Insert);
        counted.map(|entry| entry.weight).sum::<f64>()
    };
    Some((operations as f64 * weight(true) / weight(false) * 2.0) as u64)
}

/// Whether an operation only reads, by its name.
pub fn reads(op: &str) -> bool {
    OpInfo::find_by_name(op).is_some_and(|op| op.reads && !op.writes)
}
