//! One part of a suite: what its cases are made of, and whether that can be.

use super::abilities::{self, misplaced};
use super::attached;
use super::cases::{is_on_device, phase_context, records_max};
use super::crew;
use super::engine::Engine;
use super::fidelity::Fidelity;
use super::jobs::{self, Bare};
use super::left_out::Absent;
use super::linkbench;
use super::missing_engines;
use super::mistake::Mistakes;
use super::options::{self, Measures};
use super::packing;
use super::parse::Part;
use super::phase::Phase;
use super::replay;
use super::setup::EngineSetup;
use super::sizing::{self, Limit, SizedData, SizingHost};
use super::typed::Sharing;
use super::volume::Volume;
use super::wanted::{self, Engines};
use super::workload;
use kvdyno_record::engine::{Description, Options, PlaceKind, Preset};
use kvdyno_record::fit;
use kvdyno_record::left_out::LeftOut;
use kvdyno_record::plan::Copying;
use kvdyno_record::units;
use kvdyno_record::workload::{Data, Mix, Phase as Planned};
use std::collections::BTreeMap;

/// A part with all that its cases are made of.
pub(super) struct Grid<'a> {
    /// Which of the parts.
    pub(super) at: usize,
    pub(super) part: &'a Part,
    /// The data sets, those of the drive behind the others.
    pub(super) sets: Vec<SizedData>,
    pub(super) setups: Vec<EngineSetup<'a>>,
    /// The numbers of threads that are swept; one `None` where nothing is.
    pub(super) threads: Vec<Option<u32>>,
    pub(super) bare: Option<Bare<'a>>,
    /// The place is a block device.
    device: bool,
    found: Vec<(&'a Engine, &'a wanted::FoundWorker)>,
    /// What this machine lacks.
    pub(super) left_out: Vec<LeftOut>,
    workers: BTreeMap<&'static str, &'a Description>,
}

impl<'a> Grid<'a> {
    /// `jobs` are the engines of the drive's jobs.
    pub(super) fn new(
        at: usize,
        part: &'a Part,
        (engines, jobs): (&'a Engines, &'a [Engine]),
        host: &SizingHost,
        mistakes: &mut Mistakes,
    ) -> Self {
        let (found, absent) = missing_engines::find(part, engines, mistakes);
        let misplaced = misplaced_engines(part, &found);
        let left_out = [part.left_out.clone(), absent, misplaced].concat();
        let described: Vec<_> = found.iter().map(|(_, found)| found.engine()).collect();
        let mut sets = sizing::data_sets(part, &described, host, mistakes);
        let limits: Vec<_> = sets.iter_mut().map(|set| sizing::limits(part, set, host)).collect();
        let mut setups = Vec::new();
        for (at, (sized, limits)) in sets.iter().zip(&limits).enumerate() {
            let of = set_up(part, &found, limits, sized, host, mistakes);
            setups.extend(of.into_iter().map(|setup| EngineSetup { data: at, ..setup }));
        }
        for setup in &mut setups {
            let sized = &sets[setup.data];
            if let Some(sized) = packing::packed(&part.typed, setup.engine, sized, mistakes) {
                setup.data = sets.len();
                sets.push(sized);
            }
        }
        let threads = swept_threads(part);
        check_keys(part, &setups, &threads, &sets, mistakes);
        check_crew(part, &setups, &threads, &sets, mistakes);
        let drive = part.typed.drive.as_ref();
        let workers = drive.map(|drive| jobs::find(drive, engines, mistakes)).unwrap_or_default();
        let bare = drive.and_then(|drive| {
            let context = jobs::DriveContext { part, workers: &workers, limits: &limits, host };
            jobs::resolve(drive, jobs, &context, &mut sets, mistakes)
        });
        let device = host.device;
        let left_out = [left_out, skipped_phases(part, &setups)].concat();
        let grid = Self { at, part, sets, setups, threads, bare, device, found, left_out, workers };
        grid.check_left(mistakes);
        grid
    }

    /// Whether one case loads for all numbers of threads. What lies on a bare device cannot be
    /// copied: there each case loads its own, and in a server that somebody runs it takes it away.
    pub(super) fn loads_once(&self, setup: &EngineSetup<'_>) -> bool {
        let sharing = self.part.typed.sharing();
        if setup.engine.attached().is_some() {
            return false;
        }
        match sharing.copying() {
            Some(_) => !is_on_device(setup.volume, self.device),
            None => sharing == Sharing::Shared,
        }
    }

    /// How many cases it comes to.
    pub(super) fn cases(&self) -> usize {
        let each = |setup| self.threads.len() + usize::from(self.loads_once(setup));
        let points = self.setups.iter().map(each).sum::<usize>();
        points.saturating_mul(self.part.typed.trials() as usize) + self.cases_of_drive()
    }

    /// The same, as if each engine had a load of its own.
    pub(super) fn cases_max(&self) -> u64 {
        let points = self.setups.len() as u64 * (self.threads.len() as u64 + 1);
        let cases = points.saturating_mul(u64::from(self.part.typed.trials()));
        cases.saturating_add(self.cases_of_drive() as u64)
    }

    fn cases_of_drive(&self) -> usize {
        let volumes = self.part.typed.volumes().len();
        self.bare.as_ref().map_or(0, |bare| bare.cases(&self.threads) * volumes)
    }

    /// What was decided, in words.
    pub(super) fn notes(&self) -> Vec<String> {
        let as_run = self.part.fidelity == Fidelity::AsRun;
        let as_run = as_run.then(|| "phases are as they were run (fidelity)".to_owned());
        let of_data = self.sets.iter().flat_map(|set| set.notes.iter().cloned());
        let notes = as_run.into_iter().chain(self.part.notes.iter().cloned()).chain(of_data);
        let mut notes: Vec<String> = notes.chain(preset_notes(&self.setups)).collect();
        for agreed in self.setups.iter().flat_map(|setup| &setup.agreed) {
            if !notes.contains(agreed) {
                notes.push(agreed.clone());
            }
        }
        notes
    }

    /// What will probably not work out, or is not done.
    pub(super) fn warnings(&self, host: &SizingHost) -> Vec<String> {
        let (setups, part) = (&self.setups, self.part);
        let untuned = untuned(&self.found);
        let not_copied = not_copied(part, setups, host);
        let data: Vec<&Data> = self.sets.iter().map(|set| &set.data).collect();
        let replayed = replay::warnings(part, &data);
        let attached = attached::warnings(part, setups);
        let fit = fit_warnings(setups, host);
        let compressed = compressor_warnings(setups);
        let engines = self.found.iter();
        let uncounted = engines.filter_map(|(engine, worker)| {
            abilities::count_warning(&part.typed, engine, worker.engine())
        });
        let uncounted = uncounted.collect();
        [untuned, compressed, fit, not_copied, attached, replayed, uncounted].concat()
    }

    /// What engines and drive say of themselves, by name.
    pub(super) fn descriptions(&self) -> impl Iterator<Item = (&'a str, &'a Description)> {
        let found = self.found.iter();
        let found = found.map(|(engine, found)| (engine.name.0.as_str(), found.engine()));
        found.chain(self.workers.iter().map(|(name, description)| (*name, *description)))
    }

    /// Engines and volumes that are picked may have nothing in common.
    fn check_left(&self, mistakes: &mut Mistakes) {
        let engines = &self.part.typed.engine;
        if !self.part.left_out.is_empty() {
            return;
        }
        let Some(volumes) = engines.iter().find_map(|engine| engine.volumes.as_ref()) else {
            return;
        };
        let volume = &self.part.typed.volume;
        let lies = |engine: &Engine| volume.iter().any(|volume| engine.lies_on(&volume.name.0));
        if !engines.iter().any(lies) {
            let part =
                self.part.name().map_or("the suite".to_owned(), |part| format!("part `{part}`"));
            let mistake = mistakes.at(
                &volumes.span,
                format!("{part} has no case: no engine lies on any of its volumes"),
            );
            mistake.label("expected one of the volumes that it picks");
        }
    }
}

fn set_up<'a>(
    part: &'a Part,
    found: &[(&'a Engine, &'a wanted::FoundWorker)],
    limits: &[Limit],
    sized: &SizedData,
    host: &SizingHost,
    mistakes: &mut Mistakes,
) -> Vec<EngineSetup<'a>> {
    let mut setups = Vec::new();
    for &(engine, worker) in found {
        let (description, library) = (worker.engine(), worker.library.as_ref());
        let data = &sized.data;
        let places = &description.capabilities.places;
        let mut volumes = part.typed.volumes();
        volumes.retain(|volume| volume.is_none_or(|volume| engine.lies_on(&volume.name.0)));
        if volumes.is_empty() {
            continue;
        }
        let chosen = volumes[0];
        volumes.retain(|volume| volume.is_none_or(|volume| places.contains(&volume.place())));
        let first = volumes.first().copied().unwrap_or(chosen);
        let device = is_on_device(first, false) || host.device;
        let skipped = abilities::check(&part.typed, engine, description, data, device, mistakes);
        attached::check(part, engine, limits, mistakes);
        replay::check_engine(part, engine, description, data, mistakes);
        crew::check_engine(&part.typed, engine, description, mistakes);
        for (place, limit) in limits.iter().enumerate() {
            let by = Measures { memory: limit.memory_bytes(host), scale: part.scale };
            let mut options = options::resolve(engine, description, by, mistakes);
            let agreed =
                options::agree(engine, description, &versions(found, engine), &mut options);
            if place == 0 {
                linkbench::check_engine(&part.typed, engine, (description, &options), mistakes);
            }
            let reopened = reopened(part, engine, (description, by), &options, mistakes);
            let (limit, data, volume) = (limit.clone(), 0, None);
            let setup = EngineSetup {
                engine,
                description,
                library,
                server: worker.description.server.as_ref(),
                options,
                agreed,
                reopened,
                skipped: skipped.clone(),
                data,
                limit,
                volume,
            };
            setups.extend(volumes.iter().map(|&volume| EngineSetup { volume, ..setup.clone() }));
        }
    }
    setups
}

/// What all engines of the run that are this one say of themselves: one for each library.
fn versions<'a>(
    found: &[(&'a Engine, &'a wanted::FoundWorker)],
    engine: &Engine,
) -> Vec<&'a Description> {
    let same = found.iter().filter(|(other, _)| other.name.value == engine.name.value);
    same.map(|(_, worker)| worker.engine()).collect()
}

/// What the engine has after each `reopen`: what one does not name stays as it was.
fn reopened(
    part: &Part,
    engine: &Engine,
    (description, by): (&Description, Measures),
    options: &Options,
    mistakes: &mut Mistakes,
) -> Vec<Options> {
    let mut options = options.clone();
    let mut reopened = Vec::new();
    for phase in &part.typed.phase {
        let Phase::Reopen(reopen) = &phase.value else { continue };
        let own = reopen.options.0.iter().filter(|(name, _)| engine.is_called(name));
        for (_, typed) in own {
            options::apply(engine, typed, (description, by), &mut options, mistakes);
        }
        reopened.push(options.clone());
    }
    reopened
}

/// What engines are not run on, though the suite names it.
fn misplaced_engines(part: &Part, found: &[(&Engine, &wanted::FoundWorker)]) -> Vec<LeftOut> {
    let mut notes = Vec::new();
    let name = || part.name().map(str::to_owned);
    for (engine, worker) in found {
        let label = &engine.label.0;
        let is_told = part.left_out.iter().any(|told| told.engine == *label);
        if !part.typed.volume.iter().any(|volume| engine.lies_on(&volume.name.0))
            && !part.typed.volume.is_empty()
            && !is_told
        {
            let why = Absent::for_reason("it lies on none of the volumes picked");
            notes.push(why.to_left_out(name(), label.clone()));
        }
        let own = part.typed.volume.iter().filter(|volume| engine.lies_on(&volume.name.0));
        for volume in own {
            let on_device = volume.place() == PlaceKind::Device;
            if let Some(what) = misplaced(worker.engine(), on_device) {
                let why = Absent::for_reason(format!("cannot store data {what}"));
                let on = Absent { volume: Some(volume.name.0.clone()), ..why };
                notes.push(on.to_left_out(name(), label.clone()));
            }
        }
    }
    notes
}

/// The phases that engines are not run in, each told once.
fn skipped_phases(part: &Part, setups: &[EngineSetup]) -> Vec<LeftOut> {
    let mut all: Vec<LeftOut> = Vec::new();
    for setup in setups {
        for skipped in &setup.skipped {
            let name = workload::phase_name(&part.typed.phase, skipped.phase);
            let absent = Absent { phase: Some(name), ..Absent::for_reason(skipped.why.clone()) };
            let left =
                absent.to_left_out(part.name().map(str::to_owned), setup.engine.label.0.clone());
            if !all.contains(&left) {
                all.push(left);
            }
        }
    }
    all
}

/// Engines that are to be as a preset has them which says nothing of any of their options.
fn untuned(found: &[(&Engine, &wanted::FoundWorker)]) -> Vec<String> {
    let untuned = found.iter().filter_map(|(engine, worker)| {
        let preset = engine.preset.as_ref()?.value;
        let mut settings = worker.engine().options.iter().flat_map(|option| &option.presets);
        let says_nothing = settings.all(|setting| setting.preset != preset);
        let (label, word) = (&engine.label.0, preset.as_str());
        says_nothing.then(|| format!("{label}: preset {word} is its options' defaults"))
    });
    untuned.collect()
}

/// Which engines begin with a preset, and what its shares are shares of.
fn preset_notes(setups: &[EngineSetup]) -> Vec<String> {
    let note = |preset: Preset| {
        let begins = |setup: &&EngineSetup| {
            setup.engine.preset.as_ref().is_some_and(|own| own.value == preset)
        };
        let mut labels: Vec<&str> = Vec::new();
        for setup in setups.iter().filter(begins) {
            let label = setup.engine.label.0.as_str();
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
        let unlimited = setups.iter().filter(begins).all(|setup| setup.limit.bytes.is_none());
        let shares = match preset {
            Preset::Defaults => "",
            Preset::Tuned if unlimited => ", shares of this machine's memory",
            Preset::Tuned => ", shares of the RAM limit",
        };
        let (all, word) = (labels.join(", "), preset.as_str());
        (!labels.is_empty()).then(|| {
            format!("preset {word}{shares}: {all}; `kvdyno engines NAME` gives each value's reason")
        })
    };
    Preset::ALL.into_iter().filter_map(note).collect()
}

/// What engines compress though the suite has no compression for one of them, each told once.
fn compressor_warnings(setups: &[EngineSetup]) -> Vec<String> {
    let mut off = setups.iter().filter_map(|setup| {
        let off = options::compressor_off(setup.engine, setup.description)?;
        Some(format!("{} has {off}", setup.engine.label.0))
    });
    let Some(asked) = off.next() else { return Vec::new() };
    let mut all: Vec<String> = Vec::new();
    for setup in setups {
        let (engine, description) = (setup.engine, setup.description);
        let on = options::compressors_left_on(engine, description, &setup.options, &asked);
        all.extend(on.into_iter().filter(|text| !all.contains(text)).collect::<Vec<_>>());
    }
    all
}

/// What the suite wants to have copied and cannot be, and what is done instead.
fn not_copied(part: &Part, setups: &[EngineSetup], host: &SizingHost) -> Vec<String> {
    let Some(copying) = part.typed.sharing().copying() else { return Vec::new() };
    let evicts = part.typed.phase.iter().any(|phase| matches!(phase.value, Phase::Evict(_)));
    let mut notes: Vec<String> = Vec::new();
    for setup in setups {
        let (label, volume) = (&setup.engine.label.0, setup.volume.map(|at| &at.value));
        let on = volume.map_or_else(|| "in the place".to_owned(), |v| format!("on `{}`", v.name.0));
        let note = if is_on_device(setup.volume, host.device) {
            let warm =
                if evicts { "" } else { "; copies begin cold and these warm: add an `evict`" };
            format!(
                "{label} {on}: each case loads its own database, for a bare device cannot be \
                 copied{warm}"
            )
        } else if copying == Copying::Reflink && volume.is_some_and(Volume::cannot_reflink) {
            format!("{label} {on}: databases are copied byte by byte, for ext4 has no reflinks")
        } else {
            continue;
        };
        // An engine under several RAM limits is told of once.
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

/// The numbers of `run.threads`; one `None` where nothing is swept.
fn swept_threads(part: &Part) -> Vec<Option<u32>> {
    match &part.typed.run.threads {
        Some(threads) => threads.0.iter().map(|threads| Some(threads.0)).collect(),
        None => vec![None],
    }
}

/// Each rank of a crew has something to do, whatever the number of threads.
fn check_crew(
    part: &Part,
    setups: &[EngineSetup],
    threads: &[Option<u32>],
    sets: &[SizedData],
    mistakes: &mut Mistakes,
) {
    for setup in setups.iter().filter(|_| part.typed.crew.is_some()) {
        for threads in threads {
            let context = phase_context(setup, *threads, &sets[setup.data]);
            let phases = workload::phases(part, context);
            crew::check_threads(&part.typed, &phases, mistakes);
        }
    }
}

/// Keys must have room for the largest number, inserts included.
fn check_keys(
    part: &Part,
    setups: &[EngineSetup],
    threads: &[Option<u32>],
    sets: &[SizedData],
    mistakes: &mut Mistakes,
) {
    let (Some(setup), Some(first)) = (setups.first(), sets.first()) else { return };
    let most = |threads: &Option<u32>, sized: &SizedData| {
        let phases = workload::phases(part, phase_context(setup, *threads, sized));
        // Ranks of a crew may insert at different speeds, and each has keys of its own.
        let ranks = part.typed.crew.as_ref().map_or(1, |crew| crew.planned().ranks());
        let inserts = records_max(&phases, sized) - sized.data.records;
        let inserts = inserts.saturating_mul(ranks.into());
        let records = sized.data.records.saturating_add(inserts);
        // Those that are not there have numbers of their own.
        let mut entries = phases.iter().filter_map(Planned::mix).flat_map(Mix::entries);
        let absent = entries.any(|entry| !entry.keys.finds());
        if absent { records.saturating_mul(2) } else { records }
    };
    let all = sets.iter().flat_map(|set| threads.iter().map(move |threads| most(threads, set)));
    let records = all.max().unwrap_or(0);
    let key_bytes = first.data.key.bytes;
    let needed = (u64::BITS - records.saturating_sub(1).leading_zeros()).div_ceil(8).max(1);
    if key_bytes < needed {
        let typed = &part.typed.data;
        let span = typed.key_bytes.as_ref().map_or(&typed.span, |bytes| &bytes.span);
        let records = units::grouped(records);
        mistakes
            .at(span, format!("keys of {key_bytes} bytes cannot tell {records} records apart"))
            .label(format!("expected at least {needed}"))
            .help("records that inserts may add are counted in");
    }
}

/// Warnings that an engine will hardly fit. It is run all the same, and ends as "does not fit"
/// where that is so: nobody knows before.
fn fit_warnings(setups: &[EngineSetup], host: &SizingHost) -> Vec<String> {
    let note = |setup: &EngineSetup| {
        setup.limit.bytes?;
        let (label, stem) = (&setup.engine.label.0, &setup.engine.stem);
        let limit = setup.limit.memory_bytes(host);
        let (description, options) = (setup.description, &setup.options);
        // Where the machine has less, that is the limit, and smaller caches are no remedy.
        if let Some(over) = fit::cache_over_limit(description, options, limit, stem) {
            return Some(format!("{label}: {over}"));
        }
        let limit = limit.min(host.memory_bytes);
        let caches = fit::cache_bytes(description, options);
        let needed = description.planning.ram_bytes_min.saturating_add(caches);
        (needed > limit).then(|| {
            let with = match caches {
                0 => "no cache".to_owned(),
                bytes => format!("{} of it caches and buffers", units::bytes_in_words(bytes)),
            };
            format!(
                "{label} may not fit its RAM limit of {}: minimum memory {} ({with}); more data \
                 (`--scale`, `data.records`), a `ram.limit`, or `--no-ram-limit`",
                units::bytes_in_words(limit),
                units::bytes_in_words(needed),
            )
        })
    };
    let mut notes: Vec<String> = setups.iter().filter_map(note).collect();
    // An engine on several volumes is told of once.
    notes.dedup();
    notes
}
