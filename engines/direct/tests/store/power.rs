//! Power loss: whatever of the writes that were not flushed has reached the drive, what a commit
//! has acknowledged is there, and its neighbours are whole. Class `async` is the counter-check: the
//! same explorer must find losses there.

use crate::bench_place::{get, key, options, shape, value};
use crate::recorder::{DRIVE_BYTES, Entry, Lost, Recorder, state_after};
use kvdyno_direct::Direct;
use kvdyno_engine::{Durability, Engine, Place, Session};
use rustix::fs::OFlags;
use std::collections::BTreeMap;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const RECORDS: u64 = 64;
const PACK: u64 = 16;
const VERSIONS: u64 = 8;
const DEPTH: u32 = 6;

/// Acknowledged, as a record and its version, when the load is done and closed.
const LOADED: (u64, u64) = (RECORDS, 1);

fn open(drives: &[PathBuf], durability: Durability) -> kvdyno_engine::Result<Direct> {
    let options = options(durability, PACK, Path::new(""));
    let device = |drive: &PathBuf| Place::Device(drive.clone());
    let mirror = drives.get(1).map(|drive| (device(drive), String::new()));
    Direct::open_with(&device(&drives[0]), mirror, &options, &shape(RECORDS, DEPTH))
}

/// Two threads raise the versions of their records, many in flight in the same blocks, and say when
/// each was acknowledged.
fn record(recorder: &Recorder, engine: &Direct) {
    std::thread::scope(|scope| {
        for thread in 0..2 {
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
                                recorder.acknowledge(few[ticket as usize], version);
                            });
                            open -= answered.unwrap();
                        }
                    }
                }
            });
        }
    });
}

/// What is wrong with a store that is opened after the power loss.
fn faults(drives: &[PathBuf], acknowledged: &BTreeMap<u64, u64>) -> Vec<String> {
    let engine = match open(drives, Durability::Commit) {
        Ok(engine) => engine,
        Err(error) => return vec![format!("open: {error}")],
    };
    let mut session = engine.session().unwrap();
    let mut found = Vec::new();
    for number in 0..RECORDS {
        let least = acknowledged.get(&number).copied().unwrap_or(1);
        let sound = |shown: &Option<Vec<u8>>| {
            (least..=VERSIONS).any(|version| *shown == Some(value(number, version)))
        };
        match get(&mut session, number) {
            Ok(shown) if sound(&shown) => {}
            other => found.push(format!("record {number}, acknowledged {least}: {other:?}")),
        }
    }
    found
}

fn write_state(folder: &Path, state: &[Vec<u8>]) -> Vec<PathBuf> {
    let write = |(number, drive): (usize, &Vec<u8>)| {
        let path = folder.join(format!("drive{number}"));
        std::fs::write(&path, drive).unwrap();
        path
    };
    state.iter().enumerate().map(write).collect()
}

/// In memory where `O_DIRECT` works there (Linux 6.6): a state costs a dozen flushes.
fn quick_folder() -> TempDir {
    let memory = tempfile::tempdir_in("/dev/shm").ok().filter(|folder| {
        let mut options = std::fs::File::options();
        options.create(true).write(true).custom_flags(OFlags::DIRECT.bits() as i32);
        options.open(folder.path().join("try")).is_ok()
    });
    memory.unwrap_or_else(|| tempfile::tempdir().unwrap())
}

/// What the drives hold after the load, and what happened from then on. `None`: no FUSE here.
fn recording(drives: usize, durability: Durability) -> Option<(Vec<Vec<u8>>, Vec<Entry>)> {
    let recorder = Recorder::mount(drives)?;
    let paths: Vec<PathBuf> = (0..drives).map(|drive| recorder.drive(drive)).collect();
    let engine = open(&paths, durability).unwrap();
    let mut session = engine.session().unwrap();
    for number in 0..RECORDS {
        session.put(&key(number), &value(number, 1)).unwrap();
    }
    drop(session);
    engine.close().unwrap();
    recorder.acknowledge(LOADED.0, LOADED.1);
    let engine = open(&paths, durability).unwrap();
    record(&recorder, &engine);
    engine.close().unwrap();

    let log = recorder.finish();
    let loaded = Entry::Acknowledged { record: LOADED.0, version: LOADED.1 };
    let loaded = log.iter().position(|entry| *entry == loaded).unwrap();
    let (load, log) = log.split_at(loaded + 1);
    let empty = vec![vec![0; DRIVE_BYTES]; drives];
    let base = state_after(&empty, load, load.len(), Lost::None, &mut || 0);
    Some((base, log.to_vec()))
}

/// Loses the power at `states` moments; returns how many of them did harm, and the first harm.
/// `None`: there is no FUSE here.
fn explore(drives: usize, durability: Durability, states: u64) -> Option<(u64, Vec<String>)> {
    let (base, log) = recording(drives, durability)?;
    let folder = quick_folder();
    let mut state = 0x2026;
    let mut random = || {
        state = (state ^ (state >> 12)) ^ (state << 25);
        state ^= state >> 27;
        state
    };
    let (mut harmed, mut first) = (0, Vec::new());
    for number in 0..states {
        let moment = random() as usize % log.len();
        let lost = [Lost::All, Lost::None, Lost::SomeWrites, Lost::SomeSectors];
        let lost = lost[number as usize % lost.len()];
        let mut acknowledged = BTreeMap::new();
        for entry in &log[..moment] {
            if let Entry::Acknowledged { record, version } = entry {
                acknowledged.insert(*record, *version);
            }
        }
        let held = state_after(&base, &log, moment, lost, &mut random);
        let mut found = faults(&write_state(folder.path(), &held), &acknowledged);
        if !found.is_empty() {
            harmed += 1;
            found
                .insert(0, format!("power lost after {moment} of {} entries, {lost:?}", log.len()));
            first = if first.is_empty() { found } else { first };
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
