//! `kvdyno quick`: what can be typed.

use super::{KeepArgs, LocationArgs, ViewArgs};
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
  kvdyno quick lmdb rocksdb --scan 100 --zipf 0.99 --place /mnt/nvme
  kvdyno quick redb rocksdb --ram 512MiB --set engine.redb.options.cache_size=40%
  kvdyno quick lmdb rocksdb --no-drive --trials 6
  kvdyno quick lmdb rocksdb --read 95 --save-suite mine.toml --plan

Every engine loads the data in key order; clients then read and update it at the same time, each
number of threads on a fresh copy of the database. Every engine is tuned as its authors' own guide
has it for the RAM limit (`kvdyno engines NAME` lists the values), and none compresses. The bare
drive and the load generator are measured beside them. What is asked becomes a suite: --save-suite
keeps it, `kvdyno run FILE` does the same work again, and docs/suites.md says what else can be asked
there.

`kvdyno run quick` is another thing: the built-in suite called quick, whose readers and one writer
are its own.")]
pub(crate) struct QuickArgs {
    /// The engines to compare; lmdb and rocksdb by default. `kvdyno engines` lists what is here
    #[arg(value_name = "ENGINE")]
    pub(crate) engines: Vec<String>,
    /// How many records, as 10M; sized from this host by default, at most 1 GiB
    #[arg(long, value_name = "N", value_delimiter = ',', conflicts_with = "size")]
    pub(crate) records: Vec<String>,
    /// Bytes of all keys and values in place of --records, as 20GiB
    #[arg(long, value_name = "BYTES", value_delimiter = ',')]
    pub(crate) size: Vec<String>,
    /// Bytes of a value, as 1KB; several: each size with data of its own
    #[arg(long, value_name = "BYTES", value_delimiter = ',', default_value = "1000")]
    pub(crate) value: Vec<String>,
    /// Bytes of a key
    #[arg(long, value_name = "BYTES", default_value = "16")]
    pub(crate) key: String,
    /// How many of 100 operations read; the others update
    #[arg(long, value_name = "PERCENT", default_value = "95", value_parser = percent)]
    pub(crate) read: u32,
    /// Reads are scans of so many records in place of single gets
    #[arg(long, value_name = "N")]
    pub(crate) scan: Option<String>,
    /// Keys by Zipf's law with this exponent, as 0.99; all alike by default
    #[arg(long, value_name = "THETA")]
    pub(crate) zipf: Option<f64>,
    /// Operations in a second of all clients together; as fast as it goes by default
    #[arg(long, value_name = "N")]
    pub(crate) rate: Option<String>,
    /// Clients at the same time, each number in turn
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1,2,4",
          value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(crate) threads: Vec<u32>,
    /// How often each point is repeated
    #[arg(long, value_name = "N", default_value_t = 4,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) trials: u32,
    /// How long each point is measured
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub(crate) duration: String,
    /// When a write is done: none, async, or commit (survives a power loss)
    #[arg(long, value_name = "CLASS", default_value = "async")]
    pub(crate) durability: String,
    /// Memory of an engine and its files' page cache, as 1GiB; `all`: no limit
    #[arg(long, value_name = "BYTES", conflicts_with = "data_to_ram")]
    pub(crate) ram: Option<String>,
    /// How many times larger than that memory the data is; 4 by default, where it is not small
    #[arg(long, value_name = "TIMES")]
    pub(crate) data_to_ram: Option<f64>,
    #[command(flatten)]
    pub(crate) at: LocationArgs,
    /// Where the engines' options begin: their authors' tuning guides, or as they come
    #[arg(
        long,
        value_enum,
        value_name = "tuned|defaults",
        default_value_t,
        hide_possible_values = true
    )]
    pub(crate) preset: PresetName,
    /// Change one value of the suite that this comes to, as `engine.redb.options.cache_size=25%`;
    /// may be repeated
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
    /// Do not measure the bare drive beside the engines
    #[arg(long)]
    pub(crate) no_drive: bool,
    /// Write the suite that this comes to; a file that is there is left alone
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) save_suite: Option<PathBuf>,
    /// Say what would be done and how long it takes, and do nothing
    #[arg(long)]
    pub(crate) plan: bool,
    #[command(flatten)]
    pub(crate) keep: KeepArgs,
    #[command(flatten)]
    pub(crate) view: ViewArgs,
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

/// `95` or `95%`.
fn percent(typed: &str) -> Result<u32, String> {
    let number = typed.trim_end_matches('%').trim_end().parse().ok();
    number.filter(|percent| *percent <= 100).ok_or_else(|| "expected 0 to 100, as 95".to_owned())
}
