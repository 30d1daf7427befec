//! Tests of rates that a pilot finds, and of phases that the loading case runs.

use super::{Overrides, builtin_text, plan, plan_of, set};
use kvdyno_record::plan::Case;

/// A role in each engine's cases has no rate until the pilots have measured it, once per engine.
#[test]
fn each_engine_that_stores_data_has_a_pilot() {
    let plan = plan(builtin_text("quick"), &[]);
    let (pilots, others): (Vec<&Case>, Vec<&Case>) =
        plan.cases.iter().partition(|case| case.is_pilot());
    let ids: Vec<&str> = pilots.iter().map(|case| case.id.as_str()).collect();
    assert_eq!(ids, ["0001_lmdb_pilot", "0002_rocksdb_pilot"]);
    for pilot in pilots {
        assert_eq!(pilot.phases.last().unwrap().name, "alone-settle");
        assert!(pilot.makes_database() && pilot.database.last_use && !pilot.lacks_rate());
        assert!(others.iter().all(|case| case.key != pilot.key));
    }
    let waiting = others.iter().filter(|case| case.lacks_rate());
    let measuring = others.iter().filter(|case| case.threads_swept.is_some() && !case.ceiling);
    assert_eq!(waiting.count(), measuring.count());
}

/// The case that loads runs the phase; where each case loads its own database, each runs it.
#[test]
fn a_phase_that_is_run_once_belongs_to_the_load() {
    let alone = |arguments: &[&str]| {
        let plan = plan(builtin_text("quick"), arguments);
        let of_trial = plan.cases.into_iter().filter(|case| case.trial == 1);
        let alone = |case: &Case| case.phases.iter().any(|phase| phase.name == "alone");
        of_trial.filter(alone).map(|case| case.makes_database()).collect::<Vec<_>>()
    };
    assert_eq!(alone(&[]), [true; 3]);
    assert_eq!(alone(&["run.database=fresh"]), [true; 9]);
}

/// `--hours` does not lengthen the pilot's phase, and with a number as rate there is no pilot.
#[test]
fn hours_and_numbers_leave_the_pilot_as_it_is() {
    let overrides = Overrides { hours: Some(3), ..Overrides::default() };
    let field = plan_of(builtin_text("field"), &overrides).unwrap();
    let pilot = field.cases.iter().find(|case| case.is_pilot()).unwrap();
    assert!(pilot.phases.iter().any(|phase| phase.name == "overwrite"), "{pilot:?}");
    let number = "phase.measure.role.writer.rate.per_second=100";
    assert!(!plan(builtin_text("quick"), &[number]).cases.iter().any(Case::is_pilot));
}

#[test]
fn the_rule_is_the_work_whatever_it_came_to() {
    let text = builtin_text("quick");
    let keys = |text: &str| {
        let plan = plan_of(text, &set(&["run.trials=1"])).unwrap();
        let waiting = plan.cases.into_iter().filter(Case::lacks_rate);
        waiting.map(|case| case.key).collect::<Vec<_>>()
    };
    assert_eq!(keys(text), keys(text));
    assert_ne!(keys(text), keys(&text.replace("share = 0.5", "share = 0.4")));
}

#[test]
fn rates_that_no_pilot_can_find_are_refused() {
    let refused = |from: &str, to: &str| {
        let text = builtin_text("quick").replace(from, to);
        plan_of(&text, &set(&[])).unwrap_err().render(false)
    };
    let unknown = refused("of = \"alone\"", "of = \"alon\"");
    assert!(unknown.contains("named `alon`") && unknown.contains("alone"), "{unknown}");
    for (from, to, expected) in [
        ("of = \"alone\"", "per_second = 5, of = \"alone\"", "given twice"),
        (", of = \"alone\"", "", "the phase that it is of"),
        ("share = 0.5", "share = 0", "the share is zero"),
        ("share = 0.5", "schedule = \"fixed\"", "has random gaps"),
        ("\nonce = true", "\nonce = true\nwindows = \"1s\"", "run for each thread count"),
    ] {
        let error = refused(from, to);
        assert!(error.contains(expected), "{to}: {error}");
    }
    let swept = refused("name = \"alone\"", "name = \"first\"");
    assert!(swept.contains("named `alone`"), "{swept}");
}
