//! The description of `SQLite`, its options, and the settings that follow from options and
//! durability class.

use kvdyno_engine::{
    BatchKind, Capabilities, DataShape, Description, Durability, Error, OptionSpec, Options,
    Planning, PowerLoss, Result, Transactions,
};
use std::collections::BTreeMap;

/// Returns the description. `version`, `source` and `options` are as the linked library reports
/// them.
pub(crate) fn description(version: String, source: String, options: &str) -> Description {
    Description {
        name: "sqlite".to_owned(),
        title: "SQLite".to_owned(),
        version,
        build: BTreeMap::from([
            ("crate".to_owned(), "libsqlite3-sys 0.40, bundled sources".to_owned()),
            ("source_id".to_owned(), source),
            ("compile_options".to_owned(), options.to_owned()),
            (
                "at_run_time".to_owned(),
                "SQLITE_OPEN_NOMUTEX (a connection a thread), SQLITE_CONFIG_MEMSTATUS 0".to_owned(),
            ),
        ]),
        capabilities: capabilities(),
        options: self::options(),
        // Random load of 100 000 x 16/100 bytes, each record a commit, in class async: the file is
        // 1.2 times the data, 1.6 with its log, and 99 times the data is written, most of it to the
        // log; in class none 2.2 times. Keys that come in random order leave pages half empty at
        // worst.
        planning: Planning { space_factor: 2.2, write_factor: 100.0, ram_bytes_min: 32 << 20 },
    }
}

fn capabilities() -> Capabilities {
    Capabilities {
        delete: true,
        scan_forward: true,
        scan_reverse: true,
        batch: BatchKind::Atomic,
        atomic_read_modify_write: true,
        transactions: Transactions::Serial,
        concurrent_writers: Some(1),
        // SQLITE_MAX_LENGTH is 10^9 for a row as a whole.
        value_bytes_max: Some(999_000_000),
        ..Capabilities::minimal([
            (
                Durability::None,
                PowerLoss::Damages,
                "synchronous = OFF; journal_mode = MEMORY unless set: the journal of a transaction \
                 is in memory, so that a process killed in a commit leaves a damaged file; nothing \
                 is synced",
            ),
            (
                Durability::Async,
                PowerLoss::LosesLast,
                "journal_mode = WAL with synchronous = NORMAL: commits are written to the log, \
                 which only a checkpoint syncs; they survive a killed process, a power loss takes \
                 the last of them and damages nothing (with delete, truncate or persist: \
                 synchronous = OFF, and a power loss can damage the file)",
            ),
            (
                Durability::Commit,
                PowerLoss::Keeps,
                "journal_mode = WAL with synchronous = FULL: each commit syncs the log (with \
                 delete, truncate or persist: synchronous = EXTRA, which syncs the directory too)",
            ),
        ])
        .except(Durability::Async, "journal_mode", "delete", PowerLoss::Damages)
        .except(Durability::Async, "journal_mode", "truncate", PowerLoss::Damages)
        .except(Durability::Async, "journal_mode", "persist", PowerLoss::Damages)
        .except(Durability::Async, "synchronous", "off", PowerLoss::Damages)
    }
}

fn options() -> Vec<OptionSpec> {
    [database(), memory_and_locks()].concat()
}

/// Returns the options of the file and its journal.
fn database() -> Vec<OptionSpec> {
    vec![
        OptionSpec::choice(
            "journal_mode",
            &["auto", "wal", "delete", "truncate", "persist", "memory", "off"],
            "auto: memory in class none, else wal; memory and off are for class none alone. With \
             off nothing can be rolled back: there are no transactions, and a batch that fails \
             leaves a damaged file.",
        )
        .engine_default("delete", "sqlite.org/pragma.html#pragma_journal_mode")
        .tuned(
            "wal",
            "Significantly faster in most scenarios, and readers do not block writers.",
            "sqlite.org/wal.html",
        ),
        OptionSpec::choice(
            "synchronous",
            &["auto", "off", "normal", "full", "extra"],
            "auto: the least that the durability class needs. Class commit refuses less; with off, \
             a power loss can damage the file.",
        ),
        OptionSpec::text("file", "kv.sqlite", "Name of the database's file in its directory."),
        OptionSpec::text(
            "table_name",
            "kv",
            "Table that is measured. An empty database gets it; in another one it must exist.",
        ),
        OptionSpec::text(
            "key_column",
            "k",
            "Column of the keys: the primary key, or one with a unique index. Keys are bound as \
             text or as blobs, as the first key is.",
        ),
        OptionSpec::text(
            "value_column",
            "v",
            "Column of the values. Puts change no other column of a record.",
        ),
        OptionSpec::choice(
            "table",
            &["without_rowid", "rowid"],
            "Kind of a table that is created. without_rowid: one B-tree with key and value; rowid: \
             the values in a B-tree by number, and an index from keys to numbers.",
        )
        .engine_default("rowid", "sqlite.org/withoutrowid.html"),
        OptionSpec::bytes("page_size", 4096, "Of the file; a power of two from 512 to 65536."),
    ]
}

/// Returns the options of caches, checkpoints, and how sessions take turns.
fn memory_and_locks() -> Vec<OptionSpec> {
    vec![
        OptionSpec::bytes(
            "cache_size",
            0,
            "Page caches of all connections together, dealt out evenly among the sessions: each \
             has a cache of its own. 0: SQLite's 2000 KiB each.",
        )
        .tuned(
            "25%",
            "Pages in it need no system call. No map (mmap_size) in its place: with four times \
             more data than memory the kernel's readahead left 115 reads a second here.",
            "sqlite.org/pragma.html#pragma_cache_size",
        ),
        OptionSpec::bytes(
            "mmap_size",
            0,
            "Bytes of the file that are read through a map instead of by read(2); an I/O error in \
             them is a SIGBUS. Changes in the log are not in the map.",
        ),
        OptionSpec::count(
            "wal_autocheckpoint",
            i32::MAX as u64,
            1000,
            "Pages in the log at which a commit runs a checkpoint, within its own time; 0: only \
             settling and closing run one.",
        ),
        OptionSpec::choice(
            "locking_mode",
            &["normal", "exclusive"],
            "exclusive: file locks are acquired once and kept, and the log has no shared memory; \
             for one session.",
        ),
        OptionSpec::choice(
            "writers",
            &["queue", "busy_timeout"],
            "How concurrent writers wait: in the queue of a lock of the process, or by retries on \
             the locked file every 1 to 100 ms (sqlite3_busy_timeout).",
        )
        .engine_default("busy_timeout", "sqlite.org/c3ref/busy_timeout.html"),
        OptionSpec::count(
            "busy_timeout",
            i32::MAX as u64,
            10_000,
            "Milliseconds of retries for a lock on the file; then SQLITE_BUSY, a conflict.",
        ),
    ]
}

/// The values of PRAGMAs, in the order in which they must be set.
pub(crate) struct Settings {
    pub(crate) pragmas: Vec<(&'static str, String)>,
    pub(crate) journal: Journal,
}

/// The journal that makes a commit atomic.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Journal {
    /// New pages are written to the log.
    Wal,
    /// Old pages are written to the journal.
    Rollback,
    /// Nothing is written.
    Off,
}

/// Returns the file's name, which must not lead out of the database's directory.
pub(crate) fn file(options: &Options) -> Result<&str> {
    let name = options.text("file")?;
    if name.is_empty() || name.contains('/') || name == ".." {
        return Err(Error::invalid(format!("file: expected a name without `/`, found `{name}`")));
    }
    Ok(name)
}

pub(crate) fn settings(options: &Options, data: &DataShape) -> Result<Settings> {
    let class = options.durability;
    let journal_mode = match options.text("journal_mode")? {
        "auto" if class == Durability::None => "memory",
        "auto" => "wal",
        word => word,
    };
    let journal = match journal_mode {
        "wal" => Journal::Wal,
        "off" => Journal::Off,
        _ => Journal::Rollback,
    };
    if class != Durability::None && ["memory", "off"].contains(&journal_mode) {
        let class = class.as_str();
        return Err(Error::invalid(format!(
            "journal_mode = {journal_mode} is for durability none, not {class}: a process killed \
             in a commit leaves a damaged file"
        )));
    }
    let page_size = options.integer("page_size")?;
    if !page_size.is_power_of_two() || !(512..=65536).contains(&page_size) {
        return Err(Error::invalid(format!(
            "page_size: expected a power of two from 512 to 65536, found {page_size}"
        )));
    }
    let locking_mode = options.text("locking_mode")?;
    if locking_mode == "exclusive" && data.sessions > 1 {
        return Err(Error::invalid(format!(
            "locking_mode = exclusive: expected one session, found {}",
            data.sessions
        )));
    }
    let mut pragmas = vec![
        ("busy_timeout", options.integer("busy_timeout")?.to_string()),
        ("page_size", page_size.to_string()),
        ("locking_mode", locking_mode.to_owned()),
        ("journal_mode", journal_mode.to_owned()),
        ("synchronous", synchronous(options, journal, journal_mode)?.to_string()),
        ("mmap_size", options.integer("mmap_size")?.to_string()),
    ];
    let cache = options.integer("cache_size")? / 1024 / u64::from(data.sessions.max(1));
    if options.integer("cache_size")? > 0 {
        // Negative: KiB instead of pages.
        pragmas.push(("cache_size", format!("-{}", cache.max(1))));
    }
    Ok(Settings { pragmas, journal })
}

/// Returns the number of a value of `synchronous`; refuses one that is too weak for the class.
fn synchronous(options: &Options, journal: Journal, journal_mode: &str) -> Result<usize> {
    const WORDS: [&str; 4] = ["off", "normal", "full", "extra"];
    let least = match (options.durability, journal) {
        (Durability::Async, Journal::Wal) => "normal",
        (Durability::None | Durability::Async, _) => "off",
        (Durability::Commit, Journal::Wal) => "full",
        (Durability::Commit, _) => "extra",
    };
    let level = |word: &str| WORDS.iter().position(|other| *other == word).unwrap_or_default();
    let word = options.text("synchronous")?;
    if word == "auto" {
        return Ok(level(least));
    }
    // A killed process leaves its writes in the page cache, synced or not.
    let survives_a_kill = options.durability != Durability::Commit;
    if survives_a_kill || level(word) >= level(least) {
        return Ok(level(word));
    }
    let class = options.durability.as_str();
    Err(Error::invalid(format!(
        "durability {class} with journal_mode = {journal_mode}: expected synchronous = {least}, \
         found {word}"
    )))
}
