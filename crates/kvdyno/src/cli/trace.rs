//! `trace`: what can be typed.

use super::{KeepArgs, SuiteArgs};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueHint};
use kvdyno_record::units;
use kvdyno_trace::Format;
use std::path::PathBuf;

#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  kvdyno trace import --format rocksdb mine.trace -o mine.kvtrace
  kvdyno trace record quick --engine lmdb --threads 1 -o quick.kvtrace
  kvdyno trace show mine.kvtrace

docs/traces.md says what each format has, and what becomes of it.")]
pub(crate) struct TraceArgs {
    #[command(subcommand)]
    pub(crate) action: TraceAction,
}

/// What to do with traces.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum TraceAction {
    /// Read a trace of another format, and write it as one of ours
    Import(ImportArgs),
    /// Run a case of a suite, and write what its engine was asked for as a trace
    Record(Box<RecordTraceArgs>),
    /// Say what is in a trace: mix, sizes, working set, what a cache would have
    Show(ShowTraceArgs),
}

#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  kvdyno trace import --format rocksdb db_bench.trace -o db_bench.kvtrace
  kvdyno trace import --format twitter cluster52.zst -o cluster52.kvtrace
  kvdyno trace import --format cachelib kvcache_traces_1.csv -o kvcache.kvtrace --limit 10M
  kvdyno trace import --format msr hm_0.csv.gz -o hm_0.kvtrace
  kvdyno trace import --format kvdyno blockio.csv -o io.kvtrace
  cat part-* | kvdyno trace import --format oracle-general - -o all.kvtrace

Formats: rocksdb (of its tracer, or `db_bench --trace_file`), twitter (cache traces of 2020),
cachelib (key-value caches, of 2022 and later), oracle-general (libCacheSim), msr (block traces of
Cambridge), fio-iolog (versions 2 and 3), kvdyno (`blockio.csv` of `kvdyno run --io-log`). What is
packed by gzip or zstd is unpacked.

Memory is constant, about 250 MB at most, however long the trace and however many its keys. Files
without a name are needed in between, up to the size of the unpacked trace: --scratch says where.")]
pub(crate) struct ImportArgs {
    /// The format of FILE
    #[arg(long, value_parser = format(), value_name = "FORMAT", hide_possible_values = true)]
    pub(crate) format: Format,
    /// The file; `-`: standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Where the trace is written
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// Write over a file that is there
    #[arg(long)]
    pub(crate) force: bool,
    /// Only so many requests, from the first on
    #[arg(long, value_name = "N", value_parser = units::parse_count)]
    pub(crate) limit: Option<u64>,
    /// The folder for files that are needed in between [default: that of the output]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) scratch: Option<PathBuf>,
}

#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  kvdyno trace record quick --engine lmdb --threads 4 -o quick.kvtrace
  kvdyno trace record ycsb --engine rocksdb --part a --threads 1 -o a.kvtrace
  kvdyno trace record mine.toml --set data.records=1M --place /mnt/nvme -o mine.kvtrace

The suite must come to one case that measures; a refusal lists those that it comes to. Each phase
of it that measures becomes a trace: of several, the phase's name is put into the file's name. One
trial is made. The run is kept as any other; what recording costs is in its figures.")]
pub(crate) struct RecordTraceArgs {
    #[command(flatten)]
    pub(crate) suite: SuiteArgs,
    /// Where the trace is written
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// Write over a file that is there
    #[arg(long)]
    pub(crate) force: bool,
    /// A block device of the suite's volumes or memory tiers whose data is lost, in full; may be
    /// repeated
    #[arg(long, value_name = "DEVICE", require_equals = true)]
    pub(crate) destroy_data_on: Vec<PathBuf>,
    /// The host of a server that somebody runs and that may be loaded, where the suite is attached
    /// to one; may be repeated
    #[arg(long, value_name = "HOST")]
    pub(crate) yes_load: Vec<String>,
    #[command(flatten)]
    pub(crate) keep: KeepArgs,
}

#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  kvdyno trace show mine.kvtrace
  kvdyno trace show mine.kvtrace --json > mine.json
  kvdyno trace show mine.kvtrace --html mine.html

Popularity, working set and what an LRU cache would have are exact up to a million distinct keys;
beyond that they are of a sample of a million, and it is said of how many.")]
pub(crate) struct ShowTraceArgs {
    /// A trace that `kvdyno trace import` or `kvdyno trace record` wrote
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// As a page: one HTML file that fetches nothing; `-`: standard output
    #[arg(long, value_name = "FILE", conflicts_with = "json", value_hint = ValueHint::FilePath)]
    pub(crate) html: Option<PathBuf>,
}

/// A format by its name.
fn format() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::name)).try_map(|name| {
        let known = Format::ALL.into_iter().find(|format| format.name() == name);
        known.ok_or("no such format")
    })
}
