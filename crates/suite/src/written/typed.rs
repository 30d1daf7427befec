//! A suite as typed: each value with its position, no defaults filled in. The JSON Schema is
//! generated from these types; `check` and `expand` interpret their values.

use crate::written::claim::ClaimTable;
use crate::written::crew::CrewTable;
use crate::written::drive::Drive;
use crate::written::engine::{Engine, EngineTable};
use crate::written::fidelity::Fidelity;
use crate::written::from::OwnData;
use crate::written::length::Length;
use crate::written::linkbench::{self, LinkBench};
use crate::written::media::Media;
use crate::written::mistake::Mistakes;
use crate::written::part::PartTable;
use crate::written::phase::{Load, Measure, Phase, Role};
use crate::written::read::{At, Fields, FromToml, Key, Or as _, Toml, Word, table};
use crate::written::scalar::{
    ByteSize, Count, DataSize, Name, Nanoseconds, OneOrMany, Several, Share, Threads,
};
use crate::written::source::Span;
use crate::written::tier::Tier;
use crate::written::volume::Volume;
use kvdyno_record::column::ColumnName;
use kvdyno_record::plan::Counting;
use kvdyno_record::steady::WINDOW;
use kvdyno_record::workload::{KeyFormat, KeyOrder, Size};
use schemars::JsonSchema;
use std::collections::BTreeMap;

/// A suite of kvdyno: data, engines, phases, and the values that vary.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "Suite")]
pub(crate) struct Typed {
    /// The suite's name and title.
    pub(crate) suite: Header,
    /// The data set. Required unless the suite measures a `[drive]` alone.
    #[schemars(with = "Option<At<Data>>")]
    pub(crate) data: At<Data>,
    /// The memory limit of an engine. Default: no limit.
    #[schemars(default)]
    pub(crate) ram: Ram,
    /// The directory of the databases.
    #[schemars(default)]
    pub(crate) data_dir: DataDirTable,
    /// Filesystems or devices for the databases. Every engine runs on every volume that can hold
    /// its data. kvdyno skips the others and lists them in the plan. Default: the filesystem of the
    /// data directory.
    #[schemars(default)]
    pub(crate) volume: Vec<At<Volume>>,
    /// The drive behind each `medium` of a volume or memory tier, by name. A value is a block
    /// device below `/dev`, `"data-dir"`, or, for volumes, a directory for images on loop devices.
    /// `"data-dir"` puts the images in the run's data directory. The option `--medium NAME=PATH`
    /// sets it too.
    #[schemars(default)]
    pub(crate) media: Media,
    /// Threads, trials, time limits and the use of databases.
    #[schemars(default)]
    pub(crate) run: Run,
    /// Several processes that drive one server (docs/crew.md). Default: one process.
    pub(crate) crew: Option<At<CrewTable>>,
    /// Additional columns of the tables.
    #[schemars(default)]
    pub(crate) show: Show,
    /// Measurements of the bare drive below the databases (docs/drive.md). Default: none.
    pub(crate) drive: Option<At<Drive>>,
    /// The engines under test. Each trial runs them in a new random order. Required unless the
    /// suite measures a `[drive]` alone.
    #[schemars(with = "Option<Vec<At<EngineTable>>>", length(min = 1))]
    pub(crate) engine: Vec<Engine>,
    /// The phases of a case, in order. The first phase is the load. Required unless the suite
    /// measures a `[drive]` alone.
    #[schemars(with = "Option<Vec<At<Phase>>>", length(min = 1))]
    pub(crate) phase: Vec<At<Phase>>,
}

/// A suite of kvdyno: data, engines, phases, and the values that vary.
#[derive(JsonSchema)]
#[schemars(rename = "Suite")]
#[expect(dead_code, reason = "describes the language for the schema")]
pub(crate) struct Whole {
    #[schemars(flatten)]
    typed: Typed,
    /// Sets of named phases: `db_bench`, `dbbench` (of LMDB) and `ycsb`. Two sets with a common
    /// phase name exclude each other. `include` and `fidelity` stand before the first table.
    include: Option<Vec<String>>,
    /// The version of named phases that have two. Default: as-written.
    fidelity: Option<Fidelity>,
    /// Phases by name. `phases` of `[run]` or of a part selects them. A named phase has the keys of
    /// `[[phase]]` without `name`, and its roles may be tables: `role.readers = { ... }`. Keys of
    /// `[phases.NAME.as-run]` replace those of the phase with `fidelity = "as-run"`. Keys of a
    /// suite replace those of an included phase of the same name. Roles of one name merge key by
    /// key.
    phases: Option<BTreeMap<String, serde_json::Map<String, serde_json::Value>>>,
    /// Named grids. A part inherits every table of the suite and overrides single keys. A suite
    /// without parts is one grid.
    #[schemars(length(min = 1))]
    part: Option<Vec<PartTable<'static>>>,
    /// Statements about the figures of a run. kvdyno evaluates them from the record: `kvdyno show
    /// --table claims`. A claim never changes the exit code of a run.
    claim: Option<Vec<ClaimTable>>,
}

/// The suite's name and title.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Header {
    /// The name of the suite and of its run directories.
    pub(crate) name: At<Name>,
    /// One line about the suite, at most 200 characters. Default: none.
    pub(crate) title: Option<At<String>>,
    /// The id of the published study that the suite repeats (docs/studies.md). Tables show its
    /// published rows. Default: none.
    pub(crate) study: Option<At<String>>,
    /// The tolerance: two rates that differ by less are equal. Default: 3%.
    pub(crate) within: Option<At<Share>>,
}

/// The data set.
///
/// A list in `records`, `size` or `value_bytes` makes a data set of each value. Each has its own
/// databases and cases, and tables have a column `data`. With a fixed `size` each value length has
/// as many records as fit. With fixed `records` the data grows, and a RAM limit by `data_to_ram`
/// grows with it.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Data {
    /// The number of records. Exactly one of `records` and `size` is required.
    pub(crate) records: Option<At<OneOrMany<Count>>>,
    /// Bytes of all keys and values. `"auto"` is at least 64 MiB, and at most the smallest of three
    /// sizes. The first is 1 GiB. The second is half the free space over the largest space factor
    /// of the engines. The third makes the RAM limit an eighth of the memory; with an absolute
    /// limit it is four times the limit. The plan states the size and the reason. Exactly one of
    /// `records` and `size` is required.
    pub(crate) size: Option<At<OneOrMany<DataSize>>>,
    /// The length of a key, from 1 to 65536 bytes, or a distribution of lengths. A key is the
    /// digits of its number, padded with zeros. Default: 16.
    pub(crate) key_bytes: Option<At<Length>>,
    /// The notation of a key. Default: hex from 16 bytes on if all engines take hex keys, else
    /// binary.
    pub(crate) key_format: Option<At<KeyFormat>>,
    /// The order of the records. Default: ordered, and hashed for `key_format = "ycsb"`.
    pub(crate) key_order: Option<At<KeyOrder>>,
    /// The length of a value, from 1 byte to 1 GiB, or a distribution of lengths. Required without
    /// `linkbench`.
    pub(crate) value_bytes: Option<At<OneOrMany<Length>>>,
    /// The size of values after zstd (level 1) over their full size, above 0. Default: 1.0, random
    /// bytes.
    pub(crate) compress_to: Option<At<Share>>,
    /// The seed of all random choices. Default: 1.
    pub(crate) seed: Option<At<Count>>,
    /// Every value carries its key, a version and a checksum, and kvdyno checks every value that it
    /// reads. Values need at least 16 bytes. The null engine shows the cost of the check. Default:
    /// false.
    pub(crate) verify: Option<At<bool>>,
    /// Updates per record after the load, at keys that are drawn evenly: a database in use differs
    /// from a freshly loaded one. The updates belong to the load, and a state is kept after them.
    /// Not for graphs, nor for loads with `order = "drawn"` or `"first_read"`. Default: 0.
    pub(crate) overwritten: Option<At<Count>>,
    /// The records are ids of a social graph: nodes and their links, as in the benchmark
    /// `LinkBench`. The suite then sets `records` (1,024 or more) and `seed`, and no other key of
    /// `[data]`. Default: none.
    pub(crate) linkbench: Option<At<LinkBench>>,
    /// A database of your own, in place of a load (docs/suites.md). Beside it the suite sets only
    /// `seed` and `compress_to`, and it has no load. Default: none.
    pub(crate) from: Option<At<OwnData>>,
}

/// The memory limit of an engine's process and the page cache of its files, together (a memory
/// cgroup). Set at most one of `limit` and `data_to_ram`.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "the ratio is called so in the suite language")]
pub(crate) struct Ram {
    /// The limit. A list is swept. Default: no limit.
    pub(crate) limit: Option<At<OneOrMany<ByteSize>>>,
    /// Memory that `--scale` adds to a limit that it makes smaller, up to the unscaled limit.
    /// Engines hold memory next to their caches, and that memory does not scale. Only with `limit`.
    /// Default: 0.
    pub(crate) unscaled: Option<At<ByteSize>>,
    /// The size of the data over the limit, from 0.001 to 1000000. A list is swept. Default: no
    /// limit.
    pub(crate) data_to_ram: Option<At<OneOrMany<f64>>>,
    /// Whether the limit holds during the load. With `false` it begins with the first `evict`,
    /// which must come before the first measured phase. A load in random order is then faster, and
    /// its database is the same. Not with `tier`. Default: true.
    pub(crate) while_loading: Option<At<bool>>,
    /// Memory below the limit. Every engine runs under each limit with each tier. Default: no swap.
    #[schemars(default)]
    pub(crate) tier: Vec<At<Tier>>,
}

impl Ram {
    /// Returns a scaled limit with the part that does not scale.
    pub(crate) fn with_unscaled(&self, scaled: u64, typed: u64) -> u64 {
        match &self.unscaled {
            Some(more) if scaled < typed => scaled.saturating_add(more.0).min(typed),
            _ => scaled,
        }
    }
}

/// The location of the databases.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "DataDir")]
pub(crate) struct DataDirTable {
    /// A directory. It must exist, or the command has `--create-data-dir`. Default: a directory
    /// inside the run's own.
    pub(crate) path: Option<At<String>>,
}

/// Threads, trials, time limits and the use of databases.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Run {
    /// Thread counts to sweep. Roles with `threads = "sweep"` take each count in turn. Default: no
    /// sweep.
    pub(crate) threads: Option<At<OneOrMany<Several>>>,
    /// The phases to run, in this order, by name or else by kind. The names are those of `[phases]`
    /// and `[[phase]]`. Default: all of `[[phase]]`.
    pub(crate) phases: Option<At<Vec<At<String>>>>,
    /// Repetitions of every case. Fewer than 4 support no statement about a difference. Default: 4.
    pub(crate) trials: Option<At<Several>>,
    /// The time limit of a case. kvdyno ends a longer case and records it as out of time. Default:
    /// five times the case's estimate, at least 10 minutes.
    pub(crate) budget: Option<At<Nanoseconds>>,
    /// The interval of the time series, at least 1 ms. An interval takes 530 to 960 bytes of the
    /// record for each kind of operation; with a `rate` or `depth` more. Default: 1s; a fifth of a
    /// `least` below 5 s; 2 to 60 s if a record would exceed 150 MB a day.
    pub(crate) slice: Option<At<Nanoseconds>>,
    /// Runs two engines side by side, as `kvdyno versus` does. While one works, the other is
    /// stopped. Phases that only read are measured in turns of this length, a multiple of `slice`.
    /// The others are run by one engine and then by the other. It needs
    /// `database = "fresh"`. Without exactly two engines, kvdyno warns and runs each by itself.
    /// Default: no turns.
    pub(crate) turns: Option<At<Nanoseconds>>,
    /// Observes block I/O in the kernel; it needs root or the matching capabilities. A part may set
    /// it for its own cases. Default: as the option `--io-latency`.
    pub(crate) io_latency: Option<At<bool>>,
    /// Samples the functions that threads are in while they run (docs/profile.md). Default: as the
    /// option `--profile`.
    pub(crate) profile: Option<At<bool>>,
    /// Counts instructions (docs/count.md). Default: as the option `--count`.
    pub(crate) count: Option<At<Counting>>,
    /// The database of each thread count. Default: shared.
    pub(crate) database: Option<At<Sharing>>,
    /// The number of failed operations that a case tolerates. One more fails the case. Default:
    /// 100.
    pub(crate) max_errors: Option<At<Count>>,
}

/// The database of each thread count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "snake_case", rename = "Database")]
pub(crate) enum Sharing {
    /// One case loads the database for each engine, RAM limit and trial. Every thread count then
    /// runs on it, one after the other. kvdyno refuses `insert` and `delete`.
    Shared,
    /// As `shared`, but every thread count runs on a copy of the loaded database, cold and on the
    /// same volume. The loaded database is a *state*, which can be kept for later runs. Cases that
    /// only read get a reflink on xfs and btrfs; others a copy, which needs as much space again.
    State,
    /// Every case loads its own database. Raw block devices always do so.
    Fresh,
}

/// Additional columns of the tables.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Show {
    /// Columns that the tables show without `--wide`. CSV, workbook and JSON always have them.
    /// Default: none.
    pub(crate) columns: Option<At<Vec<At<ColumnName>>>>,
}

impl Typed {
    pub(crate) fn trials(&self) -> u32 {
        self.run.trials.value_or(Several(4)).0
    }

    /// Returns the volumes of databases, each in turn; one `None`, the data directory, if the suite
    /// names none.
    pub(crate) fn volumes(&self) -> Vec<Option<&At<Volume>>> {
        if self.volume.is_empty() { vec![None] } else { self.volume.iter().map(Some).collect() }
    }

    /// Returns its measure phases.
    pub(crate) fn measures(&self) -> impl Iterator<Item = (&At<Phase>, &Measure)> {
        self.phase.iter().filter_map(|phase| match &phase.value {
            Phase::Measure(measure) => Some((phase, measure)),
            _ => None,
        })
    }

    /// Returns the roles of its measure phases.
    pub(crate) fn roles(&self) -> impl Iterator<Item = &At<Role>> {
        self.measures().flat_map(|(_, measure)| measure.role.iter())
    }

    /// Returns its load phases; a valid suite has at most one.
    pub(crate) fn loads(&self) -> impl Iterator<Item = &Load> {
        self.phase.iter().filter_map(|phase| match &phase.value {
            Phase::Load(load) => Some(load),
            _ => None,
        })
    }

    /// Returns the positions of `threads = "sweep"`.
    pub(crate) fn sweeps(&self) -> Vec<Span> {
        let jobs = self.drive.iter().flat_map(|drive| &drive.job).map(|job| &job.threads);
        let roles = self.roles().map(|role| &role.threads);
        let threads = self.loads().map(|load| &load.threads).chain(roles).chain(jobs).flatten();
        let swept = threads.filter(|threads| threads.value == Threads::Sweep);
        swept.map(|threads| threads.span.clone()).collect()
    }

    /// Returns the length of slices before any is lengthened. The default is a second, or a fifth
    /// of the shortest `least` of its phases if that is less.
    pub(crate) fn slice_ns(&self) -> u64 {
        let durations = self.measures().filter_map(|(_, measure)| measure.duration.as_ref());
        let fifths =
            durations.filter_map(|duration| Some(duration.earliest_end()?.0 / WINDOW as u64));
        let default_ns = || fifths.fold(1_000_000_000, u64::min);
        self.run.slice.as_ref().map_or_else(default_ns, |slice| slice.0)
    }

    pub(crate) fn sharing(&self) -> Sharing {
        let default = if self.data.from.is_some() { Sharing::State } else { Sharing::Shared };
        self.run.database.value_or(default)
    }
}

impl Word for ColumnName {
    const WHAT: &'static str = "a column of tables";
    const ALL: &'static [(&'static str, Self)] = Self::ALL;
}

impl Word for Sharing {
    const WHAT: &'static str = "a way to use databases";
    const ALL: &'static [(&'static str, Self)] =
        &[("shared", Self::Shared), ("state", Self::State), ("fresh", Self::Fresh)];
}

impl Word for Counting {
    const WHAT: &'static str = "who counts";
    const ALL: &'static [(&'static str, Self)] =
        &[("valgrind", Self::Valgrind), ("processor", Self::Processor)];
}

impl FromToml for Typed {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        const NEEDED: [&str; 3] = ["data", "engine", "phase"];
        let mut fields = Fields::read(toml, "a suite", mistakes)?;
        let suite: Option<At<Header>> = fields.required("suite");
        let mut drive: Option<At<Drive>> = fields.optional("drive");
        // A drive alone needs none of these tables; with one of them, all others are required.
        let alone = drive.clone().filter(|_| !NEEDED.iter().any(|key| fields.has(key)));
        if alone.is_none() {
            for key in NEEDED {
                fields.demand(key);
            }
        }
        let data: Option<At<Data>> = fields.optional("data");
        let ram = Key::read(&mut fields, "ram");
        let data_dir = Key::read(&mut fields, "data_dir");
        let volume = Key::read(&mut fields, "volume");
        let media = Key::read(&mut fields, "media");
        let run: Option<Run> = Key::read(&mut fields, "run");
        let crew: Option<At<CrewTable>> = fields.optional("crew");
        let show = Key::read(&mut fields, "show");
        let tables: Option<Vec<At<EngineTable>>> = Key::read(&mut fields, "engine");
        let tables = tables.into_iter().flatten();
        let engine = tables.flat_map(|table| EngineTable::engines(table, fields.mistakes));
        let engine = engine.collect();
        let phase: Option<Vec<At<Phase>>> = Key::read(&mut fields, "phase");
        fields.mark_read(&["part", "phases", "include", "fidelity", "claim"]);
        fields.finish();
        let (suite, run) = (suite?.value, run?);
        let data = data.or(alone.map(|drive| Data::from_drive(&drive)))?;
        if let Some(drive) = &mut drive {
            drive.value.complete(run.threads.is_some());
        }
        let (ram, data_dir, volume, media) = (ram?, data_dir?, volume?, media?);
        let (mut phase, show) = (phase?, show?);
        linkbench::fill(&data, &mut phase);
        Some(Self {
            suite,
            data,
            ram,
            data_dir,
            volume,
            media,
            run,
            crew,
            show,
            drive,
            engine,
            phase,
        })
    }
}

table!(Header, "[suite]": name title study within);
table!(Data, "[data]":
    records size key_bytes key_format key_order value_bytes compress_to seed verify overwritten
    linkbench from);
table!(Ram, "[ram]": limit unscaled data_to_ram while_loading tier);
table!(DataDirTable, "[data_dir]": path);
table!(Show, "[show]": columns);
table!(Run, "[run]":
    threads phases trials budget slice turns io_latency profile count database max_errors);

impl Data {
    /// Returns the data of a suite without engines: as much as the drive's file holds.
    fn from_drive(drive: &At<Drive>) -> At<Self> {
        let size = drive.size.clone().unwrap_or(drive.with(DataSize::Auto));
        let value = Self {
            records: None,
            size: Some(drive.with(OneOrMany(vec![size]))),
            key_bytes: None,
            key_format: None,
            key_order: None,
            value_bytes: Some(
                drive.with(OneOrMany(vec![drive.with(Length(Size::Fixed { bytes: 4096 }))])),
            ),
            compress_to: None,
            seed: None,
            verify: None,
            overwritten: None,
            linkbench: None,
            from: None,
        };
        drive.with(value)
    }
}
