//! Tests of each format: the requests that are read, and the errors of invalid files.

use super::*;
use crate::header::TtlRange;
use crate::request::Request;
use crate::testing::{import_bytes, refusal};

/// (milliseconds, operation, key, bytes of the key, of the value, client)
type Row = (u64, Op, u64, u32, u64, u32);

fn rows(format: Format, bytes: &[u8]) -> (crate::Header, Vec<Row>) {
    let (header, requests) = import_bytes(format, bytes).unwrap();
    let row =
        |r: &Request| (r.at_ns / 1_000_000, r.op, r.key, r.key_bytes, r.value_bytes, r.client);
    (header, requests.iter().map(row).collect())
}

#[test]
fn names_are_those_in_files() {
    for format in Format::ALL {
        assert_eq!(serde_json::to_value(format).unwrap(), format.name());
    }
}

#[test]
fn twitter_requests_are_spread_over_their_second() {
    let text = b"7,nz:u:b,8,0,3,get,0\n7,nz:u:a,8,40,3,set,60\n7,c,1,2,4,incr,0\n\
        7,b,d,3,9,3,gets,0\n9,nz:u:b,8,0,1,delete,0\n";
    let (header, rows) = rows(Format::Twitter, text);
    let expected = [
        (0, Op::Get, 3, 8, 0, 3),
        (250, Op::Put, 2, 8, 40, 3),
        (500, Op::Rmw, 1, 1, 2, 4),
        (750, Op::Get, 0, 3, 9, 3),
        (2_000, Op::Delete, 3, 8, 0, 1),
    ];
    assert_eq!(rows, expected);
    assert_eq!((header.keys, header.times), (4, Times::SpreadOverSeconds));
    let mapped: Vec<_> = header.mapped.into_iter().collect();
    assert_eq!(mapped, [("gets as get".to_owned(), 1), ("incr as rmw".to_owned(), 1)]);
}

#[test]
fn what_is_wrong_with_a_line_is_said() {
    let cases: [(Format, &str, &str); 7] = [
        (
            Format::Twitter,
            "7,a,1,0,3,get,0\n7,a,1,0,3,fetch,0\n",
            "`given`, line 2: found operation `fetch`, expected get, gets, set, add, replace, \
             cas, append, prepend, delete, incr or decr",
        ),
        (
            Format::Twitter,
            "7,a,1,get\n",
            "`given`, line 1: found fewer than seven fields, expected timestamp,key,key size,\
             value size,client id,operation,TTL",
        ),
        (
            Format::Cachelib,
            "a,b\n",
            "`given`, line 1: found columns `a,b`, expected names, `key` and `op` among them",
        ),
        (
            Format::Msr,
            "128166372003061629,hm,0,Write,x,4096,26\n",
            "`given`, line 1: found `x`, expected an offset in bytes",
        ),
        (
            Format::FioIolog,
            "fio version 4 iolog\n",
            "`given`, line 1: found `fio version 4 iolog`, expected `fio version 2 iolog` or \
             `fio version 3 iolog`",
        ),
        (
            Format::FioIolog,
            "fio version 3 iolog\n\n1 /a read\n",
            "`given`, line 3: found `1 /a read`, expected microseconds, file, action, offset, \
             length",
        ),
        (
            Format::Kvdyno,
            "a,b\n",
            "`given`, line 1: found `a,b`, expected `issued_unix_ns,process,name,owner,device,\
             kind,fua,sector,bytes,latency_ns`",
        ),
    ];
    for (format, text, expected) in cases {
        assert_eq!(refusal(format, text.as_bytes()), expected);
    }
}

/// A file that is still being written, or was not copied whole.
#[test]
fn a_last_line_without_an_end_is_told_and_left_out() {
    let (header, rows_read) = rows(Format::Twitter, b"7,a,1,0,3,get,0\n7,a,1,0,3,ge");
    assert_eq!(rows_read.len(), 1);
    assert_eq!(header.cut_short.unwrap(), "line 2 is truncated: fewer than seven fields");
    let (header, rows_read) = rows(Format::Twitter, b"7,a,1,0,3,get,0\n7,a,1,0,3,get,0");
    assert_eq!(rows_read.len(), 2, "only its end is missing");
    assert_eq!((header.cut_short, header.unended.as_deref()), (None, Some("line 2")));
    let ended = b"7,a,1,0,3,get,0\n7,a,1,0,3,get,0\n";
    let (header, _) = rows(Format::Twitter, ended);
    assert_eq!((header.cut_short, header.unended), (None, None));
}

/// Regression test: a write of 40 bytes was imported.
#[test]
fn a_fio_log_without_a_last_line_end_lacks_the_rest_of_a_number() {
    let log = "fio version 2 iolog\n/d add\n/d read 0 512\n/d write 1048576 40";
    let (header, rows_read) = rows(Format::FioIolog, log.as_bytes());
    assert_eq!(rows_read, [(0, Op::Read, 0, 0, 512, 0)]);
    assert_eq!(header.cut_short.unwrap(), "line 4 is truncated: it has no line end");
    assert_eq!(rows(Format::FioIolog, format!("{log}96\n").as_bytes()).1.len(), 2);
}

#[test]
fn cachelib_columns_are_found_by_name() {
    let of_2022 = b"key,op,size,op_count,key_size\n17,SET,82,1,40\n5,GET_LEASE,0,3,41\n";
    let (header, rows_read) = rows(Format::Cachelib, of_2022);
    let get = (0, Op::Get, 1, 41, 0, 0);
    assert_eq!(rows_read, [(0, Op::Put, 0, 40, 82, 0), get, get, get]);
    assert_eq!((header.times, header.span_ns), (Times::None, 0));
    assert_eq!(header.mapped["GET_LEASE as get"], 3);

    let of_2024 = b"op_time,key,key_size,op,op_count,size,cache_hits,ttl,usecase,sub_usecase\n\
        604,b,48,GET,2,87,1,0,366,300\n606,a,24,DELETE,1,0,0,0,6,9\n\
        606,a,24,SET,1,5,0,7200,6,9\n607,a,24,SET,1,5,0,0,6,9\n";
    let (header, rows_read) = rows(Format::Cachelib, of_2024);
    let ttl_ns = 7_200_000_000_000;
    let ttl = TtlRange { requests: 1, shortest_ns: ttl_ns, longest_ns: ttl_ns };
    assert_eq!(header.ttl, Some(ttl));
    let expected = [
        (0, Op::Get, 1, 48, 87, 0),
        (500, Op::Get, 1, 48, 87, 0),
        (2_000, Op::Delete, 0, 24, 0, 0),
        (2_500, Op::Put, 0, 24, 5, 0),
        (3_000, Op::Put, 0, 24, 5, 0),
    ];
    assert_eq!(rows_read, expected);
    assert_eq!(header.times, Times::SpreadOverSeconds);
}

#[test]
fn oracle_general_objects_keep_their_order() {
    let record = |seconds: u32, object: u64, bytes: u32| {
        let mut record = seconds.to_le_bytes().to_vec();
        record.extend(object.to_le_bytes());
        record.extend(bytes.to_le_bytes());
        record.extend((-1i64).to_le_bytes());
        record
    };
    let bytes = [record(5, 1 << 40, 7), record(5, 9, 512), record(6, 300, 1)].concat();
    let (header, rows_read) = rows(Format::OracleGeneral, &bytes);
    let row = |ms, key, bytes| (ms, Op::Get, key, 0, bytes, 0);
    assert_eq!(rows_read, [row(0, 2, 7), row(500, 0, 512), row(1_000, 1, 1)]);
    assert_eq!(header.cut_short, None);
    let (header, rows_read) = rows(Format::OracleGeneral, &bytes[..50]);
    assert_eq!(rows_read.len(), 2);
    assert_eq!(header.cut_short.unwrap(), "the record at byte 48 has 2 of 24 bytes");
}

/// The lines resemble the sample that usually documents this format.
#[test]
fn msr_requests_are_put_in_order() {
    let text = b"128166372016382155,hm,0,Read,1074696192,4096,113\n\
        128166372003061629,hm,0,Write,7014912,4096,26\n\
        128166372026382155,hm,1,Read,1074696192,512,113\n";
    let (header, rows_read) = rows(Format::Msr, text);
    let expected = [
        (0, Op::Write, 7_014_912, 0, 4_096, 0),
        (1_332, Op::Read, 1_074_696_192, 0, 4_096, 0),
        (2_332, Op::Read, 1_074_696_192, 0, 512, 1),
    ];
    // Disks are numbered in the order of their first requests.
    assert_eq!(rows_read, expected);
    assert_eq!((header.out_of_order, header.kind), (0, Kind::Blocks));
    assert_eq!(header.keys, 1_074_696_192 + 4_096);
}

#[test]
fn fio_logs_of_both_versions_are_read() {
    let third = b"fio version 3 iolog\n18 /d add\n116 /d open\n119 /d read 249856 4096\n\
        3119 /d write 8192 512\n5119 /d datasync 0 0\n5120 /d trim 0 65536\n6000 /d close\n";
    let (header, rows_read) = rows(Format::FioIolog, third);
    let expected = [
        (0, Op::Read, 249_856, 0, 4_096, 0),
        (3, Op::Write, 8_192, 0, 512, 0),
        (5, Op::Flush, 0, 0, 0, 0),
        (5, Op::Discard, 0, 0, 65_536, 0),
    ];
    assert_eq!((rows_read.as_slice(), header.times), (expected.as_slice(), Times::Exact));

    let second = b"fio version 2 iolog\n/d add\n/d open\n/d read 0 512\n/e write 512 512\n";
    let (header, rows_read) = rows(Format::FioIolog, second);
    assert_eq!(rows_read, [(0, Op::Read, 0, 0, 512, 0), (0, Op::Write, 512, 0, 512, 1)]);
    assert_eq!(header.times, Times::None);
    // fio 3.33 replays these reads one, two and three seconds after its start.
    let waits = b"fio version 2 iolog\n/d wait 1000 0\n/d read 0 512\n/d wait 2000 0\n\
        /d read 512 512\n/d wait 3000 0\n/d read 0 512\n";
    let (header, rows_read) = rows(Format::FioIolog, waits);
    let times: Vec<u64> = rows_read.iter().map(|row| row.0).collect();
    assert_eq!((times, header.times), (vec![0, 1_000, 2_000], Times::Exact));
}

/// fio 3.33 replays it in the same way: 1, 300, 599, 599, 899 and 1200 ms after its start.
#[test]
fn a_fio_log_of_two_laps_goes_on_in_the_second() {
    let lap = "100 F read 0 4096\n300000 F read 4096 4096\n600000 F read 8192 4096\n";
    let second = lap.replace("100 F", "50 F").replace("00000 ", "00050 ");
    let log = format!("fio version 3 iolog\n0 F add\n0 F open\n{lap}{second}");
    let (header, rows_read) = rows(Format::FioIolog, log.as_bytes());
    let times: Vec<u64> = rows_read.iter().map(|row| row.0).collect();
    assert_eq!((times, header.out_of_order), (vec![0, 299, 599, 599, 899, 1_199], 0));
}

#[test]
fn fields_of_a_fio_log_may_be_apart_by_tabs() {
    let spaces = "fio version 3 iolog\n1 /d read 0 4096\n2 /d write 4096 512\n";
    let tabs = spaces.replacen("1 /d read 0 ", "1\t/d\tread \t0\t", 1);
    assert_ne!(spaces, tabs);
    let [spaces, tabs] = [spaces, &tabs].map(|text| rows(Format::FioIolog, text.as_bytes()));
    assert_eq!(spaces, tabs);
}

#[test]
fn a_request_beyond_any_drive_is_named() {
    let log = |offset: u64, bytes: u64| {
        format!("fio version 2 iolog\n/d add\n/d read 0 512\n/d trim {offset} {bytes}\n")
    };
    let refused = |offset, bytes| refusal(Format::FioIolog, log(offset, bytes).as_bytes());
    assert_eq!(
        refused(u64::MAX - 4_095, 4_096),
        "`given`, line 4: found a discard of 4096 bytes at offset 18446744073709547520, expected \
         one that ends below 8 EiB"
    );
    assert!(refused(0, u64::MAX).contains("line 4"));
    assert!(refused(i64::MAX as u64, 512).contains("line 4"));
    let (header, _) = rows(Format::FioIolog, log((i64::MAX - 4_095) as u64, 4_095).as_bytes());
    assert_eq!(header.keys, i64::MAX as u64);
}

#[test]
fn an_unknown_operation_of_cachelib_is_left_out_and_counted() {
    let text = b"key,op,size,op_count,key_size,ttl\n1,GET,0,2,7,\n3,SAT,100,35,20,3600\n";
    let (header, rows_read) = rows(Format::Cachelib, text);
    assert_eq!(rows_read.len(), 2);
    assert_eq!(header.left_out["SAT"], 1);
    let many: String = (0..40).map(|n| format!("k,OP{n},1,1,1,\n")).collect();
    let text = format!("key,op,size,op_count,key_size,ttl\n1,GET,0,2,7,\n{many}");
    let (header, _) = rows(Format::Cachelib, text.as_bytes());
    assert_eq!((header.left_out.len(), header.left_out["unnamed operations"]), (17, 24));
    let none = refusal(Format::Cachelib, b"key,op,size,op_count,key_size\n3,SAT,100,35,20\n");
    assert!(none.contains("found no known request"), "{none}");
}

/// Bytes of another format, as numbers of this one.
#[test]
fn times_without_sense_are_refused_with_the_fields_that_are_wanted() {
    let record = |seconds: u32, object: u64| {
        [&seconds.to_le_bytes()[..], &object.to_le_bytes(), &[1, 0, 0, 0], &[0xff; 8]].concat()
    };
    let file = |seconds: &dyn Fn(u32) -> u32| -> Vec<u8> {
        (0..1_000).flat_map(|number| record(seconds(number), number.into())).collect()
    };
    let backwards = refusal(Format::OracleGeneral, &file(&|number| 1_000_000 - number));
    assert!(backwards.contains("found 999 of 1000 requests with a time before"), "{backwards}");
    assert!(backwards.contains("u32 seconds, u64 object, u32 bytes"), "{backwards}");
    let anywhere = refusal(Format::OracleGeneral, &file(&|number| number * 4_294_967));
    assert!(anywhere.contains("times that are 135 years apart"), "{anywhere}");
    // Times may count from the trace's beginning or from 1970.
    for start in [0, 1_600_000_000] {
        assert_eq!(rows(Format::OracleGeneral, &file(&|number| start + number)).1.len(), 1_000);
    }
}

#[test]
fn our_own_log_of_block_io_is_read() {
    let text = b"issued_unix_ns,process,name,owner,device,kind,fua,sector,bytes,latency_ns\n\
        9000000,17,kvdyno-rocksdb,ours,nvme0n1,read,false,16,4096,100\n\
        7000000,17,\"a,b\",ours,nvme0n1,write,true,8,512,100\n\
        9500000,1,kworker,kernel,nvme0n1,metadata,false,0,4096,5\n\
        9500000,1,kworker,kernel,nvme0n1,other,false,0,0,5\n\
        9900000,1,kworker,kernel,nvme1n1,flush,false,18446744073709551615,0,5\n";
    let (header, rows_read) = rows(Format::Kvdyno, text);
    let expected = [
        (0, Op::Write, 4_096, 0, 512, 0),
        (2, Op::Read, 8_192, 0, 4_096, 0),
        (2, Op::Write, 0, 0, 4_096, 0),
        (2, Op::Flush, 0, 0, 0, 1),
    ];
    assert_eq!(rows_read, expected);
    assert_eq!((header.left_out["other"], header.mapped["metadata as write"]), (1, 1));
}

/// Regression test: what was read ahead for sorting was counted, and failed the import.
#[test]
fn a_limited_import_ignores_lines_behind_its_last_request() {
    let mut log =
        "issued_unix_ns,process,name,owner,device,kind,fua,sector,bytes,latency_ns\n".to_owned();
    for (time, kind) in [(3, "metadata"), (1, "read"), (2, "other"), (4, "write"), (9, "metadata")]
    {
        log += &format!("{time},1,kworker,kernel,nvme0n1,{kind},false,8,4096,5\n");
    }
    let read = |text: &str, limit| {
        let input = std::io::Cursor::new(text.to_owned());
        let input = Input::new("given".to_owned(), input).unwrap();
        let mut importer = Format::Kvdyno.open(input).unwrap();
        let (mut request, mut notes) = (RawRequest::default(), Notes::default());
        let mut times = Vec::new();
        while times.len() < limit && importer.next(&mut request, &mut notes)? {
            times.push(request.at_ns);
        }
        let counts = [&notes.left_out, &notes.mapped].map(|counts| counts.values().sum::<u64>());
        Ok::<_, TraceError>((times, counts, notes.cut_short.is_some()))
    };
    let cut = format!("{log}10,1,kwor");
    assert_eq!(read(&cut, 1).unwrap(), (vec![1], [0, 0], false));
    assert_eq!(read(&cut, 3).unwrap(), (vec![1, 3, 4], [1, 1], false));
    assert_eq!(read(&cut, 9).unwrap(), (vec![1, 3, 4, 9], [1, 2], true));
    let malformed = format!("{log}nonsense\n");
    assert_eq!(read(&malformed, 4).unwrap().0, [1, 3, 4, 9]);
    assert!(read(&malformed, 5).unwrap_err().to_string().contains("line 7"));
}

fn record(kind: u8, time_us: u64, payload: &[u8]) -> Vec<u8> {
    let mut record = time_us.to_le_bytes().to_vec();
    record.push(kind);
    record.extend((payload.len() as u32).to_le_bytes());
    record.extend(payload);
    record
}

fn prefixed(bytes: &[u8]) -> Vec<u8> {
    [&[bytes.len() as u8], bytes].concat()
}

fn rocksdb_trace(version: &str) -> Vec<Vec<u8>> {
    let text = format!("feedcafedeadbeef\tTrace Version: {version}\tRocksDB Version: 11.8\tF\n");
    let map = if version == "0.2" { vec![6, 0, 0, 0, 0, 0, 0, 0] } else { Vec::new() };
    let mut batch = vec![0; 12];
    for (tag, slices) in [
        (0x1, vec![prefixed(b"b"), prefixed(b"four")]),
        (0x3, vec![prefixed(b"a remark")]),
        (0x0, vec![prefixed(b"a")]),
        (0x5, vec![vec![2], prefixed(b"a"), prefixed(b"xy")]),
        (0xf, vec![prefixed(b"a"), prefixed(b"c")]),
        (0x2, vec![prefixed(b"b"), prefixed(b"1")]),
    ] {
        batch.push(tag);
        batch.extend(slices.concat());
    }
    let batch = if version == "0.2" { prefixed(&batch) } else { batch };
    let key =
        |family: u32, key: &[u8]| [&map, family.to_le_bytes().as_slice(), &prefixed(key)].concat();
    let keys = [prefixed(b"a"), prefixed(b"b")].concat();
    let multiget = [map.clone(), vec![2, 0, 0, 0], prefixed(&[0; 8]), prefixed(&keys)].concat();
    vec![
        record(1, 1_000, text.as_bytes()),
        record(3, 2_000, &[map.clone(), batch].concat()),
        record(4, 3_000, &key(0, b"a")),
        record(5, 4_000, &key(2, b"a")),
        record(6, 4_500, &key(0, b"zz")),
        record(13, 5_000, &multiget),
        record(2, 6_000, &[]),
    ]
}

#[test]
fn rocksdb_queries_of_both_versions_are_read() {
    for version in ["0.1", "0.2"] {
        let bytes = rocksdb_trace(version).concat();
        let (header, rows_read) = rows(Format::Rocksdb, &bytes);
        let expected = [
            (0, Op::Put, 1, 1, 4, 0),
            (0, Op::Delete, 0, 1, 0, 0),
            (0, Op::Put, 3, 1, 2, 0),
            (0, Op::Rmw, 1, 1, 1, 0),
            (1, Op::Get, 0, 1, 0, 0),
            (2, Op::Scan, 3, 1, 0, 0),
            (2, Op::ScanReverse, 2, 2, 0, 0),
            (3, Op::Get, 0, 1, 0, 0),
            (3, Op::Get, 1, 1, 0, 0),
        ];
        assert_eq!(rows_read, expected, "{version}");
        assert_eq!((header.joined, header.cut_short), (4, None));
        assert_eq!(header.left_out["a range of keys deleted"], 1);
        assert_eq!(header.mapped["merge as rmw"], 1);
    }
}

#[test]
fn a_rocksdb_trace_that_was_cut_is_read_up_to_there() {
    let records = rocksdb_trace("0.2");
    let whole = records.concat();
    let before_last = whole.len() - records[6].len();
    let cut = |bytes: usize| {
        let (header, rows_read) = rows(Format::Rocksdb, &whole[..bytes]);
        (rows_read.len(), header.cut_short.unwrap())
    };
    let stopped = "the last record is missing: the writer was stopped".to_owned();
    assert_eq!(cut(before_last), (9, stopped));
    let begin = before_last - records[5].len();
    let length = records[5].len() - 13;
    let half = format!("the record at byte {begin} has 3 of its {length} bytes of payload");
    assert_eq!(cut(begin + 16), (7, half));
    let front = format!("the record at byte {begin} has 4 of its first 13 bytes");
    assert_eq!(cut(begin + 4), (7, front));
}

#[test]
fn what_is_wrong_with_a_rocksdb_trace_is_said() {
    let refusal_of = |bytes: &[u8]| refusal(Format::Rocksdb, bytes);
    assert_eq!(
        refusal_of(b"not a trace at all, but text"),
        "`given`, byte 0: found a record of 1629513059 bytes, expected at most 1 GiB"
    );
    assert_eq!(
        refusal_of(&rocksdb_trace("0.7").concat()),
        "`given`, byte 0: found trace version `0.7`, expected version 0.1 or 0.2"
    );
    let records = rocksdb_trace("0.2");
    let block = [records[0].clone(), record(7, 3, &[0; 8])].concat();
    assert_eq!(
        refusal_of(&block),
        format!(
            "`given`, byte {}: found a record of kind 7, expected a write, get, seek or \
             multiget: a query trace",
            records[0].len()
        )
    );
    let mut batch = rocksdb_trace("0.2");
    let damaged = batch[1].len() - 5;
    batch[1][damaged] = 0x44;
    assert!(refusal_of(&batch.concat()).contains("in a write batch, expected a put"), "{batch:?}");
}

/// Whatever a file contains, the result is an error or a trace, which may be cut short: never a
/// panic.
#[test]
fn damaged_files_are_never_more_than_refused() {
    let samples: [(Format, Vec<u8>); 3] = [
        (Format::Rocksdb, rocksdb_trace("0.2").concat()),
        (Format::Twitter, b"7,nz:u:b,8,0,3,get,0\n7,nz:u:a,8,40,3,set,60\n".to_vec()),
        (Format::Kvdyno, b"issued_unix_ns,process\n1,2,3,4,5,read,7,8,9,10\n".to_vec()),
    ];
    for (format, whole) in samples {
        for offset in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[offset] ^= 0x81;
            let input = std::io::Cursor::new(damaged);
            let input = crate::input::Input::new("given".to_owned(), input).unwrap();
            let Ok(mut importer) = format.open(input) else { continue };
            let (mut request, mut notes) = (RawRequest::default(), Notes::default());
            while let Ok(true) = importer.next(&mut request, &mut notes) {}
        }
    }
}
