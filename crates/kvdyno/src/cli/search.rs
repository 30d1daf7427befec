//! `kvdyno size` and `kvdyno capacity`.

use super::{KeepArgs, LocationArgs, SuiteName};
use clap::{Args, ValueHint};
use kvdyno_analysis::answers::search::Target;
use std::path::PathBuf;

/// Parses a typed target, before anything is measured.
pub(super) fn parse_target(text: &str) -> Result<Target, String> {
    Target::parse(text).map_err(|error| format!("{error}\n  {}", error.hint))
}

/// Options of both searches.
#[derive(Clone, Debug, Args)]
pub(crate) struct SearchArgs {
    /// The suite to run: built-in, or the path of a TOML file
    #[arg(
        default_value = "sizing",
        value_parser = SuiteName,
        hide_possible_values = true,
        value_hint = ValueHint::FilePath
    )]
    pub(crate) suite: String,
    /// The engine, by its label or name
    #[arg(long, value_name = "NAME")]
    pub(crate) engine: String,
    /// The condition for every trial, e.g. 'p99 < 1ms and reads > 50k/s'
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: String,
    /// The range to search, e.g. 256MiB..4GiB or 1k..100k [default: size: chosen for the data;
    /// capacity: from 1/64 of the measured highest rate up to it]
    #[arg(long, value_name = "LOW..HIGH")]
    pub(crate) between: Option<String>,
    /// The tolerance of the result, as a share of the value
    #[arg(long, value_name = "SHARE", default_value = "10%")]
    pub(crate) within: String,
    /// Number of trials of each point
    #[arg(long, value_name = "N", default_value_t = 3,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) trials: u32,
    /// Duration of the phase that is judged, the last measured one, e.g. 30s
    #[arg(long, value_name = "TIME")]
    pub(crate) duration: Option<String>,
    /// Start no further point that would end after this time, e.g. 30m
    #[arg(long, value_name = "TIME")]
    pub(crate) budget: Option<String>,
    /// Threads of roles with `threads = "sweep"`; the suite's highest number by default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) threads: Option<u32>,
    /// Change one value of the suite, as `data.records=8M`; may be repeated
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
    #[command(flatten)]
    pub(crate) location: LocationArgs,
    /// A block device of the suite's volumes whose data may be destroyed, by its full path; may be
    /// repeated
    #[arg(long, value_name = "DEVICE", require_equals = true)]
    pub(crate) destroy_data_on: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) keep: KeepArgs,
    /// Show what would be done and how long it takes, without running it
    #[arg(long)]
    pub(crate) plan: bool,
    /// Print the result with its curve as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Help of `kvdyno size`, which has no options of its own.
pub(super) const SIZE: &str = "\
Examples:
  kvdyno size --engine lmdb --target 'reads>50k/s'
  kvdyno size --engine rocksdb --target 'p99<1ms' --set data.size=20GiB --data-dir /mnt/nvme
  kvdyno size mine.toml --engine lmdb --target 'readers.p99.9<5ms' --between 1GiB..64GiB --plan
  kvdyno size --engine lmdb --target 'reads>50k/s' --trials 10 --within 5% --budget 1h --json

A target is one condition or several joined by `and`, in quotes: 'p99 < 1ms and reads > 50k/s'.
  latencies, below a time   p50 to p99.999, mean, max; of one role readers.p99, of one operation
                            get.p99, of both readers.get.p99. The worst of all roles counts.
                            Response times if a role has a rate (an open loop), otherwise service
                            times of calls.
  rates, above a number     reads, writes, ops; readers.ops, or readers.get for one operation
  hits, above a share       'hits > 99%': operations for which the drive was not read

A point (a RAM limit) meets the target if every trial does; an engine that does not fit its limit
does not. The search tries the most RAM first, then the least, then the middle of the remaining
range, until the bounds of the edge are within --within. If trials disagree, the result is an
interval. If databases are shared, one load under the most RAM serves all points. All points are
cases of one run: `kvdyno show` repeats the result later, `kvdyno report` draws it, `kvdyno resume`
continues after Ctrl-C.

Exit codes: 0 an answer, also that the most RAM misses the target; 3 an engine failed; 4 not
decided, or invalid figures; 130 interrupted.";

#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  kvdyno capacity --engine lmdb --target 'p99<1ms'
  kvdyno capacity --engine rocksdb --target 'p99.9<5ms' --set ram.data_to_ram=4
  kvdyno capacity mine.toml --engine lmdb --target 'p99<2ms' --role readers --between 1k..200k

The role runs in an open loop: operations are due at random times (Poisson, or fixed if the suite
sets it), even if the engine does not keep up. A latency counts from the time at which its operation
was due. A point (a rate) meets the target if every trial does. It fails if the role falls behind:
if more than one in a hundred due operations was not started at the end. Conditions on the rate of
that role are refused: the search varies it.

Without --between the role is first measured as fast as it goes, and rates from a 64th of that up to
it are searched: the lowest first, then the highest, then the middle of the remaining range. Targets
and everything else work as in `kvdyno size` (see its --help).")]
pub(crate) struct CapacityArgs {
    #[command(flatten)]
    pub(crate) search: SearchArgs,
    /// The role whose rate is searched; by default the first of the last measured phase
    #[arg(long, value_name = "NAME")]
    pub(crate) role: Option<String>,
}
