//! The errors of an engine, sorted by what the load generator does about them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The result of every engine call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The classes that errors are counted under.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    /// The engine has no such operation.
    Unsupported,
    /// An option or a size that the engine refuses.
    Invalid,
    /// No space left on the volume, or in the engine's map.
    Full,
    /// Not enough memory: the case does not fit its RAM limit.
    Memory,
    /// The engine or a check of kvdyno says that the data is damaged.
    Corrupt,
    /// The operation lost against a concurrent write and may be repeated.
    Conflict,
    /// A timeout, or a server that is gone.
    Unavailable,
    /// An error of the operating system in a read or write.
    Io,
    /// Anything else.
    Other,
}

impl ErrorClass {
    /// The class of a message that has the kernel's words for a volume that is read-only, fails or
    /// is full; none: the message has none of these words.
    pub fn from_volume_words(message: &str) -> Option<Self> {
        let says = |words: &&str| message.contains(*words);
        if ["Read-only file system", "Input/output error"].iter().any(says) {
            return Some(Self::Io);
        }
        let full = ["No space left on device", "Disk quota exceeded"].iter().any(says);
        full.then_some(Self::Full)
    }
}

/// An engine's failure: its class, and its own words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// The kind of failure, by which errors are counted and the next step is decided.
    pub class: ErrorClass,
    /// The engine's own words, with what was being done.
    pub message: String,
}

impl Error {
    /// An error of `class` with the engine's words.
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self { class, message: message.into() }
    }

    /// The error that a request cannot be met: an option, a size or a place is invalid.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorClass::Invalid, message)
    }

    /// The answer to an operation that the engine does not have.
    pub fn unsupported(operation: &str) -> Self {
        Self::new(ErrorClass::Unsupported, format!("this engine has no {operation}"))
    }

    /// The same error, with what was being done in front of its message.
    #[must_use]
    pub fn context(mut self, doing: &str) -> Self {
        self.message = format!("{doing}: {}", self.message);
        self
    }
}

/// Lists names for a message, in backquotes: the first twenty, and how many more there are; or
/// `none`.
pub fn list_names<N: AsRef<str>>(names: &[N]) -> String {
    const MOST: usize = 20;
    if names.is_empty() {
        return "none".to_owned();
    }
    let quoted = |name: &N| format!("`{}`", name.as_ref());
    let mut list: Vec<String> = names.iter().take(MOST).map(quoted).collect();
    if names.len() > MOST {
        list.push(format!("and {} more", names.len() - MOST));
    }
    list.join(", ")
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        use std::io::ErrorKind;
        let class = match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => ErrorClass::Full,
            ErrorKind::OutOfMemory => ErrorClass::Memory,
            ErrorKind::TimedOut
            | ErrorKind::BrokenPipe
            | ErrorKind::ConnectionAborted
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionRefused => ErrorClass::Unavailable,
            _ => ErrorClass::Io,
        };
        Self::new(class, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_words_for_a_volume_are_the_class_of_its_errors() {
        for errno in [5, 28, 30, 122] {
            let error = Error::from(std::io::Error::from_raw_os_error(errno));
            let class = ErrorClass::from_volume_words(&error.message);
            assert_eq!(class, Some(error.class), "{}", error.message);
        }
        assert_eq!(ErrorClass::from_volume_words("Connection refused (os error 111)"), None);
    }
}
