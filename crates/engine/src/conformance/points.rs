//! Single keys: what is put is got, until it is overwritten or deleted.

use super::field::{Field, Outcome, expect, expect_value, require_ability, value};
use crate::{ErrorClass, Result};

pub(super) fn round_trip(field: &Field<'_>) -> Outcome {
    field.require_contents()?;
    let engine = field.open(100)?;
    let mut session = engine.session()?;
    let (one, two) = (field.key(1), field.key(2));
    expect_value(&mut session, &one, None)?;
    session.put(&one, &value(1, 1, 100))?;
    expect_value(&mut session, &one, Some(&value(1, 1, 100)))?;
    expect_value(&mut session, &two, None)?;
    for (version, bytes) in [(2, 100), (3, 17), (4, 400)] {
        session.put(&one, &value(1, version, bytes))?;
        expect_value(&mut session, &one, Some(&value(1, version, bytes)))?;
    }
    if field.capabilities().delete {
        session.put(&two, &value(2, 1, 30))?;
        session.delete(&one)?;
        expect_value(&mut session, &one, None)?;
        session.delete(&one)?;
        expect_value(&mut session, &two, Some(&value(2, 1, 30)))?;
        session.put(&one, &value(1, 5, 50))?;
        expect_value(&mut session, &one, Some(&value(1, 5, 50)))?;
    }
    drop(session);
    Ok(engine.close()?)
}

pub(super) fn shows_value_once(field: &Field<'_>) -> Outcome {
    let engine = field.open(100)?;
    let mut session = engine.session()?;
    session.put(&field.key(1), &value(1, 1, 100))?;
    for number in [1, 2] {
        let mut visits = 0;
        session.get(&field.key(number), &mut |_| visits += 1)?;
        expect(visits == 1, || format!("`visit` was called {visits} times for key {number}"))?;
    }
    drop(session);
    Ok(engine.close()?)
}

pub(super) fn value_limits(field: &Field<'_>) -> Outcome {
    field.require_contents()?;
    let engine = field.open(100)?;
    let mut session = engine.session()?;
    let longest = field.long_value_bytes();
    let lengths = [0, 1, 511, 512, 2036, 4000, 4096, 65_537, longest];
    let lengths = lengths.into_iter().filter(|&length| length <= longest);
    for (number, length) in (0..).zip(lengths) {
        let expected = value(number, 1, length as usize);
        session.put(&field.key(number), &expected)?;
        expect_value(&mut session, &field.key(number), Some(&expected))?;
    }
    if field.capabilities().value_bytes_max == Some(longest) {
        let too_long = vec![7; longest as usize + 1];
        expect_refusal(session.put(&field.key(99), &too_long), "a value over value_bytes_max")?;
        expect_value(&mut session, &field.key(99), None)?;
    }
    drop(session);
    Ok(engine.close()?)
}

pub(super) fn key_limits(field: &Field<'_>) -> Outcome {
    const LONG: u64 = 4096;
    field.require_contents()?;
    require_ability(!field.capabilities().numbered_keys_only, "keys that are not numbers")?;
    let engine = field.open(100)?;
    let mut session = engine.session()?;
    let longest = field.capabilities().key_bytes_max.unwrap_or(LONG).min(LONG) as usize;
    // Prefixes of each other, zeros, and bytes that compare differently when signed.
    let keys = [
        vec![0],
        vec![0, 0],
        vec![1],
        b"a".to_vec(),
        b"a\0".to_vec(),
        b"ab".to_vec(),
        vec![0x7f],
        vec![0x80],
        vec![0xff],
        vec![0xff; longest - 1],
        vec![0xff; longest],
    ];
    for (number, key) in (0..).zip(&keys) {
        session.put(key, &value(number, 1, 40))?;
    }
    for (number, key) in (0..).zip(&keys) {
        expect_value(&mut session, key, Some(&value(number, 1, 40)))?;
    }
    expect_value(&mut session, &vec![0xff; longest - 2], None)?;
    if field.capabilities().key_bytes_max == Some(longest as u64) {
        let refused = session.put(&vec![0xff; longest + 1], b"x");
        expect_refusal(refused, "a key over key_bytes_max")?;
    }
    drop(session);
    Ok(engine.close()?)
}

pub(super) fn multiget(field: &Field<'_>) -> Outcome {
    const KEYS: u64 = 100;
    let contents = !field.capabilities().stores_nothing;
    let engine = field.open(KEYS)?;
    let mut session = engine.session()?;
    for number in (0..KEYS).step_by(2) {
        session.put(&field.key(number), &value(number, 1, 60))?;
    }
    // Out of order, with holes, and one key twice.
    let numbers: Vec<u64> = (0..KEYS).map(|i| i * 37 % KEYS).chain([4]).collect();
    let keys: Vec<Vec<u8>> = numbers.iter().map(|&number| field.key(number)).collect();
    let slices: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
    let mut visits = vec![0; slices.len()];
    let mut wrong = None;
    session.multiget(&slices, &mut |index, actual| {
        visits[index] += 1;
        let number = numbers[index];
        let expected = (number.is_multiple_of(2)).then(|| value(number, 1, 60));
        if contents && actual != expected.as_deref() {
            wrong = Some(number);
        }
    })?;
    expect(wrong.is_none(), || format!("key {wrong:?} was shown with the wrong value"))?;
    expect(visits.iter().all(|&times| times == 1), || {
        format!("expected every index once, found {visits:?}")
    })?;
    session.multiget(&[], &mut |_, _| wrong = Some(0))?;
    expect(wrong.is_none(), || "multiget without keys showed a value".to_owned())?;
    drop(session);
    Ok(engine.close()?)
}

/// Expects an error of class `Invalid`: above a limit, storing less would be worse.
pub(super) fn expect_refusal(result: Result<()>, what: &str) -> Outcome {
    match result {
        Err(error) if error.class == ErrorClass::Invalid => Ok(()),
        Err(error) => expect(false, || {
            format!("{what}: expected an error of class Invalid, found {:?}: {error}", error.class)
        }),
        Ok(()) => expect(false, || format!("{what} was accepted")),
    }
}
