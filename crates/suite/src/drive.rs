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

/// What the drive itself can do: a file at the place is written in full, then jobs read and write
/// blocks of it.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Drive {
    /// How much is written and worked on. Default: auto, as much as the suite has data.
    pub(super) size: Option<At<DataSize>>,
    /// Jobs that need not be written down.
    pub(super) preset: Option<At<Preset>>,
    /// The figures are the limit of the suite's other cases. Default: whether a preset says so.
    pub(super) ceiling: Option<At<bool>>,
    /// How often each job is repeated, at most `run.trials`. Default: `run.trials`.
    pub(super) trials: Option<At<Several>>,
    /// Before anything is measured, write all of it so often, in order and in blocks of 128 KiB.
    /// Default: once, for it to exist.
    pub(super) precondition: Option<At<Count>>,
    /// The jobs as they are written down, in every trial. Default: false, an order drawn for each.
    pub(super) in_order: Option<At<bool>>,
    /// Write nothing at all: the place is a block device that holds data. Default: false.
    pub(super) read_only: Option<At<bool>>,
    /// Every job by fio as well, under its name and `-fio`. Default: false.
    pub(super) with_fio: Option<At<bool>>,
    /// For jobs that do not say. Default: 4 KiB.
    pub(super) block: Option<At<Bytes>>,
    /// For `io_uring` jobs that do not say. Default: 1; 32 for a preset's.
    pub(super) depth: Option<At<Several>>,
    /// For jobs that do not say. Default: 1; "sweep" for a preset's, where there is one.
    pub(super) threads: Option<At<Threads>>,
    /// For jobs that do not say. Default: 10s.
    pub(super) duration: Option<At<Nanoseconds>>,
    /// For jobs that do not say. Default: none.
    pub(super) warmup: Option<At<Nanoseconds>>,
    /// The jobs.
    #[schemars(default)]
    pub(super) job: Vec<At<DriveJob>>,
}

/// One kind of work on the drive.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct DriveJob {
    /// What tables call it. Default: drive-IO, as `drive-psync`.
    pub(super) name: Option<At<Name>>,
    /// How the kernel is asked. Default: `io_uring`.
    pub(super) io: Option<At<Way>>,
    /// What is done. Default: randread.
    pub(super) rw: Option<At<Pattern>>,
    /// Of the operations of `randrw` and `rw`. Default: 0.5.
    pub(super) read_share: Option<At<Share>>,
    /// Bytes of one operation. Default: the section's.
    pub(super) block: Option<At<Bytes>>,
    /// Operations that each thread keeps in flight: `io_uring`. Default: the section's.
    pub(super) depth: Option<At<Several>>,
    /// How many threads; "sweep": each of `run.threads` in turn. Default: the section's.
    pub(super) threads: Option<At<Threads>>,
    /// How long. Default: the section's.
    pub(super) duration: Option<At<Nanoseconds>>,
    /// The same work beforehand; not counted. Default: the section's.
    pub(super) warmup: Option<At<Nanoseconds>>,
    /// What "done" means for a write. Default: async.
    pub(super) durability: Option<At<Durability>>,
    /// Further options of the worker: `kvdyno engines drive`.
    #[schemars(default)]
    pub(super) options: Options,
}

/// Jobs that need not be written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "snake_case")]
pub(super) enum Preset {
    /// What an engine could at best reach with as many threads: random reads by `psync`, `io_uring`
    /// and `mmap`, and of 16 KiB by the first two where no `block` is given.
    Ceiling,
}

/// How the kernel is asked to read and write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "snake_case")]
pub(super) enum Way {
    /// Many at a time, by rings shared with the kernel.
    IoUring,
    /// One call that waits for each.
    Psync,
    /// Through a map of the file: what is in memory is not read.
    Mmap,
}

/// What a job does, in fio's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub(super) enum Pattern {
    /// Reads at random.
    Randread,
    /// Writes at random.
    Randwrite,
    /// Both at random.
    Randrw,
    /// Reads in order.
    Read,
    /// Writes in order.
    Write,
    /// Both in order.
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
