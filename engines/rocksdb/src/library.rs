//! The one `RocksDB` library of this process: it is chosen, loaded, and refused if it is unusable.

use crate::api::{Api, FamilyApi, TransactionApi, TransactionFamilyApi};
use crate::facts::{self, Facts};
use kvdyno_engine::Result;
use kvdyno_engine::library::{
    self,
    dynamic::{Library, LibrarySpec},
};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const SPEC: LibrarySpec = LibrarySpec {
    engine: "rocksdb",
    title: "RocksDB",
    remedy: "`kvdyno engines get rocksdb` fetches the newest release, `make rocksdb-native` builds \
             it from source, and `library` in a suite names your own",
};

/// A loaded library. Never unloaded: its threads and its thread-local variables outlive any use.
pub(crate) struct RocksLibrary {
    pub(crate) api: Api,
    /// `None`: the library is too old for them.
    pub(crate) transactions: Option<TransactionApi>,
    /// `None`: it can only open databases with the default column family alone.
    pub(crate) families: Option<FamilyApi>,
    pub(crate) transaction_families: Option<TransactionFamilyApi>,
    path: PathBuf,
    library: Library,
    facts: OnceLock<Facts>,
}

/// The loaded library. Two in one process would mix up their symbols and their thread pools.
static LOADED: OnceLock<Result<RocksLibrary>> = OnceLock::new();

/// Loads the library at `path`, or the newest installed.
pub(crate) fn load(path: Option<&Path>) -> Result<&'static RocksLibrary> {
    let loaded = LOADED.get_or_init(|| open(path)).as_ref().map_err(Clone::clone)?;
    library::check_only(SPEC.title, &loaded.path, path).map(|()| loaded)
}

impl RocksLibrary {
    /// Returns the library's facts, which are read once.
    pub(crate) fn facts(&self) -> &Facts {
        self.facts.get_or_init(|| facts::read_facts(&self.library, &self.path, &self.api))
    }
}

fn open(path: Option<&Path>) -> Result<RocksLibrary> {
    let (path, library) = SPEC.open(path)?;
    let api = Api::load(&library).map_err(|missing| {
        let version = facts::version(&library, &path).unwrap_or_else(|| "unknown".to_owned());
        let what = format!(
            "version {version} has no function `{missing}`; expected RocksDB 6.29 or later"
        );
        SPEC.unusable_error(&path, &what)
    })?;
    let transactions = TransactionApi::load(&library).ok();
    let families = FamilyApi::load(&library).ok();
    let transaction_families = TransactionFamilyApi::load(&library).ok();
    let facts = OnceLock::new();
    Ok(RocksLibrary { api, transactions, families, transaction_families, path, library, facts })
}
