//! Turns a checked suite into a plan.

pub(crate) mod cases;
pub(crate) mod estimate;
pub(crate) mod expand;
pub(crate) mod grid;
pub(crate) mod growth;
pub(crate) mod jobs;
pub(crate) mod options;
pub(crate) mod packing;
pub(crate) mod setup;
pub(crate) mod shape;
pub(crate) mod shuffle;
pub(crate) mod sizing;
pub(crate) mod slices;
pub(crate) mod space;
pub(crate) mod trial;
pub(crate) mod turns;
pub(crate) mod warnings;
pub(crate) mod workload;
