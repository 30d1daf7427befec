//! The RAM limit: too tight, impossible for this user, impossible on this host.

use super::locations::can_mount;
use super::scratch::{Scratch, group_dirs, outcomes, record, records};
use super::suites::{GET, Suite, reads, suite};
use super::workers::{needs, needs_root, report_skip};
use kvdyno_record::case::Outcome;
use kvdyno_record::engine::Value;
use std::path::Path;

fn limited() -> Suite {
    reads().ram("64MiB").engine("null")
}

/// Whether this host lets us limit memory, as `doctor` says.
pub(crate) fn can_limit(scratch: &Scratch, test: &str) -> bool {
    doctor_finds(scratch, "ram_limit", "groups", test)
}

/// Whether `doctor` has no remark on this; says what it found where it has one.
pub(crate) fn doctor_finds(scratch: &Scratch, id: &str, need: &str, test: &str) -> bool {
    let checks = scratch.run(&["doctor", "--json"]).json();
    let check = checks.as_array().unwrap().iter().find(|check| check["id"] == id).unwrap();
    let can = check["severity"] == "ok";
    if !can {
        report_skip(need, test, check["value"].as_str().unwrap());
    }
    can
}

#[test]
fn an_engine_that_does_not_fit_its_ram_is_told_and_the_run_goes_on() {
    let scratch = Scratch::new();
    if !can_limit(&scratch, "an_engine_that_does_not_fit_its_ram_is_told_and_the_run_goes_on") {
        return;
    }
    let suite = limited().engine_as("greedy", "null", "memory_bytes = \"200MiB\"");
    scratch.write("s.toml", &suite.text());
    scratch.run(&["run", "s.toml"]).assert_ok();
    let run = scratch.only_run();
    let Outcome::DoesNotFit { message } = record(&run, "greedy_load").outcome else {
        panic!("{:?}", outcomes(&run));
    };
    assert!(message.contains("RAM limit"), "{message}");
    for part in ["_null_load", "_null_t1"] {
        let record = record(&run, part);
        assert_eq!(record.outcome, Outcome::Done);
        assert!(record.ram_limit.enforced_by.unwrap().starts_with("cgroup v"));
    }
    assert!(run.is_complete(), "that an engine does not fit is an answer");
    scratch.run(&["check"]).assert_code(0);
    scratch.assert_nothing_left();
}

/// A cache that is larger than the limit and grows as it is read into: the load fits, what comes
/// after does not.
#[test]
fn a_cache_larger_than_the_limit_does_not_fit() {
    let test = "a_cache_larger_than_the_limit_does_not_fit";
    let scratch = Scratch::new();
    if !can_limit(&scratch, test) || !needs("rocksdb", test) {
        return;
    }
    let options = |cache: &str| format!("block_cache = \"{cache}\"\nwrite_buffer_size = \"2MiB\"");
    let suite = suite()
        .data("size = \"96MiB\"\nvalue_bytes = 4000")
        .ram("48MiB")
        .engine_as("modest", "rocksdb", &options("25%"))
        .engine_as("greedy", "rocksdb", &options("200MiB"))
        .load("batch = 100")
        .phase("evict", "")
        .measure("operations = 20_000")
        .role("readers", &format!("threads = 4\n{GET}"));
    scratch.write("s.toml", &suite.text());
    let done = scratch.run(&["run", "s.toml"]);
    let advice = "block_cache 200 MiB exceeds the RAM limit 48 MiB";
    done.assert_ok().assert_says(advice).assert_says("--set engine.greedy.options.block_cache=");
    let run = scratch.only_run();
    assert_eq!(record(&run, "_greedy_load").outcome, Outcome::Done);
    let greedy = record(&run, "_greedy_t4");
    let Outcome::DoesNotFit { message } = &greedy.outcome else { panic!("{:?}", greedy.outcome) };
    assert!(message.contains("in `measure`") && message.contains(advice), "{message}");
    assert!(greedy.ram_limit.group.unwrap().oom_kills > 0);
    let modest = record(&run, "_modest_t4");
    assert_eq!(modest.outcome, Outcome::Done);
    assert_eq!(modest.case.options.values["block_cache"], Value::Integer(12 << 20));
    scratch.run(&["check"]).assert_code(0);
    scratch.assert_nothing_left();
}

#[test]
fn without_root_it_runs_and_says_that_the_limit_is_not_held() {
    let test = "without_root_it_runs_and_says_that_the_limit_is_not_held";
    if !needs_root(test) {
        return;
    }
    let scratch = Scratch::of_nobody();
    scratch.write("s.toml", &limited().text());
    let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let done = scratch.start(scratch.kvdyno_by(&nobody, &["run", "s.toml"])).wait();
    done.assert_ok();
    assert_not_held(&scratch, "another user");
}

#[test]
fn without_control_groups_it_runs_and_says_that_the_limit_is_not_held() {
    let test = "without_control_groups_it_runs_and_says_that_the_limit_is_not_held";
    if !can_mount(test) {
        return;
    }
    let scratch = Scratch::new();
    scratch.write("s.toml", &limited().text());
    let hiding = "mount -t tmpfs none /sys/fs/cgroup";
    let done = scratch.start(scratch.kvdyno_after(hiding, &["run", "s.toml"])).wait();
    done.assert_ok();
    assert_not_held(&scratch, "not visible");
}

#[test]
fn with_control_groups_read_only_it_runs_and_says_that_the_limit_is_not_held() {
    let test = "with_control_groups_read_only_it_runs_and_says_that_the_limit_is_not_held";
    if !can_mount(test) {
        return;
    }
    let scratch = Scratch::new();
    scratch.write("s.toml", &limited().text());
    let v1 = Path::new("/sys/fs/cgroup/memory").is_dir();
    let top = if v1 { "/sys/fs/cgroup/memory" } else { "/sys/fs/cgroup" };
    if group_dirs().is_empty() {
        report_skip("groups", test, "no memory groups here");
        return;
    }
    let freezing = format!("mount -o remount,bind,ro {top}");
    let done = scratch.start(scratch.kvdyno_after(&freezing, &["run", "s.toml"])).wait();
    done.assert_ok();
    assert_not_held(&scratch, "read-only");
}

/// Every case ran, and its record has the reason and what would help.
#[track_caller]
fn assert_not_held(scratch: &Scratch, why: &str) {
    let run = scratch.only_run();
    for (id, record) in records(&run) {
        assert_eq!(record.outcome, Outcome::Done, "{id}");
        assert_eq!(record.ram_limit.requested_bytes, Some(64 << 20));
        assert_eq!(record.ram_limit.enforced_by, None, "{id}");
        let reason = record.ram_limit.reason.unwrap();
        assert!(reason.contains(why) && reason.contains("; "), "{reason}");
    }
    scratch.assert_finding("ram-limit-not-held");
    scratch.assert_nothing_left();
}

#[test]
fn a_limit_that_cannot_be_held_is_said_before_anything_runs() {
    let test = "a_limit_that_cannot_be_held_is_said_before_anything_runs";
    if !needs_root(test) {
        return;
    }
    let scratch = Scratch::of_nobody();
    scratch.write("s.toml", &limited().text());
    let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    for command in ["plan", "run"] {
        let done = scratch.start(scratch.kvdyno_by(&nobody, &[command, "s.toml"])).wait();
        let output = done.err.find("warning: the RAM limit of 64.0 MiB");
        let began = done.err.find("null_load").unwrap_or(usize::MAX);
        assert!(output.is_some_and(|output| output < began), "{}", done.err);
    }
}

#[test]
fn without_its_limit_a_suite_does_not_claim_it() {
    let scratch = Scratch::new();
    scratch.write("s.toml", &limited().text().replace("[data]", "title = \"4x\"\n[data]"));
    let done = scratch.run(&["run", "s.toml", "--no-ram-limit", "--full"]);
    done.assert_ok().assert_says("4x (without its RAM limit)");
}
