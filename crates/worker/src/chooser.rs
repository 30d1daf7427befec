//! Which key comes next: the distributions of [`Choice`], for one thread.

use crate::bijection::Bijection;
use crate::rng::Rng;
use crate::zipf::{YcsbZipfian, Zipf, ycsb_number};
use kvdyno_record::workload::Choice;

/// The keys of a case, which no insert changes: ranks are spread over these in every phase, so that
/// hot keys stay hot however the records grow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keyspace {
    /// After the load.
    pub(crate) records: u64,
    /// What YCSB's generator is over: [`kvdyno_record::workload::ycsb_items`].
    pub(crate) ycsb_items: u64,
    /// Names the bijection, the same for all threads: hot keys are hot for everybody.
    pub(crate) seed: u64,
}

/// Draws key numbers for one operation of one thread.
#[derive(Clone, Debug)]
pub(crate) enum Chooser {
    Uniform,
    Zipf {
        zipf: Zipf,
        spread: Bijection,
    },
    YcsbZipfian {
        zipf: YcsbZipfian,
        items: u64,
    },
    /// Made anew when inserts have moved the newest record on.
    Latest {
        theta: f64,
        records: u64,
        zipf: Zipf,
    },
    Hotspot {
        hot_keys: u64,
        operations: f64,
    },
    Exponential {
        gamma: f64,
    },
    Sequential {
        next: u64,
    },
}

impl Chooser {
    /// For thread `thread` of `threads`, when there are `records >= 1` keys.
    pub(crate) fn new(
        choice: &Choice,
        keyspace: &Keyspace,
        records: u64,
        (thread, threads): (u32, u32),
    ) -> Self {
        match *choice {
            Choice::Uniform => Self::Uniform,
            Choice::Zipf { theta } => Self::Zipf {
                zipf: Zipf::new(keyspace.records, theta),
                spread: Bijection::new(keyspace.records, keyspace.seed),
            },
            Choice::YcsbZipfian => {
                Self::YcsbZipfian { zipf: YcsbZipfian::new(), items: keyspace.ycsb_items }
            }
            Choice::Latest { theta } => {
                Self::Latest { theta, records, zipf: Zipf::new(records, theta) }
            }
            Choice::Hotspot { keys, operations } => {
                let hot_keys = (records as f64 * keys).round() as u64;
                Self::Hotspot { hot_keys: hot_keys.clamp(1, records), operations }
            }
            Choice::Exponential { percentile, fraction } => {
                let gamma = -(1.0 - percentile / 100.0).ln() / (records as f64 * fraction);
                Self::Exponential { gamma }
            }
            Choice::Sequential => {
                let next = u128::from(records) * u128::from(thread) / u128::from(threads);
                Self::Sequential { next: next as u64 }
            }
        }
    }

    /// The next key number, below `records`: how many there are now.
    #[inline]
    pub(crate) fn next(&mut self, records: u64, rng: &mut Rng) -> u64 {
        match self {
            Self::Uniform => rng.below(records),
            Self::Zipf { zipf, spread } => spread.at(zipf.rank(rng)),
            Self::YcsbZipfian { zipf, items } => loop {
                let number = ycsb_number(zipf.rank(rng), *items);
                if number < records {
                    return number;
                }
            },
            Self::Latest { theta, records: known, zipf } => {
                if *known != records {
                    (*known, *zipf) = (records, Zipf::new(records, *theta));
                }
                records - 1 - zipf.rank(rng)
            }
            Self::Hotspot { hot_keys, operations } => {
                let cold = records - *hot_keys;
                if cold == 0 || rng.unit() < *operations {
                    rng.below(*hot_keys)
                } else {
                    *hot_keys + rng.below(cold)
                }
            }
            Self::Exponential { gamma } => loop {
                let number = (rng.exponential() / *gamma) as u64;
                if number < records {
                    return number;
                }
            },
            Self::Sequential { next } => {
                let number = *next % records;
                *next = number + 1;
                number
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loaded(records: u64) -> Keyspace {
        Keyspace { records, ycsb_items: records + 1, seed: 1 }
    }

    fn drawn(choice: &Choice, records: u64, draws: usize) -> Vec<u64> {
        let mut chooser = Chooser::new(choice, &loaded(records), records, (0, 1));
        let mut rng = Rng::new(&[2]);
        (0..draws).map(|_| chooser.next(records, &mut rng)).collect()
    }

    fn share_below(numbers: &[u64], limit: u64) -> f64 {
        numbers.iter().filter(|n| **n < limit).count() as f64 / numbers.len() as f64
    }

    #[test]
    fn every_distribution_stays_inside() {
        let choices = [
            Choice::Uniform,
            Choice::Zipf { theta: 0.99 },
            Choice::YcsbZipfian,
            Choice::Latest { theta: 0.99 },
            Choice::Hotspot { keys: 0.2, operations: 0.8 },
            Choice::Exponential { percentile: 95.0, fraction: 0.857 },
            Choice::Sequential,
        ];
        for choice in &choices {
            for records in [1, 2, 3, 1_000] {
                assert!(drawn(choice, records, 2_000).iter().all(|n| *n < records), "{choice:?}");
            }
        }
    }

    /// Regression test for bug 2: the bijection neither merges nor drops keys.
    #[test]
    fn zipf_reaches_every_key_and_the_hottest_are_spread() {
        let numbers = drawn(&Choice::Zipf { theta: 0.5 }, 500, 200_000);
        let mut counts = vec![0u32; 500];
        for n in &numbers {
            counts[*n as usize] += 1;
        }
        assert!(counts.iter().all(|count| *count > 0));
        let hottest = counts.iter().enumerate().max_by_key(|(_, count)| **count).unwrap().0;
        assert_ne!(hottest, 0);
    }

    #[test]
    fn shares_are_as_defined() {
        let hotspot = drawn(&Choice::Hotspot { keys: 0.2, operations: 0.8 }, 1_000, 100_000);
        assert!((share_below(&hotspot, 200) - 0.8).abs() < 0.01);
        let exponential =
            drawn(&Choice::Exponential { percentile: 95.0, fraction: 0.857 }, 1_000, 100_000);
        // Draws past the end are repeated, which lifts 95 % to 0.95 / (1 - e^(-gamma n)).
        assert!(
            (share_below(&exponential, 857) - 0.95 / (1.0 - 0.05f64.powf(1.0 / 0.857))).abs()
                < 0.005
        );
        let latest = drawn(&Choice::Latest { theta: 0.99 }, 1_000, 100_000);
        assert!(
            (1.0 - share_below(&latest, 999) - 0.129).abs() < 0.01,
            "the newest is the hottest"
        );
    }

    fn hottest(numbers: &[u64]) -> u64 {
        let mut counts = std::collections::BTreeMap::new();
        for number in numbers {
            *counts.entry(*number).or_insert(0u32) += 1;
        }
        counts.into_iter().max_by_key(|(_, count)| *count).unwrap().0
    }

    /// Regression test for fault 5: one more record moved every hot key, within a phase and from
    /// one phase to the next.
    #[test]
    fn an_insert_moves_no_hot_key() {
        for choice in [Choice::YcsbZipfian, Choice::Zipf { theta: 0.99 }] {
            let hottest_of = |at_start, now| {
                let mut chooser = Chooser::new(&choice, &loaded(1_000_000), at_start, (0, 1));
                let mut rng = Rng::new(&[2]);
                hottest(&(0..20_000).map(|_| chooser.next(now, &mut rng)).collect::<Vec<_>>())
            };
            let first = hottest_of(1_000_000, 1_000_000);
            assert_eq!(hottest_of(1_000_000, 1_000_001), first, "{choice:?}");
            assert_eq!(hottest_of(1_000_001, 1_000_001), first, "{choice:?}");
            // Of the original generator over 1,000,001 items: YCSB's for a million records.
            assert_eq!(first == 801_320, choice == Choice::YcsbZipfian);
        }
    }

    /// YCSB D and E: keys that are expected and not there yet are drawn again, and come in later.
    #[test]
    fn ycsb_reads_what_was_inserted_as_far_as_it_was_expected() {
        let keyspace = Keyspace { ycsb_items: 1_101, ..loaded(1_000) };
        let mut chooser = Chooser::new(&Choice::YcsbZipfian, &keyspace, 1_000, (0, 1));
        let mut rng = Rng::new(&[2]);
        let mut longest =
            |records| (0..50_000).map(|_| chooser.next(records, &mut rng)).max().unwrap();
        assert!((980..1_000).contains(&longest(1_000)));
        assert!((1_080..=1_100).contains(&longest(5_000)));
    }

    #[test]
    fn threads_walk_from_different_places() {
        let mut second = Chooser::new(&Choice::Sequential, &loaded(100), 100, (1, 4));
        let mut rng = Rng::new(&[2]);
        let numbers: Vec<u64> = (0..100).map(|_| second.next(100, &mut rng)).collect();
        assert_eq!((numbers[0], numbers[74], numbers[75]), (25, 99, 0));
    }
}
