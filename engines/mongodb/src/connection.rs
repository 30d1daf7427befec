//! One connection, and the protocol. Servers since 3.6 are spoken to in `OP_MSG`; older ones, which
//! do not know that, in `OP_QUERY` (commands and finds), `OP_GET_MORE` and `OP_KILL_CURSORS`, which
//! are gone since 5.1. Which of the two is what the server says of itself first decides, asked in
//! the one `OP_QUERY` that all of them take.

use crate::answer::{Documents, Page, document, done, page, refused, word};
use crate::bytes::{Document, Keys};
use crate::elsewhere;
use crate::server::{Kind, program};
use bson::RawDocument;
use kvdyno_engine::server::{Address, GREETING_BYTES_MAX, Stream, nonsense, too_long};
use kvdyno_engine::{Error, ErrorClass, Result};
use std::io::{Read as _, Write as _};
use std::ops::Range;
use std::time::Duration;

/// Bytes of one receive call.
const READ_BYTES: usize = 64 << 10;

/// The database that records are in, of a server of its own.
const DATABASE: &str = "kvdyno";

/// The target of a command.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target<'d> {
    /// The database that records are in.
    Ours,
    /// Another one, by its name.
    Of(&'d str),
}

/// The whole server.
pub(crate) const ADMIN: Target<'static> = Target::Of("admin");

/// The collection.
pub(crate) const COLLECTION: &str = "kv";

/// The first version of the protocol between client and server that has `OP_MSG`: 3.6's.
const WIRE_OF_MESSAGES: i32 = 6;

const OP_REPLY: u32 = 1;
const OP_QUERY: u32 = 2004;
const OP_GET_MORE: u32 = 2005;
const OP_KILL_CURSORS: u32 = 2007;
const OP_MSG: u32 = 2013;

/// Length, number, number of what is answered, kind.
const HEADER_BYTES: usize = 16;

/// The longest message that a server takes or sends (`maxMessageSizeBytes`).
const MESSAGE_BYTES_MAX: usize = 48_000_000;

/// Before the document of an `OP_MSG`: flags, and the kind of its section.
pub(crate) const MESSAGE_HEAD: usize = HEADER_BYTES + 5;

/// In an `OP_REPLY`: there is no such cursor, and the query failed.
const FAILURES: u32 = 0b11;

fn database_of<'d>(whose: Target<'d>, own_database: &'d str) -> &'d str {
    match whose {
        Target::Ours => own_database,
        Target::Of(database) => database,
    }
}

/// What is looked for, beside a filter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Find<'f> {
    pub(crate) collection: &'f str,
    /// By which fields, 1: from the least on, -1: from the greatest on.
    pub(crate) sort: &'f [(&'f str, i32)],
    /// Which fields, 1: this one, 0: not this one. None: all.
    pub(crate) fields: &'f [(&'f str, i32)],
    /// Documents of a page, at most.
    pub(crate) documents: i32,
    /// There is one page.
    pub(crate) alone: bool,
}

/// Numbers by their names in a document of their own, where there are any.
fn fill<'d>(doc: Document<'d>, name: &str, fields: &[(&str, i32)]) -> Document<'d> {
    if fields.is_empty() { doc } else { doc.inner(name, |inner| numbers(inner, fields)) }
}

/// Numbers by their names.
pub(crate) fn numbers<'d>(doc: Document<'d>, fields: &[(&str, i32)]) -> Document<'d> {
    fields.iter().fold(doc, |doc, (name, number)| doc.int(name, *number))
}

/// A connection to a server.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: Stream,
    out: Vec<u8>,
    received: Vec<u8>,
    /// An answer is no longer: a greeting, or a message with records.
    answer_bytes_max: usize,
    number: u32,
    /// The database that records are in.
    database: String,
    /// It speaks `OP_MSG`.
    pub(crate) messages: bool,
    /// How it takes keys.
    pub(crate) keys: Keys,
    /// Writes that one command may have.
    pub(crate) writes_max: usize,
}

impl Connection {
    /// For records.
    pub(crate) fn open(address: &Address) -> Result<Self> {
        let mut connection = Self::enter(address)?;
        connection.answer_bytes_max = MESSAGE_BYTES_MAX;
        Ok(connection)
    }

    /// For the server's own information.
    pub(crate) fn enter(address: &Address) -> Result<Self> {
        let (stream, elsewhere) = (address.connect()?, address.elsewhere());
        let mut connection = Self {
            stream: stream.hidden(address)?.unwrap_or(stream),
            database: elsewhere.map_or(DATABASE, |remote| &remote.database).to_owned(),
            out: Vec::with_capacity(READ_BYTES),
            received: Vec::with_capacity(READ_BYTES),
            answer_bytes_max: GREETING_BYTES_MAX,
            number: 0,
            messages: false,
            keys: match program(None).map(Kind::from_program) {
                Ok(Kind::FerretDb) if elsewhere.is_none() => Keys::Hex,
                _ => Keys::Binary,
            },
            writes_max: 1000,
        };
        let (wire, writes) = {
            let reply = connection.command(ADMIN, |doc| doc.int("isMaster", 1))?;
            (reply.get_i32("maxWireVersion"), reply.get_i32("maxWriteBatchSize"))
        };
        connection.messages = wire.is_ok_and(|version| version >= WIRE_OF_MESSAGES);
        if let Ok(writes) = writes {
            connection.writes_max = usize::try_from(writes).unwrap_or(1).max(1);
        }
        if let Some(remote) = elsewhere {
            elsewhere::enter(&mut connection, remote)?;
        }
        Ok(connection)
    }

    /// Sends a command and waits for its answer, which must be a success.
    #[inline]
    pub(crate) fn command(
        &mut self,
        whose: Target<'_>,
        fill: impl for<'d> FnOnce(Document<'d>) -> Document<'d>,
    ) -> Result<&RawDocument> {
        if self.messages {
            self.begin(OP_MSG);
            // No flags; one section, which is a document.
            self.out.extend_from_slice(&[0; 5]);
            let document = fill(Document::begin(&mut self.out));
            document.text("$db", database_of(whose, &self.database)).end();
        } else {
            self.begin(OP_QUERY);
            self.query(&format!("{}.$cmd", database_of(whose, &self.database)), -1);
            fill(Document::begin(&mut self.out)).end();
        }
        self.send()?;
        let body = self.answer()?;
        let reply = document(&self.received[body])?;
        done(reply)?;
        Ok(reply)
    }

    /// The first page of a find.
    #[inline]
    pub(crate) fn find(
        &mut self,
        find: &Find<'_>,
        filter: impl for<'d> FnOnce(Document<'d>) -> Document<'d>,
    ) -> Result<Page> {
        if self.messages {
            let reply = self.command(Target::Ours, |doc| {
                let doc = doc.text("find", find.collection).inner("filter", filter);
                let doc = fill(doc, "sort", find.sort);
                let doc = fill(doc, "projection", find.fields);
                if find.alone {
                    doc.int("limit", find.documents).flag("singleBatch", true)
                } else {
                    doc.int("batchSize", find.documents)
                }
            });
            return page(reply?, "firstBatch");
        }
        self.begin(OP_QUERY);
        // Below zero: that is all, and there is to be no cursor.
        let documents = if find.alone { -find.documents } else { find.documents };
        self.query(&self.namespace(find.collection), documents);
        let query = Document::begin(&mut self.out);
        if find.sort.is_empty() {
            filter(query).end();
        } else {
            fill(query.inner("$query", filter), "$orderby", find.sort).end();
        }
        if !find.fields.is_empty() {
            numbers(Document::begin(&mut self.out), find.fields).end();
        }
        self.send()?;
        self.reply()
    }

    /// The next page of a cursor.
    pub(crate) fn more(&mut self, cursor: i64, find: &Find<'_>, documents: i32) -> Result<Page> {
        if self.messages {
            let reply = self.command(Target::Ours, |doc| {
                let doc = doc.long("getMore", cursor).text("collection", find.collection);
                doc.int("batchSize", documents)
            });
            return page(reply?, "nextBatch");
        }
        self.begin(OP_GET_MORE);
        self.out.extend_from_slice(&[0; 4]);
        self.name(&self.namespace(find.collection));
        self.out.extend_from_slice(&documents.to_le_bytes());
        self.out.extend_from_slice(&cursor.to_le_bytes());
        self.send()?;
        self.reply()
    }

    /// Leaves a cursor that was not read to its end.
    pub(crate) fn leave(&mut self, cursor: i64, find: &Find<'_>) -> Result<()> {
        if self.messages {
            let killed = self.command(Target::Ours, |doc| {
                let doc = doc.text("killCursors", find.collection);
                doc.list("cursors", std::iter::once(()), |list, index, ()| list.long(index, cursor))
            });
            return killed.map(drop);
        }
        self.begin(OP_KILL_CURSORS);
        self.out.extend_from_slice(&[0; 4]);
        self.out.extend_from_slice(&1_u32.to_le_bytes());
        self.out.extend_from_slice(&cursor.to_le_bytes());
        // It is not answered.
        self.send()
    }

    /// Waits no longer than that for any answer from now on.
    pub(crate) fn patience(&self, limit: Duration) -> Result<()> {
        Ok(self.stream.patience(limit)?)
    }

    /// The documents of a page.
    #[inline]
    pub(crate) fn documents(&self, page: &Page) -> Documents<'_> {
        Documents { rest: &self.received[page.documents.clone()], listed: page.listed }
    }

    /// A message of this kind; what it says is to follow.
    #[inline]
    fn begin(&mut self, kind: u32) {
        self.number = self.number.wrapping_add(1);
        self.out.clear();
        self.out.extend_from_slice(&[0; 4]);
        self.out.extend_from_slice(&self.number.to_le_bytes());
        self.out.extend_from_slice(&[0; 4]);
        self.out.extend_from_slice(&kind.to_le_bytes());
    }

    /// The head of an `OP_QUERY`: no flags, nothing left out, so many documents.
    fn query(&mut self, namespace: &str, documents: i32) {
        self.out.extend_from_slice(&[0; 4]);
        self.name(namespace);
        self.out.extend_from_slice(&[0; 4]);
        self.out.extend_from_slice(&documents.to_le_bytes());
    }

    /// Database and collection together.
    fn namespace(&self, collection: &str) -> String {
        format!("{}.{collection}", self.database)
    }

    fn name(&mut self, name: &str) {
        self.out.extend_from_slice(name.as_bytes());
        self.out.push(0);
    }

    #[inline]
    fn send(&mut self) -> Result<()> {
        let length = (self.out.len() as u32).to_le_bytes();
        self.out[..4].copy_from_slice(&length);
        self.stream.write_all(&self.out)?;
        Ok(self.stream.flush()?)
    }

    /// Waits for an answer: where its documents lie in what was received.
    #[inline]
    fn answer(&mut self) -> Result<Range<usize>> {
        self.receive()?;
        let word = |offset| word(&self.received, offset);
        // Flags and a section; flags, a cursor, a place in it and a count.
        let head = match word(12) {
            OP_MSG if self.received.get(HEADER_BYTES + 4) == Some(&0) => MESSAGE_HEAD,
            OP_REPLY => HEADER_BYTES + 20,
            kind => return Err(nonsense(&format!("kind {kind}"))),
        };
        if word(8) != self.number || self.received.len() < head {
            return Err(nonsense("an answer to another request"));
        }
        Ok(head..self.received.len())
    }

    /// An answer to a find of its own message.
    fn reply(&mut self) -> Result<Page> {
        let documents = self.answer()?;
        if word(&self.received, HEADER_BYTES) & FAILURES != 0 {
            let words = document(&self.received[documents]);
            return Err(words.map_or_else(|error| error, refused));
        }
        let cursor = self.received[HEADER_BYTES + 4..].first_chunk().copied().unwrap_or_default();
        Ok(Page { cursor: i64::from_le_bytes(cursor), documents, listed: false })
    }

    /// Receives one message as a whole, in memory that grows with what has arrived.
    #[inline]
    fn receive(&mut self) -> Result<()> {
        self.received.resize(READ_BYTES, 0);
        let (mut filled, mut length) = (0, HEADER_BYTES);
        while filled < length {
            if filled == self.received.len() {
                self.received.resize(length.min(2 * filled), 0);
            }
            let read = self.stream.read(&mut self.received[filled..])?;
            if read == 0 {
                return Err(Error::new(
                    ErrorClass::Unavailable,
                    "the server closed the connection",
                ));
            }
            filled += read;
            if filled >= HEADER_BYTES && length == HEADER_BYTES {
                length = word(&self.received, 0) as usize;
                if length > self.answer_bytes_max {
                    return Err(too_long(length, self.answer_bytes_max));
                }
            }
        }
        self.received.truncate(length);
        Ok(())
    }
}
