//! `--quick`: shortens any suite, as its author would write it in the file for a first look.

use crate::edit::adjust::{get_or_insert_table, get_str, put, text};
use crate::written::scalar::parse_integer;
use crate::written::source::Span;
use kvdyno_record::units;
use serde_spanned::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// Upper bounds of lengths in the suite: a measured phase, its warmup, the settle time, a drive job
/// and its warmup.
const MEASURE: &str = "10s";
const WARMUP: &str = "2s";
const SETTLE: &str = "10s";
const JOB: &str = "5s";
const JOB_WARMUP: &str = "1s";
/// Upper bound of keys that are read back after a load.
const SAMPLES: u64 = 1_000;

/// Inputs of `--quick`, and the settings that other options have made.
#[derive(Clone, Copy)]
pub(crate) struct Quick<'q> {
    /// Processors of this machine.
    pub(crate) cpus: u32,
    /// The position at which mistakes in changed keys are shown.
    pub(crate) span: &'q Span,
    /// `--threads` sets the thread counts.
    pub(crate) threads_given: bool,
    /// `--trials` sets the number of trials.
    pub(crate) trials_given: bool,
    /// `--duration` sets the duration of measured phases.
    pub(crate) duration_given: bool,
}

/// Shortens a suite to minutes. Returns each change as text.
pub(crate) fn shorten(suite: &mut DeTable<'_>, quick: Quick<'_>) -> Vec<String> {
    let mut changes = Changes { span: quick.span.clone(), words: Vec::new() };
    // A graph is always verified completely.
    let sampled = table(suite, "data").is_none_or(|data| !data.contains_key("linkbench"));
    for phase in members(suite, "phase") {
        let kind = get_str(phase, "kind").unwrap_or_default().to_owned();
        let name = get_str(phase, "name").unwrap_or(&kind).to_owned();
        match kind.as_str() {
            // A phase that opens the engine ends by a count alone.
            "measure" if opens(phase) => {}
            "measure" => {
                phase.remove("windows");
                if !quick.duration_given {
                    changes.time(phase, &name, "duration", MEASURE, true);
                }
                changes.time(phase, &name, "warmup", WARMUP, false);
            }
            "settle" => changes.time(phase, &name, "limit", SETTLE, true),
            "verify" if sampled => changes.samples(phase, &name),
            _ => {}
        }
    }
    if let Some(DeValue::Table(drive)) = suite.get_mut("drive").map(Spanned::get_mut) {
        drive.remove("trials");
        changes.time(drive, "drive", "duration", JOB, true);
        changes.time(drive, "drive", "warmup", JOB_WARMUP, false);
        for job in members(drive, "job") {
            let name = get_str(job, "name").unwrap_or("job").to_owned();
            changes.time(job, &name, "duration", JOB, false);
            changes.time(job, &name, "warmup", JOB_WARMUP, false);
        }
    }
    if let Some(run) = table(suite, "run") {
        if !quick.threads_given {
            changes.threads(run, quick.cpus);
        }
        let is_one = run.get("trials").is_some_and(|trials| number(trials.get_ref()) == Some(1));
        if !quick.trials_given && !is_one {
            changes.words.push("one trial".to_owned());
            put(run, "trials", changes.number(1));
        }
    }
    changes.words
}

/// The changes so far, as text.
struct Changes {
    span: Span,
    words: Vec<String>,
}

impl Changes {
    /// Limits the time under a key to `most`. A missing key is set as well if its default may be
    /// longer.
    fn time(
        &mut self,
        table: &mut DeTable<'_>,
        phase: &str,
        key: &'static str,
        most: &'static str,
        always: bool,
    ) {
        let most_ns = units::parse_duration(most).unwrap_or(u64::MAX);
        let is_longer = |text: &str| units::parse_duration(text).is_ok_and(|ns| ns > most_ns);
        let previous = match table.get(key).map(Spanned::get_ref) {
            Some(DeValue::String(text)) if is_longer(text) => Some(text.to_string()),
            Some(DeValue::Table(bounds)) => match bounds.get("most").map(Spanned::get_ref) {
                Some(DeValue::String(text)) if is_longer(text) => Some(format!("up to {text}")),
                _ => return,
            },
            None if always => None,
            // A value that is no time is reported by the reader of the key.
            Some(_) | None => return,
        };
        let instead = previous.map_or_else(String::new, |text| format!(" instead of {text}"));
        self.words.push(format!("{phase}: {key} {most}{instead}"));
        put(table, key, text(most, &self.span));
    }

    fn samples(&mut self, phase: &mut DeTable<'_>, name: &str) {
        let typed = phase.get("samples").and_then(|typed| number(typed.get_ref()));
        if typed.is_none_or(|typed| typed > SAMPLES) {
            self.words.push(format!("{name}: {SAMPLES} samples"));
            put(phase, "samples", self.number(SAMPLES));
        }
    }

    /// Keeps the thread counts nearest to one, to one per processor and to four per processor.
    fn threads(&mut self, run: &mut DeTable<'_>, cpus: u32) {
        let Some(DeValue::Array(list)) = run.get("threads").map(Spanned::get_ref) else { return };
        let all: Vec<u64> = list.iter().filter_map(|typed| number(typed.get_ref())).collect();
        let Some(least) = all.iter().min().copied() else { return };
        let targets = [1, u64::from(cpus), 4 * u64::from(cpus)];
        let next =
            |target: u64| all.iter().copied().filter(|n| *n <= target).max().unwrap_or(least);
        let mut chosen = targets.map(next).to_vec();
        chosen.dedup();
        if chosen.len() >= all.len() {
            return;
        }
        let list = |numbers: &[u64]| {
            let words: Vec<String> = numbers.iter().map(ToString::to_string).collect();
            words.join(", ")
        };
        self.words.push(format!("threads {} instead of {}", list(&chosen), list(&all)));
        let mut thinned = DeArray::new();
        for threads in chosen {
            thinned.push(self.number(threads));
        }
        put(run, "threads", Spanned::new(self.span.clone(), DeValue::Array(thinned)));
    }

    /// Returns a count as a value; suites accept text for it.
    fn number<'i>(&self, number: u64) -> Spanned<DeValue<'i>> {
        text(number.to_string(), &self.span)
    }
}

pub(crate) fn number(value: &DeValue<'_>) -> Option<u64> {
    match value {
        DeValue::Integer(number) => parse_integer(number),
        DeValue::String(text) => units::parse_count(text).ok(),
        _ => None,
    }
}

/// The tables in a list.
pub(crate) fn members<'t, 'i>(
    table: &'t mut DeTable<'i>,
    key: &str,
) -> impl Iterator<Item = &'t mut DeTable<'i>> {
    let list = table.get_mut(key).and_then(|list| match list.get_mut() {
        DeValue::Array(list) => Some(list),
        _ => None,
    });
    list.into_iter().flat_map(|list| list.iter_mut()).filter_map(|member| match member.get_mut() {
        DeValue::Table(member) => Some(member),
        _ => None,
    })
}

/// Returns whether a phase opens the engine repeatedly.
pub(crate) fn opens(phase: &mut DeTable<'_>) -> bool {
    let is_opening =
        |entry: &mut DeTable<'_>| matches!(get_str(entry, "op"), Some("open" | "recover"));
    members(phase, "role").any(|role| members(role, "mix").any(is_opening))
}

/// The table under a key, created if missing.
pub(crate) fn table<'t, 'i>(
    suite: &'t mut DeTable<'i>,
    key: &'static str,
) -> Option<&'t mut DeTable<'i>> {
    get_or_insert_table(suite, key, &(0..0))
}
