//! Databases of the user: a copy of each goes into the store of states, with a list of its keys.
//! Only the copying reads the original.

use super::runner::Interrupt;
use super::runner::states;
use super::workers::{self, Workers};
use crate::printer::Printer;
use kvdyno_host::child;
use kvdyno_host::copy;
use kvdyno_host::open_files::{User, find_user, list_files};
use kvdyno_host::states::{States, StoredState};
use kvdyno_host::{Root, Storage};
use kvdyno_record::case::{Copying, WorkerIdentity};
use kvdyno_record::engine::Location;
use kvdyno_record::origin::{Origin, Sample, SampleJob, write_key};
use kvdyno_record::state::StateDescription;
use kvdyno_record::units;
use kvdyno_record::work::short_digest;
use kvdyno_suite::OwnDatabase;
use serde_json::{Value, json};
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The mark of each engine's databases: a file in their directory, or the first bytes of their
/// file.
const KINDS: [(&str, Kind); 6] = [
    ("wiredtiger", Kind::Dir("WiredTiger.wt")),
    ("lmdb", Kind::Dir("data.mdb")),
    ("mdbx", Kind::Dir("mdbx.dat")),
    ("rocksdb", Kind::Dir("OPTIONS-")),
    ("leveldb", Kind::Dir("CURRENT")),
    ("sqlite", Kind::File(b"SQLite format 3\0")),
];

/// The name of a copied database in one file. Its log and its journal have this name with an
/// ending.
const FILE: &str = "kv.sqlite";

enum Kind {
    /// The beginning of the name of a file in the directory.
    Dir(&'static str),
    File(&'static [u8]),
}

/// Finds the copy of a database that an earlier run made, or makes a new one.
pub(super) fn find_or_import(
    database: &OwnDatabase<'_>,
    workers: &Workers,
    data_dir: Option<&Path>,
    runs: &Path,
    interrupt: &Interrupt,
    printer: &Printer,
) -> Result<Origin, String> {
    let worker = workers.with_library(database.engine, database.worker.library.as_ref());
    let worker = worker.ok_or_else(|| format!("cannot find the worker of {}", database.engine))?;
    let path = fs::canonicalize(&database.path)
        .map_err(|error| io_error("find", &database.path, &error))?;
    check_kind(&path, database.engine)?;
    let files = database_files(&path).map_err(|error| io_error("list", &path, &error))?;
    let id = digest_inputs(database, worker, &path, &files)?;
    let store = states::store(data_dir, runs);
    let state = store.is_dir().then(|| States::open(&store).and_then(|states| states.find(&id)));
    let state = match state.transpose().map_err(|error| error.to_string())?.flatten() {
        Some(state) => state,
        None => {
            let import =
                Import { database, worker, path: &path, files: &files, id: &id, interrupt };
            import.check(&store)?;
            let bytes = units::bytes(file_bytes(&files)?);
            printer.note(&format!(
                "copying {} ({bytes}) into {}, where it stays for later runs: `kvdyno state \
                 remove {id}{}` removes it",
                path.display(),
                store.display(),
                data_dir.map_or_else(String::new, |dir| format!(" --data-dir {}", dir.display()))
            ));
            import.run(&store)?
        }
    };
    describe_copy(&state, path)
}

fn describe_copy(state: &StoredState, path: PathBuf) -> Result<Origin, String> {
    let description = &state.record().description;
    let incomplete = "its kept copy is incomplete: remove it with `kvdyno state remove`";
    let sample = description.sample.clone().ok_or(incomplete)?;
    Ok(Origin { path, state: description.id.clone(), keys: state.keys(), sample })
}

/// The import of a database: it is copied, and the copy is sampled.
struct Import<'i> {
    database: &'i OwnDatabase<'i>,
    worker: &'i WorkerIdentity,
    path: &'i Path,
    files: &'i [PathBuf],
    id: &'i str,
    interrupt: &'i Interrupt,
}

impl Import<'_> {
    /// Fails if the database cannot be copied.
    fn check(&self, store: &Path) -> Result<(), String> {
        self.check_interrupt()?;
        self.check_links()?;
        self.check_unused()?;
        self.check_room(store.ancestors().find(|path| path.exists()).unwrap_or(store))
    }

    fn run(&self, store: &Path) -> Result<StoredState, String> {
        let begun = Instant::now();
        let states = States::create(store).map_err(|error| error.to_string())?;
        // What a killed program leaves there is removed when the store is opened.
        let scratch = states.begin(self.id).map_err(|error| error.to_string())?;
        let copy = scratch.database();
        fs::create_dir(&copy).map_err(|error| io_error("make", &copy, &error))?;
        let before = signature(self.files)?;
        self.copy(&copy)?;
        self.check_unused()?;
        let files =
            database_files(self.path).map_err(|error| io_error("list", self.path, &error))?;
        if signature(&files)? != before {
            return Err(format!(
                "{} changed while it was copied: stop what writes it, and try again",
                self.path.display()
            ));
        }
        let keys = scratch.keys();
        let sample = self.sample(&copy, &keys);
        // After an interrupt there is no sample.
        self.check_interrupt()?;
        let sample = sample?;
        let description = StateDescription {
            id: self.id.to_owned(),
            engine: self.database.engine.to_owned(),
            label: format!("a copy of {}", self.path.display()),
            engine_version: self.worker.description.engine.version.clone(),
            library_sha256: self.worker.library.as_ref().map(|library| library.sha256.clone()),
            records: sample.records,
            run: self.path.display().to_string(),
            took_ns: begun.elapsed().as_nanos() as u64,
            sample: Some(sample),
        };
        let mut go_on = |_| !self.interrupt.is_requested();
        let state = states.keep(description, &copy, Some(&keys), &mut go_on);
        state.map_err(|error| error.to_string())
    }

    fn check_interrupt(&self) -> Result<(), String> {
        if self.interrupt.is_requested() {
            return Err(copy::CopyError::Interrupted.to_string());
        }
        Ok(())
    }

    fn check_room(&self, around: &Path) -> Result<(), String> {
        let needed = file_bytes(self.files)?;
        let storage = Storage::from_path(&Root::system(), around);
        let free = storage.map_or(u64::MAX, |storage| storage.free_bytes);
        if free >= needed {
            return Ok(());
        }
        let [needed, free] = [needed, free].map(units::bytes);
        let around = around.display();
        Err(format!(
            "its copy needs {needed}, but {around} has {free} free: free space, or use \
             `--data-dir` on another volume"
        ))
    }

    /// Refuses symbolic links: a copied link leads to the original, which the engine would then
    /// open.
    fn check_links(&self) -> Result<(), String> {
        let link = self.files.iter().find(|file| file.is_symlink());
        link.map_or(Ok(()), |link| {
            Err(format!("{} is a symbolic link: expected files alone", link.display()))
        })
    }

    fn check_unused(&self) -> Result<(), String> {
        let user = find_user(&Root::system(), self.files);
        match user.map_err(|error| io_error("look at", self.path, &error))? {
            None => Ok(()),
            // A lock of an open file has no process.
            Some(User { pid: 0, .. }) => {
                Err(format!("{} is locked: close what uses it", self.path.display()))
            }
            Some(User { pid, name }) => Err(format!(
                "{} is open in process {pid} ({name}): close it, or back it up with the engine's \
                 own tool and use the copy",
                self.path.display()
            )),
        }
    }

    fn copy(&self, to: &Path) -> Result<(), String> {
        let mut go_on = |_| !self.interrupt.is_requested();
        if self.path.is_dir() {
            let copied = copy::database(self.path, to, Copying::Reflink, &mut go_on);
            return copied.map(drop).map_err(|error| error.to_string());
        }
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for file in self.files {
            let file_name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let copy = to.join(file_name.replacen(&name, FILE, 1));
            copy::file(file, &copy, &mut go_on).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// Opens the copy, which may bring it up to date, and walks over its records.
    fn sample(&self, copy: &Path, keys: &Path) -> Result<Sample, String> {
        let keys_file = self.database.keys_file.as_ref();
        let job = SampleJob {
            location: Location::Directory(copy.to_owned()),
            options: self.database.options.clone(),
            file_bytes: file_bytes(self.files)?,
            keys_max: if keys_file.is_some() { 1 } else { self.database.keys_max },
            keys: keys.to_owned(),
        };
        let sample = run_sample(self.worker, &job, self.interrupt)?;
        match keys_file {
            None => Ok(sample),
            Some(file) => {
                let number =
                    list_lines(file, keys).map_err(|error| io_error("read", file, &error))?;
                Ok(Sample { keys: number, ..sample })
            }
        }
    }
}

/// Runs the command `sample` of a worker, until the run is interrupted.
fn run_sample(
    worker: &WorkerIdentity,
    job: &SampleJob,
    interrupt: &Interrupt,
) -> Result<Sample, String> {
    let program = worker.path.display();
    let mut line = serde_json::to_vec(job).map_err(|error| error.to_string())?;
    line.push(b'\n');
    let go_on = || {
        let stop = interrupt.is_requested();
        if stop { Err(io::ErrorKind::Interrupted.into()) } else { Ok(()) }
    };
    let finished = child::run(workers::command(worker, "sample"), line, go_on)
        .map_err(|error| format!("failed to run {program}: {error}"))?;
    if !finished.exit.is_success() {
        let errors = finished.complaint();
        let last = errors.lines().last().unwrap_or_default();
        return Err(format!("a copy of it cannot be read: {}", last.trim_start_matches("error: ")));
    }
    serde_json::from_slice(&finished.output).map_err(|error| format!("{program}: {error}"))
}

/// Writes the lines of a file as a list of keys; returns how many there are.
fn list_lines(file: &Path, keys: &Path) -> io::Result<u64> {
    let text = fs::read(file)?;
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let (mut list, mut number) = (Vec::new(), 0);
    for line in lines {
        write_key(&mut list, line.strip_suffix(b"\r").unwrap_or(line))?;
        number += 1;
    }
    if number == 0 {
        return Err(io::Error::other("expected a key on each line, found none"));
    }
    fs::write(keys, list)?;
    Ok(number)
}

fn check_kind(path: &Path, engine: &str) -> Result<(), String> {
    let kind = KINDS.iter().find(|(_, kind)| kind.matches(path)).map(|(engine, _)| *engine);
    // LMDB 1.0 refuses the files of 0.9 itself.
    let engine = if engine == "lmdb1" { "lmdb" } else { engine };
    match kind {
        Some(kind) if kind == engine => Ok(()),
        Some(kind) => {
            let path = path.display();
            Err(format!("{path}: expected a database of {engine}, found one of {kind}"))
        }
        None => {
            let engines: Vec<&str> = KINDS.iter().map(|(engine, _)| *engine).collect();
            let path = path.display();
            let engines = engines.join(", ");
            Err(format!("{path}: expected a database of {engines}, found another format"))
        }
    }
}

impl Kind {
    fn matches(&self, path: &Path) -> bool {
        match self {
            Self::Dir(name) => {
                let entries = fs::read_dir(path).into_iter().flatten().flatten();
                let mut names = entries.map(|entry| entry.file_name());
                names.any(|file| file.to_string_lossy().starts_with(name))
            }
            Self::File(begin) => {
                path.is_file()
                    && fs::File::open(path).is_ok_and(|file| {
                        let mut bytes = vec![0; begin.len()];
                        (&file).read_exact(&mut bytes).is_ok() && bytes == *begin
                    })
            }
        }
    }
}

/// The files of a database: all in its directory, or its one file with its log and its journal.
fn database_files(path: &Path) -> io::Result<Vec<PathBuf>> {
    if path.is_dir() {
        return list_files(path);
    }
    let with = |ending: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    let others = ["-wal", "-journal"].map(with).into_iter().filter(|file| file.exists());
    Ok([path.to_owned()].into_iter().chain(others).collect())
}

fn file_bytes(files: &[PathBuf]) -> Result<u64, String> {
    let lengths = files.iter().map(|file| {
        fs::metadata(file).map(|stat| stat.len()).map_err(|error| io_error("look at", file, &error))
    });
    lengths.sum()
}

/// The names, lengths and times of files, by which a change is noticed.
fn signature(files: &[PathBuf]) -> Result<Vec<Value>, String> {
    let each = files.iter().map(|file| {
        let stat = fs::symlink_metadata(file).map_err(|error| io_error("look at", file, &error))?;
        Ok(json!([file, stat.len(), stat.mtime(), stat.mtime_nsec()]))
    });
    each.collect()
}

/// A digest of all that the copy and its list of keys depend on.
fn digest_inputs(
    database: &OwnDatabase<'_>,
    worker: &WorkerIdentity,
    path: &Path,
    files: &[PathBuf],
) -> Result<String, String> {
    let keys_file: Vec<PathBuf> = database.keys_file.iter().cloned().collect();
    let all = json!({
        "path": path,
        "files": signature(files)?,
        "worker": worker.sha256,
        "library": worker.library.as_ref().map(|library| &library.sha256),
        "options": database.options,
        "keys_max": database.keys_max,
        "keys_file": signature(&keys_file)?,
    });
    Ok(short_digest(&all, states::ID_BYTES))
}

fn io_error(act: &str, path: &Path, error: &io::Error) -> String {
    format!("cannot {act} {}: {error}", path.display())
}
