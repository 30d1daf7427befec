//! The engine's repository: its commits, by `git`, and a clone in which they are built.

use crate::exit::Complaint;
use anyhow::{Context as _, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A repository that is only read.
pub(super) struct Repository {
    dir: PathBuf,
}

/// A commit's full name and the first line of its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Commit {
    pub(super) sha: String,
    pub(super) subject: String,
}

impl Repository {
    pub(super) fn open(dir: &Path) -> anyhow::Result<Self> {
        let dir = std::path::absolute(dir)?;
        let top = git(&dir, &["rev-parse", "--show-toplevel"]).map_err(|error| {
            Complaint::usage(format!("cannot run `git`: {error}")).hint("`apt install git`")
        })?;
        if !top.status.success() {
            let what = format!("--repo {}: expected a git repository", dir.display());
            return Err(Complaint::usage(what).hint(last_line(&top.stderr)).into());
        }
        Ok(Self { dir: String::from_utf8_lossy(&top.stdout).trim_end().into() })
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The commit of a name. `option` is the option that names it.
    pub(super) fn commit(&self, option: &str, name: &str) -> Result<Commit, Complaint> {
        let revision = format!("{name}^{{commit}}");
        let arguments = [
            "log",
            "-1",
            "--no-show-signature",
            "--format=%H%x00%s",
            "--end-of-options",
            &revision,
            "--",
        ];
        let line = text(&self.dir, &arguments).ok();
        let commit = line.as_deref().and_then(|line| line.trim_end_matches('\n').split_once('\0'));
        let (sha, subject) = commit.ok_or_else(|| {
            let what = format!("{option} {name}: the repository has no such commit");
            Complaint::usage(what).hint(format!("`git -C {} log`", self.dir.display()))
        })?;
        Ok(Commit { sha: sha.to_owned(), subject: subject.to_owned() })
    }

    /// Whether the first commit is in the history of the second.
    pub(super) fn is_before(&self, first: &Commit, second: &Commit) -> anyhow::Result<bool> {
        let arguments = ["merge-base", "--is-ancestor", &first.sha, &second.sha];
        Ok(git(&self.dir, &arguments)?.status.success())
    }

    /// The commits that may be the first bad one, the one that halves them best first. The known
    /// bad commit is among them.
    pub(super) fn suspects(&self, good: &[&str], bad: &str) -> anyhow::Result<Vec<String>> {
        let without: Vec<String> = good.iter().map(|sha| format!("^{sha}")).collect();
        let mut arguments = vec!["rev-list", "--bisect-all", bad];
        arguments.extend(without.iter().map(String::as_str));
        let listed = text(&self.dir, &arguments)?;
        let sha = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
        Ok(listed.lines().map(sha).filter(|sha| !sha.is_empty()).collect())
    }

    /// Makes a clone that shares the repository's objects; a clone that is there already is used.
    pub(super) fn clone_into(&self, tree: &Path) -> anyhow::Result<()> {
        if tree.join(".git").is_dir() {
            return Ok(());
        }
        let from = self.dir.display().to_string();
        let to = tree.display().to_string();
        let arguments = ["clone", "--quiet", "--shared", "--no-checkout", "--", &from, &to];
        text(&self.dir, &arguments).map(drop)
    }
}

/// Puts the files of a commit into the clone; what earlier builds left stays.
pub(super) fn check_out(tree: &Path, sha: &str) -> anyhow::Result<()> {
    text(tree, &["checkout", "--quiet", "--force", "--detach", sha]).map(drop)
}

/// Builds the commit that is checked out. Returns its library, or the reason why there is none.
pub(super) fn build(
    tree: &Path,
    command: &str,
    library: &Path,
    log: &Path,
) -> anyhow::Result<Result<PathBuf, String>> {
    let file = fs::File::create(log).with_context(|| log.display().to_string())?;
    let library = tree.join(library);
    // A library that an earlier commit left must not be taken for this one's.
    if library.exists() {
        fs::remove_file(&library).with_context(|| library.display().to_string())?;
    }
    let mut build = Command::new("sh");
    build.args(["-c", command]).current_dir(tree).stdin(std::process::Stdio::null());
    build.stdout(file.try_clone()?).stderr(file);
    let status = without_git(&mut build).status().context("cannot run `sh`")?;
    if !status.success() {
        let last = fs::read(log).map(|bytes| last_line(&bytes)).unwrap_or_default();
        return Ok(Err(format!("its build failed ({status}): {last}")));
    }
    if !library.is_file() {
        return Ok(Err(format!("its build left no {}", library.display())));
    }
    Ok(Ok(library))
}

/// Runs git, which must succeed, and returns its standard output.
fn text(dir: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let done = git(dir, arguments).context("cannot run `git`")?;
    if !done.status.success() {
        bail!("`git {}` failed: {}", arguments.join(" "), last_line(&done.stderr));
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

fn git(dir: &Path, arguments: &[&str]) -> std::io::Result<Output> {
    without_git(Command::new("git").arg("-C").arg(dir).args(arguments)).output()
}

/// Removes the variables that a hook of another repository would set.
fn without_git(command: &mut Command) -> &mut Command {
    ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"]
        .into_iter()
        .fold(command, |command, variable| command.env_remove(variable))
}

fn last_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().to_owned()
}
