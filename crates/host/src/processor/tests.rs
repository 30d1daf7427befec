//! Tests of counters on real processes. The kernel's software events stand in for the processor's,
//! which a virtual machine lacks: they are opened, inherited and read by the same calls.

use super::super::child::Child;
use super::super::testing::{Fake, needs_root};
use super::*;
use kvdyno_record::usage::ProcessUsage;
use perf_event::events::Software;
use rustix::time::{ClockId, clock_gettime};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::fd::AsRawFd as _;
use std::process::Command;
use std::sync::Barrier;
use std::time::{Duration, Instant};

fn begun(pid: u32, event: Software) -> Counters {
    begin(&Root::system(), pid, event)
}

/// Starts a program that waits for the end of its input before it goes on.
fn waiting(program: impl AsRef<std::ffi::OsStr>, arguments: &[&str]) -> Child {
    let mut command = Command::new(program);
    command.args(arguments);
    Child::spawn(command, None).unwrap()
}

/// Returns a child's count from now until it and all that it started have ended, which closes its
/// output; and its usage in its whole life.
fn to_its_end(mut child: Child, event: Software) -> (EventCount, ProcessUsage) {
    let mut counters = begun(child.pid(), event);
    let before = read(&mut counters).unwrap();
    drop(child.stdin.take());
    child.stdout.take().unwrap().read_to_end(&mut Vec::new()).unwrap();
    let usage = child.wait().unwrap().usage;
    let after = read(&mut counters).unwrap();
    let grown = EventCount {
        count: after.count - before.count,
        enabled_ns: after.enabled_ns - before.enabled_ns,
        running_ns: after.running_ns - before.running_ns,
    };
    (grown, usage)
}

#[test]
fn what_a_process_starts_later_is_counted_with_it() {
    let script = "read line; for i in 1 2 3; do ls / > /dev/null; done";
    let (counted, _) = to_its_end(waiting("sh", &["-c", script]), Software::PAGE_FAULTS);
    // A program that is started has some hundred pages to map.
    assert!(counted.count > 100, "{counted:?}");
    assert!(counted.running_ns > 0 && counted.running_ns <= counted.enabled_ns, "{counted:?}");
}

/// The server is another user's, in namespaces of its own, or no longer its supervisor's child.
#[test]
fn a_server_that_goes_its_own_way_is_counted_to_its_end() {
    if !needs_root("a_server_that_goes_its_own_way_is_counted_to_its_end") {
        return;
    }
    for by in [
        "setpriv --reuid 65534 --regid 65534 --clear-groups",
        "unshare --user --mount",
        "setsid --fork",
    ] {
        let script = format!("read line; exec {by} awk 'BEGIN {{ while (i < 6000000) i++ }}'");
        let (counted, _) = to_its_end(waiting("sh", &["-c", &script]), Software::TASK_CLOCK);
        // The loop takes some 60 ms of the processor's time, all else 3.
        assert!(counted.running_ns > 20_000_000, "{by}: {counted:?}");
    }
}

/// The CPU time that a thread of [`burner`] uses.
const BURNT_NS: u64 = 50_000_000;

fn burn() {
    let cpu_ns = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
    };
    while cpu_ns() < BURNT_NS {}
}

/// Runs four threads that exist before anything counts; each starts another after the gate opens.
#[test]
#[ignore = "the child of a test"]
fn burner() {
    let gate = Barrier::new(5);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                gate.wait();
                scope.spawn(burn);
                burn();
            });
        }
        eprintln!("ready");
        io::stdin().read_to_end(&mut Vec::new()).unwrap();
        gate.wait();
    });
}

#[test]
fn threads_that_are_there_already_are_counted_and_none_twice() {
    let arguments = ["--ignored", "--exact", "processor::tests::burner", "--nocapture"];
    let mut child = waiting(std::env::current_exe().unwrap(), &arguments);
    let mut errors = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(errors.any(|line| line.unwrap() == "ready"));
    let (counted, all) = to_its_end(child, Software::TASK_CLOCK);
    let all_ns = all.user_ns + all.system_ns;
    // The threads' own start was before the count.
    assert!(counted.count > 7 * BURNT_NS, "{counted:?}");
    // The hypervisor's time is in one of the two; a double count would be far more.
    assert!(counted.count < all_ns + all_ns / 2, "{counted:?} of {all_ns}");
}

#[test]
fn a_process_that_has_ended_is_no_more_counted_and_what_it_did_stays() {
    let mut child = Command::new("true").spawn().unwrap();
    let stat = format!("/proc/{}/stat", child.id());
    let begun_at = Instant::now();
    while !fs::read_to_string(&stat).unwrap().contains(") Z ") {
        assert!(begun_at.elapsed() < Duration::from_secs(10));
        std::thread::sleep(Duration::from_millis(1));
    }
    let error = begun(child.id(), Software::PAGE_FAULTS).map(|_| ()).unwrap_err();
    assert_eq!(explain_refusal(&error), "No such process (os error 3) (the process has ended)");
    child.wait().unwrap();
}

/// A worker that inherited the counters would keep them open.
#[test]
fn counters_are_closed_on_exec() {
    let counters = begun(std::process::id(), Software::PAGE_FAULTS).unwrap();
    assert!(!counters.is_empty());
    for counter in &counters {
        let path = format!("/proc/self/fdinfo/{}", counter.as_raw_fd());
        let info = fs::read_to_string(path).unwrap();
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).unwrap();
        let flags = u32::from_str_radix(flags.trim(), 8).unwrap();
        assert!(flags & rustix::fs::OFlags::CLOEXEC.bits() != 0, "{info}");
    }
}

#[test]
fn what_is_not_counted_is_said() {
    let mut counters = Processor::watch(&Root::system(), std::process::id());
    let usage = counters.usage();
    let reasons = counters.uncounted_events();
    let is_said = reasons.iter().any(|words| words.contains("instructions"));
    assert_eq!(usage.instructions.is_none(), is_said, "{usage:?} {reasons:?}");
    let gone = Processor::watch(&Root::system(), u32::MAX >> 1).uncounted_events();
    assert_eq!(gone.len(), 1, "one reason, one sentence: {gone:?}");
    assert!(gone[0].starts_with("instructions, cycles, cache misses, branch misses"), "{gone:?}");
}

/// A counter that works is read, whatever is wrong with the others.
#[test]
fn each_counter_has_a_reason_of_its_own() {
    let failed = |errno: Errno| Err(errno.into());
    let mut some = Processor {
        instructions: begun(std::process::id(), Software::PAGE_FAULTS),
        cycles: failed(Errno::PERM),
        cache_misses: failed(Errno::NOENT),
        branch_misses: failed(Errno::NOENT),
    };
    let usage = some.usage();
    assert!(usage.instructions.is_some() && usage.cycles.is_none());
    let reasons = some.uncounted_events();
    assert_eq!(reasons.len(), 2, "{reasons:?}");
    assert!(reasons[0].starts_with("cycles by the processor: ") && reasons[0].contains("PERFMON"));
    assert!(
        reasons[1].starts_with("cache misses, branch misses by the processor: "),
        "{reasons:?}"
    );
    assert!(reasons[1].ends_with("(this machine has no such counters, as most virtual ones)"));
    assert!(explain_refusal(&Errno::ACCESS.into()).contains("perf_event_paranoid=2"));
}

#[test]
fn of_cores_of_several_kinds_nothing_is_made_up() {
    let devices = |names: &[&str]| {
        let file = |fake: Fake, name: &&str| fake.file(&format!("{COUNTERS}/{name}"), "0-3\n");
        names.iter().fold(Fake::new(), file)
    };
    let hybrid = devices(&["cpu_core/cpus", "cpu_atom/cpus", "uncore_imc_0/cpumask", "msr/type"]);
    let reasons = Processor::watch(&hybrid.root, std::process::id()).uncounted_events();
    let all = "instructions, cycles, cache misses, branch misses by the processor: it has cores \
        of several kinds (cpu_atom, cpu_core) with separate counters";
    assert_eq!(reasons, [all]);
    for files in [&["cpu/type"][..], &["armv8_pmuv3_0/cpus", "arm_spe_0/cpumask"]] {
        assert!(check_core_kinds(&devices(files).root).is_ok(), "{files:?}");
    }
}
