//! Two copies: one repairs the other, stands in for it, and is never beaten by one that was away.

use crate::bench_location::{
    Bench, assert_all, assert_counter, bytes_at, event_texts, flip, get, header, key, put_all,
    scribble, value,
};
use kvdyno_direct::format::HEADERS;
use kvdyno_engine::{Durability, Engine, ErrorClass, Session, Value};
use std::fs::{self, File};

fn mirrored(durability: Durability) -> Bench {
    Bench::new(durability, 16, true).filled()
}

fn block_offset(bench: &Bench, block: u64) -> u64 {
    header(&bench.file(0)).geometry.block_offset(block)
}

/// Both copies hold the same blocks, byte for byte.
#[track_caller]
fn assert_same_data(bench: &Bench) {
    let geometry = header(&bench.file(0)).geometry;
    let bytes = (geometry.file_bytes() - geometry.data_offset()) as usize;
    let copies = [0, 1].map(|copy| bytes_at(&bench.file(copy), geometry.data_offset(), bytes));
    assert!(copies[0] == copies[1], "the copies differ");
}

#[test]
fn both_copies_hold_the_same() {
    for durability in [Durability::Async, Durability::Commit] {
        let bench = mirrored(durability);
        assert_same_data(&bench);
        assert_eq!(header(&bench.file(0)), header(&bench.file(1)));
    }
}

#[test]
fn a_damaged_block_is_repaired_from_the_other_copy() {
    let zeros = [0; 4096];
    for block in [4, 5] {
        for damage in ["bit", "torn", "zeros"] {
            let bench = mirrored(Durability::Async);
            // The copy that this block is read from.
            let (file, offset) = (bench.file(block as usize % 2), block_offset(&bench, block));
            match damage {
                "bit" => flip(&file, offset + 99),
                "torn" => scribble(&file, offset + 512, &zeros[512..]),
                _ => scribble(&file, offset, &zeros),
            }
            let engine = bench.open().unwrap();
            assert_all(&engine, 0..1000, 1);
            assert_counter(&engine, "repaired", 1);
            let words = event_texts(&engine, "repaired");
            assert!(words[0].contains(&format!("block {block} (records")), "{words:?}");
            engine.close().unwrap();
            assert_same_data(&bench);
        }
    }
}

#[test]
fn a_write_to_a_damaged_block_keeps_its_neighbours() {
    let bench = mirrored(Durability::Commit);
    scribble(&bench.file(0), block_offset(&bench, 4), &[0; 4096]);
    let engine = bench.open().unwrap();
    put_all(&engine, 64..65, 2);
    assert_all(&engine, 64..65, 2);
    assert_all(&engine, 65..1000, 1);
    engine.close().unwrap();
    assert_same_data(&bench);
}

#[test]
fn damage_in_both_copies() {
    let bench = mirrored(Durability::Async);
    // Different blocks: each copy repairs the other.
    flip(&bench.file(0), block_offset(&bench, 2) + 5);
    flip(&bench.file(1), block_offset(&bench, 3) + 5);
    // The same block: lost.
    flip(&bench.file(0), block_offset(&bench, 10) + 5);
    flip(&bench.file(1), block_offset(&bench, 10) + 50);
    let engine = bench.open().unwrap();
    assert_all(&engine, 0..160, 1);
    assert_all(&engine, 176..1000, 1);
    assert_counter(&engine, "repaired", 2);
    let error = get(&mut engine.session().unwrap(), 161).unwrap_err();
    assert_eq!(error.class, ErrorClass::Corrupt);
    assert!(error.message.contains("block 10 (records 160 to 175)"), "{error}");
}

#[test]
fn a_copy_that_is_gone_cut_short_or_without_headers_is_made_anew() {
    for copy in [0, 1] {
        for damage in ["gone", "short", "headers"] {
            let mut bench = mirrored(Durability::Async);
            let file = bench.file(copy);
            match damage {
                "gone" => fs::remove_file(&file).unwrap(),
                "short" => {
                    let opened = File::options().write(true).open(&file).unwrap();
                    opened.set_len(block_offset(&bench, 3)).unwrap();
                }
                _ => HEADERS.iter().for_each(|offset| flip(&file, offset + 20)),
            }
            if (copy, damage) == (0, "gone") {
                // It may be the mirror of an earlier run.
                let error = bench.open().unwrap_err();
                assert_eq!(error.class, ErrorClass::Invalid);
                assert!(error.message.contains("rebuild = true"), "{error}");
                bench.rebuild = true;
            }
            let engine = bench.open().unwrap();
            let words = event_texts(&engine, "resilvered_bytes");
            assert!(words[0].contains("bytes copied, 0 bad blocks"), "{words:?}");
            assert_counter(&engine, "copies_in_use", 2);
            assert_all(&engine, 0..1000, 1);
            engine.close().unwrap();
            assert_same_data(&bench);
        }
    }
}

#[test]
fn a_copy_that_was_away_does_not_win() {
    let bench = mirrored(Durability::Async);
    let (away, parked) = (bench.mirror(), bench.mirror().with_extension("parked"));
    fs::rename(&away, &parked).unwrap();
    // A name that is not there may be a mistake: nothing is given up for it, and nothing made.
    let error = bench.open().unwrap_err();
    assert_eq!(error.class, ErrorClass::Invalid, "{error}");
    assert!(!away.exists());
    let bench = Bench { mirrored: false, ..bench };
    let engine = bench.open().unwrap();
    assert_counter(&engine, "copies_in_use", 1);
    put_all(&engine, 0..500, 2);
    engine.close().unwrap();
    fs::rename(&parked, &away).unwrap();
    let bench = Bench { mirrored: true, ..bench };
    let engine = bench.open().unwrap();
    assert_counter(&engine, "copies_in_use", 2);
    assert_all(&engine, 0..500, 2);
    assert_all(&engine, 500..1000, 1);
    engine.close().unwrap();
    assert_same_data(&bench);
}

/// The first place may be the one that was away.
#[test]
fn the_first_place_does_not_win_either() {
    let bench = mirrored(Durability::Commit);
    let (file, parked) = (bench.file(0), bench.store_dir().join("parked"));
    fs::copy(&file, &parked).unwrap();
    let engine = bench.open().unwrap();
    put_all(&engine, 0..500, 2);
    engine.close().unwrap();
    fs::rename(&parked, &file).unwrap();
    let engine = bench.open().unwrap();
    assert_all(&engine, 0..500, 2);
    assert_all(&engine, 500..1000, 1);
    assert_eq!(event_texts(&engine, "resilvered_bytes").len(), 1);
}

#[test]
fn copies_that_were_written_apart_are_refused() {
    let bench = mirrored(Durability::Async);
    let (mirror, parked) = (bench.file(1), bench.mirror().join("parked"));
    let alone = Bench { mirrored: false, ..bench };
    alone.open().unwrap().close().unwrap();
    // The mirror's life without the first place: a store of its own, in another directory.
    fs::copy(&mirror, &parked).unwrap();
    let first = fs::read(alone.file(0)).unwrap();
    fs::copy(&mirror, alone.file(0)).unwrap();
    alone.open().unwrap().close().unwrap();
    fs::rename(alone.file(0), &mirror).unwrap();
    fs::remove_file(&parked).unwrap();
    fs::write(alone.file(0), first).unwrap();
    let error = Bench { mirrored: true, ..alone }.open().unwrap_err();
    assert_eq!(error.class, ErrorClass::Invalid);
}

#[test]
fn a_store_takes_on_a_mirror_later() {
    let bench = Bench::new(Durability::Async, 16, false).filled();
    let bench = Bench { mirrored: true, ..bench };
    bench.open().unwrap().close().unwrap();
    assert_same_data(&bench);
}

#[test]
fn a_new_stores_mirror_gets_its_directory() {
    let bench = Bench::new(Durability::Async, 16, true);
    fs::remove_dir(bench.mirror()).unwrap();
    let bench = bench.filled();
    assert_same_data(&bench);
}

/// What is at the mirror's path is not ours to write over.
#[test]
fn a_mirror_lies_in_a_directory() {
    let bench = Bench::new(Durability::Async, 16, true);
    fs::remove_dir(bench.mirror()).unwrap();
    let zeros = vec![0; 64 << 20];
    fs::write(bench.mirror(), &zeros).unwrap();
    let error = bench.open().unwrap_err();
    assert_eq!(error.class, ErrorClass::Invalid);
    assert!(fs::read(bench.mirror()).unwrap() == zeros, "it was written");
}

#[test]
fn a_block_never_written_is_not_counted_as_read_again() {
    let bench = Bench::new(Durability::Async, 16, true);
    let engine = bench.open().unwrap();
    assert_eq!(get(&mut engine.session().unwrap(), 5), Ok(None));
    assert_counter(&engine, "reread", 0);
}

/// A crash between the writes of the two copies, and a torn one in either: the journal of one copy
/// is enough for both.
#[test]
fn commits_are_restored_in_both_copies() {
    let bench = mirrored(Durability::Commit);
    let offset = block_offset(&bench, 2);
    let old = bytes_at(&bench.file(0), offset, 4096);
    let engine = bench.open().unwrap();
    put_all(&engine, 40..41, 2);
    drop(engine);
    scribble(&bench.file(0), offset, &old);
    scribble(&bench.file(1), offset + 512, &old[512..]);
    let journal = header(&bench.file(0)).geometry.journal_offset(0);
    scribble(&bench.file(1), journal, &[0x55; 512]);
    let engine = bench.open().unwrap();
    assert_counter(&engine, "restored_from_journal", 2);
    assert_all(&engine, 40..41, 2);
    assert_all(&engine, 0..40, 1);
    engine.close().unwrap();
    assert_same_data(&bench);
}

#[test]
fn blocks_are_read_from_both_copies() {
    let bench = mirrored(Durability::Async);
    let engine = bench.open().unwrap();
    // Damage behind the back of an open store shows which copy a block is read from.
    for block in 0..4 {
        flip(&bench.file(0), block_offset(&bench, block) + 50);
    }
    let mut session = engine.session().unwrap();
    for record in [0, 16, 32, 48] {
        assert_eq!(get(&mut session, record), Ok(Some(value(record, 1))));
    }
    session.put(&key(16), &value(16, 1)).unwrap();
    assert_eq!(engine.counters()["repaired"], Value::Integer(2), "blocks 0 and 2");
}
