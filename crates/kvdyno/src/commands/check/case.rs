//! Checks of one case: what its files say of the same thing must be the same.

use super::whole::name_of;
use super::{Answer, Check, bytes, counts, server};
use kvdyno_record::case::{CaseRecord, OpResult, Outcome, PhaseRecord};
use kvdyno_record::expected_hits;
use kvdyno_record::files::CaseFolder;
use kvdyno_record::workload::{self, Activity};

const LOADED: &str = "a load wrote as many records as planned";
const COUNTED: &str = "as many records are there after a load as were written";
const FOUND: &str = "every key looked up was found, and no value checked was wrong";
const WINDOWS: &str = "roles of a phase worked in equal windows";
const THREADS: &str =
    "a role's operations are its threads', and its window is the longest of theirs";

const LOADED_FROM: &str = "the engine was loaded from the planned library, and is of its version";
const COPIED: &str = "a case that was to work on a copy worked on one of its own";
const COUNTED_OUT: &str = "a phase of so many operations did exactly that many";

/// Roles begin together; their ends may lie this share of the window apart, beyond the operation
/// that the later one waited for.
const WINDOW_TOLERANCE: f64 = 0.01;

pub(super) fn checks(folder: &CaseFolder) -> Vec<Check> {
    // A record that cannot be read has its own check.
    let Ok(record) = folder.record() else { return Vec::new() };
    let name = name_of(folder);
    let mut checks = counts::checks(folder, &record, &name);
    checks.extend(server::checks(folder, &record, &name));
    if record.case.database.copy.is_some() && !record.phases.is_empty() {
        checks.push(Check::new(COPIED, &name, copied(&record)));
    }
    if record.case.library.is_some() && !record.phases.is_empty() {
        checks.push(Check::new(LOADED_FROM, &name, loaded_from(&record)));
    }
    for (at, phase) in record.phases.iter().enumerate() {
        let of = format!("{name} {}", phase.name);
        // Where a case failed its threads ended at different times, and not for the clock.
        let failed = record.outcome != Outcome::Done && at + 1 == record.phases.len();
        let planned = record.case.phases.iter().find(|planned| planned.name == phase.name);
        match planned.map(|planned| &planned.work) {
            Some(Activity::Load(_)) => {
                checks.push(Check::new(LOADED, &of, loaded(&record, phase)));
                checks.push(Check::new(COUNTED, &of, counted(&record, at)));
                checks.push(Check::new(bytes::NAME, &of, bytes::written(&record, phase)));
            }
            Some(Activity::Measure(mix) | Activity::Warmup(mix)) => {
                checks.push(Check::new(FOUND, &of, check_hits(&record, phase)));
                // One role has nothing to be equal to.
                if phase.roles.len() > 1 && !failed {
                    checks.push(Check::new(WINDOWS, &of, windows(phase)));
                }
                if phase.roles.iter().any(|role| !role.windows.is_empty()) {
                    checks.push(Check::new(THREADS, &of, threads(phase)));
                }
                if let Some(asked) = mix.ends.operations.filter(|_| !failed) {
                    let answer = counted_out(asked, mix.ends.duration_ns, phase);
                    checks.push(Check::new(COUNTED_OUT, &of, answer));
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

fn loaded_from(record: &CaseRecord) -> Answer {
    let (Some(planned), Some(worker)) = (&record.case.library, &record.worker) else {
        return Answer::NotCheckable("no worker is in the record".to_owned());
    };
    let is = &worker.description.engine.version;
    let same = worker.library.as_ref() == Some(planned);
    // The version of an installed one may have a word behind it: 11.8.1-native.
    Answer::holds(same && planned.version.starts_with(is.as_str()), || {
        let loaded = worker.library.as_ref().map_or("none", |library| library.checksum());
        format!("planned {}, {}; loaded {loaded}, {is}", planned.checksum(), planned.version)
    })
}

fn copied(record: &CaseRecord) -> Answer {
    let Some(copy) = &record.database_copy else {
        return Answer::Failed("it worked on the database itself".to_owned());
    };
    let used_by = &record.database_used_by;
    let as_planned = record.case.database.copy == Some(copy.by) || copy.instead.is_some();
    Answer::holds(used_by.is_empty() && as_planned, || {
        format!("made by {:?}, used by {} before", copy.by, used_by.len())
    })
}

fn loaded(record: &CaseRecord, phase: &PhaseRecord) -> Answer {
    if phase.stopped {
        return Answer::NotCheckable("the load was ended early".to_owned());
    }
    let items: u64 = ops(phase).map(|op| op.items).sum();
    let planned = record.case.loaded(&phase.name);
    if items < planned && record.outcome != Outcome::Done {
        let word = record.outcome.word();
        return Answer::NotCheckable(format!("the case is {word}: {items} of {planned} records"));
    }
    Answer::holds(items == planned, || format!("{items} of {planned} records"))
}

/// The first verify phase that counts, with nothing that adds or removes records before it.
fn counted(record: &CaseRecord, load: usize) -> Answer {
    let mut why = "no verify phase looked the records up".to_owned();
    for phase in &record.phases[load + 1..] {
        if matches!(phase.kind.as_str(), "warmup" | "measure" | "load") {
            break;
        }
        let Some(verified) = &phase.verified else { continue };
        let left = expected_hits::left(&record.case.phases, record.case.data.records);
        if let Some(mistake) = verified.mistake(left) {
            return Answer::Failed(mistake);
        }
        if let Some(audit) = &verified.audit {
            // It was held against what was loaded.
            return Answer::holds(audit.loaded.is_some(), || "no audit after the load".to_owned());
        }
        let Some(counted) = verified.counted else {
            let (name, sampled) = (&phase.name, verified.sampled);
            why = format!(
                "phase `{name}` found all of {sampled} sampled keys and did not count the others \
                 (`count = true` in the suite does)"
            );
            continue;
        };
        let planned = record.case.data.records;
        return Answer::holds(verified.expected == planned, || {
            format!("{counted} records counted, {} expected, {planned} planned", verified.expected)
        });
    }
    Answer::NotCheckable(why)
}

fn check_hits(record: &CaseRecord, phase: &PhaseRecord) -> Answer {
    let sum = |of: fn(&OpResult) -> u64| ops(phase).map(of).sum::<u64>();
    let (missing, wrong) = (sum(|op| op.missing), sum(|op| op.wrong));
    let looked_up = missing + sum(|op| op.found);
    if wrong > 0 {
        return Answer::Failed(format!("{wrong} wrong values"));
    }
    let planned = &record.case.phases;
    let mistake = |role| expected_hits::mistake_of(planned, &phase.name, role);
    if let Some(mistake) = phase.roles.iter().find_map(mistake) {
        return Answer::Failed(mistake);
    }
    if missing > 0 && workload::deletes(planned) {
        return Answer::NotCheckable("keys are deleted in this case".to_owned());
    }
    if looked_up == 0 {
        return Answer::NotCheckable("no key was looked up".to_owned());
    }
    Answer::Ok
}

/// The first role's operations are counted out, those that fail among them.
fn counted_out(asked: u64, duration_ns: Option<u64>, phase: &PhaseRecord) -> Answer {
    if phase.stopped {
        return Answer::NotCheckable("the phase was ended early".to_owned());
    }
    let Some(role) = phase.roles.first() else {
        return Answer::Failed("the phase has no roles".to_owned());
    };
    if duration_ns.is_some_and(|duration_ns| role.window_ns >= duration_ns) {
        return Answer::NotCheckable("time ended the phase".to_owned());
    }
    let done: u64 = role.ops.values().map(|op| op.count + op.errors.values().sum::<u64>()).sum();
    Answer::holds(done == asked, || format!("{done} of {asked} operations by {}", role.role))
}

fn threads(phase: &PhaseRecord) -> Answer {
    for role in phase.roles.iter().filter(|role| !role.windows.is_empty()) {
        let (told, threads) = (role.windows.len(), role.threads);
        let by_threads: u64 = role.windows.iter().map(|thread| thread.operations).sum();
        let counted: u64 = role.ops.values().map(|op| op.count).sum();
        let longest = role.windows.iter().map(|thread| thread.window_ns).max().unwrap_or(0);
        if told != threads as usize || by_threads != counted || longest != role.window_ns {
            return Answer::Failed(format!(
                "{}: {told} of {threads} threads, {by_threads} of {counted} operations, longest \
                 {longest} of {} ns",
                role.role, role.window_ns
            ));
        }
    }
    Answer::Ok
}

fn windows(phase: &PhaseRecord) -> Answer {
    let slack = ops(phase).map(|op| op.service_ns_max).max().unwrap_or(0) as f64;
    let windows = || phase.roles.iter().map(|role| role.window_ns);
    let longest = windows().max().unwrap_or(0) as f64;
    let shortest = windows().min().unwrap_or(0) as f64;
    Answer::holds(longest - shortest <= longest * WINDOW_TOLERANCE + slack, || {
        format!("from {shortest} to {longest} ns")
    })
}
