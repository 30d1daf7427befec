//! Text of a record in files that spreadsheets open: a cell that would begin a formula there is
//! given an apostrophe in front, as OWASP's page on CSV injection advises.

use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::ops::Deref;

/// What a spreadsheet takes for the beginning of a formula, full-width forms included.
const BEGINS: [char; 10] = ['=', '+', '-', '@', '\t', '\r', '＝', '＋', '－', '＠'];

/// The text, harmless as a CSV cell. Numbers are not text: `-1` written as a number stays.
pub fn escape_formula(text: &str) -> Cow<'_, str> {
    if text.starts_with(BEGINS) { format!("'{text}").into() } else { text.into() }
}

/// A text that serde writes as [`escape_formula`] returns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inert<'t>(pub &'t str);

impl Deref for Inert<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        self.0
    }
}

impl Serialize for Inert<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&escape_formula(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::escape_formula;

    #[test]
    fn only_what_begins_a_formula_is_changed() {
        assert_eq!(escape_formula("=HYPERLINK(\"x\")"), "'=HYPERLINK(\"x\")");
        for evil in ["+1", "-1", "@SUM(1)", "\t=1", "\r=1", "＝1"] {
            assert_eq!(escape_formula(evil), format!("'{evil}"));
        }
        for good in ["RocksDB 11.8.1", "a=b", "", "1 of 3 killed (9)", "'quoted'"] {
            assert_eq!(escape_formula(good), good);
        }
    }
}
