//! One connection, and the protocol: `OP_MSG` for servers since 3.6, else `OP_QUERY` (commands and
//! finds), `OP_GET_MORE` and `OP_KILL_CURSORS`, which were removed in 5.1. The first reply decides;
//! it answers the one `OP_QUERY` that all servers accept.

mod find;

use crate::answer::{check_success, document, read_u32};
use crate::bytes::{Document, Keys};
use crate::elsewhere;
use crate::server::{Kind, PROGRAM};
use bson::RawDocument;
use kvdyno_engine::Result;
use kvdyno_engine::server::{Address, Answers, Wire, protocol_error};
use std::ops::Range;
use std::time::Duration;

pub(crate) use find::Find;

/// The database of the records, in a server that kvdyno started.
const DATABASE: &str = "kvdyno";

/// The target of a command.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target<'d> {
    /// The database that records are in.
    Ours,
    /// Another database, by its name.
    Of(&'d str),
}

/// The database for commands to the whole server.
pub(crate) const ADMIN: Target<'static> = Target::Of("admin");

/// The collection of the records.
pub(crate) const COLLECTION: &str = "kv";

/// The first version of the protocol between client and server that has `OP_MSG`: 3.6's.
const WIRE_OF_MESSAGES: i32 = 6;

const OP_REPLY: u32 = 1;
const OP_QUERY: u32 = 2004;
const OP_MSG: u32 = 2013;

/// Length, request number, number of the answered request, kind.
const HEADER_BYTES: usize = 16;

/// The longest message that a server takes or sends (`maxMessageSizeBytes`).
const MESSAGE_BYTES_MAX: usize = 48_000_000;

/// The bytes before the document of an `OP_MSG`: header, flags, and the kind of its section.
const MESSAGE_HEAD: usize = HEADER_BYTES + 5;

/// The bytes before the documents of an `OP_REPLY`: header, flags, a cursor, its offset, and a
/// count.
const REPLY_HEAD: usize = HEADER_BYTES + 20;

fn target_database<'d>(whose: Target<'d>, own_database: &'d str) -> &'d str {
    match whose {
        Target::Ours => own_database,
        Target::Of(database) => database,
    }
}

/// Writes numbers by their names.
pub(crate) fn numbers<'d>(doc: Document<'d>, fields: &[(&str, i32)]) -> Document<'d> {
    fields.iter().fold(doc, |doc, (name, number)| doc.int(name, *number))
}

/// A connection to a server.
#[derive(Debug)]
pub(crate) struct Connection {
    wire: Wire,
    number: u32,
    /// The database that records are in.
    database: String,
    /// Whether the server supports `OP_MSG`.
    pub(crate) messages: bool,
    /// Whether the server has commands that write, as since 2.6; else it takes
    /// [`crate::old_writes`].
    write_commands: bool,
    /// The form in which the server takes keys.
    pub(crate) keys: Keys,
    /// The most writes in one command.
    pub(crate) writes_max: usize,
}

impl Connection {
    /// Opens a connection for records.
    pub(crate) fn open(address: &Address) -> Result<Self> {
        let mut connection = Self::enter(address)?;
        connection.wire.expect_records();
        Ok(connection)
    }

    /// Opens a connection for the server's own information.
    pub(crate) fn enter(address: &Address) -> Result<Self> {
        let elsewhere = address.attached_server();
        let mut connection = Self {
            wire: Wire::open(address)?,
            database: elsewhere.map_or(DATABASE, |remote| &remote.database).to_owned(),
            number: 0,
            messages: false,
            write_commands: false,
            keys: match PROGRAM.find(None).map(Kind::from_program) {
                Ok(Kind::FerretDb) if elsewhere.is_none() => Keys::Hex,
                _ => Keys::Binary,
            },
            writes_max: 1000,
        };
        connection.wire.start_tls(address)?;
        let (wire, writes) = {
            let reply = connection.command(ADMIN, |doc| doc.int("isMaster", 1))?;
            (reply.get_i32("maxWireVersion"), reply.get_i32("maxWriteBatchSize"))
        };
        connection.write_commands = wire.is_ok();
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
        let body = self.ask(whose, fill)?;
        self.reply_to_command(body)
    }

    /// Sends a command that writes to our database, and waits for its answer.
    #[inline]
    pub(crate) fn write(
        &mut self,
        fill: impl for<'d> FnOnce(Document<'d>) -> Document<'d>,
    ) -> Result<&RawDocument> {
        if self.write_commands { self.command(Target::Ours, fill) } else { self.write_old(fill) }
    }

    /// Sends a command and waits for its answer. Returns where the answer lies.
    #[inline]
    pub(crate) fn ask(
        &mut self,
        whose: Target<'_>,
        fill: impl for<'d> FnOnce(Document<'d>) -> Document<'d>,
    ) -> Result<Range<usize>> {
        if self.messages {
            self.begin(OP_MSG);
            // No flags; one section, which is a document.
            self.wire.out.extend_from_slice(&[0; 5]);
            let document = fill(Document::begin(&mut self.wire.out));
            document.text("$db", target_database(whose, &self.database)).end();
        } else {
            self.begin(OP_QUERY);
            self.query(&format!("{}.$cmd", target_database(whose, &self.database)), -1);
            fill(Document::begin(&mut self.wire.out)).end();
        }
        self.send()?;
        self.answer()
    }

    /// Returns the answer to a command, which must be a success.
    #[inline]
    pub(crate) fn reply_to_command(&self, body: Range<usize>) -> Result<&RawDocument> {
        let reply = document(self.wire.bytes(body))?;
        check_success(reply)?;
        Ok(reply)
    }

    /// Waits no longer than `limit` for any answer from now on.
    pub(crate) fn patience(&self, limit: Duration) -> Result<()> {
        self.wire.patience(limit)
    }

    /// Sends a message that is not answered: its flags, a collection, and `rest`.
    pub(crate) fn send_unanswered(
        &mut self,
        kind: u32,
        flags: u32,
        collection: &str,
        rest: &[u8],
    ) -> Result<()> {
        self.begin(kind);
        self.wire.out.extend_from_slice(&flags.to_le_bytes());
        self.name(&self.namespace(collection));
        self.wire.out.extend_from_slice(rest);
        self.send()
    }

    /// Begins a message of this kind; its contents follow.
    #[inline]
    fn begin(&mut self, kind: u32) {
        self.number = self.number.wrapping_add(1);
        let out = &mut self.wire.out;
        out.clear();
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&self.number.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&kind.to_le_bytes());
    }

    /// Writes the head of an `OP_QUERY`: no flags, nothing skipped, and the number of documents.
    fn query(&mut self, namespace: &str, documents: i32) {
        self.wire.out.extend_from_slice(&[0; 4]);
        self.name(namespace);
        self.wire.out.extend_from_slice(&[0; 4]);
        self.wire.out.extend_from_slice(&documents.to_le_bytes());
    }

    /// Returns the names of database and collection, joined by a dot.
    pub(crate) fn namespace(&self, collection: &str) -> String {
        format!("{}.{collection}", self.database)
    }

    fn name(&mut self, name: &str) {
        self.wire.out.extend_from_slice(name.as_bytes());
        self.wire.out.push(0);
    }

    #[inline]
    fn send(&mut self) -> Result<()> {
        let length = (self.wire.out.len() as u32).to_le_bytes();
        self.wire.out[..4].copy_from_slice(&length);
        self.wire.send()
    }
}

impl Answers for Connection {
    /// Where the documents of a message lie.
    type Answer = Range<usize>;

    fn wire(&mut self) -> &mut Wire {
        &mut self.wire
    }

    fn value(answer: Range<usize>) -> Option<Range<usize>> {
        Some(answer)
    }

    #[inline]
    fn parse_answer(&mut self) -> Result<Option<Range<usize>>> {
        let (begin, message) = self.wire.unread_bytes();
        if message.len() < HEADER_BYTES {
            return Ok(None);
        }
        let length = read_u32(message, 0) as usize;
        self.wire.check_length(length, MESSAGE_BYTES_MAX)?;
        let Some(message) = message.get(..length) else { return Ok(None) };
        let head = match read_u32(message, 12) {
            OP_MSG if message.get(HEADER_BYTES + 4) == Some(&0) => MESSAGE_HEAD,
            OP_REPLY => REPLY_HEAD,
            kind => return Err(protocol_error(&format!("kind {kind}"))),
        };
        if read_u32(message, 8) != self.number || length < head {
            return Err(protocol_error("an answer to another request"));
        }
        self.wire.read_to(begin + length);
        Ok(Some(begin + head..begin + length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::rawdoc;
    use kvdyno_engine::server::Stream;
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;

    pub(super) fn connected(sent: &[u8]) -> (Connection, UnixStream) {
        let (client, mut server) = UnixStream::pair().unwrap();
        server.write_all(sent).unwrap();
        let connection = Connection {
            wire: Wire::new(Stream::Unix(client)),
            number: 7,
            database: DATABASE.to_owned(),
            messages: true,
            write_commands: true,
            keys: Keys::Binary,
            writes_max: 1,
        };
        (connection, server)
    }

    /// An `OP_MSG` that answers request 7.
    pub(super) fn message(document: &RawDocument) -> Vec<u8> {
        message_to(7, document)
    }

    /// An `OP_MSG` that answers a request.
    pub(super) fn message_to(request: u32, document: &RawDocument) -> Vec<u8> {
        let length = (MESSAGE_HEAD + document.as_bytes().len()) as u32;
        let head = [length, 1, request, OP_MSG, 0].map(u32::to_le_bytes);
        [&head.concat()[..], &[0], document.as_bytes()].concat()
    }

    #[test]
    fn an_answer_is_parsed_once_it_is_complete() {
        let reply = rawdoc! { "ok": 1.0 };
        let sent = message(&reply);
        let (mut connection, mut server) = connected(&sent[..sent.len() - 2]);
        connection.wire.receive().unwrap();
        assert_eq!(connection.parse_answer().unwrap(), None);
        server.write_all(&sent[sent.len() - 2..]).unwrap();
        server.write_all(&sent).unwrap();
        for _ in 0..2 {
            let body = connection.answer().unwrap();
            assert_eq!(connection.wire.bytes(body), reply.as_bytes());
        }
        connection.number = 8;
        server.write_all(&sent).unwrap();
        assert!(connection.answer().unwrap_err().message.contains("another request"));
    }

    #[test]
    fn a_long_greeting_is_refused() {
        let head = [1_u32 << 20, 1, 7, OP_MSG].map(u32::to_le_bytes).concat();
        let (mut connection, _server) = connected(&head);
        let error = connection.answer().unwrap_err();
        assert!(error.message.contains("expected at most 65536 bytes"), "{error}");
    }
}
