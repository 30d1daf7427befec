//! The key numbers that exist. The threads of a case share this; they touch it once per block, and
//! never in an operation.

use crate::missing::MissingKeys;
use kvdyno_record::crew::RankId;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The count of numbers that a thread gets at a time.
const CHUNK: u64 = 64;

/// The numbers `0..visible` exist; above them, inserts are under way.
///
/// In a crew each rank has its own numbers above the loaded ones, and counts them without a gap: it
/// knows nothing of the inserts of other ranks, and chooses among the numbers it knows.
/// [`Population::key`] turns them into the numbers of keys, which no two ranks share.
#[derive(Debug)]
pub(crate) struct Population {
    loaded: u64,
    seat: RankId,
    state: Mutex<State>,
    /// The keys that were deleted, or never loaded; none: keys cannot be missing.
    missing: Option<MissingKeys>,
}

#[derive(Debug)]
struct State {
    /// The first number that was never given out.
    next: u64,
    /// The numbers that each inserting thread was given and has not yet inserted.
    claims: Vec<Range<u64>>,
    /// Numbers that were given and never inserted, because a block was interrupted or an insert
    /// failed. They are given out again first.
    returned: Vec<Range<u64>>,
}

impl Population {
    /// The population after a load of `records`.
    pub(crate) fn new(records: u64, seat: RankId) -> Self {
        Self {
            loaded: records,
            seat,
            state: Mutex::new(State { next: records, claims: Vec::new(), returned: Vec::new() }),
            missing: None,
        }
    }

    /// The same population without the `missing` keys, which deletions add to.
    pub(crate) fn with_missing(self, missing: Option<MissingKeys>) -> Self {
        Self { missing, ..self }
    }

    /// The missing keys; none: keys cannot be missing.
    pub(crate) fn missing(&self) -> Option<&MissingKeys> {
        self.missing.as_ref()
    }

    /// The number of records that were loaded, or were to be.
    pub(crate) fn loaded_records(&self) -> u64 {
        self.loaded
    }

    /// The number of keys while no thread inserts. In a crew the first rank counts the loaded keys
    /// and each rank those that it inserted: together they are all.
    pub(crate) fn live_records(&self) -> u64 {
        let state = self.lock();
        let open: u64 = state.returned.iter().map(|range| range.end - range.start).sum();
        let inserted = state.next - self.loaded - open;
        let missing = self.missing.as_ref().map_or(0, MissingKeys::count);
        let loaded = if self.seat.rank == 0 { self.loaded } else { 0 };
        (loaded + inserted).saturating_sub(missing)
    }

    /// The count of numbers that exist without a gap.
    pub(crate) fn visible(&self) -> u64 {
        let state = self.lock();
        let open = state.claims.iter().chain(&state.returned).filter(|range| !range.is_empty());
        open.map(|range| range.start).fold(state.next, u64::min)
    }

    /// Whether keys differ from the numbers: in a crew, once something was inserted or is going to
    /// be.
    pub(crate) fn strides(&self, grows: bool) -> bool {
        self.seat.ranks > 1 && (grows || self.lock().next > self.loaded)
    }

    /// Returns the key of a number: the inserts of a crew's ranks take turns by chunks.
    #[inline]
    pub(crate) fn key(&self, number: u64) -> u64 {
        let Some(inserted) = number.checked_sub(self.loaded).filter(|_| self.seat.ranks > 1) else {
            return number;
        };
        let chunk = inserted / CHUNK * u64::from(self.seat.ranks) + u64::from(self.seat.rank);
        self.loaded + chunk * CHUNK + inserted % CHUNK
    }

    /// Returns the number that has this key.
    fn number(&self, key: u64) -> u64 {
        let Some(inserted) = key.checked_sub(self.loaded).filter(|_| self.seat.ranks > 1) else {
            return key;
        };
        let chunk = inserted / CHUNK / u64::from(self.seat.ranks);
        self.loaded + chunk * CHUNK + inserted % CHUNK
    }

    /// Adds a claim for one inserting thread. Returns its index.
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
    index: usize,
    range: Range<u64>,
}

impl<'p> Inserter<'p> {
    pub(crate) fn new(population: &'p Population) -> Self {
        Self { population, index: population.join(), range: 0..0 }
    }

    /// Returns a number that no other thread gets.
    pub(crate) fn next(&mut self) -> u64 {
        if let Some(number) = self.range.next() {
            return number;
        }
        let mut state = self.population.lock();
        let holes = state.returned.iter().enumerate();
        let lowest = holes.min_by_key(|(_, range)| range.start).map(|(index, _)| index);
        self.range = if let Some(index) = lowest {
            state.returned.swap_remove(index)
        } else {
            let start = state.next;
            state.next += CHUNK;
            start..state.next
        };
        // The claim keeps its old start until `settle`: the current block has numbers that are
        // taken but not yet inserted.
        let claim = &mut state.claims[self.index];
        let start =
            if claim.is_empty() { self.range.start } else { claim.start.min(self.range.start) };
        *claim = start..self.range.end.max(claim.end);
        self.range.next().unwrap_or(start)
    }

    /// Settles the current block: all numbers taken exist now, except those of the keys
    /// `not_inserted`.
    pub(crate) fn settle(&mut self, not_inserted: impl IntoIterator<Item = u64>) {
        self.settle_in_flight(std::iter::empty(), not_inserted);
    }

    /// Settles inserts: all numbers taken exist now, except those of the keys that are still
    /// `under_way`, and of those `not_inserted`.
    pub(crate) fn settle_in_flight(
        &mut self,
        under_way: impl IntoIterator<Item = u64>,
        not_inserted: impl IntoIterator<Item = u64>,
    ) {
        let population = self.population;
        let mut state = population.lock();
        let numbers = not_inserted.into_iter().map(|key| population.number(key));
        state.returned.extend(numbers.map(|number| number..number + 1));
        // Otherwise a thread that seldom inserts would hide the numbers above its own.
        state.give_back(std::mem::replace(&mut self.range, 0..0));
        let numbers = under_way.into_iter().map(|key| population.number(key));
        let claim = numbers.map(|number| number..number + 1);
        let claim = claim.reduce(|all, range| all.start.min(range.start)..all.end.max(range.end));
        state.claims[self.index] = claim.unwrap_or(0..0);
    }
}

impl State {
    /// Takes back numbers that were given to a thread and not used.
    fn give_back(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        if range.end == self.next {
            self.next = range.start;
        } else {
            self.returned.push(range);
        }
    }
}

impl Drop for Inserter<'_> {
    fn drop(&mut self) {
        let mut state = self.population.lock();
        state.claims[self.index] = 0..0;
        state.give_back(std::mem::replace(&mut self.range, 0..0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_visible_once_all_below_it_exist() {
        let population = Population::new(10, RankId::ALONE);
        let (mut a, mut b) = (Inserter::new(&population), Inserter::new(&population));
        assert_eq!((a.next(), a.next()), (10, 11));
        let from_b = b.next();
        assert_eq!(population.visible(), 10);
        b.settle([]);
        assert_eq!(population.visible(), 10, "a's numbers are still missing");
        a.settle([11]);
        assert_eq!(population.visible(), 11, "11 was not inserted");
        drop((a, b));
        assert_eq!(population.visible(), 11);
        let mut c = Inserter::new(&population);
        let mut numbers: Vec<u64> = (0..130).map(|_| c.next()).collect();
        c.settle([]);
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 130);
        assert!(numbers.contains(&11) && !numbers.contains(&10) && !numbers.contains(&from_b));
    }

    /// Regression test: beside a writer of ten inserts a second, readers of the latest saw nothing
    /// new of a fast writer while the slow one used its 64 numbers up.
    #[test]
    fn a_slow_thread_hides_no_inserts_of_others() {
        let population = Population::new(10, RankId::ALONE);
        let (mut slow, mut fast) = (Inserter::new(&population), Inserter::new(&population));
        slow.next();
        slow.settle([]);
        assert_eq!(population.visible(), 11);
        for _ in 0..10 {
            for _ in 0..100 {
                fast.next();
            }
            fast.settle([]);
        }
        assert_eq!((population.visible(), population.live_records()), (1_011, 1_011));
        // Two threads take numbers at once: the rest of the first chunk is used up next.
        let numbers = [slow.next(), fast.next()];
        slow.settle([]);
        assert_eq!((numbers, population.visible()), ([1_011, 1_075], 1_012));
        fast.settle([]);
        assert_eq!((slow.next(), population.visible()), (1_012, 1_012));
    }

    /// Answers come in any order, and some inserts fail.
    #[test]
    fn what_is_in_flight_is_not_there_yet() {
        let population = Population::new(10, RankId::ALONE);
        let mut inserter = Inserter::new(&population);
        for _ in 0..8 {
            inserter.next();
        }
        inserter.settle_in_flight([12, 15], []);
        assert_eq!(population.visible(), 12);
        inserter.settle_in_flight([15], [12]);
        assert_eq!(population.visible(), 12, "it failed");
        assert_eq!(inserter.next(), 12, "and is tried first");
        inserter.settle_in_flight([15], []);
        assert_eq!(population.visible(), 15);
        inserter.settle_in_flight([], []);
        assert_eq!((population.visible(), population.live_records()), (18, 18));
    }

    #[test]
    fn ranks_of_a_crew_insert_keys_of_their_own() {
        let mut keys = Vec::new();
        for rank in 0..3 {
            let population = Population::new(100, RankId { rank, ranks: 3 });
            assert_eq!((0..100).map(|n| population.key(n)).sum::<u64>(), 4950, "those loaded");
            let mut inserter = Inserter::new(&population);
            let numbers: Vec<u64> = (0..200).map(|_| inserter.next()).collect();
            assert_eq!(numbers, Vec::from_iter(100..300), "numbered as if it were alone");
            let inserted: Vec<u64> = numbers.iter().map(|number| population.key(*number)).collect();
            let back = inserted.iter().map(|key| population.number(*key));
            assert!(back.eq(numbers.iter().copied()));
            inserter.settle([inserted[150]]);
            assert_eq!(population.visible(), 250, "the one that failed is missing");
            keys.extend(inserted);
        }
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 600);
        // There are holes in the last chunks only.
        assert_eq!(keys[..576], Vec::from_iter(100..676)[..]);
    }
}
