//! What the header costs, and a call into Go: `Session::get` of a plugin against a plain loop in
//! the engine's language over the same database, each in a process of its own, in turns: where
//! blocks lie in memory is a matter of what was there. The plugin is the installed one (`kvdyno
//! engines get`); the loop is compiled here, of the sources of this checkout.
//!
//!     cargo run --release -p kvdyno-plugin --example plugin_reads -- DIRECTORY ENGINE
//!
//! `DIRECTORY read ROUND PATH` prints what 200,000 reads of one plugin take, in nanoseconds.

#![expect(clippy::print_stdout, reason = "its figures")]

use kvdyno_engine::{Durability, Engine, Error, Result, Value, library};
use kvdyno_plugin::Plugin;
use kvdyno_testing::turns::{self, ROUNDS, Turns, time_adapter};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A build of `WiredTiger` with its header, as for `kvdyno engines build`.
const PREFIX: &str = "KVDYNO_WIREDTIGER_PREFIX";

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [database, read, round, engine] if read == "read" => {
            use_newest(engine)?;
            let round = round.parse().map_err(|_| Error::invalid("a round is a number"))?;
            let took = time_adapter(open(Path::new(database), engine)?, round)?;
            println!("{}", took.as_nanos());
            Ok(())
        }
        [dir, engine] => compare(Path::new(dir), engine),
        _ => Err(Error::invalid("expected DIRECTORY ENGINE")),
    }
}

/// The newest plugin of an engine, or the one at a path.
fn use_newest(engine: &str) -> Result<()> {
    if engine.contains('/') {
        return Plugin::use_library(Some(Path::new(engine)));
    }
    let newest = library::list_installed(engine).into_iter().next().ok_or_else(|| {
        Error::invalid(format!("no plugin of {engine}: `kvdyno engines get {engine}`"))
    })?;
    Plugin::use_library(Some(&newest.path))
}

fn compare(dir: &Path, engine: &str) -> Result<()> {
    let dir = dir.join(format!("kvdyno-{engine}-reads"));
    let database = dir.join("database");
    use_newest(engine)?;
    let opened = open(&database, engine)?;
    turns::load(&opened)?;
    opened.close()?;
    let (own, plain) = (std::env::current_exe()?, compile_plain_loop(&dir, engine)?);
    let mut turns = Turns::new(["a plain loop"]);
    for round in 0..ROUNDS {
        let mut ours = Command::new(&own);
        ours.arg(&database).args(["read", &round.to_string(), engine]);
        let own = turns::output(&mut ours)?;
        let own = own.trim().parse().map_err(|_| Error::invalid("no time"))?;
        let theirs = turns::run_round(&plain, &database, round)?;
        let [theirs] = theirs.as_slice() else { return Err(Error::invalid("no time")) };
        turns.add(std::time::Duration::from_nanos(own), [*theirs]);
    }
    println!("{turns}");
    Ok(std::fs::remove_dir_all(dir)?)
}

fn compile_plain_loop(dir: &Path, engine: &str) -> Result<PathBuf> {
    let program = dir.join("plain_loop");
    let sources = Path::new(env!("KVDYNO_SOURCE")).join("engines/plugin");
    // As `kvdyno engines get` compiles the plugin.
    let mut command = match engine {
        "leveldb" => {
            let mut command = Command::new("c++");
            command.args(["-O2", "-std=c++17", "-o"]).arg(&program);
            command.arg(sources.join("leveldb/plain_loop.cc")).arg("-lleveldb");
            command
        }
        "wiredtiger" => {
            let prefix = std::env::var_os(PREFIX).map(PathBuf::from).ok_or_else(|| {
                Error::invalid(format!("expected the build of the plugin: {PREFIX}=DIR"))
            })?;
            let mut command = Command::new("cc");
            command.args(["-O2", "-march=native", "-std=gnu11", "-o"]).arg(&program);
            command.arg(sources.join("wiredtiger/plain_loop.c"));
            command.arg("-I").arg(prefix.join("include")).arg(prefix.join("libwiredtiger.a"));
            command.arg("-Wl,--as-needed");
            command
                .args(["lz4", "snappy", "zstd", "pthread", "dl", "rt"].map(|l| format!("-l{l}")));
            command
        }
        _ => {
            let mut command = Command::new("go");
            command.args(["build", "-o"]).arg(&program).arg("./plain");
            command.current_dir(sources.join("go").join(engine));
            command.env("GOWORK", "off").env("GOAMD64", "v3");
            command
        }
    };
    turns::output(&mut command).map(|_| program)
}

/// All in cache, with the engine's own defaults otherwise.
fn open(dir: &Path, engine: &str) -> Result<Plugin> {
    let (durability, options): (_, &[(&str, Value)]) = match engine {
        "pebble" | "wiredtiger" => (Durability::None, &[("cache_size", Value::Integer(1 << 30))]),
        "leveldb" => (Durability::Async, &[("block_cache", Value::Integer(1 << 30))]),
        path if path.contains("null") => (Durability::None, &[]),
        _ => (Durability::Async, &[]),
    };
    turns::open(dir, durability, options)
}
