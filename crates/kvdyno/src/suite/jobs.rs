//! The drive's jobs as cases are made of them: each an engine of its own label, with data whose
//! values are blocks.

use super::cases::Setup;
use super::drive::{Drive, Job, Pattern, Way};
use super::mistake::Mistakes;
use super::options::{self, Memory};
use super::parse::Suite;
use super::read::At;
use super::scalar::{DataSize, Given, Name, Threads};
use super::sizing::{Limit, Sized, SizingHost, scaled};
use super::source::Span;
use super::typed::{Engine, Options};
use crate::units;
use kvdyno_record::engine::{Description, PlaceKind, Value};
use kvdyno_record::protocol::WorkerDescription;
use kvdyno_record::workload::{
    Choice, Data, Drive as Roles, Ends, Key, KeyFormat, Load, LoadOrder, MixEntry, Op, Phase, Role,
    Size, ValueShape, Work,
};
use std::collections::BTreeMap;

/// The worker's name, and what the case is called that writes the file.
pub(super) const NAME: &str = "drive";
/// The file is written in blocks of this size, one after the other.
const FILL_BYTES: u64 = 1 << 20;
/// What SNIA's Solid State Storage Performance Test Specification preconditions with.
const PRECONDITION_BYTES: u64 = 128 << 10;
/// Of the passes after the first, as the specification has it for enterprise drives.
const PRECONDITION_DEPTH: u32 = 32;
/// Of a job that says nothing.
const BLOCK_BYTES: u64 = 4096;
const DURATION_NS: u64 = 10_000_000_000;
/// `O_DIRECT` takes whole sectors, and no device has smaller ones.
const SECTOR_BYTES: u64 = 512;

/// The drive's part of a plan.
pub(super) struct Bare<'a> {
    /// Writes the file in full.
    pub(super) fill: Shape<'a>,
    /// What works on it.
    pub(super) jobs: Vec<BareJob<'a>>,
    /// In how many of the trials.
    pub(super) trials: u32,
    /// How often the file is written in full before anything is measured; 0: once, for it to exist.
    precondition: u64,
    /// The jobs as they are written down, in every trial.
    pub(super) in_order: bool,
    pub(super) ceiling: bool,
}

impl Bare<'_> {
    /// How many cases it comes to.
    pub(super) fn cases(&self, swept: &[Option<u32>]) -> usize {
        let points: usize = self.jobs.iter().map(|job| threads(job.job, swept).len()).sum();
        1 + points * self.trials as usize
    }

    /// How many phases the filling has.
    pub(super) fn filling_phases(&self) -> usize {
        filling(self).len()
    }
}

/// A worker with its data.
pub(super) struct Shape<'a> {
    pub(super) setup: Setup<'a>,
    pub(super) sized: Sized,
}

/// A job under one RAM limit.
pub(super) struct BareJob<'a> {
    pub(super) shape: Shape<'a>,
    pub(super) job: &'a Job,
}

/// Each job as an engine that a suite could name, the one that fills first.
pub(super) fn engines(drive: &At<Drive>) -> Vec<Engine> {
    let name = At { value: Name(NAME.to_owned()), span: drive.span.clone() };
    let fill = Engine { name, label: None, durability: None, options: Options::default() };
    let of_job = |job: &At<Job>| {
        let label_span = job.name.as_ref().map_or(&job.span, |name| &name.span);
        let text = |text: &str, span: &Span| At { value: text.to_owned(), span: span.clone() };
        let io_span = job.io.as_ref().map_or(&job.span, |io| &io.span);
        let io = Given(Value::Text(job.io().word().to_owned()));
        let mut options = job.options.clone();
        options.0.insert(0, (text("io", io_span), At { value: io, span: io_span.clone() }));
        Engine {
            name: At { value: Name(NAME.to_owned()), span: job.span.clone() },
            label: Some(At { value: Name(job.label()), span: label_span.clone() }),
            durability: job.durability.clone(),
            options,
        }
    };
    std::iter::once(fill).chain(drive.job.iter().map(of_job)).collect()
}

/// The drive's worker; a mistake where there is none.
pub(super) fn find<'a>(
    drive: &At<Drive>,
    workers: &'a BTreeMap<String, WorkerDescription>,
    mistakes: &mut Mistakes,
) -> Option<&'a Description> {
    let Some(worker) = workers.get(NAME) else {
        let mistake = mistakes.at(&drive.span, format!("there is no worker `kvdyno-{NAME}`"));
        mistake.label("this asks for it").help(
            "`cargo build -p kvdyno-drive` builds it, `kvdyno engines` says where workers are \
             looked for; `--set drive=` leaves this out",
        );
        return None;
    };
    Some(&worker.engine)
}

/// What the drive's part depends on beside its section.
pub(super) struct Terms<'a, 't> {
    pub(super) suite: &'a Suite,
    pub(super) worker: &'a Description,
    pub(super) limits: &'t [Limit],
    pub(super) host: &'t SizingHost,
}

/// The drive's part. `engines` are those of [`engines`].
pub(super) fn resolve<'a>(
    drive: &'a At<Drive>,
    engines: &'a [Engine],
    terms: &Terms<'a, '_>,
    sized: &mut Sized,
    mistakes: &mut Mistakes,
) -> Option<Bare<'a>> {
    let (suite, description) = (terms.suite, terms.worker);
    if !description.capabilities.places.contains(&PlaceKind::Directory) {
        mistakes.at(&drive.span, format!("{} works on no files", description.name));
    }
    let bytes = file_bytes(suite, drive, sized);
    let memory = Memory { bytes: terms.host.memory_bytes };
    let (fill, others) = engines.split_first()?;
    let unlimited = Limit { bytes: None, tag: None };
    let seed = sized.data.seed;
    let shape = |engine: &'a Engine, limit: &Limit, block, mistakes: &mut Mistakes| {
        let options = options::resolve(engine, description, memory, mistakes);
        let setup = Setup { engine, description, options, limit: limit.clone() };
        Shape { setup, sized: blocks(bytes, block, seed) }
    };
    let precondition = drive.precondition.as_ref().map_or(0, |passes| passes.0);
    let fill_bytes = if precondition > 0 { PRECONDITION_BYTES } else { FILL_BYTES };
    let fill = shape(fill, &unlimited, fill_bytes, mistakes);
    let mut jobs = Vec::new();
    for (job, engine) in drive.job.iter().zip(others) {
        check(job, description, bytes, mistakes);
        // Only what goes through the page cache is any different under a limit.
        let limits = if is_cached(job) { terms.limits } else { std::slice::from_ref(&unlimited) };
        for limit in limits {
            let shape = shape(engine, limit, block_bytes(job), mistakes);
            jobs.push(BareJob { shape, job: &job.value });
        }
    }
    let trials = drive.trials.as_ref().map_or(suite.typed.trials(), |trials| trials.0);
    let in_order = drive.in_order.as_ref().is_some_and(|in_order| in_order.value);
    Some(Bare { fill, jobs, trials, precondition, in_order, ceiling: drive.is_ceiling() })
}

/// How large the file is: whole blocks of the filling, so not less than asked for.
fn file_bytes(suite: &Suite, drive: &Drive, sized: &mut Sized) -> u64 {
    let wanted = match drive.size.as_ref().map_or(DataSize::Auto, |size| size.value) {
        DataSize::Is(bytes) => scaled(suite, bytes, "bytes of the drive's file", &mut sized.notes),
        DataSize::Auto => sized.user_bytes() as u64,
    };
    wanted.div_ceil(FILL_BYTES).max(1).saturating_mul(FILL_BYTES)
}

fn block_bytes(job: &Job) -> u64 {
    job.block.as_ref().map_or(BLOCK_BYTES, |block| block.0)
}

/// Its reads may be served from memory.
fn is_cached(job: &Job) -> bool {
    let through_cache = |(name, given): &(At<String>, At<Given>)| {
        name.value == "direct" && given.value.0 == Value::Boolean(false)
    };
    job.io() == Way::Mmap || job.options.0.iter().any(through_cache)
}

fn check(job: &At<Job>, worker: &Description, file_bytes: u64, mistakes: &mut Mistakes) {
    let block = block_bytes(job);
    let span = job.block.as_ref().map_or(&job.span, |block| &block.span);
    let most = worker.capabilities.value_bytes_max.unwrap_or(u64::MAX).min(file_bytes);
    if block == 0 || !block.is_multiple_of(SECTOR_BYTES) || block > most {
        let message = format!("a block cannot have {}", units::bytes(block));
        let most = units::bytes(most);
        mistakes
            .at(span, message)
            .label(format!("expected whole sectors of 512 B, at most {most}"));
    }
    if let Some(depth) = job.depth.as_ref().filter(|_| !worker.capabilities.pipelined) {
        let mistake = mistakes.at(&depth.span, "this worker keeps no operations in flight");
        mistake.label("expected no `depth`");
    }
}

/// A file as data: numbered blocks.
fn blocks(file_bytes: u64, block_bytes: u64, seed: u64) -> Sized {
    let key = Key { bytes: 8, format: KeyFormat::Binary };
    let record_bytes = f64::from(key.bytes) + block_bytes as f64;
    let size = Size::Fixed { bytes: block_bytes };
    let data = Data {
        records: (file_bytes / block_bytes.max(1)).max(1),
        key,
        value: ValueShape { size, compress_to: 1.0 },
        seed,
        verify: false,
    };
    Sized { data, record_bytes, notes: Vec::new() }
}

/// What writes the file: every block of it, in order, and again as often as is asked for.
pub(super) fn filling(bare: &Bare) -> Vec<Phase> {
    let load = Load { order: LoadOrder::Sequential, batch: 1, threads: 1 };
    let mut phases = vec![Phase { name: "load".to_owned(), work: Work::Load(load) }];
    if bare.precondition > 1 {
        let role = Role {
            name: "writes".to_owned(),
            threads: 1,
            mix: vec![MixEntry { op: Op::Update, weight: 1.0, keys: Choice::Sequential }],
            rate: None,
            depth: Some(PRECONDITION_DEPTH),
        };
        let blocks = bare.fill.sized.data.records;
        let operations = Some(blocks.saturating_mul(bare.precondition - 1));
        let work = Roles { roles: vec![role], ends: Ends { duration_ns: None, operations } };
        phases.push(Phase { name: "precondition".to_owned(), work: Work::Warmup(work) });
    }
    phases
}

/// A job's phases, the filling of its file among them.
pub(super) fn phases(bare: &Bare, job: &Job, swept: Option<u32>) -> Vec<Phase> {
    let roles = vec![role(job, swept)];
    let timed =
        |ns| Roles { roles: roles.clone(), ends: Ends { duration_ns: Some(ns), operations: None } };
    let phase = |name: &str, work| Phase { name: name.to_owned(), work };
    let mut phases = filling(bare);
    phases.push(phase("cold", Work::Evict));
    if let Some(warmup) = &job.warmup {
        phases.push(phase("warmup", Work::Warmup(timed(warmup.0))));
    }
    let duration = job.duration.as_ref().map_or(DURATION_NS, |duration| duration.0);
    phases.push(phase("measure", Work::Measure(timed(duration))));
    phases
}

fn role(job: &Job, swept: Option<u32>) -> Role {
    let reads = job.read_share();
    let keys = if job.rw().is_random() { Choice::Uniform } else { Choice::Sequential };
    let entry = |op, weight| MixEntry { op, weight, keys: keys.clone() };
    let mix = [entry(Op::Get, reads), entry(Op::Update, 1.0 - reads)];
    let name = match job.rw() {
        Pattern::Randread | Pattern::Read => "reads",
        Pattern::Randwrite | Pattern::Write => "writes",
        Pattern::Randrw | Pattern::Rw => "mixed",
    };
    let threads = match job.threads.as_ref().map_or(Threads::Are(1), |threads| threads.value) {
        Threads::Are(threads) => threads,
        // The first gate refuses a sweep without numbers.
        Threads::Sweep => swept.unwrap_or(1),
    };
    let depth = job.depth.as_ref().map_or(1, |depth| depth.0);
    Role {
        name: name.to_owned(),
        threads,
        mix: mix.into_iter().filter(|entry| entry.weight > 0.0).collect(),
        rate: None,
        depth: (job.io() == Way::IoUring).then_some(depth),
    }
}

/// The numbers of threads that a job is run with.
pub(super) fn threads(job: &Job, swept: &[Option<u32>]) -> Vec<u32> {
    match job.threads.as_ref().map_or(Threads::Are(1), |threads| threads.value) {
        Threads::Are(threads) => vec![threads],
        Threads::Sweep => swept.iter().copied().flatten().collect(),
    }
}
