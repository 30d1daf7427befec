//! What the header costs: `Session::get` of the same LMDB by `engines/plugin/examples/lmdb.c`,
//! which is compiled here with the library's sources, and by the adapter in Rust, in turns.
//!
//!     cargo run --release -p kvdyno-lmdb --example lmdb_plugin -- DIRECTORY

#![expect(clippy::print_stdout, reason = "its figures")]

#[path = "../src/cursor.rs"]
mod cursor;
#[path = "../src/database.rs"]
mod database;
#[path = "../src/describe.rs"]
mod describe;
#[path = "../src/device.rs"]
mod device;
#[path = "../src/engine.rs"]
mod engine;
#[path = "../src/library.rs"]
mod library;
#[path = "../src/raw.rs"]
mod raw;
#[path = "../src/session.rs"]
mod session;
#[path = "../src/size.rs"]
mod size;
#[path = "../src/value.rs"]
mod value;

use engine::Lmdb;
use kvdyno_engine::{Durability, Engine, Error, Result};
use kvdyno_plugin::Plugin;
use kvdyno_testing::turns::{self, ROUNDS, Turns, time_adapter};
use std::path::{Path, PathBuf};
use std::process::Command;

const CRATE: &str = "lmdb-master-sys";

fn main() -> Result<()> {
    let argument = std::env::args().nth(1).unwrap_or_else(|| "/var/tmp".to_owned());
    let dir = Path::new(&argument).join("kvdyno-lmdb-plugin");
    std::fs::create_dir_all(&dir)?;
    Plugin::use_library(Some(&compile_plugin(&dir)?))?;
    let database = dir.join("database");
    let engine: Lmdb = turns::open(&database, Durability::Async, &[])?;
    turns::load(&engine)?;
    engine.close()?;
    let mut turns = Turns::new(["the adapter in Rust"]);
    for round in 0..ROUNDS {
        // Opened in turn: LMDB must not be open twice in one process.
        let rust: Lmdb = turns::open(&database, Durability::Async, &[])?;
        let rust = time_adapter(rust, round)?;
        let plugin: Plugin = turns::open(&database, Durability::Async, &[])?;
        turns.add(time_adapter(plugin, round)?, [rust]);
    }
    println!("{turns}");
    Ok(std::fs::remove_dir_all(dir)?)
}

/// The plugin, with the library that the adapter links.
fn compile_plugin(dir: &Path) -> Result<PathBuf> {
    let sources = library_sources()?;
    let plugin = Path::new(env!("KVDYNO_SOURCE")).join("engines/plugin");
    let output = dir.join("libkvdyno-lmdb-c.so");
    let mut command = Command::new("cc");
    command.args(["-std=gnu11", "-O3", "-w", "-fPIC", "-shared", "-fvisibility=hidden"]);
    command.arg("-I").arg(plugin.join("include")).arg("-I").arg(&sources);
    command.arg("-o").arg(&output).arg(plugin.join("examples/lmdb.c"));
    command.args(["mdb.c", "midl.c"].map(|file| sources.join(file))).arg("-lpthread");
    turns::output(&mut command).map(|_| output)
}

/// In the crate, as cargo has unpacked it.
fn library_sources() -> Result<PathBuf> {
    let mut command = Command::new(env!("CARGO"));
    command.args(["metadata", "--format-version", "1", "--offline", "--locked"]);
    // Without crates for other systems, which need not be here.
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    command.arg("--filter-platform").arg(platform);
    command.current_dir(env!("KVDYNO_SOURCE"));
    let metadata: serde_json::Value = serde_json::from_str(&turns::output(&mut command)?)
        .map_err(|error| Error::invalid(error.to_string()))?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let manifest = packages.filter(|package| package["name"] == CRATE).find_map(|package| {
        let manifest = package["manifest_path"].as_str()?;
        Some(PathBuf::from(manifest))
    });
    let dir = manifest.and_then(|path| Some(path.parent()?.join("lmdb/libraries/liblmdb")));
    dir.ok_or_else(|| Error::invalid(format!("cargo does not know {CRATE}")))
}
