//! The progress of a run, by what it has written so far.

use super::thin::round_digits;
use super::time_line::{
    LineCounts, MachineLine, Operations, Readings, RoleLine, machine_line, readings,
};
use kvdyno_analysis::figures::evidence::{CaseEvidence, Evidence};
use kvdyno_analysis::stats::quantile_of_counts;
use kvdyno_record::files::{CaseDir, RecordError, RunDir};
use kvdyno_record::hlog::{Intervals, Kind};
use kvdyno_record::plan::Case;
use kvdyno_record::samples::Samples;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// Points of a curve that is drawn while it grows.
const POINTS: usize = 120;

/// Latencies are those of the last slices, which are this long together.
const LATENCY_WINDOW: Duration = Duration::from_secs(10);
/// Bytes of a log that are read for latencies, however long the run is.
const LATENCY_TAIL_BYTES: u64 = 256 << 10;

/// The state of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Everything that was planned was done.
    Complete,
    /// A program is at work on it.
    Running,
    /// It was interrupted, or killed; it can be resumed.
    Partial,
    /// Its record is damaged, or newer than this program.
    #[default]
    Unreadable,
}

impl State {
    /// Returns the state by whether the record is complete, and whether a program is at work on it.
    pub fn new(complete: bool, at_work: bool) -> Self {
        match (complete, at_work) {
            (true, _) => Self::Complete,
            (false, true) => Self::Running,
            (false, false) => Self::Partial,
        }
    }
}

/// The progress of a run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Live {
    /// The state of the run.
    pub state: State,
    /// Cases in the plan.
    pub cases_planned: usize,
    /// Cases that left a record.
    pub cases_recorded: usize,
    /// Cases that ran to their end, every check passed.
    pub cases_done: usize,
    /// When it began.
    pub started_unix_ns: u64,
    /// Expected time of the remaining cases, where the one at work counts as a whole; null: no
    /// program is at work on the run.
    pub left_s: Option<f64>,
    /// The case at work; null: none is.
    pub in_flight: Option<InFlight>,
}

/// The case at work.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct InFlight {
    /// The case's id.
    pub case: String,
    /// The engine's name in tables.
    pub engine: String,
    /// Number of the trial; 0: a pilot.
    pub trial: u32,
    /// The swept number of threads.
    pub threads: Option<u32>,
    /// Its phases, in order.
    pub phases: Vec<String>,
    /// The phase it is in; null: it is opening the engine.
    pub phase: Option<String>,
    /// Time since the phase began, at the last reading.
    pub phase_s: f64,
    /// When each slice of it ended.
    pub end_s: Vec<f64>,
    /// Each role's operations, a value for each slice.
    pub roles: Vec<RoleLine>,
    /// Latencies of the last ten seconds.
    pub latencies: Vec<LatencyNow>,
    /// The machine's readings.
    pub machine: MachineLine,
}

/// Latencies of an operation in the last ten seconds, in nanoseconds; null: too few operations.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LatencyNow {
    /// The role.
    pub role: String,
    /// The operation.
    pub op: String,
    /// `service` or, for a role with a rate, `response`.
    pub kind: String,
    /// The median.
    pub p50_ns: Option<u64>,
    /// The 99th percentile.
    pub p99_ns: Option<u64>,
    /// The 99.9th percentile.
    pub p999_ns: Option<u64>,
}

impl Live {
    /// Reads the progress of a run. `left_ns` is what the cases that are left are expected to take.
    pub fn read(
        dir: &RunDir,
        evidence: &Evidence,
        state: State,
        left_ns: u64,
    ) -> Result<Self, RecordError> {
        let running = state == State::Running;
        let in_flight = if running { find_running_case(dir, evidence)? } else { None };
        Ok(Self {
            state,
            cases_planned: evidence.cases.len(),
            cases_recorded: evidence.recorded_cases().count(),
            cases_done: evidence.cases.iter().filter(|case| case.is_done()).count(),
            started_unix_ns: evidence.run.started_unix_ns,
            left_s: running.then(|| (left_ns as f64 / 1e9).round()),
            in_flight,
        })
    }
}

/// Finds the case at work, whose directory has no record yet. Cases in which the program was killed
/// have none either, and a resumed run may be at an earlier one again: the case at work is the one
/// that was written to last.
fn find_running_case(dir: &RunDir, evidence: &Evidence) -> Result<Option<InFlight>, RecordError> {
    let open = |case: &&CaseEvidence| case.record.is_none() && case.damaged.is_none();
    let mut begun = dir.cases()?;
    begun.retain(|begun| !begun.path.join("case.json").is_file());
    begun.sort_by_key(|begun| begun.path.metadata().and_then(|dir| dir.modified()).ok());
    let mut running: Option<(&Case, CaseDir)> = None;
    for begun in begun {
        let name = begun.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let matches_name = |case: &&CaseEvidence| {
            let rest = name.strip_prefix(&case.case.id);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("_a"))
        };
        // A case that is done again has a record of its earlier attempt.
        let case = evidence.cases.iter().filter(open).find(matches_name);
        let case = case.or_else(|| evidence.cases.iter().find(matches_name));
        running = case.map(|case| (&case.case, begun)).or(running);
    }
    running.map(|(case, dir)| read(case, &dir)).transpose()
}

fn read(case: &Case, dir: &CaseDir) -> Result<InFlight, RecordError> {
    // The machine is read from a phase's beginning on; its first slice is written a second later.
    let of_machine = LineCounts::read(&dir.path.join("machine.ndjson"))?;
    let of_series = LineCounts::read(&dir.path.join("series.ndjson"))?;
    let phase = of_machine.last.clone().or_else(|| of_series.last.clone());
    let at_work = |name: &str| phase.as_deref() == Some(name);
    let operations = Operations::read(dir, &of_series, POINTS, at_work)?.into_values().next();
    let machine = readings(dir, &of_machine, POINTS, at_work)?.into_values().next();
    let Readings { first, kept, .. } = machine.unwrap_or_default();
    let (end_s, roles) = operations.unwrap_or_default().lines();
    let (mut phase_s, mut line) = (end_s.last().copied().unwrap_or(0.0), MachineLine::default());
    if let (Some(first), Some(last)) = (&first, kept.last()) {
        let began = first.at_unix_ns;
        let since = last.reading.at_unix_ns.saturating_sub(began) as f64 / 1e9;
        phase_s = round_digits(since.max(phase_s), 4);
        line = machine_line(began, first, &kept, None);
    }
    let latencies = phase.as_deref().map(|phase| read_latencies(dir, phase)).transpose()?;
    Ok(InFlight {
        case: case.id.clone(),
        engine: case.label.clone(),
        trial: case.trial,
        threads: case.threads_swept,
        phases: case.phases.iter().map(|phase| phase.name.clone()).collect(),
        phase,
        phase_s,
        end_s,
        roles,
        latencies: latencies.unwrap_or_default(),
        machine: line,
    })
}

/// Latencies of the last slices of a phase.
fn read_latencies(dir: &CaseDir, phase: &str) -> Result<Vec<LatencyNow>, RecordError> {
    let log = dir.path.join("latency.hlog");
    let mut intervals = Vec::new();
    for interval in Intervals::open_tail(&log, LATENCY_TAIL_BYTES)? {
        let interval = interval?;
        let shown = matches!(interval.kind, Kind::Service | Kind::Response);
        if shown && interval.phase == phase {
            intervals.push(interval);
        }
    }
    let end = intervals.iter().map(|interval| interval.start + interval.length).max();
    let begin = end.unwrap_or_default().saturating_sub(LATENCY_WINDOW);
    let mut times: BTreeMap<(String, String, Kind), Samples> = BTreeMap::new();
    for interval in intervals.into_iter().filter(|interval| interval.start >= begin) {
        let key = (interval.role, interval.op, interval.kind);
        times.entry(key).or_default().add_all(interval.counts);
    }
    let latency = |((role, op, kind), samples): ((String, String, Kind), Samples)| {
        let quantile = |q| quantile_of_counts(samples.iter(), samples.len(), q);
        LatencyNow {
            role,
            op,
            kind: kind.as_str().to_owned(),
            p50_ns: quantile(0.5),
            p99_ns: quantile(0.99),
            p999_ns: quantile(0.999),
        }
    };
    Ok(times.into_iter().map(latency).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_analysis::fixture::{Fixture, SECOND};
    use kvdyno_record::hlog::{Writer, histogram, tag};
    use std::fs;
    use std::time::SystemTime;

    #[test]
    fn the_case_in_flight_is_the_one_that_was_written_to_last() {
        let mut fixture = Fixture::new();
        fixture.cases.truncate(4);
        let scratch = kvdyno_analysis::fixture::make_dir();
        let run = fixture.write_partial(&scratch.path().join("run"));
        let evidence = Evidence::read(&run).unwrap();
        let now = |state| Live::read(&run, &evidence, state, 90 * SECOND).unwrap();
        assert_eq!(now(State::Running).in_flight, None);
        assert_eq!(
            (now(State::Running).cases_recorded, now(State::Running).cases_planned),
            (4, 18)
        );

        // A case that was killed, and an earlier one that is being done again.
        let killed = run.path.join("cases").join(&fixture.plan.cases[6].id);
        let again = run.path.join("cases").join(format!("{}_a2", fixture.plan.cases[4].id));
        let hour_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
        fs::create_dir(&killed).unwrap();
        fs::File::open(&killed).unwrap().set_modified(hour_ago).unwrap();
        fs::create_dir(&again).unwrap();
        let flight = now(State::Running).in_flight.unwrap();
        assert_eq!(flight.case, fixture.plan.cases[4].id);
        assert_eq!((flight.phase, flight.phase_s), (None, 0.0));

        // Half a line is what a slice looks like while it is being written.
        let slice = |at: u64| {
            format!(
                "{{\"phase\":\"measure\",\"slice\":{at},\"start_ns\":{},\"length_ns\":{SECOND},\
                 \"roles\":{{\"readers\":{{\"get\":{{\"count\":500,\"service_ns\":1,\
                 \"service_ns_max\":1,\"errors\":0}}}}}}}}\n",
                at * SECOND
            )
        };
        let text = slice(0) + &slice(1) + &slice(2)[..40];
        fs::write(again.join("series.ndjson"), text).unwrap();
        let flight = now(State::Running).in_flight.unwrap();
        assert_eq!(flight.phase.as_deref(), Some("measure"));
        assert_eq!((flight.end_s, flight.phase_s), (vec![1.0, 2.0], 2.0));
        assert_eq!(flight.roles[0].ops_per_s, [500.0, 500.0]);
        assert_eq!(now(State::Running).left_s, Some(90.0));
        assert_eq!(flight.latencies, []);

        // Twelve slices: the first two are older than ten seconds.
        let mut log = Writer::create(&again.join("latency.hlog"), SystemTime::UNIX_EPOCH).unwrap();
        for second in 0..12 {
            let mut times = histogram();
            times.record_n(if second < 2 { 9_000 } else { 1_000 }, 99).unwrap();
            times.record_n(2_000, 1).unwrap();
            let tag = tag("measure", "readers", "get", Kind::Service);
            let start = Duration::from_secs(second);
            log.write(start, Duration::from_secs(1), [(tag, &times)]).unwrap();
        }
        let latencies = now(State::Running).in_flight.unwrap().latencies;
        let [latency] = latencies.as_slice() else { panic!("{latencies:?}") };
        assert_eq!((latency.role.as_str(), latency.op.as_str()), ("readers", "get"));
        let percentiles = [latency.p50_ns, latency.p99_ns, latency.p999_ns];
        assert_eq!(percentiles, [Some(1_000), Some(1_000), None], "1,000 are too few for p99.9");
        let partial = now(State::Partial);
        assert_eq!((partial.in_flight, partial.left_s), (None, None));
    }
}
