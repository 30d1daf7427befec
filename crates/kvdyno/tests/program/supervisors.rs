//! Servers and their supervisors that are killed: not the engine's fault, so the case is done
//! again.

use super::scratch::{Done, Scratch, record, wait_until};
use super::servers::{QUICK, SERVERS, long, named};
use super::suites::{GET, UPDATE, suite};
use super::workers::needs;
use kvdyno_record::case::Outcome;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;

/// The supervisor of the server at hand, once there is one.
fn supervisor(scratch: &Scratch) -> Pid {
    let serves = |pid: &String| {
        let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        command.split(|byte| *byte == 0).any(|word| word == b"serve")
    };
    wait_until("a supervisor serves", || scratch.processes().iter().any(serves));
    let pid = scratch.processes().into_iter().find(serves).unwrap();
    Pid::from_raw(pid.parse().unwrap()).unwrap()
}

fn killed(engine: &str, name: &str) -> (Scratch, Done) {
    let scratch = Scratch::new();
    scratch.write("s.toml", &long(engine).text());
    let running = scratch.start(scratch.kvdyno(&["run", "s.toml", "--no-ram-limit"]));
    scratch.wait_for_phase(engine, "measure");
    kill_process(named(&scratch, name).unwrap(), Signal::KILL).unwrap();
    let done = running.wait();
    (scratch, done)
}

#[test]
fn a_server_that_is_killed_costs_a_try() {
    if needs(QUICK, "a_server_that_is_killed_costs_a_try") {
        killed_server_costs_a_try(QUICK);
    }
}

pub(crate) fn killed_server_costs_a_try(engine: &str) {
    let process = match engine {
        "redis" => "redis-server",
        "mariadb" => "mariadbd",
        other => other,
    };
    let (scratch, done) = killed(engine, process);
    done.assert_code(3).assert_says("killed").assert_says("signal 9");
    let run = scratch.only_run();
    let outcome = record(&run, engine).outcome;
    assert!(matches!(outcome, Outcome::Killed { signal: 9, .. }), "{outcome:?}");
    scratch.run(&["check"]).assert_code(0);
    scratch.run(&["resume"]).assert_ok();
    assert_eq!(record(&run, engine).outcome, Outcome::Done);
    scratch.assert_nothing_left();
}

/// Its supervisor or the program may be killed: a server does not outlive them.
#[test]
fn a_server_does_not_outlive_its_run() {
    if needs(QUICK, "a_server_does_not_outlive_its_run") {
        does_not_outlive_its_run(QUICK);
    }
}

pub(crate) fn does_not_outlive_its_run(engine: &str) {
    let supervisor = &format!("kvdyno-{engine}")[..];
    killed(engine, supervisor).0.assert_nothing_left();
    for wait in ["load", "measure"] {
        let scratch = Scratch::new();
        scratch.write("s.toml", &long(engine).text());
        let running = scratch.start(scratch.kvdyno(&["run", "s.toml", "--no-ram-limit"]));
        scratch.wait_for_phase(engine, wait);
        running.signal(Signal::KILL);
        running.wait();
        wait_until("all processes are gone", || scratch.processes().is_empty());
        assert_eq!(scratch.groups().len(), 0);
        scratch.run(&["resume"]).assert_ok();
        scratch.run(&["check"]).assert_code(0);
        scratch.assert_nothing_left();
    }
}

/// An external kill: not the engine's fault, so the case is done again.
#[test]
fn a_killed_supervisor_costs_a_try() {
    if needs(QUICK, "a_killed_supervisor_costs_a_try") {
        killed_supervisor_costs_a_try(QUICK);
    }
}

pub(crate) fn killed_supervisor_costs_a_try(engine: &str) {
    let scratch = Scratch::new();
    let writes = format!("{UPDATE}\nrate = {{ per_second = 200 }}");
    scratch.write("s.toml", &long(engine).role("writer", &writes).text());
    let running = scratch.start(scratch.kvdyno(&["run", "s.toml", "--no-ram-limit"]));
    scratch.wait_for_phase(engine, "measure");
    kill_process(supervisor(&scratch), Signal::KILL).unwrap();
    let done = running.wait();
    done.assert_code(3).assert_says("killed").assert_says("kvdyno resume");
    done.assert_says("supervisor").assert_says("signal 9");
    let run = scratch.only_run();
    let outcome = record(&run, engine).outcome;
    assert!(matches!(outcome, Outcome::Killed { signal: 9, .. }), "{outcome:?}");
    // Its roles ended with the server, each at its own time.
    scratch.run(&["check"]).assert_code(0);
    scratch.run(&["resume"]).assert_ok();
    assert_eq!(record(&run, engine).outcome, Outcome::Done);
    scratch.assert_finding("case-retried");
    scratch.run(&["check"]).assert_code(0);
    scratch.assert_nothing_left();
}

/// A load that other cases need is done again at once: the record contains the first attempt.
#[test]
fn a_supervisor_killed_while_it_starts_has_a_finding() {
    let test = "a_supervisor_killed_while_it_starts_has_a_finding";
    for engine in SERVERS.into_iter().filter(|engine| needs(engine, test)) {
        let scratch = Scratch::new();
        let suite = suite()
            .data("records = 2000\nvalue_bytes = 400")
            .engine(engine)
            .load("batch = 100")
            .measure("operations = 200")
            .role("readers", GET);
        scratch.write("s.toml", &suite.text());
        let running = scratch.start(scratch.kvdyno(&["run", "s.toml", "--no-ram-limit"]));
        kill_process(supervisor(&scratch), Signal::KILL).unwrap();
        running.wait().assert_ok();
        let run = scratch.only_run();
        assert_eq!(record(&run, &format!("{engine}_load")).attempt, 2);
        scratch.assert_finding("case-retried");
        scratch.assert_nothing_left();
    }
}
