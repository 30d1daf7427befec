//! Answers computed from a record made by hand: `rocksdb` with one reader is done, with two it does
//! not fit; `lmdb` is done with both. Here they stand for two points of a search.

use super::curve;
use crate::tables;
use kvdyno_analysis::answers::search::{Next, Outcome, SearchResult, answer};
use kvdyno_analysis::figures::evidence::Evidence;
use kvdyno_analysis::fixture::{Fixture, FixtureCase};
use kvdyno_record::case::Outcome as CaseOutcome;
use kvdyno_record::search::{Axis, Between, Making, Search};
use kvdyno_record::workload::{Activity, Mix, Rate, Schedule};

const MIB: u64 = 1 << 20;

/// Two points of an engine: one reader with 64 MiB, two with 32 MiB.
fn two_points(engine: &str, target: &str) -> Fixture {
    let mut fixture = Fixture::new();
    fixture.cases.retain(|case| case.record.case.engine == engine);
    for case in &mut fixture.cases {
        case.record.case.ram_limit_bytes = match case.record.case.threads {
            Some(2) => Some(32 * MIB),
            _ => Some(64 * MIB),
        };
    }
    let label = fixture.cases[0].record.case.label.clone();
    fixture.plan.search = Some(Search {
        axis: Axis::Ram,
        target: target.to_owned(),
        phase: "measure".to_owned(),
        between: Some(Between { low: 32 * MIB, high: 64 * MIB }),
        within: 0.1,
        trials: 2,
        making: Making { engine: label, set: Vec::new(), threads: None, duration: None },
    });
    fixture
}

/// The mix of a case's measured phase.
fn drive(case: &mut FixtureCase) -> &mut Mix {
    let mut works = case.record.case.phases.iter_mut().map(|phase| &mut phase.work);
    let measured = works.find_map(|work| match work {
        Activity::Measure(mix) => Some(mix),
        _ => None,
    });
    measured.unwrap()
}

fn answered(mut fixture: Fixture, sealed: bool) -> SearchResult {
    fixture.replan();
    let dir = kvdyno_analysis::fixture::make_dir();
    let path = dir.path().join("run");
    let run = if sealed { fixture.write(&path) } else { fixture.write_partial(&path) };
    answer(&Evidence::read(&run).unwrap()).unwrap().unwrap()
}

fn text(answer: &SearchResult) -> String {
    format!("{}\n\n{}", answer.sentences.join("\n"), curve(answer).text())
}

#[test]
fn what_does_not_fit_is_not_met_and_the_search_goes_on_between() {
    let fixture = two_points("rocksdb", "readers.p99 < 1ms and reads > 1k/s");
    let answer = answered(fixture, false);
    let (met, missed) = (64 * MIB, 32 * MIB);
    let result = Outcome::Between { met, missed, surely_missed: Some(missed), close: false };
    assert_eq!((answer.result, answer.next), (result, Some(Next::At(45 * MIB))));
    assert!(answer.left >= 2 && answer.points.iter().all(|point| point.complete));
    insta::assert_snapshot!("does_not_fit", text(&answer));
    let sealed = answered(two_points("rocksdb", "readers.p99 < 1ms and reads > 1k/s"), true);
    assert!(sealed.sentences.iter().any(|text| text.contains("--between 32MiB..64MiB")));
}

#[test]
fn figures_decide_and_a_miss_of_one_condition_is_enough() {
    // One reader reads too little, so there is nothing to be sought below.
    let never = answered(two_points("lmdb", "reads > 15k/s and p99 < 1s"), true);
    assert_eq!(never.result, Outcome::Never { easiest: 64 * MIB });
    insta::assert_snapshot!("never", text(&never));
    let mut fixture = two_points("rocksdb", "reads > 1k/s");
    for case in &mut fixture.cases {
        case.record.case.ram_limit_bytes = case.record.case.threads.map(|_| 1 << 30);
    }
    fixture.cases.retain(|case| case.record.case.threads != Some(1));
    fixture.plan.search.as_mut().unwrap().between = Some(Between { low: MIB, high: 1 << 30 });
    let unfit = answered(fixture, true);
    assert!(unfit.sentences[0].ends_with("with 1 GiB of RAM: it does not fit."), "{unfit:?}");
    assert!(unfit.sentences[1].contains("searches above"), "it may fit there: {unfit:?}");
    let always = answered(two_points("lmdb", "reads > 1k/s and readers.get.mean < 1ms"), true);
    assert_eq!(always.result, Outcome::Always { hardest: 32 * MIB });
    insta::assert_snapshot!("always", text(&always));
}

#[test]
fn many_conditions_fit_a_terminal() {
    let target = "p50 < 1s and p90 < 1s and p99 < 1s and p99.9 < 1s and reads > 1/s and max < 9s";
    let answer = answered(two_points("lmdb", target), true);
    let table = curve(&answer).text();
    assert!(table.lines().all(|line| line.chars().count() <= 100), "{table}");
    let description = answer.describe_point(&answer.points[1]);
    assert!(description.starts_with("64 MiB meets it in 2 of 2 trials: p50 "), "{description}");
}

#[test]
fn trials_that_disagree_are_no_point_that_is_met() {
    let mut fixture = two_points("lmdb", "max < 1s");
    let longest = 2_000_000_000;
    fixture.case("t2_r2").op("measure", "writer", "update").service_ns_max = longest;
    let case = fixture.case("t2_r2");
    let slow = case.histograms.iter_mut().find(|(_, _, tag, _)| tag.contains("writer")).unwrap();
    slow.3.record(longest).unwrap();
    let answer = answered(fixture, true);
    let result =
        Outcome::Between { met: 64 * MIB, missed: 32 * MIB, surely_missed: None, close: false };
    assert_eq!(answer.result, result);
    insta::assert_snapshot!("disagree", text(&answer));
}

#[test]
fn what_cannot_be_judged_stops_the_search_and_says_why() {
    let few = answered(two_points("lmdb", "writer.p99.99 < 10s"), true);
    assert_eq!((few.result, few.next), (Outcome::Stopped, None));
    assert!(few.sentences[0].contains("p99.99 stands on 100,000 samples"), "{few:?}");

    let mut fixture = two_points("lmdb", "p99 < 1s");
    let limit = &mut fixture.case("t1_r1").record.ram_limit;
    (limit.enforced_by, limit.reason) = (None, Some("no cgroup".to_owned()));
    let not_held = answered(fixture, true);
    assert_eq!(not_held.result, Outcome::Stopped);
    assert!(not_held.sentences[0].contains("the RAM limit was not held: no cgroup"));

    let mut fixture = two_points("lmdb", "p99 < 1s");
    let message = "No space left on device".to_owned();
    fixture.case("t1_r1").record.outcome = CaseOutcome::DiskFull { message };
    let full = answered(fixture, true);
    // A full disk is the host's state: its case is done again by `resume`, which searches on.
    assert_eq!(
        (full.result, full.points.iter().all(|point| point.complete)),
        (Outcome::Open, false)
    );
    assert!(full.sentences[0].contains("disk full: No space left on device"), "{full:?}");
}

/// The ends are known, a point between them is not: the answer stands, and says why it is no
/// closer.
#[test]
fn a_point_that_cannot_be_judged_between_the_ends_is_named() {
    let mut fixture = two_points("rocksdb", "p99 < 1s");
    let case = fixture.case("t1_r2");
    case.record.case.ram_limit_bytes = Some(45 * MIB);
    let limit = &mut case.record.ram_limit;
    (limit.enforced_by, limit.reason) = (None, Some("no cgroup".to_owned()));
    let answer = answered(fixture, true);
    let (met, missed) = (64 * MIB, 32 * MIB);
    let result = Outcome::Between { met, missed, surely_missed: Some(missed), close: false };
    assert_eq!((answer.result, answer.next), (result, None));
    let why = "had to stop with 45 MiB of RAM: the RAM limit was not held: no cgroup.";
    assert!(answer.sentences.iter().any(|text| text.ends_with(why)), "{answer:?}");
    assert!(answer.sentences.iter().all(|text| !text.contains("goes on")), "{answer:?}");
    let description = answer.describe_point(answer.void_point().unwrap());
    assert_eq!(description, "45 MiB cannot be judged: the RAM limit was not held: no cgroup");
    assert!(text(&answer).contains("not judged"), "{}", text(&answer));
}

#[test]
fn what_was_cut_off_is_open_and_goes_on_when_it_is_done() {
    let mut fixture = two_points("lmdb", "p99 < 1s");
    let message = "while in `measure`".to_owned();
    fixture.case("t2_r2").record.outcome = CaseOutcome::Interrupted { message };
    let open = answered(fixture, false);
    assert_eq!((open.result, open.next), (Outcome::Open, None));
    assert!(!open.points[0].complete && open.points[1].complete);
    assert!(open.sentences.iter().any(|text| text.contains("` continues it.")));
}

#[test]
fn rates_are_searched_below_the_most_and_a_backlog_is_a_miss() {
    let mut fixture = two_points("lmdb", "writer.p99 < 100ms");
    let search = fixture.plan.search.as_mut().unwrap();
    search.axis = Axis::Rate { role: "readers".to_owned() };
    search.between = None;
    let alone = answered(fixture, false);
    // Both points are without a rate: as fast as it goes.
    let most = alone.between.unwrap();
    let done = |done: &[Option<f64>]| done.iter().flatten().copied().fold(0.0, f64::max);
    assert!(most.high as f64 >= 0.99 * done(&alone.fastest.unwrap().done_per_s));
    assert_eq!(alone.next, Some(Next::At(most.low)));

    // Without its rate there are no bounds, and that is said.
    let mut fixture = two_points("rocksdb", "writer.p99 < 100ms");
    fixture.cases.retain(|case| case.record.case.threads != Some(1));
    let search = fixture.plan.search.as_mut().unwrap();
    search.axis = Axis::Rate { role: "readers".to_owned() };
    search.between = None;
    let unfit = answered(fixture, true);
    assert_eq!(unfit.result, Outcome::Stopped);
    assert!(unfit.sentences[0].ends_with("as fast as it goes: does not fit."), "{unfit:?}");

    let mut fixture = two_points("lmdb", "writer.p99 < 100ms");
    let search = fixture.plan.search.as_mut().unwrap();
    search.axis = Axis::Rate { role: "readers".to_owned() };
    search.between = Some(Between { low: 10_000, high: 20_000 });
    for case in &mut fixture.cases {
        let Some(threads) = case.record.case.threads else { continue };
        let per_s = 10_000.0 * f64::from(threads);
        drive(case).roles[0].rate = Some(Rate::new(per_s, Schedule::Poisson));
        let role = &mut case.phase("measure").roles[0];
        role.offered_per_s = Some(per_s);
        role.backlog = if threads == 2 { 100_000 } else { 1 };
    }
    // What was offered tells the points apart in every table.
    fixture.replan();
    for titled in tables::all(&fixture.summary(), false) {
        let text = titled.table.text();
        assert!(text.contains("offered"), "{}: {text}", titled.title);
        let run = titled.title.starts_with("Run");
        assert!(!run || text.contains("10.0 k/s") && text.contains("20.0 k/s"), "{text}");
    }
    let answer = answered(fixture, false);
    let Outcome::Between { met, missed, .. } = answer.result else { panic!("{answer:?}") };
    assert_eq!((met, missed), (10_000, 20_000));
    insta::assert_snapshot!("behind", text(&answer));
}
