//! The question of a bisection and its results so far, in a file: the same command continues it.

use crate::exit::Complaint;
use anyhow::Context as _;
use kvdyno_record::files::{read_json, write_json};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The file's name.
const FILE: &str = "bisect.json";

/// The clone in which commits are built.
pub(super) const TREE: &str = "tree";

/// The directory of the libraries that were built.
pub(super) const BUILDS: &str = "builds";

/// The inputs of a bisection. Verdicts on commits are valid only for the same question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Question {
    /// The engine's repository.
    pub(super) repository: PathBuf,
    /// The full name of the commit before the change.
    pub(super) good: String,
    /// The full name of the commit with the change.
    pub(super) bad: String,
    /// The shell command that builds a commit.
    pub(super) build: String,
    /// The library that the command builds, as a path in the clone.
    pub(super) library: PathBuf,
    /// The engine.
    pub(super) engine: String,
    /// The suite's name and text, and the command line's changes to it.
    pub(super) suite: Vec<String>,
    /// The phase that is judged; none: the suite's first measured one.
    pub(super) phase: Option<String>,
}

/// The figure that decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum By {
    /// Instructions per operation.
    Instructions,
    /// Operations per second, in turns.
    Rate,
}

/// The verdict on a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    /// Closer to GOOD.
    Good,
    /// Closer to BAD.
    Bad,
    /// The commit could not be built or judged.
    Skipped,
}

/// A commit with a verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Judged {
    pub(super) sha: String,
    /// The first line of the commit's message.
    pub(super) subject: String,
    pub(super) verdict: Verdict,
    /// The reason why the commit was skipped; null: it was judged.
    pub(super) why: Option<String>,
    /// The ratio of its figure to GOOD's, with the 99 % interval; null: not measured.
    pub(super) ratio: Option<[f64; 3]>,
    /// The duration of its build; 0: its library was stored already.
    pub(super) build_ns: u64,
    /// The directory of the run that measured it; null: not measured.
    pub(super) run: Option<PathBuf>,
}

/// A bisection so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct State {
    pub(super) question: Question,
    /// The phase that is judged; empty: not known yet.
    pub(super) phase: String,
    /// The figure that decides; none: no difference of the ends is known yet.
    pub(super) by: Option<By>,
    /// The commits in the order of their verdicts; BAD is the first.
    pub(super) commits: Vec<Judged>,
}

impl State {
    /// Opens the state in a directory, or writes a new one there: libraries that are built later
    /// are for this question.
    pub(super) fn open(dir: &Path, question: Question) -> anyhow::Result<Self> {
        let path = dir.join(FILE);
        if !path.exists() || !is_begun(dir) {
            // Files that another command left in the clone would be taken for this command's.
            let tree = dir.join(TREE);
            if tree.exists() {
                std::fs::remove_dir_all(&tree).with_context(|| tree.display().to_string())?;
            }
            let state = Self { question, phase: String::new(), by: None, commits: Vec::new() };
            state.write(dir)?;
            return Ok(state);
        }
        let state: Self = read_json(&path)?;
        if state.question != question {
            let differs = difference(&state.question, &question);
            let what = format!("{} is of another question: {differs}", dir.display());
            let hint = "remove that directory, or use another with `--runs DIR`";
            return Err(Complaint::usage(what).hint(hint).into());
        }
        Ok(state)
    }

    pub(super) fn write(&self, dir: &Path) -> anyhow::Result<()> {
        write_json(&dir.join(FILE), self).context("failed to keep what was found")
    }

    /// The commits of a verdict.
    pub(super) fn with_verdict(&self, verdict: Verdict) -> impl Iterator<Item = &Judged> {
        self.commits.iter().filter(move |commit| commit.verdict == verdict)
    }

    /// The earliest bad commit so far. It is the last one in `commits`: each commit that is judged
    /// precedes all those found bad before.
    pub(super) fn first_bad(&self) -> Option<&Judged> {
        self.with_verdict(Verdict::Bad).last()
    }
}

/// Whether anything was built: until then another question loses nothing.
fn is_begun(dir: &Path) -> bool {
    let builds = std::fs::read_dir(dir.join(BUILDS)).into_iter().flatten().flatten();
    builds.into_iter().any(|entry| entry.path().extension().is_some_and(|end| end == "so"))
}

/// The first value that differs, in words.
fn difference(old: &Question, new: &Question) -> String {
    let values = |question: &Question| serde_json::to_value(question).unwrap_or_default();
    let (old, new) = (values(old), values(new));
    let names = old.as_object().into_iter().flatten();
    let differs = |(name, value): (&String, &serde_json::Value)| {
        (new[name] != *value).then(|| format!("{name} was {value}, and is {}", new[name]))
    };
    names.into_iter().find_map(differs).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(phase: &str) -> Question {
        Question {
            repository: "/src/engine".into(),
            good: "a".into(),
            bad: "b".into(),
            build: "make".into(),
            library: "engine.so".into(),
            engine: "leveldb".into(),
            suite: vec!["versus".into()],
            phase: Some(phase.into()),
        }
    }

    #[test]
    fn another_question_does_not_go_on_with_this_one() {
        let dir = tempfile::tempdir().unwrap();
        State::open(dir.path(), question("scans")).unwrap();
        // Until something is built, another question is as good.
        let mut state = State::open(dir.path(), question("reads")).unwrap();
        std::fs::create_dir(dir.path().join(BUILDS)).unwrap();
        std::fs::write(dir.path().join(BUILDS).join("a.so"), "").unwrap();
        assert_eq!(State::open(dir.path(), question("reads")).unwrap(), state);
        state.by = Some(By::Instructions);
        state.write(dir.path()).unwrap();
        assert_eq!(State::open(dir.path(), question("reads")).unwrap(), state);
        let refused = State::open(dir.path(), question("scans")).unwrap_err().to_string();
        assert!(refused.ends_with("phase was \"reads\", and is \"scans\""), "{refused}");
    }
}
