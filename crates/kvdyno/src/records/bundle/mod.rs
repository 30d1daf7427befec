//! A run in one file, for publishing and repeating: `RUN.tar.zst`.
//!
//! ```text
//! 2026-11-20T10-15-02Z_quick_7f3a/
//!   README.md             what this is, and how to check and repeat it
//!   SHA256SUMS            of every other file: `sha256sum -c SHA256SUMS`
//!   record/               the run's directory, file by file: suite, plan, host evidence, cases
//!   report/               what people read of it: tables.md, and report.html where it was built
//! ```
//!
//! The same record gives the same bytes: names are sorted, times are the run's, and there are no
//! owners. A bundle may come from a stranger: unpacking writes only into one new directory, and
//! stops at [`Limits`].

mod count;
mod names;
mod pack;
mod unpack;

pub(crate) use names::is_dir_name;
pub(crate) use pack::pack;
pub(crate) use unpack::unpack;

/// The suffix of a bundle's file name.
pub(crate) const ENDING: &str = ".tar.zst";

const RECORD: &str = "record";

const SUMS: &str = "SHA256SUMS";

/// Upper bounds of a bundle: far more than a run needs, far less than would fill a disk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) entries: u64,
    /// Unpacked bytes.
    pub(crate) bytes: u64,
    /// Unpacked bytes per packed byte, beyond `ratio_from`.
    pub(crate) ratio: u64,
    /// Below this many unpacked bytes, any ratio is accepted.
    pub(crate) ratio_from: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { entries: 100_000, bytes: 8 << 30, ratio: 200, ratio_from: 64 << 20 }
    }
}

#[cfg(test)]
mod tests;
