//! The client. Each session has its own connection.

use crate::connection::{Answer, Connection};
use crate::describe::{TIME_TO_LIVE, description};
use crate::server::PROGRAM;
use kvdyno_engine::server::{Address, Answers as _, ControlConnection, Tickets, protocol_error};
use kvdyno_engine::{
    Counters, DataShape, Description, Engine, Error, Location, Options, Result, Session, Settled,
    Value, Write,
};
use std::time::{Duration, SystemTime};

/// Entries of `stats` that do not describe the work, or change at each read.
const NOT_COUNTED: [&str; 4] = ["pid", "time", "pointer_size", "libevent"];

/// A memcached server, as seen by the client.
pub(crate) struct Memcached {
    address: Address,
    control: ControlConnection<Connection>,
}

impl Memcached {
    /// Returns the server's counters.
    fn statistics(&self) -> Result<Counters> {
        let mut control = self.control.lock();
        control.line("stats");
        control.wire.send()?;
        let mut counters = Counters::new();
        loop {
            match control.answer()? {
                Answer::Statistic(name, value) => {
                    let text = |range| String::from_utf8_lossy(control.bytes(range)).into_owned();
                    counters.insert(text(name), counter(text(value)));
                }
                Answer::End => return Ok(counters),
                other => return Err(protocol_error(&format!("{other:?}"))),
            }
        }
    }
}

fn counter(text: String) -> Value {
    text.parse().map_or(Value::Text(text), Value::Integer)
}

impl Engine for Memcached {
    type Session<'e> = Client;

    fn describe() -> Description {
        description(PROGRAM.find(None))
    }

    fn open(location: &Location, _options: &Options, _data: &DataShape) -> Result<Self> {
        let address = Address::from_location::<Self>(location)?;
        let control = ControlConnection::new(Connection::open(&address)?);
        Ok(Self { address, control })
    }

    fn session(&self) -> Result<Client> {
        let connection = Connection::open(&self.address)?;
        Ok(Client { connection, tickets: Tickets::default() })
    }

    /// Waits while the hash table grows, or memory is moved to records of another size.
    fn settle(&self, limit: Duration) -> Result<Settled> {
        let works = ["hash_is_expanding", "slab_reassign_running"];
        Settled::poll(limit, "neither the hash table nor slabs are being moved", || {
            let counters = self.statistics()?;
            let at_work = |work: &&str| counters.get(*work) == Some(&Value::Integer(1));
            Ok(works.into_iter().find(at_work).map(str::to_owned))
        })
    }

    /// Does nothing, because nothing can be made durable: the server keeps its records only in an
    /// orderly shutdown.
    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn close(self) -> Result<()> {
        Ok(())
    }

    fn counters(&self) -> Counters {
        let mut counters = self.statistics().unwrap_or_default();
        counters.retain(|name, _| !NOT_COUNTED.contains(&name.as_str()));
        counters
    }
}

/// The greatest expiry that memcached takes for seconds from now: 30 days. A larger number is a
/// date.
const RELATIVE_SECONDS_MAX: u64 = 30 * 24 * 3_600;

/// Returns the expiry, as memcached takes it, of a record that lives for `ttl`.
fn expiry(ttl: Duration) -> Result<u64> {
    let seconds = TIME_TO_LIVE.units(ttl);
    if seconds <= RELATIVE_SECONDS_MAX {
        return Ok(seconds);
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = now.map_or(0, |since| since.as_secs());
    let date = now.saturating_add(seconds);
    if date > i32::MAX as u64 {
        return Err(Error::invalid(format!(
            "expected a time to live that ends before 2038-01-19, found {seconds} seconds"
        )));
    }
    Ok(date)
}

/// One thread's connection.
pub(crate) struct Client {
    connection: Connection,
    tickets: Tickets,
}

impl Session for Client {
    #[inline]
    fn get<R>(&mut self, key: &[u8], visit: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        self.connection.get(key)?;
        match self.connection.ask()? {
            Answer::Value(range) => Ok(visit(Some(self.connection.bytes(range)))),
            Answer::Nothing => Ok(visit(None)),
            other => Err(protocol_error(&format!("{other:?}"))),
        }
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.connection.set(key, value, None, false)?;
        self.connection.ask().map(drop)
    }

    fn put_expiring(&mut self, key: &[u8], value: &[u8], ttl: Duration) -> Result<()> {
        self.connection.set(key, value, Some(expiry(ttl)?), false)?;
        self.connection.ask().map(drop)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.connection.delete(key, false)?;
        self.connection.ask().map(drop)
    }

    /// Pipelines the lookups: the meta commands have no other multiget.
    fn multiget(
        &mut self,
        keys: &[&[u8]],
        mut visit: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        let all = keys.iter().try_for_each(|key| self.connection.get(key));
        if all.is_err() {
            self.connection.wire.out.clear();
            return all;
        }
        self.connection.wire.send()?;
        let mut failed = Ok(());
        for index in 0..keys.len() {
            match self.connection.answer() {
                Ok(Answer::Value(range)) => visit(index, Some(self.connection.bytes(range))),
                Ok(_) => visit(index, None),
                Err(error) if self.connection.wire.is_gone() => return Err(error),
                // The other answers are still to come.
                Err(error) => failed = failed.and(Err(error)),
            }
        }
        failed
    }

    /// Performs a batch in one round trip: only failed writes are answered, and then comes the end.
    fn write(&mut self, writes: &[Write<'_>]) -> Result<()> {
        let all = writes.iter().try_for_each(|write| match *write {
            Write::Put { key, value } => self.connection.set(key, value, None, true),
            Write::Delete { key } => self.connection.delete(key, true),
        });
        if all.is_err() {
            self.connection.wire.out.clear();
            return all;
        }
        self.connection.line("mn");
        self.connection.wire.send()?;
        let mut failed = Ok(());
        loop {
            match self.connection.answer() {
                Ok(Answer::End) => return failed,
                Ok(_) => {}
                Err(error) if self.connection.wire.is_gone() => return Err(error),
                Err(error) => failed = failed.and(Err(error)),
            }
        }
    }

    fn submit_get(&mut self, ticket: u32, key: &[u8]) -> Result<()> {
        self.connection.get(key)?;
        self.tickets.push(ticket);
        Ok(())
    }

    fn submit_put(&mut self, ticket: u32, key: &[u8], value: &[u8]) -> Result<()> {
        self.connection.set(key, value, None, false)?;
        self.tickets.push(ticket);
        Ok(())
    }

    fn submit_put_expiring(
        &mut self,
        ticket: u32,
        key: &[u8],
        value: &[u8],
        ttl: Duration,
    ) -> Result<()> {
        self.connection.set(key, value, Some(expiry(ttl)?), false)?;
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

    /// Tests the day from which a number of seconds becomes a date.
    #[test]
    fn more_than_thirty_days_are_a_date() {
        let days = |days: u64| Duration::from_secs(days * 24 * 3_600);
        assert_eq!(expiry(Duration::from_millis(1_001)).unwrap(), 2);
        assert_eq!(expiry(days(30)).unwrap(), 30 * 24 * 3_600);
        let date = expiry(days(31)).unwrap();
        assert!(date > 1_700_000_000 + 31 * 24 * 3_600, "{date}");
        let refused = expiry(days(100 * 365)).unwrap_err();
        assert!(refused.message.contains("2038"), "{refused}");
    }
}
