//! redb's implementation of the two traits. One write transaction per put or batch, one read
//! transaction per get, as in an application that always reads the newest data.

use crate::describe;
use crate::table::{ActiveTransaction, TABLE, Walking, redb_error, scan};
use kvdyno_engine::{
    Counters, DataShape, Description, Durability, Engine, Location, Options, Range, Result,
    Session, Settled, Transaction as _, Value, Walk, Write,
};
use redb::{
    AccessGuard, Database, ReadOnlyTable, ReadableDatabase as _, ReadableTable as _,
    ReadableTableMetadata as _, TableError,
};
use std::ops::ControlFlow;
use std::time::Duration;

/// An open database.
pub(crate) struct Redb {
    pub(crate) database: Database,
    commits: Commits,
}

/// The settings of a commit.
#[derive(Clone, Copy)]
struct Commits {
    durability: redb::Durability,
    two_phase: bool,
    quick_repair: bool,
}

impl Engine for Redb {
    type Session<'e> = RedbSession<'e>;

    fn describe() -> Description {
        describe::description()
    }

    fn open(location: &Location, options: &Options, _data: &DataShape) -> Result<Self> {
        let durability = match options.durability {
            Durability::Commit => redb::Durability::Immediate,
            Durability::None | Durability::Async => redb::Durability::None,
        };
        let commits = Commits {
            durability,
            two_phase: options.boolean("two_phase_commit")?,
            quick_repair: options.boolean("quick_repair")?,
        };
        let database = Database::builder()
            .set_cache_size(options.integer("cache_size")? as usize)
            .create(location.directory()?.join("data.redb"))
            .map_err(redb_error)?;
        let opened = Self { database, commits };
        let reading = opened.database.begin_read().map_err(redb_error)?;
        match reading.open_table(TABLE) {
            Ok(_) => {}
            Err(TableError::TableDoesNotExist(_)) => opened.sync()?,
            Err(error) => return Err(redb_error(error)),
        }
        Ok(opened)
    }

    fn session(&self) -> Result<RedbSession<'_>> {
        Ok(RedbSession { engine: self, walking: None })
    }

    fn settle(&self, _limit: Duration) -> Result<Settled> {
        Ok(Settled::at_once())
    }

    /// Makes an empty durable commit: it takes the commits before it, of whatever durability, to
    /// the disk.
    fn sync(&self) -> Result<()> {
        self.write(Commits { durability: redb::Durability::Immediate, ..self.commits }, |_| Ok(()))
    }

    /// Makes all writes durable before it closes: closing alone would undo them.
    fn close(self) -> Result<()> {
        self.sync()?;
        self.database.close().map_err(redb_error)
    }

    fn counters(&self) -> Counters {
        let mut counters = Counters::new();
        let mut count = |name: &str, value: u64| {
            counters.insert(name.to_owned(), Value::Integer(value));
        };
        count("cache_stats.used_bytes", self.database.cache_stats().used_bytes() as u64);
        if let Ok(length) = self.table().and_then(|table| table.len().map_err(redb_error)) {
            count("len", length);
        }
        counters
    }
}

impl Redb {
    /// Returns the table as of the newest commit.
    #[inline]
    fn table(&self) -> Result<ReadOnlyTable<&'static [u8], &'static [u8]>> {
        self.database.begin_read().map_err(redb_error)?.open_table(TABLE).map_err(redb_error)
    }

    /// Runs `body` in a write transaction: committed if it succeeds, undone if it fails.
    fn write<R>(
        &self,
        commits: Commits,
        body: impl FnOnce(&mut ActiveTransaction<'_>) -> Result<R>,
    ) -> Result<R> {
        let mut transaction = self.database.begin_write().map_err(redb_error)?;
        transaction.set_durability(commits.durability).map_err(redb_error)?;
        transaction.set_two_phase_commit(commits.two_phase);
        transaction.set_quick_repair(commits.quick_repair);
        let result =
            body(&mut ActiveTransaction(transaction.open_table(TABLE).map_err(redb_error)?))?;
        transaction.commit().map_err(redb_error)?;
        Ok(result)
    }
}

/// One thread's handle.
pub(crate) struct RedbSession<'e> {
    engine: &'e Redb,
    /// The state of a walk.
    walking: Option<Walking>,
}

impl RedbSession<'_> {
    #[inline]
    fn run_in_transaction<R>(
        &self,
        body: impl FnOnce(&mut ActiveTransaction<'_>) -> Result<R>,
    ) -> Result<R> {
        self.engine.write(self.engine.commits, body)
    }
}

impl Session for RedbSession<'_> {
    #[inline]
    fn get<R>(&mut self, key: &[u8], visit: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        let table = self.engine.table()?;
        let value = table.get(key).map_err(redb_error)?;
        Ok(visit(value.as_ref().map(AccessGuard::value)))
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.run_in_transaction(|within| within.put(key, value))
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.run_in_transaction(|within| within.delete(key))
    }

    fn scan(
        &mut self,
        range: Range<'_>,
        visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64> {
        scan(&self.engine.table()?, &range, visit)
    }

    /// Walks in one snapshot from beginning to end, as programs do.
    fn walk(
        &mut self,
        walk: &mut Walk,
        limit: u64,
        visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64> {
        if limit == 0 {
            return Ok(0);
        }
        let mut walking = match self.walking.take().filter(|previous| previous.can_continue(walk)) {
            Some(previous) => previous,
            None => Walking::begin(&self.engine.table()?, walk)?,
        };
        let count = walking.show(walk, limit, visit)?;
        self.walking = walk.last_key().is_some().then_some(walking);
        Ok(count)
    }

    fn transaction<R>(
        &mut self,
        body: impl FnOnce(&mut dyn kvdyno_engine::Transaction) -> Result<R>,
    ) -> Result<R> {
        self.run_in_transaction(|within| body(within))
    }

    /// Reads all keys from one snapshot.
    fn multiget(
        &mut self,
        keys: &[&[u8]],
        mut visit: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        let table = self.engine.table()?;
        keys.iter().enumerate().try_for_each(|(index, &key)| {
            let value = table.get(key).map_err(redb_error)?;
            visit(index, value.as_ref().map(AccessGuard::value));
            Ok(())
        })
    }

    fn write(&mut self, writes: &[Write<'_>]) -> Result<()> {
        self.run_in_transaction(|within| {
            writes.iter().try_for_each(|write| match *write {
                Write::Put { key, value } => within.put(key, value),
                Write::Delete { key } => within.delete(key),
            })
        })
    }

    fn read_modify_write(
        &mut self,
        key: &[u8],
        buffer: &mut Vec<u8>,
        change: impl FnOnce(Option<&[u8]>, &mut Vec<u8>),
    ) -> Result<bool> {
        buffer.clear();
        self.run_in_transaction(|within| {
            let existed = {
                let old = within.0.get(key).map_err(redb_error)?;
                change(old.as_ref().map(AccessGuard::value), buffer);
                old.is_some()
            };
            within.put(key, buffer)?;
            Ok(existed)
        })
    }
}
