//! The cost of the adapter: `Session::get` against the same calls in a program of C, which is
//! compiled here and linked with the same build of `WiredTiger`, in turns. PREFIX is a build, as
//! for `kvdyno engines build`; the library of the adapter is the newest installed, or the one that
//! LIBRARY names, and should be of that build.
//!
//!     cargo run --release -p kvdyno-wiredtiger --example wiredtiger_reads -- PREFIX DIR [LIBRARY]

#![expect(clippy::print_stdout, reason = "a bench prints")]

#[path = "../src/api.rs"]
mod api;
#[path = "../src/database.rs"]
mod database;
#[path = "../src/describe.rs"]
mod describe;
#[path = "../src/engine.rs"]
mod engine;
#[path = "../src/events.rs"]
mod events;
#[path = "../src/library.rs"]
mod library;
#[path = "../src/session.rs"]
mod session;
#[path = "../src/table.rs"]
mod table;

use engine::WiredTiger;
use kvdyno_engine::{Direction, Durability, Engine, Error, Range, Session};
use kvdyno_testing::turns::{self, ROUNDS, Turns, by_trait, warmed};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() -> Result<(), Error> {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [prefix, directory, library @ ..] = arguments.as_slice() else {
        return Err(Error::invalid("usage: wiredtiger_reads PREFIX DIRECTORY [LIBRARY]"));
    };
    WiredTiger::use_library(library.first().map(PathBuf::as_path))?;
    let folder = directory.join("kvdyno-wiredtiger-reads");
    let (ours, theirs) = (folder.join("ours"), folder.join("theirs"));
    std::fs::create_dir_all(&theirs)?;
    let plain = compiled(prefix, &folder)?;
    turns::output(Command::new(&plain).arg(&theirs).arg("load"))?;
    let engine = open(&ours)?;
    turns::load(&engine)?;
    engine.close()?;
    let mut turns = Turns::new(["in C, with reset", "in C, without"]);
    for round in 0..ROUNDS {
        // Each opens its database anew: where its pages lie in memory is a matter of luck.
        let engine = open(&ours)?;
        let mut session = engine.session()?;
        session.scan(Range::all(Direction::Forward), |_, _| ControlFlow::Continue(()))?;
        let adapter = warmed(round, |key| by_trait(&mut session, key));
        drop(session);
        engine.close()?;
        let times = turns::outside(&plain, &theirs, round)?;
        let &[reset, reused] = times.as_slice() else { return Err(Error::invalid("no times")) };
        turns.add(adapter, [reset, reused]);
    }
    println!("{turns}");
    Ok(std::fs::remove_dir_all(folder)?)
}

fn compiled(prefix: &Path, directory: &Path) -> Result<PathBuf, Error> {
    let program = directory.join("plain_loop");
    let source = Path::new(env!("KVDYNO_SOURCE")).join("engines/wiredtiger/examples/plain_loop.c");
    let mut command = Command::new("cc");
    command.args(["-O2", "-march=native", "-std=gnu11", "-o"]).arg(&program).arg(source);
    command.arg("-I").arg(prefix.join("include")).arg(prefix.join("libwiredtiger.a"));
    command.args(["-Wl,--as-needed", "-llz4", "-lsnappy", "-lzstd", "-lpthread", "-ldl", "-lrt"]);
    turns::output(&mut command).map(|_| program)
}

fn open(folder: &Path) -> Result<WiredTiger, Error> {
    turns::open(folder, Durability::None, &[("cache_size", (1 << 30).into())])
}
