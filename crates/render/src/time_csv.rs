//! Time lines as CSV: what each role did slice by slice (`series.csv`), and what device and process
//! did meanwhile (`machine.csv`). Read and written a line at a time: those of a day do not fit into
//! memory. Numbers are not rounded; what is not known is empty.

use super::inert::escape_formula;
use super::machine_rates::{MEBI, MachineRates, RATE_S_MIN, seconds_between};
use kvdyno_analysis::figures::evidence::{CaseEvidence, Evidence};
use kvdyno_analysis::stats::quantile_of_counts;
use kvdyno_record::case::PhaseRecord;
use kvdyno_record::files::RecordError;
use kvdyno_record::hlog::{Interval, Kind};
use kvdyno_record::series::{MachineReading, Slice, SliceCounts};
use kvdyno_record::usage::Snapshot;
use std::io::Write;
use std::iter::Peekable;

/// What a line is about.
fn case_cells(case: &CaseEvidence) -> Vec<String> {
    let case = &case.case;
    vec![
        escape_formula(&case.id).into_owned(),
        escape_formula(&case.label).into_owned(),
        escape_formula(&case.engine).into_owned(),
        case.threads_swept.map(|threads| threads.to_string()).unwrap_or_default(),
        case.value_bytes_mean().to_string(),
        case.trial.to_string(),
    ]
}

/// A line for each slice, role and operation of every case that left any.
pub fn series(evidence: &Evidence, to: impl Write) -> anyhow::Result<()> {
    let mut writer = csv::Writer::from_writer(to);
    writer.write_record(
        ABOUT.iter().chain(&["phase", "role", "op", "slice"]).chain(&SERIES).copied(),
    )?;
    for case in &evidence.cases {
        let Some(dir) = case.dir() else { continue };
        let about = case_cells(case);
        let mut times = dir.latency()?.peekable();
        for slice in dir.series()? {
            let slice = slice?;
            let block = block(&slice, &mut times)?;
            for (role, ops) in &slice.roles {
                for (op, counts) in ops {
                    let names = [&slice.phase, role, op, &slice.slice.to_string()];
                    let line = operations(&slice, *counts, [role, op], &block);
                    write(&mut writer, &about, &names.map(String::as_str), &line)?;
                }
            }
        }
    }
    writer.flush()?;
    Ok(())
}

const ABOUT: [&str; 6] = ["case", "label", "engine", "threads_swept", "value_bytes_mean", "trial"];

/// Columns of a slice's operations, in the units of their names.
const SERIES: [&str; 16] = [
    "start_s",
    "length_s",
    "operations",
    "errors",
    "ops_per_s",
    "service_mean_us",
    "service_p50_us",
    "service_p95_us",
    "service_p99_us",
    "service_p999_us",
    "service_max_us",
    "response_p50_us",
    "response_p95_us",
    "response_p99_us",
    "response_p999_us",
    "response_operations",
];

fn operations(
    slice: &Slice,
    counts: SliceCounts,
    [role, op]: [&str; 2],
    block: &[Interval],
) -> Vec<Option<f64>> {
    let seconds = |ns: u64| ns as f64 / 1e9;
    let done = counts.count > 0;
    let samples_of = |kind: Kind| {
        let interval = block.iter().find(|i| i.role == role && i.op == op && i.kind == kind)?;
        Some(interval.counts.as_slice())
    };
    let total = |counts: &[(u64, u64)]| counts.iter().map(|(_, n)| n).sum::<u64>();
    // Where a kill cut one of the two files short, the two are of different slices.
    let service = samples_of(Kind::Service).filter(|times| total(times) == counts.count);
    let response = samples_of(Kind::Response).filter(|_| service.is_some());
    let at = |times: Option<&[(u64, u64)]>, share| {
        let ns = quantile_of_counts(times?.iter().copied(), total(times?), share)?;
        Some(ns as f64 / 1e3)
    };
    vec![
        Some(seconds(slice.start_ns)),
        Some(seconds(slice.length_ns)),
        Some(counts.count as f64),
        Some(counts.errors as f64),
        (slice.length_ns > 0).then(|| counts.count as f64 / seconds(slice.length_ns)),
        done.then(|| counts.service_ns as f64 / 1e3 / counts.count as f64),
        at(service, 0.5),
        at(service, 0.95),
        at(service, 0.99),
        at(service, 0.999),
        done.then_some(counts.service_ns_max as f64 / 1e3),
        at(response, 0.5),
        at(response, 0.95),
        at(response, 0.99),
        at(response, 0.999),
        response.map(|times| total(times) as f64),
    ]
}

/// The histograms of a slice: they follow each other in the log as the slices do, and a slice in
/// which nothing ended has none.
fn block(
    slice: &Slice,
    times: &mut Peekable<impl Iterator<Item = Result<Interval, RecordError>>>,
) -> Result<Vec<Interval>, RecordError> {
    let mut block: Vec<Interval> = Vec::new();
    let any = slice.roles.values().flat_map(|ops| ops.values()).any(|counts| counts.count > 0);
    while any
        && times.peek().is_some_and(|next| {
            next.as_ref().map_or(true, |next| {
                next.phase == slice.phase
                    && block.first().is_none_or(|first| first.start == next.start)
            })
        })
    {
        block.extend(times.next().transpose()?);
    }
    Ok(block)
}

/// A line for each reading of the machine's counters, with their growth since the reading before.
pub fn machine(evidence: &Evidence, to: impl Write) -> anyhow::Result<()> {
    let mut writer = csv::Writer::from_writer(to);
    writer.write_record(ABOUT.iter().chain(&["phase", "device"]).chain(&MACHINE).copied())?;
    let cpus = f64::from(evidence.run.host_before.machine.cpus.max(1));
    for case in &evidence.cases {
        let (Some(dir), Some(record)) = (case.dir(), &case.record) else { continue };
        let about = case_cells(case);
        let mut before: Option<(&PhaseRecord, Snapshot)> = None;
        for reading in dir.machine()? {
            let MachineReading { phase, reading, rss_bytes, database } = reading?;
            let Some(phase_record) = record.phases.iter().find(|other| other.name == phase) else {
                continue;
            };
            let earlier = match before.take() {
                Some((other, earlier)) if other.name == phase_record.name => earlier,
                _ => phase_record.before.clone(),
            };
            if seconds_between(&earlier, &reading) < RATE_S_MIN {
                before = Some((phase_record, earlier));
                continue;
            }
            let device = reading.device.as_ref().map_or("", |device| device.device.as_str());
            let since = reading.at_unix_ns.saturating_sub(phase_record.started_unix_ns);
            let rates = MachineRates::between(&earlier, &reading);
            let line = [
                Some(since as f64 / 1e9),
                rates.cpu_percent,
                rates.stolen_cpus.map(|stolen| 100.0 * stolen / cpus),
                rates.reads_per_s,
                rates.read_bytes_per_s,
                rates.writes_per_s,
                rates.write_bytes_per_s,
                rates.flushes_per_s,
                rates.read_us,
                rates.write_us,
                rates.flush_us,
                rates.busy_percent,
                rates.queue_depth,
                rss_bytes.map(|bytes| bytes as f64 / MEBI),
                database.map(|size| size.used_bytes as f64 / MEBI),
            ];
            write(&mut writer, &about, &[&phase, device], &line)?;
            before = Some((phase_record, reading));
        }
    }
    writer.flush()?;
    Ok(())
}

/// Columns of the machine, in the units of their names; all but the last two are rates and means
/// since the reading before.
const MACHINE: [&str; 15] = [
    "at_s",
    "cpu_percent",
    "steal_percent",
    "reads_per_s",
    "read_bytes_per_s",
    "writes_per_s",
    "write_bytes_per_s",
    "flushes_per_s",
    "read_mean_us",
    "write_mean_us",
    "flush_mean_us",
    "device_busy_percent",
    "device_queue",
    "rss_mib",
    "database_mib",
];

fn write<W: Write>(
    writer: &mut csv::Writer<W>,
    about: &[String],
    names: &[&str],
    line: &[Option<f64>],
) -> csv::Result<()> {
    let names = names.iter().map(|name| escape_formula(name).into_owned());
    let line = line.iter().map(|value| value.map(|value| value.to_string()).unwrap_or_default());
    writer.write_record(about.iter().cloned().chain(names).chain(line))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_analysis::fixture::Fixture;
    use std::collections::BTreeMap;

    /// Rows by heading.
    fn rows(csv: &[u8]) -> Vec<BTreeMap<String, String>> {
        let mut reader = csv::Reader::from_reader(csv);
        reader.deserialize().collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn every_slice_and_reading_of_the_fixture_has_its_line() {
        let dir = kvdyno_analysis::fixture::make_dir();
        let evidence = Evidence::read(&Fixture::new().write(&dir.path().join("run"))).unwrap();
        let mut text = Vec::new();
        series(&evidence, &mut text).unwrap();
        let lines = rows(&text);
        let mut expected = 0;
        for case in &evidence.cases {
            for slice in case.series().unwrap() {
                expected += slice.unwrap().roles.values().map(BTreeMap::len).sum::<usize>();
            }
        }
        assert!(expected > 0);
        assert_eq!(lines.len(), expected);
        let number = |line: &BTreeMap<String, String>, name: &str| line[name].parse::<f64>().ok();
        for line in &lines {
            let rate = number(line, "operations").unwrap() / number(line, "length_s").unwrap();
            assert!((rate - number(line, "ops_per_s").unwrap()).abs() < rate * 1e-9 + 1e-9);
            let at = |percent| number(line, &format!("service_p{percent}_us"));
            if let (Some(p50), Some(p95), Some(p99)) = (at(50), at(95), at(99)) {
                assert!(p50 <= p95 && p95 <= p99, "{line:?}");
            }
        }
        let mut text = Vec::new();
        machine(&evidence, &mut text).unwrap();
        for line in rows(&text) {
            assert!(number(&line, "at_s").is_some(), "{line:?}");
        }
    }

    #[test]
    fn histograms_of_another_slice_are_not_taken() {
        let counts = SliceCounts { count: 5, ..SliceCounts::default() };
        let slice = Slice {
            phase: "measure".to_owned(),
            slice: 0,
            start_ns: 0,
            length_ns: 1_000_000_000,
            roles: BTreeMap::new(),
        };
        let interval = |n| Interval {
            phase: "measure".to_owned(),
            role: "r".to_owned(),
            op: "get".to_owned(),
            kind: Kind::Service,
            start: std::time::Duration::ZERO,
            length: std::time::Duration::from_secs(1),
            counts: vec![(1000, n)],
        };
        let p50 = SERIES.iter().position(|name| *name == "service_p50_us").unwrap();
        let slice = |n| {
            operations(&slice, SliceCounts { count: 25, ..counts }, ["r", "get"], &[interval(n)])
                [p50]
        };
        assert_eq!((slice(25), slice(24)), (Some(1.0), None));
    }
}
