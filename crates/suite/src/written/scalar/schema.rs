//! The JSON Schemas of scalars: the numbers and words that an editor accepts.

use super::{
    ByteSize, Bytes, Count, DataSize, Label, Name, Nanoseconds, OneOrMany, Rated, Several, Share,
    Switch, Threads, UntypedValue, Version,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;

/// Implements the schema of a scalar.
macro_rules! scalar_schema {
    ($type:ty, $name:literal, $description:literal, $($json:tt)+) => {
        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let mut schema = schemars::json_schema!($($json)+);
                schema.insert("description".to_owned(), $description.into());
                schema
            }
        }
    };
}
pub(crate) use scalar_schema;

/// Implements the schema of a type that can be written in two ways: as a plain value or as a table.
macro_rules! either_schema {
    ($type:ty, $name:literal, $description:literal, $($one:ty: $of_one:literal),+) => {
        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let ways = [$({
                    let mut way = generator.subschema_for::<$one>();
                    way.insert("description".to_owned(), $of_one.into());
                    way
                }),+];
                schemars::json_schema!({ "description": $description, "anyOf": ways })
            }
        }
    };
}
pub(crate) use either_schema;

scalar_schema!(Count, "Count", "A count. k, M, G, T and P are powers of 1000.", {
    "type": ["integer", "number", "string"],
    "minimum": 0,
    "pattern": r"^[0-9][0-9_.]*([eE]\+?[0-9]+)? ?[kKMGTP]?$",
    "examples": [1000, "80M"],
});
scalar_schema!(Rated, "Rated", "Operations per second. k, M, G, T and P are powers of 1000.", {
    "type": ["integer", "number", "string"],
    "minimum": 0,
    "pattern": r"^[0-9][0-9_.]*([eE]\+?[0-9]+)? ?[kKMGTP]?(/s)?$",
    "examples": [0.5, "50k"],
});
scalar_schema!(
    Bytes,
    "Bytes",
    "A number of bytes, with or without a unit. KiB, MiB and GiB are powers of 1024; kB, MB and GB \
     are powers of 1000. kvdyno refuses `64G`, which could be either.",
    {
        "type": ["integer", "number", "string"],
        "minimum": 0,
        "pattern": r"^[0-9][0-9_.]*([eE]\+?[0-9]+)? ?([kKMGTP]?B|[KMGTP]iB)?$",
        "examples": [4000, "64KiB", "64kB"],
    }
);
scalar_schema!(
    ByteSize,
    "ByteSize",
    "A number of bytes with its unit. kvdyno refuses a bare `512`.",
    {
        "type": "string",
        "pattern": r"^[0-9][0-9_.]*([eE]\+?[0-9]+)? ?([kKMGTP]?B|[KMGTP]iB)$",
        "examples": ["512MiB", "64GB"],
    }
);
scalar_schema!(
    Nanoseconds,
    "Duration",
    "A time above zero with its unit: ns, us, ms, s, m, h or d.",
    {
        "type": "string",
        "pattern": r"^([0-9.]+ *(ns|us|µs|ms|s|m|h|d) *)+$",
        "examples": ["500ms", "60s", "1h30m"],
    }
);
scalar_schema!(Share, "Share", "A share from 0 to 1.", {
    "type": ["number", "string"],
    "minimum": 0,
    "maximum": 1,
    "pattern": r"^[0-9.]+ ?%?$|^[0-9]+/[0-9]+$",
    "examples": [0.5, "50%", "1/2"],
});
scalar_schema!(Several, "SmallCount", "A count from 1 to 65536.", {
    "type": ["integer", "string"],
    "minimum": 1,
    "maximum": 65_536,
    "pattern": r"^[0-9][0-9_.]* ?[kK]?$",
    "examples": [4, "1k"],
});
scalar_schema!(Name, "Name", "A name of 1 to 64 characters: a-z, 0-9, `_` and `-`.", {
    "type": "string",
    "pattern": "^[a-z0-9_-]{1,64}$",
    "examples": ["readers", "db_bench"],
});
scalar_schema!(Label, "Label", "A name that may contain dots after its first character.", {
    "type": "string",
    "pattern": "^[a-z0-9_-][a-z0-9._-]{0,63}$",
    "examples": ["rocksdb-9.10"],
});
scalar_schema!(Version, "Version", "The version of a library.", {
    "type": "string",
    "pattern": "^[0-9][0-9A-Za-z._-]{0,31}$",
    "examples": ["9.10.0"],
});
scalar_schema!(
    Threads,
    "Threads",
    "A number of threads from 1 to 65536. `\"sweep\"` takes each count of `run.threads` in turn.",
    {
        "anyOf": [
            { "type": "integer", "minimum": 1, "maximum": 65_536 },
            { "const": "sweep" },
        ],
        "examples": [4, "sweep"],
    }
);
scalar_schema!(DataSize, "DataSize", "A number of bytes with its unit, or `\"auto\"`.", {
    "type": "string",
    "pattern": r"^auto$|^[0-9][0-9_.]*([eE]\+?[0-9]+)? ?([kKMGTP]?B|[KMGTP]iB)$",
    "examples": ["300GiB", "auto"],
});
scalar_schema!(Switch, "Switch", "On, off, or automatic.", {
    "enum": [true, false, "auto"],
    "examples": [true, false, "auto"],
});
scalar_schema!(UntypedValue, "OptionValue", "The value of an engine's option.", {
    "type": ["boolean", "integer", "number", "string"],
    "examples": [true, 10, "50%", "none"],
});

impl<T: JsonSchema> JsonSchema for OneOrMany<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("OneOrMany_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let item = generator.subschema_for::<T>();
        json_schema!({ "anyOf": [item, { "type": "array", "items": item, "minItems": 1 }] })
    }
}
