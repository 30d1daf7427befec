//! `LinkBench`'s graph in its own tables. Each handle has its own connection with prepared
//! statements. Each request is one statement and one transaction, so it waits for one answer only.

mod row;
mod statements;

pub(crate) use statements::{NAMES, TABLES};

use crate::client::Postgres;
use crate::connection::{Connection, server_error};
use kvdyno_engine::graph::{
    Added, Audited, Chunk, Graph, GraphEngine, Isolation, Link, LinkKey, Node,
};
use kvdyno_engine::server::Answers as _;
use kvdyno_engine::server::protocol_error;
use kvdyno_engine::{Error, ErrorClass, Result};
use row::{Array, Row};
use std::ops::RangeInclusive;

/// The rows of an audit that one request asks for.
const ROWS: u32 = 10_000;

/// The graph in tables.
pub(crate) struct Tables;

impl GraphEngine for Tables {
    type Engine = Postgres;
    type Graph<'e> = Handle;

    fn graph(engine: &Postgres, isolation: Isolation) -> Result<Handle> {
        let mut connection = engine.connect_for_graph()?;
        for (name, statement) in statements::ALL {
            connection.prepare(name, statement);
        }
        connection.sync();
        connection.wire.send()?;
        connection.answer()?;
        Ok(Handle { connection, alone: isolation == Isolation::None, array: Array::default() })
    }
}

/// One thread's handle.
pub(crate) struct Handle {
    connection: Connection,
    /// Whether a link and its count are not written together, and a count is read and then written.
    alone: bool,
    /// Room for second ids as a parameter.
    array: Array,
}

/// Returns a number as tables have it: signed.
fn bigint(number: u64) -> [u8; 8] {
    i64::try_from(number).unwrap_or(i64::MAX).to_be_bytes()
}

fn integer(number: u32) -> [u8; 4] {
    i32::try_from(number).unwrap_or(i32::MAX).to_be_bytes()
}

impl Handle {
    /// Executes a statement as its own transaction, and shows each row. Returns the number of rows.
    fn rows(
        &mut self,
        statement: &str,
        parameters: &[&[u8]],
        visit: impl FnMut(Row<'_>) -> Result<()>,
    ) -> Result<u64> {
        self.connection.execute(statement, parameters, 0);
        self.visit_rows(visit)
    }

    /// Executes the queued statement, and shows each row. Returns the number of rows.
    fn visit_rows(&mut self, mut visit: impl FnMut(Row<'_>) -> Result<()>) -> Result<u64> {
        self.connection.sync();
        self.connection.wire.send()?;
        let (mut count, mut outcome) = (0, Ok(()));
        loop {
            self.connection.wire.discard_parsed();
            match self.connection.next_message()? {
                (b'D', row) => {
                    count += 1;
                    outcome = outcome.and_then(|()| visit(Row::new(self.connection.bytes(row))));
                }
                (b'E', words) => outcome = Err(server_error(self.connection.bytes(words))),
                (b'Z', _) => return outcome.map(|()| count),
                _ => {}
            }
        }
    }

    /// Executes a statement that returns one number; `None`: it returns no row.
    fn number(&mut self, statement: &str, parameters: &[&[u8]]) -> Result<Option<u64>> {
        let mut number = None;
        self.rows(statement, parameters, |mut row| {
            number = Some(row.read_u64()?);
            Ok(())
        })?;
        Ok(number)
    }

    /// Executes a statement that changes rows, and returns a row for each. Returns whether there
    /// was any.
    fn change_rows(&mut self, statement: &str, parameters: &[&[u8]]) -> Result<bool> {
        Ok(self.rows(statement, parameters, |_| Ok(()))? > 0)
    }

    /// Reads a count and then writes it, without protection from concurrent writers.
    fn recount(&mut self, link: LinkKey, time: u64, change: fn(u64) -> u64) -> Result<()> {
        let counted = change(self.count_links(link.id1, link.kind)?);
        let numbers = [link.id1, link.kind, counted, time].map(bigint);
        self.change_rows("put_count", &numbers.each_ref().map(<[u8; 8]>::as_slice)).map(drop)
    }
}

impl Graph for Handle {
    fn add_node(&mut self, _id: u64, node: &Node<'_>) -> Result<()> {
        let (kind, version, time) = (integer(node.kind), bigint(node.version), integer(node.time));
        self.change_rows("add_node", &[&kind, &version, &time, node.data]).map(drop)
    }

    fn get_node(&mut self, id: u64, visit: impl FnOnce(Option<Node<'_>>)) -> Result<()> {
        let mut visit = Some(visit);
        self.rows("get_node", &[&bigint(id)], |mut row| {
            let node = row.node()?;
            if let Some(visit) = visit.take() {
                visit(Some(node));
            }
            Ok(())
        })?;
        if let Some(visit) = visit {
            visit(None);
        }
        Ok(())
    }

    fn update_node(&mut self, id: u64, node: &Node<'_>) -> Result<bool> {
        let (kind, version, time) = (integer(node.kind), bigint(node.version), integer(node.time));
        self.change_rows("update_node", &[&version, &time, node.data, &bigint(id), &kind])
    }

    fn delete_node(&mut self, id: u64) -> Result<bool> {
        self.change_rows("delete_node", &[&bigint(id)])
    }

    fn add_link(&mut self, link: &Link<'_>) -> Result<Added> {
        let LinkKey { id1, kind, id2 } = link.key;
        let ([id1, kind, id2, time], version) =
            ([id1, kind, id2, link.time].map(bigint), integer(link.version));
        let statement = if self.alone { "add_link_alone" } else { "add_link" };
        let parameters: [&[u8]; 6] = [&id1, &kind, &id2, link.data, &time, &version];
        let added = match self.number(statement, &parameters)? {
            Some(statements::INSERTED) => Added::Inserted,
            Some(statements::SHOWN) => Added::Shown,
            Some(statements::UPDATED) => Added::Updated,
            // A link that was added after the statement had begun, which could not see it.
            _ => return Err(Error::new(ErrorClass::Conflict, "the link has just been added")),
        };
        if self.alone && added != Added::Updated {
            self.recount(link.key, link.time, |links| links + 1)?;
        }
        Ok(added)
    }

    fn delete_link(&mut self, link: LinkKey, time: u64) -> Result<bool> {
        let [id1, kind, id2, now] = [link.id1, link.kind, link.id2, time].map(bigint);
        if self.alone {
            let hidden = self.change_rows("hide_link", &[&id1, &kind, &id2])?;
            if hidden {
                self.recount(link, time, |links| links.saturating_sub(1))?;
            }
            return Ok(hidden);
        }
        self.change_rows("delete_link", &[&id1, &kind, &id2, &now])
    }

    fn get_links(
        &mut self,
        id1: u64,
        kind: u64,
        id2s: &[u64],
        mut visit: impl FnMut(Link<'_>),
    ) -> Result<u64> {
        let id2s = self.array.encode_bigints(id2s.iter().copied());
        self.connection.execute("get_links", &[&bigint(id1), &bigint(kind), id2s], 0);
        self.visit_rows(|mut row| {
            visit(row.link(id1, kind)?);
            Ok(())
        })
    }

    fn list_links(
        &mut self,
        id1: u64,
        kind: u64,
        times: RangeInclusive<u64>,
        limit: u32,
        mut visit: impl FnMut(Link<'_>),
    ) -> Result<u64> {
        let (oldest, newest) = (*times.start(), *times.end());
        let numbers = [id1, kind, oldest, newest, limit.into()].map(bigint);
        self.rows("list_links", &numbers.each_ref().map(<[u8; 8]>::as_slice), |mut row| {
            visit(row.link(id1, kind)?);
            Ok(())
        })
    }

    fn count_links(&mut self, id1: u64, kind: u64) -> Result<u64> {
        Ok(self.number("get_count", &[&bigint(id1), &bigint(kind)])?.unwrap_or(0))
    }

    /// Loads the rows of each table by one statement, and all of them in one transaction.
    fn load(&mut self, chunk: &Chunk<'_>) -> Result<()> {
        let mut arrays: [Array; 7] = Default::default();
        let [first, second, third, fourth, fifth, sixth, seventh] = &mut arrays;
        if !chunk.nodes.is_empty() {
            let nodes = || chunk.nodes.iter().map(|(_, node)| node);
            let parameters = [
                first.encode_bigints(chunk.nodes.iter().map(|(id, _)| *id)),
                second.encode_integers(nodes().map(|node| node.kind)),
                third.encode_bigints(nodes().map(|node| node.version)),
                fourth.encode_integers(nodes().map(|node| node.time)),
                fifth.bytes(nodes().map(|node| node.data)),
            ];
            self.connection.execute("load_nodes", &parameters, 0);
            // Nodes that are added later have the numbers after these.
            self.connection.execute("number_nodes", &[], 0);
        }
        if !chunk.links.is_empty() {
            let links = || chunk.links.iter();
            let parameters = [
                first.encode_bigints(links().map(|link| link.key.id1)),
                second.encode_bigints(links().map(|link| link.key.id2)),
                third.encode_bigints(links().map(|link| link.key.kind)),
                fourth.encode_integers(links().map(|link| link.visible.into())),
                fifth.bytes(links().map(|link| link.data)),
                sixth.encode_bigints(links().map(|link| link.time)),
                seventh.encode_integers(links().map(|link| link.version)),
            ];
            self.connection.execute("load_links", &parameters, 0);
        }
        if !chunk.counts.is_empty() {
            let counts = || chunk.counts.iter();
            let parameters = [
                first.encode_bigints(counts().map(|count| count.id)),
                second.encode_bigints(counts().map(|count| count.kind)),
                third.encode_bigints(counts().map(|count| count.links)),
                fourth.encode_bigints(counts().map(|count| count.time)),
            ];
            self.connection.execute("load_counts", &parameters, 0);
        }
        self.visit_rows(|_| Ok(())).map(drop)
    }

    fn audit(&mut self, go_on: impl Fn() -> bool, mut visit: impl FnMut(Audited)) -> Result<u64> {
        self.connection.execute("audit", &[], ROWS);
        self.connection.flush();
        self.connection.wire.send()?;
        let audited = self.read_audit_rows(&go_on, &mut visit);
        // This ends the transaction, and skips its remaining rows.
        let ended = self.visit_rows(|_| Ok(()));
        audited.and(ended.map(drop))?;
        if !go_on() {
            return Ok(0);
        }
        Ok(self.number("count_nodes", &[])?.unwrap_or(0))
    }
}

impl Handle {
    fn read_audit_rows(
        &mut self,
        go_on: &impl Fn() -> bool,
        visit: &mut impl FnMut(Audited),
    ) -> Result<()> {
        loop {
            self.connection.wire.discard_parsed();
            match self.connection.next_message()? {
                (b'D', row) => {
                    let mut row = Row::new(self.connection.bytes(row));
                    let [id, kind, count, links] =
                        [row.read_u64()?, row.read_u64()?, row.read_u64()?, row.read_u64()?];
                    // The server keeps the index by time itself, so it is not audited.
                    visit(Audited { id, kind, count, links, listed: links });
                }
                (b's', _) if go_on() => {
                    self.connection.request_rows(ROWS);
                    self.connection.flush();
                    self.connection.wire.send()?;
                }
                (b's' | b'C', _) => return Ok(()),
                (b'E', words) => return Err(server_error(self.connection.bytes(words))),
                _ => {}
            }
        }
    }
}

/// Returns the error for an unexpected row.
fn unexpected_row_error() -> Error {
    protocol_error("a row of other columns")
}
