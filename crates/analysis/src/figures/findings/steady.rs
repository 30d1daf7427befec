//! Whether the measurement was steady, and the same for every engine: equal writers, no stalls, a
//! constant rate.

use super::finding::{Finding, Measured};
use super::kinds::Id;
use super::method::engine_roles;
use crate::figures::comparable;
use crate::figures::evidence::Evidence;
use crate::figures::group::Group;
use crate::figures::stalls;
use kvdyno_record::engine::EngineEvent;
use kvdyno_record::files::RecordError;
use kvdyno_record::units::{duration, group_digits};

/// Stalls of a smaller share of the window change no figure noticeably.
const STALLED_MIN: f64 = 0.01;

pub(super) fn findings(evidence: &Evidence, groups: &[Group]) -> Result<Vec<Finding>, RecordError> {
    let all = [
        unequal_writers(groups),
        Finding::from_files(Id::WritesStalled, evidence, stall_evidence)?,
        unsteady_rates(groups),
    ];
    Ok(all.into_iter().flatten().collect())
}

fn unequal_writers(groups: &[Group]) -> Option<Finding> {
    let unequal = comparable::unequal_writers(groups);
    let words = unequal.iter().map(|unequal_pair| {
        let rate = |per_s: f64| group_digits(per_s.round() as u64);
        let ((fast, fast_per_s), (slow, slow_per_s)) = (unequal_pair.fast, unequal_pair.slow);
        let words = format!(
            "readers are compared at unequal write rates: {fast} wrote {}/s, {slow} {}/s",
            rate(fast_per_s),
            rate(slow_per_s)
        );
        (unequal_pair.first.trials[0].case.clone(), words)
    });
    Finding::from_cases(Id::WritersUnequal, words)
}

/// The engine's reports of stalls while a phase was measured, or the difference of its counters.
fn stall_evidence(measured: &Measured<'_>) -> Result<Option<String>, RecordError> {
    let begin = measured.phase.started_unix_ns;
    let window = (begin, begin.saturating_add(measured.phase.wall_ns));
    let reported = Stalls::from_events(&measured.case.stalls()?, window);
    if reported.lasted_ns > 0 {
        return Ok(reported.evidence(measured.phase.wall_ns));
    }
    let Some(counters) = measured.case.counters()?.phases.remove(&measured.phase.name) else {
        return Ok(None);
    };
    let waited = stalls::counted_ns(&counters.before, &counters.after);
    let long = waited.filter(|(_, waited_ns)| is_reported(*waited_ns, measured.phase.wall_ns));
    Ok(long.map(|(name, waited_ns)| format!("writers waited for {} ({name})", duration(waited_ns))))
}

/// Whether the stalls were long enough to report.
fn is_reported(lasted_ns: u64, window_ns: u64) -> bool {
    lasted_ns > 0 && lasted_ns as f64 >= window_ns as f64 * STALLED_MIN
}

/// Stalls inside a window of time.
#[derive(Debug, Default, PartialEq, Eq)]
struct Stalls {
    delayed: u64,
    stopped: u64,
    lasted_ns: u64,
}

impl Stalls {
    fn from_events(events: &[EngineEvent], window: (u64, u64)) -> Self {
        let mut all = Self::default();
        for stall in stalls::window_stalls(events, window) {
            let Some(end_ns) = stall.end_ns else { continue };
            all.lasted_ns += end_ns - stall.start_ns;
            *(if stall.is_stop() { &mut all.stopped } else { &mut all.delayed }) += 1;
        }
        all
    }

    fn evidence(&self, window_ns: u64) -> Option<String> {
        let times = |n: u64| if n == 1 { "once".to_owned() } else { format!("{n} times") };
        let delayed = (self.delayed > 0).then(|| format!("delayed {}", times(self.delayed)));
        let stopped = (self.stopped > 0).then(|| format!("stopped {}", times(self.stopped)));
        let how: Vec<String> = [delayed, stopped].into_iter().flatten().collect();
        is_reported(self.lasted_ns, window_ns).then(|| {
            format!(
                "the engine stalled its writers: {}, for {} of {}",
                how.join(", "),
                duration(self.lasted_ns),
                duration(window_ns)
            )
        })
    }
}

fn unsteady_rates(groups: &[Group]) -> Option<Finding> {
    let validities = engine_roles(groups).filter_map(|(_, role)| role.validity.as_ref());
    let mut moved: Vec<_> = validities.flat_map(|validity| validity.moved.clone()).collect();
    // Puts the roles of a case next to each other.
    moved.sort_by(|(one, _), (other, _)| one.cmp(other));
    Finding::from_cases(Id::NotSteady, moved)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::stall_event as change;

    #[test]
    fn stalls_count_within_the_window() {
        let events = [
            change(10, "delayed"),
            change(20, "normal"),
            change(90, "delayed"),
            change(120, "stopped"),
            change(150, "normal"),
            change(190, "stopped"),
        ];
        let stalls = Stalls::from_events(&events, (100, 200));
        assert_eq!(stalls, Stalls { delayed: 1, stopped: 2, lasted_ns: 20 + 30 + 10 });
        let words = stalls.evidence(100).unwrap();
        assert!(words.contains("delayed once, stopped 2 times, for 60 ns of 100 ns"), "{words}");
        assert_eq!(Stalls::from_events(&events, (30, 80)).evidence(50), None);
        assert_eq!(Stalls::from_events(&[], (0, 1)), Stalls::default());
        // Under a hundredth of the window.
        assert!(Stalls::from_events(&events, (100, 200)).evidence(6000).is_some());
        assert_eq!(Stalls::from_events(&events, (100, 200)).evidence(6001), None);
    }
}
