//! Faults of a store without a mirror: each is noticed, and what can be restored is.

use crate::bench_location::{
    Bench, assert_all, assert_counter, bytes_at, event_texts, flip, get, header, key, put_all,
    scribble, value,
};
use kvdyno_direct::format::HEADERS;
use kvdyno_engine::{Durability, Engine, ErrorClass, Session, Write};
use std::fs::File;

const ASYNC: Durability = Durability::Async;
const COMMIT: Durability = Durability::Commit;

/// Where a block lies in the only copy.
fn block_offset(bench: &Bench, block: u64) -> u64 {
    header(&bench.file(0)).geometry.block_offset(block)
}

#[test]
fn a_flipped_bit_is_noticed_and_only_its_block_is_lost() {
    let bench = Bench::new(ASYNC, 16, false).filled();
    flip(&bench.file(0), block_offset(&bench, 2) + 700);
    let engine = bench.open().unwrap();
    let mut session = engine.session().unwrap();
    for number in 32..48 {
        let error = get(&mut session, number).unwrap_err();
        assert_eq!(error.class, ErrorClass::Corrupt);
        assert!(error.message.contains("block 2 (records 32 to 47)"), "{error}");
        let error = session.put(&key(number), &value(number, 2)).unwrap_err();
        assert_eq!(error.class, ErrorClass::Corrupt, "its neighbours are not known");
    }
    assert_all(&engine, 0..32, 1);
    assert_all(&engine, 48..1000, 1);
    // Written as a whole, it is a block like any other.
    let keys: Vec<_> = (32..48).map(key).collect();
    let values: Vec<_> = (32..48).map(|number| value(number, 2)).collect();
    let batch = keys.iter().zip(&values).map(|(key, value)| Write::Put { key, value });
    session.write(&batch.collect::<Vec<_>>()).unwrap();
    assert_all(&engine, 32..48, 2);
}

#[test]
fn a_write_that_went_astray_is_noticed() {
    let bench = Bench::new(ASYNC, 16, false).filled();
    let image = bytes_at(&bench.file(0), block_offset(&bench, 5), 4096);
    scribble(&bench.file(0), block_offset(&bench, 6), &image);
    let engine = bench.open().unwrap();
    let error = get(&mut engine.session().unwrap(), 96).unwrap_err();
    assert_eq!(error.class, ErrorClass::Corrupt);
    assert!(error.message.contains("block 5"), "{error}");
}

/// The limit that docs/direct-format.md states.
#[test]
fn a_block_that_reverts_to_zeros_looks_never_written() {
    let bench = Bench::new(ASYNC, 16, false).filled();
    scribble(&bench.file(0), block_offset(&bench, 2), &[0; 4096]);
    let engine = bench.open().unwrap();
    assert_eq!(get(&mut engine.session().unwrap(), 32), Ok(None));
    assert_all(&engine, 48..1000, 1);
}

#[test]
fn one_damaged_header_is_restored_from_the_other() {
    for offset in HEADERS {
        let bench = Bench::new(ASYNC, 16, false).filled();
        flip(&bench.file(0), offset + 41);
        let engine = bench.open().unwrap();
        assert_counter(&engine, "headers_repaired", 1);
        assert_all(&engine, 0..1000, 1);
        engine.close().unwrap();
        let engine = bench.open().unwrap();
        assert_counter(&engine, "headers_repaired", 0);
    }
}

#[test]
fn without_a_header_nothing_is_guessed() {
    let bench = Bench::new(ASYNC, 16, false).filled();
    for offset in HEADERS {
        flip(&bench.file(0), offset + 41);
    }
    let error = bench.open().unwrap_err();
    assert_eq!(error.class, ErrorClass::Corrupt);
}

#[test]
fn a_file_that_was_cut_short_is_refused() {
    let bench = Bench::new(ASYNC, 16, false).filled();
    let file = File::options().write(true).open(bench.file(0)).unwrap();
    file.set_len(block_offset(&bench, 3)).unwrap();
    let error = bench.open().unwrap_err();
    assert_eq!(error.class, ErrorClass::Corrupt);
    assert!(error.message.contains("bytes, found"), "{error}");
}

/// Of a write in place only the first half, or sector, has reached the drive.
#[test]
fn a_torn_block_of_a_commit_is_restored() {
    for reached in [512, 2048] {
        let bench = Bench::new(COMMIT, 0, false).filled();
        let old = bytes_at(&bench.file(0), block_offset(&bench, 2), 4096);
        let engine = bench.open().unwrap();
        // The last record of block 2 lies past both tears.
        put_all(&engine, 116..117, 2);
        drop(engine);
        scribble(&bench.file(0), block_offset(&bench, 2) + reached, &old[reached as usize..]);
        let engine = bench.open().unwrap();
        assert_counter(&engine, "restored_from_journal", 1);
        assert_all(&engine, 116..117, 2);
        assert_all(&engine, 0..116, 1);
        assert_all(&engine, 117..1000, 1);
    }
}

/// The write in place was lost as a whole: it was not flushed, its image in the journal was.
#[test]
fn a_lost_block_of_a_commit_is_restored() {
    let bench = Bench::new(COMMIT, 16, false).filled();
    let old = bytes_at(&bench.file(0), block_offset(&bench, 2), 4096);
    let engine = bench.open().unwrap();
    put_all(&engine, 40..41, 2);
    drop(engine);
    scribble(&bench.file(0), block_offset(&bench, 2), &old);
    let engine = bench.open().unwrap();
    assert_all(&engine, 40..41, 2);
    engine.close().unwrap();
    let engine = bench.open().unwrap();
    assert_counter(&engine, "restored_from_journal", 0);
}

/// The power went while the image was written to the journal: the block itself is as it was.
#[test]
fn a_torn_image_in_the_journal_is_left_alone() {
    let bench = Bench::new(COMMIT, 16, false).filled();
    let old = bytes_at(&bench.file(0), block_offset(&bench, 2), 4096);
    let engine = bench.open().unwrap();
    put_all(&engine, 40..41, 2);
    drop(engine);
    scribble(&bench.file(0), block_offset(&bench, 2), &old);
    let journal = header(&bench.file(0)).geometry.journal_offset(0);
    scribble(&bench.file(0), journal + 2048, &[0xaa; 2048]);
    let engine = bench.open().unwrap();
    assert_counter(&engine, "restored_from_journal", 0);
    assert_all(&engine, 0..1000, 1);
}

#[test]
fn a_torn_block_of_class_async_is_noticed() {
    let bench = Bench::new(ASYNC, 16, false).filled();
    let old = bytes_at(&bench.file(0), block_offset(&bench, 2), 4096);
    let engine = bench.open().unwrap();
    put_all(&engine, 40..41, 2);
    drop(engine);
    scribble(&bench.file(0), block_offset(&bench, 2) + 512, &old[512..]);
    let engine = bench.open().unwrap();
    let error = get(&mut engine.session().unwrap(), 33).unwrap_err();
    assert_eq!(error.class, ErrorClass::Corrupt);
}

/// A block that was damaged later must not silently become what it was long ago.
#[test]
fn images_of_earlier_openings_are_not_restored() {
    let bench = Bench::new(COMMIT, 16, false).filled();
    let bench = Bench { durability: ASYNC, ..bench };
    let engine = bench.open().unwrap();
    put_all(&engine, 40..41, 2);
    engine.sync().unwrap();
    drop(engine);
    flip(&bench.file(0), block_offset(&bench, 2) + 700);
    let engine = bench.open().unwrap();
    let error = get(&mut engine.session().unwrap(), 40).unwrap_err();
    assert_eq!(error.class, ErrorClass::Corrupt);
}

#[test]
fn what_is_fixed_cannot_be_changed_and_records_can_be_added() {
    let mut bench = Bench::new(ASYNC, 16, false).filled();
    bench.pack = 8;
    assert_eq!(bench.open().unwrap_err().class, ErrorClass::Invalid);
    bench.pack = 0;
    bench.shape.value_bytes_max = 101;
    assert_eq!(bench.open().unwrap_err().class, ErrorClass::Invalid);
    bench.shape.value_bytes_max = 100;
    bench.shape.records_max = 5000;
    let engine = bench.open().unwrap();
    assert_counter(&engine, "pack", 16);
    put_all(&engine, 4000..5000, 1);
    assert_all(&engine, 0..1000, 1);
    assert_all(&engine, 4000..5000, 1);
    let error = engine.session().unwrap().put(&key(5000), b"x").unwrap_err();
    assert_eq!(error.class, ErrorClass::Invalid);
    engine.close().unwrap();
    bench.shape.records_max = u64::MAX;
    let error = bench.open().unwrap_err();
    assert_eq!(error.class, ErrorClass::Invalid, "{error}");
}

#[test]
fn one_process_at_a_time() {
    let bench = Bench::new(ASYNC, 16, false);
    let engine = bench.open().unwrap();
    assert_eq!(bench.open().unwrap_err().class, ErrorClass::Unavailable);
    engine.close().unwrap();
    assert_eq!(event_texts(&bench.open().unwrap(), "copies_given_up"), [] as [&str; 0]);
}
