//! Numbers under `--scale`, and the page size that memory is rounded to.

use crate::written::scalar::Count;
use kvdyno_record::units::{self, Ratio};

/// Bytes of a page: RAM limits and shares of memory are whole pages, as in the kernel.
pub(crate) const PAGE: u64 = 4096;

/// Returns a number under `--scale`, and adds a note if it changes.
pub(crate) fn scale_number(scale: Ratio, number: u64, what: &str, notes: &mut Vec<String>) -> u64 {
    // A ratio above 1 may exceed 64 bits: then the data is refused as too large.
    let scaled = scale.multiply(number).unwrap_or(u64::MAX).max(1);
    if scaled != number {
        notes.push(format!(
            "scaled by {}: {} {what} instead of {}",
            scale,
            units::group_digits(scaled),
            units::group_digits(number)
        ));
    }
    scaled
}

/// Returns an operation count under `--scale`.
pub(crate) fn scaled_operations(scale: Ratio, count: Count) -> u64 {
    scale.multiply(count.0).unwrap_or(u64::MAX).max(1)
}
