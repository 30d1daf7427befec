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

/// Dropped before it has its name, it is removed, and the database goes back to where it came from.
#[derive(Debug)]
pub(super) struct Making {
    path: PathBuf,
    /// On the directory itself. It remains when the directory is renamed.
    lock: Option<DirLock>,
    /// Where the database was, if it was renamed and not copied.
    moved_from: Option<PathBuf>,
}

impl Making {
    /// Begins one in a store's directory, which the caller has locked: nobody sees it unlocked.
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

    fn database(&self) -> PathBuf {
        self.path.join(DATABASE)
    }

    /// Gets a list of keys.
    pub(super) fn add_keys(&self, from: &Path) -> Result<(), StateError> {
        let copied = fs::copy(from, self.path.join(KEYS));
        copied.map(drop).map_err(StateError::io("copy", from))
    }

    /// Gets a finished database: renamed, or copied where it lies on another filesystem. Then seals
    /// it, writes its record and brings everything to the device.
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
            // On another filesystem, or the root of one.
            Err(error)
                if [ErrorKind::CrossesDevices, ErrorKind::ResourceBusy].contains(&error.kind()) =>
            {
                let mode = fs::metadata(from).map_err(StateError::io("look at", from))?;
                let mode = mode.permissions().mode();
                let made = DirBuilder::new().mode(mode).create(&database);
                made.map_err(StateError::io("make", &database))?;
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
        // The kernel's own times are those of its last tick.
        let marked = File::create(&used).and_then(|file| file.set_modified(SystemTime::now()));
        marked.map_err(StateError::io("make", &used))?;
        self.sync()?;
        Ok(record)
    }

    fn sync(&self) -> Result<(), StateError> {
        cache::sync_volume(&self.path).map_err(StateError::io("sync", &self.path))?;
        Ok(())
    }

    /// Gives it its name in the store's directory, which the caller has locked, and where nothing
    /// has that name. Returns its lock, which is now shared.
    pub(super) fn rename(mut self, path: &Path, store: &DirLock) -> Result<DirLock, StateError> {
        fs::rename(&self.path, path).map_err(StateError::io("rename", &self.path))?;
        let synced = store.sync();
        let lock = synced.and_then(|()| self.lock.take().ok_or(ErrorKind::NotFound.into()));
        let lock = lock.map_err(|error| {
            let _ = fs::rename(path, &self.path);
            StateError::io("sync", path)(error)
        })?;
        // It may be unlocked for a moment, which only who has the store's lock would see.
        lock.try_shared().map_err(StateError::io("lock", path))?;
        Ok(lock)
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        if self.lock.is_none() {
            // It has its name, or has not begun: then it is empty.
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
