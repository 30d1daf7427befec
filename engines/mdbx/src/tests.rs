//! Tests with the conformance kit in two classes, and of settings that libmdbx needs.

use super::engine::Mdbx;
use kvdyno_engine::{
    DataShape, Durability, Engine, ErrorClass, Location, Options, Preset, Session, Value,
    conformance,
};

const SHAPE: DataShape = DataShape::uniform(1000, 8, 100);

#[test]
fn conforms() {
    let scratch = tempfile::tempdir().unwrap();
    let report = conformance::run::<Mdbx>(scratch.path());
    assert!(report.conforms(), "{report}");
}

/// The kit takes the weakest class, which writes through the map; this one copies pages.
#[test]
fn conforms_without_writing_through_the_map() {
    let scratch = tempfile::tempdir().unwrap();
    let report = conformance::run::<conformance::Only<Mdbx, 1>>(scratch.path());
    assert!(report.conforms(), "{report}");
}

/// libmdbx reports that it runs with the settings of each class.
#[test]
fn flags_and_geometry_are_read_back() {
    for (class, sync) in [
        (Durability::None, "MDBX_UTTERLY_NOSYNC|MDBX_WRITEMAP|"),
        (Durability::Async, "MDBX_SAFE_NOSYNC|"),
        (Durability::Commit, ""),
    ] {
        let scratch = tempfile::tempdir().unwrap();
        let location = Location::Directory(scratch.path().to_owned());
        let mut options = Options::defaults(&Mdbx::describe(), class);
        options.values.insert("size_upper".to_owned(), Value::Integer(64 << 20));
        options.values.insert("page_size".to_owned(), Value::Integer(8192));
        let counters = Mdbx::open(&location, &options, &SHAPE).unwrap().counters();
        let flags = format!("{sync}MDBX_NOSTICKYTHREADS|MDBX_NORDAHEAD");
        assert_eq!(counters["mdbx_env_get_flags"], flags.as_str().into());
        assert_eq!(counters["mi_geo.upper"], Value::Integer(64 << 20));
        assert_eq!(counters["ms_psize"], Value::Integer(8192));
    }
}

/// By default libmdbx flushes almost every commit of class async; with `sync_bytes` few. (In class
/// commit small writes go through another handle, `O_DSYNC`, and are not counted.)
#[test]
fn commits_of_class_async_are_not_flushed_each() {
    const COMMITS: u64 = 100;
    for (preset, flushes) in [(None, false), (Some(Preset::Defaults), true)] {
        let class = Durability::Async;
        let scratch = tempfile::tempdir().unwrap();
        let location = Location::Directory(scratch.path().to_owned());
        let options = match preset {
            Some(preset) => {
                Options::from_preset(&Mdbx::describe(), class, preset, 1 << 30).unwrap()
            }
            None => Options::defaults(&Mdbx::describe(), class),
        };
        let engine = Mdbx::open(&location, &options, &SHAPE).unwrap();
        let count = || match engine.counters()["mi_pgop_stat.fsync"] {
            Value::Integer(count) => count,
            ref other => panic!("{other}"),
        };
        let before = count();
        let mut session = engine.session().unwrap();
        for number in 0..COMMITS {
            session.put(&number.to_be_bytes(), b"value").unwrap();
        }
        let flushed = count() - before;
        assert!(if flushes { flushed >= COMMITS } else { flushed == 0 }, "{preset:?}: {flushed}");
    }
}

#[test]
fn a_full_map_is_told_as_full_and_leaves_what_was_there() {
    let scratch = tempfile::tempdir().unwrap();
    let location = Location::Directory(scratch.path().to_owned());
    let mut options = Options::defaults(&Mdbx::describe(), Durability::Async);
    options.values.insert("size_upper".to_owned(), Value::Integer(1 << 20));
    let engine = Mdbx::open(&location, &options, &SHAPE).unwrap();
    let mut session = engine.session().unwrap();
    let mut stored = 0_u64;
    let refused = loop {
        match session.put(&stored.to_be_bytes(), &[7; 1000]) {
            Ok(()) => stored += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(refused.class, ErrorClass::Full, "{refused}");
    assert!(stored > 100, "{stored} stored");
    for number in 0..stored {
        assert_eq!(
            session.get(&number.to_be_bytes(), |value| value.map(<[u8]>::len)),
            Ok(Some(1000))
        );
    }
}

/// Counters are read around every phase. A walk over the data would show in faults on pages that
/// this thread had not touched.
#[test]
fn counters_walk_no_data() {
    const RECORDS: u64 = 20_000;
    let scratch = tempfile::tempdir().unwrap();
    let location = Location::Directory(scratch.path().to_owned());
    let options = Options::defaults(&Mdbx::describe(), Durability::Async);
    let shape = DataShape { records: RECORDS, records_max: RECORDS, ..SHAPE };
    let engine = Mdbx::open(&location, &options, &shape).unwrap();
    let mut session = engine.session().unwrap();
    for number in 0..RECORDS {
        session.put(&number.to_be_bytes(), &[7; 100]).unwrap();
    }
    drop(session);
    engine.close().unwrap();
    let engine = Mdbx::open(&location, &options, &shape).unwrap();
    let before = faults();
    let counters = engine.counters();
    let faults_taken = faults() - before;
    assert_eq!(counters["ms_entries"], Value::Integer(RECORDS));
    let Value::Integer(pages) = counters["ms_leaf_pages"] else { panic!("{counters:?}") };
    // The kernel maps at most sixteen pages at a fault.
    assert!(pages > 500 && faults_taken < pages / 16, "{faults_taken} faults for {pages} pages");
}

/// Returns the page faults of this thread so far, of both kinds.
fn faults() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
    let (_, stat) = stat.rsplit_once(')').unwrap();
    let fields: Vec<&str> = stat.split_whitespace().collect();
    fields[7].parse::<u64>().unwrap() + fields[9].parse::<u64>().unwrap()
}
