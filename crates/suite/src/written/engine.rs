//! An engine as typed, and the engines that it expands to: one for each version and each value of a
//! list among its options. Another crate locates the libraries of versions.

use crate::written::mistake::Mistakes;
use crate::written::read::{At, FromToml, Or as _, Toml, read_named_values, table};
use crate::written::scalar::{Label, Name, OneOrMany, Several, UntypedValue, Version};
use crate::written::server::ServerTable;
use crate::written::worker::Pick;
use kvdyno_record::engine::{Durability, Preset, Value};
use schemars::JsonSchema;
use std::collections::BTreeMap;

/// The most engines that one table may expand to.
const ENGINES_MAX: usize = 1_000;

/// An engine under test. Lists in `versions`, `durability`, `preset` and `options` multiply: they
/// make an engine of each combination. Set at most one of `version`, `versions`, `library` and
/// `server`.
///
/// Engines with `library` in `kvdyno engines NAME --json` load their code at the start. The record
/// has the library's version, build (`official`, `native`, `system`, `yours`), SHA-256, source and
/// path. Before each case kvdyno reads the file again and refuses a changed one.
///
/// Versions of one engine share a case key, and `compare` lists the version. A run with several has
/// the table `Versions: what each step changed`. For options that the suite omits, all versions use
/// the first value that each of them has. `rerun` searches the same SHA-256, then the same version.
/// It needs `--library LABEL=PATH` for a build of your own.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "Engine")]
pub(crate) struct EngineTable {
    /// The engine's name. Its worker is `kvdyno-<name>`; `kvdyno engines` lists the installed ones.
    name: At<Name>,
    /// The name of the engine in tables, unique in the suite. Default: the name.
    label: Option<At<Label>>,
    /// An installed version of an engine that is loaded as a library. `kvdyno engines get` installs
    /// versions. Default: the newest installed.
    version: Option<At<Version>>,
    /// Versions to compare. Each is an engine of its own: `rocksdb-9.10.0`.
    versions: Option<At<OneOrMany<Version>>>,
    /// The path of a library or server program: a build of your own.
    library: Option<At<String>>,
    /// A server that runs already.
    server: Option<At<ServerTable>>,
    /// Names of the volumes to run on, in every part. Default: all volumes that can hold its data.
    volumes: Option<At<Vec<At<String>>>>,
    /// The promise of a completed write. A list makes an engine of each class that the engine has:
    /// `rocksdb-commit`. `sync` and `fsync` mean `commit`. Default: async.
    durability: Option<At<OneOrMany<Durability>>>,
    /// Skips the engine where its worker or library is missing, and lists it in the plan. Default:
    /// false, a missing engine is an error.
    optional: Option<At<bool>>,
    /// The base of the options. A list makes an engine of each preset: `rocksdb-tuned`. Default:
    /// kvdyno's own defaults, chosen for comparisons.
    preset: Option<At<OneOrMany<Preset>>>,
    /// Neighbouring records under one key: fewer keys, longer values. For `get` and `update` of
    /// uniform keys. Default: 1.
    pack: Option<At<Several>>,
    /// Options in bytes that `--scale` scales, down to 1 MiB: those that were chosen for the size
    /// of the data. A share of a RAM limit follows the limit, and is not scaled again. Default:
    /// none.
    scaled: Option<At<Vec<At<String>>>>,
    /// Options by the engine's own names; `kvdyno engines NAME` lists them. An option in bytes may
    /// be a share of the RAM limit: `"50%"`. A list of values makes an engine of each value:
    /// `rocksdb block_cache=1GiB`. Default: those of the preset.
    #[schemars(default)]
    options: OptionTable,
}

/// Options of one engine by name, each a value or a list of values.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(transparent)]
pub(crate) struct OptionTable(
    #[schemars(with = "BTreeMap<String, OneOrMany<UntypedValue>>")]
    Vec<(At<String>, Axis<UntypedValue>)>,
);

/// One engine under test.
#[derive(Clone, Debug)]
pub(crate) struct Engine {
    pub(crate) name: At<Name>,
    /// The engine's name in tables.
    pub(crate) label: At<Label>,
    /// The label without the suffixes of lists: equal for all engines of one table.
    pub(crate) stem: String,
    /// The library that its worker loads, if any.
    pub(crate) pick: At<Pick>,
    /// The volumes that it runs on; none: all.
    pub(crate) volumes: Option<At<Vec<At<String>>>>,
    pub(crate) durability: Option<At<Durability>>,
    /// True: `durability` is of a list, and an engine without the class is left out.
    pub(crate) of_classes: bool,
    /// True: the engine is left out if it is not found.
    pub(crate) optional: bool,
    /// The preset on which its options are based; none: the defaults.
    pub(crate) preset: Option<At<Preset>>,
    /// The number of neighbouring records that are stored under one key; none: one.
    pub(crate) pack: Option<At<Several>>,
    /// Options that `--scale` scales.
    pub(crate) scaled: Vec<At<String>>,
    pub(crate) options: Options,
}

/// Options of one engine by name, without lists.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(transparent)]
pub(crate) struct Options(
    #[schemars(with = "BTreeMap<String, UntypedValue>")]
    pub(crate)  Vec<(At<String>, At<UntypedValue>)>,
);

impl Options {
    /// Returns whether a bare drive is used through the page cache.
    pub(crate) fn is_buffered(&self) -> bool {
        let buffered = Value::Boolean(false);
        self.0.iter().any(|(name, value)| name.value == "direct" && value.value.0 == buffered)
    }
}

/// One value, or a list of them.
#[derive(Clone, Debug)]
enum Axis<T> {
    One(At<T>),
    Many(OneOrMany<T>),
}

impl Engine {
    /// Returns an engine of this name with the newest library and without options.
    pub(crate) fn with_defaults(name: At<Name>, label: At<Label>) -> Self {
        let stem = label.0.clone();
        let pick = name.with(Pick::Newest);
        let options = Options::default();
        let (volumes, durability, preset, pack) = (None, None, None, None);
        let (of_classes, optional) = (false, false);
        Self {
            name,
            label,
            stem,
            pick,
            volumes,
            durability,
            of_classes,
            optional,
            preset,
            pack,
            scaled: Vec::new(),
            options,
        }
    }

    /// Returns this engine at a version of a list: `rocksdb-9.10.0`.
    fn with_version(&self, version: &At<Version>) -> Self {
        let label = version.with(Label(format!("{}-{}", self.label.0, version.0)));
        Self { label, pick: version.with(Pick::Version(version.0.clone())), ..self.clone() }
    }

    /// Returns this engine with a suffix: `rocksdb-tuned`.
    fn with_suffix<T>(&self, at: &At<T>, word: &str) -> Self {
        Self { label: at.with(Label(format!("{}-{word}", self.label.0))), ..self.clone() }
    }

    /// Returns the value that the suite sets for an option.
    pub(crate) fn option_value(&self, option: &str) -> Option<&At<UntypedValue>> {
        self.options.0.iter().find(|(name, _)| name.value == option).map(|(_, value)| value)
    }

    /// Returns whether its database may be on the volume of that name.
    pub(crate) fn is_on_volume(&self, volume: &str) -> bool {
        let volumes = self.volumes.as_ref();
        volumes.is_none_or(|volumes| volumes.iter().any(|name| name.value == volume))
    }

    /// Returns whether `--engine name` selects it.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        [&self.label.0, &self.stem, &self.name.0].into_iter().any(|other| other == name)
    }
}

impl EngineTable {
    /// Returns all engines that a table expands to, in the order of its lists.
    pub(crate) fn engines(table: At<Self>, mistakes: &mut Mistakes) -> Vec<Engine> {
        let At { value: table, span } = table;
        table.check(mistakes);
        let lists = table.options.0.iter().map(|(_, axis)| match axis {
            Axis::One(_) => 1,
            Axis::Many(values) => values.0.len(),
        });
        let versions = table.versions.as_ref().map_or(1, |versions| versions.0.len());
        let presets = table.preset.as_ref().map_or(1, |presets| presets.0.len());
        let classes = table.durability.as_ref().map_or(1, |classes| classes.0.len());
        let count = lists.chain([presets, classes]).fold(versions, usize::saturating_mul);
        if count > ENGINES_MAX {
            let mistake = mistakes.at(&span, format!("its lists expand to {count} engines"));
            mistake.label(format!("expected at most {ENGINES_MAX}"));
            return Vec::new();
        }
        let label = table.label.unwrap_or_else(|| table.name.with(Label(table.name.0.clone())));
        let mut engine = Engine::with_defaults(table.name, label);
        engine.volumes = table.volumes;
        engine.pack = table.pack;
        engine.scaled = table.scaled.map(|scaled| scaled.value).unwrap_or_default();
        engine.optional = table.optional.value_or(false);
        if let Some(version) = table.version {
            engine.pick = version.with(Pick::Version(version.0.clone()));
        }
        if let Some(library) = table.library {
            engine.pick = library.with(Pick::File(library.as_str().into()));
        }
        if let Some(attach) = table.server.map(|server| server.value.attach) {
            engine.pick = attach.with(Pick::Server(attach.value.clone()));
        }
        let mut engines = match table.versions {
            Some(versions) => {
                versions.0.iter().map(|version| engine.with_version(version)).collect()
            }
            None => vec![engine],
        };
        let classes = table.durability.as_ref();
        engines = expand_engines(engines, classes, Durability::as_str, |engine, class, several| {
            engine.durability = Some(class.clone());
            engine.of_classes = several;
        });
        let presets = table.preset.as_ref();
        engines = expand_engines(
            engines,
            presets,
            |preset| preset.as_str(),
            |engine, preset, _| {
                engine.preset = Some(preset.clone());
            },
        );
        for (name, axis) in table.options.0 {
            engines = with_option(engines, &name, axis);
        }
        engines
    }

    /// Records contradictory settings.
    fn check(&self, mistakes: &mut Mistakes) {
        let spans = [
            self.version.as_ref().map(|version| &version.span),
            self.versions.as_ref().and_then(|versions| versions.0.first()).map(|at| &at.span),
            self.library.as_ref().map(|library| &library.span),
            self.server.as_ref().map(|server| &server.span),
        ];
        for again in spans.into_iter().flatten().skip(1) {
            let mistake = mistakes.at(again, "[[engine]] names its library twice");
            mistake
                .label("expected one of `version`, `versions`, `library` and `server`")
                .help("for a version and a local build, write two [[engine]], each with a `label`");
        }
        self.server.iter().for_each(|server| server.check(mistakes));
        if let Some(empty) = self.library.as_ref().filter(|path| path.is_empty()) {
            mistakes.at(&empty.span, "the library has no name").label("expected a file's path");
        }
        self.versions.iter().for_each(|versions| versions.check_repeated(mistakes));
        self.durability.iter().for_each(|classes| classes.check_repeated(mistakes));
        self.preset.iter().for_each(|presets| presets.check_repeated(mistakes));
        for (_, axis) in &self.options.0 {
            if let Axis::Many(values) = axis {
                values.check_repeated(mistakes);
            }
        }
    }
}

/// Returns each engine with each value of a list as a suffix; a single value adds no suffix.
fn expand_engines<T>(
    engines: Vec<Engine>,
    values: Option<&At<OneOrMany<T>>>,
    word: impl Fn(&T) -> &'static str,
    set: impl Fn(&mut Engine, &At<T>, bool),
) -> Vec<Engine> {
    let Some(values) = values else { return engines };
    let several = values.0.len() > 1;
    let with = |engine: &Engine, value: &At<T>| {
        let suffixed = several.then(|| engine.with_suffix(value, word(value)));
        let mut engine = suffixed.unwrap_or_else(|| engine.clone());
        set(&mut engine, value, several);
        engine
    };
    let each = |engine: &Engine| values.0.iter().map(|value| with(engine, value)).collect();
    engines.iter().flat_map(|engine| -> Vec<Engine> { each(engine) }).collect()
}

/// Returns each engine with an option; a list yields one engine per value:
/// `rocksdb block_cache=1GiB`.
fn with_option(engines: Vec<Engine>, name: &At<String>, axis: Axis<UntypedValue>) -> Vec<Engine> {
    let set = |mut engine: Engine, value: &At<UntypedValue>| {
        engine.options.0.push((name.clone(), value.clone()));
        engine
    };
    match axis {
        Axis::One(value) => engines.into_iter().map(|engine| set(engine, &value)).collect(),
        Axis::Many(values) => {
            let each = |engine: Engine| {
                let labelled = |value: &At<UntypedValue>| {
                    let mut engine = set(engine.clone(), value);
                    let text = Label::part(&value.0.to_string());
                    engine.label.value.0 += &format!(" {}={text}", name.value);
                    engine
                };
                values.0.iter().map(labelled).collect::<Vec<_>>()
            };
            engines.into_iter().flat_map(each).collect()
        }
    }
}

table!(
    EngineTable, "[[engine]]":
    name label version versions library server volumes durability optional preset pack scaled
    options
);

impl FromToml for OptionTable {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        read_named_values(toml, "[engine.options]", mistakes).map(Self)
    }
}

/// Reads options without lists: for drive jobs, which have their own names, and for phases.
impl FromToml for Options {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let mut plain = Vec::new();
        for (name, axis) in read_named_values(toml, "[engine.options]", mistakes)? {
            match axis {
                Axis::One(value) => plain.push((name, value)),
                Axis::Many(_) => {
                    let message = format!("option `{}` is a list", name.value);
                    let mistake = mistakes.at(&name.span, message);
                    mistake.label("expected one value here; lists are for options of [[engine]]");
                }
            }
        }
        Some(Self(plain))
    }
}

impl<T: FromToml> FromToml for Axis<T> {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        if toml.get_ref().is_array() {
            return OneOrMany::from_toml(toml, mistakes).map(Self::Many);
        }
        At::from_toml(toml, mistakes).map(Self::One)
    }
}
