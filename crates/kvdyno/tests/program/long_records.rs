//! Records of days: made, not run. What is read of them does not lie in memory as a whole.

use super::scratch::{Running, Scratch, record, wait_until};
use super::suites::suite;
use kvdyno_record::files::{CaseDir, RunDir};
use kvdyno_record::hlog;
use kvdyno_record::series::SliceCounts;
use rustix::process::Signal;
use std::fs::{self, File};
use std::io::{BufWriter, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Instant;

/// Slices of a day, where `KVDYNO_LONG_RECORD` says `day` (`scripts/long-record.sh`: with a program
/// that is not optimised its reading takes minutes); else of two hours, for which the memory did
/// not suffice by far when each interval of a histogram took 270 KB.
fn slices() -> u64 {
    let day = std::env::var("KVDYNO_LONG_RECORD").is_ok_and(|length| length == "day");
    if day { 86_400 } else { 7_200 }
}

/// What the program may have, all that it maps included.
const LIMITED: [&str; 4] = ["sh", "-c", "ulimit -v 524288; exec \"$@\"", "sh"];

const OPERATIONS: [&str; 5] = ["get", "update", "rmw", "insert", "scan"];
const ROLES: [&str; 2] = ["front", "back"];
const SECOND: u64 = 1_000_000_000;

/// Its time is of no interest to a test; a script prints it.
#[expect(clippy::print_stdout, reason = "`cargo test -- --nocapture` shows it")]
fn report(what: &str, begun: Instant) {
    println!("{what}: {:.1} s", begun.elapsed().as_secs_f64());
}

/// Has the page of a run from a server, and ends it.
fn served(mut serving: Running, run: &RunDir) -> String {
    let mut port = None;
    wait_until("it says its address", || {
        let printed = serving.printed();
        let address = printed.trim().strip_prefix("http://127.0.0.1:");
        port = address.and_then(|rest| rest.strip_suffix('/')?.parse::<u16>().ok());
        port.is_some() || !serving.is_running()
    });
    let port = port.unwrap();
    let id = run.path.file_name().unwrap().to_str().unwrap();
    let get = |path: &str| {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let head = format!("Host: 127.0.0.1:{port}\r\nConnection: close");
        stream.write_all(format!("GET {path} HTTP/1.1\r\n{head}\r\n\r\n").as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        assert!(text.starts_with("HTTP/1.1 200"), "{path}: {}", &text[..text.len().min(200)]);
        text
    };
    get("/");
    let body = get(&format!("/runs/{id}"));
    serving.signal(Signal::INT);
    serving.wait().assert_code(0);
    body
}

/// Puts `slices` of a second each in place of what the measured phase did, all of them alike.
fn lengthen(run: &RunDir, slices: u64) {
    for seal in ["complete", "SHA256SUMS"] {
        fs::remove_file(run.path.join(seal)).unwrap();
    }
    let mut case = record(run, "null_t2");
    let dir = run.case(&case.case, 1);
    let phase = case.phases.iter_mut().find(|phase| phase.kind == "measure").unwrap();
    phase.wall_ns = slices * SECOND;
    let counts = 100_u64;
    for role in &mut phase.roles {
        role.window_ns = slices * SECOND;
        let of_role = (role.window_ns, counts * slices * role.ops.len() as u64);
        for thread in &mut role.windows {
            (thread.window_ns, thread.operations) = of_role;
        }
        for op in role.ops.values_mut() {
            op.count = counts * slices;
            (op.service_ns, op.service_ns_max) = (op.count * 1000, 1000);
            (op.hits, op.items) = (op.hits.min(op.count), op.count);
        }
    }
    dir.write_record(&case).unwrap();
    write_series(&dir, slices, counts);
    write_histograms(&dir, slices, counts);
    write_machine(&dir, slices);
    run.seal().unwrap();
}

fn write_series(dir: &CaseDir, slices: u64, counts: u64) {
    let path = dir.path.join("series.ndjson");
    let all = dir.series().unwrap().collect::<Result<Vec<_>, _>>().unwrap();
    let mut measured = all.iter().find(|slice| slice.phase == "measure").unwrap().clone();
    let (service_ns, service_ns_max) = (counts * 1000, 1000);
    let one = SliceCounts { count: counts, service_ns, service_ns_max, errors: 0 };
    let all_ops = OPERATIONS.map(|op| (op.to_owned(), one));
    measured.roles = ROLES.map(|role| (role.to_owned(), all_ops.clone().into())).into();
    let mut file = BufWriter::new(File::create(path).unwrap());
    for slice in all.iter().filter(|slice| slice.phase != "measure") {
        writeln!(file, "{}", serde_json::to_string(slice).unwrap()).unwrap();
    }
    for index in 0..slices {
        (measured.slice, measured.start_ns, measured.length_ns) = (index, index * SECOND, SECOND);
        writeln!(file, "{}", serde_json::to_string(&measured).unwrap()).unwrap();
    }
}

fn write_histograms(dir: &CaseDir, slices: u64, counts: u64) {
    let path = dir.path.join("latency.hlog");
    let text = fs::read_to_string(&path).unwrap();
    let mut histogram = hlog::histogram();
    histogram.record_n(1000, counts).unwrap();
    let encoded = hlog::to_text(&histogram).unwrap();
    let mut file = BufWriter::new(File::create(&path).unwrap());
    for line in text.lines().filter(|line| !line.starts_with("Tag=measure/")) {
        writeln!(file, "{line}").unwrap();
    }
    for at in 0..slices {
        for role in ROLES {
            for op in OPERATIONS {
                let tag = hlog::tag("measure", role, op, hlog::Kind::Service);
                writeln!(file, "Tag={tag},{at}.000,1.000,1000.000,{encoded}").unwrap();
            }
        }
    }
}

fn write_machine(dir: &CaseDir, slices: u64) {
    let path = dir.path.join("machine.ndjson");
    let all = dir.machine().unwrap().collect::<Result<Vec<_>, _>>().unwrap();
    let Some(last) = all.iter().rfind(|reading| reading.phase == "measure") else { return };
    let mut reading = last.clone();
    let mut file = BufWriter::new(File::create(path).unwrap());
    for at in 0..slices {
        reading.reading.at_unix_ns = last.reading.at_unix_ns + at * SECOND;
        writeln!(file, "{}", serde_json::to_string(&reading).unwrap()).unwrap();
    }
}

mod soak {
    use super::*;

    #[test]
    fn a_long_record_is_read_in_little_memory() {
        let scratch = Scratch::new();
        let ops = OPERATIONS.map(|op| match op {
            "scan" => "{ op = \"scan\", length = 5 }".to_owned(),
            op => format!("{{ op = \"{op}\" }}"),
        });
        let mix = format!("mix = [{}]", ops.join(", "));
        let suite = suite()
            .engine("null")
            .run("database = \"fresh\"")
            .load("batch = 500")
            .measure("duration = \"200ms\"")
            .role("front", &mix)
            .role("back", &mix);
        scratch.write("s.toml", &suite.text());
        scratch.run(&["run", "s.toml"]).assert_ok();
        lengthen(&scratch.only_run(), slices());
        for arguments in [
            &["show"][..],
            &["check"],
            &["report", "--output", "report.html"],
            &["export", "--json"],
            &["export", "--markdown", "tables.md"],
            &["export", "--xlsx", "book.xlsx"],
            &["list"],
        ] {
            let begun = Instant::now();
            let done = scratch.start(scratch.kvdyno_by(&LIMITED, arguments)).wait();
            done.assert_ok();
            report(arguments[0], begun);
        }
        let page = fs::metadata(scratch.path("report.html")).unwrap().len();
        assert!(page < 4 << 20, "the page has {page} bytes");
        let begun = Instant::now();
        let serving = scratch.start(scratch.kvdyno_by(&LIMITED, &["serve", "--port", "0"]));
        let body = served(serving, &scratch.only_run());
        assert!(body.len() < 4 << 20, "{} bytes", body.len());
        report("serve", begun);
    }
}
