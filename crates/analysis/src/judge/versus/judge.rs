//! One figure of two sides: their ratio, its interval, and the verdict where the figure is primary.

#[cfg(test)]
mod tests;

use crate::figures::catalogue as c;
use crate::figures::group::Group;
use crate::figures::metric::{Combine, Direction, Metric};
use crate::judge::rule::{self, Decision, LEAST, Margins, Mean, more_in_words};
use crate::stats::median;
use kvdyno_record::units;
use schemars::JsonSchema;
use serde::Serialize;

/// A smaller difference of two builds may come from their layout in memory, which no number of
/// repeats removes.
pub const BIAS: f64 = 0.01;

/// Percentiles are read from buckets of this width: a difference of one bucket may be none.
const BUCKET: f64 = 0.008;

/// The bias of instructions that valgrind counted: runs of one program differ by less.
pub const COUNTED_BIAS: f64 = 0.001;

/// The verdict on a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Better.
    Improved,
    /// Worse.
    Regressed,
    /// Different, where neither direction is better.
    Changed,
    /// Equal: the whole interval is within `within` of 1.
    Equal,
    /// The interval contains equality: more repeats may decide.
    Undecided,
    /// Too few repeats: four pairs, or four runs of both sides together.
    TooFew,
    /// It is not primary: it describes.
    Described,
    /// A side has no figure, or there is nothing to divide by.
    NotComparable,
}

impl Verdict {
    /// Whether the two are known to differ, or to be equal within the margin.
    pub(crate) fn is_decided(self) -> bool {
        matches!(self, Self::Improved | Self::Regressed | Self::Changed | Self::Equal)
    }
}

/// A figure of two sides.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    /// The phase.
    pub phase: String,
    /// The role; null for figures of the whole process.
    pub role: Option<String>,
    /// The operation; null for all together.
    pub op: Option<String>,
    /// The scope in words: `load`, `readers get`; with the phase where several have the role.
    pub scope: String,
    /// The figure's name, as in the catalogue.
    pub figure: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Which way is better.
    pub direction: Direction,
    /// The base's repeats.
    pub base: Sample,
    /// The new side's repeats.
    pub new: Sample,
    /// Whether it is judged: a primary figure, or one that was named. The others describe.
    pub primary: bool,
    /// Whether trials ran side by side and were compared in pairs; else each run is one repeat.
    pub paired: bool,
    /// The new side over the base: the geometric mean of the ratios.
    pub ratio: Option<f64>,
    /// Lower end of its 99 % interval; null: too few repeats.
    pub ratio_low: Option<f64>,
    /// Upper end of the same interval.
    pub ratio_high: Option<f64>,
    /// The ratio of each pair, in the order of trials; empty: they are no pairs.
    pub ratios: Vec<f64>,
    /// About how many more pairs, or runs of each side, would decide; null: it is decided, or more
    /// than 1,000.
    pub more: Option<usize>,
    /// The share within which both sides are equal.
    pub within: f64,
    /// The verdict.
    pub verdict: Verdict,
    /// Why there is no verdict, or no clearer one.
    pub reason: Option<String>,
    /// The mean of the logarithm of the ratio.
    #[serde(skip)]
    pub(super) mean: Option<Mean>,
    /// Whether gets are among its operations.
    #[serde(skip)]
    pub(super) gets: bool,
}

/// A side's repeats: the trials of one run, or the medians of several runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Sample {
    /// The value, as in the tables; of several runs, the median of their values there.
    pub value: Option<f64>,
    /// The number of repeats that have a value.
    pub n: usize,
    /// The smallest value.
    pub min: Option<f64>,
    /// The largest value.
    pub max: Option<f64>,
}

/// The repeats of a figure on one side.
pub(super) struct Repeats<'m> {
    /// The figure of its run, of its first run, or of one with a trial that has too few samples.
    metric: Option<&'m Metric>,
    /// The value in the tables of its run, or of one with a trial that has too few samples; none:
    /// there are several runs.
    value: Option<f64>,
    /// The values, by the number of the trial or of the run.
    values: Vec<(u32, f64)>,
}

/// Where a figure stands: phase, role, operation.
#[derive(Clone, Copy)]
pub(super) struct Spot<'n> {
    pub(super) phase: &'n str,
    pub(super) role: Option<&'n str>,
    pub(super) op: Option<&'n str>,
}

impl Spot<'_> {
    fn description(&self) -> String {
        let role = [self.role.unwrap_or(self.phase)];
        role.into_iter().chain(self.op).collect::<Vec<_>>().join(" ")
    }
}

/// Two sides' values to compare.
pub(super) struct FigurePair<'m> {
    pub(super) spot: Spot<'m>,
    pub(super) base: Repeats<'m>,
    pub(super) new: Repeats<'m>,
    /// Whether equal trials were taken side by side.
    pub(super) paired: bool,
    /// Whether the figure is judged; else it describes.
    pub(super) primary: bool,
    pub(super) margins: Margins,
}

/// The margins of a figure. Builds of one engine have a bias that two engines do not have.
pub(super) fn margins(figure: &str, within: f64, [base, new]: [&Group; 2]) -> Margins {
    if is_counted(figure) {
        return Margins { within: COUNTED_BIAS, bias: COUNTED_BIAS };
    }
    let of_builds = if base.engine == new.engine { BIAS } else { 0.0 };
    let of_buckets = if c::is_latency(figure) { BUCKET } else { 0.0 };
    let bias = f64::max(of_builds, of_buckets);
    // What is no difference is equal: else no number of repeats would decide in between.
    Margins { within: within.max(bias), bias }
}

/// Whether a figure was counted by valgrind: then trials of any time are alike.
pub(super) fn is_counted(figure: &str) -> bool {
    [&c::INSTRUCTIONS_PER_OP, &c::ENGINE_INSTRUCTIONS_PER_OP].iter().any(|c| c.name == figure)
}

/// The share below which two levels of a figure are equal, on any machine.
pub fn least_difference(figure: &str) -> f64 {
    if is_counted(figure) { COUNTED_BIAS } else { BIAS }
}

impl<'m> Repeats<'m> {
    /// The trials of one run, by their numbers. Where some have too few samples there are none:
    /// those are the slow trials, without which the others look faster.
    pub(super) fn trials(metric: Option<&'m Metric>, numbers: &[u32]) -> Self {
        let complete = metric.filter(|metric| metric.combine != Combine::MergedHistograms);
        let values = complete.map_or(&[][..], |metric| &metric.per_trial);
        let numbered = numbers.iter().zip(values);
        let values = numbered.filter_map(|(number, value)| Some((*number, (*value)?))).collect();
        Self { metric, value: metric.and_then(|metric| metric.value), values }
    }

    /// Several runs, each by the median of its trials. A counted figure keeps its trials: they vary
    /// as little as runs do. Where a trial of any run has too few samples there are none.
    pub(super) fn runs(runs: &[&'m Metric]) -> Self {
        let metric = runs.first().copied();
        if let Some(short) = runs.iter().find(|run| run.combine == Combine::MergedHistograms) {
            return Self { metric: Some(short), value: short.value, values: Vec::new() };
        }
        let values = runs.iter().flat_map(|run| {
            let trials: Vec<f64> = run.per_trial.iter().flatten().copied().collect();
            if is_counted(run.name) { trials } else { Vec::from_iter(median(&trials)) }
        });
        Self { metric, value: None, values: (1..).zip(values).collect() }
    }

    fn is_missing(&self) -> bool {
        self.values.is_empty() && self.value.is_none()
    }

    fn missing(&self) -> String {
        let why = self
            .metric
            .and_then(|metric| metric.describe_short_trials().or_else(|| metric.missing.clone()));
        why.unwrap_or_else(|| "it has no such figure".to_owned())
    }
}

impl Sample {
    fn from_values(values: &[f64], in_tables: Option<f64>) -> Self {
        Self {
            value: in_tables.or_else(|| median(values)),
            n: values.len(),
            min: values.iter().copied().reduce(f64::min),
            max: values.iter().copied().reduce(f64::max),
        }
    }
}

/// A figure of two groups of one run, whose trials were taken side by side. None where neither has
/// a value.
pub(crate) fn side_by_side(base: (&Group, &Metric), new: (&Group, &Metric)) -> Option<Row> {
    let spot = Spot { phase: "", role: None, op: None };
    let margins = margins(base.1.name, new.0.within, [base.0, new.0]);
    let trials = |(group, metric): (&Group, _)| Repeats::trials(metric, &group.trial_numbers());
    let [base, new] = [base, new].map(|(group, metric)| trials((group, Some(metric))));
    FigurePair { spot, base, new, paired: true, primary: true, margins }.row()
}

impl FigurePair<'_> {
    /// The row; none where neither side has a value.
    pub(super) fn row(&self) -> Option<Row> {
        let metric = self.base.metric.or(self.new.metric)?;
        if self.base.is_missing() && self.new.is_missing() {
            return None;
        }
        let (base, new) = self.samples();
        let mut row = Row {
            phase: self.spot.phase.to_owned(),
            role: self.spot.role.map(str::to_owned),
            op: self.spot.op.map(str::to_owned),
            scope: self.spot.description(),
            figure: metric.name,
            unit: metric.unit,
            direction: metric.direction,
            base: Sample::from_values(&base, self.base.value),
            new: Sample::from_values(&new, self.new.value),
            primary: self.primary,
            paired: self.paired,
            ratio: None,
            ratio_low: None,
            ratio_high: None,
            ratios: Vec::new(),
            more: None,
            within: self.margins.within,
            verdict: Verdict::NotComparable,
            reason: None,
            mean: None,
            gets: false,
        };
        (row.verdict, row.reason) = self.judge(&mut row, &base, &new);
        if !self.primary && row.verdict != Verdict::NotComparable {
            (row.verdict, row.reason, row.more) = (Verdict::Described, None, None);
        }
        Some(row)
    }

    /// Each side's values; if paired, only those of trials that both have, in one order.
    fn samples(&self) -> (Vec<f64>, Vec<f64>) {
        let (base, new) = (&self.base.values, &self.new.values);
        let plain = |values: &[(u32, f64)]| values.iter().map(|(_, value)| *value).collect();
        if !self.paired || base.is_empty() || new.is_empty() {
            return (plain(base), plain(new));
        }
        let partner = |number: u32| new.iter().find(|(other, _)| *other == number);
        base.iter().filter_map(|(number, b)| Some((*b, partner(*number)?.1))).unzip()
    }

    fn judge(&self, row: &mut Row, base: &[f64], new: &[f64]) -> (Verdict, Option<String>) {
        let not = |why: String| (Verdict::NotComparable, Some(why));
        match (base, new) {
            ([], []) if self.base.values.is_empty() => {
                return not(format!("BASE: {}", self.base.missing()));
            }
            ([], []) if self.new.values.is_empty() => {
                return not(format!("NEW: {}", self.new.missing()));
            }
            ([], []) => return not("no trial has it on both sides".to_owned()),
            ([], _) => return not(format!("BASE: {}", self.base.missing())),
            (_, []) => return not(format!("NEW: {}", self.new.missing())),
            _ if base.iter().chain(new).all(|value| *value == 0.0) => {
                return (Verdict::Equal, Some("0 on both sides".to_owned()));
            }
            _ => {}
        }
        let judgement = if self.paired {
            let pairs: Vec<(f64, f64)> = base.iter().copied().zip(new.iter().copied()).collect();
            let ratios = pairs.iter().map(|(base, new)| new / base);
            row.ratios = ratios.filter(|ratio| ratio.is_finite()).collect();
            rule::judge(&pairs, self.margins)
        } else {
            rule::judge_runs(base, new, self.margins)
        };
        let Some(judgement) = judgement else {
            return not("a value of 0 or less has no ratio".to_owned());
        };
        row.ratio = Some(judgement.ratio);
        (row.ratio_low, row.ratio_high) = (judgement.low, judgement.high);
        (row.more, row.mean) = (judgement.more, judgement.mean);
        let repeat = if self.paired { "pair" } else { "run" };
        match judgement.decision {
            Decision::Different => (change_verdict(row.direction, judgement.ratio), None),
            Decision::Equal => {
                let within = units::percent(self.margins.within);
                (Verdict::Equal, Some(format!("equal within {within}")))
            }
            Decision::Undecided if judgement.mean.is_none() => {
                let (count, scope) = if self.paired {
                    (base.len(), "")
                } else {
                    (base.len() + new.len(), " of both sides together")
                };
                let why = format!("expected {LEAST} {repeat}s{scope}, found {count}");
                (Verdict::TooFew, Some(why))
            }
            Decision::Undecided => {
                let scope = if self.paired { "" } else { " of each side" };
                let more = more_in_words(judgement.more, repeat);
                (Verdict::Undecided, Some(format!("{more}{scope} would decide")))
            }
        }
    }
}

fn change_verdict(direction: Direction, ratio: f64) -> Verdict {
    match (direction, ratio > 1.0) {
        (Direction::Neither, _) => Verdict::Changed,
        (Direction::Higher, true) | (Direction::Lower, false) => Verdict::Improved,
        (Direction::Higher, false) | (Direction::Lower, true) => Verdict::Regressed,
    }
}

impl Row {
    /// Marks a figure of unequal work, which both sides have, as not comparable.
    pub(crate) fn part(&mut self, why: &str) {
        self.clear_verdict(why);
        self.primary = false;
    }

    /// Marks a figure that was to be judged and cannot be, such as that of a void run.
    pub(super) fn clear_verdict(&mut self, why: &str) {
        self.verdict = Verdict::NotComparable;
        self.reason = Some(why.to_owned());
        (self.ratio, self.ratio_low, self.ratio_high) = (None, None, None);
        (self.mean, self.more) = (None, None);
        self.ratios.clear();
    }

    /// The share by which it got worse, at this ratio; negative: better.
    pub(super) fn worsening_at(&self, ratio: f64) -> f64 {
        match self.direction {
            Direction::Higher => 1.0 - ratio,
            Direction::Lower => ratio - 1.0,
            Direction::Neither => 0.0,
        }
    }

    /// The most by which it may have got worse.
    pub(super) fn largest_worsening(&self) -> Option<f64> {
        let ends = [self.ratio_low?, self.ratio_high?];
        Some(ends.map(|end| self.worsening_at(end)).into_iter().fold(f64::MIN, f64::max))
    }

    /// The mean worsening, as the logarithm of a ratio that is above 1 where it got worse.
    pub(super) fn mean_worsening(&self) -> Option<Mean> {
        let sign = if self.direction == Direction::Higher { -1.0 } else { 1.0 };
        self.mean.map(|mean| Mean { value: sign * mean.value, ..mean })
    }
}
