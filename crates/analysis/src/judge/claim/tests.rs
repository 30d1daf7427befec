//! Claims about the fixture's engines, whose figures follow from formulas.

use super::{ClaimVerdict, Claimed};
use crate::fixture::Fixture;
use kvdyno_record::claim::{Bound, Cell, Claim, Need, Relation, Side, Test, Threads, Window};
use kvdyno_record::plan::Case;
use kvdyno_record::workload::PhaseWindow;

fn cell(engine: &str, role: Option<&str>, threads: Option<Threads>, figure: &str) -> Cell {
    Cell {
        phase: if role.is_some() { "measure" } else { "load" }.to_owned(),
        role: role.map(str::to_owned),
        engine: engine.to_owned(),
        threads,
        figure: figure.to_owned(),
        ..Cell::default()
    }
}

fn claim(left: Side, test: Test) -> Claim {
    let relation = Relation { left, test };
    Claim { text: "so".to_owned(), holds: "so".to_owned(), relation, needs: Vec::new() }
}

fn judged(trials: u32, claim: Claim) -> Claimed {
    let mut fixture = Fixture::with_trials(trials);
    fixture.plan.claims = vec![claim];
    fixture.summary().claims.remove(0)
}

fn reads(engine: &str, threads: Option<Threads>) -> Cell {
    cell(engine, Some("readers"), threads, "ops_per_s")
}

fn ratio(threads: Option<Threads>) -> Side {
    Side::Ratio(reads("lmdb", threads), reads("rocksdb", threads))
}

/// LMDB's reads take 75 us here and those of `RocksDB` 98.
#[test]
fn a_ratio_holds_or_does_not_by_its_interval() {
    let one_thread = Some(Threads::Exactly(1));
    let holds = judged(6, claim(ratio(one_thread), Test::Above(Bound::Number(1.1))));
    assert_eq!(holds.verdict, ClaimVerdict::Holds, "{holds:?}");
    let point = &holds.points[0];
    assert!(point.low.unwrap() <= point.value.unwrap() && point.value <= point.high, "{point:?}");
    let not = judged(6, claim(ratio(one_thread), Test::Within { low: 2.0, high: 3.0 }));
    assert_eq!(not.verdict, ClaimVerdict::DoesNotHold, "{not:?}");
    let value = holds.points[0].value.unwrap();
    let across = judged(6, claim(ratio(one_thread), Test::Above(Bound::Number(value))));
    assert_eq!(across.verdict, ClaimVerdict::Undecided, "{across:?}");
}

#[test]
fn below_four_trials_nothing_is_decided_and_more_are_asked_for() {
    let one_thread = Some(Threads::Exactly(1));
    let few = judged(3, claim(ratio(one_thread), Test::Above(Bound::Number(0.1))));
    assert_eq!(few.verdict, ClaimVerdict::Undecided);
    assert_eq!(few.reason.as_deref(), Some("expected 4 trials, found 3"));
    let point = &few.points[0];
    assert!(point.value.is_some() && point.low.is_none() && point.more_trials == Some(1));
    let less = Side::Difference(reads("lmdb", one_thread), reads("rocksdb", one_thread));
    let less = judged(4, claim(less, Test::Above(Bound::Number(-1e9))));
    assert_eq!(less.verdict, ClaimVerdict::Holds, "{less:?}");
}

/// The trials with too few samples are the slow ones.
#[test]
fn a_percentile_with_a_short_trial_is_not_judged() {
    let mut fixture = Fixture::with_trials(6);
    for (.., histogram) in &mut fixture.case("lmdb_t1_r3").histograms {
        let few = histogram.value_at_quantile(0.5);
        histogram.clear();
        histogram.record_n(few, 100).unwrap();
    }
    let one_thread = Some(Threads::Exactly(1));
    let percentile = Cell { op: Some("get".to_owned()), ..reads("lmdb", one_thread) };
    let percentile = Cell { figure: "service_ns_p99".to_owned(), ..percentile };
    fixture.plan.claims = vec![claim(Side::Figure(percentile), Test::Below(Bound::Number(1e12)))];
    let claimed = fixture.summary().claims.remove(0);
    assert_eq!(claimed.verdict, ClaimVerdict::Undecided, "{claimed:?}");
    let why = "not every trial has enough samples: p99 needs 1,000 samples";
    assert!(claimed.reason.as_ref().unwrap().ends_with(why), "{claimed:?}");
}

/// `RocksDB` has no figure where it did not fit (two readers); an open dimension has several
/// points.
#[test]
fn an_open_dimension_has_every_point() {
    let all = judged(6, claim(ratio(None), Test::Above(Bound::Number(1.1))));
    let names: Vec<&str> = all.points.iter().map(|point| point.label.as_str()).collect();
    assert_eq!(names, ["#1", "#2"]);
    assert_eq!(all.verdict, ClaimVerdict::Undecided);
    assert_eq!(all.reason.as_deref(), Some("#2: RocksDB: does not fit"));
    let scaled =
        Side::Ratio(reads("lmdb", Some(Threads::Most)), reads("lmdb", Some(Threads::Exactly(1))));
    let scaled = judged(6, claim(scaled, Test::Above(Bound::Number(1.2))));
    assert_eq!(scaled.points.len(), 1, "{scaled:?}");
    assert_eq!(scaled.verdict, ClaimVerdict::Holds, "{scaled:?}");
}

#[test]
fn two_sides_are_compared() {
    let load = |engine, figure| Side::Figure(cell(engine, None, None, figure));
    let less = Test::Below(Bound::Side(load("rocksdb", "records_per_s")));
    let one = judged(6, claim(load("lmdb", "records_per_s"), less.clone()));
    let more = Test::Above(Bound::Side(load("rocksdb", "records_per_s")));
    let other = judged(6, claim(load("lmdb", "records_per_s"), more));
    let verdicts = [one.verdict, other.verdict];
    assert!(verdicts.contains(&ClaimVerdict::Holds), "{one:?} {other:?}");
    assert!(verdicts.contains(&ClaimVerdict::DoesNotHold));
}

#[test]
fn of_two_that_are_equal_none_is_larger() {
    let size = || Side::Figure(reads("lmdb", Some(Threads::Exactly(1))));
    let same = |test: fn(Bound) -> Test| judged(6, claim(size(), test(Bound::Side(size()))));
    for claimed in [same(Test::Above), same(Test::Below)] {
        assert_eq!(claimed.verdict, ClaimVerdict::DoesNotHold, "{claimed:?}");
        assert_eq!(claimed.reason.as_deref(), Some("equal within 3.00 %"));
    }
}

#[test]
fn missing_measurements_are_reported() {
    let test = Test::Above(Bound::Number(1.0));
    let mut volume = cell("lmdb", None, None, "wall_ns");
    volume.volume = Some("flash-raw".to_owned());
    let why = |claim| judged(2, claim).reason.unwrap();
    let raw = claim(Side::Figure(volume), test.clone());
    assert_eq!(why(raw), "volume flash-raw was not measured");
    let other = claim(Side::Figure(cell("lmdb1", None, None, "wall_ns")), test.clone());
    assert_eq!(why(other), "engine lmdb1 was not measured");
    let which = Side::Figure(Cell { role: None, ..reads("lmdb", None) });
    let which = claim(which, test.clone());
    assert!(why(which).contains("add one of readers, writer"));
    let load = || Side::Figure(cell("lmdb", None, None, "wall_ns"));
    let needs = |need| Claim { needs: vec![need], ..claim(load(), test.clone()) };
    assert!(why(needs(Need::Cpus(4096))).starts_with("expected 4096 processors"));
    assert!(why(needs(Need::DataToRam(100))).starts_with("expected data of 100 times"));
    assert!(why(needs(Need::Threads(64))).contains("64 threads"));
    assert_eq!(why(needs(Need::Volume("optane".to_owned()))), "volume optane was not measured");
}

/// A bare drive has no records and no RAM limit: it shares no such points with an engine.
#[test]
fn a_bare_drive_is_compared_with_an_engine() {
    let mut fixture = Fixture::with_drive(6);
    let is_job = |case: &&Case| case.ceiling && case.threads.is_some();
    let drive = fixture.plan.cases.iter().find(is_job).unwrap().label.clone();
    let drive = Cell { phase: "measure".to_owned(), ..cell(&drive, None, None, "ops_per_s") };
    let less = Test::Below(Bound::Side(Side::Figure(drive)));
    fixture.plan.claims = vec![claim(Side::Figure(reads("lmdb", Some(Threads::Exactly(1)))), less)];
    let claimed = fixture.summary().claims.remove(0);
    assert!(!claimed.points.is_empty(), "{claimed:?}");
    assert!(claimed.points[0].value.is_some(), "{claimed:?}");
}

/// A run whose measured phase has two windows; the second is half as fast.
fn windowed(claims: &[Claim]) -> Vec<Claimed> {
    let mut summary = Fixture::with_trials(6).summary();
    for group in &mut summary.groups {
        let Some(index) = group.runs.iter().position(|run| run.phase == "measure") else {
            continue;
        };
        let mut second = group.runs[index].clone();
        let window = |number| Some(PhaseWindow { phase: "measure".to_owned(), number });
        (group.runs[index].phase, group.runs[index].window) = ("measure-w01".to_owned(), window(1));
        (second.phase, second.window) = ("measure-w02".to_owned(), window(2));
        for role in &mut second.roles {
            let rates = role.metrics.0.iter_mut().filter(|metric| metric.name == "ops_per_s");
            let values = rates.flat_map(|metric| metric.per_trial.iter_mut().flatten());
            values.for_each(|value| *value /= 2.0);
        }
        group.runs.insert(index + 1, second);
    }
    super::judge(claims, &summary)
}

#[test]
fn windows_are_separate_points_and_all_of_them_count_without_one() {
    let one_thread = Some(Threads::Exactly(1));
    let reads_in = |window| Cell { window, ..reads("lmdb", one_thread) };
    let [first, last] = [Window::Number(1), Window::Last].map(|window| reads_in(Some(window)));
    let slower = |one, other| claim(Side::Ratio(one, other), Test::Within { low: 1.9, high: 2.1 });
    let every = |bound| claim(ratio(one_thread), Test::Above(Bound::Number(bound)));
    let claims = [
        slower(first.clone(), last),
        // In each window, that window of both engines is compared.
        every(1.1),
        // A cell with a window is compared with every window of a cell without.
        claim(Side::Ratio(reads_in(None), first.clone()), Test::Within { low: 0.9, high: 1.1 }),
        slower(first, reads_in(Some(Window::Number(3)))),
    ];
    let claimed = windowed(&claims);
    let names_of = |claimed: &Claimed| {
        claimed.points.iter().map(|point| point.label.clone()).collect::<Vec<_>>()
    };
    assert_eq!(
        (claimed[0].verdict, names_of(&claimed[0])),
        (ClaimVerdict::Holds, vec![String::new()])
    );
    let both = ["w1", "w2"].map(str::to_owned).to_vec();
    assert_eq!((claimed[1].verdict, names_of(&claimed[1])), (ClaimVerdict::Holds, both.clone()));
    assert_eq!((claimed[2].verdict, names_of(&claimed[2])), (ClaimVerdict::DoesNotHold, both));
    assert_eq!(claimed[2].reason.as_deref(), Some("not at w2"), "it is half of the first");
    let none = "window w3 of measure was not measured";
    assert_eq!(claimed[3].reason.as_deref(), Some(none));
    // A phase that is not repeated has no windows.
    let whole = judged(6, claims[0].clone());
    assert_eq!(whole.reason.as_deref(), Some("window w1 of measure was not measured"));
}

/// A server's part may need more memory than an engine's: cells that name their parts may differ in
/// the RAM limit. Without parts, a limit that no cell sets has to be equal.
#[test]
fn parts_with_one_limit_each_may_have_different_ones() {
    let mut summary = Fixture::with_trials(6).summary();
    for group in &mut summary.groups {
        let (part, limit) =
            if group.is_called("lmdb") { ("lmdb", 1 << 30) } else { ("rocksdb", 2 << 30) };
        (group.part, group.ram_limit_bytes) = (Some(part.to_owned()), Some(limit));
    }
    let one_thread = Some(Threads::Exactly(1));
    let of_parts = ["lmdb", "rocksdb"]
        .map(|engine| Cell { part: Some(engine.to_owned()), ..reads(engine, one_thread) });
    let [lmdb, rocksdb] = of_parts;
    let above = || Test::Above(Bound::Number(1.1));
    let claims = [claim(Side::Ratio(lmdb, rocksdb), above()), claim(ratio(one_thread), above())];
    let claimed = super::judge(&claims, &summary);
    assert_eq!(claimed[0].verdict, ClaimVerdict::Holds, "{claimed:?}");
    assert_eq!(claimed[1].verdict, ClaimVerdict::Undecided, "{claimed:?}");
}
