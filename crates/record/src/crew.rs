//! A crew: several workers that drive one server together, each a rank. The share of each follows
//! from its [`RankId`] alone, without communication.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A worker's place among those of its crew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RankId {
    /// The rank's number, from 0.
    pub rank: u32,
    /// The number of ranks in the crew.
    pub ranks: u32,
}

impl RankId {
    /// The rank of a worker that is not in a crew.
    pub const ALONE: Self = Self { rank: 0, ranks: 1 };

    /// Returns the threads of a role that belong to this rank: a contiguous range, at most one
    /// longer or shorter than another rank's.
    #[must_use]
    pub fn threads(&self, threads: u32) -> Range<u32> {
        // Rounded up, so that a single thread belongs to the first rank.
        let bound = |rank: u32| {
            (u64::from(threads) * u64::from(rank)).div_ceil(u64::from(self.ranks.max(1))) as u32
        };
        bound(self.rank)..bound(self.rank + 1)
    }

    /// This rank's part of `all`.
    #[must_use]
    pub fn own_range(&self, all: u64) -> Range<u64> {
        let bound =
            |rank: u32| (u128::from(all) * u128::from(rank) / u128::from(self.ranks.max(1))) as u64;
        bound(self.rank)..bound(self.rank + 1)
    }

    /// Returns how many of `all` belong to this rank's threads, in a role of `threads` threads.
    #[must_use]
    pub fn own_count(&self, all: u64, threads: u32) -> u64 {
        let own_threads = self.threads(threads);
        let bound = |thread: u32| {
            (u128::from(all) * u128::from(thread) / u128::from(threads.max(1))) as u64
        };
        bound(own_threads.end) - bound(own_threads.start)
    }
}

/// The crew of a case, as it is planned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Crew {
    /// The hosts of its ranks, in order; the first is the machine that kvdyno runs on.
    pub hosts: Vec<CrewHost>,
    /// The command that starts them, word by word; the worker's command follows it.
    pub launch: Vec<String>,
}

/// A host of a crew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CrewHost {
    /// Its name or number, as the launcher knows it.
    pub name: String,
    /// How many ranks it has.
    pub ranks: u32,
}

impl Crew {
    /// How many ranks it has in all.
    #[must_use]
    pub fn ranks(&self) -> u32 {
        self.hosts.iter().map(|host| host.ranks).sum()
    }
}

/// The results of one rank in a phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RankResult {
    /// The rank's number, from 0.
    pub rank: u32,
    /// The machine it ran on, by the machine's own name.
    pub host: String,
    /// Processors that it could use there.
    pub cpus: u32,
    /// Number of its threads in all roles.
    pub threads: u32,
    /// Operations of all roles that succeeded; for a load, its records.
    pub operations: u64,
    /// Operations of all roles that failed.
    pub errors: u64,
    /// Operations of open loops that were due and not begun before the end.
    pub backlog: u64,
    /// Time from its start to the end of its last operation.
    pub window_ns: u64,
    /// User and system time of its worker while the phase ran.
    pub cpu_ns: u64,
    /// How long after the first rank it began, by the first rank's clock; negative: before it.
    pub skew_ns: i64,
    /// How far its system clock was ahead of the first rank's.
    pub clock_offset_ns: i64,
    /// Possible error of `clock_offset_ns` in either direction: half of the shortest round trip.
    pub clock_error_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All ranks together have what a single worker would have, each thread and item once.
    #[test]
    fn all_is_dealt_out_once() {
        for ranks in 1..9 {
            for threads in [1, 2, 3, 4, 7, 8, 64, 65_536] {
                let seats = (0..ranks).map(|rank| RankId { rank, ranks });
                let dealt: Vec<u32> =
                    seats.clone().flat_map(|seat| seat.threads(threads)).collect();
                assert_eq!(dealt, Vec::from_iter(0..threads));
                let lengths = seats.clone().map(|seat| seat.threads(threads).len() as u32);
                let (least, most) = (threads / ranks, threads.div_ceil(ranks));
                assert!(lengths.clone().all(|length| (least..=most).contains(&length)));
                for all in [0, 1, 1000, 1_000_003, u64::MAX] {
                    let shares = seats.clone().map(|seat| seat.own_count(all, threads));
                    assert_eq!(shares.map(u128::from).sum::<u128>(), u128::from(all));
                    let shares = seats.clone().map(|seat| seat.own_range(all));
                    let lengths = shares.map(|share| u128::from(share.end - share.start));
                    assert_eq!(lengths.sum::<u128>(), u128::from(all));
                }
            }
        }
        assert_eq!((RankId::ALONE.threads(5), RankId::ALONE.own_count(77, 5)), (0..5, 77));
    }
}
