//! Engines that lose data, and engines that return errors.

use super::phases;
use super::scratch::{Scratch, outcomes, record};
use super::suites::{GET, RECORDS, UPDATE, reads, suite};
use kvdyno_record::case::Outcome;
use kvdyno_record::engine::ErrorClass;
use kvdyno_record::units::group_digits;

const LOSES: &str = "lose_permille = 10\nstore = \"memory\"";

/// Bug 8: a miss is not a successful operation.
#[test]
fn an_engine_that_loses_one_key_in_a_hundred_fails() {
    let scratch = Scratch::new();
    scratch.write("s.toml", &reads().engine_as("loses", "null", LOSES).engine("null").text());
    scratch.run(&["run", "s.toml"]).assert_code(3).assert_says("failed");
    let run = scratch.only_run();
    let record = record(&run, "loses_t1");
    let get = &record.phases[0].roles[0].ops["get"];
    let looked_up = get.hits + get.misses;
    assert_eq!(looked_up, get.count);
    let share = get.misses as f64 / looked_up as f64;
    assert!((0.003..0.03).contains(&share), "{} of {looked_up}", get.misses);
    let (missing, all) = (group_digits(get.misses), group_digits(looked_up));
    let message =
        format!("`measure`, role `readers`: {missing} of {all} keys looked up were missing");
    assert_eq!(record.outcome, Outcome::Failed { class: ErrorClass::Corrupt, message });
    assert_eq!(super::scratch::record(&run, "null_t1").outcome, Outcome::Done);
    scratch.run(&["check"]).assert_code(4).assert_says("loses_t1");
    scratch.assert_nothing_left();
}

/// The same, detected by the verify phase: later phases do not run.
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
    let verified = phases::first(&load, "verify").verified.clone().unwrap();
    assert_eq!(verified.sampled, RECORDS);
    let lost = verified.sampled - verified.hits;
    let message =
        format!("{} of {} sampled keys are missing", group_digits(lost), group_digits(RECORDS));
    assert_eq!(load.outcome, Outcome::Failed { class: ErrorClass::Corrupt, message });
    assert!(matches!(record(&run, "loses_t1").outcome, Outcome::NotRun { .. }));
    assert!(run.is_complete(), "it would lose them again");
    scratch.assert_nothing_left();
}

/// A load with a failed write lacks that record, even if few errors are allowed.
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
    assert!(message.contains("fail_permille"), "{message}");
    assert_eq!(record(&run, "null_t1").outcome, Outcome::Done);
    scratch.run(&["check"]).assert_code(0).assert_says("99 of 2000");
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
    assert!(message.contains("more than 3 "), "{message}");
    assert_eq!(record(&run, "null_t1").outcome, Outcome::Done);
    assert!(run.is_complete());
    scratch.assert_nothing_left();
}

/// Conflicts are retried within an operation's own time: counted, but no errors.
#[test]
fn an_operation_that_meets_a_conflict_is_tried_again() {
    let scratch = Scratch::new();
    let suite = suite()
        .engine_as("conflicts", "null", "conflict_permille = 100")
        .engine("null")
        .load("batch = 500")
        .measure("operations = 1000")
        .role("writers", UPDATE);
    scratch.write("s.toml", &suite.text());
    scratch.run(&["run", "s.toml"]).assert_ok();
    let run = scratch.only_run();
    let update = &record(&run, "conflicts_t1").phases[0].roles[0].ops["update"];
    // Each tenth call, retries included.
    assert_eq!((update.count, update.errors.len()), (1000, 0));
    assert!((110..=112).contains(&update.retries), "{} tries", update.retries);
    assert_eq!(record(&run, "null_t1").phases[0].roles[0].ops["update"].retries, 0);
    scratch.assert_nothing_left();
}

/// Records that a load left out, and missing keys, are no losses; more misses than chance allows
/// are.
#[test]
fn what_is_not_to_be_found_is_held_to_chance() {
    let scratch = Scratch::new();
    let suite = |expected_hits: &str| {
        let absent = "mix = [{ op = \"get\" }]\nkeys = { distribution = \"absent\" }";
        suite()
            .data("records = 2000\nvalue_bytes = 100\nkey_format = \"ycsb\"")
            .engine_as("memory", "null", "store = \"memory\"")
            .load("order = \"drawn\"")
            .phase("verify", "count = true")
            .measure("duration = \"200ms\"")
            .role("readers", &format!("{GET}\n{expected_hits}"))
            .role("strangers", absent)
            .role(
                "walker",
                "mix = [{ op = \"walk\", length = 30 }, { op = \"scan\", length = 30 }]",
            )
            .phase("verify", "count = true")
    };
    scratch.write("drawn.toml", &suite("").text());
    scratch.write("all.toml", &suite("expected_hits = \"all\"").text());
    scratch.run(&["run", "drawn.toml"]).assert_ok();
    let run = scratch.only_run();
    let roles = &record(&run, "memory_t3").phases[0].roles;
    let share = |role: usize| {
        let get = &roles[role].ops["get"];
        get.hits as f64 / (get.hits + get.misses) as f64
    };
    assert!((share(0) - 0.632).abs() < 0.05, "{} of the keys were there", share(0));
    assert!(share(1).abs() < 1e-9, "{} of what is not there was", share(1));
    assert!(roles[2].ops["walk"].items > 0);
    scratch.run(&["check"]).assert_code(0);
    std::fs::remove_dir_all(scratch.path("runs")).unwrap();

    scratch.run(&["run", "all.toml"]).assert_code(3);
    scratch.assert_finding("keys-missing");
    scratch.assert_nothing_left();
}

/// The null engine's figures show the cost of reading values; it has no wrong ones.
#[test]
fn values_that_were_never_stored_are_not_wrong() {
    let scratch = Scratch::new();
    let suite = suite()
        .data("records = 1000\nvalue_bytes = 100\nverify = true")
        .engine("null")
        .load("")
        .phase("verify", "samples = 100")
        .measure("operations = 2000\nwarmup = \"50ms\"")
        .role("readers", "mix = [{ op = \"get\" }, { op = \"scan\" }, { op = \"multiget\" }]");
    scratch.write("s.toml", &suite.text());
    scratch.run(&["run", "s.toml"]).assert_ok();
    let run = scratch.only_run();
    assert!(outcomes(&run).values().all(|outcome| *outcome == "done"), "{:?}", outcomes(&run));
    scratch.run(&["check"]).assert_code(0);
}
