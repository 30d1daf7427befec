//! What the host cannot enforce or will distort, as typed checks with what would change it.
//!
//! The checks are pure functions of [`Host`]: a record can be examined years later. Nothing is
//! ever changed here, and nothing refused; who prints the checks decides what they are worth.
//! Reasons and figures: docs/host.md.

mod drive;
mod limits;
mod machine;
mod memory;
mod processor;
mod rights;
mod volume;

use super::extents;
use kvdyno_record::host::{Filesystem, Host, settings};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;

/// How much a check matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// As it should be.
    Ok,
    /// Worth knowing when figures are read or compared.
    Info,
    /// Figures will be distorted, or something cannot be measured.
    Warning,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Check {
    /// Stable: `readahead`, `damon`.
    pub id: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// What was read.
    pub value: String,
    /// Why it matters, in one sentence.
    pub why: &'static str,
    /// The command, or the act, that would change it; null where nothing needs to be changed.
    pub remedy: Option<String>,
}

impl Check {
    /// As it should be.
    fn ok(id: &'static str, value: impl Into<String>, why: &'static str) -> Self {
        Self { id, severity: Severity::Ok, value: value.into(), why, remedy: None }
    }

    /// Worth knowing.
    fn info(id: &'static str, value: impl Into<String>, why: &'static str) -> Self {
        Self { severity: Severity::Info, ..Self::ok(id, value, why) }
    }

    /// Distorts.
    fn warning(id: &'static str, value: impl Into<String>, why: &'static str) -> Self {
        Self { severity: Severity::Warning, ..Self::ok(id, value, why) }
    }

    /// What would change it.
    fn change(self, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }
}

/// Examines this host, read with the volume under `place`, which need not exist yet.
pub fn examine(mut host: Host, place: &Path) -> Vec<Check> {
    // Only here: a run's own files are not yet there when its host is read.
    if let Some(pieces) = extents::of_largest(place) {
        let text = format!("{} in {}: {}", pieces.bytes, pieces.extents, pieces.name);
        host.settings.insert(settings::LARGEST_FILE.to_owned(), text);
    }
    judge(&host)
}

/// What the machine does to an idle thread, in words, and the worst of it: the one check that takes
/// time, so that whoever wants it listens first.
pub fn hiccups(gaps: &str, max_ns: u64) -> Check {
    machine::hiccups(gaps, max_ns)
}

/// Examines a host as it was recorded.
pub fn judge(host: &Host) -> Vec<Check> {
    let parts = [
        volume::checks(host),
        host.drive.as_ref().map_or_else(Vec::new, |drive| drive::checks(host, drive)),
        memory::checks(host),
        processor::checks(host),
        machine::checks(host),
        limits::checks(host),
        rights::checks(host),
    ];
    parts.into_iter().flatten().collect()
}

/// What is wrong with the kind of filesystem under a place, if anything is.
pub(super) fn warn_of_filesystem(filesystem: &Filesystem) -> Option<Check> {
    Some(volume::kind(filesystem)).filter(|check| check.severity == Severity::Warning)
}

/// A setting by path or name.
fn setting<'a>(host: &'a Host, name: &str) -> Option<&'a str> {
    host.settings.get(name).map(String::as_str)
}

#[cfg(test)]
pub(super) fn of<'a>(checks: &'a [Check], id: &str) -> Option<&'a Check> {
    checks.iter().find(|check| check.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeSet, HashSet};

    #[test]
    fn this_host_is_examined_and_nothing_is_said_twice() {
        let place = Path::new("/var/tmp");
        let checks = examine(crate::facts::read(&crate::Root::system(), place), place);
        let ids: HashSet<&str> = checks.iter().map(|check| check.id).collect();
        assert_eq!(ids.len(), checks.len());
        for id in ["filesystem", "free_space", "swap", "ram_limit", "drop_caches", "kernel"] {
            assert!(ids.contains(id), "{id}");
        }
        for check in checks.iter().filter(|check| check.severity == Severity::Warning) {
            assert!(check.remedy.is_some(), "a warning says what helps: {check:?}");
        }
        let json = serde_json::to_value(&checks).unwrap();
        assert_eq!(json[0]["id"], checks[0].id);
        assert!(json[0]["severity"].is_string());
    }

    /// The identifiers in the sources, so that a check cannot be left out of the table.
    fn in_sources() -> BTreeSet<String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/doctor");
        let mut ids = BTreeSet::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap();
            for made in ["Check::ok(", "Check::info(", "Check::warning("] {
                for after in code.split(made).skip(1) {
                    let id = after.trim_start().strip_prefix('"').unwrap_or_else(|| {
                        panic!("the first argument of {made} is the identifier: {after:.60}")
                    });
                    ids.insert(id.split('"').next().unwrap().to_owned());
                }
            }
        }
        ids
    }

    #[test]
    fn the_table_of_the_docs_has_every_check_and_no_other() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/host.md");
        let docs = std::fs::read_to_string(docs).unwrap();
        let section = docs.split("\n## Doctor\n").nth(1).unwrap().split("\n## ").next().unwrap();
        let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
        let rows: Vec<&str> = rows.map(|line| line.split('`').next().unwrap()).collect();
        let table: BTreeSet<String> = rows.iter().map(|id| (*id).to_owned()).collect();
        assert_eq!(rows.len(), table.len(), "a row twice");
        let sources = in_sources();
        let missing: Vec<_> = sources.difference(&table).collect();
        let gone: Vec<_> = table.difference(&sources).collect();
        assert!(missing.is_empty() && gone.is_empty(), "missing {missing:?}, gone {gone:?}");
    }

    #[test]
    fn an_empty_record_is_examined_without_harm() {
        assert!(!judge(&Host::default()).is_empty());
    }
}
