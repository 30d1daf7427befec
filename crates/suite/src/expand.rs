//! The second gate: a suite, what the engines say of themselves and what the host has become a
//! flat plan.

use super::abilities::{self, misplaced};
use super::cases::{Cases, is_on_device, phase_context, records_max};
use super::engine::Engine;
use super::estimate;
use super::jobs::{self, Bare};
use super::mistake::{Mistakes, SuiteError};
use super::options;
use super::parse::Suite;
use super::phase::Phase;
use super::setup::EngineSetup;
use super::sizing::{self, Limit, Sized, SizingHost};
use super::volume::Volume;
use super::wanted::{self, Engines, Missing};
use super::workload;
use kvdyno_record::engine::{Description, PlaceKind};
use kvdyno_record::plan::{Copying, Plan};
use kvdyno_record::units;
use kvdyno_record::workload::{Mix, Phase as Planned};
use std::collections::BTreeMap;

/// More cases than this are a slip of the keyboard.
const CASES_MAX: u64 = 100_000;

/// Every case of the suite, with nothing left open.
///
/// `engines` is what came of looking for [`Suite::wanted`]. The time this takes depends on the
/// number of cases and on nothing else.
pub fn expand(suite: &Suite, engines: &Engines, host: &SizingHost) -> Result<Plan, SuiteError> {
    let mut mistakes = Mistakes::default();
    let found = find_engines(suite, engines, &mut mistakes);
    let described: Vec<_> = found.iter().map(|(_, found)| found.engine()).collect();
    let mut sets = sizing::data_sets(suite, &described, host, &mut mistakes);
    let limits: Vec<_> = sets.iter_mut().map(|set| sizing::limits(suite, set, host)).collect();
    let mut setups = Vec::new();
    for (at, (sized, limits)) in sets.iter().zip(&limits).enumerate() {
        let of = set_up(suite, &found, limits, sized, host, &mut mistakes);
        setups.extend(of.into_iter().map(|setup| EngineSetup { data: at, ..setup }));
    }
    check_place(suite, host, &mut mistakes);
    let threads = swept_threads(suite);
    let drive = suite.typed.drive.as_ref();
    let drive_engines = drive.map(jobs::engines).unwrap_or_default();
    let workers = drive.map(|drive| jobs::find(drive, engines, &mut mistakes)).unwrap_or_default();
    check_keys(suite, &setups, &threads, &sets, &mut mistakes);
    let bare = drive.and_then(|drive| {
        let context = jobs::DriveContext { suite, workers: &workers, limits: &limits, host };
        jobs::resolve(drive, &drive_engines, &context, &mut sets, &mut mistakes)
    });
    check_size(suite, &setups, &threads, bare.as_ref(), &mut mistakes);
    mistakes.none(&suite.source)?;

    let warnings =
        [fit_warnings(&setups, host), left_out(suite, &found), not_copied(suite, &setups, host)];
    let warnings = warnings.concat();
    let cases = Cases::of(suite, &sets, host.device).all(&setups, &threads, bare.as_ref());
    let found = found.iter().map(|(engine, found)| (engine.name.0.as_str(), found.engine()));
    let descriptions: BTreeMap<&str, &Description> = found.chain(workers).collect();
    Ok(Plan {
        search: None,
        format: kvdyno_record::FORMAT.to_owned(),
        suite: suite.name().to_owned(),
        title: title(suite),
        sized: [suite.notes.clone(), notes(sets)].concat(),
        warnings,
        estimate: estimate::estimate(&cases, &descriptions),
        cases,
    })
}

/// What was decided about all data sets, each sentence once.
fn notes(sets: Vec<Sized>) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for note in sets.into_iter().flat_map(|set| set.notes) {
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

fn find_engines<'a>(
    suite: &'a Suite,
    engines: &'a Engines,
    mistakes: &mut Mistakes,
) -> Vec<(&'a Engine, &'a wanted::FoundWorker)> {
    let known: Vec<&str> = engines.known.iter().map(String::as_str).collect();
    let mut found = Vec::new();
    for engine in &suite.typed.engine {
        let (name, span) = (&engine.name.0, &engine.pick.span);
        match engines.get(name, &engine.pick) {
            Some(Ok(worker)) => found.push((engine, worker)),
            Some(Err(Missing::NotInstalled { installed })) => {
                let versions = not_installed(suite, engines, name);
                // All of an engine at once, so that one command fetches them.
                if versions.first() == Some(&engine.pick.words()) {
                    let (all, get) = (versions.join(", "), versions.join(" "));
                    let are = if versions.len() == 1 { "is" } else { "are" };
                    let installed = match &installed[..] {
                        [] => "nothing".to_owned(),
                        installed => installed.join(", "),
                    };
                    let mistake = mistakes.at(span, format!("{name} {all} {are} not installed"));
                    mistake.label("not installed");
                    mistake
                        .help(format!("`kvdyno engines get {name} {get}`; installed: {installed}"));
                }
            }
            Some(Err(Missing::NoLibrary(words))) => {
                mistakes.at(span, format!("{name}: {words}")).help(format!(
                    "`kvdyno engines get {name}` fetches the newest release; --engine runs the \
                     others alone"
                ));
            }
            Some(Err(Missing::TakesNone { version })) => {
                let what = format!("{name} is part of its worker, and loads no library");
                let mistake = mistakes.at(span, what);
                mistake.label(format!("expected neither a version nor a library: it is {version}"));
            }
            Some(Err(Missing::Unusable(why))) => {
                mistakes.at(span, format!("{name} cannot be loaded: {why}"));
            }
            None => {
                let message = format!("there is no worker `kvdyno-{name}`");
                let found = match &known[..] {
                    [] => "none was found".to_owned(),
                    known => format!("found: {}", known.join(", ")),
                };
                mistakes.unknown(&engine.name.span, message, name, &known).help(format!(
                    "{found}; `make engines` builds LMDB and RocksDB, `kvdyno engines` says where \
                     workers are looked for, --engine runs the others alone"
                ));
            }
        }
    }
    found
}

/// The versions of one engine that are not installed, each once.
fn not_installed(suite: &Suite, engines: &Engines, name: &str) -> Vec<String> {
    let missing = |engine: &&Engine| {
        let found = engines.get(name, &engine.pick);
        engine.name.0 == name && matches!(found, Some(Err(Missing::NotInstalled { .. })))
    };
    let missing = suite.typed.engine.iter().filter(missing);
    let mut versions: Vec<String> = missing.map(|engine| engine.pick.words()).collect();
    // With lists of options each version is there several times.
    versions.dedup();
    versions
}

fn set_up<'a>(
    suite: &'a Suite,
    found: &[(&'a Engine, &'a wanted::FoundWorker)],
    limits: &[Limit],
    sized: &Sized,
    host: &SizingHost,
    mistakes: &mut Mistakes,
) -> Vec<EngineSetup<'a>> {
    let mut setups = Vec::new();
    for &(engine, worker) in found {
        let (description, library) = (worker.engine(), worker.library.as_ref());
        let data = &sized.data;
        let places = &description.capabilities.places;
        let mut volumes = suite.typed.volumes();
        volumes.retain(|volume| volume.is_none_or(|volume| places.contains(&volume.place())));
        let first = volumes.first().copied().unwrap_or_else(|| suite.typed.volume.first());
        let device = is_on_device(first, false) || host.device;
        abilities::check(&suite.typed, engine, description, data, device, mistakes);
        for limit in limits {
            let memory = limit.memory_bytes(host);
            let options = options::resolve(engine, description, memory, mistakes);
            let (limit, data, volume) = (limit.clone(), 0, None);
            let setup = EngineSetup { engine, description, library, options, data, limit, volume };
            setups.extend(volumes.iter().map(|&volume| EngineSetup { volume, ..setup.clone() }));
        }
    }
    setups
}

/// What engines are not run on, though the suite names it.
fn left_out(suite: &Suite, found: &[(&Engine, &wanted::FoundWorker)]) -> Vec<String> {
    let mut notes = Vec::new();
    for (engine, worker) in found {
        for volume in &suite.typed.volume {
            let on_device = volume.place() == PlaceKind::Device;
            if let Some(what) = misplaced(worker.engine(), on_device) {
                let (label, name) = (&engine.label.0, &volume.name.0);
                notes.push(format!("{label} is not run on `{name}`: it stores nothing {what}"));
            }
        }
    }
    notes
}

/// What the suite wants to have copied and cannot be, and what is done instead.
fn not_copied(suite: &Suite, setups: &[EngineSetup], host: &SizingHost) -> Vec<String> {
    let Some(copying) = suite.typed.sharing().copying() else { return Vec::new() };
    let evicts = suite.typed.phase.iter().any(|phase| matches!(phase.value, Phase::Evict(_)));
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

/// Images and mount points need a directory.
fn check_place(suite: &Suite, host: &SizingHost, mistakes: &mut Mistakes) {
    if let Some(volume) = suite.typed.volume.first().filter(|_| host.device) {
        let mistake = mistakes.at(&volume.span, "the place is a block device already");
        mistake.label("expected no [[volume]], or a directory as place");
    }
}

/// What the suite says of itself. It may promise data larger than RAM: not without its limit.
fn title(suite: &Suite) -> String {
    let ram = &suite.typed.ram;
    let limited = ram.limit.is_some() || ram.data_to_ram.is_some() || !ram.tier.is_empty();
    let without = if suite.no_ram_limit && limited { " (without its RAM limit)" } else { "" };
    format!("{}{without}", suite.title())
}

/// The numbers of `run.threads`; one `None` where nothing is swept.
fn swept_threads(suite: &Suite) -> Vec<Option<u32>> {
    match &suite.typed.run.threads {
        Some(threads) => threads.0.iter().map(|threads| Some(threads.0)).collect(),
        None => vec![None],
    }
}

fn check_size(
    suite: &Suite,
    setups: &[EngineSetup],
    threads: &[Option<u32>],
    bare: Option<&Bare>,
    mistakes: &mut Mistakes,
) {
    let points = setups.len() as u64 * (threads.len() as u64 + 1);
    let volumes = suite.typed.volume.len().max(1) as u64;
    let of_drive = bare.map_or(0, |bare| bare.cases(threads) as u64 * volumes);
    let cases = points.saturating_mul(u64::from(suite.typed.trials())).saturating_add(of_drive);
    if cases > CASES_MAX {
        let cases = units::grouped(cases);
        let help = "fewer trials, thread counts, RAM limits or engines";
        let message = format!("the suite expands to {cases} cases");
        let span = suite.typed.run.trials.as_ref().map(|trials| &trials.span);
        match span {
            Some(span) => mistakes.at(span, message).help(help),
            None => mistakes.anywhere(message).help(help),
        };
    }
}

/// Keys must have room for the largest number, inserts included.
fn check_keys(
    suite: &Suite,
    setups: &[EngineSetup],
    threads: &[Option<u32>],
    sets: &[Sized],
    mistakes: &mut Mistakes,
) {
    let (Some(setup), Some(first)) = (setups.first(), sets.first()) else { return };
    let most = |threads: &Option<u32>, sized: &Sized| {
        let phases = workload::phases(suite, phase_context(setup, *threads, sized));
        let records = records_max(&phases, sized);
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
        let typed = &suite.typed.data;
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
        let bytes = setup.limit.memory_bytes(host).min(host.memory_bytes);
        let caches = options::cache_bytes(setup.description, &setup.options);
        let needed = setup.description.planning.ram_bytes_min.saturating_add(caches);
        (needed > bytes).then(|| {
            let with = match caches {
                0 => "no cache".to_owned(),
                bytes => format!("{} of it caches and buffers", units::bytes_in_words(bytes)),
            };
            format!(
                "{} may not fit its RAM limit of {}: minimum memory {} ({with}); more data \
                 (`--scale`, `data.records`), a `ram.limit`, or `--no-ram-limit`",
                setup.engine.label.0,
                units::bytes_in_words(bytes),
                units::bytes_in_words(needed),
            )
        })
    };
    let mut notes: Vec<String> = setups.iter().filter_map(note).collect();
    // An engine on several volumes is told of once.
    notes.dedup();
    notes
}
