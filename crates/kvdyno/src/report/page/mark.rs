//! What engines did behind the operations' back, as marks on a time line.

use kvdyno_record::engine::{Counters, Edge, EngineEvent, EventKind};
use schemars::JsonSchema;
use serde::Serialize;

/// Marks on one time line at most; the longest are kept.
const MARKS_MAX: usize = 120;
/// Characters of an engine's words.
const DETAIL_MAX: usize = 160;

/// A flush, a compaction, a checkpoint or a stall.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Mark {
    /// What it was.
    pub kind: EventKind,
    /// When it began, since the phase did.
    pub start_s: f64,
    /// When it ended; null: it has no length, or its end is not known.
    pub end_s: Option<f64>,
    /// The engine's own words.
    pub detail: String,
}

/// An event with its end, by the system's clock.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Span {
    kind: EventKind,
    start_ns: u64,
    end_ns: Option<u64>,
    detail: String,
}

/// Pairs the beginnings of a case's events with their ends: by the engine's job where it names
/// one, else the earliest of the same kind.
pub(super) fn spans(events: &[EngineEvent]) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let mut open: Vec<(usize, &EngineEvent)> = Vec::new();
    for event in events {
        let (at, detail) = (event.at_unix_ns, words(&event.detail));
        if event.edge == Edge::End {
            let begun = open.iter().position(|(_, begin)| {
                let job = |event: &EngineEvent| event.detail.get("job").cloned();
                begin.kind == event.kind && job(begin) == job(event)
            });
            if let Some(begun) = begun {
                let (span, _) = open.remove(begun);
                spans[span].end_ns = Some(at);
                spans[span].detail = detail;
                continue;
            }
        } else if event.edge == Edge::Begin {
            open.push((spans.len(), event));
        }
        spans.push(Span { kind: event.kind, start_ns: at, end_ns: None, detail });
    }
    spans
}

fn words(detail: &Counters) -> String {
    let pairs: Vec<String> = detail.iter().map(|(name, value)| format!("{name} {value}")).collect();
    pairs.join(", ").chars().take(DETAIL_MAX).collect()
}

/// The marks of a phase, in time; of too many the longest, stalls before all others.
pub(super) fn within(spans: &[Span], from_ns: u64, until_ns: u64) -> Vec<Mark> {
    let inside =
        |span: &&Span| span.start_ns < until_ns && span.end_ns.unwrap_or(span.start_ns) >= from_ns;
    let mut found: Vec<&Span> = spans.iter().filter(inside).collect();
    let weight = |span: &&Span| {
        let length = span.end_ns.map_or(0, |end| end.saturating_sub(span.start_ns));
        std::cmp::Reverse((span.kind == EventKind::Stall, length))
    };
    found.sort_by_key(weight);
    found.truncate(MARKS_MAX);
    found.sort_by_key(|span| span.start_ns);
    let seconds = |ns: u64| {
        let ns = ns.clamp(from_ns, until_ns) - from_ns;
        (ns as f64 / 1e6).round() / 1e3
    };
    let mark = |span: &Span| Mark {
        kind: span.kind,
        start_s: seconds(span.start_ns),
        end_s: span.end_ns.map(seconds),
        detail: span.detail.clone(),
    };
    found.into_iter().map(mark).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_record::engine::Value;

    fn event(at_s: u64, kind: EventKind, edge: Edge, job: u64) -> EngineEvent {
        let detail = [("job".to_owned(), Value::Integer(job))].into();
        EngineEvent { at_unix_ns: at_s * 1_000_000_000, kind, edge, detail }
    }

    #[test]
    fn beginnings_find_their_ends_and_phases_cut_them() {
        use EventKind::{Compaction, Flush, Stall};
        let events = [
            event(1, Compaction, Edge::Begin, 1),
            event(2, Compaction, Edge::Begin, 2),
            event(3, Flush, Edge::Point, 3),
            event(4, Compaction, Edge::End, 1),
            event(6, Stall, Edge::End, 9),
            event(30, Compaction, Edge::End, 2),
        ];
        let marks = within(&spans(&events), 2_000_000_000, 10_000_000_000);
        let seen: Vec<_> = marks.iter().map(|m| (m.kind, m.start_s, m.end_s)).collect();
        assert_eq!(
            seen,
            [
                (Compaction, 0.0, Some(2.0)),
                (Compaction, 0.0, Some(8.0)),
                (Flush, 1.0, None),
                (Stall, 4.0, None),
            ]
        );
        assert_eq!(marks[0].detail, "job 1");
    }

    #[test]
    fn of_too_many_the_stalls_and_the_longest_are_kept() {
        let mut events: Vec<EngineEvent> =
            (0..500).map(|at| event(at, EventKind::Flush, Edge::Point, at)).collect();
        events.push(event(400, EventKind::Stall, Edge::Point, 1000));
        let marks = within(&spans(&events), 0, u64::MAX);
        assert_eq!(marks.len(), MARKS_MAX);
        assert!(marks.iter().any(|mark| mark.kind == EventKind::Stall));
    }
}
