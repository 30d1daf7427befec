//! Suites whose workers cannot be profiled.

use crate::written::mistake::Mistakes;
use crate::written::typed::Typed;

/// Refuses a crew: its workers are started by MPI, most of them on other machines.
pub(crate) fn check(typed: &Typed, mistakes: &mut Mistakes) {
    let is_profiled = typed.run.profile.as_ref().is_some_and(|profile| profile.value);
    if let Some(crew) = typed.crew.as_ref().filter(|_| is_profiled) {
        let what = "a crew's workers cannot be profiled";
        mistakes.at(&crew.span, what).label("expected no [crew], or no `profile`");
    }
}
