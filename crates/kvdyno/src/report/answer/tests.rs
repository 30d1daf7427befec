//! Answers of the hand-made run.

use super::answers;
use crate::report::fixture::Fixture;
use crate::report::summary::Summary;
use kvdyno_record::engine::Durability;

fn sentences(summary: &Summary) -> Vec<String> {
    answers(summary).into_iter().map(|a| format!("{}: {}", a.workload, a.sentence)).collect()
}

#[test]
fn each_workload_has_its_sentence() {
    assert_eq!(
        sentences(&Fixture::new().summary()),
        [
            "load: LMDB and RocksDB cannot be told apart: LMDB loads 194 k (192 k to 196 k) \
             records a second, RocksDB 194 k (192 k to 196 k).",
            "measure: At 1 reader and 1 writer: LMDB reads 1.31 times as many keys a second as \
             RocksDB (2 trials: too few to be sure); RocksDB writes 1.45 times as many records a \
             second as LMDB (2 trials: too few to be sure).",
        ]
    );
}

#[test]
fn four_trials_are_enough_for_a_range() {
    let mut fixture = Fixture::new();
    for (trial, add) in [(1, 2), (2, 2)] {
        let again: Vec<_> =
            fixture.cases.iter().filter(|case| case.record.case.trial == trial).cloned().collect();
        for mut case in again {
            case.record.case.trial += add;
            case.record.case.id = case.record.case.id.replace("_r", "_again_r");
            fixture.plan.cases.push(case.record.case.clone());
            fixture.cases.push(case);
        }
    }
    let text = sentences(&fixture.summary()).join("\n");
    assert!(text.contains("LMDB reads 1.31 (1.27 to 1.34) times as many keys"), "{text}");
}

#[test]
fn one_trial_has_no_spread() {
    let mut fixture = Fixture::new();
    fixture.cases.retain(|case| case.record.case.trial == 1);
    fixture.plan.cases.retain(|case| case.trial == 1);
    let text = sentences(&fixture.summary()).join("\n");
    assert!(text.contains("as RocksDB (one trial: no spread known)"), "{text}");
}

#[test]
fn other_durability_classes_are_other_workloads() {
    let mut fixture = Fixture::new();
    for case in fixture.plan.cases.iter_mut().filter(|case| case.engine == "rocksdb") {
        case.options.durability = Durability::Async;
    }
    let text = sentences(&fixture.summary()).join("\n");
    assert!(text.contains("measure, durability async: At 1 reader"), "{text}");
    assert!(!text.contains("times as many"), "{text}");
}

#[test]
fn three_engines_are_ranked_and_what_has_no_figure_says_why() {
    let mut fixture = Fixture::new();
    for case in &mut fixture.cases {
        if case.record.case.engine == "null" {
            let worker = case.record.worker.as_mut().unwrap();
            worker.description.engine.capabilities.measures_the_harness = false;
        }
    }
    for case in &mut fixture.plan.cases {
        case.options.durability = Durability::Commit;
    }
    let text = sentences(&fixture.summary()).join("\n");
    assert!(text.contains("null reads the most keys a second: "), "{text}");
    assert!(text.contains(" times LMDB (2 trials: too few to be sure) and "), "{text}");
    assert!(text.contains("(RocksDB: does not fit)") || text.contains(" times RocksDB"), "{text}");
}

#[test]
fn how_far_from_the_drive_is_said_as_sure_as_it_is() {
    let sentence = |trials| {
        let answers = answers(&Fixture::with_drive(trials).summary());
        answers.into_iter().find(|answer| answer.workload == "measure").unwrap().sentence
    };
    let sure = sentence(4);
    let words = "Of what the drive gives one thread that waits for each I/O (psync, 9.29 k I/Os a \
                 second), LMDB reaches 87 % (83 to 93 %), limited by the drive; RocksDB reaches \
                 62 % (59 to 66 %), neither CPU nor drive full.";
    assert!(sure.ends_with(words), "{sure}");
    let unsure = sentence(2);
    assert!(unsure.contains("(2 trials: too few to be sure), limited by the drive"), "{unsure}");
    assert!(!unsure.contains("uring-32") && !unsure.contains("bare drive"), "{unsure}");
}
