//! A state in the making: a directory with a temporary name, locked while its maker lives.

use super::layout::{DATABASE, KEYS, MAKING, RECORD, USED, temporary_name};
use super::lock::DirLock;
use super::seal::GoOn;
use super::{StateError, seal, space_bytes};
use crate::{cache, copy};
use kvdyno_record::case::Copying;
use kvdyno_record::state::{StateDescription, StateRecord};
use std::fs::{self, DirBuilder, File};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// A state in the making. If it is dropped before it has its name, it is removed, and a database
/// that was moved into it is moved back. After a kill the next [`States::open`] removes it.
///
/// [`States::open`]: super::States::open
#[derive(Debug)]
pub struct Making {
    path: PathBuf,
    /// The lock on the directory itself, which remains when the directory is renamed.
    lock: Option<DirLock>,
    /// Where the database was, if it was renamed and not copied.
    moved_from: Option<PathBuf>,
}

impl Making {
    /// Begins a state in a store's directory, which the caller has locked: nobody sees the new
    /// directory unlocked.
    pub(super) fn begin(dir: &Path, id: &str) -> Result<Self, StateError> {
        let path = loop {
            let path = dir.join(temporary_name(MAKING, id));
            match fs::create_dir(&path) {
                Ok(()) => break path,
                // A dead process had our pid.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(StateError::io("make", &path)(error)),
            }
        };
        let mut making = Self { path, lock: None, moved_from: None };
        let lock = DirLock::open(&making.path).and_then(|lock| {
            lock.try_exclusive()?;
            Ok(lock)
        });
        let lock = lock.map_err(StateError::io("lock", &making.path))?;
        making.lock = Some(lock);
        Ok(making)
    }

    /// Returns the path of the database, which does not exist yet.
    pub fn database(&self) -> PathBuf {
        self.path.join(DATABASE)
    }

    /// Returns the path of the list of keys, which does not exist yet.
    pub fn keys(&self) -> PathBuf {
        self.path.join(KEYS)
    }

    /// Copies a list of keys into the state.
    pub(super) fn add_keys(&self, from: &Path) -> Result<(), StateError> {
        let copied = fs::copy(from, self.keys());
        copied.map(drop).map_err(StateError::io("copy", from))
    }

    /// Moves a finished database into the state, or copies it from another filesystem. Then seals
    /// it, writes its record and syncs everything to the device.
    pub(super) fn fill(
        &mut self,
        from: &Path,
        description: StateDescription,
        go_on: GoOn,
    ) -> Result<StateRecord, StateError> {
        let database = self.database();
        let mut bytes_copied = 0;
        match fs::rename(from, &database) {
            Ok(()) => {
                self.moved_from = Some(from.to_owned());
                seal::remove_special(&database)?;
                self.sync()?;
            }
            // The database lies on another filesystem, or is the root of one.
            Err(error)
                if [ErrorKind::CrossesDevices, ErrorKind::ResourceBusy].contains(&error.kind()) =>
            {
                let mode = fs::metadata(from).map_err(StateError::io("look at", from))?;
                let mode = mode.permissions().mode();
                let created = DirBuilder::new().mode(mode).create(&database);
                created.map_err(StateError::io("make", &database))?;
                copy::database(from, &database, Copying::Copy, &mut |bytes| {
                    bytes_copied = bytes;
                    go_on(bytes)
                })?;
            }
            Err(error) => return Err(StateError::io("rename", from)(error)),
        }
        let seal = seal::seal(&database, &mut |bytes| go_on(bytes_copied + bytes))?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let record = StateRecord {
            format: kvdyno_record::FORMAT.to_owned(),
            made_unix_ns: now.as_nanos() as u64,
            bytes: space_bytes(&database).map_err(StateError::io("measure", &database))?,
            description,
            seal,
        };
        record
            .write(&self.path.join(RECORD))
            .map_err(StateError::record(&record.description.id))?;
        let used = self.path.join(USED);
        // The time is set explicitly, because the kernel's own is that of its last tick.
        let marked = File::create(&used).and_then(|file| file.set_modified(SystemTime::now()));
        marked.map_err(StateError::io("make", &used))?;
        self.sync()?;
        Ok(record)
    }

    fn sync(&self) -> Result<(), StateError> {
        cache::sync_volume(&self.path).map_err(StateError::io("sync", &self.path))?;
        Ok(())
    }

    /// Gives the state its name in the store's directory, which the caller has locked, and where
    /// nothing has that name. Returns the state's lock, which is now shared.
    pub(super) fn rename(mut self, path: &Path, store: &DirLock) -> Result<DirLock, StateError> {
        fs::rename(&self.path, path).map_err(StateError::io("rename", &self.path))?;
        let synced = store.sync();
        let lock = synced.and_then(|()| self.lock.take().ok_or(ErrorKind::NotFound.into()));
        let lock = lock.map_err(|error| {
            let _ = fs::rename(path, &self.path);
            StateError::io("sync", path)(error)
        })?;
        // The state may be unlocked for a moment, which only a holder of the store's lock would
        // see.
        lock.try_shared().map_err(StateError::io("lock", path))?;
        Ok(lock)
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        if self.lock.is_none() {
            // The state has its name, or has not begun and is empty.
            let _ = fs::remove_dir(&self.path);
            return;
        }
        if let Some(from) = &self.moved_from
            && fs::rename(self.database(), from).is_err()
        {
            return;
        }
        let _ = fs::remove_dir_all(&self.path);
    }
}
