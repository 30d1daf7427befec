//! The operations of a mix as typed. The table of operations has their names and their arguments.

use crate::written::length::{Keys, Length};
use crate::written::mistake::Mistakes;
use crate::written::read::{At, Fields, FromToml, Or as _, Toml};
use crate::written::scalar::{Count, Nanoseconds};
use kvdyno_record::operations::{KeySource, OpInfo};
use kvdyno_record::workload::{Choice, Op, Size};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;
use std::borrow::Cow;

/// One operation of a mix.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Entry {
    /// The operation.
    #[schemars(flatten, with = "OperationSchema")]
    pub(crate) op: Op,
    /// The frequency relative to the other operations, above 0. Default: 1.
    pub(crate) weight: Option<At<f64>>,
    /// The keys of this operation; not for `insert`, `walk`, `open`, `recover` and the requests of
    /// a graph. Default: those of the role.
    pub(crate) keys: Option<At<Choice>>,
    /// The time to live of records that this operation writes; for `insert`, `update` and `rmw` on
    /// engines with `time_to_live`. Misses are then counted and fail nothing. Needs
    /// `database = "state"` or `"fresh"`. Default: until they are removed.
    pub(crate) ttl: Option<At<Nanoseconds>>,
}

impl FromToml for Entry {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let mut fields = Fields::read(toml, "an operation", mistakes)?;
        let name: At<String> = fields.required("op")?;
        fields.call(format!("operation {}", name.value));
        let weight: Option<At<f64>> = fields.optional("weight");
        if let Some(weight) = weight.as_ref().filter(|weight| weight.value <= 0.0) {
            let mistake = fields.mistakes.at(&weight.span, format!("`weight` is {}", weight.value));
            mistake.label("expected a number above 0");
        }
        let op = read_op(&name, &mut fields)?;
        let keys: Option<At<Choice>> = fields.optional("keys");
        let (what, takes) = match op.info().keys {
            KeySource::Next => ("an insert chooses no keys", "it writes the next number"),
            KeySource::Continued => ("a walk chooses no keys", "it goes on where it ended"),
            KeySource::Opened => ("an opening chooses no keys", "it looks up one of all records"),
            _ => ("", ""),
        };
        if let (false, Some(keys)) = (what.is_empty(), &keys) {
            let mistake = fields.mistakes.at(&keys.span, what);
            mistake.label(format!("expected nothing: {takes}"));
        }
        let ttl: Option<At<Nanoseconds>> = fields.optional("ttl");
        let lives = matches!(op, Op::Insert | Op::Update | Op::ReadModifyWrite);
        if let Some(ttl) = ttl.as_ref().filter(|_| !lives) {
            let what = format!("a {} takes no time to live", name.value);
            let mistake = fields.mistakes.at(&ttl.span, what);
            mistake.label("expected `ttl` at insert, update or rmw");
        }
        fields.finish();
        Some(Self { op, weight, keys, ttl })
    }
}

/// Reads the operation of this name, with its arguments.
fn read_op(name: &At<String>, fields: &mut Fields<'_, '_>) -> Option<Op> {
    let Some(info) = OpInfo::mix_operations().find(|info| info.name == name.value) else {
        let message = format!("`{}` is not an operation", name.value);
        let names: Vec<&str> = OpInfo::mix_operations().map(|info| info.name).collect();
        fields.mistakes.unknown(&name.span, message, &name.value, &names);
        return None;
    };
    let mut op = info.op.clone()?;
    match &mut op {
        Op::Scan { reverse, length } | Op::Walk { reverse, length } => {
            *reverse = fields.optional("reverse").value_or(*reverse);
            if let Some(At { value: Length(size), .. }) = fields.optional("length") {
                *length = size;
            }
        }
        Op::Multiget { keys: count } | Op::Batch { writes: count } => {
            if let Some(At { value: Keys(size), .. }) = fields.optional("count") {
                *count = size;
            }
        }
        Op::Open { cold } => *cold = fields.optional("cold").value_or(*cold),
        Op::Recover { cold, writes } => {
            *cold = fields.optional("cold").value_or(*cold);
            if let Some(At { value: Count(count), .. }) = fields.optional("writes") {
                *writes = count;
            }
        }
        _ => {}
    }
    Some(op)
}

/// The schema of all operations of mixes, from their table.
struct OperationSchema;

impl JsonSchema for OperationSchema {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Operation".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let each = OpInfo::mix_operations().map(|info| {
            let mut properties = arguments(info, generator);
            properties["op"] = json_schema!({ "type": "string", "const": info.name }).into();
            json_schema!({
                "description": info.does,
                "type": "object",
                "properties": properties,
                "required": ["op"],
            })
        });
        let each: Vec<Schema> = each.collect();
        json_schema!({ "oneOf": each })
    }
}

/// Returns the schemas of an operation's arguments.
fn arguments(info: &OpInfo, generator: &mut SchemaGenerator) -> Value {
    let cold = || {
        serde_json::json!({
            "type": "boolean",
            "description": "Evicts the files from the page cache before. Default: false.",
        })
    };
    let number = |mut schema: Schema, of: &str, default: &Size| {
        let text = format!("The number of {of}. Default: {}.", default.max());
        schema.insert("description".to_owned(), text.into());
        schema
    };
    match &info.op {
        Some(Op::Scan { length, .. } | Op::Walk { length, .. }) => serde_json::json!({
            "reverse": {
                "type": "boolean",
                "description": "Reads from high to low. Default: false.",
            },
            "length": number(generator.subschema_for::<Length>(), "records", length),
        }),
        Some(Op::Multiget { keys: count } | Op::Batch { writes: count }) => serde_json::json!({
            "count": number(generator.subschema_for::<Keys>(), "keys", count),
        }),
        Some(Op::Open { .. }) => serde_json::json!({ "cold": cold() }),
        Some(Op::Recover { writes, .. }) => serde_json::json!({
            "cold": cold(),
            "writes": {
                "type": "integer",
                "minimum": 1,
                "description": format!(
                    "Updates that four threads offer in the second before the kill. Default: \
                     {writes}."
                ),
            },
        }),
        _ => serde_json::json!({}),
    }
}
