//! Two cases side by side: while one works, all processes of the other are stopped.

use super::talk::Talk;
use super::worker::Worker;
use super::{Pass, case, environment};
use kvdyno_record::blockio::Watch;
use kvdyno_record::plan::{Case, Plan};
use kvdyno_record::protocol::Job;

impl Pass<'_> {
    /// Returns the case with which `case` takes turns; `None`: no such case is pending and can run.
    /// No case takes turns if block I/O or requests are recorded: the kernel reports block I/O to
    /// one watcher at a time, and recorded phases run at a stretch.
    pub(super) fn paired_case<'p>(&self, case: &Case, plan: &'p Plan) -> Option<&'p Case> {
        let watched = self.env.block_io != Watch::Off || case.io_latency;
        let with = case.turns_with.as_ref().filter(|_| !watched && self.env.trace.is_none())?;
        let other = plan.cases.iter().find(|other| other.id == *with)?;
        let can_run = |case: &Case| !case.lacks_rate() && self.env.workers.identity(case).is_some();
        (self.is_pending(other) && can_run(case) && can_run(other)).then_some(other)
    }

    /// Runs two cases side by side, each on a database of its own.
    pub(super) fn execute_pair(&mut self, first: &Case, second: &Case) -> anyhow::Result<()> {
        let (Ok(site), Ok(second_site)) = (self.site(first), self.site(second)) else {
            // A case without a location is recorded as such, and the other one runs alone.
            return [first, second].into_iter().try_for_each(|case| self.step(case));
        };
        let ((dir, blank), (second_dir, second_blank)) = (self.begin(first)?, self.begin(second)?);
        let Self { env, plan, progress, concurrent, .. } = self;
        let first = environment(env, plan, progress, first, &dir, site);
        let second = environment(env, plan, progress, second, &second_dir, second_site);
        let blanks = [blank, second_blank];
        for record in case::run_pair([&first, &second], blanks, concurrent)? {
            self.note_database(&record);
            self.record_case(&record);
        }
        Ok(())
    }
}

/// A case of a pair.
pub(super) struct OneOfPair<'s, 'r> {
    pub(super) case: &'s Case,
    pub(super) talk: &'s mut Talk<'r>,
    pub(super) worker: &'s mut Worker,
    /// The job; `None` after it was sent to the worker.
    pub(super) job: Option<&'s Job>,
    /// Whether its worker has ended.
    pub(super) ended: bool,
}

/// Runs both cases to their ends, phase by phase.
pub(super) fn run(mut pair: [OneOfPair<'_, '_>; 2]) {
    let phases = pair.iter().map(|one| one.case.phases.len()).max().unwrap_or(0);
    let seed = pair.iter().map(|one| u64::from(one.case.listed)).sum::<u64>();
    let trial = u64::from(pair[0].case.trial);
    for phase in 0..phases {
        let mut turn = 0;
        while pair.iter().any(|one| one.has_more(phase)) {
            let seed = seed << 48 ^ trial << 32 ^ (phase as u64) << 24;
            let first = usize::from(goes_second(seed, turn));
            pair[first].work(phase);
            pair[1 - first].work(phase);
            turn += 1;
        }
    }
    for case in &mut pair {
        case.end();
    }
}

/// Whether the second case begins a pair of turns. Of every two pairs, each case begins one; the
/// seed decides which comes first.
fn goes_second(seed: u64, turn: u64) -> bool {
    let bit = (seed ^ (turn / 2)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 63;
    (bit ^ turn) & 1 == 1
}

impl OneOfPair<'_, '_> {
    fn has_more(&self, phase: usize) -> bool {
        !self.ended && self.talk.phases_done() <= phase
    }

    /// Works until its next turn, or its phase, is over.
    fn work(&mut self, phase: usize) {
        if self.has_more(phase) {
            if let Some(job) = self.job.take() {
                self.talk.begin_now();
                // A worker that dies before it reads its job is handled at its end.
                let _ = self.worker.send(job);
            }
            self.run_turn();
            if !self.ended {
                self.talk.stop_processes(self.worker);
            }
        }
    }

    /// Closes the engine.
    fn end(&mut self) {
        while !self.ended {
            self.run_turn();
        }
    }

    /// Works for one turn or phase. A server ends with its client, otherwise it would work on
    /// beside the other case.
    fn run_turn(&mut self) {
        self.ended = !self.talk.work(self.worker);
        if self.ended {
            self.talk.end_server();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_begins_as_often_as_the_other() {
        for seed in 0..100 {
            let order: Vec<bool> = (0..40).map(|turn| goes_second(seed, turn)).collect();
            assert!(order.chunks(2).all(|two| two[0] != two[1]), "{order:?}");
        }
        let firsts = (0..1_000).filter(|turn| goes_second(7, turn * 2)).count();
        assert!((400..600).contains(&firsts), "{firsts}");
    }
}
