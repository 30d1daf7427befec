//! The description of Aerospike, and its options under its own names.

use crate::client::READS;
use kvdyno_engine::server::{LISTEN, Program};
use kvdyno_engine::{
    BatchKind, Capabilities, Description, Durability, OptionSpec, PlaceKind, Planning, PowerLoss,
    Result,
};

/// The longest value: a block of its storage has 8 MiB, and a record lies in one block.
const VALUE_BYTES_MAX: u64 = (8 << 20) - (64 << 10);

/// Returns the description of the program in use. `Err`: the reason why there is none.
pub(crate) fn description(program: Result<&Program>) -> Description {
    let (version, build) = Program::describe(program);
    Description {
        name: "aerospike".to_owned(),
        title: "Aerospike".to_owned(),
        version,
        build,
        capabilities: Capabilities {
            places: vec![PlaceKind::Directory, PlaceKind::Device],
            native_multiget: true,
            batch: BatchKind::Together,
            external_processes: true,
            library: true,
            pipelined: true,
            counted: [
                ("get", READS),
                ("insert", "client_write_success"),
                ("update", "client_write_success"),
                ("batch", "client_write_success"),
            ]
            .map(|(operation, counter)| (operation.to_owned(), counter.to_owned()))
            .into(),
            value_bytes_max: Some(VALUE_BYTES_MAX),
            ..Capabilities::minimal([(
                Durability::None,
                PowerLoss::LosesLast,
                "answered out of a block in the server's memory, which is written within \
                 flush-max-ms (1 s), by the page cache but for a raw device; with two servers \
                 once both have it there",
            )])
        },
        options: options(),
        // A file is at least twice its records: writes stop at 70 % of it. Two servers have two.
        planning: Planning { space_factor: 6.0, write_factor: 4.0, ram_bytes_min: 512 << 20 },
    }
}

fn options() -> Vec<OptionSpec> {
    vec![
        OptionSpec::choice(
            LISTEN,
            &["tcp"],
            "Transport: a port of 127.0.0.1, open to all users of this machine: this edition has \
             no passwords and no Unix sockets.",
        ),
        OptionSpec::choice(
            "storage_engine",
            &["device", "memory"],
            "device: records in a file of the volume, or on the raw device that it is, their index \
             in memory. memory: both in memory, and a file or device that they are taken up from.",
        ),
        OptionSpec::count(
            "replication_factor",
            2,
            1,
            "1: one server. 2: two on this machine with a copy of each record, in the same RAM \
             limit and on the same volume, which is then no raw device.",
        ),
        OptionSpec::bytes(
            "filesize",
            0,
            "Length of the file of a server. 0: about twice the bytes of the case's records. A \
             raw device is used whole.",
        ),
        OptionSpec::count(
            "flush_max_ms",
            1000,
            1000,
            "Milliseconds after which a block that is not full is written (flush-max-ms).",
        ),
        OptionSpec::bytes(
            "max_write_cache",
            64 << 20,
            "Blocks that wait to be written; beyond it writes are refused as `device overload` \
             (max-write-cache).",
        ),
        OptionSpec::bytes(
            "post_write_cache",
            256 << 20,
            "With storage_engine = device: written blocks that stay in memory for reads \
             (post-write-cache).",
        ),
        OptionSpec::flag(
            "direct_files",
            false,
            "Past the page cache, synced as it is written (direct-files: O_DIRECT, O_DSYNC): by \
             512 bytes, which sectors of 4096 refuse. On a raw device always, by its sectors.",
        ),
        OptionSpec::flag(
            "read_page_cache",
            false,
            "With direct_files, or a raw device: reads go by the page cache all the same.",
        ),
        OptionSpec::count(
            "defrag_lwm_pct",
            99,
            50,
            "Blocks less full than this are merged into others (defrag-lwm-pct).",
        ),
        OptionSpec::count(
            "service_threads",
            4096,
            0,
            "Threads that serve clients (service-threads). 0: its own default, five for each CPU.",
        ),
    ]
}
