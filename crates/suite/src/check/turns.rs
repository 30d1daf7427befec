//! Checks of two engines that take turns.

use crate::written::mistake::Mistakes;
use crate::written::typed::{Sharing, Typed};
use kvdyno_record::units;

/// The shortest turn, in nanoseconds. A shorter one would mostly measure processor caches that the
/// other engine left cold.
const LEAST_NS: u64 = 100_000_000;

/// Records all mistakes.
pub(crate) fn check(typed: &Typed, mistakes: &mut Mistakes) {
    let Some(turns) = &typed.run.turns else { return };
    let slice_ns = typed.slice_ns();
    if turns.0 < LEAST_NS {
        let what = format!("turns of {} are too short", units::duration(turns.0));
        mistakes.at(&turns.span, what).label("expected at least 100ms");
    } else if slice_ns == 0 || !turns.0.is_multiple_of(slice_ns) {
        let [length, slice] = [turns.0, slice_ns].map(units::duration);
        let what = format!("turns of {length} do not consist of intervals of {slice}");
        let mistake = mistakes.at(&turns.span, what);
        mistake.label(format!("expected a multiple of {slice}"));
        mistake.help("`slice` in [run] sets the interval");
    }
    if typed.sharing() != Sharing::Fresh {
        let what = "`turns` needs a database of its own for each case";
        let mistake = mistakes.at(&turns.span, what);
        mistake.label("expected no `turns`, or `database = \"fresh\"` in [run]");
    }
    let unlike = [
        (typed.crew.is_some(), "[crew]"),
        (typed.run.count.is_some(), "`count`"),
        (!typed.ram.tier.is_empty(), "[[ram.tier]]"),
    ];
    for (_, other) in unlike.into_iter().filter(|(has, _)| *has) {
        let mistake = mistakes.at(&turns.span, format!("no turns with {other}"));
        mistake.label(format!("expected no `turns`, or no {other}"));
    }
}
