//! What a search has found so far, computed from the record of its run alone: so `show` says what
//! `size` said, and `resume` knows where to go on.

use super::edge::{Edge, Votes, Wanted, round};
use super::judge::{self, Trial, Verdict};
use super::target::{Clause, Figure, Target};
use super::words;
use crate::evidence::{CaseEvidence, Evidence};
use crate::lists::unique;
use crate::stats;
use kvdyno_record::files::RecordError;
use kvdyno_record::plan::Case;
use kvdyno_record::search::{Axis, Between, Search};
use kvdyno_record::workload::{Activity, Mix};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Without bounds, rates are searched from the most over this up to the most.
const LOWEST_PART: u64 = 64;

/// What a search found.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// The engine's label.
    pub engine: String,
    /// What must hold, as typed.
    pub target: String,
    /// What was varied.
    pub axis: Axis,
    /// The measured phase that was held against the target.
    pub phase: String,
    /// The target's conditions, in order.
    pub conditions: Vec<Condition>,
    /// The values searched; null: not known yet.
    pub between: Option<Between>,
    /// As close as this share was asked for.
    pub within: f64,
    /// Bytes of keys and values of the data.
    pub user_bytes: u64,
    /// Where the edge is.
    pub result: Outcome,
    /// Values that met the target in all trials although an easier one did not.
    pub contradictions: Vec<u64>,
    /// What was found and how sure that is, each a sentence; the first is the answer.
    pub sentences: Vec<String>,
    /// The curve: every point measured, by value.
    pub points: Vec<Point>,
    /// Of a rate: the role as fast as it goes, where that was measured for the bounds.
    pub fastest: Option<Point>,
    /// What to measure next.
    #[serde(skip)]
    pub next: Option<Next>,
    /// How many points are left, at most, where trials agree.
    #[serde(skip)]
    pub left: u32,
    /// The run was brought to its end.
    #[serde(skip)]
    pub(super) sealed: bool,
}

/// Where the edge is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum Outcome {
    /// The search is not over.
    Open,
    /// A point has no figures, so the search cannot go on: the point says why.
    Stopped,
    /// Not even the easiest value meets the target in every trial.
    Never {
        /// It.
        easiest: u64,
    },
    /// The hardest value meets it in every trial.
    Always {
        /// It.
        hardest: u64,
    },
    /// The edge lies between two values.
    Between {
        /// The hardest value at which every trial met the target, as at all easier ones.
        met: u64,
        /// The next harder one tried: some trial missed.
        missed: u64,
        /// From here on, at all harder ones tried, every trial missed: the edge lies between `met`
        /// and this. Null: some trial met it even at the hardest.
        surely_missed: Option<u64>,
        /// It is as close as asked for, on both sides.
        close: bool,
    },
}

/// A condition of the target.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Condition {
    /// What it is about, as typed: `p99`.
    pub about: String,
    /// A time in nanoseconds that must stay below the bound; else a number each second that must
    /// stay above.
    pub latency: bool,
    /// Meeting the bound exactly is enough.
    pub inclusive: bool,
    /// The bound.
    pub bound: f64,
    /// The roles that it is about.
    pub roles: Vec<String>,
    /// Of a latency: `service` (of the calls) or `response` (from the schedule); by role.
    pub clocks: BTreeMap<String, &'static str>,
}

/// A point of the curve.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Point {
    /// Bytes, or operations each second; null: as fast as it goes.
    pub value: Option<u64>,
    /// Trials that met the target.
    pub met: u32,
    /// Trials.
    pub trials: u32,
    /// What was measured, by condition and trial; null: no figure.
    pub figures: Vec<Vec<Option<f64>>>,
    /// Of a rate: operations each second that the role did, by trial.
    pub done_per_s: Vec<Option<f64>>,
    /// By how much of the database the page cache grew while it was measured, in the trial where it
    /// grew most; null: not known.
    pub cached_more: Option<f64>,
    /// Why trials missed, where figures do not show it: `does not fit`.
    pub whys: Vec<String>,
    /// Why nothing can be said of it; null: it can.
    pub void: Option<String>,
    /// Why it is not complete, where the host stopped it: a full disk. Null: it is complete, or was
    /// cut off.
    pub stopped: Option<String>,
    /// All its trials have come to an end.
    pub complete: bool,
    /// Its cases.
    pub cases: Vec<String>,
}

/// What to measure next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The role as fast as it goes.
    Fastest,
    /// This value.
    At(u64),
}

/// What the search of a run has found; nothing where the run is none, or cannot be understood.
pub fn answer(evidence: &Evidence) -> Result<Option<Answer>, RecordError> {
    let Some(search) = &evidence.plan.search else { return Ok(None) };
    let Ok(target) = Target::parse(&search.target) else { return Ok(None) };
    let (points, fastest) = points(evidence, search, &target)?;
    // The newest point's: its role has a rate, where the first may have none.
    let work = evidence.cases.iter().rev().find_map(|case| drive(&case.case, search));
    let between = search.between.or_else(|| bounds(search, &target, work, fastest.as_ref()));
    let edge = between.map(|between| edge(search, between, &points));
    let stopped = points.iter().chain(&fastest).any(|point| point.void.is_some());
    let next = match (&edge, &fastest) {
        _ if stopped || points.iter().chain(&fastest).any(|point| !point.complete) => None,
        (Some(edge), _) => edge.next().map(Next::At),
        (None, None) => Some(Next::Fastest),
        (None, Some(_)) => None,
    };
    let unknown = if stopped { Outcome::Stopped } else { Outcome::Open };
    let user_bytes = evidence.cases.iter().map(|case| case.case.shape.user_bytes()).max();
    let mut answer = Answer {
        engine: search.making.engine.clone(),
        target: target.text.clone(),
        axis: search.axis.clone(),
        phase: search.phase.clone(),
        conditions: conditions(&target, work),
        between,
        within: search.within,
        user_bytes: user_bytes.unwrap_or(0),
        result: edge.as_ref().and_then(Edge::found).unwrap_or(unknown),
        contradictions: edge.as_ref().map(Edge::contradictions).unwrap_or_default(),
        left: edge.as_ref().map_or_else(|| points_most(search), Edge::points_left),
        sealed: evidence.complete,
        sentences: Vec::new(),
        points,
        fastest,
        next,
    };
    answer.sentences = words::sentences(&answer);
    Ok(Some(answer))
}

impl Answer {
    /// The point of a value.
    pub fn point(&self, value: u64) -> Option<&Point> {
        self.points.iter().find(|point| point.value == Some(value))
    }

    /// The point at which the search could not go on: nothing can be said of it.
    pub fn void(&self) -> Option<&Point> {
        self.points.iter().chain(&self.fastest).find(|point| point.void.is_some())
    }

    /// What a point came to, in words.
    pub fn told(&self, point: &Point) -> String {
        words::point(self, point)
    }

    /// A value of the axis in words.
    pub fn words(&self, value: u64) -> String {
        words::value(&self.axis, value)
    }
}

/// What the points that are over say.
fn edge(search: &Search, between: Between, points: &[Point]) -> Edge {
    let mut edge = Edge::new(wanted(&search.axis), (between.low, between.high), search.within);
    for point in points.iter().filter(|point| point.complete && point.void.is_none()) {
        if let Some(value) = point.value {
            edge.tell(value, Votes { met: point.met, of: point.trials });
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

fn wanted(axis: &Axis) -> Wanted {
    match axis {
        Axis::Ram => Wanted::Smallest,
        Axis::Rate { .. } => Wanted::Largest,
    }
}

/// The work of a case that is held against the target.
pub fn drive<'c>(case: &'c Case, search: &Search) -> Option<&'c Mix> {
    let judged = case.phases.iter().filter(|phase| phase.name == search.phase);
    let mut judged = judged.filter(|_| case.label == search.making.engine);
    judged.find_map(|phase| match &phase.work {
        Activity::Measure(drive) => Some(drive),
        _ => None,
    })
}

/// Which point a case belongs to: its value, or as fast as it goes.
fn value(case: &Case, drive: &Mix, axis: &Axis) -> Option<u64> {
    match axis {
        Axis::Ram => case.ram_limit_bytes,
        Axis::Rate { role } => {
            let role = drive.roles.iter().find(|known| known.name == *role)?;
            Some(role.rate.as_ref()?.operations_per_s.round() as u64)
        }
    }
}

/// All points by value, and the one without.
fn points(
    evidence: &Evidence,
    search: &Search,
    target: &Target,
) -> Result<(Vec<Point>, Option<Point>), RecordError> {
    let mut by_value: BTreeMap<Option<u64>, Vec<(&CaseEvidence, Trial)>> = BTreeMap::new();
    for case in &evidence.cases {
        let Some(drive) = drive(&case.case, search) else { continue };
        let value = value(&case.case, drive, &search.axis);
        let mut trial = judge::judge(evidence, case, target, (&search.phase, drive), &search.axis)?;
        // What is only measured for the bounds is held against no target.
        let unjudged = value.is_none() && case.is_done();
        if unjudged {
            trial.verdict = Verdict::Missed(None);
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
    trials: &[(&CaseEvidence, Trial)],
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
        met: trials.iter().filter(|(_, trial)| trial.verdict == Verdict::Met).count() as u32,
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
            .filter_map(|(case, _)| judge::cached_more(case.phase(&search.phase).ok()?))
            .reduce(f64::max),
        whys: unique(trials.iter().filter_map(|(_, trial)| match &trial.verdict {
            Verdict::Missed(why) => why.clone(),
            _ => None,
        })),
        void: trials.iter().find_map(|(_, trial)| match &trial.verdict {
            Verdict::Void(why) => Some(why.clone()),
            _ => None,
        }),
        stopped: trials.iter().find_map(|(_, trial)| match &trial.verdict {
            Verdict::Open(why) => why.clone(),
            _ => None,
        }),
        complete: !trials.iter().any(|(_, trial)| matches!(trial.verdict, Verdict::Open(_))),
        cases: trials.iter().map(|(case, _)| case.case.id.clone()).collect(),
    }
}

/// From the most that the role does down to a part of it, but not so low that a percentile of the
/// target had too few samples to stand on.
fn bounds(
    search: &Search,
    target: &Target,
    drive: Option<&Mix>,
    fastest: Option<&Point>,
) -> Option<Between> {
    // Memory has its bounds from the beginning.
    let Axis::Rate { role } = &search.axis else { return None };
    let offered = drive.and_then(|drive| drive.roles.iter().find(|known| known.name == *role));
    let most = fastest?.done_per_s.iter().flatten().copied().reduce(f64::max)?;
    let high = round(Wanted::Largest, most.ceil() as u64, 0.01).max(2);
    let of_it = |clause: &&Clause| offered.is_some_and(|role| clause.concerns(role));
    let clauses = target.clauses.iter().filter(of_it);
    let samples = clauses.filter_map(|clause| match clause.figure {
        Figure::Percentile(thousandths) => {
            Some(stats::samples_needed(f64::from(thousandths) / 1e5))
        }
        _ => None,
    });
    let samples = samples.max().unwrap_or(0);
    let duration_s = drive.and_then(|drive| drive.ends.duration_ns).map(|ns| ns as f64 / 1e9);
    // Arrivals are drawn: a fifth more, so that hardly any trial has too few.
    let enough = duration_s.map_or(0.0, |seconds| 1.2 * samples as f64 / seconds) as u64;
    let low = (high / LOWEST_PART).max(enough).clamp(1, high);
    Some(Between { low: round(Wanted::Largest, low, 0.1).clamp(1, high), high })
}

fn conditions(target: &Target, drive: Option<&Mix>) -> Vec<Condition> {
    let roles = drive.map_or(&[][..], |drive| drive.roles.as_slice());
    let clock = |open: bool| if open { "response" } else { "service" };
    target
        .clauses
        .iter()
        .map(|clause| Condition {
            about: clause.about.clone(),
            latency: clause.figure.is_latency(),
            inclusive: clause.inclusive,
            bound: clause.bound,
            roles: roles
                .iter()
                .filter(|role| clause.concerns(role))
                .map(|role| role.name.clone())
                .collect(),
            clocks: roles
                .iter()
                .filter(|role| clause.figure.is_latency() && clause.concerns(role))
                .map(|role| (role.name.clone(), clock(role.rate.is_some())))
                .collect(),
        })
        .collect()
}
