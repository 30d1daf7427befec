//! The bare drive: the engine `drive`, and the ring that engines on raw blocks put their operations
//! through.
//!
//! It is: aligned buffers and an `io_uring` over files opened with `O_DIRECT`, which says what of
//! what was asked for really runs ([`How`]); and on it [`Drive`], whose keys are the numbers of its
//! blocks, so that a drive is measured by the load generator that measures engines.
//!
//! It is not: an event loop, or a general wrapper of `io_uring`. It knows reads, writes and flushes
//! of blocks. Whether a device may be overwritten at all is decided before it, by the program; it
//! only takes none that is in use.

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
