//! Traces of drives, replayed on a loop device, and by fio with the same log.

use super::devices::{Loop, output};
use super::phases::measured;
use super::scratch::{Scratch, record};
use super::suites::{Suite, suite};
use super::workers::report_skip;
use std::fs;

const BYTES: u64 = 32 << 20;
const SECTOR: usize = 512;

/// A request of fio's log: kind, offset, bytes.
type Request = (&'static str, usize, usize);

/// Overlapping reads, writes, discards and flushes on a drive of 24 MiB. A drive need not discard
/// less than a granule of 4 KiB.
fn requests(requests: usize) -> Vec<Request> {
    let mut state = 7_u64;
    let mut draw = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize % below
    };
    let mut one = || {
        let (kind, bytes) = (draw(20), (1 + draw(64)) * SECTOR);
        // The first MiB is blanked at the end of the run.
        let offset = (1 << 20) + draw((23 << 20) / SECTOR) * SECTOR;
        match kind {
            0 => ("datasync", 0, 0),
            1..=4 => ("trim", offset & !4_095, bytes.next_multiple_of(4_096)),
            5..=9 => ("read", offset, bytes),
            _ => ("write", offset, bytes),
        }
    };
    (0..requests).map(|_| one()).collect()
}

fn import(scratch: &Scratch, requests: &[Request]) {
    let lines =
        requests.iter().map(|(what, offset, bytes)| format!("/dev/x {what} {offset} {bytes}\n"));
    let lines = lines.collect::<String>();
    let log = format!("fio version 2 iolog\n/dev/x add\n/dev/x open\n{lines}/dev/x close\n");
    scratch.write("log", &log);
    let import = ["trace", "import", "--format", "fio-iolog", "log", "-o", "t.kvtrace", "--force"];
    scratch.run(&import).assert_ok();
}

/// For each sector: loaded, discarded, or written.
fn states(loaded: &[u8], content: &[u8]) -> Vec<char> {
    let sectors = loaded.chunks(SECTOR).zip(content.chunks(SECTOR));
    let state = |(loaded, now): (&[u8], &[u8])| match now {
        now if now == loaded => '=',
        now if now.iter().all(|byte| *byte == 0) => '0',
        _ => 'w',
    };
    sectors.map(state).collect()
}

/// The sectors after these requests, one after the other.
fn states_after(requests: &[Request]) -> Vec<char> {
    let mut states = vec!['='; BYTES as usize / SECTOR];
    for (what, offset, bytes) in requests {
        let sectors = &mut states[offset / SECTOR..(offset + bytes) / SECTOR];
        match *what {
            "write" => sectors.fill('w'),
            "trim" => sectors.fill('0'),
            _ => {}
        }
    }
    states
}

/// Loads a device, and replays the imported trace; `lines` are added to the role. Returns the
/// device's contents.
fn on(device: &Loop, scratch: &Scratch, replays: bool, lines: &str) -> Vec<u8> {
    let volume = format!("kind = \"device\"\npath = \"{}\"\nfilesystem = \"raw\"", device.path);
    let suite = suite().data("records = 7000\nvalue_bytes = 4096").run("database = \"fresh\"");
    let suite: Suite = suite.volume("disk", &volume).engine("drive").load("");
    let role = format!("trace = \"t.kvtrace\"\n{lines}");
    let suite = if replays { suite.measure("").role("clients", &role) } else { suite };
    scratch.write("s.toml", &suite.text());
    if let [run] = scratch.runs().as_slice() {
        fs::remove_dir_all(run).unwrap();
    }
    scratch.run(&["run", "s.toml", &device.confirm()]).assert_ok();
    device.content()
}

/// The final contents depend on the order of writes and discards. Each write has distinct bytes:
/// with several in flight the result is the same as one after the other.
#[test]
fn several_in_flight_leave_what_one_after_the_other_leaves() {
    let scratch = Scratch::new();
    let test = "several_in_flight_leave_what_one_after_the_other_leaves";
    let Some(device) = Loop::with_name(&scratch, test, "image", BYTES) else { return };
    let asked = requests(4_000);
    import(&scratch, &asked);
    let loaded = on(&device, &scratch, false, "");
    let alone = on(&device, &scratch, true, "");
    let expected = states_after(&asked);
    let differ = states(&loaded, &alone).iter().zip(&expected).filter(|(a, b)| a != b).count();
    assert_eq!(differ, 0, "sectors");
    assert!(['=', '0', 'w'].iter().all(|of| expected.iter().filter(|s| *s == of).count() > 5_000));
    assert!(on(&device, &scratch, true, "depth = 16") == alone);

    let case = record(&scratch.only_run(), "t1");
    let ops = &measured(&case).roles[0].ops;
    let of = |word: &str| {
        asked.iter().filter(|asked| asked.0 == word).map(|asked| asked.2 as u64).collect::<Vec<_>>()
    };
    for (op, word) in
        [("get", "read"), ("update", "write"), ("delete", "trim"), ("flush", "datasync")]
    {
        assert_eq!(ops[op].count, of(word).len() as u64, "{op}");
    }
    assert_eq!(ops["get"].read_bytes, of("read").iter().sum::<u64>());
    assert_eq!(ops["update"].write_bytes, of("write").iter().sum::<u64>());
    scratch.run(&["check"]).assert_code(0);
}

/// Without discards: fio 3.33 cannot replay them.
#[test]
fn a_drive_is_written_where_fio_writes_it() {
    let scratch = Scratch::new();
    let test = "a_drive_is_written_where_fio_writes_it";
    let Some(device) = Loop::with_name(&scratch, test, "ours", BYTES) else { return };
    let Some(peer) = Loop::with_name(&scratch, test, "theirs", BYTES) else { return };
    let asked: Vec<Request> =
        requests(2_000).into_iter().filter(|asked| asked.0 != "trim").collect();
    import(&scratch, &asked);
    let loaded = on(&device, &scratch, false, "");
    fs::write(scratch.path("theirs"), &loaded).unwrap();
    let log = format!("--read_iolog={}", scratch.path("log").display());
    let to = format!("--replay_redirect={}", peer.path);
    let fio = ["--name=peer", &log, &to, "--direct=1", "--ioengine=psync"];
    if output("fio", &fio).is_none() {
        return report_skip("fio", test, "fio is not there, or replays no log");
    }
    let theirs = states(&loaded, &peer.content());
    let ours = states(&loaded, &on(&device, &scratch, true, "threads = 3\ndepth = 4"));
    assert!(theirs.iter().filter(|state| **state == 'w').count() > 5_000);
    assert_eq!(ours.iter().zip(&theirs).filter(|(ours, theirs)| ours != theirs).count(), 0);
}

#[test]
fn a_drive_that_is_too_small_is_refused_and_folded_to() {
    let scratch = Scratch::new();
    let line = |at: u64, offset: u64| {
        let time = 128_166_372_003_061_629 + at * 10_000;
        format!("{time},hm,1,Write,{offset},8192,413\n")
    };
    let lines: String = (0..500).map(|n| line(n, (n * 7_919 % 10_000) << 20)).collect();
    scratch.write("m.csv", &lines);
    scratch.run(&["trace", "import", "--format", "msr", "m.csv", "-o", "t.kvtrace"]).assert_ok();
    let small = suite().data("records = 512\nvalue_bytes = 4096").run("database = \"fresh\"");
    let replay = |engine: &str, lines: &str| {
        let role = format!("threads = 3\ntrace = \"t.kvtrace\"\n{lines}");
        let suite = small.clone().engine(engine).load("").measure("").role("clients", &role);
        scratch.write("s.toml", &suite.text());
        scratch.run(&["run", "s.toml"])
    };
    let refused = replay("drive", "");
    refused.assert_code(2).assert_says("at least 2,5");
    refused.assert_says("fold = true");
    replay("null", "").assert_code(2).assert_says("t.kvtrace");
    replay("drive", "fold = true\nspeed = 1.0\ndepth = 2")
        .assert_code(2)
        .assert_says("either `speed` or `depth`");
    scratch.assert_nothing_left();
    replay("drive", "fold = true\nspeed = 1.0").assert_ok();
    let case = record(&scratch.only_run(), "t3");
    let role = &measured(&case).roles[0];
    assert_eq!((role.ops["update"].count, role.ops["update"].write_bytes), (500, 500 * 8_192));
    assert!(role.window_ns >= 499_000_000, "{}", role.window_ns);
}
