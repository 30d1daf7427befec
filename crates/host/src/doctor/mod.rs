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

#[expect(
    clippy::unnecessary_wraps,
    reason = "a rule ends with one of these, or has nothing to say"
)]
impl Check {
    /// As it should be, or not to be judged.
    fn ok(self) -> Option<Self> {
        Some(self)
    }

    /// Worth knowing.
    fn info(self) -> Option<Self> {
        Some(Self { severity: Severity::Info, ..self })
    }

    /// Worth knowing where it is so, with what would change it.
    fn info_if(self, so: bool, remedy: impl Into<String>) -> Option<Self> {
        self.judged(Severity::Info, so, remedy.into())
    }

    /// Distorts where it is so, with what would change it.
    fn warn_if(self, so: bool, remedy: impl Into<String>) -> Option<Self> {
        self.judged(Severity::Warning, so, remedy.into())
    }

    fn judged(self, severity: Severity, so: bool, remedy: String) -> Option<Self> {
        Some(if so { Self { severity, remedy: Some(remedy), ..self } } else { self })
    }
}

/// What was read, and why it matters; the rule that says it gives it its identifier.
fn seen(value: impl Into<String>, why: &'static str) -> Check {
    Check { id: "", severity: Severity::Ok, value: value.into(), why, remedy: None }
}

/// A check by its identifier; none on a host of which that is not told.
struct Rule {
    id: &'static str,
    check: fn(&Host) -> Option<Check>,
}

const fn rule(id: &'static str, check: fn(&Host) -> Option<Check>) -> Rule {
    Rule { id, check }
}

/// Every check, in the order that they are shown in.
const RULES: [&[Rule]; 7] = [
    volume::RULES,
    drive::RULES,
    memory::RULES,
    processor::RULES,
    machine::RULES,
    limits::RULES,
    rights::RULES,
];

fn apply(rules: &[Rule], host: &Host) -> Vec<Check> {
    let checks = rules.iter().filter_map(|rule| {
        let check = (rule.check)(host)?;
        Some(Check { id: rule.id, ..check })
    });
    checks.collect()
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
    RULES.iter().flat_map(|rules| apply(rules, host)).collect()
}

/// What is wrong with the kind of filesystem under a place, if anything is.
pub(super) fn warn_of_filesystem(filesystem: Filesystem) -> Option<Check> {
    let host = Host { filesystem: Some(filesystem), ..Host::default() };
    apply(&[volume::KIND], &host).pop().filter(|check| check.severity == Severity::Warning)
}

/// A setting by path or name.
fn setting<'a>(host: &'a Host, name: &str) -> Option<&'a str> {
    host.settings.get(name).map(String::as_str)
}

fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

#[cfg(test)]
fn one(rules: &[Rule], id: &str, host: &Host) -> Option<Check> {
    of(&apply(rules, host), id).cloned()
}

#[cfg(test)]
fn of<'a>(checks: &'a [Check], id: &str) -> Option<&'a Check> {
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

    #[test]
    fn the_table_of_the_docs_has_every_check_and_no_other() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/host.md");
        let docs = std::fs::read_to_string(docs).unwrap();
        let section = docs.split("\n## Doctor\n").nth(1).unwrap().split("\n## ").next().unwrap();
        let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
        let rows: Vec<&str> = rows.map(|line| line.split('`').next().unwrap()).collect();
        let table: BTreeSet<String> = rows.iter().map(|id| (*id).to_owned()).collect();
        assert_eq!(rows.len(), table.len(), "a row twice");
        let ids = RULES.iter().flat_map(|rules| rules.iter().map(|rule| rule.id.to_owned()));
        let sources: BTreeSet<String> = ids.chain([hiccups("", 0).id.to_owned()]).collect();
        let missing: Vec<_> = sources.difference(&table).collect();
        let gone: Vec<_> = table.difference(&sources).collect();
        assert!(missing.is_empty() && gone.is_empty(), "missing {missing:?}, gone {gone:?}");
    }

    #[test]
    fn an_empty_record_is_examined_without_harm() {
        assert!(!judge(&Host::default()).is_empty());
    }
}
