//! `[data] from`: an existing database of the user.

use crate::written::mistake::Mistakes;
use crate::written::read::{At, Fields, FromToml, Key, Toml};
use crate::written::scalar::Count;
use kvdyno_record::origin::Origin;
use schemars::JsonSchema;

/// A database of your own. A copy of it is measured; the original is read and never changed.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "From")]
pub(crate) struct OwnData {
    /// The directory of the database, or the file of `SQLite`. No process may have it open.
    pub(crate) path: At<String>,
    /// The most keys that requests use, drawn evenly from all. Default: 1M.
    pub(crate) keys: Option<At<Count>>,
    /// A file with the keys to request, one on each line, in place of drawn keys. Default: none.
    pub(crate) keys_file: Option<At<String>>,
    /// The contents of the database; none: it was not examined yet.
    #[schemars(skip)]
    pub(crate) origin: Option<Origin>,
}

impl FromToml for OwnData {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let mut fields = Fields::read(toml, "a database of your own", mistakes)?;
        let path = fields.required("path");
        let keys = Key::read(&mut fields, "keys");
        let keys_file = Key::read(&mut fields, "keys_file");
        fields.finish();
        Some(Self { path: path?, keys: keys?, keys_file: keys_file?, origin: None })
    }
}
