//! The number of records that inserts may add: the upper bound and the expected number.

use kvdyno_record::operations::OpTrait;
use kvdyno_record::workload::{Mix, Op, Phase, Rate, Role};

/// Upper bound of inserts per second of one thread, for any engine.
const MOST_PER_THREAD_S: f64 = 1e6;
/// Upper bound of bytes per second of any drive.
const MOST_BYTES_PER_S: f64 = 4e9;
/// Inserts per second of one thread of a fast engine.
const FAST_PER_THREAD_S: f64 = 200_000.0;
/// Bytes per second of a fast drive.
const FAST_BYTES_PER_S: f64 = 500e6;
/// Assumed writes per second of a writer in a closed loop, for space and bytes written.
pub(crate) const WRITES_PER_THREAD_S: f64 = 10_000.0;

/// Returns an upper bound of the records that inserts can add. Engines size their memory maps by
/// it; it costs address space, not memory or disk.
pub(crate) fn inserts_max(phases: &[Phase], record_bytes: f64) -> u64 {
    let most = |mix: &Mix, role: &Role, share: f64| {
        if share == 0.0 {
            return 0.0;
        }
        let by_drive = MOST_BYTES_PER_S / record_bytes;
        let closed = (MOST_PER_THREAD_S * f64::from(role.threads)).min(by_drive);
        // Twice the offered rate: arrivals are random, and a backlog is executed at once.
        let per_s =
            role.rate.as_ref().map_or(closed, |rate| rate.mean_rate(mix.ends.duration_ns) * 2.0);
        // Every operation could be an insert, and threads notice the end a little late.
        let by_count = mix.ends.operations.map(|count| count as f64 + 1e6);
        records_by_time(mix, per_s).into_iter().chain(by_count).fold(f64::INFINITY, f64::min)
    };
    sum(phases, is_insert, most)
}

/// Returns the records that a fast engine inserts, for the size of a volume.
pub(crate) fn inserts_of_a_fast_engine(phases: &[Phase], record_bytes: f64) -> u64 {
    let by_drive = FAST_BYTES_PER_S / record_bytes;
    sum(phases, is_insert, |mix, role, share| {
        let per_s = (FAST_PER_THREAD_S * f64::from(role.threads) * share).min(by_drive);
        written_records(mix, role, share, per_s)
    })
}

/// Returns the expected number of inserted records.
pub(crate) fn inserts_expected(phases: &[Phase]) -> u64 {
    sum(phases, is_insert, expected_writes)
}

/// Returns the expected number of writes of all kinds; batches count their records.
pub(crate) fn writes_expected(phases: &[Phase]) -> u64 {
    sum(phases, Op::records_written, expected_writes)
}

fn expected_writes(mix: &Mix, role: &Role, share: f64) -> f64 {
    written_records(mix, role, share, WRITES_PER_THREAD_S * f64::from(role.threads) * share)
}

/// Returns the records that a role writes: by its rate, or `closed_per_s` in a closed loop, until
/// its time or count ends.
fn written_records(mix: &Mix, role: &Role, share: f64, closed_per_s: f64) -> f64 {
    let offered = |rate: &Rate| rate.mean_rate(mix.ends.duration_ns) * share;
    let per_s = role.rate.as_ref().map_or(closed_per_s, offered);
    let by_count = mix.ends.operations.map(|count| count as f64 * share);
    records_by_time(mix, per_s).into_iter().chain(by_count).fold(f64::INFINITY, f64::min)
}

fn records_by_time(mix: &Mix, per_s: f64) -> Option<f64> {
    mix.ends.duration_ns.map(|ns| ns as f64 / 1e9 * per_s)
}

fn is_insert(op: &Op) -> f64 {
    f64::from(u8::from(op.info().has(OpTrait::AddsRecords)))
}

/// Sums over all roles: `count` receives the role's mean of `each` per operation.
fn sum(
    phases: &[Phase],
    each: impl Fn(&Op) -> f64,
    count: impl Fn(&Mix, &Role, f64) -> f64,
) -> u64 {
    let of_role = |mix: &Mix, role: &Role| {
        let weights: f64 = role.mix.iter().map(|entry| entry.weight).sum();
        let sum: f64 = role.mix.iter().map(|entry| entry.weight * each(&entry.op)).sum();
        count(mix, role, sum / weights)
    };
    let total: f64 = phases
        .iter()
        .filter_map(Phase::mix)
        .flat_map(|mix| mix.roles.iter().map(|role| of_role(mix, role)))
        .sum();
    // Larger numbers saturate at 64 bits.
    total.ceil() as u64
}
