//! fjall's three kinds of database behind the same calls: plain, with serial transactions, and with
//! concurrent transactions. All write to the same journal and the same tree.

use crate::describe::Settings;
use crate::records::{fjall_error, show};
use fjall::{
    Conflict, Database, Keyspace, OptimisticTxDatabase, OptimisticWriteTx, PersistMode, Readable,
    SingleWriterTxDatabase, SingleWriterTxKeyspace, SingleWriterWriteTx,
};
use kvdyno_engine::{Error, ErrorClass, Range, Records, Result, Transaction, ValueVisitor, Write};
use std::path::Path;

/// The longest key, and the longest value: lsm-tree panics at longer ones, when they are already in
/// the journal.
pub(crate) const KEY_BYTES_MAX: usize = u16::MAX as usize;
pub(crate) const VALUE_BYTES_MAX: usize = u32::MAX as usize;

/// An open database and its one keyspace.
pub(crate) struct Store {
    kind: Kind,
    pub(crate) database: Database,
    pub(crate) keyspace: Keyspace,
    /// How far each commit persists the journal; `None`: the journal stays in the process for a
    /// while.
    persist: Option<PersistMode>,
}

enum Kind {
    Plain,
    Serial(SingleWriterTxDatabase, SingleWriterTxKeyspace),
    Optimistic(OptimisticTxDatabase),
}

/// Opens a kind of database; a macro, because the trait that they share has no public name.
macro_rules! open {
    ($database:ty, $dir:expr, $settings:expr) => {
        <$database>::builder($dir)
            .cache_size($settings.cache_size)
            .journal_compression($settings.journal_compression)
            .max_journaling_size($settings.max_journaling_size)
            .max_cached_files(Some($settings.max_cached_files))
            .worker_threads($settings.worker_threads)
            .open()
            .map_err(fjall_error)
    };
}

impl Store {
    pub(crate) fn open(dir: &Path, settings: Settings) -> Result<Self> {
        let persist = settings.persist;
        Ok(match settings.transactions.as_str() {
            "serial" => {
                let serial = open!(SingleWriterTxDatabase, dir, settings)?;
                let database = serial.inner().clone();
                let keyspace = open_keyspace(&database, settings)?;
                let name = keyspace.name().to_string();
                let shared = serial.keyspace(&name, Default::default).map_err(fjall_error)?;
                Self { kind: Kind::Serial(serial, shared), database, keyspace, persist }
            }
            "optimistic" => {
                let optimistic = open!(OptimisticTxDatabase, dir, settings)?;
                let database = optimistic.inner().clone();
                let keyspace = open_keyspace(&database, settings)?;
                Self { kind: Kind::Optimistic(optimistic), database, keyspace, persist }
            }
            _ => {
                let database = open!(Database, dir, settings)?;
                let keyspace = open_keyspace(&database, settings)?;
                Self { kind: Kind::Plain, database, keyspace, persist }
            }
        })
    }

    #[inline]
    pub(crate) fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        if !matches!(self.kind, Kind::Plain) {
            return self.transaction(|within| within.put(key, value));
        }
        refuse(key, value)?;
        self.keyspace.insert(key, value).map_err(fjall_error)?;
        self.persist_write()
    }

    pub(crate) fn delete(&self, key: &[u8]) -> Result<()> {
        if !matches!(self.kind, Kind::Plain) {
            return self.transaction(|within| within.delete(key));
        }
        refuse(key, &[])?;
        self.keyspace.remove(key).map_err(fjall_error)?;
        self.persist_write()
    }

    /// Persists a single write as far as the class needs. The keyspace's option has done so
    /// already, except for a sync: it writes to the operating system, or not at all.
    #[inline]
    fn persist_write(&self) -> Result<()> {
        match self.persist {
            None | Some(PersistMode::Buffer) => Ok(()),
            Some(mode) => self.database.persist(mode).map_err(fjall_error),
        }
    }

    pub(crate) fn write(&self, writes: &[Write<'_>]) -> Result<()> {
        if !matches!(self.kind, Kind::Plain) {
            return self.transaction(|within| {
                writes.iter().try_for_each(|write| match *write {
                    Write::Put { key, value } => within.put(key, value),
                    Write::Delete { key } => within.delete(key),
                })
            });
        }
        let mut batch = self.database.batch().durability(self.persist);
        for write in writes {
            refuse(write.key(), write.value().unwrap_or_default())?;
            match *write {
                Write::Put { key, value } => batch.insert(&self.keyspace, key, value),
                Write::Delete { key } => batch.remove(&self.keyspace, key),
            }
        }
        batch.commit().map_err(fjall_error)
    }

    /// Commits the writes of `body` if it succeeds. A dropped transaction leaves nothing.
    pub(crate) fn transaction<R>(
        &self,
        body: impl FnOnce(&mut ActiveTransaction<'_>) -> Result<R>,
    ) -> Result<R> {
        let begun = match &self.kind {
            Kind::Plain => {
                return Err(Error::unsupported("transactions with `transactions = off`"));
            }
            Kind::Serial(database, keyspace) => {
                WriteTx::Serial(database.write_tx().durability(self.persist), keyspace)
            }
            Kind::Optimistic(database) => {
                let begun = database.write_tx().map_err(fjall_error)?;
                WriteTx::Optimistic(begun.durability(self.persist), &self.keyspace)
            }
        };
        let mut within = ActiveTransaction(begun);
        let result = body(&mut within)?;
        match within.0 {
            WriteTx::Serial(begun, _) => begun.commit().map_err(fjall_error)?,
            WriteTx::Optimistic(begun, _) => {
                begun.commit().map_err(fjall_error)?.map_err(|Conflict| {
                    Error::new(ErrorClass::Conflict, "its reads were changed before its commit")
                })?;
            }
        }
        Ok(result)
    }

    /// Returns whether plain reads and writes can be combined without a transaction.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self.kind, Kind::Plain)
    }
}

/// Opens the one keyspace. It keeps the options that it was created with, so its name shows whether
/// its writes go to the operating system by themselves.
fn open_keyspace(database: &Database, settings: Settings) -> Result<Keyspace> {
    let (name, other) = match settings.persist {
        None => ("manual", "records"),
        Some(_) => ("records", "manual"),
    };
    if database.keyspace_exists(other) {
        return Err(Error::invalid(
            "the database was made with another manual_journal_persist: class none cannot share \
             one with async or commit",
        ));
    }
    database.keyspace(name, || settings.keyspace).map_err(fjall_error)
}

#[inline]
fn refuse(key: &[u8], value: &[u8]) -> Result<()> {
    if !key.is_empty() && key.len() <= KEY_BYTES_MAX && value.len() <= VALUE_BYTES_MAX {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "a key of {} bytes and a value of {}: keys have 1 to {KEY_BYTES_MAX} bytes, values up to \
         {VALUE_BYTES_MAX}",
        key.len(),
        value.len()
    )))
}

/// A transaction under way.
pub(crate) struct ActiveTransaction<'s>(WriteTx<'s>);

enum WriteTx<'s> {
    Serial(SingleWriterWriteTx<'s>, &'s SingleWriterTxKeyspace),
    Optimistic(OptimisticWriteTx, &'s Keyspace),
}

impl Transaction for ActiveTransaction<'_> {
    fn get(&mut self, key: &[u8], visit: &mut ValueVisitor<'_>) -> Result<()> {
        let value = match &self.0 {
            WriteTx::Serial(begun, keyspace) => begun.get(keyspace, key),
            WriteTx::Optimistic(begun, keyspace) => begun.get(keyspace, key),
        };
        visit(value.map_err(fjall_error)?.as_deref());
        Ok(())
    }

    /// Reads as `get`: an optimistic transaction compares all its reads at its commit.
    fn get_for_update(&mut self, key: &[u8], visit: &mut ValueVisitor<'_>) -> Result<()> {
        self.get(key, visit)
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        refuse(key, value)?;
        match &mut self.0 {
            WriteTx::Serial(begun, keyspace) => begun.insert(keyspace, key, value),
            WriteTx::Optimistic(begun, keyspace) => begun.insert(*keyspace, key, value),
        }
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        refuse(key, &[])?;
        match &mut self.0 {
            WriteTx::Serial(begun, keyspace) => begun.remove(keyspace, key),
            WriteTx::Optimistic(begun, keyspace) => begun.remove(*keyspace, key),
        }
        Ok(())
    }

    fn scan(&mut self, range: Range<'_>, visit: &mut Records<'_>) -> Result<u64> {
        let mut way = match &self.0 {
            WriteTx::Serial(begun, keyspace) => begun.range::<&[u8], _>(keyspace, range.bounds()),
            WriteTx::Optimistic(begun, keyspace) => {
                begun.range::<&[u8], _>(keyspace, range.bounds())
            }
        };
        Ok(show(&mut way, range.direction, range.limit, visit)?.0)
    }
}
