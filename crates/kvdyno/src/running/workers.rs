//! Finds the engines: each is a program `kvdyno-<name>`, found like git's subcommands, or a plugin
//! `libkvdyno-<name>.so` in the same places, which the program `kvdyno-plugin` runs.
//!
//! This module searches directories and asks programs for their description. The runner runs them.

use crate::exit::{Complaint, did_you_mean};
use anyhow::Context as _;
use kvdyno_host::child;
use kvdyno_record::PROTOCOL;
use kvdyno_record::case::WorkerIdentity;
use kvdyno_record::crew::Crew;
use kvdyno_record::engine::{Description, library};
use kvdyno_record::files::sha256;
use kvdyno_record::library::Library;
use kvdyno_record::plan::Case;
use kvdyno_record::protocol::WorkerDescription;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The prefix of every engine's program.
const PREFIX: &str = "kvdyno-";

/// The environment variable with directories of engines, separated as in `PATH`.
pub const PATH_VARIABLE: &str = "KVDYNO_ENGINE_PATH";

/// The time in which a worker must describe itself.
const DESCRIBE_LIMIT: Duration = Duration::from_secs(10);

/// A program that runs an engine, and the engine's code unless a suite names other code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worker {
    /// The program.
    pub path: PathBuf,
    /// The newest plugin; for other workers [`CodeSource::Itself`].
    pub source: CodeSource,
}

impl Worker {
    fn from_program(path: PathBuf) -> Self {
        Self { path, source: CodeSource::Itself }
    }

    /// Asks the worker for the description of its engine, after a check of an installed plugin.
    pub fn describe(&self) -> anyhow::Result<WorkerDescription> {
        if let CodeSource::Library(plugin) = &self.source {
            check_installed(plugin, &library::load_about(plugin).sha256)?;
        }
        describe(&self.path, &self.source)
    }
}

/// Finds the worker of an engine.
pub fn find(name: &str) -> Result<Worker, Complaint> {
    find_in_dirs(&dirs(), name)
}

/// Finds the worker of an engine whose library is known. A plugin need not be installed as well.
pub fn find_for_library(name: &str) -> Result<Worker, Complaint> {
    let plugin_program = || find_plugin_program().map(Worker::from_program);
    find(name).or_else(|missing| plugin_program().ok_or(missing))
}

/// Finds the workers of all engines, by name. If several have one name, it is the one that [`find`]
/// returns.
pub fn find_all() -> BTreeMap<String, Worker> {
    find_all_in_dirs(&dirs())
}

/// The code of a worker's engine.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum CodeSource {
    /// The worker's own code, or code that the worker finds itself.
    #[default]
    Itself,
    /// A shared library, or the program of a server.
    Library(PathBuf),
    /// An attached server, by the reference to its URL (`env:NAME`).
    Server(String),
}

impl CodeSource {
    /// Returns the code for a case: its library or its server.
    pub fn from_case(case: &Case) -> Self {
        match (&case.library, &case.server) {
            (Some(library), _) => Self::Library(library.path.clone()),
            (None, Some(server)) => Self::Server(server.reference.clone()),
            (None, None) => Self::Itself,
        }
    }

    /// Returns the code of a worker: its library or its server.
    fn from_worker(worker: &WorkerIdentity) -> Self {
        match (&worker.library, &worker.description.server) {
            (Some(library), _) => Self::Library(library.path.clone()),
            (None, Some(server)) => Self::Server(server.reference.clone()),
            (None, None) => Self::Itself,
        }
    }

    /// Adds the arguments with which a worker selects this code.
    fn add_arguments(&self, command: &mut Command) {
        match self {
            Self::Itself => {}
            Self::Library(path) => drop(command.arg("--library").arg(path)),
            Self::Server(reference) => drop(command.arg("--server").arg(reference)),
        }
    }
}

/// Returns the command line that starts a worker with a word (`run`, `serve`).
pub fn command(worker: &WorkerIdentity, word: &str) -> Command {
    let mut command = Command::new(&worker.path);
    command.arg(word);
    CodeSource::from_worker(worker).add_arguments(&mut command);
    command
}

/// The program that combines several workers: named like an engine's, but not an engine.
const CREW: &str = "crew";

/// The program that runs plugins: not an engine either.
const PLUGIN: &str = "plugin";

/// The file name of an engine's plugin.
fn plugin_file(engine: &str) -> String {
    format!("lib{PREFIX}{engine}.so")
}

/// Finds the program that combines the workers of a crew; also checks that the crew's launcher
/// exists.
pub fn find_crew(crew: &Crew) -> Result<PathBuf, Complaint> {
    find_crew_in_dirs(&dirs(), crew)
}

/// Whether PATH contains a program of that name, or a path leads to one.
pub fn is_installed(name: &str) -> bool {
    if name.contains('/') {
        return is_program(Path::new(name));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| is_program(&dir.join(name)))
}

fn find_crew_in_dirs(dirs: &[PathBuf], crew: &Crew) -> Result<PathBuf, Complaint> {
    let launcher = crew.launch.first().map_or("", String::as_str);
    if !is_installed(launcher) {
        let what = format!("cannot find the program `{launcher}`, which starts the crew");
        let hint =
            "`apt install openmpi-bin` installs `mpirun`; `launch` of [crew] sets another launcher";
        return Err(Complaint::usage(what).hint(hint));
    }
    let mut paths = dirs.iter().map(|dir| dir.join(format!("{PREFIX}{CREW}")));
    paths.find(|path| is_program(path)).ok_or_else(|| {
        let what = "cannot find the program `kvdyno-crew`, which the suite's [crew] needs";
        let hint = "`make crew` in kvdyno's sources builds it, with OpenMPI; kvdyno searches it \
                    like an engine";
        Complaint::usage(what).hint(hint)
    })
}

/// A command of the workers of a crew: its launcher, `program`, and the command of each rank.
pub fn crew_command(crew: &Crew, program: &Path, worker: &WorkerIdentity, word: &str) -> Command {
    let mut words = crew.launch.iter();
    let mut command = Command::new(words.next().map_or("", String::as_str));
    command.args(words).arg(program).arg(&worker.path).arg(word);
    CodeSource::from_worker(worker).add_arguments(&mut command);
    command
}

/// Asks a worker for the description of its engine. Refuses a worker with another protocol; a
/// worker's own refusal is [`WorkerRefused`]. Its caller has checked the library of `source`.
pub fn describe(path: &Path, source: &CodeSource) -> anyhow::Result<WorkerDescription> {
    if *source == CodeSource::Itself {
        check_newest(path)?;
    }
    describe_within(path, source, DESCRIBE_LIMIT)
}

/// Checks the library that a worker loads by itself: the newest installed one.
fn check_newest(worker: &Path) -> anyhow::Result<()> {
    let file = worker.file_name().and_then(|file| file.to_str());
    let Some(engine) = file.and_then(|file| file.strip_prefix(PREFIX)) else { return Ok(()) };
    match library::list_installed_for(worker, engine).first() {
        Some(newest) => check_installed(&newest.path, &newest.sha256),
        None => Ok(()),
    }
}

/// Refuses a file that differs from the installed one, before any of its code runs. Empty: nothing
/// is known of it.
pub fn check_installed(file: &Path, expected: &str) -> anyhow::Result<()> {
    if expected.is_empty() {
        return Ok(());
    }
    let sum = sha256(file);
    let sum = sum.with_context(|| format!("failed to read the library {}", file.display()))?;
    anyhow::ensure!(
        sum == expected,
        "{} differs from the installed file: its SHA-256 is {sum}, but {} next to it contains \
         {expected}; remove the directory and fetch it again",
        file.display(),
        library::ABOUT
    );
    Ok(())
}

/// A worker cannot be used as requested: it has no library, or cannot use the given one.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct WorkerRefused(String);

/// The exit code of a worker's refusal.
const REFUSED: i32 = 2;

/// The workers of a run: one for each engine and library of its cases.
#[derive(Clone, Debug, Default)]
pub struct Workers(BTreeMap<(String, CodeSource), WorkerIdentity>);

impl Workers {
    /// Adds a worker, for the cases of `engine` with the worker's library.
    pub fn add(&mut self, engine: &str, worker: WorkerIdentity) {
        self.0.insert((engine.to_owned(), CodeSource::from_worker(&worker)), worker);
    }

    /// Adds all workers of `others`.
    pub fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// The worker of a case.
    pub fn identity(&self, case: &Case) -> Option<&WorkerIdentity> {
        self.0.get(&(case.engine.clone(), CodeSource::from_case(case)))
    }

    /// The worker of an engine with a library, or with none.
    pub fn with_library(&self, engine: &str, library: Option<&Library>) -> Option<&WorkerIdentity> {
        let source =
            library.map_or(CodeSource::Itself, |library| CodeSource::Library(library.path.clone()));
        self.0.get(&(engine.to_owned(), source))
    }

    /// The worker with an embedded engine.
    pub fn embedded_worker(&self, engine: &str) -> Option<&WorkerIdentity> {
        self.0.get(&(engine.to_owned(), CodeSource::Itself))
    }

    /// The engines' descriptions, for properties that all libraries of an engine share: an engine
    /// with several libraries has the description of one of them.
    pub fn descriptions(&self) -> BTreeMap<&str, &Description> {
        let each = self.0.iter();
        each.map(|((name, _), worker)| (name.as_str(), &worker.description.engine)).collect()
    }
}

/// The directories of engines, in order: next to the program, in `KVDYNO_ENGINE_PATH`, in `PATH`.
fn dirs() -> Vec<PathBuf> {
    let next_to_us = std::env::current_exe()
        .and_then(std::fs::canonicalize)
        .ok()
        .and_then(|path| path.parent().map(Path::to_owned));
    let mut dirs: Vec<PathBuf> = next_to_us.into_iter().collect();
    for list in [PATH_VARIABLE, "PATH"].into_iter().filter_map(std::env::var_os) {
        dirs.extend(std::env::split_paths(&list));
    }
    // An empty entry of PATH means the current directory: never used for programs.
    dirs.retain(|dir| !dir.as_os_str().is_empty());
    dirs
}

fn find_in_dirs(dirs: &[PathBuf], name: &str) -> Result<Worker, Complaint> {
    check_name(name)?;
    let path = dirs.iter().map(|dir| dir.join(format!("{PREFIX}{name}")));
    if let Some(path) = path.into_iter().find(|path| is_program(path)) {
        return Ok(Worker::from_program(path));
    }
    if let Some(plugin) = find_plugin(dirs, name) {
        return match plugin_worker(dirs, plugin.clone()) {
            Some(worker) => Ok(worker),
            None => {
                let plugin = plugin.display();
                let what =
                    format!("cannot find the program `{PREFIX}{PLUGIN}`, which runs {plugin}");
                Err(Complaint::usage(what).hint("`make engines` in kvdyno's sources builds it"))
            }
        };
    }
    let engines: Vec<String> = find_all_in_dirs(dirs).into_keys().collect();
    let names: Vec<&str> = engines.iter().map(String::as_str).collect();
    let help = match names.as_slice() {
        [] => "no engines found".to_owned(),
        names => format!("{}found: {}", did_you_mean(name, names), names.join(", ")),
    };
    let what = format!("cannot find the program `{PREFIX}{name}` of engine `{name}`");
    Err(Complaint::usage(what).hint(format!(
        "{help}; `make engines` in kvdyno's sources builds engines, `kvdyno engines list` shows \
         others to get; \
         kvdyno searches your own engines, programs \
         `{PREFIX}NAME` and plugins `lib{PREFIX}NAME.so`, next to its program, in {PATH_VARIABLE} \
         and in PATH"
    )))
}

/// Whether an engine has a plugin, even if nothing can run it.
pub fn has_plugin(engine: &str) -> bool {
    find_plugin(&dirs(), engine).is_some()
}

/// The plugin of an engine: in a directory of engines, or the newest installed one.
fn find_plugin(dirs: &[PathBuf], engine: &str) -> Option<PathBuf> {
    let file = plugin_file(engine);
    let mut paths = dirs.iter().map(|dir| dir.join(&file));
    paths.find(|path| path.is_file()).or_else(|| {
        let installed = library::list_installed(engine).into_iter().map(|library| library.path);
        installed.into_iter().find(|path| path.ends_with(&file))
    })
}

/// The program that runs plugins, if it exists.
pub fn find_plugin_program() -> Option<PathBuf> {
    plugin_program(&dirs())
}

fn plugin_program(dirs: &[PathBuf]) -> Option<PathBuf> {
    let mut paths = dirs.iter().map(|dir| dir.join(format!("{PREFIX}{PLUGIN}")));
    paths.find(|path| is_program(path))
}

/// The worker of a plugin, if the program that runs plugins exists.
fn plugin_worker(dirs: &[PathBuf], plugin: PathBuf) -> Option<Worker> {
    let path = plugin_program(dirs)?;
    // Workers have another working directory.
    let plugin = std::path::absolute(&plugin).unwrap_or(plugin);
    Some(Worker { path, source: CodeSource::Library(plugin) })
}

fn find_all_in_dirs(dirs: &[PathBuf]) -> BTreeMap<String, Worker> {
    let (mut workers, mut plugins) = (BTreeMap::new(), library::installed_engines());
    for dir in dirs {
        let Ok(entries) = std::fs::read_dir(dir) else { continue };
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            let Some(file) = path.file_name().and_then(|file| file.to_str()) else { continue };
            if let Some(name) = file.strip_prefix("lib").and_then(|file| file.strip_suffix(".so")) {
                plugins.extend(name.strip_prefix(PREFIX).map(str::to_owned));
            }
            let name = file.strip_prefix(PREFIX);
            let name = name.filter(|name| is_name(name) && ![CREW, PLUGIN].contains(name));
            if let Some(name) = name.filter(|_| is_program(&path)) {
                workers
                    .entry(name.to_owned())
                    .or_insert_with(|| Worker::from_program(path.clone()));
            }
        }
    }
    plugins.retain(|name| is_name(name) && !workers.contains_key(name));
    for name in plugins {
        let worker = find_plugin(dirs, &name).and_then(|plugin| plugin_worker(dirs, plugin));
        workers.extend(worker.map(|worker| (name, worker)));
    }
    workers
}

/// Refuses a name that no engine can have.
pub(crate) fn check_name(name: &str) -> Result<(), Complaint> {
    if is_name(name) {
        return Ok(());
    }
    Err(Complaint::usage(format!("`{name}` cannot be the name of an engine"))
        .hint("expected only a-z, 0-9, - and _"))
}

/// Whether a name can be an engine's. It has no dots: cargo leaves `kvdyno-null.d` next to a
/// program.
fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c))
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

fn describe_within(
    path: &Path,
    source: &CodeSource,
    limit: Duration,
) -> anyhow::Result<WorkerDescription> {
    let library = match source {
        CodeSource::Library(library) => format!(" --library {}", library.display()),
        CodeSource::Itself | CodeSource::Server(_) => String::new(),
    };
    let failed = || format!("failed to ask `{} describe{library}`", path.display());
    let mut command = Command::new(path);
    command.arg("describe");
    source.add_arguments(&mut command);
    let finished =
        child::run(command, Vec::new(), child::time_limit(limit)).with_context(failed)?;
    let (exit, complaint) = (&finished.exit, finished.complaint());
    let message = complaint.trim_start_matches("error: ").to_owned();
    if exit.code == Some(REFUSED) && !message.is_empty() {
        // The worker's own message is sufficient.
        return Err(WorkerRefused(message).into());
    }
    if !exit.is_success() {
        return Err(anyhow::anyhow!("it {exit}: {message}").context(failed()));
    }
    let text = finished.output;
    check_protocol(path, &text)?;
    serde_json::from_slice(&text)
        .with_context(|| format!("`{} describe` prints no description: rebuild it", path.display()))
}

/// Checks the protocol before the rest: a description of another protocol may not even parse.
fn check_protocol(path: &Path, text: &[u8]) -> Result<(), Complaint> {
    #[derive(serde::Deserialize)]
    struct Protocol {
        protocol: u32,
    }
    let protocol = serde_json::from_slice::<Protocol>(text).ok().map(|head| head.protocol);
    let Some(protocol) = protocol.filter(|protocol| *protocol != PROTOCOL) else { return Ok(()) };
    let remedy = if protocol < PROTOCOL {
        "rebuild the engine with this version's kvdyno-worker"
    } else {
        "use the kvdyno for which the engine was built"
    };
    let path = path.display();
    let message = format!("`{path}` has protocol {protocol}, this kvdyno has {PROTOCOL}");
    Err(Complaint::usage(message).hint(format!("{remedy}, or remove the engine")))
}

#[cfg(test)]
mod tests;
