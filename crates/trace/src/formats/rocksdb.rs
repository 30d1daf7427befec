//! Queries of `RocksDB`: records of u64 microseconds, u8 kind, u32 length and a payload,
//! little-endian. A write is a whole write batch; since version 0.2 a payload begins with a bitmap
//! of its fields. (`RocksDB`, `trace_replay/trace_replay.h`, `db/write_batch.cc`)

use super::{Importer, Notes, RawRequest};
use crate::error::{TraceError, quote_bytes};
use crate::header::Times;
use crate::input::{Bytes, Input, ReadOutcome, Wrong};
use crate::request::Op;
use crate::varint;
use std::collections::VecDeque;

const FRONT: usize = 13;
/// The most bytes of a record's payload: `RocksDB` refuses batches of 4 GiB, and nobody traces
/// batches like that.
const PAYLOAD_MAX: usize = 1 << 30;
/// The most requests of one record; all of them are in memory together.
const REQUESTS_MAX: usize = 1 << 22;
const MAGIC: &str = "feedcafedeadbeef";

/// The kinds of records that are read.
const BEGIN: u8 = 1;
const END: u8 = 2;
const WRITE: u8 = 3;
const GET: u8 = 4;
const SEEK: u8 = 5;
const SEEK_FOR_PREV: u8 = 6;
const MULTIGET: u8 = 13;

pub(super) struct Rocksdb {
    bytes: Bytes,
    /// Payloads begin with a bitmap of their fields.
    mapped: bool,
    payload: Vec<u8>,
    /// The remaining requests of the current record.
    waiting: VecDeque<PendingRequest>,
    ended: bool,
}

struct PendingRequest {
    at_ns: u64,
    op: Op,
    joined: bool,
    key: Vec<u8>,
    key_bytes: u32,
    value_bytes: u64,
}

/// A record's front.
struct Record {
    at: u64,
    at_ns: u64,
    kind: u8,
}

impl Rocksdb {
    pub(super) fn open(input: Input) -> Result<Self, TraceError> {
        let mut this = Self {
            bytes: input.bytes(),
            mapped: true,
            payload: Vec::new(),
            waiting: VecDeque::new(),
            ended: false,
        };
        let header = this.record(&mut Notes::default())?;
        let header = header.filter(|record| record.kind == BEGIN);
        let text = String::from_utf8_lossy(&this.payload).into_owned();
        let mut words = text.trim_end().split('\t');
        let version = words.nth(1).and_then(|word| word.strip_prefix("Trace Version: "));
        let is_one = header.is_some() && text.starts_with(MAGIC);
        this.mapped = match version.filter(|_| is_one) {
            Some("0.1") => false,
            Some("0.2") => true,
            Some(other) => {
                let version_text = format!("trace version {}", quote_bytes(other.as_bytes()));
                return Err(this
                    .bytes
                    .malformed_error(0, Wrong::new(version_text, "version 0.1 or 0.2")));
            }
            None => {
                let wrong = Wrong::new(
                    quote_bytes(text.as_bytes()),
                    format!("a record that begins with `{MAGIC}`: a query trace of RocksDB"),
                );
                return Err(this.bytes.malformed_error(0, wrong));
            }
        };
        Ok(this)
    }

    /// Reads the next record, and its payload into `payload`. `None`: no further whole record.
    fn record(&mut self, notes: &mut Notes) -> Result<Option<Record>, TraceError> {
        let offset = self.bytes.position();
        let mut front = [0; FRONT];
        match self.bytes.fill(&mut front)? {
            ReadOutcome::Whole => {}
            ReadOutcome::End => return Ok(None),
            ReadOutcome::Part(part) => {
                let cut =
                    format!("the record at byte {offset} has {part} of its first {FRONT} bytes");
                notes.cut_short = Some(cut);
                return Ok(None);
            }
        }
        let [t0, t1, t2, t3, t4, t5, t6, t7, kind, l0, l1, l2, l3] = front;
        let time_us = u64::from_le_bytes([t0, t1, t2, t3, t4, t5, t6, t7]);
        let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        if length > PAYLOAD_MAX {
            let length_text = format!("a record of {length} bytes");
            return Err(self
                .bytes
                .malformed_error(offset, Wrong::new(length_text, "at most 1 GiB")));
        }
        if let ReadOutcome::Part(part) = self.bytes.fill_vec(&mut self.payload, length)? {
            let cut =
                format!("the record at byte {offset} has {part} of its {length} bytes of payload");
            notes.cut_short = Some(cut);
            return Ok(None);
        }
        Ok(Some(Record { at: offset, at_ns: time_us.saturating_mul(1_000), kind }))
    }

    /// Queues the requests of a record, whose payload is in `payload`.
    fn add_record(&mut self, record: &Record, notes: &mut Notes) -> Result<(), Wrong> {
        let mut payload = Payload { rest: &self.payload };
        if self.mapped && !matches!(record.kind, BEGIN | END) {
            payload.read_array::<8>("what is in the payload")?;
        }
        let (at_ns, waiting) = (record.at_ns, &mut self.waiting);
        match record.kind {
            WRITE => {
                let batch = if self.mapped {
                    payload.read_prefixed("a write batch")?
                } else {
                    payload.rest
                };
                Batch { rest: Payload { rest: batch }, at_ns, joined: false }
                    .queue(waiting, notes)?;
            }
            GET | SEEK | SEEK_FOR_PREV => {
                let family = u32::from_le_bytes(payload.read_array("a column family")?);
                let key = payload.read_prefixed("a key")?;
                let op = match record.kind {
                    GET => Op::Get,
                    SEEK => Op::Scan,
                    _ => Op::ScanReverse,
                };
                waiting.push_back(PendingRequest::new(at_ns, op, family, key, 0));
            }
            MULTIGET => {
                let count = u32::from_le_bytes(payload.read_array("how many keys")?);
                let mut families = Payload { rest: payload.read_prefixed("column families")? };
                let mut keys = Payload { rest: payload.read_prefixed("keys")? };
                for number in 0..count {
                    let family = u32::from_le_bytes(families.read_array("a column family")?);
                    let key = keys.read_prefixed("a key")?;
                    let get = PendingRequest::new(at_ns, Op::Get, family, key, 0);
                    waiting.push_back(PendingRequest { joined: number > 0, ..get });
                }
            }
            END => self.ended = true,
            BEGIN => notes.count_left_out("a second header"),
            other => {
                let expected = "a write, get, seek or multiget: a query trace";
                return Err(Wrong::new(format!("a record of kind {other}"), expected));
            }
        }
        Ok(())
    }
}

impl Importer for Rocksdb {
    fn next(&mut self, request: &mut RawRequest, notes: &mut Notes) -> Result<bool, TraceError> {
        request.times = 1;
        loop {
            if let Some(next) = self.waiting.pop_front() {
                request.at_ns = next.at_ns;
                request.op = next.op;
                request.joined = next.joined;
                request.key = next.key;
                request.key_bytes = next.key_bytes;
                request.value_bytes = next.value_bytes;
                return Ok(true);
            }
            if self.ended {
                return Ok(false);
            }
            let Some(record) = self.record(notes)? else {
                let missing = || "the last record is missing: the writer was stopped".to_owned();
                notes.cut_short.get_or_insert_with(missing);
                self.ended = true;
                return Ok(false);
            };
            self.add_record(&record, notes)
                .map_err(|wrong| self.bytes.malformed_error(record.at, wrong))?;
        }
    }

    fn times(&self) -> Times {
        Times::Exact
    }
}

impl PendingRequest {
    /// Builds a request. Its key begins with the column family: families have separate keys.
    fn new(at_ns: u64, op: Op, family: u32, key: &[u8], value_bytes: usize) -> Self {
        let key_bytes = key.len() as u32;
        let key = [&family.to_be_bytes(), key].concat();
        Self { at_ns, op, joined: false, key, key_bytes, value_bytes: value_bytes as u64 }
    }
}

/// A payload that is read from its front.
struct Payload<'p> {
    rest: &'p [u8],
}

impl<'p> Payload<'p> {
    fn read_array<const N: usize>(&mut self, what: &str) -> Result<[u8; N], Wrong> {
        let (head, rest) =
            self.rest.split_first_chunk::<N>().ok_or_else(|| self.short_payload_error(what))?;
        self.rest = rest;
        Ok(*head)
    }

    fn read_varint(&mut self, what: &str) -> Result<u64, Wrong> {
        varint::decode(&mut self.rest).ok_or_else(|| self.short_payload_error(what))
    }

    /// Reads a length and that many bytes.
    fn read_prefixed(&mut self, what: &str) -> Result<&'p [u8], Wrong> {
        let length = self.read_varint(what)? as usize;
        let (head, rest) =
            self.rest.split_at_checked(length).ok_or_else(|| self.short_payload_error(what))?;
        self.rest = rest;
        Ok(head)
    }

    fn short_payload_error(&self, what: &str) -> Wrong {
        let text = format!("a record that has {} bytes left", self.rest.len());
        Wrong::new(text, format!("{what} in them"))
    }
}

/// A write batch: u64 sequence, u32 count, records of a tag and its slices.
struct Batch<'p> {
    rest: Payload<'p>,
    at_ns: u64,
    /// A request of the batch was queued already.
    joined: bool,
}

impl Batch<'_> {
    fn queue(&mut self, to: &mut VecDeque<PendingRequest>, notes: &mut Notes) -> Result<(), Wrong> {
        self.rest.read_array::<12>("the front of a write batch")?;
        while let Some(tag) = self.rest.rest.first().copied() {
            self.rest.rest = &self.rest.rest[1..];
            // Tags of column families have the same meanings as those without.
            let (tag, family) = match tag {
                0x4..=0x6 => (tag - 0x4, self.rest.read_varint("a column family")?),
                0x8 => (0x7, self.rest.read_varint("a column family")?),
                0xe => (0xf, self.rest.read_varint("a column family")?),
                0x17 => (0x16, self.rest.read_varint("a column family")?),
                _ => (tag, 0),
            };
            self.record(tag, family as u32, to, notes)?;
            if to.len() > REQUESTS_MAX {
                let batch = format!("a write batch of more than {REQUESTS_MAX} requests");
                return Err(Wrong::new(batch, "a smaller one"));
            }
        }
        Ok(())
    }

    fn record(
        &mut self,
        tag: u8,
        family: u32,
        to: &mut VecDeque<PendingRequest>,
        notes: &mut Notes,
    ) -> Result<(), Wrong> {
        let op = match tag {
            0x0 => Op::Delete,
            0x1 => Op::Put,
            0x2 => {
                notes.count_mapped("merge", Op::Rmw, 1);
                Op::Rmw
            }
            0x3 => return self.rest.read_prefixed("a remark").map(|_| ()),
            0x7 => {
                notes.count_mapped("single delete", Op::Delete, 1);
                Op::Delete
            }
            // Marks of transactions, some with a name.
            0x9 | 0xd | 0x12 | 0x13 => return Ok(()),
            0xa..=0xc => return self.rest.read_prefixed("a transaction's name").map(|_| ()),
            0xf => {
                self.rest.read_prefixed("a key")?;
                self.rest.read_prefixed("a key")?;
                notes.count_left_out("a range of keys deleted");
                return Ok(());
            }
            0x16 => {
                notes.count_mapped("put of columns", Op::Put, 1);
                Op::Put
            }
            other => {
                let expected = "a put, delete, merge or mark of a transaction";
                return Err(Wrong::new(format!("tag {other:#x} in a write batch"), expected));
            }
        };
        let key = self.rest.read_prefixed("a key")?;
        let value = if op == Op::Delete { 0 } else { self.rest.read_prefixed("a value")?.len() };
        let joined = std::mem::replace(&mut self.joined, true);
        to.push_back(PendingRequest {
            joined,
            ..PendingRequest::new(self.at_ns, op, family, key, value)
        });
        Ok(())
    }
}
