//! Roles that replay a trace. The caller reads the trace; its requests become the mix of the role.

use super::check::{check_sharing, measures};
use super::engine::Engine;
use super::first_reads;
use super::mistake::{Mistakes, SuiteError};
use super::names::push_unique;
use super::parse::{Part, Suite};
use super::phase::{Entry, Measure, Phase, Role};
use super::read::{At, FromToml, Or as _, Toml};
use super::scalar::Several;
use super::source::Span;
use super::typed::Typed;
use kvdyno_record::engine::{Description, Requests};
use kvdyno_record::replay::{OfDrive, Replay, operation, replays};
use kvdyno_record::units;
use kvdyno_record::workload::{self, Data, Mix, Rate, Schedule};
use schemars::JsonSchema;
use std::collections::BTreeMap;
use std::path::PathBuf;
use toml::de::DeValue;

/// Properties of a trace before it is replayed.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// Its path from the root.
    pub file: PathBuf,
    /// Checksum of its requests.
    pub digest: String,
    /// Number of requests, by name.
    pub requests: BTreeMap<String, u64>,
    /// All keys are below this number; for a drive, the end of its last request.
    pub keys: u64,
    /// Records loaded when it was recorded; none: it was recorded elsewhere.
    pub records: Option<u64>,
    /// Bytes of its longest value; for a drive, of its longest read or write.
    pub value_bytes_max: u64,
    /// Number of keys that are read before they are written; none: not counted.
    pub first_reads: Option<u64>,
    /// Time from the first request to the last; none: it has no times.
    pub span_ns: Option<u64>,
    /// For a drive: offsets and lengths are multiples of this; none: the trace has keys.
    pub multiple_of: Option<u64>,
}

impl Trace {
    fn count(&self) -> u64 {
        self.requests.values().sum()
    }

    /// A replay of all requests, as fast as possible.
    pub(super) fn replay(&self, drive: Option<OfDrive>) -> Replay {
        Replay {
            file: self.file.clone(),
            digest: self.digest.clone(),
            requests: self.count(),
            keys: self.keys,
            value_bytes_max: self.value_bytes_max,
            drive,
            speed: None,
        }
    }
}

/// The path of a trace, relative to the suite.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(transparent)]
pub(super) struct TraceFile {
    path: String,
    #[schemars(skip)]
    found: Option<Trace>,
}

impl TraceFile {
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    pub(super) fn trace(&self) -> Option<&Trace> {
        self.found.as_ref()
    }
}

impl FromToml for TraceFile {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let path = String::from_toml(toml, mistakes)?;
        Some(Self { path, found: None })
    }
}

/// The speed of requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Speed {
    /// Each request starts when the previous one is complete.
    Max,
    /// At their recorded times, divided by this.
    Times(f64),
}

/// `"max"`, or a factor on the recorded speed.
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
            let mistake = mistakes.at(&span, "invalid speed");
            mistake.label("expected \"max\", or how many times faster than recorded: 1.0, 2.5");
        }
        times.map(Self::Times)
    }
}

/// A trace excludes other keys of its role.
pub(super) fn check(typed: &Typed, mistakes: &mut Mistakes) {
    if !measures(typed).any(|(_, m)| m.role.iter().any(|role| role.trace.is_some())) {
        first_reads::check(typed, mistakes);
    }
    for (_, measure) in measures(typed) {
        for (index, role) in measure.role.iter().enumerate() {
            match &role.trace {
                Some(trace) => check_role(typed, measure, index, role, trace, mistakes),
                None => {
                    if let Some(speed) = &role.speed {
                        let mistake = mistakes.at(&speed.span, "`speed` without a trace");
                        mistake.label("expected `trace` next to it, or `rate`");
                    }
                    if let Some(fold) = &role.fold {
                        let mistake = mistakes.at(&fold.span, "`fold` without a trace of a drive");
                        mistake.label("expected `trace` next to it");
                    }
                }
            }
        }
    }
}

fn check_role(
    typed: &Typed,
    measure: &Measure,
    index: usize,
    role: &Role,
    trace: &At<TraceFile>,
    mistakes: &mut Mistakes,
) {
    fn span<T>(key: Option<&At<T>>) -> Option<Span> {
        key.map(|at| at.span.clone())
    }
    let excluded = [
        ("mix", span(role.mix.as_ref())),
        ("keys", span(role.keys.as_ref())),
        ("rate", span(role.rate.as_ref())),
        ("os_threads", span(role.os_threads.as_ref())),
        ("expected_hits", span(role.expected_hits.as_ref())),
    ];
    for (key, span) in excluded {
        let Some(span) = span else { continue };
        let mistake = mistakes.at(&span, format!("the trace already determines `{key}`"));
        mistake.label(format!("expected either `trace` or `{key}`"));
    }
    let once =
        [("warmup", span(measure.warmup.as_ref())), ("windows", span(measure.windows.as_ref()))];
    for (key, span) in once {
        let Some(span) = span else { continue };
        let mistake = mistakes.at(&span, format!("a trace is replayed once: it has no `{key}`"));
        mistake.label(format!("expected no `{key}` here"));
    }
    if let (Some(depth), Some(_)) = (&role.depth, timed(role.speed.as_ref())) {
        let message = "`depth` with recorded times: they decide how many requests are in flight";
        mistakes.at(&depth.span, message).label("expected either `speed` or `depth`");
    }
    if index > 0 {
        let mistake = mistakes.at(
            &trace.span,
            "the end of a trace ends the phase, and only the first role can end it",
        );
        mistake.label("expected `trace` only in the first role");
    }
    if typed.crew.is_some() && measure.role.len() > 1 {
        let what = "each rank of a crew ends with its own share of the trace: ranks would end the \
                    other roles at different times";
        mistakes.at(&trace.span, what).label("expected a single role, or no [crew]");
    }
    if let Some(graph) = &typed.data.linkbench {
        let mistake = mistakes.at(&graph.span, "a trace has keys and values, not a graph");
        mistake.label("expected no `linkbench`, or no `trace`");
    }
}

impl Suite {
    /// Whether some role replays a trace: then the caller must use [`Self::read_traces`].
    pub fn replays(&self) -> bool {
        self.parts.iter().any(|part| {
            measures(&part.typed).any(|(_, m)| m.role.iter().any(|role| role.trace.is_some()))
        })
    }

    /// Reads each trace that a role replays, by its name in the suite. If needed, `read` counts the
    /// keys that it reads first; `Err` contains the reason why it cannot be read.
    pub fn read_traces(
        &mut self,
        read: impl Fn(&str, bool) -> Result<Trace, String>,
    ) -> Result<(), SuiteError> {
        let mut mistakes = Mistakes::default();
        let mut notes = Vec::new();
        for part in &mut self.parts {
            let first_reads = first_reads::needs_first_reads(&part.typed);
            let read = |named: &str| read(named, first_reads);
            for phase in &mut part.typed.phase {
                let Phase::Measure(measure) = &mut phase.value else { continue };
                for role in &mut measure.role.value {
                    read_trace(&mut role.value, read, &mut notes, &mut mistakes);
                }
            }
            check_sharing(&part.typed, &mut mistakes);
            first_reads::check(&part.typed, &mut mistakes);
            notes.extend(first_reads::notes(&part.typed));
        }
        for note in notes {
            push_unique(&mut self.notes, note);
        }
        mistakes.none(&self.source)
    }
}

/// Sets the role's mix to the requests of its trace.
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
            mistake.label("expected a trace that `kvdyno trace import` wrote").help(
                "convert other traces with `kvdyno trace import --format FORMAT FILE -o NEW`",
            );
            return;
        }
    };
    if let (Some(fold), None) = (&role.fold, trace.multiple_of) {
        let mistake = mistakes.at(&fold.span, "this trace has keys, not offsets to fold");
        mistake.label("expected no `fold` here");
    }
    if let Some(depth) = &role.depth {
        check_depth(depth, &trace, mistakes);
    }
    if trace.count() == 0 {
        mistakes.at(&file.span, "the trace has no requests").label("expected another trace");
        return;
    }
    if let (Some(speed), None) = (timed(role.speed.as_ref()), trace.span_ns) {
        let mistake = mistakes.at(&speed.span, "the trace has no times, only an order");
        mistake.label("expected speed = \"max\", or none");
        return;
    }
    let entry = |(name, count): (&String, &u64)| {
        let op = operation(name)?;
        Some(file.with(Entry { op, weight: Some(file.with(*count as f64)), keys: None }))
    };
    role.mix = Some(file.with(trace.requests.iter().filter_map(entry).collect()));
    let requests = units::grouped(trace.count());
    let reach = match trace.multiple_of {
        Some(_) => format!("up to byte {}", units::grouped(trace.keys)),
        None => format!("{} keys", units::grouped(trace.keys)),
    };
    notes.push(format!("trace {}: {requests} requests, {reach}", file.path));
    file.value.found = Some(trace);
}

/// Requests that their thread waits for are in no depth; flush and discard of a drive wait for all
/// others.
fn check_depth(depth: &At<Several>, trace: &Trace, mistakes: &mut Mistakes) {
    const IN_FLIGHT: [&str; 2] = ["get", "put"];
    let mut waits = trace.requests.keys().filter(|name| !IN_FLIGHT.contains(&name.as_str()));
    if let (None, Some(name)) = (trace.multiple_of, waits.next()) {
        let message = format!("the trace has {name}: `depth` supports only gets and puts");
        mistakes.at(&depth.span, message).label("expected no `depth`, and more `threads`");
    }
}

fn timed(speed: Option<&At<Speed>>) -> Option<At<f64>> {
    speed.and_then(|speed| match speed.value {
        Speed::Max => None,
        Speed::Times(times) => Some(speed.with(times)),
    })
}

impl Role {
    fn found_trace(&self) -> Option<&Trace> {
        self.trace.as_ref()?.found.as_ref()
    }

    /// Whether it replays the requests to a drive.
    pub(super) fn is_of_drive(&self) -> bool {
        self.found_trace().is_some_and(|trace| trace.multiple_of.is_some())
    }

    /// The trace that it replays, and the rate if requests start at their recorded times.
    pub(super) fn replayed(&self) -> Option<(Replay, Option<Rate>)> {
        let trace = self.found_trace()?;
        let speed = timed(self.speed.as_ref()).map(|speed| speed.value);
        let fold = self.fold.value_or(false);
        let drive = trace.multiple_of.map(|multiple_of| OfDrive { multiple_of, fold });
        let replay = Replay { speed, ..trace.replay(drive) };
        let seconds = trace.span_ns.unwrap_or(0).max(1) as f64 / 1e9;
        let per_s = speed.map(|speed| trace.count() as f64 / seconds * speed);
        Some((replay, per_s.map(|per_s| Rate::new(per_s, Schedule::Recorded))))
    }
}

/// Records what the engine does not support of the trace.
pub(super) fn check_engine(
    part: &Part,
    engine: &Engine,
    description: &Description,
    data: &Data,
    mistakes: &mut Mistakes,
) {
    let (name, abilities) = (&description.name, &description.capabilities);
    first_reads::check_records(part, data, mistakes);
    for (_, measure) in measures(&part.typed) {
        for role in measure.role.iter() {
            let (Some(file), Some(trace)) = (&role.trace, role.found_trace()) else { continue };
            let without = format!("leave {} out with --engine", engine.label.0);
            if trace.multiple_of.is_some() {
                if abilities.addressed {
                    check_reach(role, file, trace, data, mistakes);
                } else {
                    let message =
                        format!("the trace is of a drive, but {name} stores keys and values");
                    let mistake = mistakes.at(&file.span, message);
                    mistake.label("expected a trace with keys, or engine `drive`").help(&without);
                }
                continue;
            }
            if abilities.numbered_keys_only {
                let message =
                    format!("engine `{name}` has records of one length, but the trace has several");
                mistakes.at(&file.span, message).help(&without);
            }
            let most = abilities.value_bytes_max.unwrap_or(u64::from(u32::MAX));
            if trace.value_bytes_max > most {
                let message = format!("{name} takes no values of {} bytes", trace.value_bytes_max);
                let mistake = mistakes.at(&file.span, message);
                mistake.label(format!("expected values of at most {most}")).help(&without);
            }
        }
    }
}

/// A drive consists of the records, one after the other; requests must not go beyond them.
fn check_reach(
    role: &Role,
    file: &At<TraceFile>,
    trace: &Trace,
    data: &Data,
    mistakes: &mut Mistakes,
) {
    let block = data.value.size.max().max(1);
    let bytes = data.records.saturating_mul(block);
    let has = || {
        let (records, block) = (units::grouped(data.records), units::grouped(block));
        format!("{records} records of {block} bytes are {}", units::grouped(bytes))
    };
    if data.verify {
        let mistake = mistakes.at(
            &file.span,
            "`verify` needs whole records, which a trace of a drive does not write",
        );
        mistake.label("expected verify = false in [data]");
    }
    let folded = role.fold.value_or(false);
    let longest = units::grouped(trace.value_bytes_max);
    if folded && trace.value_bytes_max > bytes {
        let message = format!("the trace has a request of {longest} bytes, and {}", has());
        mistakes.at(&file.span, message).label("expected more `records`");
    } else if !folded && trace.keys > bytes {
        let message =
            format!("the trace reaches to byte {}, and {}", units::grouped(trace.keys), has());
        let records = units::grouped(trace.keys.div_ceil(block));
        mistakes
            .at(&file.span, message)
            .label(format!("expected at least {records} records"))
            .help("or add `fold = true` next to `trace`: it takes offsets modulo the data's bytes");
    }
}

/// Warns of keys in the trace that the load does not write.
pub(super) fn warnings(part: &Part, sets: &[&Data]) -> Vec<String> {
    let roles = || measures(&part.typed).flat_map(|(_, measure)| measure.role.iter());
    let with_keys = |trace: &&Trace| trace.multiple_of.is_none();
    let traces = roles().filter_map(|role| role.found_trace()).filter(with_keys);
    let warnings = traces.filter_map(|trace| {
        let keys = trace.records.unwrap_or(trace.keys);
        let fewer = sets.iter().find(|data| data.records < keys)?;
        let (loaded, keys) = (units::grouped(fewer.records), units::grouped(keys));
        Some(format!(
            "{loaded} records are loaded, and the trace has {keys} keys: reads of the others count \
             as misses"
        ))
    });
    let mut warnings: Vec<String> = warnings.collect();
    warnings.dedup();
    warnings
}

/// The requests to a drive, by offset and length.
pub(super) fn requests(data: &Data, phases: &[workload::Phase]) -> Option<Requests> {
    let of_drives = replays(phases).filter_map(|replay| Some((replay, replay.drive?)));
    let one = |(replay, drive): (&Replay, OfDrive)| {
        // Folded offsets end with the records.
        let bytes = data.records.saturating_mul(data.value.size.max());
        let end = if drive.fold { 1 << bytes.trailing_zeros().min(63) } else { u64::MAX };
        (replay.value_bytes_max, drive.multiple_of.min(end))
    };
    let all = of_drives.map(one).reduce(|a, b| (a.0.max(b.0), a.1.min(b.1)));
    let mixes = phases.iter().filter_map(workload::Phase::mix);
    let writes = mixes.flat_map(Mix::entries).any(|entry| entry.op.writes());
    all.map(|(longest, multiple_of)| Requests { bytes_max: longest, multiple_of, writes })
}
