//! Readings that grade the confidence, each with its clause.

use crate::figures::catalogue as c;
use crate::figures::comparable;
use crate::figures::engines::{EngineInfo, title};
use crate::figures::findings::{Finding, Id};
use crate::figures::group::Group;
use crate::figures::metric::Metric;

/// The outcome of an engine that does not fit: an answer, and no loss of confidence.
const DID_NOT_FIT: &str = "does not fit";

/// The outcome of a case whose load did not fit: no loss of confidence either.
const NOT_RUN: &str = "not run";

/// The reading of this name; none where there is nothing to read.
pub(super) fn reading(
    id: &str,
    groups: &[Group],
    findings: &[Finding],
    engines: &[EngineInfo],
) -> Option<(f64, String)> {
    let subjects = subjects(groups);
    match id {
        "no-figures" => {
            let n = headlines(&subjects).count();
            Some((n as f64, "nothing was measured to its end".to_owned()))
        }
        "few-trials" => few_trials(&subjects),
        "spread" => spread(&subjects, engines),
        "cpu-stolen" => stolen(&subjects),
        "not-steady" => not_steady(&subjects, findings),
        "writers-unequal" => writers(groups),
        "cases-not-done" => Some(not_done(&subjects)),
        _ => None,
    }
}

/// The subjects of a run: its engines; without any its bare drives; without these all groups.
fn subjects(groups: &[Group]) -> Vec<&Group> {
    let select = |wanted: fn(&Group) -> bool| -> Vec<&Group> {
        groups.iter().filter(|group| wanted(group)).collect()
    };
    let engines = select(Group::competes);
    let drives = if engines.is_empty() { select(|group| group.bare_drive) } else { engines };
    if drives.is_empty() { groups.iter().collect() } else { drives }
}

/// A headline figure: its group, and what it measures: `load`, `readers`.
struct Headline<'g> {
    group: &'g Group,
    what: String,
    metric: &'g Metric,
}

/// All that have a value. A bare drive's load only fills its file: it is no figure.
fn headlines<'g>(subjects: &'g [&'g Group]) -> impl Iterator<Item = Headline<'g>> {
    let counted = &c::INSTRUCTIONS_PER_OP;
    let all = subjects.iter().flat_map(move |group| {
        let load = group.load.iter().filter(|_| !group.bare_drive);
        let load = load.filter_map(|load| {
            let metric =
                load.metrics.get(if group.is_counted() { counted } else { &c::RECORDS_PER_S })?;
            Some(Headline { group, what: "load".to_owned(), metric })
        });
        let runs = group.runs.iter().filter(move |_| has_most_threads(group, subjects));
        let roles = runs.flat_map(|run| &run.roles).flat_map(move |role| {
            let rate = (!role.open_loop).then(|| (role.role.clone(), &role.metrics));
            let rate = rate.map(|(what, metrics)| (what, metrics, &c::OPS_PER_S));
            let of_op = |op| role.place(Some(op).filter(|_| role.is_mix())) + " p99";
            let each = role.by_operation().filter(|_| role.open_loop);
            let each = each.map(move |(op, metrics)| (of_op(op), metrics, &c::RESPONSE_P99));
            let all: Vec<_> = rate.into_iter().chain(each).collect();
            all.into_iter().filter_map(move |(what, metrics, figure)| {
                Some(Headline { group, what, metric: metrics.get(figure)? })
            })
        });
        let runs = group.runs.iter().filter(|_| group.is_counted());
        let phases = runs.filter_map(|run| {
            let metric = run.metrics.get(counted)?;
            Some(Headline { group, what: run.phase.clone(), metric })
        });
        load.chain(roles).chain(phases)
    });
    all.filter(|headline| headline.metric.value.is_some())
}

/// Of one engine with the same data and means, at the largest number of threads.
fn has_most_threads(group: &Group, groups: &[&Group]) -> bool {
    let more = |other: &&Group| !other.runs.is_empty() && other.threads > group.threads;
    let setting = |group: &Group| (group.label.clone(), group.answer_peers.clone());
    !groups.iter().copied().filter(more).any(|other| setting(other) == setting(group))
}

fn few_trials(subjects: &[&Group]) -> Option<(f64, String)> {
    let fewest = headlines(subjects).map(|headline| headline.metric.n).min()?;
    let text = match fewest {
        1 => "1 trial".to_owned(),
        n => format!("{n} trials"),
    };
    Some((fewest as f64, text))
}

fn spread(subjects: &[&Group], engines: &[EngineInfo]) -> Option<(f64, String)> {
    let reading = |headline: Headline<'_>| {
        let value = headline.metric.value.filter(|value| *value > 0.0)?;
        let (low, high) = headline.metric.range().filter(|_| headline.metric.n > 1)?;
        let percent = 100.0 * (high - low) / value;
        let name = title(engines, headline.group);
        Some((percent, format!("{name} {} spread {percent:.0} %", headline.what)))
    };
    headlines(subjects).filter_map(reading).max_by(|a, b| a.0.total_cmp(&b.0))
}

fn stolen(subjects: &[&Group]) -> Option<(f64, String)> {
    let runs = subjects.iter().flat_map(|group| &group.runs).map(|run| &run.metrics);
    let loads = subjects.iter().filter_map(|group| group.load.as_ref()).map(|load| &load.metrics);
    let most = runs.chain(loads).filter_map(|metrics| metrics.value(&c::STEAL)).reduce(f64::max)?;
    Some((most, format!("{most:.0} % CPU stolen")))
}

fn not_steady(subjects: &[&Group], findings: &[Finding]) -> Option<(f64, String)> {
    let finding = findings.iter().find(|finding| finding.id == Id::NotSteady)?;
    let measured = subjects.iter().filter(|group| !group.runs.is_empty());
    let is_measured =
        |id: &String| measured.clone().flat_map(|group| &group.trials).any(|t| t.case == *id);
    let unsteady = finding.cases.iter().filter(|case| is_measured(case)).count();
    let all: usize = measured.clone().map(|group| group.trials.len()).sum();
    let percent = 100.0 * unsteady as f64 / all.max(1) as f64;
    Some((percent, format!("{unsteady} of {all} cases not steady")))
}

fn writers(groups: &[Group]) -> Option<(f64, String)> {
    let unequal = comparable::unequal_writers(groups);
    let ratio = unequal.iter().map(comparable::UnequalWriters::ratio).reduce(f64::max)?;
    let text = if ratio < 1000.0 {
        format!("writers {ratio:.0}x unequal")
    } else {
        "writers over 1,000x unequal".to_owned()
    };
    Some((ratio, text))
}

fn not_done(subjects: &[&Group]) -> (f64, String) {
    let all_ended = |group: &Group, word: &str| {
        group.trials.iter().all(|trial| !trial.done && trial.outcome == word)
    };
    let load_did_not_fit = |group: &Group| {
        let same_engine = subjects.iter().filter(|other| other.label == group.label);
        let mut loads =
            same_engine.filter(|other| other.load.is_some() && other.ram() == group.ram());
        loads.any(|load| all_ended(load, DID_NOT_FIT))
    };
    let answered = |group: &&&Group| {
        all_ended(group, DID_NOT_FIT) || (all_ended(group, NOT_RUN) && load_did_not_fit(group))
    };
    let trials = subjects.iter().filter(|group| !answered(group)).flat_map(|group| &group.trials);
    let unfinished = trials.filter(|trial| !trial.done).count();
    let all: usize = subjects.iter().map(|group| group.trials.len()).sum();
    let percent = 100.0 * unfinished as f64 / all.max(1) as f64;
    (percent, format!("{unfinished} of {all} cases not done"))
}
