//! The bare drive: the engine `drive`, and the ring for engines on raw blocks.
//!
//! It has aligned buffers and an `io_uring` over files opened with `O_DIRECT`, which reports the
//! features in use ([`How`]). [`Drive`] is an engine whose keys are block numbers, so that the load
//! generator for engines measures drives as well.
//!
//! It is not an event loop, or a general wrapper of `io_uring`. It performs reads, writes and
//! flushes of blocks. The program decides whether a device may be overwritten; this crate only
//! refuses devices in use.

mod blocks;
mod describe;
mod discard;
mod drive;
mod engine;
mod extents;
mod flight;
mod how;
mod mapped_file;
mod region;
pub mod ring;
mod session;
mod uring;

pub use blocks::{alignment, open_when_free};
pub use drive::Drive;
pub use how::How;
pub use ring::{Ring, Setup};
