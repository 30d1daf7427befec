//! Engines in Go: a plugin of kvdyno's own is compiled here with the engine's module in any
//! version. Go fetches modules and verifies their checksums.

use super::releases::GoModule;
use super::tool;
use crate::exit::Complaint;
use anyhow::Context as _;
use sha2::{Digest as _, Sha256};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

const REMEDY: &str = "Go 1.25 or newer and a C compiler build it: on Debian `apt-get install \
                      golang gcc`, if that is new enough";

/// A file below the directory of plugins.
type SourceFile = (&'static str, &'static str);

macro_rules! source_files {
    ($($path:literal)*) => {
        &[$((
            $path,
            include_str!(concat!("../../../../../engines/plugin/go/", $path)),
        ),)*]
    };
}

/// The files of every plugin in Go. In the sources, the header is a link.
const SHARED: &[SourceFile] = source_files! {
    "kvdyno/engine.go" "kvdyno/exports.go" "kvdyno/table.c" "kvdyno/table.h" "kvdyno/go.mod"
    "kvdyno/kvdyno_engine.h"
};

const PLUGINS: [(&str, &[SourceFile]); 3] = [
    (
        "badger",
        source_files! { "badger/engine.go" "badger/describe.go" "badger/go.mod" "badger/go.sum" },
    ),
    (
        "bbolt",
        source_files! { "bbolt/engine.go" "bbolt/describe.go" "bbolt/go.mod" "bbolt/go.sum" },
    ),
    (
        "pebble",
        source_files! { "pebble/engine.go" "pebble/describe.go" "pebble/go.mod" "pebble/go.sum" },
    ),
];

/// The checksum of the sources of an engine's plugin; none: it has no plugin in Go.
pub(super) fn checksum(engine: &str) -> Option<String> {
    let mut sum = Sha256::new();
    for (path, text) in SHARED.iter().chain(find(engine)?) {
        sum.update(path);
        sum.update([0]);
        sum.update(text);
        sum.update([0]);
    }
    Some(sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

fn find(engine: &str) -> Option<&'static [SourceFile]> {
    PLUGINS.iter().find(|(name, _)| *name == engine).map(|(_, files)| *files)
}

/// A compiled plugin, and what it was built from.
pub(super) struct BuiltPlugin {
    pub(super) path: PathBuf,
    pub(super) source: String,
}

impl GoModule {
    /// Builds the plugin of `engine` with this version of its module in `dir`.
    pub(super) fn build(
        &self,
        engine: &str,
        version: &str,
        dir: &Path,
        mut report: impl FnMut(&str, u64, Option<u64>),
    ) -> anyhow::Result<BuiltPlugin> {
        self.check_major(engine, version)?;
        let files = find(engine).with_context(|| format!("{engine} has no plugin in Go"))?;
        for (path, text) in SHARED.iter().chain(files) {
            let path = dir.join(path);
            std::fs::create_dir_all(path.parent().unwrap_or(dir))?;
            std::fs::write(path, text)?;
        }
        let sources = dir.join(engine);
        let module = format!("{}@v{version}", self.module);
        report("fetching", 0, None);
        if self.versions().first() == Some(&version) {
            // The plugin's go.sum has the checksums of all modules.
            go(&sources, ["mod", "download"])?;
        } else {
            // Other versions get their own dependencies: the plugin's go.mod has newer ones.
            std::fs::write(sources.join("go.mod"), manifest_without_dependencies(engine))?;
            std::fs::remove_file(sources.join("go.sum"))?;
            go(&sources, ["get", &module])?;
            go(&sources, ["mod", "tidy"])?;
            self.check_chosen(engine, version, &sources)?;
        }
        report("compiling", 0, None);
        let path = dir.join(format!("libkvdyno-{engine}.so"));
        let output = path.as_os_str();
        let words = ["build", "-trimpath", "-buildmode=c-shared", "-o"].map(OsStr::new);
        go(&sources, words.into_iter().chain([output, OsStr::new(".")]))?;
        Ok(BuiltPlugin { path, source: format!("{module}, {}", compiler()) })
    }

    /// Refuses another version than requested: Go uses a newer one if another module requires it.
    fn check_chosen(&self, engine: &str, version: &str, sources: &Path) -> anyhow::Result<()> {
        let mut list = Command::new("go");
        list.args(["list", "-m", "-f", "{{.Version}}", &self.module]);
        let output = list.current_dir(sources).env("GOWORK", "off").output()?;
        let chosen = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        if chosen == format!("v{version}") {
            return Ok(());
        }
        let what = format!("expected version {version} of {engine}, but Go chose {chosen}");
        let hint = "another module requires it: get that version, or a newer one";
        Err(Complaint::usage(what).hint(hint).into())
    }

    /// Refuses another major version: the plugin calls one module, whose path contains it.
    fn check_major(&self, engine: &str, version: &str) -> Result<(), Complaint> {
        let major = self.module.rsplit_once("/v").map(|(_, major)| major);
        let found = version.split('.').next().unwrap_or_default();
        if major.map_or(["0", "1"].contains(&found), |major| major == found) {
            return Ok(());
        }
        let expected = major.unwrap_or("1");
        let what = format!("expected a version {expected}.x of {engine}, found {version}");
        let hint = format!(
            "the plugin calls module {}; `kvdyno engines list` shows a known version",
            self.module
        );
        Err(Complaint::usage(what).hint(hint))
    }
}

/// The plugin's go.mod with only kvdyno's module: Go adds the other requirements.
fn manifest_without_dependencies(engine: &str) -> String {
    format!(
        "module kvdyno-{engine}\n\ngo 1.24\n\nrequire kvdyno v0.0.0\n\nreplace kvdyno => \
         ../kvdyno\n"
    )
}

fn go<S: AsRef<OsStr>>(dir: &Path, words: impl IntoIterator<Item = S>) -> anyhow::Result<()> {
    let mut command = Command::new("go");
    // Settings of a workspace that contains the store do not apply.
    command.args(words).current_dir(dir).env("GOWORK", "off").env("CGO_ENABLED", "1");
    if let Some(level) = processor_level() {
        command.env("GOAMD64", level);
    }
    tool::run(command, REMEDY, |_| {})
}

/// `go1.26.8 GOAMD64=v3`.
fn compiler() -> String {
    let output = Command::new("go").args(["env", "GOVERSION"]).output().ok();
    let version = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let level = processor_level().map(|level| format!(" GOAMD64={level}")).unwrap_or_default();
    version.unwrap_or_else(|| "go".to_owned()) + &level
}

/// The instructions that kvdyno's own engines use, if this processor has them.
fn processor_level() -> Option<&'static str> {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("fma")
    {
        return Some("v3");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::releases::{self, Published};
    use super::*;

    fn module(engine: &str) -> GoModule {
        match releases::find_published(engine).unwrap() {
            Published::Go(module) => module,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_known_version_is_that_of_the_plugins_module() {
        for (engine, files) in PLUGINS {
            let module = module(engine);
            let required = format!("{} v{}", module.module, module.versions()[0]);
            let manifest = files.iter().find(|(path, _)| path.ends_with("go.mod")).unwrap().1;
            assert!(manifest.contains(&required), "{engine}: expected {required} in {manifest}");
            let code = files.iter().find(|(path, _)| path.ends_with("describe.go")).unwrap().1;
            assert!(code.contains(&format!("const module = \"{}\"", module.module)), "{engine}");
            assert_eq!(checksum(engine).unwrap().len(), 64);
        }
        assert_eq!(checksum("lmdb"), None);
    }

    #[test]
    fn another_major_version_is_refused_before_anything_is_fetched() {
        let refused = module("pebble").check_major("pebble", "1.1.5").unwrap_err();
        assert!(refused.message.contains("expected a version 2.x of pebble, found 1.1.5"));
        assert!(module("bbolt").check_major("bbolt", "2.0.0").is_err());
        assert!(module("bbolt").check_major("bbolt", "1.4.3").is_ok());
        assert!(module("badger").check_major("badger", "4.2.0").is_ok());
    }
}
