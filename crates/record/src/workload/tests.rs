//! Distributions against what they are named after.

use super::*;

/// The mean by the probabilities of every length, P(X = n) = S(n-1) - S(n) with
/// S(x) = (1 + k x / sigma)^(-1/k): 36.39 bytes, and not 44.4 with the floor as location.
#[test]
fn mixgraphs_values_have_db_benchs_mean() {
    let (k, sigma) = (0.2615, 25.45);
    let above = |x: u32| (1.0 + k * f64::from(x) / sigma).powf(-1.0 / k);
    let length = |n: u32| f64::from(if n > 1024 { n % 1024 } else { n }.max(10));
    let exact: f64 = (1..300_000).map(|n| (above(n - 1) - above(n)) * length(n)).sum();
    assert!((exact - 36.39).abs() < 0.01, "{exact}");
    let mean = Size::Pareto { min: 10, k, sigma, max: 1024 }.mean();
    assert!((mean / exact - 1.0).abs() < 0.001, "{mean} and {exact}");
}

#[test]
fn ycsb_expects_twice_the_inserts_of_a_counted_phase() {
    let entry = |op, weight| MixEntry { op, weight, keys: Choice::YcsbZipfian };
    let mix = vec![entry(Op::Get, 95.0), entry(Op::Insert, 5.0)];
    let role = Role {
        name: "clients".into(),
        threads: 1,
        mix,
        rate: None,
        depth: None,
        found: crate::found::Found::All,
    };
    let phase = |name: &str, operations, duration_ns| Phase {
        name: name.to_owned(),
        work: Activity::Measure(Mix {
            roles: vec![role.clone()],
            ends: Ends { duration_ns, operations },
        }),
    };
    let timed = phase("timed", None, Some(1));
    let counted = phase("counted", Some(10_000), None);
    assert_eq!(ycsb_items(1_000, std::slice::from_ref(&timed)), 1_001);
    assert_eq!(ycsb_items(1_000, &[timed, counted]), 1_000 + 1_000 + 1);
}
