//! Releases that are known: where an engine's libraries are published, and what some of them must
//! be. No list of versions is fetched: what is not known here is found out by trying.

use crate::exit::Complaint;
use anyhow::Context as _;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::env::consts::ARCH;
use std::process::Command;

const KNOWN: &str = include_str!("releases.toml");

/// How an engine's library is had.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub(super) enum Published {
    /// As it was built by the engine's authors.
    Maven(Binaries),
    /// Built here from its authors' sources.
    Sources(Sources),
    /// From the distribution's package, with a shim that is compiled here.
    System(System),
    /// A server, of the distribution's packages, which are unpacked and not installed.
    Debian(Packages),
}

/// Libraries in archives of Java's.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Binaries {
    /// `group:name`, as its registry has it.
    artifact: String,
    linux: Linux,
    /// The library inside, by processor.
    file: BTreeMap<String, String>,
    /// Known beforehand, newest first.
    release: Vec<Binary>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Linux {
    until: String,
    classifier: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Binary {
    version: String,
    /// Of the library inside, by processor.
    sha256: BTreeMap<String, String>,
}

/// Source distributions of a package of Python's.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sources {
    pub(super) package: String,
    /// Known beforehand, newest first.
    release: Vec<Source>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Source {
    version: String,
    /// Of the archive.
    sha256: String,
}

/// A package of Debian's; other distributions have it by other names.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct System {
    pub(super) package: String,
}

/// Packages of Debian's that hold a server.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Packages {
    /// The first of them has the version.
    pub(super) packages: Vec<String>,
    /// The server's program in them; a `*` stands for one folder.
    pub(super) program: String,
}

/// All engines whose libraries are published, by name.
pub(super) fn all() -> anyhow::Result<BTreeMap<String, Published>> {
    toml::from_str(KNOWN).context("the list of releases cannot be read")
}

pub(super) fn fetch_published(engine: &str) -> anyhow::Result<Published> {
    let mut all = all()?;
    if let Some(published) = all.remove(engine) {
        return Ok(published);
    }
    let known: Vec<String> = all.into_keys().collect();
    let hint = format!(
        "to be had are: {}; other engines are part of their workers, as `kvdyno engines` lists \
         them",
        known.join(", ")
    );
    Err(Complaint::usage(format!("no library of `{engine}` is published")).hint(hint).into())
}

impl Published {
    /// Those known beforehand, newest first; of the system's package none is.
    pub(super) fn versions(&self) -> Vec<&str> {
        match self {
            Self::Maven(of) => of.release.iter().map(|release| &*release.version).collect(),
            Self::Sources(of) => of.release.iter().map(|release| &*release.version).collect(),
            Self::System(_) | Self::Debian(_) => Vec::new(),
        }
    }

    /// There is the distribution's version and no other.
    pub(super) fn is_of_the_system(&self) -> bool {
        matches!(self, Self::System(_) | Self::Debian(_))
    }
}

impl Sources {
    /// What the archive must be; none: of this version nothing is known beforehand.
    pub(super) fn sha256(&self, version: &str) -> Option<&str> {
        let release = self.release.iter().find(|release| release.version == version)?;
        Some(&release.sha256)
    }
}

impl System {
    /// `libleveldb-dev 1.23-4`: as it is installed, where that can be told.
    pub(super) fn installed(&self) -> String {
        let mut query = Command::new("dpkg-query");
        query.args(["--show", "--showformat=${Package} ${Version}", &self.package]);
        let told = query.output().ok().filter(|output| output.status.success());
        told.map_or_else(
            || "the system's own".to_owned(),
            |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        )
    }
}

impl Binaries {
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
            let versions = published.versions();
            assert!(versions.iter().all(|version| is_version(version)), "{versions:?}");
            let newest_first = |newer: &&str, older: &&str| numbers(newer) > numbers(older);
            assert!(versions.is_sorted_by(newest_first), "{versions:?}");
            let sums: Vec<&String> = match published {
                Published::Maven(of) => {
                    let processors: Vec<_> = of.file.keys().collect();
                    let of_each =
                        |release: &&Binary| release.sha256.keys().collect::<Vec<_>>() == processors;
                    assert!(of.release.iter().all(|release| of_each(&release)), "{of:?}");
                    of.release.iter().flat_map(|release| release.sha256.values()).collect()
                }
                Published::Sources(of) => {
                    of.release.iter().map(|release| &release.sha256).collect()
                }
                Published::System(_) | Published::Debian(_) => Vec::new(),
            };
            assert!(sums.iter().all(|sum| sum.len() == 64), "{sums:?}");
        }
        assert!(fetch_published("lmdb").is_err());
    }

    #[test]
    fn newer_releases_are_for_all_systems() {
        let Published::Maven(rocksdb) = fetch_published("rocksdb").unwrap() else {
            panic!("not by Maven")
        };
        let expected = "org.rocksdb:rocksdbjni:9.10.0:jar:linux64";
        assert_eq!(rocksdb.coordinates("9.10.0"), expected);
        assert!(rocksdb.coordinates("10.10.1").ends_with(":linux64"));
        assert_eq!(rocksdb.coordinates("10.10.2"), "org.rocksdb:rocksdbjni:10.10.2");
        assert_eq!(rocksdb.coordinates("11.8.1"), "org.rocksdb:rocksdbjni:11.8.1");
    }
}
