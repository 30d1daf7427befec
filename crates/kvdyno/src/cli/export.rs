//! The command lines of `export`, `bundle` and `rerun`.

use super::show::parse_percentile;
use super::{LocationArgs, RunName, ViewArgs};
use clap::Args;
use kvdyno_analysis::figures::percentiles::Percentile;
use std::path::PathBuf;

#[derive(Clone, Debug, Default, Args)]
#[command(
    group = clap::ArgGroup::new("output").required(true).multiple(true),
    after_help = "\
Examples:
  kvdyno export --xlsx latest.xlsx  a workbook: tables, charts, formulas behind derived figures
  kvdyno export --markdown post.md  tables for a blog post; `-`: on standard output
  kvdyno export --markdown - --brief  the result, one table and the machine, for a message
  kvdyno export --slack -           the same, as Slack shows it
  kvdyno export --csv figures/      figures.csv, load.csv, run.csv, cost.csv, series.csv, ...
  kvdyno export --csv figures/ --percentiles 25,95,99.95
  kvdyno export --csv -             every figure of every trial, one per row, on standard output
  kvdyno export --bencher bmf.json --github-benchmark bench.json
  kvdyno export --openmetrics /var/lib/node_exporter/kvdyno.prom
  kvdyno export --folded stacks.txt --speedscope profile.json     of a run with --profile
  kvdyno export 2026-11-20T10 --json > summary.json
  kvdyno export quick.tar.zst --xlsx quick.xlsx   from a bundle

LibreOffice opens the workbook and saves it as .ods. docs/exports.md describes each format."
)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    pub(crate) name: RunName,
    /// CSV files into this directory; `-`: all figures on standard output
    #[arg(long, value_name = "DIR", group = "output")]
    pub(crate) csv: Option<PathBuf>,
    /// With --csv DIR: percentiles.csv with these percentiles of all times, e.g. 25,95,99.95
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = parse_percentile)]
    pub(crate) percentiles: Vec<Percentile>,
    /// The summary as JSON on standard output
    #[arg(long, group = "output")]
    pub(crate) json: bool,
    /// A workbook with tables, charts and formulas
    #[arg(long, value_name = "FILE", group = "output")]
    pub(crate) xlsx: Option<PathBuf>,
    /// The tables in GitHub's Markdown; `-`: on standard output
    #[arg(long, value_name = "FILE", group = "output")]
    pub(crate) markdown: Option<PathBuf>,
    /// The primary figures for Bencher, in its BMF JSON; `-`: on standard output
    #[arg(long, value_name = "FILE", group = "output")]
    pub(crate) bencher: Option<PathBuf>,
    /// The primary figures for github-action-benchmark: NAME.bigger.json (rates) and
    /// NAME.smaller.json (times) for NAME.json
    #[arg(long, value_name = "FILE", group = "output")]
    pub(crate) github_benchmark: Option<PathBuf>,
    /// The figures as OpenMetrics text, as for a textfile collector; `-`: on standard output
    #[arg(long, value_name = "FILE", group = "output")]
    pub(crate) openmetrics: Option<PathBuf>,
    /// The stacks of a profile with their samples, a line each, as flamegraph.pl reads them; `-`:
    /// on standard output
    #[arg(long, value_name = "FILE", group = "output")]
    pub(crate) folded: Option<PathBuf>,
    /// The stacks of a profile for speedscope; `-`: on standard output
    #[arg(long, value_name = "FILE", group = "output")]
    pub(crate) speedscope: Option<PathBuf>,
    /// A message for Slack, which shows no Markdown tables: the result, one table as code, the
    /// machine in a line; `-`: on standard output
    #[arg(long, value_name = "FILE", group = "output")]
    pub(crate) slack: Option<PathBuf>,
    /// With --markdown: the result, one table and the machine in a line; no path of this host
    #[arg(long)]
    pub(crate) brief: bool,
}

#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "\
Examples:
  kvdyno bundle                     the latest run, into ID.tar.zst here
  kvdyno bundle quick -o quick.tar.zst
  kvdyno show quick.tar.zst         commands accept a bundle instead of a run
  tar --zstd -tf quick.tar.zst      its contents

A bundle contains record, suite, host evidence, tables, checksums, and a README that says how to
check and repeat it. The same record gives the same bytes.")]
pub(crate) struct BundleArgs {
    #[command(flatten)]
    pub(crate) name: RunName,
    /// The file to write [default: ID.tar.zst in the current directory]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "\
Examples:
  kvdyno rerun quick.tar.zst --data-dir /mnt/nvme
  kvdyno rerun quick.tar.zst --plan   differences of this machine and the plan, without running it
  kvdyno rerun 2026-11-20T10          a run of this machine, once more
  kvdyno rerun mine.tar.zst --library new=build/librocksdb.so

Runs the recorded plan: the same records, limits and options, not sized again for this host. The
differences of this machine are listed first. A bundle may come from a stranger: `kvdyno show` and
record/suite.toml show what it would do. Its databases are created where --data-dir says, or below
runs/. Libraries of engines are searched among the installed ones, by checksum and version.")]
pub(crate) struct RerunArgs {
    #[command(flatten)]
    pub(crate) name: RunName,
    #[command(flatten)]
    pub(crate) location: LocationArgs,
    /// Show the differences of this machine, what would be done and how long it takes, without
    /// running it
    #[arg(long)]
    pub(crate) plan: bool,
    /// The file of an engine's library, if the recorded one was a local build; may be repeated
    #[arg(long = "library", value_name = "LABEL=PATH")]
    pub(crate) libraries: Vec<String>,
    /// A trace that the run replays, if it is neither next to the bundle nor at its recorded path;
    /// may be repeated
    #[arg(long = "trace", value_name = "FILE")]
    pub(crate) traces: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) view: ViewArgs,
}
