//! A run's primary figures for services that follow them from commit to commit: rates, and the p99
//! of times.

use super::columns::{Row, loads, phases};
use super::format::combines_to_range;
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::figures::catalogue as c;
use kvdyno_analysis::figures::metric::{Definition, Direction, Metric};
use serde::Serialize;
use std::collections::BTreeMap;

/// A measure of Bencher's BMF.
#[derive(Debug, PartialEq, Serialize)]
struct Measure {
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper_value: Option<f64>,
}

/// An entry of github-action-benchmark.
#[derive(Debug, PartialEq, Serialize)]
struct Entry<'s> {
    name: String,
    unit: &'s str,
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<String>,
    extra: String,
}

/// A figure with the name of its row.
struct Tracked<'s> {
    name: String,
    metric: &'s Metric,
    value: f64,
    /// The number of trials that it is of.
    trials: usize,
}

impl Tracked<'_> {
    /// The range of the figure in two trials or more.
    fn range(&self) -> Option<(f64, f64)> {
        let has_range = self.metric.n > 1 && combines_to_range(self.metric.combine);
        self.metric.range().filter(|_| has_range)
    }
}

/// Bencher's BMF: a benchmark for each row, with a measure for each figure.
pub fn bencher(summary: &Summary) -> anyhow::Result<Vec<u8>> {
    let mut benchmarks: BTreeMap<String, BTreeMap<&str, Measure>> = BTreeMap::new();
    for tracked in figures(summary) {
        let range = tracked.range();
        let measure = Measure {
            value: tracked.value,
            lower_value: range.map(|(low, _)| low),
            upper_value: range.map(|(_, high)| high),
        };
        benchmarks.entry(tracked.name).or_default().insert(tracked.metric.name, measure);
    }
    Ok(serde_json::to_vec_pretty(&benchmarks)?)
}

/// An array of github-action-benchmark with the figures of one direction: `customBiggerIsBetter`,
/// or `customSmallerIsBetter`.
pub fn github(summary: &Summary, direction: Direction) -> anyhow::Result<Vec<u8>> {
    let tracked = figures(summary);
    let tracked = tracked.iter().filter(|tracked| tracked.metric.direction == direction);
    let entries: Vec<Entry<'_>> = tracked.map(|tracked| entry(summary, tracked)).collect();
    Ok(serde_json::to_vec_pretty(&entries)?)
}

fn entry<'s>(summary: &Summary, tracked: &Tracked<'s>) -> Entry<'s> {
    Entry {
        name: format!("{} {}", tracked.name, tracked.metric.name),
        unit: tracked.metric.unit,
        value: tracked.value,
        range: tracked.range().map(|(low, high)| format!("{low} to {high}")),
        extra: format!("trials: {}\nrun: {}", tracked.trials, summary.run.id),
    }
}

/// The rate of each load and role, and the p99 of each operation; for a role with a rate, the p99
/// of response times. Ceilings, engines that store nothing and void figures have none.
fn figures(summary: &Summary) -> Vec<Tracked<'_>> {
    let mut all = Vec::new();
    for row in loads(summary) {
        all.extend(tracked_figure(summary, &row, &c::RECORDS_PER_S));
    }
    for row in phases(summary).flat_map(Row::roles) {
        if row.op.is_none() {
            all.extend(tracked_figure(summary, &row, &c::OPS_PER_S));
        }
        if !row.is_pooled() {
            let open = row.role.is_some_and(|(_, role)| role.open_loop);
            let p99 = if open { &c::RESPONSE_P99 } else { &c::SERVICE_P99 };
            all.extend(tracked_figure(summary, &row, p99));
        }
    }
    all
}

fn tracked_figure<'s>(
    summary: &'s Summary,
    row: &Row<'s>,
    definition: &'static Definition,
) -> Option<Tracked<'s>> {
    if row.group.ceiling || row.group.stores_nothing || row.group.is_void() {
        return None;
    }
    let metric = row.metrics.get(definition)?;
    let value = metric.value?;
    let role = row.role_name().unwrap_or_default();
    let words = [&summary.run.suite, &row.group.key, row.phase, role, row.op()];
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    let trials = row.group.count_trials(metric);
    Some(Tracked { name: words.join(" "), metric, value, trials })
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_analysis::fixture::Fixture;
    use serde_json::Value;

    #[test]
    fn bencher_reads_names_measures_and_numbers() {
        let summary = Fixture::with_trials(6).summary();
        let json: Value = serde_json::from_slice(&bencher(&summary).unwrap()).unwrap();
        let benchmarks = json.as_object().unwrap();
        assert!(!benchmarks.is_empty());
        let mut names = std::collections::BTreeSet::new();
        for (name, measures) in benchmarks {
            assert!(name.starts_with("fixture ") && !name.contains("null"), "{name}");
            for (measure, numbers) in measures.as_object().unwrap() {
                names.insert(measure.clone());
                let number = |key: &str| numbers[key].as_f64().unwrap();
                assert!(number("lower_value") <= number("value"), "{name} {measure}");
                assert!(number("value") <= number("upper_value"), "{name} {measure}");
                assert_eq!(numbers.as_object().unwrap().len(), 3);
            }
        }
        let expected = ["ops_per_s", "records_per_s", "response_ns_p99", "service_ns_p99"];
        assert!(names.iter().all(|name| expected.contains(&name.as_str())), "{names:?}");
        assert!(["ops_per_s", "service_ns_p99"].iter().all(|name| names.contains(*name)));
        // One trial has no range.
        let one = Fixture::with_trials(1).summary();
        let json: Value = serde_json::from_slice(&bencher(&one).unwrap()).unwrap();
        let measures = json.as_object().unwrap().values().next().unwrap().as_object().unwrap();
        assert!(measures.values().all(|measure| measure.get("lower_value").is_none()));
    }

    #[test]
    fn void_figures_are_not_tracked() {
        let count = |fixture: &Fixture| figures(&fixture.summary()).len();
        let mut fixture = Fixture::with_trials(4);
        let valid = count(&fixture);
        fixture.make_void("rocksdb_t1_r1");
        assert!(count(&fixture) < valid && count(&fixture) > 0);
    }

    #[test]
    fn each_array_for_github_has_one_direction() {
        let summary = Fixture::with_trials(6).summary();
        for (direction, unit) in [(Direction::Higher, "1/s"), (Direction::Lower, "ns")] {
            let json: Value =
                serde_json::from_slice(&github(&summary, direction).unwrap()).unwrap();
            let entries = json.as_array().unwrap();
            assert!(!entries.is_empty());
            let mut names = std::collections::BTreeSet::new();
            for entry in entries {
                assert_eq!(entry["unit"], unit);
                assert!(entry["value"].is_f64() || entry["value"].is_u64());
                assert!(entry["range"].as_str().unwrap().contains(" to "));
                assert!(entry["extra"].as_str().unwrap().starts_with("trials: 6\nrun: "));
                assert!(names.insert(entry["name"].as_str().unwrap()), "{}", entry["name"]);
            }
        }
    }
}
