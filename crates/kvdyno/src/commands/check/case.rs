//! Checks of one case: its files must agree with each other.

use super::whole::case_dir_name;
use super::{Answer, Check, bytes, counts, server};
use kvdyno_record::case::{CaseRecord, Copying, OpResult, Outcome, PhaseRecord};
use kvdyno_record::expected_hits;
use kvdyno_record::files::CaseDir;
use kvdyno_record::workload::{self, Activity, Ends};

const LOADED: &str = "a load wrote the planned number of records";
const COUNTED: &str = "the number of records after a load equals the number written";
const FOUND: &str = "every key looked up was found, and every checked value was right";
const WINDOWS: &str = "roles of a phase ran in equal windows";
const THREADS: &str =
    "a role's operations are the sum of its threads', and its window is its longest thread's";

const LOADED_FROM: &str = "the engine was loaded from the planned library, with its version";
const COPIED: &str = "a case with a copy did not change the original";
const COUNTED_OUT: &str = "a phase with an operation count did exactly that many";

/// Roles start together. Their ends may differ by this share of the window, plus the last operation
/// of the later role.
const WINDOW_TOLERANCE: f64 = 0.01;
/// The least tolerance for the ends of roles: on a busy host, threads wake late.
const WINDOW_TOLERANCE_LEAST_NS: f64 = 100e6;

pub(super) fn checks(dir: &CaseDir) -> Vec<Check> {
    // An unreadable record has its own check.
    let Ok(record) = dir.record() else { return Vec::new() };
    let name = case_dir_name(dir);
    let mut checks = counts::checks(dir, &record, &name);
    checks.extend(server::checks(dir, &record, &name));
    if record.case.copies_state() && !record.phases.is_empty() {
        checks.push(Check::new(COPIED, &name, check_copy(&record)));
    }
    if record.case.library.is_some() && !record.phases.is_empty() {
        checks.push(Check::new(LOADED_FROM, &name, check_library(&record)));
    }
    for (index, phase) in record.phases.iter().enumerate() {
        let subject = format!("{name} {}", phase.name);
        // In a failed case, threads end at different times.
        let failed = record.outcome != Outcome::Done && index + 1 == record.phases.len();
        let planned = record.case.phases.iter().find(|planned| planned.name == phase.name);
        match planned.map(|planned| &planned.work) {
            Some(Activity::Load(_)) => {
                checks.push(Check::new(LOADED, &subject, check_load(&record, phase)));
                checks.push(Check::new(COUNTED, &subject, check_count(&record, index)));
                checks.push(Check::new(bytes::NAME, &subject, bytes::check_bytes(&record, phase)));
            }
            Some(Activity::Measure(mix) | Activity::Warmup(mix)) => {
                checks.push(Check::new(FOUND, &subject, check_hits(&record, phase)));
                // A single role has no other to compare with.
                if phase.roles.len() > 1 && !failed {
                    checks.push(Check::new(WINDOWS, &subject, check_windows(phase)));
                }
                if phase.roles.iter().any(|role| !role.windows.is_empty()) {
                    checks.push(Check::new(THREADS, &subject, check_threads(phase)));
                }
                if let Some(operations) = mix.ends.operations.filter(|_| !failed) {
                    let answer = check_operations(operations, &mix.ends, phase);
                    checks.push(Check::new(COUNTED_OUT, &subject, answer));
                }
            }
            _ => {}
        }
    }
    checks
}

fn ops(phase: &PhaseRecord) -> impl Iterator<Item = &OpResult> {
    phase.roles.iter().flat_map(|role| role.ops.values())
}

fn check_library(record: &CaseRecord) -> Answer {
    let (Some(planned), Some(worker)) = (&record.case.library, &record.worker) else {
        return Answer::NotCheckable("the record has no worker".to_owned());
    };
    let version = &worker.description.engine.version;
    let is_planned = worker.library.as_ref() == Some(planned);
    // The version of an installed library may have a suffix: 11.8.1-native.
    Answer::ok_if(is_planned && planned.version.starts_with(version.as_str()), || {
        let loaded = worker.library.as_ref().map_or("none", |library| library.checksum());
        format!("planned {}, {}; loaded {loaded}, {version}", planned.checksum(), planned.version)
    })
}

fn check_copy(record: &CaseRecord) -> Answer {
    let Some(copy) = &record.database_copy else {
        return Answer::Failed("it ran on the original database".to_owned());
    };
    let used_by = &record.database_used_by;
    let shares_what_it_writes = copy.method == Copying::Reflink && record.case.writes();
    Answer::ok_if(used_by.is_empty() && !shares_what_it_writes, || {
        format!("made by {:?}, used by {} before", copy.method, used_by.len())
    })
}

fn check_load(record: &CaseRecord, phase: &PhaseRecord) -> Answer {
    if phase.stopped {
        return Answer::NotCheckable("the load was ended early".to_owned());
    }
    let items: u64 = ops(phase).map(|op| op.items).sum();
    let planned = record.case.loaded_items(&phase.name);
    if items < planned && record.outcome != Outcome::Done {
        let word = record.outcome.as_str();
        return Answer::NotCheckable(format!("the case is {word}: {items} of {planned} records"));
    }
    Answer::ok_if(items == planned, || format!("{items} of {planned} records"))
}

/// Checks the records of the load phase `load`, by the first later verify phase that counts them.
/// No phase between the two may add or remove records.
fn check_count(record: &CaseRecord, load: usize) -> Answer {
    let mut why = "no verify phase looked up the records".to_owned();
    for phase in &record.phases[load + 1..] {
        if matches!(phase.kind.as_str(), "warmup" | "measure" | "load") {
            break;
        }
        let Some(verified) = &phase.verified else { continue };
        let (planned, records) = (&record.case.phases, record.case.data.records);
        let expected = expected_hits::hits_before_phase(planned, &phase.name, records);
        if let Some(mistake) = verified.mistake(expected) {
            return Answer::Failed(mistake);
        }
        if let Some(audit) = &verified.audit {
            // Its result is compared with the load.
            return Answer::ok_if(audit.loaded.is_some(), || "no audit after the load".to_owned());
        }
        let Some(counted) = verified.counted else {
            let (name, sampled) = (&phase.name, verified.sampled);
            why = format!(
                "phase `{name}` found all of {sampled} sampled keys and did not count the others \
                 (`count = true` in the suite counts)"
            );
            continue;
        };
        let planned = record.case.data.records;
        return Answer::ok_if(verified.expected == planned, || {
            format!("{counted} records counted, {} expected, {planned} planned", verified.expected)
        });
    }
    Answer::NotCheckable(why)
}

fn check_hits(record: &CaseRecord, phase: &PhaseRecord) -> Answer {
    let sum = |count: fn(&OpResult) -> u64| ops(phase).map(count).sum::<u64>();
    let (missing, wrong) = (sum(|op| op.misses), sum(|op| op.wrong));
    let looked_up = missing + sum(|op| op.hits);
    if wrong > 0 {
        return Answer::Failed(format!("{wrong} wrong values"));
    }
    let planned = &record.case.phases;
    let mistake = |role| expected_hits::find_mistake(planned, &phase.name, role);
    if let Some(mistake) = phase.roles.iter().find_map(mistake) {
        return Answer::Failed(mistake);
    }
    if missing > 0 && workload::allows_misses(planned) {
        return Answer::NotCheckable("keys are deleted, or expire, in this case".to_owned());
    }
    if looked_up == 0 {
        return Answer::NotCheckable("no key was looked up".to_owned());
    }
    Answer::Ok
}

/// Checks the number of operations of the first role; failed ones count too.
fn check_operations(operations: u64, ends: &Ends, phase: &PhaseRecord) -> Answer {
    if phase.stopped {
        return Answer::NotCheckable("the phase was ended early".to_owned());
    }
    let Some(role) = phase.roles.first() else {
        return Answer::Failed("the phase has no roles".to_owned());
    };
    if ends.ended_by_time(role.window_ns) {
        return Answer::NotCheckable("time ended the phase".to_owned());
    }
    let done: u64 = role.ops.values().map(|op| op.count + op.errors.values().sum::<u64>()).sum();
    Answer::ok_if(done == operations, || {
        format!("{done} of {operations} operations by {}", role.role)
    })
}

fn check_threads(phase: &PhaseRecord) -> Answer {
    for role in phase.roles.iter().filter(|role| !role.windows.is_empty()) {
        let (windows, threads) = (role.windows.len(), role.threads);
        let by_threads: u64 = role.windows.iter().map(|thread| thread.operations).sum();
        let counted: u64 = role.ops.values().map(|op| op.count).sum();
        let longest = role.windows.iter().map(|thread| thread.window_ns).max().unwrap_or(0);
        if windows != threads as usize || by_threads != counted || longest != role.window_ns {
            return Answer::Failed(format!(
                "{}: {windows} of {threads} threads, {by_threads} of {counted} operations, longest \
                 {longest} of {} ns",
                role.role, role.window_ns
            ));
        }
    }
    Answer::Ok
}

fn check_windows(phase: &PhaseRecord) -> Answer {
    let slack = ops(phase).map(|op| op.service_ns_max).max().unwrap_or(0) as f64;
    let windows = || phase.roles.iter().map(|role| role.window_ns);
    let longest = windows().max().unwrap_or(0) as f64;
    let shortest = windows().min().unwrap_or(0) as f64;
    let tolerance = (longest * WINDOW_TOLERANCE).max(WINDOW_TOLERANCE_LEAST_NS);
    Answer::ok_if(longest - shortest <= tolerance + slack, || {
        format!("from {shortest} to {longest} ns")
    })
}
