//! Checks of a suite's values that depend neither on engines nor on the host.

use crate::check::storage::{check_media, check_tiers, check_volumes};
use crate::check::{
    count, crew, drive, duration, from, linkbench, opening, pilot, profile, replay, role, turns,
};
use crate::edit::select;
use crate::written::drive::{DURATION_NS, DriveJob};
use crate::written::length::Length;
use crate::written::mistake::Mistakes;
use crate::written::names::check_names;
use crate::written::phase::{ExpectedHitsKey, Measure, Phase, Role};
use crate::written::read::{At, Or as _};
use crate::written::scalar::{DataSize, Nanoseconds, Threads};
use crate::written::source::Span;
use crate::written::typed::{Data, Sharing, Typed};
use kvdyno_record::known::STUDIES;
use kvdyno_record::text::is_steering;
use kvdyno_record::workload::{KeyFormat, KeyOrder, LoadOrder, Op, Size};
use std::collections::HashSet;

/// Bytes at the front of a value that `verify` needs: key number, version, checksum.
const VERIFY_BYTES: u64 = 16;

/// Records all mistakes.
pub(crate) fn check(typed: &Typed, mistakes: &mut Mistakes) {
    typed.suite.title.iter().for_each(|title| check_title(title, mistakes));
    typed.suite.study.iter().for_each(|study| check_study(study, mistakes));
    check_data(&typed.data, mistakes);
    from::check(typed, mistakes);
    check_overwritten(typed, mistakes);
    check_ram(typed, mistakes);
    check_engines(typed, mistakes);
    check_phases(typed, mistakes);
    check_sweep(typed, mistakes);
    linkbench::check(typed, mistakes);
    replay::check(typed, mistakes);
    check_sharing(typed, mistakes);
    check_budget(typed, mistakes);
    check_slice(typed, mistakes);
    turns::check(typed, mistakes);
    duration::check(typed, mistakes);
    pilot::check(typed, mistakes);
    check_volumes(typed, mistakes);
    check_tiers(typed, mistakes);
    crew::check(typed, mistakes);
    opening::check(typed, mistakes);
    count::check(typed, mistakes);
    profile::check(typed, mistakes);
    if let Some(drive) = &typed.drive {
        drive::check(drive, typed, mistakes);
    }
    if let Some(empty) = typed.data_dir.path.as_ref().filter(|path| path.is_empty()) {
        mistakes.at(&empty.span, "the directory has no name").label("expected a directory");
    }
}

/// Checks the names of engines and volumes before any part leaves some out.
pub(crate) fn check_mentions(typed: &Typed, mistakes: &mut Mistakes) {
    check_media(typed, mistakes);
    let volumes: Vec<&str> = typed.volume.iter().map(|volume| volume.name.0.as_str()).collect();
    for picked in typed.engine.iter().filter_map(|engine| engine.volumes.as_ref()) {
        let exists = |name: &str| volumes.contains(&name);
        select::check(picked, "[[volume]]", &volumes, exists, mistakes);
    }
    let mut names: Vec<&str> = typed.engine.iter().map(|engine| engine.stem.as_str()).collect();
    names.dedup();
    for phase in &typed.phase {
        let Phase::Reopen(reopen) = &phase.value else { continue };
        for (name, _) in &reopen.options.0 {
            if !typed.engine.iter().any(|engine| engine.is_called(name)) {
                let message = format!("no engine of the suite is called `{}`", name.value);
                mistakes.unknown(&name.span, message, name, &names);
            }
        }
    }
}

/// The shortest slice: the record has each slice, and shorter ones would fill the disk.
const SLICE_MIN_NS: u64 = 1_000_000;

fn check_slice(typed: &Typed, mistakes: &mut Mistakes) {
    let slice = typed.run.slice.as_ref();
    if let Some(slice) = slice.filter(|slice| slice.0 < SLICE_MIN_NS) {
        let mistake = mistakes.at(&slice.span, format!("a slice of {} ns is too short", slice.0));
        mistake.label("expected at least 1ms: each slice is a line of the record");
    }
}

/// The most characters of a title, which is the heading of tables with a hundred columns.
const TITLE_MAX: usize = 200;

fn check_title(title: &At<String>, mistakes: &mut Mistakes) {
    if title.chars().any(is_steering) {
        let mistake = mistakes.at(&title.span, "a title is one line of text");
        mistake.label("expected no line breaks, control characters or direction marks");
    }
    if title.chars().count() > TITLE_MAX {
        let mistake = mistakes.at(&title.span, "the title is too long");
        mistake.label(format!("expected at most {TITLE_MAX} characters"));
    }
}

fn check_study(study: &At<String>, mistakes: &mut Mistakes) {
    if !STUDIES.contains(&study.as_str()) {
        let message = format!("unknown study `{}`", study.value);
        mistakes.unknown(&study.span, message, study, &STUDIES);
    }
}

/// Refuses `overwritten` for a graph, and where no load writes every record.
fn check_overwritten(typed: &Typed, mistakes: &mut Mistakes) {
    let Some(times) = typed.data.overwritten.as_ref().filter(|times| times.0 > 0) else { return };
    let orders = typed.loads().map(|load| load.order.as_ref().map(|order| order.value));
    let all = |order| !matches!(order, Some(LoadOrder::Drawn | LoadOrder::FirstRead));
    let why = match orders.map(all).reduce(|one, other| one && other) {
        _ if typed.data.linkbench.is_some() => "a graph is not overwritten",
        Some(true) => return,
        Some(false) => "the load leaves records out, which cannot be overwritten",
        None => "nothing is loaded that could be overwritten",
    };
    mistakes.at(&times.span, why).label("expected no `overwritten`");
}

fn check_data(data: &At<Data>, mistakes: &mut Mistakes) {
    if data.from.is_some() {
        return;
    }
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
        records.check_repeated(mistakes);
        for zero in records.0.iter().filter(|records| records.0 == 0) {
            mistakes.at(&zero.span, "`records` is 0").label("expected at least 1");
        }
    }
    if let Some(sizes) = &data.size {
        sizes.check_repeated(mistakes);
        for zero in sizes.0.iter().filter(|size| size.value == DataSize::Is(0)) {
            mistakes.at(&zero.span, "`size` is 0").label("expected at least one record's bytes");
        }
    }
    if let Some(share) = data.compress_to.as_ref().filter(|share| share.0 <= 0.0) {
        let mistake = mistakes.at(&share.span, "`compress_to` must be greater than 0");
        mistake.label("expected a share such as 0.5");
    }
    check_key(data, mistakes);
    let Some(lengths) = &data.value_bytes else {
        if data.linkbench.is_none() {
            let mistake = mistakes.at(&data.span, "[data] has no `value_bytes`");
            mistake.label("`value_bytes` is missing here");
        }
        return;
    };
    lengths.check_repeated(mistakes);
    if data.verify.value_or(false) {
        lengths.0.iter().for_each(|length| check_verified(length, mistakes));
    }
}

/// The longest key that is sent to any engine; a typing error could mean gigabytes.
const KEY_BYTES_MAX: u64 = 64 << 10;

fn check_key(data: &Data, mistakes: &mut Mistakes) {
    let format = data.key_format.value_or(KeyFormat::Binary);
    let ordered = data.key_order.as_ref().filter(|order| order.value == KeyOrder::Ordered);
    if let (KeyFormat::Ycsb, Some(order)) = (format, ordered) {
        let mistake = mistakes.at(&order.span, "ycsb keys are not in the order of their numbers");
        mistake.label("expected \"hashed\"; for keys in order: key_format = \"hex\"");
    }
    let Some(bytes) = &data.key_bytes else { return };
    let (shortest, longest) = (bytes.value.0.min(), bytes.value.0.max());
    if format == KeyFormat::Ycsb {
        let mistake = mistakes.at(&bytes.span, "ycsb keys have the lengths of their numbers");
        mistake.label("expected no `key_bytes` here");
        return;
    }
    let varied = !matches!(bytes.value.0, Size::Fixed { .. });
    let (least, name) = match format {
        KeyFormat::Hex => (16, "hex"),
        KeyFormat::DbBench if varied => (8, "db_bench"),
        KeyFormat::Binary if varied => (8, "binary"),
        _ => (1, "binary"),
    };
    if shortest < least {
        let mistake =
            mistakes.at(&bytes.span, format!("a {name} key cannot have {shortest} bytes"));
        mistake.label(match format {
            KeyFormat::Hex => "expected at least 16, or key_format = \"binary\"".to_owned(),
            _ => format!("expected at least {least}"),
        });
    }
    if longest > KEY_BYTES_MAX {
        let mistake = mistakes.at(&bytes.span, format!("keys of {longest} bytes are too long"));
        mistake.label(format!("expected at most {KEY_BYTES_MAX}"));
    }
}

fn check_verified(length: &At<Length>, mistakes: &mut Mistakes) {
    let shortest = length.value.0.min();
    if shortest < VERIFY_BYTES {
        let message =
            format!("`verify` needs values of {VERIFY_BYTES} bytes, found values of {shortest}");
        let mistake = mistakes.at(&length.span, message);
        mistake.label("expected longer values, or verify = false");
    }
}

fn check_ram(typed: &Typed, mistakes: &mut Mistakes) {
    let ram = &typed.ram;
    if let (None, Some(unscaled)) = (&ram.limit, &ram.unscaled) {
        let mistake =
            mistakes.at(&unscaled.span, "`unscaled` without `limit`: it is added to the limit");
        mistake.label("expected `limit` next to it");
    }
    let unlimited_load = ram.while_loading.as_ref().filter(|limited| !limited.value);
    if let (Some(key), Some(_)) = (unlimited_load, ram.tier.first()) {
        let mistake = mistakes.at(&key.span, "a limit that begins after the load has no tier yet");
        mistake.label("expected no `tier`, or while_loading = true");
    }
    let before_evict = typed.phase.iter().take_while(|at| !matches!(at.value, Phase::Evict(_)));
    let measures = |phase: &&At<Phase>| matches!(phase.value, Phase::Measure(_));
    if let (Some(key), Some(_)) = (unlimited_load, before_evict.clone().find(measures)) {
        let what = "`while_loading = false` needs an `evict` phase: there the limit begins";
        mistakes.at(&key.span, what).label("expected an `evict` phase before the first measured");
    }
    if let (Some(_), Some(ratio)) = (&ram.limit, &ram.data_to_ram) {
        let mistake = mistakes.at(&ratio.span, "[ram] has both `limit` and `data_to_ram`");
        mistake.label("expected either `limit` or `data_to_ram`");
    }
    if let Some(limits) = &ram.limit {
        limits.check_repeated(mistakes);
        for zero in limits.0.iter().filter(|limit| limit.0 == 0) {
            let mistake = mistakes.at(&zero.span, "the RAM limit is 0");
            mistake.label("expected a limit above 0; leave [ram] out for none");
        }
    }
    if let Some(ratios) = &ram.data_to_ram {
        ratios.check_repeated(mistakes);
        for ratio in ratios.0.iter().filter(|ratio| !(1e-3..=1e6).contains(&ratio.value)) {
            let mistake = mistakes.at(&ratio.span, format!("{} is out of range", ratio.value));
            mistake.label("expected how many times larger the data is: 0.001 to 1000000");
        }
    }
}

fn check_engines(typed: &Typed, mistakes: &mut Mistakes) {
    let mut labels = HashSet::new();
    for engine in &typed.engine {
        let label = &engine.label;
        if !labels.insert(&label.0) {
            let mistake = mistakes.at(&label.span, format!("the label `{}` occurs twice", label.0));
            mistake.label("expected a unique `label`");
        }
    }
}

fn check_phases(typed: &Typed, mistakes: &mut Mistakes) {
    if let Some(empty) = typed.run.phases.as_ref().filter(|phases| phases.is_empty()) {
        mistakes.at(&empty.span, "the list is empty").label("expected the names of phases");
    } else if typed.phase.is_empty() && !typed.engine.is_empty() {
        let mistake = mistakes.add_unlocated("the list `phase` is empty");
        mistake.help("write a [[phase]] of kind \"load\", and the phases to measure");
    }
    let is_load = |phase: &&At<Phase>| phase.kind() == "load";
    let first = typed.phase.first().filter(|_| typed.data.from.is_none());
    if let Some(first) = first.filter(|first| !is_load(first)) {
        let mistake = mistakes.at(&first.span, "the database is empty before the first load");
        mistake.label("expected a phase of kind \"load\" before this");
    }
    for again in typed.phase.iter().skip(1).filter(|phase| phase.kind() == "load") {
        let mistake = mistakes.at(&again.span, "each record is loaded once");
        mistake.label("expected \"load\" as the first phase only");
    }
    check_names("phases", typed.phase.iter().filter_map(|phase| phase.name()), mistakes);
    for (phase, measure) in typed.measures() {
        check_measure(&phase.span, measure, mistakes);
    }
}

fn check_measure(span: &Span, measure: &Measure, mistakes: &mut Mistakes) {
    let ends = measure.role.first().is_some_and(|first| first.trace.is_some());
    if measure.duration.is_none() && measure.operations.is_none() && !ends {
        let mistake = mistakes.at(span, "the phase would never end");
        mistake.label("expected `duration`, `operations` or both");
    }
    if let Some(zero) = measure.operations.as_ref().filter(|operations| operations.0 == 0) {
        mistakes.at(&zero.span, "`operations` is 0").label("expected at least 1");
    }
    if let Some(windows) = &measure.windows {
        check_windows(windows, measure, mistakes);
    }
    if measure.role.is_empty() {
        mistakes.at(span, "the measure phase has no role").label("expected a [[phase.role]]");
    }
    check_names("roles", measure.role.iter().map(|role| &role.name), mistakes);
    for role in measure.role.iter() {
        role::check(role, measure, mistakes);
    }
}

/// The most windows of a phase: each of them is a phase in the record.
const WINDOWS_MAX: u64 = 1_000;

fn check_windows(windows: &At<Nanoseconds>, measure: &Measure, mistakes: &mut Mistakes) {
    if let Some(operations) = &measure.operations {
        let mistake = mistakes
            .at(&operations.span, "`windows` divide a duration, not a number of operations");
        mistake.label("expected only `duration` next to `windows`");
    }
    let fixed = measure.duration.as_ref().filter(|duration| duration.earliest_end().is_none());
    let Some(duration) = fixed else { return };
    let count = duration.most_ns().div_ceil(windows.0);
    if count < 2 {
        let mistake = mistakes.at(&windows.span, "the first window covers the whole phase");
        mistake.label("expected less than the `duration`, or no `windows`");
    } else if count > WINDOWS_MAX {
        let mistake = mistakes.at(&windows.span, format!("the phase has {count} windows"));
        mistake.label(format!("expected at most {WINDOWS_MAX}"));
    }
}

fn check_sweep(typed: &Typed, mistakes: &mut Mistakes) {
    let sweeps = typed.sweeps();
    let Some(threads) = &typed.run.threads else {
        for span in sweeps {
            let mistake = mistakes.at(&span, "`sweep` without `threads` in [run]");
            mistake.label("expected a number, or `threads` in [run]");
        }
        return;
    };
    threads.check_repeated(mistakes);
    if sweeps.is_empty() {
        let mistake = mistakes.at(&threads.span, "no role uses these numbers");
        mistake.label("expected a role with threads = \"sweep\", or no `threads` here");
    }
}

/// Refuses operations that would change a database which the next case uses.
pub(crate) fn check_sharing(typed: &Typed, mistakes: &mut Mistakes) {
    const FRESH: &str = "expected database = \"fresh\" in [run] with this";
    const STATE: &str = "expected database = \"state\" or \"fresh\" in [run] with this";
    let (once, shared) = match typed.sharing() {
        Sharing::Shared => ("a shared database is loaded once", true),
        Sharing::State => ("a state is loaded once", false),
        Sharing::Fresh => return,
    };
    for threads in typed.loads().filter_map(|load| load.threads.as_ref()) {
        if threads.value == Threads::Sweep {
            mistakes.at(&threads.span, once).label(FRESH);
        }
    }
    let hits = typed.roles().filter_map(|role| role.expected_hits.as_ref());
    let is_any = |hits: &&At<ExpectedHitsKey>| hits.value == ExpectedHitsKey::Any;
    // Records that expire in the user's own database are gone for every case alike.
    for any in hits.filter(is_any).filter(|_| typed.data.from.is_none()) {
        let message = "records that expire may be gone before the next case";
        mistakes.at(&any.span, message).label(FRESH);
    }
    for (_, measure) in typed.measures() {
        let label = match (measure.once.value_or(false), shared) {
            (true, _) => FRESH,
            (false, true) => STATE,
            (false, false) => continue,
        };
        measure.role.iter().for_each(|role| check_next_case(role, label, mistakes));
    }
}

/// Refuses operations of a role after which the next case would draw keys that are not there, or
/// miss some that are.
fn check_next_case(role: &At<Role>, label: &str, mistakes: &mut Mistakes) {
    if let Some(recorded) = role.recorded_ttl.as_ref().filter(|recorded| recorded.value) {
        let message = "records expire from a database that the next case uses";
        mistakes.at(&recorded.span, message).label(label);
    }
    for entry in role.entries() {
        let what = match entry.op {
            Op::Insert => "inserts change",
            Op::Delete if role.is_of_drive() => "discards change",
            Op::Delete => "deletes change",
            _ if entry.ttl.is_some() => "times to live change",
            _ if entry.op.is_of_graph() && entry.op.writes() => "requests change",
            _ => continue,
        };
        let message = format!("{what} a database that the next case uses");
        mistakes.at(&entry.span, message).label(label);
    }
}

fn check_budget(typed: &Typed, mistakes: &mut Mistakes) {
    let Some(budget) = &typed.run.budget else { return };
    let length = |warmup: &Option<At<Nanoseconds>>, duration_ns: Option<u64>| {
        warmup.value_or(Nanoseconds(0)).0.saturating_add(duration_ns.unwrap_or(0))
    };
    let lengths = typed.measures().map(|(_, measure)| {
        let most_ns = measure.duration.as_ref().map(|duration| duration.most_ns());
        length(&measure.warmup, most_ns)
    });
    let phases = lengths.fold(0, u64::saturating_add);
    let jobs = typed.drive.iter().flat_map(|drive| &drive.job);
    let duration = |job: &DriveJob| job.duration.value_or(Nanoseconds(DURATION_NS)).0;
    let longest = jobs.map(|job| length(&job.warmup, Some(duration(job)))).max();
    let fixed = phases.max(longest.unwrap_or(0));
    if budget.0 <= fixed {
        let mistake = mistakes.at(&budget.span, "the budget ends every case too early");
        let fixed = kvdyno_record::units::duration(fixed);
        mistake.label(format!("expected more than {fixed}: measuring alone takes that"));
    }
}
