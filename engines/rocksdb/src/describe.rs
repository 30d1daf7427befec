//! The description of `RocksDB`: its capabilities, and its options under `RocksDB`'s own names.

use crate::cache::AUTO;
use crate::families::DEFAULT_FAMILY;
use crate::library::RocksLibrary;
use crate::presets::with_presets;
use kvdyno_engine::{
    BatchKind, Capabilities, Description, Durability, Error, OptionSpec, Options, Planning,
    PowerLoss, Result, Transactions, Value,
};
use std::collections::BTreeMap;

/// Returns the description of the library in use. `Err` in `library`: the reason why there is none.
pub(crate) fn description(library: Result<&RocksLibrary>) -> Description {
    let (version, build, lacks) = match library {
        Ok(library) => {
            let facts = library.facts();
            (
                facts.version.clone(),
                facts.build.clone(),
                unsupported_values(library, line(&facts.version)),
            )
        }
        Err(error) => {
            let why = BTreeMap::from([("library".to_owned(), error.message)]);
            ("unknown".to_owned(), why, Vec::new())
        }
    };
    Description {
        name: "rocksdb".to_owned(),
        title: "RocksDB".to_owned(),
        build,
        capabilities: capabilities(),
        options: OPTIONS
            .iter()
            .filter(|Entry(name, ..)| !lacks.contains(name))
            .map(|entry| with_presets(entry.spec(&lacks), line(&version)))
            .collect(),
        // Random load of 1 M x 16/100 bytes, no compression: the files peak at 2.25 times the data
        // while compacting, and with buffers so small that there are five levels 5.6 times the data
        // is written. A level that is ten times the one above adds up to ten, on average half.
        // With a limit of 123 MiB, 47 of it caches and buffers, two of four trials of `field` were
        // killed: more than 76 MiB beside them.
        version,
        planning: Planning { space_factor: 2.5, write_factor: 15.0, ram_bytes_min: 80 << 20 },
    }
}

fn capabilities() -> Capabilities {
    Capabilities {
        delete: true,
        scan_forward: true,
        scan_reverse: true,
        native_multiget: true,
        batch: BatchKind::Atomic,
        transactions: Transactions::Locking,
        library: true,
        value_bytes_max: Some(u64::from(u32::MAX)),
        ..Capabilities::minimal([
            (
                Durability::None,
                PowerLoss::LosesLast,
                "WriteOptions.disableWAL = true: no write-ahead log; a crash of the process loses \
                 what is in the memtables; sync and close flush them",
            ),
            (
                Durability::Async,
                PowerLoss::LosesLast,
                "WriteOptions.sync = false: the write-ahead log is handed to the operating system, \
                 not synced",
            ),
            (
                Durability::Commit,
                PowerLoss::Keeps,
                "WriteOptions.sync = true: the write-ahead log is synced (fdatasync) before the \
                 call returns",
            ),
        ])
    }
}

/// The first line of releases that all have the cache that sizes itself.
const AUTO_CACHE_SINCE: u64 = 9;

/// The first line of releases with a usable time to live. Before it, a lookup of several keys
/// returns values with their times behind them, and OPTIONS does not say that there are times.
const TTL_SINCE: u64 = 9;

/// Returns the first number of a version.
fn line(version: &str) -> u64 {
    version.split('.').next().and_then(|line| line.parse().ok()).unwrap_or_default()
}

/// Returns the option values that the library does not support: a suite with one is refused before
/// it begins.
fn unsupported_values(library: &RocksLibrary, line: u64) -> Vec<&'static str> {
    let available = &library.facts().compressions;
    // If the library does not report them, all may be tried.
    let compressions = ["snappy", "zlib", "lz4", "zstd"].into_iter();
    let mut lacks: Vec<_> =
        compressions.filter(|name| !available.is_empty() && !available.contains(name)).collect();
    lacks.extend(library.api.cache_create_hyper_clock.is_none().then_some("hyper_clock_cache"));
    let shards = library.api.lru_cache_options_set_num_shard_bits;
    lacks.extend(shards.is_none().then(|| SHARD_BITS[1..].to_vec()).into_iter().flatten());
    lacks.extend(library.api.get_into_buffer.is_none().then_some("get_into_buffer"));
    lacks.extend(library.api.batched_multi_get_cf.is_none().then_some("batched_multi_get_cf"));
    // Older releases refuse a cache without a size of its entries.
    lacks.extend((line < AUTO_CACHE_SINCE).then_some("auto_hyper_clock_cache"));
    lacks.extend((line < TTL_SINCE).then_some("db_ttl"));
    let transactions = library.transactions.as_ref();
    lacks.extend(transactions.is_none().then_some("optimistic"));
    let locking = transactions.and_then(|api| api.transactiondb_get_base_db);
    lacks.extend(locking.is_none().then_some("pessimistic"));
    lacks
}

/// The part of `RocksDB`'s options that has an option.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Home {
    /// `DBOptions` or `ColumnFamilyOptions`, set by name.
    Options,
    /// `BlockBasedTableOptions`, set by name.
    Table,
    /// `CompactionOptionsUniversal`, set by name.
    Universal,
    /// Needs code: see [`options_string`] and the engine.
    Code,
}

enum Default {
    Flag(bool),
    Bytes(u64),
    Count(u64),
    Words(&'static [&'static str]),
    Text(&'static str),
}

struct Entry(&'static str, Home, Default, &'static str);

impl Entry {
    fn spec(&self, lacks: &[&str]) -> OptionSpec {
        let Self(name, _, default, help) = self;
        match default {
            Default::Flag(on) => OptionSpec::flag(name, *on, help),
            Default::Bytes(bytes) => OptionSpec::bytes(name, *bytes, help),
            Default::Count(count) => OptionSpec::count(name, i32::MAX as u64, *count, help),
            Default::Words(words) => {
                let supported = words.iter().copied().filter(|word| !lacks.contains(word));
                OptionSpec::choice(name, &supported.collect::<Vec<_>>(), help)
            }
            Default::Text(text) => OptionSpec::text(name, text, help),
        }
    }
}

/// The values of `cache_numshardbits`, exponents of two; `RocksDB` accepts no larger one.
const SHARD_BITS: &[&str] = &[
    AUTO, "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15",
    "16", "17", "18", "19",
];

/// Defaults are `RocksDB`'s own of the 11 line, for every version: versions are compared at the
/// same settings. A version's own default is one more option to set.
#[rustfmt::skip]
const OPTIONS: &[Entry] = &[
    Entry("column_family", Home::Code, Default::Text("default"), "Column family that is measured. One that is missing is created only in a new database. All column families of a database are opened with the same options."),
    Entry("block_cache", Home::Code, Default::Bytes(32 << 20), "Capacity of the block cache; 0: none."),
    Entry("cache_type", Home::Code, Default::Words(&["lru_cache", "hyper_clock_cache", "auto_hyper_clock_cache"]), "Kind of the block cache; hyper clock caches scale to many threads, with a configured or an automatic size of entries."),
    Entry("cache_numshardbits", Home::Code, Default::Words(SHARD_BITS), "Shards of the block cache, as a power of two; auto: RocksDB chooses. Versions whose C API has no call for it have only auto."),
    Entry("bloom_bits", Home::Code, Default::Count(0), "Bits per key of a full Bloom filter; 0: no filter."),
    Entry("perf_level", Home::Code, Default::Words(&["enable_count", "disable"]), "PerfLevel of the threads that read and write; db_bench's do not count."),
    Entry("short_gets", Home::Code, Default::Words(&["get_into_buffer", "get_pinned"]), "Call that reads a value of up to 4 KiB: copied into a buffer (rocksdb_get_into_buffer, of late versions) or pinned, as longer ones always are. Several versions in one run take a call that all have."),
    Entry("multigets", Home::Code, Default::Words(&["batched_multi_get_cf", "multi_get"]), "Call that looks several keys up. Several versions in one run take a call that all have."),
    Entry("transactions", Home::Code, Default::Words(&["off", "optimistic", "pessimistic"]), "Kind of the database: plain, OptimisticTransactionDB, or TransactionDB; with the last every single write is a transaction as well."),
    Entry("db_ttl", Home::Code, Default::Count(0), "Seconds after which a compaction drops a record (DBWithTTL, rocksdb_open_with_ttl): one time to live for all records of the database; until that compaction they are found. 0: a plain database. From RocksDB 9 on; not with transactions."),
    Entry("optimize_filters_for_memory", Home::Table, Default::Flag(true), "Filters of sizes that the allocator keeps without waste."),
    Entry("block_size", Home::Table, Default::Bytes(4096), "Uncompressed size of a data block."),
    Entry("cache_index_and_filter_blocks", Home::Table, Default::Flag(false), "Keep index and filter blocks in the block cache instead of outside it."),
    Entry("pin_l0_filter_and_index_blocks_in_cache", Home::Table, Default::Flag(false), "Pin those of level 0 in the cache."),
    Entry("compression", Home::Code, Default::Words(&["snappy", "none", "zlib", "lz4", "zstd"]), "Compression of data blocks."),
    Entry("bottommost_compression", Home::Code, Default::Words(&["same", "none", "snappy", "zlib", "lz4", "zstd"]), "Compression of the last level, where most of the data is; same: as the others."),
    Entry("memtable", Home::Code, Default::Words(&["skip_list", "vector"]), "Memtable; vector is for bulk loads by one thread."),
    Entry("compaction_style", Home::Code, Default::Words(&["level", "universal"]), "Leveled or tiered compaction."),
    Entry("universal_size_ratio", Home::Universal, Default::Count(1), "Of tiered compaction: percent by which the next file may be larger and is merged all the same."),
    Entry("universal_min_merge_width", Home::Universal, Default::Count(2), "Of tiered compaction: files merged at least."),
    Entry("universal_max_merge_width", Home::Universal, Default::Count(0), "Of tiered compaction: files merged at most; 0: any number."),
    Entry("universal_max_size_amplification_percent", Home::Universal, Default::Count(200), "Of tiered compaction: percent of space beyond the last file's at which everything is merged."),
    Entry("enable_blob_files", Home::Options, Default::Flag(false), "BlobDB: values apart from keys, in blob files."),
    Entry("min_blob_size", Home::Options, Default::Bytes(0), "Shortest value that goes to a blob file."),
    Entry("blob_file_size", Home::Options, Default::Bytes(256 << 20), "Size at which a blob file is closed."),
    Entry("blob_compression_type", Home::Code, Default::Words(&["none", "snappy", "lz4", "zstd"]), "Compression of values in blob files."),
    Entry("enable_blob_garbage_collection", Home::Options, Default::Flag(false), "Compactions move what is live out of old blob files."),
    Entry("blob_garbage_collection_age_cutoff_percent", Home::Code, Default::Count(25), "Share of the oldest blob files that garbage is collected from."),
    Entry("write_buffer_size", Home::Options, Default::Bytes(64 << 20), "Size at which a memtable is flushed."),
    Entry("max_write_buffer_number", Home::Options, Default::Count(2), "Most memtables before writes stop."),
    Entry("min_write_buffer_number_to_merge", Home::Options, Default::Count(1), "Memtables flushed together."),
    Entry("target_file_size_base", Home::Options, Default::Bytes(64 << 20), "File size of level 1."),
    Entry("max_bytes_for_level_base", Home::Options, Default::Bytes(256 << 20), "Size of level 1."),
    Entry("max_bytes_for_level_multiplier", Home::Options, Default::Count(10), "Size of a level against the one above."),
    Entry("num_levels", Home::Options, Default::Count(7), "Number of levels."),
    Entry("level_compaction_dynamic_level_bytes", Home::Options, Default::Flag(true), "Level sizes from the last level upwards."),
    Entry("level0_file_num_compaction_trigger", Home::Options, Default::Count(4), "Files in level 0 that start a compaction."),
    Entry("level0_slowdown_writes_trigger", Home::Options, Default::Count(20), "Files in level 0 that slow writes down."),
    Entry("level0_stop_writes_trigger", Home::Options, Default::Count(36), "Files in level 0 that stop writes."),
    Entry("disable_auto_compactions", Home::Options, Default::Flag(false), "No compaction but a manual one."),
    Entry("max_background_jobs", Home::Options, Default::Count(2), "Threads for flushes and compactions."),
    Entry("max_subcompactions", Home::Options, Default::Count(1), "Threads in one compaction."),
    Entry("max_open_files", Home::Code, Default::Count(0), "Table files kept open; 0: all (RocksDB's -1)."),
    Entry("use_direct_reads", Home::Options, Default::Flag(false), "O_DIRECT for reads by sessions and compactions: only the block cache caches them."),
    Entry("use_direct_io_for_flush_and_compaction", Home::Options, Default::Flag(false), "O_DIRECT for writes of flushes and compactions, not of the write-ahead log."),
    Entry("allow_mmap_reads", Home::Options, Default::Flag(false), "Map table files instead of reading them."),
    Entry("bytes_per_sync", Home::Options, Default::Bytes(0), "Start writeback of table files every so many bytes; 0: leave it to the system."),
    Entry("wal_bytes_per_sync", Home::Options, Default::Bytes(0), "The same for the write-ahead log."),
    Entry("delayed_write_rate", Home::Options, Default::Bytes(0), "Bytes per second of writes that are slowed down; 0: 16 MiB, or what RocksDB's rate limiter permits."),
    Entry("enable_pipelined_write", Home::Options, Default::Flag(false), "Log and memtable writes of different threads overlap."),
    Entry("statistics", Home::Code, Default::Flag(false), "Tickers and histograms in the record, and the growth of stalls, block cache hits and compaction bytes on the time line, once a slice; at a cost to every operation."),
    Entry("settle", Home::Code, Default::Words(&["wait", "compact"]), "What settling does: wait for running compactions, or compact everything first as db_bench's `compact`."),
    Entry("options", Home::Code, Default::Text(""), "Any other options in RocksDB's own form, `a=1;b=2`; applied last. None that put files elsewhere (wal_dir, db_paths, ...), or break the durability class (manual_wal_flush, best_efforts_recovery)."),
];

/// Options for paths outside the database's directory: a run must not write there, and cannot clean
/// up there.
const ELSEWHERE: &[&str] = &["wal_dir", "db_log_dir", "db_paths", "cf_paths", "env"];

/// Flags that break what durability classes promise. The first leaves the log in the process until
/// a sync: one in class commit writes it all the same. The second ignores the log when a database
/// is opened.
const BREAKING: &[(&str, &[Durability])] = &[
    ("manual_wal_flush", &[Durability::Async]),
    ("best_efforts_recovery", &[Durability::Async, Durability::Commit]),
];

/// Returns the user's own options, in `RocksDB`'s form.
pub(crate) fn user_options(options: &Options) -> Result<&str> {
    let text = options.text("options")?;
    for part in text.split([';', '{', '}']) {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let (name, on) = (name.trim(), !["false", "0"].contains(&value.trim()));
        let breaks =
            |(flag, classes): &(_, &[_])| *flag == name && classes.contains(&options.durability);
        let why = if ELSEWHERE.contains(&name) {
            "put files outside the database's directory"
        } else if on && BREAKING.iter().any(breaks) {
            "break the durability class"
        } else {
            continue;
        };
        return Err(Error::invalid(format!("options: {name} would {why}")));
    }
    Ok(text)
}

/// Returns `RocksDB`'s string form of all options except the block cache, the statistics, the
/// adapter's own options, and the user's string.
pub(crate) fn options_string(options: &Options) -> Result<String> {
    let mut parts = vec!["create_if_missing=true".to_owned()];
    if options.text("column_family")? != DEFAULT_FAMILY {
        parts.push("create_missing_column_families=true".to_owned());
    }
    let (mut table, mut universal) = (Vec::new(), Vec::new());
    for Entry(name, home, ..) in OPTIONS {
        let Some(value) = options.values.get(*name) else { continue };
        match home {
            Home::Options => parts.push(format!("{name}={value}")),
            Home::Table => table.push(format!("{name}={value}")),
            Home::Universal => {
                let unprefixed = name.trim_start_matches("universal_");
                let any = unprefixed == "max_merge_width" && *value == Value::Integer(0);
                let value = if any { u32::MAX.to_string() } else { value.to_string() };
                universal.push(format!("{unprefixed}={value}"));
            }
            Home::Code => {}
        }
    }
    match options.integer("bloom_bits")? {
        0 => {}
        bits => table.push(format!("filter_policy=bloomfilter:{bits}:false")),
    }
    if options.integer("block_cache")? == 0 {
        table.push("no_block_cache=true".to_owned());
    }
    for name in ["compression", "bottommost_compression", "blob_compression_type"] {
        parts.push(format!("{name}={}", compression(options.text(name)?)));
    }
    let age = options.integer("blob_garbage_collection_age_cutoff_percent")?;
    parts.push(format!("blob_garbage_collection_age_cutoff={}", age as f64 / 100.0));
    if options.text("memtable")? == "vector" {
        parts.push("memtable=vector;allow_concurrent_memtable_write=false".to_owned());
    }
    if options.text("compaction_style")? == "universal" {
        parts.push("compaction_style=kCompactionStyleUniversal".to_owned());
        parts.push(format!("compaction_options_universal={{{}}}", universal.join(";")));
    }
    parts.push(match options.integer("max_open_files")? {
        0 => "max_open_files=-1".to_owned(),
        files => format!("max_open_files={files}"),
    });
    parts.push(format!("block_based_table_factory={{{}}}", table.join(";")));
    Ok(parts.join(";"))
}

fn compression(word: &str) -> &'static str {
    match word {
        "zlib" => "kZlibCompression",
        "lz4" => "kLZ4Compression",
        "zstd" => "kZSTD",
        "snappy" => "kSnappyCompression",
        "same" => "kDisableCompressionOption",
        _ => "kNoCompression",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_options_that_break_the_durability_class_are_refused() {
        use Durability::{Async, Commit, None};
        let description = description(Err(Error::invalid("there is none")));
        for (text, refused) in [
            ("manual_wal_flush=true", &[Async][..]),
            ("ttl=1; manual_wal_flush = 1", &[Async]),
            ("best_efforts_recovery=true;", &[Async, Commit]),
            ("manual_wal_flush=false;best_efforts_recovery=0", &[]),
            ("wal_bytes_per_sync=1048576;paranoid_checks=false", &[]),
        ] {
            for class in [None, Async, Commit] {
                let mut options = Options::defaults(&description, class);
                options.values.insert("options".to_owned(), text.into());
                match user_options(&options) {
                    Ok(accepted) => assert!(!refused.contains(&class), "{accepted} in {class:?}"),
                    Err(error) => {
                        assert!(refused.contains(&class), "{text} in {class:?}: {error}");
                        assert!(error.message.contains("would break the durability class"));
                    }
                }
            }
        }
    }
}
