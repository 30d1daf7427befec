//! The bare drive: the ring that engines on raw blocks put their operations through.
//!
//! It is: aligned buffers and an `io_uring` over files opened with `O_DIRECT`, which says what of
//! what was asked for really runs ([`How`]).
//!
//! It is not: an event loop, or a general wrapper. It knows reads, writes and flushes of blocks.

mod how;
mod region;
pub mod ring;
mod uring;

pub use how::{How, Io};
pub use ring::{Ring, Setup};
