//! Everything that is computed from the record of a run: figures, statistics, findings, answers,
//! comparisons and searches.
//!
//! Everything here is a pure function of the files of a run: it works years later, on another
//! machine, without any engine. It formats nothing but sentences: `kvdyno-render` makes tables,
//! pages and files.
//!
//! The layers, the lowest first. Each uses only those listed before it.

pub mod stats;

pub mod figures;

pub mod judge;

pub mod answers;

#[cfg(any(test, feature = "fixture"))]
pub mod fixture;
