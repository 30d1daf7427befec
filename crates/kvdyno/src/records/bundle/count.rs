//! Readers that count bytes, so that a small file cannot unpack to a large one unnoticed.

use super::Limits;
use kvdyno_record::units;
use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

pub(super) struct CountingReader<R> {
    pub(super) inner: R,
    pub(super) bytes: Rc<Cell<u64>>,
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.bytes.set(self.bytes.get() + read as u64);
        Ok(read)
    }
}

/// Fails when more bytes are read than allowed.
pub(super) struct Bounded<R> {
    pub(super) inner: R,
    pub(super) limits: Limits,
    /// Packed bytes that were read so far.
    pub(super) packed: Rc<Cell<u64>>,
    pub(super) bytes: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.bytes += read as u64;
        let limits = self.limits;
        if self.bytes > limits.bytes {
            let most = units::bytes(limits.bytes);
            return Err(io::Error::other(format!("it unpacks to more than {most}")));
        }
        let most = self.packed.get().saturating_mul(limits.ratio).max(limits.ratio_from);
        if self.bytes > most {
            let ratio = limits.ratio;
            return Err(io::Error::other(format!(
                "it unpacks to more than {ratio} times its size, which no record does"
            )));
        }
        Ok(read)
    }
}
