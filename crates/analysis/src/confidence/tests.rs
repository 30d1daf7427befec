//! The rule, and that the documentation agrees with the code.

use super::super::fixture::Fixture;
use super::*;
use kvdyno_record::case::Outcome;

fn bound(bound: Bound) -> String {
    match bound {
        Bound::AtLeast(from) => format!("from {from}"),
        Bound::Below(below) => format!("below {below}"),
        Bound::Never => "-".to_owned(),
    }
}

/// The tables of docs/method.md are made from those that the code follows.
#[test]
fn the_documentation_has_the_rule_that_the_code_follows() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/method.md");
    let text = std::fs::read_to_string(path).unwrap();
    let rows: Vec<Vec<&str>> = text
        .lines()
        .skip_while(|line| *line != "| reason | reading | medium | low |")
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split(" | ").map(str::trim).collect())
        .collect();
    assert_eq!(rows.len(), GRADES.len(), "{rows:?}");
    for (row, Grade { id, medium, low }) in rows.iter().zip(GRADES) {
        let of_code = [format!("`{id}`"), bound(medium), bound(low)];
        assert_eq!([row[0], row[2], row[3]], of_code.each_ref().map(String::as_str));
    }
    for level in [Level::Low, Level::Medium] {
        let ids = FINDINGS
            .iter()
            .filter(|(id, grade, ..)| *grade == level && id.severity() != Severity::Invalid);
        let ids: Vec<String> = ids.map(|(id, ..)| format!("`{}`", id.as_str())).collect();
        let invalid = if level == Level::Low { "every invalid one, " } else { "" };
        let row = format!("| {} | {invalid}{} |", level.word(), ids.join(", "));
        assert!(text.contains(&row), "docs/method.md lacks:\n{row}");
    }
}

#[test]
fn a_graded_finding_is_not_counted_twice() {
    for (id, ..) in FINDINGS {
        assert!(GRADES.iter().all(|grade| grade.id != id.as_str()), "{id:?}");
        assert_ne!(id.severity(), Severity::Info, "{id:?}: it would say that the figures hold");
    }
}

fn judge_fixture(fixture: &Fixture) -> Confidence {
    fixture.summary().confidence
}

fn reason<'c>(confidence: &'c Confidence, id: &str) -> Option<&'c Reason> {
    confidence.reasons.iter().find(|reason| reason.id == id)
}

fn sentence(confidence: &Confidence, id: &str) -> String {
    let reason = reason(confidence, id).unwrap_or_else(|| panic!("no {id}: {confidence:?}"));
    format!("{}: {}", reason.level.word(), reason.text)
}

#[test]
fn trials_decide_where_nothing_else_is_wrong() {
    let levels = [(1, Level::Low), (3, Level::Low), (4, Level::Medium), (6, Level::High)];
    for (trials, level) in levels {
        let confidence = judge_fixture(&Fixture::with_trials(trials));
        assert_eq!(confidence.level, level, "{trials}: {confidence:?}");
    }
    assert_eq!(sentence(&judge_fixture(&Fixture::with_trials(1)), "few-trials"), "low: 1 trial");
    assert_eq!(judge_fixture(&Fixture::with_trials(6)).reasons, []);
    // An engine that fits in no trial is an answer: RocksDB with two threads here.
    assert_eq!(reason(&judge_fixture(&Fixture::with_trials(6)), "cases-not-done"), None);
}

#[test]
fn a_lost_trial_is_reported() {
    let mut fixture = Fixture::with_trials(6);
    fixture.case("lmdb_t1_r1").record.outcome =
        Outcome::Killed { signal: 9, message: "in phase measure".to_owned() };
    fixture.case("lmdb_t1_r1").record.phases.pop();
    let confidence = judge_fixture(&fixture);
    assert_eq!(sentence(&confidence, "cases-not-done"), "medium: 1 of 36 cases not done");
    assert_eq!(confidence.level, Level::Medium);
}

#[test]
fn stolen_time_spread_and_unequal_writers_make_it_low() {
    let mut fixture = Fixture::with_trials(6);
    for case in &mut fixture.cases {
        for phase in &mut case.record.phases {
            phase.before.steal_ns = Some(0);
            phase.after.steal_ns = Some(phase.wall_ns);
        }
    }
    for trial in 1..=6 {
        let case = fixture.case(&format!("rocksdb_t1_r{trial}"));
        case.op("measure", "writer", "update").count *= 20;
    }
    for op in fixture.case("lmdb_t2_r1").phase("measure").roles[0].ops.values_mut() {
        op.count *= 2;
    }
    let confidence = judge_fixture(&fixture);
    assert_eq!(confidence.level, Level::Low);
    let cpus = fixture.run.host_before.machine.cpus;
    let stolen = format!("low: {} % CPU stolen", 100 / cpus);
    assert_eq!(sentence(&confidence, "cpu-stolen"), stolen);
    assert_eq!(sentence(&confidence, "writers-unequal"), "low: writers 29x unequal");
    let spread = sentence(&confidence, "spread");
    assert!(spread.contains(" spread ") && spread.starts_with("low: "), "{spread}");
}

#[test]
fn figures_that_are_void_come_first() {
    let mut fixture = Fixture::with_trials(1);
    fixture.case("rocksdb_t1_r1").op("measure", "readers", "get").misses = 7;
    let confidence = judge_fixture(&fixture);
    let first = &confidence.reasons[0];
    assert_eq!((first.id.as_str(), first.text.as_str()), ("keys-missing", "RocksDB: keys missing"));
    assert_eq!(confidence.level, Level::Low);
}

#[test]
fn without_figures_there_is_no_confidence() {
    let mut fixture = Fixture::with_trials(6);
    fixture.cases.truncate(0);
    let folder = tempfile::tempdir().unwrap();
    let run = fixture.write_partial(&folder.path().join("run"));
    let confidence = crate::summary::Summary::read(&run).unwrap().confidence;
    assert_eq!(sentence(&confidence, "no-figures"), "low: nothing was measured to its end");
    assert_eq!(sentence(&confidence, "cases-not-done"), "low: 54 of 54 cases not done");
}

#[test]
fn of_a_bare_drive_alone_its_own_figures_count() {
    let confidence = judge_fixture(&Fixture::of_drive_alone(6));
    assert_eq!(confidence.level, Level::High, "{confidence:?}");
    assert_eq!(judge_fixture(&Fixture::of_drive_alone(2)).level, Level::Low);
}
