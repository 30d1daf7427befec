//! The house: which crate may build on which, and what those that are pure leave alone.

use super::{Source, assert_none, repository, rust};
use std::collections::BTreeSet;
use std::fs;

/// What each crate may build on: nothing above it. (docs/architecture.md)
const LAYERS: [(&str, &[&str]); 15] = [
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
    ("profile", &["host", "record"]),
    ("crew", &["engine", "host", "record"]),
    ("analysis", &["record"]),
    ("render", &["analysis", "record", "trace"]),
    (
        "kvdyno",
        &[
            "analysis", "blockio", "host", "profile", "record", "render", "suite", "torture",
            "trace",
        ],
    ),
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
        if !pure.iter().any(|dir| path.starts_with(dir)) {
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

/// The floors of a crate, the lowest first: a directory of its sources builds on those before it.
const FLOORS: [(&str, &[&str]); 3] = [
    ("analysis", &["stats", "figures", "judge", "answers"]),
    ("suite", &["written", "edit", "check", "plan"]),
    ("kvdyno", &["records", "running", "commands", "satellites"]),
];

#[test]
fn no_floor_builds_on_one_above_it() {
    let mut violations = Vec::new();
    for Source { path, text } in rust().into_iter().filter(|source| !source.path.contains("/tests"))
    {
        let floor = FLOORS.iter().find_map(|(name, floors)| {
            let within = path.strip_prefix(&format!("crates/{name}/src/"))?;
            let index = floors.iter().position(|floor| within.split('/').next() == Some(floor))?;
            Some((within, &floors[index + 1..]))
        });
        let Some((within, above)) = floor else { continue };
        let to_root = "super::".repeat(within.trim_end_matches("/mod.rs").split('/').count());
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for (number, line) in code.lines().enumerate() {
            let reaches = |root: &str| {
                line.split(root).skip(1).any(|rest| above.iter().any(|floor| is_named(rest, floor)))
            };
            if reaches("crate::") || reaches(&to_root) {
                violations.push(format!("{path}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert_none("a floor builds on one above it", &violations);
}

fn is_named(path: &str, name: &str) -> bool {
    path.strip_prefix(name)
        .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}
