//! The description of the store, and its options.

use crate::format::VALUE_BYTES_MAX;
use kvdyno_engine::{
    BatchKind, Capabilities, Description, Durability, OptionSpec, PlaceKind, Planning, PowerLoss,
};
use std::collections::BTreeMap;

pub(crate) fn description() -> Description {
    Description {
        name: "direct".to_owned(),
        title: "Direct".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        build: BTreeMap::from([
            ("io".to_owned(), "O_DIRECT, io_uring where the system allows it".to_owned()),
            ("checksum".to_owned(), "XXH3, 64 bits (twox-hash 2.1)".to_owned()),
        ]),
        capabilities: capabilities(),
        options: options(),
        // A value of just over half a block takes a whole one, and a load in key order writes each
        // block once. Small records put one by one in random order write a block each.
        planning: Planning { space_factor: 2.1, write_factor: 2.1, ram_bytes_min: 16 << 20 },
    }
}

fn capabilities() -> Capabilities {
    Capabilities {
        places: vec![PlaceKind::Directory, PlaceKind::Device],
        delete: true,
        native_multiget: true,
        batch: BatchKind::Together,
        numbered_keys_only: true,
        pipelined: true,
        value_bytes_max: Some(VALUE_BYTES_MAX),
        ..Capabilities::minimal([
            (
                Durability::Async,
                PowerLoss::Damages,
                "one O_DIRECT write in place, handed to the drive and not flushed; a power loss \
                 may undo it, or tear its block and damage the neighbours in it, which is noticed",
            ),
            (
                Durability::Commit,
                PowerLoss::Keeps,
                "the block's new image is written to the journal and flushed (fdatasync, shared by \
                 the operations in flight of a session), then written in place, before the call \
                 returns",
            ),
        ])
    }
}

fn options() -> Vec<OptionSpec> {
    vec![
        OptionSpec::count(
            "pack",
            1 << 16,
            0,
            "Neighbouring records in one block; a block is as many pages of 4 KiB as they need. 0: \
             as many as fit into one page, and at least one.",
        ),
        OptionSpec::path(
            "mirror",
            "A second directory that holds a copy: both are written before a call returns, each \
             block is read from one of them, and one repairs the other.",
        ),
        OptionSpec::flag(
            "rebuild",
            false,
            "Restore a lost first copy from its mirror. Without it a mirror next to an empty \
             directory is refused: it may be from an earlier run.",
        ),
    ]
}
