//! The losses of a pledge, and whether they break a durability promise.
//!
//! A writer has at most one write in flight: if `n` of its writes were acknowledged, these must be
//! there, and the next one may be.

use kvdyno_record::engine::{Durability, PowerLoss};
use kvdyno_record::pledge::{Reading, Recovered, Units};
use kvdyno_record::torture::{Tally, Trial, TrialKind};
use std::ops::Range;

/// The promise at a moment: the acknowledged writes of each writer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promised {
    /// The units that the writes consist of.
    pub units: Units,
    /// The number of acknowledged writes, by writer.
    pub acknowledged: Vec<u64>,
    /// Whether batches are all or nothing.
    pub atomic: bool,
}

/// The damage of one database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Why it was not opened, or not read to its end; `None`: it was.
    pub unopened: Option<String>,
    /// Records without their acknowledged version, or that the engine cannot read.
    pub lost: u64,
    /// Writers with an earlier write that is missing and a later one that is there.
    pub holes: u64,
    /// Batches that are there only in part.
    pub partial_batches: u64,
    /// Values that were never written, shown as if they were sound.
    pub torn: u64,
    /// Records or versions that cannot have been written yet, or that only a walk finds.
    pub phantoms: u64,
    /// The engine's first words of a record that it cannot read.
    pub error: Option<String>,
}

impl Promised {
    /// The promises of a recording's acknowledgements up to a moment.
    pub fn from_acknowledgements(
        units: Units,
        atomic: bool,
        acknowledged: &[(usize, [u64; 2])],
        moment: usize,
    ) -> Self {
        let mut counts = vec![0; units.writers as usize];
        for (_, [writer, number]) in acknowledged.iter().take_while(|(index, _)| *index < moment) {
            if let Some(count) = counts.get_mut(*writer as usize) {
                *count = (*count).max(number + 1);
            }
        }
        Self { units, acknowledged: counts, atomic }
    }

    /// Returns whether nothing was acknowledged yet.
    pub fn is_nothing(&self) -> bool {
        self.acknowledged.iter().all(|&count| count == 0)
    }

    /// Returns the number of all acknowledged writes.
    pub fn writes(&self) -> u64 {
        self.acknowledged.iter().sum()
    }

    /// Compares a recovered database with the promise.
    pub fn damage(&self, recovered: &Recovered) -> Damage {
        let mut damage = Damage {
            unopened: recovered.unopened.clone(),
            phantoms: recovered.strangers,
            error: recovered.error.clone(),
            ..Damage::default()
        };
        // After a walk that failed, the readings before it are there.
        if (recovered.readings.len() as u64) < self.units.records() {
            damage.unopened.get_or_insert("incomplete report from the worker".to_owned());
            return damage;
        }
        for (writer, &acknowledged) in (0..).zip(&self.acknowledged) {
            self.judge_writer(writer, acknowledged, recovered, &mut damage);
        }
        damage
    }

    fn judge_writer(
        &self,
        writer: u64,
        acknowledged: u64,
        recovered: &Recovered,
        damage: &mut Damage,
    ) {
        let units = self.units;
        // The lowest and the highest version that is there, by unit; `None`: they cannot be known.
        let mut ranges: Vec<Option<Range<u32>>> = Vec::new();
        for unit in 0..units.units_each() {
            let records = units.unit_records(writer, unit);
            let readings = &recovered.readings[records.start as usize..records.end as usize];
            let (least, most) =
                (versions(units, unit, acknowledged), versions(units, unit, acknowledged + 1));
            let mut allowed = Vec::new();
            for reading in readings {
                match reading {
                    Reading::Torn => damage.torn += 1,
                    Reading::Refused => damage.lost += u64::from(least > 0),
                    Reading::Missing => allowed.push(0),
                    Reading::Version(version) => allowed.push(*version),
                }
            }
            damage.lost += allowed.iter().filter(|version| **version < least).count() as u64;
            damage.phantoms += allowed.iter().filter(|version| **version > most).count() as u64;
            let range = allowed.iter().min().zip(allowed.iter().max()).map(|(a, b)| *a..*b);
            let half = range.as_ref().is_some_and(|range| !range.is_empty());
            damage.partial_batches += u64::from(half && self.atomic);
            ranges.push(range);
        }
        let last = (0..).zip(&ranges).filter_map(|(unit, range)| {
            let version = range.as_ref()?.end;
            (version > 0).then(|| units.number(unit, version))
        });
        // A part of the last write itself may be missing: that is a partial batch, and no hole.
        let Some(last) = last.max() else { return };
        let is_missing = |(unit, range): (u64, &Option<Range<u32>>)| {
            range.as_ref().is_some_and(|range| range.start < versions(units, unit, last))
        };
        damage.holes += u64::from((0..).zip(&ranges).any(is_missing));
    }
}

/// Returns the version of a unit after this many writes of its writer; 0: none.
fn versions(units: Units, unit: u64, writes: u64) -> u32 {
    writes.checked_sub(unit + 1).map_or(0, |after| (after / units.units_each()) as u32 + 1)
}

impl Damage {
    /// Returns whether there is no damage at all.
    pub fn is_none(&self) -> bool {
        *self == Self { error: self.error.clone(), ..Self::default() }
    }

    /// Returns whether the database shows what it cannot have stored.
    pub fn shows_untruth(&self) -> bool {
        self.torn + self.partial_batches + self.phantoms > 0
    }

    /// Adds the damage to a tally of states. `promised`: anything had been acknowledged.
    pub fn count(&self, promised: bool, tally: &mut Tally) {
        *tally.promised.get_or_insert(0) += u64::from(promised);
        let is_untrue = self.shows_untruth();
        if self.unopened.is_some() && !promised && !is_untrue {
            tally.before_first_ack += 1;
            return;
        }
        let corrupt = self.unopened.is_some() || is_untrue;
        tally.sound += u64::from(self.is_none());
        tally.corrupt += u64::from(corrupt);
        tally.unopened += u64::from(self.unopened.is_some());
        tally.lost += u64::from(self.lost > 0);
        tally.holes += u64::from(self.holes > 0);
        tally.partial_batches += u64::from(self.partial_batches > 0);
        tally.torn += u64::from(self.torn > 0);
        tally.phantoms += u64::from(self.phantoms > 0);
    }

    /// Returns the damage in words, the worst first.
    pub fn description(&self) -> String {
        let counted = |count: u64, what: &str| (count > 0).then(|| format!("{what}: {count}"));
        let parts = [
            self.unopened.as_ref().map(|why| format!("not opened: {why}")),
            counted(self.torn, "torn values"),
            counted(self.partial_batches, "partial batches"),
            counted(self.phantoms, "phantoms"),
            counted(self.lost, "acknowledged records lost"),
            counted(self.holes, "writers with a hole"),
            self.error.as_ref().map(|message| format!("error from the engine: {message}")),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}

/// If more than one in this many states has a filesystem that does not mount, nothing is known of
/// the engine. A few have: ext4 refuses a superblock of two sectors of which one is old.
const UNMOUNTED_SHARE: u64 = 10;

/// The verdict on a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No promise was broken.
    Held,
    /// Promises were broken: which, in words.
    Broken(Vec<String>),
    /// Unknown, with the reason.
    Inconclusive(String),
}

/// Judges the trials of a class. The damage that breaks each promise:
///
/// | | power loss, faults | kill -9 | power loss after sync |
/// |---|---|---|---|
/// | `commit` | any damage | any damage | any damage |
/// | `async` | torn values, partial batches, phantoms, crashes | any damage | any damage |
/// | `none` | crashes: it opens, or says that it cannot | the same | any damage |
///
/// An engine whose description says that a power loss damages its database promises no more in
/// `async` than in `none`.
pub fn judge(class: Durability, power_loss: PowerLoss, trials: &[Trial]) -> Verdict {
    let mut broken = Vec::new();
    for trial in trials.iter().filter(|trial| trial.kind != TrialKind::Control) {
        let tally = &trial.tally;
        let killed = trial.kind == TrialKind::Kill;
        let served = [
            (tally.torn, tally.states, "with torn values"),
            (tally.partial_batches, tally.states, "with a partial batch"),
            (tally.phantoms, tally.states, "with phantoms"),
        ];
        // Only what was promised can be gone.
        let promised = tally.promised_states();
        let gone = [
            (tally.lost, promised, "with acknowledged writes lost"),
            (tally.unopened, promised, "not opened"),
            (tally.holes, promised, "with a hole"),
        ];
        let crashes = [(tally.crashes, tally.states, "in which it crashed or hung")];
        let judged: Vec<(u64, u64, &str)> = match class {
            _ if trial.kind == TrialKind::Sync => [served, gone].concat(),
            Durability::None => crashes.to_vec(),
            Durability::Async if !killed && power_loss == PowerLoss::Damages => crashes.to_vec(),
            Durability::Async if !killed => [&crashes[..], &served].concat(),
            Durability::Async | Durability::Commit => [served, gone].concat(),
        };
        for (count, states, what) in judged.into_iter().filter(|(count, ..)| *count > 0) {
            let kind = trial.kind.as_str();
            broken.push(format!("{kind}: {count} of {states} {what}"));
        }
    }
    if !broken.is_empty() {
        return Verdict::Broken(broken);
    }
    let trial_of = |kind| trials.iter().find(|trial| trial.kind == kind);
    if trial_of(TrialKind::Power).is_none() {
        return Verdict::Inconclusive("no power loss was tried".to_owned());
    }
    for trial in trials.iter().filter(|trial| trial.kind != TrialKind::Control) {
        let Trial { kind, tally: Tally { states, unmounted, .. }, .. } = trial;
        if *unmounted > states / UNMOUNTED_SHARE {
            let kind = kind.as_str();
            let why =
                format!("{kind}: in {unmounted} of {states} states the filesystem did not mount");
            return Verdict::Inconclusive(why);
        }
    }
    if class == Durability::Commit
        && trial_of(TrialKind::Control).is_none_or(|control| control.tally.is_sound())
    {
        let why = "the control (a drive that ignores flushes) lost nothing: the explorer detects \
            no loss";
        return Verdict::Inconclusive(why.to_owned());
    }
    Verdict::Held
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two single records and a batch of two, one writer.
    const UNITS: Units = Units { writers: 1, singles: 2, batches: 1, batch: 2 };

    fn damage(acknowledged: u64, readings: [Reading; 4]) -> Damage {
        let promised = Promised { units: UNITS, acknowledged: vec![acknowledged], atomic: true };
        let recovered = Recovered { readings: readings.to_vec(), ..Recovered::default() };
        promised.damage(&recovered)
    }

    fn versions_of(versions: [u32; 4]) -> [Reading; 4] {
        versions
            .map(|version| if version == 0 { Reading::Missing } else { Reading::Version(version) })
    }

    #[test]
    fn what_was_acknowledged_must_be_there_and_the_next_may_be() {
        // Four writes: units 0, 1, 2, 0.
        for fine in [[2, 1, 1, 1], [2, 2, 1, 1]] {
            assert!(damage(4, versions_of(fine)).is_none(), "{fine:?}");
        }
        let damage_of = |versions| damage(4, versions_of(versions));
        assert_eq!(damage_of([1, 1, 1, 1]), Damage { lost: 1, ..Damage::default() });
        assert_eq!(damage_of([2, 1, 2, 2]), Damage { phantoms: 2, holes: 1, ..Damage::default() });
        assert_eq!(
            damage_of([2, 1, 1, 0]),
            Damage { lost: 1, partial_batches: 1, holes: 1, ..Damage::default() }
        );
        assert_eq!(damage_of([2, 0, 1, 1]), Damage { lost: 1, holes: 1, ..Damage::default() });
        assert_eq!(damage_of([0; 4]), Damage { lost: 4, ..Damage::default() });
        assert!(damage(0, versions_of([0; 4])).is_none());
        assert!(damage(0, versions_of([1, 0, 0, 0])).is_none());
    }

    #[test]
    fn half_of_a_batch_in_flight_is_no_hole() {
        let readings = versions_of([1, 1, 1, 0]).to_vec();
        let recovered = Recovered { readings, ..Recovered::default() };
        let damage_if = |atomic| {
            let promised = Promised { units: UNITS, acknowledged: vec![2], atomic };
            promised.damage(&recovered)
        };
        assert!(damage_if(false).is_none(), "the engine does not say that batches are whole");
        assert_eq!(damage_if(true), Damage { partial_batches: 1, ..Damage::default() });
    }

    #[test]
    fn torn_and_refused_are_told_apart() {
        let [one, other] = [Reading::Version(1), Reading::Torn];
        assert_eq!(damage(3, [one, one, one, other]), Damage { torn: 1, ..Damage::default() });
        let refused = [one, Reading::Refused, one, one];
        assert_eq!(damage(3, refused), Damage { lost: 1, ..Damage::default() });
        let short = Promised { units: UNITS, acknowledged: vec![1], atomic: true };
        assert!(short.damage(&Recovered::default()).unopened.is_some());
    }

    #[test]
    fn a_database_that_cannot_be_walked_over_is_not_sound() {
        let promised = Promised { units: UNITS, acknowledged: vec![3], atomic: true };
        let damage_of = |last| {
            let one = Reading::Version(1);
            let unopened = Some("the walk failed: page corrupted".to_owned());
            let readings = vec![one, one, one, last];
            promised.damage(&Recovered { unopened, readings, ..Recovered::default() })
        };
        let mut tally = Tally::default();
        damage_of(Reading::Version(1)).count(true, &mut tally);
        assert_eq!((tally.sound, tally.unopened, tally.corrupt), (0, 1, 1));
        let torn = damage_of(Reading::Torn);
        assert_eq!(torn.torn, 1, "its readings are judged all the same");
        torn.count(false, &mut tally);
        assert_eq!((tally.before_first_ack, tally.torn), (0, 1), "that is wrong at any time");
        assert_eq!(tally.promised, Some(1));
    }

    #[test]
    fn promises_count_up_to_the_moment() {
        let log = [(3, [0, 0]), (5, [1, 0]), (9, [0, 1])];
        let units = Units { writers: 2, ..UNITS };
        let acknowledged_at =
            |moment| Promised::from_acknowledgements(units, true, &log, moment).acknowledged;
        assert_eq!(acknowledged_at(3), [0, 0]);
        assert_eq!(acknowledged_at(6), [1, 1]);
        assert_eq!(acknowledged_at(10), [2, 1]);
    }

    fn trial(kind: TrialKind, tally: &Tally) -> Trial {
        Trial {
            kind,
            tally: Tally { states: 10, ..tally.clone() },
            examples: Vec::new(),
            took_ns: 0,
        }
    }

    #[test]
    fn classes_promise_different_things() {
        use Durability::{Async, Commit, None};
        let lost = Tally { lost: 3, holes: 1, ..Tally::default() };
        let torn = Tally { torn: 1, corrupt: 1, ..Tally::default() };
        let control = trial(TrialKind::Control, &Tally { lost: 2, ..Tally::default() });
        let word = |class, kind, tally: &Tally| match judge(
            class,
            PowerLoss::LosesLast,
            &[trial(TrialKind::Power, &Tally::default()), trial(kind, tally), control.clone()],
        ) {
            Verdict::Held => "held",
            Verdict::Broken(_) => "broken",
            Verdict::Inconclusive(_) => "?",
        };
        assert_eq!(word(Commit, TrialKind::Power, &lost), "broken");
        assert_eq!(word(Async, TrialKind::Power, &lost), "held");
        assert_eq!(word(Async, TrialKind::Power, &torn), "broken");
        assert_eq!(word(Async, TrialKind::Kill, &lost), "broken");
        assert_eq!(word(None, TrialKind::Kill, &lost), "held");
        assert_eq!(word(None, TrialKind::Power, &torn), "held");
        for class in [None, Async, Commit] {
            assert_eq!(word(class, TrialKind::Sync, &lost), "broken");
        }
        let crash = Tally { unopened: 1, crashes: 1, ..Tally::default() };
        assert_eq!(word(None, TrialKind::Power, &crash), "broken");
    }

    #[test]
    fn what_is_gone_is_a_share_of_what_was_promised() {
        let tally = Tally { lost: 3, torn: 1, promised: Some(7), ..Tally::default() };
        let power = trial(TrialKind::Power, &tally);
        let verdict = judge(Durability::Commit, PowerLoss::Keeps, &[power]);
        let broken = ["1 of 10 with torn values", "3 of 7 with acknowledged writes lost"];
        let broken = broken.map(|words| format!("power loss: {words}")).to_vec();
        assert_eq!(verdict, Verdict::Broken(broken));
    }

    #[test]
    fn damage_that_the_engine_describes_breaks_no_promise() {
        use Durability::{Async, Commit};
        use PowerLoss::{Damages, LosesLast};
        let torn = Tally { torn: 1, corrupt: 1, ..Tally::default() };
        let crash = Tally { unopened: 1, crashes: 1, ..Tally::default() };
        let is_broken = |class, power_loss, kind, tally: &Tally| {
            let power = trial(TrialKind::Power, &Tally::default());
            let verdict = judge(class, power_loss, &[power, trial(kind, tally)]);
            matches!(verdict, Verdict::Broken(_))
        };
        assert!(!is_broken(Async, Damages, TrialKind::Power, &torn));
        assert!(is_broken(Async, LosesLast, TrialKind::Power, &torn));
        assert!(is_broken(Async, Damages, TrialKind::Power, &crash));
        assert!(is_broken(Async, Damages, TrialKind::Kill, &torn));
        assert!(is_broken(Commit, Damages, TrialKind::Power, &torn));
    }

    #[test]
    fn an_explorer_that_is_blind_says_so() {
        let power = trial(TrialKind::Power, &Tally::default());
        let blind = trial(TrialKind::Control, &Tally { sound: 10, ..Tally::default() });
        let verdict_of = |trials: &[Trial]| judge(Durability::Commit, PowerLoss::Keeps, trials);
        assert!(matches!(verdict_of(&[power.clone(), blind]), Verdict::Inconclusive(_)));
        assert!(matches!(verdict_of(std::slice::from_ref(&power)), Verdict::Inconclusive(_)));
        assert_eq!(judge(Durability::Async, PowerLoss::LosesLast, &[power]), Verdict::Held);
    }

    /// Regression test: only the trials of a power loss were looked at.
    #[test]
    fn a_drive_that_does_not_mount_tests_no_engine() {
        let verdict_of = |kind, unmounted| {
            let control = trial(TrialKind::Control, &Tally { lost: 2, ..Tally::default() });
            let power = trial(TrialKind::Power, &Tally::default());
            let failed = trial(kind, &Tally { unmounted, ..Tally::default() });
            judge(Durability::Commit, PowerLoss::Keeps, &[power, control, failed])
        };
        let why = "ENOSPC: in 2 of 10 states the filesystem did not mount".to_owned();
        assert_eq!(verdict_of(TrialKind::Full, 2), Verdict::Inconclusive(why));
        assert_eq!(verdict_of(TrialKind::Full, 1), Verdict::Held);
        assert_eq!(verdict_of(TrialKind::Control, 2), Verdict::Held);
    }
}
