//! `kvdyno state`.

use super::{KeepArgs, RunsArgs, SuiteArgs};
use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  kvdyno state make mine.toml             load now what `kvdyno run mine.toml` would load
  kvdyno run mine.toml                    begins with it
  kvdyno run mine.toml --states 50GiB     keeps what it loads, too
  kvdyno run mine.toml --states 0         loads all the same
  kvdyno state make mine.toml --set data.overwritten=1      aged: overwritten once after the load
  kvdyno state list
  kvdyno state check                      read every file and compare its checksum
  kvdyno state remove 3f1c0a9be2d4576a
  kvdyno state remove --all

A state is a loaded database that is kept. A later run begins with copies of it, without a load, if
all that it depends on is the same: engine, version, build, options, data, phases, RAM limit. With
`database = \"state\"` each case gets a copy, with \"shared\" one copy serves all cases of a trial;
\"fresh\" always loads. States are kept per trial, and a trial uses them only if all its engines
have one. States lie in `runs/states`, or in `kvdyno-states` of a --data-dir, where copies can share
blocks with them.")]
pub(crate) struct StateArgs {
    #[command(subcommand)]
    pub(crate) action: StateAction,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum StateAction {
    /// Load the databases of a suite and keep them
    Make(Box<MakeArgs>),
    /// List the kept databases
    List(ListStatesArgs),
    /// Compare all bytes of kept databases with their checksums
    Check(CheckStatesArgs),
    /// Remove kept databases
    Remove(RemoveStatesArgs),
}

#[derive(Clone, Debug, Args)]
pub(crate) struct MakeArgs {
    #[command(flatten)]
    pub(crate) suite: SuiteArgs,
    #[command(flatten)]
    pub(crate) keep: KeepArgs,
}

/// The stores of states: that of the directory of runs, and that of a data directory.
#[derive(Clone, Debug, Args)]
pub(crate) struct StoreArgs {
    #[command(flatten)]
    pub(crate) runs: RunsArgs,
    /// A data directory that has states
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) data_dir: Option<PathBuf>,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct ListStatesArgs {
    #[command(flatten)]
    pub(crate) stores: StoreArgs,
    /// As JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct CheckStatesArgs {
    /// The ids of states; none: all
    pub(crate) ids: Vec<String>,
    #[command(flatten)]
    pub(crate) stores: StoreArgs,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct RemoveStatesArgs {
    /// The ids of states
    #[arg(required_unless_present = "all")]
    pub(crate) ids: Vec<String>,
    /// All states
    #[arg(long, conflicts_with = "ids")]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) stores: StoreArgs,
}
