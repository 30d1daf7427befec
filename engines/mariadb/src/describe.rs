//! The description of `MariaDB`, and its options under its own names.

use kvdyno_engine::server::{LISTEN, LISTENS, Program};
use kvdyno_engine::{
    BatchKind, Capabilities, Description, Durability, OptionKind, OptionSpec, Planning, PowerLoss,
    Result, Transactions, Value,
};

/// A key of `MyRocks` takes 767 bytes at most; one of `InnoDB` 3072, in pages of 4 KiB 768.
pub(crate) const KEY_BYTES_MAX: u64 = 767;

/// The option for the writes of a graph.
pub(crate) const ROUND_TRIPS: &str = "round_trips";

/// A record goes into one packet, which is 16 MiB less one byte.
pub(crate) const VALUE_BYTES_MAX: u64 = 15 << 20;

/// Returns the description of the program in use. `Err`: the reason why there is none.
pub(crate) fn description(program: Result<&Program>) -> Description {
    let (version, build) = Program::describe(program);
    Description {
        name: "mariadb".to_owned(),
        title: "MariaDB".to_owned(),
        version,
        build,
        capabilities: without_doublewrite(Capabilities {
            delete: true,
            scan_forward: true,
            scan_reverse: true,
            native_multiget: true,
            batch: BatchKind::Atomic,
            transactions: Transactions::Locking,
            external_processes: true,
            library: true,
            pipelined: true,
            shares_threads: true,
            key_bytes_max: Some(KEY_BYTES_MAX),
            value_bytes_max: Some(VALUE_BYTES_MAX),
            ..Capabilities::minimal([
                (
                    Durability::None,
                    PowerLoss::LosesLast,
                    "innodb_flush_log_at_trx_commit = 0 (rocksdb_...): the log is in the server's \
                     memory up to 1 s",
                ),
                (
                    Durability::Async,
                    PowerLoss::LosesLast,
                    "innodb_flush_log_at_trx_commit = 2 (rocksdb_..., rocksdb_manual_wal_flush = \
                     OFF): the log is handed to the operating system before the answer, synced \
                     once a second",
                ),
                (
                    Durability::Commit,
                    PowerLoss::Keeps,
                    "innodb_flush_log_at_trx_commit = 1 (rocksdb_...): the log is synced before \
                     the answer, for all sessions that wait together; no binary log",
                ),
            ])
        }),
        options: [common(), innodb(), rocksdb()].concat(),
        planning: Planning { space_factor: 4.0, write_factor: 8.0, ram_bytes_min: 192 << 20 },
    }
}

/// Adds what a power loss does to `InnoDB` without its doublewrite buffer. `MyRocks` has no such
/// pages: the first exception that applies counts.
fn without_doublewrite(mut capabilities: Capabilities) -> Capabilities {
    for (class, promise) in capabilities.durability.clone() {
        capabilities = capabilities
            .except(class, "storage_engine", "rocksdb", promise.power_loss)
            .except(class, "innodb_doublewrite", false, PowerLoss::Damages);
    }
    capabilities
}

const POOL: &str = "MariaDB's documentation, Configure the InnoDB Buffer Pool";
const BLOOM: &str = "MariaDB's documentation, MyRocks and Bloom Filters";

fn common() -> Vec<OptionSpec> {
    vec![
        OptionSpec::choice(LISTEN, &LISTENS, "Transport: a Unix socket, or a port of 127.0.0.1."),
        OptionSpec::choice(
            "storage_engine",
            &["innodb", "rocksdb"],
            "Storage engine of the records: InnoDB, or MyRocks.",
        ),
        OptionSpec::choice(
            "thread_handling",
            &["one-thread-per-connection", "pool-of-threads"],
            "One thread per connection, or a pool of threads.",
        ),
        OptionSpec::choice(
            ROUND_TRIPS,
            &["one", "original"],
            "A graph's writes: all statements of one, with its commit, are sent as one, or each \
             waits for the one before, the commit too, as by LinkBench's own client.",
        ),
    ]
}

fn innodb() -> Vec<OptionSpec> {
    vec![
        OptionSpec::bytes("innodb_buffer_pool_size", 128 << 20, "InnoDB's cache of pages.").tuned(
            "70%",
            "Between half and three quarters of the memory of a server that has InnoDB alone.",
            POOL,
        ),
        OptionSpec::bytes(
            "innodb_log_file_size",
            96 << 20,
            "InnoDB's log: when it is full, pages must be written.",
        ),
        OptionSpec::choice(
            "innodb_flush_method",
            &["O_DIRECT", "fsync", "O_DSYNC"],
            "How InnoDB writes pages: past the kernel's cache, or through it.",
        ),
        OptionSpec::choice(
            "innodb_page_size",
            &["16k", "4k", "8k", "32k", "64k"],
            "InnoDB's page.",
        ),
        OptionSpec::count(
            "innodb_io_capacity",
            1 << 32,
            200,
            "Pages per second that InnoDB writes in the background; at least 100.",
        ),
        OptionSpec::count(
            "innodb_flush_neighbors",
            2,
            1,
            "Pages that InnoDB writes along with one: 0 none, 1 those beside it, 2 all of its MiB.",
        ),
        OptionSpec::choice(
            "innodb_compression",
            &["off", "zlib"],
            "InnoDB's page compression (PAGE_COMPRESSED, innodb_compression_algorithm); the \
             filesystem must take holes.",
        ),
        OptionSpec::flag(
            "innodb_doublewrite",
            true,
            "InnoDB writes each page twice. Without it a page may be torn by a power loss.",
        ),
        OptionSpec::flag("innodb_adaptive_hash_index", false, "InnoDB's hash index of keys."),
    ]
}

fn rocksdb() -> Vec<OptionSpec> {
    vec![
        OptionSpec::bytes("rocksdb_block_cache_size", 512 << 20, "MyRocks' cache of blocks."),
        OptionSpec::bytes("rocksdb_block_size", 4 << 10, "MyRocks' block; at least 1 KiB."),
        OptionSpec::count(
            "rocksdb_max_background_jobs",
            64,
            2,
            "MyRocks' concurrent flushes and compactions; at least 1.",
        ),
        OptionSpec::new(
            "rocksdb_default_cf_options",
            OptionKind::Text,
            Value::Text(String::new()),
            "RocksDB's own options of the records, in its own form: \
             compression=kZSTD;write_buffer_size=64m.",
        )
        .tuned(
            "block_based_table_factory={filter_policy=bloomfilter:10:false;whole_key_filtering=1}",
            "Bloom filters reduce read amplification; there are none by default.",
            BLOOM,
        ),
        OptionSpec::count(
            "rocksdb_wal_recovery_mode",
            3,
            1,
            "What MyRocks does with a log that was cut off in a record: 0 leaves the record out, 1 \
             does not open, 2 opens as of the record before, 3 skips what is damaged.",
        ),
        OptionSpec::flag(
            "rocksdb_use_direct_reads",
            false,
            "MyRocks reads past the kernel's cache.",
        ),
        OptionSpec::flag(
            "rocksdb_use_direct_io_for_flush_and_compaction",
            false,
            "MyRocks flushes and compacts past the kernel's cache.",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_engine::{Error, Options};

    #[test]
    fn without_doublewrite_a_power_loss_damages_innodb_alone() {
        let description = description(Err(Error::invalid("there is none")));
        for (class, kept) in [
            (Durability::None, PowerLoss::LosesLast),
            (Durability::Async, PowerLoss::LosesLast),
            (Durability::Commit, PowerLoss::Keeps),
        ] {
            let mut options = Options::defaults(&description, class);
            assert_eq!(description.power_loss(&options), Some(kept));
            options.values.insert("innodb_doublewrite".to_owned(), false.into());
            assert_eq!(description.power_loss(&options), Some(PowerLoss::Damages));
            options.values.insert("storage_engine".to_owned(), "rocksdb".into());
            assert_eq!(description.power_loss(&options), Some(kept));
        }
    }
}
