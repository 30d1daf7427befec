//! `trace` and `speed` of a role as typed. The caller reads the trace; its requests become the mix
//! of the role.

use crate::written::mistake::Mistakes;
use crate::written::phase::Role;
use crate::written::read::{At, FromToml, Or as _, Toml};
use crate::written::scalar::{parse_float, scalar_schema};
use kvdyno_record::replay::{OfDrive, Replay};
use kvdyno_record::workload::{Rate, Schedule};
use schemars::JsonSchema;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use toml::de::DeValue;

/// Properties of a trace before it is replayed.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// The absolute path of the trace.
    pub file: PathBuf,
    /// A checksum of its requests.
    pub digest: String,
    /// The number of requests, by the name of their operation.
    pub requests: BTreeMap<String, u64>,
    /// The number that all keys are below; for a drive, the highest end of a request.
    pub keys: u64,
    /// The number of records loaded when kvdyno recorded it; none: it was imported.
    pub records: Option<u64>,
    /// Bytes of its longest value; for a drive, of its longest read or write.
    pub value_bytes_max: u64,
    /// The shortest and the longest time to live of its records; none: it has none.
    pub ttl_ns: Option<RangeInclusive<u64>>,
    /// The number of keys that are read before they are written; none: not counted.
    pub first_reads: Option<u64>,
    /// The time from the first request to the last; none: it has no times.
    pub span_ns: Option<u64>,
    /// The unit of offsets and lengths on a drive: all are multiples of it; none: the trace has
    /// keys.
    pub multiple_of: Option<u64>,
}

impl Trace {
    /// Returns the number of its requests.
    pub(crate) fn count(&self) -> u64 {
        self.requests.values().sum()
    }

    /// Returns a replay of all requests, as fast as possible.
    pub(crate) fn replay(&self, drive: Option<OfDrive>) -> Replay {
        Replay {
            file: self.file.clone(),
            digest: self.digest.clone(),
            requests: self.count(),
            keys: self.keys,
            value_bytes_max: self.value_bytes_max,
            drive,
            recorded_ttl: false,
            speed: None,
        }
    }
}

/// The path of a trace, relative to the suite.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(transparent)]
pub(crate) struct TraceFile {
    pub(crate) path: String,
    /// The trace's properties; none: it was not read yet.
    #[schemars(skip)]
    pub(crate) trace: Option<Trace>,
}

impl FromToml for TraceFile {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let path = String::from_toml(toml, mistakes)?;
        Some(Self { path, trace: None })
    }
}

/// The speed of requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Speed {
    /// Each request starts when the previous one is complete.
    Max,
    /// Requests start at their recorded times, divided by this factor.
    Times(f64),
}

scalar_schema!(Speed, "Speed", "`\"max\"`, or a factor on the recorded speed.", {
    "anyOf": [{ "enum": ["max"] }, { "type": "number", "minimum": 1e-3, "maximum": 1e6 }],
});

impl FromToml for Speed {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let span = toml.span();
        let number = match toml.into_inner() {
            DeValue::String(text) if text == "max" => return Some(Self::Max),
            number => parse_float(&number),
        };
        let times = number.filter(|times| (1e-3..=1e6).contains(times));
        if times.is_none() {
            let mistake = mistakes.at(&span, "invalid speed");
            mistake.label("expected \"max\", or how many times faster than recorded: 1.0, 2.5");
        }
        times.map(Self::Times)
    }
}

/// Returns the factor on the recorded speed, if requests start at their recorded times.
pub(crate) fn speed_factor(speed: Option<&At<Speed>>) -> Option<At<f64>> {
    speed.and_then(|speed| match speed.value {
        Speed::Max => None,
        Speed::Times(times) => Some(speed.with(times)),
    })
}

impl Role {
    /// Returns the trace that it replays.
    pub(crate) fn replayed_trace(&self) -> Option<&Trace> {
        self.trace.as_ref()?.trace.as_ref()
    }

    /// Returns whether it replays requests to a drive.
    pub(crate) fn is_of_drive(&self) -> bool {
        self.replayed_trace().is_some_and(|trace| trace.multiple_of.is_some())
    }

    /// Returns its replay, and the rate if requests start at their recorded times.
    pub(crate) fn to_replay(&self) -> Option<(Replay, Option<Rate>)> {
        let trace = self.replayed_trace()?;
        let speed = speed_factor(self.speed.as_ref()).map(|speed| speed.value);
        let fold = self.fold.value_or(false);
        let drive = trace.multiple_of.map(|multiple_of| OfDrive { multiple_of, fold });
        let recorded_ttl = self.recorded_ttl.value_or(false);
        let replay = Replay { speed, recorded_ttl, ..trace.replay(drive) };
        let seconds = trace.span_ns.unwrap_or(0).max(1) as f64 / 1e9;
        let per_s = speed.map(|speed| trace.count() as f64 / seconds * speed);
        Some((replay, per_s.map(|per_s| Rate::new(per_s, Schedule::Recorded))))
    }
}
