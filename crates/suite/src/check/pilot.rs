//! Checks of rates that a pilot finds, and of phases that the loading case runs.

use crate::written::mistake::Mistakes;
use crate::written::phase::{Measure, Role};
use crate::written::read::{At, Or as _};
use crate::written::scalar::Threads;
use crate::written::typed::Typed;
use kvdyno_record::workload::PilotRate;

/// Records all mistakes.
pub(crate) fn check(typed: &Typed, mistakes: &mut Mistakes) {
    let mut earlier: Vec<&Measure> = Vec::new();
    let mut first: Option<&PilotRate> = None;
    for (_, measure) in typed.measures() {
        for pilot in measure.role.iter().filter_map(|role| role.rate.as_ref()?.pilot()) {
            let first = first.get_or_insert(pilot);
            if first.phase == pilot.phase {
                check_rate(pilot, &earlier, typed, mistakes);
            } else {
                let mistake = mistakes.at(&pilot.span, "a suite has one pilot phase");
                mistake.label(format!("expected of = \"{}\", as another rate has", first.phase));
            }
        }
        if let Some(once) = measure.once.as_ref().filter(|once| once.value) {
            check_once(once, measure, &earlier, mistakes);
        }
        earlier.push(measure);
    }
}

fn check_rate(pilot: &At<PilotRate>, earlier: &[&Measure], typed: &Typed, mistakes: &mut Mistakes) {
    if typed.crew.is_some() {
        let mistake = mistakes.at(&pilot.span, "a crew cannot use a rate `of` a phase");
        mistake.label("expected a number, or no [crew]");
        return;
    }
    let is_pilot = |measure: &&&Measure| measure.name.as_ref().is_some_and(|n| n.0 == pilot.phase);
    let Some(phase) = earlier.iter().find(is_pilot) else {
        let names: Vec<&str> = earlier.iter().filter_map(|m| Some(&*m.name.as_ref()?.0)).collect();
        let message = format!("no measured phase before this one is named `{}`", pilot.phase);
        mistakes.unknown(&pilot.span, message, &pilot.phase, &names);
        return;
    };
    let rated = |role: &Role| role.rate.is_some() || role.trace.is_some();
    if phase.windows.is_some() || phase.role.iter().any(|role| rated(role) || sweeps(role)) {
        let message = format!("`{}` does not measure an engine's highest rate", pilot.phase);
        let mistake = mistakes.at(&pilot.span, message);
        mistake.label(
            "expected a phase whose roles have no `rate`, `trace` or threads = \"sweep\", and no \
             `windows`",
        );
    }
}

fn sweeps(role: &Role) -> bool {
    role.threads.as_ref().is_some_and(|threads| threads.value == Threads::Sweep)
}

fn check_once(once: &At<bool>, measure: &Measure, earlier: &[&Measure], mistakes: &mut Mistakes) {
    if measure.name.is_none() {
        mistakes.at(&once.span, "the phase has no name").label("expected `name` next to `once`");
    } else if measure.windows.is_some() || measure.role.iter().any(|role| sweeps(role)) {
        let mistake = mistakes.at(&once.span, "the phase is run for each thread count");
        mistake.label("expected no threads = \"sweep\" and no `windows` with `once`");
    } else if earlier.iter().any(|earlier| !earlier.once.value_or(false)) {
        let mistake = mistakes.at(&once.span, "the phase follows one that is not `once`");
        mistake.label("expected `once` in all measured phases before it");
    }
}
