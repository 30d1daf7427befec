//! The command line of `trace`.

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

docs/traces.md describes each format and its conversion.")]
pub(crate) struct TraceArgs {
    #[command(subcommand)]
    pub(crate) action: TraceAction,
}

/// What to do with traces.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum TraceAction {
    /// Convert a trace of another format
    Import(ImportArgs),
    /// Run a case of a suite, and write its engine's requests as a trace
    Record(Box<RecordTraceArgs>),
    /// Show the contents of a trace: mix, sizes, working set, cache hit rates
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
Cambridge), fio-iolog (versions 2 and 3), kvdyno (`blockio.csv` of `kvdyno run --io-log`). Files
packed by gzip or zstd are unpacked.

Memory is constant, about 250 MB at most, for any length of the trace and any number of keys.
Temporary files need up to the size of the unpacked trace: --scratch sets their directory.")]
pub(crate) struct ImportArgs {
    /// The format of FILE
    #[arg(long, value_parser = format(), value_name = "FORMAT", hide_possible_values = true)]
    pub(crate) format: Format,
    /// The file; `-`: standard input
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// The file to write
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// Replace an existing file
    #[arg(long)]
    pub(crate) force: bool,
    /// Only this many requests, from the first
    #[arg(long, value_name = "N", value_parser = units::parse_count)]
    pub(crate) limit: Option<u64>,
    /// The directory for temporary files [default: that of the output]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) scratch: Option<PathBuf>,
}

#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  kvdyno trace record quick --engine lmdb --threads 4 -o quick.kvtrace
  kvdyno trace record ycsb --engine rocksdb --phases load,settle,a --threads 4 -o a.kvtrace
  kvdyno trace record mine.toml --set data.records=1M --data-dir /mnt/nvme -o mine.kvtrace

The suite must have one measured case; otherwise the error lists its cases. Each measured phase
becomes a trace; with several phases, the file names contain their names. There is one trial. The
run is stored like any other; its figures include the cost of recording.")]
pub(crate) struct RecordTraceArgs {
    #[command(flatten)]
    pub(crate) suite: SuiteArgs,
    /// The file to write
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// Replace an existing file
    #[arg(long)]
    pub(crate) force: bool,
    /// A block device of the suite's volumes or memory tiers whose data may be destroyed, by its
    /// full path; may be repeated
    #[arg(long, value_name = "DEVICE", require_equals = true)]
    pub(crate) destroy_data_on: Vec<PathBuf>,
    /// The host of an attached server that the run may load; may be repeated
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

Popularity, working set and LRU hit rates are exact up to a million distinct keys. Beyond that they
come from a sample of a million keys, with a note.")]
pub(crate) struct ShowTraceArgs {
    /// A trace that `kvdyno trace import` or `kvdyno trace record` wrote
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// As a page: one self-contained HTML file; `-`: standard output
    #[arg(long, value_name = "FILE", conflicts_with = "json", value_hint = ValueHint::FilePath)]
    pub(crate) html: Option<PathBuf>,
}

/// Returns a parser of formats by name.
fn format() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::name)).try_map(|name| {
        let format = Format::ALL.into_iter().find(|format| format.name() == name);
        format.ok_or("unknown format")
    })
}
