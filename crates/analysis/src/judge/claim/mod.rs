//! The claims of a suite, judged by the record: a claim holds, does not hold, or cannot be judged
//! here.
//!
//! A claim is judged at every point that it covers, by the rule ([`crate::judge::rule`]): each
//! trial gives a value, and the interval of their mean lies within the bounds, outside of them, or
//! across one. It holds if it holds at every point, and does not if it fails at one. A claim that
//! one thing is larger than another does not hold where they are equal.

mod cells;
#[cfg(test)]
mod tests;

use crate::figures::Figures;
use crate::figures::catalogue;
use crate::figures::group::Group;
use crate::judge::rule::{self, Bounded, LEAST, Scale, more_in_words};
use cells::CellMatch;
use kvdyno_record::claim::{Bound, Claim, Need, Relation, Side, Test};
use kvdyno_record::units;
use schemars::JsonSchema;
use serde::Serialize;

/// A claim with its verdict.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Claimed {
    /// The sentence.
    pub text: String,
    /// The condition, as the suite has it.
    pub holds: String,
    /// The verdict.
    pub verdict: ClaimVerdict,
    /// Why it cannot be judged, or where it does not hold; null: no reason needed.
    pub reason: Option<String>,
    /// Every point at which it was judged.
    pub points: Vec<ClaimPoint>,
    /// The condition, parsed.
    #[serde(skip)]
    pub(crate) relation: Relation,
}

/// The verdict on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClaimVerdict {
    /// It holds at every point.
    Holds,
    /// It does not hold at one point at least.
    DoesNotHold,
    /// It was not measured, or not often enough.
    Undecided,
}

/// A point in the dimensions that a claim leaves open.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ClaimPoint {
    /// Its name: `#4`, `@flash #4`; empty: there is only one.
    pub label: String,
    /// The judged value; where other cells are the bound, its ratio to theirs.
    pub value: Option<f64>,
    /// Lower end of its 99 % interval; null: too few trials.
    pub low: Option<f64>,
    /// Upper end of the same interval.
    pub high: Option<f64>,
    /// Trials that have all of its figures.
    pub trials: usize,
    /// The verdict at this point.
    pub verdict: ClaimVerdict,
    /// About how many more trials would decide; null: it is decided, none would, or over 1,000.
    pub more_trials: Option<usize>,
    /// Why it cannot be judged, or that both sides are equal; null: no reason needed.
    pub reason: Option<String>,
    /// The engines of its cells, by their labels.
    #[serde(skip)]
    pub(crate) labels: Vec<String>,
}

impl ClaimVerdict {
    /// The words for a table.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::DoesNotHold => "does not hold",
            Self::Undecided => "undecided",
        }
    }
}

impl Claimed {
    /// The smallest and the largest value over all points.
    pub fn values(&self) -> Option<(f64, f64)> {
        let values = || self.points.iter().filter_map(|point| point.value);
        Some((values().reduce(f64::min)?, values().reduce(f64::max)?))
    }

    /// The unit of its values; none: they are ratios.
    pub fn unit(&self) -> Option<&'static str> {
        let is_ratio =
            matches!(self.relation.test, Test::Above(Bound::Side(_)) | Test::Below(Bound::Side(_)));
        let (Side::Figure(cell) | Side::Difference(cell, _)) = &self.relation.left else {
            return None;
        };
        let definition = catalogue::ALL.iter().find(|definition| definition.name == cell.figure);
        definition.filter(|_| !is_ratio).map(|definition| definition.unit)
    }
}

/// Every claim of a suite, judged.
pub fn judge(claims: &[Claim], figures: &Figures) -> Vec<Claimed> {
    claims.iter().map(|claim| judge_claim(claim, figures)).collect()
}

/// `11 of 40 claims decided`; none: there are none.
pub fn format_decided(claims: &[Claimed]) -> Option<String> {
    let decided = claims.iter().filter(|claim| claim.verdict != ClaimVerdict::Undecided).count();
    let all = claims.len();
    (all > 0).then(|| format!("{decided} of {all} claims decided"))
}

/// The engines of points at which further trials may decide a claim, by their labels.
pub fn open_labels(claims: &[Claimed]) -> impl Iterator<Item = &str> {
    let open = |verdict: ClaimVerdict| verdict == ClaimVerdict::Undecided;
    let points =
        claims.iter().filter(move |claim| open(claim.verdict)).flat_map(|claim| &claim.points);
    let measured = points.filter(move |point| open(point.verdict) && point.value.is_some());
    measured.flat_map(|point| point.labels.iter().map(String::as_str))
}

fn judge_claim(claim: &Claim, figures: &Figures) -> Claimed {
    let claimed = |verdict, why, points| Claimed {
        text: claim.text.clone(),
        holds: claim.holds.clone(),
        verdict,
        reason: why,
        points,
        relation: claim.relation.clone(),
    };
    if let Some(why) = claim.needs.iter().find_map(|need| find_lack(need, figures)) {
        return claimed(ClaimVerdict::Undecided, Some(why), Vec::new());
    }
    let matches = match cells::points(&claim.relation.cells(), &figures.groups) {
        Ok(matches) => matches,
        Err(why) => return claimed(ClaimVerdict::Undecided, Some(why), Vec::new()),
    };
    let points: Vec<ClaimPoint> =
        matches.iter().map(|(name, cells)| point(&claim.relation, name, cells)).collect();
    let with_verdict = |verdict| points.iter().filter(move |point| point.verdict == verdict);
    let (against, open) =
        (with_verdict(ClaimVerdict::DoesNotHold), with_verdict(ClaimVerdict::Undecided));
    let labels: Vec<&str> = against.clone().map(|point| point.label.as_str()).collect();
    let (verdict, why) = if let Some(first) = against.clone().next() {
        let label = first.label.as_str();
        let prefix = if label.is_empty() { "" } else { " at " };
        let why = match (labels.len(), points.len()) {
            (_, 1) => first.reason.clone(),
            (n, all) if n == all => Some(format!("at none of {all} points")),
            (1, _) => Some(format!("not{prefix}{label}")),
            (n, all) => Some(format!("not at {n} of {all} points: {}", labels.join(", "))),
        };
        (ClaimVerdict::DoesNotHold, why)
    } else if let Some(first) = open.clone().next() {
        let prefix =
            if first.label.is_empty() { String::new() } else { format!("{}: ", first.label) };
        let why = first.reason.as_ref().map(|why| format!("{prefix}{why}"));
        (ClaimVerdict::Undecided, why)
    } else {
        (ClaimVerdict::Holds, None)
    };
    claimed(verdict, why, points)
}

/// One point: the figures of all cells, from the trials that all of them have.
fn point(relation: &Relation, name: &str, cells: &[CellMatch<'_>]) -> ClaimPoint {
    let mut point = ClaimPoint {
        label: name.to_owned(),
        value: None,
        low: None,
        high: None,
        trials: 0,
        verdict: ClaimVerdict::Undecided,
        more_trials: None,
        reason: None,
        labels: cells.iter().map(|cell| cell.group.label.clone()).collect(),
    };
    if let Some(why) = cells.iter().find_map(CellMatch::missing) {
        point.reason = Some(why);
        return point;
    }
    let of_trial = |number: &u32| -> Option<f64> {
        let figures: Option<Vec<f64>> =
            cells.iter().map(|cell| cell.values.get(number).copied()).collect();
        Some(value(relation, &figures?))
    };
    let values: Vec<f64> = cells[0].values.keys().filter_map(of_trial).collect();
    point.trials = values.len();
    let scale = if is_difference(relation) { Scale::Differences } else { Scale::Ratios };
    let within = compares_two_sides(relation).then_some(cells[0].group.within);
    let Some(judged) = rule::judge_bounds(&values, bounds(relation), scale, within) else {
        point.reason = Some("the base is 0, or no trial has all its figures".to_owned());
        return point;
    };
    point.value = Some(judged.value);
    (point.low, point.high) = judged.interval.unzip();
    point.more_trials = judged.more;
    point.verdict = match judged.inside {
        Some(true) => ClaimVerdict::Holds,
        Some(false) => ClaimVerdict::DoesNotHold,
        None => ClaimVerdict::Undecided,
    };
    point.reason = reason(&judged, point.trials, cells);
    point
}

/// Why a point is undecided, or that both sides are equal; none: neither is so.
fn reason(judged: &Bounded, trials: usize, cells: &[CellMatch<'_>]) -> Option<String> {
    let more = more_in_words(judged.more, "trial");
    match judged {
        Bounded { equal: true, .. } => {
            Some(format!("equal within {}", units::percent(cells[0].group.within)))
        }
        Bounded { inside: Some(_), .. } => None,
        Bounded { interval: None, .. } => {
            let incomplete = cells.iter().find_map(CellMatch::incomplete);
            let why = || format!("expected {LEAST} trials, found {trials}");
            Some(incomplete.unwrap_or_else(why))
        }
        _ => Some(format!("its interval lies across a bound: {more} would decide")),
    }
}

/// The value that is compared with the bounds: the left side, over the right one if that has cells.
fn value(relation: &Relation, figures: &[f64]) -> f64 {
    let mut figures = figures.iter().copied();
    let left = relation.left.value(&mut figures);
    match &relation.test {
        Test::Above(Bound::Side(side)) | Test::Below(Bound::Side(side)) => {
            let right = side.value(&mut figures);
            match (is_less(&relation.left), is_less(side)) {
                (false, false) => left / right,
                // A difference may be 0 or below.
                _ => left - right,
            }
        }
        _ => left,
    }
}

/// Whether a relation states which of two things is larger: they may be equal.
fn compares_two_sides(relation: &Relation) -> bool {
    let (Test::Above(bound) | Test::Below(bound)) = &relation.test else { return false };
    match (&relation.left, bound) {
        (_, Bound::Side(_)) => !is_difference(relation),
        (Side::Ratio(..), Bound::Number(number)) => (number - 1.0).abs() < f64::EPSILON,
        _ => false,
    }
}

fn is_less(side: &Side) -> bool {
    matches!(side, Side::Difference(..))
}

fn is_difference(relation: &Relation) -> bool {
    let right = match &relation.test {
        Test::Above(Bound::Side(side)) | Test::Below(Bound::Side(side)) => is_less(side),
        _ => false,
    };
    is_less(&relation.left) || right
}

/// The bounds of the value.
fn bounds(relation: &Relation) -> (f64, f64) {
    let number = |bound: &Bound| match bound {
        Bound::Number(number) => *number,
        Bound::Side(_) if is_difference(relation) => 0.0,
        Bound::Side(_) => 1.0,
    };
    match &relation.test {
        Test::Within { low, high } => (*low, *high),
        Test::Above(bound) => (number(bound), f64::INFINITY),
        Test::Below(bound) => (f64::NEG_INFINITY, number(bound)),
    }
}

/// The requirement of a claim that the record does not meet.
fn find_lack(need: &Need, figures: &Figures) -> Option<String> {
    let host = &figures.host.machine;
    let has = |matches: &dyn Fn(&Group) -> bool| {
        figures.groups.iter().any(|group| matches(group) && group.trials.iter().any(|t| t.done))
    };
    let not = |what: &str, name: &str| Some(format!("{what} {name} was not measured"));
    match need {
        Need::Engine(name) if !has(&|group| group.is_called(name)) => not("engine", name),
        Need::Volume(name) if !has(&|group| group.volume.as_ref() == Some(name)) => {
            not("volume", name)
        }
        Need::Part(name) if !has(&|group| group.part.as_ref() == Some(name)) => not("part", name),
        Need::Tier(name) if !has(&|group| group.tier_name.as_ref() == Some(name)) => {
            not("tier", name)
        }
        Need::Threads(n) if !has(&|group| group.threads >= Some(*n)) => {
            Some(format!("no point with {n} threads was measured"))
        }
        Need::Cpus(n) if host.cpus < *n => {
            Some(format!("expected {n} processors, found {}", host.cpus))
        }
        Need::Memory(bytes) if host.memory_bytes < *bytes => {
            let [needed, memory] = [*bytes, host.memory_bytes].map(units::bytes);
            Some(format!("expected {needed} of memory, found {memory}"))
        }
        Need::DataToRam(n) => {
            let ratio = |group: &Group| {
                let ram = group.ram_limit_bytes.unwrap_or(host.memory_bytes).max(1);
                group.user_bytes as f64 / ram as f64
            };
            let most = figures.groups.iter().filter(|group| group.competes()).map(ratio);
            let most = most.fold(0.0, f64::max);
            // Limits are rounded to pages.
            let lacks = most < f64::from(*n) * 0.99;
            lacks.then(|| format!("expected data of {n} times the RAM, found {most:.1}"))
        }
        _ => None,
    }
}
