//! The state of a thread from block to block: its tallies, its position in time, and the times of
//! the current block.

use crate::tally::{Tally, TimeLine};
use kvdyno_trace::Spool;

/// The state of a thread from block to block.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) tallies: Vec<Tally>,
    pub(crate) time: TimeLine,
    /// The next moment to look up from the work.
    pub(crate) edge: u64,
    /// The end of the last operation.
    pub(crate) last_end: u64,
    /// How long each step of the block took, in ticks.
    pub(crate) ticks: Vec<u64>,
    /// Open loop: how long after its scheduled time each step was begun, in nanoseconds.
    pub(crate) late_ns: Vec<u64>,
    /// Open loop: prepared, due before the end, and not begun.
    pub(crate) not_begun: u64,
    /// Open loop: what the load generator itself took while an operation was due.
    pub(crate) own_ns: u64,
    /// How long it has waited between turns.
    pub(crate) paused_ns: u64,
    /// How long it has waited for a CPU meanwhile.
    pub(crate) paused_runqueue_ns: u64,
    /// Where its requests are recorded.
    pub(crate) requests: Option<Spool>,
}

impl Recorder {
    /// A thread's at `start`.
    pub(crate) fn new(tallies: Vec<Tally>, time: TimeLine, start: u64) -> Self {
        Self {
            tallies,
            edge: time.edge(),
            time,
            last_end: start,
            ticks: Vec::new(),
            late_ns: Vec::new(),
            not_begun: 0,
            own_ns: 0,
            paused_ns: 0,
            paused_runqueue_ns: 0,
            requests: None,
        }
    }
}
