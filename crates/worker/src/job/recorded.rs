//! Phases whose operations are read from a trace, and loads, which may be as well.

use super::{Case, PhaseResult, add_usage};
use crate::clock::Clock;
use crate::keyvalue::KeyValue;
use crate::replay::{self, Deal, Dealer, Work};
use crate::shared::Task;
use crate::source::{LoadRange, Source};
use crate::team::RoleSpec;
use kvdyno_engine::Result;
use kvdyno_engine::graph::GraphEngine;
use kvdyno_record::replay::Replay;
use kvdyno_record::workload::{Load, Mix, Role};

impl<'j, G: GraphEngine, C: Clock> Case<'j, G, C> {
    pub(super) fn load_records(&mut self, load: &Load, task: &Task) -> Result<Option<PhaseResult>> {
        let records = self.job.data.records;
        let ours = self.seat.threads(load.threads);
        let rng = |thread| self.rng(task.phase, 0, (thread, load.threads));
        let Some(replay) = &load.replay else {
            let range = |thread| {
                let (share, rng) = ((thread, load.threads), rng(thread));
                LoadRange::new(load.order, load.batch, records, share, &self.supply, rng)
            };
            let sources = ours.map(range).map(Source::Load).collect();
            let specs = vec![self.loaders(task.phase, load, sources)];
            return self.team::<KeyValue<G::Engine>>(specs, task);
        };
        let work = Work::Load { batch: load.batch };
        let deal = self.deal(replay, work, u64::MAX, load.threads);
        let (dealer, dealt) = replay::open(&deal, &self.supply, ours.map(rng))?;
        let sources = dealt.into_iter().map(Source::Trace).collect();
        let specs = vec![self.loaders(task.phase, load, sources)];
        self.dealt(dealer, specs, task)
    }

    /// The first role replays a trace, the others draw.
    pub(super) fn replay(
        &mut self,
        mix: &Mix,
        (role, replay): (&Role, &Replay),
        requests: u64,
        task: &Task,
    ) -> Result<Option<PhaseResult>> {
        let rng = |thread| self.rng(task.phase, 0, (thread, role.threads));
        let deal = self.deal(replay, Work::Mix(&role.mix), requests, role.threads);
        let rngs = deal.threads.clone().map(rng);
        let (dealer, dealt) = replay::open(&deal, &self.supply, rngs)?;
        let (mut dealt, drawn) = (dealt.into_iter(), self.mix_source(mix));
        let specs = self.roles(task.phase, mix, |role, thread, rng| {
            let recorded = role.replay.as_ref().and_then(|_| dealt.next());
            recorded.map_or_else(|| drawn(role, thread, rng), Source::Trace)
        });
        self.dealt(dealer, specs, task)
    }

    fn deal<'d>(
        &self,
        replay: &'d Replay,
        work: Work<'d>,
        requests: u64,
        threads: u32,
    ) -> Deal<'d> {
        let shape = &self.job.shape;
        let data_bytes = shape.records.saturating_mul(shape.value_bytes_max);
        Deal {
            replay,
            work,
            requests,
            threads: self.seat.threads(threads),
            threads_total: threads,
            data_bytes,
        }
    }

    /// Has a team's threads do `specs`, of which the first are dealt to.
    fn dealt(
        &mut self,
        dealer: Dealer,
        specs: Vec<RoleSpec<Source<'j>>>,
        task: &Task,
    ) -> Result<Option<PhaseResult>> {
        let clock = self.clock;
        let work = || self.team::<KeyValue<G::Engine>>(specs, task);
        let (result, used) = replay::beside(dealer, clock, work)?;
        let Some(mut result) = result else { return Ok(None) };
        match used {
            Ok(used) => add_usage(&mut result.roles, &used),
            Err(error) => result.failure = result.failure.or(Some(error)),
        }
        Ok(Some(result))
    }
}
