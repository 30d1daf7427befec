//! The client: a session is a connection of its own.

use crate::connection::{Answer, Connection};
use crate::describe::description;
use crate::server::program;
use kvdyno_engine::server::{Address, Tickets, nonsense};
use kvdyno_engine::{
    Counters, DataShape, Description, Durability, Engine, Location, Options, Result, Session,
    Settled, Value, Write,
};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Between two looks at what the server does in the background.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What of `INFO` says nothing of the work, or is other at each look.
const NOT_COUNTED: [&str; 6] =
    ["server_time_usec", "lru_clock", "executable", "config_file", "run_id", "monotonic_clock"];

/// A Redis server, as its client has it.
pub(crate) struct Redis {
    address: Address,
    durability: Durability,
    /// Beside those of the sessions.
    control: Mutex<Connection>,
}

impl Redis {
    fn control(&self) -> MutexGuard<'_, Connection> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The server's own information.
    fn info(&self) -> Result<String> {
        let mut control = self.control();
        match control.ask(&[b"INFO", b"everything"])? {
            Answer::Bytes(range) => Ok(String::from_utf8_lossy(control.bytes(range)).into_owned()),
            other => Err(nonsense(&format!("{other:?}"))),
        }
    }
}

impl Engine for Redis {
    type Session<'e> = Client;

    fn use_library(path: Option<&Path>) -> Result<()> {
        program(path).map(drop)
    }

    fn describe() -> Description {
        description(program(None))
    }

    fn open(location: &Location, options: &Options, _data: &DataShape) -> Result<Self> {
        let address = Address::for_engine::<Self>(location)?;
        let control = Mutex::new(Connection::open(&address)?);
        Ok(Self { address, durability: options.durability, control })
    }

    fn session(&self) -> Result<Client> {
        let connection = Connection::open(&self.address)?;
        Ok(Client { connection, tickets: Tickets::default() })
    }

    /// Snapshots and logs that are being written anew.
    fn settle(&self, limit: Duration) -> Result<Settled> {
        let begun = Instant::now();
        let works =
            ["rdb_bgsave_in_progress:1", "aof_rewrite_in_progress:1", "rewrite_scheduled:1"];
        loop {
            let info = self.info()?;
            let at_work = works.iter().find(|work| info.contains(**work));
            let note = match at_work {
                None => "no snapshot or log rewrite is under way".to_owned(),
                Some(work) => format!("waited for {}", work.trim_end_matches(":1")),
            };
            if at_work.is_none() || begun.elapsed() >= limit {
                return Ok(Settled { idle: at_work.is_none(), note });
            }
            sleep(LOOK_EVERY);
        }
    }

    /// A write that is synced takes all before it along; without a log a snapshot is taken.
    fn sync(&self) -> Result<()> {
        let mut control = self.control();
        match self.durability {
            Durability::None => control.ask(&[b"SAVE"]).map(drop),
            Durability::Commit => Ok(()),
            Durability::Async => {
                let setting = control.ask(&[b"CONFIG", b"GET", b"appendfsync"])?;
                let Answer::Several(2) = setting else { return Err(nonsense("CONFIG GET")) };
                control.answer()?;
                let Answer::Bytes(policy) = control.answer()? else {
                    return Err(nonsense("CONFIG GET"));
                };
                let policy = control.bytes(policy).to_owned();
                let commands: [&[&[u8]]; 5] = [
                    &[b"CONFIG", b"SET", b"appendfsync", b"always"],
                    // Not among the records.
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

    /// All numbers of `INFO`, and its words.
    fn counters(&self) -> Counters {
        let info = self.info().unwrap_or_default();
        let lines = info.lines().filter_map(|line| line.split_once(':'));
        let counted = lines.filter(|(name, _)| !NOT_COUNTED.contains(name));
        counted.flat_map(|(name, value)| counters(name, value)).collect()
    }
}

/// `cmdstat_get:calls=3,usec=7` are two.
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
            other => Err(nonsense(&format!("{other:?}"))),
        }
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.connection.ask(&[b"SET", key, value]).map(drop)
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
            return Err(nonsense("MGET"));
        };
        for index in 0..count {
            match self.connection.answer()? {
                Answer::Bytes(range) => visit(index, Some(self.connection.bytes(range))),
                _ => visit(index, None),
            }
        }
        Ok(())
    }

    /// A transaction of one round trip.
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
        // Each answer is taken in, whatever the first that failed says: others may follow.
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
            Ok(other) => failed.and(Err(nonsense(&format!("{other:?}")))),
            Err(error) => failed.and(Err(error)),
        }
    }

    fn submit_get(&mut self, ticket: u32, key: &[u8]) -> Result<()> {
        self.connection.command(&[b"GET", key]);
        self.tickets.take_on(ticket);
        Ok(())
    }

    fn submit_put(&mut self, ticket: u32, key: &[u8], value: &[u8]) -> Result<()> {
        self.connection.command(&[b"SET", key, value]);
        self.tickets.take_on(ticket);
        Ok(())
    }

    fn send(&mut self) -> Result<()> {
        self.tickets.sent();
        self.connection.wire.send()
    }

    fn complete(&mut self, done: impl FnMut(u32, Result<Option<&[u8]>>)) -> Result<usize> {
        self.tickets.complete(&mut self.connection, done)
    }
}
