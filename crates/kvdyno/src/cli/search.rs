//! `kvdyno size` and `kvdyno capacity`.

use super::{KeepArgs, LocationArgs, SuiteName};
use clap::{Args, ValueHint};
use std::path::PathBuf;

/// What both searches are told.
#[derive(Clone, Debug, Args)]
pub(crate) struct SearchArgs {
    /// The suite whose work is done: built-in, or the path of a TOML file
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
    /// What must hold in every trial, as 'p99 < 1ms and reads > 50k/s'
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: String,
    /// The values searched, as 256MiB..4GiB or 1k..100k; chosen from the data by default
    #[arg(long, value_name = "LOW..HIGH")]
    pub(crate) between: Option<String>,
    /// How close is close enough, as a share of the value
    #[arg(long, value_name = "SHARE", default_value = "10%")]
    pub(crate) within: String,
    /// How often each point is measured
    #[arg(long, value_name = "N", default_value_t = 3,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) trials: u32,
    /// Begin no further point that would end after this time, as 30m
    #[arg(long, value_name = "TIME")]
    pub(crate) budget: Option<String>,
    /// How many threads its roles with `threads = "sweep"` have; the suite's most by default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) threads: Option<u32>,
    /// Change one value of the suite, as `data.records=8M`; may be repeated
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
    #[command(flatten)]
    pub(crate) at: LocationArgs,
    /// A block device of the suite's volumes whose data is lost, in full; may be repeated
    #[arg(long, value_name = "DEVICE", require_equals = true)]
    pub(crate) destroy_data_on: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) keep: KeepArgs,
    /// Say what would be searched and how long that would take, and do nothing
    #[arg(long)]
    pub(crate) plan: bool,
    /// The answer with its curve as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Help of `kvdyno size`, which takes no more than this.
pub(super) const SIZE: &str = "\
Examples:
  kvdyno size --engine lmdb --target 'reads>50k/s'
  kvdyno size --engine rocksdb --target 'p99<1ms' --set data.size=20GiB --place /mnt/nvme
  kvdyno size mine.toml --engine lmdb --target 'readers.p99.9<5ms' --between 1GiB..64GiB --plan
  kvdyno size --engine lmdb --target 'reads>50k/s' --trials 10 --within 5% --budget 1h --json

A target is one condition or several joined by `and`, in quotes: 'p99 < 1ms and reads > 50k/s'.
  latencies, below a time   p50 to p99.999, mean, max; of one role readers.p99, of one operation
                            get.p99, of both readers.get.p99. Of all roles: the worst one counts.
                            Response times where a role has a rate (an open loop), service times
                            of calls where it has none.
  rates, above a number     reads, writes, ops; readers.ops, or readers.get for one operation

A point (a RAM limit) meets the target when every trial does; an engine that does not fit its limit
does not. The most RAM is tried first, then the least, then the middle of what is left, until both
sides of the edge are within --within. Where trials disagree, the answer is an interval. A suite
whose databases are shared is loaded once, under the most RAM. All points are cases of one run:
`kvdyno show` says the same later, `kvdyno report` draws it, `kvdyno resume` goes on after Ctrl-C.
Ends with 0 when the search came to an answer, whichever; --json says which.";

#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  kvdyno capacity --engine lmdb --target 'p99<1ms'
  kvdyno capacity --engine rocksdb --target 'p99.9<5ms' --set ram.data_to_ram=4
  kvdyno capacity mine.toml --engine lmdb --target 'p99<2ms' --role readers --between 1k..200k

The role works in an open loop: operations are due at random (Poisson, unless the suite says fixed)
whether or not the engine keeps up, and a latency counts from the moment at which its operation was
due. A point (a rate) meets the target when every trial does. It does not when the role falls
behind: when more than one in a hundred operations that were due was not begun at the end. Rates of
that role are no conditions: they are what is searched.

Without --between the role is first measured as fast as it goes, and rates from a 64th of that up to
it are searched: the lowest first, then the highest, then the middle of what is left. What a target
is, and all else, is as for `kvdyno size` (see its --help).")]
pub(crate) struct CapacityArgs {
    #[command(flatten)]
    pub(crate) search: SearchArgs,
    /// The role whose rate is searched; the first of the last measured phase by default
    #[arg(long, value_name = "NAME")]
    pub(crate) role: Option<String>,
}
