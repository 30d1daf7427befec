//! Puts the threads' slices together, writes each as soon as every thread has left it, and tells
//! the program how far the phase is.

use crate::clock::Clock;
use crate::control::Stop;
use crate::output::{Files, send};
use crate::tally::{Packet, SliceTimes};
use crate::team::{COLLECT_EVERY, Shared, Task};
use kvdyno_engine::{Engine, Result};
use kvdyno_record::hlog;
use kvdyno_record::protocol::Event;
use kvdyno_record::series::{Slice, SliceCounts};
use kvdyno_record::workload::OP_NAMES;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError};

/// A few times a second: often enough for an eye, seldom enough to cost nothing.
const PROGRESS_NS: u64 = 250_000_000;

/// The collecting thread of one phase.
pub(crate) struct Collector<'t> {
    pub(crate) task: &'t Task<'t>,
    pub(crate) roles: &'t [String],
    pub(crate) started_unix_ns: u64,
    pub(crate) start: u64,
}

/// Slices that some thread may still be in.
#[derive(Default)]
struct Pending {
    slices: BTreeMap<u64, BTreeMap<(usize, usize), SliceTimes>>,
    /// The slice each thread is in.
    now_in: Vec<u64>,
    written: u64,
}

impl Collector<'_> {
    /// Collects until every thread has ended.
    pub(crate) fn run<E: Engine, C: Clock>(
        &self,
        engine: &E,
        clock: C,
        packets: &Receiver<Packet>,
        shared: &Shared,
        files: &mut Files,
        stop: &Stop,
    ) -> Result<()> {
        let mut pending = Pending { now_in: vec![0; shared.progress.len()], ..Pending::default() };
        let (mut next_progress, mut next_events) = (self.start, self.start);
        loop {
            let disconnected = match packets.recv_timeout(COLLECT_EVERY) {
                Ok(packet) => {
                    pending.add(packet);
                    false
                }
                Err(RecvTimeoutError::Timeout) => false,
                Err(RecvTimeoutError::Disconnected) => true,
            };
            let now = clock.now();
            self.write_finished(&mut pending, files, now)?;
            if stop.is_set() {
                shared.end();
            }
            if now >= next_events || disconnected {
                next_events = now + self.task.slice_ns;
                files.events(&engine.events())?;
            }
            if now >= next_progress {
                next_progress = now + PROGRESS_NS;
                self.tell_progress(shared, now)?;
            }
            if disconnected {
                return Ok(());
            }
        }
    }

    fn tell_progress(&self, shared: &Shared, now: u64) -> Result<()> {
        send(&Event::Progress {
            phase: self.task.phase,
            done: shared.progress.iter().map(|items| items.0.load(Relaxed)).sum(),
            total: self.task.total,
            elapsed_ns: now.saturating_sub(self.start),
        })
    }

    /// Writes the slices that every thread has left, in order, empty ones too.
    fn write_finished(&self, pending: &mut Pending, files: &mut Files, now: u64) -> Result<()> {
        let mut reached = pending.now_in.iter().copied().min().unwrap_or(u64::MAX);
        if reached == u64::MAX {
            // All have ended: the last slice is the last that anything happened in.
            reached = pending.slices.keys().last().map_or(pending.written, |last| last + 1);
        }
        while pending.written < reached {
            let number = pending.written;
            let last = number + 1 == reached && pending.now_in.iter().all(|at| *at == u64::MAX);
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
        times: &BTreeMap<(usize, usize), SliceTimes>,
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
        for ((role, op), times) in times {
            let (role, op) = (&self.roles[*role], OP_NAMES[*op]);
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
