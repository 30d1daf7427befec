//! One connection, and `MySQL`'s protocol as in `MariaDB`: prepared statements with binary
//! parameters and rows, text for the rest. Requests are collected and sent together; results are
//! shown in the receive buffer.

use crate::handshake::{self, Login, NAME};
use crate::lengths::{parse_length, push_length, split_columns};
use kvdyno_engine::server::{Address, Answers, Wire, protocol_error};
use kvdyno_engine::{Error, ErrorClass, Result};
use std::ops::Range;

/// A packet of this length continues in the next; ours are shorter.
pub(crate) const PACKET_BYTES_MAX: usize = 0xff_ffff;

/// The first byte of a packet: all went well, a row of a prepared statement, the end of the rows,
/// an error.
const OK: u8 = 0x00;
const END: u8 = 0xfe;
const ERROR: u8 = 0xff;

/// The first byte of a command.
const QUIT: u8 = 0x01;
const QUERY: u8 = 0x03;
const PREPARE: u8 = 0x16;
const EXECUTE: u8 = 0x17;
const CLOSE: u8 = 0x19;

/// Types of parameters, with a byte for their sign.
const BLOB: [u8; 2] = [0xfc, 0];
const UNSIGNED: [u8; 2] = [0x08, 0x80];

/// A prepared statement, and the number of its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Statement {
    id: u32,
    parameters: u16,
}

/// A parameter of a statement.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Parameter<'b> {
    Bytes(&'b [u8]),
    Number(u64),
}

/// How far the answer to one statement was read.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    begun: bool,
    /// The server's answer to a statement without rows.
    done: Range<usize>,
    /// The descriptions of columns that are still to come before the rows.
    descriptions: u64,
}

/// A part of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// A row, by its place in the receive buffer.
    Row(Range<usize>),
    /// The end of the answer.
    End,
}

/// The answer to one statement.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// The first column of its last row.
    pub(crate) value: Option<Range<usize>>,
    /// The server's answer to a statement without rows.
    pub(crate) done: Range<usize>,
}

/// A connection to a server.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) wire: Wire,
}

impl Connection {
    /// Opens a connection for records.
    pub(crate) fn open(address: &Address) -> Result<Self> {
        let database = address.attached_server().map_or(NAME, |remote| &remote.database);
        let mut connection = Self::enter(address, database)?;
        connection.wire.expect_records();
        Ok(connection)
    }

    /// Connects to one database of a server, for the server's information.
    pub(crate) fn enter(address: &Address, database: &str) -> Result<Self> {
        let mut connection = Self { wire: Wire::open(address)? };
        let greeting = connection.next_packet().map_err(|error| error.context("its greeting"))?;
        let greeting = connection.bytes(greeting).to_vec();
        if greeting.first() == Some(&ERROR) {
            return Err(server_error(&greeting));
        }
        let elsewhere = address.attached_server();
        let user = elsewhere.map_or(NAME, |remote| &remote.user);
        let login = Login { user, password: address.password(), database };
        let hidden = elsewhere.is_some_and(|remote| remote.secrecy.is_some());
        let mut number = 1;
        if hidden {
            if !handshake::can_hide(&greeting) {
                let what = "the server has no TLS: use `?sslmode=disable`, or set up TLS";
                return Err(Error::invalid(what));
            }
            let beginning = handshake::beginning(login, hidden);
            connection.packet(number, |out| out.extend_from_slice(&beginning));
            connection.wire.send()?;
            connection.wire.start_tls(address)?;
            number += 1;
        }
        let answer = handshake::answer(&greeting, login, hidden)?;
        connection.packet(number, |out| out.extend_from_slice(&answer));
        connection.wire.send()?;
        connection.finish_login(number, address)
    }

    /// Waits until the server accepts the login. `number` is that of the packet sent last.
    fn finish_login(mut self, number: u8, address: &Address) -> Result<Self> {
        let mut number = number;
        loop {
            let packet = self.next_packet()?;
            match self.bytes(packet.clone()) {
                [OK, ..] => return Ok(self),
                words @ [ERROR, ..] => return Err(server_error(words)),
                [END, request @ ..] if !request.is_empty() => {
                    let proof = handshake::answer_auth_switch(request, address.password())?;
                    let again = || protocol_error("it repeats the request for the password");
                    number = number.checked_add(2).ok_or_else(again)?;
                    self.packet(number, |out| out.extend_from_slice(&proof));
                    self.wire.send()?;
                }
                _ => return Err(protocol_error("it requires another kind of password")),
            }
        }
    }

    pub(crate) fn bytes(&self, range: Range<usize>) -> &[u8] {
        self.wire.bytes(range)
    }

    /// Queues a packet. Its number is 0 except in the handshake.
    #[inline]
    fn packet(&mut self, number: u8, body: impl FnOnce(&mut Vec<u8>)) {
        let begin = self.wire.out.len();
        self.wire.out.extend_from_slice(&[0, 0, 0, number]);
        body(&mut self.wire.out);
        let length = (self.wire.out.len() - begin - 4) as u32;
        debug_assert!((length as usize) < PACKET_BYTES_MAX, "checked by who gives the parameters");
        self.wire.out[begin..begin + 3].copy_from_slice(&length.to_le_bytes()[..3]);
    }

    /// Prepares a statement.
    pub(crate) fn prepare(&mut self, text: &str) -> Result<Statement> {
        self.wire.discard_parsed();
        self.packet(0, |out| {
            out.push(PREPARE);
            out.extend_from_slice(text.as_bytes());
        });
        self.wire.send()?;
        let packet = self.next_packet()?;
        let packet = self.bytes(packet);
        match *packet {
            [OK, a, b, c, d, columns, more_columns, parameters, more_parameters, ..] => {
                let columns = u16::from_le_bytes([columns, more_columns]);
                let parameters = u16::from_le_bytes([parameters, more_parameters]);
                for _ in 0..u32::from(columns) + u32::from(parameters) {
                    self.next_packet()?;
                }
                Ok(Statement { id: u32::from_le_bytes([a, b, c, d]), parameters })
            }
            [ERROR, ..] => Err(server_error(packet)),
            _ => Err(protocol_error("a prepared statement")),
        }
    }

    /// Queues a request to forget a prepared statement. There is no answer.
    pub(crate) fn unprepare(&mut self, statement: Statement) {
        self.packet(0, |out| {
            out.push(CLOSE);
            out.extend_from_slice(&statement.id.to_le_bytes());
        });
    }

    /// Queues the execution of a prepared statement. Its parameters are bytes, and a number at the
    /// end if one is given.
    #[inline]
    pub(crate) fn execute<'b>(
        &mut self,
        statement: Statement,
        bytes: impl Iterator<Item = &'b [u8]> + Clone,
        number: Option<u64>,
    ) {
        let number = number.map(Parameter::Number);
        self.execute_with(statement, bytes.map(Parameter::Bytes).chain(number));
    }

    /// Queues the execution of a prepared statement with these parameters.
    #[inline]
    pub(crate) fn execute_with<'b>(
        &mut self,
        statement: Statement,
        parameters: impl Iterator<Item = Parameter<'b>> + Clone,
    ) {
        self.packet(0, |out| {
            out.push(EXECUTE);
            out.extend_from_slice(&statement.id.to_le_bytes());
            // No cursor, and one execution.
            out.extend_from_slice(&[0, 1, 0, 0, 0]);
            if statement.parameters == 0 {
                return;
            }
            // No parameter is NULL, and their types follow.
            out.resize(out.len() + usize::from(statement.parameters).div_ceil(8), 0);
            out.push(1);
            for parameter in parameters.clone() {
                out.extend_from_slice(match parameter {
                    Parameter::Bytes(_) => &BLOB,
                    Parameter::Number(_) => &UNSIGNED,
                });
            }
            for parameter in parameters {
                match parameter {
                    Parameter::Bytes(bytes) => {
                        push_length(out, bytes.len());
                        out.extend_from_slice(bytes);
                    }
                    Parameter::Number(number) => out.extend_from_slice(&number.to_le_bytes()),
                }
            }
        });
    }

    /// Executes a statement as text, and shows each row.
    pub(crate) fn query(
        &mut self,
        statement: &str,
        mut row: impl FnMut(&[Option<&str>]),
    ) -> Result<()> {
        self.wire.discard_parsed();
        self.packet(0, |out| {
            out.push(QUERY);
            out.extend_from_slice(statement.as_bytes());
        });
        self.wire.send()?;
        let mut progress = Progress::default();
        while let Part::Row(range) = self.part(&mut progress)? {
            row(&split_columns(self.bytes(range)));
        }
        Ok(())
    }

    /// Waits for the next part of an answer.
    #[inline]
    pub(crate) fn part(&mut self, progress: &mut Progress) -> Result<Part> {
        self.wait_for(|connection| connection.part_at_hand(progress))
    }

    /// Returns the next part of an answer, if it is complete. An error ends the answer.
    #[inline]
    fn part_at_hand(&mut self, progress: &mut Progress) -> Result<Option<Part>> {
        while let Some(packet) = self.parse()? {
            let bytes = self.bytes(packet.clone());
            match *bytes.first().ok_or_else(|| protocol_error("an empty packet"))? {
                ERROR => return Err(server_error(bytes)),
                OK if !progress.begun => {
                    progress.done = packet;
                    return Ok(Some(Part::End));
                }
                _ if !progress.begun => {
                    let (count, offset) =
                        parse_length(bytes, 0).ok_or_else(|| protocol_error("no columns"))?;
                    let same_as_before = bytes.get(offset) == Some(&0);
                    progress.begun = true;
                    progress.descriptions = if same_as_before { 0 } else { count as u64 };
                }
                _ if progress.descriptions > 0 => progress.descriptions -= 1,
                END => return Ok(Some(Part::End)),
                _ => return Ok(Some(Part::Row(packet))),
            }
        }
        Ok(None)
    }

    /// Returns the first columns of a row of a prepared statement. They must not be NULL.
    #[inline]
    pub(crate) fn columns<const N: usize>(&self, row: Range<usize>) -> Option<[Range<usize>; N]> {
        let bytes = self.bytes(row.clone());
        // The columns follow a zero, and a byte with a bit for each that is NULL: they are fewer
        // than seven.
        let mut offset = 2;
        let mut columns = [const { 0..0 }; N];
        for column in &mut columns {
            let (length, begin) = parse_length(bytes, offset)?;
            offset = begin + length;
            *column = row.start + begin..row.start + offset;
        }
        (offset <= bytes.len()).then_some(columns)
    }

    /// Waits for the next packet.
    fn next_packet(&mut self) -> Result<Range<usize>> {
        self.wait_for(Self::parse)
    }

    #[inline]
    fn parse(&mut self) -> Result<Option<Range<usize>>> {
        let (begin, unread) = self.wire.unread_bytes();
        let filled = begin + unread.len();
        let Some(head) = unread.first_chunk::<4>() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize;
        // A packet of the greatest length is the first part of a longer one.
        self.wire.check_length(length, PACKET_BYTES_MAX - 1)?;
        let contents = begin + 4..begin + 4 + length;
        if filled < contents.end {
            return Ok(None);
        }
        self.wire.read_to(contents.end);
        Ok(Some(contents))
    }
}

impl Answers for Connection {
    type Answer = Answer;

    fn wire(&mut self) -> &mut Wire {
        &mut self.wire
    }

    fn value(answer: Answer) -> Option<Range<usize>> {
        answer.value
    }

    /// The result of one statement.
    #[inline]
    fn parse_answer(&mut self) -> Result<Option<Answer>> {
        let (begun, mut answer, mut progress) =
            (self.wire.unread_bytes().0, Answer::default(), Progress::default());
        while let Some(part) = self.part_at_hand(&mut progress)? {
            match part {
                Part::Row(row) => answer.value = self.columns::<1>(row).map(|[value]| value),
                Part::End => return Ok(Some(Answer { done: progress.done, ..answer })),
            }
        }
        self.wire.read_to(begun);
        Ok(None)
    }
}

/// Says farewell: otherwise the server would count, and log, a client that has failed.
impl Drop for Connection {
    fn drop(&mut self) {
        self.wire.out.clear();
        self.packet(0, |out| out.push(QUIT));
        let _ = self.wire.send();
    }
}

/// Returns the error for a server's error packet: a number, `#` and five letters, a text.
fn server_error(packet: &[u8]) -> Error {
    let number = packet.get(1..3).map_or(0, |bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
    let words = String::from_utf8_lossy(packet.get(3..).unwrap_or_default()).into_owned();
    let words = match words.strip_prefix('#') {
        Some(words) => words.get(5..).unwrap_or_default().to_owned(),
        None => words,
    };
    let says = |what: &str| words.contains(what);
    let class = match number {
        // A lock timeout, a deadlock, or a row that has changed.
        1020 | 1205 | 1213 => ErrorClass::Conflict,
        1021 | 1114 => ErrorClass::Full,
        _ if says("No space left") || says("error 28") || says("errno: 28") => ErrorClass::Full,
        1037 | 1038 | 1041 => ErrorClass::Memory,
        1153 | 1406 => ErrorClass::Invalid,
        1040 | 1053 | 1152 | 1203 | 1317 | 1927 => ErrorClass::Unavailable,
        1034 | 1194 | 1712 => ErrorClass::Corrupt,
        _ if says("orruption") || says("corrupted") => ErrorClass::Corrupt,
        1026 => ErrorClass::Io,
        _ if says("IO error") || says("Input/output error") => ErrorClass::Io,
        _ => ErrorClass::Other,
    };
    Error::new(class, format!("{words} ({number})"))
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

    fn packet(contents: &[u8]) -> Vec<u8> {
        [&(contents.len() as u32).to_le_bytes()[..3], &[0], contents].concat()
    }

    const CONFLICT: &[u8] = b"\xff\xbd\x04#40001Deadlock found";

    #[test]
    fn an_answer_ends_with_its_end() {
        let (row, end) = (packet(b"\0\0\x03abc"), packet(b"\xfe\0\0\x02\0\0\0"));
        let described = [packet(b"\x01\x01"), packet(b"\x03def"), row.clone()].concat();
        let described = [described, end.clone()].concat();
        let (mut connection, mut server) = connected(&described[..described.len() - 2]);
        connection.wire.receive().unwrap();
        assert!(connection.parse_answer().unwrap().is_none(), "its end is not there yet");
        server.write_all(&described[described.len() - 2..]).unwrap();
        let value = connection.answer().unwrap().value.unwrap();
        assert_eq!(connection.bytes(value), b"abc");
        // Columns that are known, nothing found, done, an error, and the next answer behind it.
        let (defined, done) = (packet(b"\x01\x00"), packet(b"\0\x01\0\x02\0\0\0"));
        let sent = [&defined, &row, &end, &defined, &end, &done, &packet(CONFLICT), &done];
        server.write_all(&sent.map(Vec::as_slice).concat()).unwrap();
        assert!(connection.answer().unwrap().value.is_some());
        assert!((0..2).all(|_| connection.answer().unwrap().value.is_none()));
        let error = connection.answer().unwrap_err();
        assert_eq!(error.class, ErrorClass::Conflict);
        assert_eq!(error.message, "Deadlock found (1213)");
        assert!(connection.answer().is_ok());
        drop(server);
        assert_eq!(connection.answer().unwrap_err().class, ErrorClass::Unavailable);
        assert!(connection.wire.is_gone());
    }

    #[test]
    fn a_statement_is_executed_with_bytes_and_a_number() {
        let (mut connection, _server) = connected(b"");
        let statement = Statement { id: 5, parameters: 2 };
        connection.execute(statement, [&b"key"[..]].into_iter(), Some(7));
        let head = b"\x1c\0\0\0\x17\x05\0\0\0\0\x01\0\0\0\0\x01\xfc\0\x08\x80";
        assert_eq!(connection.wire.out, [&head[..], b"\x03key\x07\0\0\0\0\0\0\0"].concat());
    }
}
