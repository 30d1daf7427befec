//! Several workers that drive one server together: their messages, and the merge of their results
//! into those of one worker.
//!
//! To the program, a crew looks like one worker. The first rank receives the job and reports the
//! results of all ranks. Each rank starts an unmodified worker as its child and uses the same
//! protocol with it. This library merges results and decides the order of messages. The program
//! `kvdyno-crew` moves the messages with MPI, which no other part of kvdyno links (`docs/crew.md`).
//! This library does not make or time operations: the workers do.

mod coordinator;
mod gather;
mod log;
mod message;
mod offset;
mod rank_proxy;
mod slices;
mod sum;
mod total;

pub use coordinator::{Action, Coordinator};
pub use gather::{Gatherer, Step};
pub use log::CrewLog;
pub use message::{Begin, Order, Report, Slices, worker_checksum};
pub use offset::{ClockOffset, Ping};
pub use rank_proxy::RankProxy;
pub use slices::{RankFiles, RankSlice};
pub use total::Total;
