//! A suite, changes to it, and `kvdyno plan`.

use super::RunsArgs;
use crate::exit::Complaint;
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Args, ValueEnum, ValueHint};
use kvdyno_record::plan::Counting;
use kvdyno_record::units;
use kvdyno_suite::{self as suite, Overrides};
use std::path::PathBuf;

/// A suite and changes to it.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SuiteArgs {
    /// A built-in suite's name, or the path of a TOML file
    #[arg(value_parser = SuiteName, hide_possible_values = true, value_hint = ValueHint::FilePath)]
    pub(crate) suite: String,
    /// Only these engines, by label or name; one that the suite lacks is added
    #[arg(long = "engine", value_name = "NAME", value_delimiter = ',')]
    pub(crate) engines: Vec<String>,
    /// Only these parts of the suite
    #[arg(long = "part", value_name = "NAME", value_delimiter = ',')]
    pub(crate) parts: Vec<String>,
    /// Only these phases, in this order, of the suite's own and included ones, as
    /// `fillrandom,readrandom`
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) phases: Vec<String>,
    /// The swept thread counts, as `1,2,4`
    #[arg(long, value_name = "LIST", value_delimiter = ',',
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) threads: Vec<u32>,
    /// Duration of each measured phase, e.g. 30s
    #[arg(long, value_name = "TIME")]
    pub(crate) duration: Option<String>,
    /// Number of trials of each case: four can show differences, six or more small ones
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) trials: Option<u32>,
    /// Shorten the suite for a first look: phases of seconds, few thread counts, one trial
    #[arg(long, conflicts_with = "hours")]
    pub(crate) quick: bool,
    /// Duration of each measured phase in hours, with figures of each hour
    #[arg(long, value_name = "N", conflicts_with = "duration", value_parser = whole_hours)]
    pub(crate) hours: Option<u32>,
    /// Change the suite by flags of `db_bench`, as `--num=1000000 --bloom_bits=10`, or @FILE of
    /// them
    #[arg(long = "set-db_bench", value_name = "FLAGS", allow_hyphen_values = true)]
    pub(crate) db_bench: Vec<String>,
    #[command(flatten)]
    pub(crate) ycsb: YcsbArgs,
    #[command(flatten)]
    pub(crate) bend: BendArgs,
}

impl SuiteArgs {
    pub(crate) fn overrides(&self) -> Result<Overrides, Complaint> {
        let threads = self.threads.clone();
        let mut engines = self.engines.clone();
        if matches!(self.bend.count, Some(CountBy::Valgrind)) && !engines.is_empty() {
            engines.push("null".to_owned());
        }
        let (parts, phases) = (self.parts.clone(), self.phases.clone());
        let (duration, trials) = (self.duration.clone(), self.trials);
        let cpus = || std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u32);
        let (quick, hours) = (self.quick.then(cpus), self.hours);
        let db_bench: Vec<String> =
            self.db_bench.iter().map(|text| flags(text)).collect::<Result<_, _>>()?;
        let db_bench_files = files_of_flags(&db_bench)?;
        let overrides = self.bend.overrides()?;
        let overrides = Overrides { db_bench, db_bench_files, phases, quick, hours, ..overrides };
        let overrides = self.ycsb.overrides(overrides)?;
        Ok(Overrides { parts, threads, engines, duration, trials, ..overrides })
    }
}

fn whole_hours(text: &str) -> Result<u32, &'static str> {
    let hours = text.parse().ok().filter(|hours| (1..=1000).contains(hours));
    hours.ok_or("expected a whole number from 1 to 1000: for less, use `--duration 30m`")
}

/// Returns flags as typed, or reads those of a file.
fn flags(text: &str) -> Result<String, Complaint> {
    let Some(file) = text.strip_prefix('@') else { return Ok(text.to_owned()) };
    read_flag_file(file)
}

/// Properties of YCSB, for the commands that measure a suite.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct YcsbArgs {
    /// Replace the measured phases by YCSB's workload: @FILE of properties, or its arguments, as
    /// `-P workloada -p recordcount=1000000 -threads 8`; may be repeated
    #[arg(long = "set-ycsb", value_name = "PROPERTIES", allow_hyphen_values = true)]
    pub(crate) properties: Vec<String>,
}

impl YcsbArgs {
    /// Adds these properties to other changes.
    pub(crate) fn overrides(&self, others: Overrides) -> Result<Overrides, Complaint> {
        // The path is quoted as for a shell.
        let quoted = |path: &str| format!("-P '{}'", path.replace('\'', r"'\''"));
        let line = |text: &String| text.strip_prefix('@').map_or(text.clone(), quoted);
        let ycsb: Vec<String> = self.properties.iter().map(line).collect();
        let files = ycsb
            .iter()
            .map(|line| kvdyno_suite::read_ycsb_files(line, |file| read_text("--set-ycsb", file)));
        let files: Vec<Vec<(String, String)>> = files.collect::<Result<_, _>>()?;
        Ok(Overrides { ycsb, ycsb_files: files.concat(), ..others })
    }
}

/// Reads the files that flags name. Returns the path and the text of each.
fn files_of_flags(flags: &[String]) -> Result<Vec<(String, String)>, Complaint> {
    let files: Vec<Vec<(String, String)>> = flags
        .iter()
        .map(|flags| kvdyno_suite::read_db_bench_files(flags, read_flag_file))
        .collect::<Result<_, _>>()?;
    Ok(files.concat())
}

fn read_flag_file(file: &str) -> Result<String, Complaint> {
    read_text("--set-db_bench", file)
}

fn read_text(option: &str, file: &str) -> Result<String, Complaint> {
    std::fs::read_to_string(file)
        .map_err(|error| Complaint::usage(format!("{option}: cannot read {file}: {error}")))
}

/// Changes to any suite, whatever selects its engines, threads and trials.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct BendArgs {
    #[command(flatten)]
    pub(crate) location: LocationArgs,
    /// Scale records, RAM and operation counts, as `1/1000`
    #[arg(long, value_name = "RATIO")]
    pub(crate) scale: Option<String>,
    /// Do not limit RAM, even if the suite does
    #[arg(long)]
    pub(crate) no_ram_limit: bool,
    /// Count instructions: with valgrind instead of times, equal to 0.1 % from run to run; or with
    /// the processor next to times, with cycles, cache misses and branch misses
    #[arg(long, value_name = "BY", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "valgrind")]
    pub(crate) count: Option<CountBy>,
    /// Sample the functions that threads are in while they run: flame graphs on the page, and in
    /// exports
    #[arg(long)]
    pub(crate) profile: bool,
    /// The path of a medium of the suite: a block device, a directory, or `data-dir`; may be
    /// repeated
    #[arg(long = "medium", value_name = "NAME=PATH")]
    pub(crate) media: Vec<String>,
    /// Change one value of the suite, as `data.records=8M`; may be repeated
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
}

impl BendArgs {
    pub(crate) fn overrides(&self) -> Result<Overrides, Complaint> {
        let scale = self.scale.as_deref().map(units::parse_ratio).transpose();
        let scale = scale.map_err(|error| Complaint::usage(format!("--scale: {error}")))?;
        let (set, no_ram_limit) = (self.set.clone(), self.no_ram_limit);
        let (media, count) = (self.media.clone(), self.count.map(Counting::from));
        let profile = self.profile;
        Ok(Overrides { set, media, scale, no_ram_limit, count, profile, ..Overrides::default() })
    }
}

/// The counter of instructions.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum CountBy {
    Valgrind,
    Processor,
}

impl From<CountBy> for Counting {
    fn from(count: CountBy) -> Self {
        match count {
            CountBy::Valgrind => Self::Valgrind,
            CountBy::Processor => Self::Processor,
        }
    }
}

/// The location of databases.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct LocationArgs {
    /// An empty directory for the databases, which are removed afterwards
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) data_dir: Option<PathBuf>,
    /// Create the data directory if it does not exist, and remove it afterwards
    #[arg(long)]
    pub(crate) create_data_dir: bool,
}

/// Any text; shells complete the built-in suites. The command interprets it.
#[derive(Clone, Copy, Debug)]
pub(super) struct SuiteName;

impl TypedValueParser for SuiteName {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(suite::builtin().iter().map(|(name, _)| PossibleValue::new(*name))))
    }
}

#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "\
Examples:
  kvdyno plan quick
  kvdyno plan quick --cases
  kvdyno plan symas-optane-2018 --scale 1/64 --data-dir /mnt/nvme
  kvdyno plan mine.toml --scale 1/100 --json | jq '.cases[].id'")]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) suite: SuiteArgs,
    /// Every case on a line
    #[arg(long, conflicts_with = "json")]
    pub(crate) cases: bool,
    /// The whole plan as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) runs: RunsArgs,
}
