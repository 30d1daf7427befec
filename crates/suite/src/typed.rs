//! A suite as typed: each value where it was written, nothing filled in. The JSON Schema is made
//! from these types; what their values mean together is for `check` and `expand`.

use super::drive::Drive;
use super::engine::{Engine, EngineTable};
use super::length::Length;
use super::mistake::Mistakes;
use super::phase::Phase;
use super::read::{At, Fields, FromToml, Toml, Word};
use super::scalar::{Bytes, Count, DataSize, Name, Nanoseconds, OneOrMany, Several, Share};
use super::tier::Tier;
use super::volume::Volume;
use kvdyno_record::plan::Copying;
use kvdyno_record::text::steers;
use kvdyno_record::workload::{KeyFormat, Size};
use schemars::JsonSchema;

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
    pub(super) place: Place,
    /// What they lie on, each engine on each; absent: what the place lies on.
    #[schemars(default)]
    pub(super) volume: Vec<At<Volume>>,
    /// How often, how long, with how many threads.
    #[schemars(default)]
    pub(super) run: Run,
    /// The bare drive that the databases lie on.
    pub(super) drive: Option<At<Drive>>,
    /// The engines under test, in any order: each trial draws its own.
    #[schemars(with = "Option<Vec<At<EngineTable>>>", length(min = 1))]
    pub(super) engine: Vec<Engine>,
    /// What happens, in order. The first phase is the load.
    #[schemars(with = "Option<Vec<At<Phase>>>", length(min = 1))]
    pub(super) phase: Vec<At<Phase>>,
}

/// What the suite is.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Header {
    /// Its name: part of the run folder's name.
    pub(super) name: At<Name>,
    /// One line about it.
    pub(super) title: Option<At<String>>,
}

/// The data set.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Data {
    /// How many records: `"80M"`, or a list of such numbers that are swept. Either this or `size`.
    pub(super) records: Option<At<OneOrMany<Count>>>,
    /// Bytes of all keys and values: `"300GiB"`, or `"auto"`: sized from the host; or a list.
    pub(super) size: Option<At<OneOrMany<DataSize>>>,
    /// Length of every key. Default: 16.
    pub(super) key_bytes: Option<At<Several>>,
    /// How the key number is written. Default: hex from 16 bytes on, else binary.
    pub(super) key_format: Option<At<KeyFormat>>,
    /// Length of a value: a number of bytes or a distribution, or a list of these: a data set of
    /// its own for each.
    pub(super) value_bytes: At<OneOrMany<Length>>,
    /// Size a value compresses to: 0.5 is half. Default: 1.0, random bytes.
    pub(super) compress_to: Option<At<Share>>,
    /// What all random choices follow from. Default: 1.
    pub(super) seed: Option<At<Count>>,
    /// Values carry key, version and checksum, and every one read is checked. Default: false.
    pub(super) verify: Option<At<bool>>,
}

/// The RAM limit, by at most one of its keys, and what is below.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "the ratio is called so in the suite language")]
pub(super) struct Ram {
    /// The limit, or a list of limits that are swept.
    pub(super) limit: Option<At<OneOrMany<Bytes>>>,
    /// How many times larger than the limit the data is, or a list of such ratios.
    pub(super) data_to_ram: Option<At<OneOrMany<f64>>>,
    /// What is below each limit, each in turn; absent: nothing.
    #[schemars(default)]
    pub(super) tier: Vec<At<Tier>>,
}

/// Where the databases lie.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Place {
    /// A directory. Default: a folder inside the run's own folder.
    pub(super) directory: Option<At<String>>,
}

/// How often, how long, with how many threads.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(super) struct Run {
    /// Numbers of threads that are swept; roles with `threads = "sweep"` take each in turn.
    pub(super) threads: Option<At<OneOrMany<Several>>>,
    /// How often every point is repeated. Default: 3.
    pub(super) trials: Option<At<Several>>,
    /// The longest a case may take. Default: five times its estimate, at least 10 minutes.
    pub(super) budget: Option<At<Nanoseconds>>,
    /// One interval of the time series. Default: 1s.
    pub(super) slice: Option<At<Nanoseconds>>,
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

impl Typed {
    /// How often every point is repeated.
    pub(super) fn trials(&self) -> u32 {
        self.run.trials.as_ref().map_or(3, |trials| trials.0)
    }

    /// Which database each thread count works on.
    pub(super) fn sharing(&self) -> Sharing {
        self.run.database.as_ref().map_or(Sharing::Shared, |database| database.value)
    }
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

impl Sharing {
    /// How databases are copied; none: they are not.
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
        let mut fields = Fields::of(toml, "a suite", mistakes)?;
        let suite = fields.required("suite");
        let drive: Option<At<Drive>> = fields.optional("drive");
        // The drive alone needs none of them; one of them needs the others.
        let engines = ["data", "engine", "phase"].iter().any(|key| fields.has(key));
        let optional = drive.is_some() && !engines;
        let data = fields.required_unless(optional, "data");
        let ram: Option<At<Ram>> = fields.optional("ram");
        let place: Option<At<Place>> = fields.optional("place");
        let volume: Option<At<Vec<At<Volume>>>> = fields.optional("volume");
        let run: Option<At<Run>> = fields.optional("run");
        let engine: Option<At<Vec<At<EngineTable>>>> = fields.required_unless(optional, "engine");
        let phase: Option<At<Vec<At<Phase>>>> = fields.required_unless(optional, "phase");
        let engine = engine.map(|engine| {
            let tables = engine.value.into_iter().map(|table| table.value);
            tables.flat_map(|table| table.engines(fields.mistakes)).collect()
        });
        fields.finish();
        let run = run.map(|run| run.value).unwrap_or_default();
        let alone = drive.as_ref().filter(|_| optional).map(Data::of_drive);
        let drive = drive.map(|mut drive| {
            drive.value.complete(run.threads.is_some());
            drive
        });
        Some(Self {
            suite: suite?.value,
            data: data.or(alone)?,
            ram: ram.map(|ram| ram.value).unwrap_or_default(),
            place: place.map(|place| place.value).unwrap_or_default(),
            volume: volume.map(|volume| volume.value).unwrap_or_default(),
            run,
            drive,
            engine: engine.or(optional.then(Vec::new))?,
            phase: phase.map(|phase| phase.value).or(optional.then(Vec::new))?,
        })
    }
}

/// Characters of a title: it stands above tables of a hundred columns.
const TITLE_MAX: usize = 200;

impl FromToml for Header {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let mut fields = Fields::of(toml, "[suite]", mistakes)?;
        let name = fields.required("name");
        let title: Option<At<String>> = fields.optional("title");
        if let Some(title) = title.as_ref().filter(|title| title.chars().any(steers)) {
            let mistake = fields.mistakes.at(&title.span, "a title is one line of text");
            mistake.label("expected no line ends, control characters or marks of direction");
        }
        if let Some(title) = title.as_ref().filter(|title| title.chars().count() > TITLE_MAX) {
            let mistake = fields.mistakes.at(&title.span, "the title is too long for a line");
            mistake.label(format!("expected at most {TITLE_MAX} characters"));
        }
        fields.finish();
        Some(Self { name: name?, title })
    }
}

impl Data {
    /// Stands in where no engine needs any: as much as the drive's file is to hold.
    fn of_drive(drive: &At<Drive>) -> At<Self> {
        let span = &drive.span;
        let auto = At { value: DataSize::Auto, span: span.clone() };
        let size = drive.size.clone().unwrap_or(auto);
        let value = Self {
            records: None,
            size: Some(OneOrMany::one(size)),
            key_bytes: None,
            key_format: None,
            value_bytes: OneOrMany::one(At {
                value: Length(Size::Fixed { bytes: 4096 }),
                span: span.clone(),
            }),
            compress_to: None,
            seed: None,
            verify: None,
        };
        At { value, span: span.clone() }
    }
}

impl FromToml for Data {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let mut fields = Fields::of(toml, "[data]", mistakes)?;
        let records = fields.optional("records");
        let size = fields.optional("size");
        let key_bytes = fields.optional("key_bytes");
        let key_format = fields.optional("key_format");
        let value_bytes = fields.required("value_bytes");
        let compress_to: Option<At<Share>> = fields.optional("compress_to");
        let seed = fields.optional("seed");
        let verify = fields.optional("verify");
        if let Some(share) = compress_to.as_ref().filter(|share| share.0 <= 0.0) {
            let mistake = fields.mistakes.at(&share.span, "`compress_to` is 0");
            mistake.label("expected a share above 0, such as 0.5");
        }
        fields.finish();
        let value_bytes = value_bytes?;
        Some(Self { records, size, key_bytes, key_format, value_bytes, compress_to, seed, verify })
    }
}

impl FromToml for Ram {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let mut fields = Fields::of(toml, "[ram]", mistakes)?;
        let limit = fields.optional("limit");
        let data_to_ram = fields.optional("data_to_ram");
        let tier: Option<At<Vec<At<Tier>>>> = fields.optional("tier");
        fields.finish();
        Some(Self { limit, data_to_ram, tier: tier.map(|tier| tier.value).unwrap_or_default() })
    }
}

impl FromToml for Place {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let mut fields = Fields::of(toml, "[place]", mistakes)?;
        let directory = fields.optional("directory");
        fields.finish();
        Some(Self { directory })
    }
}

impl FromToml for Run {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let mut fields = Fields::of(toml, "[run]", mistakes)?;
        let run = Self {
            threads: fields.optional("threads"),
            trials: fields.optional("trials"),
            budget: fields.optional("budget"),
            slice: fields.optional("slice"),
            database: fields.optional("database"),
            max_errors: fields.optional("max_errors"),
        };
        fields.finish();
        Some(run)
    }
}
