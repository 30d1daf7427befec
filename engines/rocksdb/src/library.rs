//! The one `RocksDB` library of this process: chosen, loaded, and refused where it will not do.

#![expect(unsafe_code, reason = "loading a library runs its code")]

use crate::api::{Api, TransactionApi};
use crate::facts::{self, Facts};
use kvdyno_engine::{Error, ErrorClass, Result, library};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The engine's name, and its folder among the libraries.
const ENGINE: &str = "rocksdb";

/// What to do where there is none that will do.
const REMEDY: &str = "`kvdyno engines get rocksdb` fetches the newest release";

/// A loaded library. Never unloaded: its threads and its thread-local variables outlive any use.
pub(crate) struct RocksLibrary {
    pub(crate) api: Api,
    /// None: it is too old for them.
    pub(crate) transactions: Option<TransactionApi>,
    path: PathBuf,
    library: libloading::Library,
    facts: OnceLock<Facts>,
}

/// Two `RocksDB`s in one process would have their symbols, and their thread pools, mixed up.
static LOADED: OnceLock<Result<RocksLibrary>> = OnceLock::new();

/// Loads the library at `path`, or the newest installed.
pub(crate) fn load(path: Option<&Path>) -> Result<&'static RocksLibrary> {
    let loaded = LOADED.get_or_init(|| open(path)).as_ref().map_err(Clone::clone)?;
    match path.map(Path::canonicalize) {
        Some(Ok(other)) if other != loaded.path => Err(Error::invalid(format!(
            "library {} is loaded: a process loads one RocksDB; {} needs another process",
            loaded.path.display(),
            other.display()
        ))),
        _ => Ok(loaded),
    }
}

impl RocksLibrary {
    /// What it is, found out once.
    pub(crate) fn facts(&self) -> &Facts {
        self.facts.get_or_init(|| facts::read_facts(&self.library, &self.path, &self.api))
    }
}

fn open(path: Option<&Path>) -> Result<RocksLibrary> {
    let path = match path {
        Some(path) => path.canonicalize().map_err(|error| {
            refused(path, &format!("{error}; name a librocksdb.so, or remove `library`"))
        })?,
        None => newest()?,
    };
    // SAFETY: its initialisers run; it is RocksDB, or a file that the user named as such. All its
    // symbols are bound now: none while an operation is timed.
    let library: libloading::Library = unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_LOCAL) }
        .map_err(|error| refused(&path, &format!("{error}; {REMEDY}")))?
        .into();
    let api = Api::load(&library).map_err(|missing| {
        let version = facts::version(&library, &path).unwrap_or_else(|| "unknown".to_owned());
        let what = format!(
            "version {version} has no function `{missing}`; expected RocksDB 6.29 or later: \
             {REMEDY}"
        );
        refused(&path, &what)
    })?;
    let transactions = TransactionApi::load(&library).ok();
    Ok(RocksLibrary { api, transactions, path, library, facts: OnceLock::new() })
}

fn newest() -> Result<PathBuf> {
    let newest = library::installed(ENGINE).into_iter().next().ok_or_else(|| {
        let what = format!(
            "no library of RocksDB is installed in {} or next to the program: {REMEDY}, \
             `make rocksdb-native` builds it from source, and `library` in a suite names your own",
            library::store().display()
        );
        Error::new(ErrorClass::Unavailable, what)
    })?;
    Ok(newest.path.canonicalize()?)
}

fn refused(path: &Path, what: &str) -> Error {
    Error::invalid(format!("library {}: {what}", path.display()))
}
