//! Explanations of real runs. The shares depend on the machine: only what holds on any machine is
//! asserted.

use super::scratch::{Scratch, record};
use super::suites::{GET, Suite, UPDATE, suite};
use super::workers::{needs, report_skip};
use kvdyno_record::case::PhaseRecord;
use kvdyno_record::usage::WaitSamples;
use serde_json::Value;

/// A run's measured phase, and the explanation of its first role.
fn explained(suite: &Suite) -> (PhaseRecord, Value) {
    let scratch = Scratch::new();
    scratch.write("s.toml", &suite.text());
    scratch.run(&["run", "s.toml", "--full"]).assert_ok();
    let summary = scratch.run(&["show", "--json"]).json();
    let all = summary["explained"].as_array().unwrap();
    assert!(all.iter().any(|role| role["load"] == true), "{all:?}");
    for role in all {
        adds_up(role);
    }
    let message = all.iter().find(|role| role["load"] == false).unwrap().clone();
    let case = record(&scratch.only_run(), "t1");
    let phase = case.phases.into_iter().find(|phase| phase.name == "measure").unwrap();
    scratch.assert_nothing_left();
    (phase, message)
}

fn percent(one: &Value, part: &str) -> Option<f64> {
    let name = format!("time_{part}_percent");
    let metrics = one["metrics"].as_array().unwrap();
    metrics.iter().find(|metric| metric["name"] == name.as_str()).unwrap()["value"].as_f64()
}

const PARTS: [&str; 9] =
    ["user", "system", "runqueue", "device", "stall", "lock", "idle", "network", "other"];

#[track_caller]
fn adds_up(one: &Value) {
    let parts = PARTS.map(|part| percent(one, part));
    assert!(parts.iter().flatten().all(|percent| (0.0..=100.0).contains(percent)), "{one}");
    let sum: f64 = parts.iter().flatten().sum();
    assert!((sum - 100.0).abs() < 1e-6, "{sum}: {one}");
}

/// The thread samples of the phase's first role.
fn wait_samples(phase: &PhaseRecord) -> Option<WaitSamples> {
    let role = &phase.roles[0].role;
    phase.after.wait_samples.as_ref()?.get(role).copied()
}

/// One thread that commits each write: its samples show write and sync calls, flushes are counted,
/// and the record supports the reported cause. The cause depends on the machine;
/// `report::explain`'s own tests have records with flushes as the cause.
#[test]
fn a_writer_that_commits_waits_for_flushes() {
    let test = "a_writer_that_commits_waits_for_flushes";
    if !needs("lmdb", test) {
        return;
    }
    let writer = suite().engine("lmdb").load("batch = 500").measure("duration = \"3s\"");
    let commits = "name = \"lmdb\"\ndurability = \"commit\"\n";
    let writer = writer.role("writer", UPDATE).with("name = \"lmdb\"\n", commits);
    let (phase, message) = explained(&writer);
    let used = phase.roles[0].usage.unwrap();
    assert!(used.time_ns >= phase.roles[0].window_ns && used.user_ns + used.system_ns > 0);
    let Some(wait_samples) = wait_samples(&phase) else {
        report_skip(
            "wait-states",
            test,
            "cannot read /proc/PID/task/TID/syscall: permission denied",
        );
        return;
    };
    assert_eq!((wait_samples.network, wait_samples.ring), (0, 0), "{wait_samples:?}");
    if message["wait_samples"].as_u64() < Some(20) {
        // Where other processes take the CPUs, it is hardly ever seen blocked.
        let blocked = percent(&message, "other") > Some(5.0);
        assert_eq!(percent(&message, "device").is_none(), blocked, "{message}");
        return;
    }
    assert_eq!(
        (percent(&message, "idle"), percent(&message, "stall")),
        (Some(0.0), Some(0.0)),
        "{message}"
    );
    let count = |phase: &kvdyno_record::usage::Snapshot| phase.device.as_ref()?.flushes;
    let flushes = count(&phase.before).zip(count(&phase.after)).map(|(a, b)| b - a);
    let writes = phase.roles[0].ops["update"].count;
    assert!(writes > 0 && flushes.is_none_or(|flushes| flushes > 0), "{flushes:?} for {writes}");
    let words = message["sentence"].as_str().unwrap_or_default();
    match message["cause"].as_str() {
        Some("flushes") => {
            assert!(percent(&message, "device") >= Some(50.0) && flushes > Some(0), "{message}");
            assert!(words.starts_with("writer ") && words.contains("flush"), "{words}");
        }
        Some("lock" | "schedule" | "server" | "stalls") => {
            panic!("nothing of that kind: {message}")
        }
        _ => {}
    }
}

/// It does nothing, as fast as possible: it is on a CPU or waits for one.
#[test]
fn the_null_engine_computes() {
    let null = suite().engine("null").load("batch = 500").measure("duration = \"1s\"");
    let (phase, message) = explained(&null.role("readers", GET));
    let used = phase.roles[0].usage.unwrap();
    let busy = used.user_ns + used.system_ns + used.runqueue_ns.unwrap_or(0);
    assert!(busy > 0 && busy <= used.time_ns + used.time_ns / 10, "{used:?}");
    assert_eq!(percent(&message, "idle"), Some(0.0), "{message}");
    assert_eq!(percent(&message, "stall"), Some(0.0), "{message}");
    let wait_samples = wait_samples(&phase).unwrap_or_default();
    assert_eq!(
        (wait_samples.sync, wait_samples.network, wait_samples.ring, wait_samples.sleep),
        (0, 0, 0, 0),
        "{wait_samples:?}"
    );
    let causes = ["cpu_user", "cpu_system", "no_cpu", "turns"];
    // A machine that pauses leaves time without an explanation.
    let cause = message["cause"].as_str();
    assert!(cause.is_none_or(|cause| causes.contains(&cause)), "{message}");
}

/// A rate that leaves it idle most of the time.
#[test]
fn an_open_loop_is_idle_by_design() {
    let null = suite().engine("null").load("batch = 500").measure("duration = \"1s\"");
    let rate = format!("{GET}\nrate = {{ per_second = 100 }}");
    let (phase, message) = explained(&null.role("readers", &rate));
    let used = phase.roles[0].usage.unwrap();
    let service: u64 = phase.roles[0].ops.values().map(|op| op.service_ns).sum();
    let idle = percent(&message, "idle").unwrap();
    let outside = 100.0 * (1.0 - service as f64 / used.time_ns as f64);
    assert!(idle > 0.0 && idle <= outside + 1e-6, "{idle} of {outside}: {message}");
    assert_eq!(percent(&message, "stall"), Some(0.0), "{message}");
}
