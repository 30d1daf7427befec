//! The cost of the adapter: `Session::get` against the same calls in a program of C++, which is
//! compiled here and linked with the same system library, on the same database, in turns.
//!
//!     cargo run --release -p kvdyno-leveldb --example leveldb_reads -- DIRECTORY

#![expect(clippy::print_stdout, reason = "its figures")]

#[path = "../src/api.rs"]
mod api;
#[path = "../src/describe.rs"]
mod describe;
#[path = "../src/engine.rs"]
mod engine;
#[path = "../src/library.rs"]
mod library;
#[path = "../src/session.rs"]
mod session;

use engine::LevelDb;
use kvdyno_engine::{Durability, Engine, Error, Result};
use kvdyno_testing::turns::{self, ROUNDS, Turns, by_adapter};
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() -> Result<()> {
    LevelDb::use_library(None)?;
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [database, read, round] = arguments.as_slice()
        && read == "read"
    {
        return one_round(Path::new(database), round);
    }
    let folder = arguments.first().map_or("/var/tmp", String::as_str);
    let folder = Path::new(folder).join("kvdyno-leveldb-reads");
    let database = folder.join("database");
    let engine = open(&database)?;
    turns::load(&engine)?;
    engine.close()?;
    let (own, plain) = (std::env::current_exe()?, compiled(&folder)?);
    let mut turns = Turns::new(["in C++"]);
    for round in 0..ROUNDS {
        // Both in a process of their own: where blocks lie in memory is a matter of what was there.
        let round = |program| turns::outside(program, &database, round);
        let (own, theirs) = (round(&own)?, round(&plain)?);
        let ([own], [theirs]) = (own.as_slice(), theirs.as_slice()) else {
            return Err(Error::invalid("no times"));
        };
        turns.add(*own, [*theirs]);
    }
    println!("{turns}");
    Ok(std::fs::remove_dir_all(folder)?)
}

fn one_round(database: &Path, round: &str) -> Result<()> {
    let round = round.parse().map_err(|_| Error::invalid("a round is a number"))?;
    println!("{}", by_adapter(open(database)?, round)?.as_nanos());
    Ok(())
}

fn compiled(folder: &Path) -> Result<PathBuf> {
    let program = folder.join("plain_loop");
    let source = Path::new(env!("KVDYNO_SOURCE")).join("engines/leveldb/examples/plain_loop.cc");
    let mut command = Command::new("c++");
    command.args(["-O2", "-std=c++17", "-o"]).arg(&program).arg(source).arg("-lleveldb");
    turns::output(&mut command).map(|_| program)
}

fn open(folder: &Path) -> Result<LevelDb> {
    turns::open(folder, Durability::Async, &[("block_cache", (1 << 30).into())])
}
