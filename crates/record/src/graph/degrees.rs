//! How many links an id has. The tables are the parts `nlinks` of `Distribution_2011.dat` and
//! `Distribution.dat` of facebookarchive/linkbench and mdcallag/linkbench (Apache License 2.0).

use super::{Degrees, Graph, Split};
use flate2::read::GzDecoder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::io::Read as _;
use std::sync::OnceLock;

/// The numbers of ids, links and counts of a graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Totals {
    /// Ids, each a node.
    pub ids: u64,
    /// Links.
    pub links: u64,
    /// Counts: one for each id and type that it has links of.
    pub counts: u64,
}

/// A table of degrees: ascending, with the share of the ids that have as many links or fewer.
#[derive(Debug)]
pub struct Table(Vec<(u64, f64)>);

impl Degrees {
    /// Its table.
    pub fn table(self) -> &'static Table {
        static OF_2011: OnceLock<Table> = OnceLock::new();
        static OF_2020: OnceLock<Table> = OnceLock::new();
        match self {
            Self::Of2011 => {
                OF_2011.get_or_init(|| Table::read(include_bytes!("degrees-2011.txt.gz")))
            }
            Self::Of2020 => {
                OF_2020.get_or_init(|| Table::read(include_bytes!("degrees-2020.txt.gz")))
            }
        }
    }
}

impl Table {
    /// Reads lines of a number of links and a share in percent.
    fn read(packed: &[u8]) -> Self {
        let mut text = String::new();
        GzDecoder::new(packed).read_to_string(&mut text).expect("it is part of the program");
        let point = |line: &str| {
            let (links, percent) = line.split_once(' ')?;
            Some((links.parse().ok()?, percent.parse::<f64>().ok()? / 100.0))
        };
        Self(text.lines().filter_map(point).collect())
    }

    /// Links of the id of this rank among `ids`: rank 0 has the most.
    #[inline]
    pub fn links(&self, rank: u64, ids: u64) -> u64 {
        let share = 1.0 - rank as f64 / ids as f64;
        let index = self.0.partition_point(|(_, up_to)| *up_to < share);
        self.0[index.min(self.0.len() - 1)].0
    }

    /// Computes the totals of a graph of `ids` ids.
    pub fn totals(&self, ids: u64, split: Split) -> Totals {
        let mut totals = Totals { ids, ..Totals::default() };
        // Ranks fall as links grow: each number of links has a run of ranks.
        let mut end = ids;
        for (index, &(links, _)) in self.0.iter().enumerate() {
            let begin =
                if index + 1 == self.0.len() { 0 } else { self.first_rank(index, ids, end) };
            for kind in 0..Graph::TYPES {
                let of_type = split.links_for_type(links, kind);
                totals.links += (end - begin) * of_type;
                totals.counts += (end - begin) * u64::from(of_type > 0);
            }
            end = begin;
        }
        totals
    }

    /// The first rank below `end` that has no more links than the point `index`.
    fn first_rank(&self, index: usize, ids: u64, end: u64) -> u64 {
        let share = |rank: u64| 1.0 - rank as f64 / ids as f64;
        let up_to = self.0[index].1;
        // An estimate, which rounding may have moved a little.
        let mut rank = (((1.0 - up_to) * ids as f64) as u64).min(end);
        while rank > 0 && share(rank - 1) <= up_to {
            rank -= 1;
        }
        while rank < end && share(rank) > up_to {
            rank += 1;
        }
        rank
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition's own sums for ten million ids: as it runs, and as it is written.
    #[test]
    fn ten_million_ids_have_the_links_that_were_computed() {
        let table = Degrees::Of2011.table();
        let totals = |split| table.totals(10_000_000, split);
        assert_eq!(totals(Split::Rounded).links, 44_458_555);
        assert_eq!(totals(Split::Even).links, 41_721_824);
        let none = table.0.first().map(|(links, share)| (*links, (share * 1e4) as u64));
        assert_eq!(none, Some((0, 4_533)));
        assert_eq!(table.links(0, 10_000_000), 961_963);
        // Loaded in 5333 s at 16519 a second, and in 251688 s at 17368
        // (callaghan-linkbench-2015).
        for (ids, loaded) in
            [(20_000_000, 5_333.0 * 16_519.0), (1_000_000_000, 251_688.0 * 17_368.0)]
        {
            let links = table.totals(ids, Split::Rounded).links as f64;
            assert!((links / loaded - 1.0).abs() < 1e-4, "{links} and {loaded}");
        }
    }

    #[test]
    fn totals_are_the_sums_rank_by_rank() {
        for degrees in [Degrees::Of2011, Degrees::Of2020] {
            for (ids, split) in [(1_024, Split::Rounded), (50_021, Split::Even)] {
                let table = degrees.table();
                let mut sum = Totals { ids, ..Totals::default() };
                for rank in 0..ids {
                    for kind in 0..Graph::TYPES {
                        let links = split.links_for_type(table.links(rank, ids), kind);
                        sum.links += links;
                        sum.counts += u64::from(links > 0);
                    }
                }
                assert_eq!(table.totals(ids, split), sum, "{degrees:?}, {ids}");
            }
        }
    }
}
