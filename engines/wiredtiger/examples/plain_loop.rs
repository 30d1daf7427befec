//! What the adapter costs: `Session::get` against the same calls in a program of C, which is
//! compiled here and linked with the same build of `WiredTiger`, in turns. Prints medians and the
//! median of the ratios. PREFIX is a build, as for `kvdyno engines build`; the library of the
//! adapter is the newest installed, or the one that LIBRARY names, and should be of that build.
//!
//!     cargo run --release -p kvdyno-wiredtiger --example plain_loop -- PREFIX DIRECTORY [LIBRARY]

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

use engine::WiredTiger;
use kvdyno_engine::{
    DataShape, Direction, Durability, Engine, Error, Options, Place, Range, Session, Value,
};
use kvdyno_testing::turns::{self, Key, RECORDS, ROUNDS, touch};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

fn main() -> Result<(), Error> {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [prefix, directory, library @ ..] = arguments.as_slice() else {
        return Err(Error::invalid("usage: plain_loop PREFIX DIRECTORY [LIBRARY]"));
    };
    WiredTiger::use_library(library.first().map(PathBuf::as_path))?;
    let folder = |name: &str| {
        let folder = directory.join(name);
        std::fs::create_dir_all(&folder).map(|()| folder)
    };
    let (ours, theirs) = (folder("ours")?, folder("theirs")?);
    let plain = compiled(prefix, directory)?;
    output(Command::new(&plain).arg(&theirs).arg("load"))?;
    let engine = open(&ours)?;
    load(&engine)?;
    engine.close()?;
    let mut all = [const { Vec::new() }; 5];
    for round in 0..ROUNDS {
        // Each opens its database anew: where its pages lie in memory is a matter of luck.
        let engine = open(&ours)?;
        let mut session = engine.session()?;
        session.scan(Range::all(Direction::Forward), |_, _| ControlFlow::Continue(()))?;
        let get = turns::per_read(turns::warmed(round, |key| get(&mut session, key)));
        drop(session);
        engine.close()?;
        let round = round.to_string();
        let told = output(Command::new(&plain).arg(&theirs).args(["read", &round]))?;
        let told: Vec<u64> = told.split_whitespace().filter_map(|ns| ns.parse().ok()).collect();
        let each: Vec<f64> =
            told.into_iter().map(|ns| turns::per_read(Duration::from_nanos(ns))).collect();
        let &[reset, kept] = each.as_slice() else { return Err(Error::invalid("no times")) };
        let each = [get, reset, kept, reset / get, kept / get];
        all.iter_mut().zip(each).for_each(|(all, one)| all.push(one));
    }
    let [get, reset, kept, by_reset, by_kept] = all.map(|mut all| {
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    });
    println!("{get:8.1} ns  Session::get");
    for (name, ns, ratio) in [("with reset", reset, by_reset), ("without", kept, by_kept)] {
        println!("{ns:8.1} ns  in C, {name}: Session::get reads {ratio:.3} of its rate");
    }
    Ok(())
}

fn compiled(prefix: &Path, directory: &Path) -> Result<PathBuf, Error> {
    let program = directory.join("plain_loop");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/plain_loop.c");
    let mut command = Command::new("cc");
    command.args(["-O2", "-march=native", "-std=gnu11", "-o"]).arg(&program).arg(source);
    command.arg("-I").arg(prefix.join("include")).arg(prefix.join("libwiredtiger.a"));
    command.args(["-Wl,--as-needed", "-llz4", "-lsnappy", "-lzstd", "-lpthread", "-ldl", "-lrt"]);
    output(&mut command).map(|_| program)
}

fn output(command: &mut Command) -> Result<String, Error> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(Error::invalid(String::from_utf8_lossy(&output.stderr).into_owned()))
}

fn open(folder: &Path) -> Result<WiredTiger, Error> {
    let data = DataShape {
        records: RECORDS,
        records_max: RECORDS,
        key_bytes: 16,
        value_bytes_mean: 100,
        value_bytes_max: 100,
        sessions: 1,
        depth: 1,
    };
    let mut options = Options::defaults(&WiredTiger::describe(), Durability::None);
    options.values.insert("cache_size".to_owned(), Value::Integer(1 << 30));
    WiredTiger::open(&Place::Directory(folder.to_owned()), &options, &data)
}

fn load(engine: &WiredTiger) -> Result<(), Error> {
    let mut session = engine.session()?;
    (0..RECORDS).try_for_each(|number| session.put(&turns::key(number), &[b'v'; 100]))
}

fn get(session: &mut impl Session, key: &Key) -> u64 {
    match session.get(key, |value| value.map(touch)) {
        Ok(Some(touched)) => touched,
        other => panic!("{other:?}"),
    }
}
