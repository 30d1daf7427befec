//! Servers, their supervisors, clients and the program, killed at many moments.

use crate::scratch::{Scratch, record, wait_until};
use crate::servers::{QUICK, SERVERS, data, named, whole};
use crate::suites::GET;
use crate::supervisors::{
    does_not_outlive_its_run, killed_server_costs_a_try, killed_supervisor_costs_a_try,
};
use crate::workers::needs;
use kvdyno_record::case::Outcome;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::thread::sleep;
use std::time::Duration;

/// It never replies again: the phase has a limit of its own, far below its case's.
#[test]
fn a_server_that_is_stopped_for_good_ends_its_case() {
    let test = "a_server_that_is_stopped_for_good_ends_its_case";
    if !needs("redis", test) {
        return;
    }
    let scratch = Scratch::new();
    let engine = data().engine_as("redis", "redis", "listen = \"tcp\"").load("batch = 100");
    let suite = engine.measure("duration = \"2s\"").role("readers", GET);
    scratch.write("s.toml", &suite.text());
    let running = scratch.start(scratch.kvdyno(&["run", "s.toml", "--no-ram-limit"]));
    scratch.wait_for_phase("redis", "measure");
    kill_process(named(&scratch, "redis-server").unwrap(), Signal::STOP).unwrap();
    let reports = || running.stderr_text().matches("should have ended").count();
    wait_until("it is told again", || reports() > 1);
    running.wait().assert_code(3);
    let outcome = record(&scratch.only_run(), "redis").outcome;
    let Outcome::OutOfTime { message } = &outcome else { panic!("{outcome:?}") };
    assert!(message.starts_with("`measure` should have ended 2m"), "{message}");
    assert!(message.ends_with("ago: 1 thread waits for a reply of redis"), "{message}");
    scratch.assert_nothing_left();
}

/// As `make test` has it of one.
#[test]
fn kills_leave_nothing_of_any_server() {
    let test = "kills_leave_nothing_of_any_server";
    let others = SERVERS.into_iter().filter(|engine| *engine != QUICK);
    for engine in others.filter(|engine| needs(engine, test)) {
        killed_server_costs_a_try(engine);
        killed_supervisor_costs_a_try(engine);
        does_not_outlive_its_run(engine);
    }
}

/// Whoever is killed, and whenever: program, supervisor, client or server, in starting, loading,
/// evicting, measuring or ending.
#[test]
fn twenty_kills_leave_nothing() {
    let test = "twenty_kills_leave_nothing";
    let servers: Vec<&str> = SERVERS.into_iter().filter(|engine| needs(engine, test)).collect();
    if servers.is_empty() {
        return;
    }
    let shared = || fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default().lines().count();
    let (mut random, mut hit, shared_before) = (1_u64, 0, shared());
    for kill in 0..20 {
        let engine = servers[kill % servers.len()];
        // Steele, Lea, Flood 2014, as far as it is needed here.
        random = random.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
        let delay = Duration::from_millis(random % 2500);
        let scratch = Scratch::new();
        scratch.write("s.toml", &whole(engine, "").ram("512MiB").text());
        let running = scratch.start(scratch.kvdyno(&["run", "s.toml"]));
        sleep(delay);
        let victims = scratch.processes();
        hit += usize::from(victims.len() > 2);
        // The program, or any of those that it has started.
        match victims.get(random as usize / 4096 % victims.len().max(1)) {
            Some(victim) if kill % 4 != 0 => {
                let pid = Pid::from_raw(victim.parse().unwrap()).unwrap();
                // It may have ended since.
                let _ = kill_process(pid, Signal::KILL);
            }
            _ => running.signal(Signal::KILL),
        }
        running.wait();
        let place = format!("kill {kill}: {engine} after {delay:?}");
        wait_until(&place, || scratch.processes().is_empty() && scratch.groups().is_empty());
    }
    assert!(hit >= 10, "{hit} of 20 met a server");
    assert_eq!(shared(), shared_before, "shared memory is left");
}
