//! The house: which crate may build on which, and what those that are pure leave alone.

use super::{Source, assert_none, repository, rust};
use std::collections::BTreeSet;
use std::fs;

/// What each crate may build on: nothing above it. (docs/architecture.md)
const LAYERS: [(&str, &[&str]); 14] = [
    ("engine", &[]),
    ("trace", &[]),
    ("attach", &["engine"]),
    ("testing", &["engine"]),
    ("record", &["engine"]),
    ("worker", &["engine", "record", "trace"]),
    ("suite", &["record"]),
    ("torture", &["record"]),
    ("host", &["record", "testing"]),
    ("blockio", &["host", "record"]),
    ("crew", &["engine", "host", "record"]),
    ("analysis", &["record"]),
    ("render", &["analysis", "record", "trace"]),
    ("kvdyno", &["analysis", "blockio", "host", "record", "render", "suite", "torture", "trace"]),
];

#[test]
fn nothing_depends_upward() {
    let mut violations = Vec::new();
    let crates = fs::read_dir(repository().join("crates")).unwrap();
    let crates: BTreeSet<String> =
        crates.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let known: BTreeSet<String> = LAYERS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(crates, known, "every crate has its place in LAYERS");
    for (name, allowed) in LAYERS {
        let text = fs::read_to_string(repository().join(format!("crates/{name}/Cargo.toml")));
        let table: toml::Table = text.unwrap().parse().unwrap();
        let own = table["dependencies"].as_table().map(|own| own.keys().cloned());
        for on in own.into_iter().flatten() {
            let on = on.strip_prefix("kvdyno-").unwrap_or("");
            if !on.is_empty() && !allowed.contains(&on) {
                violations.push(format!("crates/{name} depends on crates/{on}"));
            }
        }
    }
    assert_none("dependencies upward", &violations);
}

/// A plan, a summary and what is rendered of it are functions of what they are given: no process
/// is started, and no host is read.
#[test]
fn what_is_pure_starts_nothing_and_reads_no_host() {
    let mut violations = Vec::new();
    let pure = ["crates/suite/", "crates/analysis/", "crates/render/"];
    for Source { path, text } in rust() {
        if !pure.iter().any(|folder| path.starts_with(folder)) {
            continue;
        }
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for (number, line) in code.lines().enumerate() {
            let reaches = ["std::process::Command", "std::net", "\"/proc", "\"/sys"];
            let reaches = reaches.iter().any(|outside| line.contains(outside));
            if reaches && !path.contains("/tests") {
                violations.push(format!("{path}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert_none("crates that are pure reach outside", &violations);
}
