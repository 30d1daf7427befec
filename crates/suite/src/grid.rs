//! One part of a suite: the data sets, engines and thread counts of its cases, and their checks.

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
use super::names::push_unique;
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

/// A part with everything that its cases consist of.
pub(super) struct Grid<'a> {
    /// Its index among the parts.
    pub(super) index: usize,
    pub(super) part: &'a Part,
    /// The data sets; those of the drive come last.
    pub(super) sets: Vec<SizedData>,
    pub(super) setups: Vec<EngineSetup<'a>>,
    /// The swept thread counts; one `None` without a sweep.
    pub(super) threads: Vec<Option<u32>>,
    pub(super) bare: Option<Bare<'a>>,
    /// The place is a block device.
    device: bool,
    runnable: Vec<(&'a Engine, &'a wanted::FoundWorker)>,
    /// Engines that cannot run on this machine.
    pub(super) left_out: Vec<LeftOut>,
    workers: BTreeMap<&'static str, &'a Description>,
}

impl<'a> Grid<'a> {
    /// `jobs` are the engines of the drive's jobs.
    pub(super) fn new(
        index: usize,
        part: &'a Part,
        engines: &'a Engines,
        jobs: &'a [Engine],
        host: &SizingHost,
        mistakes: &mut Mistakes,
    ) -> Self {
        let (runnable, absent) = missing_engines::find(part, engines, mistakes);
        let misplaced = misplaced_engines(part, &runnable);
        let left_out = [part.left_out.clone(), absent, misplaced].concat();
        let descriptions: Vec<_> = runnable.iter().map(|(_, worker)| worker.engine()).collect();
        let mut sets = sizing::data_sets(part, &descriptions, host, mistakes);
        let limits: Vec<_> = sets.iter_mut().map(|set| sizing::limits(part, set, host)).collect();
        let mut setups = Vec::new();
        for (data, (sized, limits)) in sets.iter().zip(&limits).enumerate() {
            let new_setups = set_up(part, &runnable, limits, sized, host, mistakes);
            setups.extend(new_setups.into_iter().map(|setup| EngineSetup { data, ..setup }));
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
        let grid =
            Self { index, part, sets, setups, threads, bare, device, runnable, left_out, workers };
        grid.check_left(mistakes);
        grid
    }

    /// Whether one case loads for all thread counts. A bare device cannot be copied: each case
    /// loads its own database there. On an attached server, each case also removes it.
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

    /// The number of cases.
    pub(super) fn cases(&self) -> usize {
        let each = |setup| self.threads.len() + usize::from(self.loads_once(setup));
        let points = self.setups.iter().map(each).sum::<usize>();
        points.saturating_mul(self.part.typed.trials() as usize) + self.cases_of_drive()
    }

    /// Upper bound of the number of cases: as if each engine had a load of its own.
    pub(super) fn cases_max(&self) -> u64 {
        let points = self.setups.len() as u64 * (self.threads.len() as u64 + 1);
        let cases = points.saturating_mul(u64::from(self.part.typed.trials()));
        cases.saturating_add(self.cases_of_drive() as u64)
    }

    fn cases_of_drive(&self) -> usize {
        let volumes = self.part.typed.volumes().len();
        self.bare.as_ref().map_or(0, |bare| bare.cases(&self.threads) * volumes)
    }

    /// Decisions, as text.
    pub(super) fn notes(&self) -> Vec<String> {
        let as_run = self.part.fidelity == Fidelity::AsRun;
        let as_run = as_run.then(|| "phases run in the version as run (fidelity)".to_owned());
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

    /// Likely failures, and work that is left out.
    pub(super) fn warnings(&self, host: &SizingHost) -> Vec<String> {
        let (setups, part) = (&self.setups, self.part);
        let untuned = untuned(&self.runnable);
        let not_copied = not_copied(part, setups, host);
        let data: Vec<&Data> = self.sets.iter().map(|set| &set.data).collect();
        let replayed = replay::warnings(part, &data);
        let attached = attached::warnings(part, setups);
        let fit = fit_warnings(setups, host);
        let compressed = compressor_warnings(setups);
        let engines = self.runnable.iter();
        let uncounted = engines.filter_map(|(engine, worker)| {
            abilities::count_warning(&part.typed, engine, worker.engine())
        });
        let uncounted = uncounted.collect();
        [untuned, compressed, fit, not_copied, attached, replayed, uncounted].concat()
    }

    /// The descriptions of engines and drive, by name.
    pub(super) fn descriptions(&self) -> impl Iterator<Item = (&'a str, &'a Description)> {
        let runnable = self.runnable.iter();
        let runnable = runnable.map(|(engine, worker)| (engine.name.0.as_str(), worker.engine()));
        runnable.chain(self.workers.iter().map(|(name, description)| (*name, *description)))
    }

    /// The selected engines and volumes may have nothing in common.
    fn check_left(&self, mistakes: &mut Mistakes) {
        let engines = &self.part.typed.engine;
        if !self.part.left_out.is_empty() {
            return;
        }
        let Some(volumes) = engines.iter().find_map(|engine| engine.volumes.as_ref()) else {
            return;
        };
        let volume = &self.part.typed.volume;
        let lies =
            |engine: &Engine| volume.iter().any(|volume| engine.is_on_volume(&volume.name.0));
        if !engines.iter().any(lies) {
            let part =
                self.part.name().map_or("the suite".to_owned(), |part| format!("part `{part}`"));
            let message = format!("{part} has no case: no engine uses any of its volumes");
            mistakes.at(&volumes.span, message).label("expected one of the selected volumes");
        }
    }
}

fn set_up<'a>(
    part: &'a Part,
    runnable: &[(&'a Engine, &'a wanted::FoundWorker)],
    limits: &[Limit],
    sized: &SizedData,
    host: &SizingHost,
    mistakes: &mut Mistakes,
) -> Vec<EngineSetup<'a>> {
    let mut setups = Vec::new();
    for &(engine, worker) in runnable {
        let (description, library) = (worker.engine(), worker.library.as_ref());
        let data = &sized.data;
        let places = &description.capabilities.places;
        let mut volumes = part.typed.volumes();
        volumes.retain(|volume| volume.is_none_or(|volume| engine.is_on_volume(&volume.name.0)));
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
        for (index, limit) in limits.iter().enumerate() {
            let measures = Measures { memory: limit.memory_bytes(host), scale: part.scale };
            let mut options = options::resolve(engine, description, measures, mistakes);
            let agreed =
                options::agree(engine, description, &versions(runnable, engine), &mut options);
            if index == 0 {
                linkbench::check_engine(&part.typed, engine, description, &options, mistakes);
            }
            let reopened = reopened(part, engine, description, measures, &options, mistakes);
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

/// The descriptions of this engine in the run: one for each library.
fn versions<'a>(
    runnable: &[(&'a Engine, &'a wanted::FoundWorker)],
    engine: &Engine,
) -> Vec<&'a Description> {
    let alike = runnable.iter().filter(|(other, _)| other.name.value == engine.name.value);
    alike.map(|(_, worker)| worker.engine()).collect()
}

/// The options after each `reopen`. Options that a `reopen` does not name are unchanged.
fn reopened(
    part: &Part,
    engine: &Engine,
    description: &Description,
    measures: Measures,
    options: &Options,
    mistakes: &mut Mistakes,
) -> Vec<Options> {
    let mut options = options.clone();
    let mut reopened = Vec::new();
    for phase in &part.typed.phase {
        let Phase::Reopen(reopen) = &phase.value else { continue };
        let overrides = reopen.options.0.iter().filter(|(name, _)| engine.is_called(name));
        for (_, typed) in overrides {
            options::apply(engine, typed, description, measures, &mut options, mistakes);
        }
        reopened.push(options.clone());
    }
    reopened
}

/// Engines and volumes that the suite names but that cannot run.
fn misplaced_engines(part: &Part, runnable: &[(&Engine, &wanted::FoundWorker)]) -> Vec<LeftOut> {
    let mut notes = Vec::new();
    let name = || part.name().map(str::to_owned);
    for (engine, worker) in runnable {
        let label = &engine.label.0;
        let is_reported = part.left_out.iter().any(|left_out| left_out.engine == *label);
        if !part.typed.volume.iter().any(|volume| engine.is_on_volume(&volume.name.0))
            && !part.typed.volume.is_empty()
            && !is_reported
        {
            let why = Absent::for_reason("it uses none of the selected volumes");
            notes.push(why.to_left_out(name(), label.clone()));
        }
        let volumes = part.typed.volume.iter().filter(|volume| engine.is_on_volume(&volume.name.0));
        for volume in volumes {
            let on_device = volume.place() == PlaceKind::Device;
            if let Some(what) = misplaced(worker.engine(), on_device) {
                let why = Absent::for_reason(format!("cannot store data {what}"));
                let absent = Absent { volume: Some(volume.name.0.clone()), ..why };
                notes.push(absent.to_left_out(name(), label.clone()));
            }
        }
    }
    notes
}

/// The phases that engines skip, each once.
fn skipped_phases(part: &Part, setups: &[EngineSetup]) -> Vec<LeftOut> {
    let mut all: Vec<LeftOut> = Vec::new();
    for setup in setups {
        for skipped in &setup.skipped {
            let name = workload::phase_name(&part.typed.phase, skipped.phase);
            let absent = Absent { phase: Some(name), ..Absent::for_reason(skipped.why.clone()) };
            let left_out =
                absent.to_left_out(part.name().map(str::to_owned), setup.engine.label.0.clone());
            push_unique(&mut all, left_out);
        }
    }
    all
}

/// Engines with a preset that sets none of their options.
fn untuned(runnable: &[(&Engine, &wanted::FoundWorker)]) -> Vec<String> {
    let untuned = runnable.iter().filter_map(|(engine, worker)| {
        let preset = engine.preset.as_ref()?.value;
        let mut settings = worker.engine().options.iter().flat_map(|option| &option.presets);
        let says_nothing = settings.all(|setting| setting.preset != preset);
        let (label, word) = (&engine.label.0, preset.as_str());
        says_nothing.then(|| format!("{label}: preset {word} equals the default options"))
    });
    untuned.collect()
}

/// The engines that use a preset, and the memory that its shares refer to.
fn preset_notes(setups: &[EngineSetup]) -> Vec<String> {
    let note = |preset: Preset| {
        let begins = |setup: &&EngineSetup| {
            setup.engine.preset.as_ref().is_some_and(|used| used.value == preset)
        };
        let mut labels: Vec<&str> = Vec::new();
        for setup in setups.iter().filter(begins) {
            let label = setup.engine.label.0.as_str();
            push_unique(&mut labels, label);
        }
        let unlimited = setups.iter().filter(begins).all(|setup| setup.limit.bytes.is_none());
        let shares = match preset {
            Preset::Defaults => "",
            Preset::Tuned if unlimited => ", shares of this machine's memory",
            Preset::Tuned => ", shares of the RAM limit",
        };
        let (all, word) = (labels.join(", "), preset.as_str());
        (!labels.is_empty()).then(|| {
            format!(
                "preset {word}{shares}: {all}; `kvdyno engines NAME` shows the reason for each \
                     value"
            )
        })
    };
    Preset::ALL.into_iter().filter_map(note).collect()
}

/// Engines that compress although the suite disables compression for another one, each once.
fn compressor_warnings(setups: &[EngineSetup]) -> Vec<String> {
    let mut off = setups.iter().filter_map(|setup| {
        let off = options::compressor_off(setup.engine, setup.description)?;
        Some(format!("{} has {off}", setup.engine.label.0))
    });
    let Some(reason) = off.next() else { return Vec::new() };
    let mut all: Vec<String> = Vec::new();
    for setup in setups {
        let (engine, description) = (setup.engine, setup.description);
        let warnings = options::compressors_left_on(engine, description, &setup.options, &reason);
        all.extend(warnings.into_iter().filter(|text| !all.contains(text)).collect::<Vec<_>>());
    }
    all
}

/// Databases that cannot be copied as the suite requires, and the alternative.
fn not_copied(part: &Part, setups: &[EngineSetup], host: &SizingHost) -> Vec<String> {
    let Some(copying) = part.typed.sharing().copying() else { return Vec::new() };
    let evicts = part.typed.phase.iter().any(|phase| matches!(phase.value, Phase::Evict(_)));
    let mut notes: Vec<String> = Vec::new();
    for setup in setups {
        let (label, volume) = (&setup.engine.label.0, setup.volume.map(|at| &at.value));
        let location = volume
            .map_or_else(|| "in the data directory".to_owned(), |v| format!("on `{}`", v.name.0));
        let note = if is_on_device(setup.volume, host.device) {
            let warm =
                if evicts { "" } else { "; copies start cold and these warm: add an `evict`" };
            format!(
                "{label} {location}: each case loads its own database, because a bare device \
                 cannot be copied{warm}"
            )
        } else if copying == Copying::Reflink && volume.is_some_and(Volume::cannot_reflink) {
            format!(
                "{label} {location}: databases are copied byte by byte, because ext4 has no \
                 reflinks"
            )
        } else {
            continue;
        };
        // An engine under several RAM limits is reported once.
        push_unique(&mut notes, note);
    }
    notes
}

/// The values of `run.threads`; one `None` without a sweep.
fn swept_threads(part: &Part) -> Vec<Option<u32>> {
    match &part.typed.run.threads {
        Some(threads) => threads.0.iter().map(|threads| Some(threads.0)).collect(),
        None => vec![None],
    }
}

/// Checks that each rank of a crew has work at every thread count.
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
        // Ranks of a crew may insert at different speeds, and each rank has its own keys.
        let ranks = part.typed.crew.as_ref().map_or(1, |crew| crew.planned().ranks());
        let inserts = records_max(&phases, sized) - sized.data.records;
        let inserts = inserts.saturating_mul(ranks.into());
        let records = sized.data.records.saturating_add(inserts);
        // Missing keys have numbers of their own.
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
        let message =
            format!("keys of {key_bytes} bytes cannot represent {records} different records");
        mistakes
            .at(span, message)
            .label(format!("expected at least {needed}"))
            .help("the number includes records that inserts may add");
    }
}

/// Warns of engines that hardly fit their RAM limit. They run all the same, and end as "does not
/// fit" if they do not.
fn fit_warnings(setups: &[EngineSetup], host: &SizingHost) -> Vec<String> {
    let note = |setup: &EngineSetup| {
        setup.limit.bytes?;
        let (label, stem) = (&setup.engine.label.0, &setup.engine.stem);
        let limit = setup.limit.memory_bytes(host);
        let (description, options) = (setup.description, &setup.options);
        // If the machine has less memory, that is the limit, and smaller caches do not help.
        if let Some(cache) = fit::cache_over_limit(description, options, limit, stem) {
            return Some(format!("{label}: {cache}"));
        }
        let limit = limit.min(host.memory_bytes);
        let caches = fit::cache_bytes(description, options);
        let needed = description.planning.ram_bytes_min.saturating_add(caches);
        (needed > limit).then(|| {
            let with = match caches {
                0 => "no cache".to_owned(),
                bytes => format!("{} of it for caches and buffers", units::bytes_in_words(bytes)),
            };
            format!(
                "{label} may not fit its RAM limit of {}: minimum memory {} ({with}); use more \
                 data (`--scale`, `data.records`), another `ram.limit`, or `--no-ram-limit`",
                units::bytes_in_words(limit),
                units::bytes_in_words(needed),
            )
        })
    };
    let mut notes: Vec<String> = setups.iter().filter_map(note).collect();
    // An engine on several volumes is reported once.
    notes.dedup();
    notes
}
