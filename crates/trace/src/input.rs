//! A file to import from, packed or not, as lines or as bytes with their places.

use super::error::{At, TraceError, quote_bytes};
use super::reader::read_up_to;
use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// Bytes of the longest line: a key, and numbers.
const LINE_MAX: u64 = 1 << 20;

/// What is read, and its name in messages.
pub(crate) struct Input {
    pub(crate) name: String,
    from: Box<dyn BufRead>,
}

impl Input {
    /// A file; `-`: what comes on standard input. Packed by gzip or zstd, it is unpacked.
    pub(crate) fn open(path: &Path) -> Result<Self, TraceError> {
        if path == Path::new("-") {
            let from = BufReader::with_capacity(1 << 16, io::stdin());
            return Self::new("standard input".to_owned(), from);
        }
        let name = path.display().to_string();
        let file = File::open(path).map_err(TraceError::reading(&name))?;
        Self::new(name.clone(), BufReader::with_capacity(1 << 16, file))
    }

    pub(crate) fn new(name: String, mut from: impl BufRead + 'static) -> Result<Self, TraceError> {
        let front = from.fill_buf().map_err(TraceError::reading(&name))?;
        let from: Box<dyn BufRead> = match front {
            [0x1f, 0x8b, ..] => Box::new(BufReader::new(MultiGzDecoder::new(from))),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => {
                let frames = Frames { from, decoder: FrameDecoder::new(), begun: false };
                Box::new(BufReader::with_capacity(1 << 16, frames))
            }
            _ => Box::new(from),
        };
        Ok(Self { name, from })
    }

    pub(crate) fn lines(self) -> Lines {
        Lines { name: self.name, from: self.from, line: Vec::new(), number: 0, ended: true }
    }

    pub(crate) fn bytes(self) -> Bytes {
        Bytes { name: self.name, from: self.from, at: 0 }
    }
}

/// Any number of zstd frames, one behind the other.
struct Frames<R> {
    from: R,
    decoder: FrameDecoder,
    begun: bool,
}

impl<R: BufRead> Frames<R> {
    /// False: no more.
    fn begin(&mut self) -> io::Result<bool> {
        loop {
            if self.from.fill_buf()?.is_empty() {
                return Ok(false);
            }
            match self.decoder.init(&mut self.from) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    io::copy(&mut (&mut self.from).take(length.into()), &mut io::sink())?;
                }
                Err(error) => return Err(io::Error::other(error.to_string())),
            }
        }
    }

    fn check(&self) -> io::Result<()> {
        let expected = self.decoder.get_checksum_from_data();
        if expected.is_some() && expected != self.decoder.get_calculated_checksum() {
            return Err(io::Error::other("a damaged zstd frame: wrong checksum"));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.begun && !self.begin()? {
                return Ok(0);
            }
            self.begun = true;
            // A decoder that has begun is not asked to begin again.
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let some = BlockDecodingStrategy::UptoBytes(room.len());
                let decoded = self.decoder.decode_blocks(&mut self.from, some);
                decoded.map_err(|error| io::Error::other(error.to_string()))?;
            }
            let read = self.decoder.read(room)?;
            if read > 0 || room.is_empty() {
                return Ok(read);
            }
            self.check()?;
            self.begun = false;
        }
    }
}

/// Line after line.
pub(crate) struct Lines {
    pub(crate) name: String,
    from: Box<dyn BufRead>,
    line: Vec<u8>,
    number: u64,
    ended: bool,
}

impl Lines {
    /// The next line that is not empty, without its end.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>, TraceError> {
        loop {
            self.line.clear();
            let from = &mut self.from;
            let read = from.take(LINE_MAX).read_until(b'\n', &mut self.line);
            let read = read.map_err(TraceError::reading(&self.name))?;
            if read == 0 {
                return Ok(None);
            }
            self.number += 1;
            if read as u64 == LINE_MAX {
                return Err(
                    self.malformed_error("a line of more than a million bytes", "a line of text")
                );
            }
            self.ended = self.line.ends_with(b"\n");
            while self.line.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
                self.line.pop();
            }
            if !self.line.is_empty() {
                return Ok(Some(&self.line));
            }
        }
    }

    /// Its fields, apart at `between`; as many as there are, `N` at most. The last has the rest.
    pub(crate) fn split_fields<const N: usize>(line: &[u8], between: u8) -> ([&[u8]; N], usize) {
        let mut fields = [&[][..]; N];
        let mut count = 0;
        for field in line.splitn(N, |byte| *byte == between) {
            fields[count] = field;
            count += 1;
        }
        (fields, count)
    }

    pub(crate) fn position(&self) -> At {
        At::Line(self.number)
    }

    /// The line just read is the file's last, and has no end: a writer was stopped, or a copy.
    pub(crate) fn is_cut_short(&self) -> bool {
        !self.ended
    }

    pub(crate) fn malformed_error(&self, content: impl Into<String>, wanted: &str) -> TraceError {
        TraceError::malformed(&self.name, self.position(), content, wanted)
    }
}

/// A number in decimal digits.
pub(crate) fn number(field: &[u8]) -> Option<u64> {
    if field.is_empty() || !field.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(field).ok()?.parse().ok()
}

/// `number`, or what was found in its place and what it is.
pub(crate) fn parse_field(field: &[u8], what: &str) -> Result<u64, Wrong> {
    number(field).ok_or_else(|| Wrong { found: quote_bytes(field), wanted: what.to_owned() })
}

/// An error of a record, without its position.
#[derive(Debug, PartialEq)]
pub(crate) struct Wrong {
    pub(crate) found: String,
    pub(crate) wanted: String,
}

impl Wrong {
    pub(crate) fn new(content: impl Into<String>, wanted: impl Into<String>) -> Self {
        Self { found: content.into(), wanted: wanted.into() }
    }
}

/// Records of bytes.
pub(crate) struct Bytes {
    pub(crate) name: String,
    from: Box<dyn BufRead>,
    at: u64,
}

/// The result of a read.
#[derive(Debug, PartialEq)]
pub(crate) enum ReadOutcome {
    Whole,
    /// The end, in front of it.
    End,
    /// The end, inside of it: so many bytes are there.
    Part(usize),
}

impl Bytes {
    pub(crate) fn fill(&mut self, room: &mut [u8]) -> Result<ReadOutcome, TraceError> {
        let read = read_up_to(&mut self.from, room).map_err(TraceError::reading(&self.name))?;
        self.at += read as u64;
        Ok(match read {
            _ if read == room.len() => ReadOutcome::Whole,
            0 => ReadOutcome::End,
            part => ReadOutcome::Part(part),
        })
    }

    /// The next `length` bytes in place of those in `room`, which grows as they come: a length may
    /// be nonsense.
    pub(crate) fn fill_vec(
        &mut self,
        room: &mut Vec<u8>,
        length: usize,
    ) -> Result<ReadOutcome, TraceError> {
        room.clear();
        let read = (&mut self.from).take(length as u64).read_to_end(room);
        let read = read.map_err(TraceError::reading(&self.name))?;
        self.at += read as u64;
        Ok(if read == length { ReadOutcome::Whole } else { ReadOutcome::Part(read) })
    }

    /// Bytes read so far.
    pub(crate) fn position(&self) -> u64 {
        self.at
    }

    pub(crate) fn malformed_error(&self, at: u64, wrong: Wrong) -> TraceError {
        TraceError::malformed(&self.name, At::Byte(at), wrong.found, wrong.wanted)
    }
}
