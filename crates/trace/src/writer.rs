//! Writes a trace, request after request, in constant memory.
//!
//! Any zstd reads the file: the trace's header and the blocks' headers are in skippable frames, so
//! `zstd -dc` writes the blocks' bytes. The file gets its name only when it is whole.

use super::block::{self, REQUESTS_MAX};
use super::error::TraceError;
use super::header::{Header, Kind, TtlRange};
use super::request::{Op, Request};
use super::unnamed::Unnamed;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::io::{self, BufWriter, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};
use twox_hash::XxHash3_64;

/// The magic number of skippable frames.
pub(crate) const SKIPPED: u32 = 0x184d_2a5b;
/// The first bytes of the first skippable frame.
pub(crate) const MAGIC: &[u8; 8] = b"kvtrace\n";
/// Bytes of the first frame after its length: room for the header, which is written last.
pub(crate) const HEADER_BYTES: usize = 16 << 10;
/// Bytes of a block's header: requests, bytes packed, bytes unpacked, and a checksum of the latter.
pub(crate) const PREFACE_BYTES: usize = 20;

/// The limit of `multiple_of`, as a power of two: offsets and lengths may all be zero.
const MULTIPLE_BITS_MAX: u32 = 30;

/// A writer of a trace.
#[derive(Debug)]
pub struct TraceWriter {
    path: PathBuf,
    file: BufWriter<Unnamed>,
    header: Header,
    block: Vec<Request>,
    bytes: Vec<u8>,
    /// The time of the last request in the block before.
    before_ns: u64,
    /// The bitwise OR of all offsets and lengths on a drive.
    bits: u64,
}

impl TraceWriter {
    /// Creates a file that will be named `path`. The writer maintains the counts in `header`.
    pub fn create(path: &Path, header: Header) -> Result<Self, TraceError> {
        let file = Unnamed::create(path).map_err(TraceError::writing(path))?;
        let mut file = BufWriter::with_capacity(1 << 16, file);
        let room = vec![0; 8 + HEADER_BYTES];
        file.write_all(&room).map_err(TraceError::writing(path))?;
        Ok(Self {
            path: path.to_owned(),
            file,
            header,
            block: Vec::with_capacity(REQUESTS_MAX),
            bytes: Vec::new(),
            before_ns: 0,
            bits: 0,
        })
    }

    /// Returns the header, for fields that only the caller knows.
    pub fn header_mut(&mut self) -> &mut Header {
        &mut self.header
    }

    /// Returns a function that turns a failed write into an error of this file.
    pub(crate) fn failing(&self) -> impl Fn(io::Error) -> TraceError + use<> {
        let path = self.path.clone();
        move |error| TraceError::writing(&path)(error)
    }

    /// Adds a request. A time before the previous request's is replaced by that.
    pub fn write(&mut self, request: Request) -> Result<(), TraceError> {
        let header = &mut self.header;
        let at_ns = request.at_ns.max(header.span_ns);
        header.requests += 1;
        header.span_ns = at_ns;
        *header.ops.entry(request.op).or_default() += 1;
        header.joined += u64::from(request.joined);
        header.key_bytes_max = header.key_bytes_max.max(request.key_bytes);
        if request.ttl_ns > 0 {
            header.ttl = Some(TtlRange::with(header.ttl, request.ttl_ns));
        }
        // A discard may cover a whole drive, and needs no buffer.
        if request.op != Op::Discard {
            header.value_bytes_max = header.value_bytes_max.max(request.value_bytes);
        }
        let end = match header.kind {
            Kind::Keys => request.key.saturating_add(1),
            Kind::Blocks => {
                self.bits |= request.key | request.value_bytes;
                header.multiple_of = 1 << self.bits.trailing_zeros().min(MULTIPLE_BITS_MAX);
                request.key.saturating_add(request.value_bytes)
            }
        };
        header.keys = header.keys.max(end);
        self.block.push(Request { at_ns, ..request });
        if self.block.len() == REQUESTS_MAX {
            self.end_block().map_err(TraceError::writing(&self.path))?;
        }
        Ok(())
    }

    /// Ends the file and names it. A file that had the name before is replaced.
    pub fn finish(self) -> Result<Header, TraceError> {
        let path = self.path.clone();
        self.end().map_err(TraceError::writing(&path))
    }

    fn end(mut self) -> io::Result<Header> {
        if !self.block.is_empty() {
            self.end_block()?;
        }
        self.file.write_all(&skippable_frame(&[0; PREFACE_BYTES]))?;
        let mut file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&skippable_frame(&encode_header(&self.header)?))?;
        file.call(&self.path)?;
        Ok(self.header)
    }

    fn end_block(&mut self) -> io::Result<()> {
        self.bytes.clear();
        block::encode(&self.block, self.before_ns, &mut self.bytes);
        let packed = compress_to_vec(self.bytes.as_slice(), CompressionLevel::Fastest);
        let mut preface = Vec::with_capacity(PREFACE_BYTES);
        for number in [self.block.len(), packed.len(), self.bytes.len()] {
            preface.extend_from_slice(&(number as u32).to_le_bytes());
        }
        preface.extend_from_slice(&XxHash3_64::oneshot(&self.bytes).to_le_bytes());
        self.file.write_all(&skippable_frame(&preface))?;
        self.file.write_all(&packed)?;
        self.before_ns = self.block.last().map_or(0, |request| request.at_ns);
        self.block.clear();
        Ok(())
    }
}

fn skippable_frame(payload: &[u8]) -> Vec<u8> {
    let mut frame = SKIPPED.to_le_bytes().to_vec();
    frame.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    frame.extend_from_slice(payload);
    frame
}

/// Encodes the header, padded with spaces to its full room.
fn encode_header(header: &Header) -> io::Result<Vec<u8>> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(serde_json::to_vec(header)?);
    if bytes.len() > HEADER_BYTES {
        return Err(io::Error::other("the header is too long"));
    }
    bytes.resize(HEADER_BYTES, b' ');
    Ok(bytes)
}
