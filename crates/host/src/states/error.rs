//! Why a kept database cannot be used, made or removed, and what to do.

use crate::copy::CopyError;
use crate::data_directory::shell_path;
use kvdyno_record::files::RecordError;
use kvdyno_record::units;
use std::io;
use std::path::{Path, PathBuf};

/// Why a kept database cannot be used, made or removed, and what to do.
#[expect(missing_docs, reason = "the texts say what their fields are")]
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The user interrupted it.
    #[error("interrupted while the files of a database were read")]
    Interrupted,
    /// The name of a state is the name of a directory, and must not lead elsewhere.
    #[error(
        "expected 16 to 128 lower-case hexadecimal digits as the id of a state, found `{id}`; \
        `kvdyno state list` lists the states that are there"
    )]
    Id { id: String },
    /// The parent of the store's directory is missing.
    #[error("expected a directory for states, found that {} does not exist; make it: mkdir -p {}",
        parent.display(), shell_path(parent))]
    NoParent { parent: PathBuf },
    /// A file, or a link to nowhere.
    #[error("expected a directory for states, found that {} is not one; use another \
        `--runs DIR` or `--data-dir DIR`", dir.display())]
    NotADirectory { dir: PathBuf },
    /// The store's directory contains something that is not the store's.
    #[error("expected only states in {}, found {}, which kvdyno did not make; move it away, or \
        use another `--runs DIR` or `--data-dir DIR`", dir.display(), entry.display())]
    Foreign { dir: PathBuf, entry: PathBuf },
    /// No such state.
    #[error("expected the state {id}, found no directory {}; `kvdyno state list` lists the states \
        that are there", path.display())]
    Unknown { id: String, path: PathBuf },
    /// A file differs from what it was when it was sealed.
    #[error("{}: expected {expected}, found {actual}; the state was changed after it was made: \
        remove it (`kvdyno state remove {id}`), and the next run that needs it makes it anew",
        path.display())]
    Changed { id: String, path: PathBuf, expected: String, actual: String },
    /// The record cannot be read.
    #[error(
        "{source}; expected the record of a state: remove it (`kvdyno state remove {id}`), \
        and the next run that needs it makes it anew"
    )]
    Record { id: String, source: RecordError },
    /// Written by a newer program.
    #[error(transparent)]
    Newer(RecordError),
    /// Another process writes to a database that was to be kept.
    #[error("{}: expected a database that nobody writes to, found that the file changed while it \
        was read; close the engine before its database is kept", path.display())]
    BeingWritten { path: PathBuf },
    /// The database contains something that cannot be kept.
    #[error("{}: expected {expected}, found {actual}; a database is kept only where all of it is \
        in its own directory", path.display())]
    NotKeepable { path: PathBuf, expected: &'static str, actual: String },
    /// Another process uses the state.
    #[error("{} is in use by another run or command; wait for its end, then remove it: \
        `kvdyno state remove {id}`", path.display())]
    InUse { id: String, path: PathBuf },
    /// The budget is too small for what must be kept.
    #[error("expected {} for one more state in {}, within a budget of {}; found {} that cannot be \
        removed ({kept}); allow more space (`--states SIZE`), or remove states by \
        `kvdyno state remove`", units::bytes(*wanted), dir.display(), units::bytes(*budget),
        units::bytes(*held))]
    NoRoom { dir: PathBuf, wanted: u64, budget: u64, held: u64, kept: String },
    /// The copy failed.
    #[error(
        "{0}; expected a database that can be copied to the volume of its state: make room \
        there, or use `--data-dir` on the database's volume"
    )]
    Copy(#[source] CopyError),
    /// Anything else.
    #[error("failed to {act} {}: {source}; expected a directory that this user may read and write, \
        with enough space, on a filesystem with locks (flock)", path.display())]
    Io { act: &'static str, path: PathBuf, source: io::Error },
}

impl StateError {
    pub(super) fn io(act: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { act, path, source }
    }

    pub(super) fn record(id: &str) -> impl FnOnce(RecordError) -> Self {
        let id = id.to_owned();
        move |source| match source {
            RecordError::Newer { .. } => Self::Newer(source),
            RecordError::Io { path, source } if source.kind() != io::ErrorKind::NotFound => {
                Self::Io { act: "read or write", path, source }
            }
            _ => Self::Record { id, source },
        }
    }
}

impl From<CopyError> for StateError {
    fn from(error: CopyError) -> Self {
        match error {
            CopyError::Interrupted => Self::Interrupted,
            error @ CopyError::Io { .. } => Self::Copy(error),
        }
    }
}
