//! Verdicts of rows.

use super::*;
use crate::figures::metric::{Definition, Reading};

const SPOT: Spot<'_> = Spot { phase: "measure", role: Some("readers"), op: None };
const NUMBERS: [u32; 10] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

fn row(definition: &Definition, base: &[f64], new: &[f64], paired: bool) -> Row {
    let metric = |values: &[f64]| {
        let readings: Vec<Reading> = values.iter().map(|value| Ok(*value)).collect();
        Metric::new(definition, readings)
    };
    let (base, new) = (metric(base), metric(new));
    let base = Repeats::trials(Some(&base), &NUMBERS);
    let new = Repeats::trials(Some(&new), &NUMBERS);
    let group = crate::fixture::Fixture::new().summary().figures.groups.remove(0);
    let margins = margins(definition.name, 0.03, [&group, &group]);
    FigurePair { spot: SPOT, base, new, paired, primary: true, margins }.row().unwrap()
}

const EIGHT: [f64; 8] = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2, 99.8, 100.1];

#[test]
fn better_is_the_catalogues_word() {
    assert_eq!(Sample::from_values(&[1.0, 3.0], Some(9.0)).value, Some(9.0), "the tables'");
    let less = EIGHT.map(|value| value * 0.9);
    for paired in [false, true] {
        assert_eq!(row(&c::OPS_PER_S, &EIGHT, &less, paired).verdict, Verdict::Regressed);
        assert_eq!(row(&c::SERVICE_P99, &EIGHT, &less, paired).verdict, Verdict::Improved);
        assert_eq!(row(&c::WINDOW, &EIGHT, &less, paired).verdict, Verdict::Changed);
    }
    let regressed = row(&c::OPS_PER_S, &EIGHT, &less, false);
    assert!((regressed.ratio.unwrap() - 0.9).abs() < 1e-9, "{regressed:?}");
    assert!((regressed.worsening_at(0.9) - 0.1).abs() < 1e-9);
    assert!(regressed.largest_worsening().unwrap() >= 0.1);
}

#[test]
fn a_certain_difference_below_the_bias_is_not_claimed() {
    let little = EIGHT.map(|value| value * 1.009);
    let little = row(&c::OPS_PER_S, &EIGHT, &little, true);
    assert_eq!(little.verdict, Verdict::Equal);
    assert!(little.ratio_low.unwrap() > 1.0 && little.reason.is_some(), "{little:?}");
    let counted = EIGHT.map(|value| value * 1.002);
    let counted = row(&c::INSTRUCTIONS_PER_OP, &EIGHT, &counted, true);
    assert_eq!((counted.verdict, counted.within), (Verdict::Regressed, COUNTED_BIAS));
}

/// Where a machine slows down all the time, the pairs decide. A pause in one trial leaves the
/// verdict open, and the row says how many more pairs it takes.
#[test]
fn a_drift_hides_no_difference_and_a_bad_trial_asks_for_more() {
    let mut base = EIGHT;
    base[3] = 170.0;
    let new = EIGHT.map(|value| value * 1.3);
    let paused = row(&c::SERVICE_P50, &base, &new, true);
    assert_eq!(paused.verdict, Verdict::Undecided);
    assert!(paused.more.is_some_and(|more| more > 0), "{paused:?}");
    let base = [100.0, 120.0, 140.0, 160.0, 180.0, 200.0, 220.0, 240.0];
    let new = base.map(|value| value * 1.1);
    assert_eq!(row(&c::SERVICE_P50, &base, &new, true).verdict, Verdict::Regressed);
    assert_eq!(row(&c::SERVICE_P50, &base, &new, false).verdict, Verdict::Undecided);
}

#[test]
fn few_repeats_have_no_verdict() {
    for n in 1..LEAST {
        let new = EIGHT.map(|value| value * 2.0);
        let few = row(&c::OPS_PER_S, &EIGHT[..n], &new[..n], true);
        assert_eq!((few.verdict, few.ratio_low), (Verdict::TooFew, None));
        assert!(few.ratio.is_some());
    }
    let new = EIGHT.map(|value| value * 2.0);
    for n in [4, 5, 6, 7] {
        let enough = row(&c::OPS_PER_S, &EIGHT[..n], &new[..n], true);
        assert_eq!(enough.verdict, Verdict::Improved, "{n}");
    }
    let two = row(&c::OPS_PER_S, &EIGHT[..1], &new[..1], false);
    assert_eq!((two.verdict, two.more), (Verdict::TooFew, Some(1)));
    let four = row(&c::OPS_PER_S, &EIGHT[..3], &new[..1], false);
    assert_eq!(four.verdict, Verdict::Improved, "{four:?}");
}

#[test]
fn zeros_are_equal_or_not_comparable() {
    let verdict = |base: &[f64], new: &[f64]| row(&c::ERRORS, base, new, false).verdict;
    assert_eq!(verdict(&[0.0; 4], &[0.0; 4]), Verdict::Equal);
    assert_eq!(verdict(&[0.0; 4], &[3.0; 4]), Verdict::NotComparable);
    assert_eq!(verdict(&[0.0, 3.0, 3.0, 3.0], &[3.0; 4]), Verdict::NotComparable);
    assert_eq!(verdict(&[3.0; 4], &[3.0; 4]), Verdict::Equal);
}

#[test]
fn a_side_without_a_figure_gives_the_reason() {
    let base = Metric::new(&c::OPS_PER_S, vec![Ok(1.0)]);
    let new = Metric::new(&c::OPS_PER_S, vec![Err("killed (9)".into())]);
    let side = |metric| Repeats::trials(Some(metric), &NUMBERS[..1]);
    let pair = |base, new| {
        let margins = Margins::default();
        FigurePair {
            spot: SPOT,
            base: side(base),
            new: side(new),
            paired: true,
            primary: true,
            margins,
        }
    };
    let row = pair(&base, &new).row().unwrap();
    assert_eq!((row.verdict, row.base.n, row.new.n), (Verdict::NotComparable, 1, 0));
    assert_eq!(row.reason.as_deref(), Some("NEW: killed (9)"));
    assert_eq!(pair(&new, &new).row(), None);
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
    let pair = FigurePair {
        spot: SPOT,
        base: Repeats::trials(Some(&base), &[1, 2, 3]),
        new: Repeats::trials(Some(&new), &[3, 1, 2]),
        paired: true,
        primary: true,
        margins: Margins::default(),
    };
    assert_eq!(pair.samples(), (vec![1.0, 3.0], vec![20.0, 10.0]));
}

/// A run is one repeat, whatever the number of its trials.
#[test]
fn a_run_counts_as_the_median_of_its_trials() {
    let run = |values: &[f64]| {
        Metric::new(&c::OPS_PER_S, values.iter().map(|value| Ok(*value)).collect())
    };
    let (one, other) = (run(&[1.0, 2.0, 30.0]), run(&[5.0]));
    assert_eq!(Repeats::runs(&[&one, &other]).values, [(1, 2.0), (2, 5.0)]);
    let counted = Metric::new(&c::INSTRUCTIONS_PER_OP, vec![Ok(7.0), Ok(7.0)]);
    assert_eq!(Repeats::runs(&[&counted, &counted]).values.len(), 4);
}

/// Trials too slow for enough samples would be left out, and the others look faster.
#[test]
fn a_percentile_that_some_trials_lack_is_not_judged() {
    let metric = |last: Reading| {
        let short = last.is_err();
        let readings = vec![Ok(8.0), Ok(8.0), Ok(8.1), Ok(7.9), last];
        Metric::from_histograms(&c::SERVICE_P999, Ok(20.0), readings, short)
    };
    let (base, new) = (metric(Ok(10.0)), metric(Err("needs 10,000 samples".into())));
    let side = |metric| Repeats::trials(Some(metric), &NUMBERS[..5]);
    let pair = |base, new| {
        let (base, new, margins) = (side(base), side(new), Margins::default());
        FigurePair { spot: SPOT, base, new, paired: true, primary: true, margins }.row()
    };
    let row = pair(&base, &new).unwrap();
    assert_eq!((row.verdict, row.new.value), (Verdict::NotComparable, Some(20.0)));
    let why = "NEW: not every trial has enough samples: needs 10,000 samples";
    assert_eq!(row.reason.as_deref(), Some(why));
    assert_eq!(pair(&new, &new).unwrap().verdict, Verdict::NotComparable);
}

/// Between them no number of repeats would decide.
#[test]
fn a_margin_is_not_below_the_bias() {
    let group = crate::fixture::Fixture::new().summary().figures.groups.remove(0);
    let within = |asked| margins(c::OPS_PER_S.name, asked, [&group, &group]).within;
    for (asked, given) in [(0.005, BIAS), (0.05, 0.05)] {
        assert!((within(asked) - given).abs() < 1e-9, "{asked}");
    }
}
