//! Parts of a suite, engines that are opened again, and windows: planned, run, and on record.

use super::scratch::{Scratch, outcomes, record, wait_until};
use kvdyno_record::workload::Activity;

const LATENCY_NS: u64 = 2_000_000;
const READS: u64 = 20;

/// Two parts: one opens its engine again, to be slow; the other cuts its phase into windows.
fn suite() -> String {
    format!(
        "[suite]\nname = \"parts\"\n[data]\nrecords = 1000\nvalue_bytes = 100\n\
         [run]\ntrials = 1\n\
         [[engine]]\nname = \"null\"\noptions = {{ store = \"memory\" }}\n\
         [[phase]]\nkind = \"load\"\n\
         [[phase]]\nkind = \"reopen\"\noptions.null = {{ latency_ns = {LATENCY_NS} }}\n\
         [[phase]]\nname = \"reads\"\nkind = \"measure\"\noperations = {READS}\n\
         [[phase.role]]\nname = \"readers\"\nmix = [{{ op = \"get\" }}]\n\
         [phases.hours]\nkind = \"measure\"\nduration = \"250ms\"\nwindows = \"100ms\"\n\
         role.readers = {{ mix = [{{ op = \"get\" }}] }}\n\
         [[part]]\nname = \"slow\"\nphases = [\"load\", \"reopen\", \"reads\"]\n\
         [[part]]\nname = \"long\"\nphases = [\"load\", \"hours\"]\n\
         data = {{ records = [1000, 2000] }}\n"
    )
}

#[test]
fn parts_are_planned_run_and_told_apart() {
    let scratch = Scratch::new();
    scratch.write("s.toml", &suite());
    let planned = scratch.run(&["plan", "s.toml"]);
    planned.assert_ok().assert_says("slow: load, load-settle, reopen, reads");
    planned.assert_says("long: load, load-settle, hours-w1 to w3");
    scratch.run(&["plan", "s.toml", "--cases"]).assert_ok().assert_says("0006_");
    let one = scratch.run(&["plan", "s.toml", "--part", "slow", "--json"]).json();
    assert_eq!(one["cases"].as_array().unwrap().len(), 2);
    scratch.run(&["plan", "s.toml", "--part", "slo"]).assert_code(2).assert_says("`slow`");

    let done = scratch.run(&["run", "s.toml", "--full"]);
    done.assert_ok().assert_says("null slow").assert_says("null long");
    let run = scratch.only_run();
    assert!(outcomes(&run).values().all(|outcome| *outcome == "done"), "{:?}", outcomes(&run));
    let load = record(&run, "slow_null_load");
    assert_eq!(load.case.part.as_deref(), Some("slow"));
    let kinds: Vec<&str> = load.phases.iter().map(|phase| phase.kind.as_str()).collect();
    assert_eq!(kinds, ["load", "settle", "reopen"]);
    assert!(matches!(&load.case.phases[2].work, Activity::Reopen { options }
        if options.integer("latency_ns") == Ok(LATENCY_NS)));
    assert_eq!((load.opens_ns.len(), load.phases[2].evicted.as_ref()), (2, None));
    // Those that work on the database are opened with what it was last opened with.
    let reads = record(&run, "slow_null_t1");
    let read = &reads.phases[0].roles[0].ops["get"];
    assert_eq!((read.count, read.hits), (READS, READS));
    assert!(read.service_ns >= READS * LATENCY_NS, "{read:?}");
    let long = record(&run, "long_null_n2k_t1");
    let names: Vec<&str> = long.phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(names, ["hours-w1", "hours-w2", "hours-w3"]);
    assert_eq!(long.opens_ns.len(), 1);
    scratch.run(&["check"]).assert_code(0);
    scratch.assert_nothing_left();
}

/// Where the phase stands among those that measure, it is done there.
#[test]
fn an_engine_is_opened_again_between_two_measured_phases() {
    let scratch = Scratch::new();
    let text = suite().replace(
        "\"long\"\nphases = [\"load\", \"hours\"]",
        "\"long\"\nphases = [\"load\", \"hours\", \"reopen\", \"reads\"]",
    );
    scratch.write("s.toml", &text);
    scratch.run(&["run", "s.toml", "--part", "long", "--set", "run.database=fresh"]).assert_ok();
    let long = record(&scratch.only_run(), "long_null_n1k_t1");
    let find_case = |name: &str| {
        let phase = long.phases.iter().find(|phase| phase.name == name).unwrap();
        phase.roles[0].ops["get"].clone()
    };
    assert!(find_case("reads").service_ns >= READS * LATENCY_NS);
    assert!(find_case("hours-w1").count > 0);
    assert_eq!(long.opens_ns.len(), 2);
}

/// A window is on record when it has ended: what was measured is not lost with the program.
#[test]
fn windows_that_have_ended_are_there_after_a_kill() {
    let scratch = Scratch::new();
    scratch.write("s.toml", &suite());
    let arguments = ["run", "s.toml", "--part", "long"];
    let plan = scratch.run(&["plan", "s.toml", "--part", "long", "--json"]).json();
    let cases = plan["cases"].as_array().unwrap().iter();
    let mut ids = cases.map(|case| case["id"].as_str().unwrap());
    let case = ids.find(|id| id.contains("long_null_n1k_t1")).unwrap();
    let mut command = scratch.kvdyno(&arguments);
    command.env("KVDYNO_DIE_AT", format!("hours-w2 of {case}"));
    assert_eq!(scratch.start(command).wait().signal, Some(9));
    wait_until("its worker is gone", || scratch.processes().is_empty());
    let killed = record(&scratch.only_run(), "long_null_n1k_t1");
    let names: Vec<&str> = killed.phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(names, ["hours-w1", "hours-w2"]);
    assert_eq!(killed.outcome.as_str(), "interrupted");
    assert!(killed.phases[1].roles[0].ops["get"].count > 0);
    let resumed = scratch.run(&["resume"]);
    resumed.assert_ok().assert_says(case).assert_says("hours-w1 to hours-w2");
    let run = scratch.only_run();
    assert!(outcomes(&run).values().all(|outcome| *outcome == "done"), "{:?}", outcomes(&run));
    let anew = record(&run, "long_null_n1k_t1");
    assert_eq!((anew.attempt, anew.phases.len()), (2, 3));
    let unchanged = run.case(&killed.case, killed.attempt).record().unwrap();
    assert_eq!(unchanged, killed, "what was measured before the kill is as it was");
    scratch.run(&["check"]).assert_code(0);
    scratch.assert_nothing_left();
}
