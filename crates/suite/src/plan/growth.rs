//! The number of records that inserts may add: the upper bound and the expected number.

use crate::plan::estimate::slow_count_s;
use crate::plan::workload::mean_per_operation;
use kvdyno_record::operations::OpTrait;
use kvdyno_record::workload::{Ends, Mix, Op, Phase, Rate, Role};

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
/// Upper bound of the time of a phase over its estimate: the default budget then ends the case.
const SLOWER_MAX: f64 = 5.0;

/// Returns an upper bound of the records that inserts can add. Engines size their memory maps by
/// it; it costs address space, not memory or disk.
pub(crate) fn inserts_max(phases: &[Phase], record_bytes: f64) -> u64 {
    let most = |ends: Ends, role: &Role, share: f64| {
        if share == 0.0 {
            return 0.0;
        }
        let by_drive = MOST_BYTES_PER_S / record_bytes;
        let closed = (MOST_PER_THREAD_S * f64::from(role.threads)).min(by_drive);
        // Twice the offered rate: arrivals are random, and a backlog is executed at once.
        let per_s =
            role.rate.as_ref().map_or(closed, |rate| rate.mean_rate(ends.duration_ns) * 2.0);
        // Every operation could be an insert, and threads notice the end a little late.
        let by_count = ends.operations.map(|count| count as f64 + 1e6);
        records_by_time(ends, per_s).into_iter().chain(by_count).fold(f64::INFINITY, f64::min)
    };
    sum(phases, record_bytes, SLOWER_MAX, is_insert, most)
}

/// Returns the records that a fast engine inserts, for the size of a volume.
pub(crate) fn inserts_of_a_fast_engine(phases: &[Phase], record_bytes: f64) -> u64 {
    let by_drive = FAST_BYTES_PER_S / record_bytes;
    sum(phases, record_bytes, 1.0, is_insert, |ends, role, share| {
        let per_s = (FAST_PER_THREAD_S * f64::from(role.threads) * share).min(by_drive);
        written_records(ends, role, share, per_s)
    })
}

/// Returns the expected number of inserted records.
pub(crate) fn inserts_expected(phases: &[Phase], record_bytes: f64) -> u64 {
    sum(phases, record_bytes, 1.0, is_insert, |ends, role, share| {
        written_records(ends, role, share, expected_per_s(role, share))
    })
}

/// Returns the expected number of writes of all kinds; batches count their records.
pub(crate) fn writes_expected(phases: &[Phase], record_bytes: f64) -> u64 {
    let by_drive = FAST_BYTES_PER_S / record_bytes;
    sum(phases, record_bytes, 1.0, Op::records_written, |ends, role, share| {
        written_records(ends, role, share, expected_per_s(role, share).min(by_drive))
    })
}

fn expected_per_s(role: &Role, share: f64) -> f64 {
    WRITES_PER_THREAD_S * f64::from(role.threads) * share
}

/// Returns the end of the role of this index. A count is of the first role's operations. Other
/// roles work until they are done, `slower` times as long as estimated.
fn role_ends(mix: &Mix, index: usize, record_bytes: f64, slower: f64) -> Ends {
    let count_s = slow_count_s(mix, record_bytes).filter(|_| index > 0);
    let Some(count_s) = count_s else { return mix.ends };
    let count_ns = (count_s * slower * 1e9).ceil() as u64;
    Ends::after_ns(mix.ends.duration_ns.map_or(count_ns, |ns| ns.min(count_ns)))
}

/// Returns the records that a role writes: by its rate, or `closed_per_s` in a closed loop, until
/// its time or count ends.
fn written_records(ends: Ends, role: &Role, share: f64, closed_per_s: f64) -> f64 {
    let offered = |rate: &Rate| rate.mean_rate(ends.duration_ns) * share;
    let per_s = role.rate.as_ref().map_or(closed_per_s, offered);
    let by_count = ends.operations.map(|count| count as f64 * share);
    records_by_time(ends, per_s).into_iter().chain(by_count).fold(f64::INFINITY, f64::min)
}

fn records_by_time(ends: Ends, per_s: f64) -> Option<f64> {
    ends.duration_ns.map(|ns| ns as f64 / 1e9 * per_s)
}

fn is_insert(op: &Op) -> f64 {
    f64::from(u8::from(op.info().has(OpTrait::AddsRecords)))
}

/// Sums over all roles: `count` receives the end of the role and its mean of `each` per operation.
fn sum(
    phases: &[Phase],
    record_bytes: f64,
    slower: f64,
    each: impl Fn(&Op) -> f64,
    count: impl Fn(Ends, &Role, f64) -> f64,
) -> u64 {
    let of_mix = |mix: &Mix| -> f64 {
        let of_role = |(index, role): (usize, &Role)| {
            let share = mean_per_operation(&role.mix, |entry| each(&entry.op));
            count(role_ends(mix, index, record_bytes, slower), role, share)
        };
        mix.roles.iter().enumerate().map(of_role).sum()
    };
    let total: f64 = phases.iter().filter_map(Phase::mix).map(of_mix).sum();
    // Larger numbers saturate at 64 bits.
    total.ceil() as u64
}
