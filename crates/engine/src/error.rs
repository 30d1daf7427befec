//! What can go wrong inside an engine, sorted by what the load generator does about it.

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
    /// An option or size the engine refuses.
    Invalid,
    /// No space left on the volume, or in the engine's map.
    Full,
    /// Not enough memory: the case does not fit its RAM limit.
    Memory,
    /// The engine says that its data is damaged, or a check of ours says so.
    Corrupt,
    /// Lost against a concurrent write; the operation may be repeated.
    Conflict,
    /// A timeout, or a server that is gone.
    Unavailable,
    /// The operating system's answer to a read or write.
    Io,
    /// Anything else.
    Other,
}

impl ErrorClass {
    /// The class of a message that has the kernel's words for a volume that is read-only, fails or
    /// is full; none: it has none of them.
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
    /// What kind of failure, for counting and for what to do next.
    pub class: ErrorClass,
    /// The engine's own words, with what was being done.
    pub message: String,
}

impl Error {
    /// An error of `class` with the engine's words.
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self { class, message: message.into() }
    }

    /// What was asked for cannot be: an option, a size, a place.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorClass::Invalid, message)
    }

    /// The answer to an operation that the engine does not have.
    pub fn unsupported(operation: &str) -> Self {
        Self::new(ErrorClass::Unsupported, format!("this engine has no {operation}"))
    }

    /// The same error with what was being done put in front.
    #[must_use]
    pub fn context(mut self, doing: &str) -> Self {
        self.message = format!("{doing}: {}", self.message);
        self
    }
}

/// Names for a message, in backquotes: the first twenty, and how many more there are; or `none`.
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
