//! Lengthens slices where the record of a long run would be too large.

use crate::plan::estimate;
use kvdyno_record::engine::Description;
use kvdyno_record::plan::Case;
use kvdyno_record::units;
use std::collections::BTreeMap;

/// Upper bound of a run's record per day of the run; shorter runs may use the whole amount.
const RECORD_BYTES_PER_DAY: u64 = 150_000_000;
const DAY_NS: u64 = 24 * 3_600 * SECOND;
const SECOND: u64 = 1_000_000_000;
/// The lengths to choose from, in seconds. An hour has 60 slices of the longest.
const LENGTHS: [u64; 6] = [2, 5, 10, 20, 30, 60];

/// Lengthens the slices of cases whose suite sets no length (`is_free`), until the record is small
/// enough. Returns a note.
pub(crate) fn lengthen(
    cases: &mut [Case],
    is_free: impl Fn(&Case) -> bool,
    engines: &BTreeMap<&str, &Description>,
) -> Option<String> {
    let first = estimate::estimate(cases, engines);
    let days = (first.wall_ns as f64 / DAY_NS as f64).max(1.0);
    let allowed = (RECORD_BYTES_PER_DAY as f64 * days) as u64;
    if first.record_bytes <= allowed || !cases.iter().any(&is_free) {
        return None;
    }
    let mut chosen = 1;
    for length in LENGTHS {
        chosen = length;
        for case in cases.iter_mut().filter(|case| is_free(case)) {
            case.slice_ns = length * SECOND;
        }
        if estimate::estimate(cases, engines).record_bytes <= allowed {
            break;
        }
    }
    Some(format!(
        "slices of {chosen} s: with 1 s the record would take {}, more than the limit of {} per \
         day; `[run] slice` sets another length",
        units::bytes(first.record_bytes),
        units::bytes(RECORD_BYTES_PER_DAY),
    ))
}
