//! How long a slice of the series is where the suite does not say: a second, or longer, so that a
//! record of days can still be read and kept.

use super::estimate;
use kvdyno_record::engine::Description;
use kvdyno_record::plan::Case;
use kvdyno_record::units;
use std::collections::BTreeMap;

/// The most that a run's record takes for each day of the run; a run of less may take as much.
const RECORD_BYTES_PER_DAY: u64 = 150_000_000;
const DAY_NS: u64 = 24 * 3_600 * SECOND;
const SECOND: u64 = 1_000_000_000;
/// What is tried, in seconds. An hour is still 60 of the longest.
const LENGTHS: [u64; 6] = [2, 5, 10, 20, 30, 60];

/// Makes the slices of those cases longer whose suite says nothing of them (`is_free`), as far as
/// the record asks for it; what was done, in words.
pub(super) fn lengthen(
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
        "slices of {chosen} s: with one a second the record would take {}, and more than {} for \
         each day is too much to read; `[run] slice` says another",
        units::bytes(first.record_bytes),
        units::bytes(RECORD_BYTES_PER_DAY),
    ))
}
