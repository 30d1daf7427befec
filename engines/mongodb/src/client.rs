//! The client. Each session has its own connection.
//!
//! A put is an `update` that replaces or inserts (`upsert`). `findAndModify` would return a
//! document, and `insert` would fail for an existing key.

use crate::answer::{Page, record};
use crate::bytes::{Document, Keys};
use crate::connection::{ADMIN, COLLECTION, Connection, Find};
use crate::describe::{KEY_BYTES_MAX, VALUE_BYTES_MAX, description};
use crate::graph;
use crate::server::{DATA, PROGRAM};
use bson::{RawBsonRef, RawDocument};
use kvdyno_engine::server::{Address, ControlConnection};
use kvdyno_engine::{
    Counters, DataShape, Description, Direction, Durability, Engine, Error, ErrorClass, Location,
    Options, Range, Result, Session, Settled, Value, Write,
};
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

/// A find of records.
const RECORDS: Find<'_> =
    Find { collection: COLLECTION, sort: &[], fields: &[], documents: 0, limit: u64::MAX };

/// The collection of a document that is written only to sync the journal.
const SYNCED: &str = "synced";

/// The most documents in a page of a scan.
const PAGE: u64 = 500;

/// The most bytes of the writes of one command; the server accepts 16 MiB.
pub(crate) const COMMAND_BYTES: usize = 12 << 20;

/// The most attempts at a write. Two concurrent puts of a new key may both find none: one of them
/// must retry.
pub(crate) const TRIES: u32 = 10;

/// Entries of the server's status that do not describe its work, or change at each read.
const NOT_COUNTED: [&str; 4] = ["pid", "uptime", "uptimeMillis", "uptimeEstimate"];

/// A server with the protocol of `MongoDB`, as seen by the client.
pub(crate) struct MongoDb {
    address: Address,
    durability: Durability,
    has_journal: bool,
    control: ControlConnection<Connection>,
}

impl MongoDb {
    /// Opens a connection for a handle on a graph. Creates the graph's collections before its first
    /// use.
    pub(crate) fn connect_for_graph(&self) -> Result<Connection> {
        self.control.ensure_graph(graph::create)?;
        Connection::open(&self.address)
    }

    /// Returns whether a write is answered only when it is in the journal on the disk.
    pub(crate) fn is_journaled(&self) -> bool {
        self.durability == Durability::Commit
    }

    /// Syncs the server's files by their names: the server may have no `fsync`, or sync no log by
    /// it.
    fn sync_files(&self) -> Result<()> {
        let Address::Unix(socket) = &self.address else { return Ok(()) };
        Ok(sync_dir(&socket.with_file_name(DATA))?)
    }
}

impl Engine for MongoDb {
    type Session<'e> = Client;

    fn describe() -> Description {
        description(PROGRAM.find(None))
    }

    fn open(location: &Location, options: &Options, _data: &DataShape) -> Result<Self> {
        let address = Address::from_location::<Self>(location)?;
        let control = ControlConnection::new(Connection::open(&address)?);
        let durability = options.durability;
        // TokuMX always has a journal.
        let has_journal = options.boolean("journal").unwrap_or(true);
        Ok(Self { address, durability, has_journal, control })
    }

    fn session(&self) -> Result<Client> {
        let connection = Connection::open(&self.address)?;
        Ok(Client { connection, journaled: self.is_journaled() })
    }

    /// Writes everything to the files. It uses its own connection, which is closed if this takes
    /// too long.
    fn settle(&self, limit: Duration) -> Result<Settled> {
        let begun = Instant::now();
        let mut connection = Connection::open(&self.address)?;
        connection.patience(limit)?;
        let done = connection.command(ADMIN, |doc| doc.int("fsync", 1)).map(drop);
        let idle = begun.elapsed() <= limit;
        match done {
            Ok(()) => Ok(Settled { idle, note: "waited for fsync".to_owned() }),
            Err(error) if error.class == ErrorClass::Unsupported => {
                Ok(Settled { idle: true, note: "the server has no fsync".to_owned() })
            }
            Err(_) if !idle => Ok(Settled { idle, note: "fsync is under way".to_owned() }),
            Err(error) => Err(error),
        }
    }

    fn sync(&self) -> Result<()> {
        if self.durability == Durability::Commit {
            return Ok(());
        }
        let mut control = self.control.lock();
        if self.has_journal {
            write_journaled(&mut control)?;
        }
        match control.command(ADMIN, |doc| doc.int("fsync", 1)) {
            Err(error) if error.class != ErrorClass::Unsupported => Err(error),
            _ => self.sync_files(),
        }
    }

    fn close(self) -> Result<()> {
        Ok(())
    }

    /// Returns all numbers of `serverStatus`. A nested name has those above it in front, with dots.
    fn counters(&self) -> Counters {
        let mut counters = Counters::new();
        let mut control = self.control.lock();
        if let Ok(status) = control.command(ADMIN, |doc| doc.int("serverStatus", 1)) {
            flatten("", status, &mut counters);
        }
        counters.retain(|name, _| !NOT_COUNTED.contains(&name.as_str()));
        counters
    }
}

fn flatten(above: &str, document: &RawDocument, counters: &mut Counters) {
    for (name, value) in document.iter_elements().flatten().filter_map(|element| {
        let value = element.value().ok()?;
        Some((format!("{above}{}", element.key().as_str()), value))
    }) {
        let integer = |number: i64| {
            u64::try_from(number).map_or(Value::Number(number as f64), Value::Integer)
        };
        let value = match value {
            RawBsonRef::Document(below) => {
                flatten(&format!("{name}."), below, counters);
                continue;
            }
            RawBsonRef::Int32(number) => integer(number.into()),
            RawBsonRef::Int64(number) => integer(number),
            RawBsonRef::Double(number) if number.is_finite() => Value::Number(number),
            RawBsonRef::Boolean(flag) => Value::Boolean(flag),
            _ => continue,
        };
        counters.insert(name, value);
    }
}

#[inline]
fn check(write: &Write<'_>) -> Result<()> {
    let (key, value) = (write.key().len(), write.value().map_or(0, <[u8]>::len));
    if key > KEY_BYTES_MAX {
        return Err(Error::invalid(format!("a key of {key} bytes is longer than {KEY_BYTES_MAX}")));
    }
    if value > VALUE_BYTES_MAX {
        return Err(Error::invalid(format!(
            "a value of {value} bytes is longer than {VALUE_BYTES_MAX}"
        )));
    }
    Ok(())
}

/// One thread's connection.
pub(crate) struct Client {
    connection: Connection,
    /// Whether a write is answered only when it is in the journal on the disk.
    journaled: bool,
}

impl Client {
    /// Performs writes that are all of one kind by one command.
    #[inline]
    fn apply(&mut self, writes: &[Write<'_>]) -> Result<()> {
        let mut tries = 0;
        loop {
            let applied = self.apply_once(writes);
            tries += 1;
            match applied {
                // Earlier writes of the command are repeated: none is reported before all are done.
                Err(error) if error.class == ErrorClass::Conflict && tries < TRIES => {}
                applied => return applied,
            }
        }
    }

    #[inline]
    fn apply_once(&mut self, writes: &[Write<'_>]) -> Result<()> {
        let (journaled, keys) = (self.journaled, self.connection.keys);
        let puts = writes.first().is_some_and(|write| write.value().is_some());
        let (command, list) = if puts { ("update", "updates") } else { ("delete", "deletes") };
        self.connection
            .write(|doc| {
                let doc = doc.text(command, COLLECTION);
                let doc = doc.array(list, writes.iter(), |doc, write| fill_write(doc, write, keys));
                let doc = doc.flag("ordered", true);
                concern(doc, journaled)
            })
            .map(drop)
    }

    /// Shows the records of all pages from `page` on, until `visit` breaks off.
    fn show(
        &mut self,
        page: Page,
        find: &Find<'_>,
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64> {
        self.connection.show(page, find, |document| {
            let (key, value) = record(document)?;
            Ok(visit(&key, value))
        })
    }
}

/// Syncs all files in a directory. Files that the server removes meanwhile are left out.
fn sync_dir(dir: &Path) -> io::Result<()> {
    for entry in dir.read_dir()? {
        let path = entry?.path();
        let synced = if path.is_dir() {
            sync_dir(&path)
        } else {
            File::open(path).and_then(|file| file.sync_all())
        };
        match synced {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    File::open(dir)?.sync_all()
}

/// Makes a write that is answered when it and all before it are in the journal on the disk: the
/// command `fsync` does not sync the journal of `TokuMX`.
fn write_journaled(connection: &mut Connection) -> Result<()> {
    let written = connection.write(|doc| {
        let doc = doc.text("update", SYNCED);
        let doc = doc.array("updates", std::iter::once(()), |doc, ()| {
            let doc = doc.document("q", |q| q.int("_id", 0)).document("u", |u| u.int("synced", 1));
            doc.flag("upsert", true)
        });
        concern(doc, true)
    });
    written.map(drop)
}

/// Adds the write concern: one server answers a write when it is done, or when it is in the journal
/// on the disk.
pub(crate) fn concern(doc: Document<'_>, journaled: bool) -> Document<'_> {
    doc.document("writeConcern", |concern| concern.int("w", 1).flag("j", journaled))
}

/// Writes one element of the command's list.
#[inline]
fn fill_write<'d>(doc: Document<'d>, write: &Write<'_>, keys: Keys) -> Document<'d> {
    let doc = doc.document("q", |q| q.key("_id", write.key(), keys));
    match write.value() {
        Some(value) => doc.document("u", |u| u.binary("v", value)).flag("upsert", true),
        None => doc.int("limit", 1),
    }
}

/// Adds both ends of a range, as far as it has them.
fn add_range<'d>(filter: Document<'d>, range: &Range<'_>, keys: Keys) -> Document<'d> {
    let (from, until) = match range.direction {
        Direction::Forward => ("$gte", "$lt"),
        Direction::Reverse => ("$lte", "$gte"),
    };
    if range.from.or(range.until).is_none() {
        return filter;
    }
    filter.document("_id", |id| {
        let id = match range.from {
            Some(key) => id.key(from, key, keys),
            None => id,
        };
        match range.until {
            Some(key) => id.key(until, key, keys),
            None => id,
        }
    })
}

impl Session for Client {
    #[inline]
    fn get<R>(&mut self, key: &[u8], visit: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        let keys = self.connection.keys;
        let find = Find { documents: 1, limit: 1, ..RECORDS };
        let page = self.connection.find(&find, |filter| filter.key("_id", key, keys))?;
        let document = self.connection.documents(&page).next().transpose()?;
        let document = document.map(record).transpose()?;
        Ok(visit(document.map(|(_, value)| value)))
    }

    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let write = Write::Put { key, value };
        check(&write)?;
        self.apply(&[write])
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.apply(&[Write::Delete { key }])
    }

    fn scan(
        &mut self,
        range: Range<'_>,
        visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64> {
        if range.limit == 0 {
            return Ok(0);
        }
        let order = if range.direction == Direction::Forward { 1 } else { -1 };
        let sort = [("_id", order)];
        let documents = range.limit.min(PAGE) as i32;
        let find = Find { sort: &sort, documents, limit: range.limit, ..RECORDS };
        let keys = self.connection.keys;
        let page = self.connection.find(&find, |filter| add_range(filter, &range, keys))?;
        self.show(page, &find, visit)
    }

    /// Looks up all keys by one find. A repeated key is shown for each of its positions.
    fn multiget(
        &mut self,
        keys: &[&[u8]],
        mut visit: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        if keys.is_empty() {
            return Ok(());
        }
        let encoding = self.connection.keys;
        let mut indexes: HashMap<&[u8], Vec<usize>> = HashMap::with_capacity(keys.len());
        for (index, key) in keys.iter().enumerate() {
            indexes.entry(key).or_default().push(index);
        }
        // One more than can be found: so the first page is known to be the last.
        let find = Find { documents: keys.len() as i32 + 1, ..RECORDS };
        let page = self.connection.find(&find, |filter| {
            filter.document("_id", |id| {
                id.list("$in", keys.iter(), |list, index_in_list, key| {
                    list.key(index_in_list, key, encoding)
                })
            })
        })?;
        self.show(page, &find, |key, value| {
            for index in indexes.remove(key).unwrap_or_default() {
                visit(index, Some(value));
            }
            ControlFlow::Continue(())
        })?;
        indexes.into_values().flatten().for_each(|index| visit(index, None));
        Ok(())
    }

    /// Sends a command for each run of puts, and of deletes.
    fn write(&mut self, writes: &[Write<'_>]) -> Result<()> {
        writes.iter().try_for_each(check)?;
        for run in writes.chunk_by(|one, next| one.value().is_some() == next.value().is_some()) {
            let mut rest = run;
            while !rest.is_empty() {
                let mut bytes = 0;
                let fits = rest.iter().take(self.connection.writes_max).take_while(|write| {
                    bytes += write.key().len() + write.value().map_or(0, <[u8]>::len) + 100;
                    bytes <= COMMAND_BYTES
                });
                let (now, later) = rest.split_at(fits.count().max(1));
                self.apply(now)?;
                rest = later;
            }
        }
        Ok(())
    }
}
