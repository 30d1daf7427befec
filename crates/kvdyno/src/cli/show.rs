//! The command lines of `show`, `report` and `serve`.

use super::search::parse_target;
use super::{RunName, RunsArgs};
use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use kvdyno_analysis::answers::search::Target;
use kvdyno_analysis::figures::percentiles::Percentile;
use kvdyno_record::known::STUDIES;
use kvdyno_render::tables;
use std::path::PathBuf;

/// `--with-study` without a name: the study that the suite repeats.
pub(crate) const OWN_STUDY: &str = "own";

/// `--with-study none`: no study is shown, not even the suite's.
pub(crate) const NO_STUDY: &str = "none";

/// Parses a typed percentile.
pub(super) fn parse_percentile(text: &str) -> Result<Percentile, String> {
    text.parse()
}

/// The parts of a run to show instead of its screen.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "What to show (default: one screen)")]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch on the command line")]
pub(crate) struct ViewArgs {
    /// The summary as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Everything: the machine, all tables with explanations, the findings
    #[arg(long, conflicts_with = "json")]
    pub(crate) full: bool,
    /// Single tables: study, claims, search, ranking, load, run, scatter (with --wide), cost,
    /// counters, time, ranks, io, profile, ceiling, drive, drive-times, history, not-here,
    /// published
    #[arg(long, value_name = "NAME", value_delimiter = ',', conflicts_with = "json",
          value_parser = PossibleValuesParser::new(tables::NAMES), hide_possible_values = true)]
    pub(crate) table: Vec<String>,
    /// Show a published study's figures next to those in load, run and drive tables: STUDY, or the
    /// one that the suite repeats (the default); `none`: no study [values:
    /// callaghan-linkbench-2015, raidix-metadata-2017, selectel-p4800x-2018, symas-imdt-2018,
    /// symas-optane-2018]
    #[arg(long, value_name = "STUDY", num_args = 0..=1, default_missing_value = OWN_STUDY,
          value_parser = PossibleValuesParser::new([&STUDIES[..], &[NO_STUDY, OWN_STUDY]].concat()),
          hide_possible_values = true)]
    pub(crate) with_study: Option<String>,
    /// The run in the study's form: the question, the two machines, the study's tables with these
    /// figures under each row, the claims
    #[arg(long, conflicts_with = "json")]
    pub(crate) study: bool,
    /// More columns in the tables; alone: all tables
    #[arg(long, conflicts_with = "json")]
    pub(crate) wide: bool,
    /// Which engines meet a target, as 'update.p99 < 5ms'; exit code 5 if one misses it
    #[arg(long, value_name = "TARGET", conflicts_with = "json", value_parser = parse_target)]
    pub(crate) target: Option<Target>,
    /// A table of these percentiles of all times, e.g. 25,95,99.95; each from 0.001 to 99.9999
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "json",
          value_parser = parse_percentile)]
    pub(crate) percentiles: Vec<Percentile>,
    /// The findings: limits of these figures, with evidence and remedies
    #[arg(long, conflicts_with = "json")]
    pub(crate) findings: bool,
    /// The drive's tables
    #[arg(long, conflicts_with = "json")]
    pub(crate) drive: bool,
    /// The machine, and the engines with their options and durability class
    #[arg(long, conflicts_with = "json")]
    pub(crate) config: bool,
}

#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "\
Examples:
  kvdyno show                       the latest run, on one screen
  kvdyno show --full                everything: tables, explanations, findings
  kvdyno show --table cost --wide   one table, with more columns
  kvdyno show --percentiles 25,95,99.95
  kvdyno show 2026-11-20T10 --findings
  kvdyno show quick                 the latest run of that suite
  kvdyno show --table load --with-study symas-optane-2018
  kvdyno show --study               a study's question, tables and claims, with these figures
  kvdyno show runs/2026-11-20T10-15-02Z_quick_7f3a --json | jq .findings
  kvdyno show *.tar.zst --by host   one suite on many machines: find the outliers
  kvdyno show *.tar.zst --by host --html fleet.html")]
pub(crate) struct ShowArgs {
    /// A run's directory, a bundle, its name, the beginning or end of its id, its suite, or
    /// `latest`; several with --by
    #[arg(value_name = "RUN", default_value = "latest")]
    pub(crate) names: Vec<String>,
    #[command(flatten)]
    pub(crate) runs: RunsArgs,
    #[command(flatten)]
    pub(crate) view: ViewArgs,
    #[command(flatten)]
    pub(crate) fleet: FleetArgs,
}

/// Runs of many machines.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Several runs of one suite")]
pub(crate) struct FleetArgs {
    /// Figures by host: lowest, highest, outliers, and differences of the hosts; --wide: the figure
    /// of each host
    #[arg(long, value_name = "WHAT", conflicts_with_all =
          ["full", "table", "with_study", "study", "findings", "drive", "config",
           "percentiles", "target"])]
    pub(crate) by: Option<GroupBy>,
    /// Only these figures, by their names in `kvdyno export --csv -`
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) figures: Vec<String>,
    /// All figures, not only the usual ones
    #[arg(long, conflicts_with = "figures")]
    pub(crate) all: bool,
    /// Write the result as a page: one self-contained HTML file; `-`: standard output
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub(crate) html: Option<PathBuf>,
}

/// The key by which several runs are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GroupBy {
    /// The machine that made the run
    Host,
}

#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  kvdyno judge --target 'update.p99 < 5ms'
  kvdyno judge latest --target 'p99<1ms and reads>50k/s' --json
  kvdyno quick lmdb rocksdb --target 'get.p99 < 200us'         the same after a run

Each engine, at each number of threads, meets the target, misses it, or is undecided. It meets the
target if the 99 % interval of each figure lies within its bound. That takes four trials. A case
with void figures is undecided. Figures:
p50 to p99.999, mean and max stay below a time; reads, writes and ops above a rate; of one role
`readers.p99`, of one operation `get.p99`.

Exit codes: 5 one misses it; else 3 an engine failed, 4 findings void the figures, 4 one is
undecided; 0 all meet it.")]
pub(crate) struct JudgeArgs {
    #[command(flatten)]
    pub(crate) name: RunName,
    /// The conditions, e.g. 'p99 < 1ms and reads > 50k/s'
    #[arg(long, value_name = "TARGET", value_parser = parse_target)]
    pub(crate) target: Target,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "\
Examples:
  kvdyno report                     the latest run, as a file next to its directory
  kvdyno report 2026-11-20T10 -o quick.html
  kvdyno report quick -o - > quick.html

The page is one self-contained file, to mail or to put on any web server. Its address contains the
selected view, for links. It can be printed, and each figure can be saved as SVG or PNG.")]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    pub(crate) name: RunName,
    /// The file to write; `-`: standard output [default: RUN.html, next to the run's directory]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  kvdyno serve                      open http://127.0.0.1:7333/ in a browser
  kvdyno serve --runs /srv/kvdyno/runs --port 8080
  kvdyno serve --port 0             any free port; its address is printed
  ssh -L 7333:127.0.0.1:7333 HOST   and a browser here shows the runs of HOST

Shows the list of runs, the report of each, the progress of a live run, and comparisons of two runs.
The same as data: /runs.json, /runs/RUN.json, /compare/BASE/NEW.json. RUN is an id, a name or
`latest`. /metrics is the newest run as OpenMetrics: its figures, or its progress while it is live.
It stores and changes nothing: every reply is read from the directory of runs. Only users of this
machine can reach it; no option changes that. Ctrl-C ends it.

A page of a live run costs CPU: it asks every two seconds. If that may disturb the measurement, wait
until the run is complete.")]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(crate) runs: RunsArgs,
    /// The port; 0: any free port
    #[arg(long, value_name = "N", default_value_t = 7333)]
    pub(crate) port: u16,
}
