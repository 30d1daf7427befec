//! An answer in sentences: where the edge is, what fails beyond it, and how certain that is.

use super::result::{Condition, Outcome, Point, SearchResult};
use crate::figures::lists::list;
use crate::stats::median;
use kvdyno_record::search::Axis;
use kvdyno_record::units;

/// A cache that grows by more than this share of the database during the measurement is not full.
const FILLING: f64 = 0.05;

/// Data fits in memory where the limit is this factor of its keys and values.
const FITS: f64 = 1.3;

impl SearchResult {
    /// A point's result: `512 MiB meets it in 3 of 3 trials: p99 880 us, reads 61 k/s`.
    pub fn describe_point(&self, point: &Point) -> String {
        let value_text =
            point.value.map_or_else(|| "as fast as it goes".to_owned(), |v| self.format_value(v));
        if let Some(why) = &point.void {
            return format!("{value_text} cannot be judged: {why}");
        }
        if let Some(why) = &point.stopped {
            return format!("{value_text} must be measured again: {why}");
        }
        let how = if point.met == point.trials { "meets" } else { "does not meet" };
        let (number, total) = match point.met {
            met if met == point.trials => (met, point.trials),
            met => (point.trials - met, point.trials),
        };
        let mut what: Vec<String> = Vec::new();
        for (condition, values) in self.conditions.iter().zip(&point.figures) {
            let middle = median(&values.iter().flatten().copied().collect::<Vec<_>>());
            what.extend(middle.map(|value| {
                format!("{} {}", condition.about, condition.unit.format_value(value))
            }));
        }
        what.extend(point.whys.iter().cloned());
        format!("{value_text} {how} it in {number} of {total} trials: {}", what.join(", "))
    }

    /// A value of the axis in words: `512 MiB`, `43.2 k/s`.
    pub fn format_value(&self, value: u64) -> String {
        match self.axis {
            Axis::Ram => units::bytes_in_words(value),
            Axis::Rate { .. } => units::rate(value as f64),
        }
    }
}

/// The value in the syntax of `--between`.
fn format_between_value(axis: &Axis, value: u64) -> String {
    match axis {
        Axis::Ram => units::exact_bytes(value),
        Axis::Rate { .. } => value.to_string(),
    }
}

/// All sentences, the answer first.
pub(super) fn sentences(answer: &SearchResult) -> Vec<String> {
    let mut all = vec![result_sentence(answer)];
    let goes_on = !answer.sealed;
    match answer.result {
        Outcome::Open => {}
        Outcome::Stopped => all.push("Earlier measurements are valid.".to_owned()),
        Outcome::Never { easiest } => all.push(never_met_advice(answer, easiest)),
        Outcome::Always { hardest } => all.push(always_met_advice(answer, hardest)),
        Outcome::Between { met, missed, surely_missed, close } => {
            all.push(interval(answer, met, missed, surely_missed));
            if let Some((place_text, why)) = stopping_point(answer).filter(|_| !close) {
                all.push(format!(
                    "It is not within {}: the search had to stop {place_text}: {why}.",
                    units::percent(answer.within)
                ));
            } else if !close && !goes_on {
                all.push(format!(
                    "The search ended before it was within {}: `--between {}..{}` continues from \
                     here.",
                    units::percent(answer.within),
                    format_between_value(&answer.axis, met.min(surely_missed.unwrap_or(missed))),
                    format_between_value(&answer.axis, met.max(surely_missed.unwrap_or(missed))),
                ));
            }
        }
    }
    let ended = match answer.result {
        Outcome::Open | Outcome::Stopped => false,
        Outcome::Between { close, .. } => close,
        Outcome::Never { .. } | Outcome::Always { .. } => true,
    };
    if !ended && goes_on {
        let run = &answer.run;
        all.push(format!("The search is not complete: `kvdyno resume {run}` continues it."));
    }
    if let Outcome::Between { met, .. } | Outcome::Always { hardest: met } = answer.result {
        all.extend(answer.point(met).map(confidence));
    }
    all.extend(filling(answer));
    if !answer.contradictions.is_empty() {
        let values: Vec<String> =
            answer.contradictions.iter().map(|value| answer.format_value(*value)).collect();
        let (easier, harder) = match answer.axis {
            Axis::Ram => ("more", "less"),
            Axis::Rate { .. } => ("a lower rate", "a higher one"),
        };
        all.push(format!(
            "Not monotonic: {} met it although {easier} did not, but a search assumes that where \
             {harder} meets it, {easier} does, too. The interval covers all of these; more trials \
             or longer phases would narrow it.",
            list(&values)
        ));
    }
    all
}

fn result_sentence(answer: &SearchResult) -> String {
    let SearchResult { engine, target, .. } = answer;
    let words = |value: u64| answer.format_value(value);
    let (with, suffix) = axis_words(answer);
    match answer.result {
        Outcome::Open | Outcome::Stopped => match stopping_point(answer) {
            Some((place_text, why)) => {
                format!("{engine}: the search of `{target}` had to stop {place_text}: {why}.")
            }
            None => format!("{engine}: it is unknown yet where `{target}` stops being met."),
        },
        Outcome::Never { easiest } => format!(
            "{engine} does not meet `{target}`, not even {with} {} {suffix}{}.",
            words(easiest),
            describe_failures(answer, easiest)
        ),
        Outcome::Always { hardest } => format!(
            "{engine} meets `{target}` even {with} {} {suffix}, the {} that was tried.",
            words(hardest),
            match answer.axis {
                Axis::Ram => "least",
                Axis::Rate { .. } => "most",
            }
        ),
        Outcome::Between { met, missed, .. } => format!(
            "{engine} meets `{target}` {with} {} {suffix}{}, and does not {with} {}{}.",
            words(met),
            share_of_data(answer, met),
            words(missed),
            describe_failures(answer, missed)
        ),
    }
}

/// The words before and after a value of the axis.
fn axis_words(answer: &SearchResult) -> (&'static str, String) {
    match &answer.axis {
        Axis::Ram => ("with", "of RAM".to_owned()),
        Axis::Rate { role } => ("at", format!("offered to {role}")),
    }
}

/// The point at which the search stopped, and why.
fn stopping_point(answer: &SearchResult) -> Option<(String, &str)> {
    let mut points = answer.points.iter().chain(&answer.fastest);
    let (point, why) = points
        .find_map(|point| Some((point, point.void.as_deref().or(point.stopped.as_deref())?)))?;
    let (with, suffix) = axis_words(answer);
    let place_text = point.value.map_or_else(
        || "as fast as it goes".to_owned(),
        |value| format!("{with} {} {suffix}", answer.format_value(value)),
    );
    Some((place_text, why))
}

/// ` (0.48 x its data)`.
fn share_of_data(answer: &SearchResult, bytes: u64) -> String {
    match answer.axis {
        Axis::Ram if answer.user_bytes > 0 => {
            format!(" ({:.2} x its data)", bytes as f64 / answer.user_bytes as f64)
        }
        _ => String::new(),
    }
}

/// ` in 2 of 3 trials: p99 1.31 ms (1.20 ms to 1.44 ms)`.
fn describe_failures(answer: &SearchResult, value: u64) -> String {
    let Some(point) = answer.point(value) else { return String::new() };
    let mut what: Vec<String> = answer
        .conditions
        .iter()
        .zip(&point.figures)
        .filter(|(condition, values)| {
            values.iter().flatten().any(|value| !condition.is_met(*value))
        })
        .filter_map(|(condition, values)| {
            Some(format!("{} {}", condition.about, format_spread(condition, values)?))
        })
        .collect();
    what.extend(point.whys.iter().map(|why| match why.as_str() {
        "does not fit" => "it does not fit".to_owned(),
        why => why.to_owned(),
    }));
    let votes = match point.met {
        0 => String::new(),
        met => format!(" in {} of {} trials", point.trials - met, point.trials),
    };
    if what.is_empty() { votes } else { format!("{votes}: {}", what.join(", ")) }
}

/// `1.31 ms (1.20 ms to 1.44 ms)`: the median of the trials that have a figure, and their range.
pub fn format_spread(condition: &Condition, values: &[Option<f64>]) -> Option<String> {
    let values: Vec<f64> = values.iter().flatten().copied().collect();
    let middle = median(&values)?;
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(0.0, f64::max);
    let [middle, low, high] = [middle, low, high].map(|value| condition.unit.format_value(value));
    Some(if low == high { middle } else { format!("{middle} ({low} to {high})") })
}

fn interval(answer: &SearchResult, met: u64, missed: u64, surely_missed: Option<u64>) -> String {
    let words = |value: u64| answer.format_value(value);
    let what = match answer.axis {
        Axis::Ram => "The least RAM",
        Axis::Rate { .. } => "The highest rate",
    };
    let apart = |one: u64, other: u64| {
        let ratio = one.max(other) as f64 / one.min(other).max(1) as f64;
        units::percent(ratio - 1.0)
    };
    match surely_missed {
        Some(clear) if clear == missed => format!(
            "{what} lies between {} and {}, {} apart{}.",
            words(met.min(missed)),
            words(met.max(missed)),
            apart(met, missed),
            match answer.point(met) {
                Some(point) if point.trials > 1 => ": all trials agree on either side",
                _ => "",
            }
        ),
        Some(clear) => format!(
            "The edge is not sharp: {}. The answer is the interval between {} and {}, {} apart.",
            disagreeing(answer),
            words(met.min(clear)),
            words(met.max(clear)),
            apart(met, clear)
        ),
        None => format!(
            "The edge is not sharp: {}, and some met it even at the {} that was tried.",
            disagreeing(answer),
            match answer.axis {
                Axis::Ram => "least RAM",
                Axis::Rate { .. } => "highest rate",
            }
        ),
    }
}

/// The points at which trials disagree, or a note that points contradict each other.
fn disagreeing(answer: &SearchResult) -> String {
    let mixed = answer.points.iter().filter(|point| point.met > 0 && point.met < point.trials);
    let values: Vec<String> =
        mixed.filter_map(|point| Some(answer.format_value(point.value?))).collect();
    if values.is_empty() {
        "points contradict each other".to_owned()
    } else {
        format!("trials disagree at {}", list(&values))
    }
}

fn never_met_advice(answer: &SearchResult, easiest: u64) -> String {
    let doubled = format_between_value(&answer.axis, easiest.saturating_mul(4));
    let from = format_between_value(&answer.axis, easiest);
    let measured = |point: &Point| point.figures.iter().flatten().any(Option::is_some);
    let ran = answer.point(easiest).is_some_and(measured);
    match answer.axis {
        Axis::Ram if ran && easiest as f64 >= FITS * answer.user_bytes as f64 => format!(
            "That is {:.1} x its data, so more RAM does not help: try fewer threads, other \
             options, a faster drive or an easier target.",
            easiest as f64 / answer.user_bytes.max(1) as f64
        ),
        Axis::Ram => format!("`--between {from}..{doubled}` searches above."),
        Axis::Rate { .. } => format!(
            "`--between {}..{from}` searches below; a lower rate does not help a latency that is \
             missed at nearly no load. A busy machine misses it with any engine: `--engine null` \
             with the same options shows what is the machine's own.",
            format_between_value(&answer.axis, (easiest / 16).max(1))
        ),
    }
}

fn always_met_advice(answer: &SearchResult, hardest: u64) -> String {
    let hardest_text = format_between_value(&answer.axis, hardest);
    match answer.axis {
        Axis::Ram => {
            format!(
                "`--between {}..{hardest_text}` searches below.",
                format_between_value(&answer.axis, hardest / 4)
            )
        }
        Axis::Rate { .. } => {
            let above = format_between_value(&answer.axis, hardest.saturating_mul(4));
            format!("`--between {hardest_text}..{above}` searches above.")
        }
    }
}

/// The confidence from n of n: if a trial meets it with probability p, n in a row do with p^n,
/// which is 5 % or more from p = 0.05^(1/n) on.
fn confidence(point: &Point) -> String {
    let at_least = |n: u32| 0.05_f64.powf(1.0 / f64::from(n.max(1)));
    let share = |n: u32| format!("{:.0} %", 100.0 * at_least(n));
    let n = point.trials;
    let more = if n < 10 { format!("; 10 of 10 would show {}", share(10)) } else { String::new() };
    let all = if n == 1 { "The one trial".to_owned() } else { format!("All of {n} trials") };
    format!(
        "{all} met it there: with 95 % confidence, at least {} of all trials \
         would{more}.",
        share(n)
    )
}

/// Points whose page cache was still growing.
fn filling(answer: &SearchResult) -> Option<String> {
    let grew = |point: &&Point| point.cached_more.is_some_and(|share| share > FILLING);
    let mut values = answer.points.iter().filter(grew).filter_map(|point| point.value).peekable();
    values.peek()?;
    let values: Vec<String> = values.map(|value| answer.format_value(value)).collect();
    Some(format!(
        "The page cache was still filling at {}: a longer warmup, or a longer phase before it \
         (`fill`), would change the result.",
        list(&values)
    ))
}

impl Condition {
    /// Whether a value keeps the bound.
    pub fn is_met(&self, value: f64) -> bool {
        self.unit.meets_bound(self.inclusive, self.bound, value)
    }
}
