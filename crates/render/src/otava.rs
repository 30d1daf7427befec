//! Figures over many runs for Apache Otava, which finds the run at which a figure changed: a CSV
//! file for each case and role, one row a run, and the configuration that reads them.
//!
//! Otava takes no empty cells. A run without the case's main figure has no row, and a figure that
//! one of the rows does not have is left out.

use super::inert::inert;
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::figures::catalogue as c;
use kvdyno_analysis::figures::group::Group;
use kvdyno_analysis::figures::metric::{Definition, Direction, Metrics};
use kvdyno_record::engine::Durability;
use std::collections::BTreeSet;
use std::path::Path;

/// What stands before the figures.
const ATTRIBUTES: [&str; 5] = ["run", "version", "kvdyno", "host", "worker"];

/// One file.
#[derive(Clone, Debug)]
pub struct Series {
    /// Of the file, and of the test: `lmdb-commit-t4-measure-readers`.
    pub name: String,
    /// Runs in it.
    pub rows: usize,
    /// The file.
    pub csv: Vec<u8>,
    /// Its figures, and whether more is better.
    metrics: Vec<(&'static str, Direction)>,
}

/// A file for each load, phase and role of the newest run. A run has a row where it did the same
/// work: where the key of its case is the same.
pub fn series(summaries: &[Summary]) -> anyhow::Result<Vec<Series>> {
    let Some(newest) = newest(summaries) else { return Ok(Vec::new()) };
    let mut summaries: Vec<&Summary> = summaries.iter().collect();
    summaries.sort_by_key(|summary| summary.run.started_unix_ns);
    let mut names = BTreeSet::new();
    let mut all = Vec::new();
    for group in &newest.groups {
        for part in parts(group) {
            let runs: Vec<Row<'_>> =
                summaries.iter().filter_map(|summary| row(summary, group, &part)).collect();
            if runs.is_empty() {
                continue;
            }
            let mut name = name(group, &part);
            if names.contains(&name) {
                // The same engine with other data or another RAM limit.
                name =
                    format!("{name}-{}", plain(group.key.rsplit('/').next().unwrap_or_default()));
            }
            names.insert(name.clone());
            all.push(file(name, &runs)?);
        }
    }
    Ok(all)
}

/// Whether a run did any of the newest one's work.
pub fn has_a_row(summary: &Summary, summaries: &[Summary]) -> bool {
    let series = |key: &str| {
        newest(summaries).is_some_and(|newest| newest.groups.iter().any(|group| group.key == key))
    };
    summary.groups.iter().any(|group| series(&group.key))
}

fn newest(summaries: &[Summary]) -> Option<&Summary> {
    summaries.iter().max_by_key(|summary| summary.run.started_unix_ns)
}

/// `otava.yaml`, for files that lie in `folder`.
pub fn config(suite: &str, series: &[Series], folder: &Path) -> String {
    let mut text = "tests:\n".to_owned();
    for Series { name, metrics, .. } in series {
        let file = folder.join(format!("{name}.csv"));
        // JSON's strings are YAML's.
        let file = serde_json::Value::from(file.display().to_string());
        text += &format!(
            "  {}.{name}:\n    type: csv\n    file: {file}\n    time_column: time\n    \
             attributes: [{}]\n    csv_options:\n      delimiter: ','\n      quote_char: '\"'\n    \
             metrics:\n",
            plain(suite),
            ATTRIBUTES.join(", ")
        );
        for (metric, direction) in metrics {
            let sign = if *direction == Direction::Higher { 1 } else { -1 };
            text += &format!("      {metric}: {{column: {metric}, direction: {sign}, scale: 1}}\n");
        }
    }
    text
}

/// What has a file of its own.
struct Part<'s> {
    phase: &'s str,
    /// With the operation, where it has several.
    role: Option<String>,
    metrics: Metrics,
    /// Without it there is no row.
    main: &'static Definition,
}

fn parts(group: &Group) -> Vec<Part<'_>> {
    let load = group.load.iter().map(|load| Part {
        phase: &load.phase,
        role: None,
        metrics: load.metrics.clone(),
        main: &c::RECORDS_PER_S,
    });
    let runs = group.runs.iter().flat_map(|run| {
        let metrics = run.metrics.clone();
        let cost = Part { phase: &run.phase, role: None, metrics, main: &c::CPU_PER_OP };
        let roles = run.roles.iter().flat_map(|role| {
            let each = role.comparable().into_iter();
            each.map(|(op, metrics)| Part {
                phase: &run.phase,
                role: Some(role.place(op)),
                metrics,
                main: if op.is_none() { &c::OPS_PER_S } else { role.p99() },
            })
        });
        std::iter::once(cost).chain(roles)
    });
    load.chain(runs).collect()
}

/// A run's row in the making.
struct Row<'s> {
    summary: &'s Summary,
    group: &'s Group,
    metrics: Metrics,
}

fn row<'s>(summary: &'s Summary, like: &Group, part: &Part<'_>) -> Option<Row<'s>> {
    let group = summary.groups.iter().find(|group| group.key == like.key)?;
    let is_counterpart = |other: &Part<'_>| (other.phase, &other.role) == (part.phase, &part.role);
    let counterpart = parts(group).into_iter().find(is_counterpart)?;
    counterpart.metrics.value(part.main)?;
    Some(Row { summary, group, metrics: counterpart.metrics })
}

fn file(name: String, rows: &[Row<'_>]) -> anyhow::Result<Series> {
    let in_every_row = |definition: &&&'static Definition| {
        definition.direction != Direction::Neither
            && rows.iter().all(|row| row.metrics.value(definition).is_some())
    };
    let figures: Vec<&Definition> = c::ALL.iter().filter(in_every_row).copied().collect();
    let mut writer = csv::Writer::from_writer(Vec::new());
    let head = ["time"].into_iter().chain(ATTRIBUTES);
    writer.write_record(head.chain(figures.iter().map(|figure| figure.name)))?;
    for row in rows {
        let figure = |definition: &&Definition| {
            row.metrics.value(definition).map(|value| value.to_string()).unwrap_or_default()
        };
        writer.write_record(about(row).into_iter().chain(figures.iter().map(figure)))?;
    }
    let metrics = figures.iter().map(|figure| (figure.name, figure.direction)).collect();
    Ok(Series { name, rows: rows.len(), csv: writer.into_inner()?, metrics })
}

fn about(row: &Row<'_>) -> Vec<String> {
    let Row { summary, group, .. } = row;
    let is_engine = |label: &str, durability: Durability| {
        (label, durability) == (&group.label, group.durability)
    };
    let engine = summary.engines.iter().find(|engine| is_engine(&engine.label, engine.durability));
    let worker = engine.and_then(|engine| engine.worker.as_ref());
    let version = worker.map(|worker| worker.version.clone()).unwrap_or_default();
    let sha256: String =
        worker.map(|worker| worker.sha256.chars().take(12).collect()).unwrap_or_default();
    let texts = [&summary.run.id, &version, &summary.run.program, &summary.host.hostname, &sha256];
    let mut about = vec![time(summary.run.started_unix_ns)];
    about.extend(texts.map(|text| inert(text).into_owned()));
    about
}

/// As Otava reads it: `2026-11-20T10:15:02Z`.
fn time(unix_ns: u64) -> String {
    let seconds = i64::try_from(unix_ns / 1_000_000_000).unwrap_or(i64::MAX);
    let at = jiff::Timestamp::from_second(seconds).unwrap_or_default();
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn name(group: &Group, part: &Part<'_>) -> String {
    let threads = group.threads.map(|threads| format!("t{threads}"));
    let words = [
        Some(group.label.as_str()),
        Some(group.durability.as_str()),
        threads.as_deref(),
        Some(part.phase),
        part.role.as_deref(),
    ];
    words.into_iter().flatten().map(plain).collect::<Vec<_>>().join("-")
}

/// Nothing that means something to a file system or to YAML.
fn plain(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    text.chars().take(60).map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_analysis::fixture::{Fixture, SECOND};
    use kvdyno_record::case::Outcome;

    fn days(count: u64) -> Vec<Summary> {
        let run = |day: u64| {
            let mut fixture = Fixture::new();
            fixture.run.id = format!("2026-11-{day:02}T10-15-02Z_fixture_7f3a");
            fixture.run.started_unix_ns += day * 86_400 * SECOND;
            fixture.summary()
        };
        (1..=count).map(run).collect()
    }

    fn lines(series: &[Series], name: &str) -> Vec<String> {
        let by_name = series.iter().find(|series| series.name == name);
        let csv = &by_name.unwrap_or_else(|| panic!("{name}: {series:?}")).csv;
        String::from_utf8_lossy(csv).lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_row_for_each_run_oldest_first_and_no_empty_cell() {
        let mut summaries = days(3);
        summaries.reverse();
        let series = series(&summaries).unwrap();
        let readers = lines(&series, "lmdb-commit-t1-measure-readers");
        assert_eq!(readers.len(), 4);
        assert!(readers[0].starts_with("time,run,version,kvdyno,host,worker,ops_per_s,"));
        assert!(readers[1].contains("Z,2026-11-01T10-15-02Z_fixture_7f3a,0.9.70,"), "{readers:?}");
        for series in &series {
            let mut reader = csv::Reader::from_reader(series.csv.as_slice());
            let attributes = 1 + ATTRIBUTES.len();
            for row in reader.records() {
                let row = row.unwrap();
                assert!(row.iter().skip(attributes).all(|cell| cell.parse::<f64>().is_ok()));
            }
        }
        insta::assert_snapshot!("otava_yaml", {
            let config = config("fixture", &series, Path::new("otava"));
            config.split("\n  fixture.").take(4).collect::<Vec<_>>().join("\n  fixture.")
        });
    }

    #[test]
    fn other_work_has_no_row_and_neither_has_a_case_that_failed() {
        let mut summaries = days(2);
        let mut fixture = Fixture::new();
        for case in ["lmdb_t1_r1", "lmdb_t1_r2"] {
            fixture.case(case).record.outcome =
                Outcome::NotRun { message: "there is no worker".to_owned() };
            fixture.case(case).record.phases.clear();
        }
        summaries.insert(0, fixture.summary());
        let mut other = Fixture::new();
        for case in &mut other.plan.cases {
            case.key += " of other data";
        }
        summaries.insert(0, other.summary());
        let series = series(&summaries).unwrap();
        assert_eq!(lines(&series, "lmdb-commit-t1-measure-readers").len(), 1 + 2);
        assert_eq!(lines(&series, "lmdb-commit-t2-measure-readers").len(), 1 + 3);
    }

    #[test]
    fn names_are_harmless_and_unique() {
        let mut fixture = Fixture::new();
        for case in &mut fixture.plan.cases {
            case.label = "../../etc/x: {a}".to_owned();
        }
        for case in &mut fixture.cases {
            case.record.case.label = "../../etc/x: {a}".to_owned();
        }
        let series = series(&[fixture.summary()]).unwrap();
        let names: BTreeSet<&str> = series.iter().map(|series| series.name.as_str()).collect();
        assert_eq!(names.len(), series.len(), "{names:?}");
        let harmless = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
        assert!(names.iter().all(|name| name.chars().all(harmless)), "{names:?}");
    }
}
