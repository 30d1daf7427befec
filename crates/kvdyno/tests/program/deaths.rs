//! The program killed at each step of a run: it leaves a run that `resume` completes, or nothing.

use super::scratch::{Scratch, list, outcomes, wait_until};
use super::suites::reads;

/// All steps: see `steps::pass_step` in the program.
const STEPS: [&str; 14] = [
    "directory",
    "filed",
    "named",
    "claimed",
    "evidence",
    "load generator",
    "looked",
    "begun 0001_null_load_r1",
    "filed 0001_null_load_r1",
    "begun 0002_null_t1_r1",
    "filed 0002_null_t1_r1",
    "released",
    "ended",
    "sealed",
];

fn killed_at(step: &str, place: &[&str]) {
    let scratch = Scratch::new();
    scratch.write("s.toml", &reads().engine("null").text());
    let arguments = [&["run", "s.toml"], place].concat();
    let mut command = scratch.kvdyno(&arguments);
    command.env("KVDYNO_DIE_AT", step);
    let done = scratch.start(command).wait();
    assert_eq!(done.signal, Some(9), "{step}: it was not killed, {:?}", done.code);
    wait_until("its worker is gone", || scratch.processes().is_empty());
    let runs: Vec<String> =
        list(&scratch.path("runs")).into_iter().filter(|name| !name.starts_with('.')).collect();
    if ["directory", "filed"].contains(&step) {
        assert!(runs.is_empty(), "{step}: {runs:?}");
        // The next run removes hidden remains.
        scratch.run(&arguments).assert_ok();
        assert_eq!(list(&scratch.path("runs")).len(), 1, "{step}");
    } else {
        assert_eq!(runs.len(), 1, "{step}: {runs:?}");
        scratch.run(&["list"]).assert_code(0).assert_says(&runs[0]);
        scratch.run(&["show", &runs[0]]).assert_says("test");
        if step == "sealed" {
            scratch.run(&["resume"]).assert_code(2).assert_says("kvdyno show");
        } else {
            scratch.run(&["resume"]).assert_ok();
        }
    }
    let run = scratch.only_run();
    assert!(run.is_complete(), "{step}");
    let outcomes = outcomes(&run);
    assert_eq!(outcomes.len(), 2, "{step}: {outcomes:?}");
    assert!(outcomes.values().all(|word| *word == "done"), "{step}: {outcomes:?}");
    assert!(run.run().unwrap().hiccups.is_some(), "{step}: the idle machine was looked at");
    scratch.run(&["check"]).assert_code(0);
    assert!(!scratch.path("place").exists(), "{step}");
    scratch.assert_nothing_left();
}

mod soak {
    use super::*;

    #[test]
    fn killed_at_any_step_it_leaves_a_run_that_goes_on() {
        for place in [&[][..], &["--data-dir", "place", "--create-data-dir"]] {
            for step in STEPS {
                killed_at(step, place);
            }
        }
    }
}
