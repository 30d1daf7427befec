//! When operations are due in an open loop.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::f64::consts::TAU;

/// An open loop: operations start on a schedule, whether or not the engine keeps up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rate {
    /// Rate of the whole role; with a wave, its mean over a period; with stages, the mean over all
    /// of them.
    pub operations_per_s: f64,
    /// The gaps between starts.
    pub schedule: Schedule,
    /// The wave on the rate; null: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sine: Option<Sine>,
    /// Rates that follow each other from the start of each phase; empty: one rate. The last one
    /// holds to the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<Stage>,
    /// The rate in bytes of keys and values written per second, where it was given so;
    /// `operations_per_s` has as many bytes on average.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_s: Option<f64>,
}

/// Gaps between scheduled starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// Equal gaps.
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
    /// The largest deviation from the mean, in operations a second of the whole role; at most the
    /// mean itself.
    pub amplitude: f64,
    /// Time from one rise to the next.
    pub period_ns: u64,
    /// How long each rate holds.
    pub step_ns: u64,
}

/// A rate that changes linearly, or holds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stage {
    /// The rate at its start, in operations a second of the whole role.
    pub from: f64,
    /// The rate at its end.
    pub to: f64,
    /// How long it is.
    pub length_ns: u64,
}

/// A part of a schedule in which the rate changes linearly, or holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Its start, since the start of the phase.
    pub start_ns: f64,
    /// How long it is; infinite: to the end of the phase.
    pub length_ns: f64,
    /// Operations per nanosecond at its start.
    pub from: f64,
    /// Operations per nanosecond at its end.
    pub to: f64,
}

impl Rate {
    /// Returns a rate that is the same at any time.
    pub fn new(operations_per_s: f64, schedule: Schedule) -> Self {
        let (sine, stages, bytes_per_s) = (None, Vec::new(), None);
        Self { operations_per_s, schedule, sine, stages, bytes_per_s }
    }

    /// Returns a rate that goes through stages, one after the other.
    pub fn from_stages(stages: Vec<Stage>, schedule: Schedule) -> Self {
        let length_ns: u64 = stages.iter().map(|stage| stage.length_ns).sum();
        let due = |stage: &Stage| f64::midpoint(stage.from, stage.to) * stage.length_ns as f64;
        let due: f64 = stages.iter().map(due).sum();
        Self { stages, ..Self::new(due / length_ns as f64, schedule) }
    }

    /// Whether it is the same at any time.
    pub fn is_constant(&self) -> bool {
        self.sine.is_none() && self.stages.is_empty()
    }

    /// The least rate, in operations a second.
    pub fn least_rate(&self) -> f64 {
        let amplitude = self.sine.map_or(0.0, |sine| sine.amplitude);
        let stages = self.stages.iter().map(|stage| stage.from.min(stage.to));
        stages.fold(self.operations_per_s - amplitude, f64::min)
    }

    /// The mean rate of a phase of this length; for a phase that ends otherwise, the mean of a
    /// period.
    pub fn mean_rate(&self, duration_ns: Option<u64>) -> f64 {
        duration_ns.map_or(self.operations_per_s, |ns| self.mean_over(ns as f64))
    }

    /// The mean rate of the first `span_ns` of a phase. With a wave it differs from the mean of a
    /// period.
    pub fn mean_over(&self, span_ns: f64) -> f64 {
        if self.is_constant() {
            return self.operations_per_s;
        }
        // Whole periods are at the mean.
        let within = self.sine.map_or(span_ns, |sine| span_ns % sine.period_ns as f64);
        let steps = (0..).map(|index| self.step(index)).take_while(|step| step.start_ns < within);
        let due: f64 =
            steps.map(|step| step.count_due(step.length_ns.min(within - step.start_ns))).sum();
        (due * 1e9 + self.operations_per_s * (span_ns - within)) / span_ns
    }

    /// The step of this number, from 0, of a rate that is not constant.
    pub fn step(&self, index: u64) -> Step {
        if let Some(sine) = &self.sine {
            return sine.step(index, self.operations_per_s);
        }
        let index = usize::try_from(index).unwrap_or(usize::MAX).min(self.stages.len() + 1);
        let before = self.stages.iter().take(index);
        let start_ns = before.map(|stage| stage.length_ns as f64).sum();
        let per_ns = |per_s: f64| per_s / 1e9;
        match self.stages.get(index) {
            Some(stage) => Step {
                start_ns,
                length_ns: stage.length_ns as f64,
                from: per_ns(stage.from),
                to: per_ns(stage.to),
            },
            None => {
                let last = per_ns(self.stages.last().map_or(0.0, |stage| stage.to));
                let start_ns = if index > self.stages.len() { f64::INFINITY } else { start_ns };
                Step { start_ns, length_ns: f64::INFINITY, from: last, to: last }
            }
        }
    }
}

impl Step {
    /// Operations due in its first `span_ns`.
    pub fn count_due(&self, span_ns: f64) -> f64 {
        if self.to == 0.0 && self.from == 0.0 {
            return 0.0;
        }
        let rise = (self.to - self.from) * (span_ns / self.length_ns);
        (self.from + if rise.is_nan() { 0.0 } else { rise / 2.0 }) * span_ns
    }

    /// Returns the time since the step's start at which so many operations are due. They must be
    /// due within the step.
    pub fn find_time(&self, operations: f64) -> f64 {
        if operations <= 0.0 {
            return 0.0;
        }
        let slope = (self.to - self.from) / self.length_ns;
        let root = (self.from * self.from + 2.0 * slope * operations).max(0.0).sqrt();
        2.0 * operations / (self.from + root)
    }
}

impl Sine {
    /// The step of this number, from 0, of a wave around a mean.
    fn step(&self, index: u64, mean_per_s: f64) -> Step {
        let steps = self.period_ns.div_ceil(self.step_ns);
        let (period, index) = (index / steps, index % steps);
        let start_ns = index * self.step_ns;
        let end_ns = (start_ns + self.step_ns).min(self.period_ns);
        let turns = |ns: u64| TAU * ns as f64 / self.period_ns as f64;
        let (from, to) = (turns(start_ns), turns(end_ns));
        let above = self.amplitude * (from.cos() - to.cos()) / (to - from);
        let rate = ((mean_per_s + above) / 1e9).max(0.0);
        Step {
            start_ns: period as f64 * self.period_ns as f64 + start_ns as f64,
            length_ns: (end_ns - start_ns) as f64,
            from: rate,
            to: rate,
        }
    }
}
