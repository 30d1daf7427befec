//! One connection to one server, and the protocol: messages are written into a buffer and sent
//! together, and answered in their order.
//!
//! All numbers are big-endian. Before each message come version, kind, and length (1, 1, 6 bytes).
//! A message on a record has a header of 22 bytes, its fields (namespace, digest), and its
//! operations.

use kvdyno_engine::server::{Address, Answers, Wire, protocol_error};
use kvdyno_engine::{Error, ErrorClass, Result};
use ripemd::{Digest as _, Ripemd160};
use std::ops::Range;

/// The namespace that records are in.
pub(crate) const NAMESPACE: &str = "kv";

/// The bin that has a record's value: a record has named bins.
const BIN: &[u8] = b"v";

/// The hash that identifies a record; the key itself is never sent.
pub(crate) type Digest = [u8; 20];

const VERSION: u8 = 2;
const INFO: u8 = 1;
const MESSAGE: u8 = 3;

/// The longest message that a server takes or sends (`PROTO_SIZE_MAX`).
const MESSAGE_BYTES_MAX: usize = 128 << 20;

/// Bytes before each message.
const AROUND: usize = 8;

/// Bytes of a message's header.
const HEADER: usize = 22;

/// The header's three bytes of flags, for a read of all bins.
const READ_ALL: [u8; 3] = [1 | 2, 0, 0];
/// The flags for a write, which replaces the whole record, other bins as well.
const WRITE: [u8; 3] = [0, 1, 16];

const FIELD_NAMESPACE: u8 = 0;
const FIELD_DIGEST: u8 = 4;
const OP_WRITE: u8 = 2;
const BLOB: u8 = 4;

/// The time after which the server gives up an operation. Its own default of a second is less than
/// some drives take.
const PATIENCE_MS: u32 = 60_000;

const OK: u8 = 0;
const NOT_FOUND: u8 = 2;

/// A connection to a server.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) wire: Wire,
}

/// Returns the digest of a key: the hash of an empty set name, the kind of key, and the key.
#[inline]
pub(crate) fn digest(key: &[u8]) -> Digest {
    Ripemd160::new().chain_update([BLOB]).chain_update(key).finalize().into()
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
        Ok(Self { wire: Wire::open(address)? })
    }

    /// Queues the read of a record.
    #[inline]
    pub(crate) fn get(&mut self, digest: &Digest) {
        self.message(READ_ALL, digest, None);
    }

    /// Queues the write of a record.
    #[inline]
    pub(crate) fn put(&mut self, digest: &Digest, value: &[u8]) {
        self.message(WRITE, digest, Some(value));
    }

    #[inline]
    fn message(&mut self, flags: [u8; 3], digest: &Digest, value: Option<&[u8]>) {
        let fields = 5 + NAMESPACE.len() + 5 + digest.len();
        let operations = value.map_or(0, |value| 8 + BIN.len() + value.len());
        self.write_header(MESSAGE, HEADER + fields + operations);
        let out = &mut self.wire.out;
        out.push(HEADER as u8);
        out.extend_from_slice(&flags);
        // No transaction fields; result, generation and expiry are used in answers only.
        out.extend_from_slice(&[0; 10]);
        out.extend_from_slice(&PATIENCE_MS.to_be_bytes());
        out.extend_from_slice(&2_u16.to_be_bytes());
        out.extend_from_slice(&u16::from(value.is_some()).to_be_bytes());
        let mut field = |kind: u8, bytes: &[u8]| {
            out.extend_from_slice(&(1 + bytes.len() as u32).to_be_bytes());
            out.push(kind);
            out.extend_from_slice(bytes);
        };
        field(FIELD_NAMESPACE, NAMESPACE.as_bytes());
        field(FIELD_DIGEST, digest);
        if let Some(value) = value {
            out.extend_from_slice(&((4 + BIN.len() + value.len()) as u32).to_be_bytes());
            out.extend_from_slice(&[OP_WRITE, BLOB, 0, BIN.len() as u8]);
            out.extend_from_slice(BIN);
            out.extend_from_slice(value);
        }
    }

    #[inline]
    fn write_header(&mut self, kind: u8, bytes: usize) {
        let head = u64::from(VERSION) << 56 | u64::from(kind) << 48 | bytes as u64;
        self.wire.out.extend_from_slice(&head.to_be_bytes());
    }

    /// Returns the server's information by name.
    pub(crate) fn info(&mut self, name: &str) -> Result<String> {
        self.write_header(INFO, name.len() + 1);
        self.wire.out.extend_from_slice(name.as_bytes());
        self.wire.out.push(b'\n');
        self.wire.send()?;
        let body = self.wait_for(|connection| connection.body(INFO))?;
        let reply = String::from_utf8_lossy(self.wire.bytes(body)).into_owned();
        self.wire.discard_parsed();
        let reply = reply.split_once('\t').map(|(_, reply)| reply.trim_end());
        match reply {
            Some(words) if words.starts_with("ERROR") || words.starts_with("FAIL") => {
                Err(Error::new(ErrorClass::Other, format!("{name}: {words}")))
            }
            Some(words) => Ok(words.to_owned()),
            None => Err(protocol_error(name)),
        }
    }

    /// Sends the collected commands and waits for the first answer.
    #[inline]
    pub(crate) fn ask(&mut self) -> Result<Option<Range<usize>>> {
        self.wire.send()?;
        self.answer()
    }

    pub(crate) fn bytes(&self, range: Range<usize>) -> &[u8] {
        self.wire.bytes(range)
    }

    /// Returns where the next message's body lies, once it is complete.
    #[inline]
    fn body(&mut self, kind: u8) -> Result<Option<Range<usize>>> {
        let (begin, unread) = self.wire.unread_bytes();
        let Some(head) = unread.first_chunk::<AROUND>() else { return Ok(None) };
        let head = u64::from_be_bytes(*head);
        let length = (head & 0xffff_ffff_ffff) as usize;
        if (head >> 56) as u8 != VERSION || (head >> 48) as u8 != kind {
            return Err(protocol_error(&format!("it begins with {head:016x}")));
        }
        self.wire.check_length(length, MESSAGE_BYTES_MAX)?;
        let body = begin + AROUND..begin + AROUND + length;
        if unread.len() < AROUND + length {
            return Ok(None);
        }
        self.wire.read_to(body.end);
        Ok(Some(body))
    }
}

impl Answers for Connection {
    type Answer = Option<Range<usize>>;

    fn wire(&mut self) -> &mut Wire {
        &mut self.wire
    }

    fn value(answer: Self::Answer) -> Option<Range<usize>> {
        answer
    }

    #[inline]
    fn parse_answer(&mut self) -> Result<Option<Self::Answer>> {
        let Some(body) = self.body(MESSAGE)? else { return Ok(None) };
        let bytes = self.wire.bytes(body.clone());
        let value = value_range(bytes)?;
        Ok(Some(value.map(|value| body.start + value.start..body.start + value.end)))
    }
}

/// Returns where in an answer its value lies; `None`: there is none.
#[inline]
fn value_range(answer: &[u8]) -> Result<Option<Range<usize>>> {
    let short = || protocol_error("a truncated message");
    let number = |offset: usize| {
        let bytes = answer.get(offset..).and_then(|rest| rest.first_chunk());
        bytes.map(|bytes| u32::from_be_bytes(*bytes) as usize).ok_or_else(short)
    };
    let header = answer.first_chunk::<HEADER>().ok_or_else(short)?;
    match header[5] {
        OK => {}
        NOT_FOUND => return Ok(None),
        code => return Err(result_code_error(code)),
    }
    let fields = u16::from_be_bytes([header[18], header[19]]);
    let operations = u16::from_be_bytes([header[20], header[21]]);
    let mut offset = usize::from(header[0]);
    for _ in 0..fields {
        offset += 4 + number(offset)?;
    }
    if operations == 0 {
        return Ok(None);
    }
    let end = offset + 4 + number(offset)?;
    let name = *answer.get(offset + 7).ok_or_else(short)?;
    let start = offset + 8 + usize::from(name);
    if start > end || end > answer.len() {
        return Err(short());
    }
    Ok(Some(start..end))
}

/// Returns the error of a result code, as Aerospike's documentation explains it.
fn result_code_error(code: u8) -> Error {
    let (class, words) = match code {
        4 => (ErrorClass::Invalid, "parameter error"),
        8 => (ErrorClass::Full, "out of space: writes are stopped, see `filesize`"),
        9 => (ErrorClass::Unavailable, "timeout"),
        11 => (ErrorClass::Unavailable, "partition unavailable"),
        13 => (ErrorClass::Invalid, "record too big"),
        14 => (ErrorClass::Conflict, "key busy"),
        18 => (ErrorClass::Conflict, "device overload: see `max_write_cache`"),
        22 => (ErrorClass::Other, "forbidden"),
        _ => (ErrorClass::Other, "see its result codes"),
    };
    Error::new(class, format!("result {code}: {words}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_engine::server::Stream;
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;

    fn connected(sent: &[u8]) -> (Connection, UnixStream) {
        let (client, mut server) = UnixStream::pair().unwrap();
        server.write_all(sent).unwrap();
        let mut wire = Wire::new(Stream::Unix(client));
        wire.expect_records();
        (Connection { wire }, server)
    }

    /// Returns an answer with this result, a field that is skipped, and one bin if there is a
    /// value.
    fn answer(result: u8, value: Option<&[u8]>) -> Vec<u8> {
        let mut body = vec![22, 0, 0, 0, 0, result];
        body.extend([0; 12]);
        body.extend([0, 1, 0, u8::from(value.is_some())]);
        body.extend([0, 0, 0, 2, 7, 9]);
        if let Some(value) = value {
            body.extend((4 + 1 + value.len() as u32).to_be_bytes());
            body.extend([1, 4, 0, 1, b'v']);
            body.extend(value);
        }
        let mut message = vec![2, 3, 0, 0];
        message.extend((body.len() as u32).to_be_bytes());
        message.extend(body);
        message
    }

    /// The expected digest is the RIPEMD-160 of the byte 4 and `abc`, by `openssl rmd160`.
    #[test]
    fn a_key_is_known_by_its_digest() {
        let hex: String = digest(b"abc").iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, DIGEST_OF_ABC);
    }

    const DIGEST_OF_ABC: &str = "5cef8e89cccdba3470c509b720315ae0fa304961";

    #[test]
    fn answers_are_read_one_after_the_other() {
        let mut sent = answer(0, Some(b"one"));
        sent.extend(answer(2, None));
        sent.extend(answer(0, None));
        sent.extend(answer(8, None));
        sent.extend(answer(0, Some(b"")));
        let more = answer(0, Some(b"half"));
        sent.extend(&more[..more.len() - 2]);
        let (mut connection, mut server) = connected(&sent);
        let value = connection.answer().unwrap().unwrap();
        assert_eq!(connection.bytes(value), b"one");
        assert_eq!(connection.answer().unwrap(), None);
        assert_eq!(connection.answer().unwrap(), None);
        assert_eq!(connection.answer().unwrap_err().class, ErrorClass::Full);
        assert!(connection.answer().unwrap().unwrap().is_empty());
        assert_eq!(connection.parse_answer().unwrap(), None, "half of an answer");
        server.write_all(&more[more.len() - 2..]).unwrap();
        let value = connection.answer().unwrap().unwrap();
        assert_eq!(connection.bytes(value), b"half");
        server.write_all(b"HTTP/1.1 400").unwrap();
        assert!(connection.answer().is_err());
    }

    #[test]
    fn a_message_is_as_long_as_it_says() {
        let (mut connection, _server) = connected(b"");
        let mut begin = 0;
        for value in [None, Some(&b""[..]), Some(b"value")] {
            match value {
                None => connection.get(&[7; 20]),
                Some(value) => connection.put(&[7; 20], value),
            }
            let message = &connection.wire.out[begin..];
            let length = u64::from_be_bytes(*message.first_chunk().unwrap()) & 0xffff_ffff;
            assert_eq!(message.len(), AROUND + length as usize);
            assert_eq!(message[AROUND + 18..AROUND + HEADER], [0, 2, 0, value.is_some().into()]);
            begin = connection.wire.out.len();
        }
    }

    #[test]
    fn what_a_server_says_of_itself_is_read() {
        let sent = b"build\t8.0.0.15\n";
        let mut message = vec![2, 1, 0, 0, 0, 0, 0, sent.len() as u8];
        message.extend(sent);
        let (mut connection, _server) = connected(&message);
        assert_eq!(connection.info("build").unwrap(), "8.0.0.15");
        assert_eq!(connection.wire.out, b"", "it was sent");
    }
}
