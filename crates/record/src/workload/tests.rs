//! Distributions against what they are named after.

use super::*;

/// A distribution, the share of its lengths that are at most so long, and how exact the midpoints
/// of its quantiles are for its mean.
struct Known {
    size: Size,
    up_to: Box<dyn Fn(f64) -> f64>,
    mean_within: f64,
}

fn known(size: Size, up_to: impl Fn(f64) -> f64 + 'static, mean_within: f64) -> Known {
    Known { size, up_to: Box::new(up_to), mean_within }
}

/// The share of a standard normal below x: its density by Simpson's rule.
fn normal(x: f64) -> f64 {
    let density = |t: f64| (-t * t / 2.0).exp() / std::f64::consts::TAU.sqrt();
    let step = x / 2_000.0;
    let weight = |i: u32| if i.is_multiple_of(2) { 2.0 } else { 4.0 };
    let inner: f64 = (1..2_000).map(|i| weight(i) * density(f64::from(i) * step)).sum();
    0.5 + step / 3.0 * (density(0.0) + inner + density(x))
}

/// The share of lengths up to x in a generalized Pareto that is rounded up; none is shorter than 1.
fn pareto(location: f64, k: f64, sigma: f64) -> impl Fn(f64) -> f64 + Copy {
    move |x| {
        let above = (x - location).max(0.0);
        1.0 - (1.0 + k * above / sigma).powf(-1.0 / k)
    }
}

/// A distribution in which lengths above `max` are replaced by their remainder: the sum over all
/// windows of `max` lengths, the far ones as if they were even.
fn folded(up_to: impl Fn(f64) -> f64 + Copy, max: f64) -> impl Fn(f64) -> f64 + Copy {
    const WINDOWS: u32 = 200;
    move |x| {
        let window = |j: u32| {
            let start = f64::from(j) * max;
            // Exactly `max` is not longer than that.
            let from = if j == 1 { start } else { start - 1.0 };
            up_to(start + x) - up_to(from)
        };
        let near: f64 = (1..WINDOWS).map(window).sum();
        let far = (1.0 - up_to(f64::from(WINDOWS) * max - 1.0)) * (x + 1.0) / max;
        up_to(x) + near + far
    }
}

const VALUES: Size =
    Size::Pareto { min: 10, k: 0.2615, sigma: 25.45, max: 1_024, location: 0.0, over: Over::Fold };
const SCANS: Size =
    Size::Pareto { min: 1, k: 2.517, sigma: 14.236, max: 10_000, location: 0.0, over: Over::Fold };

fn all_known() -> Vec<Known> {
    let clamped =
        Size::Pareto { min: 5, k: 0.3, sigma: 20.0, max: 200, location: 8.5, over: Over::Clamp };
    let weights = [(100, 1.0), (10, 2.0), (1_000, 1.0), (10, 0.0), (100, 1.0)];
    let drawn = |x: f64| {
        [(10.0, 0.4), (100.0, 0.4), (1_000.0, 0.2)].map(
            |(length, share)| {
                if x >= length { share } else { 0.0 }
            },
        )
    };
    vec![
        known(Size::Uniform { min: 10, max: 30 }, |x| (x - 9.0) / 21.0, 1e-9),
        known(
            Size::Normal { mean: 100.0, sigma: 20.0, min: 60, max: 150 },
            |x| normal((x + 0.5 - 100.0) / 20.0),
            1e-4,
        ),
        known(
            Size::Lognormal { median: 128, sigma: 1.0, max: 2_000 },
            |x| normal(((x + 0.5) / 128.0).ln()),
            1e-4,
        ),
        known(
            Size::Geometric { p: 0.382, min: 2, max: 128 },
            |x| 1.0 - 0.618f64.powf(x - 1.0),
            1e-9,
        ),
        known(Size::Geometric { p: 0.1, min: 1, max: 8 }, |x| 1.0 - 0.9f64.powf(x), 1e-9),
        known(clamped, pareto(8.5, 0.3, 20.0), 1e-4),
        known(VALUES, folded(pareto(0.0, 0.2615, 25.45), 1_024.0), 1e-3),
        known(SCANS, folded(pareto(0.0, 2.517, 14.236), 10_000.0), 1e-2),
        known(Size::empirical(&weights), move |x| drawn(x).iter().sum(), 1e-9),
    ]
}

/// The exact mean is the sum of the shares that are longer, length by length.
#[test]
fn means_are_those_of_the_closed_forms() {
    for Known { size, up_to, mean_within } in all_known() {
        let longer = (size.min()..size.max()).map(|x| 1.0 - up_to(x as f64));
        let exact = size.min() as f64 + longer.sum::<f64>();
        let mean = size.mean();
        assert!((mean / exact - 1.0).abs() < mean_within, "{size:?}: {mean} and {exact}");
    }
}

/// The number of evenly spaced quantiles up to each length is that of the closed form, but for one
/// or two.
#[test]
fn shapes_are_those_of_the_closed_forms() {
    const POINTS: u32 = 50_000;
    for Known { size, up_to, .. } in all_known() {
        let mut lengths: Vec<u64> =
            (0..POINTS).map(|i| size.quantile((f64::from(i) + 0.5) / f64::from(POINTS))).collect();
        lengths.sort_unstable();
        assert!(lengths.first().is_some_and(|shortest| *shortest >= size.min()), "{size:?}");
        assert!(lengths.last().is_some_and(|longest| *longest <= size.max()), "{size:?}");
        let spread = size.max() - size.min();
        for part in 0..40 {
            let x = size.min() + spread * part * part / 1_600;
            let actual = lengths.partition_point(|length| *length <= x) as f64;
            let exact = up_to(x as f64) * f64::from(POINTS);
            // The remainders of quantiles that are far apart are not evenly spaced.
            let apart = if size == SCANS { 300.0 } else { 2.0 };
            assert!((actual - exact).abs() <= apart, "{size:?} at {x}: {actual} and {exact}");
        }
    }
}

/// `db_bench`'s formula by itself: ceil(theta + sigma (u^-k - 1) / k) of `ParetoCdfInversion`, with
/// its floor of 10 and its remainder above 1024, which nine in 100,000 are.
#[test]
fn mixgraphs_values_are_those_of_db_benchs_formula() {
    let db_bench = |u: f64| {
        let length = (25.45 * (u.powf(-0.2615) - 1.0) / 0.2615).ceil() as u64;
        if length < 10 {
            10
        } else if length > 1_024 {
            length % 1_024
        } else {
            length
        }
    };
    for i in 1..100_000 {
        // Not near a whole number of u, where both round in their own ways.
        let u = (f64::from(i) + 0.123_4) / 100_000.0;
        let (ours, theirs) = (VALUES.quantile(1.0 - u), db_bench(u));
        assert!(ours == theirs.max(10), "{u}: {ours} and {theirs}");
    }
    assert!((VALUES.mean() - 36.39).abs() < 0.04, "{}", VALUES.mean());
}

#[test]
fn mixgraphs_scans_are_those_of_db_benchs_formula() {
    let db_bench = |u: f64| (14.236 * (u.powf(-2.517) - 1.0) / 2.517).ceil() as u64 % 10_000;
    let (mut sum, mut equal) = (0, 0);
    for i in 0..200_000 {
        let u = (f64::from(i) + 0.123_4) / 200_000.0;
        let (ours, theirs) = (SCANS.quantile(1.0 - u), db_bench(u));
        sum += theirs;
        equal += u32::from(ours == theirs.max(1));
    }
    // The remainder of a number near 2^53 is what rounding makes of it.
    assert!(equal > 199_900, "{equal}");
    let mean = sum as f64 / 200_000.0;
    assert!((mean / 569.0 - 1.0).abs() < 0.01, "{mean}");
    assert!((SCANS.mean() / 569.0 - 1.0).abs() < 0.01, "{}", SCANS.mean());
    assert_eq!(SCANS.quantile(0.5), 27);
}

#[test]
fn multigets_of_linkbench_have_the_mean_that_was_worked_out() {
    let as_run = Size::Geometric { p: 0.382, min: 2, max: 128 };
    assert!((as_run.mean() - 3.62).abs() < 0.01, "{}", as_run.mean());
    assert_eq!(Size::Geometric { p: 1.0, min: 3, max: 9 }.quantile(0.0), 3);
    assert!((Size::Geometric { p: 1.0, min: 3, max: 9 }.mean() - 3.0).abs() < 1e-12);
}

/// The words of old plans are still written, so that their cases keep their keys.
#[test]
fn old_words_are_kept() {
    for old in [
        r#"{"distribution":"uniform"}"#,
        r#"{"distribution":"zipf","theta":0.99}"#,
        r#"{"distribution":"ycsb_zipfian"}"#,
        r#"{"distribution":"latest","theta":0.99}"#,
        r#"{"distribution":"hotspot","keys":0.2,"operations":0.8}"#,
        r#"{"distribution":"exponential","percentile":95.0,"fraction":0.857}"#,
        r#"{"distribution":"sequential"}"#,
    ] {
        let choice: Choice = serde_json::from_str(old).unwrap();
        assert_eq!(serde_json::to_string(&choice).unwrap(), old);
    }
    let size = r#"{"kind":"pareto","min":10,"k":0.2615,"sigma":25.45,"max":1024}"#;
    assert_eq!(serde_json::from_str::<Size>(size).unwrap(), VALUES);
    assert_eq!(serde_json::to_string(&VALUES).unwrap(), size);
    let rate = r#"{"operations_per_s":10.0,"schedule":"poisson"}"#;
    let read: Rate = serde_json::from_str(rate).unwrap();
    assert_eq!(read, Rate::new(10.0, Schedule::Poisson));
    assert_eq!(serde_json::to_string(&read).unwrap(), rate);
}

#[test]
fn ycsb_expects_twice_the_inserts_of_a_counted_phase() {
    let entry = |op, weight| MixEntry::new(op, weight, Choice::YcsbZipfian);
    let mix = vec![entry(Op::Get, 95.0), entry(Op::Insert, 5.0)];
    let role = Role {
        name: "clients".into(),
        threads: 1,
        mix,
        rate: None,
        depth: None,
        think_ns: None,
        os_threads: None,
        flush_every: None,
        pilot: None,
        expected_hits: crate::expected_hits::ExpectedHits::All,
        replay: None,
    };
    let phase = |name: &str, operations, duration_ns| {
        let ends = Ends { duration_ns, operations, ..Ends::default() };
        Phase::new(name, Activity::Measure(Mix { roles: vec![role.clone()], ends }))
    };
    let timed = phase("timed", None, Some(1));
    let counted = phase("counted", Some(10_000), None);
    assert_eq!(ycsb_items(1_000, std::slice::from_ref(&timed)), 1_001);
    let Activity::Measure(mix) = timed.work.clone() else { unreachable!() };
    let warmup = Phase::new("warmup", Activity::Warmup(mix));
    let phases = [timed, warmup, counted];
    let items = |index: usize| ycsb_items(1_000, &phases[index..]);
    assert_eq!([0, 1, 2].map(items), [1_001, 2_001, 2_001], "each phase is a run of YCSB");
}

/// Records of the time when it was always a number have this form.
#[test]
fn how_many_keys_an_operation_takes_is_a_number_or_drawn() {
    let drawn = Size::Geometric { p: 0.382, min: 2, max: 128 };
    let all = [
        (Op::Multiget { keys: Size::Fixed { bytes: 16 } }, r#"{"op":"multiget","count":16}"#),
        (Op::Batch { writes: Size::Fixed { bytes: 5 } }, r#"{"op":"batch","writes":5}"#),
        (
            Op::Multiget { keys: drawn },
            r#"{"op":"multiget","count":{"kind":"geometric","p":0.382,"min":2,"max":128}}"#,
        ),
    ];
    for (op, text) in all {
        assert_eq!(serde_json::to_string(&op).unwrap(), text);
        assert_eq!(serde_json::from_str::<Op>(text).unwrap(), op);
    }
    assert!(serde_json::from_str::<Op>(r#"{"op":"batch","writes":"5"}"#).is_err());
    let batch = Op::Batch { writes: Size::Uniform { min: 1, max: 4 } };
    let written = [batch, Op::Delete, Op::Get].map(|op| op.records_written());
    assert!(written.iter().zip([2.5, 1.0, 0.0]).all(|(a, b)| (a - b).abs() < 1e-9), "{written:?}");
}
