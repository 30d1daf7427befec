//! Requests and loads against what `LinkBench` itself draws and loads (mdcallag/linkbench at
//! 9ef9cc8, run with Java 17).

use super::ids::{FIRST, FIRST_KIND, IdPurpose, Links};
use super::*;
use kvdyno_record::graph::{Access, Consistency, Degrees, Split};
use kvdyno_record::workload::{Choice, ExpectedHits, MixEntry, Op, Size};

fn graph(degrees: Degrees, split: Split, ids: u64) -> Graph {
    let access = |theta| Access { theta, uncorrelated: 0.995, uncorrelated_theta: 0.8 };
    Graph {
        degrees,
        split,
        totals: degrees.table().totals(ids, split),
        link_bytes: Size::Lognormal { median: 8, sigma: 1.0, max: 254 },
        node_bytes: Size::Lognormal { median: 128, sigma: 1.0, max: (1 << 20) - 1 },
        motif_bytes: 512,
        link_reads: access(0.8),
        link_writes: access(0.741),
        node_reads_theta: 0.625,
        node_updates_theta: 0.606,
        multiget: Size::Geometric { p: 0.382, min: 2, max: 127 },
        list_limit: 10_000,
        history: 0.003,
        consistency: Consistency::Transaction,
    }
}

fn case(ids: u64) -> GraphCase {
    GraphCase::new(&graph(Degrees::Of2011, Split::Rounded, ids), Isolation::Transaction)
}

/// Every link is loaded once, by any thread, and every count with its last link.
#[test]
fn a_load_is_whole() {
    let case = case(5_000);
    let mut sources = [1, 2, 3].map(|seed| Source::links(&case, Rng::new(&[seed])));
    let (mut links, mut counts, mut turn) = (Vec::new(), Vec::new(), 0);
    let mut idle = 0;
    while idle < sources.len() {
        let mut block = GraphBlock::default();
        let filled = sources[turn % 3].fill(&mut block, 1);
        turn += 1;
        idle = if filled { 0 } else { idle + 1 };
        let ages = block.data.links.iter().map(|(_, time, _)| block.data.now_ms - time);
        assert!(ages.max().unwrap_or(0) <= 1 << 32);
        links.extend(block.data.links.iter().map(|(key, ..)| (key.id1, key.kind, key.id2)));
        counts.extend(block.data.counts.iter().map(|count| (count.id, count.kind, count.links)));
    }
    let totals = case.graph.totals;
    assert_eq!((links.len() as u64, counts.len() as u64), (totals.links, totals.counts));
    links.sort_unstable();
    links.dedup();
    assert_eq!(links.len() as u64, totals.links);
    for (id, kind, counted) in counts {
        assert_eq!(counted, Links::new(&case.graph).count(id, kind));
        let first = links.partition_point(|link| *link < (id, kind, 0));
        let run = &links[first..first + counted as usize];
        assert!(run.iter().zip(id..).all(|(link, id2)| *link == (id, kind, id2)));
    }
    let (mut nodes, mut block) = (Source::nodes(&case, Rng::new(&[4])), GraphBlock::default());
    let mut loaded = 0;
    while nodes.fill(&mut block, 1) {
        assert!(block.data.nodes.iter().zip(FIRST + loaded..).all(|((id, _), next)| *id == next));
        loaded += block.data.nodes.len() as u64;
    }
    assert_eq!(loaded, 5_000);
}

fn draw_block(case: &GraphCase, op: &Op, count: usize) -> GraphBlock {
    let entry = MixEntry::new(op.clone(), 1.0, Choice::Uniform);
    let role = Role {
        name: "requesters".to_owned(),
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
    let mut block = GraphBlock::default();
    Source::requests(case, &role, Rng::new(&[7])).fill(&mut block, count);
    block
}

/// Of the requested links of nodes that have links, as many exist as the definition says.
#[test]
fn links_are_there_as_often_as_is_said() {
    let case = case(100_000);
    for (op, share) in [(Op::DeleteLink, 0.9), (Op::UpdateLink, 0.9), (Op::AddLink, 0.05)] {
        let block = draw_block(&case, &op, 100_000);
        let keys = block.steps.iter().map(|step| step.action.at);
        // Only nodes with so many links that rounding up the range does not show.
        let linked = keys.filter(|key| case.links.count(key.id1, key.kind) >= 20);
        let (mut all, mut existing) = (0.0, 0.0);
        for key in linked {
            all += 1.0;
            existing +=
                f64::from(u8::from(key.id2 - key.id1 < case.links.count(key.id1, key.kind)));
        }
        let near = 6.0 * (share * (1.0_f64 - share) / all).sqrt();
        let actual_share = existing / all;
        assert!(
            all > 500.0 && (actual_share - share).abs() < near,
            "{}: {actual_share} of {all}",
            op.name()
        );
    }
    let block = draw_block(&case, &Op::MultigetLink, 10_000);
    let mean = block.data.id2s.len() as f64 / 10_000.0;
    assert!((mean - 3.62).abs() < 0.06, "{mean}");
    for step in &block.steps {
        let keys = step.action;
        let mut id2s = block.data.id2s[keys.first as usize..][..keys.items as usize].to_vec();
        id2s.sort_unstable();
        id2s.dedup();
        assert_eq!(id2s.len(), keys.items as usize, "{keys:?}");
    }
}

/// The hottest ids are those of the original, with their shares of a million of its draws.
#[test]
fn the_hottest_ids_are_linkbenchs() {
    let of_many = [
        (
            IdPurpose::LinkRead,
            [(5_915_649, 0.008_136), (7_568_386, 0.004_843), (3_737_603, 0.003_941)],
        ),
        (
            IdPurpose::LinkWrite,
            [(5_915_649, 0.008_172), (7_568_386, 0.004_735), (3_737_603, 0.004_001)],
        ),
        (
            IdPurpose::NodeRead,
            [(6_192_129, 0.000_894), (7_244_802, 0.000_553), (3_036_163, 0.000_470)],
        ),
        (
            IdPurpose::NodeUpdate,
            [(6_192_129, 0.000_654), (7_244_802, 0.000_468), (3_036_163, 0.000_398)],
        ),
    ];
    let of_few = [
        (IdPurpose::LinkRead, [(86_017, 0.021_929), (22_530, 0.012_342), (19_459, 0.010_557)]),
        (IdPurpose::NodeRead, [(88_065, 0.005_045), (34_818, 0.003_237), (63_491, 0.002_802)]),
    ];
    let mut rng = Rng::new(&[5]);
    for (ids, vectors) in [(10_000_000, &of_many[..]), (100_000, &of_few[..])] {
        let case = case(ids);
        for (purpose, hottest) in vectors {
            let draws: Vec<u64> =
                (0..1_000_000).map(|_| case.ids.draw(*purpose, &mut rng)).collect();
            for &(id, share) in hottest {
                let actual_share = draws.iter().filter(|other| **other == id).count() as f64 / 1e6;
                // Both are drawn: six deviations of the difference.
                let near = 6.0 * (2.0 * share / 1e6_f64).sqrt();
                assert!(
                    (actual_share - share).abs() < near,
                    "{purpose:?}, {id}: {actual_share} and {share}"
                );
            }
        }
    }
    assert_eq!(case(10_000_000).links.count(FIRST + 355_328, FIRST_KIND), 961_963 / 2 + 1);
}

/// The whole set of links and counts of the original's load, by their checksums (crc32 of
/// `id1,type,id2` and of `id,type,count`: sums and exclusive ors).
#[test]
fn a_load_is_linkbenchs() {
    let graph = graph(Degrees::Of2020, Split::Rounded, 100_000);
    let links = Links::new(&graph);
    let (mut of_links, mut of_counts) = (Sums::default(), Sums::default());
    for id in FIRST..=100_000 {
        for kind in FIRST_KIND..FIRST_KIND + Graph::TYPES {
            let count = links.count(id, kind);
            (id..id + count).for_each(|id2| of_links.add(id, kind, id2));
            if count > 0 {
                of_counts.add(id, kind, count);
            }
        }
    }
    let expected = Sums { rows: 4_547_655, sum: 9_767_140_338_567_163, xor: 251_688_885 };
    assert_eq!(of_links, expected);
    let expected = Sums { rows: 120_253, sum: 258_219_951_273_405, xor: 1_402_889_795 };
    assert_eq!(of_counts, expected);
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Sums {
    rows: u64,
    sum: u64,
    xor: u32,
}

impl Sums {
    fn add(&mut self, first: u64, second: u64, third: u64) {
        let mut crc = flate2::Crc::new();
        crc.update(format!("{first},{second},{third}").as_bytes());
        self.rows += 1;
        self.sum += u64::from(crc.sum());
        self.xor ^= crc.sum();
    }
}
