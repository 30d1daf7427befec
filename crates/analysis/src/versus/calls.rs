//! Versions of an engine that are read by different calls: what differs may then be the call's, and
//! is said at the rows of reads.

use super::Versus;

/// The fact of a worker's build that names the call behind gets of short values.
const READ_BY: &str = "built with short_gets";

/// Says so at each row that gets are in.
pub(super) fn mark(versus: &mut Versus) {
    let found = versus.differences.iter().find(|found| found.what.ends_with(READ_BY));
    let Some(found) = found else { return };
    let call = |text: &str| text.split(':').next().unwrap_or_default().trim().to_owned();
    let (base, new) = (call(&found.base), call(&found.new));
    if base == new || base.is_empty() || new.is_empty() {
        return;
    }
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
