//! One engine over its versions: what each did, and which step from one to the next changed a
//! figure by more than noise.
//!
//! Steps are judged as `kvdyno compare` judges two engines of a run: trial by trial, by interval
//! and rank test. A calibration of the machine is not asked for: figures are a function of the
//! record.

use super::evidence::Evidence;
use super::summary::Summary;
use super::versus::{Figures, Noise, Question, Record, Row, Sample, Sides, Verdict, Versus};
use crate::stats::MIN_TRIALS;
use kvdyno_record::library::Library;
use kvdyno_record::plan::Case;
use kvdyno_record::units;
use schemars::JsonSchema;
use serde::Serialize;

/// An engine over its versions.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct History {
    /// The engine.
    pub engine: String,
    /// Its versions, in the order of the suite.
    pub versions: Vec<Release>,
    /// Below this share no step is called a change.
    pub noise: f64,
    /// The usual figures, of all phases.
    pub figures: Vec<Course>,
    /// How many steps chance alone would call a change, if nothing changed.
    pub false_alarms_expected: f64,
}

/// A version that was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Release {
    /// What tables call it.
    pub label: String,
    /// The version.
    pub version: String,
    /// Who built it.
    pub build: String,
}

/// A figure over the versions.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Course {
    /// The case, where there are several (`t4`, `load`).
    pub case: String,
    /// The phase.
    pub phase: String,
    /// The role; null for figures of the whole process.
    pub role: Option<String>,
    /// The figure's name, as in the catalogue.
    pub figure: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Of each version: median and range over its trials; null: it has none.
    pub values: Vec<Option<Sample>>,
    /// From each version to the next; null: the two were not compared.
    pub steps: Vec<Option<Step>>,
}

/// From one version to the next.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Step {
    /// The later version's median over the earlier one's.
    pub ratio: Option<f64>,
    /// Lower end of its 95 % interval; null where too few trials stand behind it.
    pub ratio_low: Option<f64>,
    /// Upper end of it.
    pub ratio_high: Option<f64>,
    /// How often chance alone sets the two as far apart.
    pub p: Option<f64>,
    /// What is said of it.
    pub verdict: Verdict,
    /// Why nothing, or no more, is said.
    pub why: Option<String>,
}

impl Step {
    fn of(row: &Row) -> Self {
        Self {
            ratio: row.ratio,
            ratio_low: row.ratio_low,
            ratio_high: row.ratio_high,
            p: row.p,
            verdict: row.verdict,
            why: row.why.clone(),
        }
    }

    /// ` +8%` where it changed the figure by more than noise; else nothing.
    pub fn mark(&self) -> String {
        let Some(ratio) = self.ratio.filter(|_| self.is_change()) else { return String::new() };
        format!(" {:+.0}%", 100.0 * (ratio - 1.0))
    }

    /// Trials were enough, and both sides have the figure: changed or not, that is known.
    pub fn is_judged(&self) -> bool {
        !matches!(self.verdict, Verdict::TooFewTrials | Verdict::NotComparable)
    }

    /// It changed the figure by more than noise.
    pub fn is_change(&self) -> bool {
        matches!(self.verdict, Verdict::Improved | Verdict::Regressed | Verdict::Changed)
    }
}

impl Course {
    /// `readrandom readers`, `load`.
    pub fn place(&self) -> String {
        let words = [Some(self.phase.as_str()), self.role.as_deref(), Some(self.case.as_str())];
        let words = words.into_iter().flatten().filter(|word| !word.is_empty());
        let mut words: Vec<&str> = words.collect();
        // A load's only role has its name.
        words.dedup();
        words.join(" ")
    }
}

/// The histories of a run: one for each engine, and each set of options, in several versions.
pub(super) fn of(evidence: &Evidence, summary: &Summary) -> Vec<History> {
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
    let mut lines: Vec<((&str, String), Vec<Release>)> = Vec::new();
    for case in cases {
        let Some(Library { version, build, .. }) = &case.library else { continue };
        let suffix = format!("-{version}");
        let Some(at) = case.label.find(&suffix) else { continue };
        let rest = format!("{}{}", &case.label[..at], &case.label[at + suffix.len()..]);
        let release =
            Release { label: case.label.clone(), version: version.clone(), build: build.clone() };
        let key = (case.engine.as_str(), rest);
        match lines.iter_mut().find(|(known, _)| *known == key) {
            Some((_, releases)) if releases.contains(&release) => {}
            Some((_, releases)) => releases.push(release),
            None => lines.push((key, vec![release])),
        }
    }
    let several = lines.into_iter().filter(|(_, releases)| releases.len() > 1);
    several.map(|((_, name), releases)| (name, releases)).collect()
}

impl History {
    /// What is to be said of the steps beside those that changed something: that none did, or how
    /// many are not known.
    pub fn told(&self) -> Option<String> {
        let all: usize = self.figures.iter().map(|course| course.steps.len()).sum();
        let steps = self.figures.iter().flat_map(|course| course.steps.iter().flatten());
        let judged = steps.clone().filter(|step| step.is_judged()).count();
        let changed = steps.filter(|step| step.is_change()).count();
        let noise = units::percent(self.noise);
        let none = format!("step from a version to the next is past noise ({noise})");
        match (judged, changed) {
            (0, _) => Some(format!(
                "No step is judged: that takes both versions' figures and {MIN_TRIALS} trials of \
                 each"
            )),
            (_, 0) if judged == all => Some(format!("No {none}")),
            (_, 0) => Some(format!("Of {judged} steps judged (of {all}) no {none}")),
            _ if judged < all => Some(format!("{} of {all} steps are not judged", all - judged)),
            _ => None,
        }
    }

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
            let Ok(versus) = Versus::of(&sides, &question) else { continue };
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
        let course = match self.figures.iter().position(|course| {
            (course.case.as_str(), &course.phase, &course.role, course.figure)
                == (case, &row.phase, &row.role, row.figure)
        }) {
            Some(at) => &mut self.figures[at],
            None => {
                self.figures.push(Course {
                    case: case.to_owned(),
                    phase: row.phase.clone(),
                    role: row.role.clone(),
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
        course.steps[at] = Some(Step::of(row));
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

    /// Every step that changed a figure, as a sentence: the largest first.
    pub fn changes(&self) -> Vec<String> {
        let mut changes: Vec<(f64, String)> = Vec::new();
        for course in &self.figures {
            for (at, step) in course.steps.iter().enumerate() {
                let Some(step) = step.as_ref().filter(|step| step.is_change()) else { continue };
                let (Some(ratio), Some(low), Some(high)) =
                    (step.ratio, step.ratio_low, step.ratio_high)
                else {
                    continue;
                };
                let word = match step.verdict {
                    Verdict::Improved => "better",
                    Verdict::Regressed => "worse",
                    _ => "changed",
                };
                let (from, to) = (&self.versions[at].version, &self.versions[at + 1].version);
                let (place, figure) = (course.place(), course.figure);
                changes.push((
                    ratio.ln().abs(),
                    format!(
                        "{from} -> {to}: {place} {figure} x {ratio:.2} ({low:.2} to {high:.2}), \
                         {word}"
                    ),
                ));
            }
        }
        changes.sort_by(|(one, _), (other, _)| other.total_cmp(one));
        changes.into_iter().map(|(_, text)| text).collect()
    }
}

#[cfg(test)]
mod tests;
