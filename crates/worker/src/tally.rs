//! The counts of one thread, and the messages with its slices.

use crate::histogram::Histogram;
use kvdyno_engine::ErrorClass;
use kvdyno_record::case::OpResult;
use kvdyno_record::hlog::Kind;
use kvdyno_record::operations::OpInfo;
use std::collections::BTreeMap;
use std::sync::mpsc::Sender;

/// One operation's counts over the whole phase, and its times in the current slice.
#[derive(Debug)]
pub(crate) struct Tally {
    /// The operation.
    pub(crate) op: &'static OpInfo,
    /// The number of operations, added up block by block, apart from the histogram's own count.
    pub(crate) count: u64,
    pub(crate) missing: u64,
    pub(crate) wrong: u64,
    /// The number of repetitions after a conflict.
    pub(crate) retries: u64,
    /// The keys or records of operations of several.
    pub(crate) many_items: u64,
    pub(crate) read_bytes: u64,
    pub(crate) write_bytes: u64,
    service_ns: u64,
    service_ns_max: u64,
    errors: BTreeMap<ErrorClass, u64>,
    /// The service times of the slice.
    pub(crate) service: Histogram,
    /// The response times of the slice; none: the loop is not open.
    pub(crate) response: Option<Histogram>,
    /// The parts of the service times of the slice; none: operations are not in flight.
    parts: Option<Parts>,
    slice_errors: u64,
}

/// The two parts of the service time of an operation in flight.
#[derive(Debug)]
struct Parts {
    submit: Histogram,
    completion: Histogram,
}

impl Parts {
    fn new() -> Self {
        Self { submit: Histogram::new(), completion: Histogram::new() }
    }
}

/// How the operations of a role are timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timing {
    /// From the start of the call.
    Closed,
    /// From the start of the call, and from the scheduled start.
    Open,
    /// In two parts: submitting, and waiting for the answer.
    InFlight,
}

/// A thread's times and errors of one operation in one slice.
#[derive(Debug)]
pub(crate) struct SliceTimes {
    pub(crate) op: &'static str,
    pub(crate) service: Histogram,
    pub(crate) errors: u64,
    response: Option<Histogram>,
    parts: Option<Parts>,
}

impl SliceTimes {
    /// Returns the histograms, each with the kind of times it counts.
    pub(crate) fn histograms(&self) -> impl Iterator<Item = (Kind, &Histogram)> {
        let response = self.response.iter().map(|response| (Kind::Response, response));
        let parts = self.parts.iter().flat_map(|parts| {
            [(Kind::Submit, &parts.submit), (Kind::Completion, &parts.completion)]
        });
        std::iter::once((Kind::Service, &self.service)).chain(response).chain(parts)
    }

    /// Adds another thread's times of the same operation and slice.
    pub(crate) fn add(&mut self, other: &Self) {
        self.service.add(&other.service);
        if let (Some(sum), Some(added)) = (&mut self.response, &other.response) {
            sum.add(added);
        }
        if let (Some(sum), Some(added)) = (&mut self.parts, &other.parts) {
            sum.submit.add(&added.submit);
            sum.completion.add(&added.completion);
        }
        self.errors += other.errors;
    }
}

/// A thread's message to the collector at the edge of a slice.
#[derive(Debug)]
pub(crate) struct Packet {
    /// The index of the role.
    pub(crate) role: usize,
    /// The index of the thread among those of all roles.
    pub(crate) thread: usize,
    /// The slice these times belong to.
    pub(crate) slice: u64,
    /// The slice the thread is in now; `u64::MAX`: it has ended.
    pub(crate) now_in: u64,
    pub(crate) times: Vec<SliceTimes>,
}

impl Tally {
    pub(crate) fn new(op: &'static OpInfo, timing: Timing) -> Self {
        Self {
            op,
            count: 0,
            missing: 0,
            wrong: 0,
            retries: 0,
            many_items: 0,
            read_bytes: 0,
            write_bytes: 0,
            service_ns: 0,
            service_ns_max: 0,
            errors: BTreeMap::new(),
            service: Histogram::new(),
            response: (timing == Timing::Open).then(Histogram::new),
            parts: (timing == Timing::InFlight).then(Parts::new),
            slice_errors: 0,
        }
    }

    /// The number of keys or records that the operations were for.
    pub(crate) fn items(&self) -> u64 {
        if self.op.many { self.many_items } else { self.count }
    }

    /// Counts the times of `count` operations that were in flight together.
    #[inline]
    pub(crate) fn record_in_flight(&mut self, submit_ns: u64, completion_ns: u64, count: u64) {
        self.service.record_many(submit_ns + completion_ns, count);
        if let Some(parts) = &mut self.parts {
            parts.submit.record_many(submit_ns, count);
            parts.completion.record_many(completion_ns, count);
        }
    }

    #[cold]
    pub(crate) fn error(&mut self, class: ErrorClass) {
        *self.errors.entry(class).or_default() += 1;
        self.slice_errors += 1;
    }

    fn end_slice(&mut self) -> Option<SliceTimes> {
        if self.service.sum == 0 && self.service.count() == 0 && self.slice_errors == 0 {
            return None;
        }
        self.service_ns += self.service.sum;
        self.service_ns_max = self.service_ns_max.max(self.service.max);
        Some(SliceTimes {
            op: self.op.name,
            service: std::mem::replace(&mut self.service, Histogram::new()),
            response: self.response.as_mut().map(|full| std::mem::replace(full, Histogram::new())),
            parts: self.parts.as_mut().map(|full| std::mem::replace(full, Parts::new())),
            errors: std::mem::take(&mut self.slice_errors),
        })
    }

    pub(crate) fn add_to(self, sum: &mut OpResult) {
        sum.count += self.count;
        sum.hits += if self.op.reads { self.items().saturating_sub(self.missing) } else { 0 };
        sum.misses += self.missing;
        sum.wrong += self.wrong;
        sum.retries += self.retries;
        sum.items += self.items();
        sum.read_bytes += self.read_bytes;
        sum.write_bytes += self.write_bytes;
        sum.service_ns += self.service_ns;
        sum.service_ns_max = sum.service_ns_max.max(self.service_ns_max);
        for (class, count) in self.errors {
            *sum.errors.entry(class).or_default() += count;
        }
    }
}

/// The position of a thread on the time line.
#[derive(Debug)]
pub(crate) struct TimeLine {
    role: usize,
    thread: usize,
    start: u64,
    slice_ns: u64,
    slice: u64,
    /// The time when the phase is over; `u64::MAX`: its operations decide.
    pub(crate) deadline: u64,
    packets: Sender<Packet>,
}

/// The value of an edge that means that the phase is over.
pub(crate) const OVER: u64 = u64::MAX;

impl TimeLine {
    pub(crate) fn new(
        (role, thread): (usize, usize),
        start: u64,
        slice_ns: u64,
        deadline: u64,
        packets: Sender<Packet>,
    ) -> Self {
        Self { role, thread, start, slice_ns, slice: 0, deadline, packets }
    }

    /// The next moment at which something besides the next operation has to happen.
    pub(crate) fn edge(&self) -> u64 {
        let end = self.start.saturating_add((self.slice + 1).saturating_mul(self.slice_ns));
        end.min(self.deadline)
    }

    /// The time when the phase began.
    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    /// Whether a turn of `turn_ns` is over at `now`.
    pub(crate) fn is_turn_over(&self, now: u64, turn_ns: u64) -> bool {
        (now - self.start) / turn_ns > self.slice * self.slice_ns / turn_ns
    }

    /// Sends the slices that are over when an operation ended at `now`, past the edge. Returns the
    /// next edge, or [`OVER`]. An operation that ends past the deadline belongs to the last slice.
    #[cold]
    pub(crate) fn cross(&mut self, now: u64, tallies: &mut [Tally]) -> u64 {
        let last = (self.deadline - self.start - 1) / self.slice_ns;
        let slice = ((now - self.start) / self.slice_ns).min(last);
        if slice > self.slice {
            self.send(tallies, slice);
            self.slice = slice;
        }
        if now >= self.deadline { OVER } else { self.edge() }
    }

    /// Wakes the collector with an empty message.
    pub(crate) fn wake_collector(&self) {
        self.send(&mut [], self.slice);
    }

    /// Sends the last slice: the thread has ended.
    pub(crate) fn end(self, tallies: &mut [Tally]) {
        self.send(tallies, u64::MAX);
    }

    fn send(&self, tallies: &mut [Tally], now_in: u64) {
        let times = tallies.iter_mut().filter_map(Tally::end_slice).collect();
        let packet =
            Packet { role: self.role, thread: self.thread, slice: self.slice, now_in, times };
        // The collector outlives the threads; if it is gone the phase has failed already.
        let _ = self.packets.send(packet);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_record::workload::Op;
    use std::sync::mpsc::channel;

    #[test]
    fn edges_lie_on_the_slices_and_at_the_end() {
        let (sender, packets) = channel();
        let mut time = TimeLine::new((0, 0), 100, 1_000, 100 + 2_500, sender);
        let mut tallies = [Tally::new(Op::Get.info(), Timing::Closed)];
        assert_eq!(time.edge(), 1_100);
        tallies[0].service.record(7);
        // The thread slept through a slice: the collector writes the empty slice.
        assert_eq!(time.cross(2_300, &mut tallies), 2_600, "the last slice is a short one");
        tallies[0].service.record(8);
        assert_eq!(time.cross(9_000, &mut tallies), OVER);
        tallies[0].service.record(9);
        time.end(&mut tallies);
        let sent: Vec<(u64, u64, u64)> = packets
            .iter()
            .map(|packet| (packet.slice, packet.now_in, packet.times[0].service.sum))
            .collect();
        assert_eq!(sent, [(0, 2, 7), (2, u64::MAX, 8 + 9)], "what ends late is the last slice's");
    }

    #[test]
    fn what_is_found_is_what_was_asked_for_less_what_is_missing() {
        let op = |name| OpInfo::find_by_name(name).unwrap();
        let result = |name| {
            let mut tally = Tally::new(op(name), Timing::Closed);
            (tally.count, tally.many_items, tally.missing) = (10, 70, 3);
            let mut result = OpResult::default();
            tally.add_to(&mut result);
            (result.items, result.hits, result.misses)
        };
        assert_eq!(result("get"), (10, 7, 3));
        assert_eq!(result("multiget"), (70, 67, 3));
        assert_eq!(result("batch"), (70, 0, 3), "a write finds nothing");
    }
}
