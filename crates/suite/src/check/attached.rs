//! Engines on attached servers, which kvdyno does not run. Actions that would change such a server
//! are refused.

use crate::written::engine::Engine;
use crate::written::mistake::Mistakes;
use crate::written::part::Part;
use crate::written::phase::Phase;

/// Records what the suite requires and an attached server does not allow. `limited`: some case has
/// a RAM limit or a memory tier.
pub(crate) fn check(part: &Part, engine: &Engine, limited: bool, mistakes: &mut Mistakes) {
    if engine.attached_server().is_none() {
        return;
    }
    let label = &engine.label.0;
    let expected = "expected an engine that kvdyno starts itself with this";
    if limited {
        let what = format!("cannot limit the RAM of {label}: kvdyno does not run this server");
        mistakes
            .at(&engine.pick.span, what)
            .label(expected)
            .help("use --no-ram-limit to run all engines without limits");
    }
    if !part.typed.volume.is_empty() {
        let what = format!("cannot put {label} on a volume: kvdyno does not run this server");
        mistakes.at(&engine.pick.span, what).label(expected);
    }
    for phase in &part.typed.phase {
        let (span, what) = match &phase.value {
            Phase::Evict(_) => (&phase.span, "evicted from memory"),
            Phase::Reopen(_) => (&phase.span, "restarted with other options"),
            _ => continue,
        };
        let what = format!("{label} cannot be {what}: kvdyno does not run this server");
        mistakes.at(span, what).label(expected);
    }
}
