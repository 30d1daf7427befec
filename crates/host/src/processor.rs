//! The processor's own counters of a process and of all that it starts, in user mode
//! (`perf_event_open(2)`).
//!
//! Each counter is opened by itself: in a group, all would be counted or none. An inherited counter
//! reads as the sum over the threads, including those that have ended.

use super::Root;
use kvdyno_record::usage::{EventCount, ProcessorUsage};
use perf_event::events::{Event, Hardware};
use perf_event::{Builder, Counter};
use rustix::io::Errno;
use std::io;

/// The directory where the kernel lists event sources; one that counts for some of the cores only
/// has their numbers in a file `cpus`.
const COUNTERS: &str = "/sys/bus/event_source/devices";

/// A counter for each thread that the process had; it includes what that thread starts later.
type Counters = io::Result<Vec<Counter>>;

/// Counters of one process, from when they are opened.
#[derive(Debug)]
pub struct Processor {
    instructions: Counters,
    cycles: Counters,
    cache_misses: Counters,
    branch_misses: Counters,
}

impl Processor {
    /// Begins to count what a process does from now on.
    pub fn watch(root: &Root, pid: u32) -> Self {
        let begin = |event: Hardware| {
            check_core_kinds(root)?;
            begin(root, pid, event)
        };
        Self {
            instructions: begin(Hardware::INSTRUCTIONS),
            cycles: begin(Hardware::CPU_CYCLES),
            cache_misses: begin(Hardware::CACHE_MISSES),
            branch_misses: begin(Hardware::BRANCH_MISSES),
        }
    }

    /// Returns the events that are not counted: a sentence for each reason.
    pub fn uncounted_events(&self) -> Vec<String> {
        let all = [&self.instructions, &self.cycles, &self.cache_misses, &self.branch_misses];
        let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
        for ((name, _), counters) in ProcessorUsage::ALL.into_iter().zip(all) {
            let Err(error) = counters else { continue };
            let why = explain_refusal(error);
            match reasons.iter_mut().find(|(reason, _)| *reason == why) {
                Some((_, names)) => names.push(name),
                None => reasons.push((why, vec![name])),
            }
        }
        let sentences =
            reasons.iter().map(|(why, names)| ProcessorUsage::format_uncounted(names, why));
        sentences.collect()
    }

    /// The counts so far.
    pub fn usage(&mut self) -> ProcessorUsage {
        ProcessorUsage {
            instructions: read(&mut self.instructions),
            cycles: read(&mut self.cycles),
            cache_misses: read(&mut self.cache_misses),
            branch_misses: read(&mut self.branch_misses),
        }
    }
}

/// Returns why an event could not be opened, and the remedy.
pub fn explain_refusal(error: &io::Error) -> String {
    let remedy = match error.raw_os_error().map(Errno::from_raw_os_error) {
        None => return error.to_string(),
        Some(Errno::NOENT) => "this machine has no such counters, as most virtual ones",
        Some(Errno::ACCESS) => "`sysctl kernel.perf_event_paranoid=2` allows it",
        // Seccomp's error; the kernel's own is the one above.
        Some(Errno::PERM) => "a container's filter: `--cap-add PERFMON` allows it",
        Some(Errno::SRCH) => "the process has ended",
        Some(_) => "perf_event_open(2)",
    };
    format!("{error} ({remedy})")
}

/// Fails on a machine with several kinds of cores: a counter sees one kind, and the counts for the
/// time on others would be made up.
fn check_core_kinds(root: &Root) -> io::Result<()> {
    let mut kinds = root.names(COUNTERS);
    kinds.retain(|name| root.text(format!("{COUNTERS}/{name}/cpus")).is_some());
    if kinds.len() < 2 {
        return Ok(());
    }
    let what = format!(
        "it has cores of several kinds ({}) with separate counters",
        kinds.join(
            ", \
        "
        )
    );
    Err(io::Error::new(io::ErrorKind::Unsupported, what))
}

/// Opens a counter for each thread of a process. Threads are listed first: one that a counted
/// thread starts is counted with it, and would be counted twice. The first thread has the process's
/// number, and must exist.
fn begin(root: &Root, pid: u32, event: impl Event + Copy) -> Counters {
    let tasks = root.names(format!("/proc/{pid}/task"));
    let others = tasks.iter().filter_map(|task| task.parse().ok()).filter(|task| *task != pid);
    let others: Vec<u32> = others.collect();
    let mut counters = vec![count(pid, event)?];
    for task in others {
        match count(task, event) {
            Ok(counter) => counters.push(counter),
            Err(error) if error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(counters)
}

fn count(task: u32, event: impl Event) -> io::Result<Counter> {
    Builder::new(event).observe_pid(task.cast_signed()).inherit(true).enabled(true).build()
}

fn read(counters: &mut Counters) -> Option<EventCount> {
    let mut sum = EventCount::default();
    for counter in counters.as_mut().ok()? {
        let reading = counter.read_count_and_time().ok()?;
        sum.count += reading.count;
        sum.enabled_ns += reading.time_enabled;
        sum.running_ns += reading.time_running;
    }
    Some(sum)
}

#[cfg(test)]
mod tests;
