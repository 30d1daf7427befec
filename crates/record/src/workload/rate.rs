//! When operations are due in an open loop.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::f64::consts::TAU;

/// An open loop: operations start on a schedule, whether or not the engine keeps up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rate {
    /// Of the whole role; with a wave its mean over a period.
    pub operations_per_s: f64,
    /// The gaps.
    pub schedule: Schedule,
    /// The rate rises and falls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sine: Option<Sine>,
    /// The rate in bytes of keys and values written per second, where it was given so;
    /// `operations_per_s` has as many bytes on average.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_s: Option<f64>,
}

/// Gaps between scheduled starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// All equal.
    Fixed,
    /// Exponentially distributed gaps: independent arrivals.
    Poisson,
    /// As they were recorded, in a trace.
    Recorded,
}

/// A wave on a rate, from the start of each phase: mean + amplitude sin(2 pi t / period), changed
/// every step, as `db_bench` does with `sine_a` (amplitude), `sine_b` (2 pi / period in seconds)
/// and `sine_d` (mean). There a step has the rate of its start; here it has its own mean, and a
/// period begins with a step, so that a period has the mean rate however long its steps are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sine {
    /// The most above the mean, in operations a second of the whole role; not above the mean.
    pub amplitude: f64,
    /// From one rise to the next.
    pub period_ns: u64,
    /// How long each rate holds.
    pub step_ns: u64,
}

/// A part of a wave in which the rate holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Since the start of the phase.
    pub start_ns: f64,
    /// How long it is.
    pub length_ns: f64,
    /// How much its rate is above the mean.
    pub above: f64,
}

impl Rate {
    /// Without a wave.
    pub fn new(operations_per_s: f64, schedule: Schedule) -> Self {
        Self { operations_per_s, schedule, sine: None, bytes_per_s: None }
    }

    /// The mean rate of a phase of this length; of one that ends otherwise, that of a period.
    pub fn offered(&self, duration_ns: Option<u64>) -> f64 {
        duration_ns.map_or(self.operations_per_s, |ns| self.mean_over(ns as f64))
    }

    /// The mean rate of the first `span_ns` of a phase: with a wave another one than that of a
    /// period.
    pub fn mean_over(&self, span_ns: f64) -> f64 {
        let Some(sine) = &self.sine else { return self.operations_per_s };
        // Whole periods are at the mean.
        let within = span_ns % sine.period_ns as f64;
        let steps = (0..).map(|index| sine.step(index)).take_while(|step| step.start_ns < within);
        let above: f64 =
            steps.map(|step| step.above * step.length_ns.min(within - step.start_ns)).sum();
        self.operations_per_s + above / span_ns
    }
}

impl Sine {
    /// The step of this number, from 0.
    pub fn step(&self, index: u64) -> Step {
        let steps = self.period_ns.div_ceil(self.step_ns);
        let (period, index) = (index / steps, index % steps);
        let start_ns = index * self.step_ns;
        let end_ns = (start_ns + self.step_ns).min(self.period_ns);
        let turns = |ns: u64| TAU * ns as f64 / self.period_ns as f64;
        let (from, to) = (turns(start_ns), turns(end_ns));
        Step {
            start_ns: period as f64 * self.period_ns as f64 + start_ns as f64,
            length_ns: (end_ns - start_ns) as f64,
            above: self.amplitude * (from.cos() - to.cos()) / (to - from),
        }
    }
}
