//! Versions of an engine that are read by different calls: the difference may be the call's, which
//! is noted at the rows of reads.

use super::Versus;

/// The option that names the call behind gets of short values.
const READ_BY: &str = "option short_gets";

/// Adds the note to each row with gets.
pub(super) fn add_notes(versus: &mut Versus) {
    let difference = versus.differences.iter().find(|each| each.subject.ends_with(READ_BY));
    let Some(difference) = difference else { return };
    let (base, new) = (&difference.base, &difference.new);
    let why = format!("read by different calls: {base} in BASE, {new} in NEW");
    for pair in &mut versus.pairs {
        for row in &mut pair.rows {
            if row.gets {
                let reason =
                    row.reason.take().map_or_else(String::new, |reason| format!("{reason}; "));
                row.reason = Some(format!("{reason}{why}"));
            }
        }
    }
}
