//! The table that is measured: missing in a new database, checked in one that is there already.

use crate::database::{SessionHandle, c_string};
use kvdyno_engine::{Error, Result, list_names};

/// The format of keys and values that are bytes, in which the adapter reads and writes.
const BYTES: &str = "u";

/// Whether the table must be created, which is so only where the database has none. Refuses one
/// whose keys or values are not bytes.
pub(crate) fn is_missing(session: &SessionHandle, name: &str) -> Result<bool> {
    if let Some(config) = session.metadata(&c_string(&format!("table:{name}"))?)? {
        return refuse_formats(name, &config).map(|()| false);
    }
    let uris = session.uris()?;
    let tables: Vec<_> = uris.iter().filter_map(|uri| uri.strip_prefix("table:")).collect();
    if tables.is_empty() {
        return Ok(true);
    }
    Err(Error::invalid(format!(
        "expected a table `{name}` in the database, found {}; choose one with option `table`",
        list_names(&tables)
    )))
}

fn refuse_formats(name: &str, config: &str) -> Result<()> {
    for format in ["key_format", "value_format"] {
        let actual = value(config, format).unwrap_or_default();
        if actual != BYTES {
            return Err(Error::invalid(format!(
                "table `{name}` has {format}={actual}: expected {BYTES}"
            )));
        }
    }
    Ok(())
}

/// The value of a key outside of parentheses.
fn value<'c>(config: &'c str, key: &str) -> Option<&'c str> {
    let (mut depth, mut start) = (0_i32, 0);
    let mut parts = Vec::new();
    for (at, letter) in config.char_indices() {
        match letter {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&config[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&config[start..]);
    parts.iter().find_map(|part| part.strip_prefix(key)?.strip_prefix('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_looked_for_outside_of_parentheses() {
        let config = "app_metadata=(key_format=x,a=[b,c]),colgroups=,key_format=S,value_format=uu";
        assert_eq!(value(config, "key_format"), Some("S"));
        assert_eq!(value(config, "value_format"), Some("uu"));
        assert_eq!(value(config, "colgroups"), Some(""));
        assert_eq!(value(config, "format"), None);
        assert!(refuse_formats("t", "key_format=u,value_format=u").is_ok());
    }
}
