//! What a suite's values must be together, whatever the engines and the host are.

use super::check_drive::{check as jobs_check, longest};
use super::length::Length;
use super::mistake::Mistakes;
use super::phase::{Load, Measure, Operation, Phase, Role};
use super::read::At;
use super::scalar::{DataSize, OneOrMany, Several, Threads};
use super::source::Span;
use super::tier;
use super::typed::{Data, Ram, Sharing, Typed};
use super::volume;
use kvdyno_record::workload::{KeyFormat, Size};
use std::collections::HashSet;

/// Bytes at the front of a value that `verify` needs: key number, version, checksum.
const VERIFY_BYTES: u64 = 16;

/// Notes all mistakes.
pub(super) fn check(typed: &Typed, mistakes: &mut Mistakes) {
    check_data(&typed.data, mistakes);
    check_ram(&typed.ram, mistakes);
    check_engines(typed, mistakes);
    check_phases(typed, mistakes);
    check_sweep(typed, mistakes);
    check_sharing(typed, mistakes);
    check_budget(typed, mistakes);
    check_slice(typed, mistakes);
    volume::check(typed, mistakes);
    tier::check(&typed.ram, typed, mistakes);
    if let Some(drive) = &typed.drive {
        jobs_check(drive, typed, mistakes);
    }
    if let Some(empty) = typed.place.directory.as_ref().filter(|path| path.is_empty()) {
        mistakes.at(&empty.span, "the directory has no name").label("expected a directory");
    }
}

/// Every slice is written down: shorter ones are of a few operations, and fill the disk.
const SLICE_MIN_NS: u64 = 1_000_000;

fn check_slice(typed: &Typed, mistakes: &mut Mistakes) {
    let slice = typed.run.slice.as_ref();
    if let Some(slice) = slice.filter(|slice| slice.0 < SLICE_MIN_NS) {
        let mistake = mistakes.at(&slice.span, format!("a slice of {} ns is too short", slice.0));
        mistake.label("expected at least 1ms: each slice is a line of the record");
    }
}

fn check_data(data: &At<Data>, mistakes: &mut Mistakes) {
    match (&data.records, &data.size) {
        (None, None) => {
            let mistake = mistakes.at(&data.span, "[data] has neither `records` nor `size`");
            mistake.label("expected `records` or `size`");
        }
        (Some(_), Some(size)) => {
            let mistake = mistakes.at(&size.span, "[data] has both `records` and `size`");
            mistake.label("expected either `records` or `size`");
        }
        _ => {}
    }
    if let Some(records) = &data.records {
        check_repeated(&records.value, mistakes);
        for zero in records.0.iter().filter(|records| records.0 == 0) {
            mistakes.at(&zero.span, "`records` is 0").label("expected at least 1");
        }
    }
    if let Some(sizes) = &data.size {
        check_repeated(&sizes.value, mistakes);
        for zero in sizes.0.iter().filter(|size| size.value == DataSize::Is(0)) {
            mistakes.at(&zero.span, "`size` is 0").label("expected at least one record's bytes");
        }
    }
    check_repeated(&data.value_bytes.value, mistakes);
    let bytes = data.key_bytes.as_ref();
    if let (Some(bytes), Some(KeyFormat::Hex)) =
        (bytes.filter(|bytes| bytes.0 < 16), data.key_format.as_ref().map(|format| format.value))
    {
        let mistake = mistakes.at(&bytes.span, format!("a hex key has no {} bytes", bytes.0));
        mistake.label("expected at least 16, or key_format = \"binary\"");
    }
    if data.verify.as_ref().is_some_and(|verify| verify.value) {
        data.value_bytes.0.iter().for_each(|length| check_verified(length, mistakes));
    }
}

fn check_verified(length: &At<Length>, mistakes: &mut Mistakes) {
    let shortest = match length.value.0 {
        Size::Fixed { bytes } => bytes,
        Size::Uniform { min, .. } | Size::Pareto { min, .. } => min,
        Size::Lognormal { .. } => 1,
    };
    if shortest < VERIFY_BYTES {
        let message =
            format!("`verify` needs values of {VERIFY_BYTES} bytes, these can be of {shortest}");
        let mistake = mistakes.at(&length.span, message);
        mistake.label("expected longer values, or verify = false");
    }
}

fn check_ram(ram: &Ram, mistakes: &mut Mistakes) {
    if let (Some(_), Some(ratio)) = (&ram.limit, &ram.data_to_ram) {
        let mistake = mistakes.at(&ratio.span, "[ram] has both `limit` and `data_to_ram`");
        mistake.label("expected either `limit` or `data_to_ram`");
    }
    if let Some(limits) = &ram.limit {
        check_repeated(&limits.value, mistakes);
        for zero in limits.0.iter().filter(|limit| limit.0 == 0) {
            let mistake = mistakes.at(&zero.span, "the RAM limit is 0");
            mistake.label("expected a limit above 0; leave [ram] out for none");
        }
    }
    if let Some(ratios) = &ram.data_to_ram {
        check_repeated(&ratios.value, mistakes);
        for ratio in ratios.0.iter().filter(|ratio| !(1e-3..=1e6).contains(&ratio.value)) {
            let mistake = mistakes.at(&ratio.span, format!("{} is out of range", ratio.value));
            mistake.label("expected how many times larger the data is: 0.001 to 1000000");
        }
    }
}

/// A value twice in a sweep would be the same cases again: trials are for that.
fn check_repeated<T: PartialEq>(values: &OneOrMany<T>, mistakes: &mut Mistakes) {
    for (at, value) in values.0.iter().enumerate() {
        if values.0[..at].iter().any(|earlier| earlier.value == value.value) {
            let mistake = mistakes.at(&value.span, "the value is in the list already");
            mistake.label("expected each value once; `trials` repeats");
        }
    }
}

fn check_engines(typed: &Typed, mistakes: &mut Mistakes) {
    let mut labels = HashSet::new();
    for engine in &typed.engine {
        let label = &engine.label;
        if !labels.insert(&label.0) {
            let mistake = mistakes.at(&label.span, format!("`{}` is there twice", label.0));
            mistake.label("expected a `label` that no other engine has");
        }
    }
}

fn check_phases(typed: &Typed, mistakes: &mut Mistakes) {
    if let Some(first) = typed.phase.first().filter(|first| first.kind() != "load") {
        let mistake = mistakes.at(&first.span, "the database is empty before the first load");
        mistake.label("expected a phase of kind \"load\" before this");
    }
    for again in typed.phase.iter().skip(1).filter(|phase| phase.kind() == "load") {
        let mistake = mistakes.at(&again.span, "each record is loaded once");
        mistake.label("expected \"load\" as the first phase only");
    }
    let mut names = HashSet::new();
    for name in typed.phase.iter().filter_map(|phase| phase.name()) {
        if !names.insert(&name.0) {
            let mistake = mistakes.at(&name.span, format!("two phases are named `{}`", name.0));
            mistake.label("expected a name of its own");
        }
    }
    for (phase, measure) in measures(typed) {
        check_measure(&phase.span, measure, mistakes);
    }
}

fn check_measure(span: &Span, measure: &Measure, mistakes: &mut Mistakes) {
    if measure.duration.is_none() && measure.operations.is_none() {
        let mistake = mistakes.at(span, "the phase would never end");
        mistake.label("expected `duration`, `operations` or both");
    }
    if let Some(zero) = measure.operations.as_ref().filter(|operations| operations.0 == 0) {
        mistakes.at(&zero.span, "`operations` is 0").label("expected at least 1");
    }
    if measure.role.is_empty() {
        mistakes.at(span, "the measure phase has no role").label("expected a [[phase.role]]");
    }
    let mut names = HashSet::new();
    for role in &measure.role {
        if !names.insert(&role.name.0) {
            let message = format!("two roles are named `{}`", role.name.0);
            mistakes.at(&role.name.span, message).label("expected a name of its own");
        }
        if let Some(depth) = &role.depth {
            check_depth(depth, role, mistakes);
        }
    }
}

/// Only what is answered by itself can be in flight, and only a closed loop keeps it there.
fn check_depth(depth: &At<Several>, role: &Role, mistakes: &mut Mistakes) {
    let alone =
        |op: &Operation| matches!(op, Operation::Get | Operation::Insert | Operation::Update);
    for entry in role.mix.iter().filter(|entry| !alone(&entry.op)) {
        let mistake = mistakes.at(&entry.span, "this operation cannot be in flight with others");
        mistake.label("expected get, insert or update beside `depth`");
    }
    if role.rate.is_some() {
        let mistake = mistakes.at(&depth.span, "a rate decides what is in flight, not a depth");
        mistake.label("expected either `rate` or `depth`");
    }
}

fn check_sweep(typed: &Typed, mistakes: &mut Mistakes) {
    let sweeps = sweeps(typed);
    let Some(threads) = &typed.run.threads else {
        for span in sweeps {
            let mistake = mistakes.at(&span, "`sweep`, and [run] has no `threads`");
            mistake.label("expected a number, or `threads` in [run]");
        }
        return;
    };
    check_repeated(&threads.value, mistakes);
    if sweeps.is_empty() {
        let mistake = mistakes.at(&threads.span, "no role takes these numbers");
        mistake.label("expected a role with threads = \"sweep\", or no `threads` here");
    }
}

/// Where `threads = "sweep"` is said.
fn sweeps(typed: &Typed) -> Vec<Span> {
    let said = |threads: &Option<At<Threads>>| {
        let threads = threads.as_ref().filter(|threads| threads.value == Threads::Sweep);
        threads.map(|threads| threads.span.clone())
    };
    let load = loads(typed).filter_map(|load| said(&load.threads));
    let roles = roles(typed).filter_map(|role| said(&role.threads));
    let jobs = typed.drive.iter().flat_map(|drive| &drive.job);
    load.chain(roles).chain(jobs.filter_map(|job| said(&job.threads))).collect()
}

/// What would make a database another one for the case that comes next.
fn check_sharing(typed: &Typed, mistakes: &mut Mistakes) {
    const FRESH: &str = "expected database = \"fresh\" in [run] with this";
    const COPY: &str = "expected database = \"copy\" or \"fresh\" in [run] with this";
    let (once, same) = match typed.sharing() {
        Sharing::Shared => ("a shared database is loaded once", true),
        Sharing::Copy | Sharing::Reflink => ("what is copied is loaded once", false),
        Sharing::Fresh => return,
    };
    for threads in loads(typed).filter_map(|load| load.threads.as_ref()) {
        if threads.value == Threads::Sweep {
            mistakes.at(&threads.span, once).label(FRESH);
        }
    }
    if !same {
        return;
    }
    for entry in roles(typed).flat_map(|role| &role.mix) {
        let what = match entry.op {
            Operation::Insert => "inserts add to",
            Operation::Delete => "deletes take from",
            _ => continue,
        };
        let message = format!("{what} a database that the next case shares");
        mistakes.at(&entry.span, message).label(COPY);
    }
}

fn check_budget(typed: &Typed, mistakes: &mut Mistakes) {
    let Some(budget) = &typed.run.budget else { return };
    let length = |measure: &Measure| {
        let [warmup, duration] =
            [&measure.warmup, &measure.duration].map(|time| time.as_ref().map_or(0, |t| t.0));
        warmup.saturating_add(duration)
    };
    let lengths = measures(typed).map(|(_, measure)| length(measure));
    let phases = lengths.fold(0, u64::saturating_add);
    let fixed = phases.max(typed.drive.as_ref().map_or(0, |drive| longest(drive)));
    if budget.0 <= fixed {
        let mistake = mistakes.at(&budget.span, "the budget ends every case too early");
        let fixed = kvdyno_record::units::duration(fixed);
        mistake.label(format!("expected more than {fixed}: measuring alone takes that"));
    }
}

fn measures(typed: &Typed) -> impl Iterator<Item = (&At<Phase>, &Measure)> {
    typed.phase.iter().filter_map(|phase| match &phase.value {
        Phase::Measure(measure) => Some((phase, measure)),
        _ => None,
    })
}

fn loads(typed: &Typed) -> impl Iterator<Item = &Load> {
    typed.phase.iter().filter_map(|phase| match &phase.value {
        Phase::Load(load) => Some(load),
        _ => None,
    })
}

fn roles(typed: &Typed) -> impl Iterator<Item = &At<Role>> {
    measures(typed).flat_map(|(_, measure)| &measure.role)
}
