//! Transactions: atomic, isolated, and with conflicts reported. An engine that chooses its kind by
//! an option is checked under each value of it.

use super::erased::BoxEngine;
use super::field::{Field, Outcome, Stop, expect, expect_value, get, require_ability, value};
use super::writes::join_thread;
use crate::{
    Direction, Error, ErrorClass, Options, Range, Result, Transaction, Transactions, Value,
};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// Longer than a lock is waited for by any engine's defaults; only a failing check waits for it.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long a transaction stays open for another session's call.
const MOMENT: Duration = Duration::from_millis(200);

type CheckFn = fn(&Field<'_>, &BoxEngine, Transactions) -> Outcome;

/// Runs `check` on a fresh database for every kind of transaction that the engine has.
fn check_each_kind(field: &Field<'_>, check: CheckFn) -> Outcome {
    field.require_contents()?;
    let with = |word: &String| {
        let mut options = field.options();
        options.values.insert("transactions".to_owned(), Value::Text(word.clone()));
        options
    };
    let all: Vec<Options> = match field.description.transaction_words() {
        Some(words) => words.iter().map(with).collect(),
        None => vec![field.options()],
    };
    let kind = |options: &Options| field.description.transactions(options);
    let some: Vec<_> = all.iter().filter(|all| kind(all) != Transactions::None).collect();
    require_ability(!some.is_empty(), "transactions")?;
    let mut checked = false;
    for options in some {
        let engine = match field.open_at(&field.new_location()?, options, &field.shape(1000)) {
            // This build or library does not support the value and refuses it.
            Err(Error { class: ErrorClass::Invalid | ErrorClass::Unsupported, .. }) => continue,
            other => other?,
        };
        check(field, &engine, kind(options)).map_err(|stop| match stop {
            Stop::Fail(what) => Stop::Fail(format!("{}: {what}", kind(options).as_str())),
            skip @ Stop::Skip(_) => skip,
        })?;
        engine.close()?;
        checked = true;
    }
    if !checked {
        return Err(Stop::Skip("the engine refuses every kind of transaction".to_owned()));
    }
    Ok(())
}

/// Checks that a body that fails leaves nothing, and that a transaction sees its own writes.
pub(super) fn all_or_nothing(field: &Field<'_>) -> Outcome {
    check_each_kind(field, |field, engine, _| {
        let mut session = engine.session()?;
        let keys: Vec<_> = (0..4).map(|number| field.key(number)).collect();
        let [old, new] = [1, 2].map(|version| value(0, version, 40));
        session.put(&keys[0], &old)?;
        session.put(&keys[1], &old)?;
        let failed = session.transaction(|within| {
            within.put(&keys[0], &new)?;
            within.put(&keys[2], &new)?;
            within.delete(&keys[1])?;
            Err::<(), _>(Error::new(ErrorClass::Other, "the body's own"))
        });
        let is_ours = failed.is_err_and(|error| error.message == "the body's own");
        expect(is_ours, || "the error of the body was not returned".to_owned())?;
        for (key, expected) in [(0, Some(&old)), (1, Some(&old)), (2, None)] {
            expect_value(&mut session, &keys[key], expected.map(Vec::as_slice))?;
        }
        let values = session.transaction(|within| {
            within.put(&keys[0], &new)?;
            within.put(&keys[3], &new)?;
            within.delete(&keys[1])?;
            let read = |within: &mut dyn Transaction, key| {
                let (mut plain, mut locked) = (None, None);
                within.get(key, &mut |value| plain = value.map(<[u8]>::to_vec))?;
                within.get_for_update(key, &mut |value| locked = value.map(<[u8]>::to_vec))?;
                Ok::<_, Error>((plain, locked))
            };
            Ok([read(within, &keys[0])?, read(within, &keys[1])?, read(within, &keys[3])?])
        })?;
        let expected = [Some(new.clone()), None, Some(new.clone())];
        let equal = values.iter().zip(&expected).all(|(values, value)| {
            let (plain, locked) = values;
            plain == value && locked == value
        });
        expect(equal, || "a transaction did not see its own writes".to_owned())?;
        for (key, expected) in [0, 1, 3].into_iter().zip(&expected) {
            expect_value(&mut session, &keys[key], expected.as_deref())?;
        }
        Ok(())
    })
}

/// Checks scans within a transaction: they show stored records and its own writes in one order.
pub(super) fn scans(field: &Field<'_>) -> Outcome {
    require_ability(field.capabilities().scan_forward, "forward scans")?;
    check_each_kind(field, |field, engine, _| {
        let mut session = engine.session()?;
        for number in (0..20).step_by(2) {
            session.put(&field.key(number), &value(number, 1, 40))?;
        }
        let numbers = |within: &mut dyn Transaction, range: Range<'_>, most| {
            let mut keys = Vec::new();
            within.scan(range, &mut |key, _| {
                keys.push(key.to_vec());
                if keys.len() == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })?;
            Ok::<_, Error>(keys)
        };
        let (three, nine) = (field.key(3), field.key(9));
        let (within_range, all, cut) = session.transaction(|within| {
            within.put(&field.key(5), &value(5, 2, 40))?;
            within.delete(&field.key(6))?;
            let range = Range::all(Direction::Forward);
            let bounded = range.from(&three).until(&nine);
            Ok((
                numbers(within, bounded, usize::MAX)?,
                numbers(within, range.limit(3), usize::MAX)?,
                numbers(within, range, 2)?,
            ))
        })?;
        let expect_keys = |found: Vec<Vec<u8>>, expected: &[u64]| {
            let keys: Vec<_> = expected.iter().map(|number| field.key(*number)).collect();
            expect(found == keys, || format!("expected {expected:?}, the scan showed {found:02x?}"))
        };
        expect_keys(within_range, &[4, 5, 8])?;
        expect_keys(all, &[0, 2, 4])?;
        expect_keys(cut, &[0, 2])
    })
}

/// Writes of a transaction that is rolled back are never visible to others. Others may have to
/// wait for its end.
pub(super) fn no_dirty_reads(field: &Field<'_>) -> Outcome {
    check_each_kind(field, |field, engine, _| {
        let (keys, old) = ([field.key(1), field.key(2)], value(1, 1, 40));
        let mut session = engine.session()?;
        session.put(&keys[0], &old)?;
        let (written, look) = channel();
        let (looked, answer) = channel();
        let keys = &keys;
        let read = move || {
            let mut session = engine.session()?;
            // Nothing is received where writing failed.
            let _ = look.recv();
            let values = [get(&mut session, &keys[0])?, get(&mut session, &keys[1])?];
            let _ = looked.send(());
            Ok::<_, Error>(values)
        };
        let values = std::thread::scope(|scope| {
            let reader = scope.spawn(read);
            let undone = session.transaction(|within| {
                within.put(&keys[0], b"not committed")?;
                within.put(&keys[1], b"not committed")?;
                let _ = written.send(());
                let _ = answer.recv_timeout(MOMENT);
                Err::<(), _>(Error::new(ErrorClass::Other, "undone"))
            });
            drop(written);
            expect_undone(undone)?;
            let panicked = |_| Stop::Fail("the reading thread panicked".to_owned());
            Ok::<_, Stop>(reader.join().map_err(panicked)??)
        })?;
        expect(values == [Some(old), None], || "another session saw uncommitted data".to_owned())
    })
}

/// A rollback does not undo what another session wrote meanwhile. That write may have to wait for
/// the end of the transaction.
pub(super) fn keeps_others_writes(field: &Field<'_>) -> Outcome {
    check_each_kind(field, |field, engine, _| {
        let (undone_key, kept_key, new) = (&field.key(1), &field.key(2), &value(2, 1, 40));
        let mut session = engine.session()?;
        let (opened, wait_for_opening) = channel();
        let (written, wait_for_write) = channel();
        std::thread::scope(|scope| {
            let write = move || -> Result<()> {
                let mut session = engine.session()?;
                // Nothing is received where the transaction failed.
                let _ = wait_for_opening.recv();
                retry(|| session.put(kept_key, new))?;
                let _ = written.send(());
                Ok(())
            };
            let writer = scope.spawn(write);
            let undone = session.transaction(|within| {
                within.put(undone_key, b"not committed")?;
                let _ = opened.send(());
                let _ = wait_for_write.recv_timeout(MOMENT);
                Err::<(), _>(Error::new(ErrorClass::Other, "undone"))
            });
            drop(opened);
            expect_undone(undone)?;
            join_thread(writer)
        })?;
        expect_value(&mut session, undone_key, None)?;
        expect_value(&mut session, kept_key, Some(new))
    })
}

fn expect_undone(undone: Result<()>) -> Outcome {
    match undone {
        Err(error) if error.message == "undone" => Ok(()),
        Err(error) => Err(error.into()),
        Ok(()) => Err(Stop::Fail("a transaction succeeded although its body failed".to_owned())),
    }
}

/// Two counters that are raised together by several threads: a transaction that holds both finds
/// them equal, and none loses an update. Conflicts are tried again.
pub(super) fn no_lost_updates(field: &Field<'_>) -> Outcome {
    const THREADS: u64 = 3;
    const EACH: u64 = 200;
    check_each_kind(field, |field, engine, kind| {
        let keys = [field.key(1), field.key(2)];
        let unequal = AtomicBool::new(false);
        let raise = || {
            let mut session = engine.session()?;
            for _ in 0..EACH {
                retry(|| {
                    session.transaction(|within| {
                        let [a, b] = [counter(within, &keys[0])?, counter(within, &keys[1])?];
                        unequal.fetch_or(a != b, Ordering::Relaxed);
                        // Gives other threads the chance to come in between.
                        std::thread::sleep(Duration::from_micros(50));
                        within.put(&keys[0], &(a + 1).to_le_bytes())?;
                        within.put(&keys[1], &(b + 1).to_le_bytes())
                    })
                })?;
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(raise)).collect();
            threads.into_iter().try_for_each(join_thread)
        })?;
        // An optimistic transaction may see parts of two commits, before its own commit fails.
        let unequal = unequal.into_inner() && kind != Transactions::Optimistic;
        expect(!unequal, || "a transaction saw half of another".to_owned())?;
        let mut session = engine.session()?;
        for key in &keys {
            let value = get(&mut session, key)?;
            let value = value.and_then(|bytes| bytes.try_into().ok()).map(u64::from_le_bytes);
            expect(value == Some(THREADS * EACH), || {
                format!(
                    "expected a counter of {}, found {value:?}: updates were \
                    lost",
                    THREADS * EACH
                )
            })?;
        }
        Ok(())
    })
}

/// Another transaction writes what this one has read for update: it waits, or one of the two gets
/// a conflict and succeeds when it is run again.
pub(super) fn conflicts(field: &Field<'_>) -> Outcome {
    check_each_kind(field, |field, engine, kind| {
        let key = &field.key(1);
        engine.session()?.put(key, &0u64.to_le_bytes())?;
        let (other_ended, other_done) = channel();
        let add = move |amount: u64, within: &mut dyn Transaction| {
            let before = counter(within, key)?;
            Ok::<_, Error>((before, before + amount))
        };
        let (first, second) = std::thread::scope(|scope| {
            let mut session = engine.session()?;
            let first = session.transaction(|within| {
                let (_, raised) = add(1, within)?;
                let other_ended = other_ended.clone();
                let second = scope.spawn(move || {
                    let second = engine.session().and_then(|mut session| {
                        session.transaction(|within| {
                            let (_, raised) = add(10, within)?;
                            within.put(key, &raised.to_le_bytes())
                        })
                    });
                    // The receiver is gone where this transaction had to wait for the first.
                    let _ = other_ended.send(());
                    second
                });
                // Optimistic transactions do not wait: the other may end before this one goes on.
                if kind == Transactions::Optimistic {
                    let _ = other_done.recv_timeout(PATIENCE);
                }
                within.put(key, &raised.to_le_bytes())?;
                Ok(second)
            });
            // With an optimistic engine the handle is lost with the transaction that failed; its
            // thread was waited for above.
            match first {
                Ok(second) => {
                    let panicked = || Stop::Fail("a thread panicked".to_owned());
                    Ok((Ok(()), Some(second.join().map_err(|_| panicked())?)))
                }
                Err(error) => Ok::<_, Stop>((Err(error), None)),
            }
        })?;
        let conflict = |outcome: &Result<()>| match outcome {
            Ok(()) => Ok(0),
            Err(error) if error.class == ErrorClass::Conflict => Ok(1),
            Err(error) => Err(Stop::from(error.clone())),
        };
        let conflicts = conflict(&first)? + second.as_ref().map_or(Ok(0), conflict)?;
        expect(kind != Transactions::Serial || conflicts == 0, || {
            "serial transactions had a conflict".to_owned()
        })?;
        expect(kind != Transactions::Optimistic || conflicts > 0, || {
            "two transactions changed what both had read, and neither got a conflict".to_owned()
        })?;
        let mut session = engine.session()?;
        let before = get(&mut session, key)?.and_then(|bytes| bytes.try_into().ok());
        let before = before.map(u64::from_le_bytes);
        let sums: &[u64] = if conflicts == 0 { &[11] } else { &[1, 10] };
        expect(before.is_some_and(|before| sums.contains(&before)), || {
            format!("with {conflicts} conflicts the counter is {before:?}, not one of {sums:?}")
        })?;
        retry(|| {
            session.transaction(|within| {
                let (_, raised) = add(100, within)?;
                within.put(key, &raised.to_le_bytes())
            })
        })?;
        expect_value(&mut session, key, Some(&(before.unwrap_or(0) + 100).to_le_bytes()))
    })
}

fn counter(within: &mut dyn Transaction, key: &[u8]) -> Result<u64> {
    let mut count = 0;
    within.get_for_update(key, &mut |value| {
        count = value.and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes);
    })?;
    Ok(count)
}

/// Runs `attempt` until it meets no conflict.
fn retry<R>(mut attempt: impl FnMut() -> Result<R>) -> Result<R> {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        match attempt() {
            Err(error) if error.class == ErrorClass::Conflict => std::thread::yield_now(),
            other => return other,
        }
    }
    attempt()
}
