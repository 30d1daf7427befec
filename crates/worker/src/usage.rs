//! The worker's readings of itself: getrusage(2) and `/proc/self/io`.

use kvdyno_record::usage::{ProcessIo, ProcessUsage};
use std::fs;

/// Everything this process, with all its threads, has used so far.
#[expect(unsafe_code, reason = "rustix has no getrusage")]
pub(crate) fn of_this_process() -> ProcessUsage {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel fills the struct it is given; all-zero is a valid `rusage` if it does not.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
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
        let before = of_this_process();
        let mut sum = 0u64;
        let started = std::time::Instant::now();
        while started.elapsed().as_millis() < 30 {
            sum = std::hint::black_box(sum + 1);
        }
        let after = of_this_process();
        let burnt = after.user_ns + after.system_ns - before.user_ns - before.system_ns;
        assert!(burnt >= 5_000_000, "{burnt} ns");
        assert!(after.rss_peak_bytes > 100_000);
    }
}
