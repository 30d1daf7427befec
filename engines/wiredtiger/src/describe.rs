//! The description of `WiredTiger`, and the configuration strings of its options.

use crate::library::WiredTigerLibrary;
use kvdyno_engine::{
    BatchKind, Capabilities, DataShape, Description, Durability, Error, OptionKind, OptionSpec,
    Options, Planning, PowerLoss, Result, Transactions, Value,
};
use std::collections::BTreeMap;

/// The description with the library in use. `Err`: the reason why there is none.
pub(crate) fn description(library: Result<&WiredTigerLibrary>) -> Description {
    let (version, build, types, compressors) = match library {
        Ok(library) => {
            let types = if library.has_lsm() { &["btree", "lsm"][..] } else { &["btree"] };
            let compressors = library.compressors();
            (library.version.clone(), library.build.clone(), types, compressors)
        }
        Err(error) => {
            let why = BTreeMap::from([("library".to_owned(), error.message)]);
            (
                "unknown".to_owned(),
                why,
                &["btree", "lsm"][..],
                vec!["lz4", "snappy", "zlib", "zstd"],
            )
        }
    };
    let options = [connection(), log(&compressors), table(types, &compressors)];
    Description {
        name: "wiredtiger".to_owned(),
        title: "WiredTiger".to_owned(),
        version,
        build,
        capabilities: capabilities(),
        options: options.concat(),
        // Random load of 1 M x 16/100 bytes, data a little larger than the cache, with the log: 4.1
        // times the data on the volume, 15 to 18 times written; with 4000-byte values 1.9 and 3.3.
        planning: Planning { space_factor: 4.5, write_factor: 20.0, ram_bytes_min: 64 << 20 },
    }
}

fn capabilities() -> Capabilities {
    Capabilities {
        delete: true,
        scan_forward: true,
        scan_reverse: true,
        batch: BatchKind::Atomic,
        atomic_read_modify_write: true,
        transactions: Transactions::Optimistic,
        library: true,
        // Its header's limit of an item: "a small number of bytes less than 4GB".
        value_bytes_max: Some((4 << 30) - 1024),
        ..Capabilities::least([
            (
                Durability::None,
                PowerLoss::LosesLast,
                "log=(enabled=false): no log; a crash loses what was written since the last \
                 checkpoint; sync and close checkpoint",
            ),
            (
                Durability::Async,
                PowerLoss::LosesLast,
                "log=(enabled=true),transaction_sync=(enabled=true,method=none): the log is \
                 written to the operating system at each commit, not synced",
            ),
            (
                Durability::Commit,
                PowerLoss::Keeps,
                "log=(enabled=true),transaction_sync=(enabled=true,method=fsync): the log is \
                 synced at each commit; commits under way share a sync",
            ),
        ])
    }
}

const OPEN: &str = "wiredtiger.h, wiredtiger_open";
const MONGOD: &str = "MongoDB, wiredtiger_kv_engine.cpp: how WiredTiger's authors open it";

/// Options of the database as a whole.
fn connection() -> Vec<OptionSpec> {
    vec![
        OptionSpec::bytes("cache_size", 100 << 20, "Memory of the cache; 1 MiB at least.").tuned(
            "25%",
            "The cache is the most important setting, and should hold the working set. Not the \
             half that MongoDB takes of a whole machine: buffers of the log are 32 MiB beside it, \
             and of memory that it gave back glibc keeps as much again. With a third of 123 MiB \
             all of them were the process's own in the end.",
            "WiredTiger, tune-cache.dox; MongoDB manual, storage.wiredTiger.engineConfig",
        ),
        OptionSpec::count(
            "checkpoint_wait",
            100_000,
            60,
            "Seconds between checkpoints; 0: none but those of sync and close.",
        )
        .as_it_comes(0_u64, OPEN)
        .tuned(60_u64, "Bounds recovery, and the log that is kept for it.", MONGOD),
        OptionSpec::bytes(
            "checkpoint_log_size",
            0,
            "Checkpoint after so many bytes of log as well, up to 2 GiB; 0: by time alone.",
        )
        .tuned(2_u64 << 30, "Bounds recovery where much is written in a minute.", MONGOD),
        threads("eviction_threads_min", 1, "Least").tuned(
            4_u64,
            "A single thread is insufficient in a busy cache, and threads of the application then \
             evict.",
            "WiredTiger, tune-cache.dox; MongoDB, wiredtiger_kv_engine.cpp",
        ),
        threads("eviction_threads_max", 8, "Most").tuned(
            4_u64,
            "As many as there are from the beginning.",
            "WiredTiger, examples/c/ex_all.c; MongoDB, wiredtiger_kv_engine.cpp",
        ),
        percent("eviction_target", 80, "Threads evict above this share of the cache."),
        percent("eviction_trigger", 95, "Operations must evict above this share of the cache."),
        percent("eviction_dirty_target", 5, "Threads evict above this share of dirty cache."),
        percent(
            "eviction_dirty_trigger",
            20,
            "Operations must evict above this share of dirty \
            cache.",
        ),
        text("wiredtiger_open", "Any other configuration of the database"),
    ]
}

fn log(compressors: &[&str]) -> Vec<OptionSpec> {
    let compressor = words("log_compressor", compressors, "Compression of log records.");
    let snappy = compressors.contains(&"snappy");
    let why = "The log is written in fewer bytes.";
    vec![
        if snappy { compressor.tuned("snappy", why, MONGOD) } else { compressor },
        OptionSpec::bytes("log_file_max", 100 << 20, "Size of a log file."),
    ]
}

/// Options of the one table.
fn table(types: &[&str], compressors: &[&str]) -> Vec<OptionSpec> {
    vec![
        OptionSpec::text(
            "table",
            "kvdyno",
            "Table that is measured. A new database gets it, with the options below; in another \
             one it must exist, with keys and values of format `u`.",
        ),
        OptionSpec::words("type", types, "A B-tree, or an LSM tree of them."),
        words("block_compressor", compressors, "Compression of pages in the file."),
        OptionSpec::bytes("leaf_page_max", 32 << 10, "Largest leaf page in the file."),
        OptionSpec::bytes("internal_page_max", 4 << 10, "Largest internal page in the file."),
        OptionSpec::bytes("memory_page_max", 5 << 20, "Size a page can grow to in memory.").tuned(
            10_u64 << 20,
            "Pages that are written to are split and reconciled less often.",
            "WiredTiger, tune-page-size-and-comp.dox; MongoDB, wiredtiger_record_store.cpp",
        ),
        OptionSpec::bytes("allocation_size", 4 << 10, "Unit of allocation in the file."),
        OptionSpec::count(
            "split_pct",
            100,
            90,
            "Fill of pages that a split leaves; 66 suits random updates, 100 appending.",
        ),
        OptionSpec::flag("prefix_compression", false, "Store the prefixes of keys once a page."),
        OptionSpec::words(
            "checksum",
            &["on", "off", "uncompressed", "unencrypted"],
            "Which blocks have a checksum.",
        ),
        text("session_create", "Any other configuration of the table"),
    ]
}

fn threads(name: &str, default: u64, which: &str) -> OptionSpec {
    let kind = OptionKind::Integer { min: 1, max: 20 };
    OptionSpec::new(name, kind, default.into(), &format!("{which} threads that evict pages."))
}

fn percent(name: &str, default: u64, help: &str) -> OptionSpec {
    let kind = OptionKind::Integer { min: 1, max: 99 };
    OptionSpec::new(name, kind, default.into(), &format!("{help} In percent."))
}

fn words(name: &str, compressors: &[&str], help: &str) -> OptionSpec {
    OptionSpec::words(name, &[&["none"], compressors].concat(), help)
}

fn text(name: &str, what: &str) -> OptionSpec {
    let help = format!(
        "{what}, in WiredTiger's own form, `a=1,b=(c=2)`; applied last. None that has an option \
         here, breaks the durability class, or puts files elsewhere."
    );
    OptionSpec::new(name, OptionKind::Text, Value::Text(String::new()), &help)
}

/// The configuration of `wiredtiger_open`.
pub(crate) fn open_config(options: &Options, data: &DataShape) -> Result<String> {
    /// For its own threads, and for what the adapter does beside the sessions.
    const OTHERS: u32 = 64;
    let value = |name: &str| options.values.get(name).map(ToString::to_string).unwrap_or_default();
    let log = match options.durability {
        Durability::None => "log=(enabled=false)".to_owned(),
        class => {
            let method = if class == Durability::Commit { "fsync" } else { "none" };
            let (size, compressor) = (value("log_file_max"), value("log_compressor"));
            format!(
                "log=(enabled=true,file_max={size},compressor={compressor}),\
                 transaction_sync=(enabled=true,method={method})"
            )
        }
    };
    let (wait, size) = (value("checkpoint_wait"), value("checkpoint_log_size"));
    let (min, max) = (value("eviction_threads_min"), value("eviction_threads_max"));
    // Sessions that walk have one more each.
    let sessions = OTHERS.saturating_add(data.sessions.saturating_mul(2));
    let mut parts = vec![
        // The plan alone decides: not the environment, and not the configuration that a database
        // was created with.
        "create,use_environment=false,config_base=false,statistics=(fast)".to_owned(),
        format!("session_max={sessions}"),
        format!("checkpoint=(wait={wait},log_size={size})"),
        format!("eviction=(threads_min={min},threads_max={max})"),
        log,
    ];
    let named = ["cache_size", "eviction_target", "eviction_trigger"].into_iter();
    let named = named.chain(["eviction_dirty_target", "eviction_dirty_trigger"]);
    parts.extend(named.map(|name| format!("{name}={}", value(name))));
    parts.push(extra_config(options, "wiredtiger_open")?.to_owned());
    Ok(parts.join(","))
}

/// The configuration of the table.
pub(crate) fn table_config(options: &Options) -> Result<String> {
    let kind = if options.text("type")? == "lsm" { "lsm" } else { "file" };
    let mut parts = vec![format!("key_format=u,value_format=u,type={kind}")];
    let named = table(&[], &[]).into_iter().map(|option| option.name);
    let named = named.filter(|name| !["table", "type", "session_create"].contains(&&**name));
    parts.extend(named.filter_map(|name| Some(format!("{name}={}", options.values.get(&name)?))));
    parts.push(extra_config(options, "session_create")?.to_owned());
    Ok(parts.join(","))
}

/// What a user's own configuration may not hold, and why.
const REFUSED: [(&str, &[&str]); 3] = [
    (
        "would put files outside the database's folder, or run code from there",
        &[
            "path",
            "extensions",
            "use_environment",
            "use_environment_priv",
            "tiered_storage",
            "chunk_cache",
            "block_cache",
            "import",
            "source",
            "merge_custom",
            "multiprocess",
        ],
    ),
    (
        "would break the durability class",
        &["log", "transaction_sync", "in_memory", "readonly", "salvage"],
    ),
    (
        "is set by an option of its own, or by kvdyno",
        &[
            "cache_size",
            "checkpoint",
            "config_base",
            "create",
            "eviction",
            "eviction_target",
            "eviction_trigger",
            "eviction_dirty_target",
            "eviction_dirty_trigger",
            "session_max",
            "statistics",
            "type",
            "key_format",
            "value_format",
            "block_compressor",
            "leaf_page_max",
            "internal_page_max",
            "memory_page_max",
            "allocation_size",
            "split_pct",
            "prefix_compression",
            "checksum",
            "columns",
            "colgroups",
        ],
    ),
];

/// The user's own configuration, in `WiredTiger`'s form.
fn extra_config<'o>(options: &'o Options, name: &str) -> Result<&'o str> {
    let text = options.text(name)?;
    let items = text.split(|c| ",()[]{}".contains(c));
    // A name has a value behind it, or is one that is on or off.
    let alone = ["create", "in_memory", "readonly", "salvage", "multiprocess", "use_environment"];
    for item in items {
        let (key, value) = match item.split_once(['=', ':']) {
            Some((key, value)) => (key, Some(value)),
            None => (item, None),
        };
        let key = key.trim().trim_matches('"');
        let counts = value.is_some() || alone.contains(&key);
        let why = REFUSED.iter().find(|(_, names)| counts && names.contains(&key));
        if let Some((why, _)) = why {
            return Err(Error::invalid(format!("{name}: {key} {why}")));
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> Options {
        let unknown = Error::invalid("none");
        Options::defaults(&description(Err(unknown)), Durability::Async)
    }

    #[test]
    fn what_leads_elsewhere_or_breaks_a_promise_is_refused() {
        let with = |name: &str, text: &str| {
            let mut options = options();
            options.values.insert(name.to_owned(), Value::Text(text.to_owned()));
            extra_config(&options, name).map(str::to_owned)
        };
        for text in [
            "statistics_log=(wait=1,path=/tmp)",
            "statistics_log={\"path\" : \"/tmp\"}",
            "extensions=[/tmp/x.so]",
            "log=(file_max=1MB)",
            "hash=(buckets=512),in_memory",
            "transaction_sync = (enabled=false)",
            "use_environment",
            "cache_size=1GB",
        ] {
            assert!(with("wiredtiger_open", text).is_err(), "{text}");
        }
        for text in ["", "direct_io=[data,log]", "io_capacity=(total=100MB),mmap=false"] {
            assert_eq!(with("wiredtiger_open", text).as_deref(), Ok(text));
        }
        assert!(with("session_create", "type=lsm").is_err());
        assert!(with("session_create", "dictionary=1000,lsm=(chunk_size=50MB)").is_ok());
    }

    #[test]
    fn a_class_is_what_it_promises() {
        let shape = DataShape { sessions: 3, ..DataShape::uniform(1, 16, 100) };
        let config = |durability| {
            let options = Options { durability, ..options() };
            open_config(&options, &shape).unwrap()
        };
        assert!(config(Durability::None).contains("log=(enabled=false)"));
        assert!(config(Durability::Async).contains("transaction_sync=(enabled=true,method=none)"));
        assert!(
            config(Durability::Commit).contains("transaction_sync=(enabled=true,method=fsync)")
        );
        assert!(config(Durability::None).contains("session_max=70"));
    }
}
