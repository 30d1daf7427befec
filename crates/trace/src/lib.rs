//! Recorded requests to a store or a drive, in order, with their times.
//!
//! Traces come in many formats. [`import`] reads them and writes one: a file of zstd frames of
//! (time, operation, key number, lengths, client), read and written in constant memory. What is
//! known of such a file is found by [`Statistics`]. What a worker is asked for while it is measured
//! goes into a [`Spool`] a thread; [`merge`] makes one trace of them.
//!
//! It is not what replays them: the worker reads requests from here and performs them.

mod block;
mod error;
mod first_reads;
mod formats;
mod header;
mod import;
mod input;
mod reader;
mod recording;
mod request;
mod reuse;
mod sorting;
mod statistics;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod unnamed;
mod varint;
mod writer;

pub use error::{At, TraceError};
pub use first_reads::FirstReads;
pub use formats::Format;
pub use header::{Header, Kind, Recorded, Source, Times, TtlRange};
pub use import::{Import, import};
pub use reader::TraceReader;
pub use recording::{Spool, merge};
pub use request::{Op, Request};
pub use statistics::{Popular, Quantiles, Statistics, Window};
pub use writer::TraceWriter;
