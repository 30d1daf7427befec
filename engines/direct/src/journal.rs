//! The use of the journal's slots. A slot holds the image of one block, as it is about to be
//! written in place; the images themselves are written by the pipeline and read by recovery.
//!
//! Slots are used strictly one after the other, round and round. So the newer of two images of one
//! block is never overwritten while the older one is still there.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The journal of a store. All members of a mirror use the same slots.
#[derive(Debug)]
pub(crate) struct Journal {
    slots: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Number of the oldest entry that is still needed.
    oldest: u64,
    /// For each entry from there on, whether its block is in place.
    placed: VecDeque<bool>,
}

/// The entries below this one, which a flush that begins now will have made durable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cover(u64);

impl Journal {
    pub(crate) fn new(slots: u32) -> Self {
        let placed = VecDeque::with_capacity(slots as usize);
        Self { slots: slots.into(), state: Mutex::new(State { oldest: 0, placed }) }
    }

    /// Reserves the next entry; `None`: all are still needed.
    pub(crate) fn reserve(&self) -> Option<u64> {
        let mut state = self.state();
        let used = state.placed.len() as u64;
        (used < self.slots).then(|| {
            state.placed.push_back(false);
            state.oldest + used
        })
    }

    /// The slot of an entry.
    pub(crate) fn slot(&self, entry: u64) -> u64 {
        entry % self.slots
    }

    /// Marks that the entry's block was written in place, or will not be.
    pub(crate) fn mark_placed(&self, entry: u64) {
        let mut state = self.state();
        let position = (entry - state.oldest) as usize;
        state.placed[position] = true;
    }

    /// Returns the entries that a flush covers; called before the flush begins.
    pub(crate) fn cover(&self) -> Cover {
        let state = self.state();
        let placed = state.placed.iter().take_while(|placed| **placed).count() as u64;
        Cover(state.oldest + placed)
    }

    /// Returns whether a flush that begins now would free entries.
    pub(crate) fn can_free(&self) -> bool {
        self.state().placed.front() == Some(&true)
    }

    /// Frees the entries that a flush covered; called after the flush succeeded: their blocks are
    /// durable in place.
    pub(crate) fn release(&self, cover: Cover) {
        let mut state = self.state();
        while state.oldest < cover.0 {
            state.placed.pop_front();
            state.oldest += 1;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_come_back_in_order_and_after_a_flush_only() {
        let journal = Journal::new(3);
        let slots: Vec<_> = std::iter::from_fn(|| journal.reserve()).collect();
        assert_eq!(slots, [0, 1, 2]);
        journal.mark_placed(1);
        journal.mark_placed(2);
        journal.release(journal.cover());
        assert_eq!(journal.reserve(), None, "the oldest is not in place");
        assert!(!journal.can_free());
        let before = journal.cover();
        journal.mark_placed(0);
        journal.release(before);
        assert_eq!(journal.reserve(), None, "it was placed after the flush began");
        assert!(journal.can_free());
        journal.release(journal.cover());
        assert_eq!(journal.reserve(), Some(3));
        assert_eq!(journal.slot(3), 0);
    }

    #[test]
    fn two_flushes_may_overlap() {
        let journal = Journal::new(2);
        assert_eq!((journal.reserve(), journal.reserve()), (Some(0), Some(1)));
        journal.mark_placed(0);
        let first = journal.cover();
        journal.mark_placed(1);
        let second = journal.cover();
        journal.release(second);
        journal.release(first);
        assert_eq!((journal.reserve(), journal.reserve()), (Some(2), Some(3)));
    }
}
