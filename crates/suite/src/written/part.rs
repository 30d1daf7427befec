//! `[[part]]` as typed, and a part as read.

use crate::written::engine::OptionTable;
use crate::written::fidelity::Fidelity;
use crate::written::mistake::Mistakes;
use crate::written::read::{At, Fields, Toml};
use crate::written::scalar::Name;
use crate::written::typed::{Data, Ram, Run, Typed};
use kvdyno_record::left_out::LeftOut;
use kvdyno_record::units::Ratio;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::marker::PhantomData;

/// A named grid of the suite. Of two keys that exclude each other (`records` and `size`), the
/// part's key replaces the suite's. Case names and tables show the part: `0005_large_lmdb_t4_r1`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename = "Part")]
pub(crate) struct PartTable<'i> {
    /// The name of the part, unique in the suite.
    pub(crate) name: At<Name>,
    /// The engines of the part, by label or name; `drive` is the `[drive]`. Default: all.
    pub(crate) engines: Option<At<Vec<At<String>>>>,
    /// The volumes of the part. Default: all.
    pub(crate) volumes: Option<At<Vec<At<String>>>>,
    /// The memory tiers of the part. Default: all.
    pub(crate) tiers: Option<At<Vec<At<String>>>>,
    /// The phases of the part, in this order. Default: as the suite.
    #[schemars(with = "Option<Vec<String>>")]
    pub(crate) phases: Option<Toml<'i>>,
    /// The version of named phases that have two. Default: as the suite.
    pub(crate) fidelity: Option<At<Fidelity>>,
    /// Keys that replace those of `[data]`.
    #[schemars(with = "Option<Over<Data>>")]
    pub(crate) data: Option<Toml<'i>>,
    /// Keys that replace those of `[ram]`.
    #[schemars(with = "Option<Over<Ram>>")]
    pub(crate) ram: Option<Toml<'i>>,
    /// Keys that replace those of `[run]`.
    #[schemars(with = "Option<Over<Run>>")]
    pub(crate) run: Option<Toml<'i>>,
    /// Options by engine, next to those of `[[engine]]`: `options.rocksdb = { compression = "zlib"
    /// }`. Lists multiply, as in `[[engine]]`.
    #[schemars(with = "Option<BTreeMap<String, OptionTable>>")]
    pub(crate) options: Option<Toml<'i>>,
}

/// Some keys of a table, all of them optional.
struct Over<T>(PhantomData<T>);

impl<T: JsonSchema> JsonSchema for Over<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("Over{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = T::json_schema(generator);
        schema.remove("required");
        schema
    }
}

impl<'i> PartTable<'i> {
    pub(crate) fn read(toml: Toml<'i>, mistakes: &mut Mistakes) -> Option<Self> {
        let mut fields = Fields::read(toml, "[[part]]", mistakes)?;
        let name = fields.required("name");
        let engines = fields.optional("engines");
        let (volumes, tiers) = (fields.optional("volumes"), fields.optional("tiers"));
        let (phases, fidelity) = (fields.as_written("phases"), fields.optional("fidelity"));
        let [data, ram, run, options] =
            ["data", "ram", "run", "options"].map(|key| fields.as_written(key));
        fields.finish();
        let is_twice =
            |run: &Toml<'i>| run.get_ref().as_table().is_some_and(|run| run.contains_key("phases"));
        if let Some(phases) = phases.as_ref().filter(|_| run.as_ref().is_some_and(is_twice)) {
            let mistake = mistakes.at(&phases.span(), "[[part]] selects its phases twice");
            mistake.label("expected either `phases` here or in `run`");
        }
        let name = name?;
        Some(Self { name, engines, volumes, tiers, phases, fidelity, data, ram, run, options })
    }
}

/// A part of a suite, with everything that it inherits from the suite; the whole suite if it has no
/// parts.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) name: Option<At<Name>>,
    pub(crate) typed: Typed,
    pub(crate) fidelity: Fidelity,
    pub(crate) scale: Ratio,
    pub(crate) no_ram_limit: bool,
    /// True: some role or job sweeps threads, before engines are selected.
    pub(crate) sweeps: bool,
    /// Notes on the paths of its media and on dropped settings.
    pub(crate) notes: Vec<String>,
    /// Engines left out because a medium is missing.
    pub(crate) left_out: Vec<LeftOut>,
}

impl Part {
    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_ref().map(|name| name.0.as_str())
    }

    /// Returns the name of its engine in tables: `rocksdb flash`.
    pub(crate) fn label(&self, engine: &str) -> String {
        self.name().map_or_else(|| engine.to_owned(), |part| format!("{engine} {part}"))
    }
}
