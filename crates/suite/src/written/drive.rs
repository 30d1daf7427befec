//! `[drive]` as typed: jobs on the drive below the databases, without an engine.

use crate::written::engine::{Engine, Options};
use crate::written::read::{At, Or as _, Word, table};
use crate::written::scalar::{
    Bytes, Count, DataSize, Label, Name, Nanoseconds, Rated, Several, Share, Threads, UntypedValue,
};
use kvdyno_record::engine::{Durability, Value};
use kvdyno_record::workload::Choice;
use schemars::JsonSchema;

/// The name of the worker, and of the case that writes the file.
pub(crate) const NAME: &str = kvdyno_record::plan::DRIVE;
/// The worker that runs the job with fio.
pub(crate) const FIO: &str = "fio";

/// The default time of a job, in nanoseconds.
pub(crate) const DURATION_NS: u64 = 10_000_000_000;

/// The preset's jobs with larger I/Os: most engines read blocks and pages between this size and 4
/// KiB.
const LARGER: [(&str, Way); 2] =
    [("drive-psync-16k", Way::Psync), ("drive-io_uring-16k", Way::IoUring)];
const LARGER_BYTES: u64 = 16 << 10;

/// Jobs on the bare drive of the databases, as cases of the same run (docs/drive.md). A file in the
/// databases' location is written in full, once in a run; then the jobs work on it. `[ram]` limits
/// only jobs that use the page cache. `block`, `depth`, `threads`, `duration` and `warmup` are the
/// defaults of the jobs.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Drive {
    /// The size of the file. Default: auto, the size of the largest data set.
    pub(crate) size: Option<At<DataSize>>,
    /// A predefined set of jobs. Default: none.
    pub(crate) preset: Option<At<Preset>>,
    /// Treats the jobs' figures as the limit of the engines' figures. Default: true with a preset,
    /// else false.
    pub(crate) ceiling: Option<At<bool>>,
    /// Repetitions of each job, at most `run.trials`. Default: `run.trials`.
    pub(crate) trials: Option<At<Several>>,
    /// Full writes of the file before the measurement, in order, in blocks of 128 KiB. Default: one
    /// write in blocks of 1 MiB.
    pub(crate) precondition: Option<At<Count>>,
    /// Runs the jobs in the written order in every trial. Default: false, a new random order in
    /// each trial.
    pub(crate) in_order: Option<At<bool>>,
    /// Writes nothing. For a block device that holds data. Default: false.
    pub(crate) read_only: Option<At<bool>>,
    /// Runs every job by fio too, under its name and `-fio`. Default: false.
    pub(crate) with_fio: Option<At<bool>>,
    /// Bytes of one operation, a multiple of 512; any number through the page cache. Default: 4KiB.
    pub(crate) block: Option<At<Bytes>>,
    /// Operations in flight per thread of `io_uring` jobs. Default: 1, or 32 for jobs of a preset.
    pub(crate) depth: Option<At<Several>>,
    /// Threads of a job. Default: 1, or `"sweep"` for jobs of a preset if the suite sweeps threads.
    pub(crate) threads: Option<At<Threads>>,
    /// The time of a job. Default: 10s.
    pub(crate) duration: Option<At<Nanoseconds>>,
    /// The same work before the measurement, not counted. Default: none.
    pub(crate) warmup: Option<At<Nanoseconds>>,
    /// The jobs, in fio's words. Default: those of the preset.
    #[schemars(default)]
    pub(crate) job: Vec<At<DriveJob>>,
}

/// One job on the drive.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct DriveJob {
    /// The name of the job in tables, unlike every other job and engine. Default: `drive-` and the
    /// `io`, as `drive-psync`.
    pub(crate) name: Option<At<Name>>,
    /// The system calls. Default: `io_uring`.
    pub(crate) io: Option<At<Way>>,
    /// The kind of work. Default: randread.
    pub(crate) rw: Option<At<Pattern>>,
    /// The share of reads in `randrw` and `rw`. Default: 0.5.
    pub(crate) read_share: Option<At<Share>>,
    /// The distribution of random blocks. Default: uniform.
    pub(crate) keys: Option<At<Choice>>,
    /// Bytes of one operation, a multiple of 512; any number through the page cache. Default: that
    /// of `[drive]`.
    pub(crate) block: Option<At<Bytes>>,
    /// Operations in flight per thread; only `io_uring`. Default: that of `[drive]`.
    pub(crate) depth: Option<At<Several>>,
    /// Threads of the job. Default: those of `[drive]`.
    pub(crate) threads: Option<At<Threads>>,
    /// The time of the job. Default: that of `[drive]`.
    pub(crate) duration: Option<At<Nanoseconds>>,
    /// The same work before the measurement, not counted; a job that trims has none. Default: that
    /// of `[drive]`.
    pub(crate) warmup: Option<At<Nanoseconds>>,
    /// Flushes with fdatasync after this many writes of a thread, as fio's `fdatasync=N`. A flush
    /// is an operation of its own, with its own latencies. Only for jobs that write, and not with
    /// `io = "mmap"`. Default: none.
    pub(crate) flush_every: Option<At<Several>>,
    /// Operations per second of the whole job, at equal gaps: an open loop, as fio's `rate_iops` of
    /// all its jobs. Not beside `with_fio`. Default: a closed loop.
    pub(crate) rate: Option<At<Rated>>,
    /// The pause of a thread after each operation, as fio's `thinktime`. Needs `io = "psync"` or
    /// `"mmap"`; not with `rate`, and not beside `with_fio`. Default: none.
    pub(crate) think_time: Option<At<Nanoseconds>>,
    /// The promise of a completed write. Default: async.
    pub(crate) durability: Option<At<Durability>>,
    /// Further options of the worker; `kvdyno engines drive` lists them. Default: none.
    #[schemars(default)]
    pub(crate) options: Options,
}

/// A set of jobs on the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "snake_case", rename = "DrivePreset")]
pub(crate) enum Preset {
    /// Random reads of 4 KiB by `psync`, `io_uring` and `mmap`. Without `block` also of 16 KiB by
    /// the first two. The thread counts are those of the roles at each point of the sweep.
    Ceiling,
}

/// The system calls of a drive's job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "snake_case", rename = "DriveIo")]
pub(crate) enum Way {
    /// Many operations in flight, by `io_uring`.
    IoUring,
    /// One blocking call at a time.
    Psync,
    /// Through a memory map of the file, with the page cache.
    Mmap,
}

/// The kind of work of a drive's job, in fio's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "lowercase", rename = "DriveRw")]
pub(crate) enum Pattern {
    /// Random reads.
    Randread,
    /// Random writes.
    Randwrite,
    /// Random reads and writes.
    Randrw,
    /// Sequential reads.
    Read,
    /// Sequential writes.
    Write,
    /// Sequential reads and writes.
    Rw,
    /// Random discards of blocks, in a file of the job's own that is written for each trial. The
    /// job ends once it has made as many as the file has blocks.
    Randtrim,
    /// Sequential discards of blocks, otherwise as `randtrim`.
    Trim,
}

impl Word for Preset {
    const WHAT: &'static str = "a preset of the drive";
    const ALL: &'static [(&'static str, Self)] = &[("ceiling", Self::Ceiling)];
}

impl Word for Way {
    const WHAT: &'static str = "a way to call the kernel";
    const ALL: &'static [(&'static str, Self)] =
        &[("io_uring", Self::IoUring), ("psync", Self::Psync), ("mmap", Self::Mmap)];
}

impl Word for Pattern {
    const WHAT: &'static str = "a kind of work";
    const ALL: &'static [(&'static str, Self)] = &[
        ("randread", Self::Randread),
        ("randwrite", Self::Randwrite),
        ("randrw", Self::Randrw),
        ("read", Self::Read),
        ("write", Self::Write),
        ("rw", Self::Rw),
        ("randtrim", Self::Randtrim),
        ("trim", Self::Trim),
    ];
}

impl Way {
    /// Returns its word, which the worker uses too.
    pub(crate) fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(_, way)| *way == self).map_or("", |(word, _)| word)
    }
}

impl Pattern {
    pub(crate) fn is_random(self) -> bool {
        matches!(self, Self::Randread | Self::Randwrite | Self::Randrw | Self::Randtrim)
    }

    /// Returns the name of its role.
    pub(crate) fn role_name(self) -> &'static str {
        match self {
            Self::Randread | Self::Read => "reads",
            Self::Randwrite | Self::Write => "writes",
            Self::Randrw | Self::Rw => "mixed",
            Self::Randtrim | Self::Trim => "trims",
        }
    }

    /// Returns whether the job discards blocks: another job cannot use the file afterwards.
    pub(crate) fn trims(self) -> bool {
        matches!(self, Self::Randtrim | Self::Trim)
    }

    pub(crate) fn is_mixed(self) -> bool {
        matches!(self, Self::Randrw | Self::Rw)
    }
}

impl DriveJob {
    pub(crate) fn io(&self) -> Way {
        self.io.value_or(Way::IoUring)
    }

    pub(crate) fn rw(&self) -> Pattern {
        self.rw.value_or(Pattern::Randread)
    }

    /// Returns the share of reads among its operations.
    pub(crate) fn read_share(&self) -> f64 {
        match self.rw() {
            Pattern::Randread | Pattern::Read => 1.0,
            Pattern::Randwrite | Pattern::Write | Pattern::Randtrim | Pattern::Trim => 0.0,
            Pattern::Randrw | Pattern::Rw => self.read_share.value_or(Share(0.5)).0,
        }
    }

    /// Returns its name in tables and directories.
    pub(crate) fn label(&self) -> String {
        self.name.as_ref().map_or_else(|| format!("drive-{}", self.io().as_str()), |n| n.0.clone())
    }
}

impl Drive {
    /// Returns whether its figures are the limit of the other cases' figures.
    pub(crate) fn is_ceiling(&self) -> bool {
        self.ceiling.value_or(self.preset.is_some())
    }

    pub(crate) fn is_read_only(&self) -> bool {
        self.read_only.value_or(false)
    }

    pub(crate) fn is_with_fio(&self) -> bool {
        self.with_fio.value_or(false)
    }

    /// Returns the names of the workers that it needs.
    pub(crate) fn workers(&self) -> &'static [&'static str] {
        if self.is_with_fio() { &[NAME, FIO] } else { &[NAME] }
    }

    /// Copies the section's settings into the jobs, and puts the preset's jobs first. `swept`: the
    /// suite has numbers of threads to sweep.
    pub(crate) fn complete(&mut self, swept: bool) {
        for job in &mut self.job {
            let job = &mut job.value;
            let pipelined = job.io() == Way::IoUring && !job.rw().trims();
            inherit(&mut job.block, self.block.as_ref());
            inherit(&mut job.threads, self.threads.as_ref());
            inherit(&mut job.duration, self.duration.as_ref());
            inherit(&mut job.warmup, self.warmup.as_ref());
            inherit(&mut job.depth, self.depth.as_ref().filter(|_| pipelined));
        }
        if let Some(preset) = &self.preset {
            let jobs = [Way::Psync, Way::IoUring, Way::Mmap];
            let jobs = jobs.map(|io| self.ceiling_job(&preset.with(io), swept));
            let larger = |(name, io): (&str, Way)| {
                let mut job = self.ceiling_job(&preset.with(io), swept);
                job.value.name = Some(preset.with(Name(name.to_owned())));
                job.value.block = Some(preset.with(Bytes(LARGER_BYTES)));
                job
            };
            let larger = LARGER.into_iter().filter(|_| self.block.is_none()).map(larger);
            let jobs: Vec<_> = jobs.into_iter().chain(larger).collect();
            self.job.splice(0..0, jobs);
        }
    }

    fn ceiling_job(&self, io: &At<Way>, swept: bool) -> At<DriveJob> {
        let depth = || self.depth.clone().unwrap_or(io.with(Several(32)));
        let sweep = swept.then_some(io.with(Threads::Sweep));
        let job = DriveJob {
            block: self.block.clone(),
            depth: (io.value == Way::IoUring).then(depth),
            threads: self.threads.clone().or(sweep),
            duration: self.duration.clone(),
            warmup: self.warmup.clone(),
            io: Some(io.clone()),
            ..DriveJob::default()
        };
        io.with(job)
    }
}

/// Returns each job as an engine that a suite could name, after the engine that writes the file;
/// with fio, each job twice.
pub(crate) fn engines(drive: &At<Drive>) -> Vec<Engine> {
    let fill = Engine::with_defaults(
        drive.with(Name(NAME.to_owned())),
        drive.with(Label(NAME.to_owned())),
    );
    let jobs = drive.job.iter().map(|job| engine(drive, job, NAME, job.label()));
    let by_fio = drive.job.iter().filter(|_| drive.is_with_fio());
    let by_fio = by_fio.map(|job| engine(drive, job, FIO, format!("{}-fio", job.label())));
    std::iter::once(fill).chain(jobs).chain(by_fio).collect()
}

fn engine(drive: &At<Drive>, job: &At<DriveJob>, worker: &str, label: String) -> Engine {
    let mut options = job.options.clone();
    if drive.is_read_only() {
        let value = drive.with(UntypedValue(Value::Boolean(true)));
        options.0.push((drive.with("read_only".to_owned()), value));
    }
    let io = job.io.clone().unwrap_or(job.with(job.io()));
    let word = io.with(UntypedValue(Value::Text(io.as_str().to_owned())));
    options.0.insert(0, (io.with("io".to_owned()), word));
    let label = Label(label);
    let label =
        job.name.as_ref().map_or_else(|| job.with(label.clone()), |n| n.with(label.clone()));
    let engine = Engine::with_defaults(job.with(Name(worker.to_owned())), label);
    Engine { durability: job.durability.clone(), options, ..engine }
}

fn inherit<T: Clone>(value: &mut Option<T>, default: Option<&T>) {
    if value.is_none() {
        *value = default.cloned();
    }
}

table!(Drive, "[drive]": size preset ceiling trials precondition in_order read_only with_fio block
    depth threads duration warmup job);
table!(DriveJob, "[[drive.job]]": name io rw read_share keys block depth threads duration warmup
    flush_every rate think_time durability options);
