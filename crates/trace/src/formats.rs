//! The formats that can be imported. Each has a reader that returns one record after the other.

mod blockio;
mod cachelib;
mod fio_iolog;
mod in_order;
mod msr;
mod oracle_general;
mod rocksdb;
#[cfg(test)]
mod tests;
mod twitter;

use super::error::TraceError;
use super::header::{Kind, Times};
use super::input::{Input, Lines, Wrong};
use super::request::Op;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A format that traces come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Queries of `RocksDB`, as its tracer and `db_bench --trace_file` record them.
    Rocksdb,
    /// Twitter's cache traces of 2020.
    Twitter,
    /// `CacheLib`'s traces of key-value caches, of 2022 and later.
    Cachelib,
    /// libCacheSim's binary format.
    OracleGeneral,
    /// The block traces of Microsoft Research in Cambridge.
    Msr,
    /// The log that fio writes with `write_iolog`, version 2 or 3.
    FioIolog,
    /// `blockio.csv`, as `kvdyno run --io-log` writes it.
    Kvdyno,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 7] = [
        Self::Rocksdb,
        Self::Twitter,
        Self::Cachelib,
        Self::OracleGeneral,
        Self::Msr,
        Self::FioIolog,
        Self::Kvdyno,
    ];

    /// Returns the format's name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rocksdb => "rocksdb",
            Self::Twitter => "twitter",
            Self::Cachelib => "cachelib",
            Self::OracleGeneral => "oracle-general",
            Self::Msr => "msr",
            Self::FioIolog => "fio-iolog",
            Self::Kvdyno => "kvdyno",
        }
    }

    /// Describes the fields of a record, for error messages.
    pub(crate) fn record(self) -> &'static str {
        match self {
            Self::Rocksdb => "records of RocksDB's tracer, with a time in microseconds",
            Self::Twitter => "timestamp,key,key size,value size,client id,operation,TTL",
            Self::Cachelib => "key,op,size,op_count,key_size and op_time",
            Self::OracleGeneral => {
                "records of 24 bytes: u32 seconds, u64 object, u32 bytes, i64 next request"
            }
            Self::Msr => "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime",
            Self::FioIolog => "[microseconds] file action offset length",
            Self::Kvdyno => "issued_unix_ns,process,name,owner,device,kind,...",
        }
    }

    /// Returns the target of the format's requests.
    pub fn kind(self) -> Kind {
        match self {
            Self::Msr | Self::FioIolog | Self::Kvdyno => Kind::Blocks,
            _ => Kind::Keys,
        }
    }

    /// Returns the format's reader, which has read the file's front where there is one.
    pub(crate) fn open(self, input: Input) -> Result<Box<dyn Importer>, TraceError> {
        Ok(match self {
            Self::Rocksdb => Box::new(rocksdb::Rocksdb::open(input)?),
            Self::Twitter => Box::new(LineImporter::new(input, twitter::Twitter)),
            Self::Cachelib => Box::new(LineImporter::new(input, cachelib::Cachelib::default())),
            Self::OracleGeneral => Box::new(oracle_general::OracleGeneral::open(input)),
            Self::Msr => {
                Box::new(in_order::InOrder::new(LineImporter::new(input, msr::Msr::default())))
            }
            Self::FioIolog => Box::new(LineImporter::new(input, fio_iolog::FioIolog::default())),
            Self::Kvdyno => {
                let lines = LineImporter::new(input, blockio::BlockIo::default());
                Box::new(in_order::InOrder::new(lines))
            }
        })
    }
}

/// Limits of the names of unknown operations: characters of each, and how many are listed.
const NAME_MAX: usize = 20;
const NAMES_MAX: usize = 16;

/// One request as the source has it. Readers reuse one value, so that its key keeps its memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RawRequest {
    /// The time by the source's clock.
    pub(crate) at_ns: u64,
    pub(crate) op: Op,
    pub(crate) joined: bool,
    /// The bytes by which keys are distinguished and sorted.
    pub(crate) key: Vec<u8>,
    pub(crate) key_bytes: u32,
    /// The offset of the first byte, of a request to a drive.
    pub(crate) offset: u64,
    pub(crate) value_bytes: u64,
    pub(crate) client: u32,
    /// The time to live of the record that a write stores; 0: until it is removed.
    pub(crate) ttl_ns: u64,
    /// The number of times that the request was made in succession.
    pub(crate) times: u64,
}

impl Default for RawRequest {
    fn default() -> Self {
        Self {
            at_ns: 0,
            op: Op::Get,
            joined: false,
            key: Vec::new(),
            key_bytes: 0,
            offset: 0,
            value_bytes: 0,
            client: 0,
            ttl_ns: 0,
            times: 1,
        }
    }
}

impl RawRequest {
    /// Checks that the range of a drive's request can be on a drive: the kernel's offsets have 63
    /// bits.
    fn check_range(&self) -> Result<(), Wrong> {
        let of_drive = matches!(self.op, Op::Read | Op::Write | Op::Discard);
        let end = self.offset.checked_add(self.value_bytes);
        if !of_drive || end.is_some_and(|end| i64::try_from(end).is_ok()) {
            return Ok(());
        }
        let (op, offset, bytes) = (self.op.name(), self.offset, self.value_bytes);
        let text = format!("a {op} of {bytes} bytes at offset {offset}");
        Err(Wrong::new(text, "one that ends below 8 EiB"))
    }
}

/// Returns the time to live that a request writes, in nanoseconds; 0 for a read, whatever its field
/// says.
fn parse_ttl(op: Op, parse: impl FnOnce(&'static str) -> Result<u64, Wrong>) -> Result<u64, Wrong> {
    if !op.writes() {
        return Ok(0);
    }
    Ok(parse("a time to live in whole seconds")?.saturating_mul(1_000_000_000))
}

/// Counts of records that are not plain requests.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    pub(crate) left_out: BTreeMap<String, u64>,
    pub(crate) mapped: BTreeMap<String, u64>,
    pub(crate) cut_short: Option<String>,
    /// The last line, which is a request and has no end.
    pub(crate) unended: Option<String>,
}

impl Notes {
    /// Adds the notes of later lines.
    fn add(&mut self, later: Self) {
        for (counts, more) in
            [(&mut self.left_out, later.left_out), (&mut self.mapped, later.mapped)]
        {
            for (what, count) in more {
                add(counts, &what, count);
            }
        }
        self.cut_short = later.cut_short.or(self.cut_short.take());
        self.unended = later.unended.or(self.unended.take());
    }

    /// Counts a record that is left out, under one of a few fixed names.
    pub(crate) fn count_left_out(&mut self, what: &str) {
        add(&mut self.left_out, what, 1);
    }

    /// Counts an operation without a counterpart under its name, as long as there are few names.
    pub(crate) fn count_unknown(&mut self, operation: &[u8]) {
        let text = String::from_utf8_lossy(operation);
        let name: String = text.chars().take(NAME_MAX).flat_map(char::escape_default).collect();
        let has_room = self.left_out.contains_key(&name) || self.left_out.len() < NAMES_MAX;
        self.count_left_out(if has_room && !name.is_empty() {
            &name
        } else {
            "unnamed operations"
        });
    }

    pub(crate) fn count_mapped(&mut self, from: &str, to: Op, times: u64) {
        add(&mut self.mapped, &format!("{from} as {}", to.name()), times);
    }
}

fn add(counts: &mut BTreeMap<String, u64>, what: &str, more: u64) {
    match counts.get_mut(what) {
        Some(count) => *count += more,
        None => _ = counts.insert(what.to_owned(), more),
    }
}

/// Reads requests.
pub(crate) trait Importer {
    /// Reads the next request into `request`. False: there is none left.
    fn next(&mut self, request: &mut RawRequest, notes: &mut Notes) -> Result<bool, TraceError>;

    /// The kind of times.
    fn times(&self) -> Times;
}

/// The kind of a line.
#[derive(Debug, PartialEq)]
pub(crate) enum Line {
    /// A request.
    Request,
    /// Not a request: column names, a file that is opened.
    Aside,
    /// A record without a counterpart here, and the name that it is counted under.
    LeftOut(&'static str),
}

/// Reads a format that has one request on each line.
pub(crate) trait LineFormat {
    /// Reads one line into `request`.
    fn read(
        &mut self,
        line: &[u8],
        request: &mut RawRequest,
        notes: &mut Notes,
    ) -> Result<Line, Wrong>;

    /// The kind of times.
    fn times(&self) -> Times;

    /// Whether the writer of the format ends each line: a last one without an end is a part.
    fn ends_lines(&self) -> bool {
        false
    }
}

/// An importer of lines.
struct LineImporter<R> {
    lines: Lines,
    reader: R,
}

impl<R: LineFormat> LineImporter<R> {
    fn new(input: Input, reader: R) -> Self {
        Self { lines: input.lines(), reader }
    }

    /// Notes that a line has no end. False: it is a part of a line, and no request.
    fn accept_end(&self, notes: &mut Notes) -> bool {
        if !self.lines.is_cut_short() {
            return true;
        }
        let position = self.lines.position();
        let is_part = self.reader.ends_lines();
        if is_part {
            notes.cut_short = Some(format!("{position} is truncated: it has no line end"));
        } else {
            notes.unended = Some(position.to_string());
        }
        !is_part
    }
}

impl<R: LineFormat> Importer for LineImporter<R> {
    fn next(&mut self, request: &mut RawRequest, notes: &mut Notes) -> Result<bool, TraceError> {
        request.times = 1;
        while let Some(line) = self.lines.next()? {
            match self.reader.read(line, request, notes) {
                Ok(Line::Request) => {
                    if let Err(wrong) = request.check_range() {
                        return Err(self.lines.malformed_error(wrong.found, &wrong.wanted));
                    }
                    return Ok(self.accept_end(notes));
                }
                Ok(Line::Aside) => {}
                Ok(Line::LeftOut(what)) => notes.count_left_out(what),
                Err(wrong) if self.lines.is_cut_short() => {
                    let (position, request) = (self.lines.position(), wrong.found);
                    notes.cut_short = Some(format!("{position} is truncated: {request}"));
                    return Ok(false);
                }
                Err(wrong) => return Err(self.lines.malformed_error(wrong.found, &wrong.wanted)),
            }
        }
        Ok(false)
    }

    fn times(&self) -> Times {
        self.reader.times()
    }
}

/// Splits a line at its commas into `N` fields.
fn fields<'l, const N: usize>(line: &'l [u8], names: &str) -> Result<[&'l [u8]; N], Wrong> {
    let (fields, count) = Lines::split_fields::<N>(line, b',');
    if count < N {
        return Err(Wrong::new(format!("{count} of {N} fields"), names));
    }
    Ok(fields)
}

/// Assigns numbers to the names of disks or files.
#[derive(Debug, Default)]
struct Names(Vec<Vec<u8>>);

impl Names {
    /// The most names of one trace: more disks or files than any machine has.
    const MAX: usize = 65_536;

    fn number(&mut self, name: &[u8]) -> Result<u32, Wrong> {
        if let Some(index) = self.0.iter().position(|other| other == name) {
            return Ok(index as u32);
        }
        if self.0.len() == Self::MAX {
            let text = format!("more than {} disks or files", Self::MAX);
            return Err(Wrong::new(text, "a trace of one machine"));
        }
        self.0.push(name.to_vec());
        Ok(self.0.len() as u32 - 1)
    }
}
