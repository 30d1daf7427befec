//! The tail of a role's times: shares over a limit, mean square. All come from histograms with
//! buckets of 0.8 %, and are no finer than that.

use super::catalogue as c;
use super::metric::{Metric, Metrics, Reading, Why};
use hdrhistogram::Histogram;
use kvdyno_record::hlog::Kind;

/// The limits of [`c::tail`]'s shares.
const OVER_NS: [u64; 3] = [1_000_000, 2_000_000, 4_000_000];

/// Adds the figures of a clock that has them: for each trial, and from the merged samples of all.
pub(crate) fn add(
    metrics: &mut Metrics,
    clock: Kind,
    merged: &Histogram<u64>,
    trials: &[Result<Histogram<u64>, Why>],
) {
    let Some([shares @ .., rms, deviation]) = c::tail(clock) else { return };
    let nowhere = trials.iter().all(Result::is_err).then(|| trials.first()).flatten();
    let mut add = |definition, read: &dyn Fn(&Histogram<u64>) -> Reading| {
        let of_trial = |samples: &Result<Histogram<u64>, Why>| match samples {
            Ok(samples) => read(samples),
            Err(why) => Err(why.clone()),
        };
        let all = match nowhere {
            Some(Err(why)) => Err(why.clone()),
            _ => read(merged),
        };
        let each = trials.iter().map(of_trial).collect();
        metrics.0.push(Metric::from_histograms(definition, all, each, false));
    };
    for (definition, limit) in shares.into_iter().zip(OVER_NS) {
        add(definition, &|samples| percent_above_limit(samples, limit));
    }
    add(rms, &|samples| Ok(moments(samples)?.1));
    add(deviation, &|samples| {
        let (mean, rms) = moments(samples)?;
        Ok((rms * rms - mean * mean).max(0.0).sqrt())
    });
}

/// Samples above a limit, in percent. A bucket that contains the limit counts by its middle, where
/// the recorder put its samples.
fn percent_above_limit(samples: &Histogram<u64>, limit_ns: u64) -> Reading {
    if samples.is_empty() {
        return Err("no such times were recorded".into());
    }
    let over = samples.iter_recorded().filter(|bucket| bucket.value_iterated_to() > limit_ns);
    let over: u64 = over.map(|bucket| bucket.count_at_value()).sum();
    Ok(100.0 * over as f64 / samples.len() as f64)
}

/// Mean, and root of the mean square.
fn moments(samples: &Histogram<u64>) -> Result<(f64, f64), Why> {
    if samples.is_empty() {
        return Err("no such times were recorded".into());
    }
    let (mut sum, mut squares) = (0.0, 0.0);
    for bucket in samples.iter_recorded() {
        let (ns, count) =
            (samples.median_equivalent(bucket.value_iterated_to()), bucket.count_at_value());
        sum += ns as f64 * count as f64;
        squares += (ns as f64).powi(2) * count as f64;
    }
    let all = samples.len() as f64;
    Ok((sum / all, (squares / all).sqrt()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_record::hlog::histogram;

    fn record_all(times: &[(u64, u64)]) -> Histogram<u64> {
        let mut samples = histogram();
        for (ns, count) in times {
            samples.record_n(*ns, *count).unwrap();
        }
        samples
    }

    #[test]
    fn shares_are_exact_where_no_limit_cuts_a_bucket() {
        // 1 to 10,000 us, one each: 9,000 of them over 1 ms, 8,000 over 2, 6,000 over 4.
        let samples = record_all(&(1..=10_000).map(|us| (us * 1_000, 1)).collect::<Vec<_>>());
        for (limit, percent) in OVER_NS.into_iter().zip([90.0, 80.0, 60.0]) {
            let read = percent_above_limit(&samples, limit).unwrap();
            assert!((read - percent).abs() < 0.05, "{limit}: {read}");
        }
        let rare = record_all(&[(900_000, 999_999), (1_100_000, 1)]);
        assert_eq!(percent_above_limit(&rare, OVER_NS[0]), Ok(0.0001));
        assert_eq!(percent_above_limit(&rare, OVER_NS[1]), Ok(0.0));
    }

    #[test]
    fn the_mean_square_of_two_values() {
        // Three times 1 ms, once 5 ms: mean 2, mean square 28 / 4 = 7, deviation sqrt(3).
        let (mean, rms) = moments(&record_all(&[(1_000_000, 3), (5_000_000, 1)])).unwrap();
        assert!((mean / 2e6 - 1.0).abs() < 1e-3, "{mean}");
        assert!((rms / (7.0_f64.sqrt() * 1e6) - 1.0).abs() < 1e-3, "{rms}");
        let mut metrics = Metrics::default();
        let samples = record_all(&[(1_000_000, 3), (5_000_000, 1)]);
        add(&mut metrics, Kind::Response, &samples, &[Ok(samples.clone())]);
        let deviation = metrics.value(&c::RESPONSE_DEVIATION).unwrap();
        assert!((deviation / (3.0_f64.sqrt() * 1e6) - 1.0).abs() < 2e-3, "{deviation}");
    }

    #[test]
    fn no_sample_is_no_figure() {
        let mut metrics = Metrics::default();
        add(&mut metrics, Kind::Service, &histogram(), &[Err("killed (9)".into())]);
        assert!(metrics.0.iter().all(|metric| metric.value.is_none()));
        assert_eq!(metrics.0[0].missing.as_deref(), Some("killed (9)"));
        assert!(percent_above_limit(&histogram(), 1).is_err() && moments(&histogram()).is_err());
    }
}
