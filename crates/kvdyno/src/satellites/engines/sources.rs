//! An engine's published sources, fetched by the registry's ordinary client and built here by their
//! own build system.

use super::releases::Sources;
use super::{plugin, tool};
use crate::exit::Complaint;
use anyhow::Context as _;
use kvdyno_record::files::sha256;
use std::env::consts::ARCH;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The packages for building on Debian.
const REMEDY: &str = "on Debian: `apt-get install cmake ninja-build gcc g++ python3-pip liblz4-dev \
                      libsnappy-dev libzstd-dev`";

/// Compressors that the build includes if their headers are installed: the name in its options, the
/// library.
pub(super) const COMPRESSORS: [(&str, &str); 3] =
    [("LZ4", "lz4"), ("SNAPPY", "snappy"), ("ZSTD", "zstd")];

/// A build and its origin.
pub(super) struct EngineBuild {
    /// The directory of header and library.
    pub(super) prefix: PathBuf,
    pub(super) source: String,
    /// Compressors that it lacks.
    pub(super) without: Vec<&'static str>,
}

impl Sources {
    /// Fetches a version into `dir` and builds it there; reports the progress.
    pub(super) fn build(
        &self,
        version: &str,
        dir: &Path,
        mut report: impl FnMut(&str, u64, Option<u64>),
    ) -> anyhow::Result<EngineBuild> {
        report("fetching", 0, None);
        let archive = self.fetch(version, dir)?;
        let sum = sha256(&archive)?;
        let sources = unpack(&archive, dir)?;
        let prefix = dir.join("build");
        let (installed, missing): (Vec<_>, Vec<_>) =
            COMPRESSORS.into_iter().partition(|(_, library)| plugin::has_library("cc", library));
        tool::run(configure(&sources, &prefix, &installed), REMEDY, |_| {})?;
        let mut build = Command::new("cmake");
        let jobs = std::thread::available_parallelism().map_or(1, usize::from).to_string();
        build.arg("--build").arg(&prefix);
        build.args(["--target", "wiredtiger_static", "--parallel", &jobs]);
        tool::run(build, REMEDY, |line| {
            let (done, all) = steps(line).unzip();
            report("compiling", done.unwrap_or(0), all);
        })?;
        Ok(EngineBuild {
            prefix,
            source: format!("{} {version}, its sources (SHA-256 {sum})", self.package),
            without: missing.into_iter().map(|(_, library)| library).collect(),
        })
    }

    /// Fetches the sources by `pip`, which verifies a known checksum before it reads the archive.
    fn fetch(&self, version: &str, dir: &Path) -> anyhow::Result<PathBuf> {
        let package = &self.package;
        let requirements = dir.join("wanted.txt");
        let sum = self.sha256(version);
        let hash = sum.map(|sum| format!(" --hash=sha256:{sum}")).unwrap_or_default();
        std::fs::write(&requirements, format!("{package}=={version}{hash}\n"))?;
        let mut pip = Command::new("python3");
        // Only this package must come as source; its build requirements may be binaries.
        pip.args(["-m", "pip", "download", "--no-deps", "--disable-pip-version-check"]);
        pip.args(["--no-binary", package, "--progress-bar", "off", "--dest"]);
        pip.arg(dir).arg("--requirement").arg(&requirements);
        // In another directory, settings of a project could apply.
        pip.current_dir(dir);
        let hint = format!(
            "check that this machine is online, and that release {version} exists: `kvdyno engines \
             list` shows known ones; {REMEDY}"
        );
        tool::run(pip, &hint, |_| {})?;
        let archive = |path: &PathBuf| path.to_string_lossy().ends_with(".tar.gz");
        let mut files = std::fs::read_dir(dir)?.flatten().map(|entry| entry.path());
        let archive = files.find(archive);
        archive.with_context(|| format!("`pip` did not fetch sources of {package} {version}"))
    }
}

/// Unpacks the archive, and returns its one directory.
fn unpack(archive: &Path, dir: &Path) -> anyhow::Result<PathBuf> {
    let sources = dir.join("sources");
    std::fs::create_dir(&sources)?;
    let mut tar = Command::new("tar");
    tar.arg("-xzf").arg(archive).arg("-C").arg(&sources);
    tool::run(tar, REMEDY, |_| {})?;
    let mut inside = std::fs::read_dir(&sources)?.flatten().map(|entry| entry.path());
    let dir = inside.find(|path| path.join("CMakeLists.txt").is_file());
    dir.ok_or_else(|| {
        let what = "these sources have no CMakeLists.txt: the version is too old for kvdyno to \
                    build";
        let hint = "build them by their own instructions, then use `kvdyno engines build NAME \
                    --prefix DIR`";
        Complaint::usage(what).hint(hint).into()
    })
}

/// The command with the options of the authors' releases, for this processor, without unused parts.
fn configure(sources: &Path, prefix: &Path, compressors: &[(&str, &str)]) -> Command {
    let mut command = Command::new("cmake");
    command.arg("-S").arg(sources).arg("-B").arg(prefix);
    if tool::is_installed("ninja") {
        command.args(["-G", "Ninja"]);
    }
    let processor = if ARCH == "x86_64" { "-march=native" } else { "-mcpu=native" };
    command.arg("-DCMAKE_BUILD_TYPE=Release").arg(format!("-DCMAKE_C_FLAGS={processor}"));
    command.args(
        "-DENABLE_STATIC=1 -DENABLE_SHARED=0 -DWITH_PIC=1 -DENABLE_PYTHON=0 -DENABLE_TCMALLOC=0 \
         -DENABLE_STRICT=0 -DHAVE_DIAGNOSTIC=0 -DHAVE_UNITTEST=0"
            .split_whitespace(),
    );
    command.args(compressors.iter().map(|(name, _)| format!("-DHAVE_BUILTIN_EXTENSION_{name}=1")));
    command
}

/// `[12/219] Building C object ...`.
fn steps(line: &str) -> Option<(u64, u64)> {
    let (done, all) = line.strip_prefix('[')?.split_once(']')?.0.split_once('/')?;
    Some((done.parse().ok()?, all.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_far_a_build_is_stands_in_its_lines() {
        assert_eq!(steps("[12/219] Building C object x.o"), Some((12, 219)));
        assert_eq!(steps("[ 12%] Building C object x.o"), None);
        assert_eq!(steps("-- Configuring done"), None);
    }
}
