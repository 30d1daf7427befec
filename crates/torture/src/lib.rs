//! The possible contents of a drive after a power loss, and the losses in them.
//!
//! It is: a drive that remembers each write and each flush ([`Recorder`]), what of them may have
//! reached the medium at a moment ([`State`]), those states served as drives of their own, and the
//! judgement of what was found on one ([`verdict`]). It does not know engines, filesystems or loop
//! devices: whoever uses it puts these on the drives.
//!
//! What it leaves out: a write counts as flushed if it came before the flush did, as drives
//! promise; that a drive keeps this promise, only pulling its plug can show. A sector of 512 bytes
//! is written or not, never half.

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
