//! Histories of a synthetic record, whose engines serve as versions of one.

use super::*;
use crate::fixture::Fixture;

/// The fixture's LMDB and `RocksDB` as two versions of one engine.
fn versions() -> Fixture {
    Fixture::with_versions(&["LMDB", "RocksDB"])
}

#[test]
fn a_run_without_versions_has_no_history() {
    assert_eq!(Fixture::new().summary().history, []);
}

#[test]
fn versions_are_in_the_order_of_the_suite_with_a_step_between() {
    let summary = versions().summary();
    let [history] = &summary.history[..] else { panic!("{:?}", summary.history) };
    assert_eq!(history.engine, "engine");
    let versions: Vec<&str> =
        history.versions.iter().map(|release| release.version.as_str()).collect();
    assert_eq!(versions, ["1.0", "2.0"]);
    assert!(!history.figures.is_empty());
    for series in &history.figures {
        assert_eq!((series.values.len(), series.judgement.steps.len()), (2, 1), "{series:?}");
    }
    // The medians are those of the groups.
    let load = history.figures.iter().find(|series| series.figure == "records_per_s").unwrap();
    let group = summary.groups.iter().find(|group| group.label == "engine-2.0").unwrap();
    let group = group
        .load
        .as_ref()
        .and_then(|load| load.metrics.0.iter().find(|m| m.name == "records_per_s"));
    assert_eq!(load.values[1].unwrap().value, group.unwrap().value);
    // Two trials are too few for a verdict.
    let step = load.judgement.steps[0].as_ref().unwrap();
    assert_eq!(step.verdict, Verdict::TooFew);
    assert_eq!(history.changes(), Vec::<String>::new());
}

#[test]
fn a_change_has_its_interval_and_the_largest_comes_first() {
    let step = |ratio: f64, verdict| {
        Some(Step {
            ratio: Some(ratio),
            ratio_low: Some(ratio - 0.1),
            ratio_high: Some(ratio + 0.1),
            verdict,
            reason: None,
        })
    };
    let series = |phase: &str, steps| VersionSeries {
        case: String::new(),
        phase: phase.to_owned(),
        role: Some("readers".to_owned()),
        figure: "ops_per_s",
        unit: "1/s",
        values: vec![None; 3],
        judgement: Steps { steps },
    };
    let release = |version: &str| Release {
        label: format!("x-{version}"),
        version: version.to_owned(),
        build: "official".to_owned(),
    };
    let history = History {
        engine: "x".to_owned(),
        versions: ["1", "2", "3"].map(release).to_vec(),
        figures: vec![
            series("a", vec![step(1.3, Verdict::Improved), step(1.01, Verdict::Undecided)]),
            series("b", vec![None, step(0.5, Verdict::Regressed)]),
        ],
        false_alarms_expected: 0.2,
    };
    let expected = [
        "2 -> 3: b readers ops_per_s x 0.50 (0.40 to 0.60), worse",
        "1 -> 2: a readers ops_per_s x 1.30 (1.20 to 1.40), better",
    ];
    assert_eq!(history.changes(), expected);
    let steps = history.figures.iter().flat_map(|series| series.judgement.steps.iter().flatten());
    assert_eq!(steps.map(Step::format_change).collect::<Vec<_>>(), [" +30%", "", " -50%"]);
}
