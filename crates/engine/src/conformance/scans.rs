//! Ordered reading: bounds, limits, directions.

use super::field::{Field, Outcome, expect, needs, value};
use crate::{Direction, Engine, Session};

/// Only even numbers are stored, so that every second bound falls between two keys.
const KEYS: u64 = 200;

pub(super) fn forward<E: Engine>(field: &Field<'_, E>) -> Outcome {
    needs(field.capabilities().scan_forward, "forward scans")?;
    scan_all(field, Direction::Forward)
}

pub(super) fn reverse<E: Engine>(field: &Field<'_, E>) -> Outcome {
    needs(field.capabilities().scan_reverse, "reverse scans")?;
    scan_all(field, Direction::Reverse)
}

fn scan_all<E: Engine>(field: &Field<'_, E>, direction: Direction) -> Outcome {
    field.needs_contents()?;
    let engine = field.open(KEYS)?;
    let mut session = engine.session()?;
    expect_scan(field, &mut session, 0, direction, 10, &[])?;
    let stored: Vec<u64> = (1..KEYS).filter(|number| number % 2 == 0).collect();
    for &number in stored.iter().rev() {
        session.put(&field.key(number), &value(number, 1, 50))?;
    }
    for from in [0, 1, 2, 3, 100, 101, KEYS - 2, KEYS - 1, KEYS + 5] {
        for limit in [0, 1, 7, 1000] {
            let expected = expected(&stored, from, direction, limit);
            expect_scan(field, &mut session, from, direction, limit, &expected)?;
        }
    }
    drop(session);
    Ok(engine.close()?)
}

fn expected(stored: &[u64], from: u64, direction: Direction, limit: u64) -> Vec<u64> {
    let limit = limit as usize;
    match direction {
        Direction::Forward => {
            stored.iter().copied().filter(|&number| number >= from).take(limit).collect()
        }
        Direction::Reverse => {
            stored.iter().rev().copied().filter(|&number| number <= from).take(limit).collect()
        }
    }
}

fn expect_scan<E: Engine>(
    field: &Field<'_, E>,
    session: &mut impl Session,
    from: u64,
    direction: Direction,
    limit: u64,
    expected: &[u64],
) -> Outcome {
    let mut shown = Vec::new();
    let returned = session.scan(&field.key(from), direction, limit, |key, value| {
        shown.push((key.to_vec(), value.to_vec()));
    })?;
    let scan = || format!("scan {direction:?} from {from} limit {limit}");
    expect(returned == shown.len() as u64, || {
        format!("{} returned {returned} but showed {}", scan(), shown.len())
    })?;
    let records: Vec<_> =
        expected.iter().map(|&number| (field.key(number), value(number, 1, 50))).collect();
    expect(shown == records, || {
        let keys: Vec<_> = shown.iter().map(|(key, _)| key).collect();
        format!("{} expected the numbers {expected:?}, showed the keys {keys:02x?}", scan())
    })
}
