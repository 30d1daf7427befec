//! One connection, and the protocol (RESP2): commands are written into a buffer and sent together,
//! answers are shown where they were received.

use kvdyno_engine::server::{Address, Answers, Wire, protocol_error};
use kvdyno_engine::{Error, ErrorClass, Result};
use std::io::Write as _;
use std::ops::Range;

/// The longest value, `proto-max-bulk-len`.
const VALUE_BYTES_MAX: usize = 512 << 20;

/// The longest line: a type and a number, or a few words.
const LINE_BYTES_MAX: usize = 64 << 10;

/// A connection to a server.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) wire: Wire,
}

/// One answer. Ranges are positions in the receive buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// A line, such as `OK`.
    Line(Range<usize>),
    /// A whole number.
    Number(i64),
    /// A value.
    Bytes(Range<usize>),
    /// No value.
    Nothing,
    /// This many answers follow.
    Several(usize),
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
        connection.wire.start_tls(address)?;
        let (password, elsewhere) = (address.password().as_bytes(), address.attached_server());
        let words = [b"AUTH", elsewhere.map_or("", |remote| &remote.user).as_bytes(), password];
        // Without a name the user is the default one, which may need no password.
        let words: Vec<&[u8]> = words.into_iter().filter(|word| !word.is_empty()).collect();
        if !password.is_empty() {
            connection.authenticate(&words)?;
        }
        if let Some(remote) = elsewhere {
            let number = if remote.entrance.is_empty() { "0" } else { &remote.entrance };
            connection.ask(&[b"SELECT", number.as_bytes()])?;
        }
        Ok(connection)
    }

    /// Authenticates. Only the first word of a refusal is shown: a server that does not know `AUTH`
    /// repeats the password in its error message. An answer other than an error refuses nothing.
    fn authenticate(&mut self, words: &[&[u8]]) -> Result<()> {
        self.command(words);
        self.wire.send()?;
        while self.wire.unread_bytes().1.is_empty() {
            self.wire.receive()?;
        }
        let refuses = self.wire.unread_bytes().1.starts_with(b"-");
        match self.answer() {
            Ok(_) => Ok(()),
            Err(error) if refuses && !self.wire.is_gone() => Err(shorten_error(&error)),
            Err(error) => Err(error),
        }
    }

    /// Queues a command.
    #[inline]
    pub(crate) fn command(&mut self, words: &[&[u8]]) {
        self.header(b'*', words.len());
        for word in words {
            self.header(b'$', word.len());
            self.wire.out.extend_from_slice(word);
            self.wire.out.extend_from_slice(b"\r\n");
        }
    }

    /// Queues a command that stores a value for this many milliseconds.
    pub(crate) fn set_expiring(&mut self, key: &[u8], value: &[u8], milliseconds: u64) {
        let mut digits = [0; 20];
        let mut unused = &mut digits[..];
        let written = write!(unused, "{milliseconds}");
        debug_assert!(written.is_ok(), "a number has twenty digits at most");
        let used = 20 - unused.len();
        self.command(&[b"SET", key, value, b"PX", &digits[..used]]);
    }

    #[inline]
    fn header(&mut self, kind: u8, number: usize) {
        self.wire.out.push(kind);
        self.wire.decimal(number);
        self.wire.out.extend_from_slice(b"\r\n");
    }

    /// Sends one command and waits for its answer.
    #[inline]
    pub(crate) fn ask(&mut self, words: &[&[u8]]) -> Result<Answer> {
        self.command(words);
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
        if let Answer::Bytes(range) = answer { Some(range) } else { None }
    }

    #[inline]
    fn parse_answer(&mut self) -> Result<Option<Answer>> {
        let (begin, unread) = self.wire.unread_bytes();
        let filled = begin + unread.len();
        let Some(end) = unread.iter().position(|byte| *byte == b'\r') else {
            self.wire.check_length(unread.len(), LINE_BYTES_MAX)?;
            return Ok(None);
        };
        if unread.len() < end + 2 {
            return Ok(None);
        }
        let (start, after) = (begin + 1, begin + end + 2);
        let line = start..begin + end;
        let answer = match unread[0] {
            b'$' => {
                let length = number(self.wire.bytes(line))?;
                let Ok(length) = usize::try_from(length) else {
                    self.wire.read_to(after);
                    return Ok(Some(Answer::Nothing));
                };
                self.wire.check_length(length, VALUE_BYTES_MAX)?;
                if filled < after + length + 2 {
                    return Ok(None);
                }
                self.wire.read_to(after + length + 2);
                return Ok(Some(Answer::Bytes(after..after + length)));
            }
            b'+' => Answer::Line(line),
            b':' => Answer::Number(number(self.wire.bytes(line))?),
            b'*' => {
                let several = usize::try_from(number(self.wire.bytes(line))?).ok();
                several.map_or(Answer::Nothing, Answer::Several)
            }
            b'-' => {
                let error = server_error(self.wire.bytes(line));
                self.wire.read_to(after);
                return Err(error);
            }
            other => return Err(protocol_error(&format!("byte {other:#04x}"))),
        };
        self.wire.read_to(after);
        Ok(Some(answer))
    }
}

#[inline]
fn number(digits: &[u8]) -> Result<i64> {
    let (negative, digits) = match digits {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    let mut number = 0_i64;
    for digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 || number > i64::MAX / 16 {
            return Err(protocol_error("invalid number"));
        }
        number = number * 10 + i64::from(digit);
    }
    Ok(if negative { -number } else { number })
}

/// Returns the error with only its first word.
fn shorten_error(error: &Error) -> Error {
    let word = error.message.split(' ').next().unwrap_or_default();
    Error::new(error.class, format!("the password was refused: {word}"))
}

/// Returns the error for a server's error message.
fn server_error(words: &[u8]) -> Error {
    let words = String::from_utf8_lossy(words).into_owned();
    let class = match words.split(' ').next().unwrap_or_default() {
        "OOM" => ErrorClass::Memory,
        "LOADING" | "MASTERDOWN" | "CLUSTERDOWN" => ErrorClass::Unavailable,
        "MISCONF" if words.contains("No space left") => ErrorClass::Full,
        "MISCONF" => ErrorClass::Io,
        _ => ErrorClass::Other,
    };
    Error::new(class, words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_engine::server::Stream;
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
        let sent =
            b"+OK\r\n$3\r\na\r\n\r\n$-1\r\n:42\r\n*2\r\n$0\r\n\r\n:-7\r\n-OOM no room\r\n$5\r\nab";
        let (mut connection, mut server) = connected(sent);
        assert!(matches!(connection.answer().unwrap(), Answer::Line(_)));
        let Answer::Bytes(range) = connection.answer().unwrap() else { panic!("no value") };
        assert_eq!(connection.bytes(range), b"a\r\n");
        assert_eq!(connection.answer().unwrap(), Answer::Nothing);
        assert_eq!(connection.answer().unwrap(), Answer::Number(42));
        assert_eq!(connection.answer().unwrap(), Answer::Several(2));
        assert!(matches!(connection.answer().unwrap(), Answer::Bytes(range) if range.is_empty()));
        assert_eq!(connection.answer().unwrap(), Answer::Number(-7));
        assert_eq!(connection.answer().unwrap_err().class, ErrorClass::Memory);
        assert_eq!(connection.parse_answer().unwrap(), None, "half of a value");
        server.write_all(b"cde\r\n").unwrap();
        let Answer::Bytes(range) = connection.answer().unwrap() else { panic!("no value") };
        assert_eq!(connection.bytes(range), b"abcde");
        drop(server);
        assert_eq!(connection.answer().unwrap_err().class, ErrorClass::Unavailable);
    }

    #[test]
    fn a_password_that_is_refused_is_not_said_again() {
        let refused = |sent: &[u8]| {
            let (mut connection, server) = connected(sent);
            server.shutdown(std::net::Shutdown::Write).unwrap();
            connection.authenticate(&[b"AUTH", b"secret"]).unwrap_err().message
        };
        let unknown = b"-ERR unknown command 'AUTH', with args beginning with: 'secret'\r\n";
        assert_eq!(refused(unknown), "the password was refused: ERR");
        assert_eq!(refused(b"-WRONGPASS no\r\n"), "the password was refused: WRONGPASS");
        let junk = refused(b"HTTP/1.1 400 Bad Request\r\n");
        assert_eq!(junk, "unexpected answer from the server: byte 0x48");
        for cut in [&b""[..], b"-ERR secret"] {
            assert_eq!(refused(cut), "the server closed the connection");
        }
    }

    #[test]
    fn a_line_without_an_end_and_a_value_without_bounds_are_refused() {
        let (mut connection, _server) = connected(b"$536870913\r\n");
        let error = connection.answer().unwrap_err();
        assert!(error.message.contains("536870912"), "{error}");
        let (mut connection, mut other) = connected(b"");
        let talker = std::thread::spawn(move || while other.write_all(&[b'+'; 4096]).is_ok() {});
        let error = connection.answer().unwrap_err();
        assert!(error.message.contains("65536"), "{error}");
        drop(connection);
        talker.join().unwrap();
    }

    #[test]
    fn an_answer_longer_than_the_buffer_is_whole() {
        let value = vec![b'v'; 3 * (64 << 10)];
        let sent = [format!("${}\r\n", value.len()).as_bytes(), &value, b"\r\n+OK\r\n"].concat();
        let (mut connection, mut server) = connected(b"");
        let talker = std::thread::spawn(move || server.write_all(&sent).unwrap());
        let Answer::Bytes(range) = connection.answer().unwrap() else { panic!("no value") };
        assert_eq!(connection.bytes(range), value);
        assert!(matches!(connection.answer().unwrap(), Answer::Line(_)));
        talker.join().unwrap();
    }

    #[test]
    fn a_command_is_written_with_its_lengths() {
        let (mut connection, _server) = connected(b"");
        connection.command(&[b"SET", b"", &[b'x'; 12]]);
        assert_eq!(connection.wire.out, b"*3\r\n$3\r\nSET\r\n$0\r\n\r\n$12\r\nxxxxxxxxxxxx\r\n");
    }
}
