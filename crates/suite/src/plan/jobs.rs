//! The drive's jobs as cases: each is an engine with its own label, and blocks are its values.

use crate::check::abilities::{SECTOR_BYTES, unsupported_location};
use crate::plan::options;
use crate::plan::setup::EngineSetup;
use crate::plan::sizing::{Limit, SizedData, SizingHost};
use crate::written::drive::{DURATION_NS, Drive, DriveJob, Way};
use crate::written::engine::Engine;
use crate::written::mistake::Mistakes;
use crate::written::names::push_unique;
use crate::written::part::Part;
use crate::written::phase;
use crate::written::read::{At, Or as _};
use crate::written::scalar::{Bytes, Count, DataSize, Nanoseconds, Several, Threads};
use crate::written::scale::scale_number;
use crate::written::volume::Kind;
use crate::written::worker::Engines;
use kvdyno_record::engine::Description;
use kvdyno_record::units;
use kvdyno_record::workload::{
    Activity, Choice, Data, Ends, Key, KeyFormat, Load, LoadOrder, Mix, MixEntry, Op, Phase, Rate,
    Role, Schedule, Size, ValueShape,
};
use std::collections::BTreeMap;

/// Bytes of the blocks in which the file is written, one after the other.
const FILL_BYTES: u64 = 1 << 20;
/// Block size of the preconditioning in SNIA's Solid State Storage Performance Test Specification.
const PRECONDITION_BYTES: u64 = 128 << 10;
/// Writes in flight in the passes after the first, as the specification requires for enterprise
/// drives.
const PRECONDITION_DEPTH: u32 = 32;
/// Default block size of a job.
const BLOCK_BYTES: u64 = 4096;

/// The drive's part of a plan.
pub(crate) struct Bare<'a> {
    /// The engine that writes the whole file.
    pub(crate) fill: EngineSetup<'a>,
    /// The jobs on it, each under each RAM limit.
    pub(crate) jobs: Vec<(EngineSetup<'a>, &'a DriveJob)>,
    /// Blocks of the file, as it is written.
    blocks: u64,
    fill_bytes: u64,
    /// Number of trials.
    pub(crate) trials: u32,
    /// The number of times that the file is written before the first job; 0: once, to create it.
    precondition: u64,
    /// The section as typed.
    pub(crate) section: &'a Drive,
    /// True: engines overwrite the file, so it is written again in each trial.
    pub(crate) overwritten: bool,
    part: &'a Part,
}

impl Bare<'_> {
    /// The number of cases.
    pub(crate) fn cases(&self, swept: &[Option<u32>]) -> usize {
        let swept = &self.points(swept);
        let points: usize = self.jobs.iter().map(|(_, job)| threads(job, swept).len()).sum();
        let fills = if self.overwritten { self.trials } else { u32::from(self.is_filled()) };
        fills as usize + points * self.trials as usize
    }

    /// Bytes of the file.
    fn file_bytes(&self) -> u64 {
        self.blocks * self.fill_bytes
    }

    /// Returns whether a case writes the file that jobs share; jobs that discard write their own.
    pub(crate) fn is_filled(&self) -> bool {
        !self.section.is_read_only() && !self.section.job.iter().all(|job| job.rw().trims())
    }

    /// Returns the swept thread counts. A ceiling has as many threads as all roles of the engines
    /// together, because as many may wait for the drive at once.
    pub(crate) fn points(&self, swept: &[Option<u32>]) -> Vec<Option<u32>> {
        let at = |threads: u32| {
            let measured = self.part.typed.measures();
            measured.map(|(_, measure)| count_threads(measure, threads)).max().unwrap_or(threads)
        };
        let is_ceiling = self.section.is_ceiling();
        let mut points = Vec::new();
        for threads in swept {
            push_unique(&mut points, threads.map(|t| if is_ceiling { at(t) } else { t }));
        }
        points
    }
}

/// Returns the descriptions of the section's workers, by name. A missing worker is a mistake.
pub(crate) fn find<'a>(
    drive: &At<Drive>,
    engines: &'a Engines,
    mistakes: &mut Mistakes,
) -> BTreeMap<&'static str, &'a Description> {
    let mut descriptions = BTreeMap::new();
    for name in drive.workers() {
        if let Some(worker) = engines.newest_description(name) {
            descriptions.insert(*name, worker);
            continue;
        }
        let mistake = mistakes.at(&drive.span, format!("cannot find the worker `kvdyno-{name}`"));
        mistake.label("needed by this section").help(format!(
            "build it with `cargo build -p kvdyno-{name}`; `kvdyno engines` shows where workers \
             are searched; `--set drive=` removes the section"
        ));
    }
    descriptions
}

/// Inputs of the drive's part besides its section.
pub(crate) struct DriveContext<'a, 't> {
    pub(crate) part: &'a Part,
    pub(crate) workers: &'t BTreeMap<&'static str, &'a Description>,
    pub(crate) limits: &'t [Vec<Limit>],
    pub(crate) host: &'t SizingHost,
}

/// Resolves the drive's part and appends its data sets. `engines` come from
/// [`crate::written::drive::engines`].
pub(crate) fn resolve<'a>(
    drive: &'a At<Drive>,
    engines: &'a [Engine],
    context: &DriveContext<'a, '_>,
    sets: &mut Vec<SizedData>,
    mistakes: &mut Mistakes,
) -> Option<Bare<'a>> {
    let (part, host) = (context.part, context.host);
    for worker in context.workers.values() {
        if let Some(what) = unsupported_location(worker, host.device) {
            mistakes.at(&drive.span, format!("{} does not work {what}", worker.name));
        }
    }
    if let Some(read_only) =
        drive.read_only.as_ref().filter(|read_only| read_only.value && !host.device)
    {
        let mistake =
            mistakes.at(&read_only.span, "`read_only` in a directory: expected a block device");
        mistake.label("expected a block device here");
    }
    // The largest of several data sets decides: a file of its size is enough for the others.
    let (sized, limits) = sets
        .iter_mut()
        .zip(context.limits)
        .max_by(|(a, _), (b, _)| a.user_bytes().total_cmp(&b.user_bytes()))?;
    let bytes = file_bytes(part, drive, sized, host);
    let (memory, scale) = (host.memory_bytes, part.scale);
    let measures = options::Measures { memory, is_limited: false, scale };
    if host.device || part.typed.volume.iter().any(|volume| volume.kind.value == Kind::Device) {
        check_trims_alone(drive, part, mistakes);
    }
    let (fill, others) = engines.split_first()?;
    let unlimited = Limit::default();
    let seed = sized.data.seed;
    let mut set_up = |engine: &'a Engine, limit: &Limit, block, mistakes: &mut Mistakes| {
        let description = *context.workers.get(engine.name.0.as_str())?;
        let options = options::resolve(engine, description, measures, mistakes);
        let setup = EngineSetup::embedded(engine, description, options, limit, sets.len());
        sets.push(blocks(bytes, block, seed));
        Some(setup)
    };
    let precondition = drive.precondition.value_or(Count(0)).0;
    let fill_bytes = if precondition > 0 { PRECONDITION_BYTES } else { FILL_BYTES };
    let fill = set_up(fill, &unlimited, fill_bytes, mistakes)?;
    let mut jobs = Vec::new();
    // fio's jobs follow kvdyno's own, in the same order.
    for (job, engine) in drive.job.iter().cycle().zip(others) {
        if let Some(worker) = context.workers.get(engine.name.0.as_str()) {
            check(job, worker, bytes, mistakes);
        }
        // A RAM limit changes only jobs that use the page cache.
        let limits = if is_cached(job) { limits } else { std::slice::from_ref(&unlimited) };
        for limit in limits {
            jobs.push((set_up(engine, limit, block_bytes(job), mistakes)?, &job.value));
        }
    }
    let trials = drive.trials.value_or(Several(part.typed.trials())).0;
    Some(Bare {
        part,
        fill,
        jobs,
        blocks: bytes / fill_bytes,
        fill_bytes,
        trials,
        precondition,
        section: &drive.value,
        overwritten: host.device && !part.typed.engine.is_empty(),
    })
}

/// Refuses discards beside other work on a device: jobs and engines of all parts share its blocks,
/// and none may find blocks that another has discarded.
fn check_trims_alone(drive: &At<Drive>, part: &Part, mistakes: &mut Mistakes) {
    let alone = part.name().is_none()
        && part.typed.engine.is_empty()
        && drive.job.iter().all(|job| job.rw().trims());
    let trims = drive.job.iter().find(|job| job.rw().trims()).filter(|_| !alone);
    let Some(job) = trims else { return };
    let span = job.rw.as_ref().map_or(&job.span, |rw| &rw.span);
    let mistake = mistakes.at(span, "this discards blocks of the device that others use");
    mistake
        .label("expected discards alone on a device")
        .help("measure the other jobs in a run of their own, or all of them in a directory");
}

/// Returns the size of the file: whole blocks, at least the requested size. If only the drive uses
/// a device, it is the whole device.
fn file_bytes(part: &Part, drive: &Drive, sized: &mut SizedData, host: &SizingHost) -> u64 {
    let alone = part.typed.engine.is_empty();
    let bytes = match drive.size.value_or(DataSize::Auto) {
        DataSize::Auto if host.device && alone => {
            sized.notes = vec![format!("all of the device: {}", units::bytes(host.free_bytes))];
            return (host.free_bytes / FILL_BYTES).max(1) * FILL_BYTES;
        }
        DataSize::Is(bytes) => {
            scale_number(part.scale, bytes, "bytes of the drive's file", &mut sized.notes)
        }
        DataSize::Auto => sized.user_bytes() as u64,
    };
    bytes.div_ceil(FILL_BYTES).max(1).saturating_mul(FILL_BYTES)
}

fn block_bytes(job: &DriveJob) -> u64 {
    job.block.value_or(Bytes(BLOCK_BYTES)).0
}

/// Returns whether a job's reads may be served from memory.
fn is_cached(job: &DriveJob) -> bool {
    job.io() == Way::Mmap || job.options.is_buffered()
}

fn check(job: &At<DriveJob>, worker: &Description, file_bytes: u64, mistakes: &mut Mistakes) {
    let block = block_bytes(job);
    let span = job.block.as_ref().map_or(&job.span, |block| &block.span);
    let most = worker.capabilities.value_bytes_max.unwrap_or(u64::MAX).min(file_bytes);
    let in_sectors = is_cached(job) || block.is_multiple_of(SECTOR_BYTES);
    if block == 0 || !in_sectors || block > most {
        let message = format!("a block cannot have {block} bytes");
        let most = units::bytes(most);
        let mistake = mistakes.at(span, message);
        mistake.label(format!("expected whole sectors of 512 B, at most {most}"));
        if !in_sectors {
            mistake.help("`options = { direct = false }` takes any length");
        }
    }
    if let Some(depth) = job.depth.as_ref().filter(|_| !worker.capabilities.pipelined) {
        let name = &worker.name;
        let message =
            format!("engine `{name}` is synchronous and ignores `depth`; raise `threads`");
        mistakes.at(&depth.span, message).label("expected no `depth`");
    }
}

/// Returns a file as a data set of numbered blocks.
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
        from: None,
        packed: None,
    };
    SizedData { data, tag: None, record_bytes, notes: Vec::new() }
}

/// Returns the phases that write every block of the shared file, in order, as often as
/// preconditioning requires.
pub(crate) fn fill_phases(bare: &Bare) -> Vec<Phase> {
    fill_phases_in_blocks(bare, bare.fill_bytes)
}

/// Returns the phases that write every block, in blocks of this size.
fn fill_phases_in_blocks(bare: &Bare, block_bytes: u64) -> Vec<Phase> {
    if bare.section.is_read_only() {
        return Vec::new();
    }
    let load = Load { order: LoadOrder::Sequential, batch: 1, threads: 1, replay: None };
    let mut phases = vec![Phase::new("load", Activity::Load(load))];
    if bare.precondition > 1 {
        let keys = Choice::Sequential { step: 1 };
        let mix = vec![MixEntry::new(Op::Update, 1.0, keys)];
        let depth = Some(PRECONDITION_DEPTH);
        let role = Role { depth, ..Role::new("writes", 1, mix) };
        let blocks = bare.file_bytes() / block_bytes;
        let operations = Some(blocks.saturating_mul(bare.precondition - 1));
        let work = Mix { roles: vec![role], ends: Ends { operations, ..Ends::default() } };
        phases.push(Phase::new("precondition", Activity::Warmup(work)));
    }
    phases
}

/// Returns a job's phases, with the phases that write its file.
pub(crate) fn phases(bare: &Bare, job: &DriveJob, swept: Option<u32>) -> Vec<Phase> {
    let roles = vec![role(job, swept)];
    let trims = job.rw().trims();
    // Each block is discarded once: afterwards it is a hole.
    let operations = trims.then(|| bare.file_bytes() / block_bytes(job));
    let timed = |ns| Mix { roles: roles.clone(), ends: Ends { operations, ..Ends::after_ns(ns) } };
    // A job that trims writes its own file, in its own blocks.
    let mut phases =
        fill_phases_in_blocks(bare, if trims { block_bytes(job) } else { bare.fill_bytes });
    phases.push(Phase::new("cold", Activity::Evict));
    // A warmup would discard blocks that the measured phase needs.
    if let Some(warmup) = job.warmup.as_ref().filter(|_| !trims) {
        phases.push(Phase::new("warmup", Activity::Warmup(timed(warmup.0))));
    }
    let duration = job.duration.value_or(Nanoseconds(DURATION_NS));
    phases.push(Phase::new("measure", Activity::Measure(timed(duration.0))));
    phases
}

fn role(job: &DriveJob, swept: Option<u32>) -> Role {
    let reads = job.read_share();
    let random = job.keys.as_ref().map_or(Choice::Uniform, |keys| keys.value.clone());
    let keys = if job.rw().is_random() { random } else { Choice::Sequential { step: 1 } };
    let entry = |op, weight| MixEntry::new(op, weight, keys.clone());
    let trims = job.rw().trims();
    let writes = if trims { Op::Delete } else { Op::Update };
    let mix = [entry(Op::Get, reads), entry(writes, 1.0 - reads)];
    let name = job.rw().role_name();
    let mut mix: Vec<MixEntry> = mix.into_iter().filter(|entry| entry.weight > 0.0).collect();
    let flush_every = job.flush_every.as_ref().map(|writes| writes.0);
    if flush_every.is_some() {
        mix.push(MixEntry::new(Op::Flush, 0.0, Choice::Uniform));
    }
    let threads = job.threads.value_or(Threads::Are(1)).resolve(swept);
    let depth = (job.io() == Way::IoUring && !trims).then_some(job.depth.value_or(Several(1)).0);
    let rate = job.rate.as_ref().map(|rate| Rate::new(rate.0, Schedule::Fixed));
    let think_ns = job.think_time.as_ref().map(|time| time.0);
    Role { depth, flush_every, rate, think_ns, ..Role::new(name, threads, mix) }
}

/// Counts the threads of all roles at this point of the sweep.
fn count_threads(measure: &phase::Measure, swept: u32) -> u32 {
    let threads =
        |role: &At<phase::Role>| role.threads.value_or(Threads::Are(1)).resolve(Some(swept));
    measure.role.iter().map(threads).fold(0, u32::saturating_add)
}

/// Returns the thread counts of a job.
pub(crate) fn threads(job: &DriveJob, swept: &[Option<u32>]) -> Vec<u32> {
    match job.threads.value_or(Threads::Are(1)) {
        Threads::Are(threads) => vec![threads],
        Threads::Sweep => swept.iter().copied().flatten().collect(),
    }
}
