//! The `Engine` trait for `SQLite`. Each session has a connection, which is kept for the next one.

use crate::checkpoints::Checkpoints;
use crate::connection::{CACHE_COUNTS, Connection, library};
use crate::describe::{self, Journal, Settings};
use crate::session::{SqliteSession, Statements};
use crate::table::Table;
use kvdyno_engine::{
    Counters, DataShape, Description, Engine, EngineEvent, Error, EventLog, Location, Options,
    Result, Settled, Value,
};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// An open database.
pub(crate) struct Sqlite {
    path: PathBuf,
    settings: Settings,
    table: Table,
    checkpoints: Arc<Checkpoints>,
    /// Connections of sessions that have ended. The last connection that closes makes a checkpoint
    /// and removes the log. That must not happen between two phases, so they are kept.
    idle: Mutex<Vec<Statements>>,
    /// The lock of writers; `None`: `SQLite`'s own lock alone decides.
    turn: Option<Mutex<()>>,
    /// The sums of the cache counts of connections that were in use.
    cache_counts: Mutex<[u64; CACHE_COUNTS.len()]>,
    /// PRAGMAs as `SQLite` reports them after they were set.
    effective: Counters,
}

impl Engine for Sqlite {
    type Session<'e> = SqliteSession<'e>;

    fn describe() -> Description {
        let (version, source, options) = library();
        describe::description(version, source, &options)
    }

    fn open(location: &Location, options: &Options, data: &DataShape) -> Result<Self> {
        let settings = describe::settings(options, data)?;
        let after_pages = options.integer("wal_autocheckpoint")?;
        let queue = options.text("writers")? == "queue";
        let path = location.directory()?.join(describe::file(options)?);
        let checkpoints = Arc::new(Checkpoints { after_pages, events: EventLog::default() });
        let connection = connect(&path, &settings, &checkpoints)?;
        let table = Table::open(&connection, options)?;
        let engine = Self {
            path,
            settings,
            checkpoints,
            idle: Mutex::default(),
            turn: queue.then(Mutex::default),
            cache_counts: Mutex::default(),
            effective: effective(&connection, after_pages)?,
            table,
        };
        engine.give_back(Statements::prepare(connection, &engine.table)?);
        Ok(engine)
    }

    fn session(&self) -> Result<SqliteSession<'_>> {
        Ok(SqliteSession::new(self, self.acquire()?))
    }

    fn settle(&self, _limit: Duration) -> Result<Settled> {
        if self.settings.journal != Journal::Wal {
            return Ok(Settled::at_once());
        }
        let statements = self.acquire()?;
        let (log, done) = statements.connection.checkpoint()?;
        self.give_back(statements);
        let note = format!("wal_checkpoint(PASSIVE): {done} of {log} pages");
        Ok(Settled { idle: done == log, note })
    }

    fn sync(&self) -> Result<()> {
        let statements = self.acquire()?;
        statements.connection.sync_files()?;
        self.give_back(statements);
        // The directory has the names of files that were created or removed since.
        if let Some(dir) = self.path.parent() {
            std::fs::File::open(dir)?.sync_all()?;
        }
        Ok(())
    }

    fn close(self) -> Result<()> {
        // SQLite would run this checkpoint as the last connection closes, but not report its error.
        self.settle(Duration::ZERO).map(drop)
    }

    fn counters(&self) -> Counters {
        let mut counters = self.effective.clone();
        for ((name, _), count) in CACHE_COUNTS.iter().zip(*lock(&self.cache_counts)) {
            counters.insert((*name).to_owned(), Value::Integer(count));
        }
        // If every connection is in use, these are left out: another connection may be one too
        // many.
        let Some(statements) = lock(&self.idle).pop() else { return counters };
        for name in ["page_count", "freelist_count"] {
            if let Ok(value) = statements.connection.text(&format!("PRAGMA {name}")) {
                counters.insert(name.to_owned(), number_or_text(value));
            }
        }
        self.give_back(statements);
        counters
    }

    fn events(&self) -> Vec<EngineEvent> {
        self.checkpoints.events.drain()
    }
}

impl Sqlite {
    pub(crate) fn journal(&self) -> Journal {
        self.settings.journal
    }

    /// Takes the lock for writes. `SQLite`'s own lock keeps writers apart; with this one they wait
    /// without sleeping.
    #[inline]
    pub(crate) fn turn(&self) -> Option<MutexGuard<'_, ()>> {
        self.turn.as_ref().map(lock)
    }

    fn acquire(&self) -> Result<Statements> {
        let idle = lock(&self.idle).pop();
        let connect = || {
            let connection = connect(&self.path, &self.settings, &self.checkpoints)?;
            Statements::prepare(connection, &self.table)
        };
        idle.map_or_else(connect, Ok)
    }

    /// Keeps a session's connection for the next. An open transaction is rolled back.
    pub(crate) fn give_back(&self, statements: Statements) {
        let counts = statements.connection.take_cache_counts();
        let mut sums = lock(&self.cache_counts);
        sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        drop(sums);
        if statements.connection.is_at_rest() {
            lock(&self.idle).push(statements);
        }
    }
}

fn connect(path: &Path, settings: &Settings, checkpoints: &Arc<Checkpoints>) -> Result<Connection> {
    let connection = Connection::open(path, checkpoints)?;
    for (name, value) in &settings.pragmas {
        let set = connection.text(&format!("PRAGMA {name} = {value}"))?;
        // This PRAGMA returns the effective value.
        if *name == "journal_mode" && set != *value {
            return Err(Error::invalid(format!("journal_mode: expected {value}, found {set}")));
        }
    }
    Ok(connection)
}

/// Returns the settings that the connection really runs with.
fn effective(connection: &Connection, autocheckpoint: u64) -> Result<Counters> {
    let mut counters = Counters::new();
    let names =
        ["journal_mode", "synchronous", "page_size", "cache_size", "mmap_size", "locking_mode"];
    for name in names.into_iter().chain(["busy_timeout"]) {
        let value = connection.text(&format!("PRAGMA {name}"))?;
        counters.insert(name.to_owned(), number_or_text(value));
    }
    // The PRAGMA would report SQLite's own hook, which ours replaces.
    counters.insert("wal_autocheckpoint".to_owned(), Value::Integer(autocheckpoint));
    Ok(counters)
}

fn number_or_text(text: String) -> Value {
    text.parse().map_or(Value::Text(text), Value::Integer)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
