//! The cost of the adapter: random reads in cache by fjall's own calls, and by `Session::get`.
//!
//!     cargo run --release -p kvdyno-fjall --example fjall_reads -- DIRECTORY

#![expect(clippy::print_stdout, reason = "its figures")]

#[path = "../src/describe.rs"]
mod describe;
#[path = "../src/engine.rs"]
mod engine;
#[path = "../src/events.rs"]
mod events;
#[path = "../src/records.rs"]
mod records;
#[path = "../src/store.rs"]
mod store;

use engine::Fjall;
use kvdyno_engine::{Durability, Engine, Result};
use kvdyno_testing::turns::{self, Key, ROUNDS, Turns, read_by_trait, time_warm_reads, touch};
use std::path::PathBuf;

fn main() -> Result<()> {
    let argument = std::env::args().nth(1).unwrap_or_else(|| "/var/tmp".to_owned());
    let dir = PathBuf::from(argument).join("kvdyno-fjall-reads");
    // With a cache that all of the data fits in.
    let options = [("cache_size", (1 << 30).into())];
    let engine: Fjall = turns::open(&dir, Durability::Async, &options)?;
    turns::load(&engine)?;
    let mut session = engine.session()?;
    let by_hand = |key: &Key| {
        let value = engine.0.keyspace.get(key).expect("a lookup").expect("a record");
        touch(&value)
    };
    let mut turns = Turns::new(["Keyspace::get"]);
    for round in 0..ROUNDS {
        let adapter = time_warm_reads(round, |key| read_by_trait(&mut session, key));
        turns.add(adapter, [time_warm_reads(round, by_hand)]);
    }
    println!("{turns}");
    drop(session);
    engine.close()?;
    Ok(std::fs::remove_dir_all(dir)?)
}
