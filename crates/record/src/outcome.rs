//! How a case ended, and whether a resumed run does it again.

use kvdyno_engine::ErrorClass;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Signals that a process does not bring upon itself: SIGHUP, SIGINT, SIGQUIT, SIGKILL, SIGTERM.
const SENT_FROM_OUTSIDE: [i32; 5] = [1, 2, 3, 9, 15];

/// Whether a process that died of this signal was sent it from outside, and did not cause it.
pub fn is_from_outside(signal: i32) -> bool {
    SENT_FROM_OUTSIDE.contains(&signal)
}

/// How a case ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum Outcome {
    /// All phases ran, and every check passed.
    Done,
    /// The engine does not fit its RAM limit: killed for it, or by its own report.
    DoesNotFit {
        /// How that is known.
        message: String,
    },
    /// The volume is full.
    DiskFull {
        /// In the engine's words.
        message: String,
    },
    /// The case took longer than its budget.
    OutOfTime {
        /// The phase it was in.
        message: String,
    },
    /// The worker, its server or the server's supervisor died of a signal that we did not send.
    Killed {
        /// The signal's number.
        signal: i32,
        /// The phase it was in, and which process died, if not the worker.
        message: String,
    },
    /// The engine failed, or lost data.
    Failed {
        /// The class of the error.
        class: ErrorClass,
        /// In the engine's or the load generator's words.
        message: String,
    },
    /// Nothing was started: no worker, wrong protocol, a database that could not be loaded.
    NotRun {
        /// Why, and what would help.
        message: String,
    },
    /// Ctrl-C.
    Interrupted {
        /// The phase it was in.
        message: String,
    },
}

impl Outcome {
    /// Returns the outcome in the words of a table cell.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::DoesNotFit { .. } => "does not fit",
            Self::DiskFull { .. } => "disk full",
            Self::OutOfTime { .. } => "out of time",
            Self::Killed { .. } => "killed",
            Self::Failed { .. } => "failed",
            Self::NotRun { .. } => "not run",
            Self::Interrupted { .. } => "interrupted",
        }
    }

    /// Returns the outcome's message.
    pub fn message(&self) -> Option<&str> {
        match self {
            Self::Done => None,
            Self::DoesNotFit { message }
            | Self::DiskFull { message }
            | Self::OutOfTime { message }
            | Self::Killed { message, .. }
            | Self::Failed { message, .. }
            | Self::NotRun { message }
            | Self::Interrupted { message } => Some(message),
        }
    }

    /// Whether a resumed run leaves this case as it is, because the engine would end it the same
    /// way. It repeats cases that were interrupted, not run, killed by a user, or failed by their
    /// volume. An engine that crashed (SIGSEGV, SIGABRT, SIGBUS, SIGILL, SIGFPE) would crash again.
    pub fn is_final(&self) -> bool {
        match self {
            Self::Interrupted { .. } | Self::NotRun { .. } => false,
            _ if self.is_volume_failure() => false,
            Self::Killed { signal, .. } => !is_from_outside(*signal),
            _ => true,
        }
    }

    /// Whether the volume failed, not the engine: it is full, read-only, or returns errors (ENOSPC,
    /// EROFS, EIO). It may be repaired by the next try.
    pub fn is_volume_failure(&self) -> bool {
        match self {
            Self::DiskFull { .. } => true,
            Self::Failed { class, .. } => *class == ErrorClass::Io,
            _ => false,
        }
    }

    /// Whether the case failed, and would fail again.
    pub fn is_hopeless(&self) -> bool {
        self.is_final() && *self != Self::Done
    }
}
