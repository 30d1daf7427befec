//! An engine in C whose sources its authors publish in a crate: fetched by cargo, which verifies
//! their checksum, and built here by their own build system.

use super::releases::CrateSources;
use super::sources::{COMPRESSORS, EngineBuild};
use super::{plugin, tool};
use crate::exit::Complaint;
use anyhow::{Context as _, ensure};
use serde::Deserialize;
use std::env::consts::ARCH;
use std::path::{Path, PathBuf};
use std::process::Command;

const REMEDY: &str = "Rust's `cargo`, CMake and a C compiler build it: on Debian `apt-get install \
                      cargo cmake gcc liblz4-dev libsnappy-dev libzstd-dev`";

impl CrateSources {
    /// Fetches a known version into `dir` and builds it there; reports the progress.
    pub(super) fn build(
        &self,
        version: &str,
        dir: &Path,
        mut report: impl FnMut(&str, u64, Option<u64>),
    ) -> anyhow::Result<EngineBuild> {
        let release = self.release(version)?;
        report("fetching", 0, None);
        let sources = self.fetch(&release.package_version, &release.sha256, dir)?;
        report("compiling", 0, None);
        let (build, prefix) = (dir.join("build"), dir.join("installed"));
        let (installed, missing): (Vec<_>, Vec<_>) =
            COMPRESSORS.into_iter().partition(|(_, library)| plugin::has_library("cc", library));
        let mut configure = Command::new("cmake");
        configure.arg("-S").arg(sources.join(&self.dir)).arg("-B").arg(&build);
        let processor = if ARCH == "x86_64" { "-march=native" } else { "-mcpu=native" };
        configure.arg("-DCMAKE_BUILD_TYPE=Release").arg(format!("-DCMAKE_C_FLAGS={processor}"));
        configure.arg("-DBUILD_SHARED_LIBS=OFF").args(&self.options);
        let switches = [(&installed, "ON"), (&missing, "OFF")];
        configure.args(switches.iter().flat_map(|(compressors, word)| {
            compressors.iter().map(move |(name, _)| format!("-D{}{name}={word}", self.compressor))
        }));
        tool::run(configure, REMEDY, |_| {})?;
        let jobs = std::thread::available_parallelism().map_or(1, usize::from).to_string();
        let mut compile = Command::new("cmake");
        compile.arg("--build").arg(&build).args(["--parallel", &jobs]);
        tool::run(compile, REMEDY, |_| {})?;
        let mut install = Command::new("cmake");
        install.arg("--install").arg(&build).arg("--prefix").arg(&prefix);
        tool::run(install, REMEDY, |_| {})?;
        Ok(EngineBuild {
            prefix,
            source: format!("crate {} {}", self.package, release.package_version),
            without: missing.into_iter().map(|(_, library)| library).collect(),
        })
    }

    /// Fetches the sources of the crate and of its dependencies, and compares the crate's checksum.
    fn fetch(&self, version: &str, sha256: &str, dir: &Path) -> anyhow::Result<PathBuf> {
        let package = &self.package;
        let project = dir.join("wanted");
        std::fs::create_dir_all(project.join("src"))?;
        std::fs::write(project.join("src/lib.rs"), "")?;
        let manifest = format!(
            "[package]\nname = \"wanted\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n\
             [dependencies]\n{package} = \"={version}\"\n\n[workspace]\n"
        );
        std::fs::write(project.join("Cargo.toml"), manifest)?;
        let mut cargo = Command::new("cargo");
        cargo.args(["vendor", "--quiet", "sources"]).current_dir(&project);
        let hint = format!("check that this machine is online; {REMEDY}");
        tool::run(cargo, &hint, |_| {})?;
        let sources = project.join("sources").join(package);
        let sum = read_checksum(&sources)?;
        ensure!(
            sum == sha256,
            Complaint::usage(format!(
                "crate {package} {version} differs from the published one: expected SHA-256 \
                 {sha256}, found {sum}"
            ))
            .hint("nothing was installed")
        );
        Ok(sources)
    }
}

/// The checksum of the crate's archive, which cargo has verified.
fn read_checksum(sources: &Path) -> anyhow::Result<String> {
    #[derive(Deserialize)]
    struct Checksums {
        package: String,
    }
    let file = sources.join(".cargo-checksum.json");
    let text =
        std::fs::read(&file).with_context(|| format!("failed to read {}", file.display()))?;
    Ok(serde_json::from_slice::<Checksums>(&text)?.package)
}
