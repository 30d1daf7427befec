//! Rankings of a field of engines, and of fewer.

use super::*;
use crate::answers::summary::Summary;
use crate::figures::relative::Significance;
use crate::fixture::Fixture;
use std::sync::LazyLock;

/// Read once, since it has many cases.
static FIELD: LazyLock<Summary> = LazyLock::new(|| Fixture::field(4).summary());

fn main_of<'s>(summary: &'s Summary, question: Question, setting: &str) -> Vec<&'s Ranking> {
    let rankings = summary.rankings.iter();
    rankings
        .filter(|ranking| {
            ranking.main && ranking.question == question && ranking.setting == setting
        })
        .collect()
}

/// Name, rank and factor, in order.
fn order(ranking: &Ranking) -> Vec<(&str, String, String)> {
    let behind = |ranking: &Standing| {
        ranking.ratio_to_best.map_or("-".to_owned(), |times| format!("{times:.2}"))
    };
    let rank = |ranking: &Standing| ranking.format_rank().unwrap_or_default();
    ranking
        .standings
        .iter()
        .map(|ranking| (ranking.engine.as_str(), rank(ranking), behind(ranking)))
        .collect()
}

#[test]
fn engines_are_in_order_and_equals_share_a_rank() {
    let summary = &*FIELD;
    let reads = main_of(summary, Question::Reads, "RAM 28.0 MiB");
    let commit = reads.iter().find(|one| one.durability == Durability::Commit).unwrap();
    assert_eq!(
        (commit.source().as_str(), commit.part.as_deref()),
        ("randomread readers", Some("4x"))
    );
    let order = order(commit);
    let names: Vec<&str> = order.iter().map(|(name, ..)| *name).collect();
    assert_eq!(names[0], "direct");
    assert!(names[1..3].contains(&"LMDB") && names[1..3].contains(&"libmdbx"), "{order:?}");
    // Their pairs agree, however their trials vary.
    assert_eq!([&*order[1].1, &*order[2].1], ["2", "3="], "{order:?}");
    assert_eq!(names[3], "LMDB 1.0");
    let best = &commit.standings[0];
    assert_eq!((best.ratio_to_best, best.verdict), (Some(1.0), Some(Significance::Base)));
    for standing in commit.standings.iter().filter(|one| one.rank > Some(3)) {
        assert_eq!(standing.verdict, Some(Significance::Different), "{standing:?}");
        let (low, high) = standing.ratio_to_best_low.zip(standing.ratio_to_best_high).unwrap();
        let times = standing.ratio_to_best.unwrap();
        assert!(1.0 < low && low <= times && times <= high, "{standing:?}");
    }
}

#[test]
fn an_engine_without_a_figure_comes_last_with_its_reason() {
    let summary = &*FIELD;
    let [reads, _] = main_of(summary, Question::Reads, "RAM 28.0 MiB")[..] else { panic!() };
    let last = reads.standings.last().unwrap();
    assert_eq!((last.engine.as_str(), last.rank), ("SurrealKV", None));
    assert_eq!(last.missing.as_deref(), Some("did not fit (0 of 4 trials)"));
    let [scans, _] = main_of(summary, Question::Scans, "RAM 28.0 MiB")[..] else { panic!() };
    assert_eq!(scans.part.as_deref(), Some("scans"));
    let last = scans.standings.last().unwrap();
    assert_eq!((last.engine.as_str(), last.group), ("direct", None));
    assert_eq!(last.missing.as_deref(), Some("it has no scans"));
}

#[test]
fn classes_are_ranked_separately_and_the_null_engine_and_the_drive_are_not() {
    let summary = &*FIELD;
    for ranking in &summary.rankings {
        let names: Vec<&str> =
            ranking.standings.iter().map(|standing| standing.engine.as_str()).collect();
        let leveldb = names.contains(&"LevelDB");
        assert_eq!(leveldb, ranking.durability == Durability::Async, "{names:?}");
        assert!(!names.iter().any(|name| ["null", "psync-2 bare"].contains(name)), "{names:?}");
        let groups = ranking.standings.iter().filter_map(|standing| standing.group);
        let classes = unique(groups.map(|group| summary.groups[group].durability));
        assert_eq!(classes, [ranking.durability]);
    }
}

#[test]
fn every_question_is_answered_by_the_phase_that_has_its_operations_alone() {
    let summary = &*FIELD;
    let source = |question| {
        let rankings = main_of(summary, question, "RAM 28.0 MiB");
        let first = rankings.iter().find(|ranking| ranking.durability == Durability::Commit);
        first.map(|ranking| (ranking.figure, ranking.source()))
    };
    let expected = [
        (Question::Loading, "records_per_s", "load"),
        (Question::Reads, "ops_per_s", "randomread readers"),
        (Question::Writes, "ops_per_s", "overwrite writers"),
        (Question::Scans, "ops_per_s", "rangescan scanners"),
        (Question::Space, "space_amplification", "overwrite"),
        (Question::WriteAmplification, "write_amplification", "load"),
        (Question::Tail, "service_ns_p99_9", "readwhilewriting readers"),
    ];
    for (question, figure, from) in expected {
        assert_eq!(source(question), Some((figure, from.to_owned())), "{question:?}");
    }
    assert_eq!(source(Question::Mixed), None);
}

#[test]
fn few_trials_give_no_order_and_one_engine_has_no_ranking() {
    let summary = Fixture::new().summary();
    let [reads] = main_of(&summary, Question::Reads, "")[..] else { panic!() };
    // At two threads one engine has no figures: one thread compares the most.
    assert_eq!((reads.threads, reads.setting.as_str()), (Some(1), ""));
    let expected = [("LMDB", "1", "1.00"), ("RocksDB", "2?", "1.31")];
    assert_eq!(order(reads), expected.map(|(a, b, c)| (a, b.to_owned(), c.to_owned())));
    assert_eq!(reads.standings[1].ratio_to_best_low, None);
    let mut alone = Fixture::new();
    alone.cases.retain(|case| case.record.case.engine == "lmdb");
    alone.plan.cases.retain(|case| case.engine == "lmdb");
    assert_eq!(alone.summary().rankings, []);
}

#[test]
fn lower_is_better_where_it_costs() {
    let summary = &*FIELD;
    let rankings = main_of(summary, Question::WriteAmplification, "RAM 28.0 MiB");
    let values: Vec<f64> =
        rankings[0].standings.iter().filter_map(|standing| standing.value).collect();
    assert!(values.is_sorted(), "{values:?}");
    assert!(
        rankings[0]
            .standings
            .iter()
            .all(|standing| standing.ratio_to_best.is_none_or(|times| times >= 1.0))
    );
}

/// A mix is ranked by its rate, and by the p99 of each operation.
#[test]
fn a_mix_has_a_ranking_for_each_operations_p99() {
    let summary = Fixture::with_mixed_role(4).summary();
    let main = summary.rankings.iter().filter(|one| one.main);
    let best = |one: &super::Ranking| one.standings[0].engine.clone();
    let titles: Vec<_> = main.map(|one| (one.title(), best(one))).collect();
    let has = |title: &str, engine: &str| {
        titles.iter().any(|(other, best)| other == title && best == engine)
    };
    assert!(has("mixed/s", "LMDB") && has("get p99 us", "LMDB"), "{titles:?}");
    assert!(has("update p99 us", "RocksDB"), "{titles:?}");
}
