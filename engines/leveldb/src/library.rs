//! The one library of this process: `LevelDB` with kvdyno's shim around it.

#![expect(unsafe_code, reason = "calls of the library")]

use crate::api::Api;
use kvdyno_engine::Result;
use kvdyno_engine::library::{self, dynamic::LibrarySpec};
use memchr::memmem;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The value of `kvdyno_leveldb_shim` for the functions of `api.rs`.
const SHIM: c_int = 2;

const SPEC: LibrarySpec = LibrarySpec {
    engine: "leveldb",
    title: "LevelDB",
    remedy: "`kvdyno engines get leveldb` makes one of the system's package, `kvdyno engines build \
             leveldb --prefix DIR` of a build of yours",
};

/// A loaded library. Never unloaded: its thread outlives any use.
pub(crate) struct LevelDbLibrary {
    pub(crate) api: Api,
    pub(crate) version: String,
    pub(crate) build: BTreeMap<String, String>,
    path: PathBuf,
}

static LOADED: OnceLock<Result<LevelDbLibrary>> = OnceLock::new();

/// Loads the library at `path`, or the newest installed.
pub(crate) fn load(path: Option<&Path>) -> Result<&'static LevelDbLibrary> {
    let loaded = LOADED.get_or_init(|| open(path)).as_ref().map_err(Clone::clone)?;
    library::check_only(SPEC.title, &loaded.path, path).map(|()| loaded)
}

fn open(path: Option<&Path>) -> Result<LevelDbLibrary> {
    let (path, api) = SPEC.open_shim(path, SHIM, Api::load)?;
    let (mut major, mut minor) = (0, 0);
    // SAFETY: the places are of the type that is written there.
    unsafe { (api.version)(&raw mut major, &raw mut minor) };
    let assertions = assertions(&library::mapped(&path, "libleveldb")).to_owned();
    let build = library::build_facts(&path, "library", [("assertions", assertions)]);
    Ok(LevelDbLibrary { api, version: format!("{major}.{minor}"), build, path })
}

/// A library with assertions is slower and must be reported: Debian's has them. `assert` stores the
/// names of functions that use it; otherwise this name appears nowhere.
fn assertions(files: &[Vec<u8>]) -> &'static str {
    let any = |word: &str| files.iter().any(|file| memmem::find(file, word.as_bytes()).is_some());
    if any("void leveldb::DBImpl::") {
        "on: figures are not LevelDB's"
    } else if any("_ZN7leveldb6DBImpl") || any("leveldb.stats") {
        "off"
    } else {
        "unknown: cannot read its file"
    }
}

#[cfg(test)]
mod tests {
    use super::assertions;

    #[test]
    fn assertions_are_seen_in_the_file() {
        let debian = b"leveldb.stats\0void leveldb::DBImpl::CleanupCompaction(CompactionState*)\0";
        assert!(assertions(&[debian.to_vec()]).starts_with("on"));
        assert_eq!(assertions(&[b"the shim".to_vec(), b"\0leveldb.stats\0".to_vec()]), "off");
        assert!(assertions(&[]).starts_with("unknown"));
    }
}
