//! `[drive]` as typed: jobs on the drive below the databases, without an engine.

use super::engine::Options;
use super::read::{At, Or as _, Word, table};
use super::scalar::{Bytes, Count, DataSize, Name, Nanoseconds, Several, Share, Threads};
use kvdyno_record::engine::Durability;
use schemars::JsonSchema;

/// The worker's name, and the name of the case that writes the file.
pub(super) const NAME: &str = "drive";
/// The worker that runs the job with fio.
pub(super) const FIO: &str = "fio";

/// The preset's jobs with larger I/Os: most engines read blocks and pages between this size and 4
/// KiB.
const LARGER: [(&str, Way); 2] =
    [("drive-psync-16k", Way::Psync), ("drive-io_uring-16k", Way::IoUring)];
const LARGER_BYTES: u64 = 16 << 10;

/// Jobs on the bare drive of the databases, as cases of the same run (docs/drive.md). A file at the
/// place is written in full, once in a run; then the jobs work on it. `[ram]` limits only jobs that
/// use the page cache. `block`, `depth`, `threads`, `duration` and `warmup` are the defaults of the
/// jobs.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Drive {
    /// The size of the file. Default: auto, the size of the largest data set.
    pub(super) size: Option<At<DataSize>>,
    /// Jobs that need no text. Default: none.
    pub(super) preset: Option<At<Preset>>,
    /// Makes the figures the limit for those of the engines. Default: true with a preset, else
    /// false.
    pub(super) ceiling: Option<At<bool>>,
    /// Repetitions of each job, at most `run.trials`. Default: `run.trials`.
    pub(super) trials: Option<At<Several>>,
    /// Full writes of the file before the measurement, in order, in blocks of 128 KiB. Default: one
    /// write in blocks of 1 MiB.
    pub(super) precondition: Option<At<Count>>,
    /// Runs the jobs in the written order in every trial. Default: false, a new random order in
    /// each trial.
    pub(super) in_order: Option<At<bool>>,
    /// Writes nothing. For a block device that holds data. Default: false.
    pub(super) read_only: Option<At<bool>>,
    /// Runs every job by fio too, under its name and `-fio`. Default: false.
    pub(super) with_fio: Option<At<bool>>,
    /// Bytes of one operation, a multiple of 512. Default: 4KiB.
    pub(super) block: Option<At<Bytes>>,
    /// Operations in flight per thread of `io_uring` jobs. Default: 1, or 32 for those of a preset.
    pub(super) depth: Option<At<Several>>,
    /// Threads of a job. Default: 1, or `"sweep"` for those of a preset if the suite sweeps
    /// threads.
    pub(super) threads: Option<At<Threads>>,
    /// The time of a job. Default: 10s.
    pub(super) duration: Option<At<Nanoseconds>>,
    /// The same work before the measurement, not counted. Default: none.
    pub(super) warmup: Option<At<Nanoseconds>>,
    /// The jobs, in fio's words. Default: those of the preset.
    #[schemars(default)]
    pub(super) job: Vec<At<DriveJob>>,
}

/// One job on the drive.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct DriveJob {
    /// The name of the job in tables, unlike every other job and engine. Default: `drive-` and the
    /// `io`, as `drive-psync`.
    pub(super) name: Option<At<Name>>,
    /// The system calls. Default: `io_uring`.
    pub(super) io: Option<At<Way>>,
    /// The kind of work. Default: randread.
    pub(super) rw: Option<At<Pattern>>,
    /// The share of reads in `randrw` and `rw`. Default: 0.5.
    pub(super) read_share: Option<At<Share>>,
    /// Bytes of one operation, a multiple of 512. Default: that of `[drive]`.
    pub(super) block: Option<At<Bytes>>,
    /// Operations in flight per thread; only `io_uring`. Default: that of `[drive]`.
    pub(super) depth: Option<At<Several>>,
    /// Threads of the job. Default: those of `[drive]`.
    pub(super) threads: Option<At<Threads>>,
    /// The time of the job. Default: that of `[drive]`.
    pub(super) duration: Option<At<Nanoseconds>>,
    /// The same work before the measurement, not counted. Default: that of `[drive]`.
    pub(super) warmup: Option<At<Nanoseconds>>,
    /// The promise of a completed write. Default: async.
    pub(super) durability: Option<At<Durability>>,
    /// Further options of the worker; `kvdyno engines drive` lists them. Default: none.
    #[schemars(default)]
    pub(super) options: Options,
}

/// A set of jobs on the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "snake_case", rename = "DrivePreset")]
pub(super) enum Preset {
    /// Random reads of 4 KiB by `psync`, `io_uring` and `mmap`. Without `block` also of 16 KiB by
    /// the first two. The thread counts are those of the roles at each point of the sweep.
    Ceiling,
}

/// The system calls of a drive's job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "snake_case", rename = "DriveIo")]
pub(super) enum Way {
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
pub(super) enum Pattern {
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
    ];
}

impl Way {
    /// The word for it, which the worker uses too.
    pub(super) fn word(self) -> &'static str {
        Self::ALL.iter().find(|(_, way)| *way == self).map_or("", |(word, _)| word)
    }
}

impl Pattern {
    pub(super) fn is_random(self) -> bool {
        matches!(self, Self::Randread | Self::Randwrite | Self::Randrw)
    }

    pub(super) fn is_mixed(self) -> bool {
        matches!(self, Self::Randrw | Self::Rw)
    }
}

impl DriveJob {
    pub(super) fn io(&self) -> Way {
        self.io.value_or(Way::IoUring)
    }

    pub(super) fn rw(&self) -> Pattern {
        self.rw.value_or(Pattern::Randread)
    }

    /// The share of reads among its operations.
    pub(super) fn read_share(&self) -> f64 {
        match self.rw() {
            Pattern::Randread | Pattern::Read => 1.0,
            Pattern::Randwrite | Pattern::Write => 0.0,
            Pattern::Randrw | Pattern::Rw => self.read_share.value_or(Share(0.5)).0,
        }
    }

    /// Its name in tables and folders.
    pub(super) fn label(&self) -> String {
        self.name.as_ref().map_or_else(|| format!("drive-{}", self.io().word()), |n| n.0.clone())
    }
}

impl Drive {
    /// Whether its figures are the limit of the other cases'.
    pub(super) fn is_ceiling(&self) -> bool {
        self.ceiling.value_or(self.preset.is_some())
    }

    pub(super) fn is_read_only(&self) -> bool {
        self.read_only.value_or(false)
    }

    pub(super) fn is_with_fio(&self) -> bool {
        self.with_fio.value_or(false)
    }

    /// The workers that it needs.
    pub(super) fn workers(&self) -> &'static [&'static str] {
        if self.is_with_fio() { &[NAME, FIO] } else { &[NAME] }
    }

    /// Copies the section's settings into the jobs, and puts the preset's jobs first. `swept`: the
    /// suite has numbers of threads to sweep.
    pub(super) fn complete(&mut self, swept: bool) {
        for job in &mut self.job {
            let job = &mut job.value;
            let pipelined = job.io() == Way::IoUring;
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

fn inherit<T: Clone>(value: &mut Option<T>, default: Option<&T>) {
    if value.is_none() {
        *value = default.cloned();
    }
}

table!(Drive, "[drive]": size preset ceiling trials precondition in_order read_only with_fio block
    depth threads duration warmup job);
table!(DriveJob, "[[drive.job]]": name io rw read_share block depth threads duration warmup
    durability options);
