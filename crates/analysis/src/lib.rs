//! Everything that is computed from the record of a run: figures, statistics, findings, answers,
//! comparisons and searches.
//!
//! Everything here is a pure function of the files of a run: it works years later, on another
//! machine, without any engine. It formats nothing but sentences: `kvdyno-render` makes tables,
//! pages and files.

pub mod about;
pub mod answer;
pub mod block_io;
pub mod catalogue;
pub mod claim;
pub mod comparable;
mod comparison;
pub mod confidence;
pub mod copies;
mod cost;
pub mod efficiency;
pub mod engines;
pub mod evidence;
pub mod explain;
pub mod findings;
#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
pub mod fleet;
pub mod group;
pub mod hiccups;
pub mod history;
mod instructions;
pub mod job;
pub mod lists;
pub mod load_generator;
pub mod lost;
pub mod metric;
mod naming;
mod narrow;
pub mod ranking;
pub mod ranks;
mod rates;
pub mod relative;
pub mod search;
pub mod spent;
pub mod stalls;
pub mod stats;
pub mod study;
mod summarize;
pub mod summary;
mod tail;
pub mod trend;
pub mod trials;
pub mod versus;
