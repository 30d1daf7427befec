//! Whether a role's rate is one to rely on: nothing makes it invalid, it was steady, and little of
//! its work was left for later.

use super::catalogue as c;
use super::evidence::CaseEvidence;
use super::findings::{Finding, Severity};
use super::group::{Group, RoleRow};
use super::windows::{self, TrialWindows};
use kvdyno_record::files::RecordError;
use kvdyno_record::operations::OpInfo;
use kvdyno_record::steady::{EndRule, WINDOW};
use kvdyno_record::units::{self, duration, group_digits, percent};
use kvdyno_record::workload::Mix;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// A rate that falls below this share of its first value, or rises by as much, is not steady.
const STEADY: f64 = 0.75;

/// The fewest slices that can be judged: three thirds of at least two slices.
const SLICES_MIN: usize = 6;

/// From this share of a window on, work that is left behind is part of the answer.
const DEFERRED_SHARE_MIN: f64 = 0.1;

/// Whether a role's rate is one to rely on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Validity {
    /// The verdict in one word.
    pub word: ValidityWord,
    /// Why it is a burst, or void; null: it is sustained.
    pub reason: Option<String>,
    /// The cases whose rate still moved, each with the movement in words.
    #[serde(skip)]
    pub(crate) moved: Vec<(String, String)>,
    /// The work left behind, in words; none: it was too little to matter.
    #[serde(skip)]
    pub(crate) deferred: Option<String>,
}

/// Whether a rate is one to rely on, in one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ValidityWord {
    /// The rate was steady in more than half of the trials, and less than a tenth of the window's
    /// time in work was left behind.
    #[default]
    Sustained,
    /// The rate still moved, or more work was left behind.
    Burst,
    /// A finding makes it invalid.
    Void,
}

impl Validity {
    /// `judged`: the number of trials whose rate could be judged. None without any such trial and
    /// without work left behind.
    fn new(judged: usize, moved: Vec<(String, String)>, deferred: Option<String>) -> Option<Self> {
        if judged == 0 && deferred.is_none() {
            return None;
        }
        let still_moved = moved.first().filter(|_| moved.len() * 2 >= judged).map(|(_, words)| {
            let trials = if judged == 1 { "trial" } else { "trials" };
            format!("{words} (in {} of {judged} {trials})", moved.len())
        });
        let reasons: Vec<String> = still_moved.into_iter().chain(deferred.clone()).collect();
        let word = if reasons.is_empty() { ValidityWord::Sustained } else { ValidityWord::Burst };
        let reason = (!reasons.is_empty()).then(|| reasons.join("; "));
        Some(Self { word, reason, moved, deferred })
    }

    /// Why it is not sustained, in a few words that are the same for every such role.
    pub fn flaw(&self) -> Option<String> {
        match (self.word, &self.deferred) {
            (ValidityWord::Sustained, _) => None,
            (ValidityWord::Burst, None) => Some("burst: the rate still moved".to_owned()),
            (ValidityWord::Burst, Some(_)) => Some("burst: much work was left behind".to_owned()),
            (ValidityWord::Void, _) => {
                Some(format!("void: {}", self.reason.as_deref().unwrap_or_default()))
            }
        }
    }

    /// Whether a tenth of the window's time or more was left behind.
    pub fn is_deferred(&self) -> bool {
        self.deferred.is_some()
    }
}

/// Marks the groups, and their roles, of cases that a finding makes invalid; the first finding is
/// the reason.
pub(super) fn mark_void(groups: &mut [Group], findings: &[Finding]) {
    for finding in findings.iter().filter(|finding| finding.severity == Severity::Invalid) {
        for group in groups.iter_mut().filter(|group| finding.concerns(group)) {
            group.void.get_or_insert_with(|| finding.id.as_str());
            for role in group.runs.iter_mut().flat_map(|run| &mut run.roles) {
                let validity = role.validity.get_or_insert_with(Validity::default);
                if validity.word != ValidityWord::Void {
                    validity.word = ValidityWord::Void;
                    validity.reason = Some(finding.id.as_str());
                }
            }
        }
    }
}

/// Judges every role of a group without a schedule. `cases` are its trials.
pub(super) fn judge(group: &mut Group, cases: &[&CaseEvidence]) -> Result<(), RecordError> {
    let Some(planned) = cases.first().map(|case| &case.case) else { return Ok(()) };
    if planned.is_counted() {
        return Ok(());
    }
    let mut trials = Vec::new();
    for case in cases {
        trials.push((*case, rates(case)?));
    }
    for run in &mut group.runs {
        let phase = planned.phases.iter().find(|phase| phase.name == run.phase);
        let Some(mix) = phase.and_then(|phase| phase.mix()) else { continue };
        let measured = || trials.iter().filter(|(case, _)| case.phase(&run.phase).is_ok());
        for role in run.roles.iter_mut().filter(|role| !role.open_loop) {
            let (mut judged, mut moved) = (0, Vec::new());
            for (case, rates) in measured() {
                let Some(rates) = rates.get(&run.phase) else { continue };
                role.windows.extend(rates.windows(&role.role, case, mix));
                let Some(movement) = rates.movement(&role.role, mix, planned.slice_ns) else {
                    continue;
                };
                judged += 1;
                if let Movement::Moved(words) = movement {
                    moved.push((case.case.id.clone(), words));
                }
            }
            role.validity = Validity::new(judged, moved, format_deferred_work(role));
        }
    }
    Ok(())
}

/// Work that was still to do when a writer's window ended, if it is much.
fn format_deferred_work(role: &RoleRow) -> Option<String> {
    let burst = role.metrics.value(&c::BURST_OPS_PER_S)?;
    let sustained = role.metrics.value(&c::OPS_PER_S).filter(|per_s| *per_s > 0.0)?;
    let share = burst / sustained - 1.0;
    (share >= DEFERRED_SHARE_MIN).then(|| {
        format!(
            "{}: {}/s in the window, {}/s with the work left behind ({} of the window)",
            role.role,
            units::count(burst.round() as u64),
            units::count(sustained.round() as u64),
            percent(share)
        )
    })
}

/// How a rate moved while it was measured.
#[derive(Debug, PartialEq, Eq)]
enum Movement {
    Steady,
    /// The movement, in words.
    Moved(String),
}

/// The slices of one phase in one trial.
#[derive(Debug, Default)]
struct Rates {
    length_ns: Vec<u64>,
    /// The operations of each role, by slice.
    counts: BTreeMap<String, Vec<u64>>,
}

/// The slices of a trial by phase.
fn rates(case: &CaseEvidence) -> Result<BTreeMap<String, Rates>, RecordError> {
    let mut phases: BTreeMap<String, Rates> = BTreeMap::new();
    for slice in case.series()? {
        let slice = slice?;
        let rates = phases.entry(slice.phase).or_default();
        let before = rates.length_ns.len();
        rates.length_ns.push(slice.length_ns);
        for (role, ops) in slice.roles {
            let counts = rates.counts.entry(role).or_default();
            counts.resize(before, 0);
            let summed = ops.iter().filter(|(name, _)| OpInfo::is_summed(name));
            counts.push(summed.map(|(_, op)| op.count).sum());
        }
    }
    for rates in phases.values_mut() {
        let slices = rates.length_ns.len();
        rates.counts.values_mut().for_each(|counts| counts.resize(slices, 0));
    }
    Ok(phases)
}

impl Rates {
    /// How the rate of a role moved; none: it cannot be judged.
    fn movement(&self, role: &str, mix: &Mix, slice_ns: u64) -> Option<Movement> {
        let Some(least_ns) = mix.ends.least_ns else { return self.drift(role) };
        let rule = EndRule::new(least_ns, slice_ns);
        let whole = |role: &str| Some(self.whole_slices(self.counts.get(role)?, slice_ns));
        let watched = mix.roles.iter().filter(|role| role.rate.is_none());
        let watched: Vec<&[u64]> = watched.filter_map(|role| whole(&role.name)).collect();
        if rule.end(&watched).is_some() {
            return Some(Movement::Steady);
        }
        let counts = whole(role)?;
        let Some(last) = rule.last_rounds(counts) else {
            let start = counts.len().checked_sub(WINDOW * rule.round_slices())?;
            let stalled = counts[start..].iter().all(|count| *count == 0);
            let why =
                || Movement::Moved(format!("{role}: nothing was done in the last five rounds"));
            return stalled.then(why);
        };
        if last.is_steady() {
            return Some(Movement::Steady);
        }
        let within_ns = mix.ends.duration_ns.unwrap_or(self.length_ns.iter().sum());
        Some(Movement::Moved(format!(
            "{role}: not steady within {}: over the last five rounds of {} the rate had a \
                 range of {} and a slope of {}",
            duration(within_ns),
            duration(rule.round_slices() as u64 * slice_ns),
            percent(last.range),
            percent(last.slope)
        )))
    }

    /// The parts of a role's phase in a trial.
    fn windows(&self, role: &str, case: &CaseEvidence, mix: &Mix) -> Option<TrialWindows> {
        let counts = self.whole_slices(self.counts.get(role)?, case.case.slice_ns);
        Some(TrialWindows {
            trial: case.case.trial,
            rates: windows::parts(counts, &case.case, mix),
            phase_ns: self.length_ns.iter().sum(),
            wall_ns: case.record.as_ref()?.wall_ns,
        })
    }

    /// The counts without the last slice, unless that is as long as all others.
    fn whole_slices<'c>(&self, counts: &'c [u64], slice_ns: u64) -> &'c [u64] {
        let is_whole = self.length_ns.last() == Some(&slice_ns);
        &counts[..counts.len().saturating_sub(usize::from(!is_whole))]
    }

    /// The change of a role's rate from the first third of the slices to the last.
    fn drift(&self, role: &str) -> Option<Movement> {
        let slices = self.length_ns.len();
        if slices < SLICES_MIN {
            return None;
        }
        let third = slices / 3;
        let rate = |part: std::ops::Range<usize>| {
            let counts = self.counts.get(role).map_or(&[][..], |counts| &counts[part.clone()]);
            let length: u64 = self.length_ns[part].iter().sum();
            counts.iter().sum::<u64>() as f64 * 1e9 / length.max(1) as f64
        };
        let (first, last) = (rate(0..third), rate(slices - third..slices));
        let word = if last < first * STEADY {
            "fell"
        } else if last * STEADY > first {
            "rose"
        } else {
            return Some(Movement::Steady);
        };
        if first <= 0.0 {
            return Some(Movement::Moved(format!(
                "{role}: the rate rose from zero in the first third of the window to {}/s in the \
                 last",
                group_digits(last.round() as u64)
            )));
        }
        Some(Movement::Moved(format!(
            "{role}: the rate {word} by {} from the first third of the window to the last ({}/s, \
             {}/s)",
            percent((last - first).abs() / first),
            group_digits(first.round() as u64),
            group_digits(last.round() as u64)
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::super::findings::Id;
    use super::*;
    use crate::fixture::Fixture;
    use kvdyno_record::workload::{Ends, Role};

    fn moved(trials: usize) -> Vec<(String, String)> {
        (0..trials).map(|trial| (format!("lmdb_r{trial}"), "readers: it fell".to_owned())).collect()
    }

    #[test]
    fn a_rate_is_a_burst_where_half_of_its_trials_moved_or_much_was_left_behind() {
        let word = |judged, trials, deferred: Option<&str>| {
            let validity = Validity::new(judged, moved(trials), deferred.map(str::to_owned));
            validity.map(|validity| (validity.word, validity.reason))
        };
        assert_eq!(word(4, 0, None), Some((ValidityWord::Sustained, None)));
        assert_eq!(word(4, 1, None), Some((ValidityWord::Sustained, None)));
        let fell = "readers: it fell (in 2 of 4 trials)".to_owned();
        assert_eq!(word(4, 2, None), Some((ValidityWord::Burst, Some(fell))));
        let left = Some("work was left");
        assert_eq!(word(0, 0, left), Some((ValidityWord::Burst, Some("work was left".to_owned()))));
        let both = "readers: it fell (in 1 of 1 trial); work was left".to_owned();
        assert_eq!(word(1, 1, left), Some((ValidityWord::Burst, Some(both))));
        assert_eq!(word(0, 0, None), None, "nothing could be judged");
    }

    #[test]
    fn what_a_finding_makes_invalid_is_void_and_nothing_else() {
        let mut groups = Fixture::new().summary().figures.groups;
        let case = groups[1].trials[0].case.clone();
        let (severity, words) = (Severity::Invalid, String::new);
        let id = Id::VerifyFailed;
        let (evidence, advice, cases) = (words(), words(), vec![case]);
        mark_void(&mut groups, &[Finding { id, severity, evidence, advice, cases }]);
        for (index, group) in groups.iter().enumerate() {
            let roles = group.runs.iter().flat_map(|run| &run.roles);
            let words = roles.filter_map(|role| role.validity.as_ref()?.flaw());
            let void = words.filter(|words| words == "void: verify-failed").count();
            assert_eq!(void > 0, index == 1, "{}", group.label);
        }
    }

    /// At the end of the longest time, only the role that still moves is a burst.
    #[test]
    fn a_phase_with_bounds_is_judged_by_the_rule_that_ends_it() {
        const SECOND: u64 = 1_000_000_000;
        let roles = ["readers", "writers"].map(|name| Role::new(name, 1, Vec::new()));
        let ends = Ends { least_ns: Some(10 * SECOND), ..Ends::after_ns(30 * SECOND) };
        let mix = Mix { roles: roles.to_vec(), ends };
        let movement = |role: &str, slices: u64, writes: &dyn Fn(u64) -> u64| {
            let mut length_ns = vec![SECOND; slices as usize];
            // The rest until the threads saw the end.
            length_ns.push(SECOND / 20);
            let count = |write: &dyn Fn(u64) -> u64| (0..=slices).map(write).collect();
            let counts = [("readers", count(&|_| 500)), ("writers", count(writes))];
            let counts = counts.map(|(role, counts)| (role.to_owned(), counts)).into();
            Rates { length_ns, counts }.movement(role, &mix, SECOND)
        };
        assert_eq!(movement("writers", 10, &|_| 100), Some(Movement::Steady), "it ended early");
        let falls = |slice: u64| 40_000 / (slice + 1);
        assert_eq!(movement("readers", 30, &falls), Some(Movement::Steady));
        let Some(Movement::Moved(moved)) = movement("writers", 30, &falls) else { panic!() };
        let begins = "writers: not steady within 30.0 s: over the last five rounds of 2.00 s the \
                      rate had a range of 3";
        assert!(moved.starts_with(begins), "{moved}");
        assert_eq!(movement("writers", 9, &falls), None, "fewer than five rounds");
    }

    #[test]
    fn a_short_phase_cannot_be_judged_by_thirds() {
        let rates = |counts: &[u64]| Rates {
            length_ns: vec![1_000_000_000; counts.len()],
            counts: BTreeMap::from([("readers".to_owned(), counts.to_vec())]),
        };
        assert_eq!(rates(&[100; 5]).drift("readers"), None);
        assert_eq!(rates(&[100; 6]).drift("readers"), Some(Movement::Steady));
        let falls = rates(&[100, 100, 90, 80, 50, 50]).drift("readers");
        let Some(Movement::Moved(fell)) = falls else { panic!() };
        assert!(fell.contains("the rate fell by 50"), "{fell}");
    }
}
