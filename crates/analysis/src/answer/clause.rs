//! One comparison in words.

use super::words::Words;
use crate::group::Group;
use crate::lists::list;
use crate::metric::Metric;
use crate::relative::{RelativeTo, Significance};
use kvdyno_record::units;

const ONE_TRIAL: &str = "one trial: no spread known";

/// An engine's figure, or why it has none.
pub(super) struct Standing<'s> {
    label: &'s str,
    figure: Result<Figure<'s>, String>,
    /// What became of trials without a figure.
    fate: Option<String>,
}

/// A figure that has a value, and whose it is.
#[derive(Clone, Copy)]
struct Figure<'s> {
    value: f64,
    group: &'s Group,
    metric: &'s Metric,
}

impl Figure<'_> {
    /// `12.3 k (11.9 k to 12.6 k)`.
    fn spread(&self) -> String {
        let spread = match (self.metric.n, self.metric.range()) {
            (2.., Some((low, high))) => format!("{} to {}", units::si(low), units::si(high)),
            _ => ONE_TRIAL.to_owned(),
        };
        format!("{} ({spread})", units::si(self.value))
    }
}

impl<'s> Standing<'s> {
    pub(super) fn new(label: &'s str, group: &'s Group, metric: Option<&'s Metric>) -> Self {
        let figure = metric.and_then(|metric| Some(Figure { value: metric.value?, group, metric }));
        let why = || {
            let missing = metric.and_then(|metric| metric.missing.clone());
            format!("has no figure: {}", missing.as_deref().unwrap_or("it was not measured"))
        };
        let fate = group.fate(figure.map_or(0, |figure| figure.metric.n));
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
                "undecided between {best} and {other}: {best} {verb} {} {noun} a second, \
                 {other} {}",
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
                "undecided between {}: {best} {verb} {} {noun} a second",
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
    let time = |figure: &Figure<'_>| units::duration(figure.value as u64);
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
) -> (Vec<(&str, Figure<'_>)>, String) {
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

fn compared(best: &Figure<'_>, other: &Figure<'_>) -> Compared {
    if other.value <= 0.0 {
        return Compared::None;
    }
    let trials = best.metric.n.min(other.metric.n);
    let beside = RelativeTo::between("", (other.group, other.metric), (best.group, best.metric));
    let Some(beside) = beside else {
        let ratio = best.value / other.value;
        return Compared::Unsure(times(ratio, ratio), "no trials to compare".to_owned());
    };
    let ratio = beside.ratio;
    match beside.verdict {
        Significance::NotDistinguishable => Compared::Same,
        _ if trials < 2 => Compared::Unsure(times(ratio, ratio), ONE_TRIAL.to_owned()),
        Significance::SpreadUnknown => {
            let why = format!("{trials} trials: too few to be sure");
            Compared::Unsure(times(ratio, ratio), why)
        }
        Significance::Base | Significance::Different => {
            let range = beside.low.zip(beside.high).map_or_else(String::new, |(low, high)| {
                format!(" ({} to {})", times(low, ratio), times(high, ratio))
            });
            Compared::Times(format!("{}{range}", times(ratio, ratio)))
        }
    }
}

fn is_same(best: &Figure<'_>, other: &Figure<'_>) -> bool {
    matches!(compared(best, other), Compared::Same)
}

/// `1.9 (1.7 to 2.1) times A and 3 (2 to 4) times B; undecided against C and D`.
fn beside(best: &Figure<'_>, others: &[(&str, Figure<'_>)]) -> String {
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
        (same, "undecided against ".to_owned(), String::new()),
        (idle, String::new(), ": none".to_owned()),
    ];
    let clauses = clauses.into_iter().filter(|(those, ..)| !those.is_empty());
    let clauses: Vec<String> =
        clauses.map(|(those, before, after)| format!("{before}{}{after}", list(&those))).collect();
    clauses.join("; ")
}

/// With as many digits as `scale` is said with: two are enough, three where it is close.
pub(super) fn times(ratio: f64, scale: f64) -> String {
    match scale {
        ..1.995 => format!("{ratio:.2}"),
        ..9.95 => format!("{ratio:.1}"),
        ..999.5 => format!("{ratio:.0}"),
        _ => units::grouped(ratio.min(u64::MAX as f64) as u64),
    }
}
