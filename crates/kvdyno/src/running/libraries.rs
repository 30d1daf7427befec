//! Selects the library of an engine: the version or the file in the suite, or the newest installed
//! one.
//!
//! `kvdyno_engine::library` knows the library directory, the command `engines get` fetches
//! libraries, and the worker, which is started here, describes them.

use crate::exit::Complaint;
use crate::running::workers::{self, CodeSource, Worker, WorkerRefused};
use anyhow::Context as _;
use kvdyno_record::case::WorkerIdentity;
use kvdyno_record::engine::library::{self, About, Installed};
use kvdyno_record::files::sha256;
use kvdyno_record::library::Library;
use kvdyno_record::plan::Case;
use kvdyno_record::protocol::{AttachedServer, WorkerDescription};
use kvdyno_suite::{Missing, Pick, WorkerSpec};
use std::path::{Path, PathBuf};

/// The key for a server's program in a worker's description: the path, or the reason why there is
/// none.
const PROGRAM: &str = "program";

/// The key for the worker's reason why it has no library.
const LIBRARY: &str = "library";

/// The reason if the worker gives none.
const NO_LIBRARY: &str = "it needs a library, and none is installed";

/// The worker with the needed library, or the reason why there is none.
pub fn choose(
    worker: Worker,
    needed: &WorkerSpec,
) -> anyhow::Result<Result<WorkerIdentity, Missing>> {
    let Worker { path, source } = worker;
    match (&needed.pick, source) {
        (Pick::Server(reference), _) => return Ok(with_server(path, reference)),
        (Pick::Newest, CodeSource::Library(plugin)) => {
            return Ok(newest_plugin(path, &needed.engine, &plugin));
        }
        _ => {}
    }
    let description = workers::describe(&path, &CodeSource::Itself);
    let embedded =
        description.as_ref().ok().filter(|embedded| !embedded.engine.capabilities.library);
    let engine = &needed.engine;
    let installed = match (&needed.pick, embedded) {
        (Pick::Newest, Some(embedded)) => return Ok(Ok(identity(path, embedded.clone(), None)?)),
        (_, Some(embedded)) => {
            return Ok(Err(Missing::TakesNone { version: embedded.engine.version.clone() }));
        }
        (Pick::File(file), None) => {
            return Ok(
                with_library_file(path, file).and_then(|worker| check_engine(worker, engine))
            );
        }
        (Pick::Newest, None) => library::list_installed(engine).into_iter().next(),
        (Pick::Version(version), None) => library::find(engine, version),
        (Pick::Server(_), None) => None,
    };
    let on_path = description.as_ref().ok().and_then(server_program);
    if let (None, Pick::Newest, Some(program)) = (&installed, &needed.pick, on_path) {
        return Ok(with_library_file(path, program));
    }
    match (installed, description) {
        (Some(installed), _) => Ok(with_installed_library(path, &installed)),
        (None, Err(error)) if !error.is::<WorkerRefused>() => Err(error),
        (None, description) if needed.pick == Pick::Newest => {
            // A worker may search other directories for libraries.
            let words = match description {
                Ok(description) => {
                    let build = &description.engine.build;
                    build.get(PROGRAM).or_else(|| build.get(LIBRARY)).cloned()
                }
                Err(error) => Some(error.to_string()),
            };
            let words = words.unwrap_or_else(|| NO_LIBRARY.to_owned());
            Ok(Err(Missing::NoLibrary(words)))
        }
        (None, _) => {
            let installed =
                library::list_installed(engine).into_iter().map(|library| library.version);
            Ok(Err(Missing::NotInstalled { installed: installed.collect() }))
        }
    }
}

/// Refuses a plugin of another engine: the program that runs plugins can load any plugin.
fn check_engine(worker: WorkerIdentity, engine: &str) -> Result<WorkerIdentity, Missing> {
    let described = &worker.description.engine.name;
    if described == engine {
        return Ok(worker);
    }
    let file = worker.library.as_ref().map(|library| library.path.display().to_string());
    let file = file.unwrap_or_default();
    Err(Missing::Unusable(format!("{file}: expected engine `{engine}`, found `{described}`")))
}

/// The worker with a plugin, which is installed or lies in a directory of engines.
fn newest_plugin(path: PathBuf, engine: &str, plugin: &Path) -> Result<WorkerIdentity, Missing> {
    let installed = library::list_installed(engine).into_iter().find(|entry| entry.path == plugin);
    match installed {
        Some(installed) => with_installed_library(path, &installed),
        None => with_library_file(path, plugin),
    }
}

/// The program of a server that its worker finds on PATH.
fn server_program(worker: &WorkerDescription) -> Option<&Path> {
    let program = Path::new(worker.engine.build.get(PROGRAM)?);
    (program.is_absolute() && program.is_file()).then_some(program)
}

/// The worker with an attached server, which is asked for its description.
fn with_server(path: PathBuf, reference: &str) -> Result<WorkerIdentity, Missing> {
    let described = workers::describe(&path, &CodeSource::Server(reference.to_owned()));
    let worker = described.and_then(|description| identity(path, description, None));
    worker.map_err(|error| Missing::Unusable(format!("{error:#}")))
}

/// The worker with an installed library, after a check of its checksum.
pub fn with_installed_library(
    path: PathBuf,
    installed: &Installed,
) -> Result<WorkerIdentity, Missing> {
    let file = std::path::absolute(&installed.path).unwrap_or_else(|_| installed.path.clone());
    let Installed { version, build, sha256, source, .. } = installed.clone();
    let about = About { version, build, sha256, source, ..About::default() };
    with_library(path, file, about)
}

/// The worker with a library at the user's path.
pub fn with_library_file(path: PathBuf, file: &Path) -> Result<WorkerIdentity, Missing> {
    // An absolute path: workers have another working directory.
    let full_path = library::full_path(file).with_context(|| format!("{}", file.display()));
    let full_path = full_path.map_err(|error| Missing::Unusable(format!("{error:#}")))?;
    if !full_path.is_file() {
        return Err(Missing::Unusable(format!("{} is not a file", full_path.display())));
    }
    // The user means the current contents of the file: nothing is expected of them.
    let none = String::new;
    let about = About { sha256: none(), version: none(), ..library::load_about(&full_path) };
    with_library(path, full_path, about)
}

/// The worker at `path` with the library `file`. Empty fields of `about` are unknown in advance.
fn with_library(path: PathBuf, file: PathBuf, about: About) -> Result<WorkerIdentity, Missing> {
    let identify = || -> anyhow::Result<WorkerIdentity> {
        workers::check_installed(&file, &about.sha256)?;
        let sum = match about.sha256 {
            unknown if unknown.is_empty() => sha256(&file)
                .with_context(|| format!("failed to read the library {}", file.display()))?,
            checked => checked,
        };
        let description = workers::describe(&path, &CodeSource::Library(file.clone()))?;
        let version = Some(about.version).filter(|version| !version.is_empty());
        let library = Library {
            version: version.unwrap_or_else(|| description.engine.version.clone()),
            build: about.build.as_str().to_owned(),
            sha256: sum,
            source: Some(about.source).filter(|source| !source.is_empty()),
            path: file,
        };
        identity(path, description, Some(library))
    };
    identify().map_err(|error| Missing::Unusable(format!("{error:#}")))
}

/// The worker at `path` with the library or server with which a case's run started.
pub fn with_recorded_library(path: PathBuf, case: &Case) -> anyhow::Result<WorkerIdentity> {
    if let Some(library) = &case.library {
        check_unchanged(library)?;
    }
    let description = workers::describe(&path, &CodeSource::from_case(case))?;
    if description.server != case.server {
        let host = |server: &Option<AttachedServer>| {
            server.as_ref().map_or("none".to_owned(), |server| server.host.clone())
        };
        let (before, now) = (host(&case.server), host(&description.server));
        let what = format!("{} was attached to a server at {before}, but now to {now}", case.label);
        return Err(Complaint::usage(what).hint("use `kvdyno run` for a new run").into());
    }
    identity(path, description, case.library.clone())
}

/// Checks that a library is still the file with which the run started. Its authors may be
/// rebuilding it, and each worker loads it from its path. Figures of two builds would have one
/// name.
pub fn check_unchanged(library: &Library) -> Result<(), Complaint> {
    let (path, old) = (library.path.display(), &library.sha256);
    let what = match sha256(&library.path) {
        Ok(new) if new == *old => return Ok(()),
        Ok(new) => format!(
            "the library {path} has changed since the run started: its SHA-256 was {old}, now {new}"
        ),
        Err(error) => format!("the library {path} of this run is missing: {error}"),
    };
    Err(Complaint::usage(what).hint("restore it, or use `kvdyno run` for a new run"))
}

fn identity(
    path: PathBuf,
    description: WorkerDescription,
    library: Option<Library>,
) -> anyhow::Result<WorkerIdentity> {
    Ok(WorkerIdentity { sha256: sha256(&path)?, path, description, library })
}
