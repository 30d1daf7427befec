//! Phases whose operations are read from a trace, and loads, which may be read from one as well.

use super::plan::Plan;
use super::{Case, PhaseResult, add_usage};
use crate::keyvalue::KeyValue;
use crate::replay::{self, Deal, Dealer, Work};
use crate::shared::Task;
use crate::source::{LoadRange, Source};
use crate::team::TeamSpec;
use kvdyno_engine::Result;
use kvdyno_engine::graph::GraphEngine;
use kvdyno_record::replay::Replay;
use kvdyno_record::workload::{Load, Mix};

/// A team, and the dealer of the trace that it replays.
pub(super) struct Specs<'j> {
    team: TeamSpec<Source<'j>>,
    dealer: Option<Dealer>,
}

impl<'j> Plan<'j> {
    pub(super) fn record_loaders(&self, load: &Load, task: &Task) -> Result<Specs<'j>> {
        let records = self.job.data.records;
        let threads = self.seat.threads(load.threads);
        let rng = |thread| self.rng(task.phase, 0, (thread, load.threads));
        let Some(replay) = &load.replay else {
            let range = |thread| {
                let (share, rng) = ((thread, load.threads), rng(thread));
                LoadRange::new(load.order, load.batch, records, share, &self.supply, rng)
            };
            let sources = threads.map(range).map(Source::Load).collect();
            let specs = vec![self.loaders(task.phase, load, sources)];
            return Ok(Specs { team: TeamSpec::new(specs, task), dealer: None });
        };
        let work = Work::Load { batch: load.batch };
        let deal = self.deal(replay, work, u64::MAX, load.threads);
        let (dealer, dealt) = replay::open(&deal, &self.supply, threads.map(rng))?;
        let sources = dealt.into_iter().map(Source::Trace).collect();
        let specs = vec![self.loaders(task.phase, load, sources)];
        Ok(Specs { team: TeamSpec::new(specs, task), dealer: Some(dealer) })
    }

    /// The roles of a mix. The first may replay a trace, the others draw.
    pub(super) fn mix_roles(&self, mix: &Mix, task: &mut Task) -> Result<Specs<'j>> {
        let mix_source = self.mix_source(task.phase, mix);
        let replayed = mix.roles.first().and_then(|role| Some((role, role.replay.as_ref()?)));
        let Some((role, replay)) = replayed else {
            let specs = self.roles(task.phase, mix, mix_source);
            return Ok(Specs { team: TeamSpec::new(specs, task), dealer: None });
        };
        let requests = mix.ends.operations.unwrap_or(replay.requests);
        // The dealer counts the requests out: threads take them until there are no more.
        task.operations = Some(u64::MAX);
        let rng = |thread| self.rng(task.phase, 0, (thread, role.threads));
        let deal = self.deal(replay, Work::Mix(&role.mix), requests, role.threads);
        let rngs = deal.threads.clone().map(rng);
        let (dealer, dealt) = replay::open(&deal, &self.supply, rngs)?;
        let mut dealt = dealt.into_iter();
        let specs = self.roles(task.phase, mix, |role, thread, rng| {
            let recorded = role.replay.as_ref().and_then(|_| dealt.next());
            recorded.map_or_else(|| mix_source(role, thread, rng), Source::Trace)
        });
        Ok(Specs { team: TeamSpec::new(specs, task), dealer: Some(dealer) })
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
}

impl<G: GraphEngine> Case<'_, G> {
    /// Runs a team of threads, with the dealer beside it if it replays a trace.
    pub(super) fn run_specs(
        &mut self,
        Specs { team, dealer }: Specs<'_>,
        task: &Task,
    ) -> Result<Option<PhaseResult>> {
        let clock = self.clock;
        let work = || self.run_team::<KeyValue<G::Engine>>(team, task);
        let Some(dealer) = dealer else { return work() };
        let (result, used) = replay::run_with_dealer(dealer, clock, work)?;
        let Some(mut result) = result else { return Ok(None) };
        match used {
            Ok(used) => add_usage(&mut result.roles, &used),
            Err(error) => result.failure = result.failure.or(Some(error)),
        }
        Ok(Some(result))
    }
}
