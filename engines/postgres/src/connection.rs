//! One connection, and the protocol (version 3): prepared statements with binary parameters and
//! results. Requests are collected and sent together; results are shown in the receive buffer.

use kvdyno_attach::Scram;
use kvdyno_engine::server::{Address, Answers, Wire, protocol_error};
use kvdyno_engine::{Error, ErrorClass, Result};
use std::ops::Range;

/// The user for whom the database was created.
pub(crate) const USER: &str = "kvdyno";

const PROTOCOL: u32 = 3 << 16;

/// The format of parameters and results: binary, not text.
const BINARY: u16 = 1;

/// Authentication requests: none, the password in plain text, SCRAM, and SCRAM's later steps.
const LET_IN: u32 = 0;
const OPENLY: u32 = 3;
const PROVED: u32 = 10;
const GO_ON: u32 = 11;
const AT_LAST: u32 = 12;

/// The method of authentication.
const METHOD: &str = "SCRAM-SHA-256";

/// The request for TLS, in the place of a protocol's number.
const HIDE: u32 = 80_877_103;

/// The longest message: the server allocates no more at once (`MaxAllocSize`).
const MESSAGE_BYTES_MAX: usize = (1 << 30) - 1;

/// A message of the server: its kind, and where its contents lie.
pub(crate) type Message = (u8, Range<usize>);

/// The result of one statement.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// The first column of its last row.
    pub(crate) value: Option<Range<usize>>,
}

/// A connection to a server.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) wire: Wire,
    /// The server's last error, which is the reason if the server closes the connection; `None`:
    /// none since the last answer.
    complaint: Option<Error>,
}

impl Connection {
    /// Opens a connection for records.
    pub(crate) fn open(address: &Address) -> Result<Self> {
        let database = address.attached_server().map_or("postgres", |remote| &remote.database);
        let mut connection = Self::enter(address, database)?;
        connection.wire.expect_records();
        Ok(connection)
    }

    /// Connects to a database for information about the server.
    pub(crate) fn enter(address: &Address, database: &str) -> Result<Self> {
        let mut wire = Wire::open(address)?;
        let elsewhere = address.attached_server();
        if elsewhere.is_some_and(|remote| remote.secrecy.is_some()) {
            hide(&mut wire, address)?;
        }
        let user = elsewhere.map_or(USER, |remote| &remote.user);
        let mut connection = Self { wire, complaint: None };
        connection.begin(user, database)?;
        connection.authenticate(address)?;
        Ok(connection)
    }

    fn begin(&mut self, user: &str, database: &str) -> Result<()> {
        let words = format!("user\0{user}\0database\0{database}\0\0");
        self.wire.out.extend_from_slice(&(words.len() as u32 + 8).to_be_bytes());
        self.wire.out.extend_from_slice(&PROTOCOL.to_be_bytes());
        self.wire.out.extend_from_slice(words.as_bytes());
        self.wire.send()
    }

    /// Answers the server's requests for authentication until it accepts the client.
    fn authenticate(&mut self, address: &Address) -> Result<()> {
        let mut scram = None;
        loop {
            let (kind, contents) = self.next_message()?;
            let (how, message) = match kind {
                b'R' => {
                    self.bytes(contents).split_first_chunk().ok_or_else(|| protocol_error("R"))?
                }
                b'E' => return Err(server_error(self.bytes(contents))),
                b'Z' => return Ok(()),
                _ => continue,
            };
            let message = String::from_utf8_lossy(message).into_owned();
            match u32::from_be_bytes(*how) {
                LET_IN => {}
                // The password in plain text, because the connection is encrypted.
                OPENLY
                    if address.attached_server().is_some_and(|remote| remote.secrecy.is_some()) =>
                {
                    self.message(b'p', |out| text(out, address.password()));
                    self.wire.send()?;
                }
                OPENLY => {
                    let what = "the server requires the password in plain text: encrypt it with \
                         `?sslmode=require`";
                    return Err(Error::invalid(what));
                }
                PROVED if message.split('\0').any(|method| method == METHOD) => {
                    let begun = Scram::begin("")?;
                    let first = begun.first_message();
                    self.message(b'p', |out| {
                        text(out, METHOD);
                        out.extend_from_slice(&(first.len() as u32).to_be_bytes());
                        out.extend_from_slice(first.as_bytes());
                    });
                    self.wire.send()?;
                    scram = Some(begun);
                }
                GO_ON => {
                    let proof = match &mut scram {
                        Some(scram) => scram.prove(address.password(), &message)?,
                        None => {
                            return Err(protocol_error("an unexpected step of the authentication"));
                        }
                    };
                    self.message(b'p', |out| out.extend_from_slice(proof.as_bytes()));
                    self.wire.send()?;
                }
                AT_LAST => match &scram {
                    Some(scram) => scram.check(&message)?,
                    None => return Err(protocol_error("an unexpected end of the authentication")),
                },
                other => {
                    return Err(Error::invalid(format!(
                        "password method: expected {METHOD} (password_encryption = \
                         scram-sha-256), found {other}"
                    )));
                }
            }
        }
    }

    pub(crate) fn bytes(&self, range: Range<usize>) -> &[u8] {
        self.wire.bytes(range)
    }

    /// Queues a message.
    #[inline]
    fn message(&mut self, kind: u8, body: impl FnOnce(&mut Vec<u8>)) {
        self.wire.out.push(kind);
        let begin = self.wire.out.len();
        self.wire.out.extend_from_slice(&[0; 4]);
        body(&mut self.wire.out);
        let length = (self.wire.out.len() - begin) as u32;
        self.wire.out[begin..begin + 4].copy_from_slice(&length.to_be_bytes());
    }

    /// Queues a request to prepare a statement under a name.
    pub(crate) fn prepare(&mut self, name: &str, statement: &str) {
        self.message(b'P', |out| {
            text(out, name);
            text(out, statement);
            out.extend_from_slice(&0_u16.to_be_bytes());
        });
    }

    /// Queues a request to forget a prepared statement, if there is one of the name.
    pub(crate) fn unprepare(&mut self, name: &str) {
        self.message(b'C', |out| {
            out.push(b'S');
            text(out, name);
        });
    }

    /// Queues the execution of a prepared statement, for this many rows; 0: for all.
    #[inline]
    pub(crate) fn execute(&mut self, name: &str, parameters: &[&[u8]], rows: u32) {
        self.message(b'B', |out| {
            out.push(0);
            text(out, name);
            out.extend_from_slice(&1_u16.to_be_bytes());
            out.extend_from_slice(&BINARY.to_be_bytes());
            out.extend_from_slice(&(parameters.len() as u16).to_be_bytes());
            for parameter in parameters {
                out.extend_from_slice(&(parameter.len() as u32).to_be_bytes());
                out.extend_from_slice(parameter);
            }
            out.extend_from_slice(&1_u16.to_be_bytes());
            out.extend_from_slice(&BINARY.to_be_bytes());
        });
        self.request_rows(rows);
    }

    /// Queues a request to continue the last statement for this many rows.
    #[inline]
    pub(crate) fn request_rows(&mut self, rows: u32) {
        self.message(b'E', |out| {
            out.push(0);
            out.extend_from_slice(&rows.to_be_bytes());
        });
    }

    /// Queues the end of the statements since the last end. Outside of a transaction they are one
    /// transaction.
    #[inline]
    pub(crate) fn sync(&mut self) {
        self.message(b'S', |_| ());
    }

    /// Requests the results so far, without an end.
    pub(crate) fn flush(&mut self) {
        self.message(b'H', |_| ());
    }

    /// Runs statements as text, and shows each row with its column names. Returns the command tag
    /// of the last one, such as `COMMIT`.
    pub(crate) fn query(
        &mut self,
        statements: &str,
        mut row: impl FnMut(&[String], &[Option<&str>]),
    ) -> Result<String> {
        self.wire.discard_parsed();
        self.message(b'Q', |out| text(out, statements));
        self.wire.send()?;
        let (mut names, mut done) = (Vec::new(), Ok(String::new()));
        loop {
            match self.next_message()? {
                (b'T', columns) => names = column_names(self.bytes(columns)),
                (b'D', columns) => {
                    let all = split_columns(self.wire.received_bytes(), columns);
                    let words = |column: &Option<Range<usize>>| {
                        std::str::from_utf8(self.bytes(column.clone()?)).ok()
                    };
                    row(&names, &all.iter().map(words).collect::<Vec<_>>());
                }
                (b'C', words) if done.is_ok() => {
                    let words = self.bytes(words).strip_suffix(&[0]).unwrap_or_default();
                    done = Ok(String::from_utf8_lossy(words).into_owned());
                }
                (b'E', words) => done = Err(server_error(self.bytes(words))),
                (b'Z', _) => return done,
                _ => {}
            }
        }
    }

    /// Waits for the next message.
    #[inline]
    pub(crate) fn next_message(&mut self) -> Result<Message> {
        self.wait_for(Self::parse)
    }

    #[inline]
    fn parse(&mut self) -> Result<Option<Message>> {
        let (begin, unread) = self.wire.unread_bytes();
        let filled = begin + unread.len();
        let Some((&kind, rest)) = unread.split_first() else { return Ok(None) };
        let Some(length) = rest.first_chunk() else { return Ok(None) };
        let length = u32::from_be_bytes(*length) as usize;
        if length < 4 {
            return Err(protocol_error("a message without a length"));
        }
        self.wire.check_length(length, MESSAGE_BYTES_MAX)?;
        let contents = begin + 5..begin + 1 + length;
        if filled < contents.end {
            return Ok(None);
        }
        self.wire.read_to(contents.end);
        Ok(Some((kind, contents)))
    }

    /// Returns where the columns of a row lie.
    pub(crate) fn columns(&self, row: Range<usize>) -> Vec<Option<Range<usize>>> {
        split_columns(self.wire.received_bytes(), row)
    }
}

impl Answers for Connection {
    type Answer = Answer;

    fn wire(&mut self) -> &mut Wire {
        &mut self.wire
    }

    /// Receives more bytes. A server that closes the connection may have sent the reason before.
    fn receive(&mut self) -> Result<()> {
        self.wire.receive().map_err(|error| self.complaint.take().unwrap_or(error))
    }

    fn value(answer: Answer) -> Option<Range<usize>> {
        answer.value
    }

    /// The result of all statements up to an end.
    #[inline]
    fn parse_answer(&mut self) -> Result<Option<Answer>> {
        let (begun, mut answer, mut failed) = (self.wire.unread_bytes().0, Answer::default(), None);
        while let Some((kind, contents)) = self.parse()? {
            match kind {
                b'D' => answer.value = first_column(self.wire.received_bytes(), contents),
                b'E' => {
                    failed = Some(server_error(self.bytes(contents)));
                    self.complaint.clone_from(&failed);
                }
                b'Z' => {
                    self.complaint = None;
                    return failed.map_or(Ok(Some(answer)), Err);
                }
                _ => {}
            }
        }
        self.wire.read_to(begun);
        Ok(None)
    }
}

/// Asks for TLS and starts it: from here on the connection is encrypted.
fn hide(wire: &mut Wire, address: &Address) -> Result<()> {
    wire.out.extend_from_slice(&8_u32.to_be_bytes());
    wire.out.extend_from_slice(&HIDE.to_be_bytes());
    wire.send()?;
    wire.receive()?;
    // Exactly one byte: bytes that an attacker inserted here would be treated as encrypted.
    match wire.unread_bytes().1 {
        b"S" => wire.start_tls(address),
        b"N" => Err(Error::invalid("the server has no TLS: use `?sslmode=disable`, or set up TLS")),
        _ => Err(protocol_error("asked for TLS")),
    }
}

fn text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
    out.push(0);
}

/// Returns the column of a row that begins at `offset`, and where it ends. `None`: the column is
/// NULL, or cut off by the end of the row.
#[inline]
fn column(received: &[u8], offset: usize, row_end: usize) -> (Option<Range<usize>>, usize) {
    let length = received.get(offset..row_end).and_then(|rest| rest.first_chunk());
    let length = length.map_or(-1, |bytes| i32::from_be_bytes(*bytes));
    match usize::try_from(length) {
        Ok(length) => {
            let end = offset + 4 + length;
            ((end <= row_end).then(|| offset + 4..end), end)
        }
        Err(_) => (None, offset + 4),
    }
}

#[inline]
fn first_column(received: &[u8], row: Range<usize>) -> Option<Range<usize>> {
    column(received, row.start + 2, row.end).0
}

fn split_columns(received: &[u8], row: Range<usize>) -> Vec<Option<Range<usize>>> {
    let mut offset = row.start + 2;
    let mut all = Vec::new();
    while offset < row.end {
        let (range, next) = column(received, offset, row.end);
        all.push(range);
        offset = next;
    }
    all
}

/// Returns the names of columns. Each column has its name, a zero, and 18 bytes.
fn column_names(contents: &[u8]) -> Vec<String> {
    let (mut names, mut rest) = (Vec::new(), contents.get(2..).unwrap_or_default());
    while let Some(end) = rest.iter().position(|byte| *byte == 0) {
        names.push(String::from_utf8_lossy(&rest[..end]).into_owned());
        rest = rest.get(end + 19..).unwrap_or_default();
    }
    names
}

/// Returns the error for a server's error message: each field is a letter and a text.
pub(crate) fn server_error(contents: &[u8]) -> Error {
    let field = |letter: u8| {
        let mut fields = contents.split(|byte| *byte == 0);
        let text = fields.find(|field| field.first() == Some(&letter)).unwrap_or_default();
        String::from_utf8_lossy(text.get(1..).unwrap_or_default()).into_owned()
    };
    let (state, words) = (field(b'C'), field(b'M'));
    let class = match state.as_str() {
        "40001" | "40P01" | "55P03" => ErrorClass::Conflict,
        "53100" => ErrorClass::Full,
        "53200" => ErrorClass::Memory,
        "58030" => ErrorClass::Io,
        "XX001" | "XX002" => ErrorClass::Corrupt,
        _ if state.starts_with("57") || state.starts_with("08") => ErrorClass::Unavailable,
        _ => ErrorClass::Other,
    };
    Error::new(class, format!("{words} ({state})"))
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
        (Connection { wire, complaint: None }, server)
    }

    fn message(kind: u8, contents: &[u8]) -> Vec<u8> {
        let length = (contents.len() as u32 + 4).to_be_bytes();
        [&[kind], &length[..], contents].concat()
    }

    #[test]
    fn an_answer_ends_with_its_end() {
        let row = message(b'D', b"\x00\x01\x00\x00\x00\x03abc");
        let sent = [&message(b'2', b""), &row, &message(b'C', b"SELECT 1\0"), &message(b'Z', b"I")];
        let sent: Vec<u8> = sent.into_iter().flatten().copied().collect();
        let (mut connection, mut server) = connected(&sent[..sent.len() - 2]);
        connection.wire.receive().unwrap();
        assert!(connection.parse_answer().unwrap().is_none(), "its end is not there yet");
        server.write_all(&sent[sent.len() - 2..]).unwrap();
        let value = connection.answer().unwrap().value.unwrap();
        assert_eq!(connection.bytes(value), b"abc");
        let failed = message(b'E', b"SERROR\0C40001\0Mcould not serialize access\0\0");
        server.write_all(&[failed, message(b'Z', b"E")].concat()).unwrap();
        let error = connection.answer().unwrap_err();
        assert_eq!(error.class, ErrorClass::Conflict);
        assert_eq!(error.message, "could not serialize access (40001)");
        drop(server);
        assert_eq!(connection.answer().unwrap_err().class, ErrorClass::Unavailable);
        assert!(connection.wire.is_gone());
    }

    /// The second column claims to end beyond the row, and beyond the bytes that were received.
    #[test]
    fn a_column_that_is_cut_off_is_none() {
        let row = b"\0\x02\0\0\0\x01a\x3f\xff\xff\xffb";
        assert_eq!(split_columns(row, 0..row.len()), [Some(6..7), None]);
        assert_eq!(first_column(b"\0", 0..1), None);
    }

    #[test]
    fn rows_of_text_have_names() {
        let names = b"\x00\x02name\0................../setting\0..................";
        let names = String::from_utf8_lossy(names).replace('/', "").into_bytes();
        let row = b"\x00\x02\x00\x00\x00\x01a\xff\xff\xff\xff";
        let sent = [message(b'T', &names), message(b'D', row), message(b'Z', b"I")].concat();
        let (mut connection, _server) = connected(&sent);
        let mut rows = Vec::new();
        let show = |names: &[String], row: &[Option<&str>]| {
            rows.push((names.to_vec(), row.iter().map(|one| one.map(str::to_owned)).collect()));
        };
        connection.query("SELECT", show).unwrap();
        let names = ["name".to_owned(), "setting".to_owned()].to_vec();
        assert_eq!(rows, [(names, vec![Some("a".to_owned()), None])]);
    }
}
