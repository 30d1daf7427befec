//! A run in one file, to be published and repeated elsewhere: `RUN.tar.zst`.
//!
//! ```text
//! 2026-11-20T10-15-02Z_quick_7f3a/
//!   SHA256SUMS            of every other file: `sha256sum -c SHA256SUMS`
//!   record/               the run's folder, file by file: suite, plan, host evidence, cases
//!   report/               what people read of it: tables.md, and report.html where it was built
//! ```
//!
//! The same record gives the same bytes: names are sorted, times are the run's, owners nobody's.
//! A bundle may come from a stranger: unpacking it writes into one new folder only, and stops at
//! [`Limits`].

mod count;
mod names;
mod pack;
mod unpack;

pub(crate) use names::is_folder_name;
pub(crate) use pack::pack;
pub(crate) use unpack::unpack;

/// What a bundle's file name ends in.
pub(crate) const ENDING: &str = ".tar.zst";

const RECORD: &str = "record";

const SUMS: &str = "SHA256SUMS";

/// What a bundle may hold at most. Far more than a run comes to, far less than fills a disk unseen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) entries: u64,
    /// Bytes when unpacked.
    pub(crate) bytes: u64,
    /// Bytes unpacked for each packed one, past `ratio_from`.
    pub(crate) ratio: u64,
    /// Below this many unpacked bytes any ratio will do.
    pub(crate) ratio_from: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { entries: 100_000, bytes: 8 << 30, ratio: 200, ratio_from: 64 << 20 }
    }
}

#[cfg(test)]
mod tests;
