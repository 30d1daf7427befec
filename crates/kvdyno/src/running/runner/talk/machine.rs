//! Readings of the worker's process and of the machine while a phase runs. The workers of a crew
//! are elsewhere, or below its launcher: they report their own usage, phase by phase.

use super::{SIZE_EVERY, Talk};
use crate::running::runner::readings::append;
use kvdyno_host::process;
use kvdyno_record::series::MachineReading;
use kvdyno_record::usage::Snapshot;
use kvdyno_record::workload::Activity;
use std::time::Instant;

impl<'r> Talk<'r> {
    /// Returns `pid`, unless it is the launcher of a crew.
    fn single_worker_pid(&self, pid: u32) -> Option<u32> {
        self.environment.case.crew.is_none().then_some(pid)
    }

    /// A sentence about thread samples that are not available.
    pub(super) fn missing_samples(&self) -> Option<String> {
        if self.environment.case.crew.is_some() {
            let sentence = "usage and waits of the crew's workers while a phase ran: they report \
                            them at its end";
            return Some(sentence.to_owned());
        }
        let denied = "waits of the threads: permission denied for /proc/PID/task/TID/syscall";
        self.wait_samples.is_denied().then(|| denied.to_owned())
    }

    /// Samples the threads of a timed phase. Before its first message of progress they wait for
    /// each other.
    pub(super) fn sample_threads(&mut self, pid: u32) {
        if self.current.as_ref().is_none_or(|begun| begun.last_progress.1 == 0) {
            return;
        }
        let Some(pid) = self.single_worker_pid(pid) else { return };
        if let Some(roles) = self.timed_roles() {
            self.wait_samples.look(self.meter.root, pid, &roles);
        }
    }

    /// The roles of the current phase, if it is timed: a load or a measured phase.
    pub(super) fn timed_roles(&self) -> Option<Vec<&'r str>> {
        let case = self.environment.case;
        let phase = self.current.as_ref().and_then(|begun| case.phases.get(begun.index));
        match phase.map(|phase| &phase.work) {
            Some(Activity::Load(_)) if case.data.graph.is_some() => Some(vec!["load", "nodes"]),
            Some(Activity::Load(_)) => Some(vec!["load"]),
            Some(Activity::Measure(mix)) => {
                Some(mix.roles.iter().map(|role| &*role.name).collect())
            }
            _ => None,
        }
    }

    /// Writes one line of `machine.ndjson`, and one of `blockio.ndjson`.
    pub(super) fn read_machine(&mut self, pid: u32, now: Instant) {
        let root = self.meter.root;
        let rss_bytes = match self.supervisor {
            Some(_) if self.environment.case.server.is_some() => None,
            Some(_) => self.server.memory_bytes(root),
            None => self.single_worker_pid(pid).and_then(|pid| process::memory_bytes(root, &[pid])),
        };
        let database = (now >= self.next_size).then(|| {
            self.next_size = now + SIZE_EVERY;
            self.size()
        });
        let reading = MachineReading {
            phase: self.phase_name(),
            reading: Snapshot {
                process: self.single_worker_pid(pid).and_then(|pid| process::usage(root, &[pid])),
                server: self.server.usage(root),
                elsewhere: self.environment.case.server.is_some(),
                wait_samples: self.wait_samples.counts(),
                ..self.read_meter()
            },
            rss_bytes,
            database: database.flatten(),
        };
        append(&self.machine, &reading);
        self.block_io.write_line(&reading.phase);
    }

    /// Adds the worker, its server and their new children to the processes whose block I/O is
    /// recorded.
    pub(super) fn watch_processes(&mut self, worker: u32) {
        self.block_io.add_processes(self.environment, &[worker]);
        let server = self.server.processes(self.meter.root);
        self.block_io.add_processes(self.environment, &server);
    }
}
