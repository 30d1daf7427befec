//! What the adapter costs: random reads in cache by surrealkv's own calls, and by `Session::get`.
//!
//!     cargo run --release -p kvdyno-surrealkv --example surrealkv_reads -- DIRECTORY

#![expect(clippy::print_stdout, reason = "its figures")]

#[path = "../src/describe.rs"]
mod describe;
#[path = "../src/engine.rs"]
mod engine;
#[path = "../src/events.rs"]
mod events;
#[path = "../src/within.rs"]
mod within;

use engine::SurrealKv;
use kvdyno_engine::{DataShape, Durability, Engine, Options, Place, Result, Session, Write};
use kvdyno_testing::turns::{self, Key, RECORDS, touch};
use std::path::PathBuf;
use std::time::Duration;
use surrealkv::Mode;

fn main() -> Result<()> {
    let argument = std::env::args().nth(1).unwrap_or_else(|| "/var/tmp".to_owned());
    let folder = PathBuf::from(argument).join("kvdyno-surrealkv-reads");
    std::fs::create_dir_all(&folder)?;
    let engine = loaded(folder.clone())?;
    let mut session = engine.session()?;
    let by_hand = |key: &Key| {
        let transaction = engine.tree.begin_with_mode(Mode::ReadOnly).expect("a transaction");
        let value = transaction.get(key.as_slice()).expect("a lookup").expect("a record");
        touch(&value)
    };
    let by_trait = |key: &Key| match session.get(key, |value| value.map(touch)) {
        Ok(Some(touched)) => touched,
        other => panic!("{other:?}"),
    };
    println!(
        "{}",
        turns::compare(["begin_with_mode(ReadOnly), get", "Session::get"], by_hand, by_trait)
    );
    engine.close()?;
    Ok(std::fs::remove_dir_all(folder)?)
}

/// With a cache that all of the data fits in.
fn loaded(folder: PathBuf) -> Result<SurrealKv> {
    const BATCH: u64 = 1000;
    let data = DataShape {
        records: RECORDS,
        records_max: RECORDS,
        key_bytes: 16,
        value_bytes_mean: 100,
        value_bytes_max: 100,
        sessions: 1,
        depth: 1,
    };
    let mut options = Options::defaults(&SurrealKv::describe(), Durability::Async);
    options.values.insert("block_cache_capacity".to_owned(), (1 << 30).into());
    let engine = SurrealKv::open(&Place::Directory(folder), &options, &data)?;
    let mut session = engine.session()?;
    for first in (0..RECORDS).step_by(BATCH as usize) {
        let keys: Vec<Key> = (first..first + BATCH).map(turns::key).collect();
        let writes = keys.iter().map(|key| Write::Put { key, value: &[b'v'; 100] });
        session.write(&writes.collect::<Vec<_>>())?;
    }
    engine.settle(Duration::from_mins(1))?;
    Ok(engine)
}
