//! Attached servers: by URL, with TLS and passwords; kvdyno's database in them is removed
//! afterwards, and no record contains a secret.

use super::scratch::{Scratch, record, wait_until};
use super::suites::{GET, Suite, UPDATE, suite};
use super::theirs::{AttachedServer, free_port};
use super::workers::needs;
use kvdyno_record::case::Outcome;
use rustix::process::Signal;
use std::fs;
use std::process::Command;

const SERVERS: [&str; 3] = ["redis", "postgres", "mariadb"];

/// Load, verify, and a phase with two readers and a writer.
pub(super) fn whole(engine: &str) -> Suite {
    suite()
        .data("records = 2000\nvalue_bytes = 400\nverify = true")
        .engine(engine)
        .load("batch = 100")
        .phase("verify", "samples = 500")
        .measure("duration = \"300ms\"")
        .role("readers", &format!("threads = 2\n{GET}"))
        .role("writer", UPDATE)
}

/// Its engine is the attached server.
pub(super) fn attached(suite: &Suite, engine: &str) -> String {
    let name = format!("name = \"{engine}\"\n");
    suite.text().replace(&name, &format!("{name}server = {{ attach = \"env:THEIR_URL\" }}\n"))
}

fn url(engine: &str, theirs: &AttachedServer) -> String {
    let (secret, authority, port) = (&theirs.secret, theirs.authority(), theirs.port);
    match engine {
        "redis" => {
            format!("rediss://:{secret}@localhost:{}/3?tlsCAFile={authority}", theirs.hidden_port)
        }
        "postgres" => format!(
            "postgres://kvdyno:{secret}@localhost:{port}/postgres?sslmode=verify-full&\
             sslrootcert={authority}"
        ),
        _ => format!(
            "mysql://kvdyno:{secret}@localhost:{port}/?ssl-mode=REQUIRED&ssl-ca={authority}"
        ),
    }
}

fn run(scratch: &Scratch, url: &str, more: &[&str]) -> Command {
    let mut command = scratch.kvdyno(&[&["run", "s.toml"], more].concat());
    command.env("THEIR_URL", url);
    command
}

#[test]
fn a_server_elsewhere_is_measured_and_left_as_it_was() {
    let test = "a_server_elsewhere_is_measured_and_left_as_it_was";
    for engine in SERVERS.into_iter().filter(|engine| needs(engine, test)) {
        let (scratch, theirs) = (Scratch::new(), AttachedServer::start(engine));
        let url = url(engine, &theirs);
        scratch.write("s.toml", &attached(&whole(engine), engine));
        let done = scratch.start(run(&scratch, &url, &["--yes-load", "localhost"])).wait();
        done.assert_ok();
        let dir = scratch.only_run();
        let record = record(&dir, engine);
        assert_eq!(record.outcome, Outcome::Done);
        let server = record.server.as_ref().unwrap();
        assert!(server.address.starts_with("env:THEIR_URL/"), "{}", server.address);
        assert_eq!((server.starts_ns.len(), server.stops_ns.len()), (1, 1));
        assert!(server.usage.is_none(), "nothing is known of what it used");
        let of_engine = &record.worker.as_ref().unwrap().description.engine;
        assert!(
            of_engine.version.starts_with(|c: char| c.is_ascii_digit()),
            "{}",
            of_engine.version
        );
        let reported =
            record.not_measured.iter().any(|what| what.contains("kvdyno does not run it"));
        assert!(reported, "{:?}", record.not_measured);
        for phase in &record.phases {
            assert!(phase.after.engine().is_none() && phase.after.device.is_none());
            assert!(phase.database.is_none(), "its size is not that of an empty directory");
        }
        scratch.run(&["show", "--table", "cost"]).assert_says("client us/op");
        scratch.run(&["check"]).assert_code(0);
        assert_no_secret(&scratch, &theirs.secret);
        // Its database is removed: another run would find it otherwise, Redis' by its number.
        let again = scratch.start(run(&scratch, &url, &["--yes-load", "localhost"])).wait();
        again.assert_ok();
        assert_nothing_of_ours(engine, &theirs);
        scratch.assert_nothing_left();
    }
}

/// In no file and no output of the runs.
fn assert_no_secret(scratch: &Scratch, secret: &str) {
    let matches =
        Command::new("grep").arg("-rl").arg(secret).arg(scratch.path("")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&matches.stdout), "");
}

/// A database is a directory of its name or number, or a number in Redis.
fn assert_nothing_of_ours(engine: &str, theirs: &AttachedServer) {
    match engine {
        "redis" => assert!(theirs.redis("SELECT 3\r\nDBSIZE\r\n").contains(":0\r\n")),
        // Three exist from the start: two templates and `postgres`.
        "postgres" => wait_until("the database is gone", || {
            fs::read_dir(theirs.file("data/base")).unwrap().flatten().count() == 3
        }),
        _ => {
            let entries = fs::read_dir(theirs.file("data")).unwrap().flatten();
            let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
            let ours: Vec<String> = names.filter(|name| name.starts_with("kvdyno_")).collect();
            assert_eq!(ours, Vec::<String>::new());
        }
    }
}

/// Before anything is changed, with the remedy.
#[test]
fn what_cannot_be_done_to_a_server_elsewhere_is_refused() {
    let test = "what_cannot_be_done_to_a_server_elsewhere_is_refused";
    if !needs("redis", test) {
        return;
    }
    let (scratch, theirs) = (Scratch::new(), AttachedServer::start("redis"));
    let good = url("redis", &theirs);
    let suite = whole("redis");
    let refused = |text: &str, url: &str, more: &[&str], why: &str| {
        scratch.write("s.toml", text);
        let done = scratch.start(run(&scratch, url, more)).wait();
        done.assert_code(2).assert_says(why);
        assert!(!done.err.contains(&theirs.secret), "{}", done.err);
        assert_eq!(scratch.runs(), Vec::<std::path::PathBuf>::new());
    };
    let (plain, yes) = (attached(&suite, "redis"), &["--yes-load", "localhost"][..]);
    refused(&plain, &good, &[], "--yes-load localhost");
    refused(&plain, &good, &["--yes-load", "other"], "--yes-load localhost");
    refused(&plain, "", yes, "THEIR_URL");
    refused(&plain, &good.replace(&theirs.secret, "wrong"), yes, "WRONGPASS");
    let nobody = format!("redis://localhost:{}/", free_port());
    refused(&plain, &nobody, yes, "Connection refused");
    let untrusted = good.split('?').next().unwrap();
    refused(&plain, untrusted, yes, "localhost");
    let by_number = good.replace("localhost", "127.0.0.1");
    refused(&plain, &by_number, &["--yes-load", "127.0.0.1"], "127.0.0.1");
    let classes = plain.replace("[engine.options]", "durability = \"async\"\n[engine.options]");
    refused(&classes, &good, yes, "async");
    let evicts = attached(&suite.clone().phase("evict", ""), "redis");
    refused(&evicts, &good, yes, "evict");
    let limited = attached(&suite.clone().ram("1GiB"), "redis");
    refused(&limited, &good, yes, "redis");
    let options = plain.replace("[engine.options]\n", "[engine.options]\nmaxmemory = \"1GiB\"\n");
    refused(&options, &good, yes, "`maxmemory`");
    let written = plain.replace("env:THEIR_URL", &good);
    scratch.write("s.toml", &written);
    let done = scratch.start(run(&scratch, &good, yes)).wait();
    done.assert_code(2).assert_says("env:NAME");
    let lmdb = attached(&whole("lmdb"), "lmdb");
    refused(&lmdb, &good, yes, "lmdb");
}

/// Existing data of a database stays.
#[test]
fn a_database_that_is_not_empty_is_left_alone() {
    let test = "a_database_that_is_not_empty_is_left_alone";
    if !needs("redis", test) {
        return;
    }
    let (scratch, theirs) = (Scratch::new(), AttachedServer::start("redis"));
    theirs.redis("SELECT 3\r\nSET theirs precious\r\n");
    scratch.write("s.toml", &attached(&whole("redis"), "redis"));
    let url = url("redis", &theirs);
    let done = scratch.start(run(&scratch, &url, &["--yes-load", "localhost"])).wait();
    done.assert_says("database 3");
    assert!(theirs.redis("SELECT 3\r\nGET theirs\r\n").contains("precious"));
}

/// A killed program leaves no database in it.
#[test]
fn whoever_is_killed_leaves_nothing_elsewhere() {
    let test = "whoever_is_killed_leaves_nothing_elsewhere";
    for engine in SERVERS.into_iter().filter(|engine| needs(engine, test)) {
        let (scratch, theirs) = (Scratch::new(), AttachedServer::start(engine));
        let slow = suite().engine(engine).load("batch = 100").measure("duration = \"20s\"");
        let slow = slow.role("readers", GET);
        scratch.write("s.toml", &attached(&slow, engine));
        let command = run(&scratch, &url(engine, &theirs), &["--yes-load", "localhost"]);
        let running = scratch.start(command);
        scratch.wait_for_phase(engine, "measure");
        running.signal(Signal::KILL);
        running.wait();
        wait_until("all processes are gone", || scratch.processes().is_empty());
        assert_nothing_of_ours(engine, &theirs);
    }
}
