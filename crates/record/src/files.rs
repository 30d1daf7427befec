//! The files of a run, which are written whole or not at all.
//!
//! ```text
//! runs/2026-11-20T10-15-02Z_quick_7f3a/
//!   run.json  suite.toml  plan.json  host/
//!   cases/0005_rocksdb_t4_r2/  case.json  series.ndjson  machine.ndjson  events.ndjson
//!                              latency.hlog  counters.json  log.txt
//!                              blockio.json  blockio.ndjson  blockio.csv   (where asked for)
//!                              functions.json   (of instructions that valgrind counted)
//!                              profile.json                                (where asked for)
//!   SHA256SUMS  complete       (written last; absent: partial, still readable, resumable)
//! ```

use crate::case::{CaseRecord, CounterFile};
use crate::functions::FunctionFile;
pub use crate::lines::{Lines, RecordError};
use crate::lines::{Result, io_error, json_error};
use crate::plan::{Case, Plan};
use crate::run::RunRecord;
use kvdyno_engine::EngineEvent;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Component, Path, PathBuf};

/// A run's directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunDir {
    /// Where it is.
    pub path: PathBuf,
}

impl RunDir {
    /// Makes a new run directory; one that exists is an error.
    pub fn create(path: PathBuf) -> Result<Self> {
        let dir = Self::create_empty(path)?;
        dir.create_parts()?;
        Ok(dir)
    }

    /// Makes the directory of a new run, without anything in it.
    pub fn create_empty(path: PathBuf) -> Result<Self> {
        fs::create_dir(&path).map_err(io_error(&path))?;
        Ok(Self { path })
    }

    /// Makes the directories in a new run's directory.
    pub fn create_parts(&self) -> Result<()> {
        for name in ["cases", "host"] {
            let path = self.path.join(name);
            fs::create_dir(&path).map_err(io_error(&path))?;
        }
        Ok(())
    }

    /// Opens a run that exists.
    pub fn open(path: PathBuf) -> Result<Self> {
        if path.join("run.json").is_file() {
            Ok(Self { path })
        } else {
            Err(RecordError::NotARun { path })
        }
    }

    /// Reads `run.json`.
    pub fn run(&self) -> Result<RunRecord> {
        read_versioned(&self.path.join("run.json"), |run: &RunRecord| &run.format)
    }

    /// Writes `run.json`.
    pub fn write_run(&self, run: &RunRecord) -> Result<()> {
        write_json(&self.path.join("run.json"), run)
    }

    /// Reads `plan.json`.
    pub fn plan(&self) -> Result<Plan> {
        read_versioned(&self.path.join("plan.json"), |plan: &Plan| &plan.format)
    }

    /// Writes `plan.json`.
    pub fn write_plan(&self, plan: &Plan) -> Result<()> {
        write_json(&self.path.join("plan.json"), plan)
    }

    /// Where raw host evidence goes.
    pub fn host(&self) -> PathBuf {
        self.path.join("host")
    }

    /// The directory of a case's attempt.
    pub fn case(&self, case: &Case, attempt: u32) -> CaseDir {
        let name = if attempt == 1 { case.id.clone() } else { format!("{}_a{attempt}", case.id) };
        CaseDir { path: self.path.join("cases").join(name) }
    }

    /// The directories of all cases begun, in order.
    pub fn cases(&self) -> Result<Vec<CaseDir>> {
        let path = self.path.join("cases");
        let mut dirs = Vec::new();
        for entry in fs::read_dir(&path).map_err(io_error(&path))? {
            let entry = entry.map_err(io_error(&path))?;
            if entry.path().is_dir() {
                dirs.push(CaseDir { path: entry.path() });
            }
        }
        dirs.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(dirs)
    }

    /// The cases that have a `case.json`, in order. A case that was in flight when everything was
    /// killed has none.
    pub fn case_records(&self) -> Result<Vec<(CaseDir, CaseRecord)>> {
        let mut records = Vec::new();
        for dir in self.cases()? {
            if dir.path.join("case.json").is_file() {
                let record = dir.record()?;
                records.push((dir, record));
            }
        }
        Ok(records)
    }

    /// Whether everything that was planned was done.
    pub fn is_complete(&self) -> bool {
        self.path.join("complete").is_file()
    }

    /// Ends the run: checksums of every file, then the sentinel. Nothing changes after this.
    pub fn seal(&self) -> Result<()> {
        let mut sums = String::new();
        for path in files_below(&self.path)? {
            let name = path.strip_prefix(&self.path).unwrap_or(&path);
            sums += &format!("{}  {}\n", sha256(&path)?, name.display());
        }
        write_atomic(&self.path.join("SHA256SUMS"), sums.as_bytes())?;
        write_atomic(&self.path.join("complete"), b"")
    }

    /// Breaks the seal of a complete run, so that more can be measured.
    pub fn unseal(&self) -> Result<()> {
        let path = self.path.join("complete");
        fs::remove_file(&path).map_err(io_error(&path))
    }

    /// The checksum of a file that is listed in `SHA256SUMS`; none: it is no file inside the run's
    /// directory. A stranger's list may name anything.
    pub fn file_checksum(&self, name: &str) -> Option<String> {
        let inside = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
        let path = self.path.join(name);
        let is_file = || path.symlink_metadata().is_ok_and(|meta| meta.is_file());
        (inside && is_file()).then(|| sha256(&path).ok()).flatten()
    }

    /// Files that changed, vanished or were added since the seal; none of a partial run. A user's
    /// files next to the record, such as notes, are not part of it.
    pub fn changed_since_sealed(&self) -> Result<Vec<String>> {
        let path = self.path.join("SHA256SUMS");
        if !self.is_complete() {
            return Ok(Vec::new());
        }
        if !path.is_file() {
            return Ok(vec!["SHA256SUMS".to_owned()]);
        }
        let sums = fs::read_to_string(&path).map_err(io_error(&path))?;
        let differs = |(sum, name): (&str, &str)| {
            self.file_checksum(name).is_none_or(|now| now != sum).then(|| name.to_owned())
        };
        let sealed: Vec<(&str, &str)> =
            sums.lines().filter_map(|line| line.split_once("  ")).collect();
        let mut changed: Vec<String> = sealed.iter().copied().filter_map(differs).collect();
        for path in files_below(&self.path)? {
            let name = path.strip_prefix(&self.path).unwrap_or(&path).display().to_string();
            if name.contains('/') && !sealed.iter().any(|(_, sealed_name)| *sealed_name == name) {
                changed.push(name);
            }
        }
        Ok(changed)
    }
}

const FUNCTIONS: &str = "functions.json";

/// A case's directory. Time lines are read one line at a time: those of a day do not fit into
/// memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseDir {
    /// Where it is.
    pub path: PathBuf,
}

impl CaseDir {
    /// Reads `case.json`.
    pub fn record(&self) -> Result<CaseRecord> {
        read_versioned(&self.path.join("case.json"), |record: &CaseRecord| &record.format)
    }

    /// Writes `case.json`: from now on the case is done.
    pub fn write_record(&self, record: &CaseRecord) -> Result<()> {
        write_json(&self.path.join("case.json"), record)
    }

    /// Reads `counters.json`; empty where there is none.
    pub fn counters(&self) -> Result<CounterFile> {
        let path = self.path.join("counters.json");
        if path.is_file() { read_json(&path) } else { Ok(CounterFile::default()) }
    }

    /// Opens `series.ndjson`.
    pub fn series(&self) -> Result<Lines<crate::series::Slice>> {
        Lines::open(&self.path.join("series.ndjson"))
    }

    /// Opens `machine.ndjson`.
    pub fn machine(&self) -> Result<Lines<crate::series::MachineReading>> {
        Lines::open(&self.path.join("machine.ndjson"))
    }

    /// Opens `events.ndjson`.
    pub fn events(&self) -> Result<Lines<EngineEvent>> {
        Lines::open(&self.path.join("events.ndjson"))
    }

    /// Reads `blockio.json`; none where block I/O was not watched.
    pub fn block_io(&self) -> Result<Option<crate::blockio::BlockIoFile>> {
        let path = self.path.join("blockio.json");
        if path.is_file() { read_json(&path).map(Some) } else { Ok(None) }
    }

    /// Reads `functions.json`; none where functions were not counted.
    pub fn functions(&self) -> Result<Option<FunctionFile>> {
        let path = self.path.join(FUNCTIONS);
        if path.is_file() { read_json(&path).map(Some) } else { Ok(None) }
    }

    /// Writes `functions.json`.
    pub fn write_functions(&self, functions: &FunctionFile) -> Result<()> {
        write_json(&self.path.join(FUNCTIONS), functions)
    }

    /// Opens `blockio.ndjson`.
    pub fn block_io_readings(&self) -> Result<Lines<crate::blockio::BlockIoReading>> {
        Lines::open(&self.path.join("blockio.ndjson"))
    }

    /// Reads `profile.json`; none where the case was not profiled.
    pub fn profile(&self) -> Result<Option<crate::profile::ProfileFile>> {
        let path = self.path.join("profile.json");
        if path.is_file() { read_json(&path).map(Some) } else { Ok(None) }
    }

    /// Writes `profile.json`, on one line: it is a list of numbers for the most part.
    pub fn write_profile(&self, profile: &crate::profile::ProfileFile) -> Result<()> {
        let path = self.path.join("profile.json");
        let bytes = serde_json::to_vec(profile).map_err(json_error(&path))?;
        write_atomic(&path, &bytes)
    }

    /// Opens `latency.hlog`; empty where there is none.
    pub fn latency(&self) -> Result<crate::hlog::Intervals> {
        crate::hlog::Intervals::open(&self.path.join("latency.hlog"))
    }
}

/// Writes a file whole: to a temporary name, onto the disk, then renamed.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".tmp");
    let temporary = PathBuf::from(name);
    let mut file = File::create(&temporary).map_err(io_error(&temporary))?;
    file.write_all(bytes).map_err(io_error(&temporary))?;
    file.sync_all().map_err(io_error(&temporary))?;
    fs::rename(&temporary, path).map_err(io_error(path))
}

/// Writes a value as indented JSON, whole.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    write_atomic(path, &format_json(path, value)?)
}

/// Returns what [`write_json`] writes to `path`.
pub fn format_json(path: &Path, value: &impl Serialize) -> Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec_pretty(value).map_err(json_error(path))?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// The largest JSON file that is read as a whole, so that a bundle cannot fill the memory. Records
/// have some KiB.
const WHOLE_MAX: u64 = 64 << 20;

/// Reads a JSON file.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(io_error(path))?;
    file.take(WHOLE_MAX + 1).read_to_end(&mut bytes).map_err(io_error(path))?;
    if bytes.len() as u64 > WHOLE_MAX {
        return Err(RecordError::Malformed {
            path: path.to_owned(),
            message: "is larger than 64 MiB: not a file of kvdyno".to_owned(),
        });
    }
    serde_json::from_slice(&bytes).map_err(json_error(path))
}

/// Reads a JSON file with a format version.
pub(crate) fn read_versioned<T: DeserializeOwned>(
    path: &Path,
    format: fn(&T) -> &String,
) -> Result<T> {
    let value = read_json(path)?;
    refuse_newer(path, format(&value))?;
    Ok(value)
}

/// The checksum of a file, in hexadecimal.
pub fn sha256(path: &Path) -> Result<String> {
    let mut reader = BufReader::with_capacity(1 << 16, File::open(path).map_err(io_error(path))?);
    let mut hasher = Sha256::new();
    loop {
        let chunk = reader.fill_buf().map_err(io_error(path))?;
        if chunk.is_empty() {
            break;
        }
        hasher.update(chunk);
        let length = chunk.len();
        reader.consume(length);
    }
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// All files below a directory, sorted; the two that seal it and the run's lock left out.
fn files_below(dir: &Path) -> Result<Vec<PathBuf>> {
    const SEALS: [&str; 3] = ["SHA256SUMS", "complete", "lock"];
    let mut files = Vec::new();
    for entry in fs::read_dir(dir).map_err(io_error(dir))? {
        let entry = entry.map_err(io_error(dir))?;
        if entry.path().is_dir() {
            files.append(&mut files_below(&entry.path())?);
        } else if !SEALS.iter().any(|seal| entry.file_name() == *seal) {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

fn refuse_newer(path: &Path, written: &str) -> Result<()> {
    let number = |version: &str| {
        let (major, minor) = version.split_once('.')?;
        Some((major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?))
    };
    match (number(written), number(crate::FORMAT)) {
        (Some((major, _)), Some((supported, _))) if major <= supported => Ok(()),
        (Some(_), _) => {
            Err(RecordError::Newer { path: path.to_owned(), found: written.to_owned() })
        }
        (None, _) => Err(RecordError::Malformed {
            path: path.to_owned(),
            message: format!("format `{written}` is not major.minor"),
        }),
    }
}
