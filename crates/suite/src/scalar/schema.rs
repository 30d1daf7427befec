//! The JSON Schemas of scalars: the numbers and words that an editor accepts.

use super::{
    ByteSize, Bytes, Count, DataSize, Label, Name, Nanoseconds, OneOrMany, Several, Share, Switch,
    Threads, UntypedValue, Version,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;

/// The schema of a scalar, inline, with its description.
macro_rules! scalar_schema {
    ($type:ty, $name:literal, $($json:tt)+) => {
        impl JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($($json)+)
            }
        }
    };
}

scalar_schema!(Count, "Count", {
    "type": ["integer", "number", "string"],
    "minimum": 0,
    "pattern": r"^[0-9][0-9_.]*([eE]\+?[0-9]+)? ?[kKMGTP]?$",
});
scalar_schema!(Bytes, "Bytes", {
    "type": ["integer", "number", "string"],
    "minimum": 0,
    "pattern": r"^[0-9][0-9_.]*([eE]\+?[0-9]+)? ?([kKMGTP]?B|[KMGTP]iB)?$",
});
scalar_schema!(ByteSize, "ByteSize", {
    "type": "string",
    "pattern": r"^[0-9][0-9_.]*([eE]\+?[0-9]+)? ?([kKMGTP]?B|[KMGTP]iB)$",
});
scalar_schema!(Nanoseconds, "Duration", {
    "type": "string",
    "pattern": r"^([0-9.]+ *(ns|us|µs|ms|s|m|h|d) *)+$",
});
scalar_schema!(Share, "Share", {
    "type": ["number", "string"],
    "minimum": 0,
    "maximum": 1,
    "pattern": r"^[0-9.]+ ?%?$|^[0-9]+/[0-9]+$",
});
scalar_schema!(Several, "Several", {
    "type": ["integer", "string"],
    "minimum": 1,
    "maximum": 65_536,
    "pattern": r"^[0-9][0-9_.]* ?[kK]?$",
});
scalar_schema!(Name, "Name", { "type": "string", "pattern": "^[a-z0-9_-]{1,64}$" });
scalar_schema!(Label, "Label", { "type": "string", "pattern": "^[a-z0-9_-][a-z0-9._-]{0,63}$" });
scalar_schema!(Version, "Version", { "type": "string", "pattern": "^[0-9][0-9A-Za-z._-]{0,31}$" });
scalar_schema!(Threads, "Threads", {
    "anyOf": [
        { "type": "integer", "minimum": 1, "maximum": 65_536 },
        { "const": "sweep" },
    ],
});
scalar_schema!(DataSize, "DataSize", {
    "type": "string",
    "pattern": r"^auto$|^[0-9][0-9_.]*([eE]\+?[0-9]+)? ?([kKMGTP]?B|[KMGTP]iB)$",
});
scalar_schema!(Switch, "Switch", { "enum": [true, false, "auto"] });
scalar_schema!(UntypedValue, "OptionValue", { "type": ["boolean", "integer", "number", "string"] });

impl<T: JsonSchema> JsonSchema for OneOrMany<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("OneOrMany_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<T>();
        json_schema!({ "anyOf": [one, { "type": "array", "items": one, "minItems": 1 }] })
    }
}
