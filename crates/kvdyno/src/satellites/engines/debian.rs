//! Servers from the distribution's packages, with missing dependencies: fetched by `apt-get` and
//! unpacked into a directory. Nothing is installed: no service starts, no user is created, and
//! installed packages stay unchanged.

use super::releases::Packages;
use super::tool;
use anyhow::Context as _;
use kvdyno_record::engine::library::{About, Build};
use kvdyno_record::files::sha256;
use std::path::{Path, PathBuf};
use std::process::Command;

const REMEDY: &str = "this needs Debian or Ubuntu, after `apt-get update`; for an installed server \
                      use `library = PATH` in a suite";

/// Unpacks the packages into `dir`. Returns the program's path and its origin.
pub(super) fn unpack(
    engine: &str,
    published: &Packages,
    dir: &Path,
) -> anyhow::Result<(PathBuf, About)> {
    refresh();
    let (debs, tree) = (dir.join("packages"), dir.join("tree"));
    for new_dir in [&debs, &tree] {
        std::fs::create_dir(new_dir)?;
    }
    let mut fetch = Command::new("apt-get");
    fetch.arg("download").args(resolve_packages(&published.packages)?).current_dir(&debs);
    tool::run(fetch, REMEDY, |_| {})?;
    let mut version = None;
    for deb in debs.read_dir()? {
        let deb = deb?.path();
        let mut unpack = Command::new("dpkg-deb");
        unpack.arg("--extract").arg(&deb).arg(&tree);
        tool::run(unpack, REMEDY, |_| {})?;
        let name = deb.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if let Some(package_version) = parse_version(&name, &published.packages[0]) {
            version = Some((package_version, name.trim_end_matches(".deb").replace("%3a", ":")));
        }
    }
    let (version, source) = version.context("apt-get fetched other packages than requested")?;
    let program = program(&tree, &published.program).with_context(|| {
        format!("{source} does not contain {}: expected other packages", published.program)
    })?;
    let file = program.strip_prefix(&tree)?.to_string_lossy().into_owned();
    let about = About {
        engine: engine.to_owned(),
        version,
        build: Build::System,
        sha256: sha256(&program)?,
        source,
        file,
        ..About::default()
    };
    Ok((tree, about))
}

/// Fetches the package lists, which may be missing here. If that is not permitted, the next step
/// fails with a message.
fn refresh() {
    let mut update = Command::new("apt-get");
    update.args(["update", "-qq"]);
    let _ = tool::run(update, REMEDY, |_| {});
}

/// Returns these packages, their dependencies with the same prefix (`postgresql`: `postgresql-15`),
/// and the missing dependencies of both.
fn resolve_packages(packages: &[String]) -> anyhow::Result<Vec<String>> {
    let mut names = packages.to_vec();
    for name in packages {
        let mut depends = Command::new("apt-cache");
        depends.args(["depends", "--important", name]);
        tool::run(depends, REMEDY, |line| names.extend(parse_dependency(line, name)))?;
    }
    let mut simulate = Command::new("apt-get");
    simulate.args(["install", "--simulate", "--no-install-recommends"]).args(&names);
    let mut missing = Vec::new();
    tool::run(simulate, REMEDY, |line| missing.extend(parse_installation(line)))?;
    names.extend(missing);
    names.sort();
    names.dedup();
    Ok(names)
}

/// `  Depends: postgresql-15`.
fn parse_dependency(line: &str, name: &str) -> Option<String> {
    let part = line.trim().strip_prefix("Depends: ")?;
    let more = part.strip_prefix(name)?.strip_prefix('-')?;
    more.starts_with(|c: char| c.is_ascii_digit()).then(|| part.to_owned())
}

/// `Inst libjemalloc2 (5.3.0-1 Debian:12.12/oldstable [amd64])`.
fn parse_installation(line: &str) -> Option<String> {
    line.strip_prefix("Inst ")?.split(' ').next().map(str::to_owned)
}

/// `redis-server_5%3a7.0.15-1~deb12u10_amd64.deb`: without epoch and revision.
fn parse_version(file: &str, package: &str) -> Option<String> {
    let rest = file.strip_prefix(package)?.strip_prefix(['_', '-'])?;
    let version = match rest.split_once('_') {
        // `postgresql-15_15.20-0+deb12u1_amd64.deb`, from package `postgresql`.
        Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
            rest.split('_').next()?
        }
        Some((version, _)) => version,
        None => return None,
    };
    let version = version.split_once("%3a").map_or(version, |(_, version)| version);
    let end = version.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(version.len());
    let version = version[..end].trim_end_matches('.');
    version.contains('.').then(|| version.to_owned())
}

/// The program below `tree`; with several, the one with the highest version.
fn program(tree: &Path, pattern: &str) -> Option<PathBuf> {
    let mut paths = vec![tree.to_owned()];
    for part in pattern.split('/') {
        paths = match part {
            "*" => {
                let entries = paths.iter().flat_map(|dir| dir.read_dir());
                let mut all: Vec<PathBuf> =
                    entries.flatten().flatten().map(|entry| entry.path()).collect();
                all.sort_by_key(|path| (path.as_os_str().len(), path.clone()));
                all
            }
            name => paths.into_iter().map(|dir| dir.join(name)).collect(),
        };
    }
    paths.into_iter().rfind(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_from_the_name_of_a_package() {
        let version = |file: &str, package: &str| parse_version(file, package);
        let redis = "redis-server_5%3a7.0.15-1~deb12u10_amd64.deb";
        assert_eq!(version(redis, "redis-server").as_deref(), Some("7.0.15"));
        assert_eq!(version(redis, "redis"), None);
        let postgres = "postgresql-15_15.20-0+deb12u1_amd64.deb";
        assert_eq!(version(postgres, "postgresql").as_deref(), Some("15.20"));
        assert_eq!(version("postgresql_15+248_all.deb", "postgresql"), None);
        assert_eq!(version("postgresql-client-15_15.20-0_amd64.deb", "postgresql"), None);
    }

    #[test]
    fn what_is_needed_is_read_from_what_apt_says() {
        let line = "  Depends: postgresql-15";
        assert_eq!(parse_dependency(line, "postgresql").as_deref(), Some("postgresql-15"));
        assert_eq!(parse_dependency("  Depends: postgresql-common", "postgresql"), None);
        let line = "Inst libjemalloc2 (5.3.0-1 Debian:12.12/oldstable [amd64])";
        assert_eq!(parse_installation(line).as_deref(), Some("libjemalloc2"));
        assert_eq!(parse_installation("Conf libjemalloc2 (5.3.0-1)"), None);
    }

    #[test]
    fn the_program_of_the_highest_version_is_found() {
        let tree = tempfile::tempdir().unwrap();
        for version in ["9", "15", "13"] {
            let dir = tree.path().join("usr/lib/postgresql").join(version).join("bin");
            std::fs::create_dir_all(&dir).unwrap();
            std::fs::write(dir.join("postgres"), "").unwrap();
        }
        let path = program(tree.path(), "usr/lib/postgresql/*/bin/postgres").unwrap();
        assert!(path.ends_with("15/bin/postgres"), "{}", path.display());
        assert_eq!(program(tree.path(), "usr/bin/redis-server"), None);
    }
}
