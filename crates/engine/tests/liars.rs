//! The kit finds engines that lie. All are one honest engine, an ordered map with optimistic
//! transactions, with one thing wrong with it.

use kvdyno_engine::conformance::{self, Report, Verdict};
use kvdyno_engine::{
    BatchKind, Capabilities, DataShape, Description, Direction, Durability, Engine, Error,
    ErrorClass, Location, OptionSpec, Options, Planning, PowerLoss, Range, Records, Result,
    Session, Settled, Transaction, Transactions, ValueVisitor,
};
use std::collections::BTreeMap;
use std::fs;
use std::ops::{Bound, ControlFlow};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const HONEST: u8 = 0;
const SCANS_PAST_THE_END: u8 = 1;
const GOES_ON_WHEN_TOLD_TO_STOP: u8 = 2;
const KEEPS_WHAT_WAS_UNDONE: u8 = 3;
const SHOWS_WHAT_IS_NOT_COMMITTED: u8 = 4;
const LOSES_UPDATES: u8 = 5;
const HIDES_CONFLICTS: u8 = 6;
const UNDOES_OTHERS_WRITES: u8 = 7;
const REFUSES_TRANSACTIONS: u8 = 8;
/// Panics in the writes of threads that others wait for, which it knows by their lengths.
const PANICS_BESIDE_READERS: u8 = 9;

/// The option with the kind of transactions.
const TRANSACTIONS: &str = "transactions";

type Key = Vec<u8>;
/// A value with the version of its key; a record that is deleted keeps its version.
type Stored = (Option<Vec<u8>>, u64);
type Map = BTreeMap<Key, Stored>;

struct Liar<const LIE: u8> {
    records: Mutex<Map>,
    file: PathBuf,
}

impl<const LIE: u8> Liar<LIE> {
    fn lock(&self) -> MutexGuard<'_, Map> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn store(&self, key: &[u8], value: Option<Vec<u8>>) {
        let mut records = self.lock();
        let slot = records.entry(key.to_vec()).or_default();
        *slot = (value, slot.1 + 1);
    }
}

impl<const LIE: u8> Engine for Liar<LIE> {
    type Session<'e> = LiarSession<'e, LIE>;

    fn describe() -> Description {
        Description {
            name: "liar".to_owned(),
            title: "Liar".to_owned(),
            version: "1".to_owned(),
            build: BTreeMap::new(),
            capabilities: Capabilities {
                delete: true,
                scan_forward: true,
                scan_reverse: true,
                batch: match LIE {
                    PANICS_BESIDE_READERS => BatchKind::Atomic,
                    _ => BatchKind::Loop,
                },
                transactions: Transactions::Optimistic,
                ..Capabilities::minimal([(
                    Durability::None,
                    PowerLoss::LosesLast,
                    "written when it is closed",
                )])
            },
            options: match LIE {
                REFUSES_TRANSACTIONS => {
                    vec![OptionSpec::choice(TRANSACTIONS, &["off", "optimistic"], "Their kind.")]
                }
                _ => Vec::new(),
            },
            planning: Planning { space_factor: 1.0, write_factor: 1.0, ram_bytes_min: 0 },
        }
    }

    fn open(location: &Location, options: &Options, _data: &DataShape) -> Result<Self> {
        if LIE == REFUSES_TRANSACTIONS && options.text(TRANSACTIONS)? != "off" {
            return Err(Error::unsupported(TRANSACTIONS));
        }
        let file = location.directory()?.join("records");
        let bytes = fs::read(&file).unwrap_or_default();
        let stored: Vec<(Key, Vec<u8>)> = match bytes.as_slice() {
            [] => Vec::new(),
            bytes => {
                serde_json::from_slice(bytes).map_err(|error| Error::invalid(error.to_string()))?
            }
        };
        let records = stored.into_iter().map(|(key, value)| (key, (Some(value), 1))).collect();
        Ok(Self { records: Mutex::new(records), file })
    }

    fn session(&self) -> Result<LiarSession<'_, LIE>> {
        Ok(LiarSession(self))
    }

    fn settle(&self, _limit: Duration) -> Result<Settled> {
        Ok(Settled::at_once())
    }

    fn sync(&self) -> Result<()> {
        let records = self.lock();
        let live = records.iter().filter_map(|(key, (value, _))| Some((key, value.as_ref()?)));
        let bytes = serde_json::to_vec(&live.collect::<Vec<_>>());
        Ok(fs::write(&self.file, bytes.map_err(|error| Error::invalid(error.to_string()))?)?)
    }

    fn close(self) -> Result<()> {
        self.sync()
    }
}

struct LiarSession<'e, const LIE: u8>(&'e Liar<LIE>);

impl<const LIE: u8> Session for LiarSession<'_, LIE> {
    fn get<R>(&mut self, key: &[u8], visit: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        let records = self.0.lock();
        Ok(visit(records.get(key).and_then(|(value, _)| value.as_deref())))
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        assert!(LIE != PANICS_BESIDE_READERS || ![24, 200].contains(&value.len()), "a lie");
        self.0.store(key, Some(value.to_vec()));
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.0.store(key, None);
        Ok(())
    }

    fn scan(
        &mut self,
        range: Range<'_>,
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64> {
        Ok(shown::<LIE>(&self.0.lock(), range, &mut visit))
    }

    fn transaction<R>(
        &mut self,
        body: impl FnOnce(&mut dyn Transaction) -> Result<R>,
    ) -> Result<R> {
        let mut within =
            LiarTransaction { engine: self.0, read: BTreeMap::new(), written: Vec::new() };
        let before = (LIE == UNDOES_OTHERS_WRITES).then(|| self.0.lock().clone());
        let outcome = body(&mut within);
        let LiarTransaction { read, written, .. } = within;
        if let (Err(_), Some(before)) = (&outcome, before) {
            *self.0.lock() = before;
        }
        if outcome.is_err() && LIE != KEEPS_WHAT_WAS_UNDONE {
            return outcome;
        }
        let mut records = self.0.lock();
        let changed = read.iter().any(|(key, version)| version_of(&records, key) != *version);
        if changed && LIE == HIDES_CONFLICTS {
            return outcome;
        }
        if changed && LIE != LOSES_UPDATES {
            return Err(Error::new(
                ErrorClass::Conflict,
                "another transaction wrote a key that was \
                read",
            ));
        }
        for (key, value) in written {
            let slot = records.entry(key).or_default();
            *slot = (value, slot.1 + 1);
        }
        outcome
    }
}

fn version_of(records: &Map, key: &[u8]) -> u64 {
    records.get(key).map_or(0, |(_, version)| *version)
}

fn shown<const LIE: u8>(records: &Map, range: Range<'_>, visit: &mut Records<'_>) -> u64 {
    let from = range.from.map_or(Bound::Unbounded, Bound::Included);
    let within: Box<dyn Iterator<Item = (&Key, &Stored)>> = match range.direction {
        Direction::Forward => Box::new(records.range::<[u8], _>((from, Bound::Unbounded))),
        Direction::Reverse => Box::new(records.range::<[u8], _>((Bound::Unbounded, from)).rev()),
    };
    let live = within.filter_map(|(key, (value, _))| Some((key, value.as_ref()?)));
    let mut count = 0;
    for (key, value) in live.take(range.limit as usize) {
        if range.ends_before(key) && LIE != SCANS_PAST_THE_END {
            break;
        }
        count += 1;
        if visit(key, value).is_break() && LIE != GOES_ON_WHEN_TOLD_TO_STOP {
            break;
        }
    }
    count
}

struct LiarTransaction<'e, const LIE: u8> {
    engine: &'e Liar<LIE>,
    read: BTreeMap<Key, u64>,
    written: Vec<(Key, Option<Vec<u8>>)>,
}

impl<const LIE: u8> LiarTransaction<'_, LIE> {
    /// The records as this transaction sees them.
    fn view(&self) -> Map {
        let mut view = self.engine.lock().clone();
        for (key, value) in &self.written {
            view.entry(key.clone()).or_default().0.clone_from(value);
        }
        view
    }

    fn write(&mut self, key: &[u8], value: Option<Vec<u8>>) {
        if LIE == SHOWS_WHAT_IS_NOT_COMMITTED {
            self.engine.store(key, value.clone());
        }
        self.written.push((key.to_vec(), value));
    }
}

impl<const LIE: u8> Transaction for LiarTransaction<'_, LIE> {
    fn get(&mut self, key: &[u8], visit: &mut ValueVisitor<'_>) -> Result<()> {
        if let Some((_, value)) = self.written.iter().rfind(|(written, _)| written == key) {
            visit(value.as_deref());
            return Ok(());
        }
        let records = self.engine.lock();
        visit(records.get(key).and_then(|(value, _)| value.as_deref()));
        Ok(())
    }

    fn get_for_update(&mut self, key: &[u8], visit: &mut ValueVisitor<'_>) -> Result<()> {
        let version = version_of(&self.engine.lock(), key);
        self.read.entry(key.to_vec()).or_insert(version);
        self.get(key, visit)
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.write(key, Some(value.to_vec()));
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.write(key, None);
        Ok(())
    }

    fn scan(&mut self, range: Range<'_>, visit: &mut Records<'_>) -> Result<u64> {
        Ok(shown::<LIE>(&self.view(), range, visit))
    }
}

fn report_on<const LIE: u8>() -> Report {
    let scratch = tempfile::tempdir().expect("a scratch directory");
    conformance::run::<Liar<LIE>>(scratch.path())
}

/// Fails unless the checks of these names failed.
fn assert_fails<const LIE: u8>(names: &[&str]) {
    let report = report_on::<LIE>();
    for name in names {
        let check = report.checks.iter().find(|check| check.name == *name).expect("such a check");
        assert!(matches!(check.verdict, Verdict::Failed(_)), "{name} found nothing in\n{report}");
    }
}

#[test]
fn an_honest_engine_conforms() {
    let report = report_on::<HONEST>();
    assert!(report.conforms(), "{report}");
    let skipped = report.checks.iter().filter(|check| {
        matches!(check.verdict, Verdict::Skipped(_)) && check.name.contains("transactions")
    });
    assert_eq!(skipped.count(), 0, "{report}");
}

/// Regression test: checks of transactions passed although none was opened.
#[test]
fn transactions_that_are_refused_are_not_checked() {
    let report = report_on::<REFUSES_TRANSACTIONS>();
    let checks = report.checks.iter().filter(|check| check.name.starts_with(TRANSACTIONS));
    let skipped = checks.clone().filter(|check| matches!(check.verdict, Verdict::Skipped(_)));
    assert!(checks.clone().count() > 3 && skipped.count() == checks.count(), "{report}");
}

/// Regression test: readers waited for ever for a writer that had panicked.
#[test]
fn a_writer_that_panics_is_found() {
    assert_fails::<PANICS_BESIDE_READERS>(&["batch is atomic", "many readers and a writer"]);
}

#[test]
fn lies_about_ranges_are_found() {
    assert_fails::<SCANS_PAST_THE_END>(&["scan forward", "scan reverse"]);
    assert_fails::<GOES_ON_WHEN_TOLD_TO_STOP>(&["scan forward", "transactions scan"]);
}

#[test]
fn lies_about_transactions_are_found() {
    assert_fails::<KEEPS_WHAT_WAS_UNDONE>(&["transactions are all or nothing"]);
    assert_fails::<SHOWS_WHAT_IS_NOT_COMMITTED>(&["transactions are isolated"]);
    assert_fails::<UNDOES_OTHERS_WRITES>(&["transactions keep others' writes"]);
    assert_fails::<LOSES_UPDATES>(&[
        "transactions lose no update",
        "transactions report conflicts",
    ]);
    assert_fails::<HIDES_CONFLICTS>(&["transactions lose no update"]);
}
