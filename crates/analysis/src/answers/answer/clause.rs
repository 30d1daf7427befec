//! One comparison in words.

use super::words::Words;
use crate::figures::group::{Group, RoleRow};
use crate::figures::lists::{list, unique};
use crate::figures::metric::Metric;
use crate::figures::ratio::format_factor;
use crate::figures::relative::{NOT_COMPARABLE, RelativeTo, Significance};
use kvdyno_record::units;

const ONE_TRIAL: &str = "one trial: no spread known";

/// An engine's figure, or why it has none.
pub(super) struct Standing<'s> {
    label: &'s str,
    figure: Result<Figure<'s>, String>,
    /// The outcome of trials that have no figure.
    fate: Option<String>,
}

/// A figure that has a value.
#[derive(Clone, Copy)]
struct Figure<'s> {
    value: f64,
    group: &'s Group,
    metric: &'s Metric,
}

impl Figure<'_> {
    /// `12.3 k (11.9 k to 12.6 k)`.
    fn format_spread(&self) -> String {
        let spread = match (self.metric.n, self.metric.range()) {
            (2.., Some((low, high))) => format!("{} to {}", units::si(low), units::si(high)),
            _ => ONE_TRIAL.to_owned(),
        };
        format!("{} ({spread})", units::si(self.value))
    }
}

impl<'s> Standing<'s> {
    pub(super) fn new(label: &'s str, group: &'s Group, metric: Option<&'s Metric>) -> Self {
        if let Some(void) = group.describe_void() {
            return Self { label, figure: Err(format!("is {void}")), fate: None };
        }
        let figure = metric.and_then(|metric| Some(Figure { value: metric.value?, group, metric }));
        let why = || {
            let missing = metric.and_then(|metric| metric.missing.clone());
            format!("has no figure: {}", missing.as_deref().unwrap_or("it was not measured"))
        };
        let fate = group.describe_missing_figures(figure.map(|figure| figure.metric));
        Self { label, figure: figure.ok_or_else(why), fate }
    }
}

/// `LMDB reads 2.1 (1.9 to 2.3) times as many keys per second as RocksDB`; none without a figure.
pub(super) fn rates(standings: Vec<Standing<'_>>, words: &Words) -> Option<String> {
    let (ranked, without) = rank_standings(standings, |a, b| b.total_cmp(&a));
    let Words { verb, noun } = words;
    // Without any operation there is nothing to compare.
    ranked.first().filter(|(_, figure)| figure.value > 0.0)?;
    let ((best, figure), others) = ranked.split_first()?;
    let text = match others {
        [] => format!("{best} {verb} {} {noun} per second", figure.format_spread()),
        [(other, other_figure)] => match compare(figure, other_figure) {
            tied @ (Comparison::Equal | Comparison::Undecided) => format!(
                "{} {best} and {other}: {best} {verb} {} {noun} per second, {other} {}",
                tied.tie_phrase(),
                figure.format_spread(),
                other_figure.format_spread()
            ),
            Comparison::None => {
                format!("{best} {verb} {} {noun} per second, {other} none", units::si(figure.value))
            }
            Comparison::Times(times) => {
                format!("{best} {verb} {times} times as many {noun} per second as {other}")
            }
            Comparison::Unsure(times, why) => {
                format!("{best} {verb} {times} times as many {noun} per second as {other} ({why})")
            }
            Comparison::NotComparable(why) => format!(
                "{best} {verb} {} {noun} per second, {other} {}: {NOT_COMPARABLE} ({why})",
                figure.format_spread(),
                other_figure.format_spread()
            ),
        },
        several if several.iter().all(|(_, other_figure)| is_same(figure, other_figure)) => {
            let is_equal = |other| matches!(compare(figure, other), Comparison::Equal);
            let all_equal = several.iter().all(|(_, other_figure)| is_equal(other_figure));
            let tied = if all_equal { Comparison::Equal } else { Comparison::Undecided };
            let all: Vec<String> = ranked.iter().map(|(label, _)| (*label).to_owned()).collect();
            format!(
                "{} {}: {best} {verb} {} {noun} per second",
                tied.tie_phrase(),
                list(&all),
                figure.format_spread()
            )
        }
        several => {
            format!("{best} {verb} the most {noun} per second: {}", multiples(figure, several))
        }
    };
    Some(text + &without)
}

/// The engine that is significantly ahead of all others.
pub(super) fn leader(standings: Vec<Standing<'_>>) -> Option<&str> {
    let (ranked, _) = rank_standings(standings, |a, b| b.total_cmp(&a));
    let [(best, figure), others @ ..] = ranked.as_slice() else { return None };
    let is_behind = |other: &Figure<'_>| matches!(compare(figure, other), Comparison::Times(_));
    let leads = !others.is_empty() && others.iter().all(|(_, other)| is_behind(other));
    leads.then_some(*best)
}

/// `readers, offered rate 2.00 k/s, have 99 % answered within 1 ms by LMDB and 3 ms by RocksDB`.
pub(super) fn responses(
    standings: Vec<Standing<'_>>,
    role: &str,
    offered: Option<f64>,
) -> Option<String> {
    let (ranked, without) = rank_standings(standings, |a, b| a.total_cmp(&b));
    if ranked.is_empty() {
        return None;
    }
    let time = |figure: &Figure<'_>| units::duration(figure.value as u64);
    let each: Vec<String> =
        ranked.iter().map(|(label, figure)| format!("{} by {label}", time(figure))).collect();
    let (each, rate) =
        (list(&each), offered.map(|rate| format!(", offered rate {},", units::rate(rate))));
    let rate = rate.unwrap_or_default();
    Some(format!("{role}{rate} have 99 % answered within {each}{without}"))
}

/// `LMDB fell behind: 312/s`: the engines that did not keep the rate of a schedule.
pub(super) fn describe_behind(rows: &[(&str, &RoleRow)]) -> Option<String> {
    let rows = rows.iter().filter_map(|(label, row)| Some((*label, row.rate_behind()?)));
    let (labels, rates): (Vec<_>, Vec<_>) =
        rows.map(|(label, rate)| (label.to_owned(), units::rate(rate))).unzip();
    (!labels.is_empty()).then(|| format!("{} fell behind: {}", list(&labels), list(&rates)))
}

/// The entries with figures, the best first; and a clause for the others.
fn rank_standings(
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

enum Comparison {
    Equal,
    Undecided,
    None,
    Times(String),
    /// The factor, and why it is uncertain.
    Unsure(String, String),
    /// Why the two are not comparable.
    NotComparable(String),
}

impl Comparison {
    /// The words before the names of engines that are not told apart.
    fn tie_phrase(&self) -> &'static str {
        if matches!(self, Self::Equal) { "no difference between" } else { "undecided between" }
    }
}

fn compare(best: &Figure<'_>, other: &Figure<'_>) -> Comparison {
    if other.value <= 0.0 {
        return Comparison::None;
    }
    let trials = best.metric.n.min(other.metric.n);
    let relative = RelativeTo::between("", (other.group, other.metric), (best.group, best.metric));
    let Some(relative) = relative else {
        let ratio = best.value / other.value;
        return Comparison::Unsure(format_factor(ratio, ratio), "no trials to compare".to_owned());
    };
    let ratio = relative.ratio;
    if let Some(why) = relative.reason {
        return Comparison::NotComparable(why);
    }
    match relative.verdict {
        Significance::NotDistinguishable if relative.decided => Comparison::Equal,
        Significance::NotDistinguishable => Comparison::Undecided,
        _ if trials < 2 => Comparison::Unsure(format_factor(ratio, ratio), ONE_TRIAL.to_owned()),
        Significance::SpreadUnknown => {
            let why = format!("{trials} trials: too few to be sure");
            Comparison::Unsure(format_factor(ratio, ratio), why)
        }
        Significance::Base | Significance::Different => {
            let range = relative.low.zip(relative.high).map_or_else(String::new, |(low, high)| {
                format!(" ({} to {})", format_factor(low, ratio), format_factor(high, ratio))
            });
            Comparison::Times(format!("{}{range}", format_factor(ratio, ratio)))
        }
    }
}

fn is_same(best: &Figure<'_>, other: &Figure<'_>) -> bool {
    matches!(compare(best, other), Comparison::Equal | Comparison::Undecided)
}

/// `1.9 (1.7 to 2.1) times A and 3 (2 to 4) times B; undecided against C and D`.
fn multiples(best: &Figure<'_>, others: &[(&str, Figure<'_>)]) -> String {
    let (mut times, mut equal, mut undecided) = (vec![], vec![], vec![]);
    let (mut unsure, mut idle, mut apart) = (vec![], vec![], vec![]);
    let (mut whys, mut whys_apart) = (Vec::new(), Vec::new());
    for (label, other) in others {
        match compare(best, other) {
            Comparison::Equal => equal.push((*label).to_owned()),
            Comparison::Undecided => undecided.push((*label).to_owned()),
            Comparison::None => idle.push((*label).to_owned()),
            Comparison::Times(more) => times.push(format!("{more} times {label}")),
            Comparison::Unsure(more, why) => {
                unsure.push(format!("{more} times {label}"));
                whys.push(why);
            }
            Comparison::NotComparable(why) => {
                apart.push((*label).to_owned());
                whys_apart.push(why);
            }
        }
    }
    let join = |whys: Vec<String>| format!(" ({})", unique(whys).join("; "));
    let clauses = [
        (times, String::new(), String::new()),
        (unsure, String::new(), join(whys)),
        (equal, "equal to ".to_owned(), String::new()),
        (undecided, "undecided against ".to_owned(), String::new()),
        (apart, format!("{NOT_COMPARABLE} with "), join(whys_apart)),
        (idle, String::new(), ": none".to_owned()),
    ];
    let clauses = clauses.into_iter().filter(|(labels, ..)| !labels.is_empty());
    let clauses: Vec<String> = clauses
        .map(|(labels, before, after)| format!("{before}{}{after}", list(&labels)))
        .collect();
    clauses.join("; ")
}
