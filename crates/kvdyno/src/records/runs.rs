//! Finds a run by what a person types: a directory, a bundle, its name, the beginning of an id, a
//! suite, `latest`.

use super::bundle::{self, ENDING, Limits};
use super::left_behind::{mark, remove_abandoned};
use crate::exit::{Complaint, did_you_mean};
use crate::printer::Printer;
use anyhow::Context as _;
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::figures::Figures;
use kvdyno_analysis::figures::findings::{Id, Severity};
use kvdyno_analysis::judge::versus::Record;
use kvdyno_record::files::RunDir;
use std::fs::{File, TryLockError};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// The prefix of a directory into which a bundle is unpacked.
const UNPACKED: &str = "kvdyno-bundle-";

/// A run that was found; dropping it removes an unpacked bundle.
#[derive(Debug)]
pub(crate) struct FoundRun {
    dir: RunDir,
    bundle: Option<UnpackedBundle>,
}

/// A bundle, and the directory into which it is unpacked.
#[derive(Debug)]
struct UnpackedBundle {
    path: PathBuf,
    _into: TempDir,
    /// Shows other processes that the directory is in use.
    _marker: File,
}

impl Deref for FoundRun {
    type Target = RunDir;

    fn deref(&self) -> &RunDir {
        &self.dir
    }
}

impl From<RunDir> for FoundRun {
    fn from(dir: RunDir) -> Self {
        Self { dir, bundle: None }
    }
}

impl FoundRun {
    /// Whether it comes from a bundle: files written into its directory are lost.
    pub(crate) fn is_bundle(&self) -> bool {
        self.bundle.is_some()
    }

    /// Its name for the user: its directory, or the bundle.
    pub(crate) fn display_path(&self) -> &Path {
        self.bundle.as_ref().map_or(&self.dir.path, |bundle| &bundle.path)
    }

    /// Unpacks a bundle into its own directory.
    fn unpack(bundle: PathBuf) -> anyhow::Result<Self> {
        remove_abandoned(&std::env::temp_dir(), UNPACKED);
        let into = tempfile::Builder::new().prefix(UNPACKED).tempdir();
        let into = into.context("failed to create a temporary directory")?;
        let marker = mark(into.path()).context("failed to mark the temporary directory")?;
        let dir = bundle::unpack(&bundle, into.path(), Limits::default())
            .with_context(|| format!("failed to open the bundle `{}`", bundle.display()))?;
        let bundle = UnpackedBundle { path: bundle, _into: into, _marker: marker };
        Ok(Self { dir, bundle: Some(bundle) })
    }
}

/// Finds the run that the user means, in this directory of runs or elsewhere.
pub(crate) fn find(name: &str, runs: &Path) -> anyhow::Result<FoundRun> {
    let path = PathBuf::from(name);
    if path.join("run.json").is_file() {
        return Ok(RunDir::open(path)?.into());
    }
    if name.ends_with(ENDING) {
        if !path.try_exists().unwrap_or(true) {
            let hint = "`kvdyno bundle RUN` makes one; `kvdyno list` lists all runs";
            return Err(Complaint::usage(format!("no bundle `{name}`")).hint(hint).into());
        }
        return FoundRun::unpack(path);
    }
    let dirs = dirs(runs);
    let selected = if let Some(path) = find_by_name(name, &dirs) {
        Some(path)
    } else {
        let ending = format!("_{name}");
        let matches = |path: &&PathBuf| {
            let id = id(path);
            id.starts_with(name) || id.ends_with(&ending)
        };
        match dirs.iter().filter(matches).collect::<Vec<_>>()[..] {
            [] => dirs.iter().rev().find(|path| suite(&id(path)).starts_with(name)),
            [dir] => Some(dir),
            ref several => {
                let ids: Vec<String> = several.iter().rev().map(|path| id(path)).collect();
                let what = format!("`{name}` matches the ids of {} runs", ids.len());
                let hint = format!("expected one of: {}", ids.join(", "));
                return Err(Complaint::usage(what).hint(hint).into());
            }
        }
    };
    match selected {
        Some(path) => Ok(RunDir::open(path.clone())?.into()),
        None => Err(missing(name, runs, &dirs).into()),
    }
}

/// Reads the summary of a run.
pub(crate) fn read_summary(dir: &RunDir) -> anyhow::Result<Summary> {
    Summary::read(dir).with_context(read_failure(dir))
}

/// Reads a run for a comparison.
pub(crate) fn read_record(dir: &RunDir) -> anyhow::Result<Record> {
    Record::read(dir).with_context(read_failure(dir))
}

/// The context of a read error.
pub(crate) fn read_failure(dir: &RunDir) -> impl FnOnce() -> String {
    let text = format!("failed to read the run in `{}`", dir.path.display());
    || text
}

/// Warns in one line if exported figures differ from the sealed ones.
pub(crate) fn warn_if_altered(figures: &Figures, printer: &Printer) {
    let altered = figures.findings.iter().find(|finding| finding.id == Id::RecordAltered);
    if let Some(finding) = altered {
        printer.warning(&format!("run {}: {}", figures.run.id, finding.evidence));
    }
}

/// Reports findings that invalidate or distort a run's figures, for outputs that do not show them.
pub(crate) fn warn_of_findings(figures: &Figures, printer: &Printer) {
    for finding in figures.findings.iter().filter(|f| f.severity != Severity::Info) {
        printer.warning(&format!("{}: {}", finding.id.as_str(), finding.evidence));
    }
}

/// Number and interval of further attempts at a lock, because another process may only be checking
/// it.
const TRIES: u32 = 10;
const BETWEEN_TRIES: Duration = Duration::from_millis(20);

/// Locks a run for this process as long as the file is open. The lock is on the directory itself,
/// leaves nothing behind, and ends with the process.
pub(crate) fn lock(run: &RunDir) -> anyhow::Result<File> {
    let path = run.path.display();
    let dir = File::open(&run.path).with_context(|| format!("failed to open {path}"))?;
    for _ in 0..TRIES {
        match dir.try_lock() {
            // `is_at_work` of another process holds the lock for a moment.
            Err(TryLockError::WouldBlock) => std::thread::sleep(BETWEEN_TRIES),
            // Filesystems without locks still have the lock of the data directory.
            Ok(()) | Err(TryLockError::Error(_)) => return Ok(dir),
        }
    }
    let message = format!("another kvdyno is running in {path}");
    Err(Complaint::usage(message).hint("wait until it ends").into())
}

/// Whether a program runs in a run's directory: it then holds the lock. False on a filesystem
/// without locks.
pub(crate) fn is_at_work(run: &RunDir) -> bool {
    let Ok(dir) = File::open(&run.path) else { return false };
    matches!(dir.try_lock_shared(), Err(TryLockError::WouldBlock))
}

/// Whether a run's directory is certainly locked by no program: false on a filesystem without
/// locks.
pub(crate) fn is_unlocked(run: &RunDir) -> bool {
    File::open(&run.path).is_ok_and(|dir| dir.try_lock().is_ok())
}

/// The directories of all runs below `runs`, oldest first: ids start with the time.
pub(crate) fn dirs(runs: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(runs) else { return Vec::new() };
    let mut dirs: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.join("run.json").is_file())
        .collect();
    dirs.sort();
    dirs
}

/// The run with this id, the newest with this name, or the `latest`.
pub(crate) fn find_by_name<'f>(name: &str, dirs: &'f [PathBuf]) -> Option<&'f PathBuf> {
    let newest_first = || dirs.iter().rev();
    newest_first()
        .find(|path| name == "latest" || id(path) == name)
        .or_else(|| newest_first().find(|path| run_name(path).as_deref() == Some(name)))
}

/// A run's id: the name of its directory.
pub(crate) fn id(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The suite in `2026-11-20T10-15-02Z_quick_7f3a`.
fn suite(id: &str) -> &str {
    id.split_once('_')
        .map_or("", |(_, rest)| rest.rsplit_once('_').map_or(rest, |(suite, _)| suite))
}

/// The name that the user gave the run.
fn run_name(path: &Path) -> Option<String> {
    RunDir { path: path.to_owned() }.run().ok()?.name
}

fn missing(name: &str, runs: &Path, dirs: &[PathBuf]) -> Complaint {
    let runs = runs.display();
    if dirs.is_empty() {
        let what = format!("cannot find the run `{name}`: there are no runs in `{runs}`");
        return Complaint::usage(what)
            .hint("`kvdyno run quick` makes one; `--runs DIR` sets another directory");
    }
    let ids: Vec<String> = dirs.iter().map(|path| id(path)).collect();
    let run_names: Vec<String> = dirs.iter().filter_map(|path| run_name(path)).collect();
    let names = ids.iter().flat_map(|id| [id.as_str(), suite(id)]).chain(["latest"]);
    let names = run_names.iter().map(String::as_str).chain(names);
    let suggestion = did_you_mean(name, &names.collect::<Vec<_>>());
    Complaint::usage(format!("no run `{name}` in `{runs}`"))
        .hint(format!("{suggestion}`kvdyno list` lists all runs"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit;

    #[test]
    fn a_run_by_directory_id_suite_or_latest() {
        let runs = tempfile::tempdir().unwrap();
        let ids = ["2026-01-01T10-00-00Z_quick_aaaa", "2026-01-02T10-00-00Z_ycsb-a_bbbb"];
        for id in ids {
            std::fs::create_dir(runs.path().join(id)).unwrap();
            std::fs::write(runs.path().join(id).join("run.json"), "{}").unwrap();
        }
        let find_id = |run: &str| find(run, runs.path()).map(|dir| id(&dir.path));
        assert_eq!(find_id("latest").unwrap(), ids[1]);
        assert_eq!(find_id("2026-01-01").unwrap(), ids[0]);
        assert_eq!(find_id("quick").unwrap(), ids[0]);
        assert_eq!(find_id("quick_aaaa").unwrap(), ids[0]);
        assert_eq!(find_id("bbbb").unwrap(), ids[1]);
        assert_eq!(find_id(runs.path().join(ids[0]).to_str().unwrap()).unwrap(), ids[0]);
        let error = find_id("2026-01").unwrap_err();
        assert_eq!(exit::from_error(&error), kvdyno_record::exit::Exit::Usage);
        let hint = exit::complaint(&error).unwrap().hint.clone().unwrap();
        assert!(ids.iter().all(|id| hint.contains(id)), "{hint}");
        for unknown in ["nothing", "nothing.tar.zst"] {
            assert_eq!(exit::from_error(&find_id(unknown).unwrap_err()), exit::from_error(&error));
        }
    }

    #[test]
    fn a_run_by_the_name_it_was_given_the_newest_first() {
        let runs = tempfile::tempdir().unwrap();
        let make = |day: u32, name: Option<&str>| {
            let mut fixture = kvdyno_analysis::fixture::Fixture::new();
            fixture.run.name = name.map(str::to_owned);
            fixture.write(&runs.path().join(format!("2026-01-0{day}T10-00-00Z_quick_aaaa")));
        };
        make(1, Some("new cache"));
        make(2, Some("new cache"));
        make(3, Some("ycsb"));
        make(4, None);
        let find_id = |run: &str| find(run, runs.path()).map(|run| id(&run.path)[..10].to_owned());
        assert_eq!(find_id("new cache").unwrap(), "2026-01-02");
        assert_eq!(find_id("ycsb").unwrap(), "2026-01-03");
        assert_eq!(find_id("quick").unwrap(), "2026-01-04");
        let error = find_id("new cash").unwrap_err();
        let hint = exit::complaint(&error).unwrap().hint.clone().unwrap();
        assert!(hint.contains("`new cache`"), "{hint}");
    }

    #[test]
    fn a_run_is_taken_once_at_a_time() {
        let path = tempfile::tempdir().unwrap();
        let run = RunDir { path: path.path().to_owned() };
        assert!(!is_at_work(&run) && is_unlocked(&run));
        let first = lock(&run).unwrap();
        assert!(is_at_work(&run) && !is_unlocked(&run));
        let error = lock(&run).unwrap_err();
        assert_eq!(exit::from_error(&error), kvdyno_record::exit::Exit::Usage);
        drop(first);
        assert!(!is_at_work(&run));
        lock(&run).unwrap();
        assert_eq!(std::fs::read_dir(path.path()).unwrap().count(), 0);
    }

    #[test]
    fn no_runs_at_all_says_how_to_make_one() {
        let error = find("latest", Path::new("/nonexistent")).unwrap_err();
        let hint = exit::complaint(&error).unwrap().hint.clone().unwrap();
        assert!(hint.contains("kvdyno run quick"), "{hint}");
    }
}
