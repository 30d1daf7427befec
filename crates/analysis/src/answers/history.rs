//! One engine over its versions: the figures of each, and the steps between versions that changed a
//! primary figure. Steps are judged as `kvdyno compare` judges two engines of a run.

pub(crate) mod read;

use super::series::FigureSeries;
use crate::judge::rule::LEAST;
use crate::judge::versus::judge::{Row, Sample, Verdict};
use schemars::JsonSchema;
use serde::Serialize;

/// An engine over its versions.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct History {
    /// The engine.
    pub engine: String,
    /// Its versions, in the order of the suite.
    pub versions: Vec<Release>,
    /// The usual figures, of all phases.
    pub figures: Vec<VersionSeries>,
    /// How many steps chance alone would flag as a change, if nothing changed.
    pub false_alarms_expected: f64,
}

/// A version that was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Release {
    /// Its name in tables.
    pub label: String,
    /// The version.
    pub version: String,
    /// The builder.
    pub build: String,
}

/// The steps of a figure over the versions.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Steps {
    /// From each version to the next; null: the two were not compared.
    pub steps: Vec<Option<Step>>,
}

/// A figure over the versions.
pub type VersionSeries = FigureSeries<Sample, Steps>;

/// The step from one version to the next.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Step {
    /// The later version over the earlier one: the geometric mean over their pairs of trials.
    pub ratio: Option<f64>,
    /// Lower end of its 99 % interval; null: too few trials.
    pub ratio_low: Option<f64>,
    /// Upper end of the same interval.
    pub ratio_high: Option<f64>,
    /// The verdict.
    pub verdict: Verdict,
    /// Why there is no verdict, or no clearer one.
    pub reason: Option<String>,
}

impl Step {
    fn from_row(row: &Row) -> Self {
        Self {
            ratio: row.ratio,
            ratio_low: row.ratio_low,
            ratio_high: row.ratio_high,
            verdict: row.verdict,
            reason: row.reason.clone(),
        }
    }

    /// ` +8%` where it changed the figure; else an empty string.
    pub fn format_change(&self) -> String {
        let Some(ratio) = self.ratio.filter(|_| self.is_change()) else { return String::new() };
        format!(" {:+.0}%", 100.0 * (ratio - 1.0))
    }

    /// Whether it has a verdict: enough trials, and figures on both sides.
    pub fn is_judged(&self) -> bool {
        let left_open = [Verdict::TooFew, Verdict::NotComparable, Verdict::Described];
        !left_open.contains(&self.verdict)
    }

    /// Whether it changed the figure.
    pub fn is_change(&self) -> bool {
        matches!(self.verdict, Verdict::Improved | Verdict::Regressed | Verdict::Changed)
    }
}

impl VersionSeries {
    /// `readrandom readers`, `load`.
    pub fn scope(&self) -> String {
        let words = [Some(self.phase.as_str()), self.role.as_deref(), Some(self.case.as_str())];
        let words = words.into_iter().flatten().filter(|word| !word.is_empty());
        let mut words: Vec<&str> = words.collect();
        // A load's only role has the same name as the phase.
        words.dedup();
        words.join(" ")
    }

    /// By version: the median in words, and the change that the step to it made.
    pub fn cells(&self, words: impl Fn(f64) -> String) -> Vec<String> {
        let steps = std::iter::once(&None).chain(&self.judgement.steps);
        let cell = |(value, step): (&Option<Sample>, &Option<Step>)| {
            let value = value.and_then(|sample| sample.value);
            let mark = step.as_ref().map_or_else(String::new, Step::format_change);
            value.map_or_else(|| "-".to_owned(), |value| words(value) + &mark)
        };
        self.values.iter().zip(steps).map(cell).collect()
    }

    /// The most trials of a version.
    pub fn trials(&self) -> usize {
        self.values.iter().flatten().map(|value| value.n).max().unwrap_or(0)
    }
}

impl History {
    /// A sentence about the steps that changed nothing: that no step changed a figure, or how many
    /// are not judged.
    pub fn sentence(&self) -> Option<String> {
        let described = |series: &&VersionSeries| {
            series.judgement.steps.iter().flatten().all(|step| step.verdict == Verdict::Described)
        };
        let primary = || self.figures.iter().filter(|series| !described(series));
        let all: usize = primary().map(|series| series.judgement.steps.len()).sum();
        let steps = primary().flat_map(|series| series.judgement.steps.iter().flatten());
        let judged = steps.clone().filter(|step| step.is_judged()).count();
        let changed = steps.filter(|step| step.is_change()).count();
        let none = "step between versions changed a rate";
        match (judged, changed) {
            (0, _) => Some(format!(
                "No step is judged: a verdict needs the figures of both versions and \
                 {LEAST} trials of each"
            )),
            (_, 0) if judged == all => Some(format!("No {none}")),
            (_, 0) => Some(format!("Of {judged} judged steps (of {all}), no {none}")),
            _ if judged < all => Some(format!("{} of {all} steps are not judged", all - judged)),
            _ => None,
        }
    }

    /// Every step that changed a figure, as a sentence; the largest first.
    pub fn changes(&self) -> Vec<String> {
        let mut changes: Vec<(f64, String)> = Vec::new();
        for series in &self.figures {
            for (index, step) in series.judgement.steps.iter().enumerate() {
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
                let (from, to) = (&self.versions[index].version, &self.versions[index + 1].version);
                let (scope, figure) = (series.scope(), series.figure);
                changes.push((
                    ratio.ln().abs(),
                    format!(
                        "{from} -> {to}: {scope} {figure} x {ratio:.2} ({low:.2} to {high:.2}), \
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
