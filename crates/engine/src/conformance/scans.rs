//! Ordered reading: bounds, limits, directions, breaking off, walks over everything.

use super::erased::BoxSession;
use super::field::{Field, Outcome, Stop, expect, require_ability, value};
use crate::{DataShape, Direction, Range, Walk};
use std::ops::ControlFlow;

/// Only even numbers are stored, so that every second bound falls between two keys.
const KEYS: u64 = 200;

const VALUE_BYTES: usize = 50;

pub(super) fn forward(field: &Field<'_>) -> Outcome {
    check_direction(field, Direction::Forward, scan_all)
}

pub(super) fn reverse(field: &Field<'_>) -> Outcome {
    check_direction(field, Direction::Reverse, scan_all)
}

pub(super) fn walk_forward(field: &Field<'_>) -> Outcome {
    check_direction(field, Direction::Forward, walk_all)
}

pub(super) fn walk_reverse(field: &Field<'_>) -> Outcome {
    check_direction(field, Direction::Reverse, walk_all)
}

/// The stored numbers and the direction through them.
struct Course<'f, 'a> {
    field: &'f Field<'a>,
    direction: Direction,
    /// The numbers of the stored keys, ascending.
    stored: Vec<u64>,
    value_bytes: usize,
}

type CheckFn = fn(&Course<'_, '_>, &mut BoxSession<'_>) -> Outcome;

fn check_direction(field: &Field<'_>, direction: Direction, check: CheckFn) -> Outcome {
    let (claimed, name) = match direction {
        Direction::Forward => (field.capabilities().scan_forward, "forward scans"),
        Direction::Reverse => (field.capabilities().scan_reverse, "reverse scans"),
    };
    require_ability(claimed, name)?;
    field.require_contents()?;
    let engine = field.open(KEYS)?;
    let mut session = engine.session()?;
    let empty = Course { field, direction, stored: Vec::new(), value_bytes: VALUE_BYTES };
    check(&empty, &mut session)?;
    let stored = store(field, &mut session)?;
    check(&Course { stored, ..empty }, &mut session)?;
    drop(session);
    Ok(engine.close()?)
}

fn store(field: &Field<'_>, session: &mut BoxSession<'_>) -> Result<Vec<u64>, Stop> {
    let stored: Vec<u64> = (1..KEYS).filter(|number| number % 2 == 0).collect();
    for &number in stored.iter().rev() {
        session.put(&field.key(number), &value(number, 1, VALUE_BYTES))?;
    }
    Ok(stored)
}

/// Walks in both directions in turns on one session: neither continues from the other's position.
pub(super) fn walks_in_turns(field: &Field<'_>) -> Outcome {
    require_ability(field.capabilities().scan_forward, "forward scans")?;
    require_ability(field.capabilities().scan_reverse, "reverse scans")?;
    field.require_contents()?;
    let engine = field.open(KEYS)?;
    let mut session = engine.session()?;
    let stored = store(field, &mut session)?;
    let mut both = [Direction::Forward, Direction::Reverse].map(|direction| {
        let course = Course { field, direction, stored: stored.clone(), value_bytes: VALUE_BYTES };
        let remaining: Vec<u64> = course.numbers_in_order().collect();
        (course, Walk::new(direction), remaining)
    });
    // Half way both walks stand on the same key.
    for _ in &stored {
        for (course, walk, remaining) in &mut both {
            course.step(&mut session, walk, remaining, (1, usize::MAX))?;
        }
    }
    drop(session);
    Ok(engine.close()?)
}

/// Scans more records than a server sends at once by its own defaults.
pub(super) fn many_records(field: &Field<'_>) -> Outcome {
    scan_pages(field, 1200, VALUE_BYTES, &[101, 102, 500, 501, 1000, 5000])
}

/// Scans more bytes than a server sends at once, whatever it is asked for.
pub(super) fn long_records(field: &Field<'_>) -> Outcome {
    const BYTES: usize = 64 << 10;
    let fits = field.long_value_bytes() >= BYTES as u64;
    require_ability(fits, "values of 64 KiB")?;
    scan_pages(field, 300, BYTES, &[300])
}

/// Scans all records up to each limit, in every direction that the engine claims.
fn scan_pages(field: &Field<'_>, records: u64, value_bytes: usize, limits: &[u64]) -> Outcome {
    let abilities = field.capabilities();
    let directions = [
        abilities.scan_forward.then_some(Direction::Forward),
        abilities.scan_reverse.then_some(Direction::Reverse),
    ];
    require_ability(directions != [None, None], "scans")?;
    field.require_contents()?;
    let shape = DataShape { value_bytes_mean: value_bytes as u64, ..field.shape(records) };
    let engine = field.open_at(&field.new_location()?, &field.options(), &shape)?;
    let mut session = engine.session()?;
    for number in 1..=records {
        session.put(&field.key(number), &value(number, 1, value_bytes))?;
    }
    for direction in directions.into_iter().flatten() {
        let course = Course { field, direction, stored: (1..=records).collect(), value_bytes };
        for &limit in limits {
            let request = ScanRequest { from: None, until: None, limit, most: usize::MAX };
            course.scan(&mut session, request)?;
        }
    }
    drop(session);
    Ok(engine.close()?)
}

fn scan_all(course: &Course<'_, '_>, session: &mut BoxSession<'_>) -> Outcome {
    let from = [0, 1, 2, 3, 100, 101, KEYS - 2, KEYS - 1, KEYS + 5].map(Some);
    for from in from.into_iter().chain([None]) {
        for limit in [0, 1, 7, 1000] {
            course.scan(session, ScanRequest { from, until: None, limit, most: usize::MAX })?;
        }
        course.scan(session, ScanRequest { from, until: None, limit: 1000, most: 3 })?;
        for until in [0, 2, 3, 50, 100, 101, KEYS - 2, KEYS + 5].map(Some) {
            course.scan(session, ScanRequest { from, until, limit: 1000, most: usize::MAX })?;
            course.scan(session, ScanRequest { from, until, limit: 4, most: 2 })?;
        }
    }
    // Bounds of the previous scan must not be left over.
    course.scan(session, ScanRequest { from: None, until: None, limit: 1000, most: usize::MAX })
}

#[derive(Clone, Copy, Debug)]
struct ScanRequest {
    from: Option<u64>,
    until: Option<u64>,
    limit: u64,
    /// The number of records after which the scan is broken off.
    most: usize,
}

impl Course<'_, '_> {
    /// Returns the stored numbers in the order in which they are met.
    fn numbers_in_order(&self) -> Box<dyn Iterator<Item = u64> + '_> {
        match self.direction {
            Direction::Forward => Box::new(self.stored.iter().copied()),
            Direction::Reverse => Box::new(self.stored.iter().rev().copied()),
        }
    }

    fn scan(&self, session: &mut BoxSession<'_>, request: ScanRequest) -> Outcome {
        let ScanRequest { from, until, limit, most } = request;
        let forward = self.direction == Direction::Forward;
        let within = |number: u64| {
            let begun =
                from.is_none_or(|from| if forward { number >= from } else { number <= from });
            let ended = until.is_some_and(|end| if forward { number >= end } else { number < end });
            begun && !ended
        };
        let expected: Vec<u64> = self.numbers_in_order().filter(|number| within(*number)).collect();
        let expected = &expected[..expected.len().min(limit as usize).min(most)];
        let keys = [from, until].map(|end| end.map(|number| self.field.key(number)));
        let [from, until] = keys.each_ref().map(Option::as_deref);
        let range = Range { from, until, direction: self.direction, limit };
        let mut records = Vec::new();
        let returned = session.scan(range, &mut |key, value| {
            records.push((key.to_vec(), value.to_vec()));
            if records.len() == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        let what = || format!("scan {:?}, {request:?}", self.direction);
        self.expect_records(&what, returned, &records, expected)
    }

    /// Takes one step of a walk: at most `limit` records, broken off after `most`. False: the walk
    /// has come to its end.
    fn step(
        &self,
        session: &mut BoxSession<'_>,
        walk: &mut Walk,
        remaining: &mut Vec<u64>,
        (limit, most): (u64, usize),
    ) -> Result<bool, Stop> {
        let mut records = Vec::new();
        let returned = session.walk(walk, limit, &mut |key, value| {
            records.push((key.to_vec(), value.to_vec()));
            if records.len() == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        let now = remaining.len().min(limit as usize).min(most);
        let expected: Vec<u64> = remaining.drain(..now).collect();
        let what = || format!("walk {:?}, limit {limit}, {most} at most", self.direction);
        self.expect_records(&what, returned, &records, &expected)?;
        Ok(records.len() >= most.min(limit as usize))
    }

    fn expect_records(
        &self,
        what: &dyn Fn() -> String,
        returned: u64,
        found: &[(Vec<u8>, Vec<u8>)],
        expected: &[u64],
    ) -> Outcome {
        expect(returned == found.len() as u64, || {
            format!("{} returned {returned} but showed {}", what(), found.len())
        })?;
        let record = |&number: &u64| (self.field.key(number), value(number, 1, self.value_bytes));
        let records: Vec<_> = expected.iter().map(record).collect();
        expect(found == records, || {
            let keys: Vec<_> = found.iter().map(|(key, _)| key).collect();
            format!("{} expected the numbers {expected:?}, showed the keys {keys:02x?}", what())
        })
    }
}

/// Walks twice around in steps of several lengths, some broken off: every record once each time.
fn walk_all(course: &Course<'_, '_>, session: &mut BoxSession<'_>) -> Outcome {
    for (limit, most) in [(1, usize::MAX), (7, usize::MAX), (1000, 3), (1000, usize::MAX)] {
        let mut walk = Walk::new(course.direction);
        for _around in 0..2 {
            let mut remaining: Vec<u64> = course.numbers_in_order().collect();
            while course.step(session, &mut walk, &mut remaining, (limit, most))? {}
        }
    }
    Ok(())
}
