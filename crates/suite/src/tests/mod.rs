//! Shared parts of tests that pass suites through both gates.

mod adjusted;
mod claims;
mod crews;
mod data_sets;
mod drive;
mod durations;
mod engines;
mod estimates;
mod language;
mod libraries;
mod parts;
mod phases;
mod pilots;
mod plans;
mod refusals;
mod replays;
mod studies;
mod tiers;
mod turns;
mod vocabulary;
mod volumes;

use super::*;
use kvdyno_record::engine::{
    BatchKind, Capabilities, Description, Durability, OptionKind, OptionSpec, PlaceKind, Planning,
    PowerLoss, TimeToLive, Value,
};
use kvdyno_record::left_out::sentences;
use kvdyno_record::plan::Plan;
use kvdyno_record::protocol::WorkerDescription;
use std::collections::BTreeMap;

/// A small suite, for tests to change with `--set`.
const SMALL: &str = r#"
[suite]
name = "small"
[data]
records = "1M"
value_bytes = 100
[[engine]]
name = "null"
[[phase]]
kind = "load"
[[phase]]
kind = "measure"
duration = "5s"
[[phase.role]]
name = "readers"
mix = [{ op = "get" }]
"#;

/// Every key of the language, and every word.
const EVERYTHING: &str = r#"
[suite]
name = "everything"
title = "All of it"
[data]
records = "1_000k"
key_bytes = 20
key_format = "binary"
value_bytes = { lognormal = { median = 128, sigma = 1.0, max = "1MiB" } }
compress_to = "50%"
seed = 0x2a
verify = false
overwritten = 0
[ram]
limit = ["1GiB", "4GB"]
[data_dir]
path = "/mnt/nvme/kvdyno"
[[volume]]
name = "small-xfs"
kind = "loop"
size = "4GiB"
filesystem = "xfs"
[[volume]]
name = "nvme"
kind = "device"
path = "/dev/nvme1n1"
discard = true
filesystem = "ext4"
mkfs = ["-O", "^has_journal"]
mount = ["data=writeback", "lazytime"]
[[volume]]
name = "disk"
kind = "directory"
path = "/mnt/disk"
[media]
fast = "/dev/nvme2n1"
[[volume]]
name = "fast-raw"
kind = "device"
medium = "fast"
filesystem = "ext4"
[run]
threads = [1, "2"]
io_latency = true
profile = true
trials = 1
budget = "1h30m"
slice = "500ms"
database = "fresh"
max_errors = 0
[show]
columns = ["over_1ms", "rms"]
[drive]
size = "auto"
preset = "ceiling"
ceiling = false
trials = 1
precondition = 2
in_order = true
block = "8KiB"
depth = 4
threads = 2
duration = "4s"
warmup = "1s"
[[drive.job]]
name = "mixed"
io = "io_uring"
rw = "randrw"
read_share = 0.7
block = "4MiB"
depth = "32"
threads = "sweep"
duration = "3s"
warmup = "500ms"
durability = "async"
options = { registered = false }
[[engine]]
name = "rocksdb"
label = "rocksdb-small"
durability = "commit"
scaled = ["write_buffer_size"]
options = { block_cache = "25%", max_write_buffer_number = "4", compression = "none" }
[[phase]]
name = "fill"
kind = "load"
order = "random"
batch = 100
threads = "sweep"
[[phase]]
kind = "settle"
limit = "1m"
[[phase]]
kind = "verify"
samples = "1k"
count = "auto"
[[phase]]
kind = "warm"
[[phase]]
kind = "evict"
name = "cold"
[[phase]]
kind = "reopen"
options.rocksdb-small = { max_write_buffer_number = 8 }
[[phase]]
kind = "measure"
warmup = "2s"
duration = "10s"
operations = "10M"
[[phase.role]]
name = "all"
threads = "sweep"
keys = { distribution = "zipf", theta = 0.99 }
rate = { per_second = "10k", schedule = "fixed" }
mix = [
    { op = "get", weight = 2.5 },
    { op = "insert" },
    { op = "update", keys = { distribution = "latest", theta = 0.8 } },
    { op = "delete", keys = { distribution = "sequential" } },
    { op = "scan", reverse = true, length = { uniform = { min = 1, max = 100 } } },
    { op = "multiget", count = 16, keys = { distribution = "ycsb_zipfian" } },
    { op = "rmw", keys = { distribution = "hotspot", keys = 0.2, operations = 0.8 } },
    { op = "batch", keys = { distribution = "exponential", percentile = 95, fraction = 0.857 } },
    { op = "batch", count = 5, weight = 0.1 },
]
[[phase]]
kind = "evict"
[[phase]]
kind = "measure"
operations = 1000
[[phase.role]]
name = "scans"
rate = { per_second = 5 }
mix = [{ op = "scan", length = { pareto = { min = 10, k = 0.2615, sigma = 25.45, max = 1024 } } }]
"#;

const GIB: u64 = 1 << 30;

const HOST: SizingHost = SizingHost {
    memory_bytes: 16 * GIB,
    memory_available_bytes: 12 * GIB,
    free_bytes: 100 * GIB,
    cpus: 8,
    device: false,
};

fn engine(name: &str) -> Description {
    Description {
        name: name.to_owned(),
        title: name.to_uppercase(),
        version: "1.0".to_owned(),
        build: BTreeMap::new(),
        capabilities: Capabilities {
            delete: true,
            scan_forward: true,
            scan_reverse: true,
            batch: BatchKind::Atomic,
            ..Capabilities::minimal([(Durability::Async, PowerLoss::LosesLast, "not waited for")])
        },
        options: Vec::new(),
        planning: Planning { space_factor: 2.0, write_factor: 3.0, ram_bytes_min: 16 << 20 },
    }
}

fn option(name: &str, kind: OptionKind, default: Value) -> OptionSpec {
    OptionSpec::new(name, kind, default, "What it does.")
}

/// Returns engines whose descriptions partly resemble those of the real ones.
fn engines() -> Engines {
    let mut null = engine("null");
    null.capabilities.stores_nothing = true;
    null.capabilities.scan_reverse = false;
    null.capabilities.delete = false;
    null.planning = Planning { space_factor: 0.0, write_factor: 0.0, ram_bytes_min: 1 << 20 };
    let mut lmdb = engine("lmdb");
    lmdb.capabilities.key_bytes_max = Some(511);
    let words = ["auto", "on", "off"].map(str::to_owned).to_vec();
    lmdb.options = vec![
        option("map_size", OptionKind::Bytes, Value::Integer(0)),
        option("readahead", OptionKind::Boolean, Value::Boolean(false)).tuned(false, "", ""),
        option("writemap", OptionKind::Choice { of: words }, Value::Text("auto".to_owned())),
    ];
    let mut rocksdb = engine("rocksdb");
    let count = OptionKind::Integer { min: 1, max: 64 };
    let commit = (Durability::Commit, PowerLoss::Keeps, "waited for");
    rocksdb.capabilities.durability.extend(Capabilities::minimal([commit]).durability);
    rocksdb.options = vec![
        option("block_cache", OptionKind::Bytes, Value::Integer(32 << 20))
            .engine_default(8 << 20, "db.h")
            .tuned("50%", "Half of the memory.", "the tuning guide"),
        option("write_buffer_size", OptionKind::Bytes, Value::Integer(64 << 20))
            .tuned("5%", "", ""),
        option("max_write_buffer_number", count.clone(), Value::Integer(2)),
        option("bloom_bits", count, Value::Integer(0)).tuned(10_u64, "", ""),
        OptionSpec::choice("compression", &["snappy", "none", "lz4", "zlib"], "What it does.")
            .tuned("lz4", "", ""),
        OptionSpec::choice("bottommost_compression", &["same", "none", "zstd"], "What it does.")
            .tuned("zstd", "", ""),
    ];
    let mut drive = engine("drive");
    drive.capabilities =
        Capabilities::bare_drive([(Durability::Async, PowerLoss::LosesLast, "not waited for")]);
    drive.planning = Planning { space_factor: 1.0, write_factor: 1.0, ram_bytes_min: 1 << 20 };
    let words = ["io_uring", "psync", "mmap"].map(str::to_owned).to_vec();
    drive.options = vec![
        option("io", OptionKind::Choice { of: words }, Value::Text("io_uring".to_owned())),
        option("registered", OptionKind::Boolean, Value::Boolean(true)),
        option("direct", OptionKind::Boolean, Value::Boolean(true)),
        option("read_only", OptionKind::Boolean, Value::Boolean(false)),
    ];
    let fio = Description { name: "fio".to_owned(), ..drive.clone() };
    drive.capabilities.addressed = true;
    let worker = |engine: Description| {
        let described = WorkerDescription {
            protocol: kvdyno_record::PROTOCOL,
            load_generator: "0.1.0".to_owned(),
            debug_build: false,
            server: None,
            engine,
        };
        let needed = WorkerSpec { engine: described.engine.name.clone(), pick: Pick::Newest };
        (needed, Ok(InstalledWorker { description: described, library: None }))
    };
    let workers = BTreeMap::from([null, lmdb, rocksdb, drive, fio].map(worker));
    let worker_names = workers.keys().map(|spec| spec.engine.clone()).collect();
    Engines { workers, worker_names }
}

/// Returns the description of one of these engines.
fn engine_of<'e>(engines: &'e mut Engines, name: &str) -> &'e mut Description {
    let needed = WorkerSpec { engine: name.to_owned(), pick: Pick::Newest };
    let worker = engines.workers.get_mut(&needed).unwrap().as_mut().unwrap();
    &mut worker.description.engine
}

fn set(arguments: &[&str]) -> Overrides {
    Overrides { set: arguments.iter().map(ToString::to_string).collect(), ..Overrides::default() }
}

fn plan_of(text: &str, overrides: &Overrides) -> Result<Plan, SuiteError> {
    let suite = Suite::parse("suite.toml", text, overrides)?;
    expand(&suite, &engines(), &HOST)
}

fn plan(text: &str, arguments: &[&str]) -> Plan {
    match plan_of(text, &set(arguments)) {
        Ok(plan) => plan,
        Err(error) => panic!("{}", error.render(false)),
    }
}

fn refusal(text: &str, overrides: &Overrides) -> String {
    match plan_of(text, overrides) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(error) => error.render(false),
    }
}

fn builtin_text(expected: &str) -> &'static str {
    builtin().iter().find(|(name, _)| *name == expected).map(|(_, text)| *text).unwrap()
}
