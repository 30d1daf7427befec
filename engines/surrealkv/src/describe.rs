//! The description of surrealkv, its options, and their translation to surrealkv's own.

use kvdyno_engine::{
    BatchKind, Capabilities, Description, Durability, OptionSpec, Options, Planning, PowerLoss,
    Result, Transactions,
};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use surrealkv::{CompressionType, RibbonFilter};

pub(crate) fn description() -> Description {
    Description {
        name: "surrealkv".to_owned(),
        title: "SurrealKV".to_owned(),
        version: "1.2.0".to_owned(),
        build: BTreeMap::from([
            ("crate".to_owned(), "surrealkv 1.2.0".to_owned()),
            (
                "binary".to_owned(),
                "Rust, linked statically, without its feature encryption".to_owned(),
            ),
        ]),
        capabilities: capabilities(),
        options: options(),
        // Random load of 1 M x 16/100 bytes, with the log: 1.6 times the data on the volume at most
        // (as much as the data at rest), 2.3 times written, before any level below the first is
        // full; with 4000-byte values 1.5 and 2.0 times. The load of `field` (1 M x 16/500 bytes)
        // takes 183 MiB, 115 of it caches and memtables.
        planning: Planning { space_factor: 2.5, write_factor: 5.0, ram_bytes_min: 72 << 20 },
    }
}

fn capabilities() -> Capabilities {
    Capabilities {
        delete: true,
        scan_forward: true,
        scan_reverse: true,
        batch: BatchKind::Atomic,
        atomic_read_modify_write: true,
        transactions: Transactions::Optimistic,
        ..Capabilities::minimal([
            (
                Durability::Async,
                PowerLoss::LosesLast,
                "Durability::Eventual: the write-ahead log is written by a system call before a \
                 commit returns, and not flushed",
            ),
            (
                Durability::Commit,
                PowerLoss::Keeps,
                "Durability::Immediate: the log is flushed (fsync) before a commit returns, once \
                 for the commits that wait together",
            ),
        ])
    }
}

fn options() -> Vec<OptionSpec> {
    vec![
        OptionSpec::bytes(
            "block_cache_capacity",
            32 << 20,
            "Cache of data, index and filter blocks, and of values of the value log.",
        )
        .tuned(
            "12.5%",
            "Half of the quarter of the memory that its tuner gives the engine.",
            "surrealkv 1.2, HardwareProfile::tune_options",
        ),
        OptionSpec::bytes(
            "max_memtable_size",
            100 << 20,
            "Size of a memtable, whose memory is taken at once; two may be filled and waiting.",
        ),
        OptionSpec::bytes("block_size", 64 << 10, "Uncompressed size of a data block."),
        OptionSpec::bytes(
            "index_partition_size",
            16 << 10,
            "Size of a partition of a table's index and of its filter.",
        ),
        OptionSpec::choice(
            "compression",
            &["none", "snappy", "zstd"],
            "Compression of data blocks in all levels but the first.",
        ),
        OptionSpec::choice(
            "filter",
            &["bloom", "ribbon", "none"],
            "Filter of a table, of 10 bits a key.",
        ),
        OptionSpec::bytes("target_file_size", 64 << 20, "Size of a table that compaction writes."),
        OptionSpec::count("level_count", 255, 6, "Levels."),
        OptionSpec::count("level0_max_files", 255, 4, "Tables in level 0 that are compacted."),
        OptionSpec::bytes("max_bytes_for_level", 256 << 20, "Size of level 1."),
        OptionSpec::count("level_multiplier", 100, 10, "Size of a level against the one above."),
        OptionSpec::count(
            "memtable_stall_threshold",
            255,
            2,
            "Waiting memtables that stop writes.",
        ),
        OptionSpec::count("l0_stall_threshold", 255, 12, "Tables in level 0 that stop writes."),
        OptionSpec::flag("enable_vlog", false, "Keep long values apart, in a value log."),
        OptionSpec::bytes("vlog_value_threshold", 1024, "Length from which a value is long."),
        OptionSpec::flag(
            "wal_preallocation",
            false,
            "Write zeros ahead in the write-ahead log, so that its flushes change no file size.",
        )
        .tuned(
            true,
            "A flush that need not commit a new file size takes a fraction of the time.",
            "surrealkv 1.2, Options::with_wal_preallocation",
        ),
        OptionSpec::count(
            "worker_threads",
            1024,
            0,
            "Threads of the tokio runtime for commits, flushes and compactions; 0: one for each \
             processor.",
        ),
    ]
}

/// Returns the options as surrealkv takes them.
pub(crate) fn surrealkv_options(dir: &Path, options: &Options) -> Result<surrealkv::Options> {
    const BITS_PER_KEY: usize = 10;
    let size = |name| options.integer(name).map(|bytes| bytes as usize);
    let mut engine_options = surrealkv::Options::new()
        .with_path(dir.to_owned())
        .with_block_cache_capacity(options.integer("block_cache_capacity")?)
        .with_max_memtable_size(size("max_memtable_size")?)
        .with_block_size(size("block_size")?)
        .with_index_partition_size(size("index_partition_size")?)
        .with_target_file_size(options.integer("target_file_size")?)
        .with_level_count(size("level_count")? as u8)
        .with_memtable_stall_threshold(size("memtable_stall_threshold")?)
        .with_l0_stall_threshold(size("l0_stall_threshold")?)
        .with_enable_vlog(options.boolean("enable_vlog")?)
        .with_vlog_value_threshold(size("vlog_value_threshold")?)
        .with_wal_preallocation(options.boolean("wal_preallocation")?);
    engine_options.level0_max_files = size("level0_max_files")?;
    engine_options.max_bytes_for_level = options.integer("max_bytes_for_level")?;
    engine_options.level_multiplier = options.integer("level_multiplier")? as f64;
    engine_options = match options.text("filter")? {
        "ribbon" => {
            engine_options.with_filter_policy(Some(Arc::new(RibbonFilter::new(BITS_PER_KEY))))
        }
        "none" => engine_options.with_filter_policy(None),
        // The Bloom filter is surrealkv's default, which has no public name.
        _ => engine_options,
    };
    Ok(match options.text("compression")? {
        "snappy" => engine_options.with_l0_no_compression(),
        "zstd" => engine_options.with_compression_per_level(vec![
            CompressionType::None,
            CompressionType::ZstdCompression,
        ]),
        _ => engine_options,
    })
}
