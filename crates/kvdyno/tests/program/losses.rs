//! Engines that lose data, and engines that return errors.

use super::scratch::{Scratch, outcomes, record};
use super::suites::{GET, RECORDS, reads, suite};
use kvdyno_record::case::Outcome;
use kvdyno_record::engine::ErrorClass;
use kvdyno_record::units::grouped;

const LOSES: &str = "lose_permille = 10\nstore = \"memory\"";

/// Bug 8: a miss is not an operation done well.
#[test]
fn an_engine_that_loses_one_key_in_a_hundred_fails() {
    let scratch = Scratch::new();
    scratch.write("s.toml", &reads().engine_as("loses", "null", LOSES).engine("null").text());
    scratch.run(&["run", "s.toml"]).assert_code(3).assert_says("failed");
    let run = scratch.only_run();
    let record = record(&run, "loses_t1");
    let get = &record.phases[0].roles[0].ops["get"];
    let looked_up = get.found + get.missing;
    assert_eq!(looked_up, get.count);
    let share = get.missing as f64 / looked_up as f64;
    assert!((0.003..0.03).contains(&share), "{} of {looked_up}", get.missing);
    let (missing, all) = (grouped(get.missing), grouped(looked_up));
    let message =
        format!("`measure`, role `readers`: {missing} of {all} keys looked up were not there");
    assert_eq!(record.outcome, Outcome::Failed { class: ErrorClass::Corrupt, message });
    assert_eq!(super::scratch::record(&run, "null_t1").outcome, Outcome::Done);
    scratch.run(&["check"]).assert_code(4).assert_says("keys were not there");
    scratch.assert_nothing_left();
}

/// The same, noticed by the verify phase: what would have been measured next is not.
#[test]
fn what_a_load_lost_is_noticed_before_anything_is_measured() {
    let scratch = Scratch::new();
    let suite = suite()
        .engine_as("loses", "null", LOSES)
        .engine("null")
        .load("batch = 500")
        .phase("verify", "samples = 2000\ncount = true")
        .measure("duration = \"200ms\"")
        .role("readers", GET);
    scratch.write("s.toml", &suite.text());
    scratch.run(&["run", "s.toml"]).assert_code(3);
    let run = scratch.only_run();
    let load = record(&run, "loses_load");
    let verified = load.phases[1].verified.clone().unwrap();
    assert_eq!(verified.sampled, RECORDS);
    let lost = verified.sampled - verified.found;
    let message = format!("{} of {} sampled keys are not there", grouped(lost), grouped(RECORDS));
    assert_eq!(load.outcome, Outcome::Failed { class: ErrorClass::Corrupt, message });
    let Outcome::NotRun { message } = record(&run, "loses_t1").outcome else {
        panic!("{:?}", outcomes(&run))
    };
    assert!(message.contains("its database could not be loaded"), "{message}");
    assert!(run.is_complete(), "it would lose them again");
    scratch.assert_nothing_left();
}

/// A load in which a write failed is short of that record, however few errors are allowed for.
#[test]
fn a_load_in_which_a_write_fails_is_a_failed_load() {
    let scratch = Scratch::new();
    let suite = suite()
        .run("max_errors = 100")
        .engine_as("fails", "null", "fail_permille = 10")
        .engine("null")
        .load("")
        .measure("operations = 1000")
        .role("readers", GET);
    scratch.write("s.toml", &suite.text());
    scratch.run(&["run", "s.toml"]).assert_code(3);
    let run = scratch.only_run();
    let Outcome::Failed { message, .. } = record(&run, "fails_load").outcome else {
        panic!("{:?}", outcomes(&run))
    };
    assert!(message.contains("operation 100 fails as option fail_permille says"), "{message}");
    assert_eq!(record(&run, "null_t1").outcome, Outcome::Done);
    scratch.run(&["check"]).assert_code(0).assert_says("the case is failed: 99 of 2000");
    scratch.assert_nothing_left();
}

#[test]
fn a_few_errors_are_counted_and_more_than_a_few_end_the_case() {
    let scratch = Scratch::new();
    let suite = suite()
        .engine_as("fails", "null", "fail_permille = 10")
        .engine("null")
        .load("batch = 500")
        .measure("operations = 1000")
        .role("readers", GET);
    scratch.write("few.toml", &suite.clone().run("max_errors = 100").text());
    scratch.write("many.toml", &suite.run("max_errors = 3").text());

    scratch.run(&["run", "few.toml"]).assert_ok();
    let run = scratch.only_run();
    let few = record(&run, "fails_t1");
    let get = &few.phases[0].roles[0].ops["get"];
    let errors: u64 = get.errors.values().sum();
    assert_eq!((errors, get.count), (10, 990), "an error is not an operation done");
    scratch.run(&["check"]).assert_code(0);
    std::fs::remove_dir_all(scratch.path("runs")).unwrap();

    scratch.run(&["run", "many.toml"]).assert_code(3);
    let run = scratch.only_run();
    let Outcome::Failed { message, .. } = record(&run, "fails_t1").outcome else {
        panic!("{:?}", outcomes(&run))
    };
    assert!(message.contains("more than 3 operations failed"), "{message}");
    assert_eq!(record(&run, "null_t1").outcome, Outcome::Done);
    assert!(run.is_complete());
    scratch.assert_nothing_left();
}
