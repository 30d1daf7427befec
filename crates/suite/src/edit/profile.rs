//! `--profile`: makes a suite sample its workers' functions, as its author would write it in the
//! file.

use crate::edit::adjust::put;
use crate::edit::brief::table;
use crate::edit::part::Document;
use crate::written::source::Source;
use serde_spanned::Spanned;
use toml::de::DeValue;

/// Enables sampling in every part.
pub(crate) fn enable(documents: &mut [Document<'_>], source: &mut Source) {
    let start = source.add("--profile", "--profile");
    let span = start..start + "--profile".len();
    for document in documents {
        if let Some(run) = table(&mut document.tables, "run") {
            put(run, "profile", Spanned::new(span.clone(), DeValue::Boolean(true)));
        }
    }
}
