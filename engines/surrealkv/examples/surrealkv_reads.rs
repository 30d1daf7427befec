//! The cost of the adapter: random reads in cache by surrealkv's own calls, and by `Session::get`.
//!
//!     cargo run --release -p kvdyno-surrealkv --example surrealkv_reads -- DIRECTORY

#![expect(clippy::print_stdout, reason = "its figures")]

#[path = "../src/describe.rs"]
mod describe;
#[path = "../src/engine.rs"]
mod engine;
#[path = "../src/events.rs"]
mod events;
#[path = "../src/transaction.rs"]
mod transaction;

use engine::SurrealKv;
use kvdyno_engine::{Durability, Engine, Result};
use kvdyno_testing::turns::{self, Key, ROUNDS, Turns, read_by_trait, time_warm_reads, touch};
use std::path::PathBuf;
use surrealkv::Mode;

fn main() -> Result<()> {
    let argument = std::env::args().nth(1).unwrap_or_else(|| "/var/tmp".to_owned());
    let dir = PathBuf::from(argument).join("kvdyno-surrealkv-reads");
    // With a cache that all of the data fits in.
    let options = [("block_cache_capacity", (1 << 30).into())];
    let engine: SurrealKv = turns::open(&dir, Durability::Async, &options)?;
    turns::load(&engine)?;
    let mut session = engine.session()?;
    let by_hand = |key: &Key| {
        let transaction = engine.tree.begin_with_mode(Mode::ReadOnly).expect("a transaction");
        let value = transaction.get(key.as_slice()).expect("a lookup").expect("a record");
        touch(&value)
    };
    let mut turns = Turns::new(["begin_with_mode(ReadOnly), get"]);
    for round in 0..ROUNDS {
        let adapter = time_warm_reads(round, |key| read_by_trait(&mut session, key));
        turns.add(adapter, [time_warm_reads(round, by_hand)]);
    }
    println!("{turns}");
    engine.close()?;
    Ok(std::fs::remove_dir_all(dir)?)
}
