//! When an engine held its writers up. A stall is a state that changes (normal, delayed, stopped),
//! not a job that is begun and ended: one state ends where the next one begins.

use kvdyno_record::engine::{Counters, Edge, EngineEvent, EventKind, Value};

/// Time in which writers were delayed or stopped.
#[derive(Clone, Debug, PartialEq)]
pub struct Stall<'e> {
    /// When it began, by the system's clock.
    pub start_ns: u64,
    /// When it ended; null: it has no length, or its beginning is not known.
    pub end_ns: Option<u64>,
    /// What the engine said of it.
    pub detail: &'e Counters,
}

impl Stall<'_> {
    /// Writers were stopped, not only delayed.
    pub fn stopped(&self) -> bool {
        self.detail.get("cur") == Some(&Value::Text("stopped".to_owned()))
    }
}

/// The stalls inside a window, clipped to it. One that began before counts from the window's
/// beginning, and one that has not ended, to its end.
pub fn within(events: &[EngineEvent], (begin, end): (u64, u64)) -> Vec<Stall<'_>> {
    let mut stalls = Vec::new();
    let mut open: Option<&EngineEvent> = None;
    for event in events.iter().filter(|event| event.kind == EventKind::Stall) {
        let at = event.at_unix_ns;
        if event.edge == Edge::Point || (event.edge == Edge::End && open.is_none()) {
            let inside = (begin..end).contains(&at);
            let stall = Stall { start_ns: at, end_ns: None, detail: &event.detail };
            stalls.extend(inside.then_some(stall));
            continue;
        }
        stalls.extend(open.take().and_then(|open| clipped(open, at, (begin, end))));
        open = (event.edge == Edge::Begin).then_some(event);
    }
    stalls.extend(open.and_then(|open| clipped(open, u64::MAX, (begin, end))));
    stalls
}

fn clipped(open: &EngineEvent, until: u64, (begin, end): (u64, u64)) -> Option<Stall<'_>> {
    let (start_ns, end_ns) = (open.at_unix_ns.max(begin), until.min(end));
    let stall = Stall { start_ns, end_ns: Some(end_ns), detail: &open.detail };
    (start_ns < end_ns).then_some(stall)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A change of the state, as engines tell it.
    pub(crate) fn change(at_unix_ns: u64, condition: &str) -> EngineEvent {
        let edge = if condition == "normal" { Edge::End } else { Edge::Begin };
        let detail = [("cur".to_owned(), Value::Text(condition.to_owned()))].into();
        EngineEvent { at_unix_ns, kind: EventKind::Stall, edge, detail }
    }

    fn seen(events: &[EngineEvent], window: (u64, u64)) -> Vec<(u64, Option<u64>, bool)> {
        let stalls = within(events, window);
        stalls.iter().map(|stall| (stall.start_ns, stall.end_ns, stall.stopped())).collect()
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
        assert_eq!(seen(&events, (0, 300)), all);
        assert_eq!(seen(&events, (100, 195))[0], (100, Some(120), false));
        assert_eq!(seen(&events, (100, 195))[2], (190, Some(195), false));
        assert_eq!(seen(&events, (150, 190)), []);
    }

    #[test]
    fn one_that_goes_on_lasts_to_the_windows_end() {
        let events = [change(10, "stopped")];
        assert_eq!(seen(&events, (20, 50)), [(20, Some(50), true)]);
        assert_eq!(seen(&[change(10, "normal")], (5, 50)), [(10, None, false)]);
        assert_eq!(seen(&[change(10, "normal")], (20, 50)), []);
    }
}
