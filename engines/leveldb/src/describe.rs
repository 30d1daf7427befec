//! The description of `LevelDB`, and its options under its own names.

use crate::api::Settings;
use crate::library::LevelDbLibrary;
use kvdyno_engine::{
    BatchKind, Capabilities, Description, Durability, OptionSpec, Options, Planning, PowerLoss,
    Result,
};
use std::collections::BTreeMap;

/// The description with the library in use. `Err`: the reason why there is none.
pub(crate) fn description(library: Result<&LevelDbLibrary>) -> Description {
    let (version, build) = match library {
        Ok(library) => (library.version.clone(), library.build.clone()),
        Err(error) => {
            ("unknown".to_owned(), BTreeMap::from([("library".to_owned(), error.message)]))
        }
    };
    Description {
        name: "leveldb".to_owned(),
        title: "LevelDB".to_owned(),
        version,
        build,
        capabilities: Capabilities {
            delete: true,
            scan_forward: true,
            scan_reverse: true,
            batch: BatchKind::Atomic,
            library: true,
            value_bytes_max: Some(u64::from(u32::MAX)),
            // There is no class `none`: the log cannot be switched off.
            ..Capabilities::least([
                (
                    Durability::Async,
                    PowerLoss::LosesLast,
                    "WriteOptions.sync = false: the log is handed to the operating system, not \
                     synced",
                ),
                (
                    Durability::Commit,
                    PowerLoss::Keeps,
                    "WriteOptions.sync = true: the log is synced (fdatasync) before the call \
                     returns; writers that wait share a sync",
                ),
            ])
        },
        options: options(),
        // Random load of 1 M x 16/100 bytes: as much as the data at rest, 5.4 times written (4.7
        // with 4000-byte values), before its deeper levels are full; while compacting as RocksDB.
        planning: Planning { space_factor: 2.5, write_factor: 15.0, ram_bytes_min: 64 << 20 },
    }
}

const OPTIONS_H: &str = "LevelDB, include/leveldb/options.h";
const GUIDE: &str = "LevelDB, doc/index.md";

fn options() -> Vec<OptionSpec> {
    const MOST: u64 = i32::MAX as u64;
    vec![
        OptionSpec::bytes(
            "write_buffer_size",
            4 << 20,
            "Size at which a memtable is written to a table; there may be two.",
        )
        .tuned(
            "5%",
            "Larger values increase performance, above all of bulk loads.",
            OPTIONS_H,
        ),
        OptionSpec::bytes(
            "block_cache",
            8 << 20,
            "Capacity of the cache of uncompressed blocks. Blocks that are stored uncompressed in \
             files that are mapped (the first 1000) are not put there.",
        )
        .tuned(
            "50%",
            "It caches hot blocks uncompressed; the file cache holds the compressed rest.",
            GUIDE,
        ),
        OptionSpec::bytes("block_size", 4 << 10, "Uncompressed size of a block."),
        OptionSpec::count("block_restart_interval", 1 << 16, 16, "Keys between whole keys."),
        OptionSpec::count("bloom_bits", 64, 0, "Bits per key of a Bloom filter; 0: no filter.")
            .tuned(10_u64, "Saves about 99 of 100 reads of blocks without the key.", GUIDE),
        OptionSpec::words("compression", &["snappy", "none"], "Compression of blocks."),
        OptionSpec::count("max_open_files", MOST, 1000, "Table files kept open; at least 74."),
        OptionSpec::bytes("max_file_size", 2 << 20, "Size of a table file; at least 1 MiB."),
        OptionSpec::flag("paranoid_checks", false, "Stop at the first sign of damage."),
        OptionSpec::words(
            "settle",
            &["wait", "compact"],
            "What settling does after the memtable is written: wait for compactions, or compact \
             everything, as db_bench's `compact`.",
        ),
    ]
}

pub(crate) fn settings(options: &Options) -> Result<Settings> {
    Ok(Settings {
        write_buffer_size: options.integer("write_buffer_size")?,
        max_file_size: options.integer("max_file_size")?,
        block_cache: options.integer("block_cache")?,
        block_size: options.integer("block_size")?,
        block_restart_interval: options.integer("block_restart_interval")?,
        max_open_files: options.integer("max_open_files")?,
        bloom_bits: options.integer("bloom_bits")?,
        compression: u64::from(options.text("compression")? == "snappy"),
        paranoid_checks: u64::from(options.boolean("paranoid_checks")?),
    })
}
