//! `compare` on real runs of the null engine. Slowness comes from its own option,
//! and only ratios are asserted.

use super::scratch::{Done, Scratch};
use super::suites::{GET, Suite, UPDATE, suite};
use super::workers::needs;

/// Two engines that differ in the time of an operation, run side by side.
fn two(trials: u32, latencies_ns: [u32; 2]) -> Suite {
    let mut suite = suite().data("records = 500\nvalue_bytes = 100").trials(trials);
    // One process per trial, not two.
    suite = suite.run("database = \"fresh\"");
    for (label, latency_ns) in ["one", "other"].iter().zip(latencies_ns) {
        suite = suite.engine_as(label, "null", &format!("latency_ns = {latency_ns}"));
    }
    suite.load("batch = 500").measure("duration = \"120ms\"").role("readers", GET)
}

fn run(scratch: &Scratch, suite: &Suite) {
    scratch.write("s.toml", &suite.text());
    scratch.run(&["run", "s.toml"]).assert_ok();
}

/// A busy machine changes the median of a wait of 20 us least.
const P50: [&str; 2] = ["--figures", "service_ns_p50"];

fn compare(scratch: &Scratch, arguments: &[&str]) -> Done {
    scratch.run(&[&["compare"], arguments].concat())
}

fn verdicts(done: &Done) -> Vec<String> {
    let json = done.json();
    let pairs = json["pairs"].as_array().unwrap().iter();
    let rows = pairs.flat_map(|pair| pair["rows"].as_array().unwrap());
    rows.map(|row| row["verdict"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn identical_engines_are_never_told_apart() {
    let scratch = Scratch::new();
    run(&scratch, &two(8, [20_000, 20_000]));
    let engines = ["latest", "--engines", "one,other", P50[0], P50[1]];
    // On a busy machine the gate may be undecided.
    compare(&scratch, &[&engines[..], &["--gate", "5%"]].concat()).assert_ok().assert_says("gate ");
    // A page does not replace the table.
    let page = compare(&scratch, &[&engines[..], &["--html", "c.html"]].concat());
    page.assert_ok().assert_says("answer ").assert_says("verdict").assert_says("result ");
    let json = compare(&scratch, &[&engines[..], &["--json"]].concat());
    let [verdict] = &verdicts(&json)[..] else { panic!("one figure was asked for") };
    assert!(["equal", "undecided"].contains(&verdict.as_str()), "{verdict}");
    assert_eq!(json.json()["pairs"][0]["rows"][0]["paired"], true);
}

#[test]
fn a_planted_slowdown_is_found_and_the_gate_ends_with_5() {
    let scratch = Scratch::new();
    // On a busy machine the median of a trial may be half as much again.
    run(&scratch, &two(8, [20_000, 30_000]));
    let slower = ["latest", "--engines", "one,other", P50[0], P50[1]];
    compare(&scratch, &[&slower[..], &["--gate", "5%"]].concat())
        .assert_code(5)
        .assert_says("one better")
        .assert_says("latency_ns: 20000 in BASE, 30000 in NEW")
        .assert_says("FAILED: ")
        .assert_says("t1, readers");
    // A gate that allows more, and the opposite direction.
    compare(&scratch, &[&slower[..], &["--gate", "60%"]].concat()).assert_ok();
    let faster = ["latest", "--engines", "other,one", P50[0], P50[1], "--gate", "5%"];
    compare(&scratch, &faster).assert_ok().assert_says("one better");
}

/// Runs can be compared, too: the same suite with another option, and each run one repeat.
#[test]
fn runs_are_compared_case_by_case() {
    let scratch = Scratch::new();
    let one = |latency_ns: u32| {
        let suite = suite().data("records = 500\nvalue_bytes = 100").trials(1);
        let option = format!("latency_ns = {latency_ns}");
        let suite = suite.run("database = \"fresh\"").engine_as("null", "null", &option);
        let suite = suite.load("batch = 500");
        suite.measure("duration = \"100ms\"").role("readers", GET)
    };
    // Far apart: on a busy machine one of three runs may be twice as slow.
    for latency_ns in [20_000, 20_000, 20_000, 200_000, 200_000, 200_000] {
        run(&scratch, &one(latency_ns));
    }
    let runs: Vec<String> =
        scratch.runs().iter().map(|run| run.to_str().unwrap().to_owned()).collect();
    let (base, new) = (runs[..3].join(","), runs[3..].join(","));
    compare(&scratch, &[&base, &new, P50[0], P50[1], "--gate", "5%"])
        .assert_code(5)
        .assert_says("latency_ns: 20000 in BASE, 200000 in NEW")
        .assert_says("and 2 further runs");
    // One of each tells nothing of how much runs differ.
    let (base, new) = (runs[0].as_str(), runs[3].as_str());
    compare(&scratch, &[base, new, P50[0], P50[1], "--gate", "5%"])
        .assert_code(4)
        .assert_says("further runs of each side");
    let json = compare(&scratch, &[base, new, "--json"]);
    assert_eq!(json.json()["pairs"][0]["rows"][0]["paired"], false);
    let mixed = format!("{base},{new}");
    compare(&scratch, &[&mixed, &runs[4]]).assert_code(2).assert_says("of one side differ");
    compare(&scratch, &[base, base]).assert_code(2).assert_says("kvdyno list");
    compare(&scratch, &[base]).assert_code(2);
    compare(&scratch, &[base, "--engines", "null"]).assert_code(2).assert_says("has: null");
    compare(&scratch, &[base, "--engines", "null,x"]).assert_code(2).assert_says("`x`");
    compare(&scratch, &[&mixed, "--engines", "null,x"]).assert_code(2).assert_says("one run");
    compare(&scratch, &[base, new, "--figures", "ops"]).assert_code(2).assert_says("ops_per_s");
    compare(&scratch, &[base, new, "--gate", "much"]).assert_code(2).assert_says("--gate");
    compare(&scratch, &[base, new, "--within", "0"]).assert_code(2).assert_says("above 0");
}

#[test]
fn unequal_workloads_are_refused_and_the_field_is_named() {
    let scratch = Scratch::new();
    let of = |records: u32| {
        let suite = suite().data(&format!("records = {records}\nvalue_bytes = 100"));
        suite.engine("null").load("batch = 500").measure("operations = 500").role("readers", GET)
    };
    run(&scratch, &of(500));
    run(&scratch, &of(600));
    let [base, new] = &scratch.runs()[..] else { panic!("two runs") };
    let done = compare(&scratch, &[base.to_str().unwrap(), new.to_str().unwrap()]);
    done.assert_code(2).assert_says("data.records: 500 in BASE, 600 in NEW").assert_says("hint: ");
    assert_eq!(done.out, "");
}

#[test]
fn one_trial_is_too_few() {
    let scratch = Scratch::new();
    run(&scratch, &two(1, [20_000, 40_000]));
    let engines = ["latest", "--engines", "one,other"];
    let done = compare(&scratch, &engines);
    done.assert_ok();
    compare(&scratch, &[&engines[..], &["--gate", "5%"]].concat())
        .assert_code(4)
        .assert_says("CANNOT JUDGE");
    let judged = compare(&scratch, &[&engines[..], &["--json"]].concat()).json();
    assert_eq!(judged["counts"]["judged"], 0);
}

/// One engine in two classes: what the promise costs, and no gate over it.
#[test]
fn a_promise_has_a_price_and_no_gate() {
    let test = "a_promise_has_a_price_and_no_gate";
    if !needs("lmdb", test) {
        return;
    }
    let scratch = Scratch::new();
    let suite = suite().trials(4).engine("lmdb").load("batch = 500");
    let suite = suite.measure("duration = \"200ms\"").role("writers", UPDATE).text();
    let classes = "name = \"lmdb\"\ndurability = [\"async\", \"commit\"]";
    scratch.write("s.toml", &suite.replace("name = \"lmdb\"", classes));
    scratch.run(&["run", "s.toml"]).assert_ok();
    let compare = ["compare", "latest", "--engines", "lmdb-async,lmdb-commit"];
    let price = scratch.run(&compare);
    price.assert_ok().assert_says("What durability commit costs over async");
    let gated = scratch.run(&[&compare[..], &["--gate", "5%"]].concat());
    gated.assert_code(2).assert_says("a gate needs equal promises");
}

/// All engines in two classes: one table, with what has only one class below it.
#[test]
fn the_price_of_a_promise_is_one_table() {
    let test = "the_price_of_a_promise_is_one_table";
    if !needs("lmdb", test) {
        return;
    }
    let scratch = Scratch::new();
    let suite = suite().trials(4).engine_as("one", "lmdb", "").engine_as("other", "lmdb", "");
    let suite = suite.load("batch = 500").measure("duration = \"200ms\"");
    let suite = suite.role("writers", UPDATE).text();
    let name = "name = \"lmdb\"";
    let in_both = "name = \"lmdb\"\ndurability = [\"async\", \"commit\"]";
    scratch.write("s.toml", &suite.replace(name, in_both));
    scratch.run(&["run", "s.toml"]).assert_ok();
    let compare = ["compare", "latest", "--durability", "async,commit"];
    let priced = scratch.run(&compare);
    priced.assert_ok().assert_says("durability commit against async");
    for engine in ["one", "other"] {
        let mut rows = priced.out.lines().filter(|line| line.starts_with(engine));
        assert!(rows.any(|line| line.contains("writers")), "{engine}: {}", priced.out);
    }
    let json = scratch.run(&[&compare[..], &["--json"]].concat()).json();
    assert_eq!(json["classes"], serde_json::json!(["async", "commit"]));
    let engines = json["engines"].as_array().unwrap();
    let names: Vec<&str> = engines.iter().filter_map(|one| one["engine"].as_str()).collect();
    assert_eq!(names, ["one", "other"]);
    let none = scratch.run(&["compare", "latest", "--durability", "none,commit"]);
    none.assert_code(2).assert_says("expected an engine in none and in commit, found none");
    let three = scratch.run(&["compare", "latest", "--durability", "none,async,commit"]);
    three.assert_code(2).assert_says("expected one run and two classes, found 1 and 3");
    let suite = suite.replace("trials = 4", "trials = 1").replacen(name, in_both, 1);
    scratch.write("s.toml", &suite);
    scratch.run(&["run", "s.toml"]).assert_ok();
    let few = scratch.run(&compare);
    few.assert_ok().assert_says("1 trial").assert_says("other: it was measured in one");
}
