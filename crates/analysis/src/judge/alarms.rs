//! Tests the rule from records to verdicts on synthetic records of two equal engines, as a run with
//! a budget sees them, trial by trial: how often are equals called different?

use super::comparison;
use super::rule::LOOKS;
use crate::figures::evidence::{CaseEvidence, Evidence};
use crate::figures::group::Group;
use crate::figures::relative::Significance;
use crate::fixture::Fixture;
use crate::stats::Random;

/// Nanoseconds of an operation without noise.
const OPERATION_NS: f64 = 100_000.0;

/// The two engines.
const LABELS: [&str; 2] = ["LMDB", "RocksDB"];

/// The factors by which a trial slows each engine; its number, from 0, tells which runs first.
type Noise = fn(&mut Random, usize) -> [f64; 2];

const KINDS: [(&str, Noise); 6] = [
    ("normal", |random, _| [(); 2].map(|()| (0.1 * random.normal()).exp())),
    ("heavy-tailed", |random, _| [(); 2].map(|()| (0.07 * random.heavy_tailed()).exp())),
    ("spiky", |random, _| [(); 2].map(|()| (0.07 * random.spiky()).exp())),
    // One percent slower from case to case; the order of each second trial is reversed.
    ("drift", |random, trial| {
        let first = trial * 2;
        let positions = if trial % 2 == 0 { [first, first + 1] } else { [first + 1, first] };
        positions.map(|at| (0.01 * at as f64 + 0.07 * random.normal()).exp())
    }),
    ("blocks", |random, _| {
        let block = 0.15 * random.normal();
        [(); 2].map(|()| (block + 0.05 * random.normal()).exp())
    }),
    // The mean of ten slices of a trial, each of which depends mostly on the one before.
    ("correlated slices", |random, _| {
        [(); 2].map(|()| {
            let mut slice = random.normal();
            let slices: Vec<f64> = (0..10)
                .map(|_| {
                    slice = 0.8 * slice + 0.6 * random.normal();
                    (0.1 * slice).exp()
                })
                .collect();
            slices.iter().sum::<f64>() / 10.0
        })
    }),
];

/// The records of 32 trials of both engines' readers, without their latencies.
fn evidence() -> Evidence {
    let trials = LOOKS[LOOKS.len() - 1] as u32;
    let dir = crate::fixture::make_dir();
    let run = Fixture::with_trials(trials).write(&dir.path().join("run"));
    let mut evidence = Evidence::read(&run).unwrap();
    let is_compared = |case: &CaseEvidence| {
        LABELS.contains(&case.case.label.as_str()) && case.case.threads == Some(1)
    };
    evidence.cases.retain(is_compared);
    evidence.cases.iter_mut().for_each(|case| case.dir = None);
    evidence
}

/// Whether a run of equals, looked at until it is decided, calls them different; and with how many
/// pairs it ended. `slower`: the second takes longer by this share.
fn run(evidence: &mut Evidence, random: &mut Random, noise: Noise, slower: f64) -> (bool, usize) {
    let factors: Vec<[f64; 2]> = (0..32).map(|trial| noise(random, trial)).collect();
    for case in &mut evidence.cases {
        let engine = LABELS.iter().position(|label| *label == case.case.label).unwrap();
        let noise = factors[case.case.trial as usize - 1][engine];
        let factor = noise * if engine == 1 { 1.0 + slower } else { 1.0 };
        for phase in &mut case.record.as_mut().unwrap().phases {
            for role in &mut phase.roles {
                let count: u64 = role.ops.values().map(|op| op.count).sum();
                role.window_ns = (count as f64 * OPERATION_NS * factor) as u64;
            }
        }
    }
    let (host, plan) = (&evidence.run.host_before, &evidence.plan);
    for look in LOOKS {
        let mut groups = LABELS.map(|label| {
            let done =
                |case: &&CaseEvidence| case.case.label == label && case.case.trial as usize <= look;
            let cases: Vec<&CaseEvidence> = evidence.cases.iter().filter(done).collect();
            Group::read(&cases, host, plan).unwrap()
        });
        comparison::compare(&mut groups);
        let relative = groups[1].runs[0].roles[0].relative.as_ref().unwrap();
        if relative.decided {
            return (relative.verdict == Significance::Different, look);
        }
    }
    (false, 32)
}

/// The share of runs that end as different, and the mean number of their pairs.
fn simulate_runs(evidence: &mut Evidence, runs: u32, noise: Noise, slower: f64) -> (f64, f64) {
    let mut random = Random::new(21);
    let ends: Vec<_> = (0..runs).map(|_| run(evidence, &mut random, noise, slower)).collect();
    let different = ends.iter().filter(|(different, _)| *different).count();
    let pairs: usize = ends.iter().map(|(_, pairs)| pairs).sum();
    (different as f64 / f64::from(runs), pairs as f64 / f64::from(runs))
}

#[test]
fn equals_are_seldom_called_different() {
    let mut evidence = evidence();
    for (kind, noise) in KINDS {
        let (alarms, _) = simulate_runs(&mut evidence, 12, noise, 0.0);
        assert!(alarms <= 0.25, "{kind}: {alarms}");
    }
    let (power, pairs) = simulate_runs(&mut evidence, 12, KINDS[4].1, 0.2);
    assert!(power >= 0.9 && pairs < 8.0, "{power} {pairs}");
}

mod soak {
    use super::*;
    use std::fmt::Write as _;

    /// Runs of each kind. The table of docs/method.md is that of `cargo test --release`, which
    /// takes 20 minutes; a debug build does a twentieth of it.
    const RUNS: u32 = if cfg!(debug_assertions) { 50 } else { 1000 };

    #[test]
    fn about_one_in_twenty_equals_is_called_different() {
        let (mut evidence, mut table) = (evidence(), String::new());
        let chance = 3.0 * (0.05 * 0.95 / f64::from(RUNS)).sqrt();
        for (kind, noise) in KINDS {
            let (alarms, pairs) = simulate_runs(&mut evidence, RUNS, noise, 0.0);
            let _ = writeln!(table, "equals, {kind}: {:.1} %, {pairs:.1} pairs", 100.0 * alarms);
            assert!(alarms <= 0.05 + chance, "{table}");
        }
        for slower in [0.02, 0.05, 0.10, 0.20] {
            let (power, pairs) = simulate_runs(&mut evidence, RUNS, KINDS[4].1, slower);
            let (slower, power) = (100.0 * slower, 100.0 * power);
            let _ = writeln!(table, "{slower:.0} % slower, blocks: {power:.1} %, {pairs:.1} pairs");
        }
        if RUNS == 1000 {
            insta::assert_snapshot!("alarms", table);
        }
    }
}
