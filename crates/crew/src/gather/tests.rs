//! Compares ranks that pass slices up a tree with one rank that receives all.

use super::*;
use crate::log::CrewLog;
use crate::log::tests::{PHASE, worker};
use std::path::Path;

#[test]
fn each_rank_is_below_one_other() {
    for ranks in [1, 2, 3, 4, 7, 8, 9, 1000] {
        let mut met = vec![0; ranks as usize];
        for rank in 0..ranks {
            for child in ranks_below(rank, ranks) {
                assert_eq!(Gatherer::parent_rank(child), Some(rank), "{child} of {ranks}");
                met[child as usize] += 1;
            }
        }
        met[0] += 1;
        assert!(met.iter().all(|times| *times == 1), "{ranks}: {met:?}");
    }
    assert_eq!(Gatherer::parent_rank(0), None);
    assert_eq!(ranks_below(0, 1000).count(), 10, "the first hears ten of a thousand");
}

/// The number of times in each slice of a rank's worker.
fn slices_of(rank: u64, ranks: u64) -> Vec<u64> {
    // Some end early, one has nothing at all, some have slices in which nothing ended.
    let many = if rank == 5 { 0 } else { 40 - (rank * 7) % 11 };
    (0..many)
        .map(|slice| (rank * 13 + slice * 5) % 50 * u64::from(slice % 9 != rank % ranks))
        .collect()
}

fn bytes(dir: &Path) -> [Vec<u8>; 2] {
    ["series.ndjson", "latency.hlog"].map(|name| std::fs::read(dir.join(name)).unwrap())
}

/// Gathers all slices on one rank.
fn flat(dirs: &[std::path::PathBuf], to: &Path) -> [Vec<u8>; 2] {
    let mut all: Vec<_> = dirs.iter().map(|dir| RankFiles::open(dir).unwrap()).collect();
    std::fs::create_dir(to).unwrap();
    let mut log = CrewLog::create(to, PHASE).unwrap();
    let mut decoder = Decoder::new();
    loop {
        let slices: Vec<RankSlice> =
            all.iter_mut().filter_map(|files| files.next_slice("measure").unwrap()).collect();
        let Some(total) = Total::from_slices(&slices, &mut decoder).unwrap() else {
            return bytes(to);
        };
        log.add(PHASE, &total).unwrap();
    }
}

/// Gathers all slices through a tree. Messages take different numbers of turns, and workers are
/// done at different turns.
fn tree(dirs: &[std::path::PathBuf], to: &Path) -> [Vec<u8>; 2] {
    let ranks = dirs.len() as u32;
    let mut files: Vec<_> = dirs.iter().map(|dir| RankFiles::open(dir).unwrap()).collect();
    let mut nodes: Vec<_> = (0..ranks).map(|rank| Gatherer::new(rank, ranks)).collect();
    for node in &mut nodes {
        node.begin("measure");
    }
    std::fs::create_dir(to).unwrap();
    let mut log = CrewLog::create(to, PHASE).unwrap();
    for turn in 0_u32..10_000 {
        for rank in (0..ranks).filter(|rank| (turn * 7 + rank * 3) % 5 != 0) {
            let (index, is_last) = (rank as usize, turn > 20 + rank);
            for step in nodes[index].steps(Some(&mut files[index]), is_last).unwrap() {
                match step {
                    Step::Ask(below) => nodes[below as usize].request(),
                    Step::Answer(slices) => {
                        assert!(slices.slices.len() <= SLICES_MAX);
                        let above = Gatherer::parent_rank(rank).unwrap() as usize;
                        nodes[above].add_answer(rank, slices);
                    }
                }
            }
            let waiting = nodes[index].sources().map(|source| source.waiting.len()).max();
            assert!(waiting <= Some(2 * SLICES_MAX), "rank {rank} holds {waiting:?}");
        }
        while let Some(total) = nodes[0].next_total().unwrap() {
            log.add(PHASE, &total).unwrap();
        }
        if nodes[0].is_over() {
            assert!(nodes.iter().all(Gatherer::is_over));
            return bytes(to);
        }
    }
    panic!("it never ends");
}

#[test]
fn a_tree_gives_what_one_rank_that_hears_all_gives() {
    for ranks in [1, 2, 3, 6, 9] {
        let scratch = tempfile::tempdir().unwrap();
        let dirs: Vec<_> =
            (0..ranks).map(|rank| scratch.path().join(format!("rank{rank}"))).collect();
        for (rank, dir) in (0..).zip(&dirs) {
            worker(dir, rank, &slices_of(rank, ranks));
        }
        let flat = flat(&dirs, &scratch.path().join("flat"));
        let tree = tree(&dirs, &scratch.path().join("tree"));
        assert!(flat[0].len() > 1000 && flat[1].len() > 1000, "{ranks} ranks wrote nothing");
        assert_eq!(flat, tree, "{ranks} ranks");
    }
}

/// A rank without a message to pass on asks nobody twice, and one that nobody asks says nothing.
#[test]
fn nothing_is_sent_that_was_not_asked_for() {
    let mut first = Gatherer::new(0, 4);
    assert_eq!(first.steps(None, false).unwrap(), [], "no phase has begun");
    first.begin("measure");
    assert_eq!(first.steps(None, false).unwrap(), [Step::Ask(1), Step::Ask(2)]);
    assert_eq!(first.steps(None, false).unwrap(), []);
    let mut second = Gatherer::new(2, 4);
    second.begin("measure");
    assert_eq!(second.steps(None, true).unwrap(), [Step::Ask(3)]);
    second.request();
    assert_eq!(second.steps(None, true).unwrap(), [], "it waits for the one below");
    let none = Slices { slices: Vec::new(), last: true };
    second.add_answer(3, none.clone());
    assert_eq!(second.steps(None, true).unwrap(), [Step::Answer(none.clone())]);
    first.add_answer(1, none.clone());
    first.add_answer(2, none);
    assert_eq!(first.steps(None, false).unwrap(), []);
    assert!(!first.is_over(), "its own worker is at work");
    assert_eq!(first.steps(None, true).unwrap(), []);
    assert!(first.is_over());
}
