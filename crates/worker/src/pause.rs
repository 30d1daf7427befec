//! The end of a turn: all threads of a phase wait until the next one begins. Each leaves the time
//! that it waited out of its own.

use crate::clock::Clock;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Where the threads of a phase wait between turns.
#[derive(Debug, Default)]
pub(crate) struct Pause {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Threads that have ended their turn.
    waiting: usize,
    /// Turns that are over for all.
    turns: u64,
    /// Nobody waits any more: the phase is over.
    over: bool,
}

impl Pause {
    /// Waits until the turn is over for all; `arrived` is called once this thread is waited for no
    /// more. Takes that time off the clock, and returns it.
    pub(crate) fn wait<C: Clock>(&self, clock: &mut C, arrived: impl FnOnce()) -> u64 {
        // Before anybody can know that it waits: from then on its process may be stopped.
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

    /// Whether so many threads wait, which are all that still work.
    pub(crate) fn has_all(&self, threads: usize) -> bool {
        let waiting = self.lock().waiting;
        waiting > 0 && waiting >= threads
    }

    /// The next turn begins.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        state.turns += 1;
        state.waiting = 0;
        self.ended.notify_all();
    }

    /// The phase is over: nobody waits any more.
    pub(crate) fn end_all(&self) {
        self.lock().over = true;
        self.ended.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
