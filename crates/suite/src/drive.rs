//! `[drive]` as typed: jobs on the bare drive that the databases lie on.

use super::engine::Options;
use super::mistake::Mistakes;
use super::read::{At, Fields, FromToml, Toml, Word};
use super::scalar::{Bytes, Count, DataSize, Name, Nanoseconds, Several, Share, Threads};
use super::source::Span;
use kvdyno_record::engine::Durability;
use schemars::JsonSchema;

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
    pub(super) job: Vec<At<Job>>,
}

/// One kind of work on the drive.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "DriveJob")]
pub(super) struct Job {
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
    /// and `mmap`.
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
    const WHAT: &'static str = "a way to ask the kernel";
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
    /// The word for it, which is also the worker's.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::IoUring => "io_uring",
            Self::Psync => "psync",
            Self::Mmap => "mmap",
        }
    }
}

impl Pattern {
    /// Blocks are chosen at random.
    pub(super) fn is_random(self) -> bool {
        matches!(self, Self::Randread | Self::Randwrite | Self::Randrw)
    }

    /// Reads and writes.
    pub(super) fn is_mixed(self) -> bool {
        matches!(self, Self::Randrw | Self::Rw)
    }
}

impl Job {
    /// How the kernel is asked.
    pub(super) fn io(&self) -> Way {
        self.io.as_ref().map_or(Way::IoUring, |io| io.value)
    }

    /// What is done.
    pub(super) fn rw(&self) -> Pattern {
        self.rw.as_ref().map_or(Pattern::Randread, |rw| rw.value)
    }

    /// Of its operations.
    pub(super) fn read_share(&self) -> f64 {
        match self.rw() {
            Pattern::Randread | Pattern::Read => 1.0,
            Pattern::Randwrite | Pattern::Write => 0.0,
            Pattern::Randrw | Pattern::Rw => self.read_share.as_ref().map_or(0.5, |share| share.0),
        }
    }

    /// What tables and folders call it.
    pub(super) fn label(&self) -> String {
        self.name.as_ref().map_or_else(|| format!("drive-{}", self.io().word()), |n| n.0.clone())
    }
}

impl Drive {
    /// Its figures are the limit of the other cases'.
    pub(super) fn is_ceiling(&self) -> bool {
        self.ceiling.as_ref().map_or(self.preset.is_some(), |ceiling| ceiling.value)
    }

    /// Its jobs are not shuffled.
    pub(super) fn is_in_order(&self) -> bool {
        self.in_order.as_ref().is_some_and(|in_order| in_order.value)
    }

    /// Nothing is written.
    pub(super) fn is_read_only(&self) -> bool {
        self.read_only.as_ref().is_some_and(|read_only| read_only.value)
    }

    /// Every job is done by fio as well.
    pub(super) fn is_with_fio(&self) -> bool {
        self.with_fio.as_ref().is_some_and(|with_fio| with_fio.value)
    }

    /// Puts what the section says for all into the jobs, and the preset's jobs before them.
    /// `swept`: the suite has numbers of threads to sweep.
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
            let jobs = jobs.map(|io| self.ceiling_job(io, &preset.span, swept));
            self.job.splice(0..0, jobs);
        }
    }

    fn ceiling_job(&self, io: Way, span: &Span, swept: bool) -> At<Job> {
        let sweep = At { value: Threads::Sweep, span: span.clone() };
        let depth = At { value: Several(32), span: span.clone() };
        let job = Job {
            name: None,
            io: Some(At { value: io, span: span.clone() }),
            rw: None,
            read_share: None,
            block: self.block.clone(),
            depth: (io == Way::IoUring).then(|| self.depth.clone().unwrap_or(depth)),
            threads: self.threads.clone().or(swept.then_some(sweep)),
            duration: self.duration.clone(),
            warmup: self.warmup.clone(),
            durability: None,
            options: Options::default(),
        };
        At { value: job, span: span.clone() }
    }
}

fn inherit<T: Clone>(own: &mut Option<T>, general: Option<&T>) {
    if own.is_none() {
        *own = general.cloned();
    }
}

impl FromToml for Drive {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let mut fields = Fields::of(toml, "[drive]", mistakes)?;
        let drive = Self {
            size: fields.optional("size"),
            preset: fields.optional("preset"),
            ceiling: fields.optional("ceiling"),
            trials: fields.optional("trials"),
            precondition: fields.optional("precondition"),
            in_order: fields.optional("in_order"),
            read_only: fields.optional("read_only"),
            with_fio: fields.optional("with_fio"),
            block: fields.optional("block"),
            depth: fields.optional("depth"),
            threads: fields.optional("threads"),
            duration: fields.optional("duration"),
            warmup: fields.optional("warmup"),
            job: fields
                .optional("job")
                .map(|jobs: At<Vec<At<Job>>>| jobs.value)
                .unwrap_or_default(),
        };
        fields.finish();
        Some(drive)
    }
}

impl FromToml for Job {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let mut fields = Fields::of(toml, "[[drive.job]]", mistakes)?;
        let job = Self {
            name: fields.optional("name"),
            io: fields.optional("io"),
            rw: fields.optional("rw"),
            read_share: fields.optional("read_share"),
            block: fields.optional("block"),
            depth: fields.optional("depth"),
            threads: fields.optional("threads"),
            duration: fields.optional("duration"),
            warmup: fields.optional("warmup"),
            durability: fields.optional("durability"),
            options: fields
                .optional("options")
                .map(|options: At<Options>| options.value)
                .unwrap_or_default(),
        };
        fields.finish();
        Some(job)
    }
}
