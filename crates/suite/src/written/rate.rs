//! Rates as typed: operations per second, or a table that also sets the schedule.

use crate::written::mistake::Mistakes;
use crate::written::read::{At, FromToml, Or as _, Toml, Word, table};
use crate::written::scalar::{Bytes, Count, Name, Nanoseconds, Rated, Share, either_schema};
use kvdyno_record::units;
use kvdyno_record::workload::{PilotRate, Rate, Schedule, Sine, Stage};
use schemars::JsonSchema;
use serde_spanned::Spanned;
use std::borrow::Cow;
use toml::de::DeValue;

/// Upper bound of steps: finer steps make no visible difference.
const STEPS_MAX: u64 = 1_000_000;

/// The schedule of operations, before the bytes of an operation are known.
#[derive(Clone, Debug)]
pub(crate) struct Arrivals {
    offered: Offered,
    schedule: Schedule,
    sine: Option<Sine>,
}

/// The amount per second.
#[derive(Clone, Debug)]
enum Offered {
    Operations(f64),
    Bytes(f64),
    Pilot(At<PilotRate>),
    Ramp { from: f64, to: f64, over_ns: Option<u64> },
    Steps(Vec<Stage>),
}

impl Arrivals {
    /// Returns whether the rate counts written bytes.
    pub(crate) fn is_of_bytes(&self) -> bool {
        matches!(self.offered, Offered::Bytes(_))
    }

    /// Returns the phase that a pilot measures, and the share of its rate.
    pub(crate) fn pilot(&self) -> Option<&At<PilotRate>> {
        match &self.offered {
            Offered::Pilot(pilot) => Some(pilot),
            _ => None,
        }
    }

    /// Returns whether the rate changes over time.
    pub(crate) fn changes(&self) -> bool {
        self.sine.is_some() || self.has_stages()
    }

    /// Returns whether the rate is a ramp or has steps.
    pub(crate) fn has_stages(&self) -> bool {
        matches!(self.offered, Offered::Ramp { .. } | Offered::Steps(_))
    }

    /// Returns whether its ramp takes the whole phase.
    pub(crate) fn needs_duration(&self) -> bool {
        matches!(self.offered, Offered::Ramp { over_ns: None, .. })
    }

    /// Returns the rate in a phase of this length, if an operation writes this many bytes on
    /// average; none: a pilot finds it.
    pub(crate) fn resolve(&self, operation_bytes: f64, duration_ns: Option<u64>) -> Option<Rate> {
        let (schedule, sine) = (self.schedule, self.sine);
        Some(match &self.offered {
            Offered::Operations(operations) => Rate { sine, ..Rate::new(*operations, schedule) },
            Offered::Bytes(bytes) => {
                let bytes_per_s = Some(*bytes);
                Rate { bytes_per_s, ..Rate::new(bytes / operation_bytes, schedule) }
            }
            Offered::Pilot(_) => return None,
            Offered::Ramp { from, to, over_ns } => {
                // The first gate refuses a ramp without a length.
                let length_ns = over_ns.or(duration_ns).unwrap_or(1);
                Rate::from_stages(vec![Stage { from: *from, to: *to, length_ns }], schedule)
            }
            Offered::Steps(stages) => Rate::from_stages(stages.clone(), schedule),
        })
    }
}

either_schema!(
    Arrivals,
    "Rate",
    "Operations per second of the whole role, or a table.",
    Rated: "Operations per second of the whole role, at random times (Poisson).",
    Scheduled: "A rate with its schedule."
);

/// An open loop with its schedule. Set exactly one of `per_second`, `bytes_per_s`, `of`, `ramp` and
/// `steps`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Scheduled {
    /// Operations per second of the whole role, above 0: 0.5 is one every two seconds. With `sine`
    /// it is the mean.
    per_second: Option<At<Rated>>,
    /// Bytes of keys and values per second that the whole role writes, on average
    /// (`benchmark_write_rate_limit` of `db_bench`). Only for roles of `insert`, `update`, `rmw`
    /// and `batch`, without `sine`. The plan converts it to operations by the mean length of a
    /// record.
    bytes_per_s: Option<At<ByteRate>>,
    /// An earlier measured phase without rates. Before the first trial, a pilot runs each engine
    /// once up to the end of that phase. The rate is a share of the slowest engine's rate in it,
    /// and is the same for all engines.
    of: Option<At<Name>>,
    /// The share of the rate of the phase `of`, above 0 and at most 1. Default: 0.5.
    share: Option<At<Share>>,
    /// The gaps between the starts. Not with `of`. Default: poisson.
    schedule: Option<At<Gaps>>,
    /// A wave on `per_second`. Default: a constant rate.
    sine: Option<At<Wave>>,
    /// A rate that rises or falls linearly.
    ramp: Option<At<Ramp>>,
    /// Rates that follow each other from the start of each phase. The last one holds to the end.
    #[schemars(length(min = 1))]
    steps: Option<At<Vec<At<RateStep>>>>,
}

/// A rate that rises or falls linearly from the start of each phase, and then holds.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Ramp {
    /// Operations per second at the start.
    from: At<Rated>,
    /// Operations per second at the end.
    to: At<Rated>,
    /// The time from one to the other. Default: the duration of the phase.
    over: Option<At<Nanoseconds>>,
}

/// One of several rates.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct RateStep {
    /// Operations per second at the start. Default: `per_second`, a constant rate.
    from: Option<At<Rated>>,
    /// Operations per second at the end.
    per_second: At<Rated>,
    /// The time of the step.
    duration: At<Nanoseconds>,
}

/// The gaps between the starts of operations.
#[derive(Clone, Copy, Debug, JsonSchema)]
#[schemars(rename_all = "snake_case", rename = "Schedule")]
enum Gaps {
    /// Equal gaps.
    Fixed,
    /// Exponentially distributed gaps: independent arrivals.
    Poisson,
}

/// A wave on a rate: mean + amplitude sin(2 pi t / period), from the start of each phase.
/// `db_bench` has it as `sine_a`, 2 pi / `sine_b` and `sine_d`. A phase that is shorter than a
/// period has another mean rate.
#[derive(Clone, Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
struct Wave {
    /// Operations per second above the mean at the top of the wave; at most the mean.
    amplitude: At<Count>,
    /// The time from one top to the next.
    period: At<Nanoseconds>,
    /// The time for which each rate holds; at most the period.
    step: At<Nanoseconds>,
}

impl Word for Gaps {
    const WHAT: &'static str = "a schedule";
    const ALL: &'static [(&'static str, Self)] =
        &[("fixed", Self::Fixed), ("poisson", Self::Poisson)];
}

table!(Scheduled, "a rate": per_second bytes_per_s of share schedule sine ramp steps);
table!(Ramp, "a ramp": from to over);
table!(RateStep, "a step of a rate": from per_second duration);
table!(Wave, "a wave": amplitude period step);

/// A rate of bytes: `"2MB"`, `"2MB/s"`.
#[derive(Clone, Copy, Debug, JsonSchema)]
#[schemars(transparent)]
struct ByteRate(Bytes);

impl FromToml for ByteRate {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        Bytes::from_toml(without_second(toml), mistakes).map(Self)
    }
}

/// Removes `/s` from a text, which leaves the number with its unit.
fn without_second(toml: Toml<'_>) -> Toml<'_> {
    let span = toml.span();
    let value = match toml.into_inner() {
        DeValue::String(text) => {
            let bare = text.strip_suffix("/s").map(|bare| bare.trim_end().to_owned());
            DeValue::String(bare.map_or(text, Cow::Owned))
        }
        other => other,
    };
    Spanned::new(span, value)
}

impl FromToml for Arrivals {
    fn from_toml(toml: Toml<'_>, mistakes: &mut Mistakes) -> Option<Self> {
        let span = toml.span();
        let has_amount = match toml.get_ref() {
            DeValue::Table(table) => ["per_second", "bytes_per_s", "of", "share", "ramp", "steps"]
                .iter()
                .any(|key| table.contains_key(*key)),
            _ => true,
        };
        let rate = match toml.get_ref() {
            DeValue::Table(_) => Scheduled::from_toml(toml, mistakes)?,
            _ => Scheduled {
                per_second: Some(At::from_toml(toml, mistakes)?),
                bytes_per_s: None,
                of: None,
                share: None,
                schedule: None,
                sine: None,
                ramp: None,
                steps: None,
            },
        };
        let Some(offered) = rate.resolve_amount(mistakes) else {
            // Otherwise the key exists, and its mistake is already reported.
            if !has_amount {
                let mistake = mistakes.at(&span, "the rate has no `per_second`");
                mistake.label("expected `per_second`, `bytes_per_s`, `of`, `ramp` or `steps` here");
            }
            return None;
        };
        if offered.is_zero() {
            let mistake = mistakes.at(&offered.span, "the rate is zero");
            mistake.label("expected more than 0");
        }
        let sine = rate.sine.as_ref().and_then(|sine| resolve_wave(sine, &offered.value, mistakes));
        Some(Self {
            offered: offered.value,
            schedule: match rate.schedule.value_or(Gaps::Poisson) {
                Gaps::Fixed => Schedule::Fixed,
                Gaps::Poisson => Schedule::Poisson,
            },
            sine,
        })
    }
}

impl Offered {
    fn is_zero(&self) -> bool {
        match self {
            Self::Operations(rate) | Self::Bytes(rate) => *rate == 0.0,
            Self::Pilot(_) => false,
            Self::Ramp { from, to, .. } => from + to == 0.0,
            Self::Steps(stages) => stages.iter().all(|stage| stage.from + stage.to == 0.0),
        }
    }
}

/// The default share of a pilot's rate: every engine sustains half of the slowest engine's rate.
const SHARE: Share = Share(0.5);

impl Scheduled {
    /// Returns the one amount that is set; refuses several.
    fn resolve_amount(&self, mistakes: &mut Mistakes) -> Option<At<Offered>> {
        let operations = self.per_second.as_ref();
        let bytes = self.bytes_per_s.as_ref();
        let phase = self.of.as_ref();
        if let Some(share) = self.share.as_ref().filter(|_| phase.is_none()) {
            let mistake = mistakes.at(&share.span, "a share without the phase that it is of");
            mistake.label("expected `of` next to it, the name of an earlier phase");
            return None;
        }
        if let Some(schedule) = self.schedule.as_ref().filter(|_| phase.is_some()) {
            let mistake = mistakes.at(&schedule.span, "a rate `of` a phase has random gaps");
            mistake.label("expected no `schedule` next to `of`");
            return None;
        }
        if let Some(share) = self.share.as_ref().filter(|share| share.0 == 0.0) {
            mistakes.at(&share.span, "the share is zero").label("expected more than 0");
            return None;
        }
        let spans = [
            operations.map(|at| &at.span),
            bytes.map(|at| &at.span),
            phase.map(|at| &at.span),
            self.ramp.as_ref().map(|at| &at.span),
            self.steps.as_ref().map(|at| &at.span),
        ];
        if let Some(second) = spans.into_iter().flatten().nth(1) {
            let mistake = mistakes.at(second, "the rate is given twice");
            mistake.label(
                "expected only one of `per_second`, `bytes_per_s`, `of`, `ramp` and `steps`",
            );
            return None;
        }
        if let Some(steps) = self.steps.as_ref().filter(|steps| steps.is_empty()) {
            mistakes.at(&steps.span, "the rate has no steps").label("expected at least one");
            return None;
        }
        let operations = operations.map(|at| at.with(Offered::Operations(at.0)));
        let bytes = bytes.map(|at| at.with(Offered::Bytes(at.0.0 as f64)));
        let pilot = phase.map(|phase| {
            let share = self.share.value_or(SHARE).0;
            phase.with(Offered::Pilot(phase.with(PilotRate { phase: phase.0.clone(), share })))
        });
        let ramp = self.ramp.as_ref().map(|ramp| {
            let over_ns = ramp.over.as_ref().map(|over| over.0);
            ramp.with(Offered::Ramp { from: ramp.from.0, to: ramp.to.0, over_ns })
        });
        let stage = |step: &At<RateStep>| {
            let (to, length_ns) = (step.per_second.0, step.duration.0);
            Stage { from: step.from.as_ref().map_or(to, |from| from.0), to, length_ns }
        };
        let steps = self
            .steps
            .as_ref()
            .map(|steps| steps.with(Offered::Steps(steps.value.iter().map(stage).collect())));
        operations.or(bytes).or(pilot).or(ramp).or(steps)
    }
}

fn resolve_wave(wave: &At<Wave>, offered: &Offered, mistakes: &mut Mistakes) -> Option<Sine> {
    let Wave { amplitude, period, step } = &wave.value;
    let Offered::Operations(mean) = *offered else {
        let mistake = mistakes.at(&wave.span, "a wave needs a rate of operations");
        mistake.label("expected `per_second` next to it");
        return None;
    };
    if amplitude.value.0 as f64 > mean {
        let mistake = mistakes.at(&amplitude.span, "the wave falls below zero");
        mistake.label(format!("expected at most {mean}, the mean"));
        return None;
    }
    let (period_ns, step_ns) = (period.value.0, step.value.0);
    if step_ns > period_ns {
        let mistake = mistakes.at(&step.span, "a step is longer than the period");
        mistake.label(format!("expected at most {}", units::duration(period_ns)));
        return None;
    }
    if period_ns / step_ns > STEPS_MAX {
        let mistake = mistakes.at(&step.span, "a period has more than a million steps");
        let least = units::duration(period_ns.div_ceil(STEPS_MAX));
        mistake.label(format!("expected at least {least}"));
        return None;
    }
    Some(Sine { amplitude: amplitude.value.0 as f64, period_ns, step_ns })
}
