//! `kvdyno serve`: the directory of runs, over HTTP, only for this machine.

use super::scratch::{Running, Scratch, wait_until};
use super::suites::{GET, reads, suite};
use rustix::process::Signal;
use serde_json::Value;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A reply that is not there by then never comes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server that is running.
pub(crate) struct Server {
    running: Running,
    port: u16,
}

/// Its reply.
pub(crate) struct Answer {
    status: u16,
    head: String,
    pub(crate) body: String,
}

impl Server {
    /// One on a free port.
    pub(crate) fn start(scratch: &Scratch) -> Self {
        std::fs::create_dir_all(scratch.path("runs")).unwrap();
        let mut running = scratch.start(scratch.kvdyno(&["serve", "--port", "0"]));
        let mut port = None;
        wait_until("it says its address", || {
            let printed = running.printed();
            let address = printed.trim().strip_prefix("http://127.0.0.1:");
            port = address.and_then(|rest| rest.strip_suffix('/')?.parse().ok());
            port.is_some() || !running.is_running()
        });
        match port {
            Some(port) => Self { running, port },
            None => panic!("it ended: {}", running.wait().err),
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Sends a raw request, and reads until the end.
    fn send(&self, request: &str) -> Answer {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
    }

    /// Requests a page, and does not wait for it.
    fn leave_asked(&self, path: &str) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let host = format!("127.0.0.1:{}", self.port);
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
        stream
    }

    fn ask(&self, method: &str, path: &str, host: &str) -> Answer {
        self.send(&format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"))
    }

    /// The reply for a path.
    pub(crate) fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &format!("127.0.0.1:{}", self.port))
    }

    #[track_caller]
    fn json(&self, path: &str) -> Value {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        serde_json::from_str(&answer.body).unwrap()
    }

    /// Ends it.
    pub(crate) fn end(self) {
        self.running.signal(Signal::INT);
        self.running.wait().assert_code(0);
    }
}

fn names(scratch: &Scratch) -> Vec<String> {
    let name = |path: &std::path::PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
    scratch.runs().iter().map(name).collect()
}

#[test]
fn runs_reports_and_comparisons_are_shown_as_pages_and_as_data() {
    let scratch = Scratch::new();
    scratch.write("s.toml", &reads().engine("null").text());
    scratch.run(&["run", "s.toml"]).assert_ok();
    let server = Server::start(&scratch);
    // Later runs appear too: nothing is stored.
    scratch.run(&["run", "s.toml"]).assert_ok();
    let [older, newer] = <[String; 2]>::try_from(names(&scratch)).unwrap();

    let list = server.json("/runs.json");
    let entries: Vec<&Value> = list["runs"].as_array().unwrap().iter().collect();
    assert_eq!(
        (entries[0]["name"].as_str(), entries[1]["name"].as_str()),
        (Some(&*newer), Some(&*older))
    );
    assert_eq!(entries[0]["state"], "complete");
    assert_eq!(entries[0]["cases_done"], entries[0]["cases_planned"]);
    assert!(entries[0]["findings"]["info"].is_u64(), "{list}");

    let report = server.json(&format!("/runs/{older}.json"));
    assert_eq!(
        (&report["kind"], &report["summary"]["run"]["id"]),
        (&"report".into(), &older.as_str().into())
    );
    assert_eq!(report["live"]["state"], "complete");
    let versus = server.json(&format!("/compare/{older}/{newer}.json"));
    assert_eq!(versus["versus"]["base"]["run"], older.as_str());
    assert_eq!(versus["between"]["new"], newer.as_str());
    let refused = server.json(&format!("/compare/{older}/{older}.json"));
    assert!(refused["versus"].is_null() && refused["refused"]["message"].is_string(), "{refused}");

    for path in ["/", &format!("/runs/{older}"), &format!("/compare/{older}/{newer}")] {
        let page = server.get(path);
        assert_eq!(page.status, 200, "{path}");
        assert!(page.body.starts_with("<!doctype html>") && !page.body.contains("%KVDYNO_DATA%"));
        assert!(
            page.head.contains("content-security-policy: default-src 'none'; script-src 'sha256-")
        );
        assert!(page.head.contains("x-content-type-options: nosniff"), "{}", page.head);
        assert!(!page.head.contains("access-control-allow"), "{}", page.head);
    }
    // The same as a file; a debug build of the null engine makes figures invalid, and is shown.
    let done = scratch.run(&["compare", &older, &newer, "--html", "change.html"]);
    assert!(matches!(done.code, Some(0 | 4)), "{}", done.err);
    done.assert_says("change.html");
    let page = fs::read_to_string(scratch.path("change.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") && !page.contains("%KVDYNO_DATA%"));
    assert!(!page.contains("connect-src"), "a file asks nobody");
    let head = server.ask("HEAD", "/runs.json", &format!("localhost:{}", server.port));
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    server.end();
    scratch.run(&["check"]).assert_code(0);
    scratch.assert_nothing_left();
}

#[test]
fn what_is_not_meant_for_it_is_refused() {
    let scratch = Scratch::new();
    scratch.write("s.toml", &reads().engine("null").text());
    scratch.run(&["run", "s.toml"]).assert_ok();
    scratch.run(&["run", "s.toml", "--runs", "others"]).assert_ok();
    let server = Server::start(&scratch);
    let port = server.port;
    for host in ["evil.example", &format!("evil.example:{port}"), "127.0.0.1", "localhost:1", ""] {
        let answer = server.ask("GET", "/runs.json", host);
        assert_eq!(answer.status, 421, "{host}");
        assert!(!answer.body.contains("kind"), "{host}: {}", answer.body);
    }
    let bare = server.send("GET /runs.json HTTP/1.0\r\n\r\n");
    assert_eq!(bare.status, 421, "{}", bare.body);
    let ours = format!("127.0.0.1:{port}");
    let from = format!("GET / HTTP/1.1\r\nHost: {ours}\r\nSec-Fetch-Site: cross-site\r\n");
    assert_eq!(server.send(&(from + "Connection: close\r\n\r\n")).status, 403);
    assert!(TcpStream::connect(("127.0.0.2", port)).is_err(), "it is bound to 127.0.0.1 alone");
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        let answer = server.ask(method, "/runs.json", &ours);
        assert_eq!(answer.status, 405, "{method}");
        assert!(answer.head.contains("allow: get, head"), "{}", answer.head);
    }
    let run = names(&scratch).remove(0);
    let other = super::scratch::list(&scratch.path("others")).remove(0);
    let outside = [
        format!("/runs/../others/{other}"),
        format!("/runs/..%2Fothers%2F{other}"),
        format!("/runs/..%2Fothers%2F{other}.json"),
        format!("/runs/{}.json", scratch.path("others").join(&other).display()),
        format!("/runs/%2Fproc%2F..{}", scratch.path("runs").join(&run).display()),
        format!("/runs/./{run}"),
        format!("/runs/{run}/../{run}"),
        format!("/runs/{run}/plan.json"),
        format!("/runs/{run}%00.json"),
        "/runs/..".to_owned(),
        "/runs/".to_owned(),
        "//runs.json".to_owned(),
        "/etc/passwd".to_owned(),
        format!("/compare/{run}/..%2Fothers%2F{other}"),
    ];
    for path in outside {
        let answer = server.get(&path);
        assert_eq!(
            answer.status,
            404,
            "{path}: {}",
            answer.body.chars().take(200).collect::<String>()
        );
    }
    server.end();
    scratch.assert_nothing_left();
}

/// The record of a sealed run is read once for any number of requests, and again after a new seal.
#[test]
fn the_report_of_a_sealed_run_is_rendered_once() {
    let scratch = Scratch::new();
    scratch.write("s.toml", &reads().engine("null").text());
    scratch.run(&["run", "s.toml"]).assert_ok();
    let (server, run) = (Server::start(&scratch), names(&scratch).remove(0));
    let paths = [format!("/runs/{run}"), format!("/runs/{run}.json")];
    let first = paths.each_ref().map(|path| server.get(path));
    assert!(first.iter().all(|answer| answer.status == 200));
    // A client that does not read its reply blocks no other.
    let idle: Vec<TcpStream> = (0..100).map(|_| server.leave_asked(&paths[0])).collect();
    let dir = scratch.path("runs").join(&run);
    fs::rename(dir.join("cases"), dir.join("gone")).unwrap();
    for (path, first) in paths.iter().zip(&first) {
        assert!(server.get(path).body == first.body, "{path} is rendered anew");
    }
    assert_eq!(server.get("/").status, 200);
    drop(idle);
    let complete = fs::File::options().write(true).open(dir.join("complete")).unwrap();
    complete.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    assert!(server.get(&paths[0]).body != first[0].body, "it was sealed anew");
    server.end();
}

/// A file of a record that is read when the test permits it: each open gets another pipe.
struct BlockedFile {
    file: PathBuf,
    text: String,
    pipes: usize,
}

impl BlockedFile {
    fn new(file: &Path) -> Self {
        let text = fs::read_to_string(file).unwrap();
        let mut held = Self { file: file.to_owned(), text, pipes: 0 };
        held.next();
        held
    }

    fn pipe(&self) -> PathBuf {
        self.file.with_extension(format!("{}", self.pipes))
    }

    fn next(&mut self) {
        self.pipes += 1;
        let (pipe, link) = (self.pipe(), self.file.with_extension("link"));
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        fs::hard_link(pipe, &link).unwrap();
        fs::rename(link, &self.file).unwrap();
    }

    /// Waits until it is opened.
    fn opened(&self) -> File {
        let (mut opened, path) = (None, self.pipe());
        // Without a reader it fails; with one it waits for writes as usual.
        let nonblocking = rustix::fs::OFlags::NONBLOCK.bits() as i32;
        wait_until("the file is being read", || {
            let mut options = File::options();
            opened = options.write(true).custom_flags(nonblocking).open(&path).ok();
            opened.is_some()
        });
        opened.unwrap()
    }

    /// Lets it be read once, to its end. The next reader must wait.
    fn let_read(&mut self, mut pipe: File) {
        self.next();
        pipe.write_all(self.text.as_bytes()).unwrap();
    }
}

/// The rendering of a report reads the machine's time line twice.
const READS: usize = 2;

#[test]
fn nothing_is_rendered_for_clients_that_have_gone_and_lists_are_shown_meanwhile() {
    let scratch = Scratch::new();
    scratch.write("s.toml", &reads().engine("null").text());
    scratch.run(&["run", "s.toml"]).assert_ok();
    let (server, run) = (Server::start(&scratch), names(&scratch).remove(0));
    let dir = scratch.path("runs").join(&run);
    // A run without a seal is rendered again each time.
    fs::remove_file(dir.join("complete")).unwrap();
    let files = super::scratch::files_below(&dir);
    let machine = files.iter().find(|path| path.ends_with("machine.ndjson")).unwrap();
    let mut machine = BlockedFile::new(machine);
    let report = format!("/runs/{run}.json");
    let mut first = server.leave_asked(&report);
    // Its rendering has started.
    let being_read = machine.opened();
    for _ in 0..20 {
        drop(server.leave_asked(&report));
    }
    for _ in 0..3 {
        assert_eq!(server.json("/runs.json")["runs"][0]["state"], "partial");
        assert_eq!(server.get("/").status, 200);
    }
    let mut last = server.leave_asked(&report);
    let mut being_read = Some(being_read);
    for stream in [&mut first, &mut last] {
        for _ in 0..READS {
            let pipe = being_read.take().unwrap_or_else(|| machine.opened());
            machine.let_read(pipe);
        }
        // Rendering for a disconnected client would wait for the next pipe, and this one for it.
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    server.end();
}

#[test]
fn a_run_at_work_is_shown_as_it_gets_on() {
    let scratch = Scratch::new();
    let long = suite()
        .run("slice = \"100ms\"")
        .engine_as("slow", "null", "latency_ns = 1_000_000\nstore = \"memory\"")
        .load("batch = 500")
        .measure("duration = \"5m\"")
        .role("readers", GET);
    scratch.write("s.toml", &long.text());
    let server = Server::start(&scratch);
    assert_eq!(server.json("/runs.json")["runs"], Value::Array(Vec::new()));
    let running = scratch.start(scratch.kvdyno(&["run", "s.toml"]));
    scratch.wait_for_phase("t1", "measure");
    let name = names(&scratch).remove(0);
    let live = || server.json(&format!("/runs/{name}/live.json"));
    wait_until("a rate is known", || {
        live()["in_flight"]["roles"][0]["ops_per_s"][0].as_f64().is_some_and(|rate| rate > 0.0)
    });
    let now = live();
    assert_eq!(now["state"], "running");
    assert_eq!((&now["cases_recorded"], &now["cases_planned"]), (&1.into(), &2.into()));
    let flight = &now["in_flight"];
    assert_eq!((&flight["engine"], &flight["phase"]), (&"slow".into(), &"measure".into()));
    assert_eq!(flight["roles"][0]["role"], "readers");
    assert_eq!(server.json("/runs.json")["runs"][0]["state"], "running");
    let report = server.json(&format!("/runs/{name}.json"));
    assert_eq!(report["live"]["state"], "running");
    assert_eq!(report["summary"]["run"]["cases_recorded"], 1);
    scratch.run(&["list"]).assert_code(0).assert_says("running");

    running.signal(Signal::INT);
    running.wait().assert_code(130);
    let after = live();
    assert_eq!((&after["state"], &after["in_flight"]), (&"partial".into(), &Value::Null));
    scratch.run(&["list"]).assert_code(0).assert_says("partial");
    server.end();
    scratch.run(&["check"]).assert_code(0);
    scratch.assert_nothing_left();
}

#[test]
fn a_record_that_cannot_be_read_does_not_end_it() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    let run = scratch.path("runs/2026-01-01T00-00-00Z_<script>_0000");
    fs::create_dir_all(&run).unwrap();
    fs::write(run.join("run.json"), "{ \"<script>alert(1)</script>\"").unwrap();
    let list = server.json("/runs.json");
    assert_eq!(list["runs"][0]["state"], "unreadable");
    assert!(list["runs"][0]["message"].as_str().unwrap().contains("run.json"), "{list}");
    let answer = server.get("/runs/2026-01-01T00-00-00Z_%3Cscript%3E_0000");
    assert_eq!(answer.status, 500);
    assert!(answer.head.contains("content-type: text/plain; charset=utf-8"), "{}", answer.head);
    server.end();
}

#[test]
fn a_port_that_is_taken_is_said() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    let second = scratch.run(&["serve", "--port", &server.port.to_string()]);
    let missing = scratch.run(&["serve", "--runs", "gone"]);
    missing.assert_code(2).assert_says("--runs gone: there is no such directory");
    second.assert_code(2).assert_says("--port 0");
    server.running.signal(Signal::TERM);
    server.running.wait().assert_code(0);
}
