//! fjall's implementation of the two traits.

use crate::records::{Walking, fjall_error, show};
use crate::store::Store;
use crate::{describe, events};
use fjall::PersistMode;
use kvdyno_engine::{
    Counters, DataShape, Description, Engine, EngineEvent, Location, Options, Range, Result,
    Session, Settled, Transaction, Value, Walk, Write,
};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// An open database.
pub(crate) struct Fjall(pub(crate) Store);

impl Engine for Fjall {
    type Session<'e> = FjallSession<'e>;

    fn describe() -> Description {
        describe::description()
    }

    fn open(location: &Location, options: &Options, _data: &DataShape) -> Result<Self> {
        let settings = describe::settings(options)?;
        events::listen();
        Store::open(location.directory()?, settings).map(Self)
    }

    fn session(&self) -> Result<FjallSession<'_>> {
        Ok(FjallSession { store: &self.0, walking: None })
    }

    fn settle(&self, limit: Duration) -> Result<Settled> {
        const LONGEST: Duration = Duration::from_secs(u32::MAX as u64);
        let deadline = Instant::now() + limit.min(LONGEST);
        let mut idle = self.wait_until_idle(deadline);
        if idle && self.0.keyspace.rotate_memtable().map_err(fjall_error)? {
            idle = self.wait_until_idle(deadline);
        }
        let note = "rotate_memtable; no sealed memtable or queued flush, no compaction for 100 ms";
        Ok(Settled { idle, note: note.to_owned() })
    }

    fn sync(&self) -> Result<()> {
        self.0.database.persist(PersistMode::SyncAll).map_err(fjall_error)
    }

    /// Writes the journal, because fjall only logs an error when it is dropped.
    fn close(self) -> Result<()> {
        self.sync()
    }

    fn counters(&self) -> Counters {
        let Store { database, keyspace, .. } = &self.0;
        let mut counters = Counters::new();
        let mut count = |name: &str, value: u64| {
            counters.insert(name.to_owned(), Value::Integer(value));
        };
        count("cache_capacity", database.cache_capacity());
        count("cache_size", database.cache_size());
        count("write_buffer_size", database.write_buffer_size());
        count("journal_count", database.journal_count() as u64);
        count("outstanding_flushes", database.outstanding_flushes() as u64);
        count("active_compactions", database.active_compactions() as u64);
        count("compactions_completed", database.compactions_completed() as u64);
        count("time_compacting_us", database.time_compacting().as_micros() as u64);
        count("sealed_memtable_count", keyspace.sealed_memtable_count() as u64);
        count("table_count", keyspace.table_count() as u64);
        count("l0_table_count", keyspace.l0_table_count() as u64);
        count("blob_file_count", keyspace.blob_file_count() as u64);
        count("fragmented_blob_bytes", keyspace.fragmented_blob_bytes());
        count("keyspace_disk_space", keyspace.disk_space());
        if let Ok(bytes) = database.journal_disk_space() {
            count("journal_disk_space", bytes);
        }
        counters.extend(describe::effective(keyspace));
        counters
    }

    fn events(&self) -> Vec<EngineEvent> {
        events::drain()
    }
}

impl Fjall {
    /// Waits until nothing has been under way for a while; `false`: the deadline came first.
    fn wait_until_idle(&self, deadline: Instant) -> bool {
        const PAUSE: Duration = Duration::from_millis(10);
        const QUIET: u32 = 10;
        let Store { database, keyspace, .. } = &self.0;
        let mut quiet = 0;
        let mut completed = database.compactions_completed();
        while quiet < QUIET {
            let remaining = deadline.saturating_duration_since(Instant::now());
            if remaining.is_zero() {
                return false;
            }
            std::thread::sleep(PAUSE.min(remaining));
            let now = database.compactions_completed();
            let under_way = keyspace.sealed_memtable_count()
                + database.outstanding_flushes()
                + database.active_compactions();
            quiet = if under_way == 0 && now == completed { quiet + 1 } else { 0 };
            completed = now;
        }
        true
    }
}

/// One thread's handle.
pub(crate) struct FjallSession<'e> {
    store: &'e Store,
    /// The state of a walk.
    walking: Option<Walking>,
}

impl Session for FjallSession<'_> {
    #[inline]
    fn get<R>(&mut self, key: &[u8], visit: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        let value = self.store.keyspace.get(key).map_err(fjall_error)?;
        Ok(visit(value.as_deref()))
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.store.put(key, value)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.store.delete(key)
    }

    fn scan(
        &mut self,
        range: Range<'_>,
        visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64> {
        let mut way = self.store.keyspace.range::<&[u8], _>(range.bounds());
        Ok(show(&mut way, range.direction, range.limit, visit)?.0)
    }

    fn walk(
        &mut self,
        walk: &mut Walk,
        limit: u64,
        visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64> {
        if limit == 0 {
            return Ok(0);
        }
        let previous = self.walking.take().filter(|previous| previous.can_continue(walk));
        let mut walking = previous.unwrap_or_else(|| Walking::begin(&self.store.keyspace, walk));
        let count = walking.show(walk, limit, visit)?;
        self.walking = walk.last_key().is_some().then_some(walking);
        Ok(count)
    }

    fn transaction<R>(
        &mut self,
        body: impl FnOnce(&mut dyn Transaction) -> Result<R>,
    ) -> Result<R> {
        self.store.transaction(|within| body(within))
    }

    fn write(&mut self, writes: &[Write<'_>]) -> Result<()> {
        self.store.write(writes)
    }

    /// Runs in one transaction if the database has transactions.
    fn read_modify_write(
        &mut self,
        key: &[u8],
        buffer: &mut Vec<u8>,
        change: impl FnOnce(Option<&[u8]>, &mut Vec<u8>),
    ) -> Result<bool> {
        buffer.clear();
        if self.store.is_plain() {
            let old = self.store.keyspace.get(key).map_err(fjall_error)?;
            change(old.as_deref(), buffer);
            self.store.put(key, buffer)?;
            return Ok(old.is_some());
        }
        self.store.transaction(|within| {
            let mut change = Some(change);
            let mut existed = false;
            within.get_for_update(key, &mut |old| {
                existed = old.is_some();
                if let Some(change) = change.take() {
                    change(old, buffer);
                }
            })?;
            within.put(key, buffer)?;
            Ok(existed)
        })
    }
}
