//! The interface that a storage engine implements so that kvdyno can measure it.
//!
//! It is: two traits ([`Engine`], [`Session`]), the description an engine gives of itself as data
//! ([`Description`]), and a conformance kit (feature `conformance`) that an engine must pass
//! before a figure of it is believed.
//!
//! It is not: a client library or an abstraction to build programs on. It knows nothing of clocks,
//! threads, workloads or files; those belong to the load generator.
//!
//! # Why values are pushed
//!
//! [`Session::get`] hands the value to a closure instead of returning it. An engine that maps its
//! file (LMDB) can show the page itself, one that pins a cache block (`RocksDB`) shows the block
//! and unpins it afterwards, and a server client shows its receive buffer. No engine has to copy,
//! and none has to express the lifetime of its buffers in a type. Measurements show that the
//! closure costs nothing, as it is inlined: see `docs/decisions/0002-push-style-get.md`.
//!
//! # Adding an engine
//!
//! `kvdyno new-engine NAME` writes a crate that passes the conformance kit. Replace the crate's map
//! by your engine: six methods of [`Engine`] and two of [`Session`] are required.
//! `docs/add-an-engine.md` walks through it.

mod counters;
mod describe;
mod durability;
mod error;
pub mod graph;
pub mod library;
mod option;
mod options;
mod plugin;
mod range;
pub mod server;
mod shape;
mod traits;
mod transaction;

#[cfg(feature = "conformance")]
pub mod conformance;

pub use counters::{Counters, Edge, EngineEvent, EventKind, EventLog, Value};
pub use describe::{BatchKind, Capabilities, Description, PlaceKind, Planning, TimeToLive};
pub use durability::{Durability, PowerLoss, PowerLossUnder, Promise};
pub use error::{Error, ErrorClass, Result, list_names};
pub use option::{OptionKind, OptionSpec, Preset, Setting};
pub use options::Options;
pub use plugin::{PluginCapabilities, PluginDescription};
pub use range::{Direction, Range, Walk, show_records};
pub use shape::{DataShape, Location, Requests};
pub use traits::{Engine, Session, Settled, Write};
pub use transaction::{Records, Transaction, Transactions, ValueVisitor};
