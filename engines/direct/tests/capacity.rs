//! A hundred billion records: planned, opened as a sparse file, written here and there, in less
//! than 64 MB. In a process of its own, whose peak of memory is nobody else's.

#![expect(clippy::unwrap_used, reason = "a test")]

use kvdyno_direct::Direct;
use kvdyno_engine::{DataShape, Durability, Engine, ErrorClass, Location, Options, Session, Value};
use kvdyno_testing::report_skip;

const RECORDS: u64 = 137_000_000_000;

fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn a_hundred_billion_records_in_64_mb() {
    let dir = tempfile::tempdir().unwrap();
    let location = Location::Directory(dir.path().to_owned());
    let mut options = Options::defaults(&Direct::describe(), Durability::Commit);
    let mut shape = DataShape { sessions: 8, depth: 128, ..DataShape::uniform(RECORDS, 8, 32) };
    let before = peak_kib();
    options.values.insert("pack".to_owned(), Value::Integer(64));
    let engine = match Direct::open(&location, &options, &shape) {
        Ok(engine) => engine,
        Err(error) if error.class == ErrorClass::Invalid => {
            report_skip("files", "a_hundred_billion_records_in_64_mb", &error.to_string());
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let mut sessions: Vec<_> = (0..8).map(|_| engine.session().unwrap()).collect();
    for step in 0..2000_u64 {
        let number = step.wrapping_mul(0x9e37_79b9_7f4a_7c15) % RECORDS;
        let session = &mut sessions[step as usize % 8];
        session.put(&number.to_be_bytes(), &number.to_le_bytes()).unwrap();
        let equal = session.get(&number.to_be_bytes(), |v| v == Some(&number.to_le_bytes()));
        assert_eq!(equal, Ok(true));
    }
    let last = (RECORDS - 1).to_be_bytes();
    sessions[0].put(&last, b"the last one").unwrap();
    drop(sessions);
    engine.close().unwrap();
    let used = peak_kib() - before;
    assert!(used < 64_000, "{used} KiB");

    // One record a block is 560 TB: more than a file of ext4 can be long.
    options.values.insert("pack".to_owned(), Value::Integer(1));
    shape.records_max = u64::MAX;
    let elsewhere = tempfile::tempdir().unwrap();
    let location = Location::Directory(elsewhere.path().to_owned());
    assert_eq!(Direct::open(&location, &options, &shape).unwrap_err().class, ErrorClass::Invalid);
    shape.records_max = RECORDS;
    if let Err(error) = Direct::open(&location, &options, &shape) {
        assert_eq!(error.class, ErrorClass::Invalid);
        assert!(error.message.contains("use xfs"), "{error}");
    }
}
