//! The cost of an adapter: random reads in cache by `Session::get` and by the engine's own calls,
//! in turns. They are measured in CPU time of the reading thread, so a busy machine will do.

use kvdyno_engine::{
    DataShape, Durability, Engine, Error, Location, Options, Result, Session, Value, Write,
};
use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The number of records that are there to be read, from number 0 on.
pub const RECORDS: u64 = 1_000_000;
const BLOCK: usize = 1000;
const BLOCKS_PER_ROUND: usize = 200;
/// The number of turns of each way.
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

/// Opens an engine for the records, of 16 + 100 bytes each.
pub fn open<E: Engine>(dir: &Path, durability: Durability, options: &[(&str, Value)]) -> Result<E> {
    std::fs::create_dir_all(dir)?;
    let data = DataShape::uniform(RECORDS, 16, 100);
    let mut all = Options::defaults(&E::describe(), durability);
    let chosen = options.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
    all.values.extend(chosen);
    E::open(&Location::Directory(dir.to_owned()), &all, &data)
}

/// Writes the records, a thousand in a batch, and waits until the engine has come to rest.
pub fn load<E: Engine>(engine: &E) -> Result<()> {
    const BATCH: u64 = 1000;
    let mut session = engine.session()?;
    for first in (0..RECORDS).step_by(BATCH as usize) {
        let keys: Vec<Key> = (first..first + BATCH).map(key).collect();
        let writes = keys.iter().map(|key| Write::Put { key, value: &[b'v'; 100] });
        session.write(&writes.collect::<Vec<_>>())?;
    }
    drop(session);
    engine.settle(Duration::from_mins(1)).map(|_| ())
}

/// Reads a record as a worker does.
///
/// # Panics
///
/// If the record does not exist.
pub fn read_by_trait(session: &mut impl Session, key: &Key) -> u64 {
    match session.get(key, |value| value.map(touch)) {
        Ok(Some(touched)) => touched,
        other => panic!("{other:?}"),
    }
}

/// Times a round by the adapter, and closes the engine, which was opened for this round.
pub fn time_adapter<E: Engine>(engine: E, round: usize) -> Result<Duration> {
    let mut session = engine.session()?;
    let took = time_warm_reads(round, |key| read_by_trait(&mut session, key));
    drop(session);
    engine.close()?;
    Ok(took)
}

/// Times a round of random reads, after one that is not timed, for the caches.
pub fn time_warm_reads(round: usize, mut read: impl FnMut(&Key) -> u64) -> Duration {
    time_reads(round, &mut read);
    time_reads(round, &mut read)
}

/// Times reads of random keys, which are the same for all in a round, and made before the clock
/// starts.
#[inline(never)]
fn time_reads(round: usize, read: &mut impl FnMut(&Key) -> u64) -> Duration {
    let mut state = round as u64;
    let mut took = Duration::ZERO;
    let mut sum = 0;
    for _ in 0..BLOCKS_PER_ROUND {
        let keys: Vec<Key> = (0..BLOCK).map(|_| key(next_random(&mut state) % RECORDS)).collect();
        let start = processor_time();
        for key in &keys {
            sum += read(key);
        }
        took += processor_time().saturating_sub(start);
    }
    black_box(sum);
    took
}

/// Returns the CPU time of this thread.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

/// Returns the next number of `SplitMix64`.
fn next_random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Runs a program to its end. Returns its standard output or, as an error, its standard error.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(Error::invalid(String::from_utf8_lossy(&output.stderr).into_owned()))
}

/// Runs a round of a program in the engine's own language. Returns the times that it prints in
/// nanoseconds, one for each of its ways.
pub fn run_round(program: &Path, dir: &Path, round: usize) -> Result<Vec<Duration>> {
    let mut command = Command::new(program);
    let text = output(command.arg(dir).args(["read", &round.to_string()]))?;
    Ok(text.split_whitespace().filter_map(|ns| ns.parse().ok()).map(Duration::from_nanos).collect())
}

/// The times of rounds, by the trait and by each of the engine's own ways.
pub struct Turns<const N: usize> {
    adapter: Vec<Duration>,
    theirs: [(&'static str, Vec<Duration>); N],
}

impl<const N: usize> Turns<N> {
    /// Takes the names of the engine's own ways.
    pub fn new(names: [&'static str; N]) -> Self {
        Self { adapter: Vec::new(), theirs: names.map(|name| (name, Vec::new())) }
    }

    /// Adds the times of a round.
    pub fn add(&mut self, time: Duration, own_times: [Duration; N]) {
        self.adapter.push(time);
        for ((_, all), took) in self.theirs.iter_mut().zip(own_times) {
            all.push(took);
        }
    }
}

/// Medians over the rounds, of times and of ratios.
impl<const N: usize> std::fmt::Display for Turns<N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let reads = (BLOCKS_PER_ROUND * BLOCK) as f64;
        let each = |took: &Duration| took.as_nanos() as f64 / reads;
        let adapter_median = median(self.adapter.iter().map(each));
        write!(f, "{adapter_median:8.1} ns  Session::get")?;
        for (name, own_times) in &self.theirs {
            let pairs = own_times.iter().zip(&self.adapter);
            let ratio =
                median(pairs.map(|(own, adapter)| own.as_secs_f64() / adapter.as_secs_f64()));
            let own_median = median(own_times.iter().map(each));
            write!(f, "\n{own_median:8.1} ns  {name}: Session::get reads {ratio:.3} of its rate")?;
        }
        Ok(())
    }
}

fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_unstable_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}
