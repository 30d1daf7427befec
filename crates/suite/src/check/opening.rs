//! Checks of phases that open the engine repeatedly and do nothing else.

use crate::written::mistake::Mistakes;
use crate::written::phase::Measure;
use crate::written::source::Span;
use crate::written::typed::Typed;

/// Records all mistakes.
pub(crate) fn check(typed: &Typed, mistakes: &mut Mistakes) {
    let unlike = [
        (typed.crew.is_some(), "[crew]"),
        (typed.run.count.is_some(), "`count`"),
        (typed.data.linkbench.is_some(), "`linkbench`"),
    ];
    for (_, measure) in typed.measures() {
        check_measure(measure, &unlike, mistakes);
    }
}

fn check_measure(measure: &Measure, unlike: &[(bool, &str)], mistakes: &mut Mistakes) {
    let mut entries = measure.role.iter().flat_map(|role| role.entries());
    let Some(opening) = entries.find(|entry| entry.op.opens()) else { return };
    let name = opening.op.name();
    let all: usize = measure.role.iter().map(|role| role.entries().len()).sum();
    if all > 1 {
        let mistake = mistakes.at(&opening.span, format!("`{name}` beside other operations"));
        mistake.label("expected a phase of its own, with one role and one operation");
    }
    if measure.operations.is_none() {
        let mistake = mistakes.at(&opening.span, format!("`{name}` without a number"));
        mistake.label("expected `operations` in its phase").help("such as `operations = 10`");
    }
    for (_, other) in unlike.iter().filter(|(has, _)| *has) {
        let mistake = mistakes.at(&opening.span, format!("no `{name}` with {other}"));
        mistake.label(format!("expected another operation, or no {other}"));
    }
    for (span, key) in unused_keys(measure) {
        let mistake = mistakes.at(span, format!("`{name}` takes no `{key}`"));
        mistake
            .label(format!("expected no `{key}`: one thread opens the engine `operations` times"));
    }
}

/// The keys that such a phase has no use for.
fn unused_keys<'m>(measure: &'m Measure) -> Vec<(&'m Span, &'static str)> {
    let mut keys = Vec::new();
    let mut add = |span: Option<&'m Span>, key| keys.extend(span.map(|span| (span, key)));
    add(measure.duration.as_ref().map(|at| &at.span), "duration");
    add(measure.warmup.as_ref().map(|at| &at.span), "warmup");
    add(measure.windows.as_ref().map(|at| &at.span), "windows");
    for role in measure.role.iter() {
        add(role.threads.as_ref().map(|at| &at.span), "threads");
        add(role.keys.as_ref().map(|at| &at.span), "keys");
        add(role.rate.as_ref().map(|at| &at.span), "rate");
        add(role.depth.as_ref().map(|at| &at.span), "depth");
        add(role.think_time.as_ref().map(|at| &at.span), "think_time");
        add(role.os_threads.as_ref().map(|at| &at.span), "os_threads");
        add(role.expected_hits.as_ref().map(|at| &at.span), "expected_hits");
        for entry in role.entries() {
            add(entry.weight.as_ref().map(|at| &at.span), "weight");
        }
    }
    keys
}
