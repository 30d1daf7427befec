//! Where an engine stands against the bare drive: what tables, findings and answers are told.

use crate::explain::cause::Cause;
use schemars::JsonSchema;
use serde::Serialize;

/// Trials of a drive lie this far apart; what an engine passes by more was not its limit.
pub(super) const ABOVE_PERCENT: f64 = 110.0;

/// I/Os of at most this size are one each on any device; larger ones may be cut up.
pub const ONE_IO_BYTES: u64 = 64 << 10;

/// Where an engine stands against its drive.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Efficiency {
    /// Operations in flight: threads of all roles, times their depth.
    pub in_flight: u32,
    /// The bare drive with as many in flight; null: none that could be compared.
    pub ceiling: Option<BaselineCase>,
    /// The most that the bare drive did in this run; null: none that could be compared.
    pub drive: Option<BaselineCase>,
    /// Its I/Os a second in percent of the ceiling's, past 110 %: it was no limit, and no share of
    /// it is told. Null: it did not pass it, or nothing could be compared.
    pub above_percent: Option<f64>,
    /// Why there is no share; null: there is one, or no ceiling was asked for.
    pub why_no_share: Option<String>,
    /// Shares are of reads alone: the ceilings do not cover its writes.
    pub reads_alone: bool,
    /// Device I/Os while the phase ran, reads and writes, for each operation of any role.
    pub ios_per_op: Option<f64>,
    /// Nearly all operations were served from memory.
    pub cached: bool,
    /// What limits it: the role with the most operations in flight, of those without a target rate
    /// where there are any. Null: not known.
    pub limit: Option<Cause>,
    /// Why the limit is not known.
    pub why_no_limit: Option<String>,
}

/// A case of the bare drive, as a limit.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct BaselineCase {
    /// Its label: the job.
    pub job: String,
    /// The suite's name of the volume that it was taken on; null: it names none.
    pub volume: Option<String>,
    /// The calls it was made by: `psync`, `mmap`, `io_uring`.
    pub method: String,
    /// Each of its threads waited for its I/O.
    pub blocking: bool,
    /// Bytes of one I/O.
    pub block_bytes: u64,
    /// I/Os in flight.
    pub in_flight: u32,
    /// Share of reads among its I/Os.
    pub reads_share: f64,
    /// Device I/Os a second; reads, where shares are of reads alone.
    pub ios_per_s: f64,
    /// The range of that over its trials.
    pub ios_per_s_low: f64,
    /// The range of that over its trials.
    pub ios_per_s_high: f64,
    /// Trials behind that.
    pub n: usize,
}

impl BaselineCase {
    /// `psync 4k x 2`, as fio writes sizes.
    pub fn name(&self) -> String {
        let method = if self.method.is_empty() { &self.job } else { &self.method };
        let block = match self.block_bytes {
            bytes if bytes % 1024 == 0 => format!("{}k", bytes / 1024),
            bytes => bytes.to_string(),
        };
        format!("{method} {block} x {}", self.in_flight)
    }

    /// A rate in percent of its own.
    pub(super) fn percent(&self, ios_per_s: f64) -> f64 {
        100.0 * ios_per_s / self.ios_per_s
    }
}
