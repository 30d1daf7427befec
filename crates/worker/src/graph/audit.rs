//! After a load and after each run: is every count the number of the links that are visible?

use crate::control::Stop;
use kvdyno_engine::Result;
use kvdyno_engine::graph::{Graph as _, GraphEngine, Isolation};
use kvdyno_record::case::Audit;
use std::ops::ControlFlow;

/// Counts between two looks at whether to stop, and two words of progress.
const TELL_EVERY: u64 = 65_536;

/// Holds all counts against the links. Nothing when stopped on the way.
pub(crate) fn audit<G: GraphEngine>(
    engine: &G::Engine,
    isolation: Isolation,
    tell: impl Fn(u64) -> Result<()>,
    stop: &Stop,
) -> Result<Option<Audit>> {
    let mut graph = G::graph(engine, isolation)?;
    let (mut audit, mut told) = (Audit::default(), Ok(()));
    graph
        .audit(|audited| {
            audit.counts += 1;
            audit.links += audited.links;
            if audited.count != audited.links {
                audit.wrong += 1;
                audit.first.get_or_insert(audited);
            }
            if audit.counts % TELL_EVERY == 0 {
                told = tell(audit.counts);
            }
            if told.is_err() || stop.is_set() {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })
        .map_err(|error| error.context("auditing the graph"))?;
    told?;
    Ok((!stop.is_set()).then_some(audit))
}
