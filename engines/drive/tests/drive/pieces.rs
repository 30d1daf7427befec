//! Requests by offset and length.

use super::{BLOCK, block, dir, io, load, options, shape};
use kvdyno_drive::Drive;
use kvdyno_engine::{DataShape, Engine, ErrorClass, Location, Requests, Result, Session, Value};
use std::path::Path;

const RECORDS: u64 = 1_024;
const BYTES: u64 = RECORDS * BLOCK as u64;

fn requests() -> Requests {
    Requests { bytes_max: 1 << 20, multiple_of: BLOCK as u64, writes: true }
}

fn open(dir: &Path, words: &[(&str, Value)], requests: Requests) -> Result<Drive> {
    let shape = DataShape { requests: Some(requests), ..shape(RECORDS) };
    Drive::open(&Location::Directory(dir.to_owned()), &options(words), &shape)
}

fn read(session: &mut impl Session, offset: u64, bytes: usize) -> Vec<u8> {
    session.read_at(offset, bytes, <[u8]>::to_vec).unwrap()
}

#[test]
fn pieces_are_read_and_written_where_and_as_long_as_they_are() {
    for calls in ["io_uring", "psync"] {
        let dir = dir();
        let drive = open(dir.path(), &[io(calls)], requests()).unwrap();
        load(&drive, RECORDS).unwrap();
        let mut session = drive.session().unwrap();
        let mut content: Vec<u8> = (0..RECORDS).flat_map(|n| block(n, 0)).collect();
        let second = BLOCK as u64;
        for (offset, blocks) in
            [(0, 1), (second, 3), (1 << 20, 256), (BYTES - second, 1), (7 * second, 2)]
        {
            let bytes: Vec<u8> = (0..blocks).flat_map(|n| block(offset + n, 7)).collect();
            session.write_at(offset, &bytes).unwrap();
            content[offset as usize..][..bytes.len()].copy_from_slice(&bytes);
        }
        session.flush().unwrap();
        for (offset, bytes) in
            [(0, 1 << 20), (second, 3 * BLOCK), (1 << 20, 1 << 20), (BYTES - second, BLOCK)]
        {
            assert!(read(&mut session, offset, bytes) == content[offset as usize..][..bytes]);
        }
        // A block by its number is as long as ever.
        assert!(
            session
                .get(&2_u64.to_be_bytes(), |value| value == Some(&content[2 * BLOCK..][..BLOCK]))
                .unwrap()
        );
        session.put(&9_u64.to_be_bytes(), &block(9, 9)).unwrap();
        assert!(read(&mut session, 9 * second, BLOCK) == block(9, 9));

        session.discard(64 * second, 32 * second).unwrap();
        assert!(read(&mut session, 64 * second, 32 * BLOCK).iter().all(|byte| *byte == 0));
        assert!(read(&mut session, 96 * second, BLOCK) == content[96 * BLOCK..][..BLOCK]);
        session.discard(BYTES, 0).unwrap();
        for (offset, bytes) in
            [(BYTES, BLOCK), (BYTES - second, 2 * BLOCK), (u64::MAX - second, BLOCK)]
        {
            let error = session.read_at(offset, bytes, |_| ()).unwrap_err();
            assert!(error.message.contains("exceed the"), "{error}");
        }
        session.write_at(0, &vec![0; (1 << 20) + BLOCK]).unwrap_err();
    }
}

#[test]
fn pieces_are_in_flight() {
    let dir = dir();
    let drive = open(dir.path(), &[], requests()).unwrap();
    load(&drive, RECORDS).unwrap();
    let mut session = drive.session().unwrap();
    let long = |ticket: u32| block(ticket.into(), 3).repeat(1 + ticket as usize % 5);
    let offset = |ticket: u32| u64::from(ticket) * 8 * BLOCK as u64;
    for round in ["write", "read"] {
        for ticket in 0..64 {
            match round {
                "write" => session.submit_write_at(ticket, offset(ticket), &long(ticket)),
                _ => session.submit_read_at(ticket, offset(ticket), long(ticket).len()),
            }
            .unwrap();
        }
        session.send().unwrap();
        let mut answered = 0;
        while answered < 64 {
            answered += session
                .complete(|ticket, answer| match (round, answer.unwrap()) {
                    ("write", None) => {}
                    ("read", Some(piece)) => assert!(piece == long(ticket)),
                    _ => panic!("{round} {ticket}"),
                })
                .unwrap();
        }
    }
}

#[test]
fn what_the_place_does_not_do_is_refused_when_it_is_opened() {
    let dir = dir();
    let odd = Requests { multiple_of: 100, ..requests() };
    let refused = |words: &[(&str, Value)], requests: Requests| {
        let error = open(dir.path(), words, requests).unwrap_err();
        assert_eq!(error.class, ErrorClass::Invalid);
        error.message
    };
    let message = refused(&[], odd.clone());
    assert!(
        message.contains("aligned to 100 bytes") && message.contains("direct = false"),
        "{message}"
    );
    let message = refused(&[io("mmap")], requests());
    assert!(message.contains("set io = io_uring"), "{message}");
    let message = refused(&[("read_only", Value::Boolean(true))], requests());
    assert!(message.contains("read_only is on"), "{message}");
    std::fs::remove_file(dir.path().join("drive")).unwrap();
    let drive = open(dir.path(), &[("direct", Value::Boolean(false))], odd).unwrap();
    load(&drive, RECORDS).unwrap();
    let mut session = drive.session().unwrap();
    session.write_at(300, b"through the page cache").unwrap();
    assert_eq!(read(&mut session, 300, 22), b"through the page cache");
}
