//! The drive's jobs as cases are made of them: each an engine of its own label, with data whose
//! values are blocks.

use super::abilities::misplaced;
use super::drive::{Drive, DriveJob, FIO, NAME, Pattern, Way};
use super::engine::Engine;
use super::mistake::Mistakes;
use super::options;
use super::parse::Part;
use super::phase;
use super::read::{At, Or as _};
use super::scalar::{
    Bytes, Count, DataSize, Label, Name, Nanoseconds, Several, Threads, UntypedValue,
};
use super::scale::scaled;
use super::setup::EngineSetup;
use super::sizing::{Limit, SizedData, SizingHost};
use super::wanted::Engines;
use kvdyno_record::engine::{Description, Value};
use kvdyno_record::units;
use kvdyno_record::workload::{
    Activity, Choice, Data, Ends, ExpectedHits, Key, KeyFormat, Load, LoadOrder, Mix, MixEntry, Op,
    Phase, Role, Size, ValueShape,
};
use std::collections::BTreeMap;

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
    pub(super) fill: EngineSetup<'a>,
    /// What works on it, each job under each RAM limit.
    pub(super) jobs: Vec<(EngineSetup<'a>, &'a DriveJob)>,
    /// Blocks of the filling.
    blocks: u64,
    /// In how many of the trials.
    pub(super) trials: u32,
    /// How often the file is written in full before anything is measured; 0: once, for it to exist.
    precondition: u64,
    /// As typed.
    pub(super) section: &'a Drive,
    /// Others overwrite what it fills: it fills again in each trial.
    pub(super) overwritten: bool,
    /// What the engines do.
    phases: &'a [At<phase::Phase>],
}

impl Bare<'_> {
    /// How many cases it comes to.
    pub(super) fn cases(&self, swept: &[Option<u32>]) -> usize {
        let swept = &self.points(swept);
        let points: usize = self.jobs.iter().map(|(_, job)| threads(job, swept).len()).sum();
        let fills =
            if self.overwritten { self.trials } else { u32::from(!self.section.is_read_only()) };
        fills as usize + points * self.trials as usize
    }

    /// The threads that a ceiling is measured with at each point of the sweep: as many as engines
    /// have, all roles together, for as many may wait for the drive at a time.
    pub(super) fn points(&self, swept: &[Option<u32>]) -> Vec<Option<u32>> {
        let measured = |threads: u32| {
            self.phases.iter().filter_map(move |phase| match &phase.value {
                phase::Phase::Measure(measure) => Some(at_work(measure, threads)),
                _ => None,
            })
        };
        let at = |threads: u32| measured(threads).max().unwrap_or(threads);
        let is_ceiling = self.section.is_ceiling();
        swept.iter().map(|threads| threads.map(|t| if is_ceiling { at(t) } else { t })).collect()
    }
}

/// Each job as an engine that a suite could name, the one that fills first; with fio, each once
/// more.
pub(super) fn engines(drive: &At<Drive>) -> Vec<Engine> {
    let fill = Engine::plain(drive.with(Name(NAME.to_owned())), drive.with(Label(NAME.to_owned())));
    let jobs = drive.job.iter().map(|job| engine(drive, job, NAME, job.label()));
    let by_fio = drive.job.iter().filter(|_| drive.is_with_fio());
    let by_fio = by_fio.map(|job| engine(drive, job, FIO, format!("{}-fio", job.label())));
    std::iter::once(fill).chain(jobs).chain(by_fio).collect()
}

fn engine(drive: &At<Drive>, job: &At<DriveJob>, worker: &str, label: String) -> Engine {
    let mut options = job.options.clone();
    if drive.is_read_only() {
        let on = drive.with(UntypedValue(Value::Boolean(true)));
        options.0.push((drive.with("read_only".to_owned()), on));
    }
    let io = job.io.clone().unwrap_or(job.with(job.io()));
    let word = io.with(UntypedValue(Value::Text(io.word().to_owned())));
    options.0.insert(0, (io.with("io".to_owned()), word));
    let label = Label(label);
    let label =
        job.name.as_ref().map_or_else(|| job.with(label.clone()), |n| n.with(label.clone()));
    let engine = Engine::plain(job.with(Name(worker.to_owned())), label);
    Engine { durability: job.durability.clone(), options, ..engine }
}

/// What the section's workers say of themselves, by name; a mistake for each that is not there.
pub(super) fn find<'a>(
    drive: &At<Drive>,
    found: &'a Engines,
    mistakes: &mut Mistakes,
) -> BTreeMap<&'static str, &'a Description> {
    let mut descriptions = BTreeMap::new();
    for name in drive.workers() {
        if let Some(worker) = found.plain(name) {
            descriptions.insert(*name, worker);
            continue;
        }
        let mistake = mistakes.at(&drive.span, format!("there is no worker `kvdyno-{name}`"));
        mistake.label("this asks for it").help(format!(
            "`cargo build -p kvdyno-{name}` builds it, `kvdyno engines` says where workers are \
             looked for; `--set drive=` leaves this out"
        ));
    }
    descriptions
}

/// What the drive's part depends on beside its section.
pub(super) struct DriveContext<'a, 't> {
    pub(super) part: &'a Part,
    pub(super) workers: &'t BTreeMap<&'static str, &'a Description>,
    pub(super) limits: &'t [Vec<Limit>],
    pub(super) host: &'t SizingHost,
}

/// The drive's part, whose data sets come behind the others. `engines` are those of [`engines`].
pub(super) fn resolve<'a>(
    drive: &'a At<Drive>,
    engines: &'a [Engine],
    context: &DriveContext<'a, '_>,
    sets: &mut Vec<SizedData>,
    mistakes: &mut Mistakes,
) -> Option<Bare<'a>> {
    let (part, host) = (context.part, context.host);
    for worker in context.workers.values() {
        if let Some(what) = misplaced(worker, host.device) {
            mistakes.at(&drive.span, format!("{} works on nothing {what}", worker.name));
        }
    }
    if let Some(on) = drive.read_only.as_ref().filter(|on| on.value && !host.device) {
        let mistake = mistakes.at(&on.span, "`read_only` in a directory: it is for block devices");
        mistake.label("expected a block device for this");
    }
    // Of several data sets the largest, for what fits it fits the others.
    let (sized, limits) = sets
        .iter_mut()
        .zip(context.limits)
        .max_by(|(a, _), (b, _)| a.user_bytes().total_cmp(&b.user_bytes()))?;
    let bytes = file_bytes(part, drive, sized, host);
    let by = options::Measures { memory: host.memory_bytes, scale: part.scale };
    let (fill, others) = engines.split_first()?;
    let unlimited = Limit::default();
    let seed = sized.data.seed;
    let mut set_up = |engine: &'a Engine, limit: &Limit, block, mistakes: &mut Mistakes| {
        let description = *context.workers.get(engine.name.0.as_str())?;
        let options = options::resolve(engine, description, by, mistakes);
        let setup = EngineSetup::plain(engine, description, options, limit, sets.len());
        sets.push(blocks(bytes, block, seed));
        Some(setup)
    };
    let precondition = drive.precondition.value_or(Count(0)).0;
    let fill_bytes = if precondition > 0 { PRECONDITION_BYTES } else { FILL_BYTES };
    let fill = set_up(fill, &unlimited, fill_bytes, mistakes)?;
    let mut jobs = Vec::new();
    // fio's come after all of ours, in the same order.
    for (job, engine) in drive.job.iter().cycle().zip(others) {
        if let Some(worker) = context.workers.get(engine.name.0.as_str()) {
            check(job, worker, bytes, mistakes);
        }
        // Only what goes through the page cache is any different under a limit.
        let limits = if is_cached(job) { limits } else { std::slice::from_ref(&unlimited) };
        for limit in limits {
            jobs.push((set_up(engine, limit, block_bytes(job), mistakes)?, &job.value));
        }
    }
    let trials = drive.trials.value_or(Several(part.typed.trials())).0;
    Some(Bare {
        phases: &part.typed.phase,
        fill,
        jobs,
        blocks: bytes / fill_bytes,
        trials,
        precondition,
        section: &drive.value,
        overwritten: host.device && !part.typed.engine.is_empty(),
    })
}

/// How large the file is: whole blocks of the filling, so not less than asked for. Of a device that
/// only the drive works on: all of it.
fn file_bytes(part: &Part, drive: &Drive, sized: &mut SizedData, host: &SizingHost) -> u64 {
    let alone = part.typed.engine.is_empty();
    let wanted = match drive.size.value_or(DataSize::Auto) {
        DataSize::Auto if host.device && alone => {
            sized.notes = vec![format!("all of the device: {}", units::bytes(host.free_bytes))];
            return (host.free_bytes / FILL_BYTES).max(1) * FILL_BYTES;
        }
        DataSize::Is(bytes) => {
            scaled(part.scale, bytes, "bytes of the drive's file", &mut sized.notes)
        }
        DataSize::Auto => sized.user_bytes() as u64,
    };
    wanted.div_ceil(FILL_BYTES).max(1).saturating_mul(FILL_BYTES)
}

fn block_bytes(job: &DriveJob) -> u64 {
    job.block.value_or(Bytes(BLOCK_BYTES)).0
}

/// Its reads may be served from memory.
fn is_cached(job: &DriveJob) -> bool {
    let through_cache = |(name, given): &(At<String>, At<UntypedValue>)| {
        name.value == "direct" && given.value.0 == Value::Boolean(false)
    };
    job.io() == Way::Mmap || job.options.0.iter().any(through_cache)
}

fn check(job: &At<DriveJob>, worker: &Description, file_bytes: u64, mistakes: &mut Mistakes) {
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
        let name = &worker.name;
        let message =
            format!("engine `{name}` is synchronous and ignores `depth`; raise `threads`");
        mistakes.at(&depth.span, message).label("expected no `depth`");
    }
}

/// A file as data: numbered blocks.
fn blocks(file_bytes: u64, block_bytes: u64, seed: u64) -> SizedData {
    let key = Key::ordered(8, KeyFormat::Binary);
    let record_bytes = f64::from(key.bytes) + block_bytes as f64;
    let size = Size::Fixed { bytes: block_bytes };
    let data = Data {
        records: (file_bytes / block_bytes.max(1)).max(1),
        key,
        value: ValueShape { size, compress_to: 1.0 },
        seed,
        verify: false,
        graph: None,
        packed: None,
    };
    SizedData { data, tag: None, record_bytes, notes: Vec::new() }
}

/// What writes the file: every block of it, in order, and again as often as is asked for.
pub(super) fn filling(bare: &Bare) -> Vec<Phase> {
    if bare.section.is_read_only() {
        return Vec::new();
    }
    let load = Load { order: LoadOrder::Sequential, batch: 1, threads: 1, replay: None };
    let mut phases = vec![Phase { name: "load".to_owned(), work: Activity::Load(load) }];
    if bare.precondition > 1 {
        let role = Role {
            name: "writes".to_owned(),
            threads: 1,
            mix: vec![MixEntry {
                op: Op::Update,
                weight: 1.0,
                keys: Choice::Sequential { step: 1 },
            }],
            rate: None,
            depth: Some(PRECONDITION_DEPTH),
            os_threads: None,
            found: ExpectedHits::All,
            replay: None,
        };
        let operations = Some(bare.blocks.saturating_mul(bare.precondition - 1));
        let work = Mix { roles: vec![role], ends: Ends { duration_ns: None, operations } };
        phases.push(Phase { name: "precondition".to_owned(), work: Activity::Warmup(work) });
    }
    phases
}

/// A job's phases, the filling of its file among them.
pub(super) fn phases(bare: &Bare, job: &DriveJob, swept: Option<u32>) -> Vec<Phase> {
    let roles = vec![role(job, swept)];
    let timed =
        |ns| Mix { roles: roles.clone(), ends: Ends { duration_ns: Some(ns), operations: None } };
    let phase = |name: &str, work| Phase { name: name.to_owned(), work };
    let mut phases = filling(bare);
    phases.push(phase("cold", Activity::Evict));
    if let Some(warmup) = &job.warmup {
        phases.push(phase("warmup", Activity::Warmup(timed(warmup.0))));
    }
    let duration = job.duration.value_or(Nanoseconds(DURATION_NS));
    phases.push(phase("measure", Activity::Measure(timed(duration.0))));
    phases
}

fn role(job: &DriveJob, swept: Option<u32>) -> Role {
    let reads = job.read_share();
    let keys = if job.rw().is_random() { Choice::Uniform } else { Choice::Sequential { step: 1 } };
    let entry = |op, weight| MixEntry { op, weight, keys: keys.clone() };
    let mix = [entry(Op::Get, reads), entry(Op::Update, 1.0 - reads)];
    let name = match job.rw() {
        Pattern::Randread | Pattern::Read => "reads",
        Pattern::Randwrite | Pattern::Write => "writes",
        Pattern::Randrw | Pattern::Rw => "mixed",
    };
    let depth = job.depth.value_or(Several(1)).0;
    Role {
        name: name.to_owned(),
        threads: job.threads.value_or(Threads::Are(1)).at(swept),
        mix: mix.into_iter().filter(|entry| entry.weight > 0.0).collect(),
        rate: None,
        depth: (job.io() == Way::IoUring).then_some(depth),
        os_threads: None,
        found: ExpectedHits::All,
        replay: None,
    }
}

/// Threads of all roles where so many are swept.
fn at_work(measure: &phase::Measure, swept: u32) -> u32 {
    let threads = |role: &At<phase::Role>| role.threads.value_or(Threads::Are(1)).at(Some(swept));
    measure.role.iter().map(threads).fold(0, u32::saturating_add)
}

/// The numbers of threads that a job is run with.
pub(super) fn threads(job: &DriveJob, swept: &[Option<u32>]) -> Vec<u32> {
    match job.threads.value_or(Threads::Are(1)) {
        Threads::Are(threads) => vec![threads],
        Threads::Sweep => swept.iter().copied().flatten().collect(),
    }
}
