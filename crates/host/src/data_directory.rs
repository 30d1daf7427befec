//! The directory for a run's databases: it is examined before anything is touched.

use super::doctor::{self, Diagnostic};
use super::ledger::{self, Ledger};
use super::raw::{self, RawError};
use super::unavailable::user;
use super::{Root, Storage, states, storage};
use kvdyno_record::text::shell_word;
use kvdyno_record::units;
use rustix::fs::{Access, AtFlags, CWD, accessat};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A directory that a run can have, or can make.
#[derive(Clone, Debug)]
pub struct DataDirectory {
    /// Absolute.
    pub path: PathBuf,
    /// Whether it exists already.
    pub exists: bool,
    /// Its volume.
    pub volume: Storage,
    /// Warnings that its filesystem will distort results (tmpfs, overlay, a network).
    pub warnings: Vec<Diagnostic>,
}

/// Why a data directory cannot be used, and what to do.
#[expect(missing_docs, reason = "the texts say what their fields are")]
#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    /// A block device, where the command takes directories only.
    #[error("expected a directory, found the block device {}; use `kvdyno drive \
        {}`", data_dir.display(),
        data_dir.display())]
    ADevice { data_dir: PathBuf },
    /// A block device that cannot be used.
    #[error(transparent)]
    Raw(#[from] RawError),
    /// A file, or a link to nowhere.
    #[error("{} is not a directory; name an empty directory, or with --create-data-dir a new one",
        data_dir.display())]
    NotADirectory { data_dir: PathBuf },
    /// The filesystem is mounted read-only.
    #[error("{} is on {kind} mounted read-only; name a writable directory",
        data_dir.display())]
    ReadOnly { data_dir: PathBuf, kind: String },
    /// The filesystem is virtual and stores no files.
    #[error("{} is on {kind}, a virtual filesystem that stores no files; name a directory on a \
        drive", data_dir.display())]
    KeepsNoFiles { data_dir: PathBuf, kind: String },
    /// This user may not write there.
    #[error("{} is not writable for this user ({}); name another directory, or as its owner: \
        chown {} {}",
        data_dir.display(), cause, user(), shell_path(directory))]
    NotWritable {
        data_dir: PathBuf,
        /// The directory without permission: the data directory, or its nearest existing parent.
        directory: PathBuf,
        cause: rustix::io::Errno,
    },
    /// It contains other files.
    #[error("{} is not empty (it holds {held}); name an empty directory, or a new one \
        with --create-data-dir: {}", data_dir.display(), data_dir.join("kvdyno").display())]
    NotEmpty { data_dir: PathBuf, held: String },
    /// Another run is at work there.
    #[error("{} is in use by run {run} (process {pid}); wait for its end, or name another \
        directory",
        data_dir.display())]
    InUse { data_dir: PathBuf, run: String, pid: u32 },
    /// Another run is at work in a directory above it.
    #[error("{} is inside {}, which run {run} (process {pid}) uses; wait for its end, or name \
        another directory", inside.display(), data_dir.display())]
    Inside { inside: PathBuf, data_dir: PathBuf, run: String, pid: u32 },
    /// Another run was killed there.
    #[error("{} holds databases of run {run}, which was killed; go on with `kvdyno resume {run}`, \
        or remove them: rm -r {removal}", data_dir.display())]
    LeftBehind {
        data_dir: PathBuf,
        run: String,
        /// The directories and the lock, as arguments of a command.
        removal: String,
    },
    /// The lock there was not written by kvdyno.
    #[error("the lock of {} is damaged ({cause}); nothing was touched; if no run is to be resumed \
        there: rm {}", data_dir.display(), shell_path(&data_dir.join(ledger::NAME)))]
    Damaged { data_dir: PathBuf, cause: io::Error },
    /// Not enough space.
    #[error("{} has {} free, the run needs {}; free space, name another directory, or use \
        less data", data_dir.display(), units::bytes(*free_bytes),
        units::bytes(*needed_bytes))]
    TooSmall { data_dir: PathBuf, free_bytes: u64, needed_bytes: u64 },
    /// A database's directory exists before it was made, or its name is not that of a directory.
    #[error("cannot make a database at {}: {cause}", path.display())]
    Database { path: PathBuf, cause: String },
    /// Anything else.
    #[error("failed to {act} {}: {source}", path.display())]
    Io { act: &'static str, path: PathBuf, source: io::Error },
}

impl DataDirError {
    pub(super) fn io(act: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { act, path, source }
    }
}

impl DataDirectory {
    /// Examines a path. Changes nothing. `needed_bytes` is the most that the plan needs at one
    /// time; `resuming` is the resumed run, whose own leftovers are accepted.
    pub fn examine(
        root: &Root,
        path: &Path,
        needed_bytes: u64,
        resuming: Option<&str>,
    ) -> Result<Self, DataDirError> {
        let path = std::path::absolute(path).map_err(DataDirError::io("resolve", path))?;
        let exists = is_there(&path)?;
        let volume = Storage::from_path(root, &path).map_err(DataDirError::io("look at", &path))?;
        check_keeps_files(&path, &volume)?;
        check_writable(&path, &volume)?;
        check_above(&path, resuming)?;
        if exists {
            if ledger::is_held(&path) {
                return Err(in_use_error(&path));
            }
            check_contents(&path, resuming)?;
        }
        if volume.free_bytes < needed_bytes {
            let free_bytes = volume.free_bytes;
            return Err(DataDirError::TooSmall { data_dir: path, free_bytes, needed_bytes });
        }
        let warnings = doctor::warn_of_filesystem(volume.filesystem()).into_iter().collect();
        Ok(Self { path, exists, volume, warnings })
    }

    /// Distortions of results, each as a sentence.
    pub(super) fn warnings_in_words(&self) -> Vec<String> {
        let sentence = |check: &Diagnostic| {
            let remedy = check.remedy.as_deref().unwrap_or_default();
            format!("{} is on {}: {}; {remedy}", self.path.display(), check.value, check.reason)
        };
        self.warnings.iter().map(sentence).collect()
    }
}

/// Returns whether the path is a directory; `false`: it does not exist.
fn is_there(path: &Path) -> Result<bool, DataDirError> {
    let not_a_directory = || DataDirError::NotADirectory { data_dir: path.to_owned() };
    match fs::metadata(path) {
        Ok(stat) if stat.is_dir() => Ok(true),
        Ok(_) if raw::is_device(path) => Err(DataDirError::ADevice { data_dir: path.to_owned() }),
        Ok(_) => Err(not_a_directory()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // A dangling link can be neither used nor created.
            let link = fs::symlink_metadata(path).is_ok();
            if link { Err(not_a_directory()) } else { Ok(false) }
        }
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Err(not_a_directory()),
        Err(error) => Err(DataDirError::io("look at", path)(error)),
    }
}

/// Refuses a data directory on a virtual filesystem, which shows kernel state as files.
pub fn check_keeps_files(path: &Path, volume: &Storage) -> Result<(), DataDirError> {
    match volume.kind() {
        "proc" | "sysfs" | "devpts" | "cgroup" | "cgroup2" | "debugfs" | "tracefs"
        | "securityfs" | "configfs" | "bpf" | "pstore" | "mqueue" | "fusectl" | "binfmt_misc"
        | "efivarfs" | "selinuxfs" | "nsfs" => {
            let (data_dir, kind) = (path.to_owned(), volume.kind().to_owned());
            Err(DataDirError::KeepsNoFiles { data_dir, kind })
        }
        _ => Ok(()),
    }
}

fn check_writable(path: &Path, volume: &Storage) -> Result<(), DataDirError> {
    let data_dir = path.to_owned();
    if volume.read_only {
        return Err(DataDirError::ReadOnly { data_dir, kind: volume.kind().to_owned() });
    }
    let directory = volume.directory.clone();
    accessat(CWD, &directory, Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS)
        .map_err(|cause| DataDirError::NotWritable { data_dir, directory, cause })
}

/// Refuses a path inside another run's data directory: that run could not remove its own in the
/// end.
fn check_above(path: &Path, own_run: Option<&str>) -> Result<(), DataDirError> {
    let existing = path.ancestors().find_map(|above| above.canonicalize().ok());
    let Some(existing) = existing else { return Ok(()) };
    let exact = path.canonicalize().is_ok();
    for above in existing.ancestors().skip(usize::from(exact)) {
        if !ledger::is_held(above) {
            continue;
        }
        let ledger = Ledger::read(above).ok().flatten().unwrap_or_default();
        if own_run != Some(ledger.run.as_str()) {
            let (inside, run, pid) = (path.to_owned(), ledger.run, ledger.pid);
            return Err(DataDirError::Inside { inside, data_dir: above.to_owned(), run, pid });
        }
    }
    Ok(())
}

/// Returns the error that names the run that uses the data directory.
pub(super) fn in_use_error(path: &Path) -> DataDirError {
    let ledger = Ledger::read(path).ok().flatten().unwrap_or_default();
    let run = if ledger.run.is_empty() { "another".to_owned() } else { ledger.run };
    DataDirError::InUse { data_dir: path.to_owned(), run, pid: ledger.pid }
}

/// Returns the error for a ledger that cannot be read, or is not valid.
pub(super) fn unreadable_lock(path: &Path) -> impl FnOnce(io::Error) -> DataDirError {
    move |cause| match cause.kind() {
        io::ErrorKind::InvalidData => DataDirError::Damaged { data_dir: path.to_owned(), cause },
        _ => DataDirError::io("read the lock in", path)(cause),
    }
}

/// Returns a path as an argument of a command in a message.
pub(crate) fn shell_path(path: &Path) -> String {
    shell_word(&path.display().to_string())
}

/// Refuses a directory with anything but our own files, the leftovers of the run `resuming`, and
/// what filesystems put into their roots.
pub(super) fn check_contents(path: &Path, resuming: Option<&str>) -> Result<(), DataDirError> {
    let mut names = Vec::new();
    for entry in fs::read_dir(path).map_err(DataDirError::io("list", path))? {
        let entry = entry.map_err(DataDirError::io("list", path))?;
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    names.retain(|name| ![ledger::NAME, states::STORE, "lost+found"].contains(&name.as_str()));
    names.sort();
    let ledger = Ledger::read(path).map_err(unreadable_lock(path))?;
    let Some(ledger) = ledger else { return refuse(path, &names) };
    let leftovers: Vec<&String> =
        ledger.databases.iter().filter(|database| names.contains(database)).collect();
    if !leftovers.is_empty() && resuming != Some(ledger.run.as_str()) {
        let mut removal: Vec<String> =
            leftovers.iter().map(|database| shell_path(&path.join(database))).collect();
        removal.push(shell_path(&path.join(ledger::NAME)));
        let (data_dir, removal) = (path.to_owned(), removal.join(" "));
        return Err(DataDirError::LeftBehind { data_dir, run: ledger.run, removal });
    }
    names.retain(|name| !ledger.databases.contains(name));
    refuse(path, &names)
}

/// Returns the databases that a killed run left in its data directory; none while it is at work.
pub fn leftover_databases(path: &Path, run: &str) -> Vec<PathBuf> {
    let ledger = Ledger::read(path).ok().flatten().filter(|ledger| ledger.run == run);
    let Some(ledger) = ledger.filter(|_| !ledger::is_held(path)) else { return Vec::new() };
    let databases = ledger.databases.iter().map(|database| path.join(database));
    databases.filter(|database| database.is_dir()).collect()
}

fn refuse(path: &Path, names: &[String]) -> Result<(), DataDirError> {
    const SHOWN: usize = 3;
    if names.is_empty() {
        return Ok(());
    }
    let first = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    let held = match names.len().saturating_sub(SHOWN) {
        0 => first,
        more => format!("{first} and {more} more"),
    };
    Err(DataDirError::NotEmpty { data_dir: path.to_owned(), held })
}

/// Returns the directories that have to be made for a path to exist, the topmost first.
pub(super) fn missing_directories(path: &Path) -> io::Result<Vec<PathBuf>> {
    storage::nearest_existing(path)?;
    let mut missing: Vec<PathBuf> =
        path.ancestors().take_while(|above| !above.exists()).map(Path::to_owned).collect();
    missing.reverse();
    Ok(missing)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{again_as_nobody, is_nobody};
    use super::*;

    fn examine(path: &Path) -> Result<DataDirectory, DataDirError> {
        DataDirectory::examine(&Root::system(), path, 0, None)
    }

    #[test]
    fn a_new_place_and_an_empty_one_will_do() {
        let dir = tempfile::tempdir().unwrap();
        let examined = examine(dir.path()).unwrap();
        assert!(examined.exists);
        let examined = examine(&dir.path().join("a/b")).unwrap();
        assert!(!examined.exists);
        assert!(!dir.path().join("a").exists(), "looking makes nothing");
        fs::create_dir(dir.path().join("lost+found")).unwrap();
        assert!(examine(dir.path()).is_ok());
    }

    #[test]
    fn files_and_links_to_nowhere_are_no_places() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        std::os::unix::fs::symlink("/nowhere", dir.path().join("link")).unwrap();
        for path in [file.clone(), file.join("below"), dir.path().join("link")] {
            let text = examine(&path).unwrap_err().to_string();
            assert!(text.starts_with(&format!("{} is not a directory", path.display())), "{text}");
        }
    }

    #[test]
    fn what_is_there_is_named_and_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a", "b", "c", "d"] {
            fs::write(dir.path().join(name), "precious").unwrap();
        }
        let text = examine(dir.path()).unwrap_err().to_string();
        assert!(text.contains("is not empty (it holds a, b, c and 1 more)"), "{text}");
        assert!(text.ends_with("/kvdyno"), "{text}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 4);
    }

    #[test]
    fn too_little_space_is_said_in_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let needed = u64::MAX / 2;
        let error = DataDirectory::examine(&Root::system(), dir.path(), needed, None).unwrap_err();
        assert!(
            matches!(error, DataDirError::TooSmall { needed_bytes, .. } if needed_bytes == needed)
        );
        assert!(error.to_string().contains("the run needs 8.00 EiB"), "{error}");
    }

    #[test]
    fn memory_is_a_place_with_a_warning() {
        let shm = Path::new("/dev/shm");
        let new = shm.join(format!("kvdyno-test-{}", std::process::id()));
        if !shm.is_dir() || examine(&new).is_err() {
            super::super::testing::report_skip(
                "shm",
                "memory_is_a_place_with_a_warning",
                "no /dev/shm",
            );
            return;
        }
        let directory = examine(&new).unwrap();
        assert_eq!(directory.volume.kind(), "tmpfs");
        assert_eq!(directory.warnings.len(), 1);
        assert_eq!(directory.warnings[0].id, "filesystem");
        assert!(directory.volume.device.is_err());
        let claim = crate::DataDirLock::acquire(&directory, "r1").unwrap();
        assert!(claim.warnings()[0].contains("is on tmpfs at /dev/shm"), "{:?}", claim.warnings());
        claim.release().unwrap();
        assert!(!directory.path.exists());
    }

    #[test]
    fn what_the_kernel_makes_up_is_no_place() {
        for path in ["/proc", "/proc/kvdyno", "/sys/kvdyno"] {
            let text = examine(Path::new(path)).unwrap_err().to_string();
            assert!(text.starts_with(path) && text.contains("stores no files"), "{text}");
        }
    }

    #[test]
    fn a_user_is_named_by_numbers() {
        let user = user();
        let (uid, gid) = user.split_once(':').unwrap();
        assert!(uid.parse::<u32>().is_ok() && gid.parse::<u32>().is_ok(), "{user}");
    }

    #[test]
    fn nobody_cannot_write_everywhere() {
        if is_nobody() {
            let error = examine(Path::new("/etc/kvdyno/data")).unwrap_err();
            let text = error.to_string();
            assert!(matches!(error, DataDirError::NotWritable { .. }), "{text}");
            assert!(text.contains(&format!("chown {} /etc", user())), "{text}");
        } else {
            again_as_nobody("data_directory::tests::nobody_cannot_write_everywhere");
        }
    }
}
