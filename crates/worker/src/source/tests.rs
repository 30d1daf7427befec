//! The blocks that sources prepare.

use super::*;
use crate::bijection::Bijection;
use crate::scripted::supply;
use kvdyno_record::crew::RankId;
use kvdyno_record::workload::{Choice, ExpectedHits, LoadOrder, MixEntry};

fn loaded(order: LoadOrder, batch: u32, threads: u32) -> Vec<u64> {
    let mut numbers = Vec::new();
    for thread in 0..threads {
        let range =
            LoadRange::new(order, batch, 10_007, (thread, threads), &supply(), Rng::new(&[1]));
        let (mut source, mut block) = (Source::Load(range), KeyedBlock::default());
        while source.fill(&mut block, 64) {
            assert_eq!(
                block.steps.iter().map(|s| s.action.items as usize).sum::<usize>(),
                block.data.numbers.len()
            );
            assert!(block.steps.iter().all(|s| s.write_bytes == u64::from(s.action.items) * 36));
            numbers.extend_from_slice(&block.data.numbers);
        }
    }
    numbers
}

/// Regression test for bug 1, at the level of what a load writes.
#[test]
fn a_load_writes_each_key_once() {
    for (batch, threads) in [(1, 1), (100, 1), (7, 3)] {
        assert_eq!(loaded(LoadOrder::Sequential, batch, threads), Vec::from_iter(0..10_007));
        let mut random = loaded(LoadOrder::Random, batch, threads);
        assert_ne!(random[..100], Vec::from_iter(0..100)[..]);
        random.sort_unstable();
        assert_eq!(random, Vec::from_iter(0..10_007));
    }
}

/// Otherwise hot keys would lie side by side in a heap, and an engine that keeps the order of
/// inserts would have its hot set in a few pages.
#[test]
fn hot_keys_are_not_those_loaded_first() {
    let order = loaded(LoadOrder::Random, 1, 1);
    let spread = Bijection::new(10_007, supply().keyspace.seed);
    let hot: Vec<u64> = (0..1000).map(|rank| spread.permute(rank)).collect();
    let both = order[..1000].iter().filter(|number| hot.contains(number)).count();
    assert!((40..180).contains(&both), "{both} of 1,000, where chance gives 100");
}

/// A block of a role that only walks holds no key.
#[test]
fn a_walk_needs_no_keys() {
    let walk = Op::Walk { reverse: false, length: Size::Fixed { bytes: 3 } };
    let entry = MixEntry::new(walk, 1.0, Choice::Uniform);
    let role = Role {
        name: "walker".into(),
        threads: 1,
        mix: vec![entry],
        rate: None,
        depth: None,
        think_ns: None,
        os_threads: None,
        flush_every: None,
        pilot: None,
        expected_hits: ExpectedHits::All,
        replay: None,
    };
    let population = Population::new(100, RankId::ALONE);
    let mix = MixSource::new(&role, 0, false, &supply(), Rng::new(&[5]), &population);
    let (mut source, mut block) = (Source::Mix(mix), KeyedBlock::default());
    assert!(source.steps_max() > 100 && source.fill(&mut block, 100));
    assert!(block.steps.len() == 100 && block.data.numbers.is_empty());
}

/// As in fio, a flush comes before an operation where the number of writes so far is a multiple.
#[test]
fn a_flush_follows_the_last_of_some_writes_and_reads_after_it() {
    let mut flushes = Flushes { slot: 2, every: 2, writes: 0, flushed: false };
    let mut done = String::new();
    for write in [false, true, true, false, false, true, true] {
        done += if flushes.take_due().is_some() { "f" } else { "" };
        done += if write { "w" } else { "r" };
        flushes.count(write);
    }
    assert_eq!(done, "rwwfrfrfww");
    assert!(flushes.take_due().is_some() && flushes.take_due().is_none());
}

#[test]
fn a_mix_has_its_weights_and_reads_only_what_exists() {
    let entry = |op, weight| MixEntry::new(op, weight, Choice::Uniform);
    let role = Role {
        name: "users".into(),
        threads: 1,
        mix: vec![
            entry(Op::Get, 3.0),
            entry(Op::Insert, 1.0),
            entry(Op::Multiget { keys: Size::Fixed { bytes: 5 } }, 1.0),
        ],
        rate: None,
        depth: None,
        think_ns: None,
        os_threads: None,
        flush_every: None,
        pilot: None,
        expected_hits: ExpectedHits::All,
        replay: None,
    };
    let population = Population::new(100, RankId::ALONE);
    let mut source =
        Source::Mix(MixSource::new(&role, 0, true, &supply(), Rng::new(&[5]), &population));
    let (mut block, mut counts, mut inserted) = (KeyedBlock::default(), [0u32; 3], 0);
    for _ in 0..1_000 {
        let visible = population.visible();
        assert!(source.fill(&mut block, 50));
        for step in &block.steps {
            counts[step.slot as usize] += 1;
            let numbers = &block.data.numbers[step.action.first as usize..]
                [..if step.slot == 2 { 5 } else { 1 }];
            if step.slot == 1 {
                assert_eq!(numbers[0], 100 + inserted);
                inserted += 1;
            } else {
                assert!(numbers.iter().all(|n| *n < visible));
            }
        }
        source.settle(&block, block.steps.len(), &[]);
    }
    let total = f64::from(counts.iter().sum::<u32>());
    for (count, share) in counts.iter().zip([0.6, 0.2, 0.2]) {
        assert!((f64::from(*count) / total - share).abs() < 0.01, "{counts:?}");
    }
}

/// Each operation has its own number of keys, and as many writes as the record says.
#[test]
fn operations_take_as_many_keys_as_are_drawn() {
    let keys = Size::Geometric { p: 0.25, min: 2, max: 9 };
    let entry = |op| MixEntry::new(op, 1.0, Choice::Uniform);
    let role = Role {
        name: "users".into(),
        threads: 1,
        mix: vec![
            entry(Op::Multiget { keys: keys.clone() }),
            entry(Op::Batch { writes: keys.clone() }),
        ],
        rate: None,
        depth: None,
        think_ns: None,
        os_threads: None,
        flush_every: None,
        pilot: None,
        expected_hits: ExpectedHits::All,
        replay: None,
    };
    let population = Population::new(100, RankId::ALONE);
    let mix = MixSource::new(&role, 0, false, &supply(), Rng::new(&[5]), &population);
    let (mut source, mut block) = (Source::Mix(mix), KeyedBlock::default());
    // So many operations of the mean, 4.6 keys, fit into a block.
    assert_eq!(source.steps_max(), 4_096 / 5);
    let mut counts = [0u32; 10];
    for _ in 0..100 {
        assert!(source.fill(&mut block, 500));
        let (mut first, mut value) = (0, 0);
        for step in &block.steps {
            let KeyedStep { items, .. } = step.action;
            assert_eq!((step.action.first, step.action.value), (first, value));
            let written = if step.slot == 1 { items } else { 0 };
            assert_eq!(step.write_bytes, u64::from(written) * 36);
            (first, value) = (first + items, value + written);
            counts[items as usize] += 1;
        }
        let data = &block.data;
        assert_eq!((data.numbers.len(), data.values.len()), (first as usize, value as usize));
        assert!(data.multigets && data.batches && block.writes);
    }
    assert_eq!(counts[..2], [0, 0]);
    let mean = (2..10).map(|n| f64::from(n * counts[n as usize])).sum::<f64>() / 50_000.0;
    assert!((mean - keys.mean()).abs() < 6.0 * 2.4 / 50_000f64.sqrt(), "{mean}");
}

/// Readers of a crew look up loaded keys and keys that their own rank has inserted.
#[test]
fn a_rank_reads_and_inserts_its_own_keys() {
    let mix = |op, weight| MixEntry::new(op, weight, Choice::Uniform);
    let role = Role {
        name: "both".to_owned(),
        threads: 1,
        mix: vec![mix(Op::Insert, 1.0), mix(Op::Get, 1.0)],
        rate: None,
        depth: None,
        think_ns: None,
        os_threads: None,
        flush_every: None,
        pilot: None,
        expected_hits: ExpectedHits::default(),
        replay: None,
    };
    let population = Population::new(100, RankId { rank: 1, ranks: 4 });
    let mix = MixSource::new(&role, 0, true, &supply(), Rng::new(&[7]), &population);
    let mut source = Source::Mix(mix);
    let (mut block, mut inserted) = (KeyedBlock::default(), Vec::new());
    for _ in 0..20 {
        assert!(source.fill(&mut block, 100));
        for (step, key) in block.steps.iter().zip(&block.data.numbers) {
            let is_own = inserted.contains(key);
            match step.action.action {
                Action::Put => assert_eq!((key - 100) / 64 % 4, 1, "{key}"),
                _ => assert!(*key < 100 || is_own, "{key} was never inserted"),
            }
        }
        let puts = block.steps.iter().zip(&block.data.numbers);
        let puts = puts.filter(|(step, _)| step.action.action == Action::Put);
        inserted.extend(puts.map(|(_, key)| *key));
        source.settle(&block, block.steps.len(), &[]);
    }
    assert!(inserted.len() > 500, "{}", inserted.len());
}

/// Keys that are written again exist again.
#[test]
fn what_is_deleted_is_missing_until_it_is_written() {
    let entry = |op, weight| MixEntry::new(op, weight, Choice::Uniform);
    let role = |op| Role::new("writers", 1, vec![entry(op, 1.0)]);
    let population = Population::new(100, RankId::ALONE).with_missing(Some(MissingKeys::none(200)));
    let run = |op, steps: usize, done: usize, failed: &[usize]| {
        let mix = MixSource::new(&role(op), 0, true, &supply(), Rng::new(&[5]), &population);
        let (mut source, mut block) = (Source::Mix(mix), KeyedBlock::default());
        assert!(source.fill(&mut block, steps));
        source.settle(&block, done, failed);
        let mut numbers = block.data.numbers.clone();
        numbers.truncate(done);
        for index in failed {
            numbers.remove(*index);
        }
        numbers.sort_unstable();
        numbers.dedup();
        numbers.len() as u64
    };
    let deleted = run(Op::Delete, 80, 70, &[3]);
    assert!((40..69).contains(&deleted), "some are drawn twice: {deleted}");
    assert_eq!(population.live_records(), 100 - deleted);
    // The same draws write all deleted keys, and one more that was not deleted.
    run(Op::Update, 80, 70, &[]);
    assert_eq!(population.live_records(), 100);
    run(Op::Insert, 10, 8, &[2]);
    assert_eq!(population.live_records(), 107);
}

/// Regression test for fault 10: a load that draws its keys leaves 36.8 % of them out.
#[test]
fn a_drawn_load_can_be_drawn_again() {
    let written = loaded(LoadOrder::Drawn, 7, 3);
    let again: Vec<u64> = (0..3)
        .flat_map(|thread| {
            let share = (thread, 3);
            let rng = Rng::new(&[1]);
            LoadRange::new(LoadOrder::Drawn, 7, 10_007, share, &supply(), rng).numbers()
        })
        .collect();
    assert_eq!(again, written);
    let missing = MissingKeys::all_but(10_007, 10_007, again.into_iter());
    let mut distinct = written;
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(missing.count(), 10_007 - distinct.len() as u64);
}
