//! Merges the threads' slices, writes each once every thread has left it, reports progress to the
//! program, and ends a phase once its rates are steady.

use crate::clock::{Best, Clock as _};
use crate::control::Gate;
use crate::output::{Files, send};
use crate::shared::{Shared, Task};
use crate::tally::{Packet, SliceTimes};
use crate::watch::Watch;
use kvdyno_engine::{EngineEvent, Result};
use kvdyno_record::hlog;
use kvdyno_record::protocol::Event;
use kvdyno_record::series::{Slice, SliceCounts};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// The interval of progress reports: often enough for an eye, seldom enough to cost nothing.
const PROGRESS_NS: u64 = 250_000_000;

/// How long the collector waits for a packet before it looks at the clock again.
const COLLECT_EVERY: Duration = Duration::from_millis(50);

/// The collecting thread of one phase.
pub(crate) struct Collector<'t> {
    pub(crate) task: &'t Task,
    pub(crate) roles: &'t [String],
    pub(crate) started_unix_ns: u64,
    pub(crate) start: u64,
    pub(crate) watch: Watch,
}

/// Slices that some thread may still be in.
#[derive(Default)]
struct Pending {
    slices: BTreeMap<u64, BTreeMap<(usize, &'static str), SliceTimes>>,
    /// The slice each thread is in.
    now_in: Vec<u64>,
    written: u64,
}

impl Collector<'_> {
    /// Collects until every thread has ended. Returns the clock, which leaves out the time between
    /// turns.
    pub(crate) fn run(
        mut self,
        events: &dyn Fn() -> Vec<EngineEvent>,
        mut clock: Best,
        packets: &Receiver<Packet>,
        shared: &Shared,
        files: &mut Files,
        gate: &Gate<'_>,
    ) -> Result<Best> {
        let mut pending = Pending { now_in: vec![0; shared.progress.len()], ..Pending::default() };
        let (mut next_progress, mut next_events) = (self.start, self.start);
        loop {
            let disconnected = match packets.recv_timeout(COLLECT_EVERY) {
                Ok(packet) => {
                    self.watch.add(&packet);
                    pending.add(packet);
                    false
                }
                Err(RecvTimeoutError::Timeout) => false,
                Err(RecvTimeoutError::Disconnected) => true,
            };
            let now = clock.now();
            self.write_finished(&mut pending, files, now)?;
            if shared.pause.has_all(pending.threads()) {
                gate.end_turn()?;
                clock.skip(clock.now() - now);
                shared.pause.end();
            }
            if gate.stop().is_set() || self.watch.is_steady() {
                shared.end();
            }
            if now >= next_events || disconnected {
                next_events = now + self.task.slice_ns;
                files.events(&events())?;
            }
            if now >= next_progress || disconnected {
                next_progress = now + PROGRESS_NS;
                let threads = if disconnected { 0 } else { pending.threads() };
                self.report_progress(shared, threads, now)?;
            }
            if disconnected {
                return Ok(clock);
            }
        }
    }

    /// Writes the slices of the only thread, which has ended at `ended`.
    pub(crate) fn write_all(
        &self,
        packets: &Receiver<Packet>,
        files: &mut Files,
        ended: u64,
    ) -> Result<()> {
        let mut pending = Pending { now_in: vec![0], ..Pending::default() };
        for packet in packets.try_iter() {
            pending.add(packet);
        }
        self.write_finished(&mut pending, files, ended)
    }

    fn report_progress(&self, shared: &Shared, threads: usize, now: u64) -> Result<()> {
        send(&Event::Progress {
            phase: self.task.phase,
            started_unix_ns: self.started_unix_ns,
            done: shared.progress.iter().map(|items| items.0.load(Relaxed)).sum(),
            total: self.task.total,
            elapsed_ns: now.saturating_sub(self.start),
            threads: Some(threads as u32),
        })
    }

    /// Writes the slices that every thread has left, in order, empty ones too.
    fn write_finished(&self, pending: &mut Pending, files: &mut Files, now: u64) -> Result<()> {
        let mut reached = pending.now_in.iter().copied().min().unwrap_or(u64::MAX);
        if reached == u64::MAX {
            // All threads have ended: the last slice is the last in which anything happened.
            reached = pending.slices.keys().last().map_or(pending.written, |last| last + 1);
        }
        while pending.written < reached {
            let number = pending.written;
            let last = number + 1 == reached
                && pending.now_in.iter().all(|slice_of_thread| *slice_of_thread == u64::MAX);
            let times = pending.slices.remove(&number).unwrap_or_default();
            self.write_slice(number, last.then_some(now), &times, files)?;
            pending.written += 1;
        }
        Ok(())
    }

    fn write_slice(
        &self,
        number: u64,
        ended: Option<u64>,
        times: &BTreeMap<(usize, &'static str), SliceTimes>,
        files: &mut Files,
    ) -> Result<()> {
        let start_ns = number * self.task.slice_ns;
        let length_ns = ended.map_or(self.task.slice_ns, |now| {
            let elapsed = now.saturating_sub(self.start + start_ns);
            self.task
                .duration_ns
                .map_or(elapsed, |duration| elapsed.min(duration.saturating_sub(start_ns)))
        });
        let mut roles: BTreeMap<String, BTreeMap<String, SliceCounts>> = BTreeMap::new();
        let mut histograms = Vec::new();
        for (&(role, op), times) in times {
            let role = &self.roles[role];
            let counts = SliceCounts {
                count: times.service.count(),
                service_ns: times.service.sum,
                service_ns_max: times.service.max,
                errors: times.errors,
            };
            roles.entry(role.clone()).or_default().insert(op.to_owned(), counts);
            histograms.extend(times.histograms().map(|(kind, histogram)| {
                (hlog::tag(&self.task.name, role, op, kind), histogram.to_hdr())
            }));
        }
        let slice =
            Slice { phase: self.task.name.clone(), slice: number, start_ns, length_ns, roles };
        let histograms = histograms.iter().map(|(tag, histogram)| (tag.clone(), histogram));
        files.slice(self.started_unix_ns, &slice, histograms)
    }
}

impl Pending {
    /// The number of threads that have not ended.
    fn threads(&self) -> usize {
        self.now_in.iter().filter(|slice| **slice != u64::MAX).count()
    }

    fn add(&mut self, packet: Packet) {
        let slice = self.slices.entry(packet.slice).or_default();
        for times in packet.times {
            let key = (packet.role, times.op);
            match slice.get_mut(&key) {
                Some(sum) => sum.add(&times),
                None => {
                    slice.insert(key, times);
                }
            }
        }
        self.now_in[packet.thread] = packet.now_in;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::{Tally, TimeLine, Timing};
    use std::sync::mpsc::channel;

    /// A slice is whole when the last thread has left it, not before, and none is left out.
    #[test]
    fn slices_are_written_once_every_thread_has_left_them() {
        let dir = tempfile::tempdir().unwrap();
        let mut files = Files::create(dir.path()).unwrap();
        let written = || {
            let text = std::fs::read_to_string(dir.path().join("series.ndjson")).unwrap();
            let slices = text.lines().map(|line| serde_json::from_str::<Slice>(line).unwrap());
            let row = |slice: Slice| {
                let counts = slice.roles.get("readers").map_or(0, |ops| ops["get"].count);
                (slice.slice, slice.length_ns, counts)
            };
            slices.map(row).collect::<Vec<_>>()
        };
        let task = Task {
            phase: 0,
            name: "measure".to_owned(),
            duration_ns: Some(3_500),
            steady: None,
            operations: None,
            total: None,
            slice_ns: 1_000,
            turn_ns: None,
            errors_max: 0,
            verify: false,
            gaps: false,
            spools: None,
        };
        let roles = ["readers".to_owned()];
        let watch = Watch::new::<()>(None, &[]);
        let collector =
            Collector { task: &task, roles: &roles, started_unix_ns: 0, start: 100, watch };
        let mut pending = Pending { now_in: vec![0; 2], ..Pending::default() };
        let (sender, packets) = channel();
        let mut tallies = [Tally::new(kvdyno_record::workload::Op::Get.info(), Timing::Closed)];
        let mut threads =
            [0, 1].map(|thread| TimeLine::new((0, thread), 100, 1_000, 3_600, sender.clone()));
        let mut cross = |thread: usize, now| {
            tallies[0].service.record(5);
            threads[thread].cross(now, &mut tallies);
            pending.add(packets.recv().unwrap());
            collector.write_finished(&mut pending, &mut files, now).unwrap();
            written()
        };
        assert_eq!(cross(0, 1_100), []);
        assert_eq!(cross(0, 3_200), [], "the other one is still in the first");
        assert_eq!(cross(1, 2_200), [(0, 1_000, 2), (1, 1_000, 1)]);
        let [first, second] = threads;
        let mut end = |thread: TimeLine| {
            thread.end(&mut []);
            for packet in packets.try_iter() {
                pending.add(packet);
            }
            pending.threads()
        };
        assert_eq!([end(first), end(second)], [1, 0]);
        collector.write_finished(&mut pending, &mut files, 3_650).unwrap();
        // The last slice begins at 3000 and is over at 3500, however late it is looked at.
        let whole = [(0, 1_000, 2), (1, 1_000, 1), (2, 1_000, 0), (3, 500, 0)];
        assert_eq!(written(), whole);
    }
}
