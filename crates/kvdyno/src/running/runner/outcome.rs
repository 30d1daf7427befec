//! The outcome of a case: the only place that judges a worker's end.

use super::supervisor::ServerFailure;
use kvdyno_host::child::ExitStatus;
use kvdyno_record::case::{Outcome, PhaseRecord, RamLimit, WorkerIdentity};
use kvdyno_record::engine::ErrorClass;
use kvdyno_record::plan::Case;
use kvdyno_record::workload::Phase;
use kvdyno_record::{expected_hits, fit};

#[derive(Clone, Debug, Default)]
pub(super) struct Ending {
    /// The error of the worker, or of this program.
    pub(super) failure: Option<(ErrorClass, String)>,
    /// The reason why it was ended early.
    pub(super) cut: Option<EarlyEnd>,
    pub(super) killed_by_us: bool,
    /// The reason why the server ended before its client.
    pub(super) server: Option<ServerFailure>,
    /// Whether its last line reported completion.
    pub(super) is_done: bool,
    /// The last message of a crew's launcher; `None`: there is none.
    pub(super) launcher: Option<String>,
    pub(super) phase: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum EarlyEnd {
    Overrun,
    /// A phase that did not end, and the threads that still run.
    Overtime(String),
    Interrupted,
}

/// The outcome of a case. Facts about the engine come first: a RAM limit that it exceeded, lost
/// data, its own error; then external causes.
pub(super) fn judge(
    case: &Case,
    worker: Option<&WorkerIdentity>,
    phases: &[PhaseRecord],
    ending: &Ending,
    exit: &ExitStatus,
    ram: &RamLimit,
) -> Outcome {
    let phase = &ending.phase;
    let oom_kills = ram.group.map_or(0, |group| group.oom_kills);
    let died = exit.signal.is_some() && !ending.killed_by_us || ending.server.is_some();
    if oom_kills > 0 && died {
        let killed = format!("killed by the kernel for its RAM limit in `{phase}`");
        let message = worker
            .map_or_else(|| killed.clone(), |worker| with_cache_advice(&killed, case, worker));
        return Outcome::DoesNotFit { message };
    }
    if let Some(message) = lost_data(case, phases) {
        return Outcome::Failed { class: ErrorClass::Corrupt, message };
    }
    if let Some(ServerFailure { message, signal: Some(signal), .. }) = ending.server.clone() {
        return Outcome::Killed { signal, message: format!("{message}, in `{phase}`") };
    }
    if let Some((class, message)) = ending.failure.clone() {
        return match class {
            ErrorClass::Memory => Outcome::DoesNotFit { message },
            ErrorClass::Full => Outcome::DiskFull { message },
            class => Outcome::Failed { class, message },
        };
    }
    if ending.cut == Some(EarlyEnd::Overrun) {
        let budget = kvdyno_record::units::duration(case.budget_ns);
        let message = format!("over its time limit of {budget} (`budget` in [run]) in `{phase}`");
        return Outcome::OutOfTime { message };
    }
    if let Some(EarlyEnd::Overtime(message)) = &ending.cut {
        return Outcome::OutOfTime { message: message.clone() };
    }
    if ending.cut == Some(EarlyEnd::Interrupted) {
        return Outcome::Interrupted { message: format!("in `{phase}`") };
    }
    match exit.signal {
        Some(signal) if !ending.killed_by_us => {
            Outcome::Killed { signal, message: format!("in `{phase}`") }
        }
        _ if ending.is_done => match incomplete_load(case, phases) {
            Some(message) => Outcome::Failed { class: ErrorClass::Corrupt, message },
            None => Outcome::Done,
        },
        _ if case.crew.is_some() => Outcome::Failed {
            class: ErrorClass::Other,
            message: format!(
                "a rank of the crew died, and all others with it, in `{phase}`: {} (the launcher \
                 {exit}; see log.txt)",
                ending.launcher.as_deref().unwrap_or("the launcher does not report which")
            ),
        },
        _ => Outcome::Failed {
            class: ErrorClass::Other,
            message: format!("the worker {exit} in `{phase}` without a message; see log.txt"),
        },
    }
}

/// The cause, and the option that makes the engine exceed its limit, if there is one.
fn with_cache_advice(what: &str, case: &Case, worker: &WorkerIdentity) -> String {
    let advice = case.ram_limit_bytes.and_then(|limit| {
        let engine = &worker.description.engine;
        fit::cache_over_limit(engine, &case.options, limit, &case.engine)
    });
    advice.map_or_else(|| what.to_owned(), |advice| format!("{what}: {advice}"))
}

/// The outcome of a case whose server did not start.
pub(super) fn from_start_failure(
    case: &Case,
    worker: &WorkerIdentity,
    failure: ServerFailure,
    ram: &RamLimit,
) -> Outcome {
    let ServerFailure { class, message, signal } = failure;
    let killed = ram.group.is_some_and(|group| group.oom_kills > 0);
    match class {
        ErrorClass::Full => Outcome::DiskFull { message },
        _ if killed || class == ErrorClass::Memory => {
            Outcome::DoesNotFit { message: with_cache_advice(&message, case, worker) }
        }
        _ => match signal {
            Some(signal) => {
                let message = format!("{message}, while it started its server");
                Outcome::Killed { signal, message }
            }
            // The next attempt may have another result.
            None => Outcome::NotRun { message },
        },
    }
}

/// Describes missing or wrong data: the figures of such a case have no meaning.
pub(super) fn lost_data(case: &Case, phases: &[PhaseRecord]) -> Option<String> {
    let unverified = phases.iter().find_map(|phase| {
        let (name, records) = (&phase.name, case.data.records);
        let expected = expected_hits::hits_before_phase(&case.phases, name, records);
        phase.verified.as_ref()?.mistake(expected)
    });
    unverified.or_else(|| phases.iter().find_map(|phase| reads_failed(phase, &case.phases)))
}

/// Whether later figures have no meaning, because data is lost or was never complete.
pub(super) fn is_void(case: &Case, phases: &[PhaseRecord]) -> bool {
    lost_data(case, phases).is_some() || incomplete_load(case, phases).is_some()
}

/// Describes a load that reports completion but has not written every record.
fn incomplete_load(case: &Case, phases: &[PhaseRecord]) -> Option<String> {
    let loads = phases.iter().filter(|phase| phase.kind == "load" && !phase.stopped);
    let items = |phase: &PhaseRecord| -> u64 {
        phase.roles.iter().flat_map(|role| role.ops.values()).map(|op| op.items).sum()
    };
    let loaded = |phase: &PhaseRecord| (items(phase), case.loaded_items(&phase.name));
    let (short, planned) = loads.map(loaded).find(|(loaded, planned)| loaded != planned)?;
    Some(format!("{short} of {planned} records were loaded"))
}

fn reads_failed(phase: &PhaseRecord, planned: &[Phase]) -> Option<String> {
    let ops = || phase.roles.iter().flat_map(|role| role.ops.values());
    let wrong: u64 = ops().map(|op| op.wrong).sum();
    if wrong > 0 {
        return Some(format!("{wrong} values read in `{}` were wrong", phase.name));
    }
    phase.roles.iter().find_map(|role| {
        let mistake = expected_hits::find_mistake(planned, &phase.name, role)?;
        Some(format!("`{}`, role `{}`: {mistake}", phase.name, role.role))
    })
}
