//! `latency.hlog`: one `HdrHistogram` V2 interval log a case, as other `HdrHistogram` tools read
//! it. Values are nanoseconds; the tag of an interval is `phase/role/op/kind`; start and length are
//! seconds since `BaseTime`.
//!
//! `service` runs from the start of a call to its end. `response` exists for open loops only and
//! runs from the *scheduled* start, so that an operation that waited for its turn is charged for
//! it. `submit` and `completion` exist where a role keeps operations in flight, and are the two
//! parts of `service`: until the operation was handed over (fio's slat), and from there to its
//! answer (clat).

use crate::files::RecordError;
use base64::Engine as _;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::interval_log::{
    IntervalLogHistogram, IntervalLogIterator, IntervalLogWriterBuilder, LogEntry, Tag,
};
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2DeflateSerializer};
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Significant digits of the histograms: finer than the recorder's own 0.78 %.
pub const SIGNIFICANT_DIGITS: u8 = 3;

/// The longest time that is kept: an hour. What takes longer is recorded as an hour, and the exact
/// maximum stands in the counts beside it.
pub const LONGEST_NS: u64 = 3_600_000_000_000;

/// An empty histogram of the record's precision.
///
/// # Panics
/// Never: the bounds are constants that the library accepts.
pub fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST_NS, SIGNIFICANT_DIGITS)
        .expect("constant bounds are valid")
}

/// What a histogram counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// From the start of the call.
    Service,
    /// From the scheduled start.
    Response,
    /// Of an operation in flight: from its start until it was handed over.
    Submit,
    /// Of an operation in flight: from there to its answer.
    Completion,
}

impl Kind {
    /// The last part of a tag.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Service => "service",
            Self::Response => "response",
            Self::Submit => "submit",
            Self::Completion => "completion",
        }
    }
}

/// The whole file format in one place: `phase/role/op/kind`.
pub fn tag(phase: &str, role: &str, op: &str, kind: Kind) -> String {
    format!("{phase}/{role}/{op}/{}", kind.as_str())
}

/// One histogram of the log.
#[derive(Clone, Debug)]
pub struct Interval {
    /// The phase's name.
    pub phase: String,
    /// The role.
    pub role: String,
    /// The operation's name.
    pub op: String,
    /// What it counts.
    pub kind: Kind,
    /// Since the worker started.
    pub start: Duration,
    /// Its length.
    pub length: Duration,
    /// In nanoseconds.
    pub histogram: Histogram<u64>,
}

/// Writes a log. Every slice goes to the file in one piece: a killed worker loses nothing that it
/// had finished.
pub struct Writer {
    path: PathBuf,
    file: File,
    serializer: V2DeflateSerializer,
}

impl Writer {
    /// Begins the log at `path`; intervals are counted from `base`.
    pub fn create(path: &Path, base: SystemTime) -> Result<Self, RecordError> {
        let io = |source| RecordError::Io { path: path.to_owned(), source };
        let mut header = Vec::new();
        IntervalLogWriterBuilder::new()
            .add_comment("[Histogram log format version 1.3]")
            .add_comment("kvdyno: nanoseconds; tag = phase/role/op/kind")
            .with_base_time(base)
            .with_start_time(base)
            .begin_log_with(&mut header, &mut V2DeflateSerializer::new())
            .map_err(io)?;
        let mut file = File::create_new(path).map_err(io)?;
        file.write_all(&header).map_err(io)?;
        Ok(Self { path: path.to_owned(), file, serializer: V2DeflateSerializer::new() })
    }

    /// Adds one slice: a histogram for each tag. Empty histograms are left out.
    pub fn write<'h>(
        &mut self,
        start: Duration,
        length: Duration,
        histograms: impl IntoIterator<Item = (String, &'h Histogram<u64>)>,
    ) -> Result<(), RecordError> {
        let mut lines = Vec::new();
        let bad = |message| RecordError::Malformed { path: self.path.clone(), message };
        let mut log = IntervalLogWriterBuilder::new()
            .begin_log_with(&mut lines, &mut self.serializer)
            .map_err(|source| RecordError::Io { path: self.path.clone(), source })?;
        for (tag, histogram) in histograms.into_iter().filter(|(_, h)| !h.is_empty()) {
            let tag = Tag::new(&tag).ok_or_else(|| bad(format!("`{tag}` cannot be a tag")))?;
            log.write_histogram(histogram, start, length, Some(tag))
                .map_err(|error| bad(error.to_string()))?;
        }
        self.file
            .write_all(&lines)
            .map_err(|source| RecordError::Io { path: self.path.clone(), source })
    }
}

/// Reads a log: its intervals in file order. A last line cut short by a kill is left out.
pub fn read(path: &Path) -> Result<Vec<Interval>, RecordError> {
    let bytes =
        std::fs::read(path).map_err(|source| RecordError::Io { path: path.to_owned(), source })?;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let bad = |message: String| RecordError::Malformed { path: path.to_owned(), message };
    let mut intervals = Vec::new();
    for entry in IntervalLogIterator::new(&bytes[..whole]) {
        let entry = entry.map_err(|error| bad(format!("not an interval log: {error:?}")))?;
        if let LogEntry::Interval(interval) = entry {
            intervals.push(decode(&interval).map_err(bad)?);
        }
    }
    Ok(intervals)
}

/// A histogram as text, for a field of a JSON file: V2, deflated, in base64, as in the log.
pub fn to_text(histogram: &Histogram<u64>) -> Result<String, String> {
    let mut bytes = Vec::new();
    let written = V2DeflateSerializer::new().serialize(histogram, &mut bytes);
    written.map_err(|error| format!("{error:?}"))?;
    Ok(base64::engine::general_purpose::STANDARD.encode(bytes))
}

/// The histogram that [`to_text`] wrote.
pub fn from_text(text: &str) -> Result<Histogram<u64>, String> {
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(text)
        .map_err(|error| error.to_string())?;
    Deserializer::new().deserialize(&mut bytes.as_slice()).map_err(|error| format!("{error:?}"))
}

fn decode(interval: &IntervalLogHistogram<'_>) -> Result<Interval, String> {
    let tag = interval.tag().map(|tag| tag.as_str().to_owned()).unwrap_or_default();
    let parts: Vec<&str> = tag.split('/').collect();
    let &[phase, role, op, kind] = parts.as_slice() else {
        return Err(format!("tag `{tag}` is not phase/role/op/kind"));
    };
    let kind = match kind {
        "service" => Kind::Service,
        "response" => Kind::Response,
        "submit" => Kind::Submit,
        "completion" => Kind::Completion,
        other => return Err(format!("tag `{tag}`: unknown kind `{other}`")),
    };
    let histogram =
        from_text(interval.encoded_histogram()).map_err(|error| format!("tag `{tag}`: {error}"))?;
    Ok(Interval {
        phase: phase.to_owned(),
        role: role.to_owned(),
        op: op.to_owned(),
        kind,
        start: interval.start_timestamp(),
        length: interval.duration(),
        histogram,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_reads_back_and_survives_a_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("latency.hlog");
        let mut histogram = histogram();
        histogram.record_n(345, 7).unwrap();
        let empty = super::histogram();
        let mut writer = Writer::create(&path, SystemTime::now()).unwrap();
        let slices = [
            (tag("measure", "readers", "get", Kind::Service), &histogram),
            (tag("measure", "readers", "get", Kind::Response), &empty),
        ];
        writer.write(Duration::from_secs(1), Duration::from_secs(1), slices).unwrap();
        let read_back = read(&path).unwrap();
        assert_eq!(read_back.len(), 1);
        assert_eq!(read_back[0].histogram, histogram);
        assert_eq!(read_back[0].role, "readers");
        assert_eq!(read_back[0].start, Duration::from_secs(1));

        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, [&whole[..], b"Tag=measure/rea"].concat()).unwrap();
        assert_eq!(read(&path).unwrap().len(), 1);
    }

    #[test]
    fn a_histogram_is_a_text_and_back() {
        let mut histogram = histogram();
        histogram.record_n(51, 80_000_000).unwrap();
        histogram.record(13_400_000).unwrap();
        assert_eq!(from_text(&to_text(&histogram).unwrap()).unwrap(), histogram);
        assert!(from_text("?").is_err());
        assert!(from_text("AAAA").is_err());
    }
}
