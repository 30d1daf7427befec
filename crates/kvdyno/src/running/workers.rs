//! Finds the engines: each is a program `kvdyno-<name>`, found like git's subcommands.
//!
//! This module searches directories and asks programs for their description. The runner runs them.

use crate::exit::{Complaint, did_you_mean};
use anyhow::Context as _;
use kvdyno_record::PROTOCOL;
use kvdyno_record::case::WorkerIdentity;
use kvdyno_record::crew::Crew;
use kvdyno_record::engine::Description;
use kvdyno_record::library::Library;
use kvdyno_record::plan::Case;
use kvdyno_record::protocol::WorkerDescription;
use std::collections::BTreeMap;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The prefix of every engine's program.
const PREFIX: &str = "kvdyno-";

/// Directories of engines, separated as in `PATH`.
pub const PATH_VARIABLE: &str = "KVDYNO_ENGINE_PATH";

/// A worker describes itself within this time, or is not one.
const DESCRIBE_LIMIT: Duration = Duration::from_secs(10);

/// Upper bound of a description.
const DESCRIPTION_BYTES_MAX: u64 = 4 << 20;

/// The program of an engine.
pub fn find(name: &str) -> Result<PathBuf, Complaint> {
    find_in(&folders(), name)
}

/// All engines by name; of several with the same name the one that would be used.
pub fn find_all() -> BTreeMap<String, PathBuf> {
    find_all_in(&folders())
}

/// The code of a worker's engine.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum CodeSource {
    /// Its own, or what it finds itself.
    #[default]
    Itself,
    /// A shared library, or the program of a server.
    Library(PathBuf),
    /// An attached server, by the reference to its URL (`env:NAME`).
    Server(String),
}

impl CodeSource {
    /// For a case.
    pub fn from_case(case: &Case) -> Self {
        match (&case.library, &case.server) {
            (Some(library), _) => Self::Library(library.path.clone()),
            (None, Some(server)) => Self::Server(server.reference.clone()),
            (None, None) => Self::Itself,
        }
    }

    /// For a worker.
    fn of_worker(worker: &WorkerIdentity) -> Self {
        match (&worker.library, &worker.description.server) {
            (Some(library), _) => Self::Library(library.path.clone()),
            (None, Some(server)) => Self::Server(server.reference.clone()),
            (None, None) => Self::Itself,
        }
    }

    /// As arguments of a worker.
    fn set_environment(&self, command: &mut Command) {
        match self {
            Self::Itself => {}
            Self::Library(path) => drop(command.arg("--library").arg(path)),
            Self::Server(reference) => drop(command.arg("--server").arg(reference)),
        }
    }
}

/// A command of a worker.
pub fn command(worker: &WorkerIdentity, word: &str) -> Command {
    let mut command = Command::new(&worker.path);
    command.arg(word);
    CodeSource::of_worker(worker).set_environment(&mut command);
    command
}

/// The program that combines several workers: named like an engine's, but not an engine.
const CREW: &str = "crew";

/// Its path, if a crew is planned; also checks that its launcher exists.
pub fn find_crew(crew: &Crew) -> Result<PathBuf, Complaint> {
    find_crew_in(&folders(), crew)
}

/// Whether PATH contains a program of that name.
pub fn is_installed(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| is_program(&folder.join(name)))
}

fn find_crew_in(folders: &[PathBuf], crew: &Crew) -> Result<PathBuf, Complaint> {
    let launcher = crew.launch.first().map_or("", String::as_str);
    let mut paths = folders.iter().map(|folder| folder.join(launcher));
    if !paths.any(|path| is_program(&path)) {
        let what = format!("cannot find the program `{launcher}`, which starts the crew");
        let hint =
            "`apt install openmpi-bin` installs `mpirun`; `launch` of [crew] sets another launcher";
        return Err(Complaint::usage(what).hint(hint));
    }
    let mut paths = folders.iter().map(|folder| folder.join(format!("{PREFIX}{CREW}")));
    paths.find(|path| is_program(path)).ok_or_else(|| {
        let what = "cannot find the program `kvdyno-crew`, which the suite's [crew] needs";
        let hint = "`make crew` builds it, with OpenMPI; kvdyno searches it like an engine";
        Complaint::usage(what).hint(hint)
    })
}

/// A command of the workers of a crew: its launcher, `program`, and the command of each rank.
pub fn crew_command(crew: &Crew, program: &Path, worker: &WorkerIdentity, word: &str) -> Command {
    let mut words = crew.launch.iter();
    let mut command = Command::new(words.next().map_or("", String::as_str));
    command.args(words).arg(program).arg(&worker.path).arg(word);
    CodeSource::of_worker(worker).set_environment(&mut command);
    command
}

/// A worker's description of its engine. A worker with another protocol is refused; a worker's own
/// refusal is [`WorkerRefused`].
pub fn describe(path: &Path, source: &CodeSource) -> anyhow::Result<WorkerDescription> {
    describe_within(path, source, DESCRIBE_LIMIT)
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
    /// Adds one, for the cases of `engine` with its library.
    pub fn add(&mut self, engine: &str, worker: WorkerIdentity) {
        self.0.insert((engine.to_owned(), CodeSource::of_worker(&worker)), worker);
    }

    /// Adds others.
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
    pub fn plain(&self, engine: &str) -> Option<&WorkerIdentity> {
        self.0.get(&(engine.to_owned(), CodeSource::Itself))
    }

    /// The engines' descriptions; for an engine with several libraries that of one of them: for
    /// properties that all share.
    pub fn descriptions(&self) -> BTreeMap<&str, &Description> {
        let each = self.0.iter();
        each.map(|((name, _), worker)| (name.as_str(), &worker.description.engine)).collect()
    }
}

/// The directories of engines, in order: next to the program, in `KVDYNO_ENGINE_PATH`, in `PATH`.
fn folders() -> Vec<PathBuf> {
    let next_to_us = std::env::current_exe()
        .and_then(std::fs::canonicalize)
        .ok()
        .and_then(|path| path.parent().map(Path::to_owned));
    let mut folders: Vec<PathBuf> = next_to_us.into_iter().collect();
    for list in [PATH_VARIABLE, "PATH"].into_iter().filter_map(std::env::var_os) {
        folders.extend(std::env::split_paths(&list));
    }
    // An empty entry of PATH means the current directory: never used for programs.
    folders.retain(|folder| !folder.as_os_str().is_empty());
    folders
}

fn find_in(folders: &[PathBuf], name: &str) -> Result<PathBuf, Complaint> {
    check_name(name)?;
    let path = folders.iter().map(|folder| folder.join(format!("{PREFIX}{name}")));
    path.into_iter().find(|path| is_program(path)).ok_or_else(|| {
        let engines: Vec<String> = find_all_in(folders).into_keys().collect();
        let names: Vec<&str> = engines.iter().map(String::as_str).collect();
        let help = match names.as_slice() {
            [] => "no engines found".to_owned(),
            names => format!("{}found: {}", did_you_mean(name, names), names.join(", ")),
        };
        Complaint::usage(format!("cannot find the program `{PREFIX}{name}` of engine `{name}`"))
            .hint(format!(
                "{help}; `make engines` builds the engines; kvdyno searches your own engines next \
                 to its program, in {PATH_VARIABLE} and in PATH"
            ))
    })
}

fn find_all_in(folders: &[PathBuf]) -> BTreeMap<String, PathBuf> {
    let mut programs = BTreeMap::new();
    for folder in folders {
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
            let name = path.file_name().and_then(|name| name.to_str());
            let name = name.and_then(|name| name.strip_prefix(PREFIX));
            let name = name.filter(|name| is_name(name) && *name != CREW);
            if let Some(name) = name.filter(|_| is_program(&path)) {
                programs.entry(name.to_owned()).or_insert(path.clone());
            }
        }
    }
    programs
}

/// Refuses a name that no engine can have.
pub(crate) fn check_name(name: &str) -> Result<(), Complaint> {
    if is_name(name) {
        return Ok(());
    }
    Err(Complaint::usage(format!("`{name}` cannot be the name of an engine"))
        .hint("expected only a-z, 0-9, - and _"))
}

/// No dots: next to a program, cargo leaves `kvdyno-null.d`.
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
    let failed = || format!("failed to ask `{} describe`", path.display());
    let mut command = Command::new(path);
    command.arg("describe");
    source.set_environment(&mut command);
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(failed)?;
    let text = wait(child, limit).or_else(|error| match error.downcast::<WorkerRefused>() {
        // Its own message is sufficient.
        Ok(refused) => Err(refused.into()),
        Err(error) => Err(error).with_context(failed),
    })?;
    protocol_of(path, &text)?;
    serde_json::from_slice(&text)
        .with_context(|| format!("`{} describe` prints no description: rebuild it", path.display()))
}

/// The output of a child until its end; kills it after the limit.
fn wait(mut child: Child, limit: Duration) -> anyhow::Result<Vec<u8>> {
    let answer = read(child.stdout.take());
    let complaints = read(child.stderr.take());
    let deadline = Instant::now() + limit;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() > deadline {
            child.kill()?;
            child.wait()?;
            anyhow::bail!("no reply within {} s", limit.as_secs_f64());
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let message = |thread: JoinHandle<Vec<u8>>| thread.join().unwrap_or_default();
    if status.success() {
        return Ok(message(answer));
    }
    let message = String::from_utf8_lossy(&message(complaints)).trim().to_owned();
    let message = message.trim_start_matches("error: ");
    if status.code() == Some(REFUSED) && !message.is_empty() {
        return Err(WorkerRefused(message.to_owned()).into());
    }
    anyhow::bail!("it ended with {status}: {message}");
}

fn read(stream: Option<impl std::io::Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut text = Vec::new();
        // Unreadable output is no description, and is reported as such.
        let _ = stream.map(|stream| stream.take(DESCRIPTION_BYTES_MAX).read_to_end(&mut text));
        text
    })
}

/// The protocol is checked first: a description with another one may not even parse.
fn protocol_of(path: &Path, text: &[u8]) -> Result<(), Complaint> {
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
mod tests {
    use super::*;

    /// A worker as a shell script.
    fn worker(folder: &Path, name: &str, script: &str) -> PathBuf {
        let path = folder.join(format!("{PREFIX}{name}"));
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn the_first_folder_wins_and_only_programs_count() {
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let folders = [first.path().to_owned(), second.path().to_owned()];
        let near = worker(first.path(), "lmdb", "");
        worker(second.path(), "lmdb", "");
        let far = worker(second.path(), "rocksdb", "");
        std::fs::write(first.path().join("kvdyno-rocksdb"), "not executable").unwrap();
        worker(first.path(), "lmdb.d", "");
        let all = find_all_in(&folders);
        assert_eq!(all.keys().collect::<Vec<_>>(), ["lmdb", "rocksdb"]);
        assert_eq!((&all["lmdb"], &all["rocksdb"]), (&near, &far));
        assert_eq!(find_in(&folders, "rocksdb").unwrap(), far);
        let missing = find_in(&folders, "wiredtiger").unwrap_err();
        assert!(missing.hint.unwrap().contains("found: lmdb, rocksdb"));
        let misspelt = find_in(&folders, "rocksbd").unwrap_err();
        assert!(misspelt.hint.unwrap().contains("`rocksdb`"));
        assert!(find_in(&folders, "../evil").is_err());
    }

    #[test]
    fn a_crew_is_no_engine() {
        let folder = tempfile::tempdir().unwrap();
        let crew = Crew { hosts: Vec::new(), launch: vec!["kvdyno-launch".to_owned()] };
        let folders = [folder.path().to_owned()];
        let missing = find_crew_in(&folders, &crew).unwrap_err();
        assert!(missing.message.contains("`kvdyno-launch`"), "{}", missing.message);
        let launcher = worker(folder.path(), "launch", "");
        let missing = find_crew_in(&folders, &crew).unwrap_err();
        assert!(missing.hint.unwrap().starts_with("`make crew`"));
        let program = worker(folder.path(), "crew", "");
        assert_eq!(find_crew_in(&folders, &crew).unwrap(), program);
        assert_eq!(find_all_in(&folders), BTreeMap::from([("launch".to_owned(), launcher)]));
    }

    #[test]
    fn another_protocol_is_refused_with_both_numbers_and_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let path = worker(folder.path(), "old", "echo '{\"protocol\": 0}'");
        let error = describe(&path, &CodeSource::Itself).unwrap_err();
        let complaint = crate::exit::complaint(&error).unwrap();
        let both = format!("protocol 0, this kvdyno has {PROTOCOL}");
        assert!(complaint.message.contains(&both), "{}", complaint.message);
        assert!(complaint.hint.is_some());
    }

    #[test]
    fn a_worker_that_hangs_or_fails_or_babbles_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let hangs = worker(folder.path(), "hangs", "exec sleep 60");
        let error =
            describe_within(&hangs, &CodeSource::Itself, Duration::from_millis(50)).unwrap_err();
        assert!(format!("{error:#}").contains("0.05 s"), "{error:#}");
        let fails = worker(folder.path(), "fails", "echo 'error: no library' >&2; exit 7");
        let error = format!("{:#}", describe(&fails, &CodeSource::Itself).unwrap_err());
        assert!(error.ends_with("7: no library"), "{error}");
        let babbles = worker(folder.path(), "babbles", "echo hello");
        let error = describe(&babbles, &CodeSource::Itself).unwrap_err().to_string();
        assert!(error.contains("kvdyno-babbles describe"), "{error}");
    }
}
