//! The command line of `bisect`.

use super::{BendArgs, KeepArgs, SuiteName};
use clap::{Args, ValueHint};
use std::path::PathBuf;

#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "\
Examples:
  kvdyno bisect --good v9.10.0 --bad HEAD --build 'make shared_lib' --library librocksdb.so
  kvdyno bisect --repo ~/ldb --good 1.22 --bad main --engine leveldb --build ./b.sh --library l.so
  kvdyno bisect --good a --bad b --build make --library e.so --phase scans

It finds the first commit after GOOD whose phase costs as much as BAD's. It works like `git bisect
run`, with `kvdyno versus` of GOOD and the commit as the test. First it builds both ends. If their
instructions per operation differ (valgrind, as --why counts them), instructions decide for all
commits: that needs no quiet machine. Otherwise the two take turns and their rates decide.

The commit is built in a clone of the repository in RUNS/bisect_GOOD_BAD, so the repository stays
as it is. A commit whose build fails is skipped. After an interrupt, the same command
continues.

Exit codes: 0 found; 4 the ends do not differ, or the rest cannot be decided; 130 interrupted")]
pub(crate) struct BisectArgs {
    /// The engine's git repository
    #[arg(long, value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub(crate) repo: PathBuf,
    /// A commit before the change
    #[arg(long, value_name = "COMMIT")]
    pub(crate) good: String,
    /// A later commit, with the change
    #[arg(long, value_name = "COMMIT")]
    pub(crate) bad: String,
    /// The shell command that builds a commit; it runs in the clone
    #[arg(long, value_name = "COMMAND")]
    pub(crate) build: String,
    /// The library that the command builds, as a path in the clone
    #[arg(long, value_name = "FILE")]
    pub(crate) library: PathBuf,
    /// The engine: one that is loaded as a library
    #[arg(long, value_name = "NAME", default_value = "rocksdb")]
    pub(crate) engine: String,
    /// The phase that changed: a measured phase, or the load [default: the first measured phase]
    #[arg(long, value_name = "PHASE")]
    pub(crate) phase: Option<String>,
    /// The suite: built-in, or the path of a TOML file
    #[arg(
        long,
        value_name = "SUITE",
        value_parser = SuiteName,
        default_value = "versus",
        hide_possible_values = true,
        value_hint = ValueHint::FilePath
    )]
    pub(crate) suite: String,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) bend: BendArgs,
    #[command(flatten)]
    pub(crate) keep: KeepArgs,
}
