//! Releases that are known: where an engine's libraries are published, and what some of them must
//! be. No list of versions is fetched: what is not known here is found out by trying.

use crate::exit::Complaint;
use anyhow::Context as _;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::env::consts::ARCH;

const KNOWN: &str = include_str!("releases.toml");

/// An engine whose libraries are published.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Published {
    /// `group:name`, as its registry has it.
    artifact: String,
    linux: Linux,
    /// The library inside, by processor.
    file: BTreeMap<String, String>,
    /// Known beforehand, newest first.
    pub(super) release: Vec<Release>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Linux {
    until: String,
    classifier: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Release {
    pub(super) version: String,
    /// Of the library inside, by processor.
    sha256: BTreeMap<String, String>,
}

/// All engines whose libraries are published, by name.
pub(super) fn all() -> anyhow::Result<BTreeMap<String, Published>> {
    toml::from_str(KNOWN).context("the list of releases cannot be read")
}

pub(super) fn of(engine: &str) -> anyhow::Result<Published> {
    let mut all = all()?;
    if let Some(published) = all.remove(engine) {
        return Ok(published);
    }
    let known: Vec<String> = all.into_keys().collect();
    let hint = format!(
        "fetched can be: {}; other engines are part of their workers, as `kvdyno engines` lists \
         them",
        known.join(", ")
    );
    Err(Complaint::usage(format!("no library of `{engine}` is published")).hint(hint).into())
}

impl Published {
    /// What the library must be; none: of this version nothing is known beforehand.
    pub(super) fn sha256(&self, version: &str) -> Option<&str> {
        let release = self.release.iter().find(|release| release.version == version)?;
        release.sha256.get(ARCH).map(String::as_str)
    }

    /// `org.rocksdb:rocksdbjni:9.10.0:jar:linux64`.
    pub(super) fn coordinates(&self, version: &str) -> String {
        let (artifact, Linux { until, classifier }) = (&self.artifact, &self.linux);
        if numbers(version) <= numbers(until) {
            format!("{artifact}:{version}:jar:{classifier}")
        } else {
            format!("{artifact}:{version}")
        }
    }

    /// The library's name inside, for this machine's processor.
    pub(super) fn file(&self) -> Result<&str, Complaint> {
        self.file.get(ARCH).map(String::as_str).ok_or_else(|| {
            let known: Vec<&str> = self.file.keys().map(String::as_str).collect();
            let what = format!("no library is published for the processor {ARCH}");
            let hint = format!(
                "published for: {}; a build of your own is named by `library = PATH` in a suite",
                known.join(", ")
            );
            Complaint::usage(what).hint(hint)
        })
    }
}

fn numbers(version: &str) -> Vec<u64> {
    version.split('.').map_while(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_record::library::is_version;

    #[test]
    fn what_is_known_is_sound() {
        for published in all().unwrap().values() {
            let versions: Vec<_> =
                published.release.iter().map(|release| numbers(&release.version)).collect();
            assert!(versions.is_sorted_by(|newer, older| newer > older), "{versions:?}");
            assert!(published.release.iter().all(|release| is_version(&release.version)));
            for release in &published.release {
                let sums: Vec<_> = release.sha256.keys().collect();
                assert_eq!(sums, published.file.keys().collect::<Vec<_>>(), "{release:?}");
                assert!(release.sha256.values().all(|sum| sum.len() == 64), "{release:?}");
            }
        }
        assert!(of("lmdb").is_err());
    }

    #[test]
    fn newer_releases_are_for_all_systems() {
        let rocksdb = of("rocksdb").unwrap();
        let expected = "org.rocksdb:rocksdbjni:9.10.0:jar:linux64";
        assert_eq!(rocksdb.coordinates("9.10.0"), expected);
        assert!(rocksdb.coordinates("10.10.1").ends_with(":linux64"));
        assert_eq!(rocksdb.coordinates("10.10.2"), "org.rocksdb:rocksdbjni:10.10.2");
        assert_eq!(rocksdb.coordinates("11.8.1"), "org.rocksdb:rocksdbjni:11.8.1");
    }
}
