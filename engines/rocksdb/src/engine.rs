//! `RocksDB` behind the two traits.

use crate::describe;
use crate::events::Events;
use crate::raw::{self, Short, ShortReader};
use kvdyno_engine::{
    Counters, DataShape, Description, Direction, Durability, Engine, EngineEvent, Error,
    ErrorClass, Options, Place, Result, Session, Settled, Value, Write,
};
use rocksdb::{
    BlockBasedOptions, BottommostLevelCompaction, Cache, ColumnFamily, ColumnFamilyDescriptor,
    CompactOptions, DB, ReadOptions, WriteBatch, WriteOptions,
};
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// The family of those who use none; named, because a multiget asks for it.
const FAMILY: &str = rocksdb::DEFAULT_COLUMN_FAMILY_NAME;

/// Values up to here are copied rather than pinned, see [`ShortReader`].
const SHORT_BYTES: u64 = 4096;

/// An open `RocksDB`.
pub(crate) struct RocksDb {
    db: DB,
    /// Kept for the statistics, which hang on it.
    options: rocksdb::Options,
    durability: Durability,
    compact_to_settle: bool,
    value_bytes_max: u64,
    directory: PathBuf,
    events: Events,
}

impl Engine for RocksDb {
    type Session<'e> = RocksDbSession<'e>;

    fn describe() -> Description {
        describe::description()
    }

    fn open(place: &Place, options: &Options, data: &DataShape) -> Result<Self> {
        let directory = place.directory()?.to_owned();
        check_open_files(options, data)?;
        let mut base = rocksdb::Options::default();
        base.set_block_based_table_factory(&table_with_cache(options, data)?);
        let described = raw::options_from_string(&base, &describe::options_string(options)?)?;
        // On top of the described ones, so that a nested `{..}` adds to them and does not replace.
        let mut effective = raw::options_from_string(&described, describe::own_options(options)?)?;
        if options.boolean("statistics")? {
            effective.enable_statistics();
        }
        let events = Events::default();
        events.listen(&effective);
        let family = ColumnFamilyDescriptor::new(FAMILY, effective.clone());
        let db = DB::open_cf_descriptors(&effective, &directory, [family]).map_err(failed)?;
        Ok(Self {
            db,
            options: effective,
            durability: options.durability,
            compact_to_settle: options.text("settle")? == "compact",
            value_bytes_max: data.value_bytes_max,
            directory,
            events,
        })
    }

    fn session(&self) -> Result<RocksDbSession<'_>> {
        let family = self.db.cf_handle(FAMILY).ok_or_else(|| {
            Error::new(ErrorClass::Other, "the database has no default column family")
        })?;
        let mut write = WriteOptions::default();
        write.set_sync(self.durability == Durability::Commit);
        write.disable_wal(self.durability == Durability::None);
        let short = (self.value_bytes_max <= SHORT_BYTES)
            .then(|| ShortReader::new(self.value_bytes_max as usize));
        Ok(RocksDbSession { db: &self.db, family, read: ReadOptions::default(), write, short })
    }

    /// Compactions first and the flush after them: a flush into a full level 0 would wait for them
    /// without a limit.
    fn settle(&self, limit: Duration) -> Result<Settled> {
        const LONGEST: Duration = Duration::from_secs(u32::MAX as u64);
        let deadline = Instant::now() + limit.min(LONGEST);
        let mut idle = self.wait_for_compact(deadline)?;
        if idle {
            self.db.flush().map_err(failed)?;
            idle = self.wait_for_compact(deadline)?;
        }
        if idle && self.compact_to_settle {
            idle = self.compact_everything(deadline) && self.wait_for_compact(deadline)?;
        }
        let manual = if self.compact_to_settle { ", CompactRange" } else { "" };
        Ok(Settled { idle, note: format!("WaitForCompact, Flush{manual}, WaitForCompact") })
    }

    fn sync(&self) -> Result<()> {
        match self.durability {
            Durability::None => self.db.flush().map_err(failed),
            Durability::Async | Durability::Commit => self.db.flush_wal(true).map_err(failed),
        }
    }

    fn close(self) -> Result<()> {
        if self.durability == Durability::None {
            self.db.flush().map_err(failed)?;
        }
        self.db.cancel_all_background_work(true);
        Ok(())
    }

    fn counters(&self) -> Counters {
        let mut counters = Counters::new();
        if let Some(statistics) = self.options.get_statistics() {
            counters.extend(statistics.lines().flat_map(statistic));
        }
        for &name in PROPERTIES {
            if let Ok(Some(value)) = self.db.property_int_value(name) {
                counters.insert(name.to_owned(), Value::Integer(value));
            }
        }
        for name in ["rocksdb.stats", "rocksdb.levelstats", "rocksdb.options-statistics"] {
            if let Ok(Some(text)) = self.db.property_value(name) {
                counters.insert(name.to_owned(), Value::Text(text));
            }
        }
        if let Some(text) = newest_options_file(&self.directory) {
            counters.insert("OPTIONS".to_owned(), Value::Text(text));
        }
        counters
    }

    fn events(&self) -> Vec<EngineEvent> {
        self.events.take()
    }
}

impl RocksDb {
    /// Whether background work came to rest in time.
    fn wait_for_compact(&self, deadline: Instant) -> Result<bool> {
        let left = deadline.saturating_duration_since(Instant::now());
        let mut wait = rocksdb::WaitForCompactOptions::default();
        // Zero would mean no limit.
        wait.set_timeout(left.as_micros().max(1) as u64);
        match self.db.wait_for_compact(&wait) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == rocksdb::ErrorKind::TimedOut => Ok(false),
            Err(error) => Err(failed(error)),
        }
    }

    /// As `db_bench`'s `compact`; says whether it was done in time. A manual compaction knows no
    /// limit, so it is called off at it.
    fn compact_everything(&self, deadline: Instant) -> bool {
        let mut options = CompactOptions::default();
        options.set_bottommost_level_compaction(BottommostLevelCompaction::ForceOptimized);
        let (done, finished) = channel();
        let in_time = std::thread::scope(|scope| {
            scope.spawn(|| {
                self.db.compact_range_opt(None::<&[u8]>, None::<&[u8]>, &options);
                // The receiver waits below or has given up; either way nothing is lost.
                let _ = done.send(());
            });
            let left = deadline.saturating_duration_since(Instant::now());
            let in_time = finished.recv_timeout(left).is_ok();
            if !in_time {
                raw::cancel_manual_compaction(&self.db);
            }
            in_time
        });
        if !in_time {
            raw::allow_manual_compaction(&self.db);
        }
        in_time
    }
}

fn table_with_cache(options: &Options, data: &DataShape) -> Result<BlockBasedOptions> {
    let mut table = BlockBasedOptions::default();
    let bytes = options.integer("block_cache")? as usize;
    if bytes > 0 {
        let entry = (options.integer("block_size")? + data.value_bytes_mean) as usize;
        table.set_block_cache(&match options.text("cache_type")? {
            "hyper_clock_cache" => Cache::new_hyper_clock_cache(bytes, entry),
            _ => Cache::new_lru_cache(bytes),
        });
    }
    Ok(table)
}

/// A run that hits the limit dies in its middle; better it does not start.
fn check_open_files(options: &Options, data: &DataShape) -> Result<()> {
    const OTHERS: u64 = 256;
    let limit = raw::open_files_limit()?;
    let needed = match options.integer("max_open_files")? {
        0 => 2 * data.user_bytes() / options.integer("target_file_size_base")?.max(1),
        files => files,
    };
    if needed + OTHERS <= limit {
        return Ok(());
    }
    let what = format!(
        "about {needed} table files would be open, but `ulimit -Hn` is {limit}: raise it, or set \
         max_open_files or a larger target_file_size_base"
    );
    Err(Error::new(ErrorClass::Invalid, what))
}

/// `name COUNT : 5` or `name P50 : 1.5 P95 : 2 ... SUM : 9`: a ticker under its name, a histogram's
/// figures under `name.P50` and so on.
fn statistic(line: &str) -> Vec<(String, Value)> {
    let Some((name, figures)) = line.split_once(' ') else { return Vec::new() };
    let words: Vec<_> = figures.split_ascii_whitespace().filter(|&word| word != ":").collect();
    let figure = |figure: &str| match figure.parse() {
        Ok(count) => Value::Integer(count),
        Err(_) => Value::Number(figure.parse().unwrap_or_default()),
    };
    match words.as_slice() {
        ["COUNT", count] => vec![(name.to_owned(), figure(count))],
        histogram => histogram
            .chunks_exact(2)
            .map(|pair| (format!("{name}.{}", pair[0]), figure(pair[1])))
            .collect(),
    }
}

/// What `RocksDB` really runs with, every default written out.
fn newest_options_file(directory: &Path) -> Option<String> {
    let names = std::fs::read_dir(directory).ok()?.flatten().map(|entry| entry.path());
    let newest = names.filter(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("OPTIONS-"))
    });
    std::fs::read_to_string(newest.max()?).ok()
}

const PROPERTIES: &[&str] = &[
    "rocksdb.actual-delayed-write-rate",
    "rocksdb.background-errors",
    "rocksdb.base-level",
    "rocksdb.block-cache-capacity",
    "rocksdb.block-cache-pinned-usage",
    "rocksdb.block-cache-usage",
    "rocksdb.compaction-pending",
    "rocksdb.cur-size-active-mem-table",
    "rocksdb.cur-size-all-mem-tables",
    "rocksdb.estimate-live-data-size",
    "rocksdb.estimate-num-keys",
    "rocksdb.estimate-pending-compaction-bytes",
    "rocksdb.estimate-table-readers-mem",
    "rocksdb.is-write-stopped",
    "rocksdb.live-sst-files-size",
    "rocksdb.mem-table-flush-pending",
    "rocksdb.num-files-at-level0",
    "rocksdb.num-files-at-level1",
    "rocksdb.num-files-at-level2",
    "rocksdb.num-files-at-level3",
    "rocksdb.num-files-at-level4",
    "rocksdb.num-files-at-level5",
    "rocksdb.num-files-at-level6",
    "rocksdb.num-immutable-mem-table",
    "rocksdb.num-live-versions",
    "rocksdb.num-running-compactions",
    "rocksdb.num-running-flushes",
    "rocksdb.size-all-mem-tables",
    "rocksdb.total-sst-files-size",
];

fn failed(error: rocksdb::Error) -> Error {
    classified(&error.into_string())
}

/// `RocksDB` says the class of an error in the first words of its message.
pub(crate) fn classified(message: &str) -> Error {
    let class = match message.split(':').next().unwrap_or_default() {
        _ if message.contains("No space left") => ErrorClass::Full,
        _ if message.contains("Cannot allocate memory") => ErrorClass::Memory,
        "IO error" => ErrorClass::Io,
        "Corruption" => ErrorClass::Corrupt,
        "Invalid argument" => ErrorClass::Invalid,
        "Not implemented" => ErrorClass::Unsupported,
        "Operation timed out" => ErrorClass::Unavailable,
        "Resource busy" | "Operation failed. Try again." => ErrorClass::Conflict,
        _ => ErrorClass::Other,
    };
    Error::new(class, message)
}

/// One thread's handle: options that are made once instead of for each call.
pub(crate) struct RocksDbSession<'e> {
    db: &'e DB,
    family: &'e ColumnFamily,
    read: ReadOptions,
    write: WriteOptions,
    /// Where values are short.
    short: Option<ShortReader>,
}

impl Session for RocksDbSession<'_> {
    #[inline]
    fn get<R>(&mut self, key: &[u8], seen: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        if let Some(reader) = &mut self.short {
            match reader.get(self.db, key)? {
                Short::Missing => return Ok(seen(None)),
                Short::Found(value) => return Ok(seen(Some(value))),
                Short::Longer => {}
            }
        }
        let pinned = self.db.get_pinned_opt(key, &self.read).map_err(failed)?;
        Ok(seen(pinned.as_deref()))
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.db.put_opt(key, value, &self.write).map_err(failed)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.db.delete_opt(key, &self.write).map_err(failed)
    }

    fn scan(
        &mut self,
        from: &[u8],
        direction: Direction,
        limit: u64,
        mut seen: impl FnMut(&[u8], &[u8]),
    ) -> Result<u64> {
        let mut iterator = self.db.raw_iterator();
        match direction {
            Direction::Forward => iterator.seek(from),
            Direction::Reverse => iterator.seek_for_prev(from),
        }
        let mut shown = 0;
        while shown < limit {
            let Some((key, value)) = iterator.item() else { break };
            seen(key, value);
            shown += 1;
            // Not past the last record asked for: its step would be paid for nothing.
            if shown < limit {
                match direction {
                    Direction::Forward => iterator.next(),
                    Direction::Reverse => iterator.prev(),
                }
            }
        }
        iterator.status().map_err(failed)?;
        Ok(shown)
    }

    fn multiget(
        &mut self,
        keys: &[&[u8]],
        mut seen: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        let keys = keys.iter().copied();
        let found = self.db.batched_multi_get_cf_opt(self.family, keys, false, &self.read);
        found.into_iter().enumerate().try_for_each(|(index, pinned)| {
            seen(index, pinned.map_err(failed)?.as_deref());
            Ok(())
        })
    }

    fn write(&mut self, writes: &[Write<'_>]) -> Result<()> {
        // Sequence number and count, then for each write its type and two lengths at most.
        const HEADER_BYTES: usize = 12;
        const WRITE_BYTES: usize = 1 + 5 + 5;
        let bytes = writes.iter().map(|write| match write {
            Write::Put { key, value } => WRITE_BYTES + key.len() + value.len(),
            Write::Delete { key } => WRITE_BYTES + key.len(),
        });
        let mut batch = WriteBatch::with_capacity_bytes(HEADER_BYTES + bytes.sum::<usize>());
        for write in writes {
            match *write {
                Write::Put { key, value } => batch.put(key, value),
                Write::Delete { key } => batch.delete(key),
            }
        }
        self.db.write_opt(batch, &self.write).map_err(failed)
    }
}
