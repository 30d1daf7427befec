//! The ring on a real file, opened with `O_DIRECT`.

use super::*;
use kvdyno_engine::ErrorClass;
use rustix::fs::OFlags;
use std::os::unix::fs::OpenOptionsExt;

const BLOCK: usize = 4096;

fn direct(dir: &tempfile::TempDir) -> File {
    let direct = OFlags::DIRECT.bits() as i32;
    let path = dir.path().join("blocks");
    File::options().read(true).write(true).create_new(true).custom_flags(direct).open(path).unwrap()
}

fn dir() -> tempfile::TempDir {
    tempfile::tempdir_in("/var/tmp").unwrap()
}

fn contents(block: u64) -> u8 {
    (block * 7 + 1) as u8
}

/// Writes 64 blocks, all in flight, flushes, and reads them back in another order.
fn round_trip(ring: &mut Ring) {
    for slot in 0..64 {
        ring.buffer_mut(slot).fill(contents(u64::from(slot)));
        ring.write(slot, 0, u64::from(slot) * BLOCK as u64, BLOCK).unwrap();
    }
    drain(ring, |_, block| assert_eq!(block.len(), BLOCK));
    ring.fdatasync(3, 0).unwrap();
    drain(ring, |_, nothing| assert!(nothing.is_empty()));
    let block = |slot: u32| u64::from(slot * 29 % 64);
    for slot in 0..64 {
        ring.read(slot, 0, block(slot) * BLOCK as u64, BLOCK).unwrap();
    }
    drain(ring, |slot, read| assert!(read.iter().all(|&byte| byte == contents(block(slot)))));
}

fn drain(ring: &mut Ring, mut check: impl FnMut(u32, &[u8])) {
    ring.send().unwrap();
    let expected = ring.open();
    let mut count = 0;
    while ring.open() > 0 {
        count += ring.complete_with_data(|slot, result| check(slot, result.unwrap())).unwrap();
    }
    assert_eq!(count, expected);
    assert_eq!(ring.complete(|_, _| {}).unwrap(), 0);
}

fn setup() -> Setup {
    Setup { depth: 64, block_bytes: BLOCK, ..Setup::default() }
}

#[test]
fn every_way_carries_64_operations() {
    let dir = dir();
    let files = [direct(&dir)];
    let setups = [
        setup(),
        Setup { registered: false, ..setup() },
        Setup { sqpoll: true, ..setup() },
        Setup { iopoll: true, ..setup() },
        Setup { sqpoll: true, iopoll: true, registered: false, ..setup() },
    ];
    for setup in setups {
        let mut ring = Ring::new(&files, &setup).unwrap();
        let how = ring.effective_setup().clone();
        assert!(how.io_uring, "{how}");
        assert_eq!(how.sqpoll, setup.sqpoll, "{how}");
        assert_eq!(how.iopoll || how.to_string().contains("IOPOLL: "), setup.iopoll, "{how}");
        round_trip(&mut ring);
    }
    round_trip(&mut Ring::psync(&files, &setup()).unwrap());
}

/// A drive that has answered everything idles until it gets more.
#[test]
fn a_slot_is_refilled_while_the_other_answers_wait() {
    let dir = dir();
    let files = [direct(&dir)];
    files[0].set_len(128 * BLOCK as u64).unwrap();
    let mut ring = Ring::new(&files, &setup()).unwrap();
    let offset = |n: u32| u64::from(n) * BLOCK as u64;
    for slot in 0..64 {
        ring.read(slot, 0, offset(slot), BLOCK).unwrap();
    }
    let Carrier::Uring(uring) = &mut ring.carrier else { panic!("{}", ring.how) };
    uring.enter(64).unwrap();
    let mut next = 64;
    for expected in [2, 4, 8, 16, 16] {
        let mut free = Vec::new();
        let count = ring.complete_with_data(|slot, result| {
            assert_eq!(result.map(<[u8]>::len), Ok(BLOCK));
            free.push(slot);
        });
        assert_eq!((count, free.len()), (Ok(expected), expected));
        for slot in free {
            ring.read(slot, 0, offset(next), BLOCK).unwrap();
            next += 1;
        }
        assert_eq!(ring.open(), 64, "the depth is kept");
    }
    drain(&mut ring, |_, block| assert_eq!(block.len(), BLOCK));
}

#[test]
fn a_read_past_the_end_is_an_error_and_never_short() {
    let dir = dir();
    let files = [direct(&dir)];
    files[0].set_len(3 * BLOCK as u64 / 2).unwrap();
    for mut ring in [Ring::new(&files, &setup()), Ring::psync(&files, &setup())].map(Result::unwrap)
    {
        for block in 0..3 {
            ring.read(block, 0, u64::from(block) * BLOCK as u64, BLOCK).unwrap();
        }
        let mut results = vec![None; 3];
        while ring.open() > 0 {
            ring.complete(|slot, result| results[slot as usize] = Some(result)).unwrap();
        }
        let results: Vec<_> = results.into_iter().flatten().collect();
        assert_eq!(results[0], Ok(BLOCK));
        for result in &results[1..] {
            assert!(result.is_err(), "{result:?}");
        }
    }
}

#[test]
fn misuse_is_an_error() {
    let dir = dir();
    let mut ring = Ring::new(&[direct(&dir)], &setup()).unwrap();
    ring.read(0, 0, 0, BLOCK).unwrap();
    for (slot, file, bytes) in [(0, 0, BLOCK), (64, 0, BLOCK), (1, 1, BLOCK), (1, 0, BLOCK + 1)] {
        let error = ring.read(slot, file, 0, bytes).unwrap_err();
        assert_eq!(error.class, ErrorClass::Invalid, "{error}");
    }
}

#[test]
fn a_ring_that_is_dropped_waits_for_what_is_in_flight() {
    let dir = dir();
    let files = [direct(&dir)];
    files[0].set_len(1 << 20).unwrap();
    for sent in [true, false] {
        let mut ring = Ring::new(&files, &setup()).unwrap();
        for slot in 0..64 {
            ring.buffer_mut(slot).fill(9);
            ring.write(slot, 0, u64::from(slot) * BLOCK as u64, BLOCK).unwrap();
        }
        if sent {
            ring.send().unwrap();
        }
        drop(ring);
        let mut after = Ring::new(&files, &setup()).unwrap();
        for slot in 0..64 {
            after.read(slot, 0, u64::from(slot) * BLOCK as u64, BLOCK).unwrap();
        }
        drain(&mut after, |_, read| assert!(read.iter().all(|&byte| byte == 9)));
        files[0].set_len(0).unwrap();
        files[0].set_len(1 << 20).unwrap();
    }
}
