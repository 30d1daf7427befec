//! Suites whose instructions cannot be counted.

use crate::written::mistake::Mistakes;
use crate::written::phase::Measure;
use crate::written::read::At;
use crate::written::scalar::Threads;
use crate::written::typed::Typed;
use kvdyno_record::plan::Counting;

/// Refuses settings whose instruction counts would differ from run to run.
pub(crate) fn check(typed: &Typed, mistakes: &mut Mistakes) {
    let Some(count) = &typed.run.count else { return };
    if let Some(crew) = &typed.crew {
        let what = "a crew's instructions cannot be counted";
        mistakes.at(&crew.span, what).label("expected no [crew], or no `count`");
    }
    if let Some(profile) = typed.run.profile.as_ref().filter(|profile| profile.value)
        && count.value == Counting::Valgrind
    {
        let what = "a counted worker runs under valgrind, whose own functions would be sampled";
        mistakes.at(&profile.span, what).label("expected no `profile`, or no `count`");
    }
    if let Some(drive) = &typed.drive {
        let what = "a drive has no instructions to count";
        mistakes.at(&drive.span, what).label("expected no [drive], or no `count`");
    }
    if count.value != Counting::Valgrind {
        return;
    }
    typed.measures().for_each(|(_, phase)| check_phase(phase, mistakes));
    let swept = typed.run.threads.as_ref();
    if swept.is_some_and(|swept| swept.0.iter().any(|threads| threads.value.0 != 1)) {
        let what = "instructions are counted for one thread only: several threads wait for each \
                    other at random";
        mistakes.at(&count.span, what).label("expected threads = [1], or no `count`");
    }
}

fn check_phase(phase: &Measure, mistakes: &mut Mistakes) {
    if let Some(duration) = &phase.duration {
        let what = "under valgrind, a phase that ends by time does different work each time";
        mistakes.at(&duration.span, what).label("expected `operations` instead");
    }
    for role in phase.role.iter() {
        let may_be_one =
            |threads: &At<Threads>| matches!(threads.value, Threads::Sweep | Threads::Are(1));
        if let Some(threads) = role.threads.as_ref().filter(|threads| !may_be_one(threads)) {
            let what = "instructions are counted for one thread per role";
            mistakes.at(&threads.span, what).label("expected 1, or no `count`");
        }
        if let Some(rate) = &role.rate {
            let what = "under valgrind, a rate has no meaning";
            mistakes.at(&rate.span, what).label("expected no `rate`, or no `count`");
        }
    }
}
