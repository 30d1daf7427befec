//! A run's histories: its labels by engine and version, and each version held against the one
//! before it.

use super::{Course, History, Release, Step};
use crate::evidence::Evidence;
use crate::lists::{together, unique};
use crate::summary::Summary;
use crate::versus::judge::{Row, Sample};
use crate::versus::{Figures, Noise, Question, Record, Sides, Versus};
use kvdyno_record::library::Library;
use kvdyno_record::plan::Case;

/// The histories of a run: one for each engine, and each set of options, in several versions.
pub(crate) fn list_histories(evidence: &Evidence, summary: &Summary) -> Vec<History> {
    let lines = lines(evidence);
    if lines.is_empty() {
        return Vec::new();
    }
    let record = Record { evidence: evidence.clone(), summary: summary.clone() };
    lines.into_iter().map(|(engine, versions)| History::read(&record, engine, versions)).collect()
}

/// Engines in more than one version: labels that differ in nothing else.
fn lines(evidence: &Evidence) -> Vec<(String, Vec<Release>)> {
    let mut cases: Vec<&Case> = evidence.cases.iter().map(|case| &case.case).collect();
    cases.sort_by_key(|case| case.listed);
    let releases = cases.into_iter().filter_map(|case| {
        let Library { version, build, .. } = case.library.as_ref()?;
        let suffix = format!("-{version}");
        let at = case.label.find(&suffix)?;
        let rest = format!("{}{}", &case.label[..at], &case.label[at + suffix.len()..]);
        let release =
            Release { label: case.label.clone(), version: version.clone(), build: build.clone() };
        Some(((case.engine.as_str(), rest), release))
    });
    let lines = together(releases, |(a, _), (b, _)| a == b).into_iter().map(|same| {
        let (keys, releases): (Vec<_>, Vec<_>) = same.into_iter().unzip();
        (keys[0].1.clone(), unique(releases))
    });
    lines.filter(|(_, releases)| releases.len() > 1).collect()
}

impl History {
    fn read(record: &Record, engine: String, versions: Vec<Release>) -> Self {
        let noise = Noise::default();
        let mut history = Self {
            engine,
            noise: noise.default,
            figures: Vec::new(),
            false_alarms_expected: 0.0,
            versions,
        };
        let steps = history.versions.len() - 1;
        for at in 0..steps {
            let (base, new) = (&history.versions[at].label, &history.versions[at + 1].label);
            let sides = Sides::engines(record, base, new);
            let question = Question { figures: Figures::Usual, noise: noise.clone(), gate: None };
            // One whose cases did not end has nothing to be compared.
            let Ok(versus) = Versus::compare(&sides, &question) else { continue };
            history.false_alarms_expected += versus.false_alarms_expected;
            for pair in versus.pairs {
                let case = pair.name.strip_prefix(pair.new_label.as_str());
                let case = case.unwrap_or(&pair.name).trim().to_owned();
                for row in pair.rows {
                    history.file(at, &case, &row);
                }
            }
        }
        history.name_cases();
        history
    }

    /// Puts one step's row into its figure's course.
    fn file(&mut self, at: usize, case: &str, row: &Row) {
        let count = self.versions.len();
        let role = match (&row.role, &row.op) {
            (Some(role), Some(op)) => Some(format!("{role} {op}")),
            (role, _) => role.clone(),
        };
        let course = match self.figures.iter().position(|course| {
            (course.case.as_str(), &course.phase, &course.role, course.figure)
                == (case, &row.phase, &role, row.figure)
        }) {
            Some(at) => &mut self.figures[at],
            None => {
                self.figures.push(Course {
                    case: case.to_owned(),
                    phase: row.phase.clone(),
                    role,
                    figure: row.figure,
                    unit: row.unit,
                    values: vec![None; count],
                    steps: vec![None; count - 1],
                });
                let Some(last) = self.figures.last_mut() else { return };
                last
            }
        };
        let value = |sample: Sample| Some(sample).filter(|sample| sample.median.is_some());
        course.values[at] = course.values[at].or(value(row.base));
        course.values[at + 1] = course.values[at + 1].or(value(row.new));
        course.steps[at] = Some(Step::from_row(row));
    }

    /// Which case a figure is of is said only where several have it.
    fn name_cases(&mut self) {
        let known: Vec<_> = self
            .figures
            .iter()
            .map(|course| (course.phase.clone(), course.role.clone(), course.figure))
            .collect();
        let alone = |key: &(String, Option<String>, &str)| {
            known.iter().filter(|other| *other == key).count() == 1
        };
        for (course, key) in self.figures.iter_mut().zip(&known) {
            if alone(key) {
                course.case.clear();
            }
        }
    }
}
