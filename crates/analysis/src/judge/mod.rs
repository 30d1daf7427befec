//! Figures over figures: which differ significantly, in which order engines stand, how far to trust
//! them, and whether a suite's assertions hold.

#[cfg(test)]
mod alarms;
pub mod claim;
pub(crate) mod comparison;
pub mod ranking;
pub mod relative;
pub mod rule;
mod scatter;
pub mod verdicts;
pub mod versus;
