//! Conversations of two cases side by side: each is held after each of its turns and phases, and
//! its processes are stopped until it goes on.

use super::Talk;
use crate::running::runner::worker::Worker;
use kvdyno_host::process;
use kvdyno_record::protocol::Control;
use kvdyno_record::turns::TurnsRecord;
use kvdyno_record::usage::{DeviceUsage, Snapshot};
use std::time::{Duration, Instant};

/// The most rounds of looking for a case's processes while it is stopped.
const STOP_ROUNDS: usize = 5;

/// The turns of a case.
pub(super) struct TurnsOfCase {
    /// The other case.
    with: String,
    state: State,
    made: Instant,
}

/// The state of a case that takes turns.
enum State {
    /// The case is at work; none of its turns or phases is over since it went on.
    Working,
    /// Its worker waits for a go.
    Held,
    /// Its processes are stopped, too.
    Stopped { since: Instant, at_stop: Box<Snapshot> },
}

/// What was counted on the machine while the processes of a case were stopped.
#[derive(Clone, Debug, Default)]
pub(super) struct Meanwhile {
    stopped_ns: u64,
    steal_ns: u64,
    device: Option<DeviceUsage>,
}

impl Talk<'_> {
    /// Holds the case after each turn and each phase from now on; `with` is the other case.
    pub(in crate::running::runner) fn take_turns(&mut self, with: &str) {
        let (with, now) = (with.to_owned(), Instant::now());
        self.turns = Some(TurnsOfCase { with, state: State::Working, made: now });
    }

    /// Begins the time of the case: the other case has worked until now.
    pub(in crate::running::runner) fn begin_now(&mut self) {
        if let Some(waited) = self.turns.as_ref().map(|turns| turns.made.elapsed()) {
            self.postpone(waited);
        }
    }

    /// How many of its phases are over.
    pub(in crate::running::runner) fn phases_done(&self) -> usize {
        self.record.phases.len()
    }

    /// Reads messages until a turn or a phase is over. Returns whether there can be more.
    pub(in crate::running::runner) fn work(&mut self, worker: &mut Worker) -> bool {
        self.wake(worker);
        loop {
            if !self.read_message(worker) {
                self.end(worker);
                return false;
            }
            if matches!(&self.turns, Some(TurnsOfCase { state: State::Held, .. })) {
                return true;
            }
        }
    }

    /// Stops the processes of a case that is held.
    pub(in crate::running::runner) fn stop_processes(&mut self, worker: &Worker) {
        // A process that was started meanwhile is found in the next round.
        let mut stopped = Vec::new();
        for _ in 0..STOP_ROUNDS {
            let processes = self.processes(worker);
            if processes == stopped {
                break;
            }
            process::stop(self.meter.root, &processes);
            stopped = processes;
        }
        let (since, at_stop) = (Instant::now(), Box::new(self.meter.snapshot()));
        if let Some(turns) = &mut self.turns {
            turns.state = State::Stopped { since, at_stop };
        }
    }

    /// Resumes the processes of a stopped case, and sends a go to its worker.
    fn wake(&mut self, worker: &mut Worker) {
        let Some(turns) = &mut self.turns else { return };
        let state = std::mem::replace(&mut turns.state, State::Working);
        if let State::Stopped { since, at_stop } = state {
            let now = Instant::now();
            let stopped = now - since;
            let at_resume = self.meter.snapshot();
            self.postpone(stopped);
            self.open_close.time.skip(now);
            if let Some(begun) = &mut self.current {
                begun.overtime.iter_mut().for_each(|overtime| overtime.time.skip(now));
                begun.left_out.add(stopped.as_nanos() as u64, &at_stop, &at_resume);
                let stopped_ns = begun.left_out.stopped_ns;
                begun.turns.iter_mut().for_each(|turns| turns.stopped_ns = stopped_ns);
            }
            process::resume(&self.processes(worker));
            worker.control(Control::Go);
        }
    }

    /// Moves the end of the budget: the other case has worked for this long.
    fn postpone(&mut self, by: Duration) {
        self.started += by;
        self.supervisor.iter_mut().for_each(|supervisor| supervisor.postpone(by));
    }

    /// The processes of the worker, of its server, and of their children.
    fn processes(&self, worker: &Worker) -> Vec<u32> {
        let mut all = process::with_descendants(self.meter.root, worker.pid());
        all.extend(self.server.processes(self.meter.root));
        all
    }

    /// Handles the end of a turn. A case that runs alone goes on at once.
    pub(super) fn handle_turn_ended(&mut self, worker: &mut Worker) {
        if let (Some(turns), Some(begun)) = (&self.turns, &mut self.current) {
            let first = || TurnsRecord { number: 1, stopped_ns: 0, with: turns.with.clone() };
            begun.turns.get_or_insert_with(first).number += 1;
        }
        self.go_or_hold(worker);
    }

    /// Lets the worker go on, or holds it.
    pub(super) fn go_or_hold(&mut self, worker: &mut Worker) {
        match &mut self.turns {
            Some(turns) => turns.state = State::Held,
            None => worker.control(Control::Go),
        }
    }

    /// The machine's counters, without what was counted between the turns of the current phase.
    pub(super) fn read_meter(&self) -> Snapshot {
        let snapshot = self.meter.snapshot();
        match &self.current {
            Some(begun) => begun.left_out.subtract_from(snapshot),
            None => snapshot,
        }
    }
}

impl Meanwhile {
    fn add(&mut self, stopped_ns: u64, before: &Snapshot, after: &Snapshot) {
        self.stopped_ns += stopped_ns;
        let steal_ns = after.steal_ns.zip(before.steal_ns);
        // After a migration it may be less than before.
        self.steal_ns += steal_ns.map_or(0, |(after, before)| after.saturating_sub(before));
        if let (Some(after), Some(before)) = (&after.device, &before.device) {
            let moved = after.since(before);
            self.device = Some(self.device.as_ref().map_or(moved.clone(), |sum| sum.and(&moved)));
        }
    }

    fn subtract_from(&self, snapshot: Snapshot) -> Snapshot {
        let without = |usage: DeviceUsage| match &self.device {
            Some(meanwhile) => usage.since(meanwhile),
            None => usage,
        };
        Snapshot {
            at_unix_ns: snapshot.at_unix_ns.saturating_sub(self.stopped_ns),
            steal_ns: snapshot.steal_ns.map(|ns| ns.saturating_sub(self.steal_ns)),
            device: snapshot.device.map(without),
            ..snapshot
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_between_turns_is_taken_off() {
        let device = |reads| Some(DeviceUsage { reads, ..DeviceUsage::default() });
        let at = |at_unix_ns, steal_ns, reads| Snapshot {
            at_unix_ns,
            steal_ns: Some(steal_ns),
            device: device(reads),
            ..Snapshot::default()
        };
        let mut left_out = Meanwhile::default();
        left_out.add(100, &at(1_000, 5, 10), &at(1_100, 7, 14));
        left_out.add(50, &at(1_200, 8, 20), &at(1_250, 8, 21));
        assert_eq!(left_out.subtract_from(at(2_000, 20, 40)), at(1_850, 18, 35));
    }
}
