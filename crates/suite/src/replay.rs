//! Roles that replay a trace: what is in it is told by whoever can read files, and becomes the mix
//! of the role.

use super::check::{check_sharing, measures};
use super::engine::Engine;
use super::mistake::{Mistakes, SuiteError};
use super::parse::{Part, Suite};
use super::phase::{Entry, Measure, Phase, Role};
use super::read::{At, FromToml, Toml};
use super::source::Span;
use super::typed::Typed;
use kvdyno_record::engine::Description;
use kvdyno_record::replay::{Replay, operation};
use kvdyno_record::units;
use kvdyno_record::workload::{Data, Rate, Schedule};
use schemars::JsonSchema;
use std::collections::BTreeMap;
use std::path::PathBuf;
use toml::de::DeValue;

/// What is known of a trace before it is replayed.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// Where it is, from the root.
    pub file: PathBuf,
    /// Checksum of its requests.
    pub digest: String,
    /// How many it has, by their names.
    pub requests: BTreeMap<String, u64>,
    /// Its keys are the numbers below this.
    pub keys: u64,
    /// Records that were loaded when it was recorded; none: it was not recorded here.
    pub records: Option<u64>,
    /// Bytes of its longest value.
    pub value_bytes_max: u64,
    /// From the first request to the last; none: it has no times.
    pub span_ns: Option<u64>,
    /// They were made to a drive.
    pub of_drive: bool,
}

impl Trace {
    fn count(&self) -> u64 {
        self.requests.values().sum()
    }
}

/// The file of a trace, as typed: beside the suite, where it is not told from the root. And what
/// was found there.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(transparent)]
pub(super) struct TraceFile {
    path: String,
    #[schemars(skip)]
    found: Option<Trace>,
}

impl FromToml for TraceFile {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let path = String::from_toml(toml, mistakes)?;
        Some(Self { path, found: None })
    }
}

/// How fast requests are made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Speed {
    /// Each when the one before has been answered.
    Max,
    /// At their recorded times, divided by this.
    Times(f64),
}

/// `"max"`, or a number.
#[derive(JsonSchema)]
#[schemars(untagged, rename = "Speed")]
#[expect(dead_code, reason = "describes the language for the schema")]
pub(super) enum WrittenSpeed {
    Word(String),
    Times(f64),
}

impl FromToml for Speed {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let span = toml.span();
        let number = match toml.into_inner() {
            DeValue::String(text) if text == "max" => return Some(Self::Max),
            DeValue::Float(number) => number.as_str().parse::<f64>().ok(),
            DeValue::Integer(number) => number.as_str().parse::<f64>().ok(),
            _ => None,
        };
        let times = number.filter(|times| (1e-3..=1e6).contains(times));
        if times.is_none() {
            let mistake = mistakes.at(&span, "this is no speed");
            mistake.label("expected \"max\", or how many times faster than recorded: 1.0, 2.5");
        }
        times.map(Self::Times)
    }
}

/// What a role says of a trace is said alone.
pub(super) fn check(typed: &Typed, mistakes: &mut Mistakes) {
    for (_, measure) in measures(typed) {
        for (place, role) in measure.role.iter().enumerate() {
            match &role.trace {
                Some(trace) => check_role(typed, measure, (place, role), trace, mistakes),
                None => {
                    if let Some(speed) = &role.speed {
                        let mistake = mistakes.at(&speed.span, "only a trace has a speed");
                        mistake.label("expected `trace` beside it, or `rate`");
                    }
                }
            }
        }
    }
}

fn check_role(
    typed: &Typed,
    measure: &Measure,
    (place, role): (usize, &Role),
    trace: &At<TraceFile>,
    mistakes: &mut Mistakes,
) {
    fn span<T>(key: Option<&At<T>>) -> Option<Span> {
        key.map(|at| at.span.clone())
    }
    let said = [
        ("mix", span(role.mix.as_ref())),
        ("keys", span(role.keys.as_ref())),
        ("rate", span(role.rate.as_ref())),
        ("depth", span(role.depth.as_ref())),
        ("os_threads", span(role.os_threads.as_ref())),
        ("found", span(role.found.as_ref())),
    ];
    for (key, span) in said {
        let Some(span) = span else { continue };
        let mistake =
            mistakes.at(&span, format!("the trace says this itself: no `{key}` beside it"));
        mistake.label(format!("expected either `trace` or `{key}`"));
    }
    let whole =
        [("warmup", span(measure.warmup.as_ref())), ("windows", span(measure.windows.as_ref()))];
    for (key, span) in whole {
        let Some(span) = span else { continue };
        let mistake = mistakes.at(&span, format!("a trace is replayed once: no `{key}` beside it"));
        mistake.label(format!("expected no `{key}` here"));
    }
    if place > 0 {
        let mistake =
            mistakes.at(&trace.span, "the first role of a phase ends it, and a trace ends");
        mistake.label("expected `trace` in the first role alone");
    }
    if let Some(crew) = &typed.crew {
        let mistake = mistakes.at(&crew.span, "no crew replays a trace");
        mistake.label("expected no [crew], or no `trace`");
    }
    if let Some(graph) = &typed.data.linkbench {
        let mistake = mistakes.at(&graph.span, "a trace has keys and values, and no graph");
        mistake.label("expected no `linkbench`, or no `trace`");
    }
}

impl Suite {
    /// Whether some role replays a trace: then [`Self::read_traces`] is to be called.
    pub fn replays(&self) -> bool {
        self.parts.iter().any(|part| {
            measures(&part.typed).any(|(_, m)| m.role.iter().any(|role| role.trace.is_some()))
        })
    }

    /// Asks what is in each trace that a role replays, by its name in the suite; `Err` says why it
    /// cannot be read.
    pub fn read_traces(
        &mut self,
        read: impl Fn(&str) -> Result<Trace, String>,
    ) -> Result<(), SuiteError> {
        let mut mistakes = Mistakes::default();
        let mut notes = Vec::new();
        for part in &mut self.parts {
            for phase in &mut part.typed.phase {
                let Phase::Measure(measure) = &mut phase.value else { continue };
                for role in &mut measure.role.value {
                    read_trace(&mut role.value, &read, &mut notes, &mut mistakes);
                }
            }
            check_sharing(&part.typed, &mut mistakes);
        }
        for note in notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        mistakes.none(&self.source)
    }
}

/// The requests of a trace are the role's mix.
fn read_trace(
    role: &mut Role,
    read: impl Fn(&str) -> Result<Trace, String>,
    notes: &mut Vec<String>,
    mistakes: &mut Mistakes,
) {
    let Some(file) = &mut role.trace else { return };
    let trace = match read(&file.path) {
        Ok(trace) => trace,
        Err(why) => {
            let mistake = mistakes.at(&file.span, why);
            mistake
                .label("expected a trace that `kvdyno trace import` wrote")
                .help("`kvdyno trace import --format FORMAT FILE -o NEW` makes one of another");
            return;
        }
    };
    if trace.of_drive {
        let mistake = mistakes.at(&file.span, "this trace was made of a drive, and has no keys");
        mistake.label("expected a trace of a store of keys and values");
        return;
    }
    if trace.count() == 0 {
        mistakes.at(&file.span, "there is no request in it").label("expected another trace");
        return;
    }
    if let (Some(speed), None) = (timed(role.speed.as_ref()), trace.span_ns) {
        let mistake = mistakes.at(&speed.span, "the trace has no times, only an order");
        mistake.label("expected speed = \"max\", or none");
        return;
    }
    let entry = |(name, count): (&String, &u64)| {
        let op = operation(name)?;
        Some(file.of(Entry { op, weight: Some(file.of(*count as f64)), keys: None }))
    };
    role.mix = Some(file.of(trace.requests.iter().filter_map(entry).collect()));
    let (requests, keys) = (units::grouped(trace.count()), units::grouped(trace.keys));
    notes.push(format!("trace {}: {requests} requests, {keys} keys", file.path));
    file.value.found = Some(trace);
}

fn timed(speed: Option<&At<Speed>>) -> Option<At<f64>> {
    speed.and_then(|speed| match speed.value {
        Speed::Max => None,
        Speed::Times(times) => Some(speed.of(times)),
    })
}

impl Role {
    fn found_trace(&self) -> Option<&Trace> {
        self.trace.as_ref()?.found.as_ref()
    }

    /// The trace that it replays, and when its requests are due where that is as recorded.
    pub(super) fn replayed(&self) -> Option<(Replay, Option<Rate>)> {
        let trace = self.found_trace()?;
        let speed = timed(self.speed.as_ref()).map(|speed| speed.value);
        let replay = Replay {
            file: trace.file.clone(),
            digest: trace.digest.clone(),
            requests: trace.count(),
            keys: trace.keys,
            value_bytes_max: trace.value_bytes_max,
            speed,
        };
        let seconds = trace.span_ns.unwrap_or(0).max(1) as f64 / 1e9;
        let per_s = speed.map(|speed| trace.count() as f64 / seconds * speed);
        Some((replay, per_s.map(|per_s| Rate::new(per_s, Schedule::Recorded))))
    }
}

/// Notes what the engine cannot do of what was recorded.
pub(super) fn check_engine(
    part: &Part,
    engine: &Engine,
    description: &Description,
    mistakes: &mut Mistakes,
) {
    let name = &description.name;
    for (_, measure) in measures(&part.typed) {
        for role in measure.role.iter() {
            let (Some(file), Some(trace)) = (&role.trace, role.found_trace()) else { continue };
            let without = format!("leave {} out with --engine", engine.label.0);
            if description.capabilities.numbered_keys_only {
                let message = format!("engine `{name}` has records of one length, a trace of many");
                mistakes.at(&file.span, message).help(&without);
            }
            let most = description.capabilities.value_bytes_max.unwrap_or(u64::from(u32::MAX));
            if trace.value_bytes_max > most {
                let message = format!("{name} takes no values of {} bytes", trace.value_bytes_max);
                let mistake = mistakes.at(&file.span, message);
                mistake.label(format!("expected values of at most {most}")).help(&without);
            }
        }
    }
}

/// What of a trace's keys the load does not write.
pub(super) fn warnings(part: &Part, sets: &[&Data]) -> Vec<String> {
    let roles = || measures(&part.typed).flat_map(|(_, measure)| measure.role.iter());
    let told = roles().filter_map(|role| role.found_trace()).filter_map(|trace| {
        let keys = trace.records.unwrap_or(trace.keys);
        let fewer = sets.iter().find(|data| data.records < keys)?;
        let (loaded, keys) = (units::grouped(fewer.records), units::grouped(keys));
        Some(format!(
            "{loaded} records are loaded, and the trace has {keys} keys: what is asked for and not \
             there is counted as missing"
        ))
    });
    let mut told: Vec<String> = told.collect();
    told.dedup();
    told
}
