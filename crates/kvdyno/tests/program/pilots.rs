//! A rate that all engines can sustain, found before the first trial.

use super::scratch::{Scratch, records};
use super::suites::{GET, UPDATE, suite};
use super::workers::{find, needs};
use kvdyno_record::workload::Role;

const PACED: &str = "mix = [{ op = \"update\" }]\nrate = { share = 0.25, of = \"alone\" }";

#[test]
fn all_engines_get_a_share_of_what_the_slowest_sustains() {
    let test = "all_engines_get_a_share_of_what_the_slowest_sustains";
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
        .engine("null")
        .trials(2)
        .load("batch = 500")
        .measure("name = \"alone\"\nonce = true\nduration = \"200ms\"")
        .role("writer", UPDATE)
        .measure("name = \"measure\"\nduration = \"200ms\"")
        .role("readers", GET)
        .role("writer", PACED);
    scratch.write("s.toml", &suite.text());
    scratch
        .run(&["run", "s.toml"])
        .assert_ok()
        .assert_says("for all engines of class async: 25 % of ");
    let run = scratch.only_run();
    let records = records(&run);
    let pilots = records.values().filter(|record| record.case.is_pilot());
    assert_eq!(pilots.count(), 2, "the null engine sustains any rate");
    let writers: Vec<Role> = records
        .values()
        .flat_map(|record| &record.case.phases)
        .filter(|phase| phase.name == "measure")
        .map(|phase| phase.mix().unwrap().roles[1].clone())
        .collect();
    assert_eq!(writers.len(), 6);
    let rate = writers[0].rate.as_ref().unwrap();
    assert!(rate.operations_per_s > 1.0, "{rate:?}");
    assert!(writers.iter().all(|role| role.rate.as_ref() == Some(rate)), "{writers:?}");
    // Pilots are no results.
    let summary = scratch.run(&["show", "--json"]).json();
    let groups = summary["groups"].as_array().unwrap();
    let trials = groups.iter().flat_map(|group| group["trials"].as_array().unwrap());
    assert!(trials.map(|trial| trial["trial"].as_u64().unwrap()).all(|trial| trial > 0));
    scratch.run(&["check"]).assert_code(0);
    scratch.assert_nothing_left();
}
