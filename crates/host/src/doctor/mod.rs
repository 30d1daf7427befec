//! Settings of the host that the benchmark cannot enforce or that distort results, as typed checks
//! with their remedies.
//!
//! The checks are pure functions of [`Host`]: a record can be examined years later. They change
//! nothing and refuse nothing; the caller decides how to act on them. Reasons and figures:
//! docs/host.md.

mod drive;
mod limits;
mod machine;
mod memory;
mod processor;
mod rights;
mod rule;
mod volume;

use super::extents;
use kvdyno_record::host::{Filesystem, Host, settings};
pub use rule::{Diagnostic, Level};
use rule::{Rule, apply};
use std::path::Path;

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

/// Examines this host, read with the volume under `directory`, which need not exist yet.
pub fn examine(mut host: Host, directory: &Path) -> Vec<Diagnostic> {
    // Files are examined only here: a run's own do not exist yet when its host is read.
    if let Some(pieces) = extents::largest_file_pieces(directory) {
        let text = format!("{} in {}: {}", pieces.bytes, pieces.extents, pieces.name);
        host.settings.insert(settings::LARGEST_FILE.to_owned(), text);
    }
    judge(&host)
}

/// Returns the check of an idle thread's pauses, from their text and the longest one in ns.
/// Measuring them takes time, so the caller does it, if at all.
pub fn hiccups(gaps: &str, max_ns: u64) -> Diagnostic {
    machine::hiccups(gaps, max_ns)
}

/// Examines a host as it was recorded.
pub fn judge(host: &Host) -> Vec<Diagnostic> {
    RULES.iter().flat_map(|rules| apply(rules, host)).collect()
}

/// The problem with the kind of filesystem below a data directory, if there is one.
pub(super) fn warn_of_filesystem(filesystem: Filesystem) -> Option<Diagnostic> {
    let host = Host { filesystem: Some(filesystem), ..Host::default() };
    apply(&[volume::KIND], &host).pop().filter(|check| check.severity == Level::Warning)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeSet, HashSet};

    #[test]
    fn this_host_is_examined_and_nothing_is_said_twice() {
        let directory = Path::new("/var/tmp");
        let checks = examine(crate::facts::read(&crate::Root::system(), directory), directory);
        let ids: HashSet<&str> = checks.iter().map(|check| check.id).collect();
        assert_eq!(ids.len(), checks.len());
        for id in ["filesystem", "free_space", "swap", "ram_limit", "drop_caches", "kernel"] {
            assert!(ids.contains(id), "{id}");
        }
        for check in checks.iter().filter(|check| check.severity == Level::Warning) {
            assert!(check.remedy.is_some(), "a warning says what helps: {check:?}");
        }
        let json = serde_json::to_value(&checks).unwrap();
        assert_eq!(json[0]["id"], checks[0].id);
        assert!(json[0]["severity"].is_string());
    }

    #[test]
    fn the_table_of_the_docs_has_every_check_and_no_other() {
        let docs = Path::new(env!("KVDYNO_SOURCE")).join("docs/host.md");
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
