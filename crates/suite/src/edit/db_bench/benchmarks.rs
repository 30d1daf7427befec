//! `--benchmarks`: translates `db_bench`'s list into phases of the suite.

use crate::edit::adjust::{get_str, tables};
use toml::de::DeTable;

/// Benchmarks that only print.
const PRINTS: [&str; 9] = [
    "stats",
    "levelstats",
    "sstables",
    "memstats",
    "stats_history",
    "resetstats",
    "block_cache_entry_stats",
    "cache_report_problems",
    "approximatememtablestats",
];

/// Benchmarks that compact or wait for compactions.
const SETTLES: [&str; 6] =
    ["compact", "compactall", "compact0", "compact1", "waitforcompaction", "flush"];

/// The phases for a list of benchmarks.
#[derive(Debug, Default)]
pub(super) struct Phases {
    pub(super) names: Vec<String>,
    /// Benchmarks that only print, each once.
    pub(super) prints: Vec<String>,
    /// Benchmarks that `settle` replaces, each once.
    pub(super) settles: Vec<String>,
}

impl Phases {
    /// Reads a list. `Err`: the unknown name and what was expected in its place.
    pub(super) fn read(list: &str, suite: &DeTable<'_>) -> Result<Self, (String, String)> {
        let suite_phases = names(suite);
        let settle = suite_phases.iter().find(|name| name.as_str() == "settle");
        let mut phases = Self::default();
        for name in list.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            if PRINTS.contains(&name) {
                push_once(&mut phases.prints, name);
            } else if name != "settle" && phases.names.iter().any(|other| other == name) {
                let expected = "expected it once: `--trials N` repeats the whole case".to_owned();
                return Err((name.to_owned(), expected));
            } else if suite_phases.iter().any(|phase| phase == name) {
                phases.names.push(name.to_owned());
            } else if SETTLES.contains(&name) {
                let Some(settle) = settle else {
                    let expected = "expected a phase of kind settle in the suite for it".to_owned();
                    return Err((name.to_owned(), expected));
                };
                push_once(&mut phases.settles, name);
                if phases.names.last() != Some(settle) {
                    phases.names.push(settle.clone());
                }
            } else {
                return Err((name.to_owned(), format_expected(name, &suite_phases)));
            }
        }
        Ok(phases)
    }
}

/// Returns the text of what was expected in place of a name that is not a phase.
fn format_expected(name: &str, suite_phases: &[String]) -> String {
    if name.contains('[') {
        return "expected a name alone: `--trials N` repeats the whole case".to_owned();
    }
    let phases: Vec<&str> = suite_phases.iter().map(String::as_str).collect();
    match super::edits::closest_name(name, &phases) {
        Some(closest) => format!("did you mean `{closest}`?"),
        None => format!("expected {}", phases.join(", ")),
    }
}

fn push_once(names: &mut Vec<String>, name: &str) {
    if !names.iter().any(|other| other == name) {
        names.push(name.to_owned());
    }
}

/// The names of the suite's phases.
pub(super) fn names(suite: &DeTable<'_>) -> Vec<String> {
    phase_kinds(suite).into_iter().map(|(name, _)| name).collect()
}

/// Returns whether one of these phases loads a database.
pub(super) fn has_load(suite: &DeTable<'_>, names: &[String]) -> bool {
    phase_kinds(suite).iter().any(|(name, kind)| kind == "load" && names.contains(name))
}

/// Returns the name and the kind of each phase, those of `[phases]` first.
pub(crate) fn phase_kinds(suite: &DeTable<'_>) -> Vec<(String, String)> {
    let named_phases = suite.get("phases").and_then(|phases| phases.get_ref().as_table());
    let named_phases = named_phases.into_iter().flat_map(|phases| phases.iter());
    let named_kinds = named_phases.map(|(name, phase)| {
        let kind = phase.get_ref().as_table().and_then(|table| get_str(table, "kind"));
        (name.get_ref().to_string(), kind.unwrap_or_default().to_owned())
    });
    named_kinds.chain(listed_kinds(suite)).collect()
}

/// Returns the name and the kind of each `[[phase]]`, in order.
fn listed_kinds(suite: &DeTable<'_>) -> impl Iterator<Item = (String, String)> {
    tables(suite, "phase").filter_map(|table| {
        let kind = get_str(table, "kind").unwrap_or_default();
        Some((get_str(table, "name").or(get_str(table, "kind"))?.to_owned(), kind.to_owned()))
    })
}

/// The names of the phases that the suite runs.
pub(crate) fn list_phases(suite: &DeTable<'_>) -> Vec<String> {
    let picked = list_run_phases(suite);
    if picked.is_empty() { listed_kinds(suite).map(|(name, _)| name).collect() } else { picked }
}

/// Returns the names in `phases` of `[run]`.
pub(super) fn list_run_phases(suite: &DeTable<'_>) -> Vec<String> {
    let run = suite.get("run").and_then(|run| run.get_ref().as_table());
    let phases = run.and_then(|run| run.get("phases")).and_then(|list| list.get_ref().as_array());
    let phases = phases.into_iter().flat_map(|phases| phases.iter());
    phases.filter_map(|name| name.get_ref().as_str().map(str::to_owned)).collect()
}
