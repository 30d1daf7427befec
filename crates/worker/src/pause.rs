//! The end of a turn: all threads of a phase wait until the next turn begins. Each thread leaves
//! the time that it waited out of its own time.

use crate::clock::Clock;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The barrier at which the threads of a phase wait between turns.
#[derive(Debug, Default)]
pub(crate) struct Pause {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The number of threads that have ended their turn.
    waiting: usize,
    /// The number of turns that are over for all.
    turns: u64,
    /// Whether the phase is over: no thread waits any more.
    over: bool,
}

impl Pause {
    /// Waits until the next turn begins. `arrived` is called once this thread counts as waiting.
    /// Takes the time of the wait off the clock, and returns it.
    pub(crate) fn wait<C: Clock>(&self, clock: &mut C, arrived: impl FnOnce()) -> u64 {
        // Read before others can see that this thread waits: then its process may be stopped.
        let since = clock.now();
        let turn = {
            let mut state = self.lock();
            state.waiting += 1;
            state.turns
        };
        arrived();
        let mut state = self.lock();
        while state.turns == turn && !state.over {
            state = self.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        let paused_ns = clock.now() - since;
        clock.skip(paused_ns);
        paused_ns
    }

    /// Whether all of the `threads` that still work are waiting.
    pub(crate) fn has_all(&self, threads: usize) -> bool {
        let waiting = self.lock().waiting;
        waiting > 0 && waiting >= threads
    }

    /// Begins the next turn.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        state.turns += 1;
        state.waiting = 0;
        self.ended.notify_all();
    }

    /// Ends all waits: the phase is over.
    pub(crate) fn end_all(&self) {
        self.lock().over = true;
        self.ended.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
