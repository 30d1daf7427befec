//! The options of the command line that change a suite.

use kvdyno_record::plan::Counting;
use kvdyno_record::units::Ratio;
use std::path::PathBuf;

/// Changes that the command line makes to a suite.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// `--set path=value`, in order; later ones win.
    pub set: Vec<String>,
    /// `--set-db_bench`: flags of `db_bench`, applied before `set`.
    pub db_bench: Vec<String>,
    /// The files that those flags name with `--options_file` and `--flagfile`: path and text.
    pub db_bench_files: Vec<(String, String)>,
    /// `--set-ycsb`: properties of YCSB, applied before `set`.
    pub ycsb: Vec<String>,
    /// The files that those properties name with `-P`: path and text.
    pub ycsb_files: Vec<(String, String)>,
    /// `--threads 1,2`: replaces `run.threads`.
    pub threads: Vec<u32>,
    /// `--trials N`: replaces `run.trials`.
    pub trials: Option<u32>,
    /// `--data-dir DIR`: replaces `data_dir.path`.
    pub data_dir: Option<PathBuf>,
    /// `--part a,b`: only these parts. Empty: all.
    pub parts: Vec<String>,
    /// `--phases a,b`: replaces `run.phases`, in every part. Empty: as in the suite.
    pub phases: Vec<String>,
    /// `--engine a,b`: only these engines, by label or name. Empty: all.
    pub engines: Vec<String>,
    /// The engines with a worker on this machine, which `engines` may add to a suite.
    pub installed: Vec<String>,
    /// `--medium flash=/dev/nvme1n1`: the path of a medium of the suite.
    pub media: Vec<String>,
    /// `--duration 30s`: replaces `duration` and `operations` of every measured phase.
    pub duration: Option<String>,
    /// True: `duration` changes only the last measured phase, which `size` and `capacity` judge.
    pub duration_of_last: bool,
    /// `--hours 24`: duration of every measured phase, with one window per hour.
    pub hours: Option<u32>,
    /// `--quick` on a machine with this many processors: phases of seconds, few thread counts, one
    /// trial.
    pub quick: Option<u32>,
    /// `--scale 1/1000`: scales records, data size, absolute RAM limits and operation counts.
    /// Times, rates and options stay.
    pub scale: Option<Ratio>,
    /// `--no-ram-limit`: removes the suite's limits. Data keeps the size that it has with them.
    pub no_ram_limit: bool,
    /// `--profile`: samples the functions that threads are in.
    pub profile: bool,
    /// `--count`, `--count=processor`: counts instructions.
    pub count: Option<Counting>,
    /// `--why`: counts instructions by function as well, in trials of their own.
    pub explain: Option<Explain>,
}

/// The trials that count instructions by function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Explain {
    /// In addition to the timed trials.
    Beside,
    /// Instead of the timed trials.
    Alone,
}

impl Overrides {
    /// Returns whether valgrind counts instructions instead of times.
    pub fn is_counted(&self) -> bool {
        self.count == Some(Counting::Valgrind)
    }
}
