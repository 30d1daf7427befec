//! Batches and read-modify-write: order, and atomicity where it is claimed.

use super::erased::{BoxEngine, BoxSession};
use super::field::{
    Field, Outcome, Stop, expect, expect_value, get, parse_version, require_ability, value,
};
use crate::{BatchKind, ErrorClass, Result, Write};
use std::sync::atomic::{AtomicBool, Ordering};

pub(super) fn batch_in_order(field: &Field<'_>) -> Outcome {
    field.require_contents()?;
    let engine = field.open(100)?;
    let mut session = engine.session()?;
    let keys: Vec<_> = (0..4).map(|number| field.key(number)).collect();
    let values: Vec<_> = (0..6).map(|version| value(0, version, 40)).collect();
    let put = |key: usize, value: usize| Write::Put { key: &keys[key], value: &values[value] };
    session.write(&[])?;
    session.write(&[put(0, 0), put(1, 1), put(2, 2), put(0, 3)])?;
    expect_value(&mut session, &keys[0], Some(&values[3]))?;
    expect_value(&mut session, &keys[2], Some(&values[2]))?;
    if field.capabilities().delete {
        let delete = |key: usize| Write::Delete { key: &keys[key] };
        session.write(&[delete(0), put(0, 4), put(1, 5), delete(1), delete(3)])?;
        expect_value(&mut session, &keys[0], Some(&values[4]))?;
        expect_value(&mut session, &keys[1], None)?;
    }
    drop(session);
    Ok(engine.close()?)
}

/// A writer puts the same version into two keys in one batch, over and over. A reader of one key
/// and then the other must never find an older version second.
pub(super) fn batch_is_atomic(field: &Field<'_>) -> Outcome {
    const BATCHES: u64 = 2000;
    field.require_contents()?;
    require_ability(field.capabilities().batch == BatchKind::Atomic, "atomic batches")?;
    let engine = field.open(100)?;
    let (a, b) = (field.key(1), field.key(2));
    refused_batch_leaves_nothing(field, &engine)?;
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let _done = SetAtEnd(&done);
            let mut session = engine.session()?;
            (1..=BATCHES).try_for_each(|version| {
                let (va, vb) = (value(1, version, 24), value(2, version, 24));
                session.write(&[
                    Write::Put { key: &a, value: &va },
                    Write::Put { key: &b, value: &vb },
                ])
            })
        });
        let mut session = engine.session()?;
        while !done.load(Ordering::Acquire) {
            for ((first, first_number), (second, second_number)) in
                [((&a, 1), (&b, 2)), ((&b, 2), (&a, 1))]
            {
                let earlier = read_version(&mut session, first, first_number)?;
                let later = read_version(&mut session, second, second_number)?;
                expect(later >= earlier, || {
                    format!("read version {earlier} of one key, then {later} of the other")
                })?;
            }
        }
        join_thread(writer)
    })?;
    Ok(engine.close()?)
}

/// Checks that a batch that fails at its end leaves nothing. Only an engine with a longest key can
/// be made to fail there.
fn refused_batch_leaves_nothing(field: &Field<'_>, engine: &BoxEngine) -> Outcome {
    let Some(longest) = field.capabilities().key_bytes_max else { return Ok(()) };
    let mut session = engine.session()?;
    let (good, bad) = (field.key(9), vec![1; longest as usize + 1]);
    let writes =
        [Write::Put { key: &good, value: b"kept?" }, Write::Put { key: &bad, value: b"refused" }];
    expect(session.write(&writes).is_err(), || "a key that is too long was accepted".to_owned())?;
    expect_value(&mut session, &good, None)
}

fn read_version(
    session: &mut BoxSession<'_>,
    key: &[u8],
    number: u64,
) -> std::result::Result<u64, Stop> {
    match get(session, key)? {
        None => Ok(0),
        Some(bytes) => parse_version(number, &bytes).ok_or_else(|| {
            Stop::Fail(format!(
                "key {number} holds a value that was never \
                written"
            ))
        }),
    }
}

/// Sets its flag at the end of a thread that others wait for, also after an error or a panic.
pub(super) struct SetAtEnd<'f>(pub(super) &'f AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

pub(super) fn join_thread(thread: std::thread::ScopedJoinHandle<'_, Result<()>>) -> Outcome {
    match thread.join() {
        Ok(result) => Ok(result?),
        Err(_) => Err(Stop::Fail("a thread panicked".to_owned())),
    }
}

pub(super) fn read_modify_write(field: &Field<'_>) -> Outcome {
    field.require_contents()?;
    let engine = field.open(100)?;
    let mut session = engine.session()?;
    let (key, mut buffer) = (field.key(1), b"left over".to_vec());
    let existed = session.read_modify_write(&key, &mut buffer, &mut |old, new| {
        new.extend_from_slice(if old.is_none() && new.is_empty() { b"first" } else { b"wrong" });
    })?;
    expect(!existed, || "read-modify-write of a missing key reported a key".to_owned())?;
    let existed = session.read_modify_write(&key, &mut buffer, &mut |old, new| {
        new.extend_from_slice(old.unwrap_or(b"missing"));
        new.extend_from_slice(b", second");
    })?;
    expect(existed, || "read-modify-write did not find the key it wrote".to_owned())?;
    expect_value(&mut session, &key, Some(b"first, second"))?;
    drop(session);
    Ok(engine.close()?)
}

pub(super) fn read_modify_write_is_atomic(field: &Field<'_>) -> Outcome {
    const THREADS: u64 = 2;
    const EACH: u64 = 500;
    field.require_contents()?;
    require_ability(field.capabilities().atomic_read_modify_write, "atomic read-modify-write")?;
    let engine = field.open(100)?;
    let key = field.key(1);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|_| {
                scope.spawn(|| {
                    let mut session = engine.session()?;
                    (0..EACH).try_for_each(|_| increment(&mut session, &key))
                })
            })
            .collect();
        threads.into_iter().try_for_each(join_thread)
    })?;
    let expected = (THREADS * EACH).to_le_bytes();
    expect_value(&mut engine.session()?, &key, Some(&expected))?;
    Ok(engine.close()?)
}

/// Adds one. A conflict is not an error: the increment is retried.
fn increment(session: &mut BoxSession<'_>, key: &[u8]) -> Result<()> {
    let mut buffer = Vec::new();
    loop {
        let outcome = session.read_modify_write(key, &mut buffer, &mut |old, new| {
            let old = old.and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes);
            new.extend_from_slice(&(old + 1).to_le_bytes());
        });
        match outcome {
            Err(error) if error.class == ErrorClass::Conflict => {}
            other => return other.map(drop),
        }
    }
}
