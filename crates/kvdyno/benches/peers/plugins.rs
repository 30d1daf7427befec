//! What an engine pays for being a plugin: null engines in C, C++ and Go beside the one in Rust,
//! LMDB by the header beside the adapter in Rust, and engines beside plain loops in their language.

use super::engines::output;
use super::load_generator::reads;
use super::reads::ratio;
use super::tools::{identity, median, scratch};
use super::{Bench, REPEATS};
use anyhow::{Context as _, anyhow, ensure};
use kvdyno::running::{libraries, workers};
use kvdyno_record::case::WorkerIdentity;
use kvdyno_record::engine::library;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCES: &str = concat!(env!("KVDYNO_SOURCE"), "/engines/plugin");

/// A build of `WiredTiger` with its header, as for `kvdyno engines build`.
const PREFIX: &str = "KVDYNO_WIREDTIGER_PREFIX";

impl Bench {
    pub(crate) fn plugins(&mut self) -> anyhow::Result<()> {
        self.null_plugins()?;
        let worker = identity("lmdb")?;
        self.compare_plugin("lmdb_plugin", "LMDB by the header", &worker.path, None)?;
        for engine in ["pebble", "badger", "bbolt", "leveldb", "wiredtiger"] {
            if library::list_installed(engine).is_empty() {
                println!("{engine} reads: `kvdyno engines get {engine}` was not done");
                continue;
            }
            if engine == "wiredtiger" && std::env::var_os(PREFIX).is_none() {
                println!("wiredtiger reads: no build to compare with: {PREFIX}=DIR");
                continue;
            }
            self.compare_plugin("plugin_reads", engine, &worker.path, Some(engine))?;
        }
        Ok(())
    }

    /// In turns, so that all meet the same machine.
    fn null_plugins(&mut self) -> anyhow::Result<()> {
        let dir = scratch()?;
        let mut nulls = vec![("in Rust", identity("null")?, Vec::new())];
        for (name, language, words) in [
            ("in C", "null-c", &["cc", "-std=c99", "-O2", "null/null.c"][..]),
            ("in C, by a callback", "null-c", &["cc", "-std=c99", "-O2", "-DSHOWS", "null/null.c"]),
            ("in C++", "null-cpp", &["c++", "-std=c++17", "-O2", "null/null.cc"]),
            ("in Go", "null-go", &["go", "build", "-buildmode=c-shared"]),
        ] {
            let into = dir.path().join(nulls.len().to_string());
            std::fs::create_dir(&into)?;
            let library = into.join(format!("libkvdyno-{language}.so"));
            match compile(words, &library) {
                Ok(()) => nulls.push((name, plugin(&library)?, Vec::new())),
                Err(error) => println!("null {name}: not built: {error:#}"),
            }
        }
        for _ in 0..REPEATS {
            for (_, worker, took) in &mut nulls {
                took.push(1e9 / reads(worker, 1)?);
            }
        }
        for (name, _, took) in &mut nulls {
            let remark = format!("one thread, median of {REPEATS}, in turns");
            self.report(&format!("null {name}"), median(took), "ns/op", &remark);
        }
        Ok(())
    }

    fn compare_plugin(
        &mut self,
        example: &str,
        name: &str,
        worker: &Path,
        engine: Option<&str>,
    ) -> anyhow::Result<()> {
        let program = worker.with_file_name(format!("examples/{example}"));
        let dir = scratch()?;
        let words = [dir.path().as_os_str()].into_iter().chain(engine.map(OsStr::new));
        let printed = output(&program, words)?.context("not built")?;
        let ratios: Vec<_> = printed.lines().filter_map(ratio).collect();
        ensure!(!ratios.is_empty(), "{name}: {printed}");
        for (peer, ratio) in ratios {
            self.report(&format!("{name} reads in cache"), ratio, "of its rate", peer);
        }
        Ok(())
    }
}

/// Compiles a null engine of the repository.
fn compile(words: &[&str], library: &Path) -> anyhow::Result<()> {
    let [compiler, arguments @ ..] = words else { return Ok(()) };
    let mut command = Command::new(compiler);
    command.args(arguments);
    if *compiler == "go" {
        command.env("GOAMD64", "v3").current_dir(Path::new(SOURCES).join("go/null"));
    } else {
        command.args(["-shared", "-fPIC", "-I", "include"]).current_dir(SOURCES);
    }
    let output = command.arg("-o").arg(library).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// The worker that runs a plugin.
fn plugin(library: &Path) -> anyhow::Result<WorkerIdentity> {
    let program: PathBuf = workers::find_plugin_program().context("no kvdyno-plugin")?;
    libraries::with_library_file(program, library).map_err(|why| anyhow!("{why:?}"))
}
