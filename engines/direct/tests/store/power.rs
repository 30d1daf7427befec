//! Power loss: whatever of the writes that were not flushed has reached the drive, what a commit
//! has acknowledged is there, and its neighbours are whole. Class `async` is the counter-check: the
//! same explorer must find losses there.

use crate::bench_location::{get, key, options, shape, value};
use crate::recorder::mount;
use kvdyno_direct::Direct;
use kvdyno_engine::{Durability, Engine, Location, Session};
use kvdyno_torture::{Recorder, State};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const RECORDS: u64 = 64;
const PACK: u64 = 16;
const VERSIONS: u64 = 8;
const DEPTH: u32 = 6;

fn open(drives: &[PathBuf], durability: Durability) -> kvdyno_engine::Result<Direct> {
    let options = options(durability, PACK, Path::new(""));
    let device = |drive: &PathBuf| Location::Device(drive.clone());
    let mirror = drives.get(1).map(|drive| (device(drive), String::new()));
    Direct::open_with(&device(&drives[0]), mirror, &options, &shape(RECORDS, DEPTH))
}

/// Two threads raise the versions of their records, many in flight in the same blocks, and say when
/// each was acknowledged.
fn record(recorder: &Recorder, engine: &Direct) {
    let acknowledgements = File::options().write(true).open(recorder.acknowledgements()).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let acknowledgements = &acknowledgements;
            scope.spawn(move || {
                let mut session = engine.session().unwrap();
                let mine: Vec<u64> = (thread..RECORDS).step_by(2).collect();
                for version in 2..=VERSIONS {
                    for few in mine.chunks(DEPTH as usize) {
                        for (ticket, &number) in (0..).zip(few) {
                            let value = value(number, version);
                            session.submit_put(ticket, &key(number), &value).unwrap();
                        }
                        let mut open = few.len();
                        while open > 0 {
                            let answered = session.complete(|ticket, result| {
                                assert_eq!(result, Ok(None));
                                let both = [few[ticket as usize], version].map(u64::to_le_bytes);
                                acknowledgements.write_all_at(both.as_flattened(), 0).unwrap();
                            });
                            open -= answered.unwrap();
                        }
                    }
                }
            });
        }
    });
}

/// The mistakes in a store that is opened after the power loss.
fn faults(drives: &[PathBuf], acknowledged: &BTreeMap<u64, u64>) -> Vec<String> {
    let engine = match open(drives, Durability::Commit) {
        Ok(engine) => engine,
        Err(error) => return vec![format!("open: {error}")],
    };
    let mut session = engine.session().unwrap();
    let mut mistakes = Vec::new();
    for number in 0..RECORDS {
        let least = acknowledged.get(&number).copied().unwrap_or(1);
        let sound = |shown: &Option<Vec<u8>>| {
            (least..=VERSIONS).any(|version| *shown == Some(value(number, version)))
        };
        match get(&mut session, number) {
            Ok(shown) if sound(&shown) => {}
            other => mistakes.push(format!("record {number}, acknowledged {least}: {other:?}")),
        }
    }
    mistakes
}

/// A store that was loaded, and what happened from then on. `None`: no FUSE here.
fn recording(drives: usize, durability: Durability) -> Option<(Recorder, TempDir)> {
    let (recorder, dir) = mount(drives)?;
    let paths: Vec<PathBuf> = (0..drives).map(|drive| recorder.drive(drive)).collect();
    let engine = open(&paths, durability).unwrap();
    let mut session = engine.session().unwrap();
    for number in 0..RECORDS {
        session.put(&key(number), &value(number, 1)).unwrap();
    }
    drop(session);
    engine.close().unwrap();
    recorder.begin().unwrap();
    let engine = open(&paths, durability).unwrap();
    record(&recorder, &engine);
    engine.close().unwrap();
    Some((recorder, dir))
}

/// Loses the power at `states` moments; returns how many of them did harm, and the first harm.
/// `None`: there is no FUSE here.
fn explore(drives: usize, durability: Durability, states: u64) -> Option<(u64, Vec<String>)> {
    let (recorder, _dir) = recording(drives, durability)?;
    let log_state = recorder.look().unwrap();
    let (mut harmed, mut first) = (0, Vec::new());
    for number in 0..states {
        let state = State::draw(0x2026, number, &(0..log_state.entries));
        let before = log_state.acknowledged.iter().take_while(|(index, _)| *index < state.moment);
        let acknowledged = before.map(|(_, [record, version])| (*record, *version)).collect();
        let served = recorder.serve(&state).unwrap();
        let paths: Vec<PathBuf> = (0..drives).map(|drive| served.drive(drive)).collect();
        let mut mistakes = faults(&paths, &acknowledged);
        if !mistakes.is_empty() {
            harmed += 1;
            mistakes.insert(0, format!("{state:?} of {} entries", log_state.entries));
            first = if first.is_empty() { mistakes } else { first };
        }
    }
    Some((harmed, first))
}

#[test]
fn commits_survive() {
    let Some((harmed, first)) = explore(1, Durability::Commit, 300) else { return };
    assert_eq!(harmed, 0, "{first:#?}");
}

#[test]
fn mirrored_commits_survive() {
    let Some((harmed, first)) = explore(2, Durability::Commit, 100) else { return };
    assert_eq!(harmed, 0, "{first:#?}");
}

#[test]
fn class_async_does_lose() {
    let Some((harmed, _)) = explore(1, Durability::Async, 40) else { return };
    assert!(harmed > 10, "{harmed} of 40 states: the explorer would not notice a loss");
}
