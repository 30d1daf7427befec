//! One comparison in words.

use super::words::Words;
use crate::group::Group;
use crate::lists::list;
use crate::metric::Metric;
use crate::stats::MIN_TRIALS;
use kvdyno_record::units;

const ONE_TRIAL: &str = "one trial: no spread known";

/// An engine's figure, or why it has none.
pub(super) struct Standing<'s> {
    label: &'s str,
    figure: Result<Median, String>,
    /// What became of trials without a figure.
    fate: Option<String>,
}

#[derive(Clone, Copy)]
struct Median {
    value: f64,
    range: (f64, f64),
    n: usize,
}

impl Median {
    /// `12.3 k (11.9 k to 12.6 k)`.
    fn spread(&self) -> String {
        let (low, high) = self.range;
        let spread = match self.n {
            0 | 1 => ONE_TRIAL.to_owned(),
            _ => format!("{} to {}", units::si(low), units::si(high)),
        };
        format!("{} ({spread})", units::si(self.value))
    }
}

impl<'s> Standing<'s> {
    pub(super) fn new(label: &'s str, group: &Group, metric: Option<&Metric>) -> Self {
        let figure = metric.and_then(|metric| {
            let value = metric.value?;
            Some(Median { value, range: metric.range().unwrap_or((value, value)), n: metric.n })
        });
        let why = || {
            let missing = metric.and_then(|metric| metric.missing.clone());
            format!("has no figure: {}", missing.as_deref().unwrap_or("it was not measured"))
        };
        let fate = group.fate(figure.map_or(0, |figure| figure.n));
        Self { label, figure: figure.ok_or_else(why), fate }
    }
}

/// `LMDB reads 2.1 (1.9 to 2.3) times as many keys a second as RocksDB`; none without a figure.
pub(super) fn rates(standings: Vec<Standing<'_>>, words: &Words) -> Option<String> {
    let (ranked, without) = ranked(standings, |a, b| b.total_cmp(&a));
    let Words { verb, noun } = words;
    // Where nobody did anything there is nothing to compare.
    ranked.first().filter(|(_, figure)| figure.value > 0.0)?;
    let ((best, figure), others) = ranked.split_first()?;
    let text = match others {
        [] => format!("{best} {verb} {} {noun} a second", figure.spread()),
        [(other, theirs)] => match compared(figure, theirs) {
            Compared::Same => format!(
                "no significant difference between {best} and {other}: {best} {verb} {} {noun} a \
                 second, {other} {}",
                figure.spread(),
                theirs.spread()
            ),
            Compared::None => {
                format!("{best} {verb} {} {noun} a second, {other} none", units::si(figure.value))
            }
            Compared::Times(times) => {
                format!("{best} {verb} {times} times as many {noun} a second as {other}")
            }
            Compared::Unsure(times, why) => {
                format!("{best} {verb} {times} times as many {noun} a second as {other} ({why})")
            }
        },
        several if several.iter().all(|(_, theirs)| is_same(figure, theirs)) => {
            let all: Vec<String> = ranked.iter().map(|(label, _)| (*label).to_owned()).collect();
            format!(
                "no significant difference between {}: {best} {verb} {} {noun} a second",
                list(&all),
                figure.spread()
            )
        }
        several => {
            format!("{best} {verb} the most {noun} a second: {}", beside(figure, several))
        }
    };
    Some(text + &without)
}

/// Who is surely ahead of all others.
pub(super) fn leader(standings: Vec<Standing<'_>>) -> Option<&str> {
    let (ranked, _) = ranked(standings, |a, b| b.total_cmp(&a));
    let [(best, figure), (_, second), ..] = ranked.as_slice() else { return None };
    matches!(compared(figure, second), Compared::Times(_)).then_some(*best)
}

/// `readers, target rate 2.00 k/s, have 99 % answered within 1.2 ms by LMDB and 3.4 ms by RocksDB`.
pub(super) fn responses(
    standings: Vec<Standing<'_>>,
    role: &str,
    offered: Option<f64>,
) -> Option<String> {
    let (ranked, without) = ranked(standings, |a, b| a.total_cmp(&b));
    if ranked.is_empty() {
        return None;
    }
    let time = |figure: &Median| units::duration(figure.value as u64);
    let each: Vec<String> =
        ranked.iter().map(|(label, figure)| format!("{} by {label}", time(figure))).collect();
    let (each, rate) =
        (list(&each), offered.map(|rate| format!(", target rate {},", units::rate(rate))));
    let rate = rate.unwrap_or_default();
    Some(format!("{role}{rate} have 99 % answered within {each}{without}"))
}

/// Those with figures, the best first; and the others in words.
fn ranked(
    standings: Vec<Standing<'_>>,
    order: impl Fn(f64, f64) -> std::cmp::Ordering,
) -> (Vec<(&str, Median)>, String) {
    let (mut ranked, mut without) = (Vec::new(), String::new());
    for standing in standings {
        match standing.figure {
            Ok(figure) => {
                ranked.push((standing.label, figure));
                if let Some(fate) = standing.fate {
                    without += &format!("; {} {fate}", standing.label);
                }
            }
            Err(why) => {
                let fate = standing.fate.unwrap_or(why);
                without += &format!("; {} {fate}", standing.label);
            }
        }
    }
    ranked.sort_by(|(_, a), (_, b)| order(a.value, b.value));
    (ranked, without)
}

enum Compared {
    Same,
    None,
    Times(String),
    /// How many times, and why that is not sure.
    Unsure(String, String),
}

fn compared(best: &Median, other: &Median) -> Compared {
    if other.value <= 0.0 {
        return Compared::None;
    }
    let ratio = best.value / other.value;
    let trials = best.n.min(other.n);
    if trials < 2 {
        return Compared::Unsure(times(ratio, ratio), ONE_TRIAL.to_owned());
    }
    if best.range.0 <= other.range.1 {
        return Compared::Same;
    }
    if trials < MIN_TRIALS {
        let why = format!("{trials} trials: too few to be sure");
        return Compared::Unsure(times(ratio, ratio), why);
    }
    let (low, high) = (best.range.0 / other.range.1, best.range.1 / other.range.0);
    let [middle, low, high] = [ratio, low, high].map(|value| times(value, ratio));
    Compared::Times(format!("{middle} ({low} to {high})"))
}

fn is_same(best: &Median, other: &Median) -> bool {
    matches!(compared(best, other), Compared::Same)
}

/// `1.9 (1.7 to 2.1) times A and 3 (2 to 4) times B; no significant difference from C and D`.
fn beside(best: &Median, others: &[(&str, Median)]) -> String {
    let (mut times, mut same, mut unsure, mut idle) = (vec![], vec![], vec![], vec![]);
    let mut reasons: Vec<String> = Vec::new();
    for (label, other) in others {
        match compared(best, other) {
            Compared::Same => same.push((*label).to_owned()),
            Compared::None => idle.push((*label).to_owned()),
            Compared::Times(more) => times.push(format!("{more} times {label}")),
            Compared::Unsure(more, why) => {
                unsure.push(format!("{more} times {label}"));
                reasons.push(why);
            }
        }
    }
    reasons.dedup();
    let clauses = [
        (times, String::new(), String::new()),
        (unsure, String::new(), format!(" ({})", reasons.join("; "))),
        (same, "no significant difference from ".to_owned(), String::new()),
        (idle, String::new(), ": none".to_owned()),
    ];
    let clauses = clauses.into_iter().filter(|(those, ..)| !those.is_empty());
    let clauses: Vec<String> =
        clauses.map(|(those, before, after)| format!("{before}{}{after}", list(&those))).collect();
    clauses.join("; ")
}

/// With as many digits as `scale` is said with: two are enough, three where it is close.
fn times(ratio: f64, scale: f64) -> String {
    match scale {
        ..1.995 => format!("{ratio:.2}"),
        ..9.95 => format!("{ratio:.1}"),
        ..999.5 => format!("{ratio:.0}"),
        _ => units::grouped(ratio.min(u64::MAX as f64) as u64),
    }
}
