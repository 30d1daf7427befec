//! The table that is measured: it is created in an empty database, and checked in an existing one.

use crate::connection::Connection;
use crate::statement::Kind;
use kvdyno_engine::{Error, Options, Result, list_names};

/// A table with its column of keys and its column of values.
pub(crate) struct Table {
    /// The table's name, quoted, as are the columns' names.
    pub(crate) name: String,
    pub(crate) key: String,
    pub(crate) value: String,
    /// The kind that keys are bound as: to `SQLite` a text and a blob are never equal.
    pub(crate) keys: Kind,
    pub(crate) values: Kind,
    /// Whether a put may take the place of the whole row. Not with other columns, which would be
    /// lost, and not with a rowid, which would be another one.
    pub(crate) replaces_rows: bool,
}

impl Table {
    /// Opens the table that the options name. An empty database gets it.
    pub(crate) fn open(connection: &Connection, options: &Options) -> Result<Self> {
        let name = options.text("table_name")?;
        let (key, value) = (options.text("key_column")?, options.text("value_column")?);
        let tables = texts(
            connection,
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' \
             ESCAPE '\\' ORDER BY name",
        )?;
        if tables.is_empty() {
            let kind = if options.text("table")? == "rowid" { "" } else { " WITHOUT ROWID" };
            let (name, key, value) = (quote_name(name), quote_name(key), quote_name(value));
            // Another process may have created it since.
            connection.text(&format!(
                "CREATE TABLE IF NOT EXISTS {name} ({key} BLOB PRIMARY KEY, {value} BLOB){kind}"
            ))?;
        } else if !tables.iter().any(|table| table.eq_ignore_ascii_case(name)) {
            return Err(Error::invalid(format!(
                "expected a table `{name}` in the database, found {}; choose one with option \
                 `table_name`",
                list_names(&tables)
            )));
        }
        Existing { connection, name, key, value }.check()
    }
}

/// A table and columns that must be checked.
struct Existing<'a> {
    connection: &'a Connection,
    name: &'a str,
    key: &'a str,
    value: &'a str,
}

impl Existing<'_> {
    fn check(&self) -> Result<Table> {
        let table = text(self.name);
        let columns =
            texts(self.connection, &format!("SELECT name FROM pragma_table_xinfo({table})"))?;
        for (option, column) in [("key_column", self.key), ("value_column", self.value)] {
            if !columns.iter().any(|name| name.eq_ignore_ascii_case(column)) {
                return Err(Error::invalid(format!(
                    "expected a column `{column}` in table `{}`, found {}; choose one with option \
                     `{option}`",
                    self.name,
                    list_names(&columns)
                )));
            }
        }
        let (keys, values) = (self.keys()?, self.values()?);
        self.check_unique()?;
        self.check_order(keys)?;
        let without_rowid =
            format!("SELECT wr FROM pragma_table_list({table}) WHERE schema='main'");
        let without_rowid = self.connection.text(&without_rowid)? == "1";
        Ok(Table {
            name: quote_name(self.name),
            key: quote_name(self.key),
            value: quote_name(self.value),
            keys,
            values,
            replaces_rows: without_rowid && columns.len() == 2,
        })
    }

    /// Returns the kind of the first key; in an empty table, the kind that the column is declared
    /// as.
    fn keys(&self) -> Result<Kind> {
        let (stored, declared) = self.types(self.key)?;
        match (stored.as_str(), affinity(&declared)) {
            ("blob", _) | ("", Affinity::Blob) => Ok(Kind::Blob),
            ("text", _) | ("", Affinity::Text) => Ok(Kind::Text),
            ("", Affinity::Number) => Err(self.wrong_key_error(&format!("type {declared}"))),
            (stored, _) => Err(self.wrong_key_error(&format!("{stored} keys"))),
        }
    }

    fn values(&self) -> Result<Kind> {
        let (stored, declared) = self.types(self.value)?;
        let is_text =
            stored == "text" || (stored.is_empty() && affinity(&declared) == Affinity::Text);
        Ok(if is_text { Kind::Text } else { Kind::Blob })
    }

    fn wrong_key_error(&self, content: &str) -> Error {
        let (name, key) = (self.name, self.key);
        Error::invalid(format!(
            "column `{key}` of table `{name}` has {content}: expected keys that are BLOB or TEXT"
        ))
    }

    /// Returns the type of the first value that is not NULL, or empty if there is none, and the
    /// declared type.
    fn types(&self, column: &str) -> Result<(String, String)> {
        let (table, quoted_column) = (quote_name(self.name), quote_name(column));
        let stored = self.connection.text(&format!(
            "SELECT typeof({quoted_column}) FROM {table} WHERE {quoted_column} IS NOT NULL LIMIT 1"
        ))?;
        let (table, column) = (text(self.name), text(column));
        let declared = self.connection.text(&format!(
            "SELECT type FROM pragma_table_xinfo({table}) WHERE name = {column} COLLATE NOCASE"
        ))?;
        Ok((stored, declared))
    }

    /// Refuses a key column that is not the primary key alone, and has no unique index: a lookup
    /// would read the whole table, and a put would add a second record.
    fn check_unique(&self) -> Result<()> {
        let (table, key) = (text(self.name), text(self.key));
        let unique = self.connection.text(&format!(
            "SELECT count(*) FROM pragma_index_list({table}) AS list \
             WHERE list.\"unique\" AND NOT list.partial \
             AND (SELECT count(*) FROM pragma_index_info(list.name)) = 1 \
             AND (SELECT name FROM pragma_index_info(list.name)) = {key} COLLATE NOCASE"
        ))?;
        if unique != "0" {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "column `{}` of table `{}`: expected a primary key or a unique index of this column \
             alone, found none",
            self.key, self.name
        )))
    }

    /// Refuses keys that are not ordered by their bytes.
    fn check_order(&self, keys: Kind) -> Result<()> {
        if keys == Kind::Blob {
            return Ok(());
        }
        let (key, name) = (self.key, self.name);
        let collation = self.connection.collation(name, key)?;
        if !collation.eq_ignore_ascii_case("BINARY") {
            return Err(Error::invalid(format!(
                "column `{key}` of table `{name}` has collation {collation}: expected BINARY"
            )));
        }
        let encoding = self.connection.text("PRAGMA encoding")?;
        if encoding != "UTF-8" {
            return Err(Error::invalid(format!(
                "column `{key}` of table `{name}` has text in {encoding}: expected UTF-8"
            )));
        }
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Affinity {
    Text,
    Blob,
    Number,
}

/// Returns a column's affinity, by the rules of "Determination of Column Affinity" in `SQLite`'s
/// manual.
fn affinity(declared: &str) -> Affinity {
    let declared = declared.to_ascii_uppercase();
    let has = |words: &[&str]| words.iter().any(|word| declared.contains(word));
    match () {
        () if has(&["INT"]) => Affinity::Number,
        () if has(&["CHAR", "CLOB", "TEXT"]) => Affinity::Text,
        () if has(&["BLOB"]) || declared.is_empty() => Affinity::Blob,
        () => Affinity::Number,
    }
}

fn texts(connection: &Connection, sql: &str) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    connection.prepare(sql)?.run(&[], |row| {
        texts.push(row.text(0));
        std::ops::ControlFlow::Continue(())
    })?;
    Ok(texts)
}

/// Returns a name as a statement has it.
fn quote_name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Returns a text as a statement has it.
fn text(value: &str) -> String {
    format!("'{}'", value.replace('\'', "''"))
}
