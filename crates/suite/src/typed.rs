//! A suite as typed: each value with its position, no defaults filled in. The JSON Schema is
//! generated from these types; `check` and `expand` interpret their values.

use super::claim::WrittenClaim;
use super::crew::CrewTable;
use super::drive::Drive;
use super::engine::{Engine, EngineTable};
use super::fidelity::Fidelity;
use super::length::{Length, Written};
use super::linkbench::{self, LinkBench};
use super::media::Media;
use super::mistake::Mistakes;
use super::part::WrittenPart;
use super::phase::Phase;
use super::read::{At, Fields, FromToml, Key, Or as _, Toml, Word, table};
use super::scalar::{ByteSize, Count, DataSize, Name, Nanoseconds, OneOrMany, Several, Share};
use super::tier::Tier;
use super::volume::Volume;
use kvdyno_record::column::ColumnName;
use kvdyno_record::plan::{Copying, Counting};
use kvdyno_record::workload::{KeyFormat, KeyOrder, Size};
use schemars::JsonSchema;
use std::collections::BTreeMap;

/// A suite of kvdyno: data, engines, what they do, and what is varied.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "Suite")]
pub(super) struct Typed {
    /// What the suite is.
    pub(super) suite: Header,
    /// The data set. May be left out where there are no engines.
    #[schemars(with = "Option<At<Data>>")]
    pub(super) data: At<Data>,
    /// How much memory an engine and the page cache of its files may use; absent: no limit.
    #[schemars(default)]
    pub(super) ram: Ram,
    /// Where the databases lie.
    #[schemars(default)]
    pub(super) place: LocationTable,
    /// What they lie on, each engine on each; absent: what the place lies on.
    #[schemars(default)]
    pub(super) volume: Vec<At<Volume>>,
    /// What the drives are that volumes and memory tiers name as their media.
    #[schemars(default)]
    pub(super) media: Media,
    /// How often, how long, with how many threads.
    #[schemars(default)]
    pub(super) run: Run,
    /// Processes that drive a server together, each with its share of the threads; absent: one.
    pub(super) crew: Option<At<CrewTable>>,
    /// What its tables show.
    #[schemars(default)]
    pub(super) show: Show,
    /// The bare drive that the databases lie on.
    pub(super) drive: Option<At<Drive>>,
    /// The engines under test, in any order: each trial draws its own.
    #[schemars(with = "Option<Vec<At<EngineTable>>>", length(min = 1))]
    pub(super) engine: Vec<Engine>,
    /// What happens, in order. The first phase is the load.
    #[schemars(with = "Option<Vec<At<Phase>>>", length(min = 1))]
    pub(super) phase: Vec<At<Phase>>,
}

/// A suite of kvdyno: data, engines, what they do, and what is varied.
///
/// Only the schema is made from this: what is not [`Typed`]'s is gone when the parts of a suite are
/// told from each other.
#[derive(JsonSchema)]
#[schemars(rename = "Suite")]
#[expect(dead_code, reason = "describes the language for the schema")]
pub(super) struct Whole {
    #[schemars(flatten)]
    typed: Typed,
    /// Sets of named phases that the program brings along: `db_bench`, `dbbench`, `ycsb`.
    include: Option<Vec<String>>,
    /// Which of two versions of a named phase. Default: as-written.
    fidelity: Option<Fidelity>,
    /// Phases by name, from which `phases` of [run] or of a part picks. Of each, `as-run` has keys
    /// that count with that fidelity.
    phases: Option<BTreeMap<String, serde_json::Map<String, serde_json::Value>>>,
    /// Named parts, each with all that the suite has, but for what it says itself.
    #[schemars(length(min = 1))]
    part: Option<Vec<WrittenPart>>,
    /// What the suite claims of its figures: told beside them, holds or not, never a failure.
    claim: Option<Vec<WrittenClaim>>,
}

/// What the suite is.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Header {
    /// Its name: part of the run folder's name.
    pub(super) name: At<Name>,
    /// One line about it.
    pub(super) title: Option<At<String>>,
    /// The published study that it repeats, by id: its figures stand beside the run's.
    pub(super) study: Option<At<String>>,
}

/// The data set.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Data {
    /// How many records: `"80M"`, or a list of such numbers that are swept. Either this or `size`.
    pub(super) records: Option<At<OneOrMany<Count>>>,
    /// Bytes of all keys and values: `"300GiB"`, or `"auto"`: sized from the host; or a list.
    pub(super) size: Option<At<OneOrMany<DataSize>>>,
    /// Length of every key, or a distribution of lengths. Default: 16.
    #[schemars(with = "Option<Written>")]
    pub(super) key_bytes: Option<At<Length>>,
    /// How the key number is written. Default: hex from 16 bytes on, else binary.
    pub(super) key_format: Option<At<KeyFormat>>,
    /// Where a record lies among the others: in the order of the key numbers, or anywhere, so that
    /// inserts land everywhere. Default: ordered; hashed for `key_format = "ycsb"`.
    pub(super) key_order: Option<At<KeyOrder>>,
    /// Length of a value: a number of bytes or a distribution, or a list of these: a data set of
    /// its own for each. Needed, but for `linkbench`.
    #[schemars(with = "Option<OneOrMany<Written>>")]
    pub(super) value_bytes: Option<At<OneOrMany<Length>>>,
    /// Size a value compresses to: 0.5 is half. Default: 1.0, random bytes.
    pub(super) compress_to: Option<At<Share>>,
    /// What all random choices follow from. Default: 1.
    pub(super) seed: Option<At<Count>>,
    /// Values carry key, version and checksum, and every one read is checked. Default: false.
    pub(super) verify: Option<At<bool>>,
    /// The records are ids of a social graph: each a node with its links, of `LinkBench`.
    pub(super) linkbench: Option<At<LinkBench>>,
}

/// The RAM limit, by at most one of its keys, and what is below.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "the ratio is called so in the suite language")]
pub(super) struct Ram {
    /// The limit, or a list of limits that are swept.
    pub(super) limit: Option<At<OneOrMany<ByteSize>>>,
    /// What `--scale` adds to a limit that it makes smaller: engines hold memory beside their
    /// caches, which does not scale. Default: nothing.
    pub(super) unscaled: Option<At<ByteSize>>,
    /// How many times larger than the limit the data is, or a list of such ratios.
    pub(super) data_to_ram: Option<At<OneOrMany<f64>>>,
    /// What is below each limit, each in turn; absent: nothing.
    #[schemars(default)]
    pub(super) tier: Vec<At<Tier>>,
}

/// Where the databases lie.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "Place")]
pub(super) struct LocationTable {
    /// A directory. Default: a folder inside the run's own folder.
    pub(super) directory: Option<At<String>>,
}

/// How often, how long, with how many threads.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Run {
    /// Numbers of threads that are swept; roles with `threads = "sweep"` take each in turn.
    pub(super) threads: Option<At<OneOrMany<Several>>>,
    /// These phases, in this order, of `[phases]` and `[[phase]]`. Default: all of `[[phase]]`.
    pub(super) phases: Option<At<Vec<At<String>>>>,
    /// How often every point is repeated. Default: 4.
    pub(super) trials: Option<At<Several>>,
    /// The longest a case may take. Default: five times its estimate, at least 10 minutes.
    pub(super) budget: Option<At<Nanoseconds>>,
    /// One interval of the time series. Default: 1s, longer where a record would be too large.
    pub(super) slice: Option<At<Nanoseconds>>,
    /// Watch block I/O in the kernel (needs rights). Default: as the command line has it.
    pub(super) io_latency: Option<At<bool>>,
    /// Count instructions: `valgrind`, in place of times; `processor`, beside them. Default: not.
    pub(super) count: Option<At<Counting>>,
    /// Which database each thread count works on. Default: shared.
    pub(super) database: Option<At<Sharing>>,
    /// A case fails past this many failed operations. Default: 100.
    pub(super) max_errors: Option<At<Count>>,
}

/// Which database each thread count works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "snake_case")]
pub(super) enum Sharing {
    /// Loaded once by a case of its own, then every thread count runs on it one after the other.
    Shared,
    /// Loaded once by a case of its own, then every thread count runs on a copy of it.
    Copy,
    /// The same, where the filesystem can with a copy that shares its blocks until it is written.
    Reflink,
    /// Each case loads its own.
    Fresh,
}

/// What its tables show.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Show {
    /// Columns of wide tables that they always have.
    pub(super) columns: Option<At<Vec<At<ColumnName>>>>,
}

impl Typed {
    pub(super) fn trials(&self) -> u32 {
        self.run.trials.value_or(Several(4)).0
    }

    /// The volumes of databases, each in turn; one `None`, the place, if the suite names none.
    pub(super) fn volumes(&self) -> Vec<Option<&At<Volume>>> {
        if self.volume.is_empty() { vec![None] } else { self.volume.iter().map(Some).collect() }
    }

    pub(super) fn sharing(&self) -> Sharing {
        self.run.database.value_or(Sharing::Shared)
    }
}

impl Word for ColumnName {
    const WHAT: &'static str = "a column of tables";
    const ALL: &'static [(&'static str, Self)] = Self::ALL;
}

impl Word for Sharing {
    const WHAT: &'static str = "a way to use databases";
    const ALL: &'static [(&'static str, Self)] = &[
        ("shared", Self::Shared),
        ("copy", Self::Copy),
        ("reflink", Self::Reflink),
        ("fresh", Self::Fresh),
    ];
}

impl Word for Counting {
    const WHAT: &'static str = "who counts";
    const ALL: &'static [(&'static str, Self)] =
        &[("valgrind", Self::Valgrind), ("processor", Self::Processor)];
}

impl Sharing {
    /// The method for copying databases; none: they are not copied.
    pub(super) fn copying(self) -> Option<Copying> {
        match self {
            Self::Shared | Self::Fresh => None,
            Self::Copy => Some(Copying::Copy),
            Self::Reflink => Some(Copying::Reflink),
        }
    }
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
        let place = Key::read(&mut fields, "place");
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
        fields.elsewhere(&["part", "phases", "include", "fidelity", "claim"]);
        fields.finish();
        let (suite, run) = (suite?.value, run?);
        let data = data.or(alone.map(|drive| Data::of_drive(&drive)))?;
        if let Some(drive) = &mut drive {
            drive.value.complete(run.threads.is_some());
        }
        let (ram, place, volume, media) = (ram?, place?, volume?, media?);
        let (mut phase, show) = (phase?, show?);
        linkbench::fill(&data, &mut phase);
        Some(Self { suite, data, ram, place, volume, media, run, crew, show, drive, engine, phase })
    }
}

table!(Header, "[suite]": name title study);
table!(Data, "[data]":
    records size key_bytes key_format key_order value_bytes compress_to seed verify
    linkbench);
table!(Ram, "[ram]": limit unscaled data_to_ram tier);
table!(LocationTable, "[place]": directory);
table!(Show, "[show]": columns);
table!(Run, "[run]": threads phases trials budget slice io_latency count database max_errors);

impl Data {
    /// The data if no engine needs any: as much as the drive's file holds.
    fn of_drive(drive: &At<Drive>) -> At<Self> {
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
            linkbench: None,
        };
        drive.with(value)
    }
}
