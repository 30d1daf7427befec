//! Statistics of a few trials. It depends on no record, unit or engine.

mod bootstrap;
mod divisive;
mod expression;
mod median;
mod normal;
mod outlier;
mod quantile;
mod random;
mod rank;
mod student;

pub use bootstrap::{CONFIDENCE, RESAMPLES, RatioInterval, chance_ratio, ratio_of_medians};
pub use divisive::change_points;
pub use expression::{Estimate, estimate};
pub use median::{Interval, median, median_interval};
pub use outlier::outliers;
pub use quantile::{SAMPLES_BEYOND, quantile, quantile_of_counts, samples_needed};
#[cfg(test)]
pub(crate) use random::Random;
pub use rank::{MIN_TRIALS, RankTest, mann_whitney};
pub use student::{
    mean, mean_within, means_differ, next_within, quantile_of_t, standard_deviation,
};
