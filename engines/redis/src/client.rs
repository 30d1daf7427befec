//! The client. Each session has its own connection.

use crate::connection::{Answer, Connection};
use crate::describe::{TIME_TO_LIVE, description};
use crate::server::PROGRAM;
use kvdyno_engine::server::{Address, Answers as _, ControlConnection, Tickets, protocol_error};
use kvdyno_engine::{
    Counters, DataShape, Description, Durability, Engine, Location, Options, Result, Session,
    Settled, Value, Write,
};
use std::time::Duration;

/// Fields of `INFO` that do not describe the work, or change at each read.
const NOT_COUNTED: [&str; 6] =
    ["server_time_usec", "lru_clock", "executable", "config_file", "run_id", "monotonic_clock"];

/// A Redis server, as seen by the client.
pub(crate) struct Redis {
    address: Address,
    durability: Durability,
    control: ControlConnection<Connection>,
}

impl Redis {
    /// Returns the server's own information.
    fn info(&self) -> Result<String> {
        let mut control = self.control.lock();
        match control.ask(&[b"INFO", b"everything"])? {
            Answer::Bytes(range) => Ok(String::from_utf8_lossy(control.bytes(range)).into_owned()),
            other => Err(protocol_error(&format!("{other:?}"))),
        }
    }
}

impl Engine for Redis {
    type Session<'e> = Client;

    fn describe() -> Description {
        description(PROGRAM.find(None))
    }

    fn open(location: &Location, options: &Options, _data: &DataShape) -> Result<Self> {
        let address = Address::from_location::<Self>(location)?;
        let control = ControlConnection::new(Connection::open(&address)?);
        Ok(Self { address, durability: options.durability, control })
    }

    fn session(&self) -> Result<Client> {
        let connection = Connection::open(&self.address)?;
        Ok(Client { connection, tickets: Tickets::default() })
    }

    /// Waits for snapshots and log rewrites.
    fn settle(&self, limit: Duration) -> Result<Settled> {
        let works = ["rdb_bgsave_in_progress", "aof_rewrite_in_progress", "rewrite_scheduled"];
        Settled::poll(limit, "no snapshot or log rewrite is under way", || {
            let info = self.info()?;
            let work = works.into_iter().find(|work| info.contains(&format!("{work}:1")));
            Ok(work.map(str::to_owned))
        })
    }

    /// Syncs all writes by one that is synced after them; without a log, saves a snapshot.
    fn sync(&self) -> Result<()> {
        let mut control = self.control.lock();
        match self.durability {
            Durability::None => control.ask(&[b"SAVE"]).map(drop),
            Durability::Commit => Ok(()),
            Durability::Async => {
                let setting = control.ask(&[b"CONFIG", b"GET", b"appendfsync"])?;
                let Answer::Several(2) = setting else { return Err(protocol_error("CONFIG GET")) };
                control.answer()?;
                let Answer::Bytes(policy) = control.answer()? else {
                    return Err(protocol_error("CONFIG GET"));
                };
                let policy = control.bytes(policy).to_owned();
                let commands: [&[&[u8]]; 5] = [
                    &[b"CONFIG", b"SET", b"appendfsync", b"always"],
                    // A database without records.
                    &[b"SELECT", b"1"],
                    &[b"HSET", b"sync", b"1", b"1"],
                    &[b"SELECT", b"0"],
                    &[b"CONFIG", b"SET", b"appendfsync", &policy],
                ];
                commands.iter().try_for_each(|command| control.ask(command).map(drop))
            }
        }
    }

    fn close(self) -> Result<()> {
        Ok(())
    }

    /// Returns the fields of `INFO`.
    fn counters(&self) -> Counters {
        let info = self.info().unwrap_or_default();
        let lines = info.lines().filter_map(|line| line.split_once(':'));
        let counted = lines.filter(|(name, _)| !NOT_COUNTED.contains(name));
        counted.flat_map(|(name, value)| counters(name, value)).collect()
    }
}

/// Returns the counters of a field: `cmdstat_get:calls=3,usec=7` has two.
fn counters(name: &str, value: &str) -> Vec<(String, Value)> {
    let part = |part: &str| {
        let (figure, value) = part.split_once('=')?;
        Some((format!("{name}.{figure}"), counter(value)))
    };
    let parts: Option<Vec<_>> = value.split(',').map(part).collect();
    parts.unwrap_or_else(|| vec![(name.to_owned(), counter(value))])
}

fn counter(text: &str) -> Value {
    match text.parse() {
        Ok(number) => Value::Integer(number),
        Err(_) => Value::Text(text.to_owned()),
    }
}

/// One thread's connection.
pub(crate) struct Client {
    connection: Connection,
    tickets: Tickets,
}

impl Session for Client {
    #[inline]
    fn get<R>(&mut self, key: &[u8], visit: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        match self.connection.ask(&[b"GET", key])? {
            Answer::Bytes(range) => Ok(visit(Some(self.connection.bytes(range)))),
            Answer::Nothing => Ok(visit(None)),
            other => Err(protocol_error(&format!("{other:?}"))),
        }
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.connection.ask(&[b"SET", key, value]).map(drop)
    }

    fn put_expiring(&mut self, key: &[u8], value: &[u8], ttl: Duration) -> Result<()> {
        self.connection.set_expiring(key, value, TIME_TO_LIVE.units(ttl));
        self.connection.wire.send()?;
        self.connection.answer().map(drop)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.connection.ask(&[b"DEL", key]).map(drop)
    }

    fn multiget(
        &mut self,
        keys: &[&[u8]],
        mut visit: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        if keys.is_empty() {
            return Ok(());
        }
        let words: Vec<&[u8]> = std::iter::once(&b"MGET"[..]).chain(keys.iter().copied()).collect();
        let Answer::Several(count) = self.connection.ask(&words)? else {
            return Err(protocol_error("MGET"));
        };
        for index in 0..count {
            match self.connection.answer()? {
                Answer::Bytes(range) => visit(index, Some(self.connection.bytes(range))),
                _ => visit(index, None),
            }
        }
        Ok(())
    }

    /// Performs a batch as one transaction, in one round trip.
    fn write(&mut self, writes: &[Write<'_>]) -> Result<()> {
        self.connection.command(&[b"MULTI"]);
        for write in writes {
            match *write {
                Write::Put { key, value } => self.connection.command(&[b"SET", key, value]),
                Write::Delete { key } => self.connection.command(&[b"DEL", key]),
            }
        }
        self.connection.command(&[b"EXEC"]);
        self.connection.wire.send()?;
        // Every answer is read, even after a failure: the next command's answer follows them.
        let mut failed = Ok(());
        for _ in 0..=writes.len() {
            failed = failed.and(self.connection.answer().map(drop));
        }
        match self.connection.answer() {
            Ok(Answer::Several(count)) => {
                for _ in 0..count {
                    failed = failed.and(self.connection.answer().map(drop));
                }
                failed
            }
            Ok(other) => failed.and(Err(protocol_error(&format!("{other:?}")))),
            Err(error) => failed.and(Err(error)),
        }
    }

    fn submit_get(&mut self, ticket: u32, key: &[u8]) -> Result<()> {
        self.connection.command(&[b"GET", key]);
        self.tickets.push(ticket);
        Ok(())
    }

    fn submit_put(&mut self, ticket: u32, key: &[u8], value: &[u8]) -> Result<()> {
        self.connection.command(&[b"SET", key, value]);
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
        self.connection.set_expiring(key, value, TIME_TO_LIVE.units(ttl));
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
