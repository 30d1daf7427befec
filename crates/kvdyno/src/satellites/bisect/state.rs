//! What a bisection asks and has found so far, in a file: the same command goes on with it.

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

/// What is asked. Commits that were judged for another question say nothing about this one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Question {
    /// The engine's repository.
    pub(super) repository: PathBuf,
    /// The full name of the commit before the change.
    pub(super) good: String,
    /// That of the commit with the change.
    pub(super) bad: String,
    /// The shell command that builds a commit.
    pub(super) build: String,
    /// The library that it builds.
    pub(super) library: PathBuf,
    /// The engine.
    pub(super) engine: String,
    /// The suite, with what the command line changes.
    pub(super) suite: Vec<String>,
    /// The phase that is judged; none: the suite's first measured one.
    pub(super) phase: Option<String>,
}

/// What decides.
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
    /// It could not be built or judged.
    Skipped,
}

/// A commit that was looked at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Judged {
    pub(super) sha: String,
    /// The first line of its message.
    pub(super) subject: String,
    pub(super) verdict: Verdict,
    /// Why it was skipped.
    pub(super) why: Option<String>,
    /// Its figure over that of GOOD, with its 99 % interval.
    pub(super) ratio: Option<[f64; 3]>,
    /// How long its build took; 0: its library was there.
    pub(super) build_ns: u64,
    /// The run that measured it.
    pub(super) run: Option<PathBuf>,
}

/// A bisection so far.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct State {
    pub(super) question: Question,
    /// The phase that is judged; empty: not known yet.
    pub(super) phase: String,
    /// None: the ends have not been compared.
    pub(super) by: Option<By>,
    /// In the order in which they were looked at; BAD is the first.
    pub(super) commits: Vec<Judged>,
}

impl State {
    /// The state in a directory, or a new one, which is kept there: what is built from now on is
    /// built for this question.
    pub(super) fn open(dir: &Path, question: Question) -> anyhow::Result<Self> {
        let path = dir.join(FILE);
        if !path.exists() || !is_begun(dir) {
            // What another command left in the clone would be taken for this one's.
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

    /// The bad commit that is the earliest so far: each that is judged is before all of these.
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
