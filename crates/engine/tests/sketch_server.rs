//! A key-value server behind the two traits: a session is a connection, and
//! operations can be in flight. See
//! docs/decisions/0003-traits-carry-servers-and-drives.md.

#![expect(clippy::unwrap_used, reason = "a sketch for tests: it fails by panicking")]

use kvdyno_engine::{
    BatchKind, Capabilities, DataShape, Description, Direction, Durability, Engine, Error,
    ErrorClass, Location, Options, PlaceKind, Planning, PowerLoss, Range, Result, Session, Settled,
    Write, conformance,
};
use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, BufWriter, Read, Write as _};
use std::net::{TcpListener, TcpStream};
use std::ops::{Bound, ControlFlow};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

// ---- the wire: a request is an operation, a key and a value; an answer is found or not, and bytes

const GET: u8 = b'g';
const PUT: u8 = b'p';
const DELETE: u8 = b'd';
const SCAN_FORWARD: u8 = b'f';
const SCAN_REVERSE: u8 = b'r';

fn send_bytes(out: &mut impl std::io::Write, bytes: &[u8]) -> std::io::Result<()> {
    out.write_all(&(bytes.len() as u32).to_le_bytes())?;
    out.write_all(bytes)
}

fn receive_bytes(from: &mut impl Read, bytes: &mut Vec<u8>) -> std::io::Result<()> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    bytes.resize(u32::from_le_bytes(length) as usize, 0);
    from.read_exact(bytes)
}

fn receive_flag(from: &mut impl Read) -> std::io::Result<u8> {
    let mut flag = [0];
    from.read_exact(&mut flag)?;
    Ok(flag[0])
}

// ---- the server

type Records = Arc<Mutex<BTreeMap<Vec<u8>, Vec<u8>>>>;

/// Not a test but the server's process: this binary, started again by [`Server::start`].
#[test]
#[ignore = "started by the other tests"]
fn serve() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("\nlistening on {}", listener.local_addr().unwrap());
    let records = Records::default();
    for connection in listener.incoming() {
        let records = records.clone();
        // A connection ends by a client that goes away: nothing to report.
        std::thread::spawn(move || converse(connection.unwrap(), &records));
    }
}

fn converse(connection: TcpStream, records: &Records) -> std::io::Result<()> {
    connection.set_nodelay(true)?;
    let mut requests = BufReader::new(connection.try_clone()?);
    let mut answers = BufWriter::new(connection);
    let (mut key, mut value) = (Vec::new(), Vec::new());
    loop {
        // Answers wait while more requests are here: what makes pipelining pay.
        if requests.buffer().is_empty() {
            answers.flush()?;
        }
        let operation = receive_flag(&mut requests)?;
        receive_bytes(&mut requests, &mut key)?;
        receive_bytes(&mut requests, &mut value)?;
        let mut records = records.lock().unwrap();
        let record = match operation {
            GET => records.get(&key).cloned(),
            PUT => records.insert(key.clone(), value.clone()),
            DELETE => records.remove(&key),
            SCAN_FORWARD => Some(list(&records, Direction::Forward, &key, &value)),
            SCAN_REVERSE => Some(list(&records, Direction::Reverse, &key, &value)),
            _ => return Ok(()),
        };
        drop(records);
        answers.write_all(&[u8::from(record.is_some())])?;
        send_bytes(&mut answers, &record.unwrap_or_default())?;
    }
}

/// The records of a range, each as key and value. The value of the request is the limit, whether
/// there is a first key (the key of the request) and a last one, and that one.
fn list(
    records: &BTreeMap<Vec<u8>, Vec<u8>>,
    direction: Direction,
    from: &[u8],
    rest: &[u8],
) -> Vec<u8> {
    let (limit, rest) = rest.split_first_chunk().unwrap();
    let limit = usize::try_from(u64::from_le_bytes(*limit)).unwrap_or(usize::MAX);
    let (ends, until) = rest.split_first_chunk::<2>().unwrap();
    let all = Range::all(direction);
    let range = if ends[1] == 1 { all.until(until) } else { all };
    let from = if ends[0] == 1 { Bound::Included(from) } else { Bound::Unbounded };
    let mut listed = Vec::new();
    let mut send = |(key, value): (&Vec<u8>, &Vec<u8>)| {
        send_bytes(&mut listed, key).unwrap();
        send_bytes(&mut listed, value).unwrap();
    };
    let met = |record: &(&Vec<u8>, &Vec<u8>)| !range.ends_before(record.0);
    match direction {
        Direction::Forward => records
            .range::<[u8], _>((from, Bound::Unbounded))
            .take_while(met)
            .take(limit)
            .for_each(&mut send),
        Direction::Reverse => records
            .range::<[u8], _>((Bound::Unbounded, from))
            .rev()
            .take_while(met)
            .take(limit)
            .for_each(&mut send),
    }
    listed
}

struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start() -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "serve", "--ignored", "--nocapture"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map(Result::unwrap);
        let address = lines.find_map(|line| line.strip_prefix("listening on ").map(str::to_owned));
        Self { process, address: address.unwrap() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be gone already; then there is nothing to end.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

// ---- the adapter

struct Remote {
    address: String,
}

impl Engine for Remote {
    type Session<'e> = Connection;

    fn describe() -> Description {
        Description {
            name: "remote".to_owned(),
            title: "Toy server".to_owned(),
            version: "1".to_owned(),
            build: BTreeMap::new(),
            capabilities: Capabilities {
                places: vec![PlaceKind::Server],
                delete: true,
                scan_forward: true,
                scan_reverse: true,
                native_multiget: true,
                batch: BatchKind::Together,
                external_processes: true,
                pipelined: true,
                value_bytes_max: Some(u64::from(u32::MAX)),
                ..Capabilities::minimal([(
                    Durability::None,
                    PowerLoss::LosesAll,
                    "memory of the server",
                )])
            },
            options: Vec::new(),
            planning: Planning { space_factor: 0.0, write_factor: 0.0, ram_bytes_min: 0 },
        }
    }

    fn open(location: &Location, _options: &Options, _data: &DataShape) -> Result<Self> {
        let Location::Server(address) = location else {
            return Err(Error::new(ErrorClass::Invalid, "this engine is reached over the network"));
        };
        Ok(Self { address: address.clone() })
    }

    fn session(&self) -> Result<Connection> {
        Connection::open(&self.address)
    }

    fn settle(&self, _limit: Duration) -> Result<Settled> {
        Ok(Settled::at_once())
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn close(self) -> Result<()> {
        Ok(())
    }
}

struct Connection {
    out: BufWriter<TcpStream>,
    incoming: BufReader<TcpStream>,
    answer: Vec<u8>,
    /// Tickets of operations in flight, and whether each is a lookup, in the order they were sent,
    /// which is that of the answers.
    in_flight: VecDeque<(u32, bool)>,
}

impl Connection {
    fn open(address: &str) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self {
            incoming: BufReader::new(stream.try_clone()?),
            out: BufWriter::new(stream),
            answer: Vec::new(),
            in_flight: VecDeque::new(),
        })
    }

    fn request(&mut self, operation: u8, key: &[u8], value: &[u8]) -> Result<()> {
        self.out.write_all(&[operation])?;
        send_bytes(&mut self.out, key)?;
        Ok(send_bytes(&mut self.out, value)?)
    }

    /// The next answer, in the connection's buffer.
    fn receive(&mut self) -> Result<Option<&[u8]>> {
        self.out.flush()?;
        let exists = receive_flag(&mut self.incoming)? == 1;
        receive_bytes(&mut self.incoming, &mut self.answer)?;
        Ok(exists.then_some(self.answer.as_slice()))
    }
}

impl Session for Connection {
    fn submit_get(&mut self, ticket: u32, key: &[u8]) -> Result<()> {
        self.in_flight.push_back((ticket, true));
        self.request(GET, key, b"")
    }

    fn submit_put(&mut self, ticket: u32, key: &[u8], value: &[u8]) -> Result<()> {
        self.in_flight.push_back((ticket, false));
        self.request(PUT, key, value)
    }

    fn send(&mut self) -> Result<()> {
        Ok(self.out.flush()?)
    }

    fn complete(&mut self, mut done: impl FnMut(u32, Result<Option<&[u8]>>)) -> Result<usize> {
        let mut completed = 0;
        // The first may block; further ones only as far as they have arrived.
        while completed == 0 || !self.incoming.buffer().is_empty() {
            let Some((ticket, lookup)) = self.in_flight.pop_front() else { break };
            let value = self.receive()?.filter(|_| lookup);
            done(ticket, Ok(value));
            completed += 1;
        }
        Ok(completed)
    }

    fn get<R>(&mut self, key: &[u8], visit: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        self.request(GET, key, b"")?;
        self.receive().map(visit)
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.request(PUT, key, value)?;
        self.receive().map(drop)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.request(DELETE, key, b"")?;
        self.receive().map(drop)
    }

    fn scan(
        &mut self,
        range: Range<'_>,
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64> {
        let operation = match range.direction {
            Direction::Forward => SCAN_FORWARD,
            Direction::Reverse => SCAN_REVERSE,
        };
        let mut rest = range.limit.to_le_bytes().to_vec();
        rest.extend([u8::from(range.from.is_some()), u8::from(range.until.is_some())]);
        rest.extend_from_slice(range.until.unwrap_or_default());
        self.request(operation, range.from.unwrap_or_default(), &rest)?;
        let mut listed = self.receive()?.unwrap_or_default();
        let (mut key, mut value, mut shown) = (Vec::new(), Vec::new(), 0);
        while !listed.is_empty() {
            receive_bytes(&mut listed, &mut key)?;
            receive_bytes(&mut listed, &mut value)?;
            shown += 1;
            if visit(&key, &value).is_break() {
                break;
            }
        }
        Ok(shown)
    }

    fn multiget(
        &mut self,
        keys: &[&[u8]],
        mut visit: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<()> {
        keys.iter().try_for_each(|key| self.request(GET, key, b""))?;
        (0..keys.len()).try_for_each(|index| self.receive().map(|value| visit(index, value)))
    }

    fn write(&mut self, writes: &[Write<'_>]) -> Result<()> {
        writes.iter().try_for_each(|write| match *write {
            Write::Put { key, value } => self.request(PUT, key, value),
            Write::Delete { key } => self.request(DELETE, key, b""),
        })?;
        writes.iter().try_for_each(|_| self.receive().map(drop))
    }
}

#[test]
fn a_server_conforms() {
    // Kept to the end: a database must outlive the engine value that was opened on it.
    let mut servers = Vec::new();
    let report = conformance::run_at::<Remote>(|_check| {
        let server = Server::start();
        let location = Location::Server(server.address.clone());
        servers.push(server);
        Ok(location)
    });
    assert!(report.conforms(), "{report}");
}

// ---- what a continuous queue depth would add

#[test]
fn a_queue_of_gets_stays_full() {
    const GETS: u64 = 1000;
    const DEPTH: u64 = 16;
    let server = Server::start();
    let mut session = Connection::open(&server.address).unwrap();
    for number in 0..GETS {
        session.put(&number.to_be_bytes(), &number.to_le_bytes()).unwrap();
    }
    let (mut submitted, mut completed) = (0, 0);
    let mut numbers = [0; DEPTH as usize];
    while completed < GETS {
        while submitted < GETS && submitted - completed < DEPTH {
            let ticket = (submitted % DEPTH) as u32;
            numbers[ticket as usize] = submitted;
            session.submit_get(ticket, &submitted.to_be_bytes()).unwrap();
            submitted += 1;
        }
        session.send().unwrap();
        let count = session.complete(|ticket, value| {
            assert_eq!(value, Ok(Some(&numbers[ticket as usize].to_le_bytes()[..])));
        });
        completed += count.unwrap() as u64;
    }
    assert_eq!(session.complete(|_, _| ()).unwrap(), 0);
}
