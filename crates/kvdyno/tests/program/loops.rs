//! Loops, closed and open, as their records tell of them: bugs 3, 4, 5, 6, 7, 10 and 11 of other
//! tools.

use super::scratch::{Scratch, record};
use super::suites::{GET, UPDATE, suite};
use hdrhistogram::Histogram;
use kvdyno_record::case::{CaseRecord, OpResult};
use kvdyno_record::files::RunDir;
use kvdyno_record::hlog::{self, Kind};

/// All samples of one operation of a case.
pub(crate) fn samples(
    run: &RunDir,
    case: &CaseRecord,
    tag: [&str; 3],
    kind: Kind,
) -> Histogram<u64> {
    let mut all = hlog::histogram();
    for interval in run.case(&case.case, case.attempt).latency().unwrap() {
        let interval = interval.unwrap();
        let interval_tag = [interval.phase.as_str(), interval.role.as_str(), interval.op.as_str()];
        if interval_tag == tag && interval.kind == kind {
            let counts = interval.counts.into_iter();
            counts.for_each(|(value, count)| all.record_n(value, count).unwrap());
        }
    }
    all
}

/// Operations of a role in the series of a case.
fn in_series(run: &RunDir, case: &CaseRecord, [phase, role, op]: [&str; 3]) -> u64 {
    let slices = run.case(&case.case, case.attempt).series().unwrap();
    let slices = slices.collect::<Result<Vec<_>, _>>().unwrap();
    let slices = slices.iter().filter(|slice| slice.phase == phase);
    slices.filter_map(|slice| Some(slice.roles.get(role)?.get(op)?.count)).sum()
}

fn op<'r>(case: &'r CaseRecord, [phase, role, op]: [&str; 3]) -> &'r OpResult {
    let phase = case.phases.iter().find(|other| other.name == phase).unwrap();
    &phase.roles.iter().find(|other| other.role == role).unwrap().ops[op]
}

const READ: [&str; 3] = ["measure", "readers", "get"];

/// Bug 3: an engine that stalls for a second at 10,000 operations per second delays 10,000 of them.
/// Its service times hide this: only one call was slow.
#[test]
fn a_pause_shows_in_response_times_and_not_in_service_times() {
    let scratch = Scratch::new();
    let suite = suite()
        .engine_as("pauses", "null", "pause_at_op = 2000\npause_ms = 1000")
        .load("batch = 500")
        .measure("duration = \"1500ms\"")
        .role("readers", &format!("{GET}\nrate = {{ per_second = 10_000, schedule = \"fixed\" }}"));
    scratch.write("s.toml", &suite.text());
    scratch.run(&["run", "s.toml"]).assert_ok();
    let run = scratch.only_run();
    let case = record(&run, "t1");
    let response = samples(&run, &case, READ, Kind::Response);
    let service = samples(&run, &case, READ, Kind::Service);
    assert_eq!(response.len(), service.len());
    // Half of the 10,000 waited half a second or more: a third of 15,000.
    assert!(
        response.value_at_quantile(0.999) > 900_000_000,
        "{}",
        response.value_at_quantile(0.999)
    );
    assert!(response.value_at_quantile(0.75) > 300_000_000);
    assert!(service.max() >= 999_000_000);
    assert_eq!(service.count_between(900_000_000, u64::MAX), 1, "one call was slow");
    assert!(service.value_at_quantile(0.999) < 300_000_000, "{}", service.value_at_quantile(0.999));
    scratch.run(&["check"]).assert_code(0);
}

/// Bug 4: no burst after the warmup, no tick left out; operations not started in time are counted,
/// too.
#[test]
fn an_open_loop_issues_rate_times_time() {
    let scratch = Scratch::new();
    let rate = |schedule: &str| {
        format!("threads = 2\n{GET}\nrate = {{ per_second = 2000, schedule = \"{schedule}\" }}")
    };
    let suite = suite()
        .engine("null")
        .engine_as("stalls", "null", "pause_at_op = 2000\npause_ms = 700")
        .load("batch = 500")
        .measure("duration = \"1s\"\nwarmup = \"200ms\"")
        .role("readers", &rate("fixed"));
    scratch.write("s.toml", &suite.text());
    scratch.run(&["run", "s.toml"]).assert_ok();
    let run = scratch.only_run();
    for engine in ["null", "stalls"] {
        let case = record(&run, &format!("{engine}_t2"));
        let role = &case.phases.iter().find(|phase| phase.name == "measure").unwrap().roles[0];
        let issued = role.ops["get"].count + role.backlog;
        assert!(issued.abs_diff(2000) <= 2, "{engine}: {issued} of 2000, backlog {}", role.backlog);
        assert_eq!(role.offered_per_s, Some(2000.0));
        assert!(case.phases.iter().any(|phase| phase.name == "warmup"));
    }
    scratch.run(&["check"]).assert_code(0);
    scratch.run(&["show", "--full"]).assert_says("readers");
}

/// A rate that changes, one below one a second, and threads that pause: 0.2 s at 1000 a second and
/// 0.3 s at 4000 are 1400 operations; two threads can pause for 10 ms at most 50 times each.
#[test]
fn rates_may_change_and_threads_may_pause() {
    let scratch = Scratch::new();
    let steps = "rate = { schedule = \"fixed\", steps = [\
                 { per_second = 1000, duration = \"200ms\" }, \
                 { per_second = 4000, duration = \"100ms\" }] }";
    let seldom = "rate = { per_second = 0.5, schedule = \"fixed\" }";
    let suite = suite()
        .engine("null")
        .load("batch = 500")
        .measure("duration = \"500ms\"")
        .role("steps", &format!("threads = 2\n{steps}\n{GET}"))
        .role("seldom", &format!("{seldom}\n{GET}"))
        .role("thinkers", &format!("threads = 2\nthink_time = \"10ms\"\n{GET}"));
    scratch.write("s.toml", &suite.text());
    scratch.run(&["run", "s.toml"]).assert_ok();
    let case = record(&scratch.only_run(), "null_t5");
    let phase = case.phases.iter().find(|phase| phase.name == "measure").unwrap();
    let [steps, seldom, thinkers] = phase.roles.as_slice() else { panic!("{phase:?}") };
    let issued = steps.ops["get"].count + steps.backlog;
    assert!(issued.abs_diff(1400) <= 2, "{issued} of 1400");
    assert!((steps.offered_per_s.unwrap() - 2800.0).abs() < 1e-6, "{steps:?}");
    assert_eq!(seldom.ops["get"].count + seldom.backlog, 1);
    let thoughts = thinkers.ops["get"].count;
    assert!((2..=102).contains(&thoughts), "{thoughts}");
    assert!(thinkers.window_ns >= 500_000_000, "idle to the end: {}", thinkers.window_ns);
    scratch.run(&["check"]).assert_code(0);
}

/// Bug 5: at hundreds of nanoseconds a histogram of microseconds shows nothing. Only the resolution
/// of call times is asserted, because a busy machine changes them.
#[test]
fn nanoseconds_are_told_apart() {
    let scratch = Scratch::new();
    let suite = suite()
        .engine_as("busy", "null", "latency_ns = 300")
        .load("batch = 500")
        .measure("duration = \"300ms\"")
        .role("readers", GET);
    scratch.write("s.toml", &suite.text());
    scratch.run(&["run", "s.toml"]).assert_ok();
    let run = scratch.only_run();
    let samples = samples(&run, &record(&run, "t1"), READ, Kind::Service);
    // 300 ns, less the 5 % that its calibration may be off; the load generator comes on top.
    let median = samples.value_at_quantile(0.5);
    assert!((285..3_000).contains(&median), "{median} ns");
    let below = |ns| samples.iter_recorded().filter(|b| b.value_iterated_to() < ns).count();
    assert!(below(5_000) >= 10, "buckets below 5 us: {}", below(5_000));
}

/// Bug 6: threads that share a histogram lose counts or wait for each other.
#[test]
fn sixty_four_threads_lose_no_count() {
    let scratch = Scratch::new();
    let suite = suite()
        .run("slice = \"100ms\"")
        .engine("null")
        .load("batch = 500")
        .measure("duration = \"400ms\"")
        .role("readers", &format!("threads = 64\n{GET}"));
    scratch.write("s.toml", &suite.text());
    scratch.run(&["run", "s.toml"]).assert_ok();
    let run = scratch.only_run();
    let case = record(&run, "t64");
    let get = op(&case, READ);
    assert!(get.count > 0);
    assert_eq!(get.count, samples(&run, &case, READ, Kind::Service).len());
    assert_eq!(get.count, in_series(&run, &case, READ));
    assert_eq!((get.hits, get.misses, get.items), (get.count, 0, get.count));
    scratch.run(&["check"]).assert_code(0);
}

/// Bug 7: values are generated and sealed before the operation's time starts. Generating a megabyte
/// takes far longer than storing it in an engine that stores nothing.
#[test]
fn making_values_is_not_in_the_times() {
    let scratch = Scratch::new();
    let suite = suite()
        .data("records = 100\nkey_bytes = 16\nvalue_bytes = \"1MiB\"\nverify = true")
        .engine("null")
        .load("batch = 1")
        .measure("duration = \"300ms\"")
        .role("writers", UPDATE);
    scratch.write("s.toml", &suite.text());
    scratch.run(&["run", "s.toml"]).assert_ok();
    let case = record(&scratch.only_run(), "t1");
    let writers = ["measure", "writers", "update"];
    let update = op(&case, writers);
    assert!(update.count >= 10, "{}", update.count);
    let phase = case.phases.iter().find(|phase| phase.name == "measure").unwrap();
    let share = update.service_ns as f64 / phase.roles[0].window_ns as f64;
    assert!(share < 0.2, "{share:.2} of the time is in the operations");
}

/// Bug 10: counts of one phase do not reappear in the next, nor those of a run in the next run.
#[test]
fn every_phase_and_every_run_counts_from_nothing() {
    let scratch = Scratch::new();
    let suite = suite()
        .engine_as("null", "null", "store = \"memory\"")
        .load("batch = 500")
        .measure("operations = 1000")
        .role("readers", GET)
        .measure("operations = 1000")
        .role("readers", GET);
    scratch.write("s.toml", &suite.text());
    for _ in 0..2 {
        scratch.run(&["run", "s.toml", "--data-dir", "place", "--create-data-dir"]).assert_ok();
        scratch.run(&["check"]).assert_code(0);
    }
    let runs = scratch.runs();
    assert_eq!(runs.len(), 2, "each run has a directory of its own");
    for path in runs {
        let run = RunDir::open(path).unwrap();
        let case = record(&run, "t1");
        for phase in ["measure", "measure-2"] {
            let tag = [phase, "readers", "get"];
            assert_eq!(op(&case, tag).count, 1000);
            assert_eq!(in_series(&run, &case, tag), 1000);
            assert_eq!(samples(&run, &case, tag, Kind::Service).len(), 1000);
        }
        let load = record(&run, "load");
        assert_eq!(op(&load, ["load", "load", "batch"]).items, super::suites::RECORDS);
    }
    scratch.assert_nothing_left();
}

/// Bug 11: readers and writer start and end together, and both are in the tables.
#[test]
fn readers_and_writer_have_equal_windows_and_both_are_reported() {
    let scratch = Scratch::new();
    let suite = suite()
        .run("slice = \"100ms\"")
        .engine_as("null", "null", "store = \"memory\"\nlatency_ns = 2000")
        .load("batch = 500")
        .measure("duration = \"2s\"")
        .role("readers", &format!("threads = 2\n{GET}"))
        .role("writer", UPDATE);
    scratch.write("s.toml", &suite.text());
    let done = scratch.run(&["run", "s.toml"]);
    done.assert_ok().assert_says("readers").assert_says("writer").assert_says("update");
    let run = scratch.only_run();
    let case = record(&run, "t3");
    let roles = &case.phases.iter().find(|phase| phase.name == "measure").unwrap().roles;
    assert_eq!(
        roles.iter().map(|role| role.role.as_str()).collect::<Vec<_>>(),
        ["readers", "writer"]
    );
    let longest = roles.iter().flat_map(|role| role.ops.values()).map(|op| op.service_ns_max).max();
    let distance = roles[0].window_ns.abs_diff(roles[1].window_ns);
    assert!(distance <= longest.unwrap() + 1_000_000, "{distance} ns apart");
    for role in roles {
        assert!(role.window_ns >= 1_990_000_000, "{} ended after {} ns", role.role, role.window_ns);
    }
    // Both ran in the first half and in the second. A busy host may stop the machine for half a
    // second: its slices are empty.
    let slices = run.case(&case.case, 1).series().unwrap();
    let slices = slices.collect::<Result<Vec<_>, _>>().unwrap();
    let worked = |role: &str, half: std::ops::Range<u64>| {
        let in_half = slices.iter().filter(|s| s.phase == "measure" && half.contains(&s.slice));
        let mut counts = in_half.filter_map(|slice| slice.roles.get(role)).flat_map(|r| r.values());
        counts.any(|counts| counts.count > 0)
    };
    for role in ["readers", "writer"] {
        assert!(worked(role, 0..10) && worked(role, 10..21), "{role}: {slices:?}");
    }
    scratch.run(&["check"]).assert_code(0);
    let summary = scratch.run(&["export", "--json"]).json();
    let text = summary["groups"].to_string();
    assert!(text.contains("\"role\":\"writer\"") && text.contains("\"role\":\"readers\""));
}
