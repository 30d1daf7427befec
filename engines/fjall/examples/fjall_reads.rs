//! What the adapter costs: random reads in cache by fjall's own calls, and by `Session::get`.
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
use kvdyno_engine::{DataShape, Durability, Engine, Options, Place, Result, Session, Write};
use kvdyno_testing::turns::{self, Key, RECORDS, touch};
use std::path::PathBuf;
use std::time::Duration;

fn main() -> Result<()> {
    let argument = std::env::args().nth(1).unwrap_or_else(|| "/var/tmp".to_owned());
    let folder = PathBuf::from(argument).join("kvdyno-fjall-reads");
    std::fs::create_dir_all(&folder)?;
    let engine = loaded(folder.clone())?;
    let mut session = engine.session()?;
    let by_hand = |key: &Key| {
        let value = engine.0.keyspace.get(key).expect("a lookup").expect("a record");
        touch(&value)
    };
    let by_trait = |key: &Key| match session.get(key, |value| value.map(touch)) {
        Ok(Some(touched)) => touched,
        other => panic!("{other:?}"),
    };
    println!("{}", turns::compare(["Keyspace::get", "Session::get"], by_hand, by_trait));
    drop(session);
    engine.close()?;
    Ok(std::fs::remove_dir_all(folder)?)
}

/// With a cache that all of the data fits in.
fn loaded(folder: PathBuf) -> Result<Fjall> {
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
    let mut options = Options::defaults(&Fjall::describe(), Durability::Async);
    options.values.insert("cache_size".to_owned(), (1 << 30).into());
    let engine = Fjall::open(&Place::Directory(folder), &options, &data)?;
    let mut session = engine.session()?;
    for first in (0..RECORDS).step_by(BATCH as usize) {
        let keys: Vec<Key> = (first..first + BATCH).map(turns::key).collect();
        let writes = keys.iter().map(|key| Write::Put { key, value: &[b'v'; 100] });
        session.write(&writes.collect::<Vec<_>>())?;
    }
    drop(session);
    engine.settle(Duration::from_mins(1))?;
    Ok(engine)
}
