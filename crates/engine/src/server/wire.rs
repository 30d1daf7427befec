//! The buffers that clients of every protocol share. Commands are collected and sent together.
//! Answers are shown where they were received, and several may be in flight. Each client parses
//! the bytes. Memory grows with what has arrived, never with an announced length.

use super::shared_threads::{self, Known};
use super::{Address, Stream};
use crate::{Error, ErrorClass, Result};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use std::collections::VecDeque;
use std::io::{self, Read as _};
use std::ops::Range;
use std::time::Duration;

/// Bytes of one receive call.
const READ_BYTES: usize = 64 << 10;

/// The limit of what a server sends before records are expected: its greeting and its settings.
/// The listener may be hostile, or no server of that protocol.
const GREETING_BYTES_MAX: usize = 64 << 10;

/// A connection with its buffers.
#[derive(Debug)]
pub struct Wire {
    stream: Stream,
    /// Commands that are not sent yet.
    pub out: Vec<u8>,
    /// Received bytes; those before `at` are parsed.
    received: Vec<u8>,
    at: usize,
    /// Bytes of `received` that the server has sent.
    filled: usize,
    gone: bool,
    /// Whether answers may be as long as records make them.
    has_records: bool,
    known: Known,
}

impl Wire {
    /// Connects.
    pub fn open(address: &Address) -> Result<Self> {
        Ok(Self::new(address.connect()?))
    }

    /// A wire on an open connection.
    pub fn new(stream: Stream) -> Self {
        let (received, out) = (vec![0; READ_BYTES], Vec::with_capacity(READ_BYTES));
        let known = Known::default();
        Self { stream, out, received, at: 0, filled: 0, gone: false, has_records: false, known }
    }

    /// Allows answers from here on to be as long as the protocol lets them be.
    pub fn expect_records(&mut self) {
        self.has_records = true;
    }

    /// Refuses an answer that is too long before it is received: longer than `bytes_max`, the limit
    /// of the protocol, or than the limit before records are expected.
    #[inline]
    pub fn check_length(&self, bytes: usize, bytes_max: usize) -> Result<()> {
        let bytes_max = if self.has_records { bytes_max } else { GREETING_BYTES_MAX };
        if bytes > bytes_max { Err(too_long_error(bytes, bytes_max)) } else { Ok(()) }
    }

    /// Encrypts from here on, where the attached server requires TLS. All received bytes must be
    /// parsed.
    pub fn start_tls(&mut self, address: &Address) -> Result<()> {
        if let Some(hidden) = self.stream.start_tls(address)? {
            *self = Self::new(hidden);
        }
        Ok(())
    }

    /// Sets how long to wait for any answer from now on.
    pub fn patience(&self, limit: Duration) -> Result<()> {
        Ok(self.stream.patience(limit)?)
    }

    /// Whether the connection is closed.
    pub fn is_gone(&self) -> bool {
        self.gone
    }

    /// Received bytes that are not parsed, and where they begin.
    #[inline]
    pub fn unread_bytes(&self) -> (usize, &[u8]) {
        (self.at, &self.received[self.at..self.filled])
    }

    /// Sets the end of the parsed bytes; it may go back.
    #[inline]
    pub fn read_to(&mut self, at: usize) {
        self.at = at;
    }

    /// The bytes of a range, which are valid until [`Wire::discard_parsed`].
    #[inline]
    pub fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self.received[range]
    }

    /// The whole buffer of received bytes, to which ranges refer.
    #[inline]
    pub fn received_bytes(&self) -> &[u8] {
        &self.received
    }

    /// Drops parsed bytes, once all are parsed or when room is needed.
    #[inline]
    pub fn discard_parsed(&mut self) {
        if self.at == self.filled {
            (self.at, self.filled) = (0, 0);
        } else if self.at > READ_BYTES {
            self.received.copy_within(self.at..self.filled, 0);
            (self.at, self.filled) = (0, self.filled - self.at);
        }
    }

    /// Waits for more bytes.
    pub fn receive(&mut self) -> Result<()> {
        if !self.has_records && self.filled > GREETING_BYTES_MAX {
            return Err(too_long_error(self.filled, GREETING_BYTES_MAX));
        }
        if self.received.len() < self.filled + READ_BYTES / 2 {
            self.received.resize(self.received.len() * 2, 0);
        }
        match &self.stream {
            // TLS may hold decrypted bytes though the socket has nothing.
            Stream::Secured(_) if shared_threads::is_shared() => {
                let why = "a TLS connection needs a thread of its own; remove `os_threads`";
                return Err(Error::unsupported(why));
            }
            Stream::Secured(_) => {}
            stream => shared_threads::wait_for_answer(stream.socket(), &mut self.known)?,
        }
        self.gone = true;
        let read = self.stream.read(&mut self.received[self.filled..])?;
        if read == 0 {
            return Err(Error::new(ErrorClass::Unavailable, "the server closed the connection"));
        }
        (self.gone, self.filled) = (false, self.filled + read);
        Ok(())
    }

    /// Sends the collected commands.
    #[inline]
    pub fn send(&mut self) -> Result<()> {
        let mut sent = 0;
        while sent < self.out.len() {
            match self.stream.send(&self.out[sent..])? {
                Some(more) => sent += more,
                None => self.receive()?,
            }
        }
        while !self.stream.is_sent()? {
            self.receive()?;
        }
        self.out.clear();
        Ok(())
    }

    /// Waits until one of `wires` has bytes to parse. Returns for each whether it has.
    pub fn wait_readable(wires: &[&Self]) -> Result<Vec<bool>> {
        let at_hand: Vec<bool> =
            wires.iter().map(|wire| !wire.unread_bytes().1.is_empty()).collect();
        if at_hand.contains(&true) {
            return Ok(at_hand);
        }
        let sockets =
            wires.iter().map(|wire| PollFd::from_borrowed_fd(wire.stream.socket(), PollFlags::IN));
        let mut sockets: Vec<PollFd<'_>> = sockets.collect();
        while let Err(errno) = poll(&mut sockets, None) {
            if errno != Errno::INTR {
                return Err(io::Error::from(errno).into());
            }
        }
        Ok(sockets.iter().map(|socket| !socket.revents().is_empty()).collect())
    }

    /// Appends a number in decimal digits to the commands.
    #[inline]
    pub fn decimal(&mut self, number: usize) {
        self.out.extend_from_slice(decimal(number, &mut [0; 20]));
    }
}

/// Parses the answers to a client's requests.
pub trait Answers {
    /// One answer. Its ranges are for [`Wire::bytes`].
    type Answer;

    /// The connection.
    fn wire(&mut self) -> &mut Wire;

    /// Parses the next answer. `None`: the rest of it has not arrived yet.
    fn parse_answer(&mut self) -> Result<Option<Self::Answer>>;

    /// Returns the range of an answer's value; none: the answer has no value.
    fn value(answer: Self::Answer) -> Option<Range<usize>>;

    /// Waits for more bytes.
    fn receive(&mut self) -> Result<()> {
        self.wire().receive()
    }

    /// Waits for the next answer. Its bytes are valid until the next call.
    #[inline]
    fn answer(&mut self) -> Result<Self::Answer> {
        self.wire().discard_parsed();
        self.wait_for(Self::parse_answer)
    }

    /// Receives until `parse` returns something.
    #[inline]
    fn wait_for<T>(&mut self, mut parse: impl FnMut(&mut Self) -> Result<Option<T>>) -> Result<T> {
        loop {
            match parse(self)? {
                Some(parsed) => return Ok(parsed),
                None => self.receive()?,
            }
        }
    }
}

/// Tickets of operations in flight, for a server that answers in the order of the requests.
#[derive(Debug, Default)]
pub struct Tickets {
    /// Tickets of commands that are collected, but not sent.
    taken: Vec<u32>,
    /// Tickets of commands that are sent, in the order of their answers.
    sent: VecDeque<u32>,
}

impl Tickets {
    /// Adds an operation that was collected.
    #[inline]
    pub fn push(&mut self, ticket: u32) {
        self.taken.push(ticket);
    }

    /// Whether all that was sent has been answered.
    pub fn are_all_back(&self) -> bool {
        self.sent.is_empty()
    }

    /// Notes that the collected commands were sent.
    #[inline]
    pub fn mark_sent(&mut self) {
        self.sent.extend(self.taken.drain(..));
    }

    /// Implements [`Session::complete`](crate::Session::complete): waits for one answer, and takes
    /// all that have arrived.
    pub fn complete<A: Answers>(
        &mut self,
        from: &mut A,
        mut done: impl FnMut(u32, Result<Option<&[u8]>>),
    ) -> Result<usize> {
        from.wire().discard_parsed();
        let mut count = 0;
        while let Some(ticket) = self.sent.front().copied() {
            match from.parse_answer() {
                Ok(None) if count > 0 => break,
                Ok(None) => {
                    from.receive()?;
                    continue;
                }
                Ok(Some(answer)) => {
                    let value = A::value(answer);
                    done(ticket, Ok(value.map(|range| from.wire().bytes(range))));
                }
                Err(error) => done(ticket, Err(error)),
            }
            self.sent.pop_front();
            count += 1;
        }
        Ok(count)
    }
}

/// Formats a number in decimal digits.
#[inline]
pub fn decimal(number: usize, digits: &mut [u8; 20]) -> &[u8] {
    let (mut at, mut rest) = (digits.len(), number);
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    &digits[at..]
}

/// The error that a server's answer is longer than its limit.
#[cold]
fn too_long_error(bytes: usize, bytes_max: usize) -> Error {
    protocol_error(&format!("expected at most {bytes_max} bytes, found {bytes} or more"))
}

/// The error that the server broke its protocol.
pub fn protocol_error(what: &str) -> Error {
    Error::new(ErrorClass::Other, format!("unexpected answer from the server: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;

    /// Answers of a byte each; `!` is one that the server refuses.
    struct Bytes(Wire);

    impl Answers for Bytes {
        type Answer = Option<Range<usize>>;

        fn wire(&mut self) -> &mut Wire {
            &mut self.0
        }

        fn value(answer: Self::Answer) -> Option<Range<usize>> {
            answer
        }

        fn parse_answer(&mut self) -> Result<Option<Self::Answer>> {
            let (begin, unread) = self.0.unread_bytes();
            let Some(byte) = unread.first().copied() else { return Ok(None) };
            self.0.read_to(begin + 1);
            match byte {
                b'!' => Err(Error::invalid("refused")),
                b'-' => Ok(Some(None)),
                _ => Ok(Some(Some(begin..begin + 1))),
            }
        }
    }

    #[test]
    fn what_is_refused_is_one_answer_and_a_server_that_hangs_up_ends_them_all() {
        let (client, mut server) = UnixStream::pair().unwrap();
        let (mut bytes, mut tickets) = (Bytes(Wire::new(Stream::Unix(client))), Tickets::default());
        (0..5).for_each(|ticket| tickets.push(ticket));
        tickets.mark_sent();
        server.write_all(b"a!-b").unwrap();
        let mut answers = Vec::new();
        let record_answer = |ticket, answer: Result<Option<&[u8]>>| {
            answers.push((ticket, answer.map(|value| value.map(<[u8]>::to_vec)).ok()));
        };
        assert_eq!(tickets.complete(&mut bytes, record_answer).unwrap(), 4);
        let value = |byte: u8| Some(Some(vec![byte]));
        assert_eq!(answers, [(0, value(b'a')), (1, None), (2, Some(None)), (3, value(b'b'))]);
        drop(server);
        let ended = tickets.complete(&mut bytes, |_, _| panic!("nothing was answered"));
        assert_eq!(ended.unwrap_err().class, ErrorClass::Unavailable);
    }

    #[test]
    fn before_records_are_expected_all_that_is_received_is_short() {
        let (client, mut server) = UnixStream::pair().unwrap();
        let mut wire = Wire::new(Stream::Unix(client));
        assert!(wire.check_length(GREETING_BYTES_MAX, usize::MAX).is_ok());
        let error = wire.check_length(512 << 20, usize::MAX).unwrap_err();
        assert!(error.message.contains("expected at most 65536 bytes, found 536870912"), "{error}");
        let sender = std::thread::spawn(move || while server.write_all(&[0; 4096]).is_ok() {});
        let error = loop {
            if let Err(error) = wire.receive() {
                break error;
            }
        };
        assert!(error.message.contains("expected at most 65536 bytes"), "{error}");
        assert!(wire.received.len() <= 4 * GREETING_BYTES_MAX, "{}", wire.received.len());
        wire.expect_records();
        assert!(wire.check_length(512 << 20, 512 << 20).is_ok());
        assert!(wire.check_length((512 << 20) + 1, 512 << 20).is_err());
        wire.receive().unwrap();
        drop(wire);
        sender.join().unwrap();
    }

    #[test]
    fn a_number_is_written_in_digits() {
        let mut wire = Wire::new(Stream::Unix(UnixStream::pair().unwrap().0));
        for number in [0, 7, 120, usize::MAX] {
            wire.out.clear();
            wire.decimal(number);
            assert_eq!(wire.out, number.to_string().as_bytes());
        }
    }
}
