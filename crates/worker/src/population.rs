//! Which key numbers exist: shared by the threads of a case, touched once a block and never by an
//! operation.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Numbers handed to a thread at a time.
const CHUNK: u64 = 64;

/// The numbers `0..visible` exist; above them, inserts are at work.
#[derive(Debug)]
pub(crate) struct Population {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The first number nobody was given.
    next: u64,
    /// What each inserting thread was given and has not yet inserted.
    claims: Vec<Range<u64>>,
    /// Given, never inserted: an interrupted block, a failed insert. Handed out again first.
    returned: Vec<Range<u64>>,
}

impl Population {
    /// After a load of `records`.
    pub(crate) fn new(records: u64) -> Self {
        Self {
            state: Mutex::new(State { next: records, claims: Vec::new(), returned: Vec::new() }),
        }
    }

    /// How many numbers exist without a gap.
    pub(crate) fn visible(&self) -> u64 {
        let state = self.lock();
        let open = state.claims.iter().chain(&state.returned).filter(|range| !range.is_empty());
        open.map(|range| range.start).fold(state.next, u64::min)
    }

    /// A place for one inserting thread.
    fn join(&self) -> usize {
        let mut state = self.lock();
        state.claims.push(0..0);
        state.claims.len() - 1
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it is held, and a panicked thread ends the case anyway.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One thread's supply of new numbers.
#[derive(Debug)]
pub(crate) struct Inserter<'p> {
    population: &'p Population,
    place: usize,
    range: Range<u64>,
}

impl<'p> Inserter<'p> {
    pub(crate) fn new(population: &'p Population) -> Self {
        Self { population, place: population.join(), range: 0..0 }
    }

    /// A number that no other thread is given.
    pub(crate) fn take(&mut self) -> u64 {
        if let Some(number) = self.range.next() {
            return number;
        }
        let mut state = self.population.lock();
        self.range = if let Some(range) = state.returned.pop() {
            range
        } else {
            let start = state.next;
            state.next += CHUNK;
            start..state.next
        };
        // The claim keeps its old start until `settle`: numbers taken but not yet inserted are in
        // the block at hand.
        let claim = &mut state.claims[self.place];
        let start =
            if claim.is_empty() { self.range.start } else { claim.start.min(self.range.start) };
        *claim = start..self.range.end.max(claim.end);
        self.range.next().unwrap_or(start)
    }

    /// The block at hand is done: all numbers taken exist now, but for `not_inserted`.
    pub(crate) fn settle(&mut self, not_inserted: impl IntoIterator<Item = u64>) {
        let mut state = self.population.lock();
        state.returned.extend(not_inserted.into_iter().map(|number| number..number + 1));
        state.claims[self.place] = self.range.clone();
    }
}

impl Drop for Inserter<'_> {
    fn drop(&mut self) {
        let mut state = self.population.lock();
        state.claims[self.place] = 0..0;
        let rest = std::mem::replace(&mut self.range, 0..0);
        if !rest.is_empty() {
            state.returned.push(rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_visible_once_all_below_it_exist() {
        let population = Population::new(10);
        let (mut a, mut b) = (Inserter::new(&population), Inserter::new(&population));
        assert_eq!((a.take(), a.take()), (10, 11));
        let from_b = b.take();
        assert_eq!(population.visible(), 10);
        b.settle([]);
        assert_eq!(population.visible(), 10, "a's numbers are still missing");
        a.settle([11]);
        assert_eq!(population.visible(), 11, "11 was not inserted");
        drop((a, b));
        assert_eq!(population.visible(), 11);
        let mut c = Inserter::new(&population);
        let mut taken: Vec<u64> = (0..130).map(|_| c.take()).collect();
        c.settle([]);
        taken.sort_unstable();
        taken.dedup();
        assert_eq!(taken.len(), 130);
        assert!(taken.contains(&11) && !taken.contains(&10) && !taken.contains(&from_b));
    }
}
