//! What a suite claims, held against the record: holds, does not hold, or cannot be told here.
//!
//! The rule. A claim is judged at every point that it speaks of, each trial's own figures against
//! each other. With four trials or more there is an interval: within the bounds it holds, outside
//! of them it does not, across one of them it cannot be told. With fewer there is none, and a claim
//! is judged only where its value is on one side of every bound by a factor of [`FAR`]. It holds
//! where it holds at every point, and does not where it does not at one.

mod cells;
#[cfg(test)]
mod tests;

use crate::group::Group;
use crate::stats::{MIN_TRIALS, estimate};
use crate::summary::Summary;
use cells::CellMatch;
use kvdyno_record::claim::{Bound, Claim, Need, Relation, Side, Test};
use kvdyno_record::units;
use schemars::JsonSchema;
use serde::Serialize;

/// With fewer than four trials this far off a bound is far: what two runs of one thing differ by is
/// less.
pub const FAR: f64 = 2.0;

/// A claim, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Claimed {
    /// The sentence.
    pub text: String,
    /// What must be so, as the suite has it.
    pub holds: String,
    /// What came of it.
    pub verdict: ClaimVerdict,
    /// Why it cannot be told, or where it does not hold; null: nothing is to be said.
    pub why: Option<String>,
    /// Every point at which it was judged.
    pub points: Vec<ClaimPoint>,
}

/// What came of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClaimVerdict {
    /// It does, at every point.
    Holds,
    /// At one point at least it does not.
    DoesNotHold,
    /// It was not measured, or not often enough.
    CannotTell,
}

/// A point of what the claim leaves open.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ClaimPoint {
    /// Which: `#4`, `@flash #4`; empty: there is one alone.
    pub at: String,
    /// What was looked at; where other cells are the bound, its ratio to what they come to.
    pub value: Option<f64>,
    /// Lower end of its 95 % interval; null: too few trials.
    pub low: Option<f64>,
    /// Upper end of it.
    pub high: Option<f64>,
    /// Trials that all of its figures have.
    pub trials: usize,
    /// What came of it here.
    pub verdict: ClaimVerdict,
    /// Why it cannot be told; null: it can.
    pub why: Option<String>,
}

impl ClaimVerdict {
    /// In a table.
    pub fn word(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::DoesNotHold => "does not hold",
            Self::CannotTell => "cannot tell here",
        }
    }
}

impl Claimed {
    /// What it comes to over all points: the least and the most of their values.
    pub fn values(&self) -> Option<(f64, f64)> {
        let values = || self.points.iter().filter_map(|point| point.value);
        Some((values().reduce(f64::min)?, values().reduce(f64::max)?))
    }
}

/// Every claim of a suite, judged.
pub fn judge(claims: &[Claim], summary: &Summary) -> Vec<Claimed> {
    claims.iter().map(|claim| judged(claim, summary)).collect()
}

fn judged(claim: &Claim, summary: &Summary) -> Claimed {
    let told = |verdict, why, points| Claimed {
        text: claim.text.clone(),
        holds: claim.holds.clone(),
        verdict,
        why,
        points,
    };
    if let Some(why) = claim.needs.iter().find_map(|need| lacking(need, summary)) {
        return told(ClaimVerdict::CannotTell, Some(why), Vec::new());
    }
    let found = match cells::points(&claim.relation.cells(), &summary.groups) {
        Ok(found) => found,
        Err(why) => return told(ClaimVerdict::CannotTell, Some(why), Vec::new()),
    };
    let points: Vec<ClaimPoint> =
        found.iter().map(|(at, found)| point(&claim.relation, at, found)).collect();
    let those = |verdict| points.iter().filter(move |point| point.verdict == verdict);
    let (against, open) = (those(ClaimVerdict::DoesNotHold), those(ClaimVerdict::CannotTell));
    let against: Vec<&str> = against.map(|point| point.at.as_str()).collect();
    let (verdict, why) = if let Some(first) = against.first() {
        let all = points.len();
        let n = against.len();
        let at = if first.is_empty() { "" } else { " at " };
        let why = (all > 1).then(|| match n {
            _ if n == all => format!("at none of {all} points"),
            1 => format!("not{at}{first}"),
            n => format!("not at {n} of {all} points: {}", against.join(", ")),
        });
        (ClaimVerdict::DoesNotHold, why)
    } else if let Some(first) = open.clone().next() {
        let at = if first.at.is_empty() { String::new() } else { format!("{}: ", first.at) };
        let why = first.why.as_ref().map(|why| format!("{at}{why}"));
        (ClaimVerdict::CannotTell, why)
    } else {
        (ClaimVerdict::Holds, None)
    };
    told(verdict, why, points)
}

/// One point: the figures of all cells, of the trials that all of them have.
fn point(relation: &Relation, at: &str, found: &[CellMatch<'_>]) -> ClaimPoint {
    let mut point = ClaimPoint {
        at: at.to_owned(),
        value: None,
        low: None,
        high: None,
        trials: 0,
        verdict: ClaimVerdict::CannotTell,
        why: None,
    };
    if let Some(why) = found.iter().find_map(CellMatch::missing) {
        point.why = Some(why);
        return point;
    }
    let numbers: Vec<u32> = found[0].values.keys().copied().collect();
    let numbers = numbers.into_iter().filter(|n| found.iter().all(|f| f.values.contains_key(n)));
    let numbers: Vec<u32> = numbers.collect();
    let samples: Vec<Vec<f64>> = found
        .iter()
        .map(|found| numbers.iter().filter_map(|n| found.values.get(n).copied()).collect())
        .collect();
    point.trials = numbers.len();
    let Some(estimate) = estimate(&samples, |figures| value(relation, figures)) else {
        point.why = Some("there is nothing to divide by, or no trial has all of it".to_owned());
        return point;
    };
    point.value = Some(estimate.value);
    (point.low, point.high) = estimate.interval.unzip();
    let (low, high) = bounds(relation);
    (point.verdict, point.why) = match estimate.interval {
        Some(interval) => within(interval, (low, high)),
        None => by_far(estimate.value, (low, high), is_difference(relation), point.trials),
    };
    point
}

/// What is held against the bounds: the left side, over the right one where that is of cells.
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

/// What the value is to lie between.
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

fn within((least, most): (f64, f64), (low, high): (f64, f64)) -> (ClaimVerdict, Option<String>) {
    if least >= low && most <= high {
        (ClaimVerdict::Holds, None)
    } else if most < low || least > high {
        (ClaimVerdict::DoesNotHold, None)
    } else {
        let why = "its interval lies across a bound".to_owned();
        (ClaimVerdict::CannotTell, Some(why))
    }
}

/// Without an interval.
fn by_far(
    value: f64,
    (low, high): (f64, f64),
    is_difference: bool,
    trials: usize,
) -> (ClaimVerdict, Option<String>) {
    let is_far = |one: f64, other: f64| one >= FAR * other;
    let above = |bound: f64| bound == f64::NEG_INFINITY || (bound >= 0.0 && is_far(value, bound));
    let below = |bound: f64| bound == f64::INFINITY || (value >= 0.0 && is_far(bound, value));
    if !is_difference && above(low) && below(high) {
        return (ClaimVerdict::Holds, None);
    }
    let is_under = low.is_finite() && value >= 0.0 && is_far(low, value);
    let is_over = high.is_finite() && high >= 0.0 && is_far(value, high);
    if !is_difference && (is_under || is_over) {
        return (ClaimVerdict::DoesNotHold, None);
    }
    let trials = match trials {
        1 => "one trial".to_owned(),
        n => format!("{n} trials"),
    };
    let why = format!("{trials}: no interval below {MIN_TRIALS}, and it is not far off a bound");
    (ClaimVerdict::CannotTell, Some(why))
}

/// What a claim needs that the record does not have.
fn lacking(need: &Need, summary: &Summary) -> Option<String> {
    let host = &summary.host.machine;
    let has = |of: &dyn Fn(&Group) -> bool| {
        summary.groups.iter().any(|group| of(group) && group.trials.iter().any(|t| t.done))
    };
    let not = |what: &str, name: &str| Some(format!("{what} {name} was not measured"));
    match need {
        Need::Engine(name) if !has(&|group| group.is_called(name)) => not("engine", name),
        Need::Volume(name) if !has(&|group| group.volume.as_ref() == Some(name)) => {
            not("volume", name)
        }
        Need::Part(name) if !has(&|group| group.part.as_ref() == Some(name)) => not("part", name),
        Need::Tier(name) if !has(&|group| group.tier.as_ref() == Some(name)) => not("tier", name),
        Need::Threads(n) if !has(&|group| group.threads >= Some(*n)) => {
            Some(format!("no point with {n} threads was measured"))
        }
        Need::Cpus(n) if host.cpus < *n => {
            Some(format!("it needs {n} processors: here are {}", host.cpus))
        }
        Need::Memory(bytes) if host.memory_bytes < *bytes => {
            let [needed, here] = [*bytes, host.memory_bytes].map(units::bytes);
            Some(format!("it needs {needed} of memory: here are {here}"))
        }
        Need::DataToRam(n) => {
            let ratio = |group: &Group| {
                let ram = group.ram_limit_bytes.unwrap_or(host.memory_bytes).max(1);
                group.user_bytes as f64 / ram as f64
            };
            let most = summary.groups.iter().filter(|group| group.competes()).map(ratio);
            let most = most.fold(0.0, f64::max);
            // A limit is rounded to pages.
            let lacks = most < f64::from(*n) * 0.99;
            lacks.then(|| format!("it needs data of {n} times the RAM: here it is {most:.1}"))
        }
        _ => None,
    }
}
