//! Flushes, compactions and write stalls from `RocksDB`'s LOG, for libraries without a listener.
//!
//! Jobs are logged as JSON with the event's time. Slowed or stopped writers are logged as a
//! sentence, which is repeated; their end is not logged.

#![expect(unsafe_code, reason = "buffered output is the C library's")]

use kvdyno_engine::{Counters, Edge, EngineEvent, EventKind, Value};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The text before the JSON of an event.
const EVENT: &str = "EVENT_LOG_v1 ";

/// The LOG of an open database, and how far it has been read.
pub(crate) struct Log {
    path: PathBuf,
    read_bytes: u64,
}

impl Log {
    /// Follows the LOG of a database that is about to be opened in `dir`: opening begins a new LOG.
    pub(crate) fn follow(dir: &Path) -> Self {
        Self { path: dir.join("LOG"), read_bytes: 0 }
    }

    /// Returns the events that were added since the last call.
    pub(crate) fn drain(&mut self) -> Vec<EngineEvent> {
        // RocksDB writes out its LOG only every five seconds; its stream belongs to this process.
        // SAFETY: null means every output stream; each is locked while it is written out.
        unsafe { libc::fflush(std::ptr::null_mut()) };
        let mut text = Vec::new();
        // A LOG that cannot be read has no events.
        let _ = File::open(&self.path).and_then(|mut file| {
            file.seek(SeekFrom::Start(self.read_bytes))?;
            file.read_to_end(&mut text)
        });
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |position| position + 1);
        self.read_bytes += whole as u64;
        let text = String::from_utf8_lossy(&text[..whole]);
        let mut events: Vec<_> = text.lines().filter_map(event).collect();
        events.sort_by_key(|event| event.at_unix_ns);
        events
    }
}

fn event(line: &str) -> Option<EngineEvent> {
    match line.split_once(EVENT) {
        Some((_, json)) => job(json),
        None => parse_stall(line),
    }
}

/// `{"time_micros": 1732249445123456, "job": 7, "event": "flush_started", ...}`
fn job(json: &str) -> Option<EngineEvent> {
    let mut fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(json).ok()?;
    let micros = fields.remove("time_micros")?.as_u64()?;
    let (kind, edge) = match fields.remove("event")?.as_str()? {
        "flush_started" => (EventKind::Flush, Edge::Begin),
        "flush_finished" => (EventKind::Flush, Edge::End),
        "compaction_started" => (EventKind::Compaction, Edge::Begin),
        "compaction_finished" => (EventKind::Compaction, Edge::End),
        _ => return None,
    };
    let detail = fields.into_iter().filter_map(|(name, value)| {
        // Later versions' listener uses these names.
        let name = match name.as_str() {
            "job" => "job_id".to_owned(),
            "total_output_size" => "total_output_bytes".to_owned(),
            _ => name,
        };
        // Lists are left out: they name files and levels, so their length grows with the database.
        Some((name, serde_json::from_value::<Value>(value).ok()?))
    });
    let detail: Counters = detail.collect();
    Some(EngineEvent { at_unix_ns: micros * 1000, kind, edge, detail })
}

/// `2026/11/22-04:34:55.123456 140 [WARN] [/column_family.cc:1018] [default] Stalling writes
/// because we have 20 level-0 files rate 16777216`
fn parse_stall(line: &str) -> Option<EngineEvent> {
    let messages = [("Stalling writes because", "delayed"), ("Stopping writes because", "stopped")];
    let (position, condition) =
        messages.iter().find_map(|(words, condition)| Some((line.find(words)?, condition)))?;
    let text = |text: &str| Value::Text(text.to_owned());
    let detail = [("cur", text(condition)), ("reason", text(&line[position..]))];
    Some(EngineEvent {
        at_unix_ns: unix_micros(line.split_ascii_whitespace().next()?)? * 1000,
        kind: EventKind::Stall,
        edge: Edge::Point,
        detail: detail.map(|(name, value)| (name.to_owned(), value)).into(),
    })
}

/// Returns the time at the head of a line of the LOG, which is local: `2026/11/22-04:34:55.123456`.
fn unix_micros(stamp: &str) -> Option<u64> {
    let time = jiff::civil::DateTime::strptime("%Y/%m/%d-%H:%M:%S.%6f", stamp).ok()?;
    let time = time.to_zoned(jiff::tz::TimeZone::system()).ok()?;
    time.timestamp().as_microsecond().try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_and_stalls_are_read_once_and_only_whole_lines() {
        let dir = tempfile::tempdir().unwrap();
        let mut log = Log::follow(dir.path());
        assert_eq!(log.drain(), []);
        let head = "2022/03/30-13:41:11.000005 7f";
        let (begun, rest) = (
            format!(
                "{head} EVENT_LOG_v1 {{\"time_micros\": 1648647671000000, \"job\": 7, \
                 \"event\": \"flush_started\", \"lsm_state\": [1], \"flush_reason\": \"Full\"}}\n"
            ),
            format!(
                "{head} [WARN] [/column_family.cc:1018] [default] Stopping writes because we have \
                 36 level-0 files\n{head} EVENT_LOG_v1 {{\"time_micros\": 1, \"event\": \
                 \"table_file_creation\"}}\n"
            ),
        );
        let (half, other_half) = rest.split_at(40);
        std::fs::write(dir.path().join("LOG"), format!("{begun}{half}")).unwrap();
        let events = log.drain();
        assert_eq!(events.len(), 1);
        assert_eq!((events[0].kind, events[0].edge), (EventKind::Flush, Edge::Begin));
        assert_eq!(events[0].at_unix_ns, 1_648_647_671_000_000_000);
        let names: Vec<_> = events[0].detail.keys().map(String::as_str).collect();
        assert_eq!(names, ["flush_reason", "job_id"]);
        std::fs::write(dir.path().join("LOG"), format!("{begun}{half}{other_half}")).unwrap();
        let events = log.drain();
        assert_eq!(events.len(), 1);
        assert_eq!((events[0].kind, events[0].edge), (EventKind::Stall, Edge::Point));
        assert_eq!(events[0].detail["cur"], Value::Text("stopped".to_owned()));
        assert_eq!(log.drain(), []);
    }

    #[test]
    fn a_stamp_is_local_time() {
        let (one, later) =
            (unix_micros("2026/11/22-04:34:55.123456"), "2026/11/22-05:34:56.123457");
        assert_eq!(unix_micros(later).unwrap() - one.unwrap(), 3_601_000_001);
        assert_eq!(unix_micros("2026/11/22"), None);
    }
}
