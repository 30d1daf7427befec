//! The possible contents of a drive after a power loss, and the losses in them.
//!
//! The crate has drives that remember each write and each flush ([`Recorder`]), the choice of those
//! that may have reached the medium at a moment ([`State`]), such states served as drives of their
//! own, and the judgement of what was found on one ([`verdict`]). It does not know engines,
//! filesystems or loop devices: its user puts these on the drives.
//!
//! A write counts as flushed if it came before the flush did, as drives promise; whether a drive
//! keeps this promise, only pulling its plug can show. A sector of 512 bytes is written or not,
//! never half.

mod draw;
mod image;
mod recorder;
mod recording;
mod request;
mod server;
mod state;
pub mod verdict;

pub use draw::Draw;
pub use recorder::{Recorder, Served};
pub use recording::{Entry, Recording};
pub use request::{Fault, Seen};
pub use server::attend;
pub use state::{LOSSES, Lost, State};
