//! Fake workers: another protocol, invalid output, an early end.

use super::scratch::{Scratch, outcomes, record};
use super::suites::reads;
use super::workers;
use kvdyno_record::PROTOCOL;
use kvdyno_record::case::Outcome;
use kvdyno_record::engine::Counters;
use kvdyno_record::protocol::Event;
use kvdyno_record::usage::ProcessUsage;

/// A worker that describes itself like the null engine, and runs a script.
fn fake(scratch: &Scratch, run: &str) {
    let mut description = workers::null_description();
    description["engine"]["name"] = "fake".into();
    scratch.write("engines/fake.json", &description.to_string());
    let describe = "describe) cat \"$(dirname \"$0\")/fake.json\" ;;";
    scratch.script("fake", &format!("case $1 in\n{describe}\nrun) {run} ;;\nesac\n"));
}

/// Runs the fake and the null engine: the outcome of the fake's load; the others complete.
fn run_beside_null(scratch: &Scratch) -> Outcome {
    scratch.write("s.toml", &reads().engine("fake").engine("null").text());
    scratch.run(&["run", "s.toml"]).assert_code(3).assert_says("not run");
    let run = scratch.only_run();
    let outcomes = outcomes(&run);
    let null: Vec<_> = outcomes.iter().filter(|(id, _)| id.contains("null")).collect();
    assert_eq!(null.len(), 2);
    assert!(null.iter().all(|(_, word)| **word == "done"), "{outcomes:?}");
    assert!(matches!(record(&run, "fake_t1").outcome, Outcome::NotRun { .. }), "{outcomes:?}");
    scratch.assert_nothing_left();
    record(&run, "fake_load").outcome
}

#[test]
fn another_protocol_is_refused_before_anything_is_made() {
    let scratch = Scratch::new();
    scratch.script("fake", "echo '{\"protocol\": 4711}'");
    scratch.write("s.toml", &reads().engine("fake").engine("null").text());
    let done = scratch.run(&["run", "s.toml"]);
    done.assert_code(2).assert_says("kvdyno-fake").assert_says("4711");
    done.assert_says(&PROTOCOL.to_string());
    assert!(scratch.runs().is_empty());
    scratch.run(&["engines"]).assert_says("null").assert_says("4711");
    scratch.assert_nothing_left();
}

#[test]
fn a_description_that_is_none_is_refused_before_anything_is_made() {
    let scratch = Scratch::new();
    for script in ["echo garbage", "exit 7", "kill -9 $$"] {
        scratch.script("fake", script);
        scratch.write("s.toml", &reads().engine("fake").engine("null").text());
        let done = scratch.run(&["run", "s.toml"]);
        assert!(matches!(done.code, Some(1 | 2)), "{script}: {:?}", done.code);
        done.assert_says("kvdyno-fake describe`");
        assert!(scratch.runs().is_empty());
        scratch.run(&["engines"]).assert_says("null");
    }
    scratch.assert_nothing_left();
}

#[test]
fn a_worker_that_says_nonsense_fails_and_is_quoted() {
    let scratch = Scratch::new();
    fake(&scratch, "echo garbage; sleep 600");
    let outcome = run_beside_null(&scratch);
    assert!(matches!(&outcome, Outcome::Failed { message, .. } if message.contains("garbage")));
}

#[test]
fn a_worker_that_says_bytes_that_are_no_text_is_ended() {
    let scratch = Scratch::new();
    fake(&scratch, "printf '\\377\\n'; sleep 600");
    let outcome = run_beside_null(&scratch);
    assert!(
        matches!(&outcome, Outcome::Failed { message, .. } if message.contains('\u{fffd}')),
        "{outcome:?}"
    );
}

#[test]
fn a_worker_that_closes_its_output_hears_that_it_is_over() {
    let scratch = Scratch::new();
    fake(&scratch, "exec >&-; cat >/dev/null; exit 7");
    let Outcome::Failed { message, .. } = run_beside_null(&scratch) else { panic!("not failed") };
    assert!(message.contains("code 7 in `opening`"), "{message}");
}

#[test]
fn a_worker_that_cannot_be_started_costs_its_own_cases_only() {
    let scratch = Scratch::new();
    // It works only for `describe`.
    let mut description = workers::null_description();
    description["engine"]["name"] = "fake".into();
    scratch.write("engines/fake.json", &description.to_string());
    scratch.script("fake", "cat \"$(dirname \"$0\")/fake.json\"; chmod -x \"$0\"");
    scratch.write("s.toml", &reads().engine("fake").engine("null").text());
    scratch.run(&["run", "s.toml"]).assert_code(3);
    let run = scratch.only_run();
    let Outcome::NotRun { message } = record(&run, "fake_load").outcome else { panic!("ran") };
    assert!(message.contains("kvdyno-fake"), "{message}");
    assert!(outcomes(&run).iter().all(|(id, word)| id.contains("fake") || *word == "done"));
    scratch.assert_nothing_left();
}

#[test]
fn a_worker_that_ends_at_once_fails_with_its_code() {
    let scratch = Scratch::new();
    fake(&scratch, "echo 'no licence' >&2; exit 7");
    let Outcome::Failed { message, .. } = run_beside_null(&scratch) else { panic!("not failed") };
    assert!(message.contains("code 7 in `opening`"), "{message}");
    let dir = scratch.only_run().path.join("cases");
    let log = super::scratch::files_below(&dir)
        .into_iter()
        .filter(|path| path.ends_with("log.txt"))
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect::<String>();
    assert!(log.contains("no licence"), "its last words are kept: {log:?}");
}

#[test]
fn a_worker_that_speaks_of_a_phase_that_is_none_fails() {
    let scratch = Scratch::new();
    fake(
        &scratch,
        "echo '{\"event\":\"progress\",\"phase\":99,\"done\":1,\"elapsed_ns\":1}'; sleep 600",
    );
    let outcome = run_beside_null(&scratch);
    assert!(
        matches!(&outcome, Outcome::Failed { message, .. } if message.contains("99")),
        "{outcome:?}"
    );
}

#[test]
fn a_worker_that_repeats_a_phase_fails() {
    let scratch = Scratch::new();
    let (usage, counters) = (ProcessUsage::default(), Counters::default());
    let ready = Event::Ready { phase: 0, usage: usage.clone(), counters: counters.clone() };
    let finished = Event::Finished {
        phase: 0,
        started_unix_ns: 1,
        wall_ns: 1,
        usage_before: usage.clone(),
        usage,
        counters,
        roles: Vec::new(),
        verified: None,
        settled: None,
        live_records: None,
        stopped: false,
        failed: None,
        ranks: Vec::new(),
    };
    let [ready, finished] =
        [ready, finished].map(|event| format!("echo '{}'", serde_json::to_string(&event).unwrap()));
    fake(&scratch, &format!("{ready}; {finished}; {ready}; {finished}; sleep 600"));
    let outcome = run_beside_null(&scratch);
    let is_told = |message: &str| message.contains("phase 0 after 1 of");
    assert!(matches!(&outcome, Outcome::Failed { message, .. } if is_told(message)), "{outcome:?}");
}

#[test]
fn a_worker_that_leaves_a_child_behind_does_not_leave_it() {
    let scratch = Scratch::new();
    fake(&scratch, "sleep 600 & exit 0");
    assert!(matches!(run_beside_null(&scratch), Outcome::Failed { .. }));
}
