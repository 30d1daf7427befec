//! The engine's own counters that moved by more than noise.

use super::SideGroup;
use crate::figures::spent::Spent;
use crate::judge::rule::{self, Decision, Margins};
use kvdyno_record::case::CounterPair;
use kvdyno_record::engine::{Counters, Value};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The most counters that are listed.
const LISTED_MAX: usize = 8;

/// Smaller changes explain nothing, however certain.
const LEAST: f64 = 0.01;

/// A counter of the engine, by the name that the engine gives it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CounterChange {
    /// Its name.
    pub name: String,
    /// Its growth per operation in the phase, on the base: the mean of its trials.
    pub base: f64,
    /// The same on the new side.
    pub new: f64,
    /// The ratio, by pairs of trials; null: one side did not count any.
    pub ratio: Option<f64>,
}

/// Counters by name, trial by trial.
type Growth = BTreeMap<String, BTreeMap<u32, f64>>;

/// The counters that differ by the rule, the clearest first, and the number of those compared.
pub(super) fn find_changes(sides: &[SideGroup<'_>; 2], phase: &str) -> (Vec<CounterChange>, usize) {
    let [base, new] = [read(&sides[0], phase), read(&sides[1], phase)];
    changes(&base, &new)
}

/// The counters of one side.
#[derive(Default)]
struct Counted {
    growth: Growth,
    /// Names whose value shrank in any phase of any trial: gauges, such as a size, not counters.
    gauges: BTreeSet<String>,
}

fn changes(base: &Counted, new: &Counted) -> (Vec<CounterChange>, usize) {
    let (mut moved, mut compared): (Vec<(f64, CounterChange)>, usize) = (Vec::new(), 0);
    let is_gauge = |name: &String| base.gauges.contains(name) || new.gauges.contains(name);
    for (name, base) in base.growth.iter().filter(|(name, _)| !is_gauge(name)) {
        let Some(new) = new.growth.get(name) else { continue };
        let pairs: Vec<(f64, f64)> =
            base.iter().filter_map(|(trial, base)| Some((*base, *new.get(trial)?))).collect();
        compared += 1;
        moved.extend(change(name, &pairs));
    }
    moved.sort_by(|one, other| other.0.total_cmp(&one.0));
    (moved.into_iter().take(LISTED_MAX).map(|(_, change)| change).collect(), compared)
}

/// The change over its noise, and the change; none where it may be noise.
fn change(name: &str, pairs: &[(f64, f64)]) -> Option<(f64, CounterChange)> {
    let side = |pick: fn(&(f64, f64)) -> f64| {
        let values: Vec<f64> = pairs.iter().map(pick).collect();
        (values.iter().sum::<f64>() / values.len() as f64, values)
    };
    let ((base, bases), (new, news)) = (side(|pair| pair.0), side(|pair| pair.1));
    let is_zero = |values: &[f64]| values.iter().all(|value| *value == 0.0);
    let change = |ratio| CounterChange { name: name.to_owned(), base, new, ratio };
    if pairs.len() < rule::LEAST || (is_zero(&bases) && is_zero(&news)) {
        return None;
    }
    // A count that is always 0 in one build and never in the other has no ratio, and is clearest.
    if is_zero(&bases) && news.iter().all(|value| *value > 0.0)
        || is_zero(&news) && bases.iter().all(|value| *value > 0.0)
    {
        return Some((f64::INFINITY, change(None)));
    }
    let judgement = rule::judge(pairs, Margins { within: LEAST, bias: LEAST })?;
    let mean = judgement.mean.filter(|_| judgement.decision == Decision::Different)?;
    Some((mean.value.abs() / mean.error.max(f64::MIN_POSITIVE), change(Some(judgement.ratio))))
}

/// Reads what a side counted in a phase; a damaged file counts nothing.
fn read(side: &SideGroup<'_>, phase: &str) -> Counted {
    let mut counted = Counted::default();
    for (trial, case) in side.cases() {
        let (Ok(record), Ok(file)) = (case.phase(phase), case.counters()) else { continue };
        let spent = Spent::from_phase(record);
        let done = spent.done(&case.case.data);
        counted.gauges.extend(file.phases.values().flat_map(list_shrunk));
        let Some(counters) = file.phases.get(phase).filter(|_| done > 0.0) else { continue };
        for (name, after) in &counters.after {
            let before = counters.before.get(name).and_then(number).unwrap_or(0.0);
            if let Some(after) = number(after) {
                let grown = (after - before) / done;
                counted.growth.entry(name.clone()).or_default().insert(trial, grown);
            }
        }
    }
    counted
}

fn list_shrunk(CounterPair { before, after }: &CounterPair) -> Vec<String> {
    let value = |counters: &Counters, name: &str| counters.get(name).and_then(number);
    let shrank = |name: &&String| {
        value(after, name).zip(value(before, name)).is_some_and(|(after, before)| after < before)
    };
    before.keys().filter(shrank).cloned().collect()
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(value) => Some(*value as f64),
        Value::Number(value) => Some(*value),
        Value::Boolean(_) | Value::Text(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOISE: [f64; 6] = [1.0, 1.02, 0.99, 1.01, 0.98, 1.0];

    fn pairs(factor: f64) -> Vec<(f64, f64)> {
        NOISE.iter().map(|noise| (noise * 10.0, (2.0 - noise) * 10.0 * factor)).collect()
    }

    #[test]
    fn a_counter_that_moved_by_more_than_noise_is_told() {
        assert!(change("hits", &pairs(1.0)).is_none());
        let (clear, moved) = change("hits", &pairs(1.5)).unwrap();
        assert!(clear > 5.0 && (moved.ratio.unwrap() - 1.5).abs() < 0.05, "{moved:?}");
    }

    #[test]
    fn what_shrinks_is_a_gauge_and_no_reason() {
        let counters = |entries: [(&str, u64); 2]| {
            entries.map(|(name, value)| (name.to_owned(), Value::Integer(value))).into()
        };
        let pair = CounterPair {
            before: counters([("hits", 7), ("memtable bytes", 9)]),
            after: counters([("hits", 9), ("memtable bytes", 7)]),
        };
        assert_eq!(list_shrunk(&pair), ["memtable bytes"]);
        let side = |pick: fn(&(f64, f64)) -> f64, gauges: &[&str]| {
            let trials = (0..).zip(pairs(1.5).iter().map(pick)).collect::<BTreeMap<u32, f64>>();
            let growth = ["hits", "memtable bytes"].map(|name| (name.to_owned(), trials.clone()));
            let gauges = gauges.iter().map(ToString::to_string).collect();
            Counted { growth: growth.into(), gauges }
        };
        let names = |gauges: &[&str]| {
            let (changes, compared) =
                changes(&side(|pair| pair.0, gauges), &side(|pair| pair.1, &[]));
            assert_eq!(changes.len(), compared);
            changes.into_iter().map(|change| change.name).collect::<Vec<_>>()
        };
        assert_eq!(names(&[]).len(), 2);
        assert_eq!(names(&["memtable bytes"]), ["hits"]);
    }

    #[test]
    fn what_only_one_build_does_comes_first() {
        let never = pairs(1.0).into_iter().map(|(base, _)| (0.0, base)).collect::<Vec<_>>();
        let (clear, moved) = change("stalls", &never).unwrap();
        assert_eq!((clear, moved.ratio), (f64::INFINITY, None));
        let mut once = never.clone();
        once[3].1 = 0.0;
        assert!(change("stalls", &once).is_none(), "not in every trial");
        assert!(change("stalls", &[(0.0, 0.0); 6]).is_none());
    }
}
