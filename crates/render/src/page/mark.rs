//! Background work and stalls of engines, as marks on a time line.

use kvdyno_analysis::figures::lists::unique;
use kvdyno_analysis::figures::stalls;
use kvdyno_record::engine::{Counters, Edge, EngineEvent, EventKind};
use schemars::JsonSchema;
use serde::Serialize;

/// Marks on one time line at most; the longest are kept.
const MARKS_MAX: usize = 120;
/// The name by which engines report the number of a job.
const JOB: &str = "job_id";
/// Characters of an engine's words at most.
const DETAIL_MAX: usize = 160;

/// A flush, a compaction, a checkpoint or a stall.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Mark {
    /// The kind of the event.
    pub kind: EventKind,
    /// When it began, since the start of the phase.
    pub start_s: f64,
    /// When it ended, since the start of the phase; null: it has no length, or its end is not
    /// known.
    pub end_s: Option<f64>,
    /// The engine's own words.
    pub detail: String,
}

/// All events of one kind in a phase, also those that are not among its marks.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MarkTotal {
    /// The kind of the events.
    pub kind: EventKind,
    /// Number of events.
    pub count: u64,
    /// Their total time inside the phase; null: not known for any of them.
    pub sum_s: Option<f64>,
    /// The longest of them.
    pub longest_s: Option<f64>,
}

/// An event with its end, by the system's clock.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Span {
    kind: EventKind,
    start_ns: u64,
    end_ns: Option<u64>,
    detail: String,
}

/// Pairs the beginnings of a case's jobs with their ends: by the engine's name of the job where it
/// has one, else the earliest of the same kind. Stalls are no jobs.
pub(super) fn job_spans(events: &[EngineEvent]) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let mut open: Vec<(usize, &EngineEvent)> = Vec::new();
    for event in events.iter().filter(|event| event.kind != EventKind::Stall) {
        let (at, detail) = (event.at_unix_ns, format_detail(&event.detail));
        if event.edge == Edge::End {
            let begun = open.iter().position(|(_, begin)| {
                let job = |event: &EngineEvent| event.detail.get(JOB).cloned();
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

fn format_detail(detail: &Counters) -> String {
    let pairs: Vec<String> = detail.iter().map(|(name, value)| format!("{name} {value}")).collect();
    pairs.join(", ").chars().take(DETAIL_MAX).collect()
}

/// Returns the marks of a phase, in the order of time, and the totals by kind. Of too many marks
/// the longest are kept, stalls before all others.
pub(super) fn phase_marks(
    events: &[EngineEvent],
    spans: &[Span],
    (from_ns, until_ns): (u64, u64),
) -> (Vec<Mark>, Vec<MarkTotal>) {
    let inside =
        |span: &&Span| span.start_ns < until_ns && span.end_ns.unwrap_or(span.start_ns) >= from_ns;
    let clip = |ns: u64| ns.clamp(from_ns, until_ns);
    let clipped = |span: &Span| Span {
        start_ns: clip(span.start_ns),
        end_ns: span.end_ns.map(clip),
        ..span.clone()
    };
    let stall = |stall: stalls::Stall<'_>| Span {
        kind: EventKind::Stall,
        start_ns: stall.start_ns,
        end_ns: stall.end_ns,
        detail: format_detail(stall.detail),
    };
    let mut spans_inside: Vec<Span> = spans.iter().filter(inside).map(clipped).collect();
    spans_inside.extend(stalls::window_stalls(events, (from_ns, until_ns)).into_iter().map(stall));
    let totals = totals(&spans_inside);
    let weight = |span: &Span| std::cmp::Reverse((span.kind == EventKind::Stall, span.length_ns()));
    spans_inside.sort_by_key(weight);
    spans_inside.truncate(MARKS_MAX);
    spans_inside.sort_by_key(|span| (span.start_ns, span.end_ns));
    let mark = |span: Span| Mark {
        kind: span.kind,
        start_s: seconds(span.start_ns - from_ns),
        end_s: span.end_ns.map(|end| seconds(end - from_ns)),
        detail: span.detail,
    };
    (spans_inside.into_iter().map(mark).collect(), totals)
}

impl Span {
    fn length_ns(&self) -> Option<u64> {
        Some(self.end_ns?.saturating_sub(self.start_ns))
    }
}

fn totals(spans: &[Span]) -> Vec<MarkTotal> {
    let total = |kind: EventKind| {
        let all = || spans.iter().filter(move |span| span.kind == kind);
        let lengths = || all().filter_map(Span::length_ns);
        let longest = lengths().max();
        MarkTotal {
            kind,
            count: all().count() as u64,
            sum_s: longest.map(|_| seconds(lengths().sum())),
            longest_s: longest.map(seconds),
        }
    };
    unique(spans.iter().map(|span| span.kind)).into_iter().map(total).collect()
}

/// Seconds, rounded to the millisecond.
fn seconds(ns: u64) -> f64 {
    (ns as f64 / 1e6).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_analysis::fixture::stall_event as change;
    use kvdyno_record::engine::Value;

    fn event(at_s: u64, kind: EventKind, edge: Edge, job: u64) -> EngineEvent {
        let detail = [(JOB.to_owned(), Value::Integer(job))].into();
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
        let phase = (2_000_000_000, 10_000_000_000);
        let (marks, totals) = phase_marks(&events, &job_spans(&events), phase);
        let spans: Vec<_> = marks.iter().map(|m| (m.kind, m.start_s, m.end_s)).collect();
        assert_eq!(
            spans,
            [
                (Compaction, 0.0, Some(2.0)),
                (Compaction, 0.0, Some(8.0)),
                (Flush, 1.0, None),
                (Stall, 4.0, None),
            ]
        );
        assert_eq!(marks[0].detail, "job_id 1");
        let (count, sum_s, longest_s) = (2, Some(10.0), Some(8.0));
        assert_eq!(totals[0], MarkTotal { kind: Compaction, count, sum_s, longest_s });
    }

    #[test]
    fn stalls_are_cut_where_their_state_changes_and_where_the_phase_ends() {
        let second = 1_000_000_000;
        let events = [(90, "delayed"), (120, "stopped"), (150, "normal"), (190, "delayed")];
        let events = events.map(|(at, condition)| change(at * second, condition));
        let (marks, totals) =
            phase_marks(&events, &job_spans(&events), (100 * second, 200 * second));
        let spans: Vec<_> = marks.iter().map(|mark| (mark.start_s, mark.end_s)).collect();
        assert_eq!(spans, [(0.0, Some(20.0)), (20.0, Some(50.0)), (90.0, Some(100.0))]);
        assert_eq!(marks[1].detail, "cur stopped");
        assert_eq!((totals[0].count, totals[0].sum_s), (3, Some(60.0)));
    }

    #[test]
    fn of_too_many_the_stalls_and_the_longest_are_kept() {
        let mut events: Vec<EngineEvent> =
            (0..500).map(|at| event(at, EventKind::Flush, Edge::Point, at)).collect();
        events.push(event(400, EventKind::Stall, Edge::Point, 1000));
        let (marks, totals) = phase_marks(&events, &job_spans(&events), (0, u64::MAX));
        assert_eq!(marks.len(), MARKS_MAX);
        let counts: Vec<u64> = totals.iter().map(|total| total.count).collect();
        assert_eq!(counts, [500, 1]);
        assert!(marks.iter().any(|mark| mark.kind == EventKind::Stall));
    }
}
