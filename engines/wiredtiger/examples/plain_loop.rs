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
use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const RECORDS: u64 = 1_000_000;
const BLOCK: usize = 1000;
const BLOCKS: usize = 200;
const ROUNDS: u64 = 11;

type Key = [u8; 16];

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
        read(&mut session, round);
        let get = read(&mut session, round).as_nanos() as f64;
        drop(session);
        engine.close()?;
        let round = round.to_string();
        let told = output(Command::new(&plain).arg(&theirs).args(["read", &round]))?;
        let told: Vec<f64> = told.split_whitespace().filter_map(|ns| ns.parse().ok()).collect();
        let &[reset, kept] = told.as_slice() else { return Err(Error::invalid("no times")) };
        let each = [get, reset, kept, reset / get, kept / get];
        all.iter_mut().zip(each).for_each(|(all, one)| all.push(one));
    }
    let reads = (BLOCK * BLOCKS) as f64;
    let [get, reset, kept, by_reset, by_kept] = all.map(|mut all| {
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    });
    println!("{:8.1} ns  Session::get", get / reads);
    for (name, ns, ratio) in [("with reset", reset, by_reset), ("without", kept, by_kept)] {
        let ns = ns / reads;
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
    (0..RECORDS).try_for_each(|number| session.put(&key(number), &[b'v'; 100]))
}

fn key(number: u64) -> Key {
    let mut key = [0; 16];
    key[8..].copy_from_slice(&number.to_be_bytes());
    key
}

/// Random keys, the same for both in a round, prepared before the clock starts.
fn read(session: &mut impl Session, round: u64) -> Duration {
    let (mut state, mut took) = (round, Duration::ZERO);
    for _ in 0..BLOCKS {
        let keys: Vec<Key> = (0..BLOCK).map(|_| key(next(&mut state) % RECORDS)).collect();
        let start = now();
        get_all(session, &keys);
        took += now().saturating_sub(start);
    }
    took
}

/// Of the thread's processor: others on the machine count less.
fn now() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

#[inline(never)]
fn get_all(session: &mut impl Session, keys: &[Key]) {
    let touch = |value: &[u8]| value.iter().map(|&byte| u64::from(byte)).sum::<u64>();
    let mut sum = 0;
    for key in keys {
        match session.get(key, |value| value.map(touch)) {
            Ok(Some(touched)) => sum += touched,
            other => panic!("{other:?}"),
        }
    }
    black_box(sum);
}

/// `SplitMix64`.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
