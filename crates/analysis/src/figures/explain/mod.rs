//! Where the time of each phase went: on a CPU, waiting for one, for the device, for the engine's
//! stalls, for other threads, idle; with the cause and a sentence that gives the evidence.
//!
//! `time` divides one trial's time; `judge` finds the cause from all trials. docs/method.md ("Where
//! the time went") defines the parts.

pub(crate) mod cause;
mod facts;
mod judge;
#[cfg(test)]
mod tests;
mod time;

use super::block_io::PhaseIo;
use super::catalogue as c;
use super::evidence::{CaseEvidence, Evidence};
use super::group::Group;
use super::metric::{Definition, Metrics, Reading, Why};
use super::stalls;
use super::trials;
pub use cause::Cause;
use facts::Facts;
use judge::{RoleTime, judge};
use kvdyno_record::case::{PhaseRecord, RoleResult};
use kvdyno_record::files::RecordError;
use kvdyno_record::usage::{Snapshot, WaitSamples};
use kvdyno_record::workload::reads;
use schemars::JsonSchema;
use serde::Serialize;
use time::{Part, ThreadReadings, Time, blocked_samples, is_enough, samples_between};

/// Where the time of a load, or of a role in a measured phase, went.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Explained {
    /// The index of its group in the summary's groups.
    pub group: usize,
    /// The phase.
    pub phase: String,
    /// Whether it is a load.
    pub load: bool,
    /// The role; null: a load.
    pub role: Option<String>,
    /// Its threads.
    pub threads: u32,
    /// Wait-state samples of blocked threads, on which the parts of their wait rest.
    pub wait_samples: u64,
    /// The parts in percent, which add up to 100.
    pub metrics: Metrics,
    /// What limits it; null: most of its time is unknown.
    pub cause: Option<Cause>,
    /// The cause in a sentence, with its evidence.
    pub sentence: Option<String>,
    /// The reasons why parts are unknown.
    pub unknown: Vec<String>,
}

/// A phase of a group, with its roles.
struct GroupPhase<'g> {
    index: usize,
    group: &'g Group,
    name: &'g str,
    load: bool,
    /// Names and threads of the roles.
    roles: Vec<(&'g str, u32)>,
    /// Its share of the bare drive's most I/Os.
    of_drive_percent: Option<f64>,
    /// CPUs of the machine.
    cpus: u32,
}

/// A trial of a phase.
struct TrialPhase<'e> {
    phase: &'e PhaseRecord,
    /// How long the engine stalled each writing thread.
    stalled_ns: f64,
    /// Whether that comes from the engine's counter; else from its events.
    counted: bool,
}

/// Explains every phase, in the order of the groups.
pub(crate) fn read(
    evidence: &Evidence,
    groups: &[Group],
    block_io: &[PhaseIo],
) -> Result<Vec<Explained>, RecordError> {
    let mut all = Vec::new();
    for phase in group_phases(groups, evidence.run.host_before.machine.cpus) {
        let in_group = |case: &&CaseEvidence| case.case.key == phase.group.key;
        let mut trials = Vec::new();
        for case in evidence.cases.iter().filter(in_group) {
            trials.push(trial(case, phase.name)?);
        }
        let matches = |io: &&PhaseIo| io.group == phase.index && io.phase == phase.name;
        let records: Vec<&PhaseRecord> = trials.iter().flatten().map(|trial| trial.phase).collect();
        if records.is_empty() {
            continue;
        }
        // The counted CPU time is the server's, not that of the roles' threads.
        let server = evidence.cases.iter().filter(in_group).any(CaseEvidence::is_server);
        let stalls_counted = trials.iter().flatten().all(|trial| trial.counted);
        let facts = Facts::from_phases(&records, block_io.iter().find(matches));
        let facts = Facts { server, stalls_counted, ..facts };
        all.extend(explain_phase(&phase, &trials, &records, &facts));
    }
    Ok(all)
}

/// Lists the loads and measured phases of engines and of the load generator.
fn group_phases(groups: &[Group], cpus: u32) -> Vec<GroupPhase<'_>> {
    let mut phases = Vec::new();
    for (index, group) in
        groups.iter().enumerate().filter(|(_, group)| !group.bare_drive && !group.is_counted())
    {
        phases.extend(group.load.as_ref().map(|load| GroupPhase {
            index,
            group,
            name: &load.phase,
            load: true,
            roles: vec![("load", load.threads)],
            of_drive_percent: None,
            cpus,
        }));
        phases.extend(group.runs.iter().map(|run| GroupPhase {
            index,
            group,
            name: &run.phase,
            load: false,
            roles: run.roles.iter().map(|role| (role.role.as_str(), role.threads)).collect(),
            of_drive_percent: run.metrics.value(&c::DRIVE_SHARE),
            cpus,
        }));
    }
    phases
}

fn trial<'e>(
    case: &'e CaseEvidence,
    phase: &str,
) -> Result<Result<TrialPhase<'e>, Why>, RecordError> {
    let record = match case.phase(phase) {
        Ok(record) => record,
        Err(why) => return Ok(Err(why)),
    };
    let counters = case.counters()?.phases.remove(phase).unwrap_or_default();
    let begin = record.started_unix_ns;
    let window = (begin, begin.saturating_add(record.wall_ns));
    let events = case.stalls()?;
    let stalls_reported = stalls::window_stalls(&events, window);
    let lasted: u64 =
        stalls_reported.iter().filter_map(|s| s.end_ns?.checked_sub(s.start_ns)).sum();
    let counted = stalls::counted_ns(&counters.before, &counters.after);
    // The counter sums the waits of all writers (RocksDB counts only the leader of a group, so it
    // may be too low); the events give when they may have waited.
    let threads = writers(record).max(1);
    let stalled_ns = match counted {
        Some((_, ns)) => ns as f64 / f64::from(threads),
        None => lasted as f64,
    };
    Ok(Ok(TrialPhase { phase: record, stalled_ns, counted: counted.is_some() }))
}

fn writers(phase: &PhaseRecord) -> u32 {
    phase.roles.iter().filter(|role| writes(role)).map(|role| role.threads).sum()
}

fn writes(role: &RoleResult) -> bool {
    role.ops.keys().any(|op| !reads(op))
}

fn explain_phase(
    phase: &GroupPhase<'_>,
    trials: &[Result<TrialPhase<'_>, Why>],
    records: &[&PhaseRecord],
    facts: &Facts,
) -> Vec<Explained> {
    let explain_role = |&(role, threads): &(&str, u32)| {
        let pooled = trials.iter().flatten().filter_map(|trial| wait_samples(trial.phase, role));
        let pooled = pooled.reduce(|a, b| time::samples_together(&a, &b));
        let times = trial_times(trials, |trial| role_time(trial, role, pooled));
        let facts = facts.role_facts(records, role);
        explain_times(phase, (role, threads), &times, &facts)
    };
    phase.roles.iter().map(explain_role).collect()
}

fn trial_times(
    trials: &[Result<TrialPhase<'_>, Why>],
    read: impl Fn(&TrialPhase<'_>) -> Result<Time, Why>,
) -> Vec<Result<Time, Why>> {
    trials.iter().map(|trial| trial.as_ref().map_err(Why::clone).and_then(&read)).collect()
}

/// A role's wait-state samples of a phase; none where they cannot be read.
fn wait_samples(phase: &PhaseRecord, role: &str) -> Option<WaitSamples> {
    let samples_of = |snapshot: &Snapshot| snapshot.wait_samples.as_ref()?.get(role).copied();
    samples_of(&phase.after)
        .map(|after| samples_between(samples_of(&phase.before).as_ref(), &after))
}

/// A role's time in one trial. With too few samples of its own, it uses those of all trials.
fn role_time(trial: &TrialPhase<'_>, name: &str, pooled: Option<WaitSamples>) -> Result<Time, Why> {
    let role = trials::role(trial.phase, name)?;
    let usage = role.usage.ok_or_else(|| Why::from("its threads' usage was not recorded"))?;
    let samples = wait_samples(trial.phase, name);
    let mut time = Time::from_readings(&ThreadReadings {
        usage,
        wait_samples: samples.filter(is_enough).or(pooled),
        outside_ns: role.offered_per_s.map(|_| (usage.time_ns as f64 - service_ns(role)).max(0.0)),
        stalled_ns: if writes(role) { trial.stalled_ns * f64::from(role.threads) } else { 0.0 },
    });
    // Samples of other trials count there, not here.
    time.wait_samples = samples.as_ref().map_or(0, blocked_samples);
    Ok(time)
}

fn service_ns(role: &RoleResult) -> f64 {
    role.ops.values().map(|op| op.service_ns as f64).sum()
}

fn explain_times(
    phase: &GroupPhase<'_>,
    (role, threads): (&str, u32),
    times: &[Result<Time, Why>],
    facts: &Facts,
) -> Explained {
    let mut metrics = Metrics::default();
    for (definition, parts) in SHARES {
        let share = |time: &Result<Time, Why>| -> Reading {
            let time = time.as_ref().map_err(Why::clone)?;
            if let Some(why) = time.unknown_reason(parts) {
                return Err(why.clone());
            }
            super::spent::quotient(
                100.0 * time.share(parts),
                f64::from(time.total_ns() > 0.0),
                NO_TIME,
            )
        };
        metrics.add(definition, times.iter().map(share).collect());
    }
    let mut all = Time::default();
    for time in times.iter().flatten() {
        all.add(time);
    }
    let subject = if phase.load { "the load" } else { role };
    let verdict = judge(&RoleTime {
        subject,
        threads,
        time: &all,
        facts,
        of_drive_percent: phase.of_drive_percent,
        cpus: phase.cpus,
    });
    let mut unknown: Vec<String> =
        all.unknown.iter().map(|unknown| unknown.why.to_string()).collect();
    let failed = times.iter().filter_map(|time| time.as_ref().err());
    unknown.extend(failed.map(|why| why.clone().into_owned()));
    unknown.dedup();
    Explained {
        group: phase.index,
        phase: phase.name.to_owned(),
        load: phase.load,
        role: (!phase.load).then(|| role.to_owned()),
        threads,
        wait_samples: all.wait_samples,
        metrics,
        cause: verdict.as_ref().map(|(cause, _)| *cause),
        sentence: verdict.map(|(_, sentence)| sentence),
        unknown,
    }
}

const NO_TIME: &str = "it took no time";

/// The figures with their parts: nine that add up to 100, and three of the device's wait.
const SHARES: [(&Definition, &[Part]); 12] = [
    (&c::TIME_USER, &[Part::User]),
    (&c::TIME_SYSTEM, &[Part::System]),
    (&c::TIME_RUNQUEUE, &[Part::RunQueue]),
    (&c::TIME_DEVICE, &Part::AT_DEVICE),
    (&c::TIME_STALL, &[Part::Stall]),
    (&c::TIME_LOCK, &[Part::Lock]),
    (&c::TIME_IDLE, &[Part::Idle]),
    (&c::TIME_NETWORK, &[Part::Network]),
    (&c::TIME_OTHER, &[Part::Other]),
    (&c::TIME_DEVICE_READ, &[Part::Read]),
    (&c::TIME_DEVICE_WRITE, &[Part::Write]),
    (&c::TIME_DEVICE_SYNC, &[Part::Sync]),
];
