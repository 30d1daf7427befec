//! Scripts run on a machine where nothing is set up: with no variable but HOME and PATH.

use super::repository;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What bash itself sets, beside the two that every login sets.
const ALWAYS_SET: [&str; 4] = ["HOME", "PATH", "SECONDS", "BASH_REMATCH"];

/// Scripts that others source.
const SOURCED: [&str; 3] = ["apt.sh", "archive.sh", "skip.sh"];

/// The scripts with what the Makefile hands to them.
const ARGUMENTS: [(&str, &[&str]); 21] = [
    ("chromium.sh", &[]),
    ("deb.sh", &[]),
    ("demo.sh", &["bin/kvdyno", "1.2.3"]),
    ("dist.sh", &[]),
    ("ferretdb.sh", &[]),
    ("get-engines.sh", &["bin/kvdyno", "wiredtiger", "leveldb", "redis"]),
    ("image.sh", &[]),
    ("library.sh", &["bin/kvdyno", "1.2.3"]),
    ("library.sh", &["--is-there", "1.2.3"]),
    ("long-record.sh", &[]),
    ("missing-mpi.sh", &[]),
    ("node.sh", &[]),
    ("parts.sh", &["setup", "test"]),
    ("refuse-skips.sh", &["all", "-root"]),
    ("rocksdb-native.sh", &[]),
    ("setup.sh", &[]),
    ("test-engines.sh", &["bin", "lmdb", "rocksdb"]),
    ("test-page.sh", &["bin/kvdyno"]),
    ("test-tools.sh", &["fio", "mkfs", "valgrind", "java", "mpi", "prometheus", "fleet"]),
    ("try-dist.sh", &[]),
    ("../.ci/run", &[]),
];

/// Programs that every Linux has and that do no harm.
const HARMLESS: [&str; 33] = [
    "awk",
    "basename",
    "bash",
    "cat",
    "chmod",
    "cmp",
    "cp",
    "cut",
    "date",
    "dirname",
    "env",
    "find",
    "grep",
    "head",
    "id",
    "ls",
    "mkdir",
    "mktemp",
    "mv",
    "nproc",
    "rm",
    "sed",
    "sha256sum",
    "sh",
    "sort",
    "strip",
    "tail",
    "tar",
    "touch",
    "tr",
    "uname",
    "wc",
    "xargs",
];

/// Programs that install, build or mount: here they do nothing.
const HARMFUL: [&str; 24] = [
    "apt-get",
    "c++",
    "cargo",
    "cc",
    "chroot",
    "debootstrap",
    "du",
    "fio",
    "go",
    "install",
    "java",
    "ldconfig",
    "make",
    "mkfs.ext4",
    "mount",
    "mvn",
    "node",
    "npm",
    "objdump",
    "python3",
    "rustc",
    "sudo",
    "umount",
    "valgrind",
];

fn scripts() -> Vec<(String, String)> {
    let mut scripts = Vec::new();
    for entry in fs::read_dir(repository().join("scripts")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|kind| kind == "sh") {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            scripts.push((name, fs::read_to_string(&path).unwrap()));
        }
    }
    let ci = fs::read_to_string(repository().join(".ci/run")).unwrap();
    scripts.push(("../.ci/run".to_owned(), ci));
    scripts
}

/// Names in capitals that a line reads without a default.
fn variables_read(line: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for (at, _) in line.match_indices('$') {
        let after = &line[at + 1..];
        let braced = after.starts_with('{');
        let after = after.trim_start_matches(['{', '#']);
        let end = after.find(|letter: char| !letter.is_ascii_uppercase() && letter != '_');
        let (name, rest) = after.split_at(end.unwrap_or(after.len()));
        let defaults = ["-", ":-", "+", ":+"];
        let has_default = braced && defaults.iter().any(|mark| rest.starts_with(mark));
        let is_guarded = line.contains(&format!("${{{name}:+"));
        if name.len() > 1 && !has_default && !is_guarded {
            names.push(name);
        }
    }
    names
}

#[test]
fn scripts_read_no_variable_that_a_newcomer_lacks() {
    let mut wrong = Vec::new();
    for (name, text) in scripts() {
        let stops = text.lines().any(|line| line.starts_with("set -") && line.contains('u'));
        if !stops && !SOURCED.contains(&name.as_str()) {
            wrong.push(format!("{name}: expected `set -u`"));
        }
        for (number, line) in text.lines().enumerate() {
            for variable in variables_read(line) {
                let assigned = text.contains(&format!("{variable}="));
                if !assigned && !ALWAYS_SET.contains(&variable) {
                    wrong.push(format!("{name}:{}: {variable} may not be set", number + 1));
                }
            }
        }
    }
    super::assert_none("scripts that need what is not set (write ${NAME:-default})", &wrong);
}

#[test]
fn a_variable_with_a_default_may_be_missing() {
    assert_eq!(variables_read("echo $CI ${CI} ${#CI} \"${CI//,/ }\""), ["CI"; 4]);
    assert!(variables_read("echo ${CI-} ${CI:-x} ${CI:+x} $1 $(NO) $ci").is_empty());
}

/// Copies of the scripts, in two worlds: all that they call does nothing, or is not there at all.
#[test]
fn scripts_run_with_no_variable_set() {
    let tested: BTreeSet<&str> = ARGUMENTS.iter().map(|(name, _)| *name).collect();
    for (name, _) in scripts().iter().filter(|(name, _)| !SOURCED.contains(&name.as_str())) {
        assert!(tested.contains(name.as_str()), "{name} has no line in ARGUMENTS");
    }
    let mut wrong = Vec::new();
    for all_is_there in [true, false] {
        for (name, arguments) in ARGUMENTS {
            let world = tempfile::tempdir().unwrap();
            make_world(world.path(), all_is_there);
            let output = Command::new("/bin/bash")
                .arg(world.path().join("scripts").join(name))
                .args(arguments)
                .env_clear()
                .env("HOME", world.path().join("home"))
                .env("PATH", world.path().join("path"))
                .current_dir(world.path())
                .stdin(std::process::Stdio::null())
                .output()
                .unwrap();
            let errors = String::from_utf8_lossy(&output.stderr);
            wrong.extend(
                errors
                    .lines()
                    .filter(|line| line.contains("unbound variable"))
                    .map(|line| format!("{name} (all is there: {all_is_there}): {line}")),
            );
        }
    }
    super::assert_none("scripts that need a variable", &wrong);
}

/// A directory with the repository's scripts and a PATH that holds nothing harmful.
fn make_world(world: &Path, all_is_there: bool) {
    for dir in ["scripts", ".ci", "path", "home", "bin", "report/dist"] {
        fs::create_dir_all(world.join(dir)).unwrap();
    }
    for (name, text) in scripts() {
        make_program(&world.join("scripts").join(name), &text);
    }
    fs::write(world.join("report/dist/index.html"), "").unwrap();
    for name in HARMLESS {
        let paths = ["/usr/bin", "/bin"].map(|dir| PathBuf::from(dir).join(name));
        if let Some(path) = paths.iter().find(|path| path.exists()) {
            symlink(path, world.join("path").join(name)).unwrap();
        }
    }
    let nothing = "#!/bin/sh\nexit 0\n";
    for name in HARMFUL.iter().filter(|_| all_is_there) {
        make_program(&world.join("path").join(name), nothing);
    }
    for name in ["kvdyno", "kvdyno-lmdb", "kvdyno-rocksdb"] {
        make_program(&world.join("bin").join(name), nothing);
    }
}

fn make_program(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}
