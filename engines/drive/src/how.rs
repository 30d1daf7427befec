//! What really runs, and why not what was asked for.

use std::fmt;

/// Which calls carry the operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Io {
    /// `io_uring`.
    IoUring,
    /// `pread` and `pwrite`, one operation at a time.
    Psync,
}

impl Io {
    /// As written in a suite.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::IoUring => "io_uring",
            Self::Psync => "psync",
        }
    }
}

/// What really runs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is an independent fact, as data")]
pub struct How {
    /// Which calls carry the operations.
    pub io: Io,
    /// Files are registered with the ring.
    pub registered_files: bool,
    /// Buffers are registered with the ring.
    pub registered_buffers: bool,
    /// A thread of the kernel takes operations on.
    pub sqpoll: bool,
    /// Completions are polled for at the device.
    pub iopoll: bool,
    /// Flags of the ring that nobody asks for: the best this kernel has. Empty: none.
    pub flags: &'static str,
    /// Why something that was asked for is not so, a sentence each.
    pub why_not: Vec<String>,
}

impl How {
    pub(crate) fn psync() -> Self {
        Self {
            io: Io::Psync,
            registered_files: false,
            registered_buffers: false,
            sqpoll: false,
            iopoll: false,
            flags: "",
            why_not: Vec::new(),
        }
    }
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.io.as_str())?;
        let parts = [
            (self.registered_files, "registered files"),
            (self.registered_buffers, "registered buffers"),
            (self.sqpoll, "SQPOLL"),
            (self.iopoll, "IOPOLL"),
            (!self.flags.is_empty(), self.flags),
        ];
        for (_, part) in parts.iter().filter(|(is, _)| *is) {
            write!(f, ", {part}")?;
        }
        self.why_not.iter().try_for_each(|why| write!(f, "; {why}"))
    }
}
