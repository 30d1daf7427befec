//! The state that the threads of a phase share, and the state of each of them.

use crate::pause::Pause;
use crate::recorder::Recorder;
use crate::tally::Tally;
use kvdyno_engine::{Error, ErrorClass};
use kvdyno_record::steady::EndRule;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Barrier, Mutex, PoisonError};

/// The task of a team.
pub(crate) struct Task {
    pub(crate) phase: u32,
    pub(crate) name: String,
    pub(crate) duration_ns: Option<u64>,
    /// The rule that ends the task early, once its rates are steady; none: nothing ends it early.
    pub(crate) steady: Option<EndRule>,
    /// The operations of the first role; none: they are not limited.
    pub(crate) operations: Option<u64>,
    /// The number of items until the end, for progress reports; none: the duration decides.
    pub(crate) total: Option<u64>,
    pub(crate) slice_ns: u64,
    /// The length of a turn, after which all threads pause; none: they do not pause.
    pub(crate) turn_ns: Option<u64>,
    pub(crate) errors_max: u64,
    pub(crate) verify: bool,
    /// Whether some numbers may have no key: a phase of the case deletes, or the load drew its
    /// keys.
    pub(crate) gaps: bool,
    /// The directory of the files that requests are recorded in; none: they are not recorded.
    pub(crate) spools: Option<PathBuf>,
}

/// The state that the threads of a phase share. They touch it between blocks, never in an
/// operation.
pub(crate) struct Shared {
    /// The time at which the phase begins; 0: it does not begin.
    pub(crate) start: AtomicU64,
    pub(crate) stopped: AtomicBool,
    /// Whether there are more threads than processors that they may use.
    pub(crate) crowded: bool,
    /// The operations of the first role that are not taken yet; none: they are not limited.
    quota: Option<AtomicU64>,
    /// The number of threads of the first role that may still have operations to do.
    counting: AtomicUsize,
    errors: AtomicU64,
    pub(crate) failure: Mutex<Option<Error>>,
    pub(crate) ready: Barrier,
    pub(crate) pause: Pause,
    /// The number of items done by each thread, as of its last block.
    pub(crate) progress: Vec<Padded>,
}

/// A number alone on its cache lines, so that threads that publish progress share none. It has two
/// lines, because processors fetch them in pairs.
#[repr(align(128))]
pub(crate) struct Padded(pub(crate) AtomicU64);

impl Shared {
    /// The state of `threads` threads, among them the `counting` threads of the first role.
    /// `meeting` threads meet at the barrier: threads that share a system thread count as one.
    pub(crate) fn new(
        (threads, counting): (usize, usize),
        meeting: usize,
        operations: Option<u64>,
    ) -> Self {
        let cpus = std::thread::available_parallelism().map_or(usize::MAX, usize::from);
        Self {
            start: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
            crowded: meeting.saturating_sub(1) > cpus,
            quota: operations.map(AtomicU64::new),
            counting: AtomicUsize::new(counting),
            errors: AtomicU64::new(0),
            failure: Mutex::new(None),
            ready: Barrier::new(meeting),
            pause: Pause::default(),
            progress: (0..threads).map(|_| Padded(AtomicU64::new(0))).collect(),
        }
    }

    pub(crate) fn end(&self) {
        self.stopped.store(true, Relaxed);
        self.pause.end_all();
    }

    /// Ends the phase because of `error`; the first error is kept.
    pub(crate) fn fail(&self, error: Error) {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.end();
    }

    pub(crate) fn is_over(&self) -> bool {
        self.stopped.load(Relaxed)
    }

    /// Returns whether an error ends the phase: some classes do at once, others past the limit.
    #[cold]
    pub(crate) fn judge(&self, error: Error, errors_max: u64) -> bool {
        use ErrorClass::{Corrupt, Full, Invalid, Memory, Unsupported};
        let fatal = matches!(error.class, Corrupt | Full | Invalid | Memory | Unsupported);
        let so_far = self.errors.fetch_add(1, Relaxed) + 1;
        if fatal || errors_max == 0 {
            self.fail(error);
            return true;
        }
        if so_far > errors_max {
            let limit = format!("more than {errors_max} operations failed, the last");
            self.fail(error.context(&limit));
            return true;
        }
        false
    }

    /// Notes that a thread has no more to do. If operations are counted out, the last thread ends
    /// the phase.
    pub(crate) fn leave(&self, role: usize) {
        if self.is_counted(role) && self.counting.fetch_sub(1, Relaxed) == 1 {
            self.end();
        }
    }

    /// Whether the role's operations are counted out beforehand.
    fn is_counted(&self, role: usize) -> bool {
        role == 0 && self.quota.is_some()
    }

    /// Reserves up to `steps` operations for a role. Returns how many were reserved.
    pub(crate) fn reserve(&self, role: usize, steps: usize) -> usize {
        match &self.quota {
            Some(quota) if self.is_counted(role) => {
                let before = quota.fetch_update(Relaxed, Relaxed, |remaining| {
                    (remaining > 0).then(|| remaining.saturating_sub(steps as u64))
                });
                before.map_or(0, |remaining| remaining.min(steps as u64) as usize)
            }
            _ => steps,
        }
    }
}

/// The context of a working thread: its own state, and the state that it shares.
pub(crate) struct ThreadContext<'t, H, C> {
    pub(crate) role: usize,
    pub(crate) thread: usize,
    pub(crate) handle: H,
    pub(crate) clock: C,
    pub(crate) recorder: Recorder,
    /// The pause after each operation; none: there is no pause.
    pub(crate) think_ns: Option<u64>,
    pub(crate) task: &'t Task,
    pub(crate) shared: &'t Shared,
}

impl<H, C> ThreadContext<'_, H, C> {
    /// Publishes the thread's progress: records in a load, otherwise operations.
    pub(crate) fn publish_progress(&self) {
        let loads = self.task.duration_ns.is_none() && self.task.operations.is_none();
        let done = |tally: &Tally| if loads { tally.items() } else { tally.count };
        let done: u64 = self.recorder.tallies.iter().map(done).sum();
        self.shared.progress[self.thread].0.store(done, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_counted_out_are_taken_once() {
        let shared = Shared::new((1, 1), 1, Some(10));
        assert_eq!([4; 4].map(|steps| shared.reserve(0, steps)), [4, 4, 2, 0]);
        assert_eq!(shared.reserve(1, 4), 4, "they are the first role's");
    }

    #[test]
    fn errors_end_a_phase_past_their_limit_or_by_their_class() {
        let error = |class| Error::new(class, "scripted");
        let shared = Shared::new((1, 1), 1, None);
        assert!(!shared.judge(error(ErrorClass::Conflict), 2));
        assert!(!shared.judge(error(ErrorClass::Conflict), 2));
        assert!(shared.judge(error(ErrorClass::Conflict), 2) && shared.is_over());
        let shared = Shared::new((1, 1), 1, None);
        assert!(shared.judge(error(ErrorClass::Corrupt), 2) && shared.is_over());
    }
}
