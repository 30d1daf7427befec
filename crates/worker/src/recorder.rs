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
    /// The time that each step of the block took, in ticks.
    pub(crate) ticks: Vec<u64>,
    /// The delay of each step after its scheduled time, in nanoseconds; open loop only.
    pub(crate) late_ns: Vec<u64>,
    /// The steps that were prepared and due before the end, but not begun; open loop only.
    pub(crate) not_begun: u64,
    /// The time that the load generator itself took while an operation was due; open loop only.
    pub(crate) own_ns: u64,
    /// The time that the thread has waited between turns.
    pub(crate) paused_ns: u64,
    /// The time that the thread has waited for a CPU between turns.
    pub(crate) paused_runqueue_ns: u64,
    /// The file that the thread's requests are recorded in; none: they are not recorded.
    pub(crate) requests: Option<Spool>,
}

impl Recorder {
    /// The state of a thread at `start`.
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
