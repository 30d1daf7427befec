//! The description of Redis, and its options under its own names.

use kvdyno_engine::server::{LISTEN, LISTENS, Program};
use kvdyno_engine::{
    BatchKind, Capabilities, Description, Durability, OptionSpec, Planning, PowerLoss, Result,
    TimeToLive,
};

/// The time to live of `SET key value PX milliseconds`.
pub(crate) const TIME_TO_LIVE: TimeToLive =
    TimeToLive { unit_ns: TimeToLive::MILLISECOND, longest_ns: None };

/// Returns the description of the program in use. `Err`: the reason why there is none.
pub(crate) fn description(program: Result<&Program>) -> Description {
    let (version, build) = Program::describe(program);
    Description {
        name: "redis".to_owned(),
        title: "Redis".to_owned(),
        version,
        build,
        capabilities: Capabilities {
            delete: true,
            native_multiget: true,
            batch: BatchKind::Atomic,
            external_processes: true,
            in_memory: true,
            library: true,
            pipelined: true,
            shares_threads: true,
            time_to_live: Some(TIME_TO_LIVE),
            counted: [
                ("get", "cmdstat_get.calls"),
                ("insert", "cmdstat_set.calls"),
                ("update", "cmdstat_set.calls"),
                ("batch", "cmdstat_set.calls"),
                ("delete", "cmdstat_del.calls"),
                ("multiget", "cmdstat_mget.calls"),
            ]
            .map(|(operation, counter)| (operation.to_owned(), counter.to_owned()))
            .into(),
            // One thread performs all commands.
            concurrent_writers: Some(1),
            value_bytes_max: Some(512 << 20),
            ..Capabilities::minimal([
                (
                    Durability::None,
                    PowerLoss::LosesAll,
                    "appendonly no, save \"\": in memory alone until it is shut down, which saves",
                ),
                (
                    Durability::Async,
                    PowerLoss::LosesLast,
                    "appendonly yes, appendfsync everysec (option: no): in the log's file before \
                     the answer, synced once a second",
                ),
                (
                    Durability::Commit,
                    PowerLoss::Keeps,
                    "appendonly yes, appendfsync always: the log is synced before the answer, for \
                     all clients that wait together",
                ),
            ])
        },
        options: options(),
        // Random load of 200,000 x 16/400 bytes in class async: 0.7 times the data once its log was
        // rewritten, 1.5 to 4.9 times written; room for two logs while it is.
        planning: Planning { space_factor: 3.0, write_factor: 3.0, ram_bytes_min: 32 << 20 },
    }
}

const CONF: &str = "redis.conf";

fn options() -> Vec<OptionSpec> {
    vec![
        OptionSpec::choice(LISTEN, &LISTENS, "Transport: a Unix socket, or a port of 127.0.0.1."),
        OptionSpec::choice(
            "appendfsync",
            &["everysec", "no"],
            "Class async: when the log is synced; no: when the kernel writes it.",
        ),
        OptionSpec::bytes(
            "maxmemory",
            0,
            "Most memory for data: writes beyond it are refused (noeviction). 0: no limit but the \
             case's.",
        ),
        OptionSpec::count("io_threads", 128, 1, "Threads that read and write for clients.").tuned(
            2_u64,
            "Redis is mostly single threaded; with many clients, threads that write their answers \
             pay on machines with at least four processors.",
            CONF,
        ),
        OptionSpec::flag(
            "save",
            false,
            "Snapshots by its own schedule (save 3600 1 300 100 60 10000).",
        )
        .engine_default(true, CONF),
        OptionSpec::flag(
            "auto_aof_rewrite",
            true,
            "Write the log anew when it has doubled (auto-aof-rewrite-percentage 100).",
        ),
    ]
}
