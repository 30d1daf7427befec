//! `--count`: makes a suite count instructions, as its author would write it in the file. Under
//! valgrind: one thread, a number of operations, no rate.

use crate::edit::adjust::{put, text, word};
use crate::edit::brief::{members, number, table};
use crate::edit::part::Document;
use crate::written::read::Word as _;
use crate::written::source::Source;
use kvdyno_record::plan::Counting;
use serde_spanned::Spanned;
use std::ops::Range;
use toml::de::{DeArray, DeTable, DeValue};

/// Upper bound of operations per measured phase: a second or two under valgrind.
const OPERATIONS: u64 = 100_000;

/// Enables counting in every part. Returns a note about the changes.
pub(crate) fn bend(
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
        // Counts need no time, so they need no turns.
        run.remove("turns");
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
