//! A role's figures: rates, times by clock, and correctness.

use super::catalogue as c;
use super::metric::{Definition, Metric, Metrics, Reading, Why};
use super::spent::quotient;
use super::tail;
use super::trials::{At, Trials, role};
use super::turns;
use crate::stats;
use hdrhistogram::Histogram;
use kvdyno_record::case::{OpResult, RoleResult};
use kvdyno_record::hlog::{self, Kind};
use kvdyno_record::units;

/// The shares behind the percentiles of [`c::times`].
const SHARES: [f64; 6] = [0.5, 0.9, 0.95, 0.99, 0.999, 0.9999];

const NO_TIMES: &str = "no times were recorded";

/// The times that a role has besides those of its calls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clocks {
    /// Whether the role works on a schedule: then it has response times.
    pub(super) open_loop: bool,
    /// Whether the role keeps operations in flight: then it has submission and completion times.
    pub(super) in_flight: bool,
}

impl Clocks {
    /// The kinds of times that it has.
    pub(super) fn kinds(self) -> impl Iterator<Item = Kind> {
        let response = self.open_loop.then_some(Kind::Response);
        let parts = [Kind::Submit, Kind::Completion].into_iter().filter(move |_| self.in_flight);
        std::iter::once(Kind::Service).chain(response).chain(parts)
    }
}

/// The times of a kind in each trial.
pub(super) struct Times {
    samples: Vec<Result<Histogram<u64>, Why>>,
    longest: Vec<Reading>,
}

impl Times {
    pub(super) fn read(trials: &Trials<'_>, scope: &At<'_>, kind: Kind) -> Self {
        let samples = trials.samples(scope, kind);
        let exact = || {
            trials.role_readings(scope, |_, op| match op.count {
                0 => Err("no operation was done".into()),
                _ if op.service_ns_max == 0 => Err(NO_TIMES.into()),
                _ => Ok(op.service_ns_max as f64),
            })
        };
        let longest = match kind {
            Kind::Service => exact(),
            Kind::Response => samples.iter().map(|samples| longest_time(samples, None)).collect(),
            Kind::Submit | Kind::Completion => {
                let both = samples.iter().zip(exact());
                both.map(|(samples, whole)| longest_time(samples, Some(&whole))).collect()
            }
        };
        Self { samples, longest }
    }

    /// A percentile by the same rule as the catalogue's: the median over the trials; from the
    /// merged samples where no single trial has enough.
    pub(super) fn percentile(&self, definition: &Definition, q: f64) -> Metric {
        percentile(definition, q, &merge_histograms(&self.samples), &self.samples, &self.longest)
    }
}

/// The figures of a role, or of one of its operations. `deferred`: how long the phase's writes were
/// still at work after it, in each trial; a rate that is sustained pays for it.
pub(super) fn role_metrics(
    trials: &Trials<'_>,
    scope: &At<'_>,
    clocks: Clocks,
    deferred: Option<&[Reading]>,
) -> Metrics {
    let mut metrics = Metrics::default();
    add_rates(&mut metrics, trials, scope, deferred);
    if clocks.open_loop && scope.op.is_none() {
        let offered = |role: &RoleResult| role.offered_per_s.ok_or(Why::from("a closed loop"));
        metrics.add(&c::OFFERED_OPS_PER_S, trials.role_readings(scope, |role, _| offered(role)));
        metrics.add(&c::BACKLOG, trials.role_readings(scope, |role, _| Ok(role.backlog as f64)));
    }
    metrics.add(&c::OPERATIONS, trials.role_readings(scope, |_, op| Ok(op.count as f64)));
    metrics.add(&c::WINDOW, trials.role_readings(scope, |role, _| Ok(role.window_ns as f64)));
    metrics.add(&c::FOUND, trials.role_readings(scope, |_, op| hit_percent(op)));
    metrics.add(&c::WRONG, trials.role_readings(scope, |_, op| Ok(op.wrong as f64)));
    let errors = |op: &OpResult| op.errors.values().sum::<u64>() as f64;
    metrics.add(&c::ERRORS, trials.role_readings(scope, |_, op| Ok(errors(op))));
    metrics.add(&c::RETRIES, trials.role_readings(scope, |_, op| Ok(op.retries as f64)));
    let mean = |op: &OpResult| match op.count {
        0 => Err("no operation was done".into()),
        // Some reports of other programs have only counts.
        _ if op.service_ns_max == 0 => Err(NO_TIMES.into()),
        count => Ok(op.service_ns as f64 / count as f64),
    };
    metrics.add(&c::SERVICE_MEAN, trials.role_readings(scope, |_, op| mean(op)));

    for kind in clocks.kinds() {
        let times = Times::read(trials, scope, kind);
        add_times(&mut metrics, kind, &times);
    }
    metrics
}

/// Adds the rates; `deferred` as in [`role_metrics`].
fn add_rates(
    metrics: &mut Metrics,
    trials: &Trials<'_>,
    scope: &At<'_>,
    deferred: Option<&[Reading]>,
) {
    let no_window = || Why::from("the role has no window");
    let windows = trials.role_readings(scope, |role, _| match role.rate_window_ns() {
        window if window > 0.0 => Ok(window),
        _ => Err(no_window()),
    });
    let rate_windows: Vec<Reading> = match deferred {
        None => {
            let shares = trials.phase_readings(scope.phase, |spent, case| {
                let role = role(spent.phase, scope.role)?;
                let without_waits = case.without_waits.contains(scope.phase);
                Ok(if without_waits { turns::share_with_cpu(role) } else { 1.0 })
            });
            windows
                .iter()
                .cloned()
                .zip(shares)
                .map(|(window, share)| Ok(window? * share?))
                .collect()
        }
        Some(deferred) => {
            let both = windows.iter().cloned().zip(deferred.iter().cloned());
            both.map(|(window, deferred)| Ok(window? + deferred?)).collect()
        }
    };
    let per_s = |count: fn(&OpResult) -> u64, windows: &[Reading]| {
        let counts = trials.role_readings(scope, |_, op| Ok(count(op) as f64));
        let both = counts.into_iter().zip(windows.iter().cloned());
        both.map(|(count, window)| Ok(count? * 1e9 / window?)).collect::<Vec<Reading>>()
    };
    metrics.add(&c::OPS_PER_S, per_s(|op| op.count, &rate_windows));
    if deferred.is_some() {
        metrics.add(&c::BURST_OPS_PER_S, per_s(|op| op.count, &windows));
    }
    metrics.add(&c::ITEMS_PER_S, per_s(|op| op.items, &rate_windows));
    metrics.add(&c::USER_BYTES_PER_S, per_s(|op| op.read_bytes + op.write_bytes, &rate_windows));
    metrics.add(&c::RATE_WINDOW, rate_windows);
}

/// The rate while the role was at work, whatever it left behind.
pub(crate) fn window_rate(metrics: &Metrics) -> Option<&Metric> {
    metrics.get(&c::BURST_OPS_PER_S).or_else(|| metrics.get(&c::OPS_PER_S))
}

/// Adds the percentiles of a kind of times, and their longest.
fn add_times(metrics: &mut Metrics, kind: Kind, times: &Times) {
    let Times { samples, longest } = times;
    let merged = merge_histograms(samples);
    let [percentiles @ .., maximum] = c::times(kind);
    for (definition, q) in percentiles.into_iter().zip(SHARES) {
        metrics.0.push(percentile(definition, q, &merged, samples, longest));
    }
    metrics.add(maximum, longest.clone());
    tail::add(metrics, kind, &merged, samples);
}

/// The longest of samples: a bucket's upper end, limited by `whole`, the exact longest of the times
/// that they are parts of.
fn longest_time(samples: &Result<Histogram<u64>, Why>, whole: Option<&Reading>) -> Reading {
    match samples {
        Ok(samples) if samples.is_empty() => Err("no such times were recorded".into()),
        Ok(samples) => {
            let whole = whole.and_then(|whole| whole.as_ref().ok().copied());
            Ok((samples.max() as f64).min(whole.unwrap_or(f64::MAX)))
        }
        Err(why) => Err(why.clone()),
    }
}

/// A percentile: the median over the trials; from the merged samples where no single trial has
/// enough.
fn percentile(
    definition: &Definition,
    q: f64,
    merged: &Histogram<u64>,
    samples: &[Result<Histogram<u64>, Why>],
    max: &[Reading],
) -> Metric {
    let longest = max.iter().flatten().copied().fold(0.0, f64::max);
    let per_trial = samples.iter().zip(max).map(|(samples, max)| match (samples, max) {
        (Ok(samples), Ok(max)) => reading(samples, q, *max),
        (Err(why), _) | (_, Err(why)) => Err(why.clone()),
    });
    let per_trial: Vec<Reading> = per_trial.collect();
    let mut measured = samples.iter().zip(&per_trial).filter(|(samples, _)| samples.is_ok());
    let short = measured.any(|(_, reading)| reading.is_err());
    let nowhere = samples.iter().all(Result::is_err).then(|| samples.first()).flatten();
    let merged = match nowhere {
        Some(Err(why)) => Err(why.clone()),
        _ => reading(merged, q, longest),
    };
    Metric::from_histograms(definition, merged, per_trial, short)
}

/// A percentile of samples, limited by the exact longest time: a bucket's upper end can lie above
/// it.
fn reading(samples: &Histogram<u64>, q: f64, longest: f64) -> Reading {
    let needed = stats::samples_needed(q);
    match stats::quantile(samples, q) {
        Some(value) => Ok((value as f64).min(longest)),
        None => {
            // 99.99 in place of 99.99000000000001.
            let percent = (q * 1e6).round() / 1e4;
            Err(format!("p{percent} needs {} samples", units::group_digits(needed)).into())
        }
    }
}

fn merge_histograms(samples: &[Result<Histogram<u64>, Why>]) -> Histogram<u64> {
    let mut all = hlog::histogram();
    for samples in samples.iter().flatten().filter(|samples| !samples.is_empty()) {
        // All histograms have the same bounds: this cannot fail.
        let _ = all.add(samples);
    }
    all
}

fn hit_percent(op: &OpResult) -> Reading {
    quotient(100.0 * op.hits as f64, (op.hits + op.misses) as f64, "no key was looked up")
}
