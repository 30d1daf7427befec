//! The engine that does nothing and finds every key, so that its figures are the load generator's
//! own cost; and, by its options, the engine that misbehaves on request, so that the checks that
//! find it can be tested.

use crate::flight::{Answer, Flight};
use crate::script::Script;
use crate::store::{self, Store};
use kvdyno_engine::{
    BatchKind, Capabilities, Counters, DataShape, Description, Durability, Engine, EngineEvent,
    Error, ErrorClass, Location, OptionSpec, Options, Planning, PowerLoss, Range, Records, Result,
    Session, Settled, Transaction, Transactions, ValueVisitor, Write,
};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Duration;

/// The null engine.
#[derive(Debug)]
pub(crate) struct Null {
    /// The value of every key.
    value: Vec<u8>,
    script: Script,
    /// The records; `None` unless `store = memory`.
    store: Option<Store>,
    /// Memory that counts against the RAM limit.
    _memory: Vec<u8>,
}

impl Engine for Null {
    type Session<'e> = NullSession<'e>;

    fn describe() -> Description {
        let durability = [Durability::None, Durability::Async, Durability::Commit]
            .map(|class| (class, PowerLoss::LosesAll, "nothing is written"));
        Description {
            name: "null".to_owned(),
            title: "Null".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            build: BTreeMap::new(),
            capabilities: Capabilities {
                delete: true,
                scan_forward: true,
                scan_reverse: true,
                native_multiget: true,
                batch: BatchKind::Atomic,
                transactions: Transactions::Serial,
                stores_nothing: true,
                pipelined: true,
                ..Capabilities::minimal(durability)
            },
            options: options(),
            planning: Planning { space_factor: 0.0, write_factor: 0.0, ram_bytes_min: 1 << 20 },
        }
    }

    fn open(location: &Location, options: &Options, data: &DataShape) -> Result<Self> {
        let store = match options.text("store")? {
            "memory" => Some(Store::open(location.directory()?)?),
            _ => None,
        };
        Ok(Self {
            value: vec![b'v'; data.value_bytes_mean as usize],
            script: Script::new(options)?,
            store,
            _memory: allocate_touched(options.integer("memory_bytes")?)?,
        })
    }

    fn session(&self) -> Result<NullSession<'_>> {
        let plain = self.store.is_none() && self.script.is_empty();
        Ok(NullSession { engine: self, value: &self.value, plain, flight: Flight::default() })
    }

    fn settle(&self, _limit: Duration) -> Result<Settled> {
        Ok(Settled::at_once())
    }

    fn sync(&self) -> Result<()> {
        self.store.as_ref().map_or(Ok(()), Store::save)
    }

    fn close(self) -> Result<()> {
        self.script.wait_for_close();
        self.sync()
    }

    fn counters(&self) -> Counters {
        let mut counters = Counters::new();
        if !self.script.is_empty() {
            counters.insert("operations".to_owned(), self.script.operations().into());
        }
        if let Some(store) = &self.store {
            counters.insert("records".to_owned(), store.records().into());
        }
        counters
    }

    fn events(&self) -> Vec<EngineEvent> {
        self.script.events.drain()
    }
}

fn options() -> Vec<OptionSpec> {
    let count = |name: &str, max: u64, help: &str| OptionSpec::count(name, max, 0, help);
    vec![
        count("latency_ns", 1_000_000_000, "Busy-wait in each operation."),
        count(
            "lose_permille",
            1000,
            "Per mille of the keys, by a hash, that are never found, for tests of the checks.",
        ),
        count(
            "fail_permille",
            1000,
            "Of the operations, evenly spread, that return an error of class other.",
        ),
        count(
            "conflict_permille",
            1000,
            "Of the operations, evenly spread, that meet a conflict: they are tried again.",
        ),
        count(
            "pause_at_op",
            u64::MAX,
            "The operation, counted over all sessions from 1, that takes pause_ms; 0: none.",
        ),
        count("pause_ms", u64::MAX, "Length of that one pause."),
        count("hang_at_op", u64::MAX, "The operation that never returns; 0: none."),
        count("close_ms", u64::MAX, "How long its close takes."),
        count(
            "spins",
            1_000_000,
            "Turns of an empty loop in each operation: as many instructions on any machine.",
        ),
        OptionSpec::bytes(
            "memory_bytes",
            0,
            "Memory allocated and touched at open, to meet a RAM limit.",
        ),
        OptionSpec::choice(
            "store",
            &["none", "memory"],
            "memory: records are kept in an ordered map, and in one file when closed.",
        ),
    ]
}

/// Allocates memory and writes each page once, because the kernel would not count it otherwise.
fn allocate_touched(bytes: u64) -> Result<Vec<u8>> {
    let bytes = bytes as usize;
    let mut memory = Vec::new();
    memory.try_reserve_exact(bytes).map_err(|error| {
        Error::new(ErrorClass::Memory, format!("allocating {bytes} bytes: {error}"))
    })?;
    memory.resize(bytes, 1);
    Ok(memory)
}

/// One thread's handle.
#[derive(Debug)]
pub(crate) struct NullSession<'e> {
    engine: &'e Null,
    value: &'e [u8],
    /// Whether all options have their defaults: each operation then costs this one predictable
    /// branch.
    plain: bool,
    flight: Flight,
}

impl NullSession<'_> {
    #[cold]
    fn scripted_get<R>(&self, key: &[u8], visit: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        let Null { script, store, value, .. } = self.engine;
        script.step()?;
        if script.is_lost(key) {
            return Ok(visit(None));
        }
        Ok(match store {
            None => visit(Some(value)),
            Some(store) => visit(store.read().get(key).map(Vec::as_slice)),
        })
    }

    #[cold]
    fn scripted_write(&self, writes: &[Write<'_>]) -> Result<()> {
        self.engine.script.step()?;
        if let Some(store) = &self.engine.store {
            store.write(writes);
        }
        Ok(())
    }
}

impl Session for NullSession<'_> {
    fn submit_get(&mut self, ticket: u32, key: &[u8]) -> Result<()> {
        let answer = if self.plain {
            Ok(Answer::Value)
        } else {
            self.scripted_get(key, |value| {
                value.map_or(Answer::Nothing, |value| Answer::Stored(value.to_vec()))
            })
        };
        self.flight.queue_answer(ticket, answer);
        Ok(())
    }

    fn submit_put(&mut self, ticket: u32, key: &[u8], value: &[u8]) -> Result<()> {
        let answer = self.put(key, value).map(|()| Answer::Nothing);
        self.flight.queue_answer(ticket, answer);
        Ok(())
    }

    fn send(&mut self) -> Result<()> {
        self.flight.send();
        Ok(())
    }

    fn complete(&mut self, done: impl FnMut(u32, Result<Option<&[u8]>>)) -> Result<usize> {
        Ok(self.flight.complete(self.value, done))
    }

    #[inline]
    fn get<R>(&mut self, key: &[u8], visit: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        if self.plain { Ok(visit(Some(self.value))) } else { self.scripted_get(key, visit) }
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        if self.plain { Ok(()) } else { self.scripted_write(&[Write::Put { key, value }]) }
    }

    #[inline]
    fn delete(&mut self, key: &[u8]) -> Result<()> {
        if self.plain { Ok(()) } else { self.scripted_write(&[Write::Delete { key }]) }
    }

    fn scan(
        &mut self,
        range: Range<'_>,
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64> {
        let Null { script, store, value, .. } = self.engine;
        if !self.plain {
            script.step()?;
        }
        let Some(store) = store else {
            return Ok(as_many_as_asked_for(range, value, &mut visit));
        };
        Ok(store::scan(&store.read(), range, |key, value| {
            (!script.is_lost(key)).then(|| visit(key, value))
        }))
    }

    /// Runs a transaction; with a store, one at a time.
    fn transaction<R>(
        &mut self,
        body: impl FnOnce(&mut dyn Transaction) -> Result<R>,
    ) -> Result<R> {
        if !self.plain {
            self.engine.script.step()?;
        }
        match &self.engine.store {
            None => body(&mut Nothing(self.value)),
            Some(store) => store.transaction(body),
        }
    }

    #[inline]
    fn write(&mut self, writes: &[Write<'_>]) -> Result<()> {
        if self.plain { Ok(()) } else { self.scripted_write(writes) }
    }
}

/// Shows as many records as requested without having any, so that only the load generator's cost
/// remains.
fn as_many_as_asked_for(range: Range<'_>, value: &[u8], visit: &mut Records<'_>) -> u64 {
    let key = range.from.unwrap_or_default();
    let broken_off = (0..range.limit).find(|_| visit(key, value).is_break());
    broken_off.map_or(range.limit, |index| index + 1)
}

/// A transaction that finds every key and keeps nothing.
struct Nothing<'e>(&'e [u8]);

impl Transaction for Nothing<'_> {
    fn get(&mut self, _key: &[u8], visit: &mut ValueVisitor<'_>) -> Result<()> {
        visit(Some(self.0));
        Ok(())
    }

    fn get_for_update(&mut self, key: &[u8], visit: &mut ValueVisitor<'_>) -> Result<()> {
        self.get(key, visit)
    }

    fn put(&mut self, _key: &[u8], _value: &[u8]) -> Result<()> {
        Ok(())
    }

    fn delete(&mut self, _key: &[u8]) -> Result<()> {
        Ok(())
    }

    fn scan(&mut self, range: Range<'_>, visit: &mut Records<'_>) -> Result<u64> {
        Ok(as_many_as_asked_for(range, self.0, visit))
    }
}
