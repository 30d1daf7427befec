//! How many keys an operation takes, as it is written: a number where it is always the same, which
//! is what earlier records have, else a [`Size`].

use super::Size;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A number of keys: fixed or drawn.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Count {
    /// Always so many.
    Always(u64),
    /// Drawn for each operation.
    Drawn(Size),
}

pub(super) fn serialize<S: Serializer>(size: &Size, serializer: S) -> Result<S::Ok, S::Error> {
    match size {
        Size::Fixed { bytes } => Count::Always(*bytes),
        drawn => Count::Drawn(drawn.clone()),
    }
    .serialize(serializer)
}

pub(super) fn deserialize<'d, D: Deserializer<'d>>(deserializer: D) -> Result<Size, D::Error> {
    Ok(match Count::deserialize(deserializer)? {
        Count::Always(bytes) => Size::Fixed { bytes },
        Count::Drawn(size) => size,
    })
}
