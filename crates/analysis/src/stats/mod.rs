//! Statistics of a few trials. It depends on no record, unit or engine.

mod divisive;
mod median;
mod outlier;
mod quantile;
#[cfg(test)]
mod random;
mod student;

/// The fewest repeats that decide anything: pairs of trials, trials at a bound, or runs of both
/// sides together.
pub const LEAST: usize = 4;

pub use divisive::change_points;
pub use median::{Interval, median, median_interval};
pub use outlier::outliers;
pub use quantile::{SAMPLES_BEYOND, quantile, quantile_of_counts, samples_needed};
#[cfg(test)]
pub(crate) use random::Random;
pub use student::{
    mean, means_differ, quantile_of_t, squares_from_mean, standard_deviation, tail_of_t,
};
