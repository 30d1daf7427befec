//! A store for dense integer keys and values of one size, addressed directly.
//!
//! It is a file or a device. A record's position follows from its number, and blocks are read and
//! written past the page cache. Each block has a checksum, a journal makes commits survive a power
//! loss, and an optional mirror repairs blocks that one drive lost. There is no index in memory or
//! on the drive, so a hundred billion records need no more memory than a hundred. It is a ceiling
//! for engines with an index, and useful for block maps.
//!
//! It is not a general key-value store: keys are the numbers below a fixed count; each has its
//! reserved space; values have a maximum length; a batch is not a transaction; there is no cache,
//! and a small write costs a whole block. docs/direct-format.md describes the file, and the faults
//! that the store cannot notice.
//!
//! [`format`] and `header` are the format, as pure functions. `member` is one copy, `opening` makes
//! copies usable, `store` is shared by sessions, `pipeline` processes operations, and `session` and
//! `engine` implement the traits.

mod aligned;
mod describe;
mod engine;
pub mod format;
pub mod header;
mod job;
mod journal;
mod log;
mod member;
mod opening;
mod pipeline;
mod session;
mod store;

pub use engine::Direct;
pub use member::FILE_NAME;
pub use session::DirectSession;
