//! Engines whose code is a shared library of other authors: where libraries are kept, and which are
//! installed.
//!
//! The program and the workers share this module. It loads nothing and fetches nothing: a worker
//! loads the library it is told to, and `kvdyno engines get` fetches one.
//!
//! A directory of libraries holds `<engine>/<version>/<file>.so` and beside it [`ABOUT`], which
//! says where the file comes from. If the engine is a server, the directory holds its packages,
//! unpacked, and [`ABOUT`] names its program, which stands for the library everywhere. A suite
//! writes the name of the version's directory. The name may have a word behind the number,
//! `11.8.1-native`, so that two builds of a version stand side by side.

#[cfg(feature = "dynamic")]
pub mod dynamic;

use crate::{Error, ErrorClass, Result};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

/// The environment variable with directories of libraries, separated as in `PATH`. They are
/// searched first.
pub const PATH_VARIABLE: &str = "KVDYNO_LIBRARY_PATH";

/// The file beside a library that says where it comes from.
pub const ABOUT: &str = "library.json";

/// Who built a library.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Build {
    /// The engine's own authors, for their release: runs on any machine, tuned for none.
    Official,
    /// Built from source on this machine, for its processor.
    Native,
    /// The distribution's package.
    System,
    /// The user: nothing is known of it.
    #[default]
    Yours,
}

impl Build {
    /// The word in records and tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Official => "official",
            Self::Native => "native",
            Self::System => "system",
            Self::Yours => "yours",
        }
    }
}

/// The contents of [`ABOUT`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The engine's name, as in `kvdyno-<name>`.
    pub engine: String,
    /// The version of the code, without a word behind it.
    pub version: String,
    /// Who built it.
    #[serde(default)]
    pub build: Build,
    /// Checksum of the library's file, as `sha256sum` prints it.
    #[serde(default)]
    pub sha256: String,
    /// What it was fetched or built from: `org.rocksdb:rocksdbjni:11.8.1`.
    #[serde(default)]
    pub source: String,
    /// A server's program, below this directory; empty: the library is the one that lies in it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub file: String,
    /// Checksum of the source of kvdyno's plugin in it; empty: it has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub plugin: String,
}

/// An installed library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// The version as a suite writes it: the name of its directory.
    pub version: String,
    /// The library's file.
    pub path: PathBuf,
    /// Who built it.
    pub build: Build,
    /// Checksum of the file when it was installed; empty where nothing is known.
    pub sha256: String,
    /// What it was fetched or built from; empty where nothing is known.
    pub source: String,
}

/// Lists the installed libraries of `engine`, newest version first. If several directories hold the
/// same version, the first directory counts.
pub fn list_installed(engine: &str) -> Vec<Installed> {
    list_installed_in(&dirs(), engine)
}

/// Lists the libraries of `engine` that `program` finds: [`list_installed`] of another program.
pub fn list_installed_for(program: &Path, engine: &str) -> Vec<Installed> {
    list_installed_in(&dirs_for(program.canonicalize()), engine)
}

/// Returns the names of the engines with installed libraries.
pub fn installed_engines() -> BTreeSet<String> {
    let engines = dirs().into_iter().filter_map(|dir| dir.read_dir().ok()).flatten();
    let subdirs = engines.flatten().filter(|entry| entry.path().is_dir());
    subdirs.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// Returns the library of `engine` in `version`; none: it is not installed.
pub fn find(engine: &str, version: &str) -> Option<Installed> {
    list_installed(engine).into_iter().find(|library| library.version == version)
}

/// Returns what is known of the library at `path`: nothing if it lies outside the directories of
/// libraries.
pub fn load_about(path: &Path) -> About {
    find_about(&dirs(), path)
}

/// Returns the file that a worker of `engine` is to load: the one at `path`, or the newest
/// installed. `remedy` says in the error what to do where there is none.
pub fn choose_file(
    engine: &str,
    title: &str,
    path: Option<&Path>,
    remedy: &str,
) -> Result<PathBuf> {
    let path = match path {
        Some(path) => path.to_owned(),
        None => list_installed(engine).into_iter().next().map(|newest| newest.path).ok_or_else(
            || {
                let store = store();
                let store = store.display();
                let what = format!(
                    "no library of {title} is installed in {store} or next to the program: {remedy}"
                );
                Error::new(ErrorClass::Unavailable, what)
            },
        )?,
    };
    full_path(&path)
        .map_err(|error| Error::invalid(format!("library {}: {error}; {remedy}", path.display())))
}

/// Returns the whole path of a file. A file that is a symbolic link is not resolved: some programs
/// behave by the name they are called by.
pub fn full_path(path: &Path) -> io::Result<PathBuf> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
    let dir = dir.unwrap_or(Path::new(".")).canonicalize()?;
    let whole = dir.join(path.file_name().unwrap_or_default());
    whole.metadata().map(|_| whole)
}

/// Refuses a library other than the one that is `loaded`: in one process the symbols of two would
/// be mixed up.
pub fn check_only(title: &str, loaded: &Path, required: Option<&Path>) -> Result<()> {
    match required.map(full_path) {
        Some(Ok(other)) if other != loaded => Err(Error::invalid(format!(
            "library {} is loaded: a process loads one {title}; {} needs another process",
            loaded.display(),
            other.display()
        ))),
        _ => Ok(()),
    }
}

/// Collects facts of the file at `path` for a description: where it comes from, its path under
/// `name`, and `more`. Empty facts are left out.
pub fn build_facts<const N: usize>(
    path: &Path,
    name: &str,
    more: [(&str, String); N],
) -> BTreeMap<String, String> {
    let about = load_about(path);
    let facts = [
        ("build", about.build.as_str().to_owned()),
        (name, path.display().to_string()),
        ("sha256", about.sha256),
        ("source", about.source),
    ];
    let filled = facts.into_iter().chain(more).filter(|(_, value)| !value.is_empty());
    filled.map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Reads the library at `path` and those files mapped into this process whose names begin with
/// `name`: the engine that a plugin is linked with may be a file of its own.
pub fn read_mapped(path: &Path, name: &str) -> Vec<Vec<u8>> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let files = maps.lines().filter_map(|line| Some(PathBuf::from(&line[line.find('/')?..])));
    let has_name =
        |file: &Path| file.file_name().is_some_and(|file| file.to_string_lossy().starts_with(name));
    let mut files: Vec<PathBuf> = files.filter(|file| has_name(file)).collect();
    files.push(path.to_owned());
    files.sort();
    files.dedup();
    files.iter().filter_map(|file| std::fs::read(file).ok()).collect()
}

/// The directory that new libraries go to.
pub fn store() -> PathBuf {
    cache().join("libraries")
}

/// The user's cache directory of kvdyno.
pub fn cache() -> PathBuf {
    // By the specification of the variable, an empty or relative path does not count.
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|p| p.is_absolute());
    let home = || std::env::home_dir().unwrap_or_default().join(".cache");
    cache.unwrap_or_else(home).join("kvdyno")
}

/// Returns the directories that are searched for libraries, in order: those of
/// `KVDYNO_LIBRARY_PATH`, the one next to the running program, and the store.
fn dirs() -> Vec<PathBuf> {
    dirs_for(std::env::current_exe().and_then(std::fs::canonicalize))
}

fn dirs_for(program: io::Result<PathBuf>) -> Vec<PathBuf> {
    let listed = std::env::var_os(PATH_VARIABLE).unwrap_or_default();
    let next_to_it = program.ok().and_then(|path| Some(path.parent()?.join("libraries")));
    let mut dirs: Vec<PathBuf> = std::env::split_paths(&listed).collect();
    // An empty entry would mean the current directory, from which no code must be run.
    dirs.retain(|dir| !dir.as_os_str().is_empty());
    dirs.extend(next_to_it);
    dirs.push(store());
    dirs
}

fn list_installed_in(dirs: &[PathBuf], engine: &str) -> Vec<Installed> {
    let mut libraries: Vec<Installed> = Vec::new();
    for dir in dirs {
        let Ok(versions) = dir.join(engine).read_dir() else { continue };
        for entry in versions.flatten() {
            let Ok(version) = entry.file_name().into_string() else { continue };
            if libraries.iter().all(|library| library.version != version) {
                libraries.extend(read_installed(&entry.path(), version));
            }
        }
    }
    libraries.sort_by(|one, other| compare_versions(&other.version, &one.version));
    libraries
}

/// The library in the directory of one version.
fn read_installed(dir: &Path, version: String) -> Option<Installed> {
    let mut files: Vec<PathBuf> =
        dir.read_dir().ok()?.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let About { build, sha256, source, file, .. } = read_about(dir);
    let path = match file.as_str() {
        "" => files.into_iter().find(|path| is_library(path))?,
        program => Some(dir.join(program)).filter(|path| path.is_file())?,
    };
    Some(Installed { version, path, build, sha256, source })
}

/// Whether `path` is a shared library: `librocksdb.so`, `librocksdb.so.11.8`.
fn is_library(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    (name.ends_with(".so") || name.contains(".so.")) && path.is_file()
}

fn find_about(dirs: &[PathBuf], path: &Path) -> About {
    let Ok(path) = path.canonicalize() else { return About::default() };
    let managed = dirs.iter().filter_map(|dir| dir.canonicalize().ok());
    let inside = managed.into_iter().any(|dir| path.starts_with(dir));
    path.parent().and_then(tree).filter(|_| inside).map(read_about).unwrap_or_default()
}

/// Returns the nearest directory with a file [`ABOUT`]: `dir` or one above it.
fn tree(dir: &Path) -> Option<&Path> {
    dir.ancestors().find(|dir| dir.join(ABOUT).is_file())
}

/// Returns the directory with the unpacked packages of a server's program. It stands for the
/// system's root; `/`: the program is the system's.
pub fn root(program: &Path) -> &Path {
    program.parent().and_then(tree).unwrap_or(Path::new("/"))
}

/// Returns the directories with shared libraries that were unpacked with a server's program; empty:
/// the program uses the system's libraries.
pub fn bundled_library_dirs(program: &Path) -> Vec<String> {
    let Some(tree) = program.parent().and_then(tree) else { return Vec::new() };
    let library_dirs = ["usr/lib", "lib"].map(|dir| tree.join(dir));
    let by_processor = library_dirs.iter().flat_map(|dir| dir.read_dir()).flatten().flatten();
    let by_processor = by_processor.map(|entry| entry.path());
    let nested = by_processor.filter(|path| path.to_string_lossy().ends_with("-linux-gnu"));
    let all: Vec<PathBuf> =
        nested.chain(library_dirs.clone()).filter(|path| path.is_dir()).collect();
    all.iter().map(|path| path.display().to_string()).collect()
}

/// Reads [`ABOUT`] in `dir`. If it is missing or unreadable, the library is the user's.
fn read_about(dir: &Path) -> About {
    let text = std::fs::read(dir.join(ABOUT)).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// Compares versions by number, `9.10.0` after `9.9.1`. A plain version is newer than the same one
/// with a word behind it, so that the default does not depend on local builds.
fn compare_versions(one: &str, other: &str) -> Ordering {
    let parts = |version: &str| {
        let end = version.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(version.len());
        let numbers: Vec<u64> = version[..end].split('.').map_while(|n| n.parse().ok()).collect();
        (numbers, version[end..].to_owned())
    };
    let ((one, word), (other, other_word)) = (parts(one), parts(other));
    let plainer = word.is_empty().cmp(&other_word.is_empty());
    one.cmp(&other).then(plainer).then_with(|| other_word.cmp(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn install(dir: &Path, version: &str, about: Option<&About>) -> PathBuf {
        let dir = dir.join("rocksdb").join(version);
        std::fs::create_dir_all(&dir).unwrap();
        if let Some(about) = about {
            std::fs::write(dir.join(ABOUT), serde_json::to_vec(about).unwrap()).unwrap();
        }
        let path = dir.join("librocksdb.so");
        std::fs::write(&path, "code").unwrap();
        path
    }

    fn official(version: &str) -> About {
        About {
            engine: "rocksdb".to_owned(),
            version: version.to_owned(),
            build: Build::Official,
            sha256: "5694d08a".to_owned(),
            source: format!("org.rocksdb:rocksdbjni:{version}"),
            ..About::default()
        }
    }

    #[test]
    fn the_newest_comes_first_and_the_first_directory_wins() {
        let (near, far) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for version in ["9.9.1", "11.8.1", "9.10.0"] {
            install(far.path(), version, Some(&official(version)));
        }
        install(far.path(), "11.8.1-native", None);
        let nearest = install(near.path(), "9.9.1", None);
        std::fs::create_dir_all(far.path().join("rocksdb/12.0.0")).unwrap();
        let dirs = [near.path().to_owned(), "/nowhere".into(), far.path().to_owned()];
        let libraries = list_installed_in(&dirs, "rocksdb");
        let versions: Vec<_> = libraries.iter().map(|library| library.version.as_str()).collect();
        assert_eq!(versions, ["11.8.1", "11.8.1-native", "9.10.0", "9.9.1"]);
        assert_eq!(
            (libraries[0].build, libraries[0].sha256.as_str()),
            (Build::Official, "5694d08a")
        );
        assert_eq!(libraries[0].source, "org.rocksdb:rocksdbjni:11.8.1");
        assert_eq!((&libraries[3].path, libraries[3].build), (&nearest, Build::Yours));
        assert_eq!(list_installed_in(&dirs, "leveldb"), []);
    }

    #[test]
    fn a_server_is_the_program_in_its_packages() {
        let store = tempfile::tempdir().unwrap();
        let dir = store.path().join("redis/7.0.15");
        let lib = dir.join("usr/lib/x86_64-linux-gnu");
        std::fs::create_dir_all(dir.join("usr/bin")).unwrap();
        std::fs::create_dir_all(&lib).unwrap();
        std::fs::write(dir.join("usr/bin/redis-server"), "code").unwrap();
        let about = About {
            engine: "redis".to_owned(),
            file: "usr/bin/redis-server".to_owned(),
            ..official("7.0.15")
        };
        std::fs::write(dir.join(ABOUT), serde_json::to_vec(&about).unwrap()).unwrap();
        let dirs = [store.path().to_owned()];
        let path = &list_installed_in(&dirs, "redis")[0].path;
        assert_eq!(path, &dir.join("usr/bin/redis-server"));
        assert_eq!((find_about(&dirs, path), root(path)), (about, &*dir));
        let lib = lib.display().to_string();
        assert_eq!(bundled_library_dirs(path)[0], lib);
        assert_eq!(root(Path::new("/usr/bin/redis-server")), Path::new("/"));
        assert!(bundled_library_dirs(Path::new("/usr/bin/redis-server")).is_empty());
    }

    #[test]
    fn a_library_outside_the_directories_is_the_users_whatever_lies_beside_it() {
        let (store, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let dirs = [store.path().to_owned()];
        let managed = install(store.path(), "9.10.0", Some(&official("9.10.0")));
        assert_eq!(find_about(&dirs, &managed), official("9.10.0"));
        let copy = install(elsewhere.path(), "9.10.0", Some(&official("9.10.0")));
        assert_eq!(find_about(&dirs, &copy), About::default());
        assert_eq!(find_about(&dirs, Path::new("/nowhere/librocksdb.so")).build, Build::Yours);
        std::fs::write(managed.with_file_name(ABOUT), "{").unwrap();
        assert_eq!(find_about(&dirs, &managed), About::default());
    }
}
