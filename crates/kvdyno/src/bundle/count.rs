//! Readers that count, so that a small file cannot become a large one unseen.

use super::Limits;
use kvdyno_record::units;
use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

pub(super) struct Counted<R> {
    pub(super) inner: R,
    pub(super) bytes: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.bytes.set(self.bytes.get() + read as u64);
        Ok(read)
    }
}

/// Ends with an error where more comes out than may.
pub(super) struct Bounded<R> {
    pub(super) inner: R,
    pub(super) limits: Limits,
    /// Packed bytes that went in so far.
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
                "it unpacks to more than {ratio} times its size: no record is as empty as that"
            )));
        }
        Ok(read)
    }
}
