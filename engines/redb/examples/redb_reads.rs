//! The cost of the adapter: random reads in cache by redb's own calls, and by `Session::get`.
//!
//!     cargo run --release -p kvdyno-redb --example redb_reads -- DIRECTORY

#![expect(clippy::print_stdout, reason = "its figures")]

#[path = "../src/describe.rs"]
mod describe;
#[path = "../src/engine.rs"]
mod engine;
#[path = "../src/table.rs"]
mod table;

use engine::Redb;
use kvdyno_engine::{Durability, Engine, Result};
use kvdyno_testing::turns::{self, Key, ROUNDS, Turns, read_by_trait, time_warm_reads, touch};
use redb::ReadableDatabase as _;
use std::path::PathBuf;
use table::TABLE;

fn main() -> Result<()> {
    let argument = std::env::args().nth(1).unwrap_or_else(|| "/var/tmp".to_owned());
    let dir = PathBuf::from(argument).join("kvdyno-redb-reads");
    // With a cache that all of the data fits in.
    let options = [("cache_size", (1 << 30).into())];
    let engine: Redb = turns::open(&dir, Durability::None, &options)?;
    turns::load(&engine)?;
    let mut session = engine.session()?;
    let by_hand = |key: &Key| {
        let transaction = engine.database.begin_read().expect("a transaction");
        let table = transaction.open_table(TABLE).expect("the table");
        let value = table.get(key.as_slice()).expect("a lookup").expect("a record");
        touch(value.value())
    };
    let mut turns = Turns::new(["begin_read, open_table, get"]);
    for round in 0..ROUNDS {
        let adapter = time_warm_reads(round, |key| read_by_trait(&mut session, key));
        turns.add(adapter, [time_warm_reads(round, by_hand)]);
    }
    println!("{turns}");
    drop(session);
    engine.close()?;
    Ok(std::fs::remove_dir_all(dir)?)
}
