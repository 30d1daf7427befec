//! One figure of two sides: their ratio, its certainty, and the verdict.

use super::noise::{COUNTED_NOISE, DEFAULT_NOISE, LEAST_NOISE, is_counted};
use crate::figures::metric::{Direction, Metric};
use crate::judge::rule::{self, Decision, Margins, WITHIN, more_in_words};
use crate::stats::{MIN_TRIALS, mann_whitney, median, ratio_of_medians};
use kvdyno_record::units;
use schemars::JsonSchema;
use serde::Serialize;

/// Of two runs, a difference is claimed below this probability of chance.
const SIGNIFICANT: f64 = 0.05;

/// The verdict on a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Better, certainly enough and by more than noise.
    Improved,
    /// Worse, certainly enough and by more than noise.
    Regressed,
    /// Different, certainly enough and by more than noise, where neither direction is better.
    Changed,
    /// Equal: the whole interval is within 3 %; of two runs within 2 %, or their noise.
    Equal,
    /// The interval contains equality: more trials may decide.
    Undecided,
    /// Fewer than [`MIN_TRIALS`] trials on a side: no verdict.
    TooFewTrials,
    /// A side has no figure, or there is nothing to divide by.
    NotComparable,
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
    /// The figure's name, as in the catalogue.
    pub figure: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// Which way is better.
    pub direction: Direction,
    /// The base's trials.
    pub base: Sample,
    /// The new side's trials.
    pub new: Sample,
    /// Trials were taken side by side and compared pair by pair.
    pub paired: bool,
    /// The new side over the base: of pairs the geometric mean of their ratios, else the ratio of
    /// the medians.
    pub ratio: Option<f64>,
    /// Lower end of its interval, of 99 % for pairs and 95 % for two runs; null: too few trials.
    pub ratio_low: Option<f64>,
    /// Upper end of it.
    pub ratio_high: Option<f64>,
    /// Of two runs, the probability of such a difference by chance alone: of the rank test,
    /// two-sided.
    pub p: Option<f64>,
    /// About how many more pairs would decide; null: it is decided, or they are no pairs.
    pub more_pairs: Option<usize>,
    /// The share below which no difference is reported.
    pub noise: f64,
    /// The verdict.
    pub verdict: Verdict,
    /// Why there is no verdict, or no clearer one.
    pub reason: Option<String>,
    /// Both sides have it, over operations of other kinds: not comparable.
    #[serde(skip)]
    pub(super) other_work: bool,
    /// Gets are among its operations.
    #[serde(skip)]
    pub(super) gets: bool,
}

/// A side's trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Sample {
    /// The median over trials, also of percentiles.
    pub median: Option<f64>,
    /// Trials that have a value.
    pub n: usize,
    /// The smallest.
    pub min: Option<f64>,
    /// The largest.
    pub max: Option<f64>,
}

/// A figure with the number of the trial of each value.
#[derive(Clone, Copy)]
pub(super) struct Trials<'m> {
    pub(super) metric: Option<&'m Metric>,
    pub(super) numbers: &'m [u32],
}

/// Where a figure stands: phase, role, operation.
#[derive(Clone, Copy)]
pub(super) struct Spot<'n> {
    pub(super) phase: &'n str,
    pub(super) role: Option<&'n str>,
    pub(super) op: Option<&'n str>,
}

/// Two sides' values to compare.
pub(super) struct Bout<'m> {
    pub(super) spot: Spot<'m>,
    pub(super) base: Trials<'m>,
    pub(super) new: Trials<'m>,
    /// Equal trials were taken side by side.
    pub(super) paired: bool,
    /// The share below which no difference is reported: of pairs their bias, of two runs the noise.
    pub(super) noise: f64,
}

impl Trials<'_> {
    /// Trial and value, where there is one.
    fn values(self) -> Vec<(u32, f64)> {
        let values = self.metric.map_or(&[][..], |metric| &metric.per_trial);
        let numbered = self.numbers.iter().zip(values);
        numbered.filter_map(|(number, value)| Some((*number, (*value)?))).collect()
    }

    fn missing(self) -> String {
        let why = self.metric.and_then(|metric| metric.missing.clone());
        why.unwrap_or_else(|| "it has no such figure".to_owned())
    }
}

impl Sample {
    fn from_values(values: &[f64]) -> Self {
        Self {
            median: median(values),
            n: values.len(),
            min: values.iter().copied().reduce(f64::min),
            max: values.iter().copied().reduce(f64::max),
        }
    }
}

impl Row {
    /// Marks a figure that both sides have as not comparable.
    pub(super) fn part(&mut self, why: &str) {
        self.verdict = Verdict::NotComparable;
        self.other_work = true;
        self.reason = Some(why.to_owned());
        (self.ratio, self.ratio_low, self.ratio_high, self.p) = (None, None, None, None);
    }
}

/// A figure of two engines of one run, each with the numbers of its trials, which were taken side
/// by side. None where neither has a value.
pub(crate) fn side_by_side(base: (&Metric, &[u32]), new: (&Metric, &[u32])) -> Option<Row> {
    let trials = |(metric, numbers)| Trials { metric: Some(metric), numbers };
    let spot = Spot { phase: "", role: None, op: None };
    let noise = if is_counted(base.0.name) { COUNTED_NOISE } else { 0.0 };
    Bout { spot, base: trials(base), new: trials(new), paired: true, noise }.row()
}

impl Bout<'_> {
    /// The row; none where neither side has a value.
    pub(super) fn row(&self) -> Option<Row> {
        let metric = self.base.metric.or(self.new.metric)?;
        let (base, new) = self.samples();
        if base.is_empty() && new.is_empty() {
            return None;
        }
        let mut row = Row {
            phase: self.spot.phase.to_owned(),
            role: self.spot.role.map(str::to_owned),
            op: self.spot.op.map(str::to_owned),
            figure: metric.name,
            unit: metric.unit,
            direction: metric.direction,
            base: Sample::from_values(&base),
            new: Sample::from_values(&new),
            paired: self.paired,
            ratio: None,
            ratio_low: None,
            ratio_high: None,
            p: None,
            more_pairs: None,
            noise: self.noise,
            verdict: Verdict::NotComparable,
            reason: None,
            other_work: false,
            gets: false,
        };
        (row.verdict, row.reason) = self.judge(&mut row, &base, &new);
        Some(row)
    }

    /// Each side's values; if paired, only those of trials that both have, in one order.
    fn samples(&self) -> (Vec<f64>, Vec<f64>) {
        let (base, new) = (self.base.values(), self.new.values());
        let plain = |values: &[(u32, f64)]| values.iter().map(|(_, value)| *value).collect();
        if !self.paired || base.is_empty() || new.is_empty() {
            return (plain(&base), plain(&new));
        }
        let partner = |number: u32| new.iter().find(|(other, _)| *other == number);
        base.iter().filter_map(|(number, b)| Some((*b, partner(*number)?.1))).unzip()
    }

    fn judge(&self, row: &mut Row, base: &[f64], new: &[f64]) -> (Verdict, Option<String>) {
        let not = |why: String| (Verdict::NotComparable, Some(why));
        let (Some(base_median), Some(new_median)) = (row.base.median, row.new.median) else {
            return match (base, new) {
                ([], []) => not("no trial has it on both sides".to_owned()),
                ([], _) => not(format!("BASE: {}", self.base.missing())),
                _ => not(format!("NEW: {}", self.new.missing())),
            };
        };
        row.ratio = (base_median > 0.0).then(|| new_median / base_median);
        let trials = base.len().min(new.len());
        if trials < MIN_TRIALS {
            row.more_pairs = self.paired.then_some(MIN_TRIALS - trials);
            let why = format!("expected {MIN_TRIALS} trials on each side, found {trials}");
            return (Verdict::TooFewTrials, Some(why));
        }
        if base_median == 0.0 && new_median == 0.0 {
            return (Verdict::Equal, Some("0 on both sides".to_owned()));
        }
        if base_median <= 0.0 {
            return not("0 in BASE, so there is no ratio".to_owned());
        }
        if self.paired {
            return self.judge_pairs(row, base, new);
        }
        let Some(interval) = ratio_of_medians(base, new, false) else {
            return not("0 in too many trials of BASE, so there is no ratio".to_owned());
        };
        let p = mann_whitney(base, new).map_or(1.0, |test| test.p);
        (row.ratio_low, row.ratio_high) = (Some(interval.low), Some(interval.high));
        row.p = Some(p);
        // Noise above the default must not make figures equal.
        let margin = self.noise.min(DEFAULT_NOISE);
        if row.lies_within(margin) {
            return (Verdict::Equal, Some(format!("equal within {}", units::percent(margin))));
        }
        if !row.leaves_one_out() {
            return (Verdict::Undecided, None);
        }
        if p >= SIGNIFICANT {
            let why = format!("the rank test disagrees: p = {p:.3}");
            return (Verdict::Undecided, Some(why));
        }
        // The larger over the smaller, like noise: a half is as far from 1 as the double.
        if interval.ratio.max(1.0 / interval.ratio) - 1.0 <= self.noise {
            let why = "certain, but less than this machine's noise";
            return (Verdict::Undecided, Some(why.to_owned()));
        }
        (word(row.direction, interval.ratio), None)
    }

    /// By the one rule.
    fn judge_pairs(&self, row: &mut Row, base: &[f64], new: &[f64]) -> (Verdict, Option<String>) {
        let pairs: Vec<(f64, f64)> = base.iter().copied().zip(new.iter().copied()).collect();
        // What was counted to a thousandth is equal within that.
        let within = if self.noise < LEAST_NOISE && self.noise > 0.0 { self.noise } else { WITHIN };
        let Some(judgement) = rule::judge(&pairs, Margins { within, bias: self.noise }) else {
            let why = "0 in a pair, so it has no ratio".to_owned();
            return (Verdict::NotComparable, Some(why));
        };
        row.ratio = Some(judgement.ratio);
        (row.ratio_low, row.ratio_high) = (judgement.low, judgement.high);
        row.more_pairs = judgement.more;
        match judgement.decision {
            Decision::Different => (word(row.direction, judgement.ratio), None),
            Decision::Equal => {
                (Verdict::Equal, Some(format!("equal within {}", units::percent(within))))
            }
            Decision::Undecided => {
                (Verdict::Undecided, Some(more_in_words(judgement.more) + " would decide"))
            }
        }
    }
}

fn word(direction: Direction, ratio: f64) -> Verdict {
    match (direction, ratio > 1.0) {
        (Direction::Neither, _) => Verdict::Changed,
        (Direction::Higher, true) | (Direction::Lower, false) => Verdict::Improved,
        (Direction::Higher, false) | (Direction::Lower, true) => Verdict::Regressed,
    }
}

impl Row {
    /// Whether the interval excludes equality.
    fn leaves_one_out(&self) -> bool {
        self.ratio_low.is_some_and(|low| low > 1.0)
            || self.ratio_high.is_some_and(|high| high < 1.0)
    }

    /// Whether its whole interval is within a share of equality.
    fn lies_within(&self, share: f64) -> bool {
        self.ratio_low.is_some_and(|low| low >= 1.0 / (1.0 + share))
            && self.ratio_high.is_some_and(|high| high <= 1.0 + share)
    }

    /// Whether the two sides differ by their trials, with or without the machine's noise.
    pub(super) fn is_certain(&self) -> bool {
        self.leaves_one_out() && self.p.is_none_or(|p| p < SIGNIFICANT)
    }

    /// The share by which it got worse, at this ratio; negative: better.
    pub(super) fn worse_by(&self, ratio: f64) -> f64 {
        match self.direction {
            Direction::Higher => 1.0 - ratio,
            Direction::Lower => ratio - 1.0,
            Direction::Neither => 0.0,
        }
    }

    /// The most by which it may have got worse.
    pub(super) fn worst_by(&self) -> Option<f64> {
        let ends = [self.ratio_low?, self.ratio_high?];
        Some(ends.map(|end| self.worse_by(end)).into_iter().fold(f64::MIN, f64::max))
    }

    /// Its scope: `load`, `measure`, `readers`, `readers get`.
    pub fn place(&self) -> String {
        let role = self.role.as_deref().unwrap_or(&self.phase);
        self.op.as_ref().map_or_else(|| role.to_owned(), |op| format!("{role} {op}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::catalogue as c;
    use crate::figures::metric::{Definition, Reading};

    const SPOT: Spot<'_> = Spot { phase: "measure", role: Some("readers"), op: None };
    const NUMBERS: [u32; 10] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

    fn row(definition: &Definition, base: &[f64], new: &[f64], paired: bool) -> Row {
        let metric = |values: &[f64]| {
            let readings: Vec<Reading> = values.iter().map(|value| Ok(*value)).collect();
            Metric::new(definition, readings)
        };
        let (base, new) = (metric(base), metric(new));
        let base = Trials { metric: Some(&base), numbers: &NUMBERS };
        let new = Trials { metric: Some(&new), numbers: &NUMBERS };
        Bout { spot: SPOT, base, new, paired, noise: 0.02 }.row().unwrap()
    }

    const EIGHT: [f64; 8] = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2, 99.8, 100.1];

    #[test]
    fn better_is_the_catalogues_word() {
        let less = EIGHT.map(|value| value * 0.9);
        for paired in [false, true] {
            assert_eq!(row(&c::OPS_PER_S, &EIGHT, &less, paired).verdict, Verdict::Regressed);
            assert_eq!(row(&c::SERVICE_P99, &EIGHT, &less, paired).verdict, Verdict::Improved);
            assert_eq!(row(&c::WINDOW, &EIGHT, &less, paired).verdict, Verdict::Changed);
        }
        let regressed = row(&c::OPS_PER_S, &EIGHT, &less, false);
        assert!((regressed.ratio.unwrap() - 0.9).abs() < 1e-9, "{regressed:?}");
        assert!((regressed.worse_by(0.9) - 0.1).abs() < 1e-9);
        assert!(regressed.worst_by().unwrap() >= 0.1 && regressed.p.unwrap() < 0.01);
    }

    #[test]
    fn a_certain_difference_below_the_noise_is_not_claimed() {
        let little = EIGHT.map(|value| value * 1.019);
        let little = row(&c::OPS_PER_S, &EIGHT, &little, true);
        assert_eq!(little.verdict, Verdict::Equal);
        assert!(little.ratio_low.unwrap() > 1.0 && little.reason.is_some(), "{little:?}");
    }

    /// Where a machine slows down all the time, the pairs decide. One that paused in one trial
    /// leaves it open, and says how many more it takes.
    #[test]
    fn a_drift_hides_no_difference_and_a_bad_trial_asks_for_more() {
        let mut base = EIGHT;
        base[3] = 170.0;
        let new = EIGHT.map(|value| value * 1.3);
        let paused = row(&c::SERVICE_P50, &base, &new, true);
        assert_eq!(paused.verdict, Verdict::Undecided);
        assert!(paused.more_pairs.is_some_and(|more| more > 0), "{paused:?}");
        let base = [100.0, 120.0, 140.0, 160.0, 180.0, 200.0, 220.0, 240.0];
        let new = base.map(|value| value * 1.1);
        assert_eq!(row(&c::SERVICE_P50, &base, &new, true).verdict, Verdict::Regressed);
        assert_eq!(row(&c::SERVICE_P50, &base, &new, false).verdict, Verdict::Undecided);
    }

    /// On the noisiest machine, a figure that nearly vanishes is reported.
    #[test]
    fn a_loss_is_measured_as_a_gain_is() {
        let fifth = EIGHT.map(|value| value / 5.0);
        let metric = |values: [f64; 8]| Metric::new(&c::OPS_PER_S, values.map(Ok).into());
        let (base, new) = (metric(EIGHT), metric(fifth));
        let side = |metric| Trials { metric: Some(metric), numbers: &NUMBERS[..8] };
        let bout = |noise| {
            let (base, new) = (side(&base), side(&new));
            Bout { spot: SPOT, base, new, paired: false, noise }.row().unwrap().verdict
        };
        assert_eq!((bout(3.9), bout(4.1)), (Verdict::Regressed, Verdict::Undecided));
    }

    #[test]
    fn few_trials_have_no_verdict() {
        for n in 1..MIN_TRIALS {
            let new = EIGHT.map(|value| value * 2.0);
            let few = row(&c::OPS_PER_S, &EIGHT[..n], &new[..n], true);
            assert_eq!(few.verdict, Verdict::TooFewTrials);
            assert_eq!((few.ratio_low, few.p), (None, None));
            assert!(few.ratio.is_some());
        }
        let new = EIGHT.map(|value| value * 2.0);
        for n in [4, 5, 6, 7] {
            let enough = row(&c::OPS_PER_S, &EIGHT[..n], &new[..n], true);
            assert_eq!(enough.verdict, Verdict::Improved, "{n}");
        }
    }

    #[test]
    fn zeros_are_equal_or_not_comparable() {
        let verdict = |base: &[f64], new: &[f64]| row(&c::ERRORS, base, new, false).verdict;
        assert_eq!(verdict(&[0.0; 4], &[0.0; 4]), Verdict::Equal);
        assert_eq!(verdict(&[0.0; 4], &[3.0; 4]), Verdict::NotComparable);
        assert_eq!(verdict(&[0.0, 0.0, 3.0, 3.0, 3.0], &[3.0; 5]), Verdict::NotComparable);
        assert_eq!(verdict(&[3.0; 4], &[0.0; 4]), Verdict::Improved);
        assert_eq!(verdict(&[3.0; 4], &[3.0; 4]), Verdict::Equal);
    }

    #[test]
    fn a_side_without_a_figure_gives_the_reason() {
        let base = Metric::new(&c::OPS_PER_S, vec![Ok(1.0)]);
        let new = Metric::new(&c::OPS_PER_S, vec![Err("killed (9)".into())]);
        let side = |metric| Trials { metric: Some(metric), numbers: &NUMBERS[..1] };
        let bout =
            Bout { spot: SPOT, base: side(&base), new: side(&new), paired: true, noise: 0.02 };
        let row = bout.row().unwrap();
        assert_eq!((row.verdict, row.base.n, row.new.n), (Verdict::NotComparable, 1, 0));
        assert_eq!(row.reason.as_deref(), Some("NEW: killed (9)"));
        let neither = Bout { base: side(&new), ..bout };
        assert_eq!(neither.row(), None);
    }

    /// Trials that only one side has cannot be pairs.
    #[test]
    fn pairs_are_of_equal_trials() {
        let metric = |values: [Option<f64>; 3]| {
            let reading = |value: Option<f64>| value.ok_or_else(|| "killed".into());
            Metric::new(&c::OPS_PER_S, values.map(reading).into())
        };
        let base = metric([Some(1.0), None, Some(3.0)]);
        let new = metric([Some(10.0), Some(20.0), Some(30.0)]);
        let side = |metric, numbers| Trials { metric: Some(metric), numbers };
        let bout = Bout {
            spot: SPOT,
            base: side(&base, &[1, 2, 3]),
            new: side(&new, &[3, 1, 2]),
            paired: true,
            noise: 0.02,
        };
        assert_eq!(bout.samples(), (vec![1.0, 3.0], vec![20.0, 10.0]));
    }
}
