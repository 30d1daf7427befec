//! The resources that processes have used, from `/proc/PID/*` for processes that are not our
//! children (servers), and from a `rusage` for those that are.
//!
//! `/proc` counts CPU time in clock ticks (10 ms) and context switches by thread: the switches of
//! threads that have ended are lost. A `rusage` has neither fault.

use super::Root;
use super::root::number_by_key;
use kvdyno_record::usage::{ProcessIo, ProcessUsage};
use procfs_core::process::{Io, Stat, StatM};
use rustix::process::{Pid, Signal, kill_process};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Returns the usage of these processes, summed; `None`: not one of them can be read.
pub fn usage(root: &Root, pids: &[u32]) -> Option<ProcessUsage> {
    let all: Vec<Reading> = pids.iter().filter_map(|pid| Reading::read(root, *pid)).collect();
    (!all.is_empty()).then(|| sum_usage(&all))
}

/// How long a process may take to stop: one that waits for a drive stops afterwards.
const STOP_LIMIT: Duration = Duration::from_secs(1);

/// Stops these processes until [`resume`], and waits until they have stopped.
pub fn stop(root: &Root, pids: &[u32]) {
    for pid in pids {
        send(*pid, Signal::STOP);
    }
    let works = |pid: &u32| {
        let stat = root.parse_file::<Stat>(format!("/proc/{pid}/stat"));
        stat.is_some_and(|stat| !matches!(stat.state, 'T' | 't' | 'Z' | 'X'))
    };
    let begun = Instant::now();
    while pids.iter().any(works) && begun.elapsed() < STOP_LIMIT {
        sleep(Duration::from_micros(200));
    }
}

/// Continues stopped processes.
pub fn resume(pids: &[u32]) {
    for pid in pids {
        send(*pid, Signal::CONT);
    }
}

/// Sends a signal to a process, if it has not ended.
fn send(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, signal);
    }
}

/// Sums the usage of these processes, without that of their children.
pub(super) fn sum_usage(all: &[Reading]) -> ProcessUsage {
    let sum = |figure: fn(&Reading) -> u64| all.iter().map(figure).sum::<u64>();
    let sum_io = |figure: fn(&ProcessIo) -> u64| {
        all.iter().filter_map(|one| one.io.as_ref()).map(figure).sum::<u64>()
    };
    ProcessUsage {
        user_ns: ticks_ns(sum(|one| one.stat.utime)),
        system_ns: ticks_ns(sum(|one| one.stat.stime)),
        voluntary_switches: sum(|one| one.switches.0),
        involuntary_switches: sum(|one| one.switches.1),
        minor_faults: sum(|one| one.stat.minflt),
        major_faults: sum(|one| one.stat.majflt),
        // The kernel derives ru_inblock and ru_oublock from the same counts.
        input_blocks_512: sum_io(|io| io.read_bytes) / 512,
        output_blocks_512: sum_io(|io| io.write_bytes) / 512,
        rss_peak_bytes: sum(|one| one.rss_peak_bytes),
        // The I/O of some processes would be taken for that of all.
        io: all.iter().all(|one| one.io.is_some()).then(|| ProcessIo {
            read_chars: sum_io(|io| io.read_chars),
            write_chars: sum_io(|io| io.write_chars),
            read_calls: sum_io(|io| io.read_calls),
            write_calls: sum_io(|io| io.write_calls),
            read_bytes: sum_io(|io| io.read_bytes),
            write_bytes: sum_io(|io| io.write_bytes),
            cancelled_write_bytes: sum_io(|io| io.cancelled_write_bytes),
        }),
    }
}

/// Returns whether there are more than a supervisor and its server, which share nothing.
pub(super) fn has_forks(pids: &[u32]) -> bool {
    pids.len() > 2
}

/// Returns the resident memory of these processes. For a server that forks, shared memory is
/// counted once (`Pss`, for which the kernel walks all their pages).
pub fn memory_bytes(root: &Root, pids: &[u32]) -> Option<u64> {
    if !has_forks(pids) {
        return rss_bytes(root, pids);
    }
    let share = |pid: &u32| {
        let text = root.text(format!("/proc/{pid}/smaps_rollup"))?;
        Some(number_by_key(&text, "Pss")? * 1024)
    };
    pids.iter().filter_map(share).reduce(|a, b| a + b)
}

/// Returns the resident memory, summed over these processes; shared pages count for each.
fn rss_bytes(root: &Root, pids: &[u32]) -> Option<u64> {
    let page = rustix::param::page_size() as u64;
    let all = pids.iter().filter_map(|pid| root.parse_file::<StatM>(format!("/proc/{pid}/statm")));
    all.map(|memory| memory.resident * page).reduce(|a, b| a + b)
}

/// Returns a process and its descendants, as far as they are alive.
pub fn with_descendants(root: &Root, pid: u32) -> Vec<u32> {
    let mut all = vec![pid];
    let mut next = 0;
    while let Some(pid) = all.get(next).copied() {
        next += 1;
        for task in root.names(format!("/proc/{pid}/task")) {
            let text = root.text(format!("/proc/{pid}/task/{task}/children")).unwrap_or_default();
            all.extend(text.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()));
        }
    }
    all
}

/// Reads `/proc/PID/io`; only the process's user and root may.
pub fn io(root: &Root, pid: u32) -> Option<ProcessIo> {
    let io: Io = root.parse_file(format!("/proc/{pid}/io"))?;
    Some(ProcessIo {
        read_chars: io.rchar,
        write_chars: io.wchar,
        read_calls: io.syscr,
        write_calls: io.syscw,
        read_bytes: io.read_bytes,
        write_bytes: io.write_bytes,
        cancelled_write_bytes: io.cancelled_write_bytes,
    })
}

/// Converts what wait4(2) and getrusage(2) return. `io` must be read while the process lives.
pub fn from_rusage(rusage: &libc::rusage) -> ProcessUsage {
    let count = |value: libc::c_long| u64::try_from(value).unwrap_or_default();
    let time =
        |time: libc::timeval| count(time.tv_sec) * 1_000_000_000 + count(time.tv_usec) * 1_000;
    ProcessUsage {
        user_ns: time(rusage.ru_utime),
        system_ns: time(rusage.ru_stime),
        voluntary_switches: count(rusage.ru_nvcsw),
        involuntary_switches: count(rusage.ru_nivcsw),
        minor_faults: count(rusage.ru_minflt),
        major_faults: count(rusage.ru_majflt),
        input_blocks_512: count(rusage.ru_inblock),
        output_blocks_512: count(rusage.ru_oublock),
        rss_peak_bytes: count(rusage.ru_maxrss) * 1024,
        io: None,
    }
}

/// The duration of clock ticks in `/proc`.
pub(super) fn ticks_ns(ticks: u64) -> u64 {
    ticks * (1_000_000_000 / rustix::param::clock_ticks_per_second().max(1))
}

/// The readings of one process.
pub(super) struct Reading {
    pub(super) stat: Stat,
    pub(super) switches: (u64, u64),
    pub(super) rss_peak_bytes: u64,
    pub(super) io: Option<ProcessIo>,
}

impl Reading {
    pub(super) fn read(root: &Root, pid: u32) -> Option<Self> {
        let stat = root.parse_file(format!("/proc/{pid}/stat"))?;
        let status = root.text(format!("/proc/{pid}/status")).unwrap_or_default();
        let rss_peak_bytes = number_by_key(&status, "VmHWM").unwrap_or_default() * 1024;
        Some(Self { stat, switches: switches(root, pid), rss_peak_bytes, io: io(root, pid) })
    }
}

/// Context switches, summed over the threads alive: `/proc/PID/status` has those of the first
/// thread alone.
fn switches(root: &Root, pid: u32) -> (u64, u64) {
    let tasks = root.names(format!("/proc/{pid}/task"));
    let texts =
        tasks.iter().filter_map(|task| root.text(format!("/proc/{pid}/task/{task}/status")));
    texts.fold((0, 0), |(voluntary, involuntary), text| {
        let field = |name| number_by_key(&text, name).unwrap_or_default();
        (
            voluntary + field("voluntary_ctxt_switches"),
            involuntary + field("nonvoluntary_ctxt_switches"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::Fake;
    use super::*;

    fn server() -> Fake {
        Fake::new()
            .file(
                "/proc/70/stat",
                "70 (mongod ) 1 (x)) S 1 70 70 0 -1 4194304 102 9 3 8 250 50 1 1 20 0 2 0 157884 \
                 3133440 382 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17\n",
            )
            .file("/proc/70/status", "Name:\tmongod\nVmHWM:\t    1024 kB\n")
            .file("/proc/70/statm", "765 382 300 5 0 95 0\n")
            .file(
                "/proc/70/io",
                "rchar: 6976\nwchar: 12\nsyscr: 10\nsyscw: 2\nread_bytes: 8192\n\
                 write_bytes: 4096\ncancelled_write_bytes: 512\n",
            )
            .file(
                "/proc/70/task/70/status",
                "voluntary_ctxt_switches:\t4\nnonvoluntary_ctxt_switches:\t1\n",
            )
            .file(
                "/proc/70/task/71/status",
                "voluntary_ctxt_switches:\t6\nnonvoluntary_ctxt_switches:\t2\n",
            )
    }

    #[test]
    fn a_servers_process_is_read_from_proc() {
        let usage = usage(&server().root, &[70]).unwrap();
        assert_eq!(usage.user_ns, 2_500_000_000);
        assert_eq!(usage.system_ns, 500_000_000);
        assert_eq!((usage.minor_faults, usage.major_faults), (102, 3));
        assert_eq!((usage.voluntary_switches, usage.involuntary_switches), (10, 3));
        assert_eq!((usage.input_blocks_512, usage.output_blocks_512), (16, 8));
        assert_eq!(usage.rss_peak_bytes, 1 << 20);
        assert_eq!(usage.io.unwrap().cancelled_write_bytes, 512);
    }

    #[test]
    fn processes_are_summed_and_the_gone_left_out() {
        let fake = server();
        let stat = fake.read("/proc/70/stat");
        let fake = fake.file("/proc/71/stat", &stat);
        let usage = usage(&fake.root, &[70, 71, 72]).unwrap();
        assert_eq!(usage.user_ns, 5_000_000_000);
        assert_eq!(usage.io, None, "one of the two cannot be read");
        assert_eq!(super::usage(&fake.root, &[72]), None);
    }

    #[test]
    fn resident_memory_is_in_pages() {
        let page = rustix::param::page_size() as u64;
        assert_eq!(rss_bytes(&server().root, &[70, 72]), Some(382 * page));
    }

    #[test]
    fn of_several_processes_what_they_share_counts_once() {
        let page = rustix::param::page_size() as u64;
        let fake = server()
            .file("/proc/70/smaps_rollup", "7f00-7fff ---p [rollup]\nRss: 90 kB\nPss: 30 kB\n")
            .file("/proc/71/smaps_rollup", "7f00-7fff ---p [rollup]\nRss: 90 kB\nPss: 12 kB\n");
        assert_eq!(memory_bytes(&fake.root, &[69, 70, 71]), Some(42 << 10));
        assert_eq!(memory_bytes(&fake.root, &[69, 70]), Some(382 * page));
        assert_eq!(memory_bytes(&fake.root, &[72, 73, 74]), None);
    }

    #[test]
    fn descendants_are_found_through_every_thread() {
        let fake = server()
            .file("/proc/70/task/71/children", "80 81 ")
            .file("/proc/81/task/81/children", "90 ");
        assert_eq!(with_descendants(&fake.root, 70), [70, 80, 81, 90]);
    }

    #[test]
    fn proc_and_rusage_agree_on_this_process() {
        let mut block = vec![0_u8; 8 << 20];
        block.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
        let me = std::process::id();
        let usage = usage(&Root::system(), &[me]).unwrap();
        assert!(usage.rss_peak_bytes >= block.len() as u64);
        assert!(usage.minor_faults > 0);
        assert!(rss_bytes(&Root::system(), &[me]).unwrap() >= block.len() as u64);
    }
}
