//! The table, and the statements that are prepared for it.

use crate::connection::{Connection, Statement};
use kvdyno_engine::Result;
use std::collections::HashMap;

pub(crate) const GET: &str = "SELECT v FROM kv WHERE k = ?";
pub(crate) const LOCK: &str = "SELECT v FROM kv WHERE k = ? FOR UPDATE";

/// The most statements of several rows that are kept prepared.
const SEVERAL_MAX: usize = 100;

/// Statements of several rows, each prepared once for each number of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Several {
    /// Stores records. Both this and `REPLACE` look for the key first. This one is defined to
    /// change the row that is there; `REPLACE` to remove it and insert another, and only in a table
    /// with a single key, as ours, the server changes it as well.
    Put,
    /// Removes keys.
    Delete,
    /// Looks keys up.
    Get,
}

impl Several {
    fn text(self, rows: usize) -> String {
        let list = |one: &str| vec![one; rows].join(",");
        match self {
            Self::Put => {
                let rows = list("(?,?)");
                format!("INSERT INTO kv VALUES {rows} ON DUPLICATE KEY UPDATE v = VALUES(v)")
            }
            Self::Delete => format!("DELETE FROM kv WHERE k IN ({})", list("?")),
            // Without `FORCE INDEX` the optimiser may read the whole of a table that it takes for
            // small.
            Self::Get => {
                let keys = list("?");
                format!("SELECT k, v FROM kv FORCE INDEX (PRIMARY) WHERE k IN ({keys})")
            }
        }
    }
}

/// Where a scan begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ScanStart {
    /// At the table's edge.
    Edge,
    /// At a key.
    At,
    /// Behind a key.
    Behind,
}

/// A kind of scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Scan {
    pub(crate) forward: bool,
    pub(crate) from: ScanStart,
    pub(crate) until: bool,
}

impl Scan {
    fn text(self) -> String {
        let forward = self.forward;
        let from = match (self.from, forward) {
            (ScanStart::Edge, _) => None,
            (ScanStart::At, true) => Some("k >= ?"),
            (ScanStart::At, false) => Some("k <= ?"),
            (ScanStart::Behind, true) => Some("k > ?"),
            (ScanStart::Behind, false) => Some("k < ?"),
        };
        let until = self.until.then_some(if forward { "k < ?" } else { "k >= ?" });
        let conditions: Vec<&str> = from.into_iter().chain(until).collect();
        let among = match conditions.as_slice() {
            [] => String::new(),
            all => format!(" WHERE {}", all.join(" AND ")),
        };
        let order = if forward { "" } else { " DESC" };
        format!("SELECT k, v FROM kv FORCE INDEX (PRIMARY){among} ORDER BY k{order} LIMIT ?")
    }
}

/// The statements that a session has prepared.
#[derive(Debug)]
pub(crate) struct Statements {
    pub(crate) get: Statement,
    pub(crate) lock: Statement,
    pub(crate) put: Statement,
    pub(crate) delete: Statement,
    scans: HashMap<Scan, Statement>,
    several: HashMap<(Several, usize), Statement>,
}

impl Statements {
    /// Prepares the statements that every session has.
    pub(crate) fn prepare(connection: &mut Connection) -> Result<Self> {
        Ok(Self {
            get: connection.prepare(GET)?,
            lock: connection.prepare(LOCK)?,
            put: connection.prepare(&Several::Put.text(1))?,
            delete: connection.prepare(&Several::Delete.text(1))?,
            scans: HashMap::new(),
            several: HashMap::new(),
        })
    }

    pub(crate) fn scan(&mut self, connection: &mut Connection, kind: Scan) -> Result<Statement> {
        if let Some(statement) = self.scans.get(&kind) {
            return Ok(*statement);
        }
        let statement = connection.prepare(&kind.text())?;
        self.scans.insert(kind, statement);
        Ok(statement)
    }

    pub(crate) fn prepare_several(
        &mut self,
        connection: &mut Connection,
        kind: Several,
        rows: usize,
    ) -> Result<Statement> {
        if let Some(statement) = self.several.get(&(kind, rows)) {
            return Ok(*statement);
        }
        if self.several.len() >= SEVERAL_MAX {
            for (_, statement) in self.several.drain() {
                connection.unprepare(statement);
            }
        }
        let statement = connection.prepare(&kind.text(rows))?;
        self.several.insert((kind, rows), statement);
        Ok(statement)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_of_each_kind_is_another_statement() {
        const ALL: &str = "SELECT k, v FROM kv FORCE INDEX (PRIMARY)";
        let text = |forward, from, until| Scan { forward, from, until }.text();
        let (forward, reverse) = (true, false);
        assert_eq!(text(forward, ScanStart::Edge, false), format!("{ALL} ORDER BY k LIMIT ?"));
        let some = text(forward, ScanStart::At, true);
        assert_eq!(some, format!("{ALL} WHERE k >= ? AND k < ? ORDER BY k LIMIT ?"));
        let back = text(reverse, ScanStart::Behind, true);
        assert_eq!(back, format!("{ALL} WHERE k < ? AND k >= ? ORDER BY k DESC LIMIT ?"));
    }

    #[test]
    fn several_rows_are_one_statement() {
        let put = "INSERT INTO kv VALUES (?,?),(?,?) ON DUPLICATE KEY UPDATE v = VALUES(v)";
        assert_eq!(Several::Put.text(2), put);
        assert_eq!(Several::Delete.text(3), "DELETE FROM kv WHERE k IN (?,?,?)");
    }
}
