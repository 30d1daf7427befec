//! Errors of a trace, and their position.

use std::fmt;
use std::io;
use std::path::Path;

/// A position in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// A line, from 1.
    Line(u64),
    /// An offset in bytes; in a packed file, an offset in its unpacked contents.
    Byte(u64),
    /// The whole file.
    Whole,
}

impl fmt::Display for At {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(line) => write!(out, "line {line}"),
            Self::Byte(byte) => write!(out, "byte {byte}"),
            Self::Whole => write!(out, "all of it"),
        }
    }
}

/// An error of reading or writing a trace.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// A failed system call.
    #[error("cannot {doing} `{file}`: {source}")]
    Io {
        /// The operation: "read" or "write".
        doing: &'static str,
        /// The file.
        file: String,
        /// The system's error.
        source: io::Error,
    },
    /// Invalid contents.
    #[error("`{file}`, {at}: found {found}, expected {wanted}")]
    Malformed {
        /// The file.
        file: String,
        /// The position in the file.
        at: At,
        /// The text found.
        found: String,
        /// The text expected.
        wanted: String,
    },
}

impl TraceError {
    pub(crate) fn reading(file: &str) -> impl Fn(io::Error) -> Self + '_ {
        move |source| Self::Io { doing: "read", file: file.to_owned(), source }
    }

    pub(crate) fn writing(file: &Path) -> impl Fn(io::Error) -> Self + '_ {
        move |source| Self::Io { doing: "write", file: file.display().to_string(), source }
    }

    pub(crate) fn malformed(
        file: &str,
        at: At,
        content: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        let (content, expected) = (content.into(), expected.into());
        Self::Malformed { file: file.to_owned(), at, found: content, wanted: expected }
    }
}

/// Formats bytes of a file for a message, shortened to fit on a line.
pub(crate) fn quote_bytes(bytes: &[u8]) -> String {
    const SHOWN: usize = 60;
    let text = String::from_utf8_lossy(bytes);
    if text.is_empty() {
        return "nothing".to_owned();
    }
    let excerpt: String = text.chars().take(SHOWN).flat_map(char::escape_default).collect();
    let more = if text.chars().count() > SHOWN { "..." } else { "" };
    format!("`{excerpt}{more}`")
}
