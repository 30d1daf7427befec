//! The check after a load and after each run: is every count the number of visible links?

use crate::control::Stop;
use kvdyno_engine::Result;
use kvdyno_engine::graph::{Graph as _, GraphEngine, Isolation};
use kvdyno_record::case::Audit;
use kvdyno_record::graph::Totals;
use std::cell::RefCell;

/// Compares all counts with the links. `loaded`, the totals of the load where no request came
/// since, goes into the result. Returns none when stopped on the way.
pub(crate) fn audit<G: GraphEngine>(
    engine: &G::Engine,
    isolation: Isolation,
    loaded: Option<Totals>,
    tell: impl Fn(u64) -> Result<()>,
    stop: &Stop,
) -> Result<Option<Audit>> {
    let mut graph = G::graph(engine, isolation)?;
    let (audit, outcome) =
        (RefCell::new(Audit { loaded, ..Audit::default() }), RefCell::new(Ok(())));
    let go_on = || {
        let mut outcome = outcome.borrow_mut();
        *outcome = tell(audit.borrow().counts);
        outcome.is_ok() && !stop.is_set()
    };
    let nodes = graph.audit(go_on, |audited| {
        let mut audit = audit.borrow_mut();
        audit.counts += 1;
        audit.links += audited.links;
        if !audited.is_right() {
            audit.wrong += 1;
            audit.first.get_or_insert(audited);
        }
    });
    outcome.into_inner()?;
    let nodes = nodes.map_err(|error| error.context("auditing the graph"))?;
    Ok((!stop.is_set()).then_some(Audit { nodes, ..audit.into_inner() }))
}
