//! After a load and after each run: is every count the number of the links that are visible?

use crate::control::Stop;
use kvdyno_engine::Result;
use kvdyno_engine::graph::{Graph as _, GraphEngine, Isolation};
use kvdyno_record::case::Audit;
use kvdyno_record::graph::Totals;
use std::cell::RefCell;

/// Holds all counts against the links, and all there is against what was `loaded`, where nothing
/// has been asked for since. Nothing when stopped on the way.
pub(crate) fn audit<G: GraphEngine>(
    engine: &G::Engine,
    isolation: Isolation,
    loaded: Option<Totals>,
    tell: impl Fn(u64) -> Result<()>,
    stop: &Stop,
) -> Result<Option<Audit>> {
    let mut graph = G::graph(engine, isolation)?;
    let (audit, told) = (RefCell::new(Audit { loaded, ..Audit::default() }), RefCell::new(Ok(())));
    let go_on = || {
        let mut told = told.borrow_mut();
        *told = tell(audit.borrow().counts);
        told.is_ok() && !stop.is_set()
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
    told.into_inner()?;
    let nodes = nodes.map_err(|error| error.context("auditing the graph"))?;
    Ok((!stop.is_set()).then_some(Audit { nodes, ..audit.into_inner() }))
}
