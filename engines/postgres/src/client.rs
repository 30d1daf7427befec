//! The client. Each session has its own connection, with prepared statements.

use crate::connection::{Connection, server_error};
use crate::describe::{KEY_BYTES_MAX, description};
use crate::graph;
use crate::server::PROGRAM;
use crate::statements::{ALWAYS, Scans, TABLE, array};
use crate::transaction;
use kvdyno_engine::server::{Address, Answers as _, ControlConnection, Tickets, protocol_error};
use kvdyno_engine::{
    Counters, DataShape, Description, Durability, Engine, Error, Location, Options, Range, Result,
    Session, Settled, Transaction, Value, Write,
};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// The rows of a scan that one request asks for.
const ROWS: u32 = 500;

/// The code of a statement that exceeded its timeout.
const CANCELLED: &str = "(57014)";

/// Queries for the server's statistics.
const STATISTICS: [(&str, &str); 4] = [
    ("database", "SELECT * FROM pg_stat_database WHERE datname = current_database()"),
    ("bgwriter", "SELECT * FROM pg_stat_bgwriter"),
    ("wal", "SELECT * FROM pg_stat_wal"),
    ("table", "SELECT * FROM pg_stat_user_tables WHERE relname = 'kv'"),
];

/// A `PostgreSQL` server, as seen by the client.
pub(crate) struct Postgres {
    address: Address,
    durability: Durability,
    vacuums: bool,
    control: ControlConnection<Connection>,
}

impl Postgres {
    /// Opens a connection for a handle on a graph. Creates the graph's tables before its first use.
    pub(crate) fn connect_for_graph(&self) -> Result<Connection> {
        self.control.ensure_graph(|control| {
            let mut tables = graph::TABLES.iter();
            tables.try_for_each(|table| control.query(table, |_, _| ()).map(drop))
        })?;
        let mut connection = Connection::open(&self.address)?;
        // Statements must read rows anew that others have changed, whatever the server's default.
        let level = "SET default_transaction_isolation = 'read committed'";
        connection.query(level, |_, _| ())?;
        Ok(connection)
    }

    /// Returns how many autovacuum workers are at work now.
    fn workers(&self) -> Result<usize> {
        const ASKED: &str =
            "SELECT pid FROM pg_stat_activity WHERE backend_type = 'autovacuum worker'";
        let mut count = 0;
        self.control.lock().query(ASKED, |_, _| count += 1)?;
        Ok(count)
    }
}

impl Engine for Postgres {
    type Session<'e> = Client;

    fn describe() -> Description {
        description(PROGRAM.find(None))
    }

    fn open(location: &Location, options: &Options, _data: &DataShape) -> Result<Self> {
        let address = Address::from_location::<Self>(location)?;
        let mut control = Connection::open(&address)?;
        control.query(&format!("SET client_min_messages = error; {TABLE}"), |_, _| ())?;
        let vacuums = address.attached_server().is_none() && options.text("settle")? == "vacuum";
        let control = ControlConnection::new(control);
        Ok(Self { address, durability: options.durability, vacuums, control })
    }

    fn session(&self) -> Result<Client> {
        let mut connection = Connection::open(&self.address)?;
        for (name, statement) in ALWAYS {
            connection.prepare(name, statement);
        }
        connection.sync();
        connection.wire.send()?;
        connection.answer()?;
        connection.wire.discard_parsed();
        let (scans, tickets) = Default::default();
        Ok(Client { connection, scans, tickets })
    }

    /// Writes everything to the table's files, after a vacuum if the options ask for one.
    fn settle(&self, limit: Duration) -> Result<Settled> {
        let begun = Instant::now();
        let tables = if self.control.has_graph() { graph::NAMES } else { "kv" };
        let vacuum = format!("VACUUM ANALYZE {tables}; CHECKPOINT");
        let work = if self.vacuums { vacuum.as_str() } else { "CHECKPOINT" };
        let limit_ms = limit.as_millis().clamp(1, i32::MAX as u128);
        {
            let mut control = self.control.lock();
            control.query(&format!("SET statement_timeout = {limit_ms}"), |_, _| ())?;
            let done = work.split("; ").try_for_each(|one| control.query(one, |_, _| ()).map(drop));
            control.query("SET statement_timeout = 0", |_, _| ())?;
            match done {
                Err(error) if error.message.ends_with(CANCELLED) => {
                    let note = format!("{work}: {error}");
                    return Ok(Settled { idle: false, note });
                }
                done => done?,
            }
        }
        let note = format!("{work}; waited for autovacuum");
        let remaining = limit.saturating_sub(begun.elapsed());
        let workers = || Ok((self.workers()? > 0).then(String::new));
        Ok(Settled { note, ..Settled::poll(remaining, "", workers)? })
    }

    /// A checkpoint writes the log's contents to the files. If the server does not sync, the
    /// filesystem is synced.
    fn sync(&self) -> Result<()> {
        let mut control = self.control.lock();
        match self.durability {
            Durability::Commit => Ok(()),
            Durability::None => control.query("CHECKPOINT", |_, _| ()).map(drop),
            Durability::Async => {
                control.query("CHECKPOINT", |_, _| ())?;
                control.query("COPY (SELECT 1) TO PROGRAM 'sync -f .'", |_, _| ()).map(drop)
            }
        }
    }

    fn close(self) -> Result<()> {
        Ok(())
    }

    /// Returns the server's statistics, under their names. They are up to a second old.
    fn counters(&self) -> Counters {
        let mut counters = Counters::new();
        for (group, query) in &STATISTICS {
            // A view that this version does not have is left out.
            let _ = self.control.lock().query(query, |names, row| {
                for (name, value) in names.iter().zip(row) {
                    let number = value.and_then(|value| value.parse().ok());
                    if let Some(number) = number {
                        counters.insert(format!("{group}.{name}"), Value::Integer(number));
                    }
                }
            });
        }
        counters
    }
}

/// Refuses a key that is too long. The server compresses a key before it checks the length, so its
/// limit would depend on the key's content.
#[inline]
pub(crate) fn check(key: &[u8]) -> Result<()> {
    if key.len() as u64 <= KEY_BYTES_MAX {
        return Ok(());
    }
    let bytes = key.len();
    Err(Error::invalid(format!("a key of {bytes} bytes is longer than {KEY_BYTES_MAX}")))
}

/// One thread's connection.
pub(crate) struct Client {
    pub(crate) connection: Connection,
    scans: Scans,
    tickets: Tickets,
}

impl Client {
    /// Executes a prepared statement, and shows the value in its row.
    #[inline]
    pub(crate) fn lookup<R>(
        &mut self,
        statement: &str,
        key: &[u8],
        visit: impl FnOnce(Option<&[u8]>) -> R,
    ) -> Result<R> {
        self.connection.execute(statement, &[key], 0);
        self.connection.sync();
        self.connection.wire.send()?;
        let value = self.connection.answer()?.value;
        Ok(visit(value.map(|range| self.connection.bytes(range))))
    }

    /// Executes a prepared statement without rows.
    #[inline]
    pub(crate) fn execute(&mut self, statement: &str, parameters: &[&[u8]]) -> Result<()> {
        self.connection.execute(statement, parameters, 0);
        self.connection.sync();
        self.connection.wire.send()?;
        self.connection.answer().map(drop)
    }

    /// Shows the records of a range, some hundred rows at a time.
    pub(crate) fn show(
        &mut self,
        range: &Range<'_>,
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64> {
        let name = self.scans.prepare_scan(&mut self.connection, range);
        let ends: Vec<&[u8]> = [range.from, range.until].into_iter().flatten().collect();
        self.connection.execute(&name, &ends, ROWS);
        self.connection.flush();
        self.connection.wire.send()?;
        let result = self.rows(&mut visit);
        self.connection.sync();
        self.connection.wire.send()?;
        let ended = self.connection.answer();
        let result = result.and_then(|result| ended.map(|_| result));
        if result.is_err() {
            self.scans.forget_scan(&name);
        }
        result
    }

    fn rows(&mut self, visit: &mut impl FnMut(&[u8], &[u8]) -> ControlFlow<()>) -> Result<u64> {
        let mut count = 0;
        let mut more = true;
        loop {
            self.connection.wire.discard_parsed();
            match self.connection.next_message()? {
                (b'D', row) => {
                    let columns = self.connection.columns(row);
                    let [Some(key), Some(value)] = columns.as_slice() else {
                        return Err(protocol_error("a row of other columns"));
                    };
                    let bytes =
                        |range: &std::ops::Range<usize>| self.connection.bytes(range.clone());
                    if more {
                        count += 1;
                        more = visit(bytes(key), bytes(value)).is_continue();
                    }
                }
                // More rows follow; after a break they are not fetched.
                (b's', _) if more => {
                    self.connection.request_rows(ROWS);
                    self.connection.flush();
                    self.connection.wire.send()?;
                }
                (b's' | b'C', _) => return Ok(count),
                (b'E', words) => return Err(server_error(self.connection.bytes(words))),
                _ => {}
            }
        }
    }
}

impl Session for Client {
    #[inline]
    fn get<R>(&mut self, key: &[u8], visit: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        self.lookup("get", key, visit)
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        check(key)?;
        self.execute("put", &[key, value])
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.execute("delete", &[key])
    }

    fn scan(
        &mut self,
        range: Range<'_>,
        visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64> {
        match range.limit {
            0 => Ok(0),
            _ => self.show(&range, visit),
        }
    }

    /// Looks up all keys by one statement. A repeated key is shown for each of its positions.
    fn multiget(
        &mut self,
        keys: &[&[u8]],
        mut visit: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        self.connection.wire.discard_parsed();
        self.connection.execute("multiget", &[&array(keys)], 0);
        self.connection.sync();
        self.connection.wire.send()?;
        let mut records = HashMap::with_capacity(keys.len());
        let mut failed = Ok(());
        loop {
            match self.connection.next_message()? {
                (b'D', row) => {
                    if let [Some(key), Some(value)] = self.connection.columns(row).as_slice() {
                        records.insert(self.connection.bytes(key.clone()).to_vec(), value.clone());
                    }
                }
                (b'E', words) => {
                    failed = Err(server_error(self.connection.bytes(words)));
                }
                (b'Z', _) => break,
                _ => {}
            }
        }
        failed?;
        for (index, key) in keys.iter().enumerate() {
            let value = records.get(*key).cloned();
            visit(index, value.map(|range| self.connection.bytes(range)));
        }
        Ok(())
    }

    /// Performs a batch as one transaction: the statements up to one end.
    fn write(&mut self, writes: &[Write<'_>]) -> Result<()> {
        writes.iter().try_for_each(|write| check(write.key()))?;
        for write in writes {
            match *write {
                Write::Put { key, value } => self.connection.execute("put", &[key, value], 0),
                Write::Delete { key } => self.connection.execute("delete", &[key], 0),
            }
        }
        self.connection.sync();
        self.connection.wire.send()?;
        self.connection.answer().map(drop)
    }

    fn transaction<R>(
        &mut self,
        body: impl FnOnce(&mut dyn Transaction) -> Result<R>,
    ) -> Result<R> {
        transaction::run(self, body)
    }

    fn submit_get(&mut self, ticket: u32, key: &[u8]) -> Result<()> {
        self.connection.execute("get", &[key], 0);
        self.connection.sync();
        self.tickets.push(ticket);
        Ok(())
    }

    fn submit_put(&mut self, ticket: u32, key: &[u8], value: &[u8]) -> Result<()> {
        check(key)?;
        self.connection.execute("put", &[key, value], 0);
        self.connection.sync();
        self.tickets.push(ticket);
        Ok(())
    }

    fn send(&mut self) -> Result<()> {
        self.tickets.mark_sent();
        self.connection.wire.send()
    }

    fn complete(&mut self, done: impl FnMut(u32, Result<Option<&[u8]>>)) -> Result<usize> {
        self.tickets.complete(&mut self.connection, done)
    }
}
