//! The check after a load: does every record exist, and is it the one that was written?
//!
//! A benchmark of a tenth of the data is fast. One published binding "inserted" a million records
//! and kept two; only reading them back shows that.

use crate::clock::{Best, Clock as _, unix_ns};
use crate::control::Stop;
use crate::keys::KeyWriter;
use crate::output::send;
use crate::values::{is_sound, touch};
use kvdyno_engine::{Direction, Engine, Error, Result, Session, Walk};
use kvdyno_record::case::Verified;
use kvdyno_record::crew::RankId;
use kvdyno_record::protocol::{Event, Job};
use kvdyno_record::workload::Activity;
use std::ops::{ControlFlow, RangeInclusive};

/// The records of one call of a walk: few enough that a stop takes effect.
const WALK_RECORDS: u64 = 100_000;

/// The extent of a check.
#[derive(Clone, Copy)]
pub(crate) struct Check {
    pub(crate) samples: u64,
    pub(crate) count: bool,
    /// The rank in a crew: each rank samples its share, and the first one counts.
    pub(crate) seat: RankId,
}

/// Reports the progress of a phase without roles.
#[derive(Clone, Copy)]
pub(crate) struct Reporter {
    clock: Best,
    phase: u32,
    pub(crate) started_unix_ns: u64,
    began: u64,
}

impl Reporter {
    /// A reporter for a phase that begins now.
    pub(crate) fn new(clock: Best, phase: u32) -> Self {
        Self { clock, phase, started_unix_ns: unix_ns(), began: clock.now() }
    }

    pub(crate) fn elapsed_ns(&self) -> u64 {
        self.clock.now() - self.began
    }

    pub(crate) fn report(&self, done: u64, total: u64) -> Result<()> {
        send(&Event::Progress {
            phase: self.phase,
            started_unix_ns: self.started_unix_ns,
            done,
            total: Some(total),
            elapsed_ns: self.elapsed_ns(),
            threads: None,
        })
    }
}

/// Samples keys that are spread evenly over all, then counts all records if the check says so.
pub(crate) fn run<E: Engine>(
    engine: &E,
    job: &Job,
    check: Check,
    reporter: Reporter,
    stop: &Stop,
) -> Result<Verified> {
    let mut session = engine.session()?;
    let stores_nothing = E::describe().capabilities.stores_nothing;
    let keys = KeyWriter::from_data(&job.data)?;
    let records = job.data.records;
    let mut verified = Verified { expected: records, ..Verified::default() };
    let mut key = Vec::new();
    let sizes = value_lengths(job);
    let samples = check.samples.min(records);
    let share = check.seat.own_range(samples);
    for sample in share.clone() {
        let number = (u128::from(sample) * u128::from(records) / u128::from(samples)) as u64;
        key.clear();
        keys.push(number, &mut key);
        let sound = |value: &[u8]| {
            stores_nothing
                || if job.data.verify {
                    is_sound(value, number)
                } else {
                    sizes.contains(&value.len())
                }
        };
        let answer = session
            .get(&key, |value| value.map(sound))
            .map_err(|error: Error| error.context("verifying the load"))?;
        verified.sampled += 1;
        verified.hits += u64::from(answer.is_some());
        verified.wrong += u64::from(answer == Some(false));
        if sample % 4096 == 0 {
            reporter.report(sample - share.start, samples)?;
            if stop.is_set() {
                return Ok(verified);
            }
        }
    }
    // An engine that stores nothing shows as many records as are requested, for ever.
    if check.count && check.seat.rank == 0 && !stores_nothing {
        let report = |done| reporter.report(done, records);
        verified.counted = count(&mut session, records, report, stop)?;
    }
    Ok(verified)
}

/// Reads every record: by a scan, or key by key where the engine has none. Each value is fetched.
pub(crate) fn warm<E: Engine>(
    engine: &E,
    job: &Job,
    reporter: Reporter,
    stop: &Stop,
) -> Result<()> {
    let abilities = E::describe().capabilities;
    if abilities.stores_nothing {
        return Ok(());
    }
    let mut session = engine.session()?;
    let report = |done| reporter.report(done, job.data.records);
    if abilities.scan_forward {
        // Everything that may exist: inserts, and all keys of a graph.
        count(&mut session, job.shape.records_max, report, stop)?;
        return Ok(());
    }
    let keys = KeyWriter::from_data(&job.data)?;
    let mut key = Vec::new();
    for number in 0..job.data.records {
        key.clear();
        keys.push(number, &mut key);
        session
            .get(&key, |value| value.map(|value| std::hint::black_box(touch(value))))
            .map_err(|error: Error| error.context("warming the caches"))?;
        if number % WALK_RECORDS == 0 {
            report(number)?;
            if stop.is_set() {
                break;
            }
        }
    }
    Ok(())
}

/// The lengths that a value may have, by the definition of the data and by traces.
fn value_lengths(job: &Job) -> RangeInclusive<usize> {
    let size = &job.data.value.size;
    let recorded = job.phases.iter().filter_map(|phase| match &phase.work {
        Activity::Load(load) => load.replay.as_ref(),
        _ => None,
    });
    let longest = recorded.map(|replay| replay.value_bytes_max).max();
    match longest {
        Some(longest) => 0..=longest.max(size.max()) as usize,
        None => size.min() as usize..=size.max() as usize,
    }
}

/// Counts all records in key order, and fetches each value. Returns none when stopped on the way.
/// The count ends once it exceeds `expected`: an engine may go round in circles.
fn count<S: Session>(
    session: &mut S,
    expected: u64,
    tell: impl Fn(u64) -> Result<()>,
    stop: &Stop,
) -> Result<Option<u64>> {
    let (mut counted, mut walk) = (0, Walk::new(Direction::Forward));
    loop {
        let shown = session
            .walk(&mut walk, WALK_RECORDS, |_, value| {
                std::hint::black_box(touch(value));
                ControlFlow::Continue(())
            })
            .map_err(|error| error.context("counting the records"))?;
        counted += shown;
        tell(counted)?;
        if shown < WALK_RECORDS || counted > expected {
            return Ok(Some(counted));
        }
        if stop.is_set() {
            return Ok(None);
        }
    }
}
