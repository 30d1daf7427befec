//! The part that the measured clients of all servers share. An attached server is not settled and
//! has no counters. The statistics of a server that kvdyno started can be put on the time line.

use crate::supervisor::Running;
use kvdyno_engine::graph::{GraphEngine, Isolation};
use kvdyno_engine::server::{Address, Elsewhere, Served};
use kvdyno_engine::{
    Counters, DataShape, Description, Edge, Engine, EngineEvent, EventKind, EventLog, Location,
    OptionSpec, Options, Result, Settled, Value,
};
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The option of every server that puts its statistics on the time line.
const STATISTICS: &str = "statistics";

/// A client of a server. The server runs already; or, for a location that is a directory, this
/// process starts and stops it, so that client and server are one engine for the conformance kit
/// and for `torture`.
pub(crate) struct Client<E> {
    engine: E,
    server: Option<Running>,
    /// The result of settling an attached server; none: the server is not attached.
    elsewhere: Option<Settled>,
    /// The server's statistics as last read; none: they are not read.
    last_statistics: Option<Mutex<BTreeMap<&'static str, u64>>>,
}

impl<E: Served> Engine for Client<E> {
    type Session<'e>
        = E::Session<'e>
    where
        Self: 'e;

    fn use_library(path: Option<&Path>) -> Result<()> {
        E::PROGRAM.find(path).map(drop)
    }

    fn describe() -> Description {
        let mut description = E::describe();
        description.options.push(OptionSpec::flag(
            STATISTICS,
            false,
            "Read the server's own statistics at each slice, for the time line. The server does \
             this besides its work.",
        ));
        description
    }

    fn open(location: &Location, options: &Options, data: &DataShape) -> Result<Self> {
        let server = match location {
            Location::Directory(dir) => Some(Running::start_in::<E>(dir, options, data)?),
            Location::Server(_) | Location::Device(_) => None,
        };
        let started = server.as_ref().map(|server| Location::Server(server.address.to_string()));
        let location = started.as_ref().unwrap_or(location);
        let elsewhere =
            Address::from_location::<E>(location)?.attached_server().map(Elsewhere::settle_result);
        let wants_statistics = elsewhere.is_none() && options.boolean(STATISTICS)?;
        let engine = E::open(location, options, data)?;
        let last_statistics = wants_statistics.then(Mutex::default);
        let client = Self { engine, server, elsewhere, last_statistics };
        // Sets the base: earlier growth belongs to no event.
        client.events();
        Ok(client)
    }

    fn session(&self) -> Result<Self::Session<'_>> {
        self.engine.session()
    }

    fn settle(&self, limit: Duration) -> Result<Settled> {
        self.elsewhere.clone().map_or_else(|| self.engine.settle(limit), Ok)
    }

    fn sync(&self) -> Result<()> {
        if self.elsewhere.is_some() { Ok(()) } else { self.engine.sync() }
    }

    fn close(self) -> Result<()> {
        self.engine.close()?;
        self.server.map_or(Ok(()), |mut server| server.stop().map(drop))
    }

    fn counters(&self) -> Counters {
        if self.elsewhere.is_some() { Counters::new() } else { self.engine.counters() }
    }

    fn events(&self) -> Vec<EngineEvent> {
        let mut events = self.engine.events();
        if let Some(statistics) = &self.last_statistics {
            let mut statistics = statistics.lock().unwrap_or_else(PoisonError::into_inner);
            let growth = growth(E::STATISTICS, &self.engine.counters(), &mut statistics);
            let log = EventLog::default();
            log.record(EventKind::Other, Edge::Point, growth);
            events.extend(log.drain());
        }
        events
    }
}

/// The graph of the engine within a [`Client`].
pub(crate) struct ClientGraph<G>(PhantomData<G>);

impl<G: GraphEngine> GraphEngine for ClientGraph<G>
where
    G::Engine: Served,
{
    type Engine = Client<G::Engine>;
    type Graph<'e> = G::Graph<'e>;

    fn graph(engine: &Self::Engine, isolation: Isolation) -> Result<G::Graph<'_>> {
        G::graph(&engine.engine, isolation)
    }
}

/// Returns the growth of each of the counters `names` since `last`, which is then set to their
/// values.
fn growth(
    names: &[&'static str],
    now: &Counters,
    last: &mut BTreeMap<&'static str, u64>,
) -> Counters {
    let numbers = names.iter().filter_map(|name| match now.get(*name)? {
        Value::Integer(number) => Some((*name, *number)),
        _ => None,
    });
    let growth = numbers.map(|(name, number)| {
        let before = last.insert(name, number).unwrap_or(number);
        (name.to_owned(), Value::Integer(number.saturating_sub(before)))
    });
    growth.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_are_told_by_what_they_grew() {
        let mut last = BTreeMap::new();
        let now = |hits: u64| {
            let role = ("role".to_owned(), Value::Text("master".to_owned()));
            Counters::from([role, ("hits".to_owned(), Value::Integer(hits))])
        };
        for (hits, expected) in [(5, 0), (12, 7), (12, 0), (3, 0), (4, 1)] {
            let counters = growth(&["hits", "role", "absent"], &now(hits), &mut last);
            assert_eq!(counters, Counters::from([("hits".to_owned(), Value::Integer(expected))]));
        }
    }
}
