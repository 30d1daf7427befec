//! The description of libmdbx, its options, and the settings that follow from them.

use crate::library::ffi;
use crate::raw::{self, Opening};
use crate::size;
use kvdyno_engine::{
    BatchKind, Capabilities, DataShape, Description, Durability, Error, OptionSpec, Options,
    Planning, PowerLoss, Result, Transactions,
};
use std::collections::BTreeMap;

/// The default page size in bytes. libmdbx uses the system's, which is this on x86-64 and most
/// others.
pub(crate) const PAGE: u64 = 4096;

pub(crate) fn description() -> Description {
    let (version, commit, how) = raw::version();
    Description {
        name: "mdbx".to_owned(),
        title: "libmdbx".to_owned(),
        version,
        build: BTreeMap::from([
            ("crate".to_owned(), "signet-mdbx-sys, sources of the crate".to_owned()),
            ("commit".to_owned(), commit),
            ("built".to_owned(), how),
        ]),
        capabilities: capabilities(),
        options: options(),
        // Random load of 16/100 bytes in class async: the file is 1.6 times the data, and 64 MiB of
        // pages that are not reused before they are flushed (sync_bytes). 293 times the data is
        // written where each record is a commit (100 000 records), 93 times with a thousand in each
        // (200 000); in class none 1.6 times.
        planning: Planning { space_factor: 2.2, write_factor: 300.0, ram_bytes_min: 16 << 20 },
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
        key_bytes_max: Some(raw::key_bytes_max(PAGE as isize)),
        value_bytes_max: Some(ffi::MDBX_MAXDATASIZE.into()),
        ..Capabilities::minimal([
            (
                Durability::None,
                PowerLoss::Damages,
                "MDBX_UTTERLY_NOSYNC, and MDBX_WRITEMAP unless writemap = off: pages are changed \
                 in the shared map, never flushed; a power loss can damage the file",
            ),
            (
                Durability::Async,
                PowerLoss::LosesLast,
                "MDBX_SAFE_NOSYNC: pages are written to the page cache at commit and flushed every \
                 sync_bytes, and those of the last flushed commit are not overwritten; the file \
                 survives the process, and after a power loss it is as that commit left it",
            ),
            (
                Durability::Commit,
                PowerLoss::Keeps,
                "MDBX_SYNC_DURABLE: each commit flushes data, then the meta page, before it \
                 returns",
            ),
        ])
    }
}

fn options() -> Vec<OptionSpec> {
    [file(), writing()].concat()
}

/// Returns the options of the file and its map.
fn file() -> Vec<OptionSpec> {
    vec![
        OptionSpec::bytes(
            "size_upper",
            0,
            "The most the file can grow to (mdbx_env_set_geometry); 0: from the size of the data, \
             with room for copies.",
        ),
        OptionSpec::bytes(
            "growth_step",
            0,
            "By how much the file grows at a time; 0: libmdbx decides.",
        ),
        OptionSpec::bytes(
            "shrink_threshold",
            0,
            "How much must be free at its end for the file to shrink; 0: libmdbx decides.",
        ),
        OptionSpec::bytes(
            "page_size",
            0,
            "Of the file; a power of two from 256 to 65536. 0: the system's.",
        ),
        OptionSpec::flag(
            "readahead",
            false,
            "Let libmdbx decide by the machine's memory whether the kernel reads ahead: it does \
             not know of a limit below that. Off is MDBX_NORDAHEAD.",
        )
        .engine_default(true, "mdbx.h, MDBX_NORDAHEAD"),
        OptionSpec::choice(
            "writemap",
            &["auto", "on", "off"],
            "MDBX_WRITEMAP: change pages in the map instead of in copies; auto: on in class none. \
             A full volume then kills the process (SIGBUS).",
        )
        .engine_default("off", "mdbx.h, MDBX_WRITEMAP"),
    ]
}

/// Returns the options of writing pages.
fn writing() -> Vec<OptionSpec> {
    vec![
        OptionSpec::flag(
            "lifo_reclaim",
            false,
            "MDBX_LIFORECLAIM: reuse the pages first that were freed last.",
        )
        .tuned(
            true,
            "The fewest pages are overwritten in memory and on disk, which a disk with a \
             write-back cache rewards.",
            "mdbx.h, MDBX_LIFORECLAIM",
        ),
        OptionSpec::flag(
            "meminit",
            true,
            "Clear the unused parts of pages before they are written; off is MDBX_NOMEMINIT.",
        )
        .tuned(
            false,
            "Clearing has a modest cost, and what it hides is no secret here.",
            "mdbx.h, MDBX_NOMEMINIT",
        ),
        OptionSpec::flag(
            "append",
            true,
            "Put with MDBX_APPEND as long as a session's keys ascend past the last one: full pages \
             instead of half full ones in a sequential load.",
        )
        .engine_default(false, "mdbx.h, MDBX_UPSERT"),
        OptionSpec::bytes(
            "sync_bytes",
            64 << 20,
            "Unflushed bytes at which a commit of class async flushes all of them \
             (MDBX_opt_sync_bytes). 0 is libmdbx's own: it flushes before it would let the file \
             grow, which while data is loaded is at almost every commit.",
        )
        .engine_default(0, "mdbx.h, MDBX_SAFE_NOSYNC"),
        OptionSpec::count(
            "maxreaders",
            32767,
            0,
            "Slots in the reader table; 0: enough for all sessions.",
        ),
    ]
}

/// Returns the settings with which an environment for `data` is opened.
pub(crate) fn opening(options: &Options, data: &DataShape) -> Result<Opening> {
    let own_or = |name: &str| {
        options.integer(name).map(|bytes| if bytes == 0 { -1 } else { bytes as isize })
    };
    let page_size = own_or("page_size")?;
    if page_size >= 0 && !(page_size.count_ones() == 1 && (256..=65536).contains(&page_size)) {
        return Err(Error::invalid(format!(
            "page_size: expected a power of two from 256 to 65536, found {page_size}"
        )));
    }
    let page = if page_size < 0 { PAGE } else { page_size as u64 };
    let size_upper = match options.integer("size_upper")? {
        0 => size::map_bytes(data, page),
        bytes => bytes.next_multiple_of(page),
    };
    let sync_bytes = match options.durability {
        Durability::Async => options.integer("sync_bytes")?,
        Durability::None | Durability::Commit => 0,
    };
    Ok(Opening {
        flags: flags(options)?,
        readers: match options.integer("maxreaders")? {
            // The load generator itself opens a few more sessions, for verification.
            0 => u64::from(data.sessions) + 16,
            readers => readers,
        },
        size_upper: size_upper.min(raw::file_bytes_max(page as isize)) as isize,
        growth_step: own_or("growth_step")?,
        shrink_threshold: own_or("shrink_threshold")?,
        page_size,
        sync_bytes: (sync_bytes > 0).then_some(sync_bytes),
    })
}

/// Returns the environment flags of a durability class and options.
fn flags(options: &Options) -> Result<u32> {
    // Any thread may hold several sessions.
    let mut flags = ffi::MDBX_NOSTICKYTHREADS;
    flags |= match options.durability {
        Durability::None => ffi::MDBX_UTTERLY_NOSYNC,
        Durability::Async => ffi::MDBX_SAFE_NOSYNC,
        Durability::Commit => ffi::MDBX_SYNC_DURABLE,
    };
    let writemap = match options.text("writemap")? {
        "on" => true,
        "off" => false,
        _ => options.durability == Durability::None,
    };
    for (set, flag) in [
        (writemap, ffi::MDBX_WRITEMAP),
        (!options.boolean("readahead")?, ffi::MDBX_NORDAHEAD),
        (!options.boolean("meminit")?, ffi::MDBX_NOMEMINIT),
        (options.boolean("lifo_reclaim")?, ffi::MDBX_LIFORECLAIM),
    ] {
        if set {
            flags |= flag;
        }
    }
    Ok(flags)
}

/// Returns the names of the flags that are set, joined by `|`.
pub(crate) fn flag_names(flags: u32) -> String {
    let names = [
        (ffi::MDBX_UTTERLY_NOSYNC, "MDBX_UTTERLY_NOSYNC"),
        (ffi::MDBX_SAFE_NOSYNC, "MDBX_SAFE_NOSYNC"),
        (ffi::MDBX_WRITEMAP, "MDBX_WRITEMAP"),
        (ffi::MDBX_NOSTICKYTHREADS, "MDBX_NOSTICKYTHREADS"),
        (ffi::MDBX_NORDAHEAD, "MDBX_NORDAHEAD"),
        (ffi::MDBX_NOMEMINIT, "MDBX_NOMEMINIT"),
        (ffi::MDBX_LIFORECLAIM, "MDBX_LIFORECLAIM"),
    ];
    // The first flag includes the second.
    let mut rest = flags;
    let mut set = Vec::new();
    for (flag, name) in names {
        if rest & flag == flag {
            rest &= !flag;
            set.push(name);
        }
    }
    set.join("|")
}
