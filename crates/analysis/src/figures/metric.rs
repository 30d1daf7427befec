//! One figure: its definition, its value in each trial, and its uncertainty.

use crate::stats::{Interval, median, median_interval};
use schemars::JsonSchema;
use serde::Serialize;
use std::borrow::Cow;

/// A reading of one trial, or why there is none.
pub type Reading = Result<f64, Why>;

/// Why there is no reading: a sentence for a footnote.
pub type Why = Cow<'static, str>;

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// Neither: it is descriptive.
    Neither,
}

/// The source of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Counted or timed by the worker.
    LoadGenerator,
    /// Counted by the kernel.
    Kernel,
    /// Counted by the kernel at the block device.
    Device,
    /// The kernel's count over the load generator's count.
    KernelAndLoadGenerator,
    /// Counted by valgrind's simulated processor.
    Valgrind,
    /// The processor's count over the load generator's count.
    ProcessorAndLoadGenerator,
    /// From the plan.
    Plan,
}

/// How the values of the trials are combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Combine {
    /// Their median.
    Median,
    /// Their largest.
    Maximum,
    /// Their sum.
    Sum,
    /// Their mean: for shares that add up, so that the means do, too.
    Mean,
    /// Read from the merged histograms of all trials, since no single trial has enough samples.
    MergedHistograms,
}

/// The definition of a figure.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct Definition {
    /// Its name in exports, unit last: `cpu_ns_per_op`.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Which way is better.
    pub direction: Direction,
    /// Its source.
    pub source: Source,
    /// How trials are combined.
    pub combine: Combine,
    /// Its meaning, in a sentence.
    pub help: &'static str,
}

/// A figure over the trials of one case.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Metric {
    /// Its name, as in the catalogue.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Which way is better.
    pub direction: Direction,
    /// Its source.
    pub source: Source,
    /// How `value` was combined from the trials.
    pub combine: Combine,
    /// The figure; null: it could not be measured, or has too few samples.
    pub value: Option<f64>,
    /// The value of each trial, in the order of the group's trials; null: it has none.
    pub per_trial: Vec<Option<f64>>,
    /// Trials that have a value.
    pub n: usize,
    /// The smallest value of a trial.
    pub min: Option<f64>,
    /// The largest value of a trial.
    pub max: Option<f64>,
    /// Interval of the median over whole trials; null below six trials, and where `value` is no
    /// median.
    pub interval: Option<Interval>,
    /// Why a value is missing, in all or in some trials.
    pub missing: Option<String>,
}

impl Metric {
    /// A figure from its readings.
    pub fn new(definition: &Definition, readings: Vec<Reading>) -> Self {
        let missing = readings.iter().find_map(|reading| reading.as_ref().err());
        let missing = missing.map(|why| why.clone().into_owned());
        let per_trial: Vec<Option<f64>> =
            readings.into_iter().map(|reading| reading.ok().filter(|v| v.is_finite())).collect();
        let values: Vec<f64> = per_trial.iter().flatten().copied().collect();
        let value = match definition.combine {
            Combine::Median => median(&values),
            Combine::Maximum => values.iter().copied().reduce(f64::max),
            Combine::Sum | Combine::Mean if values.is_empty() => None,
            Combine::Sum => Some(values.iter().sum()),
            Combine::Mean => Some(values.iter().sum::<f64>() / values.len() as f64),
            Combine::MergedHistograms => None,
        };
        Self {
            name: definition.name,
            unit: definition.unit,
            direction: definition.direction,
            source: definition.source,
            combine: definition.combine,
            value,
            n: values.len(),
            min: values.iter().copied().reduce(f64::min),
            max: values.iter().copied().reduce(f64::max),
            interval: median_interval(&values).filter(|_| definition.combine == Combine::Median),
            per_trial,
            missing,
        }
    }

    /// Computes a figure from each trial's histogram, combined as any other. Where a trial has too
    /// few samples (`short`), or none has enough, its value is that of `merged`, the histogram of
    /// all trials. From some trials alone, it could be less than a lower percentile, which all
    /// trials have.
    pub fn from_histograms(
        definition: &Definition,
        merged: Reading,
        readings: Vec<Reading>,
        short: bool,
    ) -> Self {
        let mut metric = Self::new(definition, readings);
        if metric.n > 0 && !short {
            return metric;
        }
        match merged {
            Ok(value) => {
                metric.value = Some(value);
                metric.combine = Combine::MergedHistograms;
                metric.interval = None;
            }
            Err(_) if metric.n > 0 => {}
            Err(why) => metric.missing = Some(why.into_owned()),
        }
        metric
    }

    /// Why its trials cannot be compared; none: each has enough samples.
    pub(crate) fn describe_short_trials(&self) -> Option<String> {
        let words = "not every trial has enough samples";
        let words = match &self.missing {
            Some(why) => format!("{words}: {why}"),
            None => words.to_owned(),
        };
        Some(words).filter(|_| self.combine == Combine::MergedHistograms)
    }

    /// The range to compare with: the interval, or below six trials the extremes; none where
    /// `value` is of all trials' samples together.
    pub fn range(&self) -> Option<(f64, f64)> {
        match self.interval {
            _ if self.combine == Combine::MergedHistograms => None,
            Some(interval) => Some((interval.low, interval.high)),
            None => Some((self.min?, self.max?)),
        }
    }
}

/// Figures in the catalogue's order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Metrics(pub Vec<Metric>);

impl Metrics {
    /// Adds a figure.
    pub fn add(&mut self, definition: &Definition, readings: Vec<Reading>) {
        self.0.push(Metric::new(definition, readings));
    }

    /// A figure by its definition; null where the row does not have it.
    pub fn get(&self, definition: &Definition) -> Option<&Metric> {
        self.get_by_name(definition.name)
    }

    /// A figure by its name.
    pub(crate) fn get_by_name(&self, name: &str) -> Option<&Metric> {
        self.0.iter().find(|metric| metric.name == name)
    }

    /// A figure's value.
    pub fn value(&self, definition: &Definition) -> Option<f64> {
        self.get(definition)?.value
    }

    /// Whether any figure has a value.
    pub fn has_values(&self) -> bool {
        self.0.iter().any(|metric| metric.value.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: Definition = Definition {
        name: "pace",
        unit: "1/s",
        direction: Direction::Higher,
        source: Source::LoadGenerator,
        combine: Combine::Median,
        help: "",
    };

    #[test]
    fn a_missing_trial_is_missing_and_not_zero() {
        let metric = Metric::new(&PACE, vec![Ok(4.0), Err("killed (9)".into()), Ok(2.0)]);
        assert_eq!(metric.value, Some(3.0));
        assert_eq!(metric.per_trial, [Some(4.0), None, Some(2.0)]);
        assert_eq!((metric.n, metric.range()), (2, Some((2.0, 4.0))));
        assert_eq!(metric.missing.as_deref(), Some("killed (9)"));
        let none = Metric::new(&PACE, vec![Err("no device".into()), Ok(f64::NAN)]);
        assert_eq!((none.value, none.n, none.range()), (None, 0, None));
    }

    #[test]
    fn six_trials_have_an_interval() {
        let metric = Metric::new(&PACE, (1..=6).map(|v| Ok(f64::from(v))).collect());
        assert_eq!(metric.range(), Some((1.0, 6.0)));
        assert!(metric.interval.unwrap().confidence > 0.96);
    }

    /// In pooled samples, one slow trial of four would set the p99, which no comparison shows.
    #[test]
    fn a_percentile_is_the_median_of_trials_and_not_of_their_samples_pooled() {
        let readings = |values: &[f64]| values.iter().map(|value| Ok(*value)).collect();
        let percentile = |pooled, trials| Metric::from_histograms(&PACE, Ok(pooled), trials, false);
        let metric = percentile(90.0, readings(&[10.0, 12.0, 11.0, 90.0]));
        assert_eq!((metric.value, metric.combine, metric.n), (Some(11.5), Combine::Median, 4));
        // Without a value in any trial, the merged one is better than nothing.
        let few = percentile(90.0, vec![Err("needs 10,000 samples".into()); 4]);
        assert_eq!((few.value, few.combine), (Some(90.0), Combine::MergedHistograms));
        assert_eq!((few.n, few.range()), (0, None));
    }

    #[test]
    fn only_a_median_has_the_medians_interval() {
        let others = [Combine::Maximum, Combine::Sum, Combine::Mean];
        for combine in others {
            let metric = Metric::new(
                &Definition { combine, ..PACE },
                (1..=12).map(|v| Ok(f64::from(v))).collect(),
            );
            assert_eq!((metric.interval, metric.range()), (None, Some((1.0, 12.0))));
        }
    }
}
