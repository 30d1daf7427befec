//! The description of `PostgreSQL`, and its options under its own names.

use kvdyno_engine::server::{LISTEN, LISTENS, Program};
use kvdyno_engine::{
    BatchKind, Capabilities, Description, Durability, OptionSpec, Planning, PowerLoss, Result,
    Transactions,
};

/// The longest key: a row of an index takes at most a third of its block of 8 KiB.
pub(crate) const KEY_BYTES_MAX: u64 = 2000;

/// Returns the description of the program in use. `Err`: the reason why there is none.
pub(crate) fn description(program: Result<&Program>) -> Description {
    let (version, build) = Program::describe(program);
    Description {
        name: "postgres".to_owned(),
        title: "PostgreSQL".to_owned(),
        version,
        build,
        capabilities: Capabilities {
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
            value_bytes_max: Some(256 << 20),
            ..Capabilities::minimal([
                (
                    Durability::None,
                    PowerLoss::LosesLast,
                    "fsync = on, synchronous_commit = off: the log is in the server's memory up to \
                     0.6 s; a crash or power loss loses these writes and damages nothing",
                ),
                (
                    Durability::Async,
                    PowerLoss::Damages,
                    "fsync = off, synchronous_commit = on: the log is handed to the operating \
                     system before the answer; nothing is ever synced, and a power loss can damage \
                     the database",
                ),
                (
                    Durability::Commit,
                    PowerLoss::Keeps,
                    "fsync = on, synchronous_commit = on: the log is synced before the answer, for \
                     all sessions that wait together",
                ),
            ])
            .except(Durability::None, "full_page_writes", false, PowerLoss::Damages)
            .except(Durability::Commit, "full_page_writes", false, PowerLoss::Damages)
        },
        options: options(),
        // Random load of 200,000 x 16/400 bytes in class async: 3.1 times the data, log included,
        // as much written; 19 times while updated.
        planning: Planning { space_factor: 4.0, write_factor: 8.0, ram_bytes_min: 96 << 20 },
    }
}

const RESOURCES: &str = "PostgreSQL's documentation, 20.4. Resource Consumption";
const POPULATE: &str = "PostgreSQL's documentation, 14.4. Populating a Database";
const WAL: &str = "PostgreSQL's documentation, 30.5. WAL Configuration";

fn options() -> Vec<OptionSpec> {
    vec![
        OptionSpec::choice(LISTEN, &LISTENS, "Transport: a Unix socket, or a port of 127.0.0.1."),
        OptionSpec::bytes("shared_buffers", 128 << 20, "The server's own cache of blocks.").tuned(
            "25%",
            "A reasonable starting value with 1 GB of RAM or more; the kernel's cache serves the \
             rest.",
            RESOURCES,
        ),
        OptionSpec::bytes(
            "max_wal_size",
            1 << 30,
            "Log at which a checkpoint begins; at least 32 MiB.",
        )
        .tuned(
            4_u64 << 30,
            "Larger values make checkpoints rarer, above all while data is loaded.",
            POPULATE,
        ),
        OptionSpec::count(
            "checkpoint_timeout",
            86_400,
            300,
            "Seconds between checkpoints; at least 30.",
        )
        .tuned(
            1800_u64,
            "Each page goes whole into the log after a checkpoint: rarer ones write less.",
            WAL,
        ),
        OptionSpec::choice(
            "wal_compression",
            &["off", "pglz", "lz4", "zstd"],
            "Compression of whole pages in the log.",
        ),
        OptionSpec::flag(
            "full_page_writes",
            true,
            "Whole pages into the log after a checkpoint. Without: a power loss may tear pages.",
        ),
        OptionSpec::flag("autovacuum", true, "Cleans up after updates and deletes by itself."),
        OptionSpec::choice(
            "settle",
            &["checkpoint", "vacuum"],
            "What settling does before it waits for autovacuum: write all blocks, or clean up and \
             count the table first.",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_engine::{Error, Options};

    #[test]
    fn without_full_page_writes_a_power_loss_damages() {
        let description = description(Err(Error::invalid("there is none")));
        for class in [Durability::None, Durability::Async, Durability::Commit] {
            let mut options = Options::defaults(&description, class);
            options.values.insert("full_page_writes".to_owned(), false.into());
            assert_eq!(description.power_loss(&options), Some(PowerLoss::Damages), "{class:?}");
        }
    }
}
