//! The scatter of a role's rate over the base engine's.

use kvdyno_record::units::duration;
use schemars::JsonSchema;
use serde::Serialize;

/// The scatter of a role's rate over the base engine's.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Scatter {
    /// The number of pairs of trials.
    pub trials: usize,
    /// The number of parts of each trial that are compared: its turns, or eighths of its phase.
    pub windows: usize,
    /// Standard deviation of the logarithm of a trial's ratio.
    pub deviation: f64,
    /// The share of its variance that comes from within the trials: a longer phase has less of it.
    pub within_share: f64,
    /// The phase length with which the ratio would be known best in a given time, as a multiple of
    /// its own; 1: more trials are the cheapest repeats.
    pub longer: f64,
    /// The phase's length.
    #[serde(skip)]
    pub(crate) phase_ns: u64,
}

impl Scatter {
    /// The cheapest next repeats, in words.
    pub fn advice(&self) -> String {
        if self.longer <= 1.0 {
            return "more trials".to_owned();
        }
        let seconds = (self.phase_ns as f64 * self.longer / 1e9).ceil().max(1.0);
        format!("{} of it", duration(seconds as u64 * 1_000_000_000))
    }
}
