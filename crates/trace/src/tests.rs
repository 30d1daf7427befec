//! Tests of whole traces: written and read, damaged, packed, and their statistics.

use super::testing::{all, import_bytes};
use super::*;
use proptest::prelude::*;
use std::path::Path;

fn header() -> Header {
    Header::new(Kind::Keys, Format::Twitter, "a.csv", Times::Exact)
}

fn write(path: &Path, requests: &[Request]) -> Header {
    let mut writer = TraceWriter::create(path, header()).unwrap();
    for request in requests {
        writer.write(*request).unwrap();
    }
    writer.finish().unwrap()
}

fn request(at_ns: u64, key: u64) -> Request {
    let (op, value_bytes) = (Op::ALL[(key % 6) as usize], key % 1_000);
    let joined = key.is_multiple_of(7);
    let ttl_ns = key % 3 * 1_000_000_000;
    Request { at_ns, op, joined, key, key_bytes: 16, value_bytes, client: 3, ttl_ns }
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        rows in proptest::collection::vec(
            (0u64..1 << 40, 0usize..10, any::<bool>(), any::<u64>(), any::<u32>(), any::<u64>()),
            0..200,
        )
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.kvtrace");
        let mut at_ns = 0;
        let requests: Vec<Request> = rows.iter().map(|(gap, op, joined, key, small, large)| {
            at_ns += gap;
            Request {
                at_ns,
                op: Op::ALL[*op],
                joined: *joined,
                key: *key,
                key_bytes: *small,
                value_bytes: *large,
                client: !small,
                ttl_ns: large.rotate_left(7),
            }
        }).collect();
        let header = write(&path, &requests);
        let (read, again) = all(&path).unwrap();
        prop_assert_eq!(again, requests);
        prop_assert_eq!(read, header);
    }
}

fn many() -> Vec<Request> {
    (0..150_000).map(|n| request(n * 700, n * 7_919 % 10_007)).collect()
}

#[test]
fn a_trace_of_several_blocks_is_read_as_it_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.kvtrace");
    let header = write(&path, &many());
    assert_eq!((header.requests, header.keys, header.span_ns), (150_000, 10_007, 149_999 * 700));
    assert_eq!(header.ops.values().sum::<u64>(), 150_000);
    let (_, read) = all(&path).unwrap();
    assert!(read == many());
}

/// A damaged byte or a missing end is an error: such a block is never returned as requests.
#[test]
fn damage_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.kvtrace");
    write(&path, &many()[..2_000]);
    let whole = std::fs::read(&path).unwrap();
    let front = 8 + writer::HEADER_BYTES;
    let damaged = dir.path().join("b.kvtrace");
    for offset in (front..whole.len()).step_by(61).chain(front..front + 40) {
        let mut bytes = whole.clone();
        bytes[offset] ^= 0x10;
        std::fs::write(&damaged, bytes).unwrap();
        // Some bits of a zstd frame mean nothing.
        let read = all(&damaged).map(|(_, read)| read == many()[..2_000]);
        assert!(read.is_err() || read.is_ok_and(|equal| equal), "byte {offset}");
    }
    for end in [0, 5, 100, front - 1, front, front + 10, whole.len() - 30, whole.len() - 1] {
        std::fs::write(&damaged, &whole[..end]).unwrap();
        let error = all(&damaged).unwrap_err().to_string();
        assert!(error.contains("byte"), "{end}: {error}");
    }
    std::fs::write(&damaged, &whole[..whole.len() - 28]).unwrap();
    let error = all(&damaged).unwrap_err().to_string();
    assert!(error.ends_with("found the end of the file, expected 28 more bytes of a trace"));
}

#[test]
fn another_version_is_refused_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.kvtrace");
    write(&path, &[]);
    let text = std::fs::read(&path).unwrap();
    let newer = String::from_utf8_lossy(&text[16..200]).replace("\"version\":1", "\"version\":2");
    let bytes = [&text[..16], newer.as_bytes(), &text[200..]].concat();
    std::fs::write(&path, bytes).unwrap();
    let error = all(&path).unwrap_err().to_string();
    let expected = "byte 16: found a trace of version 2, expected version 1; import it again";
    assert!(error.ends_with(expected), "{error}");
}

#[test]
fn an_import_that_fails_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let from = dir.path().join("a.csv");
    std::fs::write(&from, "7,a,1,0,3,get,0\nnonsense\n").unwrap();
    let to = dir.path().join("a.kvtrace");
    let (format, limit) = (Format::Twitter, None);
    let task = Import { format, from, to, limit, scratch: None };
    assert!(import(&task, |_| {}).is_err());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    let limited = Import { limit: Some(1), ..task };
    assert_eq!(import(&limited, |_| {}).unwrap().requests, 1);
}

/// Archives of logs are concatenated: they have several gzip members or zstd frames.
#[test]
fn packed_files_are_unpacked() {
    use flate2::{Compression, write::GzEncoder};
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    use std::io::Write as _;
    let lines = ["7,a,1,0,3,get,0\n".repeat(5_000), "8,b,1,0,3,get,0\n".repeat(7)];
    let gzip = |text: &String| {
        let mut to = GzEncoder::new(Vec::new(), Compression::fast());
        to.write_all(text.as_bytes()).unwrap();
        to.finish().unwrap()
    };
    let zstd = |text: &String| {
        let skipped = [0x184d_2a50u32.to_le_bytes(), 3u32.to_le_bytes()].concat();
        let packed = compress_to_vec(text.as_bytes(), CompressionLevel::Fastest);
        [packed, skipped, b"abc".to_vec()].concat()
    };
    for packed in [lines.each_ref().map(gzip).concat(), lines.each_ref().map(zstd).concat()] {
        let (header, _) = import_bytes(Format::Twitter, &packed).unwrap();
        assert_eq!((header.requests, header.keys), (5_007, 2));
    }
}

#[test]
fn statistics_of_a_small_trace_are_exact() {
    let mut text = String::new();
    for second in 0..100 {
        text += &format!("{second},hot,3,0,1,get,0\n{second},hot,3,0,1,get,0\n");
        text += &format!("{second},k{},4,{},1,set,0\n", second % 10, 100 + second);
    }
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("a.csv"), dir.path().join("a.kvtrace"));
    std::fs::write(&from, text).unwrap();
    let task = Import { format: Format::Twitter, from, to: to.clone(), limit: None, scratch: None };
    import(&task, |_| {}).unwrap();
    let statistics = Statistics::read(TraceReader::open(&to).unwrap()).unwrap();
    assert_eq!(
        (statistics.distinct, statistics.sampled, statistics.once, statistics.read_first),
        (11.0, 1.0, 0.0, 1.0)
    );
    assert!((statistics.mix[&Op::Get] - 2.0 / 3.0).abs() < 1e-9);
    assert_eq!(statistics.most_in_a_second, Some(3));
    let written = statistics.written_bytes.unwrap();
    assert_eq!((written.count, written.min, written.max), (100, 100, 199));
    assert_eq!(statistics.read_bytes, None);
    // A tenth of eleven keys, rounded up, is two: the hot one and another.
    let tenth = statistics.popular.iter().find(|point| (point.keys - 0.1).abs() < 1e-9).unwrap();
    assert!((tenth.requests - 210.0 / 300.0).abs() < 1e-9, "{:?}", statistics.popular);
    // All accesses hit but the first one of each key.
    let whole = statistics.popular.last().unwrap();
    assert!((whole.lru_hits - 289.0 / 300.0).abs() < 1e-9, "{whole:?}");
    assert_eq!(statistics.windows.iter().map(|window| window.requests).sum::<u64>(), 300);
    let new: f64 = statistics.windows.iter().map(|window| window.new_keys).sum();
    assert!((new - 11.0).abs() < 1e-9);
    assert!(statistics.windows.iter().all(|window| window.keys >= 3.0));
}

/// Returns the statistics of a read and a write of these lengths.
fn drive_statistics(read: u64, written: u64) -> Statistics {
    let log = format!(
        "fio version 2 iolog\n/d add\n/d open\n/d read 0 {read}\n/d write 8192 {written}\n\
         /d close\n"
    );
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("a.log"), dir.path().join("a.kvtrace"));
    std::fs::write(&from, log).unwrap();
    let format = Format::FioIolog;
    import(&Import { format, from, to: to.clone(), limit: None, scratch: None }, |_| {}).unwrap();
    Statistics::read(TraceReader::open(&to).unwrap()).unwrap()
}

/// Regression test: each request had 1,024 blocks at most, and nothing said so.
#[test]
fn long_requests_have_all_their_blocks() {
    let blocks = |read| {
        let statistics = drive_statistics(read, 4_096);
        (statistics.distinct, statistics.cut_requests)
    };
    assert_eq!(blocks(16 << 20), (4_096.0, 0));
    assert_eq!(blocks(64 << 20), (16_384.0, 0));
    assert_eq!(blocks((64 << 20) + 1), (16_384.0, 1));
    assert_eq!(blocks(1 << 62), (16_384.0, 1));
}

/// The lengths lie below and above a change of bucket size, and some need more than 32 bits.
#[test]
fn lengths_are_those_that_were_asked_for() {
    for length in [1, 2_047, 2_048, 4_096, 65_536, (4 << 30) + 512, 1 << 62] {
        let actual = drive_statistics(length, 65_536);
        let exact = |length: u64| Quantiles {
            count: 1,
            mean: length as f64,
            min: length,
            p50: length,
            p90: length,
            p99: length,
            max: length,
        };
        assert_eq!(actual.read_bytes, Some(exact(length)));
        assert_eq!(actual.written_bytes, Some(exact(65_536)));
    }
}
