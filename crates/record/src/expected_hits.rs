//! The expected hits of lookups, and the deviation that chance explains.

use crate::case::{Audit, OpResult, RoleResult, Verified};
use crate::graph::Totals;
use crate::units::group_digits;
use crate::workload::{Activity, Load, LoadOrder, Phase, allows_misses, may_remove};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The share of a role's lookups that must find their key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum ExpectedHits {
    /// All lookups, as long as nothing is deleted.
    #[default]
    All,
    /// No lookup.
    None,
    /// Any number of lookups: records may disappear without the load generator's doing.
    Any,
    /// This share of the lookups, drawn by chance.
    Share {
        /// The share.
        share: f64,
        /// The deviation of the share itself, from one load to the other.
        deviation: f64,
        /// Whether a larger share is right, too, because new keys are written.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        or_more: bool,
    },
}

/// A deviation beyond this is not chance: one in 500 million.
const DEVIATIONS: f64 = 6.0;

impl ExpectedHits {
    /// Whether all lookups must find their key.
    pub fn is_all(&self) -> bool {
        *self == Self::All
    }

    /// The mistake in these hits and misses, if any.
    pub fn mistake(&self, hits: u64, missing: u64) -> Option<String> {
        let looked_up = hits + missing;
        match *self {
            Self::All if missing > 0 => {
                let (missing, all) = (group_digits(missing), group_digits(looked_up));
                Some(format!("{missing} of {all} keys looked up were missing"))
            }
            Self::None if hits > 0 => {
                let (hits, all) = (group_digits(hits), group_digits(looked_up));
                Some(format!("expected no hits, found {hits} of {all}"))
            }
            // The keys come from a file, and any number of them may be in the database.
            Self::Share { share: 0.0, or_more: true, .. } if hits == 0 && missing > 0 => {
                Some(format!("expected hits, found none in {} lookups", group_digits(looked_up)))
            }
            Self::Share { share, deviation, or_more } if looked_up > 0 => {
                let n = looked_up as f64;
                let spread = (share * (1.0 - share) / n + deviation * deviation).sqrt();
                let actual = hits as f64 / n;
                let describe = || {
                    format!(
                        "{:.2} % of {} keys looked up were found, expected {:.2} %{} \
                         (within {:.2})",
                        100.0 * actual,
                        group_digits(looked_up),
                        100.0 * share,
                        if or_more { " or more" } else { "" },
                        100.0 * DEVIATIONS * spread
                    )
                };
                // One key more or less is no mistake, however few there are.
                let off = if or_more { share - actual } else { (actual - share).abs() };
                (off > DEVIATIONS * spread + 1.0 / n).then(describe)
            }
            _ => None,
        }
    }
}

impl LoadOrder {
    /// The expected hits of keys drawn evenly over all keys of a load.
    pub fn expected_hits(self, records: u64) -> ExpectedHits {
        match self.loaded_share(records) {
            (_, 0.0) => ExpectedHits::All,
            (share, deviation) => ExpectedHits::Share { share, deviation, or_more: false },
        }
    }

    /// The share of the keys that are there after a load, with its deviation.
    pub fn loaded_share(self, records: u64) -> (f64, f64) {
        let n = records.max(1) as f64;
        match self {
            // The load itself counts first reads.
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
    /// The expected hits of keys drawn evenly over all records.
    pub fn expected_hits(&self, records: u64) -> ExpectedHits {
        let Some(replay) = &self.replay else { return self.order.expected_hits(records) };
        let share = replay.requests as f64 / records.max(1) as f64;
        ExpectedHits::Share { share, deviation: 0.0, or_more: false }
    }

    /// Returns how many of `records` records the load writes.
    pub fn written_records(&self, records: u64) -> u64 {
        self.replay.as_ref().map_or(records, |replay| replay.requests)
    }
}

/// Returns the hits to expect after a load of so many records. Where another case loaded them, the
/// planned hits of this case's roles tell.
fn hits_after_load(phases: &[Phase], records: u64) -> ExpectedHits {
    let load = phases.iter().find_map(|phase| match &phase.work {
        Activity::Load(load) => Some(load.expected_hits(records)),
        _ => None,
    });
    let mut shares = phases
        .iter()
        .filter_map(Phase::mix)
        .flat_map(|mix| &mix.roles)
        .map(|role| role.expected_hits);
    let share = shares.find(|hits| matches!(hits, ExpectedHits::Share { .. }));
    load.or(share).unwrap_or(ExpectedHits::All)
}

/// Returns the hits to expect among the keys of a case when a phase begins.
pub fn hits_before_phase(phases: &[Phase], phase: &str, records: u64) -> ExpectedHits {
    let begun = phases.iter().position(|other| other.name == phase).unwrap_or(phases.len());
    if may_remove(&phases[..begun]) { ExpectedHits::Any } else { hits_after_load(phases, records) }
}

/// Whether some numbers of the data set may have no record, so that the length of a scan is not
/// predictable.
pub fn leaves_gaps(phases: &[Phase], records: u64) -> bool {
    allows_misses(phases) || !hits_after_load(phases, records).is_all()
}

/// The expected hits of a role of a phase; none: unknown, because keys are deleted or expire in it
/// or before.
fn role_expected_hits(phases: &[Phase], phase: &str, role: &str) -> Option<ExpectedHits> {
    let ended = phases.iter().position(|other| other.name == phase).map_or(0, |index| index + 1);
    if allows_misses(&phases[..ended]) {
        return None;
    }
    let mixes = phases.iter().filter(|candidate| candidate.name == phase).filter_map(Phase::mix);
    let role_found = mixes.flat_map(|mix| &mix.roles).find(|candidate| candidate.name == role);
    Some(role_found.map_or(ExpectedHits::All, |role| role.expected_hits))
}

/// The mistake in a role's hits, by its plan, if any.
pub fn find_mistake(phases: &[Phase], phase: &str, role: &RoleResult) -> Option<String> {
    let expected = role_expected_hits(phases, phase, &role.role)?;
    // A scan shows only existing records: it has no share of hits.
    let shows = |op: &str| matches!(op, "scan" | "walk");
    let ops =
        || role.ops.iter().filter(|(op, _)| expected.is_all() || !shows(op)).map(|(_, op)| op);
    let sum = |count_of: fn(&OpResult) -> u64| ops().map(count_of).sum();
    expected.mistake(sum(|op| op.hits), sum(|op| op.misses))
}

impl Verified {
    /// Returns the mistake in the data after a load with these expected hits, if any.
    pub fn mistake(&self, load: ExpectedHits) -> Option<String> {
        if let Some(audit) = &self.audit {
            return audit.mistake();
        }
        let lost = self.sampled.saturating_sub(self.hits);
        let sampled = group_digits(self.sampled);
        if load.is_all() && lost > 0 {
            return Some(format!("{} of {sampled} sampled keys are missing", group_digits(lost)));
        }
        let missed = load.mistake(self.hits, lost);
        if missed.is_some() {
            return missed;
        }
        if self.wrong > 0 {
            return Some(format!(
                "{} of {sampled} sampled values are wrong",
                group_digits(self.wrong)
            ));
        }
        if load == ExpectedHits::Any {
            return None;
        }
        let (counted, expected) = (self.counted?, self.expected);
        let (found, all) = (group_digits(counted), group_digits(expected));
        let ExpectedHits::Share { share, deviation, or_more } = load else {
            let words = || format!("expected {all} records, found {found}");
            return (counted != expected).then(words);
        };
        let (about, spread) = (expected as f64 * share, expected as f64 * deviation);
        let short = about - counted as f64;
        let off = if or_more { short } else { short.abs() };
        let about = group_digits(about as u64);
        let words = || format!("expected about {about} of {all} records, found {found}");
        (off > DEVIATIONS * spread + 0.5).then(words)
    }
}

impl Audit {
    /// The mistake in a graph, if any.
    pub fn mistake(&self) -> Option<String> {
        if let Some(first) = self.first {
            let (wrong, counts) = (group_digits(self.wrong), group_digits(self.counts));
            return Some(format!(
                "{wrong} of {counts} counts of links are wrong: node {} has {} visible links of \
                 type {}, {} of them in its list, and its count says {}",
                first.id, first.links, first.kind, first.listed, first.count
            ));
        }
        let loaded = self.loaded?;
        let actual = Totals { ids: self.nodes, links: self.links, counts: self.counts };
        let words = |totals: Totals| {
            let Totals { ids, links, counts } = totals;
            format!(
                "{} nodes, {} links, {} counts",
                group_digits(ids),
                group_digits(links),
                group_digits(counts)
            )
        };
        (actual != loaded).then(|| format!("{} are there, {} loaded", words(actual), words(loaded)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Choice, Ends, Mix, MixEntry, Op, Role};
    use kvdyno_engine::graph::Audited;

    /// Bins that stay empty, against the closed form for few and the limit for many.
    #[test]
    fn a_drawn_load_leaves_keys_out() {
        assert_eq!(LoadOrder::Random.loaded_share(1_000), (1.0, 0.0));
        // Two draws of two keys: half the time one of them, half the time both.
        let (share, deviation) = LoadOrder::Drawn.loaded_share(2);
        assert!((share - 0.75).abs() < 1e-12 && (deviation - 0.25).abs() < 1e-12);
        let (share, deviation) = LoadOrder::Drawn.loaded_share(1_000_000);
        let e = 1.0f64.exp();
        assert!((share - (1.0 - 1.0 / e)).abs() < 1e-6);
        let limit = ((1.0 / e - 2.0 / (e * e)) / 1e6).sqrt();
        assert!((deviation / limit - 1.0).abs() < 0.01, "{deviation} {limit}");
    }

    #[test]
    fn chance_is_believed_up_to_six_deviations() {
        let expected = LoadOrder::Drawn.expected_hits(1_000_000);
        // 632,121 of a million; a deviation of the draws is 482, of the load 312.
        assert_eq!(expected.mistake(632_121 + 3_000, 367_879 - 3_000), None);
        let mistake = expected.mistake(632_121 + 4_000, 367_879 - 4_000).unwrap();
        assert!(mistake.contains("63.61 % of 1,000,000"), "{mistake}");
        let ExpectedHits::Share { share, deviation, .. } = expected else { panic!("{expected:?}") };
        let grown = ExpectedHits::Share { share, deviation, or_more: true };
        assert_eq!(grown.mistake(900_000, 100_000), None);
        assert!(grown.mistake(600_000, 400_000).is_some());
        let of_a_file = ExpectedHits::Share { share: 0.0, deviation: 0.0, or_more: true };
        assert_eq!(of_a_file.mistake(1, 99), None);
        assert!(of_a_file.mistake(0, 100).unwrap().ends_with("none in 100 lookups"));
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

    /// Lookups before the first record that expires must find all, and those after it need not.
    #[test]
    fn what_expires_is_missed_afterwards_alone() {
        let measured = |name: &str, entry: MixEntry| {
            let mix =
                Mix { roles: vec![Role::new("users", 1, vec![entry])], ends: Ends::default() };
            Phase::new(name, Activity::Measure(mix))
        };
        let get = || MixEntry::new(Op::Get, 1.0, Choice::Uniform);
        let expiring =
            MixEntry { ttl_ns: Some(1), ..MixEntry::new(Op::Update, 1.0, Choice::Uniform) };
        let phases =
            [measured("before", get()), measured("expiring", expiring), measured("after", get())];
        let looked_up = |phase: &str| role_expected_hits(&phases, phase, "users");
        assert_eq!(looked_up("before"), Some(ExpectedHits::All));
        assert_eq!((looked_up("expiring"), looked_up("after")), (None, None));
        let left = |phase: &str| hits_before_phase(&phases, phase, 100);
        assert_eq!((left("expiring"), left("after")), (ExpectedHits::All, ExpectedHits::Any));
        let lost = Verified { sampled: 10, hits: 9, ..Verified::default() };
        assert!(lost.mistake(left("expiring")).is_some());
        assert_eq!(lost.mistake(left("after")), None);
    }

    #[test]
    fn a_graph_is_what_was_loaded_and_each_count_its_links() {
        let loaded = Totals { ids: 3, links: 20, counts: 4 };
        let whole = Audit { nodes: 3, counts: 4, links: 20, ..Audit::default() };
        let first = |audit: Audit| Audit { loaded: Some(loaded), ..audit }.mistake();
        assert_eq!(first(whole.clone()), None);
        let empty = first(Audit::default()).unwrap();
        assert!(empty.starts_with("0 nodes, 0 links, 0 counts are there, 3 nodes"), "{empty}");
        // Later the expected number is unknown.
        assert_eq!(Audit { nodes: 2, ..whole.clone() }.mistake(), None);
        let wrong = Audited { id: 7, kind: 1, count: 5, links: 4, listed: 4 };
        let message = Audit { wrong: 1, first: Some(wrong), ..whole }.mistake().unwrap();
        assert!(message.contains("node 7 has 4 visible links"), "{message}");
    }

    #[test]
    fn what_a_drawn_load_left_is_counted_by_chance() {
        let verified = |counted, hits| Verified {
            sampled: 1_000,
            hits,
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
