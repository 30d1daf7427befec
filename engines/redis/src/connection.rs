//! One connection, and the protocol (RESP2): commands are written into a buffer and sent together,
//! answers are shown where they were received.

use kvdyno_engine::server::{Address, Stream};
use kvdyno_engine::{Error, ErrorClass, Result};
use std::io::{Read as _, Write as _};
use std::ops::Range;

/// So much is asked of the kernel at once.
const READ_BYTES: usize = 64 << 10;

/// A connection to a server.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: Stream,
    out: Vec<u8>,
    /// What was received; what is before `at` has been looked at.
    received: Vec<u8>,
    at: usize,
    /// Bytes of `received` that the server has sent.
    filled: usize,
    /// It is of no use any more.
    gone: bool,
}

/// One answer, as it lies in what was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// A line, `OK`.
    Line(Range<usize>),
    /// A whole number.
    Number(i64),
    /// A value.
    Bytes(Range<usize>),
    /// Nothing.
    Nothing,
    /// So many answers follow.
    Several(usize),
}

impl Connection {
    pub(crate) fn open(address: &Address) -> Result<Self> {
        let stream = address.connect()?;
        let (received, out) = (vec![0; READ_BYTES], Vec::with_capacity(READ_BYTES));
        let mut connection = Self { stream, out, received, at: 0, filled: 0, gone: false };
        if let Address::Tcp { secret, .. } = address {
            connection.ask(&[b"AUTH", secret.as_bytes()])?;
        }
        Ok(connection)
    }

    /// Nothing more can be heard here.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone
    }

    /// Writes a command down, to be sent with the next.
    #[inline]
    pub(crate) fn command(&mut self, words: &[&[u8]]) {
        self.header(b'*', words.len());
        for word in words {
            self.header(b'$', word.len());
            self.out.extend_from_slice(word);
            self.out.extend_from_slice(b"\r\n");
        }
    }

    #[inline]
    fn header(&mut self, kind: u8, number: usize) {
        self.out.push(kind);
        let mut digits = [0; 20];
        let mut at = digits.len();
        let mut left = number;
        loop {
            at -= 1;
            digits[at] = b'0' + (left % 10) as u8;
            left /= 10;
            if left == 0 {
                break;
            }
        }
        self.out.extend_from_slice(&digits[at..]);
        self.out.extend_from_slice(b"\r\n");
    }

    /// Sends what was written down.
    #[inline]
    pub(crate) fn send(&mut self) -> Result<()> {
        self.stream.write_all(&self.out)?;
        self.out.clear();
        Ok(())
    }

    /// Sends one command and waits for its answer.
    #[inline]
    pub(crate) fn ask(&mut self, words: &[&[u8]]) -> Result<Answer> {
        self.command(words);
        self.send()?;
        self.answer()
    }

    /// Waits for the next answer. It stays where it is until the next call.
    #[inline]
    pub(crate) fn answer(&mut self) -> Result<Answer> {
        self.forget();
        loop {
            match self.parse()? {
                Some(answer) => return Ok(answer),
                None => self.receive()?,
            }
        }
    }

    /// The next answer, if all of it is there.
    #[inline]
    pub(crate) fn answer_at_hand(&mut self) -> Result<Option<Answer>> {
        self.parse()
    }

    pub(crate) fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self.received[range]
    }

    /// What was looked at gives way, once all of it was or when room is needed.
    #[inline]
    pub(crate) fn forget(&mut self) {
        if self.at == self.filled {
            (self.at, self.filled) = (0, 0);
        } else if self.at > READ_BYTES {
            self.received.copy_within(self.at..self.filled, 0);
            (self.at, self.filled) = (0, self.filled - self.at);
        }
    }

    fn receive(&mut self) -> Result<()> {
        if self.received.len() < self.filled + READ_BYTES / 2 {
            self.received.resize(self.received.len() * 2, 0);
        }
        self.gone = true;
        let read = self.stream.read(&mut self.received[self.filled..])?;
        if read == 0 {
            return Err(Error::new(ErrorClass::Unavailable, "the server has hung up"));
        }
        (self.gone, self.filled) = (false, self.filled + read);
        Ok(())
    }

    /// `None`: it is not all there yet.
    #[inline]
    fn parse(&mut self) -> Result<Option<Answer>> {
        let there = &self.received[self.at..self.filled];
        let Some(end) = there.iter().position(|byte| *byte == b'\r') else { return Ok(None) };
        if there.len() < end + 2 {
            return Ok(None);
        }
        let (start, after) = (self.at + 1, self.at + end + 2);
        let line = start..self.at + end;
        let answer = match there[0] {
            b'$' => {
                let length = number(&self.received[line])?;
                let Ok(length) = usize::try_from(length) else {
                    self.at = after;
                    return Ok(Some(Answer::Nothing));
                };
                if self.filled < after + length + 2 {
                    return Ok(None);
                }
                self.at = after + length + 2;
                return Ok(Some(Answer::Bytes(after..after + length)));
            }
            b'+' => Answer::Line(line),
            b':' => Answer::Number(number(&self.received[line])?),
            b'*' => {
                let several = usize::try_from(number(&self.received[line])?).ok();
                several.map_or(Answer::Nothing, Answer::Several)
            }
            b'-' => {
                let error = refused(&self.received[line]);
                self.at = after;
                return Err(error);
            }
            other => return Err(nonsense(&format!("byte {other:#04x}"))),
        };
        self.at = after;
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
            return Err(nonsense("a number that is none"));
        }
        number = number * 10 + i64::from(digit);
    }
    Ok(if negative { -number } else { number })
}

/// The server's own words, and what they mean to us.
fn refused(words: &[u8]) -> Error {
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

pub(crate) fn nonsense(what: &str) -> Error {
    Error::new(ErrorClass::Other, format!("the server's answer makes no sense: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    fn told(said: &[u8]) -> (Connection, UnixStream) {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(said).unwrap();
        let received = vec![0; READ_BYTES];
        let stream = Stream::Unix(ours);
        (Connection { stream, out: Vec::new(), received, at: 0, filled: 0, gone: false }, theirs)
    }

    #[test]
    fn answers_of_every_kind_are_read_one_after_the_other() {
        let said =
            b"+OK\r\n$3\r\na\r\n\r\n$-1\r\n:42\r\n*2\r\n$0\r\n\r\n:-7\r\n-OOM no room\r\n$5\r\nab";
        let (mut connection, mut theirs) = told(said);
        assert!(matches!(connection.answer().unwrap(), Answer::Line(_)));
        let Answer::Bytes(range) = connection.answer().unwrap() else { panic!("no value") };
        assert_eq!(connection.bytes(range), b"a\r\n");
        assert_eq!(connection.answer().unwrap(), Answer::Nothing);
        assert_eq!(connection.answer().unwrap(), Answer::Number(42));
        assert_eq!(connection.answer().unwrap(), Answer::Several(2));
        assert!(matches!(connection.answer().unwrap(), Answer::Bytes(range) if range.is_empty()));
        assert_eq!(connection.answer().unwrap(), Answer::Number(-7));
        assert_eq!(connection.answer().unwrap_err().class, ErrorClass::Memory);
        assert_eq!(connection.answer_at_hand().unwrap(), None, "half of a value");
        theirs.write_all(b"cde\r\n").unwrap();
        let Answer::Bytes(range) = connection.answer().unwrap() else { panic!("no value") };
        assert_eq!(connection.bytes(range), b"abcde");
        drop(theirs);
        assert_eq!(connection.answer().unwrap_err().class, ErrorClass::Unavailable);
    }

    #[test]
    fn an_answer_longer_than_the_buffer_is_whole() {
        let value = vec![b'v'; 3 * READ_BYTES];
        let said = [format!("${}\r\n", value.len()).as_bytes(), &value, b"\r\n+OK\r\n"].concat();
        let (mut connection, mut theirs) = told(b"");
        let talker = std::thread::spawn(move || theirs.write_all(&said).unwrap());
        let Answer::Bytes(range) = connection.answer().unwrap() else { panic!("no value") };
        assert_eq!(connection.bytes(range), value);
        assert!(matches!(connection.answer().unwrap(), Answer::Line(_)));
        talker.join().unwrap();
    }

    #[test]
    fn a_command_is_written_with_its_lengths() {
        let (mut connection, _theirs) = told(b"");
        connection.command(&[b"SET", b"", &[b'x'; 12]]);
        assert_eq!(connection.out, b"*3\r\n$3\r\nSET\r\n$0\r\n\r\n$12\r\nxxxxxxxxxxxx\r\n");
    }
}
