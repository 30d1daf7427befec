//! The lock of a run on its data directory, which is restored at the end.
//!
//! Its release removes only what was created through it: databases by the directory names in its
//! ledger, and other directories only when they are empty.

use super::Root;
use super::data_directory::{
    DataDirError, DataDirectory, check_contents, in_use_error, missing_directories, unreadable_lock,
};
use super::ledger::{Entry, Lock, NAME, is_dir_name};
use super::raw::{Consent, Raw};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A claimed directory or device. Dropping it removes the databases, the lock and the directories
/// that were made for it.
#[derive(Debug)]
pub struct DataDirLock {
    path: PathBuf,
    held: LockedTarget,
    directories: Vec<PathBuf>,
    databases: BTreeSet<String>,
    warnings: Vec<String>,
    released: bool,
}

/// The target of the lock.
#[derive(Debug)]
enum LockedTarget {
    /// A lock and a ledger in the directory.
    Dir(Lock),
    /// The device, which is its own database: there is one at a time, and nothing to remove.
    Device(Raw),
}

impl DataDirLock {
    /// Takes a block device for one run, which may make filesystems with this label on it.
    pub fn device(
        root: &Root,
        path: &Path,
        consent: &Consent,
        label: Option<&str>,
    ) -> Result<Self, DataDirError> {
        let raw = Raw::acquire(root, path, consent, label)?;
        Ok(Self::with(raw.path.clone(), LockedTarget::Device(raw)))
    }

    fn with(path: PathBuf, held: LockedTarget) -> Self {
        let (directories, databases, warnings) = Default::default();
        Self { path, held, directories, databases, warnings, released: false }
    }

    /// Examines a directory and locks it for one run, in one step.
    pub fn new(root: &Root, directory: &Path, run: &str) -> Result<Self, DataDirError> {
        Self::acquire(&DataDirectory::examine(root, directory, 0, Some(run))?, run)
    }

    /// Makes the directory if it does not exist, and locks it. If its ledger is of the same run,
    /// which is resumed, the old databases are removed: their state after the kill is unknown.
    pub fn acquire(directory: &DataDirectory, run: &str) -> Result<Self, DataDirError> {
        let created_dirs = make_directories(&directory.path)?;
        let acquired = Self::take_existing(&directory.path, run, &created_dirs);
        let mut claim = acquired.inspect_err(|_| remove_directories(&created_dirs))?;
        claim.warnings = directory.warnings_in_words();
        Ok(claim)
    }

    fn take_existing(
        directory: &Path,
        run: &str,
        created_dirs: &[PathBuf],
    ) -> Result<Self, DataDirError> {
        let was_there = directory.join(NAME).exists();
        let lock = Lock::acquire(directory).map_err(DataDirError::io("lock", directory))?;
        let mut lock = lock.ok_or_else(|| in_use_error(directory))?;
        let fresh = check_contents(directory, Some(run));
        let prepared = fresh.and_then(|()| begin(directory, run, created_dirs, &mut lock));
        let directories = prepared.inspect_err(|_| {
            if !was_there {
                let _ = lock.remove();
            }
        })?;
        let mut claim = Self::with(directory.to_owned(), LockedTarget::Dir(lock));
        claim.directories = directories;
        Ok(claim)
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Properties of the directory that distort results, each as a sentence.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Checks before a case that the directory is still free for it: a device is not locked
    /// between two cases.
    pub fn check(&self, root: &Root) -> Result<(), DataDirError> {
        match &self.held {
            LockedTarget::Dir(_) => Ok(()),
            LockedTarget::Device(raw) => Ok(raw.check(root)?),
        }
    }

    /// The path of a database.
    pub fn database_path(&self, id: &str) -> PathBuf {
        match self.held {
            LockedTarget::Dir(_) => self.path.join(id),
            LockedTarget::Device(_) => self.path.clone(),
        }
    }

    /// Returns whether the database was made through this claim and not removed since.
    pub fn has_database(&self, id: &str) -> bool {
        self.databases.contains(id)
    }

    /// Returns the directory of a database: a new one, or the one that this claim made before. A
    /// directory that exists but was not made through this claim is an error.
    pub fn database(&mut self, id: &str) -> Result<PathBuf, DataDirError> {
        let path = self.database_path(id);
        if !is_dir_name(id) {
            let cause = format!("`{id}` is not a directory's name");
            return Err(DataDirError::Database { path, cause });
        }
        if self.has_database(id) {
            return Ok(path);
        }
        if matches!(self.held, LockedTarget::Device(_)) {
            self.databases.insert(id.to_owned());
            return Ok(path);
        }
        if fs::symlink_metadata(&path).is_ok() {
            return Err(DataDirError::Database { path, cause: "it exists already".to_owned() });
        }
        // The ledger's line comes first: a kill in between leaves no directory without a line.
        self.write(&Entry::Database(id.to_owned()))?;
        if let Err(error) = fs::create_dir(&path) {
            // A later file of that name is not ours.
            self.write(&Entry::Removed(id.to_owned()))?;
            return Err(DataDirError::io("make", &path)(error));
        }
        self.databases.insert(id.to_owned());
        Ok(path)
    }

    /// Removes a database that [`DataDirLock::database`] made, if it did.
    pub fn remove_database(&mut self, id: &str) -> Result<(), DataDirError> {
        if !self.has_database(id) {
            return Ok(());
        }
        if matches!(self.held, LockedTarget::Dir(_)) {
            remove_dir(&self.database_path(id))?;
        }
        self.databases.remove(id);
        self.write(&Entry::Removed(id.to_owned()))
    }

    /// Releases the directory and restores its old state.
    pub fn release(mut self) -> Result<(), DataDirError> {
        self.release_now()
    }

    fn release_now(&mut self) -> Result<(), DataDirError> {
        if std::mem::replace(&mut self.released, true) {
            return Ok(());
        }
        for id in self.databases.clone() {
            self.remove_database(&id)?;
        }
        if let LockedTarget::Dir(lock) = &mut self.held {
            lock.remove().map_err(DataDirError::io("remove the lock in", &self.path))?;
        }
        remove_directories(&self.directories);
        Ok(())
    }

    fn write(&mut self, entry: &Entry) -> Result<(), DataDirError> {
        match &mut self.held {
            LockedTarget::Dir(lock) => {
                lock.add(entry).map_err(DataDirError::io("write the lock in", &self.path))
            }
            LockedTarget::Device(_) => Ok(()),
        }
    }
}

impl Drop for DataDirLock {
    fn drop(&mut self) {
        let _ = self.release_now();
    }
}

/// Removes the databases that the same run left, and starts the ledger. Returns the directories to
/// remove at the end, including those that a dead run made: the data directory and those above it.
fn begin(
    data_dir: &Path,
    run: &str,
    created_dirs: &[PathBuf],
    lock: &mut Lock,
) -> Result<Vec<PathBuf>, DataDirError> {
    let ledger = lock.ledger().map_err(unreadable_lock(data_dir))?.unwrap_or_default();
    if ledger.run == run {
        for database in &ledger.databases {
            remove_dir(&data_dir.join(database))?;
        }
    }
    let mut directories = ledger.directories;
    directories.retain(|directory| data_dir.starts_with(directory));
    directories.extend(
        created_dirs.iter().filter(|path| !directories.contains(path)).cloned().collect::<Vec<_>>(),
    );
    let owner = Entry::Owner { pid: std::process::id(), run: run.to_owned() };
    let entries: Vec<Entry> =
        std::iter::once(owner).chain(directories.iter().cloned().map(Entry::Directory)).collect();
    lock.begin(&entries).map_err(DataDirError::io("write the lock in", data_dir))?;
    Ok(directories)
}

fn make_directories(path: &Path) -> Result<Vec<PathBuf>, DataDirError> {
    let mut created_dirs = Vec::new();
    for directory in missing_directories(path).map_err(DataDirError::io("look at", path))? {
        match fs::create_dir(&directory) {
            Ok(()) => created_dirs.push(directory),
            // Another process made it.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                remove_directories(&created_dirs);
                return Err(DataDirError::io("make", &directory)(error));
            }
        }
    }
    Ok(created_dirs)
}

/// Removes directories, the deepest first, as long as they are empty.
fn remove_directories(directories: &[PathBuf]) {
    let mut deepest_first: Vec<&PathBuf> = directories.iter().collect();
    deepest_first.sort_by_key(|path| std::cmp::Reverse(path.components().count()));
    for directory in deepest_first {
        let _ = fs::remove_dir(directory);
    }
}

/// Removes a directory, if it exists. Symbolic links inside are removed, not followed.
fn remove_dir(path: &Path) -> Result<(), DataDirError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(DataDirError::io("remove", path)(error))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(path: &Path, run: &str) -> Result<DataDirLock, DataDirError> {
        DataDirLock::new(&Root::system(), path, run)
    }

    /// The state after the process was killed: the lock is released, nothing is removed.
    fn kill(mut claim: DataDirLock) {
        claim.released = true;
    }

    fn names(path: &Path) -> Vec<String> {
        let entries = fs::read_dir(path).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_released_place_is_as_it_was_found() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/deeper");
        let mut claim = claim(&path, "r1").unwrap();
        let database = claim.database("0001_lmdb").unwrap();
        fs::write(database.join("data.mdb"), "x").unwrap();
        assert_eq!(claim.database("0001_lmdb").unwrap(), database);
        assert_eq!(names(&database), ["data.mdb"], "a database is used by several cases");
        assert_eq!(names(&path), [NAME, "0001_lmdb"]);
        assert!(claim.has_database("0001_lmdb"));
        claim.remove_database("0001_lmdb").unwrap();
        assert_eq!(names(&path), [NAME]);
        claim.database("0002_rocksdb").unwrap();
        claim.release().unwrap();
        assert!(names(dir.path()).is_empty(), "{:?}", names(dir.path()));
    }

    #[test]
    fn a_directory_that_was_there_stays_and_so_does_what_others_put_in() {
        let dir = tempfile::tempdir().unwrap();
        let claimed = claim(dir.path(), "r1").unwrap();
        fs::write(dir.path().join("theirs"), "precious").unwrap();
        drop(claimed);
        assert_eq!(names(dir.path()), ["theirs"]);
        let error = claim(dir.path(), "r2").unwrap_err();
        assert!(matches!(error, DataDirError::NotEmpty { .. }));
        // `drive` and `run` both know the option; only `run` has `--data-dir`.
        let remedy = format!("with --create-data-dir: {}/kvdyno", dir.path().display());
        assert!(error.to_string().ends_with(&remedy), "{error}");
        assert_eq!(names(dir.path()), ["theirs"], "a refused claim leaves no lock");
    }

    #[test]
    fn a_second_run_is_told_who_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let _first = claim(dir.path(), "r1").unwrap();
        for error in [
            claim(dir.path(), "r2").unwrap_err(),
            claim(dir.path(), "r1").unwrap_err(),
            DataDirLock::take_existing(dir.path(), "r3", &[]).unwrap_err(),
        ] {
            let text = error.to_string();
            let who = format!("in use by run r1 (process {})", std::process::id());
            assert!(text.contains(&who), "{text}");
        }
    }

    #[test]
    fn a_place_inside_of_anothers_is_refused_and_nothing_is_made() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("data_dir");
        let first = claim(&path, "r1").unwrap();
        for inside in ["sub", "two/sub"] {
            let text = claim(&path.join(inside), "r2").unwrap_err().to_string();
            assert!(text.contains(&format!("is inside {}", path.display())), "{text}");
            assert!(text.contains("which run r1"), "{text}");
        }
        assert_eq!(names(&path), [NAME], "no directory is left behind");
        claim(&path.join("own"), "r1").unwrap().release().unwrap();
        drop(first);
        claim(&path.join("sub"), "r2").unwrap().release().unwrap();
        assert!(names(dir.path()).is_empty());
    }

    #[test]
    fn a_killed_run_goes_on_and_no_other_takes_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new one");
        let mut first = claim(&path, "r1").unwrap();
        fs::write(first.database("0001_lmdb").unwrap().join("data.mdb"), "x").unwrap();
        kill(first);
        let text = claim(&path, "r2").unwrap_err().to_string();
        assert!(text.contains("databases of run r1, which was killed"), "{text}");
        assert!(text.contains("`kvdyno resume r1`"), "{text}");
        let command = format!("rm -r '{0}/0001_lmdb' '{0}/{NAME}'", path.display());
        assert!(text.ends_with(&command), "{text}");
        assert_eq!(names(&path), [NAME, "0001_lmdb"], "nothing was touched");

        let again = claim(&path, "r1").unwrap();
        assert_eq!(names(&path), [NAME], "its own leftovers are removed");
        again.release().unwrap();
        assert!(names(dir.path()).is_empty(), "and the directory that it had made");
    }

    #[test]
    fn a_run_killed_before_its_first_database_is_in_nobodys_way() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new");
        kill(claim(&path, "r1").unwrap());
        claim(&path, "r2").unwrap().release().unwrap();
        assert!(names(dir.path()).is_empty());
    }

    #[test]
    fn a_killed_run_does_not_make_strangers_files_ours() {
        let dir = tempfile::tempdir().unwrap();
        let mut first = claim(dir.path(), "r1").unwrap();
        first.database("a").unwrap();
        kill(first);
        fs::write(dir.path().join("theirs"), "precious").unwrap();
        assert!(matches!(claim(dir.path(), "r1"), Err(DataDirError::NotEmpty { .. })));
        assert_eq!(names(dir.path()), [NAME, "a", "theirs"]);
    }

    #[test]
    fn a_planted_lock_has_nothing_removed() {
        let dir = tempfile::tempdir().unwrap();
        let (path_of_lock, victim) = (dir.path().join("data_dir"), dir.path().join("victim"));
        for path in [&path_of_lock, &victim] {
            fs::create_dir(path).unwrap();
        }
        let owner = r#"{"owner":{"pid":7,"run":"r1"}}"#;
        fs::write(path_of_lock.join(NAME), format!("{owner}\n{{\"database\":\"../victim\"}}\n"))
            .unwrap();
        for run in ["r1", "r2"] {
            let text = claim(&path_of_lock, run).unwrap_err().to_string();
            assert!(text.contains("is damaged (line 2"), "{text}");
        }
        assert_eq!(names(&path_of_lock), [NAME], "it is left for the user to look at");
        let entry = serde_json::to_string(&Entry::Directory(victim.clone())).unwrap();
        fs::write(path_of_lock.join(NAME), format!("{owner}\n{entry}\n")).unwrap();
        claim(&path_of_lock, "r1").unwrap().release().unwrap();
        assert_eq!(names(dir.path()), ["data_dir", "victim"]);
    }

    #[test]
    fn databases_of_another_run_are_not_removed() {
        let dir = tempfile::tempdir().unwrap();
        let mut lock = Lock::acquire(dir.path()).unwrap().unwrap();
        lock.begin(&[
            Entry::Owner { pid: 7, run: "r1".to_owned() },
            Entry::Database("a".to_owned()),
        ])
        .unwrap();
        fs::create_dir(dir.path().join("a")).unwrap();
        begin(dir.path(), "r2", &[], &mut lock).unwrap();
        assert_eq!(names(dir.path()), [NAME, "a"]);
    }

    #[test]
    fn a_database_that_could_not_be_made_is_not_in_the_ledger() {
        let dir = tempfile::tempdir().unwrap();
        let mut claim = claim(dir.path(), "r1").unwrap();
        assert!(claim.database(&"a".repeat(300)).is_err());
        let LockedTarget::Dir(lock) = &mut claim.held else { panic!("{claim:?}") };
        assert!(lock.ledger().unwrap().unwrap().databases.is_empty());
    }

    #[test]
    fn only_what_was_made_here_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let mut claim = claim(dir.path(), "r1").unwrap();
        fs::create_dir(dir.path().join("theirs")).unwrap();
        claim.remove_database("theirs").unwrap();
        assert!(claim.database("theirs").is_err());
        assert_eq!(names(dir.path()), [NAME, "theirs"]);
        for id in ["", ".", "..", "a/b", "/etc", "lost+found", NAME] {
            assert!(claim.database(id).is_err(), "{id}");
        }
        claim.release().unwrap();
        assert_eq!(names(dir.path()), ["theirs"]);
    }

    #[test]
    fn links_inside_a_database_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let outside = dir.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("precious"), "").unwrap();
        let mut claim = claim(&dir.path().join("data_dir"), "r1").unwrap();
        let database = claim.database("a").unwrap();
        std::os::unix::fs::symlink(&outside, database.join("link")).unwrap();
        claim.remove_database("a").unwrap();
        assert_eq!(names(&outside), ["precious"]);
    }
}
