//! A run that goes on until its figures are decided.

use super::scratch::{Scratch, records};
use super::suites::{GET, suite};
use super::workers::{find, needs};

#[test]
fn trials_are_added_until_the_figures_are_decided() {
    let test = "trials_are_added_until_the_figures_are_decided";
    let scratch = Scratch::new();
    if !needs("lmdb", test) || !needs("sqlite", test) {
        return;
    }
    if let Some(worker) = find("sqlite") {
        scratch.link("sqlite", &worker);
    }
    let suite = suite()
        .engine("lmdb")
        .engine("sqlite")
        .load("batch = 500")
        .measure("duration = \"200ms\"")
        .role("readers", GET);
    scratch.write("s.toml", &suite.text());
    let done = scratch.run(&["run", "s.toml", "--budget", "2m", "--json"]);
    done.assert_ok();
    let verdicts = |summary: &serde_json::Value| {
        let readers = |open: &&serde_json::Value| open["scope"] == "readers";
        let open = summary["verdicts"]["undecided"].as_array().unwrap();
        (summary["verdicts"]["figures"].as_u64().unwrap(), open.iter().filter(readers).count())
    };
    let summary = scratch.run(&["show", "--json"]).json();
    let (figures, open) = verdicts(&summary);
    assert!(figures >= 1 && open == 0, "{}", summary["verdicts"]);
    let run = scratch.only_run();
    let trials = records(&run).values().map(|record| record.case.trial).max();
    assert!(trials >= Some(4), "one trial in the suite, and three more at least: {trials:?}");
    assert!(run.is_complete());
    scratch.run(&["check"]).assert_code(0);
    // It goes on with a complete run, and seals it anew.
    let path = run.path.display().to_string();
    scratch.run(&["resume", &path]).assert_code(2).assert_says("--budget");
    scratch.run(&["resume", &path, "--budget", "8s"]).assert_ok();
    assert!(run.is_complete());
    scratch.run(&["check"]).assert_code(0);
    scratch.assert_nothing_left();
}
