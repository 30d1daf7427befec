//! The description of memcached, and its options under its own names.

use crate::connection::KEY_BYTES_MAX;
use kvdyno_engine::server::{LISTEN, LISTENS, Program};
use kvdyno_engine::{
    BatchKind, Capabilities, Description, Durability, OptionSpec, Planning, PowerLoss, Result,
    TimeToLive,
};

/// The time to live. The server's clock counts seconds since its start in 32 bits, and takes dates
/// up to 2038.
pub(crate) const TIME_TO_LIVE: TimeToLive = TimeToLive {
    unit_ns: TimeToLive::SECOND,
    longest_ns: Some(5 * 365 * 24 * 3_600 * TimeToLive::SECOND),
};

/// The longest value. An item may have up to 1 GiB, and up to half of the memory.
const VALUE_BYTES_MAX: u64 = 256 << 20;

/// Returns the description of the program in use. `Err`: the reason why there is none.
pub(crate) fn description(program: Result<&Program>) -> Description {
    let (version, build) = Program::describe(program);
    Description {
        name: "memcached".to_owned(),
        title: "memcached".to_owned(),
        version,
        build,
        capabilities: Capabilities {
            delete: true,
            native_multiget: true,
            batch: BatchKind::Together,
            external_processes: true,
            in_memory: true,
            library: true,
            pipelined: true,
            shares_threads: true,
            time_to_live: Some(TIME_TO_LIVE),
            key_bytes_max: Some(KEY_BYTES_MAX as u64),
            value_bytes_max: Some(VALUE_BYTES_MAX),
            ..Capabilities::minimal([(
                Durability::None,
                PowerLoss::LosesAll,
                "-M -e FILE: a cache in memory that maps a file: refuses what does not fit, keeps \
                 all over an end in order (SIGUSR1), and nothing over any other",
            )])
        },
        options: options(),
        // The server's file is as long as its memory: 1.6 times 16/400 bytes, and 66 MiB.
        planning: Planning { space_factor: 3.5, write_factor: 5.0, ram_bytes_min: 96 << 20 },
    }
}

/// Factors between the sizes of chunks; the first is its default.
const GROWTH: [&str; 5] = ["1.25", "1.02", "1.08", "1.5", "2"];

fn options() -> Vec<OptionSpec> {
    vec![
        OptionSpec::choice(LISTEN, &LISTENS, "Transport: a Unix socket, or a port of 127.0.0.1."),
        OptionSpec::bytes(
            "memory_limit",
            0,
            "Memory for records (-m), and the length of its file: writes beyond it fail (-M). 0: \
             as much as the case's records need.",
        ),
        OptionSpec::bytes(
            "max_item_size",
            1 << 20,
            "Longest record (-I); longer where the longest value of the case is.",
        ),
        OptionSpec::choice(
            "slab_growth_factor",
            &GROWTH,
            "Between the sizes of chunks (-f): smaller wastes less memory in each.",
        ),
        OptionSpec::count(
            "slab_min_size",
            1 << 16,
            48,
            "Bytes of the smallest chunk beside its header (-n).",
        ),
        OptionSpec::count("threads", 128, 4, "Threads that serve clients (-t)."),
        OptionSpec::count(
            "max_reqs_per_event",
            1 << 16,
            20,
            "Requests of a client before the next client's turn (-R).",
        ),
        OptionSpec::flag("disable_cas", false, "Records without a version: 8 bytes less (-C)."),
        OptionSpec::choice(
            "hash_algorithm",
            &["murmur3", "jenkins", "xxh3"],
            "The hash of a key (-o hash_algorithm).",
        ),
        OptionSpec::count(
            "hashpower",
            32,
            0,
            "Bits of the hash table when it starts (-o hashpower), 12 at least; it grows. 0: 16.",
        ),
        OptionSpec::flag(
            "lru_maintainer",
            true,
            "A thread that sorts records by how hot they are; none is evicted all the same.",
        ),
    ]
}
