//! The client. Each session has its own connection, with prepared statements.

use crate::connection::{Connection, Part, Progress, Statement};
use crate::describe::{KEY_BYTES_MAX, VALUE_BYTES_MAX, description};
use crate::graph::{self, RoundTrips};
use crate::server::PROGRAM;
use crate::statements::{Scan, ScanStart, Several, Statements};
use crate::transaction;
use crate::upkeep::{self, Storage};
use kvdyno_engine::server::{Address, Answers as _, ControlConnection, Tickets, protocol_error};
use kvdyno_engine::{
    Counters, DataShape, Description, Direction, Durability, Engine, Error, Location, Options,
    Range, Result, Session, Settled, Transaction, Write,
};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::time::Duration;

/// The most rows of one statement of a scan: the server sends all of them, even if the scan breaks
/// off.
const ROWS: u64 = 10_000;

/// The most keys, or records, and the most bytes of one statement.
const SEVERAL: usize = 500;
const SEVERAL_BYTES: usize = 8 << 20;

/// A `MariaDB` server, as seen by the client.
pub(crate) struct Mariadb {
    address: Address,
    durability: Durability,
    storage: Storage,
    control: ControlConnection<Connection>,
    round_trips: RoundTrips,
}

impl Mariadb {
    /// Opens a connection for a handle on a graph. Creates the graph's tables before its first use.
    pub(crate) fn connect_for_graph(&self) -> Result<Connection> {
        self.control.ensure_graph(|control| {
            let mut tables = graph::tables(self.storage).into_iter();
            tables.try_for_each(|table| control.query(&table, |_| ()))
        })?;
        Connection::open(&self.address)
    }

    pub(crate) fn storage(&self) -> Storage {
        self.storage
    }

    pub(crate) fn round_trips(&self) -> RoundTrips {
        self.round_trips
    }
}

impl Engine for Mariadb {
    type Session<'e> = Client;

    fn describe() -> Description {
        description(PROGRAM.find(None))
    }

    fn open(location: &Location, options: &Options, _data: &DataShape) -> Result<Self> {
        let address = Address::from_location::<Self>(location)?;
        let storage = match address.attached_server() {
            Some(_) => Storage::InnoDb,
            None => Storage::from_options(options)?,
        };
        let mut control = Connection::open(&address)?;
        for table in storage.tables(options) {
            control.query(&table, |_| ())?;
        }
        let control = ControlConnection::new(control);
        let round_trips = RoundTrips::from_options(options);
        Ok(Self { address, durability: options.durability, storage, control, round_trips })
    }

    fn session(&self) -> Result<Client> {
        let mut connection = Connection::open(&self.address)?;
        let statements = Statements::prepare(&mut connection)?;
        let (last, tickets) = Default::default();
        Ok(Client { connection, statements, last, tickets })
    }

    fn settle(&self, limit: Duration) -> Result<Settled> {
        upkeep::settle(&mut self.control.lock(), self.storage, limit)
    }

    fn sync(&self) -> Result<()> {
        match self.durability {
            Durability::Commit => Ok(()),
            class => upkeep::sync(&mut self.control.lock(), self.storage, class),
        }
    }

    fn close(self) -> Result<()> {
        Ok(())
    }

    fn counters(&self) -> Counters {
        upkeep::counters(&mut self.control.lock())
    }
}

/// Refuses keys and values that do not fit into the table's columns, or into one packet.
#[inline]
fn check(key: &[u8], value: &[u8]) -> Result<()> {
    let fits = |bytes: &[u8], most: u64| bytes.len() as u64 <= most;
    if fits(key, KEY_BYTES_MAX) && fits(value, VALUE_BYTES_MAX) {
        return Ok(());
    }
    let (key, value) = (key.len(), value.len());
    Err(Error::invalid(format!(
        "a key of {key} bytes or a value of {value} is longer than {KEY_BYTES_MAX} or \
         {VALUE_BYTES_MAX}"
    )))
}

/// One thread's connection.
pub(crate) struct Client {
    pub(crate) connection: Connection,
    pub(crate) statements: Statements,
    /// The last key of a scan, to continue after it.
    last: Vec<u8>,
    tickets: Tickets,
}

impl Client {
    /// Executes a prepared statement, and shows the value in its row.
    #[inline]
    pub(crate) fn lookup<R>(
        &mut self,
        statement: Statement,
        key: &[u8],
        visit: impl FnOnce(Option<&[u8]>) -> R,
    ) -> Result<R> {
        self.connection.execute(statement, [key].into_iter(), None);
        self.connection.wire.send()?;
        let value = self.connection.answer()?.value;
        Ok(visit(value.map(|range| self.connection.bytes(range))))
    }

    /// Executes a prepared statement without rows.
    #[inline]
    pub(crate) fn execute(&mut self, statement: Statement, parameters: &[&[u8]]) -> Result<()> {
        self.connection.execute(statement, parameters.iter().copied(), None);
        self.connection.wire.send()?;
        self.connection.answer().map(drop)
    }

    #[inline]
    pub(crate) fn store(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        check(key, value)?;
        self.execute(self.statements.put, &[key, value])
    }

    /// Shows the records of a range. A very long range takes several statements, because the server
    /// sends each result to its end.
    pub(crate) fn show(
        &mut self,
        range: &Range<'_>,
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64> {
        let (mut from, mut total) = (range.from.map_or(ScanStart::Edge, |_| ScanStart::At), 0);
        loop {
            let rows = ROWS.min(range.limit - total);
            let (count, more) = self.show_some(range, from, rows, &mut visit)?;
            total += count;
            if !more || count < rows || total == range.limit {
                return Ok(total);
            }
            from = ScanStart::Behind;
        }
    }

    /// Shows the records of one statement. Returns how many there were, and whether `visit` wants
    /// more.
    fn show_some(
        &mut self,
        range: &Range<'_>,
        from: ScanStart,
        rows: u64,
        visit: &mut impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(u64, bool)> {
        let forward = range.direction == Direction::Forward;
        let kind = Scan { forward, from, until: range.until.is_some() };
        let statement = self.statements.scan(&mut self.connection, kind)?;
        let begin = match from {
            ScanStart::Behind => Some(self.last.as_slice()),
            ScanStart::At | ScanStart::Edge => range.from,
        };
        let ends = begin.into_iter().chain(range.until);
        self.connection.wire.discard_parsed();
        self.connection.execute(statement, ends, Some(rows));
        self.connection.wire.send()?;
        let (mut count, mut more, mut progress) = (0, true, Progress::default());
        while let Part::Row(row) = self.connection.part(&mut progress)? {
            if more {
                let (key, value) = self.record(row)?;
                count += 1;
                more = visit(self.connection.bytes(key.clone()), self.connection.bytes(value))
                    .is_continue();
                if count == rows {
                    self.last.clear();
                    self.last.extend_from_slice(self.connection.bytes(key));
                }
            }
            self.connection.wire.discard_parsed();
        }
        Ok((count, more))
    }

    fn record(&self, row: std::ops::Range<usize>) -> Result<Record> {
        let columns = self.connection.columns::<2>(row);
        columns
            .map(|[key, value]| (key, value))
            .ok_or_else(|| protocol_error("a row of other columns"))
    }

    /// Looks up some keys by one statement. A repeated key is shown for each of its positions.
    fn find(&mut self, keys: &[&[u8]], visit: &mut impl FnMut(usize, Option<&[u8]>)) -> Result<()> {
        let statement =
            self.statements.prepare_several(&mut self.connection, Several::Get, keys.len())?;
        self.connection.wire.discard_parsed();
        self.connection.execute(statement, keys.iter().copied(), None);
        self.connection.wire.send()?;
        let (mut rows, mut progress) = (Vec::with_capacity(keys.len()), Progress::default());
        while let Part::Row(row) = self.connection.part(&mut progress)? {
            rows.push(self.record(row)?);
        }
        let bytes = |range: &std::ops::Range<usize>| self.connection.bytes(range.clone());
        let records: HashMap<&[u8], &[u8]> =
            rows.iter().map(|(key, value)| (bytes(key), bytes(value))).collect();
        for (index, key) in keys.iter().enumerate() {
            visit(index, records.get(key).copied());
        }
        Ok(())
    }

    /// Performs a part of a batch by one statement.
    fn perform(&mut self, piece: &[&Write<'_>]) -> Result<()> {
        let kind = kind(piece[0]);
        let statement = self.statements.prepare_several(&mut self.connection, kind, piece.len())?;
        let bytes =
            piece.iter().flat_map(|write| std::iter::once(write.key()).chain(write.value()));
        self.connection.execute(statement, bytes, None);
        self.connection.wire.send()?;
        self.connection.answer().map(drop)
    }
}

/// Where key and value of a row lie.
type Record = (std::ops::Range<usize>, std::ops::Range<usize>);

fn kind(write: &Write<'_>) -> Several {
    match write {
        Write::Put { .. } => Several::Put,
        Write::Delete { .. } => Several::Delete,
    }
}

/// Returns the last write of each key, sorted by kind and key. Batches that lock keys in one order
/// cannot deadlock.
fn last_writes<'w, 'b>(writes: &'w [Write<'b>]) -> Vec<&'w Write<'b>> {
    let mut all: Vec<_> = writes.iter().enumerate().collect();
    all.sort_unstable_by(|(position, one), (other_place, other)| {
        one.key().cmp(other.key()).then(other_place.cmp(position))
    });
    all.dedup_by_key(|(_, write)| write.key());
    let mut last: Vec<_> = all.into_iter().map(|(_, write)| write).collect();
    last.sort_by_key(|write| kind(write) == Several::Delete);
    last
}

/// Returns how many of the writes the first statement has.
fn first_piece_len(writes: &[&Write<'_>]) -> usize {
    let mut bytes = 0;
    let fits = |write: &&&Write<'_>| {
        bytes += write.key().len() + write.value().map_or(0, <[u8]>::len);
        bytes <= SEVERAL_BYTES && kind(write) == kind(writes[0])
    };
    writes.iter().take(SEVERAL).take_while(fits).count().max(1)
}

impl Session for Client {
    #[inline]
    fn get<R>(&mut self, key: &[u8], visit: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        self.lookup(self.statements.get, key, visit)
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.store(key, value)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.execute(self.statements.delete, &[key])
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

    fn multiget(
        &mut self,
        keys: &[&[u8]],
        mut visit: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        for (piece, some) in keys.chunks(SEVERAL).enumerate() {
            self.find(some, &mut |index, value| visit(piece * SEVERAL + index, value))?;
        }
        Ok(())
    }

    /// Performs a batch by one statement, which is all or nothing by itself; several are one
    /// transaction.
    fn write(&mut self, writes: &[Write<'_>]) -> Result<()> {
        for write in writes {
            check(write.key(), write.value().unwrap_or_default())?;
        }
        let last = last_writes(writes);
        let mut rest = last.as_slice();
        if rest.is_empty() {
            return Ok(());
        }
        if first_piece_len(rest) == rest.len() {
            return self.perform(rest);
        }
        self.connection.query("START TRANSACTION", |_| ())?;
        while !rest.is_empty() {
            let (piece, more) = rest.split_at(first_piece_len(rest));
            if let Err(error) = self.perform(piece) {
                let _ = self.connection.query("ROLLBACK", |_| ());
                return Err(error);
            }
            rest = more;
        }
        self.connection.query("COMMIT", |_| ())
    }

    fn transaction<R>(
        &mut self,
        body: impl FnOnce(&mut dyn Transaction) -> Result<R>,
    ) -> Result<R> {
        transaction::run(self, body)
    }

    fn submit_get(&mut self, ticket: u32, key: &[u8]) -> Result<()> {
        self.connection.execute(self.statements.get, [key].into_iter(), None);
        self.tickets.push(ticket);
        Ok(())
    }

    fn submit_put(&mut self, ticket: u32, key: &[u8], value: &[u8]) -> Result<()> {
        check(key, value)?;
        self.connection.execute(self.statements.put, [key, value].into_iter(), None);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_comes_to_the_last_write_of_each_key() {
        let put = |key, value| Write::Put { key, value };
        let writes =
            [put(b"b", b"1"), Write::Delete { key: b"a" }, put(b"c", b"2"), put(b"b", b"3")];
        let last = last_writes(&writes);
        assert_eq!(last, [&put(b"b", b"3"), &put(b"c", b"2"), &Write::Delete { key: b"a" }]);
        assert_eq!(first_piece_len(&last), 2, "those that store are one statement");
        let long = vec![0; SEVERAL_BYTES];
        let writes = [put(b"a", &long), put(b"b", &long)];
        assert_eq!(first_piece_len(&last_writes(&writes)), 1);
    }
}
