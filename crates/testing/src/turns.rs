//! Random reads in cache by two ways, in turns: what the second costs more than the first, in time
//! of the processor that reads, so that it can be told on a machine that is busy.

use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use std::time::Duration;

/// Records from number 0 on that are there to be read.
pub const RECORDS: u64 = 1_000_000;
const BLOCK: usize = 1000;
const BLOCKS_PER_ROUND: usize = 200;
/// How often each way has its turn.
pub const ROUNDS: usize = 11;

/// A record's key.
pub type Key = [u8; 16];

/// The key of a record's number.
pub fn key(number: u64) -> Key {
    let mut key = [0; 16];
    key[8..].copy_from_slice(&number.to_be_bytes());
    key
}

/// Looks at every byte of a value, as a program does that reads one.
pub fn touch(value: &[u8]) -> u64 {
    value.iter().map(|&byte| u64::from(byte)).sum()
}

/// Has both read, each key with what `touch` made of its value, and says in lines how long they
/// took: medians of several rounds.
pub fn compare(
    [first_name, second_name]: [&str; 2],
    mut first: impl FnMut(&Key) -> u64,
    mut second: impl FnMut(&Key) -> u64,
) -> String {
    let mut times_of = [const { Vec::new() }; 2];
    for round in 0..ROUNDS {
        // Who begins changes.
        for turn in [round % 2, 1 - round % 2] {
            times_of[turn].push(match turn {
                0 => timed(round, &mut first),
                _ => timed(round, &mut second),
            });
        }
    }
    let [first, second] = times_of.map(median);
    format!(
        "{:8.1} ns  {first_name}\n{:8.1} ns  {second_name}: {:.3} of it (medians of {ROUNDS})",
        per_read(first),
        per_read(second),
        second.as_secs_f64() / first.as_secs_f64()
    )
}

/// The one in the middle.
pub fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Nanoseconds of one read of a round that took so long.
pub fn per_read(round: Duration) -> f64 {
    round.as_nanos() as f64 / (BLOCKS_PER_ROUND * BLOCK) as f64
}

/// For ways that cannot be open side by side: a round that is not timed, for the caches, and one
/// that is.
pub fn warmed(round: usize, mut read: impl FnMut(&Key) -> u64) -> Duration {
    timed(round, &mut read);
    timed(round, &mut read)
}

/// Random keys, the same for both in a round, made before the clock starts.
#[inline(never)]
fn timed(round: usize, read: &mut impl FnMut(&Key) -> u64) -> Duration {
    let mut state = round as u64;
    let mut took = Duration::ZERO;
    let mut sum = 0;
    for _ in 0..BLOCKS_PER_ROUND {
        let keys: Vec<Key> = (0..BLOCK).map(|_| key(next(&mut state) % RECORDS)).collect();
        let start = processor_time();
        for key in &keys {
            sum += read(key);
        }
        took += processor_time().saturating_sub(start);
    }
    black_box(sum);
    took
}

/// Of this thread.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// `SplitMix64`.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
