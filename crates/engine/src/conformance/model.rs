//! Random operations against a `BTreeMap`; a disagreement is shrunk to a short list of steps.

use super::erased::{BoxEngine, BoxSession};
use super::field::{Field, Outcome, Stop, expect, expect_value, value};
use crate::{Direction, Location, Options, Range, Write};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// Few enough keys that steps meet on the same ones.
const KEYS: u64 = 40;
const CASES: u32 = 12;
const SHRINKS: u32 = 300;

type Model = BTreeMap<u64, Vec<u8>>;

#[derive(Clone, Debug)]
enum Step {
    Put { key: u64, bytes: usize },
    Delete { key: u64 },
    Get { key: u64 },
    Multiget { keys: Vec<u64> },
    Scan { from: u64, reverse: bool, limit: u64 },
    Batch { writes: Vec<(u64, Option<usize>)> },
    ReadModifyWrite { key: u64 },
    Reopen,
}

pub(super) fn agrees(field: &Field<'_>) -> Outcome {
    field.require_contents()?;
    let config = Config {
        cases: CASES,
        max_shrink_iters: SHRINKS,
        failure_persistence: None,
        ..Config::default()
    };
    // The same cases on every run: a failure in CI is the failure at the desk.
    let mut runner =
        TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let steps = prop::collection::vec(step(field.long_value_bytes() as usize), 1..150);
    let result = runner.run(&steps, |steps| {
        walk(field, &steps).map_err(|stop| match stop {
            Stop::Skip(why) => TestCaseError::reject(why),
            Stop::Fail(what) => TestCaseError::fail(what),
        })
    });
    result.map_err(|error| match error {
        TestError::Abort(reason) => Stop::Fail(reason.to_string()),
        TestError::Fail(reason, steps) => Stop::Fail(format!("{reason}; after {steps:?}")),
    })
}

fn step(longest: usize) -> impl Strategy<Value = Step> {
    let key = || 0..KEYS;
    // Around the sizes at which engines move a value out of line.
    let bytes = move || {
        prop_oneof![8 => 0..200_usize, 1 => 1900..4200_usize]
            .prop_map(move |bytes| bytes.min(longest))
    };
    let write = move || (key(), prop::option::weighted(0.7, bytes()));
    prop_oneof![
        8 => (key(), bytes()).prop_map(|(key, bytes)| Step::Put { key, bytes }),
        3 => key().prop_map(|key| Step::Delete { key }),
        4 => key().prop_map(|key| Step::Get { key }),
        1 => prop::collection::vec(key(), 0..12).prop_map(|keys| Step::Multiget { keys }),
        3 => (key(), any::<bool>(), 0..KEYS)
            .prop_map(|(from, reverse, limit)| Step::Scan { from, reverse, limit }),
        2 => prop::collection::vec(write(), 0..20).prop_map(|writes| Step::Batch { writes }),
        2 => key().prop_map(|key| Step::ReadModifyWrite { key }),
        1 => Just(Step::Reopen),
    ]
}

/// Walks the steps on a fresh database and on the model, and compares all records at the end.
fn walk(field: &Field<'_>, steps: &[Step]) -> Outcome {
    let (location, options) = (field.new_location()?, field.options());
    let mut walk = Walk { field, location, options, model: Model::new(), version: 0 };
    let mut engine = walk.open()?;
    for part in steps.split_inclusive(|step| matches!(step, Step::Reopen)) {
        let mut session = engine.session()?;
        part.iter().try_for_each(|step| walk.step(&mut session, step))?;
        drop(session);
        if matches!(part.last(), Some(Step::Reopen)) {
            engine.close()?;
            engine = walk.open()?;
        }
    }
    let mut session = engine.session()?;
    for key in 0..KEYS {
        walk.step(&mut session, &Step::Get { key })?;
    }
    walk.step(&mut session, &Step::Scan { from: 0, reverse: false, limit: 2 * KEYS })?;
    walk.step(&mut session, &Step::Scan { from: KEYS, reverse: true, limit: 2 * KEYS })?;
    drop(session);
    Ok(engine.close()?)
}

struct Walk<'f, 'a> {
    field: &'f Field<'a>,
    location: Location,
    options: Options,
    model: Model,
    version: u64,
}

impl Walk<'_, '_> {
    fn open(&self) -> crate::Result<BoxEngine> {
        self.field.open_at(&self.location, &self.options, &self.field.shape(KEYS))
    }

    /// Performs one step. Leaves out steps that the engine does not claim to be capable of.
    fn step(&mut self, session: &mut BoxSession<'_>, step: &Step) -> Outcome {
        let capabilities = self.field.capabilities();
        match step {
            Step::Put { key, bytes } => {
                let value = self.next_value(*key, *bytes);
                session.put(&self.field.key(*key), &value)?;
                self.model.insert(*key, value);
            }
            Step::Delete { key } if capabilities.delete => {
                session.delete(&self.field.key(*key))?;
                self.model.remove(key);
            }
            Step::Get { key } => {
                let expected = self.model.get(key).map(Vec::as_slice);
                expect_value(session, &self.field.key(*key), expected)?;
            }
            Step::Multiget { keys } => self.multiget(session, keys)?,
            Step::Scan { from, reverse: false, limit } if capabilities.scan_forward => {
                let range = self.model.range(from..).take(*limit as usize);
                self.scan(session, *from, Direction::Forward, *limit, range)?;
            }
            Step::Scan { from, reverse: true, limit } if capabilities.scan_reverse => {
                let range = self.model.range(..=from).rev().take(*limit as usize);
                self.scan(session, *from, Direction::Reverse, *limit, range)?;
            }
            Step::Batch { writes } => self.batch(session, writes)?,
            Step::ReadModifyWrite { key } => self.read_modify_write(session, *key)?,
            Step::Delete { .. } | Step::Scan { .. } | Step::Reopen => {}
        }
        Ok(())
    }

    fn next_value(&mut self, key: u64, bytes: usize) -> Vec<u8> {
        self.version += 1;
        value(key, self.version, bytes)
    }

    fn multiget(&self, session: &mut BoxSession<'_>, numbers: &[u64]) -> Outcome {
        let keys: Vec<_> = numbers.iter().map(|&number| self.field.key(number)).collect();
        let slices: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let mut values = vec![None; keys.len()];
        session.multiget(&slices, &mut |index, value| values[index] = value.map(<[u8]>::to_vec))?;
        let expected: Vec<_> = numbers.iter().map(|key| self.model.get(key).cloned()).collect();
        expect(values == expected, || format!("multiget of {numbers:?} shows wrong values"))
    }

    fn scan<'m>(
        &self,
        session: &mut BoxSession<'_>,
        from: u64,
        direction: Direction,
        limit: u64,
        expected: impl Iterator<Item = (&'m u64, &'m Vec<u8>)>,
    ) -> Outcome {
        let mut records = Vec::new();
        let key = self.field.key(from);
        session.scan(Range::all(direction).from(&key).limit(limit), &mut |key, value| {
            records.push((key.to_vec(), value.to_vec()));
            ControlFlow::Continue(())
        })?;
        let expected: Vec<_> =
            expected.map(|(&number, value)| (self.field.key(number), value.clone())).collect();
        expect(records == expected, || {
            format!("scan {direction:?} from {from} limit {limit} shows wrong records")
        })
    }

    fn batch(&mut self, session: &mut BoxSession<'_>, writes: &[(u64, Option<usize>)]) -> Outcome {
        let may_delete = self.field.capabilities().delete;
        let writes: Vec<_> = writes
            .iter()
            .filter(|(_, bytes)| bytes.is_some() || may_delete)
            .map(|&(key, bytes)| (key, self.field.key(key), bytes))
            .map(|(key, name, bytes)| (key, name, bytes.map(|bytes| self.next_value(key, bytes))))
            .collect();
        let borrowed: Vec<_> = writes
            .iter()
            .map(|(_, key, value)| match value {
                Some(value) => Write::Put { key, value },
                None => Write::Delete { key },
            })
            .collect();
        session.write(&borrowed)?;
        for (key, _, value) in writes {
            match value {
                Some(value) => drop(self.model.insert(key, value)),
                None => drop(self.model.remove(&key)),
            }
        }
        Ok(())
    }

    fn read_modify_write(&mut self, session: &mut BoxSession<'_>, key: u64) -> Outcome {
        let value = self.next_value(key, 50);
        let mut old_shown = None;
        let existed =
            session.read_modify_write(&self.field.key(key), &mut Vec::new(), &mut |old, new| {
                old_shown = old.map(<[u8]>::to_vec);
                new.extend_from_slice(&value);
            })?;
        let old = self.model.insert(key, value);
        expect(existed == old.is_some() && old_shown == old, || {
            format!("read-modify-write of {key} got a wrong old value")
        })
    }
}
