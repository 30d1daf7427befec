//! The messages between the recorder and the process that serves its drives, and the names of the
//! mount's files.

use crate::state::State;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A request, one JSON line.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    /// Mounts drives: the first request.
    Mount { at: PathBuf, drives: Origin },
    /// Removes this directory of mount points at the end, however the other side ends.
    Bury { dir: PathBuf },
    /// Begins a new recording, with the current contents of the drives.
    Begin,
    /// Asks for the history since the recording began.
    Look,
    /// Serves a state, under this number.
    Serve { serial: u64, state: State },
    /// Forgets the state that is served under a number.
    Forget { serial: u64 },
    /// Makes the drives fail once, from now on.
    Fail(Fault),
    /// Saves this many entries of the recording.
    Save { to: PathBuf, entries: usize },
    /// Saves the contents of the state that is served under a number.
    Keep { serial: u64, to: PathBuf },
}

/// The origin of drives.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Origin {
    /// Blank ones of these lengths.
    Blank(Vec<u64>),
    /// Those of a recording that was saved.
    Saved(PathBuf),
}

/// The answer to a request.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    Done,
    Seen(Seen),
    Failed(String),
}

/// The history, without the bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// The number of entries so far.
    pub entries: usize,
    /// Acknowledgements, each with its place among the entries.
    pub acknowledged: Vec<(usize, [u64; 2])>,
    /// The number of writes.
    pub writes: u64,
    /// The number of flushes.
    pub flushes: u64,
    /// The number of bytes written.
    pub bytes: u64,
    /// The place of the requested fault among the entries; null: it has not come.
    pub fault: Option<usize>,
}

/// A drive that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fault {
    /// After this many flushes, one fails with EIO.
    FlushFails(u64),
    /// After the first number of writes, the second number of them fail with ENOSPC.
    Full(u64, u64),
    /// After the first number of writes, one is answered after the second number of milliseconds.
    Pause(u64, u64),
}

/// The file, next to the drives, for acknowledgements.
pub(crate) const ACKNOWLEDGEMENTS: &str = "acknowledgements";

/// The name of a drive.
pub(crate) fn drive_name(drive: usize) -> String {
    format!("drive{drive}")
}

/// The name of a drive of a state.
pub(crate) fn state_name(serial: u64, drive: usize) -> String {
    format!("state{serial}-{drive}")
}

/// A file of the mount.
#[derive(Clone, Copy)]
pub(crate) enum FileRef {
    Root,
    Acknowledgements,
    Drive(usize),
    State(u64, usize),
}

/// The inode numbers that each group of files has: first the root, the acknowledgements and the
/// drives, then the drives of each state.
const STRIDE: u64 = 1 << 10;

impl FileRef {
    pub(crate) fn from_inode(inode: u64) -> Self {
        match inode {
            1 => Self::Root,
            2 => Self::Acknowledgements,
            number if number < STRIDE => Self::Drive(number as usize - 3),
            number => Self::State(number / STRIDE - 1, (number % STRIDE) as usize),
        }
    }

    pub(crate) fn inode(self) -> u64 {
        match self {
            Self::Root => 1,
            Self::Acknowledgements => 2,
            Self::Drive(drive) => drive as u64 + 3,
            Self::State(serial, drive) => (serial + 1) * STRIDE + drive as u64,
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        if name == ACKNOWLEDGEMENTS {
            return Some(Self::Acknowledgements);
        }
        if let Some(drive) = name.strip_prefix("drive") {
            return Some(Self::Drive(drive.parse().ok()?));
        }
        let (serial, drive) = name.strip_prefix("state")?.split_once('-')?;
        Some(Self::State(serial.parse().ok()?, drive.parse().ok()?))
    }
}
