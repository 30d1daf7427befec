//! `--count`: makes a suite count instructions, as its author would write it in the file. Under
//! valgrind: one thread, a number of operations, no rate. Refuses suites whose instructions cannot
//! be counted.

use super::adjust::{put, text, word};
use super::brief::{members, number, table};
use super::mistake::Mistakes;
use super::part::Document;
use super::phase::{Measure, Phase};
use super::read::{At, Word as _};
use super::scalar::Threads;
use super::source::Source;
use super::typed::Typed;
use kvdyno_record::plan::Counting;
use serde_spanned::Spanned;
use std::ops::Range;
use toml::de::{DeArray, DeTable, DeValue};

/// Upper bound of operations per measured phase: a second or two under valgrind.
const OPERATIONS: u64 = 100_000;

/// Upper bound of valgrind's slowdown.
pub(super) const SLOWER: u64 = 60;

/// Enables counting in every part. Returns a note about the changes.
pub(super) fn bend(
    documents: &mut [Document<'_>],
    counting: Counting,
    source: &mut Source,
) -> Option<String> {
    let start = source.add("--count", "--count");
    let span = start..start + "--count".len();
    let word = Counting::ALL.iter().find(|(_, value)| *value == counting)?.0;
    for document in documents.iter_mut() {
        let run = table(&mut document.tables, "run")?;
        put(run, "count", text(word, &span));
    }
    (counting == Counting::Valgrind).then(|| for_valgrind(documents, &span))
}

fn for_valgrind(documents: &mut [Document<'_>], span: &Range<usize>) -> String {
    let set = |table: &mut DeTable<'_>, key: &'static str, number: u64| {
        put(table, key, text(number.to_string(), span));
    };
    for document in documents {
        let suite = &mut document.tables;
        suite.remove("drive");
        for phase in members(suite, "phase") {
            if word(phase, "kind") != Some("measure") {
                continue;
            }
            for timed in ["duration", "windows", "warmup"] {
                phase.remove(timed);
            }
            let operations = phase.get("operations").and_then(|typed| number(typed.get_ref()));
            if operations.is_none_or(|operations| operations > OPERATIONS) {
                set(phase, "operations", OPERATIONS);
            }
            for role in members(phase, "role") {
                role.remove("rate");
                if word(role, "threads") != Some("sweep") {
                    set(role, "threads", 1);
                }
            }
        }
        let Some(run) = table(suite, "run") else { continue };
        run.remove("budget");
        if run.contains_key("threads") {
            let mut one = DeArray::new();
            one.push(text("1", span));
            put(run, "threads", Spanned::new(span.clone(), DeValue::Array(one)));
        }
    }
    format!(
        "--count: valgrind counts instructions, not times: one thread per role, at most \
         {OPERATIONS} operations per phase without a rate, no drive, no RAM limit"
    )
}

/// Refuses settings whose instruction counts would differ from run to run.
pub(super) fn check(typed: &Typed, mistakes: &mut Mistakes) {
    let Some(count) = &typed.run.count else { return };
    if let Some(crew) = &typed.crew {
        let what = "a crew's instructions cannot be counted";
        mistakes.at(&crew.span, what).label("expected no [crew], or no `count`");
    }
    if let Some(drive) = &typed.drive {
        let what = "a drive has no instructions to count";
        mistakes.at(&drive.span, what).label("expected no [drive], or no `count`");
    }
    if count.value != Counting::Valgrind {
        return;
    }
    let phases = typed.phase.iter().filter_map(|phase| match &phase.value {
        Phase::Measure(measure) => Some(measure),
        _ => None,
    });
    phases.for_each(|phase| check_phase(phase, mistakes));
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
        let one = |threads: &At<Threads>| matches!(threads.value, Threads::Sweep | Threads::Are(1));
        if let Some(threads) = role.threads.as_ref().filter(|threads| !one(threads)) {
            let what = "instructions are counted for one thread per role";
            mistakes.at(&threads.span, what).label("expected 1, or no `count`");
        }
        if let Some(rate) = &role.rate {
            let what = "under valgrind, a rate has no meaning";
            mistakes.at(&rate.span, what).label("expected no `rate`, or no `count`");
        }
    }
}
