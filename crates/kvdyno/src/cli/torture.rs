//! `torture`: what can be typed.

use super::RunsArgs;
use clap::{Args, ValueEnum, ValueHint};
use kvdyno_record::engine::Durability;
use kvdyno_record::volume::FilesystemKind;
use std::path::PathBuf;

#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "\
Examples:
  kvdyno torture --engine lmdb                         all its classes, on ext4
  kvdyno torture --engine lmdb,rocksdb --durability commit --states 1000
  kvdyno torture --engine rocksdb --filesystem xfs --writers 16
  kvdyno torture --engine rocksdb --set write_buffer_size=256KiB
  kvdyno torture --engine direct --quick               in seconds: 40 states of each class
  kvdyno torture --replay runs/2026-11-22T18-00-00Z_torture_7f3a --engine lmdb --state 17

The engine works, unmodified, on a real filesystem on a loop device over a file that records every
write and every flush, and in the same order every write that the engine has acknowledged. From that
follows what a drive may hold when the power goes at any moment: all that was flushed, and of the
rest nothing, some writes, some sectors, another order, or all. Each such state is mounted, the
engine recovers, and what it says is held against what it had promised. Beside that its process is
killed at random moments, and the drive fails: EIO at one flush, ENOSPC, 30 s without an answer.

A class is held to what it promises: `commit` loses nothing; `async` loses nothing when its process
is killed, and after a power loss shows no torn value and no half of a batch; `none` opens or says
that it cannot. `0 of 300 (< 1 %)` says how often it may lose and not be caught here. A drive that
ignores flushes must be caught: else the cell says `cannot tell`. docs/torture.md says what it
cannot see. Needs root (loop devices, mounts) and FUSE.

Exit codes: 3 a promise was broken; 4 it cannot be told; 2 something is missing here")]
pub(crate) struct TortureArgs {
    /// The engines
    #[arg(long = "engine", value_name = "NAME", value_delimiter = ',', required = true)]
    pub(crate) engines: Vec<String>,
    /// Only these classes: none, async, commit
    #[arg(long, value_name = "CLASS", value_delimiter = ',', value_parser = class)]
    pub(crate) durability: Vec<Durability>,
    /// States of a power loss, of each class [default: 300]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) states: Option<u64>,
    /// Threads that write
    #[arg(long, value_name = "N", default_value_t = 4,
          value_parser = clap::value_parser!(u64).range(1..=64))]
    pub(crate) writers: u64,
    /// What is made on the drive
    #[arg(long, value_enum, default_value_t, value_name = "ext4|xfs", hide_possible_values = true)]
    pub(crate) filesystem: TortureFilesystem,
    /// The folder for mount points; all data is in memory [default: a temporary one]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) place: Option<PathBuf>,
    /// An option of the engines, as `write_buffer_size=256KiB`; may be repeated
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) set: Vec<String>,
    /// Of all draws: the same moments and losses again, as far as the engine does the same again
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// 40 states, and a pause of 3 s
    #[arg(long)]
    pub(crate) quick: bool,
    /// Keep the recordings of all classes, not of those alone in which something was found
    #[arg(long)]
    pub(crate) keep: bool,
    /// The folder of a torture whose recording was kept: one state of it again (--state)
    #[arg(long, value_name = "DIR", requires = "state", value_hint = ValueHint::DirPath)]
    pub(crate) replay: Option<PathBuf>,
    /// The state to replay; its drive is kept as an image beside the recording
    #[arg(long, value_name = "N", requires = "replay")]
    pub(crate) state: Option<u64>,
    #[command(flatten)]
    pub(crate) runs: RunsArgs,
    /// The record as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Filesystems that can be tortured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum TortureFilesystem {
    #[default]
    Ext4,
    Xfs,
}

impl From<TortureFilesystem> for FilesystemKind {
    fn from(filesystem: TortureFilesystem) -> Self {
        match filesystem {
            TortureFilesystem::Ext4 => Self::Ext4,
            TortureFilesystem::Xfs => Self::Xfs,
        }
    }
}

fn class(typed: &str) -> Result<Durability, String> {
    let classes = [Durability::None, Durability::Async, Durability::Commit];
    let known = classes.into_iter().find(|class| class.as_str() == typed);
    known.ok_or_else(|| "a class is one of none, async, commit".to_owned())
}
