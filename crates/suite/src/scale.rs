//! Numbers under `--scale`, and the pages that amounts of memory are whole numbers of.

use super::scalar::Count;
use kvdyno_record::units::{self, Ratio};

/// RAM limits and shares of memory are whole pages, because the kernel's are.
pub(super) const PAGE: u64 = 4096;

/// A number under `--scale`, with a note where that changes it.
pub(super) fn scaled(scale: Ratio, number: u64, what: &str, notes: &mut Vec<String>) -> u64 {
    // A ratio above 1 may pass 64 bits: then the data is refused as too large.
    let scaled = scale.multiply(number).unwrap_or(u64::MAX).max(1);
    if scaled != number {
        notes.push(format!(
            "scaled by {}: {} {what} instead of {}",
            scale,
            units::grouped(scaled),
            units::grouped(number)
        ));
    }
    scaled
}

/// An operation count under `--scale`.
pub(super) fn scaled_operations(scale: Ratio, count: Count) -> u64 {
    scale.multiply(count.0).unwrap_or(u64::MAX).max(1)
}
