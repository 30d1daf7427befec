//! Whether the measurement was long enough, repeated enough, and far enough above the load
//! generator's own cost.

use super::finding::{Finding, measured_phases};
use super::kinds::Id;
use crate::figures::catalogue as c;
use crate::figures::evidence::Evidence;
use crate::figures::group::Group;
use crate::figures::load_generator::LoadGenerator;
use crate::figures::spent::Spent;
use crate::stats::LEAST;
use kvdyno_record::case::PhaseRecord;
use kvdyno_record::files::RecordError;
use kvdyno_record::units::{duration, percent};
use kvdyno_record::workload::Mix;
use std::collections::BTreeMap;

/// Below a minute, an LSM tree or a drive is still in its initial state.
const SHORT_NS: u64 = 60_000_000_000;

/// Below this many slices no trend can be seen.
const SLICES_MIN: u64 = 10;

/// Above this share of an operation's time, the load generator is a part of the figure.
const LOAD_GENERATOR_SHARE_MAX: f64 = 0.1;

/// Above this share of its CPUs, the client is the limit, not the server.
const CLIENT_SHARE_MAX: f64 = 0.7;

pub(super) fn findings(
    evidence: &Evidence,
    groups: &[Group],
    load_generator: Option<&LoadGenerator>,
) -> Result<Vec<Finding>, RecordError> {
    let all = [
        short_measurement(evidence),
        recorded_requests(evidence),
        few_slices(evidence)?,
        few_trials(evidence, groups),
        unsettled_phase(evidence),
        deferred_writes(groups),
        load_generator_share(evidence, groups, load_generator),
        client_bound(evidence),
        longest_machine_pause(evidence, load_generator)
            .and_then(|(ns, who)| tail_below_machine(groups, ns, who)),
    ];
    Ok(all.into_iter().flatten().collect())
}

fn short_measurement(evidence: &Evidence) -> Option<Finding> {
    Finding::from_phases(Id::ShortMeasure, evidence, |measured| {
        let short = !measured.phase.stopped && measured.phase.wall_ns < SHORT_NS;
        let short = short && !opens(measured.mix);
        short.then(|| format!("measured for {}", duration(measured.phase.wall_ns)))
    })
}

/// Whether a mix opens databases: openings are counted, and have no steady state.
fn opens(mix: &Mix) -> bool {
    mix.entries().any(|entry| entry.op.opens())
}

/// Recording happens between operations: it lowers rates, not times.
fn recorded_requests(evidence: &Evidence) -> Option<Finding> {
    evidence.run.trace.as_ref()?;
    let what = "rates are lower by the time that recording each request took";
    Some(Finding::new(Id::RequestsRecorded, what))
}

fn few_slices(evidence: &Evidence) -> Result<Option<Finding>, RecordError> {
    let mut few = Vec::new();
    let mut slices_of: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    // A phase that ends once its rates are steady has as many slices as that takes.
    for measured in measured_phases(evidence)
        .filter(|measured| !measured.measures_load_generator() && !measured.phase.stopped)
        .filter(|measured| measured.mix.ends.least_ns.is_none() && !opens(measured.mix))
    {
        let id = measured.id();
        if !slices_of.contains_key(&id) {
            slices_of.insert(id.clone(), measured.case.slices()?);
        }
        let slices = slices_of[&id].get(&measured.phase.name).copied().unwrap_or(0);
        if slices < SLICES_MIN {
            let s = if slices == 1 { "" } else { "s" };
            few.push((
                id,
                format!("{slices} slice{s} of {}", duration(measured.case.case.slice_ns)),
            ));
        }
    }
    Ok(Finding::from_cases(Id::FewSlices, few))
}

fn few_trials(evidence: &Evidence, groups: &[Group]) -> Option<Finding> {
    // A bare drive's load only fills its file; a search loads once for all its trials.
    let loads = evidence.plan.search.is_none();
    let figures = |group: &&Group| group.competes() && loads || !group.runs.is_empty();
    let real = groups.iter().filter(|group| !group.stores_nothing);
    let fewest = real.filter(figures).map(|group| group.trials.len()).min()?;
    (fewest < LEAST).then(|| {
        Finding::new(
            Id::FewTrials,
            match fewest {
                1 => "one trial: the spread is unknown".to_owned(),
                n => format!("{n} trials: a verdict needs {LEAST}"),
            },
        )
    })
}

fn unsettled_phase(evidence: &Evidence) -> Option<Finding> {
    Finding::from_records(Id::NotSettled, evidence, |_, record| {
        record.phases.iter().find_map(|phase| {
            let (idle, words) = phase.settled.as_ref()?;
            let took = duration(phase.wall_ns);
            (!idle).then(|| format!("not settled after {took}: {words}"))
        })
    })
}

/// Work that was still to do when a writer's window ended.
fn deferred_writes(groups: &[Group]) -> Option<Finding> {
    let late = engine_roles(groups).filter_map(|(group, role)| {
        let words = role.validity.as_ref()?.deferred.clone()?;
        Some(group.trials.iter().map(move |trial| (trial.case.clone(), words.clone())))
    });
    Finding::from_cases(Id::WritesDeferred, late.flatten())
}

/// Compares the mean time of a call with the load generator's time per operation, and an open
/// loop's calls with the load generator's own time while operations were due.
fn load_generator_share(
    evidence: &Evidence,
    groups: &[Group],
    load_generator: Option<&LoadGenerator>,
) -> Option<Finding> {
    let large = engine_roles(groups).filter_map(|(group, role)| {
        let mean = role.metrics.value(&c::SERVICE_MEAN).filter(|mean| *mean > 0.0)?;
        let share = load_generator?.ns_per_op / mean;
        (share > LOAD_GENERATOR_SHARE_MAX).then(|| {
            let words = format!(
                "operations of {} take {mean:.0} ns on average, of which the load generator \
                 takes at most {}",
                role.role,
                percent(share.min(1.0))
            );
            (group.trials[0].case.clone(), words)
        })
    });
    let while_due = measured_phases(evidence)
        .filter(|measured| !measured.measures_load_generator())
        .flat_map(|measured| {
            let roles = measured.phase.roles.iter().filter_map(move |role| {
                let calls_ns: u64 = role.ops.values().map(|op| op.service_ns).sum();
                (role.own_ns as f64 > calls_ns as f64 * LOAD_GENERATOR_SHARE_MAX).then(|| {
                let (own, calls) = (duration(role.own_ns), duration(calls_ns));
                let words = format!(
                    "role {}: the load generator took {own} while operations were due, the calls \
                     {calls}",
                    role.role
                );
                (measured.id(), words)
            })
            });
            roles.collect::<Vec<_>>()
        });
    Finding::from_cases(Id::LoadGeneratorShare, large.chain(while_due))
}

/// Finds clients that compute most of the time on each of their CPUs.
fn client_bound(evidence: &Evidence) -> Option<Finding> {
    let cpus = evidence.run.host_before.machine.cpus.max(1);
    Finding::from_phases(Id::ClientBound, evidence, |measured| {
        let busy = Spent::from_phase(measured.phase).client_cpu_ns().ok()?
            / measured.phase.wall_ns.max(1) as f64;
        let most = f64::from(client_cpus(measured.phase, cpus));
        (busy > CLIENT_SHARE_MAX * most)
            .then(|| format!("the client used {busy:.1} CPUs of {most:.0}"))
    })
}

/// The CPUs that a client's threads can use of the `cpus` here; a crew's can use each host's.
fn client_cpus(phase: &PhaseRecord, cpus: u32) -> u32 {
    let mut hosts: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    for rank in &phase.ranks {
        let (threads, cpus_there) = hosts.entry(&rank.host).or_default();
        (*threads, *cpus_there) = (*threads + rank.threads, rank.cpus);
    }
    let threads_total: u32 = phase.roles.iter().map(|role| role.threads).sum();
    if hosts.is_empty() {
        return threads_total.clamp(1, cpus);
    }
    hosts.values().map(|(threads, cpus_there)| *threads.min(cpus_there)).sum::<u32>().max(1)
}

/// The longest pause of the machine alone, with its source: the null engine's cases, which last as
/// long as the others; else the idle thread that ran before the run.
fn longest_machine_pause(
    evidence: &Evidence,
    load_generator: Option<&LoadGenerator>,
) -> Option<(f64, &'static str)> {
    let null_engine = load_generator.and_then(|load_generator| load_generator.max_ns);
    let idle = || evidence.run.hiccups.as_ref().map(|hiccups| hiccups.max_ns as f64);
    null_engine
        .map(|ns| (ns, "the longest operation of the null engine"))
        .or_else(|| Some((idle()?, "the longest gap in an idle thread's readings of the clock")))
}

fn tail_below_machine(groups: &[Group], alone_ns: f64, who: &str) -> Option<Finding> {
    let below = engine_roles(groups).filter_map(|(group, role)| {
        let tail =
            role.metrics.value(&c::SERVICE_P9999).or(role.metrics.value(&c::SERVICE_P999))?;
        (tail < alone_ns).then(|| {
            let (tail, alone) = (duration(tail as u64), duration(alone_ns as u64));
            let role = &role.role;
            let words = format!(
                "the tail of {role} is {tail}; without an engine the machine paused for {alone}"
            );
            (group.trials[0].case.clone(), words)
        })
    });
    let advice = format!(
        "{who} shows pauses of this machine: rarer tails below it, and each maximum, may come \
         from the machine"
    );
    Some(Finding::from_cases(Id::TailBelowLoadGenerator, below)?.with_advice(advice))
}

/// Every role of a measured phase, without those of the load generator.
pub(super) fn engine_roles(
    groups: &[Group],
) -> impl Iterator<Item = (&Group, &crate::figures::group::RoleRow)> {
    groups.iter().filter(|group| !group.stores_nothing).flat_map(|group| {
        group.runs.iter().flat_map(|run| &run.roles).map(move |role| (group, role))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn a_run_whose_requests_were_recorded_has_a_finding() {
        let is_reported = |trace: Option<&str>| {
            let mut fixture = Fixture::new();
            fixture.run.trace = trace.map(Into::into);
            let findings = fixture.summary().figures.findings;
            findings.iter().any(|finding| finding.id == Id::RequestsRecorded)
        };
        assert_eq!([None, Some("/a/t.kvtrace")].map(is_reported), [false, true]);
    }
}
