//! The description of redb, and its options.

use kvdyno_engine::{
    BatchKind, Capabilities, Description, Durability, OptionSpec, Planning, PowerLoss, Transactions,
};
use std::collections::BTreeMap;

pub(crate) fn description() -> Description {
    Description {
        name: "redb".to_owned(),
        title: "redb".to_owned(),
        version: "4.6.0".to_owned(),
        build: BTreeMap::from([
            ("crate".to_owned(), "redb 4.6.0".to_owned()),
            ("binary".to_owned(), "pure Rust, linked statically, default features".to_owned()),
        ]),
        capabilities: capabilities(),
        options: options(),
        // Random load of 1 M x 16/100 bytes: the file is 1.6 times the data, and as much is written
        // in class none with a cache that holds it. In class commit 46 times the data is written in
        // batches of 1000, and 280 times one by one: pages, not records, are written.
        // `field` (1 M x 16/500 bytes) takes 70 MiB, 31 of it cache.
        planning: Planning { space_factor: 2.0, write_factor: 5.0, ram_bytes_min: 40 << 20 },
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
        // Keys have the limit of values.
        value_bytes_max: Some(3 << 30),
        ..Capabilities::minimal([
            (
                Durability::None,
                PowerLoss::LosesLast,
                "Durability::None: a commit is in this process's memory until one of \
                 Durability::Immediate, which sync and close make; a crash of the process undoes \
                 all since then",
            ),
            (
                Durability::Commit,
                PowerLoss::Keeps,
                "Durability::Immediate: each commit writes its pages and a commit slot, and calls \
                 fdatasync (two_phase_commit: before the slot is made valid, and after)",
            ),
        ])
    }
}

fn options() -> Vec<OptionSpec> {
    vec![
        OptionSpec::bytes(
            "cache_size",
            1 << 30,
            "Memory for pages, as read and as yet to be written; what is not in it is read by \
             system calls, and so may be in the system's cache as well.",
        )
        .tuned(
            "25%",
            "What is in it is found without a system call. With a cache of 246 MiB 486 MiB were \
             resident here while all records were read; the system's cache needs room as well.",
            "redb 4.6, Builder::set_cache_size: memory for caching data, 1 GiB whatever there is",
        ),
        OptionSpec::flag(
            "two_phase_commit",
            false,
            "Flush the data before the commit slot that makes it valid, instead of both at once \
             with checksums.",
        ),
        OptionSpec::flag(
            "quick_repair",
            false,
            "Keep the allocator's state with each commit, so that opening after a crash need not \
             read the whole file; implies two_phase_commit.",
        ),
    ]
}
