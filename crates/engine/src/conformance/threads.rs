//! Several sessions: no lost write, no old value after a new one, no torn value.

use super::field::{Field, Outcome, Stop, expect, expect_value, get, parse_version, value};
use super::writes::{SetAtEnd, join_thread};
use crate::Options;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

/// A session that has read before must see what another session wrote since: a snapshot that is
/// kept from call to call would make reads cheaper than they are.
pub(super) fn no_stale_reads(field: &Field<'_>) -> Outcome {
    const ROUNDS: u64 = 50;
    field.require_contents()?;
    let engine = field.open(100)?;
    let key = &field.key(1);
    std::thread::scope(|scope| {
        let (ask, requests) = channel();
        let (answer, answered) = channel();
        let engine = &engine;
        scope.spawn(move || {
            let mut reader = engine.session();
            for () in requests {
                let value = reader.as_mut().map_err(|error| error.clone());
                let value = value.and_then(|session| get(session, key));
                if answer.send(value).is_err() {
                    break;
                }
            }
        });
        let mut writer = engine.session()?;
        for version in 0..ROUNDS {
            let written = value(1, version, 30);
            writer.put(key, &written)?;
            let gone = |_| Stop::Fail("the reading thread panicked".to_owned());
            ask.send(()).map_err(|_| Stop::Fail("the reading thread panicked".to_owned()))?;
            let value = answered.recv().map_err(gone)??;
            expect(value == Some(written), || {
                format!("another session did not see version {version} after `put` returned")
            })?;
        }
        Ok::<(), Stop>(())
    })?;
    Ok(engine.close()?)
}

/// Two writers in the weakest class at length, and for some rounds in each: an engine may group
/// commits.
pub(super) fn two_writers(field: &Field<'_>) -> Outcome {
    write_side_by_side(field, &field.options(), 1000)?;
    for &class in field.capabilities().durability.keys() {
        write_side_by_side(field, &Options::defaults(&field.description, class), 50)?;
    }
    Ok(())
}

fn write_side_by_side(field: &Field<'_>, options: &Options, each: u64) -> Outcome {
    let contents = !field.capabilities().stores_nothing;
    let engine = field.open_at(&field.new_location()?, options, &field.shape(2 * each))?;
    // Interleaved keys: neighbours in the engine's pages belong to different threads.
    let keys: Vec<_> = (0..2 * each).map(|number| field.key(number)).collect();
    let write = |thread: u64| {
        let mut session = engine.session()?;
        (0..each)
            .map(|i| 2 * i + thread)
            .try_for_each(|number| session.put(&keys[number as usize], &value(number, thread, 80)))
    };
    std::thread::scope(|scope| {
        let threads = [0, 1].map(|thread| scope.spawn(move || write(thread)));
        threads.into_iter().try_for_each(join_thread)
    })?;
    if contents {
        let mut session = engine.session()?;
        for number in 0..2 * each {
            let expected = value(number, number % 2, 80);
            expect_value(&mut session, &field.key(number), Some(&expected))?;
        }
    }
    Ok(engine.close()?)
}

/// One writer raises the versions of a few keys; readers must find whole values whose versions
/// never go back. Counters, events and syncs are asked for meanwhile.
pub(super) fn readers_and_writer(field: &Field<'_>) -> Outcome {
    const READERS: usize = 4;
    const KEYS: u64 = 16;
    const VERSIONS: u64 = 200;
    field.require_contents()?;
    let engine = field.open(KEYS)?;
    let keys: Vec<_> = (0..KEYS).map(|number| field.key(number)).collect();
    let done = AtomicBool::new(false);
    let read = || {
        let mut session = engine.session()?;
        let mut newest = [0; KEYS as usize];
        while !done.load(Ordering::Acquire) {
            for (number, key) in (0..).zip(&keys) {
                let Some(bytes) = get(&mut session, key)? else { continue };
                let version = parse_version(number, &bytes);
                let before = &mut newest[number as usize];
                expect(version >= Some(*before), || {
                    format!("key {number}: version {version:?} after version {before}")
                })?;
                *before = version.unwrap_or_default();
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..READERS).map(|_| scope.spawn(read)).collect();
        let writer = scope.spawn(|| {
            let _done = SetAtEnd(&done);
            let mut session = engine.session()?;
            (0..VERSIONS * KEYS).try_for_each(|i| {
                let (number, version) = (i % KEYS, i / KEYS);
                session.put(&keys[number as usize], &value(number, version, 200))
            })
        });
        // This thread asks for counters and events, and syncs, while the others work.
        for round in 0.. {
            if done.load(Ordering::Acquire) {
                break;
            }
            engine.counters();
            engine.events();
            if round % 8 == 0 {
                engine.sync()?;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        join_thread(writer)?;
        readers.into_iter().try_for_each(|reader| {
            reader.join().unwrap_or_else(|_| Err(Stop::Fail("a reader panicked".to_owned())))
        })
    })?;
    Ok(engine.close()?)
}
