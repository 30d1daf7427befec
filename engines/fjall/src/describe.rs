//! The description of fjall, its options, and their translation to fjall's own.

use crate::store::{KEY_BYTES_MAX, VALUE_BYTES_MAX};
use fjall::compaction::Leveled;
use fjall::config::{BlockSizePolicy, CompressionPolicy};
use fjall::{CompressionType, Keyspace, KeyspaceCreateOptions, KvSeparationOptions, PersistMode};
use kvdyno_engine::{
    BatchKind, Capabilities, Counters, Description, Durability, Error, OptionSpec, Options,
    Planning, PowerLoss, Result, Transactions, Value,
};
use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) fn description() -> Description {
    Description {
        name: "fjall".to_owned(),
        title: "fjall".to_owned(),
        version: "3.1.13".to_owned(),
        build: BTreeMap::from([
            ("crate".to_owned(), "fjall 3.1.13, lsm-tree 3.1.10".to_owned()),
            ("binary".to_owned(), "pure Rust, linked statically, feature lz4".to_owned()),
        ]),
        capabilities: capabilities(),
        options: options(),
        // Random load of 1 M x 16/100 bytes, with journals: 2.0 times the data on the volume at
        // most (1.4 at rest), 2.4 times written, before any level below the first is full; with
        // 4000-byte values 1.4 and 2.1 times. Memory is that of the memtables.
        planning: Planning { space_factor: 2.5, write_factor: 5.0, ram_bytes_min: 144 << 20 },
    }
}

fn capabilities() -> Capabilities {
    Capabilities {
        delete: true,
        scan_forward: true,
        scan_reverse: true,
        // After a crash a batch is whole or missing. A concurrent `get` may find half of it, since
        // it reads at no snapshot (`Keyspace::get` in fjall's source; the kit finds it).
        batch: BatchKind::Together,
        transactions: Transactions::Optimistic,
        key_bytes_max: Some(KEY_BYTES_MAX as u64),
        value_bytes_max: Some(VALUE_BYTES_MAX as u64),
        ..Capabilities::minimal([
            (
                Durability::None,
                PowerLoss::LosesLast,
                "manual_journal_persist: the journal's last 8 KiB and more stay in this process's \
                 buffer, and are lost with it",
            ),
            (
                Durability::Async,
                PowerLoss::LosesLast,
                "PersistMode::Buffer, fjall's default: each write goes into the journal by a \
                 system call, none is flushed",
            ),
            (
                Durability::Commit,
                PowerLoss::Keeps,
                "persist(PersistMode::SyncAll) after each write, or SyncData (persist_mode): fsync \
                 of the journal under its lock, one writer after the other",
            ),
        ])
    }
}

fn options() -> Vec<OptionSpec> {
    [memory_and_journal(), tables()].concat()
}

/// Returns the options of memory and the journal.
fn memory_and_journal() -> Vec<OptionSpec> {
    vec![
        OptionSpec::bytes(
            "cache_size",
            32 << 20,
            "Cache of blocks and blobs, shared by all keyspaces of the database.",
        )
        .tuned(
            "25%",
            "20 to 25 % of the memory, more only where the data fits as a whole.",
            "fjall 3.1, DatabaseBuilder::cache_size; README, Memory usage",
        ),
        OptionSpec::bytes(
            "max_memtable_size",
            64 << 20,
            "Size at which a memtable is sealed and flushed; writes stop while four are sealed.",
        )
        .tuned(
            "5%",
            "Four that are sealed and the one that is written stay at a quarter of the memory.",
            "fjall 3.1, KeyspaceCreateOptions::max_memtable_size; README, Memory usage",
        ),
        OptionSpec::bytes(
            "max_journaling_size",
            512 << 20,
            "Size of all journals that has memtables flushed early; 64 MiB at least.",
        ),
        OptionSpec::choice(
            "journal_compression",
            &["lz4", "none"],
            "Compression of values of 4 KiB and more in the journal.",
        ),
    ]
}

/// Returns the options of tables and of the database.
fn tables() -> Vec<OptionSpec> {
    vec![
        OptionSpec::choice(
            "data_block_compression",
            &["lz4", "none"],
            "Compression of data blocks; lz4 is fjall's policy: none in levels 0 and 1, LZ4 below.",
        ),
        OptionSpec::bytes("data_block_size", 4096, "Uncompressed size of a data block."),
        OptionSpec::flag(
            "expect_point_read_hits",
            false,
            "No filters in the last level, where most of their memory is: for reads that mostly \
             find their key.",
        ),
        OptionSpec::bytes(
            "table_target_size",
            64 << 20,
            "Size of a table file; level 1 has room for l0_threshold of them. Compaction is \
             leveled: fjall 3 has no size-tiered one.",
        ),
        OptionSpec::count("l0_threshold", 255, 4, "Tables in level 0 that start a compaction."),
        OptionSpec::count("level_ratio", 100, 10, "Size of a level against the one above."),
        OptionSpec::bytes(
            "separation_threshold",
            0,
            "Values of this size and more go into blob files of their own; 0: none does.",
        ),
        OptionSpec::count(
            "worker_threads",
            1024,
            0,
            "Threads for flushes and compactions; 0: one a processor, four at most.",
        ),
        OptionSpec::count("max_cached_files", 1 << 20, 900, "Files kept open; 10 at least."),
        OptionSpec::choice(
            "persist_mode",
            &["sync_all", "sync_data"],
            "fsync or fdatasync of the journal, in class commit.",
        )
        .tuned(
            "sync_data",
            "For where fdatasync is enough: Linux writes with it all that reading the data needs.",
            "fjall 3.1, PersistMode::SyncData",
        ),
        OptionSpec::choice(
            "transactions",
            &["off", "serial", "optimistic"],
            "Kind of the database: Database, SingleWriterTxDatabase or OptimisticTxDatabase; with \
             the latter two every single write is a transaction as well.",
        ),
    ]
}

/// The options as fjall takes them.
pub(crate) struct Settings {
    pub(crate) cache_size: u64,
    pub(crate) journal_compression: CompressionType,
    pub(crate) max_journaling_size: u64,
    pub(crate) max_cached_files: usize,
    pub(crate) worker_threads: usize,
    pub(crate) keyspace: KeyspaceCreateOptions,
    pub(crate) persist: Option<PersistMode>,
    pub(crate) transactions: String,
}

pub(crate) fn settings(options: &Options) -> Result<Settings> {
    const PROCESSORS_MAX: usize = 4;
    let persist = match (options.durability, options.text("persist_mode")?) {
        (Durability::None, _) => None,
        (Durability::Async, _) => Some(PersistMode::Buffer),
        (Durability::Commit, "sync_data") => Some(PersistMode::SyncData),
        (Durability::Commit, _) => Some(PersistMode::SyncAll),
    };
    let worker_threads = match options.integer("worker_threads")? {
        0 => std::thread::available_parallelism().map_or(1, |all| all.get().min(PROCESSORS_MAX)),
        threads => threads as usize,
    };
    Ok(Settings {
        cache_size: options.integer("cache_size")?,
        journal_compression: match options.text("journal_compression")? {
            "lz4" => CompressionType::Lz4,
            _ => CompressionType::None,
        },
        max_journaling_size: integer_at_least(options, "max_journaling_size", 64 << 20)?,
        max_cached_files: integer_at_least(options, "max_cached_files", 10)? as usize,
        worker_threads,
        keyspace: keyspace(options)?.manual_journal_persist(persist.is_none()),
        persist,
        transactions: options.text("transactions")?.to_owned(),
    })
}

fn keyspace(options: &Options) -> Result<KeyspaceCreateOptions> {
    let ratio = integer_at_least(options, "level_ratio", 2)?;
    let leveled = Leveled::default()
        .with_table_target_size(integer_at_least(options, "table_target_size", 1 << 20)?)
        .with_l0_threshold(integer_at_least(options, "l0_threshold", 1)? as u8)
        .with_level_ratio_policy(vec![ratio as f32]);
    let mut keyspace = KeyspaceCreateOptions::default()
        .max_memtable_size(integer_at_least(options, "max_memtable_size", 1 << 20)?)
        .data_block_size_policy(BlockSizePolicy::all(
            integer_at_least(options, "data_block_size", 1 << 10)?.min(1 << 20) as u32,
        ))
        .expect_point_read_hits(options.boolean("expect_point_read_hits")?)
        .compaction_strategy(Arc::new(leveled));
    if options.text("data_block_compression")? == "none" {
        keyspace = keyspace.data_block_compression_policy(CompressionPolicy::disabled());
    }
    if let bytes @ 1.. = options.integer("separation_threshold")? {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let separation = KvSeparationOptions::default().separation_threshold(bytes);
        keyspace = keyspace.with_kv_separation(Some(separation));
    }
    Ok(keyspace)
}

/// Returns a number; refuses one below `least`, where fjall panics or cannot work.
fn integer_at_least(options: &Options, name: &str, least: u64) -> Result<u64> {
    match options.integer(name)? {
        value if value >= least => Ok(value),
        value => Err(Error::invalid(format!("{name}: expected at least {least}, found {value}"))),
    }
}

/// Returns the options that a keyspace was created with, which it keeps.
pub(crate) fn effective(keyspace: &Keyspace) -> Counters {
    let config = &keyspace.config;
    Counters::from(
        [
            ("data_block_size_policy", format!("{:?}", config.data_block_size_policy)),
            (
                "data_block_compression_policy",
                format!("{:?}", config.data_block_compression_policy),
            ),
            ("filter_policy", format!("{:?}", config.filter_policy)),
            ("expect_point_read_hits", config.expect_point_read_hits.to_string()),
            ("compaction_strategy", config.compaction_strategy.get_name().to_owned()),
            ("kv_separation_opts", format!("{:?}", config.kv_separation_opts)),
        ]
        .map(|(name, text)| (name.to_owned(), Value::Text(text))),
    )
}
