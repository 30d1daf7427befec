//! The bytes that an engine reports as written, by reason: its write-ahead log, flushes of memory
//! tables, compactions. They are its own figures, kept apart from what the device counted. An
//! engine that reports nothing has none.

use kvdyno_analysis::figures::evidence::CaseEvidence;
use kvdyno_record::case::CounterPair;
use kvdyno_record::engine::{Counters, Edge, EngineEvent, EventKind, Value};
use kvdyno_record::files::{CaseDir, RecordError};
use kvdyno_record::units;
use schemars::JsonSchema;
use serde::Serialize;

/// The reason why an engine wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WriteReason {
    /// The write-ahead log.
    Wal,
    /// Memory tables written out.
    Flush,
    /// Files merged.
    Compaction,
}

/// The bytes that an engine reports as written in a phase of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Written {
    /// Index of the group in the summary.
    pub group: usize,
    /// Number of the trial.
    pub trial: u32,
    /// The phase.
    pub phase: String,
    /// Bytes for each reason that the engine reports; others are unknown.
    pub bytes: Vec<(WriteReason, u64)>,
    /// Bytes of keys and values that were given to it.
    pub user_bytes: u64,
    /// Where the figures are from, in the engine's words.
    pub sources: Vec<String>,
}

/// Where an engine reports a reason: a counter of the statistics, else a line of the text of
/// `rocksdb.stats`.
struct ReasonSource {
    reason: WriteReason,
    counter: &'static str,
    /// The beginning of the line, and the text that its figure follows.
    line: (&'static str, &'static str),
}

const REASON_SOURCES: [ReasonSource; 3] = [
    ReasonSource {
        reason: WriteReason::Wal,
        counter: "rocksdb.wal.bytes",
        line: ("Cumulative WAL:", "written:"),
    },
    ReasonSource {
        reason: WriteReason::Flush,
        counter: "rocksdb.flush.write.bytes",
        line: ("Flush(GB):", "cumulative"),
    },
    ReasonSource {
        reason: WriteReason::Compaction,
        counter: "rocksdb.compact.write.bytes",
        // The table's sum has flushes in it as well; events are read before it.
        line: ("", ""),
    },
];

/// The property that has the text of the statistics.
const STATS: &str = "rocksdb.stats";
/// The name in events of the bytes that a job wrote.
const OUTPUT: &str = "total_output_bytes";
const GIB: f64 = 1_073_741_824.0;

/// Reads the loads, settle phases and measured phases for which an engine reports anything.
pub(super) fn read(
    group: usize,
    case: &CaseEvidence,
    dir: &CaseDir,
) -> Result<Vec<Written>, RecordError> {
    let Some(record) = &case.record else { return Ok(Vec::new()) };
    let counters = dir.counters()?;
    if counters.phases.is_empty() {
        return Ok(Vec::new());
    }
    // Only events that report bytes are kept.
    let mut events = Vec::new();
    for event in dir.events()? {
        let event = event?;
        if event.detail.contains_key(OUTPUT) {
            events.push(event);
        }
    }
    let timed = |kind: &str| ["load", "settle", "measure"].contains(&kind);
    let phases = record.phases.iter().filter(|phase| timed(&phase.kind));
    Ok(phases
        .filter_map(|phase| {
            let pair = counters.phases.get(&phase.name)?;
            let from = phase.started_unix_ns;
            let window = (from, from.saturating_add(phase.wall_ns));
            let ops = phase.roles.iter().flat_map(|role| role.ops.values());
            let (bytes, sources) = bytes_by_reason(pair, &events, window);
            (!bytes.is_empty()).then(|| Written {
                group,
                trial: case.case.trial,
                phase: phase.name.clone(),
                bytes,
                user_bytes: ops.map(|op| op.write_bytes).sum(),
                sources,
            })
        })
        .collect())
}

fn bytes_by_reason(
    pair: &CounterPair,
    events: &[EngineEvent],
    window: (u64, u64),
) -> (Vec<(WriteReason, u64)>, Vec<String>) {
    let (mut bytes, mut sources) = (Vec::new(), Vec::new());
    for reason_source in &REASON_SOURCES {
        let counter = || {
            Some((counter_growth(pair, reason_source.counter)?, reason_source.counter.to_owned()))
        };
        let event = || {
            let kind = match reason_source.reason {
                WriteReason::Compaction => EventKind::Compaction,
                WriteReason::Flush | WriteReason::Wal => return None,
            };
            Some((outputs(events, kind, window)?, "events of compactions".to_owned()))
        };
        let line = || {
            let [before, after] =
                [&pair.before, &pair.after].map(|all| gib(all, reason_source.line));
            let (after, step) = after?;
            let grown = after - before.map_or(0.0, |(before, _)| before);
            // A growth of fewer than two steps of the last digit is as likely none.
            let name = reason_source.line.0.trim_end_matches(':');
            let resolution = units::bytes((step * GIB) as u64);
            let source = format!("{STATS}, {name}, in steps of {resolution}");
            (grown >= 1.5 * step).then_some(((grown * GIB) as u64, source))
        };
        if let Some((written, source)) = counter().or_else(event).or_else(line) {
            bytes.push((reason_source.reason, written));
            sources.push(source);
        }
    }
    (bytes, sources)
}

/// A counter's growth over the phase.
fn counter_growth(pair: &CounterPair, name: &str) -> Option<u64> {
    let count = |counters: &Counters| match counters.get(name) {
        Some(Value::Integer(count)) => Some(*count),
        _ => None,
    };
    count(&pair.after)?.checked_sub(count(&pair.before).unwrap_or(0))
}

/// Returns the bytes that jobs which ended in the phase wrote; none where there are no such events.
fn outputs(events: &[EngineEvent], kind: EventKind, window: (u64, u64)) -> Option<u64> {
    let ended = |event: &&EngineEvent| {
        event.kind == kind
            && event.edge == Edge::End
            && (window.0..=window.1).contains(&event.at_unix_ns)
    };
    let written = |event: &EngineEvent| match event.detail.get(OUTPUT) {
        Some(Value::Integer(bytes)) => Some(*bytes),
        _ => None,
    };
    let byte_counts: Vec<u64> = events.iter().filter(ended).filter_map(written).collect();
    let any = events.iter().any(|event| event.detail.contains_key(OUTPUT));
    any.then(|| byte_counts.iter().sum())
}

/// A figure in the text of the statistics, `Flush(GB): cumulative 1.250, interval 0.000`, and what
/// its last digit stands for.
fn gib(counters: &Counters, (begins, after): (&str, &str)) -> Option<(f64, f64)> {
    let Some(Value::Text(text)) = counters.get(STATS) else { return None };
    let line = text.lines().find(|line| !begins.is_empty() && line.starts_with(begins))?;
    let rest = line.split_once(after)?.1.trim_start();
    let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
    let number = rest.get(..end.unwrap_or(rest.len()))?;
    let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    Some((number.parse().ok()?, 0.1_f64.powi(decimals as i32)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(pairs: &[(&str, Value)]) -> Counters {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
    }

    fn stats(flushed: &str, wal: &str) -> Value {
        Value::Text(format!(
            "Flush(GB): cumulative {flushed}, interval 0.000\n\
             Cumulative WAL: 13K writes, 0 syncs, 13000.00 writes per sync, \
             written: {wal} GB, 2.50 MB/s\n"
        ))
    }

    #[test]
    fn statistics_are_read_before_the_text_and_what_nobody_tells_is_not_there() {
        let before = counters(&[(STATS, stats("1.000", "2.00"))]);
        let after =
            counters(&[(STATS, stats("1.500", "2.25")), ("rocksdb.wal.bytes", Value::Integer(77))]);
        let (bytes, sources) = bytes_by_reason(&CounterPair { before, after }, &[], (0, 10));
        assert_eq!(bytes, [(WriteReason::Wal, 77), (WriteReason::Flush, 536_870_912)]);
        let flushes = "rocksdb.stats, Flush(GB), in steps of 1.02 MiB";
        assert_eq!(sources, ["rocksdb.wal.bytes", flushes]);
        let before = counters(&[(STATS, stats("1.000", "2.00"))]);
        let after = counters(&[(STATS, stats("1.001", "2.01"))]);
        let (nothing, _) = bytes_by_reason(&CounterPair { before, after }, &[], (0, 10));
        assert_eq!(nothing, [], "one step of a rounded figure is no figure");
        let (nothing, _) = bytes_by_reason(&CounterPair::default(), &[], (0, 10));
        assert_eq!(nothing, []);
    }

    #[test]
    fn compactions_that_end_in_the_phase_are_its_own() {
        let event = |at_unix_ns, bytes: u64| EngineEvent {
            at_unix_ns,
            kind: EventKind::Compaction,
            edge: Edge::End,
            detail: counters(&[("total_output_bytes", bytes.into())]),
        };
        let events = [event(1, 10), event(5, 20), event(9, 40), event(30, 80)];
        let pair = CounterPair::default();
        let (bytes, sources) = bytes_by_reason(&pair, &events, (5, 10));
        assert_eq!(bytes, [(WriteReason::Compaction, 60)]);
        assert_eq!(sources, ["events of compactions"]);
        // No such event in the phase is a zero that is known.
        assert_eq!(bytes_by_reason(&pair, &events, (10, 20)).0, [(WriteReason::Compaction, 0)]);
    }
}
