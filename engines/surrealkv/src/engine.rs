//! surrealkv's implementation of the two traits. All of its reads and writes are transactions: one
//! for each call, as in an application that always reads the newest data.

use crate::describe;
use crate::events;
use crate::transaction::{ActiveTransaction, scan, surrealkv_error};
use kvdyno_engine::{
    Counters, DataShape, Description, Durability, Engine, EngineEvent, Error, ErrorClass, Location,
    Options, Range, Result, Session, Settled, Value, Write,
};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};
use surrealkv::{CompactRangeOptions, Mode, Transaction, Tree};
use tokio::runtime::{Builder, Runtime};

/// An open tree.
pub(crate) struct SurrealKv {
    pub(crate) tree: Tree,
    durability: surrealkv::Durability,
    /// The runtime of the tree's flushes, compactions and commits. It is dropped after the tree,
    /// which closes on it.
    runtime: Runtime,
}

impl Engine for SurrealKv {
    type Session<'e> = SurrealKvSession<'e>;

    fn describe() -> Description {
        describe::description()
    }

    fn open(location: &Location, options: &Options, _data: &DataShape) -> Result<Self> {
        let durability = match options.durability {
            Durability::Commit => surrealkv::Durability::Immediate,
            Durability::None | Durability::Async => surrealkv::Durability::Eventual,
        };
        events::listen();
        let mut runtime = Builder::new_multi_thread();
        if let threads @ 1.. = options.integer("worker_threads")? {
            runtime.worker_threads(threads as usize);
        }
        let runtime = runtime.thread_name("surrealkv").enable_time().build()?;
        let engine_options = describe::surrealkv_options(location.directory()?, options)?;
        let tree = {
            // The tree spawns its tasks on the runtime that this thread has entered.
            let _entered = runtime.enter();
            surrealkv::TreeBuilder::with_options(engine_options).build().map_err(surrealkv_error)?
        };
        Ok(Self { tree, durability, runtime })
    }

    fn session(&self) -> Result<SurrealKvSession<'_>> {
        Ok(SurrealKvSession { engine: self })
    }

    /// Flushes the memtable, and waits until no flush or compaction has run for a while.
    fn settle(&self, limit: Duration) -> Result<Settled> {
        const LONGEST: Duration = Duration::from_secs(u32::MAX as u64);
        let deadline = Instant::now() + limit.min(LONGEST);
        let mut idle = events::wait_until_idle(deadline);
        if idle {
            let flush = CompactRangeOptions {
                flush_memtable: true,
                target_level: Some(0),
                rewrite_bottommost: false,
            };
            self.tree.compact_range(None, None, &flush).map_err(surrealkv_error)?;
            idle = events::wait_until_idle(deadline);
        }
        let note = "compact_range to level 0 (a flush); no flush or compaction for 100 ms";
        Ok(Settled { idle, note: note.to_owned() })
    }

    fn sync(&self) -> Result<()> {
        self.tree.flush_wal(true).map_err(surrealkv_error)
    }

    fn close(self) -> Result<()> {
        self.runtime.block_on(self.tree.close()).map_err(surrealkv_error)
    }

    fn counters(&self) -> Counters {
        let error = self.tree.background_error().map(|error| error.error.to_string());
        Counters::from([
            ("background_error_count".to_owned(), self.tree.background_error_count().into()),
            ("background_error".to_owned(), Value::Text(error.unwrap_or_default())),
            ("is_stopped".to_owned(), Value::Boolean(self.tree.is_stopped())),
        ])
    }

    fn events(&self) -> Vec<EngineEvent> {
        events::drain()
    }
}

/// One thread's handle.
pub(crate) struct SurrealKvSession<'e> {
    engine: &'e SurrealKv,
}

impl SurrealKvSession<'_> {
    #[inline]
    fn begin(&self, mode: Mode) -> Result<Transaction> {
        let begun = self.engine.tree.begin_with_mode(mode).map_err(surrealkv_error)?;
        Ok(begun.with_durability(self.engine.durability))
    }

    /// Commits a transaction. The commit is a task of the runtime, which answers this thread.
    #[inline]
    fn commit(&self, mut transaction: Transaction) -> Result<()> {
        self.engine.runtime.block_on(transaction.commit()).map_err(surrealkv_error)
    }

    /// Performs writes that depend on no read. Repeats them if another transaction has written the
    /// same key in the meantime.
    fn write_with_retry(&self, body: impl Fn(&mut Transaction) -> Result<()>) -> Result<()> {
        loop {
            let mut transaction = self.begin(Mode::WriteOnly)?;
            body(&mut transaction)?;
            match self.commit(transaction) {
                Err(Error { class: ErrorClass::Conflict, .. }) => {}
                other => return other,
            }
        }
    }
}

impl Session for SurrealKvSession<'_> {
    #[inline]
    fn get<R>(&mut self, key: &[u8], visit: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        let transaction = self.begin(Mode::ReadOnly)?;
        Ok(visit(transaction.get(key).map_err(surrealkv_error)?.as_deref()))
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.write_with_retry(|transaction| transaction.set(key, value).map_err(surrealkv_error))
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.write_with_retry(|transaction| transaction.delete(key).map_err(surrealkv_error))
    }

    fn scan(
        &mut self,
        range: Range<'_>,
        visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64> {
        scan(&self.begin(Mode::ReadOnly)?, &range, visit)
    }

    fn transaction<R>(
        &mut self,
        body: impl FnOnce(&mut dyn kvdyno_engine::Transaction) -> Result<R>,
    ) -> Result<R> {
        let mut within = ActiveTransaction(self.begin(Mode::ReadWrite)?);
        let result = body(&mut within)?;
        self.commit(within.0)?;
        Ok(result)
    }

    /// Reads all keys from one snapshot.
    fn multiget(
        &mut self,
        keys: &[&[u8]],
        mut visit: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        let transaction = self.begin(Mode::ReadOnly)?;
        keys.iter().enumerate().try_for_each(|(index, &key)| {
            visit(index, transaction.get(key).map_err(surrealkv_error)?.as_deref());
            Ok(())
        })
    }

    fn write(&mut self, writes: &[Write<'_>]) -> Result<()> {
        self.write_with_retry(|transaction| {
            writes.iter().try_for_each(|write| {
                match *write {
                    Write::Put { key, value } => transaction.set(key, value),
                    Write::Delete { key } => transaction.delete(key),
                }
                .map_err(surrealkv_error)
            })
        })
    }

    /// Runs one transaction, which ends in a conflict if another one wrote the key before its
    /// commit.
    fn read_modify_write(
        &mut self,
        key: &[u8],
        buffer: &mut Vec<u8>,
        change: impl FnOnce(Option<&[u8]>, &mut Vec<u8>),
    ) -> Result<bool> {
        buffer.clear();
        let mut transaction = self.begin(Mode::ReadWrite)?;
        let old = transaction.get(key).map_err(surrealkv_error)?;
        change(old.as_deref(), buffer);
        transaction.set(key, buffer.as_slice()).map_err(surrealkv_error)?;
        self.commit(transaction)?;
        Ok(old.is_some())
    }
}
