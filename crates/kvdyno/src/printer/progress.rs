//! The progress of a run: one line that is updated on a terminal, and otherwise a line for each
//! case.

use super::Printer;
use indicatif::{ProgressBar, ProgressStyle};
use kvdyno_record::text::escape_line;
use kvdyno_record::units;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Without a terminal, interval of messages about a long case.
const PLAIN_EVERY: Duration = Duration::from_secs(300);

/// The bar has this many steps for each case, so that it moves within one.
const STEPS_A_CASE: u64 = 1000;

/// A run's progress. Its methods take `&self`: they may be called from any thread.
pub(crate) struct Progress<'p> {
    printer: &'p Printer,
    bar: Option<ProgressBar>,
    begun: Instant,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    cases: usize,
    estimate: Duration,
    finished: usize,
    /// Cases that an earlier part of the run has completed.
    skipped: usize,
    /// Cases that this part has completed.
    completed: usize,
    case: String,
    phase: String,
    /// The completed share of the current phase, by its count, from 0 to 1.
    part: f64,
    case_begun: Instant,
    /// Whether the current case has phases that end by time.
    by_clock: bool,
    phase_begun: Instant,
    /// The rest of the current phase, if it ends by time.
    phase_left: Option<Duration>,
    /// The duration of later phases that end by time: in the current case, and in the cases after
    /// it.
    timed: [Duration; 2],
    spoken: Instant,
}

impl<'p> Progress<'p> {
    pub(super) fn new(printer: &'p Printer, cases: usize, estimate: Duration) -> Self {
        let bar = printer.live.as_ref().map(|live| {
            let bar = live.add(ProgressBar::new(cases as u64 * STEPS_A_CASE));
            if let Ok(style) = ProgressStyle::with_template("{bar:24} {wide_msg}") {
                bar.set_style(style.progress_chars("=> "));
            }
            bar
        });
        let now = Instant::now();
        let state = State {
            cases,
            estimate,
            finished: 0,
            skipped: 0,
            completed: 0,
            case: String::new(),
            phase: String::new(),
            part: 0.0,
            case_begun: now,
            by_clock: false,
            phase_begun: now,
            phase_left: None,
            timed: [Duration::ZERO; 2],
            spoken: now,
        };
        Self { printer, bar, begun: now, state: Mutex::new(state) }
    }

    /// Sets a new number of cases, and a new time for all of them.
    pub(crate) fn expect(&self, cases: usize, estimate: Duration) {
        let mut state = self.lock();
        (state.cases, state.estimate) = (cases, estimate);
        if let Some(bar) = &self.bar {
            bar.set_length(cases as u64 * STEPS_A_CASE);
        }
    }

    /// Sets the number of cases that are already done.
    pub(crate) fn skip(&self, cases: usize) {
        self.lock().skipped = cases;
    }

    /// Starts a case. `number` counts from 1; a resumed run may skip completed cases.
    pub(crate) fn case_started(&self, number: usize, id: &str) {
        let mut state = self.lock();
        state.finished = number.saturating_sub(1);
        state.case = escape_line(id).into_owned();
        state.phase.clear();
        state.part = 0.0;
        (state.case_begun, state.by_clock) = (Instant::now(), false);
        self.show(&state, "starting");
    }

    /// Sets the duration of phases that end by time in the cases after the current one.
    pub(crate) fn set_timed_after(&self, time: Duration) {
        let mut state = self.lock();
        (state.timed, state.phase_left) = ([Duration::ZERO, time], None);
    }

    /// Sets the remaining time of the current case: of later phases, and of the current one if it
    /// ends by time.
    pub(crate) fn set_timed_left(&self, later: Duration, phase_left: Option<Duration>) {
        let mut state = self.lock();
        (state.timed[0], state.phase_left) = (later, phase_left);
        state.by_clock |= phase_left.is_some() || !later.is_zero();
    }

    /// Shows the state of the current phase: `done` of `total`, at `per_s`.
    pub(crate) fn phase(&self, name: &str, done: u64, total: Option<u64>, per_s: Option<f64>) {
        let mut state = self.lock();
        if state.phase != name {
            state.phase_begun = Instant::now();
        }
        name.clone_into(&mut state.phase);
        let share = total.filter(|total| *total > 0).map(|total| done as f64 / total as f64);
        state.part = share.unwrap_or(0.0).clamp(0.0, 1.0);
        let mut words = escape_line(name).into_owned();
        if let Some(share) = share {
            words += &format!(" {:.0} %", share.min(1.0) * 100.0);
        } else if done > 0 {
            words += &format!(" {}", units::count(done));
        }
        if let Some(per_s) = per_s {
            words += &format!(", {}", units::rate(per_s));
        }
        if self.bar.is_some() {
            self.show(&state, &words);
        } else if state.spoken.elapsed() >= PLAIN_EVERY {
            state.spoken = Instant::now();
            self.printer.note(&self.line(&state, &words));
        }
    }

    /// Prints a problem of the current case.
    pub(crate) fn warn(&self, text: &str) {
        self.printer.warning(&escape_line(text));
    }

    /// Ends a case, with its number from 1, its outcome and its main figure.
    pub(crate) fn case_finished(&self, number: usize, id: &str, outcome: &str, headline: &str) {
        let mut state = self.lock();
        state.finished = number;
        state.completed += 1;
        (state.part, state.by_clock) = (0.0, false);
        (state.timed[0], state.phase_left) = (Duration::ZERO, None);
        let headline = if headline.is_empty() {
            String::new()
        } else {
            format!(": {}", escape_line(headline))
        };
        let suffix = if self.bar.is_some() { String::new() } else { self.time_left(&state) };
        let position = format_position(&state, state.finished);
        let text = format!("{position} {} {outcome}{headline}{suffix}", escape_line(id));
        state.spoken = Instant::now();
        drop(state);
        self.printer.note(&text);
    }

    fn show(&self, state: &State, words: &str) {
        let Some(bar) = &self.bar else { return };
        bar.set_position(
            ((state.finished as f64 + case_share(state)) * STEPS_A_CASE as f64) as u64,
        );
        bar.set_message(self.line(state, words));
    }

    fn line(&self, state: &State, words: &str) -> String {
        let position = format_position(state, state.finished + 1);
        format!("{position} {}: {words}{}", state.case, self.time_left(state))
    }

    /// The remaining time as text: `, 3m20s left`.
    fn time_left(&self, state: &State) -> String {
        if state.finished >= state.cases {
            return String::new();
        }
        let Share { of_all, done } = Share::from_state(state);
        let time = time_left(self.begun.elapsed(), state.estimate.mul_f64(of_all), done);
        let time = time.max(case_time_left(state) + state.timed[1]);
        match time.as_secs() {
            0 => ", under 1 s left".to_owned(),
            seconds => format!(", {} left", units::duration(seconds * 1_000_000_000)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn format_position(state: &State, number: usize) -> String {
    let width = state.cases.to_string().len();
    format!("[{:>width$}/{}]", number.min(state.cases), state.cases)
}

/// The completed share of the current case: by time if some of its phases end by time, otherwise by
/// its phase.
fn case_share(state: &State) -> f64 {
    if !state.by_clock {
        return state.part;
    }
    let (elapsed, rest) =
        (state.case_begun.elapsed().as_secs_f64(), case_time_left(state).as_secs_f64());
    if elapsed > 0.0 { elapsed / (elapsed + rest) } else { 0.0 }
}

/// The remaining time of the current case: of its phase, by time or at the current pace, and of
/// later phases that end by time.
fn case_time_left(state: &State) -> Duration {
    let by_pace = || {
        let part = if state.part > 0.0 { state.part } else { 1.0 };
        state.phase_begun.elapsed().mul_f64(1.0 / part - 1.0)
    };
    state.timed[0] + state.phase_left.unwrap_or_else(by_pace)
}

/// The share of all cases in this part of the run, and its completed share.
struct Share {
    of_all: f64,
    done: f64,
}

impl Share {
    fn from_state(state: &State) -> Self {
        let planned = state.cases.saturating_sub(state.skipped) as f64;
        let done = state.completed as f64 + case_share(state);
        let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 1.0 };
        Self { of_all: ratio(planned, state.cases as f64), done: ratio(done, planned) }
    }
}

/// The remaining time. At first it follows the plan's estimate, which the measured time gradually
/// replaces. From a fifth of the cases on, only the latter counts: plans overestimate.
fn time_left(elapsed: Duration, estimate: Duration, done: f64) -> Duration {
    let done = done.clamp(0.0, 1.0);
    let elapsed = elapsed.as_secs_f64();
    let measured = if done > 0.0 { elapsed / done } else { 0.0 };
    let trust = (done * 5.0).min(1.0);
    let whole = (1.0 - trust) * estimate.as_secs_f64() + trust * measured;
    Duration::from_secs_f64((whole - elapsed).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_terminal_each_case_is_a_line_with_the_time_left() {
        let (printer, captured) = Printer::new_captured();
        let progress = printer.progress(12, Duration::from_secs(240));
        progress.case_started(3, "0003_lmdb_t2_r1");
        progress.phase("measure", 0, None, None);
        progress.phase("measure", 1_500_000, None, Some(750_000.0));
        progress.case_finished(3, "0003_lmdb_t2_r1", "done", "readers 750 k/s");
        let output = captured.err();
        let lines: Vec<&str> = output.lines().collect();
        assert_eq!(lines.len(), 1, "{output}");
        assert!(
            lines[0].starts_with("[ 3/12] 0003_lmdb_t2_r1 done: readers 750 k/s, "),
            "{output}"
        );
        assert!(lines[0].ends_with(" left"), "{output}");
    }

    /// Six of twelve cases are already done: the others need half of the planned time.
    #[test]
    fn what_a_resumed_run_need_not_do_is_not_in_its_time_left() {
        let (printer, _) = Printer::new_captured();
        let progress = printer.progress(12, Duration::from_secs(240));
        progress.skip(6);
        progress.case_started(7, "0007_lmdb_t2_r1");
        let text = progress.time_left(&progress.lock());
        assert!([", 1m59s left", ", 2m left"].contains(&text.as_str()), "{text}");
        progress.case_finished(7, "0007_lmdb_t2_r1", "done", "");
        let Share { of_all, done } = Share::from_state(&progress.lock());
        assert_eq!((of_all, done), (0.5, 1.0 / 6.0));
    }

    /// An hour's phase takes an hour, whatever the share of cases.
    #[test]
    fn what_ends_by_the_clock_is_left_in_full() {
        let (printer, _) = Printer::new_captured();
        let progress = printer.progress(2, Duration::from_secs(7400));
        progress.case_started(1, "0001_lmdb_load_r1");
        progress.set_timed_after(Duration::from_secs(7200));
        progress.case_finished(1, "0001_lmdb_load_r1", "done", "");
        assert_eq!(progress.time_left(&progress.lock()), ", 2h left");
        progress.case_started(2, "0002_lmdb_t1_r1");
        progress.set_timed_after(Duration::ZERO);
        progress.set_timed_left(Duration::ZERO, Some(Duration::from_secs(5400)));
        assert_eq!(progress.time_left(&progress.lock()), ", 1h30m left");
    }

    /// The first of three windows is not the whole case.
    #[test]
    fn a_phase_that_ends_is_not_the_case() {
        let (printer, _) = Printer::new_captured();
        let progress = printer.progress(3, Duration::from_secs(8000));
        progress.case_started(1, "0001_lmdb_t1_r1");
        progress.set_timed_after(Duration::from_secs(4800));
        progress.set_timed_left(Duration::from_secs(1600), Some(Duration::from_secs(8)));
        progress.phase("hours-w1", 99, Some(100), None);
        let late = Share::from_state(&progress.lock()).done;
        progress.set_timed_left(Duration::from_secs(800), Some(Duration::from_secs(792)));
        progress.phase("hours-w2", 1, Some(100), None);
        let early = Share::from_state(&progress.lock()).done;
        assert!(late <= early && early < 0.1, "{late}, then {early}");
    }

    /// A load and an audit end by count, the minute between them by time.
    #[test]
    fn phases_by_count_go_on_at_their_pace() {
        let (printer, _) = Printer::new_captured();
        let progress = printer.progress(1, Duration::from_secs(100));
        progress.case_started(1, "0001_lmdb_t1_r1");
        let set_elapsed = |state: &mut State, seconds: u64| {
            let begun = Instant::now().checked_sub(Duration::from_secs(seconds)).unwrap();
            (state.case_begun, state.phase_begun) = (begun, begun);
        };
        progress.set_timed_left(Duration::from_secs(60), None);
        progress.phase("load", 10, Some(100), None);
        let mut state = progress.lock();
        set_elapsed(&mut state, 100);
        let (rest, done) = (case_time_left(&state).as_secs(), case_share(&state));
        assert!((955..=965).contains(&rest), "{rest}: 900 of the load, 60 after it");
        assert!((0.09..0.1).contains(&done), "{done}");
        drop(state);
        progress.set_timed_left(Duration::ZERO, None);
        progress.phase("audit", 50, Some(100), None);
        let mut state = progress.lock();
        set_elapsed(&mut state, 30);
        assert!(
            (29..=31).contains(&case_time_left(&state).as_secs()),
            "{:?}",
            case_time_left(&state)
        );
    }

    #[test]
    fn time_left_moves_from_the_estimate_to_what_was_seen() {
        let seconds = Duration::from_secs;
        assert_eq!(time_left(seconds(0), seconds(100), 0.0), seconds(100));
        assert_eq!(time_left(seconds(10), seconds(300), 0.1), seconds(190));
        assert_eq!(time_left(seconds(100), seconds(300), 0.5), seconds(100));
        assert_eq!(time_left(seconds(300), seconds(100), 1.0), seconds(0));
        assert_eq!(time_left(seconds(500), seconds(100), 0.0), seconds(0));
    }
}
