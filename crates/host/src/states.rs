//! The store of databases that are made once and kept for later runs, each in a directory of its
//! own:
//!
//! ```text
//! <id>/database/   the files of the database
//!      state.json  kvdyno_record::state::StateRecord
//!      used        modified at each use
//! making-<pid>-<number>-<id>/     not whole yet
//! removing-<pid>-<number>-<id>/   not whole any more
//! ```
//!
//! A state has its name only while it is whole: names are given and taken by rename, under a lock
//! (flock(2)) on the store's directory that is held for a moment. A user of a state holds a shared
//! lock on its directory; its maker or remover holds an exclusive one, which ends with its process.
//! Which state a run needs, and what it does with it, is decided elsewhere.

mod error;
mod layout;
mod lock;
mod making;
mod seal;
#[cfg(test)]
mod tests;

pub use error::StateError;
pub use making::Making;

use super::size;
use kvdyno_record::state::{StateDescription, StateRecord};
use kvdyno_record::units;
use layout::{DATABASE, KEYS, RECORD, REMOVING, USED};
use lock::DirLock;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The name of the store in a data directory, which may hold it beside a run's databases.
pub const STORE: &str = "kvdyno-states";

/// A store of states.
#[derive(Clone, Debug)]
pub struct States {
    dir: PathBuf,
}

/// A state that nobody removes while this value lives.
#[derive(Debug)]
pub struct StoredState {
    record: StateRecord,
    database: PathBuf,
    _lock: DirLock,
}

impl StoredState {
    /// Returns the state's record.
    pub fn record(&self) -> &StateRecord {
        &self.record
    }

    /// The directory of its files, absolute. They are for reading and copying: any change breaks
    /// the seal.
    pub fn database(&self) -> &Path {
        &self.database
    }

    /// Returns the path of the state's list of keys, which exists if the state is a copy of
    /// somebody's database.
    pub fn keys(&self) -> PathBuf {
        self.database.with_file_name(KEYS)
    }

    fn check_unchanged(&self) -> Result<(), StateError> {
        seal::check_unchanged(&self.record.description.id, &self.database, &self.record.seal)
    }
}

/// A state in a list.
#[derive(Clone, Debug)]
pub struct StateSummary {
    /// Its id.
    pub id: String,
    /// Its record, or why it cannot be used.
    pub record: Result<StateRecord, String>,
    /// The time of its last use.
    pub last_use: SystemTime,
    /// Space that its files take on the volume.
    pub bytes: u64,
    /// Whether a run or a command uses it now.
    pub in_use: bool,
}

impl StateSummary {
    /// Returns whether the state may be removed to make room. The files in a broken state may be
    /// somebody's, and a copy of somebody's database is needed by its runs: both are removed only
    /// by name.
    fn is_removable(&self) -> bool {
        let is_made = |record: &StateRecord| record.description.sample.is_none();
        self.record.as_ref().is_ok_and(is_made) && !self.in_use
    }
}

impl States {
    /// Opens a store, makes its directory where it is missing, and removes what killed processes
    /// left in it. A directory that holds anything else is refused and left alone.
    pub fn open(dir: &Path) -> Result<Self, StateError> {
        let dir = std::path::absolute(dir).map_err(StateError::io("look at", dir))?;
        match fs::create_dir(&dir) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let parent = dir.parent().unwrap_or(&dir).to_owned();
                return Err(StateError::NoParent { parent });
            }
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(StateError::io("make", &dir)(error));
            }
            _ if dir.is_dir() => {}
            _ => return Err(StateError::NotADirectory { dir }),
        }
        let states = Self { dir };
        states.remove_leftovers()?;
        Ok(states)
    }

    /// Opens a store as [`States::open`] does, and makes missing directories above it.
    pub fn create(dir: &Path) -> Result<Self, StateError> {
        if let Some(parent) = dir.parent() {
            fs::create_dir_all(parent).map_err(StateError::io("make", parent))?;
        }
        Self::open(dir)
    }

    /// Returns the store's directory, absolute.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Locks the store. The lock is held for a moment, while directories get their names and locks.
    /// Threads exclude each other, too, as each opens the directory anew.
    fn lock(&self) -> Result<DirLock, StateError> {
        DirLock::wait(&self.dir).map_err(StateError::io("lock", &self.dir))
    }

    /// Removes temporaries that no living process has locked.
    fn remove_leftovers(&self) -> Result<(), StateError> {
        let mut leftovers = Vec::new();
        let store = self.lock()?;
        for path in layout::list(&self.dir)?.temporaries {
            if let Ok(lock) = DirLock::open(&path)
                && lock.try_exclusive().is_ok_and(|locked| locked)
            {
                leftovers.push((path, lock));
            }
        }
        drop(store);
        for (path, _lock) in leftovers {
            remove_dir(&path).or_else(unless_not_permitted("remove", &path))?;
        }
        Ok(())
    }

    /// Returns the state of an id, if there is one. Fails if its files do not have the names,
    /// lengths and times that were sealed. Counts as a use.
    pub fn find(&self, id: &str) -> Result<Option<StoredState>, StateError> {
        let store = self.lock()?;
        let Some(state) = self.acquire(id)? else { return Ok(None) };
        drop(store);
        state.check_unchanged()?;
        self.mark_used(id)?;
        Ok(Some(state))
    }

    /// Locks and returns the state of an id, if there is one. The caller has locked the store.
    fn acquire(&self, id: &str) -> Result<Option<StoredState>, StateError> {
        let path = self.path(id)?;
        let lock = match DirLock::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            lock => lock.map_err(StateError::io("open", &path))?,
        };
        if !lock.try_shared().map_err(StateError::io("lock", &path))? {
            return Err(StateError::InUse { id: id.to_owned(), path });
        }
        let record = read_record(&path, id)?;
        Ok(Some(StoredState { record, database: path.join(DATABASE), _lock: lock }))
    }

    /// Returns the directory of an id. An id that came from elsewhere must not lead out of the
    /// store.
    fn path(&self, id: &str) -> Result<PathBuf, StateError> {
        if layout::is_id(id) {
            Ok(self.dir.join(id))
        } else {
            Err(StateError::Id { id: id.to_owned() })
        }
    }

    fn mark_used(&self, id: &str) -> Result<(), StateError> {
        let path = self.path(id)?.join(USED);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).custom_flags(libc::O_NOFOLLOW);
        let marked = options.open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        marked.or_else(unless_not_permitted("set the time of", &path))
    }

    /// Begins a state: its maker may put the database and the list of keys into the new directory.
    pub fn begin(&self, id: &str) -> Result<Making, StateError> {
        self.path(id)?;
        let _store = self.lock()?;
        Making::begin(&self.dir, id)
    }

    /// Keeps a finished database, whose engine is closed. It is renamed into the store; one on
    /// another filesystem is copied, and stays. If another process has kept the same id first, or
    /// an error is returned, the directory stays, too. A list of keys is copied. `go_on` gets the
    /// number of bytes copied and read, and false stops it.
    pub fn keep(
        &self,
        description: StateDescription,
        database: &Path,
        keys: Option<&Path>,
        go_on: &mut dyn FnMut(u64) -> bool,
    ) -> Result<StoredState, StateError> {
        let id = description.id.clone();
        if let Some(state) = self.find(&id)? {
            return Ok(state);
        }
        seal::check_keepable(database)?;
        let mut making = self.begin(&id)?;
        if let Some(keys) = keys {
            making.add_keys(keys)?;
        }
        let record = making.fill(database, description, go_on)?;
        let store = self.lock()?;
        if let Some(first) = self.acquire(&id)? {
            drop(store);
            first.check_unchanged()?;
            return Ok(first);
        }
        let path = self.path(&id)?;
        let lock = making.rename(&path, &store)?;
        Ok(StoredState { record, database: path.join(DATABASE), _lock: lock })
    }

    /// Reads all files of a state and compares them with its seal. `go_on` gets the number of bytes
    /// read, and false stops it.
    pub fn check(
        &self,
        id: &str,
        go_on: &mut dyn FnMut(u64) -> bool,
    ) -> Result<StateRecord, StateError> {
        let store = self.lock()?;
        let state = self.acquire(id)?.ok_or_else(|| self.unknown(id))?;
        drop(store);
        state.check_unchanged()?;
        seal::check_contents(id, &state.database, &state.record.seal, go_on)?;
        Ok(state.record)
    }

    fn unknown(&self, id: &str) -> StateError {
        StateError::Unknown { id: id.to_owned(), path: self.dir.join(id) }
    }

    /// All states, the one that was used last first; broken ones with the reason.
    pub fn list(&self) -> Result<Vec<StateSummary>, StateError> {
        let mut states = Vec::new();
        let store = self.lock()?;
        let contents = layout::list(&self.dir)?;
        drop(store);
        for id in contents.ids {
            states.extend(self.summary(id)?);
        }
        states.sort_by_key(|state| std::cmp::Reverse(state.last_use));
        Ok(states)
    }

    /// Returns the summary of a state; `None`: it was removed meanwhile.
    fn summary(&self, id: String) -> Result<Option<StateSummary>, StateError> {
        let path = self.dir.join(&id);
        let in_use = self.is_in_use(&path)?;
        let database = path.join(DATABASE);
        let record = read_record(&path, &id).and_then(|record| {
            seal::check_unchanged(&id, &database, &record.seal)?;
            Ok(record)
        });
        let bytes = match &record {
            Ok(record) => record.bytes,
            Err(_) => space_bytes(&path).unwrap_or(0),
        };
        let record = record.map_err(|error| error.to_string());
        let modified = |path: &Path| fs::symlink_metadata(path).and_then(|stat| stat.modified());
        let Ok(made_at) = modified(&path) else { return Ok(None) };
        let last_use = modified(&path.join(USED)).unwrap_or(made_at);
        Ok(Some(StateSummary { id, record, last_use, bytes, in_use }))
    }

    /// Returns whether a state is locked. Tries its lock under the store's, so that nobody takes
    /// this for a use.
    fn is_in_use(&self, path: &Path) -> Result<bool, StateError> {
        let _store = self.lock()?;
        let Ok(dir) = DirLock::open(path) else { return Ok(false) };
        dir.try_exclusive().map(|locked| !locked).map_err(StateError::io("lock", path))
    }

    /// Removes a state, broken or not; one that is in use is an error.
    pub fn remove(&self, id: &str) -> Result<(), StateError> {
        let path = self.path(id)?;
        let store = self.lock()?;
        let lock = match DirLock::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(self.unknown(id)),
            lock => lock.map_err(StateError::io("open", &path))?,
        };
        let foreign = layout::foreign_entry(&path, id).map_err(StateError::io("list", &path))?;
        if let Some(entry) = foreign {
            return Err(StateError::Foreign { dir: self.dir.clone(), entry });
        }
        if !lock.try_exclusive().map_err(StateError::io("lock", &path))? {
            return Err(StateError::InUse { id: id.to_owned(), path });
        }
        let leftover = self.dir.join(layout::temporary_name(REMOVING, id));
        fs::rename(&path, &leftover).map_err(StateError::io("rename", &path))?;
        drop(store);
        remove_dir(&leftover).map_err(StateError::io("remove", &leftover))
    }

    /// Removes states until the remaining ones and one more of this size are within the budget, and
    /// returns the removed ones. Begins with the longest unused, and leaves those in use, broken
    /// ones and copies of somebody's database. If removing all others would not be enough, none is
    /// removed.
    pub fn make_room(&self, bytes: u64, budget: u64) -> Result<Vec<StateSummary>, StateError> {
        let mut states = self.list()?;
        let mut stored_bytes: u64 = states.iter().map(|state| state.bytes).sum();
        let mut not_removable: Vec<StateSummary> =
            states.iter().filter(|state| !state.is_removable()).cloned().collect();
        let mut removed = Vec::new();
        loop {
            let needed: u64 = not_removable.iter().map(|state| state.bytes).sum();
            if needed.saturating_add(bytes) > budget {
                return Err(self.no_room(bytes, budget, &not_removable));
            }
            if stored_bytes.saturating_add(bytes) <= budget {
                return Ok(removed);
            }
            let Some(state) = states.pop() else { return Ok(removed) };
            if !state.is_removable() {
                continue;
            }
            match self.remove(&state.id) {
                Ok(()) => {
                    stored_bytes -= state.bytes;
                    removed.push(state);
                }
                // Another process removed it, or uses it, since it was listed.
                Err(StateError::Unknown { .. }) => stored_bytes -= state.bytes,
                Err(StateError::InUse { .. }) => {
                    not_removable.push(StateSummary { in_use: true, ..state });
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn no_room(&self, wanted: u64, budget: u64, not_removable: &[StateSummary]) -> StateError {
        let words = |state: &StateSummary| {
            let reason = match (state.in_use, &state.record) {
                (true, _) => "in use",
                (false, Ok(_)) => "a copy of a database of your own",
                (false, Err(_)) => "broken",
            };
            format!("{} with {}: {reason}", state.id, units::bytes(state.bytes))
        };
        let held = not_removable.iter().map(|state| state.bytes).sum();
        let kept: Vec<String> = not_removable.iter().map(words).collect();
        let kept = if kept.is_empty() { "no state".to_owned() } else { kept.join(", ") };
        StateError::NoRoom { dir: self.dir.clone(), wanted, budget, held, kept }
    }
}

fn read_record(state: &Path, id: &str) -> Result<StateRecord, StateError> {
    let path = state.join(RECORD);
    let record = StateRecord::read(&path).map_err(StateError::record(id))?;
    if record.description.id == id {
        return Ok(record);
    }
    let (expected, actual) = (format!("the id {id}"), record.description.id);
    Err(StateError::Changed { id: id.to_owned(), path, expected, actual })
}

/// Space that files take on their volume, blocks that are set aside included.
fn space_bytes(path: &Path) -> io::Result<u64> {
    size::measure(path).map(|size| size.used_bytes + size.reserved_bytes)
}

/// Removes a directory, if it exists. Symbolic links inside are removed, not followed.
fn remove_dir(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Returns a function that ignores an error of permission: a store of another user can be read
/// without being written to.
fn unless_not_permitted(
    act: &'static str,
    path: &Path,
) -> impl FnOnce(io::Error) -> Result<(), StateError> {
    let path = path.to_owned();
    move |error| match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Ok(()),
        _ => Err(StateError::io(act, &path)(error)),
    }
}
