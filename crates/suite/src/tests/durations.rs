//! Tests of phases that end once their rates are steady.

use super::*;
use kvdyno_record::units::duration;
use kvdyno_record::workload::{Ends, Phase};

const SECOND: u64 = 1_000_000_000;

/// Returns the small suite with this duration of its measure phase.
fn lasting(duration: &str) -> String {
    assert!(SMALL.contains("duration = \"5s\""));
    SMALL.replace("duration = \"5s\"", &format!("duration = {duration}"))
}

fn ends(plan: &Plan) -> Ends {
    let mut mixes = plan.cases[1].phases.iter().filter_map(Phase::mix);
    mixes.next_back().unwrap().ends
}

#[test]
fn a_phase_has_a_least_and_a_most() {
    let text = lasting("{ least = \"3s\", most = \"60s\" }");
    let plan = plan(&text, &[]);
    let (least_ns, most_ns) = (Some(3 * SECOND), Some(60 * SECOND));
    assert_eq!((ends(&plan).least_ns, ends(&plan).duration_ns), (least_ns, most_ns));
    assert_eq!(duration(plan.cases[1].slice_ns), "600 ms", "five rounds fit");
    let long = super::plan(&lasting("{ least = \"10s\", most = \"60s\" }"), &[]);
    assert_eq!(duration(long.cases[1].slice_ns), "1.00 s");
    // The suite sets its own slices.
    let finer = super::plan(&text, &["run.slice=100ms"]);
    assert_eq!(duration(finer.cases[1].slice_ns), "100 ms");
}

/// The plan's shortest time uses `least`, its longest time and the case's budget use `most`.
#[test]
fn the_estimate_has_both() {
    let times = |text: &str| {
        let plan = plan(text, &[]);
        let measured = plan.cases.iter().filter(|case| case.threads.is_some()).count() as u64;
        let estimate = &plan.estimate;
        let both = (estimate.wall_least_ns.unwrap(), estimate.wall_ns);
        (both, measured, plan.cases[1].budget_ns)
    };
    let ((least, most), measured, _) = times(&lasting("\"5s\""));
    let ((bent_least, bent_most), _, budget) =
        times(&lasting("{ least = \"3s\", most = \"1200s\" }"));
    assert_eq!(least - bent_least, measured * 2 * SECOND);
    assert_eq!(bent_most - most, measured * 1195 * SECOND);
    assert!(budget > 1200 * SECOND);
}

/// Phases are equal work if their bounds are equal, whatever time they took.
#[test]
fn work_is_equal_by_the_bounds() {
    use kvdyno_record::work::{Purpose, Work};
    let work = |duration: &str| {
        let plan = plan(&lasting(duration), &[]);
        Work::from_case(&plan.cases[1], &plan).equal(Purpose::Engines)
    };
    let bounds = "{ least = \"3s\", most = \"60s\" }";
    assert_eq!(work(bounds), work(bounds));
    assert_ne!(work(bounds), work("\"60s\""));
    assert_ne!(work(bounds), work("{ least = \"4s\", most = \"60s\" }"));
}

#[test]
fn options_set_a_fixed_duration() {
    let text = lasting("{ least = \"3s\", most = \"60s\" }");
    let fixed = Overrides { duration: Some("5s".to_owned()), ..Overrides::default() };
    assert_eq!(ends(&plan_of(&text, &fixed).unwrap()), Ends::after_ns(5 * SECOND));
    let fixed = set(&["phase.measure.duration=7s"]);
    assert_eq!(ends(&plan_of(&text, &fixed).unwrap()), Ends::after_ns(7 * SECOND));
    let quick = Overrides { quick: Some(2), ..Overrides::default() };
    assert_eq!(ends(&plan_of(&text, &quick).unwrap()), Ends::after_ns(10 * SECOND));
    let short = lasting("{ least = \"3s\", most = \"8s\" }");
    assert_eq!(ends(&plan_of(&short, &quick).unwrap()).least_ns, Some(3 * SECOND));
}

#[test]
fn mistakes_in_bounds_are_shown_with_the_remedy() {
    let bounds = |duration: &str, arguments: &[&str]| refusal(&lasting(duration), &set(arguments));
    let good = "{ least = \"3s\", most = \"60s\" }";
    let refused = [
        bounds("{ least = \"60s\", most = \"3s\" }", &[]),
        bounds("{ least = \"3s\" }", &[]),
        bounds("{ least = \"3s\", most = \"60s\", mean = \"10s\" }", &[]),
        bounds("{ least = 3, most = \"60s\" }", &[]),
        bounds("[\"3s\", \"60s\"]", &[]),
        bounds("{ least = \"100ms\", most = \"60s\" }", &[]),
        bounds(good, &["run.slice=1s"]),
        bounds(good, &["phase.measure.windows=5s"]),
        bounds(good, &["phase.measure.role.0.rate=1k"]),
    ];
    insta::assert_snapshot!(refused.join("\n"));
}

/// A phase that opens the engine ends by a count alone, also in a shortened suite.
#[test]
fn openings_are_not_shortened() {
    let opens = SMALL.replace("duration = \"5s\"", "operations = 20");
    let opens = opens.replace("op = \"get\"", "op = \"open\"");
    let reads = SMALL.split("[[phase]]\nkind = \"measure\"").nth(1).unwrap();
    let opens = opens.replacen("[[engine]]", "[run]\ndatabase = \"fresh\"\n[[engine]]", 1);
    let both = format!("{opens}[[phase]]\nkind = \"measure\"\nname = \"reads\"{reads}");
    let ends = |overrides: &Overrides| {
        let plan = plan_of(&both, overrides).unwrap();
        let measured = plan.cases[0].phases.iter().filter_map(|phase| phase.mix());
        measured.map(|mix| (mix.ends.operations, mix.ends.duration_ns)).collect::<Vec<_>>()
    };
    let opening = (Some(20), None);
    let quick = Overrides { quick: Some(2), ..Overrides::default() };
    assert_eq!(ends(&quick), [opening, (None, Some(5 * SECOND))]);
    let shorter = Overrides { duration: Some("2s".to_owned()), ..Overrides::default() };
    assert_eq!(ends(&shorter), [opening, (None, Some(2 * SECOND))]);
}
