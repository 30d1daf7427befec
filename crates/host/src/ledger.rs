//! The file that locks a data directory and lists what a run created there: `.kvdyno-lock`.
//!
//! The kernel releases its lock (flock(2)) when the run's process ends, however it ends. Its lines
//! remain, so that a resumed run knows what may be removed. Each line is one JSON value, written
//! before the thing that it names is created: a truncated last line names nothing that exists.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The file's name in its data directory.
pub(super) const NAME: &str = ".kvdyno-lock";

/// A line of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Entry {
    /// The process and the run that wrote the lines that follow.
    Owner { pid: u32, run: String },
    /// A directory that did not exist: the data directory, or one above it.
    Directory(PathBuf),
    /// A database's directory in the data directory.
    Database(String),
    /// A database's directory was removed.
    Removed(String),
}

/// The result of all lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ledger {
    pub(super) pid: u32,
    pub(super) run: String,
    pub(super) directories: Vec<PathBuf>,
    pub(super) databases: BTreeSet<String>,
}

impl Ledger {
    /// Reads the ledger of a directory; `None`: there is none. `InvalidData`: it is damaged.
    pub(super) fn read(directory: &Path) -> io::Result<Option<Self>> {
        match fs::read(directory.join(NAME)) {
            Ok(bytes) => Self::parse(&bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Parses a ledger. Things that it names may be removed, so it is accepted only if this program
    /// could have written it. Only the last line may be truncated.
    fn parse(bytes: &[u8]) -> io::Result<Option<Self>> {
        let mut ledger = Self::default();
        for (number, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
            match serde_json::from_slice(line) {
                Ok(Entry::Owner { pid, run }) => (ledger.pid, ledger.run) = (pid, run),
                Ok(Entry::Directory(path)) => ledger.directories.push(path),
                Ok(Entry::Database(id)) if is_dir_name(&id) => _ = ledger.databases.insert(id),
                Ok(Entry::Removed(id)) => _ = ledger.databases.remove(&id),
                Err(_) if !line.ends_with(b"\n") => {}
                Ok(Entry::Database(_)) | Err(_) => {
                    let cause = format!("line {} was not written by kvdyno", number + 1);
                    return Err(io::Error::new(io::ErrorKind::InvalidData, cause));
                }
            }
        }
        Ok((!ledger.run.is_empty()).then_some(ledger))
    }
}

/// Returns whether this is one name, not hidden, that cannot lead out of the data directory.
pub(super) fn is_dir_name(id: &str) -> bool {
    !id.is_empty() && !id.starts_with('.') && !id.contains(['/', '\0']) && id != "lost+found"
}

/// The locked file.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Takes the lock; `None` where a living process has it.
    pub(super) fn acquire(directory: &Path) -> io::Result<Option<Self>> {
        let path = directory.join(NAME);
        loop {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false);
            // If a link were followed, its target would be overwritten.
            let file = options.custom_flags(libc::O_NOFOLLOW).open(&path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
            // The last owner may have removed the file between our open and our lock.
            if fs::metadata(&path).is_ok_and(|current| is_same(&current, &file)) {
                return Ok(Some(Self { file, path }));
            }
        }
    }

    /// Reads the ledger of the last owner, which is dead.
    pub(super) fn ledger(&mut self) -> io::Result<Option<Ledger>> {
        let mut bytes = Vec::new();
        self.file.rewind()?;
        self.file.read_to_end(&mut bytes)?;
        Ledger::parse(&bytes)
    }

    /// Starts a new ledger with these entries.
    pub(super) fn begin(&mut self, entries: &[Entry]) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        entries.iter().try_for_each(|entry| self.add(entry))
    }

    /// Adds a line.
    pub(super) fn add(&mut self, entry: &Entry) -> io::Result<()> {
        let mut line = serde_json::to_vec(entry)?;
        line.push(b'\n');
        self.file.seek(io::SeekFrom::End(0))?;
        self.file.write_all(&line)
    }

    /// Removes the file while it is locked: waiters start over.
    pub(super) fn remove(&self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

/// Returns whether a living process has the lock of a data directory. Does not keep the lock.
pub(super) fn is_held(directory: &Path) -> bool {
    let file = File::open(directory.join(NAME));
    file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

fn is_same(other: &fs::Metadata, file: &File) -> bool {
    file.metadata().is_ok_and(|ours| (ours.dev(), ours.ino()) == (other.dev(), other.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_add_up_and_a_cut_line_ends_them() {
        let text = "{\"owner\":{\"pid\":7,\"run\":\"r\"}}\n{\"directory\":\"/d\"}\n\
             {\"database\":\"a\"}\n{\"database\":\"b\"}\n{\"removed\":\"a\"}\n{\"datab";
        let ledger = Ledger::parse(text.as_bytes()).unwrap().unwrap();
        assert_eq!((ledger.pid, ledger.run.as_str()), (7, "r"));
        assert_eq!(ledger.directories, [Path::new("/d")]);
        assert_eq!(ledger.databases, BTreeSet::from(["b".to_owned()]));
        assert_eq!(Ledger::parse(b"").unwrap(), None);
    }

    #[test]
    fn what_kvdyno_would_not_have_written_is_damage() {
        let owner = "{\"owner\":{\"pid\":7,\"run\":\"r\"}}\n";
        for line in
            ["{\"database\":\"../victim\"}", "{\"database\":\"/etc\"}", "{\"datab\n", "\0\n"]
        {
            let text = format!("{owner}{line}");
            let error = Ledger::parse(text.as_bytes()).unwrap_err();
            assert_eq!(error.to_string(), "line 2 was not written by kvdyno", "{line:?}");
        }
        assert!(Ledger::parse(b"\xff\n").is_err());
    }

    #[test]
    fn a_link_in_place_of_the_lock_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let victim = dir.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        std::os::unix::fs::symlink(&victim, dir.path().join(NAME)).unwrap();
        assert!(Lock::acquire(dir.path()).is_err());
    }

    #[test]
    fn one_lock_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let mut lock = Lock::acquire(dir.path()).unwrap().unwrap();
        lock.begin(&[Entry::Owner { pid: 7, run: "r".to_owned() }]).unwrap();
        lock.add(&Entry::Database("a".to_owned())).unwrap();
        assert!(Lock::acquire(dir.path()).unwrap().is_none());
        assert!(is_held(dir.path()));
        drop(lock);
        assert!(!is_held(dir.path()));
        let mut lock = Lock::acquire(dir.path()).unwrap().unwrap();
        assert_eq!(lock.ledger().unwrap(), Ledger::read(dir.path()).unwrap());
        assert!(lock.ledger().unwrap().unwrap().databases.contains("a"));
        lock.remove().unwrap();
        assert!(Ledger::read(dir.path()).unwrap().is_none());
    }
}
