//! One engine over its versions: what each did, and which step from one to the next changed a
//! figure by more than noise.
//!
//! Steps are judged as `kvdyno compare` judges two engines of a run: trial by trial, by interval
//! and rank test. A calibration of the machine is not asked for: figures are a function of the
//! record.

pub(crate) mod read;

use super::versus::judge::{Row, Sample, Verdict};
use crate::stats::MIN_TRIALS;
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
    /// The role, and the operation where it has several; null for figures of the whole process.
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
    fn from_row(row: &Row) -> Self {
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

impl History {
    /// What is to be said of the steps beside those that changed something: that none did, or how
    /// many are not known.
    pub fn sentence(&self) -> Option<String> {
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
