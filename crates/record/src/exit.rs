//! The result of a run, as the program's exit code.
//!
//! The codes are part of the interface: scripts and CI rely on them, and `kvdyno --help` and the
//! README quote this table.

use std::process::ExitCode;

/// Exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// All is well.
    Ok = 0,
    /// An error of the program itself: a file that cannot be read or written, a damaged record.
    Failure = 1,
    /// An invalid command line or suite.
    Usage = 2,
    /// An engine failed, ran out of time, or no case was done; the other cases are kept.
    EngineFailed = 3,
    /// The run came to its end, but findings make the figures invalid, or a gate of `compare` has
    /// too few data.
    Invalid = 4,
    /// A figure regressed past the gate, or an engine misses its target.
    Regression = 5,
    /// Ctrl-C; finished work is kept.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
