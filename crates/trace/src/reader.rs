//! Reads a trace, block after block, in constant memory.

use super::block::{self, BYTES_MAX, REQUESTS_MAX};
use super::error::{At, TraceError, quote_bytes};
use super::header::{Header, VERSION};
use super::request::Request;
use super::writer::{HEADER_BYTES, MAGIC, PREFACE_BYTES, SKIPPED};
use ruzstd::decoding::FrameDecoder;
use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read};
use std::path::Path;
use twox_hash::XxHash3_64;

/// The header of a block.
struct Preface {
    count: usize,
    packed: usize,
    bytes: usize,
    sum: u64,
}

/// A reader of a trace.
pub struct TraceReader {
    name: String,
    file: BufReader<File>,
    /// Bytes read.
    at: u64,
    header: Header,
    decoder: FrameDecoder,
    packed: Vec<u8>,
    bytes: Vec<u8>,
    /// The number of requests returned so far.
    count: u64,
    before_ns: u64,
    ended: bool,
}

impl TraceReader {
    /// Opens a file and reads its header.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let name = path.display().to_string();
        let file = File::open(path).map_err(TraceError::reading(&name))?;
        let mut file = BufReader::with_capacity(1 << 16, file);
        let mut front = vec![0; 8 + HEADER_BYTES];
        let read = read_up_to(&mut file, &mut front).map_err(TraceError::reading(&name))?;
        let header = parse_header(&name, &front[..read])?;
        Ok(Self {
            name,
            file,
            at: read as u64,
            header,
            decoder: FrameDecoder::new(),
            packed: Vec::new(),
            bytes: Vec::new(),
            count: 0,
            before_ns: 0,
            ended: false,
        })
    }

    /// Returns the trace's header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Replaces the contents of `requests` with the next block. False: there are none left.
    pub fn next_block(&mut self, requests: &mut Vec<Request>) -> Result<bool, TraceError> {
        requests.clear();
        if self.ended {
            return Ok(false);
        }
        let offset = self.at;
        let Preface { count, packed, bytes, sum } = self.preface()?;
        if count == 0 {
            self.ended = true;
            if self.count != self.header.requests {
                let (read_so_far, announced) = (self.count, self.header.requests);
                let content = format!("the end after {read_so_far} requests");
                let expected = format!("{announced}, the number in the header");
                return Err(TraceError::malformed(&self.name, At::Byte(offset), content, expected));
            }
            return Ok(false);
        }
        let offset = self.at;
        self.packed.resize(packed, 0);
        let mut room = std::mem::take(&mut self.packed);
        let read = self.read_whole(&mut room);
        self.packed = room;
        read?;
        self.bytes.resize(bytes, 0);
        let unpacked = self.decoder.decode_all(&self.packed, &mut self.bytes);
        let whole = unpacked.is_ok_and(|unpacked| unpacked == bytes)
            && XxHash3_64::oneshot(&self.bytes) == sum
            && block::decode(&self.bytes, count, self.before_ns, requests).is_some()
            && self.has_keys(requests);
        if !whole {
            requests.clear();
            return Err(self.damage_error(offset, "a block with its checksum"));
        }
        self.before_ns = requests.last().map_or(0, |request| request.at_ns);
        self.count += count as u64;
        Ok(true)
    }

    /// Returns a checksum of all requests, computed from the blocks' checksums: equal digests mean
    /// equal requests. It consumes the reader.
    pub fn digest(mut self) -> Result<String, TraceError> {
        let mut sums = Vec::new();
        loop {
            let preface = self.preface()?;
            sums.extend_from_slice(&(preface.count as u64).to_le_bytes());
            sums.extend_from_slice(&preface.sum.to_le_bytes());
            if preface.count == 0 {
                return Ok(format!("{:016x}", XxHash3_64::oneshot(&sums)));
            }
            let packed = preface.packed as i64;
            self.file.seek_relative(packed).map_err(TraceError::reading(&self.name))?;
            self.at += packed as u64;
        }
    }

    fn preface(&mut self) -> Result<Preface, TraceError> {
        let mut preface = [0; 8 + PREFACE_BYTES];
        let offset = self.at;
        self.read_whole(&mut preface)?;
        let number = |offset: usize| {
            let bytes =
                [preface[offset], preface[offset + 1], preface[offset + 2], preface[offset + 3]];
            u32::from_le_bytes(bytes)
        };
        if number(0) != SKIPPED || number(4) as usize != PREFACE_BYTES {
            return Err(self.damage_error(offset, "the beginning of a block"));
        }
        let [count, packed, bytes] = [8, 12, 16].map(|offset| number(offset) as usize);
        if count > REQUESTS_MAX || bytes > BYTES_MAX || packed > BYTES_MAX {
            return Err(self.damage_error(offset, "a block of a valid size"));
        }
        let sum = u64::from(number(20)) | u64::from(number(24)) << 32;
        Ok(Preface { count, packed, bytes, sum })
    }

    fn read_whole(&mut self, room: &mut [u8]) -> Result<(), TraceError> {
        let read = read_up_to(&mut self.file, room).map_err(TraceError::reading(&self.name))?;
        self.at += read as u64;
        if read < room.len() {
            let expected = format!("{} more bytes of a trace", room.len() - read);
            let offset = At::Byte(self.at);
            return Err(TraceError::malformed(&self.name, offset, "the end of the file", expected));
        }
        Ok(())
    }

    /// Checks that all keys are below the header's bound: readers allocate memory for so many.
    fn has_keys(&self, requests: &[Request]) -> bool {
        let keys = self.header.keys;
        self.header.multiple_of > 0 || requests.iter().all(|request| request.key < keys)
    }

    fn damage_error(&self, offset: u64, expected: &str) -> TraceError {
        TraceError::malformed(&self.name, At::Byte(offset), "other bytes", expected)
    }
}

/// Fills `room` from `from` and returns the number of bytes read: fewer only at the end.
pub(crate) fn read_up_to(from: &mut impl Read, room: &mut [u8]) -> io::Result<usize> {
    let mut read = 0;
    while read < room.len() {
        match from.read(&mut room[read..]) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}

/// The fields of every version of a header.
#[derive(serde::Deserialize)]
struct Versioned {
    version: u32,
}

fn parse_header(name: &str, front: &[u8]) -> Result<Header, TraceError> {
    let text = front.get(8..).and_then(|behind| behind.strip_prefix(MAGIC));
    let whole = front.starts_with(&SKIPPED.to_le_bytes()) && front.len() == 8 + HEADER_BYTES;
    let Some(text) = text.filter(|_| whole) else {
        let content = quote_bytes(&front[..front.len().min(16)]);
        let expected = "a trace that `kvdyno trace import` wrote";
        return Err(TraceError::malformed(name, At::Byte(0), content, expected));
    };
    let refused = |error: serde_json::Error| {
        TraceError::malformed(name, At::Byte(16), error.to_string(), "the header of a trace")
    };
    let Versioned { version } = serde_json::from_slice(text).map_err(refused)?;
    if version != VERSION {
        let content = format!("a trace of version {version}");
        let expected = format!("version {VERSION}; import it again");
        return Err(TraceError::malformed(name, At::Byte(16), content, expected));
    }
    serde_json::from_slice(text).map_err(refused)
}
