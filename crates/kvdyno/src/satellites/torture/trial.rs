//! The trials of an engine in one class: its process is killed, its power fails, its drive fails.
//! Each trial has a number of states; in each, the engine recovers and its data is read.

use super::boot::Boot;
use super::testbed::Testbed;
use super::victim::{PledgeOutcome, Recovery, Victim};
use crate::printer::Progress;
use crate::running::runner::Interrupt;
use anyhow::Context as _;
use kvdyno_host::Looped;
use kvdyno_record::pledge::SYNCED;
use kvdyno_record::torture::{Example, Tally, Trial, TrialKind};
use kvdyno_torture::verdict::{Damage, Promised};
use kvdyno_torture::{Draw, Fault, LOSSES, Seen, State};
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Number of damaged states in the report: the worst, and the first of them.
const EXAMPLES: usize = 5;

/// States of the control trial, and of a fault.
const FEW: u64 = 20;

/// One kill per this many power losses.
const STATES_A_KILL: u64 = 6;

/// States that are recovered at the same time: mounting is mostly waiting.
const LANES: usize = 4;

/// Returns a state for each moment at which an engine reported that everything is durable, and each
/// loss of unflushed data. The states' numbers follow those of the power losses.
pub(super) fn draw_synced(seed: u64, first: u64, log: &Seen) -> Vec<State> {
    let synced = log.acknowledged.iter().filter(|(_, [writer, _])| *writer == SYNCED);
    let moments = synced.flat_map(|(at, _)| std::iter::repeat_n(*at, LOSSES.len()));
    let losses = LOSSES.into_iter().cycle();
    let states = (first..).zip(moments.zip(losses));
    states
        .map(|(number, (at, lost))| State { lost, ..State::draw(seed, number, &(at..at)) })
        .collect()
}

/// The settings of the trials of a class.
pub(super) struct Trials<'t> {
    pub(super) testbed: &'t Testbed,
    pub(super) victim: &'t Victim,
    pub(super) seed: u64,
    pub(super) states: u64,
    pub(super) pause: Duration,
    pub(super) progress: &'t Progress<'t>,
    pub(super) interrupt: &'t Interrupt,
}

/// A trial in progress.
struct Count {
    kind: TrialKind,
    begun: Instant,
    tally: Tally,
    /// The worst damaged states, each with its severity.
    examples: Vec<(Badness, Example)>,
}

/// Ordered by severity: the worst comes first. A database that does not open shows nothing untrue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Badness {
    Crashed,
    Untrue,
    Unopened,
    Lost,
    Unmounted,
}

impl Count {
    fn new(kind: TrialKind) -> Self {
        Self { kind, begun: Instant::now(), tally: Tally::default(), examples: Vec::new() }
    }

    /// Adds the result of a state.
    fn add(&mut self, state: u64, how: String, promised: &Promised, recovery: &Recovery) {
        let damage = match recovery {
            Recovery::Answered(recovery) => promised.damage(recovery),
            Recovery::Crashed(words) => {
                self.tally.crashes += u64::from(!promised.is_nothing());
                Damage { unopened: Some(words.clone()), ..Damage::default() }
            }
        };
        self.tally.states += 1;
        damage.count(!promised.is_nothing(), &mut self.tally);
        if damage.is_none() {
            return;
        }
        let badness = if matches!(recovery, Recovery::Crashed(_)) {
            Badness::Crashed
        } else if damage.shows_untruth() {
            Badness::Untrue
        } else if damage.unopened.is_some() {
            Badness::Unopened
        } else {
            Badness::Lost
        };
        let (acknowledged, damage_text) = (promised.writes(), damage.description());
        self.add_example(badness, Example { state, how, acknowledged, damage: damage_text });
    }

    fn add_example(&mut self, badness: Badness, example: Example) {
        self.examples.push((badness, example));
        self.examples.sort_by_key(|(badness, example)| (*badness, example.state));
        self.examples.truncate(EXAMPLES);
    }

    fn into_trial(self) -> Trial {
        let took_ns = self.begun.elapsed().as_nanos() as u64;
        let examples = self.examples.into_iter().map(|(_, example)| example).collect();
        Trial { kind: self.kind, tally: self.tally, examples, took_ns }
    }
}

/// Draws a state's moment: mostly after the first acknowledgement, sometimes while the database is
/// created.
pub(super) fn draw(seed: u64, number: u64, log: &Seen) -> State {
    let first = log.acknowledged.first().map_or(log.entries, |(at, _)| *at);
    let window = if number % 16 == 7 { 0..first } else { first..log.entries };
    State::draw(seed, number, &window)
}

impl Trials<'_> {
    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupt.is_requested()
    }

    /// Kills the engine's process at random moments; its filesystem stays.
    pub(super) fn kills(&self, mounted: &Looped) -> anyhow::Result<Trial> {
        let mut count = Count::new(TrialKind::Kill);
        let mut draw = Draw::new(&[self.seed, 1]);
        let dir = mounted.data().join("killed");
        // The duration of a full run.
        let mut whole = Duration::ZERO;
        let kills = (self.states / STATES_A_KILL).max(3);
        let mut number = 0;
        while count.tally.states < kills && !self.is_interrupted() {
            self.progress.phase("kill -9", count.tally.states, Some(kills), None);
            fs::create_dir(&dir)?;
            self.testbed.recorder.begin()?;
            let begun = Instant::now();
            let mut worker = self.victim.pledge(&dir, self.testbed.recorder.acknowledgements())?;
            let after = whole * draw.below(1000) as u32 / 1000;
            if whole.is_zero() {
                worker.finish(Duration::ZERO)?.into_result(self.victim)?;
                whole = begun.elapsed();
            } else if !worker.ends_within(after)? {
                worker.kill();
                worker.wait(Duration::from_secs(10))?;
                let promised = self.promise_at_moment(usize::MAX, &self.testbed.recorder.look()?);
                let how = format!("killed after {} ms", after.as_millis());
                count.add(number, how, &promised, &self.victim.recover_killed(&dir)?);
                number += 1;
            } else {
                // The run was faster than before.
                whole = whole * 9 / 10 + Duration::from_millis(1);
            }
            fs::remove_dir_all(&dir).context("failed to remove a database")?;
        }
        Ok(count.into_trial())
    }

    /// Runs the writes from the beginning, with or without a fault of the drive. Returns the
    /// recording.
    pub(super) fn record(&self, fault: Option<Fault>) -> anyhow::Result<Seen> {
        self.progress.phase("recording", 0, None, None);
        let recorder = &self.testbed.recorder;
        // A pending fault would hit the next filesystem.
        recorder.begin()?;
        let mounted = self.testbed.make()?;
        let dir = mounted.data().join("database");
        fs::create_dir(&dir)?;
        sync(mounted.data())?;
        recorder.begin()?;
        if let Some(fault) = fault {
            recorder.fail(fault)?;
        }
        let pledge = self.victim.pledge(&dir, recorder.acknowledgements())?;
        let outcome = pledge.finish(self.pause)?;
        let log = recorder.look()?;
        if fault.is_none() {
            outcome.into_result(self.victim)?;
        }
        // A filesystem with I/O errors may not unmount cleanly.
        let removed = mounted.remove();
        if fault.is_none() {
            removed?;
        }
        Ok(log)
    }

    /// Tries power losses at `states` moments.
    pub(super) fn power_losses(&self, log: &Seen) -> anyhow::Result<Trial> {
        let states = (0..self.states).map(|number| draw(self.seed, number, log)).collect();
        self.explore(TrialKind::Power, states, log)
    }

    /// Tries power losses as soon as the engine has synced.
    pub(super) fn syncs(&self, log: &Seen) -> anyhow::Result<Trial> {
        let states = draw_synced(self.seed, self.states, log);
        anyhow::ensure!(
            !states.is_empty(),
            "{} has never synced; rebuild it with this version's kvdyno-worker",
            self.victim.label()
        );
        self.explore(TrialKind::Sync, states, log)
    }

    /// Tries power losses on a drive that ignores flushes.
    pub(super) fn control(&self, log: &Seen) -> anyhow::Result<Trial> {
        let window = 0..log.entries;
        let states = (0..FEW).map(|number| {
            let state = draw(self.seed ^ 0x00c0_ffee, number, log);
            state.ignoring_flushes(&window)
        });
        self.explore(TrialKind::Control, states.collect(), log)
    }

    /// Makes the drive fail once while the engine writes; then the power fails, soon or later.
    pub(super) fn fault(&self, kind: TrialKind, before: &Seen) -> anyhow::Result<Option<Trial>> {
        let mut draw = Draw::new(&[self.seed, kind as u64]);
        let mut within = |count: u64| count / 4 + draw.below(count as usize / 2) as u64;
        let fault = match kind {
            TrialKind::FlushFails if before.flushes > 0 => {
                Fault::FlushFails(within(before.flushes))
            }
            TrialKind::Full => Fault::Full(within(before.writes), 4),
            TrialKind::Pause => Fault::Pause(within(before.writes), self.pause.as_millis() as u64),
            _ => return Ok(None),
        };
        let log = self.record(Some(fault))?;
        let Some(fault_entry) = log.fault else { return Ok(None) };
        let windows: [Range<usize>; 2] =
            [fault_entry..log.entries.min(fault_entry + 64), fault_entry..log.entries];
        let states = (0..FEW)
            .map(|number| State::draw(self.seed, number, &windows[number as usize / 5 % 2]));
        self.explore(kind, states.collect(), &log).map(Some)
    }

    /// Serves each state, mounts it, lets the engine recover, and judges the result.
    fn explore(
        &self,
        kind: TrialKind,
        mut states: Vec<State>,
        log: &Seen,
    ) -> anyhow::Result<Trial> {
        let _boot = Boot::simulate()?;
        // Each lane continues from the drive's previous state.
        states.sort_by_key(|state| state.moment);
        let (next, count) = (AtomicUsize::new(0), Mutex::new(Count::new(kind)));
        let lane = |lane: usize| -> anyhow::Result<()> {
            while let Some(state) = states.get(next.fetch_add(1, Relaxed)) {
                if self.is_interrupted() {
                    break;
                }
                let recovery = self.recover(state, lane, None)?;
                let Ok(mut count) = count.lock() else { break };
                let promised = self.promise_at_moment(state.moment, log);
                match recovery {
                    Ok(recovery) => {
                        count.add(state.number, describe_state(state, log), &promised, &recovery);
                    }
                    Err(why) => {
                        count.tally.states += 1;
                        count.tally.unmounted += 1;
                        let damage = format!("cannot mount the filesystem: {why}");
                        let (state, how) = (state.number, describe_state(state, log));
                        let acknowledged = promised.writes();
                        let example = Example { state, how, acknowledged, damage };
                        count.add_example(Badness::Unmounted, example);
                    }
                }
                let done = count.tally.states;
                self.progress.phase(kind.as_str(), done, Some(states.len() as u64), None);
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let lane = &lane;
            let lanes: Vec<_> =
                (0..LANES).map(|number| scope.spawn(move || lane(number))).collect();
            lanes.into_iter().try_for_each(|lane| {
                lane.join().unwrap_or_else(|_| Err(anyhow::anyhow!("a lane panicked")))
            })
        })?;
        let count = count.into_inner().map_err(|_| anyhow::anyhow!("a lane panicked"))?;
        Ok(count.into_trial())
    }

    /// The engine's result after a power loss; the inner error: the filesystem cannot be mounted.
    /// `image`: the path for the drive's contents before any recovery.
    fn recover(
        &self,
        state: &State,
        lane: usize,
        image: Option<&Path>,
    ) -> anyhow::Result<Result<Recovery, String>> {
        let served = self.testbed.recorder.serve(state)?;
        if let Some(image) = image {
            served
                .save_image(image)
                .with_context(|| format!("failed to store {}", image.display()))?;
        }
        let mounted = match self.testbed.mount(&served.drive(0), lane)? {
            Ok(mounted) => mounted,
            Err(why) => return Ok(Err(why)),
        };
        let dir = mounted.data().join("database");
        let recovery = self.victim.recover(&dir);
        mounted.remove()?;
        recovery.map(Ok)
    }

    /// Recovers one state again, as a trial of its own; the inner error: the filesystem cannot be
    /// mounted.
    pub(super) fn recover_one(
        &self,
        kind: TrialKind,
        state: &State,
        promised: &Promised,
        image: Option<&Path>,
    ) -> anyhow::Result<Result<Trial, String>> {
        let mut count = Count::new(kind);
        Ok(self.recover(state, 0, image)?.map(|recovery| {
            count.add(state.number, String::new(), promised, &recovery);
            count.into_trial()
        }))
    }

    pub(super) fn promise_at_moment(&self, moment: usize, log: &Seen) -> Promised {
        let victim = self.victim;
        Promised::from_acknowledgements(victim.units, victim.is_atomic(), &log.acknowledged, moment)
    }
}

/// A state as text.
pub(super) fn describe_state(state: &State, log: &Seen) -> String {
    let control = if state.ignores_flushes_since.is_some() { ", flushes ignored" } else { "" };
    let lost = state.lost.as_str();
    format!("power lost after {} of {} entries, lost {lost}{control}", state.moment, log.entries)
}

impl PledgeOutcome {
    /// Returns an error if the engine failed, which it must not do on a drive without faults.
    fn into_result(self, victim: &Victim) -> anyhow::Result<()> {
        let why = match self {
            Self::Done(done) => match done.refused {
                None => return Ok(()),
                Some(refused) => refused,
            },
            Self::Crashed(words) => words,
        };
        anyhow::bail!("{} fails on a drive without fault: {why}", victim.label())
    }
}

fn sync(dir: &Path) -> anyhow::Result<()> {
    Ok(rustix::fs::syncfs(fs::File::open(dir)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_moments_lie_after_the_first_promise_and_some_before() {
        let acknowledged = vec![(100, [0, 0]), (150, [0, 1])];
        let log = Seen { entries: 1000, acknowledged, ..Seen::default() };
        let moments: Vec<usize> = (0..160).map(|number| draw(1, number, &log).moment).collect();
        assert_eq!(moments.iter().filter(|moment| **moment <= 100).count(), 10, "{moments:?}");
        assert!(moments.iter().any(|moment| *moment > 900));
        // The early states include each kind of loss.
        let mut early: Vec<usize> =
            (0..80).filter(|n| n % 16 == 7).map(|n| n % LOSSES.len()).collect();
        early.sort_unstable();
        assert_eq!(early, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn after_each_sync_the_power_fails_with_each_loss() {
        let acknowledged =
            vec![(100, [0, 0]), (150, [SYNCED, 0]), (190, [0, 1]), (200, [SYNCED, 0])];
        let log = Seen { entries: 1000, acknowledged, ..Seen::default() };
        let states = draw_synced(1, 40, &log);
        assert!(states.iter().map(|state| state.number).eq(40..50));
        for moment in [150, 200] {
            let at = states.iter().filter(|state| state.moment == moment);
            assert!(at.map(|state| state.lost).eq(LOSSES));
        }
    }
}
