//! A graph without contents: its figures are the cost of the load generator's requests.

use crate::engine::Null;
use kvdyno_engine::Result;
use kvdyno_engine::graph::{
    Added, Audited, Chunk, Graph, GraphEngine, Isolation, Link, LinkKey, Node,
};
use std::ops::RangeInclusive;

/// A graph that finds every node, and no link.
pub(crate) struct NullGraph;

impl GraphEngine for NullGraph {
    type Engine = Null;
    type Graph<'e> = Self;

    fn graph(_: &Null, _: Isolation) -> Result<Self> {
        Ok(Self)
    }
}

impl Graph for NullGraph {
    fn add_node(&mut self, _: u64, _: &Node<'_>) -> Result<()> {
        Ok(())
    }

    fn get_node(&mut self, _: u64, visit: impl FnOnce(Option<Node<'_>>)) -> Result<()> {
        visit(Some(Node { kind: 0, version: 0, time: 0, data: b"" }));
        Ok(())
    }

    fn update_node(&mut self, _: u64, _: &Node<'_>) -> Result<bool> {
        Ok(true)
    }

    fn delete_node(&mut self, _: u64) -> Result<bool> {
        Ok(true)
    }

    fn add_link(&mut self, _: &Link<'_>) -> Result<Added> {
        Ok(Added::Inserted)
    }

    fn delete_link(&mut self, _: LinkKey, _: u64) -> Result<bool> {
        Ok(false)
    }

    fn get_links(&mut self, _: u64, _: u64, _: &[u64], _: impl FnMut(Link<'_>)) -> Result<u64> {
        Ok(0)
    }

    fn list_links(
        &mut self,
        _: u64,
        _: u64,
        _: RangeInclusive<u64>,
        _: u32,
        _: impl FnMut(Link<'_>),
    ) -> Result<u64> {
        Ok(0)
    }

    fn count_links(&mut self, _: u64, _: u64) -> Result<u64> {
        Ok(0)
    }

    fn load(&mut self, _: &Chunk<'_>) -> Result<()> {
        Ok(())
    }

    fn audit(&mut self, _: impl Fn() -> bool, _: impl FnMut(Audited)) -> Result<u64> {
        Ok(0)
    }
}
