//! The messages between the recorder and the process that serves its drives, and the names of the
//! mount's files.

use crate::state::State;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A request, one JSON line.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    /// First: mounts drives.
    Mount { at: PathBuf, drives: Origin },
    /// Takes this directory of mount points away at the end, however the other side ends.
    Bury { dir: PathBuf },
    /// What the drives hold now is what they held at first.
    Begin,
    /// What has happened since.
    Look,
    /// Shows a state, under this number.
    Serve { serial: u64, state: State },
    /// Forgets what was shown under a number.
    Forget { serial: u64 },
    /// From now on once.
    Fail(Fault),
    /// Writes so many entries of the recording down.
    Save { to: PathBuf, entries: usize },
    /// Writes down what is shown under a number.
    Keep { serial: u64, to: PathBuf },
}

/// Where drives come from.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Origin {
    /// Blank ones of these lengths.
    Blank(Vec<u64>),
    /// Those of a recording that was saved.
    Saved(PathBuf),
}

/// The answer to each.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    Done,
    Seen(Seen),
    Failed(String),
}

/// The history, without the bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Entries so far.
    pub entries: usize,
    /// Acknowledgements, each with its place among the entries.
    pub acknowledged: Vec<(usize, [u64; 2])>,
    /// Writes.
    pub writes: u64,
    /// Flushes.
    pub flushes: u64,
    /// Bytes written.
    pub bytes: u64,
    /// The index of the requested fault.
    pub fault: Option<usize>,
}

/// A drive that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fault {
    /// One flush fails with EIO, after so many.
    FlushFails(u64),
    /// Writes fail with ENOSPC, so many, after so many.
    Full(u64, u64),
    /// A write is answered after so many milliseconds, after so many.
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

/// Numbers of files: the root, the acknowledgements, the drives, and those of each state.
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
