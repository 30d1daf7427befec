//! A printer into memory, for tests.

use super::{Printer, Stream};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

impl Printer {
    /// Returns a printer into memory, without colour, and its output: for tests.
    pub(crate) fn new_captured() -> (Self, Captured) {
        let captured = Captured::default();
        let printer = Self {
            out: Stream::new(false, Box::new(captured.out.clone())),
            err: Stream::new(false, Box::new(captured.err.clone())),
            quiet: false,
            live: None,
        };
        (printer, captured)
    }
}

/// The output of a captured printer.
#[derive(Clone, Default)]
pub(crate) struct Captured {
    out: Shared,
    err: Shared,
}

impl Captured {
    /// All text on standard output.
    pub(crate) fn out(&self) -> String {
        self.out.text()
    }

    /// All text on standard error.
    pub(crate) fn err(&self) -> String {
        self.err.text()
    }
}

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Shared {
    fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
