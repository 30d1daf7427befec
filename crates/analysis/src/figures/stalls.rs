//! The write stalls of an engine. A stall is a state that changes (normal, delayed, stopped), not a
//! job with a begin and an end: one state ends where the next one begins.

use kvdyno_record::engine::{Counters, Edge, EngineEvent, EventKind, Value};

/// The end of the names of engines' counters of stalled time.
const MICROS: &str = "stall.micros";

/// The growth of the counter of stalled time, with its name; none: the engine has none.
pub fn counted_ns<'c>(before: &Counters, after: &'c Counters) -> Option<(&'c str, u64)> {
    let micros = |value: &Value| match value {
        Value::Integer(micros) => Some(*micros),
        _ => None,
    };
    let (name, after) = after.iter().find(|(name, _)| name.ends_with(MICROS))?;
    let before = before.get(name).and_then(micros).unwrap_or(0);
    Some((name, micros(after)?.checked_sub(before)?.saturating_mul(1000)))
}

/// Time in which writers were delayed or stopped.
#[derive(Clone, Debug, PartialEq)]
pub struct Stall<'e> {
    /// When it began, by the system's clock.
    pub start_ns: u64,
    /// When it ended; null: it has no length, or its beginning is unknown.
    pub end_ns: Option<u64>,
    /// The engine's report.
    pub detail: &'e Counters,
}

impl Stall<'_> {
    /// Whether writers were stopped, not only delayed.
    pub fn is_stop(&self) -> bool {
        self.detail.get("cur") == Some(&Value::Text("stopped".to_owned()))
    }
}

/// The stalls inside a window, clipped to it. A stall that began before counts from the window's
/// beginning, and one that has not ended, to its end.
pub fn window_stalls(events: &[EngineEvent], (begin, end): (u64, u64)) -> Vec<Stall<'_>> {
    let mut stalls = Vec::new();
    let mut open: Option<(&EngineEvent, u64)> = None;
    for (event, at_ns) in order_events(events) {
        if event.edge == Edge::Point || (event.edge == Edge::End && open.is_none()) {
            let inside = (begin..end).contains(&at_ns);
            let stall = Stall { start_ns: at_ns, end_ns: None, detail: &event.detail };
            stalls.extend(inside.then_some(stall));
            continue;
        }
        stalls.extend(open.take().and_then(|open| clip_stall(open, at_ns, (begin, end))));
        open = (event.edge == Edge::Begin).then_some((event, at_ns));
    }
    stalls.extend(open.and_then(|open| clip_stall(open, u64::MAX, (begin, end))));
    stalls
}

/// Changes that arrive out of order are held back until they fit, at most this many: one may be
/// lost.
const HELD_MAX: usize = 4;

/// The changes of state in the order in which they happened, with their times. `RocksDB` reports
/// them after it releases its lock, so that an end can arrive before its beginning. Each change
/// names the previous state, which gives the order. A change that arrived too early gets the time
/// of the one before it.
fn order_events(events: &[EngineEvent]) -> Vec<(&EngineEvent, u64)> {
    let text = |event: &EngineEvent, name: &str| match event.detail.get(name) {
        Some(Value::Text(condition)) => Some(condition.clone()),
        _ => None,
    };
    let (mut ordered, mut pending) = (Vec::new(), Vec::new());
    let (mut state, mut last) = ("normal".to_owned(), 0);
    let stalls = events.iter().filter(|event| event.kind == EventKind::Stall);
    for event in stalls {
        pending.push(event);
        while !pending.is_empty() {
            let fits = |event: &&EngineEvent| text(event, "prev").is_none_or(|prev| prev == state);
            let next = match pending.iter().position(fits) {
                Some(next) => next,
                None if pending.len() > HELD_MAX => 0,
                None => break,
            };
            let event = pending.remove(next);
            state = text(event, "cur").unwrap_or(state);
            last = event.at_unix_ns.max(last);
            ordered.push((event, last));
        }
    }
    ordered.extend(pending.into_iter().map(|event| (event, event.at_unix_ns.max(last))));
    ordered
}

fn clip_stall(
    (open, at_ns): (&EngineEvent, u64),
    until: u64,
    (begin, end): (u64, u64),
) -> Option<Stall<'_>> {
    let (start_ns, end_ns) = (at_ns.max(begin), until.min(end));
    let stall = Stall { start_ns, end_ns: Some(end_ns), detail: &open.detail };
    (start_ns < end_ns).then_some(stall)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::stall_event as change;

    fn clip(events: &[EngineEvent], window: (u64, u64)) -> Vec<(u64, Option<u64>, bool)> {
        let stalls = window_stalls(events, window);
        stalls.iter().map(|stall| (stall.start_ns, stall.end_ns, stall.is_stop())).collect()
    }

    #[test]
    fn one_state_ends_where_the_next_begins() {
        let events = [
            change(90, "delayed"),
            change(120, "stopped"),
            change(150, "normal"),
            change(190, "delayed"),
            change(200, "normal"),
        ];
        let all = [(90, Some(120), false), (120, Some(150), true), (190, Some(200), false)];
        assert_eq!(clip(&events, (0, 300)), all);
        assert_eq!(clip(&events, (100, 195))[0], (100, Some(120), false));
        assert_eq!(clip(&events, (100, 195))[2], (190, Some(195), false));
        assert_eq!(clip(&events, (150, 190)), []);
    }

    /// As `RocksDB` reported a stop that was over at once: its end first.
    #[test]
    fn an_end_that_arrives_before_its_beginning_ends_it() {
        let from = |at, prev: &str, cur| {
            let mut event = change(at, cur);
            event.detail.insert("prev".to_owned(), Value::Text(prev.to_owned()));
            event
        };
        let events = [
            from(163, "stopped", "normal"),
            from(165, "normal", "stopped"),
            from(190, "normal", "delayed"),
            from(210, "delayed", "normal"),
        ];
        assert_eq!(clip(&events, (0, 400)), [(190, Some(210), false)]);
        // One change was lost: the others are not held back forever.
        let lost: Vec<_> = (0..8).map(|n| from(10 * n, "delayed", "stopped")).collect();
        assert!(!clip(&lost, (0, 400)).is_empty());
    }

    #[test]
    fn a_stall_without_an_end_lasts_to_the_windows_end() {
        let events = [change(10, "stopped")];
        assert_eq!(clip(&events, (20, 50)), [(20, Some(50), true)]);
        assert_eq!(clip(&[change(10, "normal")], (5, 50)), [(10, None, false)]);
        assert_eq!(clip(&[change(10, "normal")], (20, 50)), []);
    }
}
