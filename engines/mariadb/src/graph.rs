//! `LinkBench`'s graph in its own tables. Each handle has its own connection with prepared
//! statements. A read is one statement, a write one transaction.

mod audit;
mod load;
mod row;
mod statements;

pub(crate) use statements::tables;

use crate::client::Mariadb;
use crate::connection::{Connection, Parameter, Part, Progress, Statement};
use crate::describe::ROUND_TRIPS;
use crate::upkeep::Storage;
use Parameter::{Bytes, Number};
use kvdyno_engine::graph::{
    Added, Audited, Chunk, Graph, GraphEngine, Isolation, Link, LinkKey, Node,
};
use kvdyno_engine::server::Answers as _;
use kvdyno_engine::server::protocol_error;
use kvdyno_engine::{Options, Result};
use load::Loads;
use row::Row;
use statements::Statements;
use std::ops::RangeInclusive;

/// The most links that one statement looks up.
const SOME: usize = 127;

/// Settings for `MyRocks`. It aborts a transaction if its rows changed after its start, which
/// happens often to popular counts. Rows are locked as they are read, so a weaker isolation is
/// enough. Without deadlock detection, deadlocks would last a second.
const OF_MYROCKS: [&str; 2] = [
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "SET SESSION rocksdb_deadlock_detect = ON",
];

/// How a write's statements are sent to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RoundTrips {
    /// Together: each write is one statement of several, in one round trip.
    One,
    /// One by one, and the commit by itself, as by `LinkBench`'s own client. As with that, there is
    /// no round trip for the begin.
    Original,
}

impl RoundTrips {
    pub(crate) fn from_options(options: &Options) -> Self {
        // An attached server has no options.
        match options.text(ROUND_TRIPS) {
            Ok("original") => Self::Original,
            _ => Self::One,
        }
    }
}

/// The graph in tables.
pub(crate) struct Tables;

impl GraphEngine for Tables {
    type Engine = Mariadb;
    type Graph<'e> = Handle<'e>;

    fn graph(engine: &Mariadb, isolation: Isolation) -> Result<Handle<'_>> {
        let mut connection = engine.connect_for_graph()?;
        if engine.storage() == Storage::RocksDb {
            for setting in OF_MYROCKS {
                connection.query(setting, |_| ())?;
            }
        }
        let statements = Statements::prepare(&mut connection)?;
        let alone = isolation == Isolation::None;
        let (loads, round_trips) = (Loads::default(), engine.round_trips());
        Ok(Handle { engine, connection, statements, loads, alone, round_trips })
    }
}

/// One thread's handle.
pub(crate) struct Handle<'e> {
    engine: &'e Mariadb,
    connection: Connection,
    statements: Statements,
    loads: Loads,
    /// Whether writes are no transactions, and a count is read and then written.
    alone: bool,
    round_trips: RoundTrips,
}

/// A statement and its parameters.
type Prepared<'p> = (Statement, &'p [Parameter<'p>]);

impl Handle<'_> {
    /// Sends a statement. The caller waits for its answer.
    fn ask(&mut self, (statement, parameters): Prepared<'_>) -> Result<()> {
        self.connection.wire.discard_parsed();
        self.connection.execute_with(statement, parameters.iter().copied());
        self.connection.wire.send()
    }

    /// Executes a statement without rows. Returns how many rows it has changed.
    fn execute(&mut self, prepared: Prepared<'_>) -> Result<u64> {
        self.ask(prepared)?;
        self.receive_changed_rows()
    }

    /// Waits for the number of rows that a statement has changed.
    fn receive_changed_rows(&mut self) -> Result<u64> {
        let answer = self.connection.answer()?;
        row::parse_changed_rows(self.connection.bytes(answer.done))
    }

    /// Executes a statement, and shows its row, or `None`, once.
    fn lookup<R>(
        &mut self,
        prepared: Prepared<'_>,
        visit: impl FnOnce(Option<Row<'_>>) -> Result<R>,
    ) -> Result<R> {
        self.ask(prepared)?;
        self.read_row(visit)
    }

    /// Waits for the row of a statement that was sent.
    fn read_row<R>(&mut self, visit: impl FnOnce(Option<Row<'_>>) -> Result<R>) -> Result<R> {
        let (mut found_row, mut progress) = (None, Progress::default());
        while let Part::Row(row) = self.connection.part(&mut progress)? {
            found_row = Some(row);
        }
        visit(found_row.map(|row| Row::new(self.connection.bytes(row))))
    }

    /// Executes a statement, and shows each row. Returns how many.
    fn rows(
        &mut self,
        prepared: Prepared<'_>,
        mut visit: impl FnMut(Row<'_>) -> Result<()>,
    ) -> Result<u64> {
        self.ask(prepared)?;
        let (mut count, mut progress, mut outcome) = (0, Progress::default(), Ok(()));
        while let Part::Row(row) = self.connection.part(&mut progress)? {
            outcome = outcome.and_then(|()| visit(Row::new(self.connection.bytes(row))));
            count += 1;
            self.connection.wire.discard_parsed();
        }
        outcome.map(|()| count)
    }

    /// Runs `body`, which writes in one transaction that it begins and ends. Rolls back after an
    /// error.
    fn unit<R>(&mut self, body: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        let done = body(self);
        if done.is_err() && !self.alone {
            // A transaction that cannot be rolled back has ended with its connection.
            let _ = self.connection.query("ROLLBACK", |_| ());
        }
        done
    }

    /// Begins a transaction by its first statement, which is sent with the begin.
    fn begin(&mut self, (statement, parameters): Prepared<'_>) -> Result<()> {
        if !self.alone {
            self.connection.execute_with(self.statements.begin, std::iter::empty());
        }
        self.connection.execute_with(statement, parameters.iter().copied());
        self.connection.wire.send()?;
        if !self.alone {
            self.connection.answer()?;
        }
        Ok(())
    }

    /// Ends a transaction by its last statements.
    fn end(&mut self, parts: &[Prepared<'_>]) -> Result<()> {
        for part in parts {
            self.execute(*part)?;
        }
        if self.alone { Ok(()) } else { self.execute((self.statements.commit, &[])).map(drop) }
    }

    /// Performs a write that is one statement. Returns how many rows its first part has changed.
    fn execute_whole(&mut self, prepared: Prepared<'_>) -> Result<u64> {
        self.unit(|graph| {
            let changed =
                graph.lookup(prepared, |row| row.ok_or_else(unexpected_row_error)?.read_u64())?;
            // After the row, the end of the statement follows.
            graph.connection.answer()?;
            Ok(changed)
        })
    }

    fn is_single_round_trip(&self) -> bool {
        self.round_trips == RoundTrips::One && !self.alone
    }

    /// Reads a count and then writes it, without isolation.
    fn recount(&mut self, link: LinkKey, time: u64, change: fn(u64) -> u64) -> Result<()> {
        let counted = change(self.count_links(link.id1, link.kind)?);
        let parameters = [link.id1, link.kind, counted, time].map(Number);
        self.execute((self.statements.put_count, &parameters)).map(drop)
    }
}

impl Graph for Handle<'_> {
    fn add_node(&mut self, _id: u64, node: &Node<'_>) -> Result<()> {
        let [kind, version, time] = node_numbers(node);
        let parameters = [kind, version, time, Bytes(node.data)];
        self.execute((self.statements.add_node, &parameters)).map(drop)
    }

    fn get_node(&mut self, id: u64, visit: impl FnOnce(Option<Node<'_>>)) -> Result<()> {
        self.lookup((self.statements.get_node, &[Number(id)]), |row| {
            visit(row.map(|mut row| row.node()).transpose()?);
            Ok(())
        })
    }

    fn update_node(&mut self, id: u64, node: &Node<'_>) -> Result<bool> {
        let [kind, version, time] = node_numbers(node);
        let parameters = [version, time, Bytes(node.data), Number(id), kind];
        self.ask((self.statements.update_node, &parameters))?;
        let answer = self.connection.answer()?;
        Ok(row::has_matched_row(self.connection.bytes(answer.done)))
    }

    fn delete_node(&mut self, id: u64) -> Result<bool> {
        Ok(self.execute((self.statements.delete_node, &[Number(id)]))? > 0)
    }

    fn add_link(&mut self, link: &Link<'_>) -> Result<Added> {
        let LinkKey { id1, kind, id2 } = link.key;
        let (time, version) = (Number(link.time), Number(link.version.into()));
        let [id1, kind, id2] = [id1, kind, id2].map(Number);
        let insert = [id1, id2, kind, Bytes(link.data), time, version];
        let (count, renew) = ([id1, kind, time], [Bytes(link.data), time, version, kind, id1, id2]);
        if self.is_single_round_trip() {
            let mut all = [Number(0); 15];
            for (target, parameter) in all.iter_mut().zip(insert.iter().chain(&count).chain(&renew))
            {
                *target = *parameter;
            }
            return self.execute_whole((self.statements.add_whole, &all)).map(to_added);
        }
        self.unit(|graph| {
            let (count, renew) =
                ((graph.statements.count, &count[..]), (graph.statements.renew, &renew[..]));
            graph.begin((graph.statements.add_link, &insert))?;
            let added = to_added(graph.receive_changed_rows()?);
            match added {
                Added::Updated => graph.end(&[renew])?,
                _ if graph.alone => {
                    graph.recount(link.key, link.time, |links| links + 1)?;
                    if added == Added::Shown {
                        graph.execute(renew)?;
                    }
                }
                Added::Inserted => graph.end(&[count])?,
                Added::Shown => graph.end(&[count, renew])?,
            }
            Ok(added)
        })
    }

    fn delete_link(&mut self, key: LinkKey, time: u64) -> Result<bool> {
        let [id1, kind, id2] = [key.id1, key.kind, key.id2].map(Number);
        let link = [kind, id1, id2];
        let uncount = [Number(time), id1, kind];
        if self.is_single_round_trip() {
            let all = [kind, id1, id2, uncount[0], id1, kind];
            return Ok(self.execute_whole((self.statements.delete_whole, &all))? > 0);
        }
        self.unit(|graph| {
            graph.begin((graph.statements.lock_link, &link))?;
            let visible = graph.read_row(|row| row.map_or(Ok(0), |mut row| row.read_u8()))? == 1;
            let hide = (graph.statements.hide, &link[..]);
            if visible && graph.alone {
                graph.execute(hide)?;
                graph.recount(key, time, |links| links.saturating_sub(1))?;
            } else if visible {
                graph.end(&[hide, (graph.statements.uncount, &uncount)])?;
            } else if !graph.alone {
                graph.execute((graph.statements.rollback, &[]))?;
            }
            Ok(visible)
        })
    }

    fn get_links(
        &mut self,
        id1: u64,
        kind: u64,
        id2s: &[u64],
        mut visit: impl FnMut(Link<'_>),
    ) -> Result<u64> {
        let (mut parameters, mut count) = ([Number(0); SOME + 2], 0);
        (parameters[0], parameters[1]) = (Number(kind), Number(id1));
        for some in id2s.chunks(SOME) {
            for (target, id2) in parameters[2..].iter_mut().zip(some) {
                *target = Number(*id2);
            }
            let statement = self.statements.get_links(&mut self.connection, some.len())?;
            count += self.rows((statement, &parameters[..some.len() + 2]), |mut row| {
                visit(row.link(id1, kind)?);
                Ok(())
            })?;
        }
        Ok(count)
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
        let parameters = [id1, kind, oldest, newest, limit.into()].map(Number);
        self.rows((self.statements.list_links, &parameters), |mut row| {
            visit(row.link(id1, kind)?);
            Ok(())
        })
    }

    fn count_links(&mut self, id1: u64, kind: u64) -> Result<u64> {
        let parameters = [id1, kind].map(Number);
        self.lookup((self.statements.get_count, &parameters), |row| {
            row.map_or(Ok(0), |mut row| row.read_u32().map(u64::from))
        })
    }

    fn load(&mut self, chunk: &Chunk<'_>) -> Result<()> {
        self.unit(|graph| load::load(graph, chunk))
    }

    fn audit(&mut self, go_on: impl Fn() -> bool, visit: impl FnMut(Audited)) -> Result<u64> {
        // Both streams are read at once, and may be left in the middle.
        audit::audit(
            self.engine.connect_for_graph()?,
            self.engine.connect_for_graph()?,
            go_on,
            visit,
        )
    }
}

/// Returns what has become of a link, from the number of rows that its statement has changed. An
/// existing row counts twice if it has changed: if it was hidden.
fn to_added(changed: u64) -> Added {
    match changed {
        0 => Added::Updated,
        1 => Added::Inserted,
        _ => Added::Shown,
    }
}

fn node_numbers<'p>(node: &Node<'_>) -> [Parameter<'p>; 3] {
    [node.kind.into(), node.version, node.time.into()].map(Number)
}

/// Returns the error for an unexpected row.
fn unexpected_row_error() -> kvdyno_engine::Error {
    protocol_error("a row of other columns")
}
