//! Recorded requests to a store or a drive, in order, with their times.
//!
//! Traces come in many formats. [`import`] reads them all and writes one: a file of zstd frames of
//! (time, operation, key number, lengths, client), read and written in constant memory.
//! [`Statistics`] describe such a file. While a worker is measured, each of its threads can record
//! its requests in a [`Spool`]; [`merge`] makes one trace of them.
//!
//! This crate does not replay traces: the worker reads requests with it and performs them.

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
