//! The description of LMDB, its options and its environment flags.

use crate::library::{self, ffi};
use crate::raw;
use kvdyno_engine::{
    BatchKind, Capabilities, Description, Durability, Error, OptionSpec, Options, Planning,
    PowerLoss, Result, Transactions,
};
use std::collections::BTreeMap;

pub(crate) fn description() -> Description {
    Description {
        name: library::NAME.to_owned(),
        title: library::TITLE.to_owned(),
        version: raw::version(),
        build: BTreeMap::from([
            ("crate".to_owned(), library::CRATE.to_owned()),
            ("binary".to_owned(), "linked statically, sources of the crate".to_owned()),
        ]),
        capabilities: capabilities(),
        options: options(),
        // Random load of 1 M x 16/100 bytes: the file is 1.6 times the data (2 for values of just
        // over half a page), and 4.2 times the data is written. In class commit 300 times the data
        // is written, nearly a page for each record of a commit; with 4000-byte values 3 times.
        planning: Planning {
            space_factor: library::SPACE_FACTOR,
            write_factor: 5.0,
            ram_bytes_min: 16 << 20,
        },
    }
}

fn capabilities() -> Capabilities {
    Capabilities {
        places: library::PLACES.to_vec(),
        delete: true,
        scan_forward: true,
        scan_reverse: true,
        batch: BatchKind::Atomic,
        atomic_read_modify_write: true,
        transactions: Transactions::Serial,
        concurrent_writers: Some(1),
        key_bytes_max: Some(511),
        value_bytes_max: Some(u64::from(u32::MAX)),
        ..Capabilities::minimal([
            (
                Durability::None,
                PowerLoss::Damages,
                "MDB_NOSYNC, and MDB_WRITEMAP unless writemap = off: pages are changed in the \
                 shared map, never flushed; a power loss can damage the file",
            ),
            (
                Durability::Async,
                PowerLoss::Damages,
                "MDB_NOSYNC: pages are written to the page cache at commit, never flushed; the \
                 file survives the process, a power loss can damage it (metasync = false: \
                 MDB_NOMETASYNC in its place, data flushed at commit, a power loss undoes the last \
                 transaction)",
            ),
            (
                Durability::Commit,
                PowerLoss::Keeps,
                "no flag: each commit flushes data, then the meta page, before it returns",
            ),
        ])
        .except(Durability::Async, "metasync", false, PowerLoss::LosesLast)
    }
}

fn options() -> Vec<OptionSpec> {
    vec![
        OptionSpec::text(
            "database",
            "",
            "Name of the database in the environment. Empty: the unnamed database. A name that is \
             missing is created only in an empty environment.",
        ),
        OptionSpec::bytes(
            "map_size",
            0,
            "Size of the memory map, the most the file can grow to; 0: from the size of the data, \
             with room for copies and for a file that is larger already (on a raw device: all of \
             it).",
        ),
        OptionSpec::flag(
            "readahead",
            false,
            "Leave the kernel's readahead on; off is MDB_NORDAHEAD, without which random reads of \
             data larger than memory can be many times slower.",
        )
        .engine_default(true, "lmdb.h, MDB_NORDAHEAD")
        .tuned(
            false,
            "Reading ahead is of no use to random reads of a database larger than memory.",
            "lmdb.h, MDB_NORDAHEAD",
        ),
        OptionSpec::choice(
            "writemap",
            &["auto", "on", "off"],
            "MDB_WRITEMAP: change pages in the map instead of in copies; auto: on in class none. A \
             full volume then kills the process (SIGBUS).",
        )
        .engine_default("off", "lmdb.h, MDB_WRITEMAP"),
        OptionSpec::flag(
            "metasync",
            true,
            "Off is MDB_NOMETASYNC in place of MDB_NOSYNC, in class async only: the meta page is \
             flushed by the next commit.",
        ),
        OptionSpec::flag(
            "meminit",
            true,
            "Clear the unused parts of pages before they are written; off is MDB_NOMEMINIT.",
        )
        .tuned(
            false,
            "Clearing has a modest cost, and what it hides is no secret here.",
            "lmdb.h, MDB_NOMEMINIT",
        ),
        OptionSpec::flag(
            "append",
            true,
            "Put with MDB_APPEND as long as a session's keys ascend past the last one: full pages \
             instead of half full ones in a sequential load.",
        )
        .engine_default(false, "lmdb.h, MDB_APPEND"),
        OptionSpec::count(
            "maxreaders",
            1 << 20,
            0,
            "Slots in the reader table; 0: enough for all sessions.",
        ),
    ]
}

/// Returns the environment flags of a durability class and options.
pub(crate) fn flags(options: &Options) -> Result<u32> {
    // Reader slots belong to transactions, not threads: any thread may hold several sessions, and
    // renewing a transaction needs no look into thread-local storage.
    let mut flags = ffi::MDB_NOTLS;
    flags |= match (options.durability, options.boolean("metasync")?) {
        (Durability::Commit, true) => 0,
        (Durability::Async, false) => ffi::MDB_NOMETASYNC,
        (Durability::None | Durability::Async, true) => ffi::MDB_NOSYNC,
        (class, false) => {
            let class = class.as_str();
            return Err(Error::invalid(format!(
                "metasync = false is for durability async, not {class}"
            )));
        }
    };
    let writemap = match options.text("writemap")? {
        "on" => true,
        "off" => false,
        _ => options.durability == Durability::None,
    };
    if writemap {
        flags |= ffi::MDB_WRITEMAP;
    }
    if !options.boolean("readahead")? {
        flags |= ffi::MDB_NORDAHEAD;
    }
    if !options.boolean("meminit")? {
        flags |= ffi::MDB_NOMEMINIT;
    }
    Ok(flags)
}

/// Returns the names of the flags that are set, joined by `|`.
pub(crate) fn flag_names(flags: u32) -> String {
    let names = [
        (ffi::MDB_NOSYNC, "MDB_NOSYNC"),
        (ffi::MDB_NOMETASYNC, "MDB_NOMETASYNC"),
        (ffi::MDB_WRITEMAP, "MDB_WRITEMAP"),
        (ffi::MDB_MAPASYNC, "MDB_MAPASYNC"),
        (ffi::MDB_NOTLS, "MDB_NOTLS"),
        (ffi::MDB_NORDAHEAD, "MDB_NORDAHEAD"),
        (ffi::MDB_NOMEMINIT, "MDB_NOMEMINIT"),
    ];
    let set: Vec<_> =
        names.iter().filter(|(flag, _)| flags & flag != 0).map(|&(_, name)| name).collect();
    set.join("|")
}
