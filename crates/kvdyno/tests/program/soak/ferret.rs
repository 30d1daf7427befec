//! `MongoDB`, by the protocol of today that `FerretDB` speaks: it reads its whole table for each
//! key, so the data is small. The server itself is in no package (docs/servers.md).

use crate::phases;
use crate::scratch::{Scratch, record, wait_until};
use crate::suites::{GET, UPDATE, suite};
use crate::theirs::free_port;
use crate::workers::{find, needs};
use kvdyno_record::case::Outcome;
use kvdyno_record::files::RunDir;
use kvdyno_testing::report_skip;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Where `scripts/ferretdb.sh` puts it.
fn built() -> Option<PathBuf> {
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home)?;
    Some(cache.join("kvdyno/tests/ferretdb-v1.24.2")).filter(|path| path.is_file())
}

/// In documents, in two phases: it has no transactions. One client after the other: its `$inc` is
/// not atomic, and 200 by each of four clients came to 284 of 800.
#[test]
fn a_server_of_mongodbs_protocol_keeps_a_graph() {
    let test = "a_server_of_mongodbs_protocol_keeps_a_graph";
    if !needs("mongodb", test) {
        return;
    }
    let Some(library) = built() else {
        report_skip("ferretdb", test, "scripts/ferretdb.sh has not built it");
        return;
    };
    let scratch = Scratch::new();
    let mut worker = Command::new(find("mongodb").unwrap());
    worker.arg("--library").arg(library).arg("conformance").arg(scratch.path("")).arg("graph");
    let done = worker.output().unwrap();
    let output = String::from_utf8_lossy(&done.stdout);
    for check in [
        "a graph has nodes",
        "a graph has links",
        "a graph lists many links",
        "a graph is loaded and audited",
    ] {
        assert!(output.contains(&format!("passed   {check}")), "{output}");
    }
}

struct Ferret(Child);

impl Drop for Ferret {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Ferret {
    fn start(program: &Path, scratch: &Scratch, port: u16) -> Self {
        let dir = scratch.path("ferret");
        std::fs::create_dir(&dir).unwrap();
        let mut command = Command::new(program);
        command
            .args(["--handler=sqlite", "--telemetry=disable", "--debug-addr=-"])
            .arg(format!("--sqlite-url=file:{}/", dir.display()))
            .arg(format!("--state-dir={}", dir.display()))
            .arg(format!("--listen-addr=127.0.0.1:{port}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = Self(command.spawn().unwrap());
        wait_until("FerretDB listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        child
    }
}

#[test]
fn a_server_of_mongodbs_protocol_is_measured_and_left_as_it_was() {
    let test = "a_server_of_mongodbs_protocol_is_measured_and_left_as_it_was";
    if !needs("mongodb", test) {
        return;
    }
    let Some(program) = built() else {
        report_skip("ferretdb", test, "scripts/ferretdb.sh has not built it");
        return;
    };
    let (scratch, port) = (Scratch::new(), free_port());
    let _server = Ferret::start(&program, &scratch, port);
    let suite = suite()
        .data("records = 200\nvalue_bytes = 400\nverify = true")
        .engine("mongodb")
        .load("batch = 100")
        .phase("verify", "samples = 50\ncount = true")
        .measure("duration = \"1s\"")
        .role("readers", &format!("threads = 2\n{GET}"))
        .role("writer", UPDATE);
    let name = "name = \"mongodb\"\n";
    let attached =
        format!("{name}durability = \"none\"\nserver = {{ attach = \"env:THEIR_URL\" }}\n");
    scratch.write("s.toml", &suite.text().replace(name, &attached));
    let url = format!("mongodb://127.0.0.1:{port}/");
    for _ in 0..2 {
        let mut command = scratch.kvdyno(&["run", "s.toml", "--yes-load", "127.0.0.1"]);
        command.env("THEIR_URL", &url);
        // Its database is gone after it: the second would find it otherwise.
        scratch.start(command).wait().assert_ok();
    }
    for dir in scratch.runs() {
        let record = record(&RunDir::open(dir).unwrap(), "mongodb");
        assert_eq!(record.outcome, Outcome::Done);
        let verified = phases::first(&record, "verify").verified.as_ref().unwrap();
        assert_eq!((verified.counted, verified.wrong), (Some(200), 0));
        let roles = &phases::measured(&record).roles;
        assert!(roles.iter().all(|role| role.ops.values().all(|op| op.count > 0)));
    }
}
