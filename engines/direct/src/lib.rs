//! A store for dense integer keys and values of one size, addressed directly.
//!
//! It is: a file or a device in which the place of a record follows from its number, read and
//! written past the page cache; a checksum on every block, a journal that makes a commit survive a
//! power loss, and an optional mirror that repairs what one drive has lost. There is no index, in
//! memory or on the drive, so a hundred billion records take no more memory than a hundred. It is
//! the line that engines with an index are measured against, and of use for block maps.
//!
//! It is not: a general key-value store. Keys are the numbers below a fixed count; space is set
//! aside for each of them; values have a longest length; a batch is not a transaction; there is no
//! cache, and a small write costs a whole block. docs/direct-format.md describes the file, and what
//! the store does not notice.
//!
//! [`format`] and `header` are the format, as pure functions. `member` is one copy, `opening` makes
//! copies usable, `store` is what sessions share, `pipeline` is the way of an operation through it,
//! and `session` and `engine` are the traits.

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
