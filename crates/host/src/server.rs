//! A server's processes, found again at each reading: a server starts some for each session, and
//! the usage of ended ones stays in the sum.
//!
//! The kernel adds a process's usage to the process that waits for it: CPU time and faults in
//! `cutime` and similar fields, I/O in `io`. So live processes are summed with these fields. If
//! nothing waits for a process, and for context switches, which are not added anywhere, the last
//! reading is kept.

use super::Root;
use super::process::{Reading, has_forks, memory_bytes, sum_usage, ticks_ns, with_descendants};
use kvdyno_record::usage::ProcessUsage;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The interval between two walks through all pages of a server's processes, which cost CPU time.
const WALK_EVERY: Duration = Duration::from_secs(5);

/// The accounts of a server.
#[derive(Clone, Debug, Default)]
pub struct Server {
    /// The processes that the engine named; all others descend from them.
    named: Vec<u32>,
    /// The context switches of each process ever seen, at its last reading: by number and start
    /// time, because numbers are reused.
    switches: BTreeMap<(i32, u64), (u64, u64)>,
    /// The last reading of the memory of processes that share some, and its time.
    walked: Option<(Instant, u64)>,
    /// The highest usage so far: no reading is less than the one before it.
    reached: ProcessUsage,
}

impl Server {
    /// Sets the processes that the engine named when it was opened or reopened; none: there is no
    /// server.
    pub fn set_processes(&mut self, processes: Vec<u32>) {
        self.named = processes;
    }

    /// Returns all processes that the server has at this moment.
    pub fn processes(&self, root: &Root) -> Vec<u32> {
        let mut all: Vec<u32> =
            self.named.iter().flat_map(|pid| with_descendants(root, *pid)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Returns the server's memory now, or some seconds ago if many pages would have to be walked.
    pub fn memory_bytes(&mut self, root: &Root) -> Option<u64> {
        let pids = self.processes(root);
        self.measure_memory(root, &pids)
    }

    fn measure_memory(&mut self, root: &Root, pids: &[u32]) -> Option<u64> {
        if !has_forks(pids) {
            return memory_bytes(root, pids);
        }
        if self.walked.is_none_or(|(walked_at, _)| walked_at.elapsed() > WALK_EVERY) {
            self.walked = memory_bytes(root, pids).map(|bytes| (Instant::now(), bytes));
        }
        self.walked.map(|(_, bytes)| bytes)
    }

    /// Returns the server's usage so far; `None`: there is no server, or it could never be read.
    pub fn usage(&mut self, root: &Root) -> Option<ProcessUsage> {
        if self.named.is_empty() {
            return None;
        }
        let all: Vec<Reading> =
            self.processes(root).into_iter().filter_map(|pid| Reading::read(root, pid)).collect();
        if all.is_empty() && self.switches.is_empty() {
            return None;
        }
        for Reading { stat, switches, .. } in &all {
            self.switches.insert((stat.pid, stat.starttime), *switches);
        }
        let sum = |figure: fn(&Reading) -> u64| all.iter().map(figure).sum::<u64>();
        let waited = |figure: fn(&Reading) -> i64| {
            ticks_ns(all.iter().map(|one| u64::try_from(figure(one)).unwrap_or(0)).sum())
        };
        let own_usage = sum_usage(&all);
        let now = ProcessUsage {
            user_ns: own_usage.user_ns + waited(|one| one.stat.cutime),
            system_ns: own_usage.system_ns + waited(|one| one.stat.cstime),
            voluntary_switches: self.switches.values().map(|(voluntary, _)| voluntary).sum(),
            involuntary_switches: self.switches.values().map(|(_, involuntary)| involuntary).sum(),
            minor_faults: own_usage.minor_faults + sum(|one| one.stat.cminflt),
            major_faults: own_usage.major_faults + sum(|one| one.stat.cmajflt),
            ..own_usage
        };
        // The peaks of processes that share memory count it for each, so the readings are used.
        let pids: Vec<u32> = all.iter().map(|one| one.stat.pid.unsigned_abs()).collect();
        let shared = has_forks(&pids).then(|| self.measure_memory(root, &pids)).flatten();
        let now = ProcessUsage { rss_peak_bytes: shared.unwrap_or(now.rss_peak_bytes), ..now };
        self.reached = now.at_least(&self.reached);
        Some(self.reached.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Write};
    use std::process::{Command, Stdio};

    /// A shell that starts children which work and end: what they used stays, and new ones are
    /// found.
    #[test]
    fn what_ended_stays_in_the_sum() {
        let dir = tempfile::tempdir().unwrap();
        let script = "while read line; do head -c 33554432 /dev/zero | sha256sum > sum; \
                      dd if=/dev/zero of=file bs=1M count=4 2> /dev/null; echo done; done";
        let mut shell = Command::new("sh")
            .args(["-c", script])
            .current_dir(dir.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(shell.stdout.take().unwrap()).lines();
        let mut input = shell.stdin.take().unwrap();
        let (root, mut server) = (Root::system(), Server::default());
        assert_eq!(server.usage(&root), None, "nobody is named");
        server.set_processes(vec![shell.id()]);
        let mut before = server.usage(&root).unwrap();
        for _ in 0..3 {
            input.write_all(b"work\n").unwrap();
            lines.next().unwrap().unwrap();
            let now = server.usage(&root).unwrap();
            let cpu = |usage: &ProcessUsage| usage.user_ns + usage.system_ns;
            assert!(cpu(&now) >= cpu(&before) + 50_000_000, "{now:?} after {before:?}");
            assert!(now.minor_faults > before.minor_faults, "{now:?} after {before:?}");
            let written = |usage: &ProcessUsage| usage.io.as_ref().unwrap().write_chars;
            assert!(written(&now) >= written(&before) + (4 << 20), "{now:?} after {before:?}");
            before = now;
        }
        drop(input);
        shell.wait().unwrap();
        assert_eq!(server.usage(&root).map(|usage| usage.user_ns), Some(before.user_ns));
    }
}
