//! A question without a file: what it runs, and that the suite it saves does equal work.

use super::scratch::Scratch;
use std::collections::BTreeSet;
use std::fs;

const QUESTION: [&str; 12] = [
    "quick",
    "null",
    "--records",
    "2k",
    "--duration",
    "200ms",
    "--threads",
    "1,2",
    "--trials",
    "1",
    "--ram",
    "all",
];

fn keys(plan: &str) -> BTreeSet<String> {
    let plan: serde_json::Value = serde_json::from_str(plan).unwrap();
    let cases = plan["cases"].as_array().unwrap().iter();
    cases.map(|case| case["key"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_suite_that_is_saved_does_equal_work() {
    let scratch = Scratch::new();
    let saved = [&QUESTION[..], &["--save-suite", "mine.toml", "--name", "asked"]].concat();
    scratch.run(&saved).assert_ok().assert_says("wrote mine.toml");
    let asked = fs::read_to_string(scratch.only_run().path.join("plan.json")).unwrap();
    let planned = scratch.run(&["plan", "mine.toml", "--json"]);
    planned.assert_code(0);
    assert_eq!(keys(&asked), keys(&planned.out));
    assert!(keys(&asked).len() >= 3, "a load and two numbers of threads: {asked}");
    scratch.run(&["show", "asked", "--json"]).assert_code(0).assert_says("quick-null");
    // A verify phase that only samples is told from one that is not there.
    let checked = scratch.run(&["check", "asked"]);
    checked.assert_code(0).assert_says("phase `verify` found all of 2000 sampled keys");
    // The screen has room for some of the reasons, the findings for all.
    scratch.run(&["show", "asked", "--findings"]).assert_code(0).assert_says("confidence ");
    scratch.run(&saved).assert_code(2).assert_says("there is such a file already");
    scratch.assert_nothing_left();
}

#[test]
fn a_plan_of_a_question_does_nothing() {
    let scratch = Scratch::new();
    let planned = scratch.run(&[&QUESTION[..], &["--plan", "--value", "100,1000"]].concat());
    planned.assert_code(0).assert_says("x 16+100, ").assert_says("x 16+1000 ");
    assert!(scratch.runs().is_empty());
    let wrong = scratch.run(&["quick", "null", "--records", "2q", "--plan"]);
    wrong.assert_code(2).assert_says("`2q` is not a count").assert_says("records = \"2q\"");
    let set = scratch.run(&["quick", "null", "--set", "data.records=1k"]);
    set.assert_code(2).assert_says("hint: `--save-suite mine.toml --plan` writes it");
    let gone = scratch.run(&["quick", "nul", "--plan"]);
    gone.assert_code(2).assert_says("did you mean `null`?");
}
