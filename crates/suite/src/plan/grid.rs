//! One part of a suite: the data sets, engines, thread counts and phases of its cases.

use crate::check::abilities::{self, unsupported_location};
use crate::check::keys::check_keys;
use crate::check::{attached, crew, linkbench, missing_engines, replay};
use crate::plan::cases::is_on_device;
use crate::plan::jobs::{self, Bare};
use crate::plan::options::{self, Measures};
use crate::plan::packing;
use crate::plan::setup::{EngineSetup, Point};
use crate::plan::shape::records_max;
use crate::plan::sizing::{self, Limit, SizedData, SizingHost};
use crate::plan::turns;
use crate::plan::warnings;
use crate::plan::workload::{self, PhaseContext};
use crate::written::engine::Engine;
use crate::written::fidelity::Fidelity;
use crate::written::left_out::Absent;
use crate::written::mistake::Mistakes;
use crate::written::names::push_unique;
use crate::written::part::Part;
use crate::written::phase;
use crate::written::phase_names::phase_name;
use crate::written::read::At;
use crate::written::typed::Sharing;
use crate::written::worker::{Engines, InstalledWorker};
use kvdyno_record::engine::{Description, Options, PlaceKind};
use kvdyno_record::left_out::LeftOut;
use kvdyno_record::workload::{Activity, Data, Mix, Phase, PilotRate};
use std::collections::BTreeMap;

/// A part with everything that its cases consist of.
pub(crate) struct Grid<'a> {
    /// Its index among the parts.
    pub(crate) index: usize,
    pub(crate) part: &'a Part,
    /// The data sets; those of the drive come last.
    pub(crate) sets: Vec<SizedData>,
    pub(crate) setups: Vec<EngineSetup<'a>>,
    /// The swept thread counts; one `None` without a sweep.
    pub(crate) threads: Vec<Option<u32>>,
    pub(crate) bare: Option<Bare<'a>>,
    /// The data directory is a block device.
    device: bool,
    runnable: Vec<(&'a Engine, &'a InstalledWorker)>,
    /// Engines that cannot run on this machine.
    pub(crate) left_out: Vec<LeftOut>,
    workers: BTreeMap<&'static str, &'a Description>,
}

impl<'a> Grid<'a> {
    /// `jobs` are the engines of the drive's jobs.
    pub(crate) fn new(
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
            if let Some(sized) = packing::pack_data(&part.typed, setup.engine, sized, mistakes) {
                setup.data = sets.len();
                sets.push(sized);
            }
        }
        let threads = match &part.typed.run.threads {
            Some(threads) => threads.0.iter().map(|threads| Some(threads.0)).collect(),
            None => vec![None],
        };
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

    /// Returns whether its engines take turns: two do; any other number run one after the other.
    pub(crate) fn takes_turns(&self) -> bool {
        self.part.typed.run.turns.is_some() && self.runnable.len() == 2
    }

    /// Resolves the phases of each engine at each thread count, and checks them.
    pub(crate) fn resolve_phases(&mut self, mistakes: &mut Mistakes) {
        let takes_turns = self.takes_turns();
        for setup in &mut self.setups {
            let sized = &self.sets[setup.data];
            let point = |&swept: &Option<u32>| {
                let context = PhaseContext { setup, sized, swept };
                let mut phases = workload::phases(self.part, context);
                if takes_turns {
                    turns::set_turns(self.part, &mut phases);
                }
                Point { swept, phases }
            };
            setup.points = self.threads.iter().map(point).collect();
        }
        self.check_pilot(mistakes);
        let points = || self.setups.iter().flat_map(|setup| &setup.points);
        for Point { phases, .. } in points().filter(|_| self.part.typed.crew.is_some()) {
            crew::check_threads(&self.part.typed, phases, mistakes);
        }
        let most = |setup: &EngineSetup| {
            let sized = &self.sets[setup.data];
            setup.points.iter().map(|point| self.key_numbers(&point.phases, sized)).max()
        };
        if let Some(records) = self.setups.iter().filter_map(most).max() {
            check_keys(&self.part.typed, self.sets[0].data.key.bytes, records, mistakes);
        }
    }

    /// Returns the rate that a pilot is to find, if a role has one.
    fn pilot_rate(&self) -> Option<&At<PilotRate>> {
        self.part.typed.roles().find_map(|role| role.rate.as_ref()?.pilot())
    }

    /// Refuses a rate of a phase that no engine runs.
    fn check_pilot(&self, mistakes: &mut Mistakes) {
        let Some(rate) = self.pilot_rate() else { return };
        if !self.setups.is_empty() && self.pilots().is_empty() {
            let what = format!("no engine of this run has the phase `{}`", rate.phase);
            let mistake = mistakes.at(&rate.span, what);
            mistake.label("expected a phase that some engine can run, or a number");
        }
    }

    /// Returns an upper bound of the key numbers that a case uses.
    fn key_numbers(&self, phases: &[Phase], sized: &SizedData) -> u64 {
        // Ranks of a crew may insert at different speeds, and each rank has its own keys.
        let ranks = self.part.typed.crew.as_ref().map_or(1, |crew| crew.to_crew().ranks());
        let inserts = records_max(phases, sized) - sized.data.records;
        let records = sized.data.records.saturating_add(inserts.saturating_mul(ranks.into()));
        // Missing keys have numbers of their own.
        let mut entries = phases.iter().filter_map(Phase::mix).flat_map(Mix::entries);
        if entries.any(|entry| !entry.keys.finds()) { records.saturating_mul(2) } else { records }
    }

    /// Returns whether one case loads for all thread counts. A bare device cannot be copied: each
    /// case loads its own database there. On an attached server, each case also removes it.
    pub(crate) fn loads_once(&self, setup: &EngineSetup<'_>) -> bool {
        let sharing = self.part.typed.sharing();
        if setup.engine.attached_server().is_some() {
            return false;
        }
        match sharing {
            Sharing::Shared => true,
            Sharing::State => !is_on_device(setup.volume, self.device),
            Sharing::Fresh => false,
        }
    }

    /// Returns the engines that a pilot is to run, each with its phases up to the one whose rate is
    /// sought. The null engine is left out beside others, because it sustains any rate.
    pub(crate) fn pilots(&self) -> Vec<(&EngineSetup<'a>, &[Phase])> {
        let Some(rate) = self.pilot_rate() else { return Vec::new() };
        let up_to_rate = |setup: &'_ EngineSetup<'a>| {
            let phases = &setup.points.first()?.phases;
            let next = workload::phase_position(phases, &rate.phase)? + 1;
            // A following `settle` is included: the engine must keep up with its deferred work.
            let settles = |phase: &Phase| matches!(phase.work, Activity::Settle { .. });
            Some(next + usize::from(phases.get(next).is_some_and(settles)))
        };
        let all: Vec<_> = self.setups.iter().filter_map(|s| Some((s, up_to_rate(s)?))).collect();
        let stores = |setup: &EngineSetup<'_>| !setup.description.capabilities.stores_nothing;
        let some_store = all.iter().any(|(setup, _)| stores(setup));
        let pilots = all.into_iter().filter(|(setup, _)| !some_store || stores(setup));
        pilots.map(|(setup, end)| (setup, &setup.points[0].phases[..end])).collect()
    }

    /// The number of cases.
    pub(crate) fn cases(&self) -> usize {
        let each = |setup| self.threads.len() + usize::from(self.loads_once(setup));
        let points = self.setups.iter().map(each).sum::<usize>();
        let pilots = self.pilots().len();
        points.saturating_mul(self.part.typed.trials() as usize) + pilots + self.cases_of_drive()
    }

    /// Returns an upper bound of the number of cases, as if each engine had a load of its own.
    pub(crate) fn cases_max(&self) -> u64 {
        let points = self.setups.len() as u64 * (self.threads.len() as u64 + 1);
        let cases = points.saturating_mul(u64::from(self.part.typed.trials()));
        cases.saturating_add(self.cases_of_drive() as u64)
    }

    fn cases_of_drive(&self) -> usize {
        let volumes = self.part.typed.volumes().len();
        self.bare.as_ref().map_or(0, |bare| bare.cases(&self.threads) * volumes)
    }

    /// Returns the decisions about this part, as text.
    pub(crate) fn notes(&self) -> Vec<String> {
        let as_run = self.part.fidelity == Fidelity::AsRun;
        let as_run = as_run.then(|| "phases run in the version as run (fidelity)".to_owned());
        let of_data = self.sets.iter().flat_map(|set| set.notes.iter().cloned());
        let notes = as_run.into_iter().chain(self.part.notes.iter().cloned()).chain(of_data);
        let mut notes: Vec<String> = notes.chain(warnings::preset_notes(&self.setups)).collect();
        if self.takes_turns() {
            let points = self.setups.iter().flat_map(|setup| &setup.points);
            notes.extend(turns::notes(self.part, points.flat_map(|point| &point.phases)));
        }
        for note in self.setups.iter().flat_map(|setup| &setup.agreed) {
            if !notes.contains(note) {
                notes.push(note.clone());
            }
        }
        notes
    }

    /// Returns warnings of likely failures, and of work that is left out.
    pub(crate) fn warnings(&self, host: &SizingHost) -> Vec<String> {
        let (setups, part) = (&self.setups, self.part);
        let untuned = warnings::untuned_notes(&self.runnable);
        let not_copied = warnings::no_copy_notes(part, setups, host);
        let data: Vec<&Data> = self.sets.iter().map(|set| &set.data).collect();
        let replayed = warnings::unloaded_keys(part, &data);
        let attached = warnings::attached_server_notes(part, setups);
        let fit = warnings::fit_warnings(setups, &self.sets, host);
        let single = warnings::single_commits(setups);
        let compressed = warnings::compressor_warnings(setups);
        let engines = self.runnable.iter();
        let uncounted = engines.filter_map(|(engine, worker)| {
            abilities::count_warning(&part.typed, engine, worker.engine())
        });
        let uncounted = uncounted.collect();
        let lacks_turns = part.typed.run.turns.is_some() && !self.takes_turns();
        let engines = self.runnable.len();
        let alone = format!(
            "no turns: expected two engines, found {engines}; `kvdyno versus` runs two builds"
        );
        let no_turns = lacks_turns.then_some(alone).into_iter().collect();
        [no_turns, untuned, compressed, single, fit, not_copied, attached, replayed, uncounted]
            .concat()
    }

    /// The descriptions of engines and drive, by name.
    pub(crate) fn descriptions(&self) -> impl Iterator<Item = (&'a str, &'a Description)> {
        let runnable = self.runnable.iter();
        let runnable = runnable.map(|(engine, worker)| (engine.name.0.as_str(), worker.engine()));
        runnable.chain(self.workers.iter().map(|(name, description)| (*name, *description)))
    }

    /// Refuses a part whose engines use none of its volumes.
    fn check_left(&self, mistakes: &mut Mistakes) {
        let engines = &self.part.typed.engine;
        if !self.part.left_out.is_empty() {
            return;
        }
        let Some(volumes) = engines.iter().find_map(|engine| engine.volumes.as_ref()) else {
            return;
        };
        let volume = &self.part.typed.volume;
        let has_volume =
            |engine: &Engine| volume.iter().any(|volume| engine.is_on_volume(&volume.name.0));
        if !engines.iter().any(has_volume) {
            let part =
                self.part.name().map_or("the suite".to_owned(), |part| format!("part `{part}`"));
            let message = format!("{part} has no case: no engine uses any of its volumes");
            mistakes.at(&volumes.span, message).label("expected one of the selected volumes");
        }
    }
}

fn set_up<'a>(
    part: &'a Part,
    runnable: &[(&'a Engine, &'a InstalledWorker)],
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
        volumes
            .retain(|volume| volume.is_none_or(|volume| places.contains(&volume.location_kind())));
        let first = volumes.first().copied().unwrap_or(chosen);
        let device = is_on_device(first, false) || host.device;
        let skipped = abilities::check(&part.typed, engine, description, data, device, mistakes);
        let limited = limits.iter().any(|limit| limit.bytes.is_some() || limit.tier.is_some());
        attached::check(part, engine, limited, mistakes);
        replay::check_engine(part, engine, description, data, mistakes);
        crew::check_engine(&part.typed, engine, description, mistakes);
        for (index, limit) in limits.iter().enumerate() {
            let (memory, is_limited) = (limit.memory_bytes(host), limit.bytes.is_some());
            let measures = Measures { memory, is_limited, scale: part.scale };
            let mut options = options::resolve(engine, description, measures, mistakes);
            let agreed =
                options::agree(engine, description, &versions(runnable, engine), &mut options);
            if index == 0 {
                linkbench::check_engine(&part.typed, engine, description, &options, mistakes);
            }
            let reopened = reopen_options(part, engine, description, measures, &options, mistakes);
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
                points: Vec::new(),
                data,
                limit,
                volume,
            };
            setups.extend(volumes.iter().map(|&volume| EngineSetup { volume, ..setup.clone() }));
        }
    }
    setups
}

/// Returns the descriptions of this engine in the run: one for each library.
fn versions<'a>(
    runnable: &[(&'a Engine, &'a InstalledWorker)],
    engine: &Engine,
) -> Vec<&'a Description> {
    let alike = runnable.iter().filter(|(other, _)| other.name.value == engine.name.value);
    alike.map(|(_, worker)| worker.engine()).collect()
}

/// Returns the options after each `reopen`. Options that a `reopen` does not name are unchanged.
fn reopen_options(
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
        let phase::Phase::Reopen(reopen) = &phase.value else { continue };
        let overrides = reopen.options.0.iter().filter(|(name, _)| engine.is_called(name));
        for (_, typed) in overrides {
            options::apply(engine, typed, description, measures, &mut options, mistakes);
        }
        reopened.push(options.clone());
    }
    reopened
}

/// Returns the engines without a selected volume, and the volumes on which an engine cannot store
/// data.
fn misplaced_engines(part: &Part, runnable: &[(&Engine, &InstalledWorker)]) -> Vec<LeftOut> {
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
            let on_device = volume.location_kind() == PlaceKind::Device;
            if let Some(what) = unsupported_location(worker.engine(), on_device) {
                let why = Absent::for_reason(format!("cannot store data {what}"));
                let absent = Absent { volume: Some(volume.name.0.clone()), ..why };
                notes.push(absent.to_left_out(name(), label.clone()));
            }
        }
    }
    notes
}

/// Returns the phases that engines skip, each once.
fn skipped_phases(part: &Part, setups: &[EngineSetup]) -> Vec<LeftOut> {
    let mut all: Vec<LeftOut> = Vec::new();
    for setup in setups {
        for skipped in &setup.skipped {
            let name = phase_name(&part.typed.phase, skipped.phase);
            let absent = Absent { phase: Some(name), ..Absent::for_reason(skipped.why.clone()) };
            let left_out =
                absent.to_left_out(part.name().map(str::to_owned), setup.engine.label.0.clone());
            push_unique(&mut all, left_out);
        }
    }
    all
}
