//! A suite's figures over its runs: where a figure changed its level, and whether the newest run is
//! worse than the level before it.
//!
//! A history is a separate file, one line per run: a nightly job keeps the history and deletes the
//! runs.

pub mod entry;
mod level;

use super::series::{FigureSeries, present};
use crate::figures::lists::unique;
use crate::figures::metric::{Definition, Direction};
use crate::judge::versus::FigureChoice;
use crate::judge::versus::gate::{Gate, NotJudged};
use crate::judge::versus::judge::Verdict;
use crate::judge::versus::least_difference;
use crate::stats::{change_points, median};
use entry::{Entry, ScopeFigures};
use schemars::JsonSchema;
use serde::Serialize;

/// The parameters of a trend.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// The choice of figures.
    pub figures: FigureChoice,
    /// The share by which the newest run may be worse than the last stable level.
    pub gate: Option<f64>,
    /// Includes runs of other machines than the newest one's.
    pub any_machine: bool,
}

/// A suite's figures over its runs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Trend {
    /// The suite.
    pub suite: String,
    /// The machine of the newest run, in words.
    pub machine: String,
    /// The runs, in the order in which they were added.
    pub runs: Vec<TrendRun>,
    /// Runs of the file that were left out, and why.
    pub left_out: Vec<LeftOut>,
    /// The figures of the newest run's cases, each over all runs.
    pub figures: Vec<RunSeries>,
    /// The result of the gate; null: there is none.
    pub gate: Option<Gate>,
}

/// A run of a history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TrendRun {
    /// Its id.
    pub run: String,
    /// Its label: a commit, a version; else the beginning of its id.
    pub label: String,
    /// When it began.
    pub started_unix_ns: u64,
    /// What changed since the run before: engines' versions, the kernel, this program.
    pub differs: Vec<String>,
}

/// A run that was left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LeftOut {
    /// Its id.
    pub run: String,
    /// The reason.
    pub reason: String,
}

/// The levels of a figure over the runs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Levels {
    /// Which way is better.
    pub direction: Direction,
    /// Whether the gate judges the newest run by it.
    pub primary: bool,
    /// Levels closer than this share count as one.
    pub least: f64,
    /// Where its level changed, in order.
    pub changes: Vec<Change>,
    /// The levels: medians of the runs between two changes, one more than changes; empty where no
    /// run has a value.
    pub levels: Vec<f64>,
}

/// A figure over the runs.
pub type RunSeries = FigureSeries<f64, Levels>;

/// A change of the level at a run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Change {
    /// The index in `runs` of the first run of the new level.
    pub run_index: usize,
    /// The new level over the one before; null where that has no meaning.
    pub ratio: Option<f64>,
    /// Whether it is an improvement.
    pub verdict: Verdict,
}

impl Trend {
    /// The trend of a history; none for an empty one.
    pub fn from_entries(entries: &[Entry], question: &Question) -> Option<Self> {
        let newest = entries.last()?;
        let (mut included, mut left_out) = (Vec::new(), Vec::new());
        for entry in entries {
            match explain_exclusion(entry, newest, question) {
                Some(why) => left_out.push(LeftOut { run: entry.run.clone(), reason: why }),
                None => included.push(entry),
            }
        }
        let included: Vec<Entry> = included
            .into_iter()
            .map(|entry| drop_other_rates(newest, entry, &mut left_out))
            .collect();
        let included: Vec<&Entry> = included.iter().collect();
        let judge = |definition: &Definition, figures: &ScopeFigures, values: &[Option<f64>]| {
            let primary = question.figures.judges(definition.name, figures.scope());
            Levels::find(definition, primary && !figures.surroundings, values)
        };
        // The newest run may have lost figures of its cases.
        let of_its_cases: Vec<Entry> =
            included.iter().rev().map(|entry| retain_cases(entry, newest)).collect();
        let sources: Vec<&Entry> = of_its_cases.iter().collect();
        let figures = FigureSeries::collect(&sources, &included, &question.figures, judge);
        let gate = question.gate.map(|allowed| gate(allowed, &figures, &included));
        Some(Self {
            suite: newest.suite.clone(),
            machine: newest.machine.clone(),
            runs: runs(&included),
            left_out,
            figures,
            gate,
        })
    }

    /// Changes by run, the newest first: the run's index, and its changes.
    pub fn changes_by_run(&self) -> Vec<(usize, Vec<(&RunSeries, &Change)>)> {
        let indices = self
            .figures
            .iter()
            .flat_map(|series| &series.judgement.changes)
            .map(|change| change.run_index);
        let mut indices: Vec<usize> = unique(indices);
        indices.sort_unstable_by(|a, b| b.cmp(a));
        let changes_at = |index: usize| {
            let changes = self.figures.iter().flat_map(move |series| {
                let at_run =
                    series.judgement.changes.iter().filter(move |change| change.run_index == index);
                at_run.map(move |change| (series, change))
            });
            (index, changes.collect())
        };
        indices.into_iter().map(changes_at).collect()
    }
}

/// Why a run cannot be compared with the newest one; none: it can.
fn explain_exclusion(entry: &Entry, newest: &Entry, question: &Question) -> Option<String> {
    if entry.suite != newest.suite {
        return Some(format!("its suite is {}, the newest run's {}", entry.suite, newest.suite));
    }
    if entry.machine != newest.machine && !question.any_machine {
        return Some(format!("made on another machine: {}", entry.machine));
    }
    let is_in_newest =
        |series: &ScopeFigures| newest.series.iter().any(|other| other.key == series.key);
    if entry.series.iter().any(is_in_newest) {
        return None;
    }
    Some("none of its cases did the newest run's work".to_owned())
}

/// A run without the phases in which the schedules asked for another rate than in the newest run:
/// beside another rate, the other roles did other work.
fn drop_other_rates(newest: &Entry, entry: &Entry, left_out: &mut Vec<LeftOut>) -> Entry {
    let has_other_rate = |series: &ScopeFigures| {
        let same = newest.series.iter().find(|other| other.is_same_work(series));
        same.is_some_and(|same| !series.is_rate_alike(same))
    };
    let (others, alike): (Vec<ScopeFigures>, Vec<ScopeFigures>) =
        entry.series.iter().cloned().partition(has_other_rate);
    let phases = unique(others.iter().map(|series| format!("{}, {}", series.case, series.phase)));
    if !phases.is_empty() {
        let reason = format!("for {}: its pilots found other rates", phases.join("; "));
        left_out.push(LeftOut { run: entry.run.clone(), reason });
    }
    Entry { series: alike, ..entry.clone() }
}

fn runs(entries: &[&Entry]) -> Vec<TrendRun> {
    let before = std::iter::once(None).chain(entries.iter().map(|entry| Some(*entry)));
    let run = |(entry, before): (&&Entry, Option<&Entry>)| TrendRun {
        run: entry.run.clone(),
        label: entry.display_name().to_owned(),
        started_unix_ns: entry.started_unix_ns,
        differs: before.map(|before| entry.list_differences(before)).unwrap_or_default(),
    };
    entries.iter().zip(before).map(run).collect()
}

impl Levels {
    fn find(definition: &Definition, primary: bool, values: &[Option<f64>]) -> Self {
        let (indices, finite): (Vec<usize>, Vec<f64>) = present(values).unzip();
        let least = least_difference(definition.name);
        let points = change_points(&finite, least);
        let starts = std::iter::once(0).chain(points.iter().copied());
        let ends = points.iter().copied().chain(std::iter::once(finite.len()));
        let levels: Vec<f64> =
            starts.zip(ends).filter_map(|(start, end)| median(&finite[start..end])).collect();
        let direction = definition.direction;
        let change = |(&point, levels): (&usize, &[f64])| {
            let (before, after) = (levels[0], levels[1]);
            let better = match direction {
                Direction::Higher => after > before,
                Direction::Lower | Direction::Neither => after < before,
            };
            let verdict = if better { Verdict::Improved } else { Verdict::Regressed };
            let ratio = (before > 0.0).then(|| after / before);
            Change { run_index: indices[point], ratio, verdict }
        };
        let changes = points.iter().zip(levels.windows(2)).map(change).collect();
        Self { direction, primary, least, changes, levels }
    }
}

/// A run with the cases of the newest.
fn retain_cases(entry: &Entry, newest: &Entry) -> Entry {
    let is_in_newest =
        |old: &&ScopeFigures| newest.series.iter().any(|series| series.key == old.key);
    let series = entry.series.iter().filter(is_in_newest).cloned().collect();
    Entry { series, ..entry.clone() }
}

fn gate(allowed: f64, figures: &[RunSeries], entries: &[&Entry]) -> Gate {
    let mut lists = level::judge_newest(figures, allowed);
    lists.not_judged.extend(list_lost_cases(entries));
    if !figures.iter().any(|series| series.judgement.primary) {
        let why = "the newest run has no figure to judge".to_owned();
        lists.not_judged.push(NotJudged {
            case: "all cases".to_owned(),
            figure: None,
            reason: why,
        });
    }
    Gate::from_lists(allowed, lists)
}

/// Cases of the previous run that the newest lacks.
fn list_lost_cases(entries: &[&Entry]) -> Vec<NotJudged> {
    let [.., before, newest] = entries else { return Vec::new() };
    let gone = before.series.iter().filter(|old| !newest.series.iter().any(|s| s.key == old.key));
    let cases = unique(gone.map(|series| series.case.clone()));
    let why = format!("the newest run has no such case, but run {} has", before.run);
    cases.into_iter().map(|case| NotJudged { case, figure: None, reason: why.clone() }).collect()
}

#[cfg(test)]
mod tests;
