//! What a search has found so far, computed from the record of its run alone: so `show` says what
//! `size` said, and `resume` knows where to go on.

use super::edge::{Edge, Goal, Votes, round};
use super::judge::{self, JudgedTrial, MeasuredPhase, TargetVerdict};
use super::result::{Condition, Next, Outcome, Point, SearchResult};
use super::target::{Clause, Quantity, Target, Unit};
use super::words;
use crate::figures::evidence::{CaseEvidence, Evidence};
use crate::figures::lists::unique;
use crate::stats;
use kvdyno_record::files::RecordError;
use kvdyno_record::plan::Case;
use kvdyno_record::search::{Axis, Between, Search};
use kvdyno_record::workload::{Activity, Mix};
use std::collections::BTreeMap;

/// Without bounds, a search goes down from the highest rate to that rate divided by this.
const LOWEST_PART: u64 = 64;

/// The result of a run's search; none where the run is no search, or its target is not understood.
pub fn answer(evidence: &Evidence) -> Result<Option<SearchResult>, RecordError> {
    let Some(search) = &evidence.plan.search else { return Ok(None) };
    let Ok(target) = Target::parse(&search.target) else { return Ok(None) };
    let (points, fastest) = points(evidence, search, &target)?;
    // The mix of the newest point: its role has a rate, where the first may have none.
    let work = evidence.cases.iter().rev().find_map(|case| judged_mix(&case.case, search));
    let between = search.between.or_else(|| bounds(search, &target, work, fastest.as_ref()));
    let edge = between.map(|between| edge(search, between, &points));
    let stopped = points.iter().chain(&fastest).any(|point| point.void.is_some());
    let next = match (&edge, &fastest) {
        _ if stopped || points.iter().chain(&fastest).any(|point| !point.complete) => None,
        (Some(edge), _) => edge.next_value().map(Next::At),
        (None, None) => Some(Next::Fastest),
        (None, Some(_)) => None,
    };
    let unknown = if stopped { Outcome::Stopped } else { Outcome::Open };
    let user_bytes = evidence.cases.iter().map(|case| case.case.user_bytes()).max();
    let mut answer = SearchResult {
        engine: search.making.engine.clone(),
        target: target.text.clone(),
        axis: search.axis.clone(),
        phase: search.phase.clone(),
        conditions: conditions(&target, work),
        between,
        within: search.within,
        user_bytes: user_bytes.unwrap_or(0),
        result: edge.as_ref().and_then(Edge::outcome).unwrap_or(unknown),
        contradictions: edge.as_ref().map(Edge::contradictions).unwrap_or_default(),
        left: edge.as_ref().map_or_else(|| points_most(search), Edge::points_left),
        run: evidence.run.id.clone(),
        sealed: evidence.complete,
        sentences: Vec::new(),
        points,
        fastest,
        next,
    };
    answer.sentences = words::sentences(&answer);
    Ok(Some(answer))
}

/// The edge as far as the completed points show it.
fn edge(search: &Search, between: Between, points: &[Point]) -> Edge {
    let mut edge = Edge::new(search_goal(&search.axis), (between.low, between.high), search.within);
    for point in points.iter().filter(|point| point.complete && point.void.is_none()) {
        if let Some(value) = point.value {
            edge.record(value, Votes { met: point.met, of: point.trials });
        }
    }
    edge
}

/// How many points a search has at most where trials agree.
pub fn points_most(search: &Search) -> u32 {
    match search.between {
        Some(between) => edge(search, between, &[]).points_left(),
        None => {
            let between = Between { low: 1_000_000, high: 1_000_000 * LOWEST_PART };
            1 + edge(search, between, &[]).points_left()
        }
    }
}

fn search_goal(axis: &Axis) -> Goal {
    match axis {
        Axis::Ram => Goal::Smallest,
        Axis::Rate { .. } => Goal::Largest,
    }
}

/// The work of a case that is held against the target.
pub fn judged_mix<'c>(case: &'c Case, search: &Search) -> Option<&'c Mix> {
    let judged = case.phases.iter().filter(|phase| phase.name == search.phase);
    let mut judged = judged.filter(|_| case.label == search.making.engine);
    judged.find_map(|phase| match &phase.work {
        Activity::Measure(mix) => Some(mix),
        _ => None,
    })
}

/// The value of the point that a case belongs to; none: the role as fast as it goes.
fn value(case: &Case, mix: &Mix, axis: &Axis) -> Option<u64> {
    match axis {
        Axis::Ram => case.ram_limit_bytes,
        Axis::Rate { role } => {
            let role = mix.roles.iter().find(|known| known.name == *role)?;
            Some(role.rate.as_ref()?.operations_per_s.round() as u64)
        }
    }
}

/// All points by value, and the point without a value: the role as fast as it goes.
fn points(
    evidence: &Evidence,
    search: &Search,
    target: &Target,
) -> Result<(Vec<Point>, Option<Point>), RecordError> {
    let mut by_value: BTreeMap<Option<u64>, Vec<(&CaseEvidence, JudgedTrial)>> = BTreeMap::new();
    for case in &evidence.cases {
        let Some(mix) = judged_mix(&case.case, search) else { continue };
        let value = value(&case.case, mix, &search.axis);
        let needs_limit = search.axis == Axis::Ram;
        let measured = MeasuredPhase { name: &search.phase, mix };
        let mut trial = judge::judge(evidence, case, target, measured, needs_limit)?;
        // A trial that is measured only for the bounds is not judged by the target.
        let unjudged = value.is_none() && case.is_done();
        if unjudged {
            trial.verdict = TargetVerdict::Missed(None);
        }
        by_value.entry(value).or_default().push((case, trial));
    }
    let fastest = by_value.remove(&None).map(|trials| {
        let mut fastest = point(None, &trials, search, target);
        if fastest.complete && fastest.done_per_s.iter().all(Option::is_none) {
            // Without its rate there are no bounds.
            let whys = std::mem::take(&mut fastest.whys).join("; ");
            let why = if whys.is_empty() { "it did nothing".to_owned() } else { whys };
            fastest.void.get_or_insert(why);
        }
        fastest
    });
    let points = by_value.iter().map(|(value, trials)| point(*value, trials, search, target));
    Ok((points.collect(), fastest))
}

fn point(
    value: Option<u64>,
    trials: &[(&CaseEvidence, JudgedTrial)],
    search: &Search,
    target: &Target,
) -> Point {
    let done = |case: &CaseEvidence| match &search.axis {
        Axis::Ram => None,
        Axis::Rate { role } => judge::operations_per_s(case.phase(&search.phase).ok()?, role),
    };
    let clauses = 0..target.clauses.len();
    Point {
        value,
        met: trials.iter().filter(|(_, trial)| trial.verdict == TargetVerdict::Met).count() as u32,
        trials: trials.len() as u32,
        figures: clauses
            .map(|clause| trials.iter().map(|(_, trial)| trial.values[clause]).collect())
            .collect(),
        done_per_s: match search.axis {
            Axis::Ram => Vec::new(),
            Axis::Rate { .. } => trials.iter().map(|(case, _)| done(case)).collect(),
        },
        cached_more: trials
            .iter()
            .filter_map(|(case, _)| judge::cache_growth(case.phase(&search.phase).ok()?))
            .reduce(f64::max),
        whys: unique(trials.iter().filter_map(|(_, trial)| match &trial.verdict {
            TargetVerdict::Missed(why) => why.clone(),
            _ => None,
        })),
        void: trials.iter().find_map(|(_, trial)| match &trial.verdict {
            TargetVerdict::Void(why) => Some(why.clone()),
            _ => None,
        }),
        stopped: trials.iter().find_map(|(_, trial)| match &trial.verdict {
            TargetVerdict::Open(why) => why.clone(),
            _ => None,
        }),
        complete: !trials.iter().any(|(_, trial)| matches!(trial.verdict, TargetVerdict::Open(_))),
        cases: trials.iter().map(|(case, _)| case.case.id.clone()).collect(),
    }
}

/// The range of rates: from the most that the role does down to a part of that. The lower end
/// leaves enough samples for every percentile of the target.
fn bounds(
    search: &Search,
    target: &Target,
    mix: Option<&Mix>,
    fastest: Option<&Point>,
) -> Option<Between> {
    // Memory has its bounds from the beginning.
    let Axis::Rate { role } = &search.axis else { return None };
    let offered = mix.and_then(|mix| mix.roles.iter().find(|known| known.name == *role));
    let most = fastest?.done_per_s.iter().flatten().copied().reduce(f64::max)?;
    let high = round(Goal::Largest, most.ceil() as u64, 0.01).max(2);
    let concerns_role = |clause: &&Clause| offered.is_some_and(|role| clause.concerns(role));
    let clauses = target.clauses.iter().filter(concerns_role);
    let samples = clauses.filter_map(|clause| match clause.figure {
        Quantity::Percentile(thousandths) => {
            Some(stats::samples_needed(f64::from(thousandths) / 1e5))
        }
        _ => None,
    });
    let samples = samples.max().unwrap_or(0);
    let duration_s = mix.and_then(|mix| mix.ends.duration_ns).map(|ns| ns as f64 / 1e9);
    // Arrivals are random: with a fifth more, hardly any trial has too few.
    let enough = duration_s.map_or(0.0, |seconds| 1.2 * samples as f64 / seconds) as u64;
    let low = (high / LOWEST_PART).max(enough).clamp(1, high);
    Some(Between { low: round(Goal::Largest, low, 0.1).clamp(1, high), high })
}

fn conditions(target: &Target, mix: Option<&Mix>) -> Vec<Condition> {
    let roles = mix.map_or(&[][..], |mix| mix.roles.as_slice());
    let clock = |open: bool| if open { "response" } else { "service" };
    target
        .clauses
        .iter()
        .map(|clause| Condition {
            about: clause.about.clone(),
            unit: clause.figure.unit(),
            inclusive: clause.inclusive,
            bound: clause.bound,
            roles: roles
                .iter()
                .filter(|role| clause.concerns(role))
                .map(|role| role.name.clone())
                .collect(),
            clocks: roles
                .iter()
                .filter(|role| clause.figure.unit() == Unit::Time && clause.concerns(role))
                .map(|role| (role.name.clone(), clock(role.rate.is_some())))
                .collect(),
        })
        .collect()
}
