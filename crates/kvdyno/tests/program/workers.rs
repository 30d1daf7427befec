//! The workers for tests, and the program separated from them.
//!
//! The program looks for workers in its own directory first. To control which ones it finds, it
//! runs from a directory of its own.

use kvdyno_record::engine::library;
pub(crate) use kvdyno_testing::{needs_root, report_skip};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const BUILT: &str = env!("CARGO_BIN_EXE_kvdyno");

/// The program, in a directory without any other file.
pub(crate) fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let all = Path::new(env!("CARGO_TARGET_TMPDIR"));
        remove_those_of_the_dead(all);
        let dir = all.join(format!("program-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let program = dir.join("kvdyno");
        if fs::hard_link(BUILT, &program).is_err() {
            install(BUILT, &program);
        }
        program
    })
}

/// Makes a program from a file. Another process does: what this one has written cannot be executed
/// as long as a child that some thread is starting holds it open.
pub(crate) fn install(from: impl AsRef<Path>, to: &Path) -> PathBuf {
    let mut command = Command::new("install");
    command.args(["-m", "755"]).arg(from.as_ref()).arg(to);
    assert!(command.status().unwrap().success(), "{command:?}");
    to.to_owned()
}

/// No code runs after the last test to remove its directory: the next run of tests does.
fn remove_those_of_the_dead(all: &Path) {
    for entry in fs::read_dir(all).into_iter().flatten().flatten() {
        let name = entry.file_name().into_string().unwrap_or_default();
        let pid = name.strip_prefix("program-").and_then(|pid| pid.parse::<u32>().ok());
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Engines of kvdyno's that are plugins: one program is the worker of all.
const PLUGINS: [&str; 2] = ["leveldb", "wiredtiger"];

/// The worker of an engine: from `KVDYNO_ENGINE_PATH`, otherwise from cargo's target directory.
pub(crate) fn find(engine: &str) -> Option<PathBuf> {
    let engine = if PLUGINS.contains(&engine) { "plugin" } else { engine };
    let listed = std::env::var_os("KVDYNO_ENGINE_PATH").unwrap_or_default();
    let mut dirs: Vec<PathBuf> = std::env::split_paths(&listed).collect();
    dirs.push(Path::new(BUILT).parent().unwrap().to_owned());
    let paths = dirs.iter().map(|dir| dir.join(format!("kvdyno-{engine}")));
    paths.into_iter().find(|path| path.is_file())
}

/// The null engine's worker. A bare `cargo test` does not build it: then it is built here.
pub(crate) fn null() -> &'static Path {
    static NULL: OnceLock<PathBuf> = OnceLock::new();
    NULL.get_or_init(|| {
        let listed = std::env::var_os("KVDYNO_ENGINE_PATH").is_some();
        find("null").filter(|_| listed).unwrap_or_else(build_null)
    })
}

fn build_null() -> PathBuf {
    let dir = Path::new(BUILT).parent().unwrap();
    let mut command = Command::new(env!("CARGO"));
    command.args(["build", "--quiet", "--package", "kvdyno-null"]);
    command.arg("--target-dir").arg(dir.parent().unwrap());
    if dir.ends_with("release") {
        command.arg("--release");
    }
    let output = command.current_dir(env!("KVDYNO_SOURCE")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    dir.join("kvdyno-null")
}

/// The null engine's description.
pub(crate) fn null_description() -> serde_json::Value {
    static TEXT: OnceLock<Vec<u8>> = OnceLock::new();
    let text =
        TEXT.get_or_init(|| Command::new(null()).arg("describe").output().unwrap().stdout.clone());
    serde_json::from_slice(text).unwrap()
}

/// The null engine is a debug build: its figures are invalid, and runs with it have exit code 4.
pub(crate) fn null_is_a_debug_build() -> bool {
    null_description()["debug_build"] == true
}

/// Engines that need `kvdyno engines get`.
const LIBRARIES: [&str; 7] =
    ["rocksdb", "leveldb", "wiredtiger", "redis", "postgres", "mariadb", "memcached"];

/// An engine that a test needs; prints a note if it is missing.
pub(crate) fn needs(engine: &str, test: &str) -> bool {
    let available = needs_worker(engine, test);
    // Each is a requirement of its own, by the engine's name.
    if available && LIBRARIES.contains(&engine) && library::list_installed(engine).is_empty() {
        report_skip(engine, test, &format!("`kvdyno engines get {engine}` was not done"));
        return false;
    }
    available
}

/// The same if its library or server is not needed.
pub(crate) fn needs_worker(engine: &str, test: &str) -> bool {
    let available = find(engine).is_some();
    if !available {
        report_skip(
            "engines",
            test,
            &format!("no worker kvdyno-{engine} (`make engines` builds it)"),
        );
    }
    available
}

/// The program of a server, as its worker finds it.
pub(crate) fn program_of(engine: &str) -> PathBuf {
    let output = Command::new(find(engine).unwrap()).arg("describe").output().unwrap();
    let description: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    description["engine"]["build"]["program"].as_str().unwrap().into()
}
