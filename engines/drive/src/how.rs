//! The setup in effect, and why it differs from the requested one.

use std::fmt;

/// The setup in effect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is an independent fact, as data")]
pub struct How {
    /// `io_uring` carries the operations; else `pread` and `pwrite`, one at a time.
    pub io_uring: bool,
    /// Files are registered with the ring.
    pub registered_files: bool,
    /// Buffers are registered with the ring.
    pub registered_buffers: bool,
    /// A thread of the kernel takes operations on.
    pub sqpoll: bool,
    /// Completions are polled for at the device.
    pub iopoll: bool,
    /// Flags of the ring without an option: the best of this kernel. Empty: none.
    pub flags: &'static str,
    /// Why requested settings are not in effect, one sentence each.
    pub why_not: Vec<String>,
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.io_uring { "io_uring" } else { "psync" })?;
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
