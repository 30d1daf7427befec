//! The table, and the statements that are prepared for it.

use crate::connection::Connection;
use kvdyno_engine::{Direction, Range};
use std::collections::HashSet;

/// The statement that creates the table if it is missing. It makes no statistics: with those of an
/// empty table the planner would take it for empty.
pub(crate) const TABLE: &str =
    "CREATE TABLE IF NOT EXISTS kv (k bytea PRIMARY KEY, v bytea NOT NULL)";

/// Name and text of the statements that every session has.
pub(crate) const ALWAYS: [(&str, &str); 5] = [
    ("get", "SELECT v FROM kv WHERE k = $1"),
    ("lock", "SELECT v FROM kv WHERE k = $1 FOR UPDATE"),
    ("put", "INSERT INTO kv VALUES ($1, $2) ON CONFLICT (k) DO UPDATE SET v = EXCLUDED.v"),
    ("delete", "DELETE FROM kv WHERE k = $1"),
    ("multiget", "SELECT k, v FROM kv WHERE k = ANY ($1::bytea[])"),
];

/// The most kinds of scans that are kept prepared.
const SCANS_MAX: usize = 1000;

/// The scans that a session has prepared: one of each kind and length, because the planner must
/// know how few rows are wanted.
#[derive(Debug, Default)]
pub(crate) struct Scans(HashSet<String>);

impl Scans {
    /// Returns the name of the statement of a scan. If it is new, its preparation is queued.
    pub(crate) fn prepare_scan(
        &mut self,
        connection: &mut Connection,
        range: &Range<'_>,
    ) -> String {
        let (name, statement) = range_statements(range);
        if self.0.contains(&name) {
            return name;
        }
        if self.0.len() >= SCANS_MAX {
            connection.prepare("", &statement);
            return String::new();
        }
        connection.unprepare(&name);
        connection.prepare(&name, &statement);
        self.0.insert(name.clone());
        name
    }

    /// Forgets a statement that failed: it may not be prepared.
    pub(crate) fn forget_scan(&mut self, name: &str) {
        self.0.remove(name);
    }
}

fn range_statements(range: &Range<'_>) -> (String, String) {
    let forward = range.direction == Direction::Forward;
    let mut conditions = Vec::new();
    if range.from.is_some() {
        conditions.push(if forward { "k >= $1" } else { "k <= $1" }.to_owned());
    }
    if range.until.is_some() {
        let parameter = conditions.len() + 1;
        conditions.push(format!("k {} ${parameter}", if forward { "<" } else { ">=" }));
    }
    let among = match conditions.as_slice() {
        [] => String::new(),
        all => format!(" WHERE {}", all.join(" AND ")),
    };
    let order = if forward { "" } else { " DESC" };
    let limit = match range.limit {
        u64::MAX => String::new(),
        rows => format!(" LIMIT {rows}"),
    };
    let (from, until) = (u8::from(range.from.is_some()), u8::from(range.until.is_some()));
    let name = format!("scan{}{from}{until}{}", u8::from(forward), limit.replace(" LIMIT ", "_"));
    (name, format!("SELECT k, v FROM kv{among} ORDER BY k{order}{limit}"))
}

/// Returns keys as one binary parameter: an array of one dimension, of bytea.
pub(crate) fn array(keys: &[&[u8]]) -> Vec<u8> {
    const BYTEA: u32 = 17;
    let mut array = Vec::with_capacity(20 + keys.iter().map(|key| key.len() + 4).sum::<usize>());
    for number in [1, 0, BYTEA, keys.len() as u32, 1] {
        array.extend_from_slice(&number.to_be_bytes());
    }
    for key in keys {
        array.extend_from_slice(&(key.len() as u32).to_be_bytes());
        array.extend_from_slice(key);
    }
    array
}

#[cfg(test)]
mod tests {
    use super::range_statements;
    use kvdyno_engine::{Direction, Range};

    #[test]
    fn a_scan_of_each_kind_is_another_statement() {
        let all = Range::all(Direction::Forward);
        assert_eq!(range_statements(&all).1, "SELECT k, v FROM kv ORDER BY k");
        let (name, text) = range_statements(&all.from(b"a").until(b"b").limit(10));
        assert_eq!(name, "scan111_10");
        assert_eq!(text, "SELECT k, v FROM kv WHERE k >= $1 AND k < $2 ORDER BY k LIMIT 10");
        let (name, text) = range_statements(&Range::all(Direction::Reverse).until(b"b"));
        assert_eq!(name, "scan001");
        assert_eq!(text, "SELECT k, v FROM kv WHERE k >= $1 ORDER BY k DESC");
        assert_ne!(range_statements(&all.limit(1)).0, range_statements(&all.limit(2)).0);
    }
}
