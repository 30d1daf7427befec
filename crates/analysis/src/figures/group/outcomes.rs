//! How the trials of a case ended, in words.

use super::Group;
use crate::figures::lists::group_equal;
use crate::figures::metric::{Combine, Metric};

impl Group {
    /// The number of trials that a figure is of: where it merges their samples, all that are done.
    pub fn count_trials(&self, metric: &Metric) -> usize {
        match metric.combine {
            Combine::MergedHistograms => self.trials.iter().filter(|trial| trial.done).count(),
            _ => metric.n,
        }
    }

    /// The outcome of the trials without a figure: "did not fit (0 of 4 trials)", "has figures of 3
    /// of 4 trials: 1 did not fit"; none where all have one or are done.
    pub fn describe_missing_figures(&self, metric: Option<&Metric>) -> Option<String> {
        let (all, n) = (self.trials.len(), metric.map_or(0, |metric| self.count_trials(metric)));
        let ends = if n < all { self.count_ends() } else { Vec::new() };
        match ends.as_slice() {
            [] => None,
            [(word, _)] if n == 0 => Some(format!("{} (0 of {all} trials)", past_tense(word))),
            several => {
                let each: Vec<_> =
                    several.iter().map(|(word, n)| format!("{n} {}", past_tense(word))).collect();
                Some(format!("has figures of {n} of {all} trials: {}", each.join(", ")))
            }
        }
    }

    /// The outcomes of its trials, where not all are done: "does not fit", "1 of 3 killed (9)", "2
    /// of 3 not done: 1 interrupted, 1 not done yet".
    pub fn describe_outcomes(&self) -> Option<String> {
        let (all, words) = (self.trials.len(), self.count_ends());
        match words.as_slice() {
            [] => None,
            [(word, n)] if *n == all => Some((*word).to_owned()),
            [(word, n)] => Some(format!("{n} of {all} {word}")),
            several => {
                let bad: usize = several.iter().map(|(_, n)| n).sum();
                let each: Vec<_> = several.iter().map(|(word, n)| format!("{n} {word}")).collect();
                Some(format!("{bad} of {all} not done: {}", each.join(", ")))
            }
        }
    }

    /// The outcomes of trials that are not done, each with its count.
    fn count_ends(&self) -> Vec<(&str, usize)> {
        let bad = self.trials.iter().filter(|trial| !trial.done);
        let ends = group_equal(bad.map(|trial| trial.outcome.as_str()), PartialEq::eq);
        ends.into_iter().map(|equal| (equal[0], equal.len())).collect()
    }
}

/// An outcome's word in the past tense.
fn past_tense(outcome: &str) -> String {
    match outcome {
        "does not fit" => "did not fit".to_owned(),
        "out of time" => "ran out of time".to_owned(),
        "disk full" => "filled the disk".to_owned(),
        "interrupted" => "was interrupted".to_owned(),
        "not run" => "was not run".to_owned(),
        "not done yet" => "is not done yet".to_owned(),
        "record damaged" => "left a damaged record".to_owned(),
        killed if killed.starts_with("killed") => format!("was {killed}"),
        other => other.to_owned(),
    }
}
