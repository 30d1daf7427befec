//! Sets the lengths of all phases for `--duration`, `--hours`, `--quick`, `--count` and `--why`;
//! also enables `--profile`.

use crate::edit::adjust::{get_str, put, text};
use crate::edit::brief::{self, Quick, members, opens, table};
use crate::edit::count;
use crate::edit::overrides::Overrides;
use crate::edit::part::Document;
use crate::edit::profile;
use crate::written::mistake::Mistakes;
use crate::written::names::push_unique;
use crate::written::source::{Source, Span};
use std::collections::BTreeSet;
use toml::de::DeTable;

/// Sets the length of all phases, and whether they are profiled. Returns the changes of `--quick`,
/// `--count` and `--why`, a sentence for each option that is set.
pub(crate) fn set_lengths(
    documents: &mut Vec<Document<'_>>,
    overrides: &Overrides,
    source: &mut Source,
    mistakes: &mut Mistakes,
) -> Vec<String> {
    let shortened = shorten(documents, overrides, source);
    if let Some(hours) = overrides.hours {
        let typed = hours.to_string();
        let start = source.add("--hours", &typed);
        let span = start..start + typed.len();
        if !set_ends(documents, &format!("{hours}h"), Some(hours), false, &span) {
            let mistake = mistakes.at(&span, "the suite has no measure phase to set the hours of");
            mistake.label("expected a suite with a measure phase");
        }
    }
    if let Some(duration) = &overrides.duration {
        let start = source.add("--duration", duration);
        let span = start..start + duration.len();
        if !set_ends(documents, duration, None, overrides.duration_of_last, &span) {
            let what = "the suite has no measure phase to set the duration of";
            mistakes.at(&span, what).label(
                "expected a suite with a measure phase; use `--set drive.duration=` for [drive]",
            );
        }
    }
    if overrides.profile {
        profile::enable(documents, source);
    }
    let counted =
        overrides.count.and_then(|counting| count::enable_counting(documents, counting, source));
    let beside = overrides.explain.map(|explain| count::add_counted(documents, explain, source));
    shortened.into_iter().chain(counted).chain(beside).collect()
}

/// Replaces the end of every measured phase, or of each part's last one, by a duration. With
/// `hours` it adds a window per hour and removes the suite's budget. Returns whether there is a
/// measured phase.
fn set_ends(
    documents: &mut [Document<'_>],
    duration: &str,
    hours: Option<u32>,
    only_last: bool,
    span: &Span,
) -> bool {
    let mut any_measured = false;
    for Document { tables, .. } in documents {
        let mut is_measured = false;
        let piloted = find_piloted_phases(tables);
        let measured: Vec<_> = members(tables, "phase")
            .filter(|phase| get_str(phase, "kind") == Some("measure"))
            .collect();
        let first = if only_last { measured.len().saturating_sub(1) } else { 0 };
        for phase in measured.into_iter().skip(first) {
            if opens(phase) {
                continue;
            }
            is_measured = true;
            // `--hours` does not change pilot phases or phases that run once after the load.
            let is_once =
                phase.get("once").is_some_and(|once| once.get_ref().as_bool() == Some(true));
            let is_piloted = get_str(phase, "name").is_some_and(|name| piloted.contains(name));
            if hours.is_some() && (is_once || is_piloted) {
                continue;
            }
            phase.remove("operations");
            phase.remove("windows");
            put(phase, "duration", text(duration.to_owned(), span));
            if hours.is_some_and(|hours| hours > 1) {
                put(phase, "windows", text("1h", span));
            }
        }
        if is_measured && hours.is_some() {
            table(tables, "run").map(|run| run.remove("budget"));
        }
        any_measured |= is_measured;
    }
    any_measured
}

/// The names of phases that some rate is a share of.
fn find_piloted_phases(tables: &mut DeTable<'_>) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for phase in members(tables, "phase") {
        for role in members(phase, "role") {
            let phase = role.get("rate").and_then(|rate| rate.get_ref().as_table()?.get("of"));
            names.extend(phase.and_then(|phase| phase.get_ref().as_str()).map(str::to_owned));
        }
    }
    names
}

/// Shortens every part for `--quick`. Returns the changes as a sentence.
fn shorten(
    documents: &mut [Document<'_>],
    overrides: &Overrides,
    source: &mut Source,
) -> Option<String> {
    let cpus = overrides.quick?;
    let start = source.add("--quick", "--quick");
    let span = &(start..start + "--quick".len());
    let threads_given = !overrides.threads.is_empty();
    let trials_given = overrides.trials.is_some();
    let duration_given = overrides.duration.is_some();
    let quick = Quick { cpus, span, threads_given, trials_given, duration_given };
    let mut words: Vec<String> = Vec::new();
    for document in documents {
        for change in brief::shorten(&mut document.tables, quick) {
            push_unique(&mut words, change);
        }
    }
    let changed = if words.is_empty() { "nothing to shorten".to_owned() } else { words.join("; ") };
    Some(format!("--quick: {changed}"))
}
