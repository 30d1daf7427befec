//! Watches the rates of a phase that ends when they are steady. The collector checks them once per
//! slice; the working threads do nothing for it.

use crate::tally::Packet;
use crate::team::RoleSpec;
use kvdyno_record::steady::EndRule;
use std::collections::BTreeMap;

/// The operations of a phase by role and slice.
pub(crate) struct Watch {
    /// The rule that ends the phase; none: the phase ends by other means.
    rule: Option<EndRule>,
    /// The index in `counts` of each role; none: the role works on a schedule, which sets its rate.
    places: Vec<Option<usize>>,
    counts: Vec<Vec<u64>>,
    /// The slice that each thread is in.
    now_in: BTreeMap<usize, u64>,
    judged: usize,
}

impl Watch {
    /// Watches the roles without a schedule.
    pub(crate) fn new<S>(rule: Option<EndRule>, specs: &[RoleSpec<S>]) -> Self {
        let (mut places, mut counts, mut now_in) = (Vec::new(), Vec::new(), BTreeMap::new());
        let mut begun = 0;
        for spec in specs {
            let threads = begun..begun + spec.sources.len();
            begun = threads.end;
            let is_watched = spec.rate.is_none();
            places.push(is_watched.then_some(counts.len()));
            if is_watched {
                counts.push(Vec::new());
                now_in.extend(threads.map(|thread| (thread, 0)));
            }
        }
        Self { rule, places, counts, now_in, judged: 0 }
    }

    /// Counts the operations of a slice that a thread has left.
    pub(crate) fn add(&mut self, packet: &Packet) {
        let Some(place) = self.places[packet.role].filter(|_| self.rule.is_some()) else { return };
        let (counts, slice) = (&mut self.counts[place], packet.slice as usize);
        counts.resize(counts.len().max(slice + 1), 0);
        counts[slice] += packet.times.iter().map(|times| times.service.count()).sum::<u64>();
        self.now_in.insert(packet.thread, packet.now_in);
    }

    /// Whether the phase ends with the last slice that all watched threads have left.
    pub(crate) fn is_steady(&mut self) -> bool {
        let (Some(rule), Some(reached)) = (self.rule, self.now_in.values().min()) else {
            return false;
        };
        // A thread that ends leaves a slice that is not whole.
        let is_over = self.now_in.values().any(|slice| *slice == u64::MAX);
        while !is_over && self.judged < *reached as usize {
            self.judged += 1;
            for counts in &mut self.counts {
                counts.resize(counts.len().max(self.judged), 0);
            }
            if rule.ends_after(self.judged, &self.counts) {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::{Tally, TimeLine, Timing};
    use kvdyno_record::workload::{Op, Rate, Schedule};
    use std::sync::mpsc::{Receiver, Sender, channel};

    fn spec(threads: usize, rate: Option<Rate>) -> RoleSpec<()> {
        RoleSpec {
            name: "clients".to_owned(),
            ops: Vec::new(),
            rate,
            depth: None,
            think_ns: None,
            on: threads,
            sources: vec![(); threads],
            seeds: Vec::new(),
            first: 0,
            threads_total: threads as u32,
        }
    }

    /// Returns a thread's packet after a slice of `count` operations.
    fn leave(thread: &mut TimeLine, packets: &Receiver<Packet>, now: u64, count: u64) -> Packet {
        let mut tallies = [Tally::new(Op::Get.info(), Timing::Closed)];
        tallies[0].service.record_many(5, count);
        thread.cross(now, &mut tallies);
        packets.recv().unwrap()
    }

    fn thread((role, thread): (usize, usize), sender: &Sender<Packet>) -> TimeLine {
        TimeLine::new((role, thread), 0, 1_000, 100_000, sender.clone())
    }

    /// The second of two readers is late: the phase ends once it has left the fifth slice too. The
    /// writer works on a schedule, and is not waited for.
    #[test]
    fn a_phase_ends_once_every_watched_thread_has_left_five_steady_slices() {
        let specs = [spec(1, Some(Rate::new(1.0, Schedule::Fixed))), spec(2, None)];
        let mut watch = Watch::new(Some(EndRule::new(5_000, 1_000)), &specs);
        let (sender, packets) = channel();
        let [mut first, mut second] = [1, 2].map(|number| thread((1, number), &sender));
        for slice in 1..=7 {
            watch.add(&leave(&mut first, &packets, slice * 1_000, 100));
            assert!(!watch.is_steady());
        }
        for slice in 1..=5 {
            // Its first slice is slow, and within the bounds.
            let count = if slice == 1 { 80 } else { 100 };
            watch.add(&leave(&mut second, &packets, slice * 1_000, count));
            assert_eq!(watch.is_steady(), slice == 5, "{slice}");
        }
    }

    #[test]
    fn a_fixed_phase_and_one_on_schedules_are_not_watched() {
        let rule = Some(EndRule::new(5_000, 1_000));
        let scheduled = spec(1, Some(Rate::new(1.0, Schedule::Fixed)));
        for (rule, spec) in [(None, spec(1, None)), (rule, scheduled)] {
            let mut watch = Watch::new(rule, &[spec]);
            let (sender, packets) = channel();
            let mut alone = thread((0, 0), &sender);
            for slice in 1..=20 {
                watch.add(&leave(&mut alone, &packets, slice * 1_000, 100));
                assert!(!watch.is_steady());
            }
        }
    }
}
