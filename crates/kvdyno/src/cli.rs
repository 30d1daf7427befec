//! The command line: commands, options, and help with examples.
//!
//! These types hold the words as typed. The commands interpret them (a share, a list of threads, a
//! run's directory).

mod bisect;
mod compare;
mod drive;
mod engines;
mod export;
mod history;
mod io;
mod named;
mod needs;
mod quick;
mod schema;
mod search;
mod show;
mod site;
mod state;
mod suite;
mod torture;
mod trace;
mod versus;

pub(crate) use bisect::BisectArgs;
pub(crate) use compare::{CompareArgs, ComparisonArgs};
pub(crate) use drive::{
    DriveArgs, Preset as DrivePreset, Rw as DriveRw, Way as DriveWay, WriteClass,
};
pub(crate) use engines::{BuildArgs, EnginesAction, EnginesArgs, GetArgs, Language, NewEngineArgs};
pub(crate) use export::{BundleArgs, ExportArgs, RerunArgs};
pub(crate) use history::{AddArgs, HistoryAction, HistoryArgs, HistoryShowArgs};
pub(crate) use io::IoArgs;
pub(crate) use named::NamedArgs;
pub(crate) use quick::QuickArgs;
pub(crate) use schema::SchemaOf;
pub(crate) use search::{CapacityArgs, SearchArgs};
pub(crate) use show::{JudgeArgs, NO_STUDY, OWN_STUDY, ReportArgs, ServeArgs, ShowArgs, ViewArgs};
pub(crate) use site::SiteArgs;
pub(crate) use state::{ListStatesArgs, MakeArgs, StateAction, StateArgs, StoreArgs};
use suite::SuiteName;
pub(crate) use suite::{BendArgs, LocationArgs, PlanArgs, SuiteArgs, YcsbArgs};
pub(crate) use torture::TortureArgs;
pub(crate) use trace::{ImportArgs, RecordTraceArgs, ShowTraceArgs, TraceAction, TraceArgs};
pub(crate) use versus::VersusArgs;

use crate::exit::Complaint;
use clap::{Args, ColorChoice, Parser, Subcommand};
use kvdyno_record::VERSION;
use kvdyno_record::plan::Plan;
use kvdyno_record::units;
use std::path::PathBuf;
use std::time::Duration;

/// The position in help of options that every command has: after the command's own options.
const LAST: usize = 900;

const EXAMPLES: &str = "\
Examples:
  kvdyno doctor                            what this machine can and cannot measure
  kvdyno plan quick                        the cases of a suite, the time and space they need
  kvdyno run quick --data-dir /mnt/nvme    run it; the data goes below /mnt/nvme
  kvdyno quick lmdb rocksdb --read 95      compare engines without writing a suite
  kvdyno drive /mnt/nvme                   the drive below a directory, without any engine
  kvdyno show                              the latest run on one screen; --full: all its tables
  kvdyno report                            a page of its figures, to open in a browser
  kvdyno serve                             all runs in a browser, with the progress of a live run
  kvdyno site public latest                an index of runs with their reports, for a web server
  kvdyno check latest                      read its record a second time, independently
  kvdyno export --xlsx latest.xlsx         the tables as a workbook, with charts and formulas
  kvdyno bundle                            the run in one file, to publish and repeat
  kvdyno compare 2026-11-19 latest         what changed since, with confidence intervals
  kvdyno history show nightly.ndjson       where a suite's figures changed over its runs
  kvdyno torture --engine lmdb             what it loses when the power fails
  kvdyno trace show mine.kvtrace           the contents of a request trace
  kvdyno suites show quick > mine.toml     start a suite of your own

Start with docs/tutorial.md. KVDYNO_ENGINE_PATH and KVDYNO_LIBRARY_PATH name more directories of
engines and libraries.

Exit codes:
  0 success       1 the program failed            2 a mistake on the command line or in the suite
  3 a case failed or hung, none completed, or torture: a promise was broken
  4 findings make figures invalid, or something could not be judged
  5 a regression past the gate, a missed target   130 interrupted (completed cases are kept)";

/// A dynamometer for storage engines: puts them under a known load on a known machine, and measures
/// what they deliver and what it costs.
#[derive(Clone, Debug, Parser)]
#[command(name = "kvdyno", version = VERSION, after_help = EXAMPLES, max_term_width = 100)]
pub(crate) struct Cli {
    /// When to use colours; respects the variable `NO_COLOR`
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        hide_possible_values = true,
        value_name = "auto|always|never",
        display_order = LAST
    )]
    pub(crate) color: ColorChoice,
    /// Hide progress and notes; show only warnings and errors
    #[arg(long, short, global = true, display_order = LAST)]
    pub(crate) quiet: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The commands.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a suite, record it, and show the results
    Run(Box<RunArgs>),
    /// Compare engines without writing a suite
    Quick(Box<QuickArgs>),
    /// Measure the drive below a directory, or a block device
    Drive(Box<DriveArgs>),
    /// Show what would be done and how long it takes, without running it
    Plan(PlanArgs),
    /// Finish an interrupted run, or add trials to a finished one
    Resume(ResumeArgs),
    /// List the runs
    List(ListArgs),
    /// Show a run on one screen, or its tables
    Show(Box<ShowArgs>),
    /// Find which engines of a run meet a target
    Judge(JudgeArgs),
    /// Write a run's report: one HTML file with figures, tables and raw data
    Report(ReportArgs),
    /// Show runs, reports and comparisons in a browser on this machine
    Serve(ServeArgs),
    /// Write runs as a site for any web server: an index, reports and files
    Site(SiteArgs),
    /// Read a record a second time, independently, and compare
    Check(CheckArgs),
    /// Compare two runs, or two engines of one run, with confidence intervals
    Compare(CompareArgs),
    /// Run two builds or versions of an engine side by side and compare them
    Versus(Box<VersusArgs>),
    /// Find the commit that changed the speed of an engine
    Bisect(Box<BisectArgs>),
    /// Keep a suite's figures over its runs, find changes, and gate the newest run
    History(HistoryArgs),
    /// Find the least memory with which an engine meets a target
    #[command(after_help = search::SIZE)]
    Size(SearchArgs),
    /// Find the highest rate at which an engine meets a target
    Capacity(CapacityArgs),
    /// Find what an engine loses when the power fails, or when its process is killed
    Torture(Box<TortureArgs>),
    /// Import or record requests, and show the contents of a trace
    Trace(TraceArgs),
    /// Write a run's figures for other programs
    Export(ExportArgs),
    /// Pack a run into one file, to publish and repeat it elsewhere
    Bundle(BundleArgs),
    /// Repeat a recorded run on this host
    Rerun(Box<RerunArgs>),
    /// List the installed engines, or one engine's options; fetch their libraries
    Engines(EnginesArgs),
    /// Keep loaded databases for later runs: make, list, check and remove them
    State(StateArgs),
    /// Start an engine of your own in C, C++, Go, Rust or Zig; it passes the conformance kit
    NewEngine(NewEngineArgs),
    /// Show what this machine can enforce and measure, and what will distort figures
    Doctor(DoctorArgs),
    /// List the built-in suites, or print one to copy
    Suites(SuitesArgs),
    /// Clean up after a killed run: started by a run, never by hand
    #[command(hide = true)]
    Reaper,
    /// Serve the drives of a torture: started by it, never by hand
    #[command(hide = true)]
    Recorder,
    /// Print the JSON Schema of suites, or of a run's files
    #[command(after_help = "\
Examples:
  kvdyno schema > suite.schema.json
  kvdyno schema summary
Then start a suite with `#:schema ./suite.schema.json`: editors with a TOML language server
complete and check it.")]
    Schema {
        /// The kind of file
        #[arg(value_enum, default_value = "suite")]
        of: SchemaOf,
    },
    /// Print a completion script for a shell
    #[command(after_help = "\
Examples:
  kvdyno completions bash > ~/.local/share/bash-completion/completions/kvdyno
  kvdyno completions zsh > ~/.zfunc/_kvdyno
  kvdyno completions fish > ~/.config/fish/completions/kvdyno.fish")]
    Completions {
        /// Which shell
        #[arg(value_name = "bash|elvish|fish|powershell|zsh", hide_possible_values = true)]
        shell: clap_complete::Shell,
    },
}

/// A run's name, where it is stored, and what is recorded in it.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct KeepArgs {
    #[command(flatten)]
    pub(crate) named: NamedArgs,
    #[command(flatten)]
    pub(crate) runs: RunsArgs,
    #[command(flatten)]
    pub(crate) io: IoArgs,
    /// Keep loaded databases for later runs, up to this size in all, e.g. 50GiB; without the option
    /// a run uses kept ones and keeps none; 0: neither
    #[arg(long, value_name = "SIZE")]
    pub(crate) states: Option<String>,
}

impl KeepArgs {
    /// The limit of `--states` in bytes; the longest unused states are removed beyond it.
    pub(crate) fn states_bytes(&self) -> Result<Option<u64>, Complaint> {
        self.states.as_deref().map(units::parse_bytes).transpose().map_err(|error| {
            let what = format!("--states: {error}");
            Complaint::usage(what).hint("for example `50GiB`; 0 neither uses nor keeps states")
        })
    }
}

/// Where runs are stored.
#[derive(Clone, Debug, Args)]
pub(crate) struct RunsArgs {
    /// The directory of runs
    #[arg(long, value_name = "DIR", default_value = "runs")]
    pub(crate) runs: PathBuf,
}

impl Default for RunsArgs {
    fn default() -> Self {
        Self { runs: PathBuf::from("runs") }
    }
}

/// A run, and where runs are stored.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct RunName {
    /// A run's directory, a bundle, its name, the beginning or end of its id, its suite, or
    /// `latest`
    #[arg(value_name = "RUN", default_value = "latest")]
    pub(crate) run: String,
    #[command(flatten)]
    pub(crate) runs: RunsArgs,
}

#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "\
Examples:
  kvdyno run quick
  kvdyno run quick --engine lmdb,rocksdb --trials 6
  kvdyno run quick --engine lmdb,lmdb1,direct                engines that a suite lacks are added
  kvdyno run quick --data-dir /mnt/nvme/kvdyno --create-data-dir --duration 30s
  kvdyno run symas-optane-2018 --scale 1/64 --quick --data-dir /mnt/nvme
  kvdyno run symas-optane-2018 --medium flash=/dev/nvme1n1 --destroy-data-on=/dev/nvme1n1
  kvdyno run mine.toml --set data.records=80M --set ram.limit=64GiB
  kvdyno run mine.toml --set engine.redis.server.attach=env:REDIS_URL --yes-load db.example
  kvdyno run quick --set data.value_bytes=100,1000,4000      each size with its own data
  kvdyno run mine.toml --set phase.measure.role.readers.rate=50k
  kvdyno run db_bench --phases fillrandom,readrandom         phases by db_bench's names
  kvdyno run db_bench --set-db_bench --bloom_bits=10         with db_bench's own flags
  kvdyno run ycsb --set-ycsb @workloada --set-ycsb recordcount=1000000
  kvdyno run quick --json > summary.json
  kvdyno run quick --name before --note stock-kernel    then: kvdyno show before

`kvdyno run quick` runs the built-in suite called quick (`kvdyno suites show quick`). `kvdyno quick`
is a different command: it makes a suite from its options.

The first Ctrl-C ends the current case and keeps the completed ones (`kvdyno resume` continues). The
second one ends at once.")]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) suite: SuiteArgs,
    /// A block device of the suite's volumes or memory tiers whose data may be destroyed, by its
    /// full path; may be repeated
    #[arg(long, value_name = "DEVICE", require_equals = true)]
    pub(crate) destroy_data_on: Vec<PathBuf>,
    /// The host of an attached server that the run may load; may be repeated
    #[arg(long, value_name = "HOST")]
    pub(crate) yes_load: Vec<String>,
    /// Show what would be done and how long it takes, without running it: same as `kvdyno plan`
    #[arg(long)]
    pub(crate) plan: bool,
    #[command(flatten)]
    pub(crate) budget: BudgetArgs,
    #[command(flatten)]
    pub(crate) keep: KeepArgs,
    #[command(flatten)]
    pub(crate) view: ViewArgs,
}

/// Trials beyond those of the suite.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct BudgetArgs {
    /// Add trials until rates, claims and --target are decided: at most 32, and none that would
    /// end later than this, e.g. 10m
    #[arg(long, value_name = "TIME")]
    pub(crate) budget: Option<String>,
    /// Two rates that differ by less are equal [default: 3%]; alone, adds trials as --budget does,
    /// up to 32
    #[arg(long, value_name = "SHARE")]
    pub(crate) within: Option<String>,
}

impl BudgetArgs {
    pub(crate) fn time(&self) -> Result<Option<Duration>, Complaint> {
        let time = self.budget.as_deref().map(units::parse_duration).transpose();
        let time = time.map_err(|error| Complaint::usage(format!("--budget: {error}")))?;
        let endless = self.within.is_some().then_some(Duration::MAX);
        Ok(time.map(Duration::from_nanos).or(endless))
    }

    /// Puts `--within` into a plan.
    pub(crate) fn set_within(&self, plan: &mut Plan) -> Result<(), Complaint> {
        if let Some(within) = &self.within {
            plan.within = parse_within(within)?;
        }
        Ok(())
    }
}

/// Parses the share of `--within`.
pub(crate) fn parse_within(text: &str) -> Result<f64, Complaint> {
    let share = units::parse_share(text);
    let share = share.map_err(|error| Complaint::usage(format!("--within: {error}")))?;
    if share > 0.0 {
        return Ok(share);
    }
    let what = format!("--within: found `{text}`, expected a share above 0");
    Err(Complaint::usage(what).hint("no two rates are equal within 0: `--within 1%`"))
}

#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "\
Examples:
  kvdyno resume                     continue the latest run
  kvdyno resume --budget 10m        add trials until its verdicts are decided
  kvdyno resume 2026-11-20T10")]
pub(crate) struct ResumeArgs {
    #[command(flatten)]
    pub(crate) name: RunName,
    #[command(flatten)]
    pub(crate) named: NamedArgs,
    /// A block device of the suite's volumes or memory tiers whose data may be destroyed, by its
    /// full path; may be repeated
    #[arg(long, value_name = "DEVICE", require_equals = true)]
    pub(crate) destroy_data_on: Vec<PathBuf>,
    /// The host of an attached server that the run may load; may be repeated
    #[arg(long, value_name = "HOST")]
    pub(crate) yes_load: Vec<String>,
    #[command(flatten)]
    pub(crate) budget: BudgetArgs,
    #[command(flatten)]
    pub(crate) view: ViewArgs,
}

#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "\
Examples:
  kvdyno list
  kvdyno list --runs /srv/kvdyno/runs --json")]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) runs: RunsArgs,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "\
Examples:
  kvdyno check                      the latest run
  kvdyno check runs/2026-11-20T10-15-02Z_quick_7f3a --json

Reads the files of a record again and compares them: series, histograms and counts; keys found and
records counted; bytes written at the kernel and bytes given to the engine; checksums. Ends with
exit code 4 when a check fails.")]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) name: RunName,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// List the passed checks too, one by one
    #[arg(long, conflicts_with = "json")]
    pub(crate) all: bool,
}

#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "\
Examples:
  kvdyno doctor
  kvdyno doctor --data-dir /mnt/nvme
  kvdyno doctor --strict            fails if anything would distort figures: for CI")]
pub(crate) struct DoctorArgs {
    /// The directory in which databases would be created
    #[arg(long, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// End with exit code 4 if anything would distort the figures
    #[arg(long)]
    pub(crate) strict: bool,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "\
Examples:
  kvdyno suites
  kvdyno suites show quick > mine.toml")]
pub(crate) struct SuitesArgs {
    #[command(subcommand)]
    pub(crate) action: Option<SuitesAction>,
}

/// What to do with the built-in suites.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum SuitesAction {
    /// Print a suite's file
    Show {
        /// The suite's name
        #[arg(value_parser = SuiteName, hide_possible_values = true)]
        name: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_commands_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_commands_own_options_come_before_those_of_all() {
        let mut command = Cli::command();
        command.build();
        let run = command.find_subcommand_mut("run").unwrap();
        let help = run.render_help().to_string();
        let at = |option: &str| help.find(&format!(" {option} ")).unwrap();
        assert!(at("--engine") < at("--data-dir") && at("--data-dir") < at("--set"), "{help}");
        assert!(at("--set") < at("--color"), "{help}");
    }

    #[test]
    fn every_example_of_the_help_can_be_parsed() {
        let mut lines = examples(Cli::command().get_after_help());
        for command in Cli::command().get_subcommands() {
            lines.extend(examples(command.get_after_help()));
            for below in command.get_subcommands() {
                lines.extend(examples(below.get_after_help()));
            }
        }
        assert!(lines.len() > 20, "{lines:?}");
        for line in lines {
            Cli::try_parse_from(&line).unwrap_or_else(|error| panic!("{line:?}: {error}"));
        }
    }

    /// Splits a line into words as a shell does: not between quotes.
    fn words(line: &str) -> Vec<String> {
        let parts = line.split('\'').enumerate();
        let text = parts
            .map(|(n, part)| if n % 2 == 0 { part.replace(' ', "\n") } else { part.to_owned() });
        text.collect::<String>().split('\n').map(str::to_owned).collect()
    }

    /// The command lines of a help text: up to a redirection, or to two spaces before a remark.
    fn examples(help: Option<&clap::builder::StyledStr>) -> Vec<Vec<String>> {
        let text = help.map(ToString::to_string).unwrap_or_default();
        let command = |line: &str| {
            let start = line.find("kvdyno ").filter(|_| line.starts_with("  "))?;
            let line = &line[start..];
            let end = ["  ", " >", " |"].iter().filter_map(|end| line.find(end)).min();
            Some(words(&line[..end.unwrap_or(line.len())]))
        };
        text.lines().filter_map(command).collect()
    }
}
