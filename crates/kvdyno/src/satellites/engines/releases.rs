//! Known releases: where an engine's libraries are published, and the checksums of some. No list of
//! versions is fetched: for other versions, fetching shows whether they exist.

use crate::exit::Complaint;
use anyhow::Context as _;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::env::consts::ARCH;
use std::process::Command;

const KNOWN: &str = include_str!("releases.toml");

/// The source of an engine's library.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub(super) enum Published {
    /// Built by the engine's authors.
    Maven(Binaries),
    /// Built here from its authors' sources.
    Sources(Sources),
    /// A plugin, built here with its authors' sources, which a crate contains.
    Crate(CrateSources),
    /// A plugin in Go, built here with the engine's module.
    Go(GoModule),
    /// The distribution's package, with a plugin compiled here.
    System(System),
    /// A server from the distribution's packages, unpacked and not installed.
    Debian(Packages),
}

/// Libraries in Java archives.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Binaries {
    /// `group:name` in its registry.
    artifact: String,
    linux: Linux,
    /// The library's name in the archive, by processor.
    file: BTreeMap<String, String>,
    /// Known releases, newest first.
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
    /// Checksum of the library in the archive, by processor.
    sha256: BTreeMap<String, String>,
}

/// Source distributions of a Python package.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sources {
    pub(super) package: String,
    /// Known releases, newest first.
    release: Vec<Source>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Source {
    version: String,
    /// Checksum of the archive.
    sha256: String,
}

/// Sources in C inside a crate, which has a version of its own.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CrateSources {
    pub(super) package: String,
    /// The directory of the sources in the crate.
    pub(super) dir: String,
    /// The options for `cmake`.
    pub(super) options: Vec<String>,
    /// The prefix of a compressor's name in the option that includes it.
    pub(super) compressor: String,
    /// Known releases, newest first.
    release: Vec<CrateRelease>,
}

/// A version of an engine, and the crate that contains it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CrateRelease {
    version: String,
    pub(super) package_version: String,
    /// Checksum of the crate.
    pub(super) sha256: String,
}

/// A module of Go.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GoModule {
    /// The module's path, with the major version.
    pub(super) module: String,
    /// Known releases, newest first; the first one is that of the plugin's go.mod.
    known: Vec<String>,
}

/// A Debian package; other distributions use other names.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct System {
    pub(super) package: String,
}

/// Debian packages with a server.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Packages {
    /// The names of the packages; the first has the version.
    pub(super) packages: Vec<String>,
    /// The path of the server's program; a `*` stands for one directory.
    pub(super) program: String,
}

/// All engines with published libraries, by name.
pub(super) fn all() -> anyhow::Result<BTreeMap<String, Published>> {
    toml::from_str(KNOWN).context("cannot read the list of releases")
}

pub(super) fn find_published(engine: &str) -> anyhow::Result<Published> {
    let mut all = all()?;
    if let Some(published) = all.remove(engine) {
        return Ok(published);
    }
    let engines: Vec<String> = all.into_keys().collect();
    let hint = format!(
        "published libraries: {}; other engines are embedded in their workers, see `kvdyno \
         engines`",
        engines.join(", ")
    );
    Err(Complaint::usage(format!("no library of `{engine}` is published")).hint(hint).into())
}

impl Published {
    /// The known versions, newest first; none for the system's package.
    pub(super) fn versions(&self) -> Vec<&str> {
        match self {
            Self::Maven(binaries) => {
                binaries.release.iter().map(|release| &*release.version).collect()
            }
            Self::Sources(binaries) => {
                binaries.release.iter().map(|release| &*release.version).collect()
            }
            Self::Crate(sources) => {
                sources.release.iter().map(|release| &*release.version).collect()
            }
            Self::Go(module) => module.versions(),
            Self::System(_) | Self::Debian(_) => Vec::new(),
        }
    }

    /// Whether releases other than the known ones can be fetched.
    pub(super) fn takes_any_release(&self) -> bool {
        matches!(self, Self::Maven(_) | Self::Sources(_) | Self::Go(_))
    }

    /// Whether only the distribution's version exists.
    pub(super) fn is_of_the_system(&self) -> bool {
        matches!(self, Self::System(_) | Self::Debian(_))
    }
}

impl GoModule {
    pub(super) fn versions(&self) -> Vec<&str> {
        self.known.iter().map(String::as_str).collect()
    }
}

impl Sources {
    /// The archive's checksum; none: unknown for this version.
    pub(super) fn sha256(&self, version: &str) -> Option<&str> {
        let release = self.release.iter().find(|release| release.version == version)?;
        Some(&release.sha256)
    }
}

impl CrateSources {
    /// The crate with this version. The contents of other crates are not known before a fetch.
    pub(super) fn release(&self, version: &str) -> Result<&CrateRelease, Complaint> {
        let versions: Vec<&str> = self.release.iter().map(|release| &*release.version).collect();
        self.release.iter().find(|release| release.version == version).ok_or_else(|| {
            let (package, versions) = (&self.package, versions.join(", "));
            let what =
                format!("expected a known version of {package} ({versions}), found {version}");
            let hint = format!(
                "`kvdyno engines build {package} --prefix DIR` makes a plugin of a build of yours"
            );
            Complaint::usage(what).hint(hint)
        })
    }
}

impl System {
    /// `libleveldb-dev 1.23-4`: the installed package, if it can be determined.
    pub(super) fn installed_package(&self) -> String {
        let mut query = Command::new("dpkg-query");
        query.args(["--show", "--showformat=${Package} ${Version}", &self.package]);
        let output = query.output().ok().filter(|output| output.status.success());
        output.map_or_else(
            || "the system's version".to_owned(),
            |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        )
    }
}

impl Binaries {
    /// The library's checksum; none: unknown for this version.
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

    /// The library's name in the archive, for this machine's processor.
    pub(super) fn file(&self) -> Result<&str, Complaint> {
        self.file.get(ARCH).map(String::as_str).ok_or_else(|| {
            let processors: Vec<&str> = self.file.keys().map(String::as_str).collect();
            let what = format!("no library is published for the processor {ARCH}");
            let hint = format!(
                "published for: {}; for a local build use `library = PATH` in a suite",
                processors.join(", ")
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
                Published::Maven(published) => {
                    let processors: Vec<_> = published.file.keys().collect();
                    let of_each =
                        |release: &&Binary| release.sha256.keys().collect::<Vec<_>>() == processors;
                    assert!(
                        published.release.iter().all(|release| of_each(&release)),
                        "{published:?}"
                    );
                    published.release.iter().flat_map(|release| release.sha256.values()).collect()
                }
                Published::Sources(published) => {
                    published.release.iter().map(|release| &release.sha256).collect()
                }
                Published::Crate(published) => {
                    published.release.iter().map(|release| &release.sha256).collect()
                }
                Published::Go(_) | Published::System(_) | Published::Debian(_) => Vec::new(),
            };
            assert!(sums.iter().all(|sum| sum.len() == 64), "{sums:?}");
        }
        assert!(find_published("lmdb").is_err());
    }

    #[test]
    fn what_a_crate_contains_must_be_known() {
        let Published::Crate(tidesdb) = find_published("tidesdb").unwrap() else {
            panic!("not in a crate")
        };
        assert_eq!(tidesdb.release("10.2.1").unwrap().package_version, "1.0.0");
        let refused = tidesdb.release("9.3.9").unwrap_err();
        assert_eq!(refused.message, "expected a known version of tidesdb (10.2.1), found 9.3.9");
    }

    #[test]
    fn newer_releases_are_for_all_systems() {
        let Published::Maven(rocksdb) = find_published("rocksdb").unwrap() else {
            panic!("not by Maven")
        };
        let expected = "org.rocksdb:rocksdbjni:9.10.0:jar:linux64";
        assert_eq!(rocksdb.coordinates("9.10.0"), expected);
        assert!(rocksdb.coordinates("10.10.1").ends_with(":linux64"));
        assert_eq!(rocksdb.coordinates("10.10.2"), "org.rocksdb:rocksdbjni:10.10.2");
        assert_eq!(rocksdb.coordinates("11.8.1"), "org.rocksdb:rocksdbjni:11.8.1");
    }
}
