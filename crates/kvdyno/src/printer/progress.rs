//! How a run gets on: one line that is kept up to date on a terminal, and a plain line now and then
//! where nobody is looking.

use super::Printer;
use indicatif::{ProgressBar, ProgressStyle};
use kvdyno_record::text::one_line;
use kvdyno_record::units;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Without a terminal there is a line for each case; one that takes long is mentioned this often.
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
    /// Cases that an earlier part of the run has done.
    skipped: usize,
    /// Cases that this part has done.
    own: usize,
    case: String,
    phase: String,
    /// Of the phase that runs, by its count.
    part: f64,
    case_begun: Instant,
    /// The case that runs has phases that end by the clock.
    by_clock: bool,
    phase_begun: Instant,
    /// What the phase that runs still takes, where the clock ends it.
    here: Option<Duration>,
    /// What later phases that end by the clock take: of the case that runs, and of those after it.
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
            own: 0,
            case: String::new(),
            phase: String::new(),
            part: 0.0,
            case_begun: now,
            by_clock: false,
            phase_begun: now,
            here: None,
            timed: [Duration::ZERO; 2],
            spoken: now,
        };
        Self { printer, bar, begun: now, state: Mutex::new(state) }
    }

    /// More or fewer cases are expected now than before, and another time for all of them.
    pub(crate) fn expect(&self, cases: usize, estimate: Duration) {
        let mut state = self.lock();
        (state.cases, state.estimate) = (cases, estimate);
        if let Some(bar) = &self.bar {
            bar.set_length(cases as u64 * STEPS_A_CASE);
        }
    }

    /// So many cases are done already.
    pub(crate) fn skip(&self, cases: usize) {
        self.lock().skipped = cases;
    }

    /// A case begins. `number` counts from 1; cases that a resumed run need not do again may be
    /// skipped by it.
    pub(crate) fn case_started(&self, number: usize, id: &str) {
        let mut state = self.lock();
        state.finished = number.saturating_sub(1);
        state.case = one_line(id).into_owned();
        state.phase.clear();
        state.part = 0.0;
        (state.case_begun, state.by_clock) = (Instant::now(), false);
        self.show(&state, "starting");
    }

    /// So long phases that end by the clock take in the cases after the one that runs.
    pub(crate) fn timed_after(&self, left: Duration) {
        let mut state = self.lock();
        (state.timed, state.here) = ([Duration::ZERO, left], None);
    }

    /// So long they still take in the one that runs: later phases, and the one that runs where the
    /// clock ends it.
    pub(crate) fn timed_here(&self, later: Duration, here: Option<Duration>) {
        let mut state = self.lock();
        (state.timed[0], state.here) = (later, here);
        state.by_clock |= here.is_some() || !later.is_zero();
    }

    /// Where the running case stands: `done` of `total`, at `per_s`.
    pub(crate) fn phase(&self, name: &str, done: u64, total: Option<u64>, per_s: Option<f64>) {
        let mut state = self.lock();
        if state.phase != name {
            state.phase_begun = Instant::now();
        }
        name.clone_into(&mut state.phase);
        let share = total.filter(|total| *total > 0).map(|total| done as f64 / total as f64);
        state.part = share.unwrap_or(0.0).clamp(0.0, 1.0);
        let mut words = one_line(name).into_owned();
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

    /// Something is wrong with the running case.
    pub(crate) fn warn(&self, text: &str) {
        self.printer.warning(&one_line(text));
    }

    /// A case is over: how, and its main figure.
    pub(crate) fn case_finished(&self, id: &str, outcome: &str, headline: &str) {
        let mut state = self.lock();
        state.finished += 1;
        state.own += 1;
        (state.part, state.by_clock) = (0.0, false);
        (state.timed[0], state.here) = (Duration::ZERO, None);
        let headline =
            if headline.is_empty() { String::new() } else { format!(": {}", one_line(headline)) };
        let left = if self.bar.is_some() { String::new() } else { self.left(&state) };
        let counted = counted(&state, state.finished);
        let text = format!("{counted} {} {outcome}{headline}{left}", one_line(id));
        state.spoken = Instant::now();
        drop(state);
        self.printer.note(&text);
    }

    fn show(&self, state: &State, words: &str) {
        let Some(bar) = &self.bar else { return };
        bar.set_position(((state.finished as f64 + of_case(state)) * STEPS_A_CASE as f64) as u64);
        bar.set_message(self.line(state, words));
    }

    fn line(&self, state: &State, words: &str) -> String {
        let counted = counted(state, state.finished + 1);
        format!("{counted} {}: {words}{}", state.case, self.left(state))
    }

    /// `, 3m20s left`.
    fn left(&self, state: &State) -> String {
        if state.finished >= state.cases {
            return String::new();
        }
        let Share { of_all, done } = Share::from_state(state);
        let left = time_left(self.begun.elapsed(), state.estimate.mul_f64(of_all), done);
        let left = left.max(left_here(state) + state.timed[1]);
        match left.as_secs() {
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

fn counted(state: &State, number: usize) -> String {
    let width = state.cases.to_string().len();
    format!("[{:>width$}/{}]", number.min(state.cases), state.cases)
}

/// How much of the running case is done: by the time that it still takes, where the clock ends some
/// of its phases; else as much as of its phase.
fn of_case(state: &State) -> f64 {
    if !state.by_clock {
        return state.part;
    }
    let (gone, left) = (state.case_begun.elapsed().as_secs_f64(), left_here(state).as_secs_f64());
    if gone > 0.0 { gone / (gone + left) } else { 0.0 }
}

/// What the running case still takes: its phase, by the clock or at the pace so far, and later
/// phases that the clock ends.
fn left_here(state: &State) -> Duration {
    let by_pace = || {
        let part = if state.part > 0.0 { state.part } else { 1.0 };
        state.phase_begun.elapsed().mul_f64(1.0 / part - 1.0)
    };
    state.timed[0] + state.here.unwrap_or_else(by_pace)
}

/// What this run does of all cases, and how much of that it has done.
struct Share {
    of_all: f64,
    done: f64,
}

impl Share {
    fn from_state(state: &State) -> Self {
        let own = state.cases.saturating_sub(state.skipped) as f64;
        let done = state.own as f64 + of_case(state);
        let over = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 1.0 };
        Self { of_all: over(own, state.cases as f64), done: over(done, own) }
    }
}

/// The plan's estimate in the beginning, more and more what was seen so far, and from a fifth of
/// the cases on that alone: plans are on the safe side.
fn time_left(elapsed: Duration, estimate: Duration, done: f64) -> Duration {
    let done = done.clamp(0.0, 1.0);
    let elapsed = elapsed.as_secs_f64();
    let seen = if done > 0.0 { elapsed / done } else { 0.0 };
    let trust = (done * 5.0).min(1.0);
    let whole = (1.0 - trust) * estimate.as_secs_f64() + trust * seen;
    Duration::from_secs_f64((whole - elapsed).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_terminal_each_case_is_a_line_with_the_time_left() {
        let (printer, captured) = Printer::captured();
        let progress = printer.progress(12, Duration::from_secs(240));
        progress.case_started(3, "0003_lmdb_t2_r1");
        progress.phase("measure", 0, None, None);
        progress.phase("measure", 1_500_000, None, Some(750_000.0));
        progress.case_finished("0003_lmdb_t2_r1", "done", "readers 750 k/s");
        let said = captured.err();
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(lines.len(), 1, "{said}");
        assert!(lines[0].starts_with("[ 3/12] 0003_lmdb_t2_r1 done: readers 750 k/s, "), "{said}");
        assert!(lines[0].ends_with(" left"), "{said}");
    }

    /// Six of twelve cases were done before: the others take half of what all were planned to.
    #[test]
    fn what_a_resumed_run_need_not_do_is_not_in_its_time_left() {
        let (printer, _) = Printer::captured();
        let progress = printer.progress(12, Duration::from_secs(240));
        progress.skip(6);
        progress.case_started(7, "0007_lmdb_t2_r1");
        let left = progress.left(&progress.lock());
        assert!([", 1m59s left", ", 2m left"].contains(&left.as_str()), "{left}");
        progress.case_finished("0007_lmdb_t2_r1", "done", "");
        let Share { of_all, done } = Share::from_state(&progress.lock());
        assert_eq!((of_all, done), (0.5, 1.0 / 6.0));
    }

    /// An hour's phase is an hour, whatever shares of cases say.
    #[test]
    fn what_ends_by_the_clock_is_left_in_full() {
        let (printer, _) = Printer::captured();
        let progress = printer.progress(2, Duration::from_secs(7400));
        progress.case_started(1, "0001_lmdb_load_r1");
        progress.timed_after(Duration::from_secs(7200));
        progress.case_finished("0001_lmdb_load_r1", "done", "");
        assert_eq!(progress.left(&progress.lock()), ", 2h left");
        progress.case_started(2, "0002_lmdb_t1_r1");
        progress.timed_after(Duration::ZERO);
        progress.timed_here(Duration::ZERO, Some(Duration::from_secs(5400)));
        assert_eq!(progress.left(&progress.lock()), ", 1h30m left");
    }

    /// The first of three windows of a case is not the case.
    #[test]
    fn a_phase_that_ends_is_not_the_case() {
        let (printer, _) = Printer::captured();
        let progress = printer.progress(3, Duration::from_secs(8000));
        progress.case_started(1, "0001_lmdb_t1_r1");
        progress.timed_after(Duration::from_secs(4800));
        progress.timed_here(Duration::from_secs(1600), Some(Duration::from_secs(8)));
        progress.phase("hours-w1", 99, Some(100), None);
        let late = Share::from_state(&progress.lock()).done;
        progress.timed_here(Duration::from_secs(800), Some(Duration::from_secs(792)));
        progress.phase("hours-w2", 1, Some(100), None);
        let early = Share::from_state(&progress.lock()).done;
        assert!(late <= early && early < 0.1, "{late}, then {early}");
    }

    /// A load and an audit end by their counts, a minute between them by the clock.
    #[test]
    fn phases_by_count_go_on_at_their_pace() {
        let (printer, _) = Printer::captured();
        let progress = printer.progress(1, Duration::from_secs(100));
        progress.case_started(1, "0001_lmdb_t1_r1");
        let at = |state: &mut State, gone: u64| {
            let begun = Instant::now().checked_sub(Duration::from_secs(gone)).unwrap();
            (state.case_begun, state.phase_begun) = (begun, begun);
        };
        progress.timed_here(Duration::from_secs(60), None);
        progress.phase("load", 10, Some(100), None);
        let mut state = progress.lock();
        at(&mut state, 100);
        let (left, done) = (left_here(&state).as_secs(), of_case(&state));
        assert!((955..=965).contains(&left), "{left}: 900 of the load, 60 after it");
        assert!((0.09..0.1).contains(&done), "{done}");
        drop(state);
        progress.timed_here(Duration::ZERO, None);
        progress.phase("audit", 50, Some(100), None);
        let mut state = progress.lock();
        at(&mut state, 30);
        assert!((29..=31).contains(&left_here(&state).as_secs()), "{:?}", left_here(&state));
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
