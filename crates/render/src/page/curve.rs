//! Latency by percentile: where a line may stand, and where too few samples stand behind it.

use hdrhistogram::Histogram;
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::figures::catalogue as c;
use kvdyno_analysis::figures::evidence::CaseEvidence;
use kvdyno_analysis::stats::SAMPLES_BEYOND;
use kvdyno_record::files::RecordError;
use kvdyno_record::hlog::{self, Kind};
use kvdyno_record::operations::OpInfo;
use kvdyno_record::samples::Samples;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Points for each nine.
const STEPS: u32 = 10;

/// Latency by percentile of one role, or of one of its operations, over all trials.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Curve {
    /// Index of the group in the summary.
    pub group: usize,
    /// The phase.
    pub phase: String,
    /// The role.
    pub role: String,
    /// The operation; null: all of the role's.
    pub op: Option<String>,
    /// `service` or `response`.
    pub kind: &'static str,
    /// Samples behind it.
    pub n: u64,
    /// Nines (-log10 of the share that is slower: 3 is p99.9) and nanoseconds. It ends where fewer
    /// than 10 samples are slower.
    pub points: Vec<(f64, u64)>,
}

/// Reads the lines of a group over its trials, as far as there are enough samples. Lines of an
/// operation are left out where it is its role's only one.
pub(super) fn read(
    group: usize,
    trials: &[&CaseEvidence],
    summary: &Summary,
) -> Result<Vec<Curve>, RecordError> {
    let mut curves = Vec::new();
    for ((phase, role, kind), ops) in merge_latencies(trials)? {
        let longest = longest_call(summary, group, &phase, &role).filter(|_| kind == Kind::Service);
        let curve = |op: Option<&String>, samples: &Histogram<u64>| Curve {
            group,
            phase: phase.clone(),
            role: role.clone(),
            op: op.cloned(),
            kind: kind.as_str(),
            n: samples.len(),
            points: points(samples, longest.unwrap_or(u64::MAX)),
        };
        let mut all = hlog::histogram();
        for (_, samples) in ops.iter().filter(|(op, _)| OpInfo::is_summed(op)) {
            samples.add_to(&mut all);
        }
        curves.push(curve(None, &all));
        if ops.len() > 1 {
            curves.extend(ops.iter().map(|(op, samples)| curve(Some(op), &samples.histogram())));
        }
    }
    Ok(curves)
}

/// Samples by phase, role and kind, and in these by operation.
type Merged = BTreeMap<(String, String, Kind), BTreeMap<String, Samples>>;

fn merge_latencies(trials: &[&CaseEvidence]) -> Result<Merged, RecordError> {
    let mut merged = Merged::new();
    for case in trials {
        for ((phase, role, op, kind), samples) in case.latencies()? {
            if case.shown_phase(&phase).is_some() {
                let ops = merged.entry((phase, role, kind)).or_default();
                ops.entry(op).or_default().add_all(samples.iter());
            }
        }
        let ops = merged.values().flat_map(BTreeMap::values);
        case.refuse_too_many(ops.map(Samples::pages).sum())?;
    }
    Ok(merged)
}

/// The longest call, which is known exactly; a bucket's upper end can lie above it.
fn longest_call(summary: &Summary, group: usize, phase: &str, role: &str) -> Option<u64> {
    let run = summary.groups.get(group)?.runs.iter().find(|run| run.phase == phase)?;
    let role = run.roles.iter().find(|row| row.role == role)?;
    role.metrics.value(&c::SERVICE_MAX).map(|ns| ns as u64)
}

fn points(samples: &Histogram<u64>, longest: u64) -> Vec<(f64, u64)> {
    let most = (samples.len() as f64 / SAMPLES_BEYOND).log10();
    // p50 and p95, which no step meets.
    let between = [std::f64::consts::LOG10_2, 20_f64.log10()];
    let mut nines: Vec<f64> =
        (0..=9 * STEPS).map(|step| f64::from(step) / f64::from(STEPS)).collect();
    nines.extend(between);
    nines.sort_by(f64::total_cmp);
    let at = |nines: f64| {
        let quantile = 1.0 - 10_f64.powf(-nines);
        // Rounded, so that p99.9 is 0.999 exactly.
        let quantile = (quantile * 1e12).round() / 1e12;
        ((nines * 1e4).round() / 1e4, samples.value_at_quantile(quantile).min(longest))
    };
    nines.into_iter().filter(|nines| *nines <= most + 1e-9).map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stops_where_fewer_than_ten_samples_stand_behind_it() {
        let mut samples = hlog::histogram();
        (1..=10_000).for_each(|value| samples.record(value * 1000).unwrap());
        let line = points(&samples, u64::MAX);
        let (nines, ns) = *line.last().unwrap();
        assert!((nines - 3.0).abs() < 1e-9, "{nines}");
        assert_eq!(ns, samples.value_at_quantile(0.999));
        assert!(line.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1));
        for (at, quantile) in [(0.301, 0.5), (1.301, 0.95)] {
            let point = line.iter().find(|(nines, _)| (nines - at).abs() < 1e-6);
            assert_eq!(point.map(|(_, ns)| *ns), Some(samples.value_at_quantile(quantile)));
        }
        assert!(points(&samples, 42).iter().all(|(_, ns)| *ns <= 42));
        let mut few = hlog::histogram();
        (1..10).for_each(|value| few.record(value).unwrap());
        assert_eq!(points(&few, u64::MAX), []);
    }
}
