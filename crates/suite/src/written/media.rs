//! `[media]` as typed: the drives of this machine for the names in a study.

use crate::written::mistake::Mistakes;
use crate::written::read::{At, Fields, FromToml, Toml, read_named_values};
use crate::written::scalar::Name;
use schemars::JsonSchema;
use std::collections::BTreeMap;

/// Drives by the name of their medium.
#[derive(Clone, Debug, Default, JsonSchema)]
#[schemars(transparent)]
pub(crate) struct Media(
    #[schemars(with = "BTreeMap<String, String>")] pub(crate) Vec<(At<String>, At<String>)>,
);

impl FromToml for Media {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        read_named_values(toml, "[media]", mistakes).map(Self)
    }
}

impl Media {
    /// Returns the path of a medium.
    pub(crate) fn get(&self, medium: &str) -> Option<&At<String>> {
        self.0.iter().find(|(name, _)| name.value == medium).map(|(_, path)| path)
    }
}

/// A path or a medium.
type LocationFields = (Option<At<String>>, Option<At<Name>>);

/// Reads the location of a volume or tier.
pub(crate) fn read_location(fields: &mut Fields<'_, '_>, required: bool) -> Option<LocationFields> {
    let medium: Option<At<Name>> = fields.optional("medium");
    let Some(medium) = medium else {
        let path = if required { fields.required("path") } else { fields.optional("path") };
        return (path.is_some() || !required).then_some((path, None));
    };
    if let Some(path) = fields.remove_key("path") {
        let mistake = fields.mistakes.at(&path.span(), "both `path` and `medium`");
        mistake.label("expected one of them; `--medium` sets the path of a medium");
    }
    Some((None, Some(medium)))
}
