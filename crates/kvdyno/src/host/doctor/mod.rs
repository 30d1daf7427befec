//! What the host cannot enforce or will distort, as typed checks with what would change it.
//!
//! The checks are pure functions of [`Host`]: a record can be examined years later. Nothing is
//! ever changed here, and nothing refused; who prints the checks decides what they are worth.
//! Reasons and figures: docs/host.md.

mod machine;
mod memory;
mod rights;
mod volume;

use super::{Root, facts};
use kvdyno_record::host::{Filesystem, Host};
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

/// Examines this host, with the volume under `place`, which need not exist yet.
pub fn examine(root: &Root, place: &Path) -> Vec<Check> {
    judge(&facts::read(root, place))
}

/// Examines a host as it was recorded.
pub fn judge(host: &Host) -> Vec<Check> {
    let parts = [volume::checks(host), memory::checks(host), machine::checks(host)];
    parts.into_iter().flatten().chain(rights::checks(host)).collect()
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
    use std::collections::HashSet;

    #[test]
    fn this_host_is_examined_and_nothing_is_said_twice() {
        let checks = examine(&Root::system(), Path::new("/var/tmp"));
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
    fn an_empty_record_is_examined_without_harm() {
        assert!(!judge(&Host::default()).is_empty());
    }
}
