//! The worker's readings of itself: getrusage(2) and `/proc/self/io`.

use kvdyno_record::usage::{ProcessIo, ProcessUsage, ThreadsUsage};
use std::fs;

/// Returns the allocator's free memory to the system: memory that a load needed must not count
/// against a RAM limit that begins after it.
#[expect(unsafe_code, reason = "libc's own")]
pub(crate) fn return_free_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it takes the allocator's own locks.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Everything this process, with all its threads, has used so far.
pub(crate) fn read_process() -> ProcessUsage {
    let usage = rusage(libc::RUSAGE_SELF);
    ProcessUsage {
        user_ns: ns(usage.ru_utime),
        system_ns: ns(usage.ru_stime),
        voluntary_switches: usage.ru_nvcsw as u64,
        involuntary_switches: usage.ru_nivcsw as u64,
        minor_faults: usage.ru_minflt as u64,
        major_faults: usage.ru_majflt as u64,
        input_blocks_512: usage.ru_inblock as u64,
        output_blocks_512: usage.ru_oublock as u64,
        rss_peak_bytes: usage.ru_maxrss as u64 * 1024,
        io: fs::read_to_string("/proc/self/io").ok().and_then(|text| parse_io(&text)),
    }
}

/// How long the calling thread has waited for a CPU so far; none: the kernel does not count it.
pub(crate) fn runqueue_ns() -> Option<u64> {
    let schedstat = fs::read_to_string("/proc/thread-self/schedstat").ok();
    schedstat.and_then(|text| parse_waited(&text))
}

/// The total usage of the calling thread, at a time given by the caller.
pub(crate) fn read_thread(now_ns: u64) -> ThreadsUsage {
    let usage = rusage(libc::RUSAGE_THREAD);
    ThreadsUsage {
        time_ns: now_ns,
        user_ns: ns(usage.ru_utime),
        system_ns: ns(usage.ru_stime),
        runqueue_ns: runqueue_ns(),
        voluntary_switches: usage.ru_nvcsw as u64,
        involuntary_switches: usage.ru_nivcsw as u64,
        minor_faults: usage.ru_minflt as u64,
        major_faults: usage.ru_majflt as u64,
    }
}

#[expect(unsafe_code, reason = "rustix has no getrusage")]
fn rusage(whose: libc::c_int) -> libc::rusage {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel fills the struct it is given; all-zero is a valid `rusage` if it does not.
    unsafe {
        libc::getrusage(whose, usage.as_mut_ptr());
        usage.assume_init()
    }
}

fn ns(time: libc::timeval) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000
}

/// Parses `schedstat`: time on a CPU, time ready without a CPU, and time slices. A kernel that does
/// not count them reports three zeros; otherwise a thread that reads this has had a slice.
fn parse_waited(text: &str) -> Option<u64> {
    let mut fields = text.split_whitespace().map(|field| field.parse::<u64>().ok());
    let (_, waited, slices) = (fields.next()??, fields.next()??, fields.next()??);
    (slices > 0).then_some(waited)
}

fn parse_io(text: &str) -> Option<ProcessIo> {
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        line?.trim().parse().ok()
    };
    Some(ProcessIo {
        read_chars: field("rchar")?,
        write_chars: field("wchar")?,
        read_calls: field("syscr")?,
        write_calls: field("syscw")?,
        read_bytes: field("read_bytes")?,
        write_bytes: field("write_bytes")?,
        cancelled_write_bytes: field("cancelled_write_bytes")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_grow_with_work() {
        let before = read_process();
        let mut sum = 0u64;
        let started = std::time::Instant::now();
        while started.elapsed().as_millis() < 30 {
            sum = std::hint::black_box(sum + 1);
        }
        let after = read_process();
        let burnt = after.user_ns + after.system_ns - before.user_ns - before.system_ns;
        assert!(burnt >= 5_000_000, "{burnt} ns");
        assert!(after.rss_peak_bytes > 100_000);
    }

    #[test]
    fn a_kernel_that_does_not_count_waits_says_nothing_of_them() {
        assert_eq!(parse_waited("5123 77 3\n"), Some(77));
        assert_eq!(parse_waited("5123 0 3\n"), Some(0));
        assert_eq!([parse_waited("0 0 0\n"), parse_waited("")], [None, None]);
    }

    /// Time that another thread burns counts for the process, not for this thread.
    #[test]
    fn a_thread_has_its_own_readings() {
        let before = read_thread(5);
        let burnt = std::thread::spawn(|| {
            let begun = std::time::Instant::now();
            let before = read_thread(0);
            while begun.elapsed().as_millis() < 60 {
                std::hint::black_box(begun.elapsed());
            }
            read_thread(60_000_000).since(&before)
        });
        let burnt = burnt.join().unwrap();
        let own = read_thread(9).since(&before);
        assert!(burnt.user_ns + burnt.system_ns > 0, "{burnt:?}");
        assert_eq!((burnt.time_ns, own.time_ns), (60_000_000, 4));
        assert!(own.user_ns + own.system_ns < 60_000_000, "{own:?}");
    }
}
