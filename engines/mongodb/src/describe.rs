//! The description of a server with this protocol, and its options under its own names.

use crate::server::{Kind, numbers};
use kvdyno_engine::graph::Isolation;
use kvdyno_engine::server::{LISTEN, LISTENS, Program};
use kvdyno_engine::{
    BatchKind, Capabilities, Description, Durability, OptionKind, OptionSpec, Planning, PowerLoss,
    Result,
};
use std::collections::BTreeMap;

/// Before 4.2 an index entry has at most 1024 bytes, with its overhead.
pub(crate) const KEY_BYTES_MAX: usize = 1000;

/// A document has at most 16 MiB, with its key and overhead.
pub(crate) const VALUE_BYTES_MAX: usize = (16 << 20) - (16 << 10);

/// Returns the description of the program in use. `Err`: the reason why there is none.
pub(crate) fn description(program: Result<&Program>) -> Description {
    let kind = program.as_ref().map_or(Kind::Mongod, |program| Kind::from_program(program));
    let (version, build) = match program {
        Ok(program) => (program.version.clone(), build(program, kind)),
        Err(error) => {
            ("unknown".to_owned(), BTreeMap::from([("program".to_owned(), error.message)]))
        }
    };
    let least = match kind {
        Kind::Mongod | Kind::TokuMx => Capabilities::minimal([
            (
                Durability::None,
                PowerLoss::LosesLast,
                "writeConcern {w: 1, j: false}: the journal is in the server's memory up to 100 ms",
            ),
            (
                Durability::Commit,
                PowerLoss::Keeps,
                "writeConcern {w: 1, j: true}: the journal is synced before the answer, for all \
                 that wait together",
            ),
        ]),
        Kind::FerretDb => Capabilities::minimal([
            (
                Durability::Async,
                PowerLoss::Damages,
                "SQLite's journal_mode = WAL, synchronous = OFF: handed to the operating system, \
                 never synced; a power loss can damage the file",
            ),
            (
                Durability::Commit,
                PowerLoss::Keeps,
                "SQLite's journal_mode = WAL, synchronous = FULL: its log is synced before the \
                 answer",
            ),
        ]),
    };
    let least = without_journal(&version, least);
    Description {
        name: "mongodb".to_owned(),
        title: kind.title().to_owned(),
        version,
        build,
        capabilities: Capabilities {
            delete: true,
            scan_forward: true,
            scan_reverse: true,
            native_multiget: true,
            batch: BatchKind::Together,
            external_processes: true,
            graph: vec![Isolation::TwoPhase, Isolation::None],
            library: true,
            key_bytes_max: Some(KEY_BYTES_MAX as u64),
            value_bytes_max: Some(VALUE_BYTES_MAX as u64),
            ..least
        },
        options: options(kind),
        planning: Planning { space_factor: 4.0, write_factor: 8.0, ram_bytes_min: 256 << 20 },
    }
}

/// Adds what a power loss does without a journal: `WiredTiger` and `RocksDB` restart from what they
/// wrote last, `mmapv1` changes its files in place. The first exception that applies counts.
fn without_journal(version: &str, capabilities: Capabilities) -> Capabilities {
    // The empty choice is `WiredTiger` since 3.2. `TokuMX` and `FerretDB` have neither option.
    let by_default = (numbers(version) >= (3, 2)).then_some("");
    let engines = ["wiredTiger", "rocksdb"].into_iter().chain(by_default);
    let (class, loses) = (Durability::None, PowerLoss::LosesLast);
    let except = |all: Capabilities, engine| all.except(class, "storage_engine", engine, loses);
    engines.fold(capabilities, except).except(class, "journal", false, PowerLoss::Damages)
}

fn build(program: &Program, kind: Kind) -> BTreeMap<String, String> {
    let mut build = program.build.clone();
    if kind == Kind::FerretDb {
        let what = "SQLite; keys as text of hexadecimal digits; each lookup reads the whole table";
        build.insert("backend".to_owned(), what.to_owned());
    }
    build
}

const TOKUMX: &str = "TokuMX Users Guide: Memory Allocation";

const WIREDTIGER: &str = "MongoDB's manual, WiredTiger Storage Engine: Memory Use";

fn options(kind: Kind) -> Vec<OptionSpec> {
    let listen = OptionSpec::choice(
        LISTEN,
        &LISTENS,
        "Transport: a Unix socket. A port is refused: this client has no password.",
    );
    match kind {
        Kind::FerretDb => vec![listen],
        Kind::TokuMx => [vec![listen], tokumx_options()].concat(),
        Kind::Mongod => [vec![listen], mongod_options()].concat(),
    }
}

fn oplog_size() -> OptionSpec {
    OptionSpec::bytes(
        "oplog_size",
        0,
        "Its oplog, as the one member of a replica set (--replSet, --oplogSize). 0: none. TokuMX \
         keeps 14 days of it, however large.",
    )
}

fn tokumx_options() -> Vec<OptionSpec> {
    vec![
        OptionSpec::bytes(
            "cache_size",
            0,
            "Cache of its trees (--cacheSize). 0: its own default, a half of the machine's memory.",
        )
        .tuned("50%", "Half of the memory, the rest for the kernel's cache.", TOKUMX),
        OptionSpec::choice(
            "block_compressor",
            &["zlib", "none", "quicklz", "lzma"],
            "Compression of its nodes (defaultCompression).",
        ),
        OptionSpec::count(
            "syncdelay",
            3600,
            60,
            "Seconds between checkpoints (--checkpointPeriod).",
        ),
        oplog_size(),
    ]
}

fn mongod_options() -> Vec<OptionSpec> {
    vec![
        OptionSpec::new(
            "storage_engine",
            OptionKind::Text,
            "".into(),
            "wiredTiger, mmapv1 or rocksdb, if the program has it (--storageEngine). Empty: its \
             own default, mmapv1 before 3.2.",
        ),
        OptionSpec::bytes(
            "cache_size",
            0,
            "Cache of wiredTiger or rocksdb; mmapv1 has the kernel's. 0: its own default, a half \
             of the machine's memory or of the limit, by version.",
        )
        .tuned(
            "50%",
            "Half of the memory, the rest for the kernel's cache; old versions ignore the limit \
             and take half of the machine.",
            WIREDTIGER,
        ),
        OptionSpec::flag(
            "journal",
            true,
            "A journal (--nojournal; before 6.1). Without it a power loss can damage mmapv1's \
             files, and wiredTiger restarts from its last checkpoint.",
        ),
        OptionSpec::choice(
            "block_compressor",
            &["snappy", "none", "zlib", "zstd"],
            "Compression of wiredTiger's blocks (--wiredTigerCollectionBlockCompressor); zstd \
             since 4.2.",
        ),
        OptionSpec::choice(
            "journal_compressor",
            &["snappy", "none", "zlib", "zstd"],
            "Compression of wiredTiger's journal (--wiredTigerJournalCompressor); zstd since 4.2.",
        ),
        OptionSpec::count(
            "syncdelay",
            3600,
            60,
            "Seconds between checkpoints, or between syncs of mmapv1's files.",
        ),
        oplog_size(),
        OptionSpec::flag("directoryperdb", false, "A directory for each database."),
        OptionSpec::flag("smallfiles", false, "Smaller files of mmapv1 (before 4.2)."),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_engine::{Error, Options};

    #[test]
    fn without_a_journal_a_power_loss_damages() {
        let mut description = description(Err(Error::invalid("there is none")));
        let mut options = Options::defaults(&description, Durability::None);
        assert_eq!(description.power_loss(&options), Some(PowerLoss::LosesLast));
        options.values.insert("journal".to_owned(), false.into());
        assert_eq!(description.power_loss(&options), Some(PowerLoss::Damages));
        options.values.insert("storage_engine".to_owned(), "wiredTiger".into());
        assert_eq!(description.power_loss(&options), Some(PowerLoss::LosesLast));
        options.values.insert("storage_engine".to_owned(), "".into());
        for (version, expected) in [("3.0.15", PowerLoss::Damages), ("3.2.0", PowerLoss::LosesLast)]
        {
            let promise = [(Durability::None, PowerLoss::LosesLast, "")];
            description.capabilities = without_journal(version, Capabilities::minimal(promise));
            assert_eq!(description.power_loss(&options), Some(expected), "{version}");
        }
    }
}
