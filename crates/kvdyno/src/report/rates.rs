//! What a role delivered: rates, service times, response times, and whether it was right.

use super::catalogue as c;
use super::metric::{Definition, Metric, Metrics, Reading, Why};
use super::spent::over;
use super::trials::{At, Trials};
use crate::{stats, units};
use hdrhistogram::Histogram;
use kvdyno_record::case::{OpResult, RoleResult};
use kvdyno_record::hlog::{self, Kind};

const QUANTILES: [(f64, &Definition, &Definition); 5] = [
    (0.5, &c::SERVICE_P50, &c::RESPONSE_P50),
    (0.9, &c::SERVICE_P90, &c::RESPONSE_P90),
    (0.99, &c::SERVICE_P99, &c::RESPONSE_P99),
    (0.999, &c::SERVICE_P999, &c::RESPONSE_P999),
    (0.9999, &c::SERVICE_P9999, &c::RESPONSE_P9999),
];

/// The figures of a role, or of one of its operations, with the merged service times.
pub(super) fn of(trials: &Trials<'_>, at: &At<'_>, open: bool) -> (Metrics, Histogram<u64>) {
    let mut metrics = Metrics::default();
    let per_s = |count: u64, role: &RoleResult| {
        over(count as f64 * 1e9, role.window_ns as f64, "the role has no window")
    };
    metrics.add(&c::OPS_PER_S, trials.of_role(at, |role, op| per_s(op.count, role)));
    metrics.add(&c::ITEMS_PER_S, trials.of_role(at, |role, op| per_s(op.items, role)));
    if open && at.op.is_none() {
        let offered = |role: &RoleResult| role.offered_per_s.ok_or(Why::from("a closed loop"));
        metrics.add(&c::OFFERED_OPS_PER_S, trials.of_role(at, |role, _| offered(role)));
        metrics.add(&c::BACKLOG, trials.of_role(at, |role, _| Ok(role.backlog as f64)));
    }
    metrics.add(&c::OPERATIONS, trials.of_role(at, |_, op| Ok(op.count as f64)));
    metrics.add(&c::WINDOW, trials.of_role(at, |role, _| Ok(role.window_ns as f64)));
    metrics.add(&c::FOUND, trials.of_role(at, |_, op| found_percent(op)));
    metrics.add(&c::WRONG, trials.of_role(at, |_, op| Ok(op.wrong as f64)));
    let errors = |op: &OpResult| op.errors.values().sum::<u64>() as f64;
    metrics.add(&c::ERRORS, trials.of_role(at, |_, op| Ok(errors(op))));
    let mean = |op: &OpResult| over(op.service_ns as f64, op.count as f64, "no operation was done");
    metrics.add(&c::SERVICE_MEAN, trials.of_role(at, |_, op| mean(op)));

    let max = trials.of_role(at, |_, op| match op.count {
        0 => Err("no operation was done".into()),
        _ => Ok(op.service_ns_max as f64),
    });
    let samples = trials.samples(at, Kind::Service);
    let service = merged(&samples);
    for (q, definition, _) in QUANTILES {
        metrics.0.push(percentile(definition, q, &service, &samples, &max));
    }
    metrics.add(&c::SERVICE_MAX, max);
    if open {
        responses(&mut metrics, &trials.samples(at, Kind::Response));
    }
    (metrics, service)
}

fn responses(metrics: &mut Metrics, samples: &[Result<Histogram<u64>, Why>]) {
    let longest = |samples: &Result<Histogram<u64>, Why>| match samples {
        Ok(samples) if samples.is_empty() => Err("no response times were recorded".into()),
        Ok(samples) => Ok(samples.max() as f64),
        Err(why) => Err(why.clone()),
    };
    let max: Vec<Reading> = samples.iter().map(longest).collect();
    let merged = merged(samples);
    for (q, _, definition) in QUANTILES {
        metrics.0.push(percentile(definition, q, &merged, samples, &max));
    }
    metrics.add(&c::RESPONSE_MAX, max);
}

/// A percentile of all trials' samples together. Percentiles of single trials are kept beside it
/// for their spread; they are never averaged.
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
    let nowhere = samples.iter().all(Result::is_err).then(|| samples.first()).flatten();
    let merged = match nowhere {
        Some(Err(why)) => Err(why.clone()),
        _ => reading(merged, q, longest),
    };
    Metric::merged(definition, merged, per_trial)
}

/// A bucket's upper end can lie above the longest time there was, which is known exactly.
fn reading(samples: &Histogram<u64>, q: f64, longest: f64) -> Reading {
    let needed = stats::samples_needed(q);
    match stats::quantile(samples, q) {
        Some(value) => Ok((value as f64).min(longest)),
        None => {
            // 99.99 in place of 99.99000000000001.
            let percent = (q * 1e6).round() / 1e4;
            Err(format!("p{percent} needs {} samples", units::grouped(needed)).into())
        }
    }
}

fn merged(samples: &[Result<Histogram<u64>, Why>]) -> Histogram<u64> {
    let mut all = hlog::histogram();
    for samples in samples.iter().flatten() {
        // The same bounds throughout: this cannot fail.
        let _ = all.add(samples);
    }
    all
}

fn found_percent(op: &OpResult) -> Reading {
    over(100.0 * op.found as f64, (op.found + op.missing) as f64, "no key was looked up")
}
