//! Engines, sessions and graphs as trait objects: the checks are compiled once, in this crate, and
//! not for each engine. Each method calls the engine's own method of the same name.

use crate::graph::{Added, Audited, Chunk, Graph, GraphEngine, Isolation, Link, LinkKey, Node};
use crate::{
    Counters, DataShape, Engine, EngineEvent, Error, ErrorClass, Location, Options, Range, Records,
    Result, Session, Settled, Transaction, ValueVisitor, Walk, Write,
};
use std::ops::RangeInclusive;
use std::time::Duration;

pub(super) type BoxEngine = Box<dyn DynEngine>;
pub(super) type BoxSession<'e> = Box<dyn DynSession + 'e>;
pub(super) type BoxGraph<'e> = Box<dyn DynGraph + 'e>;

/// How an engine is opened.
pub(super) type OpenFn = fn(&Location, &Options, &DataShape) -> Result<BoxEngine>;

/// Opens an engine without a graph.
pub(super) fn open<E: Engine>(
    location: &Location,
    options: &Options,
    data: &DataShape,
) -> Result<BoxEngine> {
    let engine = E::open(location, options, data)?;
    Ok(Box::new(Opened { engine, graph: |_, _| Err(Error::unsupported("graphs")) }))
}

/// Opens an engine with its graph.
pub(super) fn open_with_graph<G: GraphEngine>(
    location: &Location,
    options: &Options,
    data: &DataShape,
) -> Result<BoxEngine> {
    let engine = G::Engine::open(location, options, data)?;
    Ok(Box::new(Opened { engine, graph: |engine, way| Ok(Box::new(G::graph(engine, way)?)) }))
}

struct Opened<E> {
    engine: E,
    graph: fn(&E, Isolation) -> Result<BoxGraph<'_>>,
}

pub(super) trait DynEngine: Send + Sync {
    fn session(&self) -> Result<BoxSession<'_>>;
    fn graph(&self, isolation: Isolation) -> Result<BoxGraph<'_>>;
    fn settle(&self, limit: Duration) -> Result<Settled>;
    fn sync(&self) -> Result<()>;
    fn close(self: Box<Self>) -> Result<()>;
    fn counters(&self) -> Counters;
    fn events(&self) -> Vec<EngineEvent>;
}

impl<E: Engine> DynEngine for Opened<E> {
    fn session(&self) -> Result<BoxSession<'_>> {
        Ok(Box::new(self.engine.session()?))
    }

    fn graph(&self, isolation: Isolation) -> Result<BoxGraph<'_>> {
        (self.graph)(&self.engine, isolation)
    }

    fn settle(&self, limit: Duration) -> Result<Settled> {
        self.engine.settle(limit)
    }

    fn sync(&self) -> Result<()> {
        self.engine.sync()
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.engine.close()
    }

    fn counters(&self) -> Counters {
        self.engine.counters()
    }

    fn events(&self) -> Vec<EngineEvent> {
        self.engine.events()
    }
}

/// A closure that is shown the answers of operations in flight.
type Answered<'a> = dyn FnMut(u32, Result<Option<&[u8]>>) + 'a;

/// A closure that writes the new value of a read-modify-write.
type Change<'a> = dyn FnMut(Option<&[u8]>, &mut Vec<u8>) + 'a;

pub(super) trait DynSession {
    fn get(&mut self, key: &[u8], visit: &mut ValueVisitor<'_>) -> Result<()>;
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()>;
    fn put_expiring(&mut self, key: &[u8], value: &[u8], ttl: Duration) -> Result<()>;
    fn delete(&mut self, key: &[u8]) -> Result<()>;
    fn scan(&mut self, range: Range<'_>, visit: &mut Records<'_>) -> Result<u64>;
    fn walk(&mut self, walk: &mut Walk, limit: u64, visit: &mut Records<'_>) -> Result<u64>;
    fn run_transaction(
        &mut self,
        body: &mut dyn FnMut(&mut dyn Transaction) -> Result<()>,
    ) -> Result<()>;
    fn multiget(
        &mut self,
        keys: &[&[u8]],
        visit: &mut dyn FnMut(usize, Option<&[u8]>),
    ) -> Result<()>;
    fn write(&mut self, writes: &[Write<'_>]) -> Result<()>;
    fn read_modify_write(
        &mut self,
        key: &[u8],
        buffer: &mut Vec<u8>,
        change: &mut Change<'_>,
    ) -> Result<bool>;
    fn submit_get(&mut self, ticket: u32, key: &[u8]) -> Result<()>;
    fn submit_put(&mut self, ticket: u32, key: &[u8], value: &[u8]) -> Result<()>;
    fn submit_put_expiring(
        &mut self,
        ticket: u32,
        key: &[u8],
        value: &[u8],
        ttl: Duration,
    ) -> Result<()>;
    fn send(&mut self) -> Result<()>;
    fn complete(&mut self, done: &mut Answered<'_>) -> Result<usize>;
}

impl<S: Session> DynSession for S {
    fn get(&mut self, key: &[u8], visit: &mut ValueVisitor<'_>) -> Result<()> {
        Session::get(self, key, visit)
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        Session::put(self, key, value)
    }

    fn put_expiring(&mut self, key: &[u8], value: &[u8], ttl: Duration) -> Result<()> {
        Session::put_expiring(self, key, value, ttl)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        Session::delete(self, key)
    }

    fn scan(&mut self, range: Range<'_>, visit: &mut Records<'_>) -> Result<u64> {
        Session::scan(self, range, visit)
    }

    fn walk(&mut self, walk: &mut Walk, limit: u64, visit: &mut Records<'_>) -> Result<u64> {
        Session::walk(self, walk, limit, visit)
    }

    fn run_transaction(
        &mut self,
        body: &mut dyn FnMut(&mut dyn Transaction) -> Result<()>,
    ) -> Result<()> {
        Session::transaction(self, body)
    }

    fn multiget(
        &mut self,
        keys: &[&[u8]],
        visit: &mut dyn FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        Session::multiget(self, keys, visit)
    }

    fn write(&mut self, writes: &[Write<'_>]) -> Result<()> {
        Session::write(self, writes)
    }

    fn read_modify_write(
        &mut self,
        key: &[u8],
        buffer: &mut Vec<u8>,
        change: &mut Change<'_>,
    ) -> Result<bool> {
        Session::read_modify_write(self, key, buffer, change)
    }

    fn submit_get(&mut self, ticket: u32, key: &[u8]) -> Result<()> {
        Session::submit_get(self, ticket, key)
    }

    fn submit_put(&mut self, ticket: u32, key: &[u8], value: &[u8]) -> Result<()> {
        Session::submit_put(self, ticket, key, value)
    }

    fn submit_put_expiring(
        &mut self,
        ticket: u32,
        key: &[u8],
        value: &[u8],
        ttl: Duration,
    ) -> Result<()> {
        Session::submit_put_expiring(self, ticket, key, value, ttl)
    }

    fn send(&mut self) -> Result<()> {
        Session::send(self)
    }

    fn complete(&mut self, done: &mut Answered<'_>) -> Result<usize> {
        Session::complete(self, done)
    }
}

impl dyn DynSession + '_ {
    /// Runs `body` as a transaction, and returns its value.
    pub(super) fn transaction<R>(
        &mut self,
        body: impl FnOnce(&mut dyn Transaction) -> Result<R>,
    ) -> Result<R> {
        let not_once = || Error::new(ErrorClass::Other, "a body did not run exactly once");
        let (mut body, mut returned) = (Some(body), None);
        self.run_transaction(&mut |within| {
            let body = body.take().ok_or_else(not_once)?;
            returned = Some(body(within)?);
            Ok(())
        })?;
        returned.ok_or_else(not_once)
    }
}

pub(super) trait DynGraph {
    fn add_node(&mut self, id: u64, node: &Node<'_>) -> Result<()>;
    fn get_node(&mut self, id: u64, visit: &mut dyn FnMut(Option<Node<'_>>)) -> Result<()>;
    fn update_node(&mut self, id: u64, node: &Node<'_>) -> Result<bool>;
    fn delete_node(&mut self, id: u64) -> Result<bool>;
    fn add_link(&mut self, link: &Link<'_>) -> Result<Added>;
    fn delete_link(&mut self, link: LinkKey, time: u64) -> Result<bool>;
    fn get_links(
        &mut self,
        id1: u64,
        kind: u64,
        id2s: &[u64],
        visit: &mut dyn FnMut(Link<'_>),
    ) -> Result<u64>;
    fn list_links(
        &mut self,
        id1: u64,
        kind: u64,
        times: RangeInclusive<u64>,
        limit: u32,
        visit: &mut dyn FnMut(Link<'_>),
    ) -> Result<u64>;
    fn count_links(&mut self, id1: u64, kind: u64) -> Result<u64>;
    fn load(&mut self, chunk: &Chunk<'_>) -> Result<()>;
    /// Audits the whole graph.
    fn audit(&mut self, visit: &mut dyn FnMut(Audited)) -> Result<u64>;
}

impl<G: Graph> DynGraph for G {
    fn add_node(&mut self, id: u64, node: &Node<'_>) -> Result<()> {
        Graph::add_node(self, id, node)
    }

    fn get_node(&mut self, id: u64, visit: &mut dyn FnMut(Option<Node<'_>>)) -> Result<()> {
        Graph::get_node(self, id, visit)
    }

    fn update_node(&mut self, id: u64, node: &Node<'_>) -> Result<bool> {
        Graph::update_node(self, id, node)
    }

    fn delete_node(&mut self, id: u64) -> Result<bool> {
        Graph::delete_node(self, id)
    }

    fn add_link(&mut self, link: &Link<'_>) -> Result<Added> {
        Graph::add_link(self, link)
    }

    fn delete_link(&mut self, link: LinkKey, time: u64) -> Result<bool> {
        Graph::delete_link(self, link, time)
    }

    fn get_links(
        &mut self,
        id1: u64,
        kind: u64,
        id2s: &[u64],
        visit: &mut dyn FnMut(Link<'_>),
    ) -> Result<u64> {
        Graph::get_links(self, id1, kind, id2s, visit)
    }

    fn list_links(
        &mut self,
        id1: u64,
        kind: u64,
        times: RangeInclusive<u64>,
        limit: u32,
        visit: &mut dyn FnMut(Link<'_>),
    ) -> Result<u64> {
        Graph::list_links(self, id1, kind, times, limit, visit)
    }

    fn count_links(&mut self, id1: u64, kind: u64) -> Result<u64> {
        Graph::count_links(self, id1, kind)
    }

    fn load(&mut self, chunk: &Chunk<'_>) -> Result<()> {
        Graph::load(self, chunk)
    }

    fn audit(&mut self, visit: &mut dyn FnMut(Audited)) -> Result<u64> {
        Graph::audit(self, || true, visit)
    }
}
