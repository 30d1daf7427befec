//! The worker's part of `kvdyno torture`. It writes versions of records and acknowledges each after
//! the engine did, until it is killed or the power fails. Afterwards it reads which versions exist.
//! [`Units`] defines the writes; the program judges what is missing.

use crate::rng::Rng;
use crate::values::{is_sound, parse_version, seal};
use kvdyno_engine::{Direction, Engine, Error, Result, Session, Walk, Write};
use kvdyno_record::pledge::{
    self, KEY_BYTES, Pledge, Pledged, Reading, Recovered, Units, Victim, value_bytes,
};
use std::fs::File;
use std::ops::{ControlFlow, Range};
use std::os::unix::fs::FileExt as _;
use std::process::ExitCode;
use std::time::Duration;

/// How often a refused write is tried: writes that an engine acknowledges after an error count as
/// much as those before it.
const TRIES: u32 = 4;
const BETWEEN_TRIES: Duration = Duration::from_millis(20);

/// The number of records in one step of a walk.
const WALK_RECORDS: u64 = 1000;

/// Reads a [`Pledge`], performs it, and reports how far it came.
pub(crate) fn pledge<E: Engine>() -> Result<ExitCode> {
    perform(&run_session::<E>)
}

type RunSession<'s> = dyn Fn(&Pledge, Range<u64>) -> Result<(u64, Option<Error>)> + 's;

fn perform(run_session: &RunSession<'_>) -> Result<ExitCode> {
    let pledge = Pledge::from_json(&line()?)?;
    let mut done = Pledged::default();
    for sitting in 0..pledge.sittings {
        let share = |sitting| pledge.writes * sitting / pledge.sittings;
        let outcome = run_session(&pledge, share(sitting)..share(sitting + 1));
        let (acknowledged, refused) = match outcome {
            Ok(outcome) => outcome,
            Err(error) => (0, Some(error)),
        };
        done.acknowledged += acknowledged;
        done.refused = refused.map(|error| error.to_string());
        if done.refused.is_some() {
            break;
        }
    }
    report(&done.to_line()?)
}

/// Opens the engine, runs all writers, and closes it. Returns how many writes were acknowledged,
/// and the first error.
fn run_session<E: Engine>(pledge: &Pledge, writes: Range<u64>) -> Result<(u64, Option<Error>)> {
    let victim = &pledge.victim;
    let engine = E::open(&victim.location, &victim.options, &victim.units.shape())
        .map_err(|error| error.context("opening"))?;
    let (acknowledged, refused) = run_writers(victim.units.writers, &|writer| {
        let mut acknowledged = 0;
        let outcome = run_writer(&engine, pledge, writer, writes.clone(), &mut acknowledged);
        (acknowledged, outcome.err())
    });
    // After an error there is nothing left to sync and acknowledge.
    let synced = if refused.is_none() { sync(&engine, pledge) } else { Ok(()) };
    let closed = engine.close().map_err(|error| error.context("closing"));
    Ok((acknowledged, refused.or(synced.and(closed).err())))
}

/// Makes everything durable, and acknowledges that.
fn sync<E: Engine>(engine: &E, pledge: &Pledge) -> Result<()> {
    engine.sync().map_err(|error| error.context("syncing"))?;
    let acknowledgements = File::options().write(true).open(&pledge.acknowledgements)?;
    Ok(acknowledgements.write_all_at(&pledge::acknowledgement(pledge::SYNCED, 0), 0)?)
}

/// Runs writers side by side. Returns the sum of their acknowledged writes, and the first error.
fn run_writers(
    writers: u64,
    run_writer: &(dyn Fn(u64) -> (u64, Option<Error>) + Sync),
) -> (u64, Option<Error>) {
    let answers: Vec<(u64, Option<Error>)> = std::thread::scope(|scope| {
        let start = |writer| scope.spawn(move || run_writer(writer));
        let writers: Vec<_> = (0..writers).map(start).collect();
        let panicked = || (0, Some(Error::invalid("a writer panicked")));
        writers.into_iter().map(|writer| writer.join().unwrap_or_else(|_| panicked())).collect()
    });
    let acknowledged = answers.iter().map(|(acknowledged, _)| acknowledged).sum();
    (acknowledged, answers.into_iter().find_map(|(_, refused)| refused))
}

fn run_writer<E: Engine>(
    engine: &E,
    pledge: &Pledge,
    writer: u64,
    writes: Range<u64>,
    acknowledged: &mut u64,
) -> Result<()> {
    let acknowledgements = File::options().write(true).open(&pledge.acknowledgements)?;
    let mut session = engine.session()?;
    for number in writes {
        let values = make_records(&pledge.victim.units, writer, number);
        let mut tries = 1;
        while let Err(error) = write(&mut session, &values) {
            if tries == TRIES {
                return Err(error.context("writing"));
            }
            tries += 1;
            std::thread::sleep(BETWEEN_TRIES);
        }
        acknowledgements.write_all_at(&pledge::acknowledgement(writer, number), 0)?;
        *acknowledged += 1;
        // Different writers do this at different numbers.
        if (number + writer * 7).is_multiple_of(pledge.writeback_every.max(1)) {
            write_back(&pledge.victim);
        }
    }
    Ok(())
}

/// Writes the page cache out. Its errors are ignored: a failing drive fails the engine's own calls.
fn write_back(victim: &Victim) {
    let dir = victim.location.directory().ok().and_then(|dir| File::open(dir).ok());
    if let Some(dir) = dir {
        let _ = rustix::fs::syncfs(dir);
    }
}

type Record = ([u8; KEY_BYTES as usize], Vec<u8>);

/// Makes the sealed records of a write of a writer.
fn make_records(units: &Units, writer: u64, number: u64) -> Vec<Record> {
    let (unit, version) = units.write(number);
    let sealed = |record: u64| {
        let mut rng = Rng::new(&[record, version.into()]);
        let words = std::iter::repeat_with(|| rng.next().to_le_bytes());
        let mut value: Vec<u8> = words.flatten().take(value_bytes(record)).collect();
        seal(&mut value, record, version);
        (record.to_be_bytes(), value)
    };
    units.unit_records(writer, unit).map(sealed).collect()
}

fn write(session: &mut impl Session, records: &[Record]) -> Result<()> {
    if let [(key, value)] = records {
        return session.put(key, value);
    }
    let writes: Vec<Write<'_>> =
        records.iter().map(|(key, value)| Write::Put { key, value }).collect();
    session.write(&writes)
}

/// Reads a [`Victim`], opens it, and reports its contents.
pub(crate) fn recover<E: Engine>() -> Result<ExitCode> {
    let victim = Victim::from_json(&line()?)?;
    let recovered = match E::open(&victim.location, &victim.options, &victim.units.shape()) {
        Ok(engine) => {
            let recovered = read_recovered(&engine, &victim);
            // No more writes follow, and the engine's background writes do not matter.
            std::mem::forget(engine);
            recovered
        }
        Err(error) => open_failure(&error),
    };
    report(&recovered.to_line()?)
}

fn open_failure(error: &Error) -> Recovered {
    Recovered { unopened: Some(error.to_string()), ..Recovered::default() }
}

fn read_recovered<E: Engine>(engine: &E, victim: &Victim) -> Recovered {
    let mut session = match engine.session() {
        Ok(session) => session,
        Err(error) => return open_failure(&error),
    };
    let mut recovered = Recovered::default();
    for record in 0..victim.units.records() {
        let answer = session.get(&record.to_be_bytes(), |value| match value {
            None => Reading::Missing,
            Some(value) => reading(record, value),
        });
        recovered.readings.push(answer.unwrap_or_else(|error| {
            recovered.error.get_or_insert_with(|| error.to_string());
            Reading::Refused
        }));
    }
    if victim.walks {
        walk(&mut session, &mut recovered);
    }
    recovered
}

/// Parses a value as the value of a record.
fn reading(record: u64, value: &[u8]) -> Reading {
    let sound = value.len() == value_bytes(record) && is_sound(value, record);
    if sound { Reading::Version(parse_version(value)) } else { Reading::Torn }
}

/// Walks over all records: a lookup and a walk must find the same. The keys ascend, so a record
/// that does not follow the one before it was shown twice.
fn walk(session: &mut impl Session, recovered: &mut Recovered) {
    let mut walk = Walk::new(Direction::Forward);
    let readable = |reading: &Reading| matches!(reading, Reading::Version(_) | Reading::Torn);
    let (readings, mut strangers, mut met) = (&recovered.readings, 0, 0);
    let mut before = None;
    loop {
        let step = session.walk(&mut walk, WALK_RECORDS, |key, value| {
            let record = key.try_into().map_or(u64::MAX, u64::from_be_bytes);
            match readings.get(record as usize) {
                Some(expected) if before < Some(record) => {
                    before = Some(record);
                    met += u64::from(readable(expected));
                    strangers += u64::from(*expected != reading(record, value));
                }
                _ => strangers += 1,
            }
            ControlFlow::Continue(())
        });
        match step {
            Ok(shown) if shown == WALK_RECORDS && strangers <= readings.len() as u64 => {}
            Ok(_) => break,
            Err(error) => {
                recovered.strangers = strangers;
                recovered.unopened = Some(format!("the walk failed: {error}"));
                return;
            }
        }
    }
    let missed = readings.iter().filter(|reading| readable(reading)).count() as u64 - met;
    recovered.strangers = strangers + missed;
}

fn line() -> Result<String> {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    Ok(line)
}

/// Writes a line to the program, and exits at once. The engine's own threads may be at work, and
/// exit handlers of a C++ library would free what these threads use.
fn report(line: &[u8]) -> Result<ExitCode> {
    crate::output::write(line)?;
    end()
}

#[expect(unsafe_code, reason = "rustix has no _exit")]
fn end() -> ! {
    // SAFETY: it ends the process, and asks nothing of it.
    unsafe { libc::_exit(0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A session that shows these records in a walk, in this order, and then no more.
    struct Shows {
        records: Vec<u64>,
        /// Whether the walk fails after them.
        fails: bool,
    }

    impl Session for Shows {
        fn get<R>(&mut self, _: &[u8], _: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
            unreachable!("it is walked over")
        }

        fn put(&mut self, _: &[u8], _: &[u8]) -> Result<()> {
            unreachable!("it is walked over")
        }

        fn walk(
            &mut self,
            _: &mut Walk,
            limit: u64,
            mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
        ) -> Result<u64> {
            let shown = self.records.len().min(limit as usize);
            for record in self.records.drain(..shown) {
                let mut value = vec![0; value_bytes(record)];
                seal(&mut value, record, 7);
                let _ = visit(&record.to_be_bytes(), &value);
            }
            if self.fails { Err(Error::invalid("page corrupted")) } else { Ok(shown as u64) }
        }
    }

    /// Regression test: a record that was shown twice made up for one that was left out.
    #[test]
    fn a_walk_shows_each_record_once() {
        let strangers = |records: &[u64]| {
            let readings = vec![
                Reading::Version(7),
                Reading::Version(7),
                Reading::Missing,
                Reading::Version(7),
            ];
            let mut recovered = Recovered { readings, ..Recovered::default() };
            walk(&mut Shows { records: records.to_vec(), fails: false }, &mut recovered);
            recovered.strangers
        };
        assert_eq!(strangers(&[0, 1, 3]), 0);
        assert_eq!(strangers(&[0, 3]), 1, "1 is left out");
        assert_eq!(strangers(&[0, 0, 3]), 2, "0 is repeated, and 1 left out");
        assert_eq!(strangers(&[0, 1, 3, 1]), 1, "1 is repeated");
        assert_eq!(strangers(&[0, 1, 2, 3]), 1, "2 is missing by its lookup");
        assert_eq!(strangers(&[0, 1, 3, 9]), 1, "there is no 9");
        assert!(strangers(&[0; 1_500]) > 0, "a walk without an end");
    }

    /// Regression test: the database counted as sound.
    #[test]
    fn a_walk_that_fails_is_a_database_that_was_not_read() {
        let readings = vec![Reading::Version(7), Reading::Torn];
        let mut recovered = Recovered { readings: readings.clone(), ..Recovered::default() };
        walk(&mut Shows { records: vec![0], fails: true }, &mut recovered);
        let unopened = recovered.unopened.as_deref().unwrap();
        assert!(unopened.contains("walk") && unopened.ends_with("page corrupted"), "{unopened}");
        assert_eq!((recovered.readings, recovered.strangers), (readings, 0));
    }

    #[test]
    fn what_is_written_tells_its_version_and_any_damage() {
        let units = Units { writers: 2, singles: 3, batches: 1, batch: 3 };
        for number in 0..8 {
            let (_, version) = units.write(number);
            for (key, mut value) in make_records(&units, 1, number) {
                let record = u64::from_be_bytes(key);
                assert_eq!(reading(record, &value), Reading::Version(version));
                assert_eq!(reading(record + 1, &value), Reading::Torn, "another's");
                assert_eq!(reading(record, &value[..90]), Reading::Torn, "cut short");
                *value.last_mut().unwrap() ^= 1;
                assert_eq!(reading(record, &value), Reading::Torn);
            }
        }
        assert_eq!(make_records(&units, 0, 3).len(), 3);
    }
}
