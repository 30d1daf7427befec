//! Checks of phases that end once their rates are steady.

use crate::written::duration::PhaseDuration;
use crate::written::mistake::Mistakes;
use crate::written::phase::{Measure, Role};
use crate::written::read::{At, Or as _};
use crate::written::scalar::Nanoseconds;
use crate::written::trace::speed_factor;
use crate::written::typed::Typed;
use kvdyno_record::steady::WINDOW;
use kvdyno_record::units;

/// The shortest slice of a suite without `slice`, which gets shorter ones for a short `least`.
const SLICE_LEAST: Nanoseconds = Nanoseconds(100_000_000);

/// Records all mistakes.
pub(crate) fn check(typed: &Typed, mistakes: &mut Mistakes) {
    let slice = typed.run.slice.value_or(SLICE_LEAST);
    for (_, measure) in typed.measures() {
        let Some(duration) = &measure.duration else { continue };
        let Some(least) = duration.earliest_end() else { continue };
        if slice.0.saturating_mul(WINDOW as u64) > least.0 {
            check_slices(least, slice, mistakes);
        }
        if let Some(windows) = &measure.windows {
            let mistake = mistakes.at(&windows.span, "`windows` need a fixed duration");
            mistake.label("expected no `windows` next to `least` and `most`");
            mistake.help("set a time such as `duration = \"4h\"`, or remove `windows`");
        }
        if typed.crew.is_some() {
            let what = "the ranks of a crew would end this phase at different times";
            let mistake = mistakes.at(&duration.span, what);
            mistake.label("expected a time such as \"10s\"");
            mistake.help("set a time, or remove [crew]");
        }
        check_roles(measure, duration, mistakes);
    }
}

fn check_slices(least: &At<Nanoseconds>, slice: Nanoseconds, mistakes: &mut Mistakes) {
    let [least_text, slice, required, shorter] =
        [least.0, slice.0, slice.0 * WINDOW as u64, least.0 / WINDOW as u64].map(units::duration);
    let message = format!("`least` is {least_text}, under five intervals of {slice}");
    let mistake = mistakes.at(&least.span, message);
    mistake.label(format!("expected at least {required}"));
    mistake.help(format!("raise `least`, or set `slice` in [run] to at most {shorter}"));
}

/// Refuses roles whose schedule sets the rate: there is no steady rate to wait for.
fn check_roles(measure: &Measure, duration: &At<PhaseDuration>, mistakes: &mut Mistakes) {
    let help = "set a time such as `duration = \"10s\"`";
    let mut roles = measure.role.iter();
    if let Some(rate) = roles.find_map(|role| role.rate.as_ref().filter(|rate| rate.changes())) {
        let what = "with a changing rate the phase never becomes steady";
        let mistake = mistakes.at(&rate.span, what);
        mistake.label("expected a constant rate in a phase with `least` and `most`");
        mistake.help(help);
    }
    let has_schedule =
        |role: &At<Role>| role.rate.is_some() || speed_factor(role.speed.as_ref()).is_some();
    if !measure.role.is_empty() && measure.role.iter().all(has_schedule) {
        let what = "every role has a fixed rate: none can become steady";
        let mistake = mistakes.at(&duration.span, what);
        mistake.label("expected at least one role without `rate`");
        mistake.help(help);
    }
}
