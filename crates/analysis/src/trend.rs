//! A suite's figures over its runs: where a figure changed its level, and whether the newest run is
//! worse than the level before it.
//!
//! A history is kept apart from the runs, a line a run: a nightly job keeps the one, and throws the
//! other away.

pub mod entry;
mod level;

use super::catalogue;
use super::metric::{Definition, Direction};
use super::versus::Figures;
use super::versus::gate::{Gate, NotJudged};
use super::versus::judge::Verdict;
use super::versus::noise::{LEAST_NOISE, least};
use crate::lists::unique;
use crate::stats::{change_points, median};
use entry::{Entry, Series};
use level::Judged;
use schemars::JsonSchema;
use serde::Serialize;

/// What is asked of a history.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// Which figures.
    pub figures: Figures,
    /// The share by which the newest run's may be worse than the last stable level.
    pub gate: Option<f64>,
    /// Runs of other machines than the newest one's count, too.
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
    pub runs: Vec<RunOf>,
    /// Runs of the file that are not among them, and why.
    pub left_out: Vec<LeftOut>,
    /// Below this share two levels are one.
    pub least: f64,
    /// The figures of the newest run's cases, each over all runs.
    pub courses: Vec<Course>,
    /// What came of the gate; null: none was asked for.
    pub gate: Option<Gate>,
}

/// A run of a history.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RunOf {
    /// Its id.
    pub run: String,
    /// What it is called: a commit, a version; else its id's beginning.
    pub label: String,
    /// When it began.
    pub started_unix_ns: u64,
    /// What else was another one than in the run before: engines' versions, the kernel, this
    /// program.
    pub differs: Vec<String>,
}

/// A run that takes no part beside the others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LeftOut {
    /// Its id.
    pub run: String,
    /// Why.
    pub why: String,
}

/// A figure over the runs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Course {
    /// The case in a few words: `lmdb t4`.
    pub case: String,
    /// The phase.
    pub phase: String,
    /// The role; null: figures of the whole process.
    pub role: Option<String>,
    /// The figure's name, as in the catalogue.
    pub figure: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Which way is better.
    pub direction: Direction,
    /// By run; null: it has none.
    pub values: Vec<Option<f64>>,
    /// Where its level changed, in order.
    pub changes: Vec<Change>,
    /// The levels: medians of the runs between two changes, one more than changes; empty where no
    /// run has a value.
    pub levels: Vec<f64>,
}

/// From one run on the level is another.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Change {
    /// The first run of the new level: its place in `runs`.
    pub at: usize,
    /// The new level over the one before; null where that means nothing.
    pub ratio: Option<f64>,
    /// Whether that is good.
    pub verdict: Verdict,
}

impl Trend {
    /// What a history says; none where nothing is in it.
    pub fn from_entries(entries: &[Entry], question: &Question) -> Option<Self> {
        let newest = entries.last()?;
        let (mut kept, mut left_out) = (Vec::new(), Vec::new());
        for entry in entries {
            match stranger(entry, newest, question) {
                Some(why) => left_out.push(LeftOut { run: entry.run.clone(), why }),
                None => kept.push(entry),
            }
        }
        let courses: Vec<Course> = wanted(newest, &question.figures)
            .into_iter()
            .map(|(series, definition)| Course::from_series(series, definition, &kept))
            .collect();
        let gate = question.gate.map(|allowed| gate(allowed, &courses, &kept));
        Some(Self {
            suite: newest.suite.clone(),
            machine: newest.machine.clone(),
            runs: runs(&kept),
            left_out,
            least: LEAST_NOISE,
            courses,
            gate,
        })
    }

    /// Changes by run, the newest first: its place, and what changed.
    pub fn by_run(&self) -> Vec<(usize, Vec<(&Course, &Change)>)> {
        let places = self.courses.iter().flat_map(|course| &course.changes).map(|change| change.at);
        let mut places: Vec<usize> = unique(places);
        places.sort_unstable_by(|a, b| b.cmp(a));
        let at = |place: usize| {
            let changes = self.courses.iter().flat_map(move |course| {
                let there = course.changes.iter().filter(move |change| change.at == place);
                there.map(move |change| (course, change))
            });
            (place, changes.collect())
        };
        places.into_iter().map(at).collect()
    }
}

/// Why a run says nothing about the newest one; none: it does.
fn stranger(entry: &Entry, newest: &Entry, question: &Question) -> Option<String> {
    if entry.suite != newest.suite {
        return Some(format!("its suite is {}, the newest run's {}", entry.suite, newest.suite));
    }
    if entry.machine != newest.machine && !question.any_machine {
        return Some(format!("made on another machine: {}", entry.machine));
    }
    let known = |series: &Series| newest.series.iter().any(|other| other.key == series.key);
    if entry.series.iter().any(known) {
        return None;
    }
    Some("none of its cases did the newest run's work".to_owned())
}

/// The figures of a run that are asked for.
pub(crate) fn wanted<'e>(
    run: &'e Entry,
    figures: &Figures,
) -> Vec<(&'e Series, &'static Definition)> {
    let of = |series: &'e Series| {
        let shown = catalogue::ALL.iter().filter(|definition| {
            series.figures.contains_key(definition.name)
                && definition.direction != Direction::Neither
                && figures.wants(definition.name, definition.direction, series.seat())
        });
        shown.map(move |definition| (series, *definition)).collect::<Vec<_>>()
    };
    run.series.iter().flat_map(of).collect()
}

fn runs(kept: &[&Entry]) -> Vec<RunOf> {
    let before = std::iter::once(None).chain(kept.iter().map(|entry| Some(*entry)));
    let run = |(entry, before): (&&Entry, Option<&Entry>)| RunOf {
        run: entry.run.clone(),
        label: entry.called().to_owned(),
        started_unix_ns: entry.started_unix_ns,
        differs: before.map(|before| entry.differs(before)).unwrap_or_default(),
    };
    kept.iter().zip(before).map(run).collect()
}

impl Course {
    fn from_series(series: &Series, definition: &'static Definition, kept: &[&Entry]) -> Self {
        let value = |entry: &&Entry| {
            let same = entry.series.iter().find(|other| other.same_as(series))?;
            same.figures.get(definition.name).copied()
        };
        let values: Vec<Option<f64>> = kept.iter().map(value).collect();
        let (levels, changes) = levels(&values, definition);
        Self {
            case: series.case.clone(),
            phase: series.phase.clone(),
            role: series.role.clone(),
            figure: definition.name,
            unit: definition.unit,
            direction: definition.direction,
            values,
            changes,
            levels,
        }
    }

    /// `lmdb t4, readers: ops_per_s`.
    pub fn name(&self) -> String {
        format!("{}, {}: {}", self.case, self.place(), self.figure)
    }

    /// Whose figure it is: the role's, else the phase's.
    pub fn place(&self) -> &str {
        self.role.as_deref().unwrap_or(&self.phase)
    }
}

/// The levels, and the changes between them.
fn levels(values: &[Option<f64>], definition: &Definition) -> (Vec<f64>, Vec<Change>) {
    let (places, known): (Vec<usize>, Vec<f64>) = known(values).unzip();
    let points = change_points(&known, least(definition.name));
    let starts = std::iter::once(0).chain(points.iter().copied());
    let ends = points.iter().copied().chain(std::iter::once(known.len()));
    let levels: Vec<f64> =
        starts.zip(ends).filter_map(|(start, end)| median(&known[start..end])).collect();
    let change = |(&point, levels): (&usize, &[f64])| {
        let (before, after) = (levels[0], levels[1]);
        let better = match definition.direction {
            Direction::Higher => after > before,
            Direction::Lower | Direction::Neither => after < before,
        };
        let verdict = if better { Verdict::Improved } else { Verdict::Regressed };
        Change { at: places[point], ratio: (before > 0.0).then(|| after / before), verdict }
    };
    let changes = points.iter().zip(levels.windows(2)).map(change).collect();
    (levels, changes)
}

/// The values that there are, each with the place of its run.
fn known(values: &[Option<f64>]) -> impl Iterator<Item = (usize, f64)> {
    values.iter().enumerate().filter_map(|(at, value)| Some((at, (*value)?)))
}

fn gate(allowed: f64, courses: &[Course], kept: &[&Entry]) -> Gate {
    let (mut regressed, mut not_judged, mut may_hide) = (Vec::new(), Vec::new(), Vec::new());
    for course in courses {
        let lists = [&mut regressed, &mut may_hide];
        Judged::judge(course).file(course, allowed, lists, &mut not_judged);
    }
    not_judged.extend(lost(kept));
    if courses.is_empty() {
        let why = "the newest run has no figure that could be judged".to_owned();
        not_judged.push(NotJudged { case: "all cases".to_owned(), figure: None, why });
    }
    Gate::from_lists(allowed, regressed, not_judged, may_hide)
}

/// Cases of the run before that the newest does not have.
fn lost(kept: &[&Entry]) -> Vec<NotJudged> {
    let [.., before, newest] = kept else { return Vec::new() };
    let gone = before.series.iter().filter(|old| !newest.series.iter().any(|s| s.key == old.key));
    let cases = unique(gone.map(|series| series.case.clone()));
    let why = format!("the newest run has no such case, and run {} has", before.run);
    cases.into_iter().map(|case| NotJudged { case, figure: None, why: why.clone() }).collect()
}

#[cfg(test)]
mod tests;
