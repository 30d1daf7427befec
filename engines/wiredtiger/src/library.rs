//! The one library of this process: `WiredTiger` with kvdyno's shim around it, in one file.

#![expect(unsafe_code, reason = "calls of the library")]

use crate::api::{Api, text};
use kvdyno_engine::Result;
use kvdyno_engine::library::{self, dynamic::LibrarySpec};
use memchr::memmem;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The value of `kvdyno_wiredtiger_shim` for the functions of `api.rs`.
const SHIM: c_int = 2;

const SPEC: LibrarySpec = LibrarySpec {
    engine: "wiredtiger",
    title: "WiredTiger",
    remedy: "`kvdyno engines get wiredtiger` builds one from WiredTiger's sources, `kvdyno engines \
             build wiredtiger --prefix DIR` of a build of yours",
};

/// A loaded library. Never unloaded: its threads outlive any use.
pub(crate) struct WiredTigerLibrary {
    pub(crate) api: Api,
    pub(crate) version: String,
    pub(crate) build: BTreeMap<String, String>,
    path: PathBuf,
}

static LOADED: OnceLock<Result<WiredTigerLibrary>> = OnceLock::new();

/// Loads the library at `path`, or the newest installed.
pub(crate) fn load(path: Option<&Path>) -> Result<&'static WiredTigerLibrary> {
    let loaded = LOADED.get_or_init(|| open(path)).as_ref().map_err(Clone::clone)?;
    library::check_only(SPEC.title, &loaded.path, path).map(|()| loaded)
}

impl WiredTigerLibrary {
    /// Those that are part of it, by their names in `WiredTiger`.
    pub(crate) fn compressors(&self) -> Vec<&'static str> {
        compressors(&self.api)
    }

    pub(crate) fn has_lsm(&self) -> bool {
        // SAFETY: a function without arguments that gives a constant.
        unsafe { (self.api.has_lsm)() != 0 }
    }
}

fn open(path: Option<&Path>) -> Result<WiredTigerLibrary> {
    let (path, api) = SPEC.open_shim(path, SHIM, Api::load)?;
    let (version, header) = versions(&api);
    if version != header {
        let what = format!("WiredTiger {version} runs behind a shim for {header}");
        return Err(SPEC.refused(&path, &what));
    }
    let build = build(&path, &api);
    Ok(WiredTigerLibrary { api, version, build, path })
}

fn compressors(api: &Api) -> Vec<&'static str> {
    let names = [c"lz4", c"snappy", c"zlib", c"zstd"].into_iter();
    // SAFETY: the names are C strings.
    let has = names.filter(|name| unsafe { (api.has_compressor)(name.as_ptr()) } != 0);
    has.filter_map(|name| name.to_str().ok()).collect()
}

/// Of the library that runs, and of the header that the shim was compiled against.
fn versions(api: &Api) -> (String, String) {
    let [mut is, mut was] = [[0; 3]; 2];
    let [major, minor, patch] = &mut is;
    // SAFETY: the places are of the type that is written there; so below.
    unsafe { (api.version)(major, minor, patch) };
    let [major, minor, patch] = &mut was;
    // SAFETY: as above.
    unsafe { (api.header)(major, minor, patch) };
    let words = |[major, minor, patch]: [c_int; 3]| format!("{major}.{minor}.{patch}");
    (words(is), words(was))
}

/// What decides its speed.
fn build(path: &Path, api: &Api) -> BTreeMap<String, String> {
    // SAFETY: a static text, and the three places may be null.
    let released = unsafe {
        let null = std::ptr::null_mut();
        text((api.version)(null, null, null))
    };
    let more = [
        ("release", released),
        ("assertions", assertions(&library::mapped(path, "libwiredtiger")).to_owned()),
        ("compressors", compressors(api).join(" ")),
    ];
    library::build_facts(path, "library", more)
}

/// A library with assertions is slower and must be reported. With them, `WiredTiger`'s message
/// about a hazard pointer has more details.
fn assertions(files: &[Vec<u8>]) -> &'static str {
    let any = |word: &str| files.iter().any(|file| memmem::find(file, word.as_bytes()).is_some());
    if any("discarded object: (%p: session %p name %s: %s, line %d)") {
        "on: figures are not WiredTiger's"
    } else if any("hazard pointer") {
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
        let message = "hazard pointer reference to discarded object: (%p: session %p name %s";
        let with = |rest: &str| assertions(&[b"shim".to_vec(), [message, rest].concat().into()]);
        assert_eq!(with(")"), "off");
        assert!(with(": %s, line %d)").starts_with("on"));
        assert!(assertions(&[]).starts_with("unknown"));
    }
}
