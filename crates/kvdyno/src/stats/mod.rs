//! Pure numbers: what a handful of trials says, and how sure it is. It knows nothing of records,
//! units or engines.

mod median;
mod quantile;

pub use median::{Interval, median, median_interval};
pub use quantile::{SAMPLES_BEYOND, quantile, samples_needed};
