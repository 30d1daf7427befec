//! What is tried with an engine in one class: its process is killed, its power goes, its drive
//! fails. Each trial is a number of states, in each of which the engine recovers and is read.

use super::testbed::Testbed;
use super::victim::{PledgeOutcome, Recovery, Victim};
use crate::printer::Progress;
use crate::runner::Interrupt;
use anyhow::Context as _;
use kvdyno_host::Looped;
use kvdyno_record::torture::{Example, Tally, Trial, TrialKind};
use kvdyno_torture::verdict::{Damage, Promised};
use kvdyno_torture::{Draw, Fault, Seen, State};
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// So many states in which anything was found are told: the worst, and the first of them.
const EXAMPLES: usize = 5;

/// States of the control, and of a fault.
const FEW: u64 = 20;

/// A kill is drawn for so many states of a power loss.
const STATES_A_KILL: u64 = 6;

/// States are recovered so many at a time: mounting waits more than it works.
const LANES: usize = 4;

/// What is asked for, of each class.
pub(super) struct Trials<'t> {
    pub(super) testbed: &'t Testbed,
    pub(super) victim: &'t Victim,
    pub(super) seed: u64,
    pub(super) states: u64,
    pub(super) pause: Duration,
    pub(super) progress: &'t Progress<'t>,
    pub(super) interrupt: &'t Interrupt,
}

/// A trial in the making.
struct Count {
    kind: TrialKind,
    begun: Instant,
    tally: Tally,
    /// Each with how bad it is.
    examples: Vec<(Badness, Example)>,
}

/// The worst is the least.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Badness {
    Unopened,
    Untrue,
    Lost,
    Unmounted,
}

impl Count {
    fn new(kind: TrialKind) -> Self {
        Self { kind, begun: Instant::now(), tally: Tally::default(), examples: Vec::new() }
    }

    /// Takes in what was found in a state.
    fn add(&mut self, state: u64, how: String, promised: &Promised, found: &Recovery) {
        let damage = match found {
            Recovery::Answered(found) => promised.damage(found),
            Recovery::Crashed(words) => {
                self.tally.crashes += 1;
                Damage { unopened: Some(words.clone()), ..Damage::default() }
            }
        };
        self.tally.states += 1;
        damage.count(!promised.is_nothing(), &mut self.tally);
        if damage.is_none() {
            return;
        }
        let badness = if damage.unopened.is_some() {
            Badness::Unopened
        } else if damage.torn + damage.half_batches + damage.phantoms > 0 {
            Badness::Untrue
        } else {
            Badness::Lost
        };
        let (acknowledged, found) = (promised.writes(), damage.words());
        self.add_example(badness, Example { state, how, acknowledged, found });
    }

    fn add_example(&mut self, badness: Badness, example: Example) {
        self.examples.push((badness, example));
        self.examples.sort_by_key(|(badness, example)| (*badness, example.state));
        self.examples.truncate(EXAMPLES);
    }

    fn done(self) -> Trial {
        let took_ns = self.begun.elapsed().as_nanos() as u64;
        let examples = self.examples.into_iter().map(|(_, example)| example).collect();
        Trial { kind: self.kind, tally: self.tally, examples, took_ns }
    }
}

/// The moment of a state: mostly after the first acknowledgement, sometimes while the database is
/// being made.
pub(super) fn draw(seed: u64, number: u64, seen: &Seen) -> State {
    let first = seen.acknowledged.first().map_or(seen.entries, |(at, _)| *at);
    let window = if number % 16 == 7 { 0..first } else { first..seen.entries };
    State::draw(seed, number, &window)
}

impl Trials<'_> {
    pub(super) fn interrupted(&self) -> bool {
        self.interrupt.is_requested()
    }

    /// Kills the engine's process at random moments; its filesystem lives on.
    pub(super) fn kills(&self, on: &Looped) -> anyhow::Result<Trial> {
        let mut count = Count::new(TrialKind::Kill);
        let mut draw = Draw::new(&[self.seed, 1]);
        let folder = on.data().join("killed");
        // How long it takes when nobody interferes.
        let mut whole = Duration::ZERO;
        let kills = (self.states / STATES_A_KILL).max(3);
        let mut number = 0;
        while count.tally.states < kills && !self.interrupted() {
            self.progress.phase("kill -9", count.tally.states, Some(kills), None);
            fs::create_dir(&folder)?;
            self.testbed.recorder.begin()?;
            let begun = Instant::now();
            let mut asked =
                self.victim.pledge(&folder, self.testbed.recorder.acknowledgements())?;
            let after = whole * draw.below(1000) as u32 / 1000;
            if whole.is_zero() {
                asked.kept(Duration::ZERO)?.or_complain(self.victim)?;
                whole = begun.elapsed();
            } else if !asked.ends_within(after)? {
                asked.kill();
                asked.wait(Duration::from_secs(10))?;
                let promised = self.promised(usize::MAX, &self.testbed.recorder.look()?);
                let how = format!("killed after {} ms", after.as_millis());
                count.add(number, how, &promised, &self.victim.recover_killed(&folder)?);
                number += 1;
            } else {
                // It has become faster.
                whole = whole * 9 / 10 + Duration::from_millis(1);
            }
            fs::remove_dir_all(&folder).context("failed to remove a database")?;
        }
        Ok(count.done())
    }

    /// Has it write from the beginning, on a drive that fails or does not; what happened until its
    /// end.
    pub(super) fn record(&self, fault: Option<Fault>) -> anyhow::Result<Seen> {
        self.progress.phase("recording", 0, None, None);
        let recorder = &self.testbed.recorder;
        // A fault that has not come would come to the next filesystem.
        recorder.begin()?;
        let on = self.testbed.make()?;
        let folder = on.data().join("database");
        fs::create_dir(&folder)?;
        sync(on.data())?;
        recorder.begin()?;
        if let Some(fault) = fault {
            recorder.fail(fault)?;
        }
        let pledge = self.victim.pledge(&folder, recorder.acknowledgements())?;
        let kept = pledge.kept(self.pause)?;
        let seen = recorder.look()?;
        if fault.is_none() {
            kept.or_complain(self.victim)?;
        }
        // A filesystem that has seen its drive fail may not go in good order.
        let removed = on.remove();
        if fault.is_none() {
            removed?;
        }
        Ok(seen)
    }

    /// The power goes at `states` moments.
    pub(super) fn power(&self, seen: &Seen) -> anyhow::Result<Trial> {
        let states = (0..self.states).map(|number| draw(self.seed, number, seen)).collect();
        self.explore(TrialKind::Power, states, seen)
    }

    /// The same on a drive that ignores flushes.
    pub(super) fn control(&self, seen: &Seen) -> anyhow::Result<Trial> {
        let window = 0..seen.entries;
        let states = (0..FEW).map(|number| {
            let state = draw(self.seed ^ 0x00c0_ffee, number, seen);
            state.ignoring_flushes(&window)
        });
        self.explore(TrialKind::Control, states.collect(), seen)
    }

    /// The drive fails once while the engine writes; then the power goes, soon after or later.
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
        let seen = self.record(Some(fault))?;
        let Some(at) = seen.fault else { return Ok(None) };
        let windows: [Range<usize>; 2] = [at..seen.entries.min(at + 64), at..seen.entries];
        let states = (0..FEW)
            .map(|number| State::draw(self.seed, number, &windows[number as usize / 5 % 2]));
        self.explore(kind, states.collect(), &seen).map(Some)
    }

    /// Serves each state, mounts it, has the engine recover, and judges.
    fn explore(
        &self,
        kind: TrialKind,
        mut states: Vec<State>,
        seen: &Seen,
    ) -> anyhow::Result<Trial> {
        super::boot::again()?;
        // What the drive held at one moment is where that of the next begins.
        states.sort_by_key(|state| state.moment);
        let (next, count) = (AtomicUsize::new(0), Mutex::new(Count::new(kind)));
        let lane = |lane: usize| -> anyhow::Result<()> {
            while let Some(state) = states.get(next.fetch_add(1, Relaxed)) {
                if self.interrupted() {
                    break;
                }
                let found = self.recovered(state, lane, None)?;
                let Ok(mut count) = count.lock() else { break };
                let promised = self.promised(state.moment, seen);
                match found {
                    Ok(found) => count.add(state.number, how(state, seen), &promised, &found),
                    Err(why) => {
                        count.tally.states += 1;
                        count.tally.unmounted += 1;
                        let found = format!("the filesystem does not mount: {why}");
                        let (state, how) = (state.number, how(state, seen));
                        let acknowledged = promised.writes();
                        let example = Example { state, how, acknowledged, found };
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
        Ok(count.done())
    }

    /// What the engine says after a power loss; the inner error: the filesystem does not mount.
    /// `image`: where what the drive held is kept, before anything was recovered.
    pub(super) fn recovered(
        &self,
        state: &State,
        lane: usize,
        image: Option<&Path>,
    ) -> anyhow::Result<Result<Recovery, String>> {
        let served = self.testbed.recorder.serve(state)?;
        if let Some(image) = image {
            served.keep(image).with_context(|| format!("failed to keep {}", image.display()))?;
        }
        let on = match self.testbed.mount(&served.drive(0), lane)? {
            Ok(on) => on,
            Err(why) => return Ok(Err(why)),
        };
        let folder = on.data().join("database");
        let found = self.victim.recover(&folder);
        on.remove()?;
        found.map(Ok)
    }

    pub(super) fn promised(&self, moment: usize, seen: &Seen) -> Promised {
        let victim = self.victim;
        Promised::at(victim.units, victim.is_atomic(), &seen.acknowledged, moment)
    }
}

/// A state in words.
pub(super) fn how(state: &State, seen: &Seen) -> String {
    let control = if state.ignores_flushes_since.is_some() { ", flushes ignored" } else { "" };
    let lost = state.lost.as_str();
    format!("power lost after {} of {} entries, lost {lost}{control}", state.moment, seen.entries)
}

impl PledgeOutcome {
    /// On a sound drive an engine has nothing to refuse.
    fn or_complain(self, victim: &Victim) -> anyhow::Result<()> {
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

fn sync(folder: &Path) -> anyhow::Result<()> {
    Ok(rustix::fs::syncfs(fs::File::open(folder)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_torture::LOSSES;

    #[test]
    fn most_moments_lie_after_the_first_promise_and_some_before() {
        let acknowledged = vec![(100, [0, 0]), (150, [0, 1])];
        let seen = Seen { entries: 1000, acknowledged, ..Seen::default() };
        let moments: Vec<usize> = (0..160).map(|number| draw(1, number, &seen).moment).collect();
        assert_eq!(moments.iter().filter(|moment| **moment <= 100).count(), 10, "{moments:?}");
        assert!(moments.iter().any(|moment| *moment > 900));
        // Of the early ones each kind of loss.
        let mut early: Vec<usize> =
            (0..80).filter(|n| n % 16 == 7).map(|n| n % LOSSES.len()).collect();
        early.sort_unstable();
        assert_eq!(early, [0, 1, 2, 3, 4]);
    }
}
