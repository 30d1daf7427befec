//! A bisection as text, and as JSON.

use super::repository::Commit;
use super::state::{By, Judged, State, Verdict};
use super::{Ended, SHORT};
use crate::printer::Printer;
use kvdyno_record::units;
use kvdyno_render::table::{Side, Table};
use serde::Serialize;
use std::path::Path;

impl By {
    /// The figure that is compared, as text.
    pub(super) fn description(self) -> &'static str {
        match self {
            Self::Instructions => "by instructions per operation",
            Self::Rate => "by rate",
        }
    }
}

impl Verdict {
    fn as_str(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Skipped => "skipped",
        }
    }
}

/// The result as JSON.
#[derive(Serialize)]
pub(super) struct Result<'s> {
    /// The first bad commit; null: none was found.
    first_bad: Option<&'s str>,
    /// If it is undecided, commits of which one is the first bad one; otherwise empty.
    one_of: Vec<&'s str>,
    #[serde(flatten)]
    state: &'s State,
}

impl<'s> Result<'s> {
    pub(super) fn new(state: &'s State, ended: &'s Ended) -> Self {
        let one_of = match ended {
            Ended::Undecided(commits) => commits.iter().map(|commit| commit.sha.as_str()).collect(),
            _ => Vec::new(),
        };
        let first_bad = match ended {
            Ended::Found(commit) => Some(commit.sha.as_str()),
            _ => None,
        };
        Self { first_bad, one_of, state }
    }
}

/// `1a2b3c4d5e6f make reads slower`.
pub(super) fn format_commit(commit: &Commit) -> String {
    format!("{} {}", &commit.sha[..SHORT], commit.subject)
}

/// `1.021 (1.020 to 1.022)`.
pub(super) fn ratio([ratio, low, high]: [f64; 3]) -> String {
    format!("{ratio:.3} ({low:.3} to {high:.3})")
}

/// The verdict on a commit as a line of text.
pub(super) fn step(judged: &Judged) -> String {
    let figure =
        judged.ratio.map_or_else(String::new, |figure| format!(", {} of GOOD", ratio(figure)));
    let why = judged.why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
    format!("{} is {}{figure}{why}", &judged.sha[..SHORT], judged.verdict.as_str())
}

pub(super) fn print(state: &State, ended: &Ended, dir: &Path, printer: &Printer) {
    let phase = &state.phase;
    let by = state.by.map_or("by rate", By::description);
    match ended {
        Ended::Found(commit) => {
            let [change, ..] =
                find(state, commit).and_then(|judged| judged.ratio).unwrap_or_default();
            let text =
                format!("{} changed {phase} to {change:.3} of GOOD {by}", format_commit(commit));
            printer.heading(&format!("first bad commit: {text}"));
        }
        Ended::Undecided(commits) => {
            printer.heading(&format!("one of {} commits changed {phase}:", commits.len()));
            for commit in commits {
                printer.data(&format!("  {}", format_commit(commit)));
            }
        }
        Ended::SameEnds => {
            printer.heading(&format!("no difference between GOOD and BAD was found in {phase}"));
        }
        Ended::Interrupted => printer.note("interrupted: the same command goes on"),
    }
    if !state.commits.is_empty() {
        printer.data("");
        printer.data(&table(state).text());
    }
    if let Ended::Found(commit) = ended
        && let Some(run) = find(state, commit).and_then(|judged| judged.run.as_deref())
    {
        let labels = match state.by {
            Some(By::Instructions) => "base counted,new counted",
            _ => "base,new",
        };
        printer.note(&format!("kvdyno compare {} --engines '{labels}'", run.display()));
    }
    printer.note(&format!("libraries, logs and runs: {}", dir.display()));
}

fn find<'s>(state: &'s State, commit: &Commit) -> Option<&'s Judged> {
    state.commits.iter().find(|judged| judged.sha == commit.sha)
}

fn table(state: &State) -> Table {
    let columns = [
        ("commit", Side::Left),
        ("verdict", Side::Left),
        ("of GOOD", Side::Left),
        ("built in", Side::Right),
        ("subject", Side::Left),
    ];
    let mut table = Table::new(columns);
    for judged in &state.commits {
        let figure = judged.ratio.map(ratio).or_else(|| judged.why.clone()).unwrap_or_default();
        table.row(&[
            judged.sha[..SHORT].to_owned(),
            judged.verdict.as_str().to_owned(),
            figure,
            units::duration(judged.build_ns),
            judged.subject.clone(),
        ]);
    }
    table
}
