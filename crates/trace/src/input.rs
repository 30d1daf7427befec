//! A file to import from, packed or not, as lines or as bytes, with positions for messages.

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

/// An input, and its name in messages.
pub(crate) struct Input {
    pub(crate) name: String,
    from: Box<dyn BufRead>,
}

impl Input {
    /// Opens a file; `-`: standard input. Unpacks gzip and zstd.
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

/// A reader of any number of consecutive zstd frames.
struct Frames<R> {
    from: R,
    decoder: FrameDecoder,
    begun: bool,
}

impl<R: BufRead> Frames<R> {
    /// Begins the next frame. False: there is none left.
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
            // A frame that has begun is not begun again.
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

/// A reader of lines.
pub(crate) struct Lines {
    pub(crate) name: String,
    from: Box<dyn BufRead>,
    line: Vec<u8>,
    number: u64,
    ended: bool,
}

impl Lines {
    /// Returns the next line that is not empty, without its line end.
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

    /// Splits a line at `between` into at most `N` fields, and counts them. The last has the rest.
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

    /// Returns whether the last line read has no line end: its writer or a copy was stopped.
    pub(crate) fn is_cut_short(&self) -> bool {
        !self.ended
    }

    pub(crate) fn malformed_error(&self, content: impl Into<String>, expected: &str) -> TraceError {
        TraceError::malformed(&self.name, self.position(), content, expected)
    }
}

/// A number in decimal digits.
pub(crate) fn number(field: &[u8]) -> Option<u64> {
    if field.is_empty() || !field.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(field).ok()?.parse().ok()
}

/// Parses a field by [`number`]. The error has the field's text, and `what` was expected.
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
    pub(crate) fn new(content: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { found: content.into(), wanted: expected.into() }
    }
}

/// A reader of binary records.
pub(crate) struct Bytes {
    pub(crate) name: String,
    from: Box<dyn BufRead>,
    at: u64,
}

/// The result of a read.
#[derive(Debug, PartialEq)]
pub(crate) enum ReadOutcome {
    Whole,
    /// The input ended before the first byte.
    End,
    /// The input ended after this many of the bytes.
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

    /// Replaces the contents of `room` with the next `length` bytes. It grows only as they arrive,
    /// because a length may be nonsense.
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
