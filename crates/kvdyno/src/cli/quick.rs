//! The command line of `kvdyno quick`.

use super::{BudgetArgs, KeepArgs, LocationArgs, ViewArgs, YcsbArgs};
use clap::{Args, ValueEnum, ValueHint};
use kvdyno_record::engine::Preset;
use std::path::PathBuf;

#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "\
Examples:
  kvdyno quick lmdb rocksdb
  kvdyno quick lmdb rocksdb --records 10M --value 1KB --read 95
  kvdyno quick lmdb rocksdb direct --value 100,1000,4000 --threads 1,4 --plan
  kvdyno quick rocksdb --read 50 --durability commit --rate 5k --duration 30s
  kvdyno quick lmdb rocksdb --durability commit,async
  kvdyno quick lmdb rocksdb --scan 100 --zipf 0.99 --data-dir /mnt/nvme
  kvdyno quick redb rocksdb --ram 512MiB --set engine.redb.options.cache_size=40%
  kvdyno quick lmdb rocksdb --no-drive --trials 6
  kvdyno quick lmdb rocksdb --read 95 --save-suite mine.toml --plan
  kvdyno quick rocksdb --from /var/lib/app/db --read 90 --ram 1GiB
  kvdyno quick lmdb rocksdb --set-ycsb @workloada --set-ycsb recordcount=1000000 --duration 30s

Every engine loads the data in random order. One client then updates alone; after that, clients read
beside a writer with the same rate for all engines: half of what the slowest one did alone. With
--read PERCENT each client does both instead. Each thread count has a fresh copy of the database.
Every engine is tuned by its authors' own guide for the RAM limit (`kvdyno engines NAME` lists the
values), and none compresses. The drive and the load generator are measured as ceilings. The
options become a suite: --save-suite writes it, `kvdyno run FILE` does the same work again, and
docs/suites.md explains further settings.

`kvdyno run quick` is a different command: it runs the built-in suite called quick.")]
pub(crate) struct QuickArgs {
    /// The engines to compare; lmdb and rocksdb by default. `kvdyno engines` lists the installed
    /// ones, and `rocksdb@9.10.0` is one of its versions
    #[arg(value_name = "ENGINE")]
    pub(crate) engines: Vec<String>,
    /// Number of records, e.g. 10M [default: as many as fit into a size chosen for this host, at
    /// most 1 GiB]
    #[arg(long, value_name = "N", value_delimiter = ',', conflicts_with = "size")]
    pub(crate) records: Vec<String>,
    /// Bytes of all keys and values instead of --records, e.g. 20GiB
    #[arg(long, value_name = "BYTES", value_delimiter = ',')]
    pub(crate) size: Vec<String>,
    /// A database of your own in place of a load: its directory, or its file. A copy is
    /// measured (--plan makes it, too); the original is never changed
    #[arg(long, value_name = "PATH", value_hint = ValueHint::AnyPath,
          conflicts_with_all = ["records", "size"])]
    pub(crate) from: Option<PathBuf>,
    /// With --from: the most keys to ask for, drawn evenly from all; 1M by default
    #[arg(long, value_name = "N")]
    pub(crate) keys: Option<String>,
    /// With --from: a file of the keys to ask for, one on each line
    #[arg(long, value_name = "FILE", conflicts_with = "keys",
          value_hint = ValueHint::FilePath)]
    pub(crate) keys_file: Option<PathBuf>,
    /// Bytes of a value, e.g. 1KB; several: each size with its own data
    #[arg(long, value_name = "BYTES", value_delimiter = ',', default_value = "1000")]
    pub(crate) value: Vec<String>,
    /// Bytes of a key
    #[arg(long, value_name = "BYTES", default_value = "16")]
    pub(crate) key: String,
    /// Clients that mix reads and updates, with this percentage of reads; with --rate or --from 95
    /// by default
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(crate) read: Option<u32>,
    /// Reads are scans of this many records instead of single gets
    #[arg(long, value_name = "N")]
    pub(crate) scan: Option<String>,
    /// Keys by Zipf's law with this exponent, e.g. 0.99; uniform by default
    #[arg(long, value_name = "THETA")]
    pub(crate) zipf: Option<f64>,
    /// Operations per second of all clients together; as fast as possible by default
    #[arg(long, value_name = "N")]
    pub(crate) rate: Option<String>,
    /// Clients at the same time, each number in turn
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1,2,4",
          value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(crate) threads: Vec<u32>,
    /// Number of trials of each point
    #[arg(long, value_name = "N", default_value_t = 4,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) trials: u32,
    /// Duration of each point; 5s by default, with --set-ycsb that of the properties
    #[arg(long, value_name = "TIME")]
    pub(crate) duration: Option<String>,
    /// Durability of a write: none, async, commit (survives a power loss), or several, as
    /// commit,async; async by default, or commit if an engine has no async
    #[arg(long, value_name = "CLASS")]
    pub(crate) durability: Option<String>,
    /// Memory of an engine and the page cache of its files, e.g. 1GiB; `all`: no limit
    #[arg(long, value_name = "BYTES", conflicts_with = "data_to_ram")]
    pub(crate) ram: Option<String>,
    /// Ratio of data to that memory; 4 by default, unless the data is small
    #[arg(long, value_name = "TIMES")]
    pub(crate) data_to_ram: Option<f64>,
    #[command(flatten)]
    pub(crate) location: LocationArgs,
    /// The engines' options: their authors' tuning guides, or the defaults
    #[arg(
        long,
        value_enum,
        value_name = "tuned|defaults",
        default_value_t,
        hide_possible_values = true
    )]
    pub(crate) preset: PresetName,
    /// Change one value of the generated suite, as `engine.redb.options.cache_size=25%`; may be
    /// repeated
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
    #[command(flatten)]
    pub(crate) ycsb: YcsbArgs,
    /// Do not measure the drive as a ceiling
    #[arg(long)]
    pub(crate) no_drive: bool,
    /// Write the generated suite; an existing file is not replaced
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) save_suite: Option<PathBuf>,
    /// Show what would be done and how long it takes, without running it
    #[arg(long)]
    pub(crate) plan: bool,
    #[command(flatten)]
    pub(crate) budget: BudgetArgs,
    #[command(flatten)]
    pub(crate) keep: KeepArgs,
    #[command(flatten)]
    pub(crate) view: ViewArgs,
}

impl QuickArgs {
    /// The percentage of reads if each client reads and updates; none: readers and a writer are
    /// separate clients.
    pub(crate) fn read_percent(&self) -> Option<u32> {
        const USUAL: u32 = 95;
        // With `--from` no case loads the database, so none can find the rate of a writer.
        let is_mixed = self.rate.is_some() || self.has_ycsb() || self.from.is_some();
        self.read.or_else(|| is_mixed.then_some(USUAL))
    }

    /// Whether properties of YCSB define the work of the clients.
    pub(crate) fn has_ycsb(&self) -> bool {
        !self.ycsb.properties.is_empty()
    }

    /// The duration of a point.
    pub(crate) fn point_duration(&self) -> &str {
        const USUAL: &str = "5s";
        self.duration.as_deref().unwrap_or(USUAL)
    }
}

/// A preset as typed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum PresetName {
    #[default]
    Tuned,
    Defaults,
}

impl From<PresetName> for Preset {
    fn from(name: PresetName) -> Self {
        match name {
            PresetName::Tuned => Self::Tuned,
            PresetName::Defaults => Self::Defaults,
        }
    }
}

/// Parses a percentage: `95` or `95%`.
fn percent(typed: &str) -> Result<u32, String> {
    let number = typed.trim_end_matches('%').trim_end().parse().ok();
    number.filter(|percent| *percent <= 100).ok_or_else(|| "expected 0 to 100, e.g. 95".to_owned())
}
