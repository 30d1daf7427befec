//! What `run` and `plan` begin with: a suite's text, the workers it needs, the place's room, and
//! from these the plan. Nothing is touched.

use crate::cli::{LocationArgs, SuiteArgs};
use crate::exit::Complaint;
use crate::libraries;
use crate::machine;
use crate::runner::{VALGRIND, check_tiers, check_volumes};
use crate::traces;
use crate::workers::{self, Workers};
use anyhow::Context as _;
use kvdyno_host::raw::{self, Consent};
use kvdyno_host::{Root, Storage, data_directory};
use kvdyno_record::engine::Description;
use kvdyno_record::host::Host;
use kvdyno_record::left_out;
use kvdyno_record::plan::{Case, Plan};
use kvdyno_record::units;
use kvdyno_render::wrap::wrap;
use kvdyno_suite::{self, Engines, FoundWorker, Overrides, Pick, SizingHost, Suite, WantedWorker};
use std::io::ErrorKind;
use std::ops::Deref;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

/// A suite that is ready to be run.
pub(crate) struct Prepared {
    /// Its text, as it was read.
    pub(crate) text: String,
    /// What it comes to here.
    pub(crate) plan: Plan,
    /// The directory its databases are to lie in, where it names one.
    pub(crate) place: Option<PathBuf>,
    /// For each engine and library, and the null engine's where it was found.
    pub(crate) workers: Workers,
    /// What the databases are to lie on.
    pub(crate) volume: Storage,
    /// Where, in words: path, filesystem, device.
    pub(crate) lies_on: String,
    /// This machine, with what lies under the place.
    pub(crate) host: Host,
    /// What may be done to the place where it is a block device.
    pub(crate) consent: Consent,
    /// Block devices whose data may be lost, for volumes.
    pub(crate) destroy_allowed: Vec<PathBuf>,
    /// Hosts of servers that somebody runs and that may be loaded.
    pub(crate) load_allowed: Vec<String>,
}

/// Reads, checks and expands a suite. `default_place` is where databases would lie if it names no
/// directory; it need not exist.
pub(crate) fn prepare(args: &SuiteArgs, default_place: &Path) -> anyhow::Result<Prepared> {
    let (file, text) = read(&args.suite)?;
    prepare_text(&file, text, args.overrides()?, &args.bend.at, default_place)
}

/// The same for a suite whose text is at hand; `file` is what mistakes call it.
pub(crate) fn prepare_text(
    file: &str,
    text: String,
    overrides: Overrides,
    at: &LocationArgs,
    default_place: &Path,
) -> anyhow::Result<Prepared> {
    let installed = workers::find_all().into_keys().collect();
    let overrides = Overrides { place: at.place.clone(), installed, ..overrides };
    let mut suite = Suite::parse(file, &text, &overrides)?;
    if suite.replays() {
        suite.read_traces(|named, first_reads| {
            traces::look_at(Path::new(file), named, first_reads)
        })?;
    }
    let (engines, workers) = look_for(suite.wanted())?;
    let at = LocationArgs { place: suite.place().map(Path::to_owned), ..at.clone() };
    prepared(text, workers, at, default_place, |volume, host, at| {
        let sizing = SizingHost {
            memory_bytes: host.machine.memory_bytes,
            memory_available_bytes: host.machine.memory_available_bytes,
            free_bytes: volume.free_bytes,
            cpus: host.machine.cpus,
            device: raw::is_device(at),
        };
        Ok(kvdyno_suite::expand(&suite, &engines, &sizing)?)
    })
}

/// Looks at the place and the machine; `plan` is what is to be done there.
pub(crate) fn prepared(
    text: String,
    mut workers: Workers,
    LocationArgs { place, create_place }: LocationArgs,
    default_place: &Path,
    plan: impl FnOnce(&Storage, &Host, &Path) -> anyhow::Result<Plan>,
) -> anyhow::Result<Prepared> {
    let root = Root::system();
    let at = place.as_deref().unwrap_or(default_place);
    let volume = Storage::at(&root, at)
        .with_context(|| format!("failed to look at the place {}", at.display()))?;
    data_directory::check_keeps_files(at, &volume)?;
    let host = machine::read(&root, at);
    if let Some(place) = &place {
        check_exists(place, create_place, &volume)?;
    }
    let plan = plan(&volume, &host, at)?;
    add_null(&mut workers)?;
    let lies_on = lies_on(at, &volume);
    Ok(Prepared {
        text,
        plan,
        place,
        workers,
        volume,
        lies_on,
        host,
        consent: Consent::None,
        destroy_allowed: Vec::new(),
        load_allowed: Vec::new(),
    })
}

/// What this machine can do, and cannot change any more. Only [`Prepared::check`] makes it, and
/// nothing is begun without.
#[derive(Clone, Copy)]
pub(crate) struct Checked<'a>(&'a Prepared);

impl Deref for Checked<'_> {
    type Target = Prepared;

    fn deref(&self) -> &Prepared {
        self.0
    }
}

impl Prepared {
    /// Refuses what cannot be done here, before anything is touched.
    pub(crate) fn check(&self) -> Result<Checked<'_>, Complaint> {
        // On a device there is no filesystem to leave room on; the plan is sized by it.
        if !self.place.as_deref().is_some_and(raw::is_device) {
            kvdyno_suite::check_space(&self.plan, self.volume.free_bytes).map_err(|error| {
                Complaint::usage(error.to_string()).hint(error.hints().join("; "))
            })?;
        }
        let device = self.place.as_deref().filter(|place| raw::is_device(place));
        if let Some(device) = device.filter(|_| self.consent != Consent::Read) {
            raw::check_writable(&Root::system(), device)
                .map_err(|error| Complaint::usage(error.to_string()))?;
        }
        check_load_allowed(&self.plan, &self.load_allowed)?;
        check_machine(&Root::system(), &self.plan)?;
        Ok(Checked(self))
    }
}

/// Refuses to load a server that somebody runs, without being told that it may be.
pub(crate) fn check_load_allowed(plan: &Plan, allowed: &[String]) -> Result<(), Complaint> {
    let attached = plan.cases.iter().filter_map(|case| Some((case, case.server.as_ref()?)));
    let mut refused = attached.filter(|(_, server)| !allowed.contains(&server.host));
    let Some((case, server)) = refused.next() else { return Ok(()) };
    let (label, host) = (&case.label, &server.host);
    let what = format!(
        "{label} is a server that somebody runs at {host}: this would make a database in it, and \
         take as much of its time as it has"
    );
    Err(Complaint::usage(what).hint(format!(
        "`kvdyno run ... --yes-load {host}` says that it may; only `run` and `resume` take it"
    )))
}

/// Refuses a plan of which this machine lacks something.
pub(crate) fn check_machine(root: &Root, plan: &Plan) -> Result<(), Complaint> {
    check_threads(root, plan)?;
    check_crews(plan)?;
    check_counting(plan)?;
    traces::check(plan)?;
    check_volumes(plan)?;
    check_tiers(root, plan)
}

/// What starts a crew must be there before any case is run.
fn check_crews(plan: &Plan) -> Result<(), Complaint> {
    let mut crews = plan.cases.iter().filter_map(|case| case.crew.as_ref());
    crews.try_for_each(|crew| workers::find_crew(crew).map(drop))
}

/// Nor can instructions be counted without what counts them.
fn check_counting(plan: &Plan) -> Result<(), Complaint> {
    if !plan.cases.iter().any(Case::is_counted) || workers::is_installed(VALGRIND) {
        return Ok(());
    }
    let what = format!("there is no program `{VALGRIND}` on PATH, which is to count instructions");
    Err(Complaint::usage(what).hint("`apt install valgrind`, or run it without --count"))
}

/// A place that is not there is a slip of the keyboard, or a drive that is not mounted: made
/// without being asked for, it would lie on another drive than the one that is meant.
fn check_exists(place: &Path, create: bool, volume: &Storage) -> Result<(), Complaint> {
    // What is there and no directory is refused when it is looked at.
    let not_there = || place.symlink_metadata().is_err_and(|e| e.kind() == ErrorKind::NotFound);
    if create || !not_there() {
        return Ok(());
    }
    let device = volume.device.as_ref().map(|device| format!(", {}", device.name));
    let message = format!(
        "{} does not exist; made now, it would lie in {} ({}{})",
        place.display(),
        volume.directory.display(),
        volume.kind(),
        device.unwrap_or_default()
    );
    Err(Complaint::usage(message).hint(
        "`--create-place` makes it; `findmnt` says whether the drive that is meant is mounted",
    ))
}

/// The null engine measures the overhead of the load generator, whether or not it is tested.
pub(super) fn add_null(workers: &mut Workers) -> anyhow::Result<()> {
    if workers.plain("null").is_none() {
        let wanted = WantedWorker { engine: "null".to_owned(), pick: Pick::Newest };
        let (_, found) = look_for(vec![wanted])?;
        workers.extend(found);
    }
    Ok(())
}

/// What an engine's worker says of it with this library; none: it cannot be had here.
pub(super) fn describe(engine: &str, pick: Pick) -> anyhow::Result<Option<Description>> {
    let (engines, _) = look_for(vec![WantedWorker { engine: engine.to_owned(), pick }])?;
    let found = engines.asked.into_values().next().and_then(Result::ok);
    Ok(found.map(|found| found.description.engine))
}

/// Looks for what a suite wants. What is missing is reported under the line that asks for it.
fn look_for(wanted: Vec<WantedWorker>) -> anyhow::Result<(Engines, Workers)> {
    let (mut engines, mut workers) = (Engines::default(), Workers::default());
    for wanted in wanted {
        // No worker of this name: the report names those that could have been meant.
        let Ok(path) = workers::find(&wanted.engine) else { continue };
        let found = libraries::choose(path, &wanted)?.map(|identity| {
            let (description, library) = (identity.description.clone(), identity.library.clone());
            workers.add(&wanted.engine, identity);
            FoundWorker { description, library }
        });
        engines.asked.insert(wanted, found);
    }
    engines.known = workers::find_all().into_keys().collect();
    Ok((engines, workers))
}

/// `/mnt/data on ext4, vda1, 90.0 GiB free`.
fn lies_on(place: &Path, volume: &Storage) -> String {
    let device = volume.device.as_ref().map_or_else(String::as_str, |device| &device.name);
    let place = std::path::absolute(place).unwrap_or_else(|_| place.to_owned());
    let free = units::bytes(volume.free_bytes);
    format!("{} on {}, {device}, {free} free", place.display(), volume.kind())
}

/// Records below this are in nobody's way.
const LARGE_RECORD: u64 = 64 << 20;

/// Says what a plan does and needs, and what will probably not work out.
pub(crate) fn report_plan(prepared: &Prepared, say: impl Fn(&str), warn: impl Fn(&str)) {
    let plan = &prepared.plan;
    say(&outline(plan));
    say(&format!("  place {}", prepared.lies_on));
    let record = plan.estimate.record_bytes;
    if record >= LARGE_RECORD {
        say(&format!(
            "  the record takes about {}: longer slices ([run] slice) would make it smaller",
            units::bytes(record)
        ));
    }
    for sentence in left_out::sentences(&plan.left_out) {
        warn(&sentence);
    }
    plan.warnings.iter().for_each(|warning| warn(warning));
    if let Some(warning) = limit_not_held(plan, &prepared.host) {
        warn(&warning);
    }
}

/// That the RAM limit of a plan cannot be held on this machine, and what that comes to. To be said
/// before hours are spent on figures of memory.
pub(crate) fn limit_not_held(plan: &Plan, host: &Host) -> Option<String> {
    let limit = plan.cases.iter().filter_map(|case| case.ram_limit_bytes).min()?;
    if host.ram_limit.available {
        return None;
    }
    let memory = host.machine.memory_bytes;
    let user = plan.cases.iter().map(Case::user_bytes).max().unwrap_or(0);
    let times = user as f64 / memory.max(1) as f64;
    Some(format!(
        "the RAM limit of {} will NOT be held: {}; the data is {times:.2} x this machine's {}",
        units::bytes(limit),
        host.ram_limit.detail,
        units::bytes(memory)
    ))
}

/// What a plan does and needs, in a few lines.
fn outline(plan: &Plan) -> String {
    let estimate = &plan.estimate;
    let [least, most] =
        [estimate.wall_least_ns.unwrap_or(estimate.wall_ns), estimate.wall_ns].map(units::duration);
    let takes = if least == most { most } else { format!("{least} to {most}") };
    let space = match estimate.space_bytes {
        0 => "nothing in the place".to_owned(),
        bytes => format!("up to {} on the volume", units::bytes(bytes)),
    };
    let mut lines = vec![format!(
        "{}: {}, about {takes}; writes {} to {}, needs {space}",
        plan.suite,
        units::cases(plan.cases.len()),
        units::bytes(kvdyno_suite::write_bytes_least(plan)),
        units::bytes(estimate.write_bytes),
    )];
    lines.extend(plan.sized.iter().map(|note| format!("  {}", wrap(note, 2))));
    lines.join("\n")
}

/// Pieces of its address space that a thread takes: its stack, that of its signals, and what guards
/// each; one more for what it allocates.
const MAPS_PER_THREAD: u64 = 5;
/// What the kernel lets a process have of them where it does not say.
const MAPS_USUAL: u64 = 65_530;

/// Refuses a plan with more threads in a worker than this machine lets a process have: it would be
/// aborted in the middle of its case.
fn check_threads(root: &Root, plan: &Plan) -> Result<(), Complaint> {
    let maps = root.number::<u64>("/proc/sys/vm/max_map_count").unwrap_or(MAPS_USUAL);
    let system = root.number::<u64>("/proc/sys/kernel/threads-max").unwrap_or(u64::MAX);
    let most = (maps / MAPS_PER_THREAD).min(system / 2);
    let threads = |case: &Case| {
        let ranks = case.crew.as_ref().map_or(1, |crew| crew.ranks().max(1));
        u64::from(kvdyno_suite::threads_of(case).div_ceil(ranks))
    };
    let Some(case) = plan.cases.iter().max_by_key(|case| threads(case)) else { return Ok(()) };
    if threads(case) <= most {
        return Ok(());
    }
    let (id, threads) = (&case.id, units::grouped(threads(case)));
    Err(Complaint::usage(format!(
        "{id} asks for {threads} threads in one process, and this machine lets one have about \
         {most} (vm.max_map_count is {maps})"
    ))
    .hint("fewer threads; or `sysctl vm.max_map_count=1000000`"))
}

/// A suite's file name and text: of a built-in one, or of a file.
pub(crate) fn read(name: &str) -> Result<(String, String), Complaint> {
    if let Some((_, text)) = kvdyno_suite::builtin().iter().find(|(builtin, _)| *builtin == name) {
        return Ok((format!("{name}.toml"), (*text).to_owned()));
    }
    let text = read_suite(Path::new(name)).map_err(|error| {
        let names: Vec<_> = kvdyno_suite::builtin().iter().map(|(name, _)| *name).collect();
        let hint = format!("a suite is the path of a TOML file, or one of: {}", names.join(", "));
        let message = match kvdyno_suite::closest(name, &names) {
            _ if error.kind() != ErrorKind::NotFound => {
                format!("failed to read the suite `{name}`: {error}")
            }
            Some(meant) => format!("there is no suite `{name}`: did you mean `{meant}`?"),
            None => format!("there is no suite and no file `{name}`"),
        };
        Complaint::usage(message).hint(hint)
    })?;
    Ok((name.to_owned(), text))
}

/// A suite has some KiB; a list of a thousand engines has less than this.
const SUITE_MAX: u64 = 4 << 20;

/// The text of a suite's file, or of what is piped in: a device has no end.
fn read_suite(path: &Path) -> std::io::Result<String> {
    use std::io::{Error, Read as _};
    let kind = std::fs::metadata(path)?.file_type();
    let standard = path == Path::new("/dev/stdin");
    if !(kind.is_file() || kind.is_fifo() || standard) {
        return Err(Error::other("it is neither a file nor a pipe"));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(SUITE_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > SUITE_MAX {
        return Err(Error::other("it is larger than 4 MiB, and no suite is"));
    }
    decode_utf8(bytes)
}

/// Bytes as text, or the line in which they are none.
pub(crate) fn decode_utf8(bytes: Vec<u8>) -> std::io::Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let (before, rest) = error.as_bytes().split_at(at);
        let line = before.split(|byte| *byte == b'\n').count();
        let byte = rest.first().copied().unwrap_or_default();
        let what = format!("line {line}: expected UTF-8, found the byte {byte:#04x}");
        std::io::Error::new(ErrorKind::InvalidData, what)
    })
}
