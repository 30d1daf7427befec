//! The processor's own counters of a process and of all that it starts, in user mode
//! (`perf_event_open(2)`).

use kvdyno_record::usage::{EventCount, ProcessorUsage};
use perf_event::events::{Event, Hardware};
use perf_event::{Builder, Counter};
use std::io;

/// Counters of one process. Threads that it has already are not counted.
#[derive(Debug)]
pub struct Processor {
    instructions: io::Result<Counter>,
    cycles: io::Result<Counter>,
    cache_misses: io::Result<Counter>,
    branch_misses: io::Result<Counter>,
}

impl Processor {
    /// Begins to count what a process does from now on.
    pub fn of(pid: u32) -> Self {
        Self {
            instructions: begin(pid, Hardware::INSTRUCTIONS),
            cycles: begin(pid, Hardware::CPU_CYCLES),
            cache_misses: begin(pid, Hardware::CACHE_MISSES),
            branch_misses: begin(pid, Hardware::BRANCH_MISSES),
        }
    }

    /// What is not counted, and why, in a sentence; none: all is.
    pub fn not_counted(&self) -> Option<String> {
        let all = [
            ("instructions", &self.instructions),
            ("cycles", &self.cycles),
            ("cache misses", &self.cache_misses),
            ("branch misses", &self.branch_misses),
        ];
        let missing =
            all.iter().filter_map(|(name, counter)| Some((*name, counter.as_ref().err()?)));
        let (names, errors): (Vec<&str>, Vec<&io::Error>) = missing.unzip();
        let error = errors.first()?;
        let remedy = match error.kind() {
            io::ErrorKind::NotFound => "this machine has no such counters, as most virtual ones",
            io::ErrorKind::PermissionDenied => "`sysctl kernel.perf_event_paranoid=2` allows it",
            _ => "perf_event_open(2)",
        };
        Some(format!("{} by the processor: {error} ({remedy})", names.join(", ")))
    }

    /// What has been counted so far.
    pub fn usage(&mut self) -> ProcessorUsage {
        ProcessorUsage {
            instructions: read(&mut self.instructions),
            cycles: read(&mut self.cycles),
            cache_misses: read(&mut self.cache_misses),
            branch_misses: read(&mut self.branch_misses),
        }
    }
}

fn begin(pid: u32, event: impl Event) -> io::Result<Counter> {
    Builder::new(event).observe_pid(pid.cast_signed()).inherit(true).enabled(true).build()
}

fn read(counter: &mut io::Result<Counter>) -> Option<EventCount> {
    let found = counter.as_mut().ok()?.read_count_and_time().ok()?;
    let (enabled_ns, running_ns) = (found.time_enabled, found.time_running);
    Some(EventCount { count: found.count, enabled_ns, running_ns })
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_event::events::Software;
    use std::process::{Command, Stdio};

    /// A child that waits for a line, and then has others work for it.
    const CHILD: &str = "read line; for i in 1 2 3; do ls / > /dev/null; done";

    /// The kernel's counters stand in for the processor's, which a virtual machine lacks: they are
    /// read by the same calls.
    #[test]
    fn what_a_process_starts_later_is_counted_with_it() {
        let mut child =
            Command::new("sh").args(["-c", CHILD]).stdin(Stdio::piped()).spawn().unwrap();
        let mut counter = begin(child.id(), Software::PAGE_FAULTS);
        let before = read(&mut counter).unwrap();
        drop(child.stdin.take());
        child.wait().unwrap();
        let after = read(&mut counter).unwrap();
        // A program that is started has some hundred pages to map.
        assert!(after.count - before.count > 100, "{before:?} {after:?}");
        assert!(after.running_ns > before.running_ns && after.running_ns <= after.enabled_ns);
    }

    #[test]
    fn what_is_not_counted_is_said() {
        let mut counters = Processor::of(std::process::id());
        let usage = counters.usage();
        let said = counters.not_counted();
        assert_eq!(
            usage.instructions.is_none(),
            said.as_ref()
                .is_some_and(|words| { words.contains("instructions") && words.contains("error") }),
            "{usage:?} {said:?}"
        );
        let gone = Processor::of(u32::MAX >> 1).not_counted().unwrap();
        assert!(gone.starts_with("instructions, cycles, cache misses, branch misses"), "{gone}");
    }
}
