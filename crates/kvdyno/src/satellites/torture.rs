//! `kvdyno torture`: finds what an engine loses when the power fails, or when its process is
//! killed.

mod boot;
mod testbed;
mod text;
mod trial;
mod victim;

use crate::cli::{ShowArgs, TortureArgs};
use crate::exit::Complaint;
use crate::printer::{Printer, Progress};
use crate::running::runner::Interrupt;
use crate::running::start::run_id;
use crate::running::{libraries, workers};
use anyhow::Context as _;
use boot::Boot;
use kvdyno_host::{Root, meter};
use kvdyno_record::case::WorkerIdentity;
use kvdyno_record::engine::{
    Description, Durability, OptionKind, Options, PlaceKind, PowerLoss, Value,
};
use kvdyno_record::exit::Exit;
use kvdyno_record::pledge::Units;
use kvdyno_record::redact::redact;
use kvdyno_record::torture::{ClassRecord, FILE, TortureRecord, Trial, TrialKind, WRITERS_MAX};
use kvdyno_record::volume::FilesystemKind;
use kvdyno_record::{FORMAT, VERSION, units};
use kvdyno_suite::{Pick, WorkerSpec};
use kvdyno_torture::verdict::{Verdict, judge};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use testbed::Testbed;
use trial::Trials;
use victim::Victim;

/// Default number of states for each class.
const STATES: u64 = 300;
const STATES_QUICK: u64 = 40;

/// The time for which a stalled drive does not reply.
const PAUSE: Duration = Duration::from_secs(30);
const PAUSE_QUICK: Duration = Duration::from_secs(3);

/// Initial estimate for a class; it is soon replaced by measurements.
const ESTIMATE: Duration = Duration::from_secs(60);

pub(crate) fn run(args: &TortureArgs, printer: &Printer) -> anyhow::Result<Exit> {
    let kind = FilesystemKind::from(args.filesystem);
    let victims = victims(args)?;
    if let (Some(replay), Some(state)) = (&args.replay, args.power_loss) {
        return replay_state(args, &victims, replay, state, printer);
    }
    testbed::check(kind)?;
    let interrupt = Interrupt::listen()?;
    let id = run_id("torture");
    let dir = std::path::absolute(args.runs.runs.join(&id))?;
    enter(args, &dir)?;
    fs::create_dir_all(&dir).with_context(|| format!("failed to create {}", dir.display()))?;
    let mut record = record(args, id, kind);
    record.write(&dir)?;
    let progress = printer.progress(victims.len(), ESTIMATE * victims.len() as u32);
    for (number, victim) in (1..).zip(&victims) {
        progress.case_started(number, &victim.label());
        let class = torture(args, victim, &dir, &progress, &interrupt)?;
        let word = match text::verdict(&class) {
            Verdict::Held => "held",
            Verdict::Broken(_) => "broken",
            Verdict::Inconclusive(_) => "inconclusive",
        };
        let power = class.trials.iter().find(|trial| trial.kind == TrialKind::Power);
        let headline = power.map(text::trial_result).unwrap_or_default();
        progress.case_finished(number, &victim.label(), word, &headline);
        record.classes.push(class);
        record.write(&dir)?;
        if interrupt.is_requested() {
            break;
        }
    }
    drop(progress);
    if !interrupt.is_requested() {
        record.ended_unix_ns = Some(meter::unix_ns());
        record.write(&dir)?;
    }
    let verdict = print(&record, &dir, args.json, printer)?;
    printer.note(&format!("recorded in {}", dir.display()));
    Ok(if interrupt.is_requested() { Exit::Interrupted } else { verdict })
}

/// Prints a record once more, and returns the exit code; none: the name is not that of a torture.
pub(crate) fn show(args: &ShowArgs, printer: &Printer) -> Option<anyhow::Result<Exit>> {
    let [name] = args.names.as_slice() else { return None };
    let dirs = [PathBuf::from(name), args.runs.runs.join(name)];
    let dir = dirs.into_iter().find(|dir| dir.join(FILE).is_file())?;
    let record = TortureRecord::read(&dir);
    let print = |record| print(&record, &dir, args.view.json, printer);
    Some(record.map_err(anyhow::Error::from).and_then(print))
}

fn print(
    record: &TortureRecord,
    dir: &Path,
    json: bool,
    printer: &Printer,
) -> anyhow::Result<Exit> {
    if json {
        printer.json(record)?;
    } else {
        text::print(record, dir, printer);
    }
    Ok(exit(record))
}

fn exit(record: &TortureRecord) -> Exit {
    let verdicts: Vec<Verdict> = record.classes.iter().map(text::verdict).collect();
    if verdicts.iter().any(|verdict| matches!(verdict, Verdict::Broken(_))) {
        Exit::EngineFailed
    } else if verdicts.iter().any(|verdict| matches!(verdict, Verdict::Inconclusive(_))) {
        Exit::Invalid
    } else {
        Exit::Ok
    }
}

/// Enters a private mount namespace, in which the data directory and `dir` stay visible.
fn enter(args: &TortureArgs, dir: &Path) -> anyhow::Result<()> {
    let temporary = std::env::temp_dir();
    let data_dir = std::path::absolute(args.data_dir.as_deref().unwrap_or(&temporary))?;
    Ok(testbed::enter(&[&data_dir, dir])?)
}

fn record(args: &TortureArgs, id: String, kind: FilesystemKind) -> TortureRecord {
    TortureRecord {
        format: FORMAT.to_owned(),
        id,
        program: VERSION.to_owned(),
        command: std::env::args_os().map(|word| redact(&word.to_string_lossy())).collect(),
        kernel: Root::system().text("/proc/sys/kernel/osrelease").unwrap_or_default().trim().into(),
        started_unix_ns: meter::unix_ns(),
        ended_unix_ns: None,
        filesystem: kind.as_str().to_owned(),
        seed: args.seed,
        writers: args.writers,
        states: states(args),
        classes: Vec::new(),
    }
}

fn states(args: &TortureArgs) -> u64 {
    args.power_losses.unwrap_or(if args.quick { STATES_QUICK } else { STATES })
}

/// Runs all trials of one class. A failure affects only this class.
fn torture(
    args: &TortureArgs,
    victim: &Victim,
    dir: &Path,
    progress: &Progress<'_>,
    interrupt: &Interrupt,
) -> anyhow::Result<ClassRecord> {
    let begun = Instant::now();
    let testbed = Testbed::new(args.data_dir.as_deref(), args.filesystem.into())?;
    let trials = Trials {
        testbed: &testbed,
        victim,
        seed: args.seed,
        states: states(args),
        pause: if args.quick { PAUSE_QUICK } else { PAUSE },
        progress,
        interrupt,
    };
    let mut class = class_record(args, victim);
    class.failed = run_trials(&trials, args.keep, dir, &mut class).err().map(|e| format!("{e:#}"));
    if class.failed.is_none() && interrupt.is_requested() {
        class.failed = Some("interrupted".to_owned());
    }
    class.took_ns = begun.elapsed().as_nanos() as u64;
    Ok(class)
}

fn run_trials(
    trials: &Trials<'_>,
    keep: bool,
    dir: &Path,
    class: &mut ClassRecord,
) -> anyhow::Result<()> {
    let mounted = trials.testbed.make()?;
    class.trials.push(trials.kills(&mounted)?);
    mounted.remove()?;
    let log = trials.record(None)?;
    class.trials.push(trials.power_losses(&log)?);
    class.trials.push(trials.syncs(&log)?);
    let commits = trials.victim.class() == Durability::Commit;
    if commits {
        class.trials.push(trials.control(&log)?);
    }
    let has_examples = |trial: &Trial| is_recorded(trial.kind) && !trial.examples.is_empty();
    if keep || class.trials.iter().any(has_examples) {
        let name = recording(&class.engine, class.durability);
        trials.testbed.recorder.save(&dir.join(&name), log.entries)?;
        class.recording = Some(name);
    }
    let faults = [TrialKind::FlushFails, TrialKind::Full, TrialKind::Pause];
    for kind in faults.into_iter().filter(|_| commits) {
        if trials.is_interrupted() {
            break;
        }
        class.trials.extend(trials.fault(kind, &log)?);
    }
    Ok(())
}

/// Whether the states of a trial are those of the recording.
fn is_recorded(kind: TrialKind) -> bool {
    matches!(kind, TrialKind::Power | TrialKind::Sync)
}

fn recording(engine: &str, class: Durability) -> String {
    format!("{engine}-{}.recording", class.as_str())
}

fn class_record(args: &TortureArgs, victim: &Victim) -> ClassRecord {
    let (worker, class) = (&victim.worker, victim.class());
    let engine = &worker.description.engine;
    let promise = engine.capabilities.durability.get(&class);
    ClassRecord {
        engine: victim.name.clone(),
        version: engine.version.clone(),
        worker_sha256: worker.sha256.clone(),
        library_sha256: worker.library.as_ref().map(|library| library.sha256.clone()),
        durability: class,
        settings: promise.map(|promise| promise.settings.clone()).unwrap_or_default(),
        power_loss: engine.power_loss(&victim.options).unwrap_or(PowerLoss::Keeps),
        options: args.set.iter().map(|option| redact(option)).collect(),
        trials: Vec::new(),
        recording: None,
        failed: None,
        took_ns: 0,
    }
}

/// Replays one state of a stored recording: its drive as an image, and the engine's data.
fn replay_state(
    args: &TortureArgs,
    victims: &[Victim],
    replay: &Path,
    number: u64,
    printer: &Printer,
) -> anyhow::Result<Exit> {
    let record = TortureRecord::read(replay)?;
    let (victim, class, recording) = find_recording(victims, &record, replay)?;
    let victim = as_recorded(victim, class, args, printer)?;
    let kinds = [FilesystemKind::Ext4, FilesystemKind::Xfs];
    let kind = kinds.into_iter().find(|kind| kind.as_str() == record.filesystem);
    let kind = kind.with_context(|| format!("unknown filesystem `{}`", record.filesystem))?;
    testbed::check(kind)?;
    enter(args, replay)?;
    let testbed = Testbed::replay(args.data_dir.as_deref(), kind, &replay.join(&recording))?;
    let (progress, interrupt) = (printer.progress(1, ESTIMATE), Interrupt::listen()?);
    let trials = Trials {
        testbed: &testbed,
        victim: &Victim { units: victim_units(record.writers), ..victim.clone() },
        seed: record.seed,
        states: record.states,
        pause: PAUSE,
        progress: &progress,
        interrupt: &interrupt,
    };
    let log = testbed.recorder.look()?;
    let (kind, state) = match number.checked_sub(record.states) {
        None => (TrialKind::Power, trial::draw(record.seed, number, &log)),
        Some(after) => {
            let states = trial::draw_synced(record.seed, record.states, &log);
            let state = states.get(after as usize).copied().ok_or_else(|| {
                let most = record.states + states.len() as u64;
                let what = format!("--power-loss {number}: expected a state below {most}");
                Complaint::usage(what)
            })?;
            (TrialKind::Sync, state)
        }
    };
    let image = replay.join(format!("{recording}.state-{number}.image"));
    let promised = trials.promise_at_moment(state.moment, &log);
    let _boot = Boot::simulate()?;
    // The image of an earlier replay has the same bytes.
    let keep = Some(image.as_path()).filter(|image| !image.exists());
    let (damage, exit) = match trials.recover_one(kind, &state, &promised, keep)? {
        Ok(trial) => {
            let example = trial.examples.first();
            let damage = example.map_or("no damage", |example| example.damage.as_str()).to_owned();
            let verdict = judge(class.durability, class.power_loss, &[trial]);
            let broken = matches!(verdict, Verdict::Broken(_));
            (damage, if broken { Exit::EngineFailed } else { Exit::Ok })
        }
        // Nothing is known about the engine.
        Err(why) => (format!("cannot mount the filesystem: {why}"), Exit::Invalid),
    };
    drop(progress);
    printer.data(&format!(
        "{} state {number}: {}",
        victim.label(),
        trial::describe_state(&state, &log)
    ));
    printer.data(&format!("{} writes acknowledged: {damage}", promised.writes()));
    printer.note(&format!(
        "the drive before any recovery: {}; mount -o loop, the database is in data/database",
        image.display()
    ));
    Ok(exit)
}

/// The first engine and class with a stored recording, and the recording's name.
fn find_recording<'v>(
    victims: &'v [Victim],
    record: &'v TortureRecord,
    replay: &Path,
) -> Result<(&'v Victim, &'v ClassRecord, String), Complaint> {
    if !(1..=WRITERS_MAX).contains(&record.writers) {
        let (replay, writers) = (replay.display(), record.writers);
        let what = format!("{replay}: expected 1 to {WRITERS_MAX} writers, found {writers}");
        return Err(Complaint::usage(what).hint("its record is damaged, or a stranger's"));
    }
    let recorded = |victim: &'v Victim| {
        let mut classes = record.classes.iter();
        let is_it = |class: &&ClassRecord| {
            class.engine == victim.name && class.durability == victim.class()
        };
        let class = classes.find(is_it)?;
        // A name in a record is not used as a path.
        let name = recording(&class.engine, class.durability);
        Some((victim, class, class.recording.clone().filter(|stored| *stored == name)?))
    };
    victims.iter().find_map(recorded).ok_or_else(|| {
        let what = format!("{} has no recording of this engine and class", replay.display());
        Complaint::usage(what).hint(
            "recordings are stored if a power loss showed damage, and for all classes with --keep",
        )
    })
}

/// The engine with the options that it had when the recording was made.
fn as_recorded(
    victim: &Victim,
    class: &ClassRecord,
    args: &TortureArgs,
    printer: &Printer,
) -> anyhow::Result<Victim> {
    let worker = &victim.worker;
    let recorded = options(&worker.description.engine, class.durability, &class.options)?;
    if !args.set.is_empty() && victim.options != recorded {
        let recorded_set = match class.options.as_slice() {
            [] => "its defaults".to_owned(),
            options => format!("--set {}", options.join(" --set ")),
        };
        let typed: Vec<String> = args.set.iter().map(|option| redact(option)).collect();
        let what =
            format!("--set {}: the recording was made with {recorded_set}", typed.join(" --set "));
        return Err(Complaint::usage(what).hint("--replay uses those without --set").into());
    }
    let library = worker.library.as_ref().map(|library| &library.sha256);
    if worker.sha256 != class.worker_sha256 || library != class.library_sha256.as_ref() {
        let (name, version) = (&victim.name, &worker.description.engine.version);
        printer.warning(&format!(
            "another build than the recording's opens its database: {name} {version} instead of {}",
            class.version
        ));
    }
    Ok(Victim { options: recorded, ..victim.clone() })
}

/// Single records and batches, so few that each is written repeatedly.
fn victim_units(writers: u64) -> Units {
    Units { writers, singles: 12, batches: 4, batch: 8 }
}

/// Returns a victim for each class of each requested engine.
fn victims(args: &TortureArgs) -> anyhow::Result<Vec<Victim>> {
    let mut victims = Vec::new();
    for name in &args.engines {
        let worker = worker(name)?;
        let engine = &worker.description.engine;
        if !engine.capabilities.places.contains(&PlaceKind::Directory) {
            let what =
                format!("{name} does not store data in a directory: it cannot run on the drive");
            return Err(Complaint::usage(what).into());
        }
        let has = engine.capabilities.durability.keys().copied();
        let classes: Vec<Durability> =
            has.filter(|has| args.durability.is_empty() || args.durability.contains(has)).collect();
        if classes.is_empty() {
            return Err(Complaint::usage(format!("{name} has none of these classes"))
                .hint(format!("`kvdyno engines {name}` lists its classes"))
                .into());
        }
        for class in classes {
            let options = options(engine, class, &args.set)?;
            let units = victim_units(args.writers);
            victims.push(Victim { name: name.clone(), worker: worker.clone(), options, units });
        }
    }
    Ok(victims)
}

fn worker(name: &str) -> anyhow::Result<WorkerIdentity> {
    let needed = WorkerSpec { engine: name.to_owned(), pick: Pick::Newest };
    libraries::choose(workers::find(name)?, &needed)?.map_err(|missing| {
        let what = format!("cannot use {name}: {missing:?}");
        Complaint::usage(what).hint(format!("`kvdyno engines get {name}`")).into()
    })
}

/// The engine's defaults, with the --set options.
fn options(engine: &Description, class: Durability, set: &[String]) -> anyhow::Result<Options> {
    let mut options = Options::defaults(engine, class);
    for typed in set {
        let refused = |why: String| Complaint::usage(format!("--set {typed}: {why}"));
        let (name, text) =
            typed.split_once('=').ok_or_else(|| refused("expected NAME=VALUE".to_owned()))?;
        let spec = engine.options.iter().find(|spec| spec.name == name);
        let spec =
            spec.ok_or_else(|| refused(format!("{} has no option `{name}`", engine.name)))?;
        let value = match spec.kind {
            OptionKind::Boolean => text.parse().ok().map(Value::Boolean),
            OptionKind::Integer { .. } => text.parse().ok().map(Value::Integer),
            OptionKind::Bytes => {
                let bytes = units::parse_bytes(text).map_err(|error| refused(error.to_string()))?;
                Some(Value::Integer(bytes))
            }
            OptionKind::Choice { .. } | OptionKind::Text => Some(Value::Text(text.to_owned())),
        };
        let value =
            value.ok_or_else(|| refused(format!("expected {}", spec.kind.format_expected())))?;
        options.values.insert(name.to_owned(), value);
    }
    let resolved = options.resolve(engine);
    resolved.map_err(|error| Complaint::usage(format!("--set: {error}")).into())
}
