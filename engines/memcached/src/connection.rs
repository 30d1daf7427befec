//! One connection, and the protocol: memcached's meta commands. They are written into a buffer and
//! sent together; answers are shown where they were received.
//!
//! The binary protocol takes any bytes as a key, but is deprecated since 1.6, and would need SASL
//! for a password. A key of a meta command is text, so it is sent in base64 (flag `b`), 24 bytes
//! for 16. The server decodes it and stores its bytes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kvdyno_engine::server::{Address, Answers, Wire, protocol_error};
use kvdyno_engine::{Error, ErrorClass, Result};
use std::ops::Range;

/// The longest key whose base64 fits into the 250 bytes of a key in a command.
pub(crate) const KEY_BYTES_MAX: usize = 186;

const BASE64_BYTES_MAX: usize = 248;

/// The user that a port's password belongs to.
pub(crate) const USER: &str = "kvdyno";

/// The longest value, the most of `-I`.
const VALUE_BYTES_MAX: usize = 1 << 30;

/// The longest line: a few words.
const LINE_BYTES_MAX: usize = 64 << 10;

/// A connection to a server.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) wire: Wire,
}

/// One answer. Ranges are positions in the receive buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// A value.
    Value(Range<usize>),
    /// There is no such record.
    Nothing,
    /// Done.
    Done,
    /// The end of quiet commands or of a list.
    End,
    /// One of the server's statistics: its name, and its value.
    Statistic(Range<usize>, Range<usize>),
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
        let mut connection = Self { wire: Wire::open(address)? };
        if let Address::Tcp { secret, .. } = address {
            let words = format!("{USER} {secret}");
            connection.line(&format!("set auth 0 0 {}\r\n{words}", words.len()));
            connection.ask()?;
        }
        Ok(connection)
    }

    /// Queues a line.
    pub(crate) fn line(&mut self, line: &str) {
        self.wire.out.extend_from_slice(line.as_bytes());
        self.wire.out.extend_from_slice(b"\r\n");
    }

    /// Queues the lookup of a key.
    #[inline]
    pub(crate) fn get(&mut self, key: &[u8]) -> Result<()> {
        self.head(b"mg ", key)?;
        self.wire.out.extend_from_slice(b" b v\r\n");
        Ok(())
    }

    /// Queues the write of a value, which lives until `expiry` if there is one. With `quietly` only
    /// a failure is answered.
    #[inline]
    pub(crate) fn set(
        &mut self,
        key: &[u8],
        value: &[u8],
        expiry: Option<u64>,
        quietly: bool,
    ) -> Result<()> {
        self.head(b"ms ", key)?;
        self.wire.out.push(b' ');
        self.wire.decimal(value.len());
        if let Some(expiry) = expiry {
            self.wire.out.extend_from_slice(b" T");
            self.wire.decimal(expiry as usize);
        }
        self.wire.out.extend_from_slice(if quietly { b" b q\r\n" } else { b" b\r\n" });
        self.wire.out.extend_from_slice(value);
        self.wire.out.extend_from_slice(b"\r\n");
        Ok(())
    }

    /// Queues the removal of a record.
    pub(crate) fn delete(&mut self, key: &[u8], quietly: bool) -> Result<()> {
        self.head(b"md ", key)?;
        self.wire.out.extend_from_slice(if quietly { b" b q\r\n" } else { b" b\r\n" });
        Ok(())
    }

    /// Queues the head of a command. Refuses a key that the server would refuse: the server would
    /// answer it with more than one line, and take the value behind it for a command.
    #[inline]
    fn head(&mut self, command: &[u8], key: &[u8]) -> Result<()> {
        let mut text = [0; BASE64_BYTES_MAX];
        let encoded = STANDARD.encode_slice(key, &mut text).unwrap_or(0);
        if encoded == 0 {
            let bytes = key.len();
            return Err(Error::invalid(format!(
                "expected a key of 1 to {KEY_BYTES_MAX} bytes, found {bytes}"
            )));
        }
        self.wire.out.extend_from_slice(command);
        self.wire.out.extend_from_slice(&text[..encoded]);
        Ok(())
    }

    /// Sends the collected commands and waits for the first answer.
    #[inline]
    pub(crate) fn ask(&mut self) -> Result<Answer> {
        self.wire.send()?;
        self.answer()
    }

    pub(crate) fn bytes(&self, range: Range<usize>) -> &[u8] {
        self.wire.bytes(range)
    }
}

impl Answers for Connection {
    type Answer = Answer;

    fn wire(&mut self) -> &mut Wire {
        &mut self.wire
    }

    fn value(answer: Answer) -> Option<Range<usize>> {
        if let Answer::Value(range) = answer { Some(range) } else { None }
    }

    #[inline]
    fn parse_answer(&mut self) -> Result<Option<Answer>> {
        let (begin, unread) = self.wire.unread_bytes();
        let filled = begin + unread.len();
        let Some(end) = unread.iter().position(|byte| *byte == b'\n') else {
            self.wire.check_length(unread.len(), LINE_BYTES_MAX)?;
            return Ok(None);
        };
        let (start, after) = (begin, begin + end + 1);
        let line = unread[..end].strip_suffix(b"\r").unwrap_or(&unread[..end]);
        let answer = match line {
            [b'V', b'A', b' ', length @ ..] => {
                let length = number(length)?;
                self.wire.check_length(length, VALUE_BYTES_MAX)?;
                if filled < after + length + 2 {
                    return Ok(None);
                }
                self.wire.read_to(after + length + 2);
                return Ok(Some(Answer::Value(after..after + length)));
            }
            b"HD" | b"STORED" => Answer::Done,
            b"EN" | b"NF" => Answer::Nothing,
            b"MN" | b"END" => Answer::End,
            [b'S', b'T', b'A', b'T', b' ', statistic @ ..] => {
                let name = statistic.iter().position(|byte| *byte == b' ');
                let name = start + 5..start + 5 + name.unwrap_or(statistic.len());
                let value = (name.end + 1).min(start + line.len())..start + line.len();
                Answer::Statistic(name, value)
            }
            words => {
                let error = server_error(words);
                self.wire.read_to(after);
                return Err(error);
            }
        };
        self.wire.read_to(after);
        Ok(Some(answer))
    }
}

/// Returns the number that a line begins with; flags may follow.
#[inline]
fn number(digits: &[u8]) -> Result<usize> {
    let mut number = 0_usize;
    for digit in digits.iter().take_while(|byte| **byte != b' ') {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 || number > usize::MAX / 16 {
            return Err(protocol_error("invalid number"));
        }
        number = number * 10 + usize::from(digit);
    }
    Ok(number)
}

/// Returns the error for a server's error message.
fn server_error(words: &[u8]) -> Error {
    let words = String::from_utf8_lossy(words).into_owned();
    let class = match words.as_str() {
        "SERVER_ERROR object too large for cache" => ErrorClass::Invalid,
        _ if words.starts_with("SERVER_ERROR out of memory") => ErrorClass::Memory,
        _ if words.starts_with("SERVER_ERROR Out of memory") => ErrorClass::Memory,
        _ => ErrorClass::Other,
    };
    Error::new(class, words)
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

    #[test]
    fn answers_of_every_kind_are_read_one_after_the_other() {
        let sent = b"HD\r\nVA 3\r\na\r\n\r\nEN\r\nVA 0 b\r\n\r\nSTAT pid 42\r\nEND\r\n\
            SERVER_ERROR out of memory storing object\r\nVA 5\r\nab";
        let (mut connection, mut server) = connected(sent);
        assert_eq!(connection.answer().unwrap(), Answer::Done);
        let Answer::Value(range) = connection.answer().unwrap() else { panic!("no value") };
        assert_eq!(connection.bytes(range), b"a\r\n");
        assert_eq!(connection.answer().unwrap(), Answer::Nothing);
        assert!(matches!(connection.answer().unwrap(), Answer::Value(range) if range.is_empty()));
        let Answer::Statistic(name, value) = connection.answer().unwrap() else { panic!("none") };
        assert_eq!((connection.bytes(name), connection.bytes(value)), (&b"pid"[..], &b"42"[..]));
        assert_eq!(connection.answer().unwrap(), Answer::End);
        assert_eq!(connection.answer().unwrap_err().class, ErrorClass::Memory);
        assert_eq!(connection.parse_answer().unwrap(), None, "half of a value");
        server.write_all(b"cde\r\n").unwrap();
        let Answer::Value(range) = connection.answer().unwrap() else { panic!("no value") };
        assert_eq!(connection.bytes(range), b"abcde");
        drop(server);
        assert_eq!(connection.answer().unwrap_err().class, ErrorClass::Unavailable);
        assert!(connection.wire.is_gone());
    }

    #[test]
    fn commands_are_written_with_their_keys_as_text() {
        let (mut connection, _server) = connected(b"");
        connection.get(b"\0\xff ").unwrap();
        connection.set(b"a", b"\r\n", None, true).unwrap();
        connection.delete(b"a", false).unwrap();
        assert_eq!(connection.wire.out, b"mg AP8g b v\r\nms YQ== 2 b q\r\n\r\n\r\nmd YQ== b\r\n");
        connection.wire.out.clear();
        connection.set(b"a", b"v", Some(60), false).unwrap();
        assert_eq!(connection.wire.out, b"ms YQ== 1 T60 b\r\nv\r\n");
        let written = connection.wire.out.len();
        for wrong in [&[][..], &[7; KEY_BYTES_MAX + 1]] {
            assert_eq!(connection.get(wrong).unwrap_err().class, ErrorClass::Invalid);
        }
        assert_eq!(connection.wire.out.len(), written, "nothing of what is refused");
        connection.get(&[7; KEY_BYTES_MAX]).unwrap();
    }
}
