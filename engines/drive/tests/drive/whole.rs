//! Operations in flight, and what is in a file before it is measured.

use super::{BLOCK, block, dir, io, load, open, options, shape};
use kvdyno_drive::Drive;
use kvdyno_engine::{Engine, ErrorClass, Location, Session, Value};
use kvdyno_testing::report_skip;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;
use std::fs::File;
use std::os::unix::fs::FileExt;

const RECORDS: u64 = 4096;

/// Each block once, in an order that leaps, 64 in flight; the answers come in any order.
fn each_in_flight(
    session: &mut impl Session,
    mut submit: impl FnMut(u64) -> Option<Vec<u8>>,
    mut visit: impl FnMut(u64, Option<&[u8]>),
) {
    let mut numbers = [0; 64];
    let mut free: Vec<u32> = (0..64).collect();
    let (mut next, mut answered) = (0, 0);
    while answered < RECORDS {
        while let Some(ticket) = free.pop_if(|_| next < RECORDS) {
            let number = next * 1_577 % RECORDS;
            numbers[ticket as usize] = number;
            match submit(number) {
                Some(value) => session.submit_put(ticket, &number.to_be_bytes(), &value),
                None => session.submit_get(ticket, &number.to_be_bytes()),
            }
            .unwrap();
            next += 1;
        }
        session.send().unwrap();
        let count = session.complete(|ticket, answer| {
            visit(numbers[ticket as usize], answer.unwrap());
            free.push(ticket);
        });
        answered += count.unwrap() as u64;
    }
    assert_eq!(session.complete(|_, _| panic!("nothing is in flight")).unwrap(), 0);
}

#[test]
fn blocks_in_flight_are_the_right_ones() {
    let yes = |name: &'static str| (name, Value::Boolean(true));
    let no = |name: &'static str| (name, Value::Boolean(false));
    for words in [
        vec![],
        vec![no("registered")],
        vec![yes("sqpoll")],
        vec![yes("iopoll")],
        vec![no("direct")],
    ] {
        let dir = dir();
        let drive = open(dir.path(), &words, RECORDS).unwrap();
        load(&drive, RECORDS).unwrap();
        let written = &drive.counters()["written_in_full"];
        assert!(matches!(written, Value::Text(how) if how.contains("all written")), "{written}");
        let mut session = drive.session().unwrap();
        let (mut reads, mut writes) = (0, 0);
        each_in_flight(
            &mut session,
            |_| None,
            |number, content| {
                assert_eq!(content, Some(&block(number, 0)[..]));
                reads += 1;
            },
        );
        each_in_flight(
            &mut session,
            |number| Some(block(number, 1)),
            |_, content| {
                assert_eq!(content, None);
                writes += 1;
            },
        );
        each_in_flight(
            &mut session,
            |_| None,
            |number, content| assert_eq!(content, Some(&block(number, 1)[..])),
        );
        assert_eq!((reads, writes), (RECORDS, RECORDS));
    }
}

#[test]
fn a_multiget_longer_than_the_depth_shows_each_block_once() {
    let dir = dir();
    let drive = open(dir.path(), &[], RECORDS).unwrap();
    load(&drive, RECORDS).unwrap();
    let mut session = drive.session().unwrap();
    let numbers: Vec<u64> = (0..3000).map(|i| i * 1_577 % RECORDS).collect();
    let keys: Vec<_> = numbers.iter().map(|number| number.to_be_bytes()).collect();
    let keys: Vec<&[u8]> = keys.iter().map(<[u8; 8]>::as_slice).collect();
    let mut shown = vec![0; keys.len()];
    session
        .multiget(&keys, |index, value| {
            assert_eq!(value, Some(&block(numbers[index], 0)[..]));
            shown[index] += 1;
        })
        .unwrap();
    assert!(shown.iter().all(|&times| times == 1));
}

#[test]
fn a_file_is_not_measured_before_all_of_it_is_written() {
    for calls in ["io_uring", "psync", "mmap"] {
        let dir = dir();
        let drive = open(dir.path(), &[io(calls)], 64).unwrap();
        let mut session = drive.session().unwrap();
        for number in (0..64_u64).filter(|&number| number != 40) {
            session.put(&number.to_be_bytes(), &block(number, 0)).unwrap();
        }
        let error = session.get(&0_u64.to_be_bytes(), |_| ()).unwrap_err();
        assert_eq!(error.class, ErrorClass::Invalid);
        assert!(error.message.contains("byte 163840"), "{error}");
        session.put(&40_u64.to_be_bytes(), &block(40, 0)).unwrap();
        let right = |value: Option<&[u8]>| value == Some(&block(40, 0)[..]);
        assert!(session.get(&40_u64.to_be_bytes(), right).unwrap());
    }
}

/// Opens a file that this wrote in its own way, of 64 blocks.
#[track_caller]
fn refused(make: impl FnOnce(&File), why: &str) {
    let dir = dir();
    let file = File::create_new(dir.path().join("drive")).unwrap();
    make(&file);
    let error = open(dir.path(), &[], 64).unwrap_err();
    assert_eq!(error.class, ErrorClass::Invalid);
    assert!(error.message.contains(why), "{error}");
    assert!(error.message.contains("load"), "no remedy: {error}");
}

#[test]
fn a_file_with_holes_is_refused() {
    let bytes = 64 * BLOCK as u64;
    refused(|file| file.set_len(bytes).unwrap(), "a hole at byte 0");
    let but_one = |file: &File| {
        file.set_len(bytes).unwrap();
        for number in (0..64).filter(|&number| number != 7) {
            file.write_all_at(&block(number, 0), number * BLOCK as u64).unwrap();
        }
    };
    refused(but_one, "a hole at byte 28672");
    let but_the_last = |file: &File| {
        file.write_all_at(&vec![1; 63 * BLOCK], 0).unwrap();
        file.set_len(bytes).unwrap();
    };
    refused(but_the_last, "a hole at byte 258048");
}

#[test]
fn a_file_that_was_only_allocated_is_refused() {
    let allocated = |file: &File| {
        let bytes = 64 * BLOCK as u64;
        fallocate(file, FallocateFlags::empty(), 0, bytes).unwrap();
    };
    refused(allocated, "allocated and not written at byte 0");
}

#[test]
fn a_file_shorter_than_the_plan_is_refused() {
    let written = |file: &File| file.write_all_at(&vec![1; 63 * BLOCK], 0).unwrap();
    refused(written, "expected at least 262144 bytes, found 258048");
}

/// Every other block of a file is cut out of it: the proof then takes more than one call.
#[test]
fn a_file_in_many_pieces_is_proved_whole() {
    let dir = dir();
    let file = File::create_new(dir.path().join("drive")).unwrap();
    file.write_all_at(&vec![1; 1200 * BLOCK], 0).unwrap();
    file.sync_all().unwrap();
    for number in (0..599).rev() {
        let offset = (2 * number + 1) * BLOCK as u64;
        let cut = fallocate(&file, FallocateFlags::COLLAPSE_RANGE, offset, BLOCK as u64);
        if cut == Err(Errno::OPNOTSUPP) {
            report_skip("files", "a_file_in_many_pieces_is_proved_whole", "no COLLAPSE_RANGE here");
            return;
        }
        cut.unwrap();
    }
    let drive = open(dir.path(), &[], 600).unwrap();
    let proof = drive.counters()["written_in_full"].to_string();
    let extents: u64 = proof.split(' ').nth(1).unwrap().parse().unwrap();
    assert!(extents > 256, "{proof}");
}

#[test]
fn a_file_in_a_devices_place_is_loaded_where_it_lies() {
    let dir = dir();
    let path = dir.path().join("device");
    File::create_new(&path).unwrap().set_len(64 * BLOCK as u64).unwrap();
    let location = Location::Device(path);
    let drive = Drive::open(&location, &options(&[]), &shape(64)).unwrap();
    let read = |drive: &Drive| drive.session().unwrap().get(&5_u64.to_be_bytes(), |_| ());
    assert!(read(&drive).unwrap_err().message.contains("byte 0"));
    load(&drive, 64).unwrap();
    read(&drive).unwrap();
    drive.close().unwrap();
    read(&Drive::open(&location, &options(&[]), &shape(64)).unwrap()).unwrap();
}
