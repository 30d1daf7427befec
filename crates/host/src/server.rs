//! A server's processes: found anew at each reading, because a server starts some for each session,
//! and what those used that have ended stays in the sum.
//!
//! The kernel hands what a process used to the one that waits for it: CPU time and faults in its
//! `cutime` and kin, I/O in its `io`. So live processes are summed with what they took over. Where
//! nobody waits, and for context switches, which are handed to nobody, the last reading is kept.

use super::Root;
use super::process::{Reading, ticks_ns, with_descendants};
use kvdyno_record::usage::{ProcessIo, ProcessUsage};
use std::collections::BTreeMap;

/// A server as it is accounted for.
#[derive(Clone, Debug, Default)]
pub struct Server {
    /// Those the engine named; all others descend from them.
    named: Vec<u32>,
    /// Context switches at the last reading, of all that were ever seen: by number and start time,
    /// because numbers come again.
    switches: BTreeMap<(u32, u64), (u64, u64)>,
    /// No reading is less than the one before it.
    reached: ProcessUsage,
}

impl Server {
    /// Those the engine has named when it was opened, now or again. None: there is no server.
    pub fn named(&mut self, processes: Vec<u32>) {
        self.named = processes;
    }

    /// Whether there is one.
    pub fn is_there(&self) -> bool {
        !self.named.is_empty()
    }

    /// All its processes of this moment.
    pub fn processes(&self, root: &Root) -> Vec<u32> {
        let mut all: Vec<u32> =
            self.named.iter().flat_map(|pid| with_descendants(root, *pid)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// What it has used since it was first read; none: it is none, or was never to be read.
    pub fn usage(&mut self, root: &Root) -> Option<ProcessUsage> {
        if !self.is_there() {
            return None;
        }
        let all: Vec<(u32, Reading)> = self
            .processes(root)
            .into_iter()
            .filter_map(|pid| Some((pid, Reading::of(root, pid)?)))
            .collect();
        if all.is_empty() && self.switches.is_empty() {
            return None;
        }
        for (pid, reading) in &all {
            self.switches.insert((*pid, reading.stat.starttime), reading.switches);
        }
        let sum = |of: &dyn Fn(&Reading) -> u64| all.iter().map(|(_, one)| of(one)).sum::<u64>();
        let waited = |own: u64, children: i64| own + u64::try_from(children).unwrap_or(0);
        let io = |of: fn(&ProcessIo) -> u64| sum(&|one| one.io.as_ref().map_or(0, of));
        // Of some processes would be taken for that of all.
        let all_io = all.iter().all(|(_, one)| one.io.is_some());
        let now = ProcessUsage {
            user_ns: ticks_ns(sum(&|one| waited(one.stat.utime, one.stat.cutime))),
            system_ns: ticks_ns(sum(&|one| waited(one.stat.stime, one.stat.cstime))),
            voluntary_switches: self.switches.values().map(|(voluntary, _)| voluntary).sum(),
            involuntary_switches: self.switches.values().map(|(_, involuntary)| involuntary).sum(),
            minor_faults: sum(&|one| one.stat.minflt + one.stat.cminflt),
            major_faults: sum(&|one| one.stat.majflt + one.stat.cmajflt),
            // What the kernel makes ru_inblock and ru_oublock of.
            input_blocks_512: io(|io| io.read_bytes) / 512,
            output_blocks_512: io(|io| io.write_bytes) / 512,
            rss_peak_bytes: sum(&|one| one.rss_peak_bytes),
            io: all_io.then(|| ProcessIo {
                read_chars: io(|io| io.read_chars),
                write_chars: io(|io| io.write_chars),
                read_calls: io(|io| io.read_calls),
                write_calls: io(|io| io.write_calls),
                read_bytes: io(|io| io.read_bytes),
                write_bytes: io(|io| io.write_bytes),
                cancelled_write_bytes: io(|io| io.cancelled_write_bytes),
            }),
        };
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
        let folder = tempfile::tempdir().unwrap();
        let script = "while read line; do head -c 33554432 /dev/zero | sha256sum > sum; \
                      dd if=/dev/zero of=file bs=1M count=4 2> /dev/null; echo done; done";
        let mut shell = Command::new("sh")
            .args(["-c", script])
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(shell.stdout.take().unwrap()).lines();
        let mut input = shell.stdin.take().unwrap();
        let (root, mut server) = (Root::system(), Server::default());
        assert_eq!(server.usage(&root), None, "nobody is named");
        server.named(vec![shell.id()]);
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
