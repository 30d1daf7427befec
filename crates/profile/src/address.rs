//! Addresses of code, independent of where a process has its files in memory.

/// Where a thread was, or where it will return to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum CodeAddress {
    /// In the kernel.
    Kernel(u64),
    /// In a file: which of the [`crate::memory::Files`], and the offset in it.
    File(u32, u64),
    /// In the code that the kernel maps into processes: the offset from its beginning.
    Vdso(u64),
    /// In memory that no file is mapped to: code that was made at run time.
    Unknown,
    /// The callers are unknown: the stack was not unwound to its thread's start.
    Cut,
}

/// A stack, innermost call first.
pub(crate) type Stack = Vec<CodeAddress>;
