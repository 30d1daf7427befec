//! Traces that are replayed: what they leave, when their requests are made, what is refused.

use super::loops::samples;
use super::phases;
use super::scratch::{Scratch, record};
use super::suites::{GET, Suite, suite};
use kvdyno_record::case::PhaseRecord;
use kvdyno_record::hlog::Kind;
use std::fmt::Write as _;

/// Imports what a cache was asked for.
fn import(scratch: &Scratch, lines: &str) {
    scratch.write("t.csv", lines);
    let import = ["trace", "import", "--format", "twitter", "t.csv", "-o", "t.kvtrace", "--force"];
    scratch.run(&import).assert_ok();
}

/// A suite that replays what was imported; `lines` are more of its role.
fn replay(suite: Suite, lines: &str) -> Suite {
    suite.measure("").role("clients", &format!("trace = \"t.kvtrace\"\n{lines}"))
}

fn measured(scratch: &Scratch, case: &str) -> PhaseRecord {
    let case = record(&scratch.only_run(), case);
    case.phases.into_iter().find(|phase| phase.name == "measure").unwrap()
}

/// Keys are written with lengths that change, taken away and written again: what is there in the
/// end depends on the order of each key's requests.
#[test]
fn any_number_of_threads_leaves_the_same() {
    let scratch = Scratch::new();
    let mut lines = String::new();
    for number in 0..60_000_u64 {
        let key = number * number % 997;
        let (op, bytes) = match number % 5 {
            0 => ("delete", 0),
            1 => ("get", 0),
            2 => ("incr", 8),
            _ => ("set", 20 + number % 300),
        };
        let _ = writeln!(lines, "0,key{key},8,{bytes},{},{op},0", number % 7);
    }
    import(&scratch, &lines);
    let suite = suite()
        .data("records = 1000\nvalue_bytes = 100\nverify = true")
        .run("threads = [1, 4]\ndatabase = \"fresh\"")
        .engine_as("keeps", "null", "store = \"memory\"")
        .load("batch = 100");
    let all = "threads = 1\nmix = [{ op = \"walk\", length = 1000 }]";
    let suite = replay(suite, "threads = \"sweep\"")
        .measure("name = \"look\"\noperations = 1")
        .role("looks", all);
    scratch.write("s.toml", &suite.text());
    scratch.run(&["run", "s.toml"]).assert_ok();
    let contents = ["t1", "t4"].map(|threads| {
        let case = record(&scratch.only_run(), threads);
        let measured: Vec<_> = case.phases.iter().filter(|phase| phase.kind == "measure").collect();
        let ops = |index: usize| measured[index].roles[0].ops.clone();
        let counts: Vec<u64> = ops(0).values().map(|op| op.count).collect();
        assert_eq!(counts.iter().sum::<u64>(), 60_000);
        let looked = &ops(1)["walk"];
        assert!(looked.items > 0 && looked.items < 1_000 && looked.wrong == 0);
        (counts, looked.items, looked.read_bytes)
    });
    assert_eq!(contents[0], contents[1]);
    scratch.run(&["check"]).assert_code(0);
}

#[test]
fn requests_are_made_at_their_recorded_times() {
    let scratch = Scratch::new();
    let second = |second: u64| (0..500).map(move |n| format!("{second},k{n},4,0,1,get,0\n"));
    import(&scratch, &(0..2).flat_map(second).collect::<String>());
    for (speed, span_ns) in [("1.0", 1_998_000_000), ("4", 499_500_000)] {
        let scratch = &scratch;
        let suite =
            replay(suite().engine("null").load(""), &format!("threads = 3\nspeed = {speed}"));
        scratch.write("s.toml", &suite.text());
        scratch.run(&["run", "s.toml"]).assert_ok();
        let phase = measured(scratch, "t3");
        let role = &phase.roles[0];
        assert_eq!((role.ops["get"].count, role.backlog), (1_000, 0));
        assert!(role.window_ns >= span_ns, "{} of {span_ns} ns", role.window_ns);
        std::fs::remove_dir_all(scratch.only_run().path).unwrap();
    }
}

/// It stands still for half a second, with 1,000 requests due meanwhile, of which some are never
/// made before time is up.
#[test]
fn a_pause_is_in_the_response_times_of_what_was_due() {
    let scratch = Scratch::new();
    let second = |second: u64| (0..2_000).map(move |n| format!("{second},k{n},4,0,1,get,0\n"));
    import(&scratch, &(0..3).flat_map(second).collect::<String>());
    let pauses = |operation: u32| format!("pause_at_op = {operation}\npause_ms = 500");
    let suite = suite()
        .engine_as("early", "null", &pauses(1_000))
        .engine_as("late", "null", &pauses(2_800))
        .load("batch = 500")
        .measure("duration = \"1500ms\"")
        .role("clients", "trace = \"t.kvtrace\"\nspeed = 1");
    scratch.write("s.toml", &suite.text());
    scratch.run(&["run", "s.toml"]).assert_ok();
    let run = scratch.only_run();
    let early = record(&run, "early_t1");
    let tag = ["measure", "clients", "get"];
    let response = samples(&run, &early, tag, Kind::Response);
    let service = samples(&run, &early, tag, Kind::Service);
    assert_eq!(service.count_between(400_000_000, u64::MAX), 1, "one call was slow");
    assert!(response.count_between(240_000_000, u64::MAX) >= 450, "half of those due meanwhile");
    let late = record(&run, "late_t1");
    let role = &phases::measured(&late).roles[0];
    let due = role.ops["get"].count + role.backlog;
    assert!(role.backlog > 100, "{}", role.backlog);
    assert!((2_990..3_010).contains(&due), "{due}");
}

#[test]
fn what_cannot_be_replayed_is_refused_before_anything_is_made() {
    let scratch = Scratch::new();
    import(&scratch, "0,a,1,9,1,set,0\n0,a,1,0,1,get,0\n");
    let refuse = |lines: &str, words: &str| {
        let text = replay(suite().engine("null").load(""), lines).text();
        scratch.write("s.toml", &text);
        scratch.run(&["plan", "s.toml"]).assert_code(2).assert_says(words);
        scratch.run(&["run", "s.toml"]).assert_code(2).assert_says(words);
    };
    refuse(GET, "`mix`");
    refuse("keys = { distribution = \"uniform\" }", "`keys`");
    refuse("rate = 100", "`rate`");
    refuse("depth = 4\nspeed = 1.0", "`speed` or `depth`");
    refuse("speed = 0", "speed = 0");
    scratch.write("t.kvtrace", "0,a,1,9,1,set,0\n");
    refuse("", "kvdyno trace import");
    std::fs::remove_file(scratch.path("t.kvtrace")).unwrap();
    refuse("", "No such file");

    scratch.write("m.csv", "128166372003061629,hm,1,Read,383496192,32768,413\n");
    let import = ["trace", "import", "--format", "msr", "m.csv", "-o", "t.kvtrace"];
    scratch.run(&import).assert_ok();
    refuse("", "t.kvtrace");
    scratch.assert_nothing_left();
}

/// What is there afterwards is what the trace reads before it writes it, with its lengths, and so
/// is every first read found.
#[test]
fn what_is_read_first_is_loaded_and_nothing_else() {
    let scratch = Scratch::new();
    let mut lines = String::new();
    for number in 0..20_000_u64 {
        let key = number * number % 1_009;
        let (op, bytes) = match (key % 3, number % 4) {
            (0, _) | (1, 1..) => ("get", 40 + key % 50),
            _ => ("set", 40 + key % 50),
        };
        let _ = writeln!(lines, "0,key{key:05},8,{bytes},1,{op},0");
    }
    import(&scratch, &lines);
    let shown = scratch.run(&["trace", "show", "t.kvtrace", "--json"]).json();
    let keys = shown["header"]["keys"].as_u64().unwrap();
    let first = shown["read_first"].as_f64().unwrap() as u64;
    assert!(first > 100 && first < keys - 100, "{first} of {keys}");
    for (threads, batch, depth) in [(1, 1, ""), (3, 50, "depth = 4")] {
        let suite = suite()
            .data(&format!("records = {keys}\nvalue_bytes = 100"))
            .run("database = \"fresh\"")
            .engine_as("keeps", "null", "store = \"memory\"")
            .load(&format!("order = \"first_read\"\nbatch = {batch}\nthreads = {threads}"))
            .phase("verify", "samples = 1000000");
        let suite = replay(suite, &format!("threads = 2\n{depth}"));
        scratch.write("s.toml", &suite.text());
        scratch.run(&["run", "s.toml"]).assert_ok();
        let case = record(&scratch.only_run(), "t2");
        let load = &case.phases[0].roles[0].ops;
        assert_eq!(load.values().map(|op| op.items.max(op.count)).sum::<u64>(), first);
        let verified = phases::first(&case, "verify").verified.as_ref().unwrap();
        assert_eq!((verified.sampled, verified.hits), (keys, first), "all were looked up");
        let ops = &phases::measured(&case).roles[0].ops;
        assert_eq!((ops["get"].misses, ops["get"].count + ops["update"].count), (0, 20_000));
        let read = |l: &&str| l.contains(",get,");
        let bytes = lines
            .lines()
            .filter(read)
            .map(|l| 16 + l.split(',').nth(3).unwrap().parse::<u64>().unwrap());
        assert_eq!(ops["get"].read_bytes, bytes.sum::<u64>(), "as long as they were");
        scratch.run(&["check"]).assert_code(0);
        std::fs::remove_dir_all(scratch.only_run().path).unwrap();
    }
}

/// A trace is not in a bundle: whoever repeats the run needs it, and it must be the same.
#[test]
fn a_bundle_is_repeated_with_the_trace_beside_it() {
    let scratch = Scratch::new();
    import(&scratch, "0,a,1,9,1,set,0\n0,a,1,0,1,get,0\n");
    scratch.write("s.toml", &replay(suite().engine("null").load(""), "").text());
    scratch.run(&["run", "s.toml"]).assert_ok();
    let run = scratch.only_run().path;
    let bundle = ["bundle", run.to_str().unwrap(), "-o", "there/b.tar.zst"];
    std::fs::create_dir(scratch.path("there")).unwrap();
    scratch.run(&bundle).assert_ok().assert_says("t.kvtrace");
    std::fs::rename(scratch.path("t.kvtrace"), scratch.path("moved")).unwrap();
    let rerun = |more: &[&str]| {
        let all = [&["rerun", "there/b.tar.zst", "--plan"], more].concat();
        scratch.run(&all)
    };
    rerun(&[]).assert_code(2).assert_says("--trace FILE");
    rerun(&["--trace", "moved"]).assert_ok();
    std::fs::copy(scratch.path("moved"), scratch.path("there/t.kvtrace")).unwrap();
    rerun(&[]).assert_ok();
    import(&scratch, "0,a,1,9,1,set,0\n");
    std::fs::rename(scratch.path("t.kvtrace"), scratch.path("there/t.kvtrace")).unwrap();
    rerun(&[]).assert_code(2).assert_says("there/t.kvtrace");
    scratch.run(&["rerun", "there/b.tar.zst", "--trace", "moved"]).assert_ok();
}
