//! Checks of an existing database: its newest OPTIONS file says what it was created with.

use kvdyno_engine::{Error, Result};
use std::path::Path;

/// The order of keys in which this adapter scans.
const COMPARATOR: &str = "leveldb.BytewiseComparator";

/// The compaction filter that drops expired records, in a database with a time to live.
const TTL_FILTER: &str = "TtlCompactionFilter";

/// Returns the newest OPTIONS file: what `RocksDB` really runs with, every default written out.
pub(crate) fn newest_options_file(directory: &Path) -> Option<String> {
    let names = std::fs::read_dir(directory).ok()?.flatten().map(|entry| entry.path());
    let newest = names.filter(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("OPTIONS-"))
    });
    std::fs::read_to_string(newest.max()?).ok()
}

/// Refuses a database whose keys are in another order, or whose values come from a merge operator:
/// that is code of the program that created the database. A merge operator of `RocksDB`'s own is
/// accepted if `own_options`, the user's, name it. A database whose records expire has a time
/// behind each value: `expires` must be as at its creation.
pub(crate) fn refuse_other_semantics(
    directory: &Path,
    own_options: &str,
    expires: bool,
) -> Result<()> {
    let has_operator = own_options.contains("merge_operator");
    let Some(text) = newest_options_file(directory) else { return Ok(()) };
    check_options_text(&text, has_operator)?;
    let made_with_ttl = text.contains(TTL_FILTER);
    if made_with_ttl == expires {
        return Ok(());
    }
    let (with, remedy) =
        if made_with_ttl { ("with", "a db_ttl above 0") } else { ("without", "db_ttl = 0") };
    Err(Error::invalid(format!("this database was made {with} a time to live: expected {remedy}")))
}

fn check_options_text(text: &str, has_operator: bool) -> Result<()> {
    let mut family = "";
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("[CFOptions \"") {
            family = name.trim_end_matches("\"]");
        }
        let Some((name, value)) = line.split_once('=') else { continue };
        let value = object_name(value);
        match name {
            "comparator" if value != COMPARATOR => {
                return Err(Error::invalid(format!(
                    "column family `{family}` has comparator `{value}`: expected {COMPARATOR}"
                )));
            }
            "merge_operator" if value != "nullptr" && !has_operator => {
                return Err(Error::invalid(format!(
                    "column family `{family}` has merge operator `{value}`: expected none; \
                     hint: name it in option `options` if it is one of RocksDB's own"
                )));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns the name in `name` or in `{id=name;other=..}`.
fn object_name(value: &str) -> &str {
    let inner = value.strip_prefix("{id=").unwrap_or(value);
    inner.split([';', '}']).next().unwrap_or(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_written_by_name_or_with_their_options() {
        assert_eq!(object_name("nullptr"), "nullptr");
        assert_eq!(object_name("{id=StringAppendOperator;delimiter=,;}"), "StringAppendOperator");
        assert_eq!(object_name("{id=UInt64AddOperator}"), "UInt64AddOperator");
    }

    #[test]
    fn a_file_without_column_families_is_no_reason_to_refuse() {
        assert_eq!(check_options_text("", false), Ok(()));
        assert_eq!(check_options_text("[DBOptions]\n  stats_dump_period_sec=600\n", false), Ok(()));
    }
}
