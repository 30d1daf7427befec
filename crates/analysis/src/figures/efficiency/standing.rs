//! The efficiency of an engine against the bare drive, for tables, findings and answers.

use crate::figures::catalogue as c;
use crate::figures::explain::cause::Cause;
use crate::figures::group::RunRow;
use schemars::JsonSchema;
use serde::Serialize;

/// Trials of a drive vary by this much; a ceiling that an engine exceeds by more is no limit.
pub(super) const ABOVE_PERCENT: f64 = 110.0;

/// I/Os of at most this size are never split; a device may split larger ones.
pub const ONE_IO_BYTES: u64 = 64 << 10;

/// An engine's efficiency against its drive.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Efficiency {
    /// Operations in flight: threads of all roles, times their depth.
    pub in_flight: u32,
    /// The bare drive with as many in flight; null: none is comparable.
    pub ceiling: Option<CeilingCase>,
    /// The most that the bare drive did in this run; null: none is comparable.
    pub drive: Option<CeilingCase>,
    /// Its I/Os per second in percent of the ceiling's, above 110 %: the ceiling was no limit, and
    /// there is no share of it. Null: below that, or nothing to compare.
    pub above_percent: Option<f64>,
    /// Why there is no share; null: there is one, or the run has no ceiling.
    pub why_no_share: Option<String>,
    /// Whether shares are of reads alone, since the ceilings do not cover its writes.
    pub reads_alone: bool,
    /// Device I/Os while the phase ran, reads and writes, per operation of any role.
    pub ios_per_op: Option<f64>,
    /// Whether nearly all operations were served from memory.
    pub cached: bool,
    /// What limits it: the role with the most operations in flight, preferably one without a target
    /// rate. Null: unknown.
    pub limit: Option<Cause>,
    /// Why the limit is unknown.
    pub why_no_limit: Option<String>,
}

impl RunRow {
    /// The widest range of its share of the ceiling that the ranges of both allow, in percent: each
    /// share is of the ceiling's median.
    pub fn ceiling_share_range(&self) -> Option<(f64, f64)> {
        let (low, high) = self.metrics.get(&c::CEILING_SHARE)?.range()?;
        let CeilingCase { ios_per_s, ios_per_s_low, ios_per_s_high, .. } =
            self.efficiency.as_ref()?.ceiling.as_ref()?;
        Some((low * ios_per_s / ios_per_s_high, high * ios_per_s / ios_per_s_low))
    }
}

/// A case of the bare drive that serves as a limit.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CeilingCase {
    /// Its label: the job.
    pub job: String,
    /// The suite's name of its volume; null: it has none.
    pub volume: Option<String>,
    /// The calls that made its I/Os: `psync`, `mmap`, `io_uring`.
    pub method: String,
    /// Whether each of its threads waited for its I/O.
    pub blocking: bool,
    /// Bytes of one I/O.
    pub block_bytes: u64,
    /// I/Os in flight.
    pub in_flight: u32,
    /// Share of reads among its I/Os.
    pub reads_share: f64,
    /// Device I/Os per second; reads, where shares are of reads alone.
    pub ios_per_s: f64,
    /// Lower end of the range of that rate over its trials.
    pub ios_per_s_low: f64,
    /// Upper end of the range of that rate over its trials.
    pub ios_per_s_high: f64,
    /// The number of its trials.
    pub n: usize,
}

impl CeilingCase {
    /// `psync 4k x 2`, as fio writes sizes.
    pub fn name(&self) -> String {
        let method = if self.method.is_empty() { &self.job } else { &self.method };
        let block = match self.block_bytes {
            bytes if bytes % 1024 == 0 => format!("{}k", bytes / 1024),
            bytes => bytes.to_string(),
        };
        format!("{method} {block} x {}", self.in_flight)
    }

    /// A rate in percent of its rate.
    pub(super) fn percent(&self, ios_per_s: f64) -> f64 {
        100.0 * ios_per_s / self.ios_per_s
    }
}
