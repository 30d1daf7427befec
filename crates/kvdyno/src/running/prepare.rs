//! The common start of `run` and `plan`: reads a suite, finds its workers, checks the room at its
//! place, and makes the plan. Changes nothing, except that it keeps a copy of a user's own
//! database.

use super::libraries;
use super::machine;
use super::own_database;
use super::runner::{Interrupt, VALGRIND, check_tiers, check_volumes};
use super::workers::{self, Workers};
use crate::cli::{LocationArgs, SuiteArgs};
use crate::exit::{Complaint, Interrupted};
use crate::printer::Printer;
use crate::records::traces;
use anyhow::Context as _;
use kvdyno_host::raw::{self, Consent};
use kvdyno_host::{Root, Storage, data_directory, group, is_missing};
use kvdyno_record::engine::Description;
use kvdyno_record::host::Host;
use kvdyno_record::left_out;
use kvdyno_record::plan::{Case, Plan};
use kvdyno_record::units;
use kvdyno_render::wrap::wrap;
use kvdyno_suite::{
    self, Engines, InstalledWorker, Missing, Overrides, OwnDatabase, Pick, SizingHost, Suite,
    WorkerSpec,
};
use std::io::ErrorKind;
use std::ops::Deref;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

/// A suite that is ready to run.
pub(crate) struct PreparedRun {
    /// The suite's text, as read.
    pub(crate) text: String,
    /// Its plan on this machine.
    pub(crate) plan: Plan,
    /// The directory for its databases, if it names one.
    pub(crate) data_dir: Option<PathBuf>,
    /// The workers of each engine and library, and of the null engine if it is installed.
    pub(crate) workers: Workers,
    /// The storage of the databases.
    pub(crate) volume: Storage,
    /// The description of that storage: path, filesystem, device, free space.
    pub(crate) storage: String,
    /// This machine, with the storage below the data directory.
    pub(crate) host: Host,
    /// The permission to destroy the data directory's data, if it is a block device.
    pub(crate) consent: Consent,
    /// Block devices whose data may be destroyed, for volumes.
    pub(crate) destroy_allowed: Vec<PathBuf>,
    /// Hosts of attached servers that the run may load.
    pub(crate) load_allowed: Vec<String>,
}

/// Reads, checks and expands a suite. `default_data_dir` is the location of databases if the suite
/// names none; it need not exist.
pub(crate) fn prepare(
    args: &SuiteArgs,
    default_data_dir: &Path,
    printer: &Printer,
) -> anyhow::Result<PreparedRun> {
    let (file, text) = read(&args.suite)?;
    prepare_text(&file, text, args.overrides()?, &args.bend.location, default_data_dir, printer)
}

/// Does the same for a suite's text; `file` is its name in messages.
pub(crate) fn prepare_text(
    file: &str,
    text: String,
    overrides: Overrides,
    location: &LocationArgs,
    default_data_dir: &Path,
    printer: &Printer,
) -> anyhow::Result<PreparedRun> {
    let installed = workers::find_all().into_keys().collect();
    let overrides = Overrides { data_dir: location.data_dir.clone(), installed, ..overrides };
    let mut suite = Suite::parse(file, &text, &overrides)?;
    if suite.replays() {
        suite.read_traces(|trace, first_reads| {
            traces::inspect_trace(Path::new(file), trace, first_reads)
        })?;
    }
    let (engines, workers) = find_engines(suite.worker_specs())?;
    let location =
        LocationArgs { data_dir: suite.data_dir().map(Path::to_owned), ..location.clone() };
    let (data_dir, known_workers) = (location.data_dir.clone(), workers.clone());
    prepare_run(text, workers, location, default_data_dir, |volume, host, location| {
        if suite.has_own_database() {
            let interrupt = Interrupt::listen()?;
            let look = |database: &OwnDatabase<'_>| {
                own_database::find_or_import(
                    database,
                    &known_workers,
                    data_dir.as_deref(),
                    default_data_dir,
                    &interrupt,
                    printer,
                )
            };
            let read = suite.read_databases(&engines, host.machine.memory_bytes, look);
            if interrupt.is_requested() {
                return Err(Interrupted.into());
            }
            read?;
        }
        let sizing = SizingHost {
            memory_bytes: host.machine.memory_bytes,
            memory_available_bytes: host.machine.memory_available_bytes,
            free_bytes: volume.free_bytes,
            cpus: host.machine.cpus,
            device: raw::is_device(location),
        };
        Ok(kvdyno_suite::expand(&suite, &engines, &sizing)?)
    })
}

/// Examines the data directory and the machine; `plan` makes the plan for them.
pub(crate) fn prepare_run(
    text: String,
    mut workers: Workers,
    LocationArgs { data_dir, create_data_dir }: LocationArgs,
    default_data_dir: &Path,
    plan: impl FnOnce(&Storage, &Host, &Path) -> anyhow::Result<Plan>,
) -> anyhow::Result<PreparedRun> {
    let root = Root::system();
    let directory = data_dir.as_deref().unwrap_or(default_data_dir);
    let volume = Storage::from_path(&root, directory)
        .with_context(|| format!("failed to examine the data directory {}", directory.display()))?;
    data_directory::check_keeps_files(directory, &volume)?;
    let host = machine::read(&root, directory);
    if let Some(data_dir) = &data_dir {
        check_exists(data_dir, create_data_dir, &volume)?;
    }
    let plan = plan(&volume, &host, directory)?;
    add_null(&mut workers)?;
    let storage = describe_storage(directory, &volume);
    Ok(PreparedRun {
        text,
        plan,
        data_dir,
        workers,
        volume,
        storage,
        host,
        consent: Consent::None,
        destroy_allowed: Vec::new(),
        load_allowed: Vec::new(),
    })
}

/// A plan that passed the checks of this machine. Only [`PreparedRun::check`] creates it, and every
/// run needs it.
#[derive(Clone, Copy)]
pub(crate) struct CheckedRun<'a>(&'a PreparedRun);

impl Deref for CheckedRun<'_> {
    type Target = PreparedRun;

    fn deref(&self) -> &PreparedRun {
        self.0
    }
}

impl PreparedRun {
    /// Refuses what this machine cannot do, before anything is changed.
    pub(crate) fn check(&self) -> Result<CheckedRun<'_>, Complaint> {
        // A device has no filesystem to keep room on; its size determines the plan.
        if !self.data_dir.as_deref().is_some_and(raw::is_device) {
            kvdyno_suite::check_space(&self.plan, self.volume.free_bytes).map_err(|error| {
                Complaint::usage(error.to_string()).hint(error.hints().join("; "))
            })?;
        }
        let device = self.data_dir.as_deref().filter(|data_dir| raw::is_device(data_dir));
        if let Some(device) = device.filter(|_| self.consent != Consent::Read) {
            raw::check_writable(&Root::system(), device)
                .map_err(|error| Complaint::usage(error.to_string()))?;
        }
        check_load_allowed(&self.plan, &self.load_allowed)?;
        check_machine(&Root::system(), &self.plan)?;
        Ok(CheckedRun(self))
    }
}

/// Refuses to load an attached server without permission.
pub(crate) fn check_load_allowed(plan: &Plan, allowed: &[String]) -> Result<(), Complaint> {
    let attached = plan.cases.iter().filter_map(|case| Some((case, case.server.as_ref()?)));
    let mut refused = attached.filter(|(_, server)| !allowed.contains(&server.host));
    let Some((case, server)) = refused.next() else { return Ok(()) };
    let (label, host) = (&case.label, &server.host);
    let what = format!(
        "{label} is an attached server at {host}: the run would create a database in it and use \
         its full capacity"
    );
    Err(Complaint::usage(what).hint(format!(
        "permit it with `--yes-load {host}`, an option of `run`, `resume` and `trace record`"
    )))
}

/// Refuses a plan that this machine cannot run.
pub(crate) fn check_machine(root: &Root, plan: &Plan) -> Result<(), Complaint> {
    check_threads(root, plan)?;
    check_crews(plan)?;
    check_counting(plan)?;
    traces::check(plan)?;
    check_volumes(plan)?;
    check_tiers(root, plan)
}

/// Refuses a plan with a crew if its launcher or its program is missing.
fn check_crews(plan: &Plan) -> Result<(), Complaint> {
    let mut crews = plan.cases.iter().filter_map(|case| case.crew.as_ref());
    crews.try_for_each(|crew| workers::find_crew(crew).map(drop))
}

/// Refuses a plan that counts instructions if valgrind is missing.
fn check_counting(plan: &Plan) -> Result<(), Complaint> {
    if !plan.cases.iter().any(Case::is_counted) || workers::is_installed(VALGRIND) {
        return Ok(());
    }
    let what = format!("cannot find the program `{VALGRIND}` on PATH, which counts instructions");
    Err(Complaint::usage(what).hint("`apt install valgrind`, or leave --count out"))
}

/// Refuses a missing data directory: it is a typing error, or a drive that is not mounted. A new
/// directory would be on another drive than the intended one.
fn check_exists(data_dir: &Path, create: bool, volume: &Storage) -> Result<(), Complaint> {
    // Other files at this path are refused later.
    if create || !is_missing(data_dir) {
        return Ok(());
    }
    let device = volume.device.as_ref().map(|device| format!(", {}", device.name));
    let message = format!(
        "{} does not exist; a new directory would be in {} ({}{})",
        data_dir.display(),
        volume.directory.display(),
        volume.kind(),
        device.unwrap_or_default()
    );
    Err(Complaint::usage(message).hint(
        "`--create-data-dir` creates it; `findmnt` shows whether the intended drive is mounted",
    ))
}

/// Adds the null engine, which measures the overhead of the load generator, even if the suite does
/// not test it.
pub(super) fn add_null(workers: &mut Workers) -> anyhow::Result<()> {
    if workers.embedded_worker("null").is_none() {
        let worker = WorkerSpec { engine: "null".to_owned(), pick: Pick::Newest };
        let (_, workers_found) = find_engines(vec![worker])?;
        workers.extend(workers_found);
    }
    Ok(())
}

/// Asks an engine's worker with this library for its description; `None`: there is no such worker.
pub(crate) fn describe(engine: &str, pick: Pick) -> anyhow::Result<Option<Description>> {
    let (engines, _) = find_engines(vec![WorkerSpec { engine: engine.to_owned(), pick }])?;
    let worker = engines.workers.into_values().next().and_then(Result::ok);
    Ok(worker.map(|worker| worker.description.engine))
}

/// Looks for the engines that a suite needs. Missing ones are reported at their line of the suite.
fn find_engines(specs: Vec<WorkerSpec>) -> anyhow::Result<(Engines, Workers)> {
    let (mut engines, mut workers) = (Engines::default(), Workers::default());
    for worker in specs {
        let program = match worker.pick {
            Pick::File(_) => workers::find_for_library(&worker.engine),
            _ => workers::find(&worker.engine),
        };
        let program = match program {
            Ok(program) => program,
            // The engine's plugin exists, but the program that runs plugins does not.
            Err(complaint) if workers::has_plugin(&worker.engine) => {
                engines.workers.insert(worker, Err(Missing::Unusable(complaint.message)));
                continue;
            }
            // No worker of this name: the report lists similar names.
            Err(_) => continue,
        };
        let result = libraries::choose(program, &worker)?.map(|identity| {
            let (description, library) = (identity.description.clone(), identity.library.clone());
            workers.add(&worker.engine, identity);
            InstalledWorker { description, library }
        });
        engines.workers.insert(worker, result);
    }
    engines.worker_names = workers::find_all().into_keys().collect();
    Ok((engines, workers))
}

/// `/mnt/data on ext4, vda1, 90.0 GiB free`.
fn describe_storage(data_dir: &Path, volume: &Storage) -> String {
    let device = volume.device.as_ref().map_or_else(String::as_str, |device| &device.name);
    let data_dir = std::path::absolute(data_dir).unwrap_or_else(|_| data_dir.to_owned());
    let free = units::bytes(volume.free_bytes);
    format!("{} on {}, {device}, {free} free", data_dir.display(), volume.kind())
}

/// The size from which on a record is mentioned.
const LARGE_RECORD: u64 = 64 << 20;

/// Reports what a plan does and needs, and likely problems.
pub(crate) fn report_plan(prepared: &PreparedRun, note: impl Fn(&str), printer: &Printer) {
    let plan = &prepared.plan;
    note(&outline(plan));
    note(&format!("  data directory {}", prepared.storage));
    let record = plan.estimate.record_bytes;
    if record >= LARGE_RECORD {
        note(&format!(
            "  the record needs about {}: use longer slices ([run] slice) for a smaller one",
            units::bytes(record)
        ));
    }
    warn_of_plan(prepared, printer);
}

/// Warns of what the plan leaves out, and of likely problems.
pub(crate) fn warn_of_plan(prepared: &PreparedRun, printer: &Printer) {
    let plan = &prepared.plan;
    let left_out = left_out::sentences(&plan.left_out);
    left_out.iter().chain(&plan.warnings).for_each(|warning| printer.warning(warning));
    warn_of_limit(plan, &prepared.host, printer);
}

/// Warns if this machine cannot enforce the plan's RAM limit, before hours are spent on the
/// figures.
pub(crate) fn warn_of_limit(plan: &Plan, host: &Host, printer: &Printer) {
    let limits = || plan.cases.iter().filter_map(|case| case.ram_limit_bytes);
    let Some((limit, most)) = limits().min().zip(limits().max()) else { return };
    if host.ram_limit.available {
        if let Err(why) = group::check_limit(&Root::system(), most) {
            let most = units::bytes(most);
            printer.warning(&format!("the RAM limit of {most} will NOT be held: {why}"));
        }
        return;
    }
    let memory = host.machine.memory_bytes;
    let user = plan.cases.iter().map(Case::user_bytes).max().unwrap_or(0);
    let times = user as f64 / memory.max(1) as f64;
    printer.warning(&format!(
        "the RAM limit of {} will NOT be held: {}; the data is {times:.2} x this machine's {}",
        units::bytes(limit),
        host.ram_limit.detail,
        units::bytes(memory)
    ));
}

/// What a plan does and needs, in a few lines.
fn outline(plan: &Plan) -> String {
    let estimate = &plan.estimate;
    let [least, most] =
        [estimate.wall_least_ns.unwrap_or(estimate.wall_ns), estimate.wall_ns].map(units::duration);
    let takes = if least == most { most } else { format!("{least} to {most}") };
    let space = match estimate.space_bytes {
        0 => "nothing in the data directory".to_owned(),
        bytes => format!("up to {} on the volume", units::bytes(bytes)),
    };
    let mut lines = vec![format!(
        "{}: {}, about {takes}; writes {} to {}, needs {space}",
        plan.suite,
        units::pluralize(plan.cases.len(), "case"),
        units::bytes(kvdyno_suite::write_bytes_least(plan)),
        units::bytes(estimate.write_bytes),
    )];
    lines.extend(plan.sized.iter().map(|note| format!("  {}", wrap(note, 2))));
    lines.join("\n")
}

/// Memory mappings of a thread: its stack, the stack of its signals, and a guard for each; one more
/// for its allocations.
const MAPS_PER_THREAD: u64 = 5;
/// The kernel's default limit of mappings.
const MAPS_USUAL: u64 = 65_530;

/// Refuses a plan with more threads in a worker than this machine permits for a process: it would
/// be aborted in the middle of its case.
fn check_threads(root: &Root, plan: &Plan) -> Result<(), Complaint> {
    let maps = root.number::<u64>("/proc/sys/vm/max_map_count").unwrap_or(MAPS_USUAL);
    let system = root.number::<u64>("/proc/sys/kernel/threads-max").unwrap_or(u64::MAX);
    let most = (maps / MAPS_PER_THREAD).min(system / 2);
    let threads = |case: &Case| {
        let ranks = case.crew.as_ref().map_or(1, |crew| crew.ranks().max(1));
        u64::from(kvdyno_suite::max_threads(case).div_ceil(ranks))
    };
    let Some(case) = plan.cases.iter().max_by_key(|case| threads(case)) else { return Ok(()) };
    if threads(case) <= most {
        return Ok(());
    }
    let (id, threads) = (&case.id, units::group_digits(threads(case)));
    Err(Complaint::usage(format!(
        "{id} needs {threads} threads in one process, but this machine permits about {most} \
         (vm.max_map_count is {maps})"
    ))
    .hint("use fewer threads, or `sysctl vm.max_map_count=1000000`"))
}

/// The file name and text of a suite: a built-in one, or a file.
pub(crate) fn read(name: &str) -> Result<(String, String), Complaint> {
    if let Some((_, text)) = kvdyno_suite::builtin().iter().find(|(builtin, _)| *builtin == name) {
        return Ok((format!("{name}.toml"), (*text).to_owned()));
    }
    let text = read_suite(Path::new(name)).map_err(|error| {
        let names: Vec<_> = kvdyno_suite::builtin().iter().map(|(name, _)| *name).collect();
        let hint = format!("expected the path of a TOML file, or one of: {}", names.join(", "));
        let message = match kvdyno_suite::closest(name, &names) {
            _ if error.kind() != ErrorKind::NotFound => {
                format!("failed to read the suite `{name}`: {error}")
            }
            Some(meant) => format!("unknown suite `{name}`: did you mean `{meant}`?"),
            None => format!("cannot find a suite or a file `{name}`"),
        };
        Complaint::usage(message).hint(hint)
    })?;
    Ok((name.to_owned(), text))
}

/// A suite has some KiB; even a list of a thousand engines is smaller than this.
const SUITE_MAX: u64 = 4 << 20;

/// Reads the text of a suite from its file or from piped input. Others are refused: a device has no
/// end.
fn read_suite(path: &Path) -> std::io::Result<String> {
    use std::io::{Error, Read as _};
    let kind = std::fs::metadata(path)?.file_type();
    let is_stdin = path == Path::new("/dev/stdin");
    if !(kind.is_file() || kind.is_fifo() || is_stdin) {
        return Err(Error::other("it is neither a file nor a pipe"));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(SUITE_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > SUITE_MAX {
        return Err(Error::other("it is larger than 4 MiB"));
    }
    decode_utf8(bytes)
}

/// Returns bytes as text; the error names the line with invalid UTF-8.
pub(crate) fn decode_utf8(bytes: Vec<u8>) -> std::io::Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let index = error.utf8_error().valid_up_to();
        let (before, rest) = error.as_bytes().split_at(index);
        let line = before.split(|byte| *byte == b'\n').count();
        let byte = rest.first().copied().unwrap_or_default();
        let what = format!("line {line}: expected UTF-8, found the byte {byte:#04x}");
        std::io::Error::new(ErrorKind::InvalidData, what)
    })
}
