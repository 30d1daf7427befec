//! `--count` and `--why`: make a suite count instructions, as its author would write it in the
//! file. Under valgrind: one thread, a number of operations, no rate.

use crate::edit::adjust::{get_str, put, text};
use crate::edit::brief::{members, number, table};
use crate::edit::overrides::Explain;
use crate::edit::part::Document;
use crate::written::read::{At, Word as _};
use crate::written::scalar::Name;
use crate::written::source::Source;
use kvdyno_record::plan::{Counting, counted_part};
use serde_spanned::Spanned;
use std::ops::Range;
use toml::de::{DeArray, DeTable, DeValue};

/// Upper bound of operations per measured phase: a second or two under valgrind.
const OPERATIONS: u64 = 100_000;

/// The same bound for a part that is counted in addition to a timed one.
const OPERATIONS_BESIDE: u64 = 5_000;

/// The trials of such a part: counts hardly differ, so the fewest that allow a decision.
const TRIALS_BESIDE: u64 = 4;

/// Enables counting in every part. Returns a note about the changes.
pub(crate) fn enable_counting(
    documents: &mut [Document<'_>],
    counting: Counting,
    source: &mut Source,
) -> Option<String> {
    let start = source.add("--count", "--count");
    let span = start..start + "--count".len();
    for document in documents.iter_mut() {
        enable(&mut document.tables, counting, &span);
        if counting == Counting::Valgrind {
            shorten(&mut document.tables, OPERATIONS, &span);
        }
    }
    (counting == Counting::Valgrind).then(|| {
        format!(
            "--count: valgrind counts instructions, not times: one thread per role, at most \
             {OPERATIONS} operations per phase without a rate, no drive, no RAM limit"
        )
    })
}

/// Adds to every part a copy whose instructions are counted. Returns a note about them.
pub(crate) fn add_counted<'i>(
    documents: &mut Vec<Document<'i>>,
    explain: Explain,
    source: &mut Source,
) -> String {
    let start = source.add("--why", "--why");
    let span = start..start + "--why".len();
    let counted = |timed: &Document<'i>| {
        let name = counted_part(timed.name.as_ref().map(|name| name.0.as_str()));
        let mut document = timed.clone();
        document.name = Some(At { value: Name(name), span: span.clone() });
        enable(&mut document.tables, Counting::Valgrind, &span);
        shorten(&mut document.tables, OPERATIONS_BESIDE, &span);
        if let Some(run) = table(&mut document.tables, "run") {
            put(run, "trials", text(TRIALS_BESIDE.to_string(), &span));
            run.remove("profile");
        }
        document
    };
    let counted: Vec<Document<'i>> = documents.iter().map(counted).collect();
    match explain {
        Explain::Beside => documents.extend(counted),
        Explain::Alone => *documents = counted,
    }
    format!(
        "--why: valgrind counts the instructions of each function, in {TRIALS_BESIDE} trials of \
         their own: one thread per role, at most {OPERATIONS_BESIDE} operations per phase"
    )
}

fn enable(suite: &mut DeTable<'_>, counting: Counting, span: &Range<usize>) {
    let word = Counting::ALL.iter().find(|(_, value)| *value == counting).map(|(word, _)| *word);
    if let (Some(word), Some(run)) = (word, table(suite, "run")) {
        put(run, "count", text(word, span));
        // Counts need no time, so they need no turns.
        run.remove("turns");
    }
}

/// Reduces a suite to what valgrind can count, with at most `operations_max` operations per phase.
fn shorten(suite: &mut DeTable<'_>, operations_max: u64, span: &Range<usize>) {
    let set = |table: &mut DeTable<'_>, key: &'static str, number: u64| {
        put(table, key, text(number.to_string(), span));
    };
    suite.remove("drive");
    for phase in members(suite, "phase") {
        if get_str(phase, "kind") != Some("measure") {
            continue;
        }
        for timed in ["duration", "windows", "warmup"] {
            phase.remove(timed);
        }
        let operations = phase.get("operations").and_then(|typed| number(typed.get_ref()));
        if operations.is_none_or(|operations| operations > operations_max) {
            set(phase, "operations", operations_max);
        }
        for role in members(phase, "role") {
            role.remove("rate");
            if get_str(role, "threads") != Some("sweep") {
                set(role, "threads", 1);
            }
        }
    }
    let Some(run) = table(suite, "run") else { return };
    run.remove("budget");
    if run.contains_key("threads") {
        let mut threads = DeArray::new();
        threads.push(text("1", span));
        put(run, "threads", Spanned::new(span.clone(), DeValue::Array(threads)));
    }
}
