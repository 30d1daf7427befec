//! How many records inserts may add: the most there can be, and what is to be expected.

use kvdyno_record::workload::{Activity, Mix, Op, Phase, Role};

/// No engine inserts faster, with one thread.
const MOST_PER_THREAD_S: f64 = 1e6;
/// No drive takes more bytes in a second.
const MOST_BYTES_PER_S: f64 = 4e9;
/// What a writer in a closed loop is taken to do in a second, for space and bytes written.
pub(super) const WRITES_PER_THREAD_S: f64 = 10_000.0;

/// The most records that inserts can add. Engines are told, so that their maps are large enough;
/// it costs address space, not memory or disk.
pub(super) fn inserts_max(phases: &[Phase], record_bytes: f64) -> u64 {
    let most = |mix: &Mix, role: &Role, share: f64| {
        if share == 0.0 {
            return 0.0;
        }
        let by_drive = MOST_BYTES_PER_S / record_bytes;
        let closed = (MOST_PER_THREAD_S * f64::from(role.threads)).min(by_drive);
        // Twice the offered rate: arrivals are drawn, and a backlog is worked off at once.
        let per_s =
            role.rate.as_ref().map_or(closed, |rate| rate.offered(mix.ends.duration_ns) * 2.0);
        // Every operation could be an insert, and threads notice the end a little late.
        let by_count = mix.ends.operations.map(|count| count as f64 + 1e6);
        by_time(mix, per_s).into_iter().chain(by_count).fold(f64::INFINITY, f64::min)
    };
    sum(phases, is_insert, most)
}

/// Records that inserts are expected to add.
pub(super) fn inserts_expected(phases: &[Phase]) -> u64 {
    sum(phases, is_insert, expected)
}

/// Writes of all kinds to be expected, batches counted by their records.
pub(super) fn writes_expected(phases: &[Phase]) -> u64 {
    sum(phases, Op::records_written, expected)
}

fn expected(mix: &Mix, role: &Role, share: f64) -> f64 {
    let closed = WRITES_PER_THREAD_S * f64::from(role.threads);
    // A role that mostly reads comes to fewer writes.
    let per_s = role.rate.as_ref().map_or(closed, |rate| rate.offered(mix.ends.duration_ns));
    let by_count = mix.ends.operations.map(|count| count as f64);
    let ends = by_time(mix, per_s).into_iter().chain(by_count);
    share * ends.fold(f64::INFINITY, f64::min)
}

fn by_time(mix: &Mix, per_s: f64) -> Option<f64> {
    mix.ends.duration_ns.map(|ns| ns as f64 / 1e9 * per_s)
}

fn is_insert(op: &Op) -> f64 {
    f64::from(u8::from(matches!(op, Op::Insert | Op::AddNode | Op::AddLink | Op::UpdateLink)))
}

/// Sums over all roles: `count` is told the role's mean of `each` per operation.
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
        .filter_map(|phase| match &phase.work {
            Activity::Warmup(mix) | Activity::Measure(mix) => Some(mix),
            _ => None,
        })
        .flat_map(|mix| mix.roles.iter().map(|role| of_role(mix, role)))
        .sum();
    // A number past 64 bits stays at their end.
    total.ceil() as u64
}
