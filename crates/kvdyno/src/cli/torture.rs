//! The command line of `torture`.

use super::RunsArgs;
use clap::{Args, ValueEnum, ValueHint};
use kvdyno_record::engine::Durability;
use kvdyno_record::torture::WRITERS_MAX;
use kvdyno_record::volume::FilesystemKind;
use std::path::PathBuf;

#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "\
Examples:
  kvdyno torture --engine lmdb                         all its classes, on ext4
  kvdyno torture --engine lmdb,rocksdb --durability commit --power-losses 1000
  kvdyno torture --engine rocksdb --filesystem xfs --writers 16
  kvdyno torture --engine rocksdb --set write_buffer_size=256KiB
  kvdyno torture --engine direct --quick               in seconds: 40 losses of each class
  kvdyno torture --replay runs/2026-11-22T18-00-00Z_torture_7f3a --engine lmdb --power-loss 17

The unmodified engine runs on a real filesystem on a loop device. The file below it records every
write and every flush, and in the same order every write that the engine acknowledged. The
recording shows what a drive may contain if the power fails at any moment: everything that was
flushed, and of the rest nothing, some writes, some sectors, another order, or all. Each such state
is mounted, the engine recovers, and its data is compared with its durability promise. In further
trials its process is killed at random moments, and the drive fails: EIO at one flush, ENOSPC, 30 s
without a reply.

Each class must keep its promise: `commit` loses nothing; `async` loses nothing when its process is
killed, and after a power loss shows no torn value and no partial batch; `none` opens or reports
that it cannot. If an engine declares that a power loss can damage `async`, power losses in `async`
are judged as in `none`. `0 of 300 (< 1 %)` gives the upper bound of losses that remained
undetected. The test must detect a drive that ignores flushes: otherwise the cell is `inconclusive`.
docs/torture.md lists what it cannot detect. It needs root (loop devices, mounts) and FUSE.

Exit codes: 3 a promise was broken; 4 no conclusion; 2 a requirement is missing on this machine")]
pub(crate) struct TortureArgs {
    /// The engines, separated by commas
    #[arg(long = "engine", value_name = "NAME", value_delimiter = ',', required = true)]
    pub(crate) engines: Vec<String>,
    /// Only these classes: none, async, commit
    #[arg(long, value_name = "CLASS", value_delimiter = ',', value_parser = class)]
    pub(crate) durability: Vec<Durability>,
    /// Number of power losses for each class [default: 300]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) power_losses: Option<u64>,
    /// Threads that write
    #[arg(long, value_name = "N", default_value_t = 4,
          value_parser = clap::value_parser!(u64).range(1..=WRITERS_MAX))]
    pub(crate) writers: u64,
    /// The filesystem on the drive
    #[arg(long, value_enum, default_value_t, value_name = "ext4|xfs", hide_possible_values = true)]
    pub(crate) filesystem: TortureFilesystem,
    /// The directory for mount points; all data is in memory [default: a temporary one]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) data_dir: Option<PathBuf>,
    /// An option of the engines, as `write_buffer_size=256KiB`; may be repeated
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) set: Vec<String>,
    /// The seed of all random choices: the same seed repeats the same moments and losses, if the
    /// engine repeats its writes
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// 40 power losses, and a pause of 3 s
    #[arg(long)]
    pub(crate) quick: bool,
    /// Keep the recordings of all classes, not only of those with losses
    #[arg(long)]
    pub(crate) keep: bool,
    /// The directory of a torture with a recording: replay one of its power losses (--power-loss)
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) replay: Option<PathBuf>,
    /// The power loss to replay; the drive after it is stored as an image next to the recording
    #[arg(long, value_name = "N")]
    pub(crate) power_loss: Option<u64>,
    #[command(flatten)]
    pub(crate) runs: RunsArgs,
    /// The record as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Filesystems that torture supports.
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
    let class = classes.into_iter().find(|class| class.as_str() == typed);
    class.ok_or_else(|| "expected one of none, async, commit".to_owned())
}
