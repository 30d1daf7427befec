//! From a record to what people read: a summary of figures, and its shapes (tables, long lists).
//!
//! Everything here is a pure function of the files of a run: it can be done years later, on another
//! machine, with no engine installed.

pub mod about;
pub mod answer;
pub(crate) mod block_io;
pub mod brief;
pub mod catalogue;
pub mod command;
pub mod comparable;
pub mod comparison;
pub mod confidence;
pub mod copies;
mod cost;
pub mod efficiency;
pub mod evidence;
pub mod explain;
pub mod footnotes;
pub mod group;
pub mod header;
pub mod hiccups;
pub mod history;
pub mod inert;
pub mod job;
pub mod long;
pub mod markdown;
pub mod metric;
pub mod otava;
pub mod page;
mod rates;
pub mod schemas;
pub mod screen;
mod spent;
pub mod stalls;
pub mod summary;
pub mod table;
pub mod tables;
pub mod time_csv;
mod trials;
pub mod versus;
pub mod wide;
pub mod wrap;
pub mod xlsx;

#[cfg(test)]
pub(crate) mod fixture;
#[cfg(test)]
mod tests;
