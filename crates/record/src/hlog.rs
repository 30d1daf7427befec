//! `latency.hlog`: one `HdrHistogram` V2 interval log a case, as other `HdrHistogram` tools read
//! it. Values are nanoseconds; the tag of an interval is `phase/role/op/kind`; start and length are
//! seconds since `BaseTime`.
//!
//! `service` runs from the start of a call to its end. `response` exists for open loops only and
//! runs from the *scheduled* start, so that an operation that waited for its turn is charged for
//! it. `submit` and `completion` exist where a role keeps operations in flight, and are the two
//! parts of `service`: until the operation was handed over (fio's slat), and from there to its
//! answer (clat).

use crate::lines::{RawLines, RecordError};
use crate::samples::{Decoder, Samples};
pub use crate::samples::{LONGEST_NS, SIGNIFICANT_DIGITS, histogram};
use base64::Engine as _;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::interval_log::{
    IntervalLogHistogram, IntervalLogIterator, IntervalLogWriterBuilder, LogEntry, Tag,
};
use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The kind of time that a histogram counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// From the start of the call.
    Service,
    /// From the scheduled start.
    Response,
    /// From the start of an operation in flight until it was handed over.
    Submit,
    /// From the handover of an operation in flight to its answer.
    Completion,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Service, Self::Response, Self::Submit, Self::Completion];

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

/// Returns the tag of an interval: `phase/role/op/kind`.
pub fn tag(phase: &str, role: &str, op: &str, kind: Kind) -> String {
    format!("{phase}/{role}/{op}/{}", kind.as_str())
}

/// One histogram of the log; [`Samples::add_all`] merges its counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interval {
    /// The phase's name.
    pub phase: String,
    /// The role.
    pub role: String,
    /// The operation's name.
    pub op: String,
    /// The kind of time that it counts.
    pub kind: Kind,
    /// Its start, since the worker started.
    pub start: Duration,
    /// Its length.
    pub length: Duration,
    /// Buckets that something fell into: the upper end in nanoseconds, rising, and how many.
    pub counts: Vec<(u64, u64)>,
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

/// A log's intervals in file order, one at a time: a day of slices does not fit into memory. A last
/// line cut short by a kill is left out.
pub struct Intervals {
    lines: RawLines,
    decoder: Decoder,
    counts: bool,
}

impl Intervals {
    /// Begins to read; a log that does not exist has no intervals.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        Ok(Self { lines: RawLines::open(path)?, decoder: Decoder::new(), counts: true })
    }

    /// Begins with the first whole interval of the log's last `bytes`.
    pub fn open_tail(path: &Path, bytes: u64) -> Result<Self, RecordError> {
        Ok(Self { lines: RawLines::open_tail(path, bytes)?, ..Self::open(path)? })
    }

    /// Skips the counts: an interval has its times and its tag, and [`Interval::counts`] stays
    /// empty.
    #[must_use]
    pub fn without_counts(self) -> Self {
        Self { counts: false, ..self }
    }

    fn interval(&mut self) -> Result<Option<Interval>, RecordError> {
        let Self { lines, decoder, counts } = self;
        while let Some((path, line)) = lines.next_line()? {
            let bad = |message| RecordError::Malformed { path: path.to_owned(), message };
            match IntervalLogIterator::new(line).next() {
                Some(Ok(LogEntry::Interval(interval))) => {
                    let decoder = counts.then_some(decoder);
                    return decode(&interval, decoder).map(Some).map_err(bad);
                }
                None | Some(Ok(_)) => {}
                Some(Err(error)) => return Err(bad(format!("not an interval log: {error:?}"))),
            }
        }
        Ok(None)
    }
}

impl Iterator for Intervals {
    type Item = Result<Interval, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.interval();
        if next.is_err() {
            self.lines.end();
        }
        next.transpose()
    }
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
    let mut samples = Samples::default();
    samples.add_all(Decoder::new().read(text)?);
    Ok(samples.histogram())
}

fn decode(
    interval: &IntervalLogHistogram<'_>,
    decoder: Option<&mut Decoder>,
) -> Result<Interval, String> {
    let tag = interval.tag().map(|tag| tag.as_str().to_owned()).unwrap_or_default();
    let parts: Vec<&str> = tag.split('/').collect();
    let &[phase, role, op, kind] = parts.as_slice() else {
        return Err(format!("tag `{tag}` is not phase/role/op/kind"));
    };
    let kind = Kind::ALL.into_iter().find(|candidate| candidate.as_str() == kind);
    let kind = kind.ok_or_else(|| format!("tag `{tag}`: unknown kind `{}`", parts[3]))?;
    let read = |decoder: &mut Decoder| decoder.read(interval.encoded_histogram());
    let counts = decoder.map_or_else(|| Ok(Vec::new()), read);
    let counts = counts.map_err(|error| format!("tag `{tag}`: {error}"))?;
    Ok(Interval {
        phase: phase.to_owned(),
        role: role.to_owned(),
        op: op.to_owned(),
        kind,
        start: interval.start_timestamp(),
        length: interval.duration(),
        counts,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_reads_back_and_survives_a_cut() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("latency.hlog");
        let mut histogram = histogram();
        histogram.record_n(345, 7).unwrap();
        let empty = super::histogram();
        let mut writer = Writer::create(&path, SystemTime::now()).unwrap();
        let slices = [
            (tag("measure", "readers", "get", Kind::Service), &histogram),
            (tag("measure", "readers", "get", Kind::Response), &empty),
        ];
        writer.write(Duration::from_secs(1), Duration::from_secs(1), slices).unwrap();
        let read = || Intervals::open(&path).unwrap().collect::<Result<Vec<_>, _>>().unwrap();
        let read_back = read();
        assert_eq!(read_back.len(), 1);
        assert_eq!(read_back[0].counts, [(345, 7)]);
        assert_eq!(read_back[0].role, "readers");
        assert_eq!(read_back[0].start, Duration::from_secs(1));

        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, [&whole[..], b"Tag=measure/rea"].concat()).unwrap();
        assert_eq!(read(), read_back);
        let spans = Intervals::open(&path).unwrap().without_counts();
        let spans: Vec<Interval> = spans.collect::<Result<_, _>>().unwrap();
        assert_eq!(spans, [Interval { counts: Vec::new(), ..read_back[0].clone() }]);

        std::fs::write(&path, "Tag=x\n").unwrap();
        let mut bad = Intervals::open(&path).unwrap();
        assert!(bad.next().unwrap().unwrap_err().to_string().contains("not an interval log"));
        assert!(bad.next().is_none());
        assert!(Intervals::open(&dir.path().join("none")).unwrap().next().is_none());
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
