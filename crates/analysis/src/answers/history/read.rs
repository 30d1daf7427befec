//! A run's histories: its labels by engine and version, and each version compared with the one
//! before it.

use super::{History, Release, Step, Steps, VersionSeries};
use crate::figures::Figures;
use crate::figures::evidence::Evidence;
use crate::figures::lists::{group_equal, unique};
use crate::judge::versus::judge::{Row, Sample};
use crate::judge::versus::{FigureChoice, Question, Record, Sides, Versus};
use kvdyno_record::library::Library;
use kvdyno_record::plan::Case;

/// The histories of a run: one for each engine and set of options with several versions.
pub(crate) fn list_histories(evidence: &Evidence, figures: &Figures) -> Vec<History> {
    let lines = lines(evidence);
    if lines.is_empty() {
        return Vec::new();
    }
    let record = Record { evidence: evidence.clone(), figures: figures.clone() };
    lines.into_iter().map(|(engine, versions)| History::read(&record, engine, versions)).collect()
}

/// Engines with several versions: labels that differ only in the version.
fn lines(evidence: &Evidence) -> Vec<(String, Vec<Release>)> {
    let mut cases: Vec<&Case> = evidence.cases.iter().map(|case| &case.case).collect();
    cases.sort_by_key(|case| case.listed);
    let releases = cases.into_iter().filter_map(|case| {
        let Library { version, build, .. } = case.library.as_ref()?;
        let suffix = format!("-{version}");
        let begin = case.label.find(&suffix)?;
        let rest = format!("{}{}", &case.label[..begin], &case.label[begin + suffix.len()..]);
        let release =
            Release { label: case.label.clone(), version: version.clone(), build: build.clone() };
        Some(((case.engine.as_str(), rest), release))
    });
    let lines = group_equal(releases, |(a, _), (b, _)| a == b).into_iter().map(|releases| {
        let (keys, releases): (Vec<_>, Vec<_>) = releases.into_iter().unzip();
        (keys[0].1.clone(), unique(releases))
    });
    lines.filter(|(_, releases)| releases.len() > 1).collect()
}

impl History {
    fn read(record: &Record, engine: String, versions: Vec<Release>) -> Self {
        let mut history =
            Self { engine, figures: Vec::new(), false_alarms_expected: 0.0, versions };
        let steps = history.versions.len() - 1;
        for index in 0..steps {
            let (base, new) = (&history.versions[index].label, &history.versions[index + 1].label);
            let sides = Sides::engines(record, base, new);
            let within = record.evidence.plan.within;
            let question = Question { figures: FigureChoice::Usual, within, gate: None };
            // A version whose cases did not end cannot be compared.
            let Ok(versus) = Versus::compare(&sides, &question) else { continue };
            history.false_alarms_expected += versus.false_alarms_expected;
            for pair in versus.pairs {
                let case = pair.name.strip_prefix(pair.new_label.as_str());
                let case = case.unwrap_or(&pair.name).trim().to_owned();
                for row in pair.rows {
                    history.file(index, &case, &row);
                }
            }
        }
        history.clear_single_cases();
        history
    }

    /// Adds one step's row to its figure's series.
    fn file(&mut self, step: usize, case: &str, row: &Row) {
        let count = self.versions.len();
        let role = match (&row.role, &row.op) {
            (Some(role), Some(op)) => Some(format!("{role} {op}")),
            (role, _) => role.clone(),
        };
        let series = match self.figures.iter().position(|series| {
            (series.case.as_str(), &series.phase, &series.role, series.figure)
                == (case, &row.phase, &role, row.figure)
        }) {
            Some(index) => &mut self.figures[index],
            None => {
                self.figures.push(VersionSeries {
                    case: case.to_owned(),
                    phase: row.phase.clone(),
                    role,
                    figure: row.figure,
                    unit: row.unit,
                    values: vec![None; count],
                    judgement: Steps { steps: vec![None; count - 1] },
                });
                let Some(last) = self.figures.last_mut() else { return };
                last
            }
        };
        let value = |sample: Sample| Some(sample).filter(|sample| sample.value.is_some());
        series.values[step] = series.values[step].or(value(row.base));
        series.values[step + 1] = series.values[step + 1].or(value(row.new));
        series.judgement.steps[step] = Some(Step::from_row(row));
    }

    /// Clears a figure's case where only one case has the figure.
    fn clear_single_cases(&mut self) {
        let keys: Vec<_> = self
            .figures
            .iter()
            .map(|series| (series.phase.clone(), series.role.clone(), series.figure))
            .collect();
        let alone = |key: &(String, Option<String>, &str)| {
            keys.iter().filter(|other| *other == key).count() == 1
        };
        for (series, key) in self.figures.iter_mut().zip(&keys) {
            if alone(key) {
                series.case.clear();
            }
        }
    }
}
