//! Records with a time to live on real servers: they end, and a lookup after that is a miss and no
//! mistake.

use super::scratch::{Scratch, record};
use super::servers::data;
use super::suites::{GET, suite};
use super::workers::{find, needs};
use kvdyno_record::case::{Outcome, PhaseRecord};
use std::fmt::Write as _;

const ENGINES: [&str; 2] = ["redis", "memcached"];

/// Only the commonest workers are in every scratch directory.
fn scratch_for(engine: &str) -> Scratch {
    let scratch = Scratch::new();
    if engine == "memcached" {
        scratch.link(engine, &find(engine).unwrap());
    }
    scratch
}

/// memcached promises nothing for a write.
fn run(engine: &str) -> Vec<&'static str> {
    let durability = ["--set", "engine.memcached.durability=none"];
    let durability = durability.into_iter().filter(|_| engine == "memcached");
    ["run", "s.toml", "--no-ram-limit"].into_iter().chain(durability).collect()
}

/// Sums over the operations of a phase: hits, misses, wrong values.
fn lookups(phase: &PhaseRecord) -> (u64, u64, u64) {
    let ops = || phase.roles.iter().flat_map(|role| role.ops.values());
    let sum = |count: fn(&kvdyno_record::case::OpResult) -> u64| ops().map(count).sum();
    (sum(|op| op.hits), sum(|op| op.misses), sum(|op| op.wrong))
}

/// Half of the records are written with a time to live. Once it is over, they alone are missing,
/// and the case is done.
#[test]
fn records_end_and_a_lookup_after_that_is_a_miss() {
    let test = "records_end_and_a_lookup_after_that_is_a_miss";
    for engine in ENGINES.into_iter().filter(|engine| needs(engine, test)) {
        for depth in ["", "depth = 8\n"] {
            let scratch = scratch_for(engine);
            let in_order = "keys = { distribution = \"sequential\" }";
            let expiring = "mix = [{ op = \"update\", ttl = \"2s\" }]";
            let suite = data()
                .data("records = 2000\nvalue_bytes = 400\nverify = true")
                .engine_as(engine, engine, "")
                .load("batch = 100")
                .measure("name = \"writes\"\noperations = 1000")
                .role("writer", &format!("{depth}{expiring}\n{in_order}"))
                .measure("name = \"pause\"\nduration = \"5s\"")
                .role("idle", &format!("{GET}\nrate = {{ per_second = 10 }}"))
                .measure("name = \"look\"\noperations = 2000")
                .role("reader", &format!("{depth}{GET}\n{in_order}"));
            scratch.write("s.toml", &suite.text());
            scratch.run(&run(engine)).assert_ok();
            let record = record(&scratch.only_run(), engine);
            assert_eq!(record.outcome, Outcome::Done, "{:?}", record.not_measured);
            let look = record.phases.iter().find(|phase| phase.name == "look").unwrap();
            assert_eq!(lookups(look), (1000, 1000, 0), "{engine} {depth}");
            assert_eq!(look.live_records, None, "nobody counts what expires");
            let checked = scratch.run(&["check"]);
            checked.assert_code(0).assert_says("or expire");
            scratch.assert_nothing_left();
        }
    }
}

/// A hundred records live for four seconds of the trace, at twice the speed for two; a hundred
/// stay. All are asked for after ten seconds of the trace.
#[test]
fn a_replay_ends_records_by_the_times_of_its_trace() {
    let test = "a_replay_ends_records_by_the_times_of_its_trace";
    for engine in ENGINES.into_iter().filter(|engine| needs(engine, test)) {
        assert_eq!(replayed(engine, "recorded_ttl = true"), (100, 100, 0), "{engine}");
        assert_eq!(replayed(engine, ""), (200, 0, 0), "{engine}");
    }
}

fn replayed(engine: &str, recorded_ttl: &str) -> (u64, u64, u64) {
    let scratch = scratch_for(engine);
    let mut lines = String::new();
    for key in 0..200 {
        let ttl = if key < 100 { 4 } else { 0 };
        let _ = writeln!(lines, "0,key{key:03},6,300,1,set,{ttl}");
    }
    for key in 0..200 {
        let _ = writeln!(lines, "10,key{key:03},6,300,1,get,0");
    }
    scratch.write("t.csv", &lines);
    let import = ["trace", "import", "--format", "twitter", "t.csv", "-o", "t.kvtrace"];
    scratch.run(&import).assert_ok();
    let shown = scratch.run(&["trace", "show", "t.kvtrace"]);
    shown.assert_ok().assert_says("100 writes, 4.00 s to 4.00 s");
    let suite = suite()
        .data("records = 1\nvalue_bytes = 300\nverify = true")
        .run("database = \"fresh\"")
        .engine_as(engine, engine, "")
        .load("")
        .measure("")
        .role("clients", &format!("trace = \"t.kvtrace\"\nspeed = 2.0\n{recorded_ttl}"));
    scratch.write("s.toml", &suite.text());
    scratch.run(&run(engine)).assert_ok();
    let record = record(&scratch.only_run(), engine);
    assert_eq!(record.outcome, Outcome::Done, "{:?}", record.not_measured);
    scratch.assert_nothing_left();
    let measured = record.phases.iter().find(|phase| phase.kind == "measure").unwrap();
    lookups(measured)
}

/// A recording has the times to live of what it wrote, of single writes and of cycles.
#[test]
fn a_recording_has_the_times_to_live() {
    if !needs("redis", "a_recording_has_the_times_to_live") {
        return;
    }
    let scratch = Scratch::new();
    let mix = "mix = [{ op = \"get\" }, { op = \"update\", ttl = \"90s\" }, \
               { op = \"rmw\", ttl = \"1500ms\" }, { op = \"insert\" }]";
    let suite = data()
        .engine_as("redis", "redis", "")
        .load("batch = 100")
        .measure("operations = 1000")
        .role("clients", mix);
    scratch.write("s.toml", &suite.text());
    let record = ["trace", "record", "s.toml", "-o", "t.kvtrace", "--no-ram-limit"];
    scratch.run(&record).assert_ok();
    let shown = scratch.run(&["trace", "show", "t.kvtrace"]);
    shown.assert_ok().assert_says("writes, 1.50 s to 1m30s");
    let header = scratch.run(&["trace", "show", "t.kvtrace", "--json"]).json()["header"].take();
    let count = |op: &str| header["ops"][op].as_u64().unwrap();
    let expiring = header["ttl"]["requests"].as_u64().unwrap();
    // Inserts are puts as well, and stay.
    assert!(expiring > count("rmw") && expiring < count("rmw") + count("put"), "{header}");
    scratch.assert_nothing_left();
}
