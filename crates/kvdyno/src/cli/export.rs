//! `export`, `bundle` and `rerun`: what can be typed.

use super::{LocationArgs, RunName, RunsArgs, ViewArgs};
use clap::Args;
use std::path::PathBuf;

#[derive(Clone, Debug, Default, Args)]
#[command(
    group = clap::ArgGroup::new("output").required(true).multiple(true),
    after_help = "\
Examples:
  kvdyno export --xlsx latest.xlsx  a workbook: the tables, charts, formulas behind what is derived
  kvdyno export --markdown post.md  tables for a blog post; `-`: on standard output
  kvdyno export --markdown - --brief  the answer, one table and the machine, for a message
  kvdyno export --csv figures/      figures.csv, load.csv, run.csv, cost.csv, series.csv, ...
  kvdyno export --csv -             every figure of every trial, one a row, on standard output
  kvdyno export 2026-11-20T10 --json > summary.json
  kvdyno export quick --all-runs --otava otava/   all runs of a suite, for Apache Otava
  kvdyno export quick.tar.zst --xlsx quick.xlsx   from a bundle

LibreOffice opens the workbook and saves it as .ods. docs/exports.md describes each format."
)]
pub(crate) struct ExportArgs {
    /// A run's folder, a bundle, its name, the beginning of an id or of a suite's name, or
    /// `latest`; several for --otava
    #[arg(value_name = "RUN")]
    pub(crate) names: Vec<String>,
    #[command(flatten)]
    pub(crate) runs: RunsArgs,
    /// CSV files into this folder; `-`: all figures on standard output
    #[arg(long, value_name = "DIR", group = "output")]
    pub(crate) csv: Option<PathBuf>,
    /// The summary as JSON on standard output
    #[arg(long, group = "output")]
    pub(crate) json: bool,
    /// A workbook with tables, charts and formulas
    #[arg(long, value_name = "FILE", group = "output")]
    pub(crate) xlsx: Option<PathBuf>,
    /// The tables in GitHub's Markdown; `-`: on standard output
    #[arg(long, value_name = "FILE", group = "output")]
    pub(crate) markdown: Option<PathBuf>,
    /// With --markdown: the answer, one table and the machine in a line; no path of this host
    #[arg(long, requires = "markdown")]
    pub(crate) brief: bool,
    /// Files for Apache Otava into this folder: a row for each run, and otava.yaml
    #[arg(long, value_name = "DIR", group = "output")]
    pub(crate) otava: Option<PathBuf>,
    /// With --otava: all runs of the same suite
    #[arg(long, requires = "otava")]
    pub(crate) all_runs: bool,
}

impl ExportArgs {
    /// The run, or the first of several.
    pub(crate) fn first(&self) -> &str {
        self.names.first().map_or("latest", String::as_str)
    }
}

#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "\
Examples:
  kvdyno bundle                     the latest run, into ID.tar.zst here
  kvdyno bundle quick -o quick.tar.zst
  kvdyno show quick.tar.zst         commands take a bundle in place of a run
  tar --zstd -tf quick.tar.zst      what is in it

Record, suite, host evidence, tables and checksums. The same record gives the same bytes.")]
pub(crate) struct BundleArgs {
    #[command(flatten)]
    pub(crate) name: RunName,
    /// The file, in place of ID.tar.zst in the current folder
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "\
Examples:
  kvdyno rerun quick.tar.zst --place /mnt/nvme
  kvdyno rerun quick.tar.zst --plan   what differs here, what it would do; nothing is done
  kvdyno rerun 2026-11-20T10        a run of one's own, once more
  kvdyno rerun mine.tar.zst --library new=build/librocksdb.so

What is run is the recorded plan: the same records, limits and options, not sized anew from this
host. What differs here is said before it begins. A bundle can be a stranger's: `kvdyno show` and
record/suite.toml tell what it would do; its databases lie where --place says, or below runs/.
Engines that are libraries are looked for among those installed, by checksum and version.")]
pub(crate) struct RerunArgs {
    #[command(flatten)]
    pub(crate) name: RunName,
    #[command(flatten)]
    pub(crate) at: LocationArgs,
    /// Say what would be done, and what differs here from there, and do nothing
    #[arg(long)]
    pub(crate) plan: bool,
    /// The file of an engine's library, where the recorded one was its author's own build; may be
    /// repeated
    #[arg(long = "library", value_name = "LABEL=PATH")]
    pub(crate) libraries: Vec<String>,
    /// A trace that the run replays, where it is neither beside the bundle nor where it was; may be
    /// repeated
    #[arg(long = "trace", value_name = "FILE")]
    pub(crate) traces: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) view: ViewArgs,
}
