//! Which library an engine is loaded from: the version or the file that a suite names, or the
//! newest that is installed.
//!
//! Where libraries are kept is `kvdyno_engine::library`'s, how one is fetched the command's
//! `engines get`, and what one can do only its worker knows, which is asked here.

use crate::exit::Complaint;
use crate::workers::{self, CodeSource, WorkerRefused};
use anyhow::Context as _;
use kvdyno_record::case::WorkerIdentity;
use kvdyno_record::engine::library::{self, About, Installed};
use kvdyno_record::files::sha256;
use kvdyno_record::library::Library;
use kvdyno_record::plan::Case;
use kvdyno_record::protocol::{AttachedServer, WorkerDescription};
use kvdyno_suite::{Missing, Pick, WantedWorker};
use std::path::{Path, PathBuf};

/// What a server's worker says of its program: where it is, or why there is none.
const PROGRAM: &str = "program";

/// What an engine's worker says where it has no library: why.
const LIBRARY: &str = "library";

/// Where the worker does not say so itself.
const NO_LIBRARY: &str = "it is loaded from a library, and none is installed";

/// The worker at `path` with the library that is wanted, or why there is none.
pub fn choose(
    path: PathBuf,
    wanted: &WantedWorker,
) -> anyhow::Result<Result<WorkerIdentity, Missing>> {
    if let Pick::Server(reference) = &wanted.pick {
        return Ok(attached(path, reference));
    }
    let by_itself = workers::describe(&path, &CodeSource::Itself);
    let own = by_itself.as_ref().ok().filter(|own| !own.engine.capabilities.library);
    let engine = &wanted.engine;
    let installed = match (&wanted.pick, own) {
        (Pick::Newest, Some(own)) => return Ok(Ok(identity(path, own.clone(), None)?)),
        (_, Some(own)) => {
            return Ok(Err(Missing::TakesNone { version: own.engine.version.clone() }));
        }
        (Pick::File(file), None) => return Ok(of_file(path, file)),
        (Pick::Newest, None) => library::installed(engine).into_iter().next(),
        (Pick::Version(version), None) => library::find(engine, version),
        (Pick::Server(_), None) => None,
    };
    let on_path = by_itself.as_ref().ok().and_then(program_of);
    if let (None, Pick::Newest, Some(program)) = (&installed, &wanted.pick, on_path) {
        return Ok(of_file(path, program));
    }
    match (installed, by_itself) {
        (Some(installed), _) => Ok(of_installed(path, &installed)),
        (None, Err(error)) if !error.is::<WorkerRefused>() => Err(error),
        (None, itself) if wanted.pick == Pick::Newest => {
            // A worker that lies elsewhere may know of libraries that are not known here.
            let words = match itself {
                Ok(itself) => {
                    let build = &itself.engine.build;
                    build.get(PROGRAM).or_else(|| build.get(LIBRARY)).cloned()
                }
                Err(error) => Some(error.to_string()),
            };
            let words = words.unwrap_or_else(|| NO_LIBRARY.to_owned());
            Ok(Err(Missing::NoLibrary(words)))
        }
        (None, _) => {
            let installed = library::installed(engine).into_iter().map(|known| known.version);
            Ok(Err(Missing::NotInstalled { installed: installed.collect() }))
        }
    }
}

/// The program of a server that its worker has found on PATH.
fn program_of(worker: &WorkerDescription) -> Option<&Path> {
    let program = Path::new(worker.engine.build.get(PROGRAM)?);
    (program.is_absolute() && program.is_file()).then_some(program)
}

/// The worker with a server that somebody runs, which is asked what it is.
fn attached(path: PathBuf, reference: &str) -> Result<WorkerIdentity, Missing> {
    let described = workers::describe(&path, &CodeSource::Server(reference.to_owned()));
    let made = described.and_then(|description| identity(path, description, None));
    made.map_err(|error| Missing::Unusable(format!("{error:#}")))
}

/// The worker with an installed library, whose file must be the one that was installed.
pub fn of_installed(path: PathBuf, installed: &Installed) -> Result<WorkerIdentity, Missing> {
    let file = std::path::absolute(&installed.path).unwrap_or_else(|_| installed.path.clone());
    let Installed { version, build, sha256, source, .. } = installed.clone();
    let about = About { version, build, sha256, source, ..About::default() };
    with_library(path, file, about)
}

/// The worker with a library that the user names.
pub fn of_file(path: PathBuf, file: &Path) -> Result<WorkerIdentity, Missing> {
    // The whole path: workers are started elsewhere.
    let whole = library::whole(file).with_context(|| format!("{}", file.display()));
    let whole = whole.map_err(|error| Missing::Unusable(format!("{error:#}")))?;
    if !whole.is_file() {
        return Err(Missing::Unusable(format!("{} is not a file", whole.display())));
    }
    // Whatever file it is now is the one that is meant.
    let none = String::new;
    let about = About { sha256: none(), version: none(), ..library::about(&whole) };
    with_library(path, whole, about)
}

/// The worker at `path` with the library `file`. What `about` leaves empty is not known beforehand.
fn with_library(path: PathBuf, file: PathBuf, about: About) -> Result<WorkerIdentity, Missing> {
    let made = || -> anyhow::Result<WorkerIdentity> {
        let found = sha256(&file)
            .with_context(|| format!("failed to read the library {}", file.display()))?;
        let expected = &about.sha256;
        // Before any of it is run.
        anyhow::ensure!(
            expected.is_empty() || *expected == found,
            "{} is not the file that was installed: its SHA-256 is {found}, {} beside it says \
             {expected}; remove the folder and fetch it again",
            file.display(),
            library::ABOUT
        );
        let description = workers::describe(&path, &CodeSource::Library(file.clone()))?;
        let version = Some(about.version).filter(|version| !version.is_empty());
        let library = Library {
            version: version.unwrap_or_else(|| description.engine.version.clone()),
            build: about.build.as_str().to_owned(),
            sha256: found,
            source: Some(about.source).filter(|source| !source.is_empty()),
            path: file,
        };
        identity(path, description, Some(library))
    };
    made().map_err(|error| Missing::Unusable(format!("{error:#}")))
}

/// The worker at `path` with the library or server that a case of its run began with.
pub fn again(path: PathBuf, case: &Case) -> anyhow::Result<WorkerIdentity> {
    if let Some(library) = &case.library {
        check_unchanged(library)?;
    }
    let description = workers::describe(&path, &CodeSource::from_case(case))?;
    if description.server != case.server {
        let host = |server: &Option<AttachedServer>| {
            server.as_ref().map_or("none".to_owned(), |server| server.host.clone())
        };
        let (was, is) = (host(&case.server), host(&description.server));
        let what =
            format!("{} was attached to a server at {was}, and would be to {is}", case.label);
        return Err(Complaint::usage(what).hint("begin a new run with `kvdyno run`").into());
    }
    identity(path, description, case.library.clone())
}

/// That a library is the file that the run began with: its makers may be building it anew, and
/// each worker loads it from its path for itself. Figures of two would stand under one name.
pub fn check_unchanged(library: &Library) -> Result<(), Complaint> {
    let (path, was) = (library.path.display(), &library.sha256);
    let what = match sha256(&library.path) {
        Ok(is) if is == *was => return Ok(()),
        Ok(is) => format!(
            "the library {path} has changed since the run began: its SHA-256 was {was}, now {is}"
        ),
        Err(error) => format!("the library {path} is gone, which the run began with: {error}"),
    };
    Err(Complaint::usage(what).hint("put it back, or begin a new run with `kvdyno run`"))
}

fn identity(
    path: PathBuf,
    description: WorkerDescription,
    library: Option<Library>,
) -> anyhow::Result<WorkerIdentity> {
    Ok(WorkerIdentity { sha256: sha256(&path)?, path, description, library })
}
