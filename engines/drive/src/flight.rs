//! The setup of a ring, and the kinds of its operations.

/// The requested setup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// The number of buffers, and so the most operations in flight.
    pub depth: u32,
    /// Length of each buffer. Each begins on a page of memory.
    pub block_bytes: usize,
    /// Register files and buffers.
    pub registered: bool,
    /// A thread of the kernel takes the operations on.
    pub sqpoll: bool,
    /// Completions are polled for at the device.
    pub iopoll: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Self { depth: 1, block_bytes: 4096, registered: true, sqpoll: false, iopoll: false }
    }
}

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    Write,
    DurableWrite,
    Flush,
}

/// An operation on the buffer of its slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flight {
    pub(crate) kind: Kind,
    pub(crate) file: usize,
    pub(crate) offset: u64,
    pub(crate) bytes: usize,
}
