//! How many of the keys that are looked up are to be found, and when chance is no excuse any more.

use crate::case::{Audit, OpResult, RoleResult, Verified};
use crate::graph::Totals;
use crate::units::grouped;
use crate::workload::{Activity, Load, LoadOrder, Phase, deletes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many of the keys that a role looks up are there: held against what it found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum ExpectedHits {
    /// All, where nobody deletes.
    #[default]
    All,
    /// None.
    None,
    /// This share, drawn by chance.
    Share {
        /// The share.
        share: f64,
        /// The deviation of the share itself, from one load to the other.
        deviation: f64,
        /// Or more: keys are written that were not there.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        or_more: bool,
    },
}

/// Chance is not believed past so many deviations: one in 500 million.
const DEVIATIONS: f64 = 6.0;

impl ExpectedHits {
    /// Whether all are.
    pub fn is_all(&self) -> bool {
        *self == Self::All
    }

    /// What is wrong with so many found and missing; none: nothing is.
    pub fn mistake(&self, found: u64, missing: u64) -> Option<String> {
        let looked_up = found + missing;
        match *self {
            Self::All if missing > 0 => {
                let (missing, all) = (grouped(missing), grouped(looked_up));
                Some(format!("{missing} of {all} keys looked up were not there"))
            }
            Self::None if found > 0 => {
                let (found, all) = (grouped(found), grouped(looked_up));
                Some(format!("{found} of {all} keys looked up were there, and none was to be"))
            }
            Self::Share { share, deviation, or_more } if looked_up > 0 => {
                let n = looked_up as f64;
                let spread = (share * (1.0 - share) / n + deviation * deviation).sqrt();
                let seen = found as f64 / n;
                let told = || {
                    format!(
                        "{:.2} % of {} keys looked up were there, and {:.2} %{} were to be \
                         (within {:.2})",
                        100.0 * seen,
                        grouped(looked_up),
                        100.0 * share,
                        if or_more { " or more" } else { "" },
                        100.0 * DEVIATIONS * spread
                    )
                };
                // One key more or less is no mistake, however few there are.
                let off = if or_more { share - seen } else { (seen - share).abs() };
                (off > DEVIATIONS * spread + 1.0 / n).then(told)
            }
            _ => None,
        }
    }
}

impl LoadOrder {
    /// What is to be found of keys that are drawn evenly over all of a load's.
    pub fn expected_hits(self, records: u64) -> ExpectedHits {
        match self.share(records) {
            (_, 0.0) => ExpectedHits::All,
            (share, deviation) => ExpectedHits::Share { share, deviation, or_more: false },
        }
    }

    /// The share of the keys that are there after a load, with its deviation.
    pub fn share(self, records: u64) -> (f64, f64) {
        let n = records.max(1) as f64;
        match self {
            // Of first reads the load itself knows how many they are.
            Self::Sequential | Self::Random | Self::FirstRead => (1.0, 0.0),
            // n balls into n bins: the mean, and the variance of the bins that stay empty.
            Self::Drawn => {
                let empty = (1.0 - 1.0 / n).powf(n);
                let both = (1.0 - 2.0 / n).max(0.0).powf(n);
                let variance = empty / n + (1.0 - 1.0 / n) * both - empty * empty;
                (1.0 - empty, variance.max(0.0).sqrt())
            }
        }
    }
}

impl Load {
    /// What is to be found of keys that are drawn evenly over all records.
    pub fn expected_hits(&self, records: u64) -> ExpectedHits {
        let Some(replay) = &self.replay else { return self.order.expected_hits(records) };
        let share = replay.requests as f64 / records.max(1) as f64;
        ExpectedHits::Share { share, deviation: 0.0, or_more: false }
    }

    /// How many records it writes of so many.
    pub fn records_of(&self, records: u64) -> u64 {
        self.replay.as_ref().map_or(records, |replay| replay.requests)
    }
}

/// What a load of so many records has left of the keys of a case. Where another case loaded, what
/// its roles were planned to find says it.
pub fn left(phases: &[Phase], records: u64) -> ExpectedHits {
    let load = phases.iter().find_map(|phase| match &phase.work {
        Activity::Load(load) => Some(load.expected_hits(records)),
        _ => None,
    });
    let mut found =
        phases.iter().filter_map(Phase::mix).flat_map(|mix| &mix.roles).map(|role| role.found);
    let share = found.find(|found| matches!(found, ExpectedHits::Share { .. }));
    load.or(share).unwrap_or(ExpectedHits::All)
}

/// Not every number of the data set is there: a scan cannot be told how many records to show.
pub fn leaves_gaps(phases: &[Phase], records: u64) -> bool {
    deletes(phases) || !left(phases, records).is_all()
}

/// What a role of a phase is to find; none: nothing can be said, because keys are deleted.
fn to_be_found(phases: &[Phase], phase: &str, role: &str) -> Option<ExpectedHits> {
    if deletes(phases) {
        return None;
    }
    let mixes = phases.iter().filter(|known| known.name == phase).filter_map(Phase::mix);
    let found = mixes.flat_map(|mix| &mix.roles).find(|known| known.name == role);
    Some(found.map_or(ExpectedHits::All, |role| role.found))
}

/// What is wrong with what a role found, by its plan; none: nothing is.
pub fn mistake_of(phases: &[Phase], phase: &str, role: &RoleResult) -> Option<String> {
    let found = to_be_found(phases, phase, &role.role)?;
    // What a scan shows is there: it says nothing of the share of the keys that are.
    let shows = |op: &str| matches!(op, "scan" | "walk");
    let ops = || role.ops.iter().filter(|(op, _)| found.is_all() || !shows(op)).map(|(_, op)| op);
    let sum = |of: fn(&OpResult) -> u64| ops().map(of).sum();
    found.mistake(sum(|op| op.found), sum(|op| op.missing))
}

impl Verified {
    /// What is wrong with what is there, after a load that left so much; none: nothing is.
    pub fn mistake(&self, left: ExpectedHits) -> Option<String> {
        if let Some(audit) = &self.audit {
            return audit.mistake();
        }
        let lost = self.sampled.saturating_sub(self.found);
        let sampled = grouped(self.sampled);
        if left.is_all() && lost > 0 {
            return Some(format!("{} of {sampled} sampled keys are not there", grouped(lost)));
        }
        let missed = left.mistake(self.found, lost);
        if missed.is_some() {
            return missed;
        }
        if self.wrong > 0 {
            return Some(format!("{} of {sampled} sampled values are wrong", grouped(self.wrong)));
        }
        let (counted, expected) = (self.counted?, self.expected);
        let (told, all) = (grouped(counted), grouped(expected));
        let ExpectedHits::Share { share, deviation, or_more } = left else {
            let words = || format!("{told} records are there, {all} were written");
            return (counted != expected).then(words);
        };
        let (about, spread) = (expected as f64 * share, expected as f64 * deviation);
        let short = about - counted as f64;
        let off = if or_more { short } else { short.abs() };
        let about = grouped(about as u64);
        let words = || format!("{told} records are there, and about {about} of {all} were to be");
        (off > DEVIATIONS * spread + 0.5).then(words)
    }
}

impl Audit {
    /// What is wrong with a graph; none: nothing is.
    pub fn mistake(&self) -> Option<String> {
        if let Some(first) = self.first {
            let (wrong, counts) = (grouped(self.wrong), grouped(self.counts));
            return Some(format!(
                "{wrong} of {counts} counts of links are wrong: node {} has {} visible links of \
                 type {}, {} of them in its list, and its count says {}",
                first.id, first.links, first.kind, first.listed, first.count
            ));
        }
        let loaded = self.loaded?;
        let there = Totals { ids: self.nodes, links: self.links, counts: self.counts };
        let words = |totals: Totals| {
            let Totals { ids, links, counts } = totals;
            format!("{} nodes, {} links, {} counts", grouped(ids), grouped(links), grouped(counts))
        };
        (there != loaded).then(|| format!("{} are there, {} loaded", words(there), words(loaded)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_engine::graph::Audited;

    /// Bins that stay empty, against the closed form for few and the limit for many.
    #[test]
    fn a_drawn_load_leaves_keys_out() {
        assert_eq!(LoadOrder::Random.share(1_000), (1.0, 0.0));
        // Two draws of two keys: half the time one of them, half the time both.
        let (share, deviation) = LoadOrder::Drawn.share(2);
        assert!((share - 0.75).abs() < 1e-12 && (deviation - 0.25).abs() < 1e-12);
        let (share, deviation) = LoadOrder::Drawn.share(1_000_000);
        let e = 1.0f64.exp();
        assert!((share - (1.0 - 1.0 / e)).abs() < 1e-6);
        let limit = ((1.0 / e - 2.0 / (e * e)) / 1e6).sqrt();
        assert!((deviation / limit - 1.0).abs() < 0.01, "{deviation} {limit}");
    }

    #[test]
    fn chance_is_believed_up_to_six_deviations() {
        let found = LoadOrder::Drawn.expected_hits(1_000_000);
        // 632,121 of a million; a deviation of the draws is 482, of the load 312.
        assert_eq!(found.mistake(632_121 + 3_000, 367_879 - 3_000), None);
        let mistake = found.mistake(632_121 + 4_000, 367_879 - 4_000).unwrap();
        assert!(mistake.contains("63.61 % of 1,000,000"), "{mistake}");
        let ExpectedHits::Share { share, deviation, .. } = found else { panic!("{found:?}") };
        let grown = ExpectedHits::Share { share, deviation, or_more: true };
        assert_eq!(grown.mistake(900_000, 100_000), None);
        assert!(grown.mistake(600_000, 400_000).is_some());
        assert!(
            ExpectedHits::All.mistake(99, 1).is_some()
                && ExpectedHits::All.mistake(99, 0).is_none()
        );
        assert!(
            ExpectedHits::None.mistake(1, 99).is_some()
                && ExpectedHits::None.mistake(0, 99).is_none()
        );
        assert_eq!(
            ExpectedHits::Share { share: 0.5, deviation: 0.0, or_more: false }.mistake(0, 0),
            None
        );
    }

    #[test]
    fn a_graph_is_what_was_loaded_and_each_count_its_links() {
        let loaded = Totals { ids: 3, links: 20, counts: 4 };
        let whole = Audit { nodes: 3, counts: 4, links: 20, ..Audit::default() };
        let first = |audit: Audit| Audit { loaded: Some(loaded), ..audit }.mistake();
        assert_eq!(first(whole.clone()), None);
        let empty = first(Audit::default()).unwrap();
        assert!(empty.starts_with("0 nodes, 0 links, 0 counts are there, 3 nodes"), "{empty}");
        // Later nobody knows how many there should be.
        assert_eq!(Audit { nodes: 2, ..whole.clone() }.mistake(), None);
        let wrong = Audited { id: 7, kind: 1, count: 5, links: 4, listed: 4 };
        let told = Audit { wrong: 1, first: Some(wrong), ..whole }.mistake().unwrap();
        assert!(told.contains("node 7 has 4 visible links"), "{told}");
    }

    #[test]
    fn what_a_drawn_load_left_is_counted_by_chance() {
        let verified = |counted, found| Verified {
            sampled: 1_000,
            found,
            wrong: 0,
            counted: Some(counted),
            expected: 1_000_000,
            audit: None,
        };
        assert_eq!(verified(632_000, 640).mistake(LoadOrder::Drawn.expected_hits(1_000_000)), None);
        assert!(
            verified(640_000, 640).mistake(LoadOrder::Drawn.expected_hits(1_000_000)).is_some()
        );
        assert!(
            verified(632_000, 1_000).mistake(LoadOrder::Drawn.expected_hits(1_000_000)).is_some()
        );
        assert!(
            verified(999_999, 1_000).mistake(LoadOrder::Random.expected_hits(1_000_000)).is_some()
        );
        assert_eq!(
            verified(1_000_000, 1_000).mistake(LoadOrder::Random.expected_hits(1_000_000)),
            None
        );
    }
}
