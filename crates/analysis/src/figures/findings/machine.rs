//! How the machine affected the figures: stolen time, load, outside limits, slow builds and clocks.

use super::finding::{Finding, measured_phases};
use super::kinds::Id;
use crate::figures::evidence::Evidence;
use kvdyno_record::host::settings::{CPUS_ABOVE, IO_ABOVE, NO_LIMIT};
use kvdyno_record::units::{duration, percent};

/// More stolen time than this is visible in tails.
const STEAL_MAX: f64 = 0.001;

/// A clock that drifts by more makes times and rates wrong by more than 0.05 %.
const DRIFT_PPM_MAX: f64 = 500.0;

/// A step of the time of day above this share of a case was not slewing: the kernel slews by at
/// most 0.05 %.
const SLEWED_MAX: f64 = 0.001;

/// A smaller step is not reported.
const STEP_NS_MIN: u64 = 1_000_000_000;

/// Use by other processes, as a share of the CPUs or of the last ten seconds, that is reported.
const BUSY: f64 = 0.3;

pub(super) const RULES: [fn(&Evidence) -> Option<Finding>; 10] = [
    stolen_cpu,
    busy_host,
    concurrent_run,
    throttled_cpu,
    io_limit,
    debug_build,
    assertions,
    slow_clock,
    clock_drift,
    clock_step,
];

fn stolen_cpu(evidence: &Evidence) -> Option<Finding> {
    let cpus = f64::from(evidence.run.host_before.machine.cpus.max(1));
    let share = |phase: &kvdyno_record::case::PhaseRecord| {
        let stolen = phase.after.steal_ns?.checked_sub(phase.before.steal_ns?)?;
        Some(stolen as f64 / (phase.wall_ns.max(1) as f64 * cpus))
    };
    let mut cases: Vec<_> = measured_phases(evidence)
        .filter_map(|measured_phase| Some((measured_phase.id(), share(measured_phase.phase)?)))
        .filter(|(_, share)| *share > STEAL_MAX)
        .collect();
    let worst = cases.iter().map(|(_, share)| *share).fold(0.0, f64::max);
    cases.dedup_by(|a, b| a.0 == b.0);
    let words = format!("the hypervisor took up to {} of the CPU time", percent(worst));
    let cases = cases.into_iter().map(|(id, _)| (id, words.clone()));
    Finding::from_cases(Id::CpuStolen, cases)
}

fn busy_host(evidence: &Evidence) -> Option<Finding> {
    let machine = &evidence.run.host_before.machine;
    let cpus = f64::from(machine.cpus.max(1));
    let load = machine.load_1m.filter(|load| *load > BUSY * cpus).map(|load| {
        format!("the load average was {load:.2} on {} CPUs when the run began", machine.cpus)
    });
    let waiting = ["cpu", "io", "memory"].iter().find_map(|what| {
        let share =
            machine.pressure_some_avg10.get(*what).filter(|share| **share > BUSY * 100.0)?;
        Some(format!("tasks waited for {what} in {share:.0} % of the ten seconds before the run"))
    });
    let words: Vec<String> = [load, waiting].into_iter().flatten().collect();
    (!words.is_empty()).then(|| Finding::new(Id::BusyHost, words.join("; ")))
}

fn concurrent_run(evidence: &Evidence) -> Option<Finding> {
    Finding::from_records(Id::ConcurrentRun, evidence, |_, record| {
        let pid = record.concurrent_runs.first()?;
        Some(format!("another run was active on this machine (process {pid})"))
    })
}

/// Compares the readings before and after the run: a limit that was never reached is harmless.
fn throttled_cpu(evidence: &Evidence) -> Option<Finding> {
    let host = &evidence.run.host_before;
    let after = evidence.run.host_after.as_ref()?.machine.throttled_ns?;
    let stopped = after.checked_sub(host.machine.throttled_ns?).filter(|ns| *ns > 0)?;
    let limit = host.settings.get(CPUS_ABOVE).map_or("a limit of CPU time", String::as_str);
    Some(Finding::new(
        Id::CpuThrottled,
        format!("threads were stopped for {} during the run: {limit}", duration(stopped)),
    ))
}

fn io_limit(evidence: &Evidence) -> Option<Finding> {
    let limits = evidence.run.host_before.settings.get(IO_ABOVE)?;
    (limits != NO_LIMIT)
        .then(|| Finding::new(Id::IoLimitAbove, format!("a limit on I/O applies: {limits}")))
}

fn debug_build(evidence: &Evidence) -> Option<Finding> {
    Finding::from_records(Id::DebugBuild, evidence, |_, record| {
        let worker = record.worker.as_ref().filter(|worker| worker.description.debug_build)?;
        Some(format!("{} was built without optimisation", worker.path.display()))
    })
}

/// Finds assertions: engines report them in their build facts, under a name with "assert" in it.
fn assertions(evidence: &Evidence) -> Option<Finding> {
    const OFF: [&str; 6] = ["off", "no", "false", "0", "disabled", "none"];
    Finding::from_records(Id::AssertionsOn, evidence, |_, record| {
        let mut build = record.worker.as_ref()?.description.engine.build.iter();
        let (name, value) = build.find(|(name, value)| {
            name.to_lowercase().contains("assert") && !OFF.contains(&value.to_lowercase().as_str())
        })?;
        Some(format!("the engine's build has {name} = {value}"))
    })
}

fn slow_clock(evidence: &Evidence) -> Option<Finding> {
    Finding::from_records(Id::SlowClock, evidence, |_, record| {
        let clock = record.clock.as_ref().filter(|clock| clock.kind != "tsc")?;
        let note = if clock.note.is_empty() { "no reason was recorded" } else { &clock.note };
        Some(format!("the clock is {}: {note}", clock.kind))
    })
}

fn clock_drift(evidence: &Evidence) -> Option<Finding> {
    Finding::from_records(Id::ClockDrifted, evidence, |_, record| {
        let clock = record.clock.as_ref()?;
        let ppm = clock.drift_ppm.filter(|ppm| ppm.abs() > DRIFT_PPM_MAX)?;
        Some(format!("the {} clock drifted by {ppm:.0} ppm", clock.kind))
    })
}

fn clock_step(evidence: &Evidence) -> Option<Finding> {
    Finding::from_records(Id::ClockStepped, evidence, |_, record| {
        let step = record.clock.as_ref()?.time_of_day_step_ns?;
        let by = step.unsigned_abs();
        let slewed = (SLEWED_MAX * record.wall_ns as f64) as u64;
        let way = if step < 0 { "back" } else { "forward" };
        (by > STEP_NS_MIN.max(slewed))
            .then(|| format!("the system's time of day was moved {way} by {}", duration(by)))
    })
}
