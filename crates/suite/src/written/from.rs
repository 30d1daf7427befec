//! `[data] from`: a database that was there.

use crate::written::mistake::Mistakes;
use crate::written::read::{At, Fields, FromToml, Key, Toml};
use crate::written::scalar::Count;
use kvdyno_record::origin::Origin;
use schemars::JsonSchema;

/// A database of your own. A copy of it is measured; the original is read and never changed.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields, rename = "From")]
pub(crate) struct OwnData {
    /// Its directory, or the file of `SQLite`. No process may have it open.
    pub(crate) path: At<String>,
    /// The most keys that requests ask for, drawn evenly from all. Default: 1M.
    pub(crate) keys: Option<At<Count>>,
    /// A file of the keys to ask for, one on each line, in place of drawn ones. Default: none.
    pub(crate) keys_file: Option<At<String>>,
    /// None: it was not looked at yet.
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
