//! The one library of this process: `LevelDB` with kvdyno's shim around it.

#![expect(unsafe_code, reason = "loading a library runs its code")]

use crate::api::Api;
use kvdyno_engine::{Error, Result, library};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use memchr::memmem;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The value of `kvdyno_leveldb_shim` for the functions of `api.rs`.
const SHIM: c_int = 2;

/// What to do where there is none that will do.
const REMEDY: &str = "`kvdyno engines get leveldb` makes one of the system's package, `kvdyno \
                      engines build leveldb --prefix DIR` of a build of yours";

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
    library::check_only("LevelDB", &loaded.path, path).map(|()| loaded)
}

fn open(path: Option<&Path>) -> Result<LevelDbLibrary> {
    let path = library::chosen("leveldb", "LevelDB", path, REMEDY)?;
    let refused =
        |what: String| Error::invalid(format!("library {}: {what}; {REMEDY}", path.display()));
    // SAFETY: its initialisers run; it is LevelDB, or a file that the user named as such. All its
    // symbols are bound now: none while an operation is timed.
    let library: libloading::Library = unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_LOCAL) }
        .map_err(|error| refused(error.to_string()))?
        .into();
    let api = Api::load(&library).map_err(|missing| {
        refused(format!("no function `{missing}`: not LevelDB with kvdyno's shim"))
    })?;
    // The functions found stay where they are.
    std::mem::forget(library);
    // SAFETY: a function without arguments that gives a constant.
    let shim = unsafe { (api.shim)() };
    if shim != SHIM {
        return Err(refused(format!("expected shim {SHIM}, found {shim}: remove the library")));
    }
    let (mut major, mut minor) = (0, 0);
    // SAFETY: the places are of the type that is written there.
    unsafe { (api.version)(&raw mut major, &raw mut minor) };
    let build = build(&path);
    Ok(LevelDbLibrary { api, version: format!("{major}.{minor}"), build, path })
}

/// What decides its speed.
fn build(path: &Path) -> BTreeMap<String, String> {
    let about = library::about(path);
    let files = library::mapped(path, "libleveldb");
    let facts = [
        ("build", about.build.as_str().to_owned()),
        ("library", path.display().to_string()),
        ("sha256", about.sha256),
        ("source", about.source),
        ("assertions", assertions(&files).to_owned()),
    ];
    let filled = facts.into_iter().filter(|(_, value)| !value.is_empty());
    filled.map(|(name, value)| (name.to_owned(), value)).collect()
}

/// A library with assertions is slower and must not pass for the real one: Debian's has them.
/// `assert` leaves the names of the functions it stands in; without it, this one appears nowhere.
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
