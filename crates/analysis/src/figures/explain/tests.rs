//! How time is divided, and the sentences about it.

mod records;

use super::facts::DeviceSums;
use super::time::Part::{
    Idle, Lock, Network, Other, Read, RunQueue, Stall, Sync, System, User, Write,
};
use super::*;
use crate::fixture::{Fixture, SECOND};
use kvdyno_record::case::PhaseRecord;
use kvdyno_record::usage::{DeviceUsage, Snapshot, ThreadsUsage};

const S: f64 = SECOND as f64;

/// The usage of ten seconds of threads: seconds in user mode, in the kernel and without a CPU.
fn usage(user: u64, system: u64, runqueue: u64) -> ThreadsUsage {
    ThreadsUsage {
        time_ns: 10 * SECOND,
        user_ns: user * SECOND,
        system_ns: system * SECOND,
        runqueue_ns: Some(runqueue * SECOND),
        ..ThreadsUsage::default()
    }
}

/// A part's time in tenths of seconds.
fn tenths(time: &Time, part: Part) -> u64 {
    (time.ns(part) / S * 10.0).round() as u64
}

#[track_caller]
fn whole(time: &Time) {
    assert!((time.total_ns() - 10.0 * S).abs() < 1.0, "{time:?}");
    assert!(time.parts.iter().all(|ns| *ns >= 0.0), "{time:?}");
}

#[test]
fn blocked_time_is_divided_by_the_samples() {
    let wait_samples =
        WaitSamples { running: 500, sync: 60, write: 20, lock: 20, ..WaitSamples::default() };
    let readings = ThreadReadings {
        usage: usage(1, 2, 2),
        wait_samples: Some(wait_samples),
        ..ThreadReadings::default()
    };
    let time = Time::from_readings(&readings);
    whole(&time);
    let parts = [User, System, RunQueue, Sync, Write, Lock, Other].map(|part| tenths(&time, part));
    assert_eq!(parts, [10, 20, 20, 30, 10, 10, 0]);
    assert_eq!((time.wait_samples, time.unknown.len()), (100, 0));
}

#[test]
fn times_that_begin_anew_leave_the_device_known() {
    let snapshot = |ms: u64| Snapshot {
        device: Some(DeviceUsage { queue_ns: ms * 1_000_000, ..DeviceUsage::default() }),
        ..Snapshot::default()
    };
    let (before, after) = (snapshot(u64::from(u32::MAX)), snapshot(9));
    let phase = PhaseRecord { before, after, ..PhaseRecord::default() };
    let sums = Facts::from_phases(&[&phase], None).device.unwrap();
    assert_eq!(sums, DeviceSums { queue_ns: 1e7, ..DeviceSums::default() });
}

#[test]
fn unsampled_time_is_other_and_unknown() {
    for (wait_samples, why) in [
        (None, "cannot read /proc/PID/task/TID/syscall"),
        (
            Some(WaitSamples { running: 90, read: 19, ..WaitSamples::default() }),
            "19 wait-state samples of blocked threads",
        ),
    ] {
        let readings =
            ThreadReadings { usage: usage(1, 1, 0), wait_samples, ..ThreadReadings::default() };
        let time = Time::from_readings(&readings);
        whole(&time);
        assert_eq!(tenths(&time, Other), 80);
        assert!(time.unknown[0].why.contains(why), "{:?}", time.unknown);
    }
    // Hardly blocked at all: nothing to report.
    let time =
        Time::from_readings(&ThreadReadings { usage: usage(9, 1, 0), ..ThreadReadings::default() });
    whole(&time);
    assert!(time.unknown.is_empty());
    let without = ThreadsUsage { runqueue_ns: None, ..usage(9, 1, 0) };
    let time = Time::from_readings(&ThreadReadings { usage: without, ..ThreadReadings::default() });
    assert!(
        time.unknown[0].why.contains("does not count the wait for a CPU"),
        "{:?}",
        time.unknown
    );
}

#[test]
fn readings_that_contradict_each_other_add_up_all_the_same() {
    let readings = ThreadReadings {
        usage: usage(9, 3, 5),
        wait_samples: Some(WaitSamples { read: 50, ..WaitSamples::default() }),
        outside_ns: Some(4.0 * S),
        stalled_ns: 100.0 * S,
    };
    let time = Time::from_readings(&readings);
    whole(&time);
    assert_eq!([User, System, RunQueue].map(|part| tenths(&time, part)), [90, 10, 0]);
    assert_eq!(tenths(&Time::from_readings(&ThreadReadings::default()), Other), 0);
}

#[test]
fn a_stall_is_taken_out_of_sleep_and_of_waits_for_others() {
    let wait_samples = WaitSamples { lock: 20, sleep: 10, read: 50, ..WaitSamples::default() };
    let readings = |stalled_ns| ThreadReadings {
        usage: usage(1, 1, 0),
        wait_samples: Some(wait_samples),
        stalled_ns,
        ..ThreadReadings::default()
    };
    let parts = |stalled_s: f64| {
        let time = Time::from_readings(&readings(stalled_s * S));
        whole(&time);
        [Stall, Other, Lock, Read].map(|part| tenths(&time, part))
    };
    assert_eq!(parts(0.0), [0, 10, 20, 50]);
    assert_eq!(parts(1.5), [15, 0, 15, 50]);
    // It is at most their wait, and no wait for the device becomes a stall.
    assert_eq!(parts(9.0), [30, 0, 0, 50]);
}

#[test]
fn an_open_loop_is_idle_by_its_schedule_and_not_by_its_engine() {
    let wait_samples = WaitSamples { sleep: 60, read: 20, ..WaitSamples::default() };
    let readings = |outside_s: f64| ThreadReadings {
        usage: usage(1, 1, 0),
        wait_samples: Some(wait_samples),
        outside_ns: Some(outside_s * S),
        ..ThreadReadings::default()
    };
    let time = Time::from_readings(&readings(6.0));
    whole(&time);
    assert_eq!([Idle, Read, Other].map(|part| tenths(&time, part)), [60, 20, 0]);
    // It also computed outside of its operations: its waits inside stay the same.
    let time = Time::from_readings(&readings(9.0));
    whole(&time);
    assert_eq!([Idle, Read, Other].map(|part| tenths(&time, part)), [60, 20, 0]);
    // It slept for longer than its schedule explains: the rest is the engine's.
    let time = Time::from_readings(&readings(4.0));
    whole(&time);
    assert_eq!([Idle, Read, Other].map(|part| tenths(&time, part)), [40, 20, 20]);
}

/// Explains ten seconds of one thread.
fn explain(parts: &[(Part, f64)], facts: &Facts) -> Option<(Cause, String)> {
    explain_role(parts, facts, 1, None)
}

fn explain_role(
    parts: &[(Part, f64)],
    facts: &Facts,
    threads: u32,
    of_drive_percent: Option<f64>,
) -> Option<(Cause, String)> {
    let mut time = Time::default();
    for (part, seconds) in parts {
        time.parts[*part as usize] = seconds * S;
    }
    let subject = "writer";
    judge(&RoleTime { subject, threads, time: &time, facts, of_drive_percent, cpus: 2 })
}

fn facts() -> Facts {
    Facts {
        wall_ns: 10.0 * S,
        threads: 1,
        ops: 1000.0,
        cpu_ns: Some(S),
        stalls_counted: true,
        ..Facts::default()
    }
}

#[test]
fn a_commit_that_waits_for_flushes() {
    let facts = Facts {
        writes: 1000.0,
        flushes: Some(2000.0),
        flush_ns_mean: Some(4.1e6),
        device: Some(DeviceSums { writes: 3000.0, write_ns: S, ..DeviceSums::default() }),
        ..facts()
    };
    let parts = [(User, 0.5), (System, 0.5), (Sync, 7.0), (Write, 2.0)];
    assert_eq!(
        explain(&parts, &facts),
        Some((
            Cause::Flushes,
            "writer waited 90 % of the time for the device: 2.00 flushes per write of 4.10 ms \
             each, \
             78 % of that in fsync and its like"
                .to_owned()
        ))
    );
    // A group commit: few flushes, so they are not the price of a write.
    let shared = Facts { flushes: Some(100.0), ..facts.clone() };
    assert_eq!(explain(&parts, &shared).unwrap().0, Cause::Syncs);
    // Readers next to that writer wait for something else.
    assert_eq!(explain(&[(User, 1.0), (Read, 9.0)], &facts).unwrap().0, Cause::Reads);
}

#[test]
fn a_drive_by_its_latency_and_by_its_bandwidth() {
    let device = DeviceSums {
        reads: 40_000.0,
        read_bytes: 40_000.0 * 4096.0,
        read_ns: 8.0 * S,
        busy_ns: 8.0 * S,
        queue_ns: 8.0 * S,
        ..DeviceSums::default()
    };
    let reading = Facts { ops: 40_000.0, device: Some(device), ..facts() };
    assert_eq!(
        explain(&[(User, 1.0), (System, 1.0), (Read, 8.0)], &reading).unwrap(),
        (
            Cause::Reads,
            "writer waited 80 % of the time for the device: 1.00 reads per operation, 200 us \
             each, 0.80 in flight on average: the latency of reads explains the wait, 100 % of \
             that in reads and page faults"
                .to_owned()
        )
    );
    let large = DeviceSums {
        writes: 5000.0,
        write_bytes: 5000.0 * 1_048_576.0,
        write_ns: 60.0 * S,
        busy_ns: 9.8 * S,
        queue_ns: 60.0 * S,
        ..DeviceSums::default()
    };
    let writing = Facts { writes: 1000.0, device: Some(large), ..facts() };
    let (cause, words) = explain(&[(System, 2.0), (Write, 8.0)], &writing).unwrap();
    assert_eq!(cause, Cause::DriveFull);
    assert!(
        words.contains(
            "it was busy for 98 %, with 500 MiB/s in requests of 1.00 MiB, 6.00 in flight on \
             average"
        ),
        "{words}"
    );
    // One request at a time keeps a drive busy that may serve many.
    let single = DeviceSums { write_ns: 9.8 * S, queue_ns: 9.8 * S, ..large };
    let single = Facts { device: Some(single), ..writing.clone() };
    let (cause, words) = explain(&[(System, 2.0), (Write, 8.0)], &single).unwrap();
    assert_eq!(cause, Cause::Writes);
    assert!(words.contains("it wrote 500 MiB/s, 1.96 ms per request"), "{words}");
    let (cause, words) = explain_role(&[(Read, 10.0)], &reading, 1, Some(93.0)).unwrap();
    assert_eq!(cause, Cause::DriveFull);
    assert!(words.contains("93 % of the I/Os that the drive can do"), "{words}");
    // Without a device's counters the samples are the only evidence.
    assert_eq!(
        explain(&[(User, 1.0), (Write, 9.0)], &facts()).unwrap(),
        (
            Cause::Writes,
            "writer waited 90 % of the time for the device, 100 % of that in calls that write"
                .to_owned()
        )
    );
}

#[test]
fn computing_says_where_and_what_with() {
    let (cause, words) = explain(&[(User, 7.0), (System, 2.0), (Other, 1.0)], &facts()).unwrap();
    assert_eq!(cause, Cause::CpuUser);
    assert_eq!(
        words,
        "writer computed for 90 % of the time: 70 % in user mode, 20 % in the kernel"
    );
    let faulting = Facts { faults_per_op: Some(1.5), ..facts() };
    let (cause, words) = explain(&[(User, 2.0), (System, 7.0)], &faulting).unwrap();
    assert_eq!(cause, Cause::CpuSystem);
    assert!(words.ends_with("with 1.50 page faults per operation"), "{words}");
    let calling = Facts { faults_per_op: Some(0.003), ..facts() };
    let (_, words) = explain(&[(User, 2.0), (System, 7.0)], &calling).unwrap();
    assert!(words.ends_with("in system calls: there were hardly any page faults"), "{words}");
    // The engine's own threads count separately where there is only one role.
    let background = Facts { cpu_ns: Some(24.0 * S), ..facts() };
    let (_, words) = explain(&[(User, 9.0), (System, 0.0), (Other, 1.0)], &background).unwrap();
    assert!(words.ends_with("; also the engine's own threads had 1.5 CPUs"), "{words}");
    // Each role's own faults, without those of others.
    let role = |name: &str, faults: u64| {
        let usage = Some(ThreadsUsage { minor_faults: faults, ..usage(1, 1, 0) });
        let mut case = Fixture::new().case("lmdb_t1_r1").phase("measure").clone();
        case.roles.iter_mut().filter(|role| role.role == name).for_each(|role| role.usage = usage);
        Facts::from_phases(&[&case], None).role_facts(&[&case], name).faults_per_op
    };
    assert_eq!((role("readers", 0), role("writer", 0)), (Some(0.0), Some(0.0)));
    assert!(role("writer", 1000) > role("readers", 1000), "it does fewer operations");
    let server = Facts { server: true, threads: 3, ..background.clone() };
    let (_, words) = explain(&[(User, 9.0), (System, 0.0), (Other, 1.0)], &server).unwrap();
    assert!(words.ends_with("; also the server had 2.4 CPUs"), "{words}");
    let several = Facts { threads: 3, ..background };
    let (_, words) = explain(&[(User, 9.0), (Other, 1.0)], &several).unwrap();
    assert!(!words.contains("; also"), "{words}");
}

#[test]
fn waiting_for_others_has_its_own_words() {
    let busy = DeviceSums {
        busy_ns: 9.0 * S,
        writes: 1000.0,
        write_bytes: 1000.0 * 1_048_576.0,
        write_ns: 14.0 * S,
        ..DeviceSums::default()
    };
    let facts = Facts { device: Some(busy), ..facts() };
    let case = |part| explain(&[(User, 1.0), (RunQueue, 1.5), (part, 7.5)], &facts).unwrap();
    assert_eq!(
        case(Lock),
        (
            Cause::Lock,
            "writer waited 75 % of the time for other threads (futex), while the device was busy \
             for 90 %; also 15 % ready but without a CPU"
                .to_owned()
        )
    );
    assert_eq!(
        case(Stall),
        (
            Cause::Stalls,
            "writer lost 75 % of the time to the engine's stalls, as it counts them, while the \
             device was busy for 90 %: it wrote 100 MiB/s, 14.0 ms per request; also 15 % \
             ready but without a CPU"
                .to_owned()
        )
    );
    let events_only = Facts { stalls_counted: false, ..facts.clone() };
    let (_, words) = explain(&[(User, 2.5), (Stall, 7.5)], &events_only).unwrap();
    let most = "writer lost up to 75 % of the time to the engine's stalls, as it reports them";
    assert!(words.starts_with(most), "{words}");
    assert_eq!(case(Idle).0, Cause::Schedule);
    assert_eq!(case(Network).0, Cause::Server);
    let (cause, words) = explain(&[(User, 4.0), (RunQueue, 6.0)], &facts).unwrap();
    assert_eq!(cause, Cause::NoCpu);
    assert!(words.ends_with("the process had 0.10 of the machine's 2 CPUs"), "{words}");
}

/// Writers of a single-writer engine wait in a futex while the drive flushes.
#[test]
fn writers_behind_a_commit_queue_for_the_drives_flush() {
    let parts = [(User, 1.0), (Sync, 2.0), (Lock, 7.0)];
    let commits = Facts {
        writes: 1000.0,
        flushes: Some(1020.0),
        flush_ns_mean: Some(8.1e6),
        device: Some(DeviceSums { busy_ns: 8.4 * S, ..DeviceSums::default() }),
        ..facts()
    };
    let (cause, words) = explain_role(&parts, &commits, 4, None).unwrap();
    assert_eq!(cause, Cause::Flushes);
    assert_eq!(
        words,
        "writer waited 70 % of the time for other threads (futex): they queue for the single \
         writer, which waits for the drive's flush (1.02 flushes per write of 8.10 ms each)"
    );
    // One flush for many commits, short flushes, one thread alone: the cause stays open.
    let grouped = Facts { flushes: Some(100.0), ..commits.clone() };
    let short = Facts { flush_ns_mean: Some(1e5), ..commits.clone() };
    for (facts, threads) in [(&grouped, 4), (&short, 4), (&commits, 1)] {
        assert_eq!(explain_role(&parts, facts, threads, None).unwrap().0, Cause::Lock);
    }
}

#[test]
fn where_nothing_took_most_or_most_is_not_known() {
    let turns = explain(&[(User, 4.0), (Read, 3.0), (Lock, 2.5), (Stall, 0.5)], &facts()).unwrap();
    assert_eq!(
        turns,
        (
            Cause::Turns,
            "writer computed for 40 %, waited for the device for 30 % and waited for other threads \
             for 25 % of the time"
                .to_owned()
        )
    );
    assert_eq!(explain(&[(User, 4.0), (Other, 6.0)], &facts()), None);
    assert_eq!(explain(&[], &facts()), None);
}
