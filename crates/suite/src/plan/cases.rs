//! Cases in the order in which they run: trial by trial, with engines interleaved in a new random
//! order.

use crate::plan::estimate;
use crate::plan::grid::Grid;
use crate::plan::jobs::{self, Bare};
use crate::plan::setup::{EngineSetup, Point};
use crate::plan::shape::{data_shape, records_stored};
use crate::plan::shuffle::shuffle_trial;
use crate::plan::sizing::SizedData;
use crate::plan::turns;
use crate::plan::workload;
use crate::written::part::Part;
use crate::written::read::{At, Or as _};
use crate::written::scalar::{Count, slug};
use crate::written::typed::Sharing;
use crate::written::volume::Volume;
use kvdyno_record::engine::{Description, Options, PlaceKind};
use kvdyno_record::plan::{Case, Database};
use kvdyno_record::volume;
use kvdyno_record::workload::{Activity, Phase};

/// Upper bound of valgrind's slowdown.
const VALGRIND_SLOWDOWN: u64 = 60;
const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;

/// Builds the list of cases, in order.
pub(crate) struct Cases {
    /// Digits of a case's number.
    width: usize,
    /// The next case's position in lists.
    listed: u32,
    /// The case that wrote the drive's file, for each grid.
    filled: Vec<Option<String>>,
    made: Vec<Case>,
}

/// Cases that stay together.
#[derive(Clone, Copy)]
struct CaseGroup<'g, 'a> {
    grid: &'g Grid<'a>,
    owner: GroupOf<'g, 'a>,
}

/// The owner of a group: the engine or drive that its cases run.
#[derive(Clone, Copy)]
enum GroupOf<'g, 'a> {
    /// An engine under a RAM limit: with all thread counts if they share a database, with one
    /// thread count if each case loads its own.
    Engine(&'g EngineSetup<'a>, &'g [Point]),
    /// All jobs of the drive, on one volume.
    Drive(&'g Bare<'a>, Option<&'a At<Volume>>),
}

impl CaseGroup<'_, '_> {
    fn trials(&self) -> u32 {
        match self.owner {
            GroupOf::Engine(..) => self.grid.part.typed.trials(),
            GroupOf::Drive(drive, _) => drive.trials,
        }
    }

    /// Returns whether engines are compared by its cases: not for a ceiling or the null engine.
    fn is_judged(&self) -> bool {
        match self.owner {
            GroupOf::Engine(setup, _) => !setup.description.capabilities.stores_nothing,
            GroupOf::Drive(drive, _) => !drive.section.is_ceiling(),
        }
    }

    /// Returns whether the other group has the same case of another engine, and the two take turns.
    fn is_pair_with(&self, other: &Self) -> bool {
        let (GroupOf::Engine(one, [point]), GroupOf::Engine(two, [other_point])) =
            (self.owner, other.owner)
        else {
            return false;
        };
        let setting = |setup: &EngineSetup<'_>| {
            let data = self.grid.sets[setup.data].data.unpacked();
            (data, setup.limit.bytes, setup.volume.map(|volume| volume.name.0.clone()))
        };
        self.grid.takes_turns()
            && self.grid.index == other.grid.index
            && one.engine.label.0 != two.engine.label.0
            && one.engine.attached_server().or(two.engine.attached_server()).is_none()
            && point.swept == other_point.swept
            && phase_names(&point.phases).eq(phase_names(&other_point.phases))
            && setting(one) == setting(two)
    }
}

/// A case before it is added.
#[derive(Clone, Copy)]
struct CaseDraft<'s, 'e> {
    grid: &'s Grid<'e>,
    setup: &'s EngineSetup<'e>,
    swept: Option<u32>,
    trial: u32,
    /// All phases that its figures depend on, with those that the loading case performs.
    phases: &'s [Phase],
    /// The database that it takes over; none: it makes its own.
    loaded: Option<LoadedDatabase<'s>>,
    /// It makes a state, or works on a copy of one.
    is_state: bool,
    /// Records in a copy of the database, inserts included; 0: it is not copied.
    copied: u64,
    /// Other cases continue with its database.
    loads_for_others: bool,
    ceiling: bool,
}

impl<'s, 'e> CaseDraft<'s, 'e> {
    /// A draft without phases, with a database of its own.
    fn new(grid: &'s Grid<'e>, setup: &'s EngineSetup<'e>, trial: u32) -> Self {
        Self {
            grid,
            setup,
            swept: None,
            trial,
            phases: &[],
            loaded: None,
            is_state: false,
            copied: 0,
            loads_for_others: false,
            ceiling: false,
        }
    }

    fn sized_data(&self) -> &'s SizedData {
        &self.grid.sets[self.setup.data]
    }
}

/// A database that another case has loaded.
#[derive(Clone, Copy)]
struct LoadedDatabase<'s> {
    /// The number of leading phases that are done already.
    phases: usize,
    loader: &'s str,
}

fn phase_names(phases: &[Phase]) -> impl Iterator<Item = &str> {
    phases.iter().map(|phase| phase.name.as_str())
}

/// Returns whether the database is on a block device without a filesystem. `device`: the run's data
/// directory is such a device.
pub(crate) fn is_on_device(volume: Option<&At<Volume>>, device: bool) -> bool {
    volume.map_or(device, |volume| volume.location_kind() == PlaceKind::Device)
}

/// Returns all cases of all parts. Trials are outermost: each trial has all parts.
pub(crate) fn all(grids: &[Grid<'_>]) -> Vec<Case> {
    let width = grids.iter().map(Grid::cases).sum::<usize>().to_string().len().max(4);
    let filled = vec![None; grids.len()];
    let mut cases = Cases { width, listed: 0, filled, made: Vec::new() };
    let trials = grids.iter().map(|grid| grid.part.typed.trials()).max().unwrap_or(0);
    cases.pilots(grids);
    for trial in 1..=trials {
        let mut groups = assign_list_positions(grids.iter().flat_map(groups).collect(), grids);
        groups.retain(|(_, group)| trial <= group.trials());
        let seed = grids.first().and_then(|grid| grid.sets.first()).map_or(0, |set| set.data.seed);
        shuffle_trial(&mut groups, seed, trial, |(_, group)| group.is_judged());
        turns::move_pairs_together(&mut groups, |(_, one), (_, other)| one.is_pair_with(other));
        let mut before: Option<CaseGroup<'_, '_>> = None;
        for (first, group) in groups {
            cases.listed = first;
            cases.group(group, trial, seed);
            before = if before.is_some_and(|before| before.is_pair_with(&group)) {
                turns::pair_last(&mut cases.made);
                None
            } else {
                Some(group)
            };
        }
    }
    cases.end_drives();
    cases.made
}

/// Returns the groups of cases that stay together in a trial, in the order of the suite.
fn groups<'g, 'a>(grid: &'g Grid<'a>) -> Vec<CaseGroup<'g, 'a>> {
    let engines = grid.setups.iter().flat_map(|setup| {
        let together = if grid.loads_once(setup) { setup.points.len() } else { 1 };
        setup.points.chunks(together).map(move |points| GroupOf::Engine(setup, points))
    });
    let volumes = grid.part.typed.volumes();
    let drive = grid.bare.iter().flat_map(|drive| {
        volumes.iter().map(move |&volume| GroupOf::Drive(drive, volume)).collect::<Vec<_>>()
    });
    engines.chain(drive).map(|owner| CaseGroup { grid, owner }).collect()
}

/// Returns the index of the first phase under the RAM limit: 0, or the first `evict` where the
/// database is loaded without the limit.
fn limit_from(part: &Part, phases: &[Phase]) -> u32 {
    if part.typed.ram.while_loading.value_or(true) {
        return 0;
    }
    let loads = phases.iter().any(|phase| matches!(phase.work, Activity::Load(_)));
    let evict = phases.iter().position(|phase| phase.work == Activity::Evict);
    if loads { evict.unwrap_or(phases.len()) as u32 } else { 0 }
}

impl Cases {
    /// Adds a pilot case for each engine, up to the phase whose rate other phases take a share of.
    fn pilots(&mut self, grids: &[Grid<'_>]) {
        // Pilots are listed after all other cases.
        self.listed = grids.iter().map(Grid::cases_max).sum::<u64>() as u32;
        for grid in grids {
            for (setup, phases) in grid.pilots() {
                self.push(CaseDraft { phases, ..CaseDraft::new(grid, setup, 0) });
                self.end_last();
            }
        }
    }

    fn group(&mut self, group: CaseGroup<'_, '_>, trial: u32, seed: u64) {
        let CaseGroup { grid, owner } = group;
        match owner {
            GroupOf::Engine(setup, points) if grid.loads_once(setup) => {
                self.load_once(grid, setup, points, trial);
            }
            GroupOf::Engine(setup, points) => self.load_own(grid, setup, points, trial),
            GroupOf::Drive(drive, volume) => self.drive(grid, drive, volume, trial, seed),
        }
    }

    /// Adds one case that loads, and a case for each thread count on its database or on a copy.
    fn load_once(
        &mut self,
        grid: &Grid<'_>,
        setup: &EngineSetup<'_>,
        points: &[Point],
        trial: u32,
    ) {
        let (part, sized) = (grid.part, &grid.sets[setup.data]);
        let Some(first) = points.first() else { return };
        // A load that is done once has the same threads at each point.
        let load_phases = workload::making(part, &first.phases);
        let points = if load_phases == first.phases.len() { &[] } else { points };
        let copied = points.iter().map(|point| records_stored(&point.phases, sized)).max();
        let is_state = part.typed.sharing() == Sharing::State && !points.is_empty();
        let copied = copied.filter(|_| is_state).unwrap_or(0);
        let phases = &first.phases[..load_phases];
        let draft = CaseDraft { phases, is_state, copied, ..CaseDraft::new(grid, setup, trial) };
        let loader = self.push(CaseDraft { loads_for_others: !points.is_empty(), ..draft });
        for Point { swept, phases } in points {
            let loaded = Some(LoadedDatabase { phases: load_phases, loader: &loader });
            self.push(CaseDraft { swept: *swept, phases, loaded, copied: 0, ..draft });
        }
        self.end_last();
    }

    /// Adds cases that each load and remove their own database.
    fn load_own(&mut self, grid: &Grid<'_>, setup: &EngineSetup<'_>, points: &[Point], trial: u32) {
        for Point { swept, phases } in points {
            self.push(CaseDraft { swept: *swept, phases, ..CaseDraft::new(grid, setup, trial) });
            self.end_last();
        }
    }

    /// Adds every job of the drive, in random order unless `in_order` is set. The file is written
    /// once for all trials: its contents do not matter.
    fn drive<'a>(
        &mut self,
        grid: &Grid<'a>,
        drive: &Bare<'a>,
        volume: Option<&'a At<Volume>>,
        trial: u32,
        seed: u64,
    ) {
        let first_job = self.listed + 1;
        if self.filled[grid.index].is_none() && drive.is_filled() {
            self.filled[grid.index] = Some(self.fill(grid, drive, volume, trial));
        }
        let filler = self.filled[grid.index].clone();
        let threads = &drive.points(&grid.threads);
        let with = |job| jobs::threads(job, threads).into_iter().map(Some);
        let points =
            drive.jobs.iter().flat_map(|(setup, job)| with(job).map(move |t| (setup, job, t)));
        let mut points: Vec<_> = (first_job..).zip(points).collect();
        if !drive.section.in_order.value_or(false) {
            shuffle_trial(&mut points, seed, trial, |_| true);
        }
        for (listed, (setup, job, swept)) in points {
            self.listed = listed;
            let setup = &EngineSetup { volume, ..setup.clone() };
            let phases = &jobs::phases(drive, job, swept);
            let filled = jobs::fill_phases(drive).len();
            let trims = job.rw().trims();
            let shared = filler.as_deref().filter(|_| !trims);
            let loaded = shared.map(|loader| LoadedDatabase { phases: filled, loader });
            let ceiling = drive.section.is_ceiling();
            let draft = CaseDraft::new(grid, setup, trial);
            self.push(CaseDraft { swept, phases, loaded, ceiling, ..draft });
            if drive.section.is_read_only() || trims {
                self.end_last();
            }
        }
        // A volume exists from its load to its last use.
        let ends = drive.overwritten || volume.is_some();
        if let Some(filler) = self.filled[grid.index].take_if(|_| ends) {
            self.end_drive(&filler);
        }
    }

    fn fill<'a>(
        &mut self,
        grid: &Grid<'a>,
        drive: &Bare<'a>,
        volume: Option<&'a At<Volume>>,
        trial: u32,
    ) -> String {
        let setup = &EngineSetup { volume, ..drive.fill.clone() };
        let (phases, ceiling) = (&jobs::fill_phases(drive), drive.section.is_ceiling());
        self.push(CaseDraft { phases, ceiling, ..CaseDraft::new(grid, setup, trial) })
    }

    /// Marks the last case as the last use of its database.
    fn end_last(&mut self) {
        if let Some(last) = self.made.last_mut() {
            last.database.last_use = true;
        }
    }

    fn end_drives(&mut self) {
        let fillers: Vec<String> = self.filled.iter_mut().filter_map(Option::take).collect();
        for filler in &fillers {
            self.end_drive(filler);
        }
    }

    /// Marks the last case that uses a drive's file: the file is removed with it.
    fn end_drive(&mut self, filler: &str) {
        let last = self.made.iter_mut().rev().find(|case| case.database.id == filler);
        if let Some(last) = last {
            last.database.last_use = true;
        }
    }

    /// Adds a case and returns its id.
    fn push(&mut self, draft: CaseDraft) -> String {
        let CaseDraft { grid, setup, swept, trial, phases: phases_on_record, loaded, .. } = draft;
        let (sized, part) = (draft.sized_data(), grid.part);
        let (data, run) = (&sized.data, &part.typed.run);
        let (before, phases) = phases_on_record.split_at(loaded.map_or(0, |loaded| loaded.phases));
        let phases = phases.to_vec();
        let alone = || measured_threads(&phases).filter(|_| !draft.loads_for_others);
        let threads = swept.or_else(alone);
        let id = self.id(&draft, threads);
        let volume = self.volume(&draft);
        let loaded_by = loaded.map_or(id.as_str(), |loaded| loaded.loader).to_owned();
        let mut case = Case {
            key: String::new(),
            engine: setup.engine.name.0.clone(),
            label: part.label(&setup.engine.label.0),
            part: part.name().map(str::to_owned),
            library: setup.library.cloned(),
            server: setup.server.cloned(),
            crew: part.typed.crew.as_ref().map(|crew| crew.to_crew()),
            options: effective_options(setup, before).clone(),
            trial,
            listed: self.listed,
            ceiling: draft.ceiling,
            threads,
            threads_swept: swept,
            database: Database {
                id: loaded_by.clone(),
                loaded_by,
                last_use: false,
                is_state: draft.is_state,
            },
            volume,
            ram_limit_bytes: setup.limit.bytes,
            ram_limit_from: limit_from(part, &phases),
            tier: setup.limit.tier.clone(),
            data: data.clone(),
            shape: data_shape(sized, &phases),
            budget_ns: 0,
            turns_with: None,
            slice_ns: part.typed.slice_ns(),
            io_latency: run.io_latency.value_or(false),
            profile: run.profile.value_or(false),
            count: run.count.as_ref().map(|count| count.value),
            errors_max: run.max_errors.value_or(Count(100)).0,
            phases,
            id: id.clone(),
        };
        case.budget_ns = match &run.budget {
            Some(At { value, .. }) => value.0,
            None => default_budget(&case, setup.description),
        };
        // A load for other cases is the same whether they share or copy its database.
        let shared = part.typed.sharing() == Sharing::Shared || draft.copied > 0;
        case.key = kvdyno_record::work::Work::new(&case, before).key(shared);
        if case.is_pilot() {
            case.key.insert_str(0, "pilot/");
        }
        self.made.push(case);
        self.listed += 1;
        id
    }

    /// Returns the volume of the case's database. A loading case sizes it by the engine's space
    /// factor, a copy included; later cases take it over.
    fn volume(&self, draft: &CaseDraft) -> Option<volume::Volume> {
        let (named, sized) = (draft.setup.volume?, draft.sized_data());
        let loaded_by = draft.loaded.map(|loaded| loaded.loader);
        if let Some(loader) =
            self.made.iter().rev().find(|case| Some(case.id.as_str()) == loaded_by)
        {
            return loader.volume.clone();
        }
        let planning = &draft.setup.description.planning;
        let records = records_stored(draft.phases, sized).saturating_add(draft.copied) as f64;
        let space = records * sized.record_bytes * planning.space_factor;
        Some(named.resolve(draft.grid.part.scale, space as u64))
    }

    /// Returns the id of a case: `0005_rocksdb_t4_r2`, `0004_rocksdb_load_r2`,
    /// `0007_rocksdb_64gib_t4_r2`, `0003_lmdb_on-xfs_load_r1`,
    /// `0009_rocksdb_v4000_64gib_with-zram_t4_r1`; in part `flash` `0003_flash_lmdb_load_r1`; of a
    /// pilot `0001_lmdb_pilot`.
    fn id(&self, draft: &CaseDraft, threads: Option<u32>) -> String {
        let CaseDraft { setup, trial, .. } = *draft;
        let number = self.made.len() + 1;
        let part = draft.grid.part.name().map_or(String::new(), |name| format!("{name}_"));
        let data = &draft.sized_data().tag;
        let data = data.as_ref().map_or(String::new(), |tag| format!("_{tag}"));
        let ram = setup.limit.tag.as_ref().map_or(String::new(), |tag| format!("_{tag}"));
        let work = threads.map_or("load".to_owned(), |threads| format!("t{threads}"));
        let (label, width) = (slug(&setup.engine.label.0), self.width);
        let volume = setup.volume.map_or(String::new(), |volume| format!("_on-{}", volume.name.0));
        let work = if trial == 0 { "pilot".to_owned() } else { format!("{work}_r{trial}") };
        let name = format!("{number:0width$}_{part}{label}{data}{ram}{volume}");
        let name: String = name.chars().take(ID_BYTES_MAX - work.len() - 1).collect();
        format!("{name}_{work}")
    }
}

/// The most bytes of a case's id. A bundle is an archive whose names have 100 bytes: the id, `_a2`
/// of an attempt, and a file in its directory.
const ID_BYTES_MAX: usize = 72;

/// Returns the options with which the engine is opened: those of the last `reopen` in the case that
/// loaded the database, or its first ones.
fn effective_options<'s>(setup: &'s EngineSetup<'_>, before: &'s [Phase]) -> &'s Options {
    let last = before.iter().rev().find_map(|phase| match &phase.work {
        Activity::Reopen { options } => Some(options),
        _ => None,
    });
    last.unwrap_or(&setup.options)
}

/// Pairs each group with the list position of its first case: in the order of the suite, part by
/// part and volume by volume, whatever the order of execution.
fn assign_list_positions<'g, 'a>(
    mut groups: Vec<CaseGroup<'g, 'a>>,
    grids: &[Grid<'_>],
) -> Vec<(u32, CaseGroup<'g, 'a>)> {
    let volumes: Vec<Vec<Option<&At<Volume>>>> =
        grids.iter().map(|grid| grid.part.typed.volumes()).collect();
    groups.sort_by_key(|CaseGroup { grid, owner }| {
        let (GroupOf::Engine(EngineSetup { volume, .. }, _) | GroupOf::Drive(_, volume)) = owner;
        let name = volume.map(|volume| &volume.name.0);
        let mut names =
            volumes[grid.index].iter().map(|volume| volume.map(|volume| &volume.name.0));
        (grid.index, names.position(|other| other == name))
    });
    let mut next = 0;
    let with_first = groups.into_iter().map(|group| {
        let first = next;
        next += match group.owner {
            GroupOf::Engine(_, points) => 1 + points.len(),
            GroupOf::Drive(drive, _) => drive.cases(&group.grid.threads),
        } as u32;
        (first, group)
    });
    with_first.collect()
}

/// Returns the threads of the first measured phase, for cases without a thread sweep; none for a
/// case that only loads.
fn measured_threads(phases: &[Phase]) -> Option<u32> {
    phases.iter().find_map(|phase| match &phase.work {
        Activity::Measure(mix) => Some(workload::threads(mix)),
        _ => None,
    })
}

/// Returns five times the expected duration of the case, in whole minutes, at least ten.
fn default_budget(case: &Case, engine: &Description) -> u64 {
    let slower = if case.is_counted() { VALGRIND_SLOWDOWN } else { 1 };
    let expected = estimate::cost(case, engine).wall_ns.saturating_mul(slower);
    (expected.saturating_mul(5).div_ceil(MINUTE)).max(10).saturating_mul(MINUTE)
}
