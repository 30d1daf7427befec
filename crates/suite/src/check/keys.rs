//! Checks of keys against the number of records.

use crate::written::mistake::Mistakes;
use crate::written::typed::Typed;
use kvdyno_record::units;

/// Refuses keys that are too short for the largest number, inserts included.
pub(crate) fn check_keys(typed: &Typed, key_bytes: u32, records: u64, mistakes: &mut Mistakes) {
    let needed = (u64::BITS - records.saturating_sub(1).leading_zeros()).div_ceil(8).max(1);
    if key_bytes < needed {
        let data = &typed.data;
        let span = data.key_bytes.as_ref().map_or(&data.span, |bytes| &bytes.span);
        let records = units::group_digits(records);
        let message =
            format!("keys of {key_bytes} bytes cannot represent {records} different records");
        mistakes
            .at(span, message)
            .label(format!("expected at least {needed}"))
            .help("the number includes records that inserts may add");
    }
}
