//! The `Engine` trait for `RocksDB`; sessions are in `session.rs`.

use crate::cache::BlockCache;
use crate::database::{Database, OpenOptions, Semantics};
use crate::describe;
use crate::events::Events;
use crate::existing::{self, newest_options_file};
use crate::families::Families;
use crate::library::{self, RocksLibrary};
use crate::samples::Samples;
use crate::session::{ReadCalls, RocksDbSession};
use crate::transactions;
use kvdyno_engine::{
    Counters, DataShape, Description, Durability, Engine, EngineEvent, Error, Location, Options,
    Result, Settled, Value,
};
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Numbers of `PerfLevel`, the same in all versions.
const PERF_DISABLE: i32 = 1;
const PERF_ENABLE_COUNT: i32 = 2;

/// An open `RocksDB`.
pub(crate) struct RocksDb {
    database: Arc<Database>,
    durability: Durability,
    compact_to_settle: bool,
    value_bytes_max: u64,
    perf_level: i32,
    calls: ReadCalls,
    directory: PathBuf,
    events: Events,
    /// The samples of the statistics; `None`: they are off.
    samples: Option<Samples>,
    /// A compaction that exceeded its limit and could not be cancelled.
    compacting: Mutex<Option<JoinHandle<()>>>,
}

impl Engine for RocksDb {
    type Session<'e> = RocksDbSession<'e>;

    fn use_library(path: Option<&Path>) -> Result<()> {
        library::load(path).map(drop)
    }

    fn describe() -> Description {
        describe::description(library::load(None))
    }

    fn open(location: &Location, options: &Options, data: &DataShape) -> Result<Self> {
        let library = library::load(None)?;
        let api = &library.api;
        let directory = location.directory()?.to_owned();
        check_open_files(options, data)?;
        let base = OpenOptions::new(api, BlockCache::from_options(options, data)?.as_ref())?;
        let described = base.with(&describe::options_string(options)?)?;
        // The user's options go on top of the described ones, so that a nested `{..}` adds to them
        // and does not replace them.
        let effective = described.with(describe::user_options(options)?)?;
        let samples = options.boolean("statistics")?.then(|| {
            effective.enable_statistics();
            Samples::default()
        });
        let semantics = semantics(library, options)?;
        let expires = matches!(semantics, Semantics::Expiring { .. });
        existing::refuse_other_semantics(&directory, describe::user_options(options)?, expires)?;
        let families = Families::from_dir(library, &effective, &directory, options)?;
        let events = Events::listen(api, &effective, &directory);
        let database = Database::open(effective, &directory, &families, semantics)?;
        Ok(Self {
            database: Arc::new(database),
            durability: options.durability,
            compact_to_settle: options.text("settle")? == "compact",
            value_bytes_max: data.value_bytes_max,
            perf_level: match options.text("perf_level")? {
                "disable" => PERF_DISABLE,
                _ => PERF_ENABLE_COUNT,
            },
            calls: ReadCalls::from_options(options)?,
            directory,
            events,
            samples,
            compacting: Mutex::default(),
        })
    }

    fn session(&self) -> Result<RocksDbSession<'_>> {
        let Self { database, durability, value_bytes_max, perf_level, calls, .. } = self;
        Ok(RocksDbSession::new(database, *durability, *value_bytes_max, *perf_level, *calls))
    }

    /// Waits for compactions before it flushes: a flush into a full level 0 would wait for them
    /// without a limit.
    fn settle(&self, limit: Duration) -> Result<Settled> {
        const LONGEST: Duration = Duration::from_secs(u32::MAX as u64);
        let deadline = Instant::now() + limit.min(LONGEST);
        let database = &self.database;
        let mut idle = database.wait_for_compact(deadline)?;
        if idle {
            database.flush()?;
            idle = database.wait_for_compact(deadline)?;
        }
        if idle && self.compact_to_settle {
            idle = self.compact_everything(deadline)? && database.wait_for_compact(deadline)?;
        }
        let manual = if self.compact_to_settle { ", CompactRange" } else { "" };
        let wait = database.wait_name();
        Ok(Settled { idle, note: format!("{wait}, Flush{manual}, {wait}") })
    }

    fn sync(&self) -> Result<()> {
        match self.durability {
            Durability::None => self.database.flush(),
            Durability::Async | Durability::Commit => self.database.sync_log(),
        }
    }

    fn close(self) -> Result<()> {
        if self.durability == Durability::None {
            self.database.flush()?;
        }
        self.database.cancel_background_work();
        let compacting = self.compacting.into_inner().ok().flatten();
        // The cancelling ends the thread; a panic of it would have been printed.
        compacting.map(JoinHandle::join);
        Ok(())
    }

    fn counters(&self) -> Counters {
        let mut counters = Counters::new();
        if let Some(statistics) = self.database.statistics() {
            counters.extend(statistics.lines().flat_map(statistic));
        }
        for name in PROPERTIES.split(' ').map(|name| format!("rocksdb.{name}")) {
            if let Some(value) = self.database.number(&name) {
                counters.insert(name, Value::Integer(value));
            }
        }
        for name in ["rocksdb.stats", "rocksdb.levelstats", "rocksdb.options-statistics"] {
            if let Some(text) = self.database.text(name) {
                counters.insert(name.to_owned(), Value::Text(text));
            }
        }
        if let Some(text) = newest_options_file(&self.directory) {
            counters.insert("OPTIONS".to_owned(), Value::Text(text));
        }
        counters
    }

    fn events(&self) -> Vec<EngineEvent> {
        let mut events = self.events.drain();
        events.extend(self.samples.as_ref().and_then(|samples| samples.sample(&self.database)));
        events
    }
}

impl RocksDb {
    /// Compacts everything, as `db_bench`'s `compact`; returns whether that ended in time. A manual
    /// compaction has no limit, so it is cancelled at the limit. If the library cannot cancel it,
    /// it continues in the background until the database is closed, and the engine does not count
    /// as idle.
    fn compact_everything(&self, deadline: Instant) -> Result<bool> {
        let (done, finished) = channel();
        let database = Arc::clone(&self.database);
        let thread = std::thread::Builder::new().name("rocksdb-compact".to_owned());
        let compaction = thread.spawn(move || {
            database.compact_everything();
            // The receiver waits below or has given up; either way nothing is lost.
            let _ = done.send(());
        })?;
        let remaining = deadline.saturating_duration_since(Instant::now());
        let in_time = finished.recv_timeout(remaining).is_ok();
        if in_time {
            let _ = compaction.join();
        } else if self.database.cancel_manual_compaction() {
            let _ = compaction.join();
            self.database.allow_manual_compaction();
        } else if let Ok(mut compacting) = self.compacting.lock() {
            *compacting = Some(compaction);
        }
        Ok(in_time)
    }
}

/// Returns the kind of database that the options ask for.
fn semantics(library: &'static RocksLibrary, options: &Options) -> Result<Semantics> {
    let seconds = options.integer("db_ttl").unwrap_or(0);
    match transactions::parse_transactions(library, options)? {
        Some(_) if seconds > 0 => Err(Error::invalid(
            "expected transactions = off beside db_ttl: RocksDB's database with a time to live has \
             none",
        )),
        Some(open) => Ok(Semantics::Transactions(open)),
        None if seconds > 0 => Ok(Semantics::Expiring { seconds: seconds as i32 }),
        None => Ok(Semantics::Plain),
    }
}

/// Returns how many files this process may have open, after it raises the soft limit to the hard
/// one: a default of 1024 is soon used up.
fn open_files_limit() -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }).is_ok();
    if raised { maximum } else { current }.unwrap_or(u64::MAX)
}

/// Refuses a run at the start that would hit the limit of open files midway.
fn check_open_files(options: &Options, data: &DataShape) -> Result<()> {
    const OTHERS: u64 = 256;
    let limit = open_files_limit();
    let needed = match options.integer("max_open_files")? {
        0 => 2 * data.user_bytes() / options.integer("target_file_size_base")?.max(1),
        files => files,
    };
    if needed + OTHERS <= limit {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "expected `ulimit -Hn` of at least {needed} (open table files), found {limit}: raise it, \
         or set max_open_files or a larger target_file_size_base"
    )))
}

/// Parses `name COUNT : 5` or `name P50 : 1.5 P95 : 2 ... SUM : 9`: a ticker under its name, a
/// histogram's figures under `name.P50` and so on.
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

/// The properties that are numbers, without the `rocksdb.` before each name.
const PROPERTIES: &str = "\
    actual-delayed-write-rate background-errors base-level block-cache-capacity \
    block-cache-pinned-usage block-cache-usage compaction-pending cur-size-active-mem-table \
    cur-size-all-mem-tables estimate-live-data-size estimate-num-keys \
    estimate-pending-compaction-bytes estimate-table-readers-mem is-write-stopped \
    live-sst-files-size mem-table-flush-pending num-files-at-level0 num-files-at-level1 \
    num-files-at-level2 num-files-at-level3 num-files-at-level4 num-files-at-level5 \
    num-files-at-level6 num-immutable-mem-table num-live-versions num-running-compactions \
    num-running-flushes size-all-mem-tables total-sst-files-size num-blob-files \
    live-blob-file-size live-blob-file-garbage-size total-blob-file-size";
