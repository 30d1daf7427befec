//! Versions of an engine that are read by different calls: what differs may then be the call's, and
//! is said at the rows of reads.

use super::Versus;

/// The option that names the call behind gets of short values.
const READ_BY: &str = "option short_gets";

/// Says so at each row that gets are in.
pub(super) fn mark(versus: &mut Versus) {
    let difference = versus.differences.iter().find(|each| each.what.ends_with(READ_BY));
    let Some(difference) = difference else { return };
    let (base, new) = (&difference.base, &difference.new);
    let why = format!("read by different calls: {base} in BASE, {new} in NEW");
    for pair in &mut versus.pairs {
        for row in &mut pair.rows {
            if row.gets {
                let own = row.why.take().map_or_else(String::new, |own| format!("{own}; "));
                row.why = Some(format!("{own}{why}"));
            }
        }
    }
}
