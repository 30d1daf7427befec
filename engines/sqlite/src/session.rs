//! One thread's handle: a connection with its statements. Each runs in its own transaction unless
//! one is open.

use crate::connection::Connection;
use crate::describe::Journal;
use crate::engine::Sqlite;
use crate::statement::{Row, Statement};
use crate::table::Table;
use kvdyno_engine::{
    Direction, Error, Range, Records, Result, Session, Transaction, ValueVisitor, Walk, Write,
};
use std::ops::ControlFlow;

/// A connection and its prepared statements.
pub(crate) struct Statements {
    get: Statement,
    put: Statement,
    delete: Statement,
    forward: Statement,
    forward_until: Statement,
    reverse: Statement,
    reverse_from: Statement,
    begin: Statement,
    commit: Statement,
    rollback: Statement,
    /// Declared last, so that it is closed after its statements.
    pub(crate) connection: Connection,
}

impl Statements {
    pub(crate) fn prepare(connection: Connection, table: &Table) -> Result<Self> {
        let Table { name, key: k, value: v, keys, values, .. } = table;
        let put = if table.replaces_rows {
            format!("REPLACE INTO {name} ({k}, {v}) VALUES (?1, ?2)")
        } else {
            format!(
                "INSERT INTO {name} ({k}, {v}) VALUES (?1, ?2) \
                 ON CONFLICT ({k}) DO UPDATE SET {v} = excluded.{v}"
            )
        };
        let on = |sql: &str| connection.prepare(sql);
        let by_key = |sql: String| on(&sql).map(|on| on.with_inputs([*keys; 2]));
        let records = format!("SELECT {k}, {v} FROM {name}");
        Ok(Self {
            get: by_key(format!("SELECT {v} FROM {name} WHERE {k} = ?1"))?,
            put: on(&put)?.with_inputs([*keys, *values]),
            delete: by_key(format!("DELETE FROM {name} WHERE {k} = ?1"))?,
            forward: by_key(format!("{records} WHERE {k} >= ?1 ORDER BY {k}"))?,
            forward_until: by_key(format!("{records} WHERE {k} >= ?1 AND {k} < ?2 ORDER BY {k}"))?,
            reverse: by_key(format!("{records} WHERE {k} >= ?1 ORDER BY {k} DESC"))?,
            reverse_from: by_key(format!(
                "{records} WHERE {k} <= ?1 AND {k} >= ?2 ORDER BY {k} DESC"
            ))?,
            // A deferred transaction that reads first could find at its first write that another
            // one has written.
            begin: on("BEGIN IMMEDIATE")?,
            commit: on("COMMIT")?,
            rollback: on("ROLLBACK")?,
            connection,
        })
    }

    #[inline]
    fn get<R>(&mut self, key: &[u8], visit: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        self.get.first_row(&[key], |row| visit(row.map(|row| row.bytes(0))))
    }

    fn scan(
        &mut self,
        range: &Range<'_>,
        visit: &mut impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64> {
        let mut count = 0;
        if range.limit == 0 {
            return Ok(count);
        }
        let row = |row: &Row<'_>| {
            count += 1;
            match visit(row.bytes(0), row.bytes(1)) {
                ControlFlow::Continue(()) if count < range.limit => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            }
        };
        let first = range.from.unwrap_or_default();
        // No blob is before the empty one, and no text before the empty text.
        let last = range.until.unwrap_or_default();
        match (range.direction, range.from, range.until) {
            (Direction::Forward, _, None) => self.forward.run(&[first], row),
            (Direction::Forward, _, Some(until)) => self.forward_until.run(&[first, until], row),
            (Direction::Reverse, None, _) => self.reverse.run(&[last], row),
            (Direction::Reverse, Some(from), _) => self.reverse_from.run(&[from, last], row),
        }?;
        Ok(count)
    }

    fn write(&mut self, writes: &[Write<'_>]) -> Result<()> {
        writes.iter().try_for_each(|write| match *write {
            Write::Put { key, value } => self.put.execute(&[key, value]),
            Write::Delete { key } => self.delete.execute(&[key]),
        })
    }
}

/// Picks the statement of a walk.
type StatementPicker = fn(&mut Statements) -> &mut Statement;

/// A session of `SQLite`.
pub(crate) struct SqliteSession<'e> {
    engine: &'e Sqlite,
    /// The connection and its statements; `None` only while the session is dropped.
    statements: Option<Statements>,
    /// The walk that is under way: this connection reads the database as it was when the walk
    /// began.
    walking: Option<(Direction, StatementPicker)>,
}

impl<'e> SqliteSession<'e> {
    pub(crate) fn new(engine: &'e Sqlite, statements: Statements) -> Self {
        Self { engine, statements: Some(statements), walking: None }
    }

    /// Returns the statements, none of them under way.
    #[inline]
    fn idle_statements(&mut self) -> &mut Statements {
        let statements = self.statements.as_mut().expect("a session has a connection");
        if let Some((_, way)) = self.walking.take() {
            way(statements).reset();
        }
        statements
    }

    /// Returns whether the open walk is at the position of `walk`.
    fn can_continue(&mut self, walk: &Walk) -> bool {
        let Some((direction, way)) = self.walking else { return false };
        let statements = self.statements.as_mut().expect("a session has a connection");
        direction == walk.direction() && walk.last_key() == Some(way(statements).row().bytes(0))
    }

    /// Begins a walk, or continues it from its last key, which is read again.
    fn begin_walk(&mut self, walk: &Walk) -> Result<StatementPicker> {
        let (way, inputs): (StatementPicker, &[&[u8]]) = match (walk.direction(), walk.last_key()) {
            (Direction::Forward, last) => (|all| &mut all.forward, &[last.unwrap_or_default()]),
            (Direction::Reverse, None) => (|all| &mut all.reverse, &[&[]]),
            (Direction::Reverse, Some(last)) => (|all| &mut all.reverse_from, &[last, &[]]),
        };
        way(self.idle_statements()).begin(inputs)?;
        self.walking = Some((walk.direction(), way));
        Ok(way)
    }

    /// Runs `body` in a write transaction: committed if it succeeds, undone if it fails.
    fn run_in_transaction<R>(
        &mut self,
        body: impl FnOnce(&mut Statements) -> Result<R>,
    ) -> Result<R> {
        let engine = self.engine;
        let statements = self.idle_statements();
        let _turn = engine.turn();
        statements.begin.execute(&[])?;
        let done = body(statements).and_then(|result| {
            statements.commit.execute(&[])?;
            Ok(result)
        });
        if done.is_err() && !statements.connection.is_at_rest() {
            statements.rollback.execute(&[])?;
        }
        done
    }
}

impl Drop for SqliteSession<'_> {
    fn drop(&mut self) {
        self.idle_statements();
        if let Some(statements) = self.statements.take() {
            self.engine.give_back(statements);
        }
    }
}

impl Session for SqliteSession<'_> {
    #[inline]
    fn get<R>(&mut self, key: &[u8], visit: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        self.idle_statements().get(key, visit)
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let engine = self.engine;
        let statements = self.idle_statements();
        let _turn = engine.turn();
        statements.put.execute(&[key, value])
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        let engine = self.engine;
        let statements = self.idle_statements();
        let _turn = engine.turn();
        statements.delete.execute(&[key])
    }

    fn scan(
        &mut self,
        range: Range<'_>,
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64> {
        self.idle_statements().scan(&range, &mut visit)
    }

    /// Walks with one statement from beginning to end. Without a log, such a statement would keep
    /// writers out, so each part is a scan.
    fn walk(
        &mut self,
        walk: &mut Walk,
        limit: u64,
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64> {
        if limit == 0 {
            return Ok(0);
        }
        if self.engine.journal() != Journal::Wal {
            return walk.continue_by_scan(self, limit, visit);
        }
        let stands = self.can_continue(walk);
        let way = if stands { self.walking.map(|(_, way)| way) } else { None };
        let way = way.map_or_else(|| self.begin_walk(walk), Ok)?;
        let statement = way(self.statements.as_mut().expect("a session has a connection"));
        let mut count = 0;
        while count < limit {
            if !statement.step()? {
                walk.restart();
                self.idle_statements();
                return Ok(count);
            }
            let row = statement.row();
            if count == 0 && walk.last_key() == Some(row.bytes(0)) {
                continue;
            }
            count += 1;
            if visit(row.bytes(0), row.bytes(1)).is_break() {
                break;
            }
        }
        walk.advance_to(statement.row().bytes(0));
        Ok(count)
    }

    fn transaction<R>(
        &mut self,
        body: impl FnOnce(&mut dyn Transaction) -> Result<R>,
    ) -> Result<R> {
        if self.engine.journal() == Journal::Off {
            return Err(Error::unsupported("transactions with `journal_mode = off`"));
        }
        self.run_in_transaction(|statements| body(statements))
    }

    fn write(&mut self, writes: &[Write<'_>]) -> Result<()> {
        self.run_in_transaction(|statements| statements.write(writes))
    }

    fn read_modify_write(
        &mut self,
        key: &[u8],
        buffer: &mut Vec<u8>,
        change: impl FnOnce(Option<&[u8]>, &mut Vec<u8>),
    ) -> Result<bool> {
        buffer.clear();
        self.run_in_transaction(|statements| {
            let existed = statements.get(key, |value| {
                change(value, buffer);
                value.is_some()
            })?;
            statements.put.execute(&[key, buffer])?;
            Ok(existed)
        })
    }
}

/// A transaction is the only writer at its time: nothing changes what it reads.
impl Transaction for Statements {
    fn get(&mut self, key: &[u8], visit: &mut ValueVisitor<'_>) -> Result<()> {
        Self::get(self, key, visit)
    }

    fn get_for_update(&mut self, key: &[u8], visit: &mut ValueVisitor<'_>) -> Result<()> {
        Self::get(self, key, visit)
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.put.execute(&[key, value])
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.delete.execute(&[key])
    }

    fn scan(&mut self, range: Range<'_>, visit: &mut Records<'_>) -> Result<u64> {
        Self::scan(self, &range, &mut |key, value| visit(key, value))
    }
}
