//! The choice of the next key: the distributions of [`Choice`], for one thread.

use crate::bijection::Bijection;
use crate::rng::Rng;
use crate::zipf::{GrayZipf, Zipf, linkbench_zeta, ycsb_number};
use kvdyno_record::workload::{Choice, Domain, Spread};
use linkbench::Shuffler;
use ranges::{Ranges, Terms};

pub(crate) mod linkbench;
#[cfg(test)]
mod published;
mod ranges;

/// The keys of a case, which no insert changes. Ranks are spread over these keys in every phase, so
/// that hot keys stay hot however the records grow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keyspace {
    /// The number of records after the load.
    pub(crate) records: u64,
    /// The items of YCSB's generator: [`kvdyno_record::workload::ycsb_items`].
    pub(crate) ycsb_items: u64,
    /// The first number that no insert of the case takes.
    pub(crate) absent: u64,
    /// The seed of the bijection, which is the same for all threads: all have the same hot keys.
    pub(crate) seed: u64,
}

impl Keyspace {
    /// The number of keys in `domain` when there are `records`.
    fn numbers(&self, domain: Domain, records: u64) -> u64 {
        match domain {
            Domain::Loaded => self.records,
            Domain::Present => records,
            Domain::Predicted => self.ycsb_items,
        }
    }
}

/// Draws key numbers for one operation of one thread.
#[derive(Clone, Debug)]
pub(crate) enum Chooser {
    Uniform,
    Zipf {
        zipf: Zipf,
        spread: Bijection,
    },
    GrayZipf {
        zipf: GrayZipf,
        mapping: KeyMapping,
    },
    /// The newest records are the hottest; `zipf` grows when there are more records.
    Latest {
        records: u64,
        zipf: Zipf,
    },
    /// The same as YCSB draws it: the oldest record is left out.
    SkewedLatest {
        records: u64,
        zipf: GrayZipf,
    },
    Hotspot {
        hot_keys: u64,
        operations: f64,
        /// The end of the part of the keys that is drawn from; `u64::MAX`: all keys.
        end: u64,
    },
    Exponential {
        gamma: f64,
        end: u64,
    },
    Sequential {
        next: u64,
        step: u64,
    },
    Ranges(Ranges),
    Absent {
        first: u64,
    },
}

/// The mapping of the ranks of [`GrayZipf`] to key numbers.
#[derive(Clone, Debug)]
pub(crate) enum KeyMapping {
    /// The rank's own number.
    Same,
    /// The hash of the rank, over this many numbers.
    Fnv(u64),
    Linkbench(Shuffler),
}

impl KeyMapping {
    #[inline]
    fn map_rank(&self, rank: u64) -> u64 {
        match self {
            Self::Same => rank,
            Self::Fnv(items) => ycsb_number(rank, *items),
            Self::Linkbench(shuffler) => shuffler.position(rank),
        }
    }
}

impl Chooser {
    /// The chooser of thread `thread` of `threads`, when there are `records >= 1` keys.
    pub(crate) fn new(
        choice: &Choice,
        keyspace: &Keyspace,
        records: u64,
        (thread, threads): (u32, u32),
    ) -> Self {
        let end = |domain| if domain == Domain::Present { u64::MAX } else { keyspace.records };
        match *choice {
            Choice::Uniform => Self::Uniform,
            Choice::Zipf { theta, domain } => {
                let numbers = keyspace.numbers(domain, records);
                Self::Zipf {
                    zipf: Zipf::new(numbers, theta),
                    spread: Bijection::new(numbers, keyspace.seed),
                }
            }
            Choice::YcsbZipfian => Self::GrayZipf {
                zipf: GrayZipf::new(GrayZipf::YCSB_ITEMS, GrayZipf::YCSB_THETA),
                mapping: KeyMapping::Fnv(keyspace.ycsb_items),
            },
            Choice::GrayZipf { theta, items, spread, domain } => {
                gray(theta, items, spread, keyspace.numbers(domain, records))
            }
            Choice::Latest { theta, exact: true } => {
                Self::Latest { records, zipf: Zipf::new(records, theta) }
            }
            Choice::Latest { theta, exact: false } => {
                Self::SkewedLatest { records, zipf: GrayZipf::new(but_the_oldest(records), theta) }
            }
            Choice::Hotspot { keys, operations, domain } => {
                let numbers = keyspace.numbers(domain, records);
                let hot_keys = (numbers as f64 * keys).round() as u64;
                let hot_keys = hot_keys.clamp(1, numbers);
                Self::Hotspot { hot_keys, operations, end: end(domain) }
            }
            Choice::Exponential { percentile, fraction, domain } => {
                let numbers = keyspace.numbers(domain, records);
                let gamma = -(1.0 - percentile / 100.0).ln() / (numbers as f64 * fraction);
                Self::Exponential { gamma, end: end(domain) }
            }
            Choice::Sequential { step } => {
                let next = u128::from(records) * u128::from(thread) / u128::from(threads);
                Self::Sequential { next: next as u64, step }
            }
            Choice::Ranges { ranges, a, b, c, d, within } => {
                let terms = Terms { a, b, c, d };
                Self::Ranges(Ranges::new(ranges, terms, within, keyspace.records))
            }
            Choice::Absent => Self::Absent { first: keyspace.absent },
        }
    }

    /// Draws the next key number. It is below `records`, the current number of records, unless the
    /// choice is of absent keys.
    #[inline]
    pub(crate) fn next(&mut self, records: u64, rng: &mut Rng) -> u64 {
        match self {
            Self::Uniform => rng.below(records),
            Self::Zipf { zipf, spread } => draw_below(records, || spread.permute(zipf.rank(rng))),
            Self::GrayZipf { zipf, mapping } => {
                draw_below(records, || mapping.map_rank(zipf.rank(rng)))
            }
            Self::Latest { records: records_known, zipf } => {
                if *records_known != records {
                    *records_known = records;
                    zipf.grow(records);
                }
                records - 1 - zipf.rank(rng)
            }
            Self::SkewedLatest { records: records_known, zipf } => {
                if *records_known != records {
                    *records_known = records;
                    zipf.grow(but_the_oldest(records));
                }
                records - 1 - zipf.rank(rng)
            }
            Self::Hotspot { hot_keys, operations, end } => {
                let cold = records.min(*end) - *hot_keys;
                if cold == 0 || rng.unit() < *operations {
                    rng.below(*hot_keys)
                } else {
                    *hot_keys + rng.below(cold)
                }
            }
            Self::Exponential { gamma, end } => {
                draw_below(records.min(*end), || (rng.exponential() / *gamma) as u64)
            }
            Self::Sequential { next, step } => {
                let number = *next % records;
                *next = number + *step;
                number
            }
            Self::Ranges(ranges) => ranges.next(rng),
            Self::Absent { first } => *first + rng.below(records),
        }
    }
}

/// Draws until a number is below `records`.
#[inline]
fn draw_below(records: u64, mut draw: impl FnMut() -> u64) -> u64 {
    loop {
        let number = draw();
        if number < records {
            return number;
        }
    }
}

/// The records without the oldest: `SkewedLatestGenerator` takes the newest number for the count.
fn but_the_oldest(records: u64) -> u64 {
    (records - 1).max(1)
}

fn gray(theta: f64, items: Option<u64>, spread: Spread, numbers: u64) -> Chooser {
    let items = items.unwrap_or(numbers);
    let (zipf, mapping) = match spread {
        Spread::None => (GrayZipf::new(items, theta), KeyMapping::Same),
        Spread::Fnv => (GrayZipf::new(items, theta), KeyMapping::Fnv(numbers)),
        Spread::Linkbench { seed } => {
            let zipf = GrayZipf::with_zeta(items, theta, linkbench_zeta(items, theta));
            (zipf, KeyMapping::Linkbench(Shuffler::new(seed, items)))
        }
    };
    Chooser::GrayZipf { zipf, mapping }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_record::workload::RangeDraw;

    fn loaded_keyspace(records: u64) -> Keyspace {
        Keyspace { records, ycsb_items: records + 1, absent: 2 * records, seed: 1 }
    }

    fn draw_keys(choice: &Choice, records: u64, draws: usize) -> Vec<u64> {
        let mut chooser = Chooser::new(choice, &loaded_keyspace(records), records, (0, 1));
        let mut rng = Rng::new(&[2]);
        (0..draws).map(|_| chooser.next(records, &mut rng)).collect()
    }

    fn zipf(theta: f64, domain: Domain) -> Choice {
        Choice::Zipf { theta, domain }
    }

    fn gray(spread: Spread, domain: Domain) -> Choice {
        Choice::GrayZipf { theta: 0.8, items: None, spread, domain }
    }

    fn latest(exact: bool) -> Choice {
        Choice::Latest { theta: 0.99, exact }
    }

    fn hotspot(domain: Domain) -> Choice {
        Choice::Hotspot { keys: 0.2, operations: 0.8, domain }
    }

    fn exponential(domain: Domain) -> Choice {
        Choice::Exponential { percentile: 95.0, fraction: 0.857, domain }
    }

    const MIXGRAPH: Choice = Choice::Ranges {
        ranges: 30,
        a: 14.18,
        b: -2.917,
        c: 0.0164,
        d: -0.08082,
        within: RangeDraw::Power { a: 0.002_312, b: 0.3467 },
    };

    fn share_below(numbers: &[u64], limit: u64) -> f64 {
        numbers.iter().filter(|n| **n < limit).count() as f64 / numbers.len() as f64
    }

    #[test]
    fn every_distribution_stays_inside() {
        let choices = [
            Choice::Uniform,
            zipf(0.99, Domain::Loaded),
            zipf(0.99, Domain::Predicted),
            Choice::YcsbZipfian,
            gray(Spread::None, Domain::Loaded),
            gray(Spread::Fnv, Domain::Predicted),
            gray(Spread::Linkbench { seed: 7 }, Domain::Predicted),
            latest(true),
            latest(false),
            hotspot(Domain::Present),
            hotspot(Domain::Loaded),
            exponential(Domain::Present),
            Choice::Sequential { step: 1 },
            Choice::Sequential { step: 7 },
            MIXGRAPH,
        ];
        for choice in &choices {
            for records in [1, 2, 3, 1_000] {
                assert!(
                    draw_keys(choice, records, 2_000).iter().all(|n| *n < records),
                    "{choice:?}"
                );
            }
        }
    }

    /// Regression test for bug 2: the bijection neither merges nor drops keys.
    #[test]
    fn zipf_reaches_every_key_and_the_hottest_are_spread() {
        let numbers = draw_keys(&zipf(0.5, Domain::Loaded), 500, 200_000);
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
        let hotspot = draw_keys(&hotspot(Domain::Present), 1_000, 100_000);
        assert!((share_below(&hotspot, 200) - 0.8).abs() < 0.01);
        let exponential = draw_keys(&exponential(Domain::Present), 1_000, 100_000);
        // Draws past the end are repeated, which lifts 95 % to 0.95 / (1 - e^(-gamma n)).
        assert!(
            (share_below(&exponential, 857) - 0.95 / (1.0 - 0.05f64.powf(1.0 / 0.857))).abs()
                < 0.005
        );
        let latest = draw_keys(&latest(true), 1_000, 100_000);
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
        for choice in [Choice::YcsbZipfian, zipf(0.99, Domain::Loaded)] {
            let hottest_of = |at_start, now| {
                let mut chooser =
                    Chooser::new(&choice, &loaded_keyspace(1_000_000), at_start, (0, 1));
                let mut rng = Rng::new(&[2]);
                hottest(&(0..20_000).map(|_| chooser.next(now, &mut rng)).collect::<Vec<_>>())
            };
            let first = hottest_of(1_000_000, 1_000_000);
            assert_eq!(hottest_of(1_000_000, 1_000_001), first, "{choice:?}");
            assert_eq!(hottest_of(1_000_001, 1_000_001), first, "{choice:?}");
            // The hottest key of the original generator over 1,000,001 items, as YCSB has for a
            // million records.
            assert_eq!(first == 801_320, choice == Choice::YcsbZipfian);
        }
    }

    /// YCSB D and E: a drawn key that is expected but does not exist yet is replaced by another
    /// draw. Once it exists, it is drawn.
    #[test]
    fn ycsb_reads_what_was_inserted_as_far_as_it_was_expected() {
        let keyspace = Keyspace { ycsb_items: 1_101, ..loaded_keyspace(1_000) };
        let mut chooser = Chooser::new(&Choice::YcsbZipfian, &keyspace, 1_000, (0, 1));
        let mut rng = Rng::new(&[2]);
        let mut longest =
            |records| (0..50_000).map(|_| chooser.next(records, &mut rng)).max().unwrap();
        assert!((980..1_000).contains(&longest(1_000)));
        assert!((1_080..=1_100).contains(&longest(5_000)));
    }

    #[test]
    fn threads_walk_from_different_places() {
        let mut second =
            Chooser::new(&Choice::Sequential { step: 1 }, &loaded_keyspace(100), 100, (1, 4));
        let mut rng = Rng::new(&[2]);
        let numbers: Vec<u64> = (0..100).map(|_| second.next(100, &mut rng)).collect();
        assert_eq!((numbers[0], numbers[74], numbers[75]), (25, 99, 0));
    }

    #[test]
    fn a_step_is_kept_past_the_end() {
        let numbers = draw_keys(&Choice::Sequential { step: 3 }, 10, 8);
        assert_eq!(numbers, [0, 3, 6, 9, 2, 5, 8, 1]);
    }

    /// Absent keys are above all that are ever inserted, and a choice says whether it finds keys.
    #[test]
    fn an_absent_key_is_never_there() {
        let numbers = draw_keys(&Choice::Absent, 1_000, 100_000);
        assert!(numbers.iter().all(|number| (2_000..3_000).contains(number)));
        let mean = numbers.iter().sum::<u64>() as f64 / 100_000.0;
        assert!((mean - 2_499.5).abs() < 6.0 * 288.7 / 100_000f64.sqrt(), "{mean}");
        assert!(!Choice::Absent.finds() && Choice::Uniform.finds());
    }

    #[test]
    fn a_domain_is_what_is_drawn_from() {
        let numbers = |choice: &Choice, now: u64| {
            let keyspace = Keyspace { ycsb_items: 1_501, ..loaded_keyspace(1_000) };
            let mut chooser = Chooser::new(choice, &keyspace, 1_000, (0, 1));
            let mut rng = Rng::new(&[3]);
            (0..100_000).map(|_| chooser.next(now, &mut rng)).collect::<Vec<_>>()
        };
        let longest = |choice: &Choice, now| numbers(choice, now).into_iter().max().unwrap();
        for choice in [zipf(0.5, Domain::Loaded), hotspot(Domain::Loaded)] {
            assert!((990..1_000).contains(&longest(&choice, 5_000)), "{choice:?}");
        }
        assert!(longest(&exponential(Domain::Loaded), 5_000) < 1_000);
        assert!(longest(&hotspot(Domain::Present), 5_000) > 4_900);
        // Expected keys are drawn once they exist, and no more than were expected.
        for choice in [zipf(0.5, Domain::Predicted), gray(Spread::Fnv, Domain::Predicted)] {
            assert!((1_180..1_200).contains(&longest(&choice, 1_200)), "{choice:?}");
            assert!((1_480..1_501).contains(&longest(&choice, 5_000)), "{choice:?}");
            // The hottest key is the same however many records there are.
            let hottest = [1_501, 5_000].map(|now| hottest(&numbers(&choice, now)));
            assert_eq!(hottest[0], hottest[1]);
        }
    }

    /// The shorthand draws the same keys as the words that it stands for.
    #[test]
    fn ycsb_zipfian_is_short_for_grays() {
        let long = Choice::GrayZipf {
            theta: 0.99,
            items: Some(10_000_000_000),
            spread: Spread::Fnv,
            domain: Domain::Predicted,
        };
        assert_eq!(draw_keys(&long, 1_000, 1_000), draw_keys(&Choice::YcsbZipfian, 1_000, 1_000));
    }

    /// The share of the newest by Gray's formula is 1 / zeta(n), and the oldest is never drawn.
    #[test]
    fn the_latest_of_ycsb_leaves_out_the_oldest() {
        const DRAWS: usize = 400_000;
        let numbers = draw_keys(&latest(false), 1_000, DRAWS);
        let zeta: f64 = (1..1_000).map(|r| f64::from(r).powf(-0.99)).sum();
        for (rank, share) in [(0, 1.0 / zeta), (1, 0.5f64.powf(0.99) / zeta)] {
            let count = numbers.iter().filter(|number| **number == 999 - rank).count() as f64;
            let sigma = (share * (1.0 - share) * DRAWS as f64).sqrt();
            assert!((count - share * DRAWS as f64).abs() < 6.0 * sigma, "{rank}: {count}");
        }
        assert_eq!(numbers.iter().min(), Some(&1));
        // With one more key than a thousand, another key is the newest, and hot at once.
        let mut chooser = Chooser::new(&latest(false), &loaded_keyspace(1_000), 1_000, (0, 1));
        let mut rng = Rng::new(&[2]);
        let growth: Vec<u64> = (0..20_000).map(|_| chooser.next(1_001, &mut rng)).collect();
        assert_eq!((hottest(&growth), growth.iter().min()), (1_000, Some(&1)));
    }
}
