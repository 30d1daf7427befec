//! The results of a rank's worker in a phase, slice by slice, for the first rank.

use kvdyno_engine::EngineEvent;
use kvdyno_record::series::Slice;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;

/// One slice of one rank, or of several together: its counts, and the histograms behind them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankSlice {
    /// The counts.
    pub slice: Slice,
    /// The histograms by tag, encoded as in a worker's log: V2, deflated, in base64.
    pub histograms: Vec<(String, String)>,
}

impl RankSlice {
    /// Its approximate size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let histograms = self.histograms.iter().map(|(tag, text)| tag.len() + text.len());
        // An operation of a role takes some hundred bytes as JSON.
        let ops: usize = self.slice.roles.values().map(BTreeMap::len).sum();
        histograms.sum::<usize>() + 200 * (ops + 1)
    }
}

/// The files of a rank's worker, read as they grow. They may have no names any more.
#[derive(Debug)]
pub struct RankFiles {
    series: GrowingLines,
    events: GrowingLines,
    latency: GrowingLines,
    /// Read ahead: the slice of another phase, and the histogram of another slice.
    slice: Option<Slice>,
    histogram: Option<LogLine>,
}

/// The file that a worker creates last.
pub(crate) const LATENCY: &str = "latency.hlog";

/// The lines of a file that grows. A line without its end is not read yet.
#[derive(Debug)]
struct GrowingLines {
    file: BufReader<File>,
    begun: Vec<u8>,
}

/// A line of a worker's log.
#[derive(Debug, PartialEq, Eq)]
struct LogLine {
    tag: String,
    /// The start as it is written: equal in all lines of a slice, and in no others.
    start: String,
    encoded: String,
}

impl RankFiles {
    /// Opens the files in a directory.
    pub fn open(dir: &Path) -> io::Result<Self> {
        let open = |name| {
            let file = BufReader::new(File::open(dir.join(name))?);
            Ok::<_, io::Error>(GrowingLines { file, begun: Vec::new() })
        };
        Ok(Self {
            series: open("series.ndjson")?,
            events: open("events.ndjson")?,
            latency: open(LATENCY)?,
            slice: None,
            histogram: None,
        })
    }

    /// Returns the next slice of a phase; `None`: it is not there yet, or the phase is over and
    /// there are no more. A worker writes the histograms of a slice before its counts: once the
    /// counts are there, the slice is complete.
    pub fn next_slice(&mut self, phase: &str) -> io::Result<Option<RankSlice>> {
        if self.slice.is_none() {
            self.slice = self.series.parse_next()?;
        }
        let Some(slice) = self.slice.take_if(|slice| slice.phase == phase) else { return Ok(None) };
        let counts = slice.roles.values().flat_map(|ops| ops.values());
        // A slice in which no operation ended has no histograms.
        let histograms = if counts.map(|counts| counts.count).sum::<u64>() > 0 {
            self.next_histograms()?
        } else {
            Vec::new()
        };
        Ok(Some(RankSlice { slice, histograms }))
    }

    /// Reads the events inside the engine since the last call.
    pub fn events(&mut self) -> io::Result<Vec<EngineEvent>> {
        std::iter::from_fn(|| self.events.parse_next().transpose()).collect()
    }

    /// Reads the histograms of the next slice that has any.
    fn next_histograms(&mut self) -> io::Result<Vec<(String, String)>> {
        let (mut start, mut histograms) = (None, Vec::new());
        loop {
            if self.histogram.is_none() {
                self.histogram = self.log_line()?;
            }
            let starts_there =
                |line: &mut LogLine| start.as_ref().is_none_or(|start| *start == line.start);
            let Some(line) = self.histogram.take_if(starts_there) else { return Ok(histograms) };
            start = Some(line.start);
            histograms.push((line.tag, line.encoded));
        }
    }

    fn log_line(&mut self) -> io::Result<Option<LogLine>> {
        while let Some(line) = self.latency.next_line()? {
            if let Some(tagged) = line.strip_prefix("Tag=") {
                let mut fields = tagged.splitn(5, ',').map(str::to_owned);
                let (tag, start, encoded) = (fields.next(), fields.next(), fields.nth(2));
                let bad = || invalid(format!("not a line of a worker's log: {line:?}"));
                let (tag, start) = tag.zip(start).ok_or_else(bad)?;
                return Ok(Some(LogLine { tag, start, encoded: encoded.ok_or_else(bad)? }));
            }
        }
        Ok(None)
    }
}

impl GrowingLines {
    fn next_line(&mut self) -> io::Result<Option<String>> {
        self.file.read_until(b'\n', &mut self.begun)?;
        if self.begun.pop_if(|last| *last == b'\n').is_none() {
            return Ok(None);
        }
        let line = String::from_utf8(std::mem::take(&mut self.begun));
        line.map(Some).map_err(|error| invalid(error.to_string()))
    }

    fn parse_next<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        let Some(line) = self.next_line()? else { return Ok(None) };
        serde_json::from_str(&line).map(Some).map_err(io::Error::from)
    }
}

pub(crate) fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;
    use std::io::Write as _;

    /// Files as a worker writes them, a few bytes at a time: no line is read before it is whole.
    #[test]
    fn half_a_line_is_not_there_yet() {
        let scratch = tempfile::tempdir().unwrap();
        let add = |name: &str, text: &str| {
            let path = scratch.path().join(name);
            let file = OpenOptions::new().append(true).create(true).open(path);
            file.unwrap().write_all(text.as_bytes()).unwrap();
        };
        for name in ["series.ndjson", "events.ndjson", LATENCY] {
            add(name, "");
        }
        let mut files = RankFiles::open(scratch.path()).unwrap();
        assert_eq!(files.next_slice("measure").unwrap(), None);
        let slice = |number: u64| {
            let counts = r#"{"count":1,"service_ns":5,"service_ns_max":5,"errors":0}"#;
            let head = format!(r#""slice":{number},"start_ns":{number},"length_ns":1"#);
            let roles = format!(r#""roles":{{"r":{{"get":{counts}}}}}"#);
            format!("{{\"phase\":\"measure\",{head},{roles}}}\n")
        };
        add(LATENCY, "#comment\nTag=measure/r/get/service,1.000,1.000,1,abc\n");
        let first = slice(0);
        add("series.ndjson", &first[..40]);
        assert_eq!(files.next_slice("measure").unwrap(), None);
        add(LATENCY, "Tag=measure/r/get/service,2.0");
        add("series.ndjson", &first[40..]);
        let read = files.next_slice("measure").unwrap().unwrap();
        let histograms = |text: &str| vec![("measure/r/get/service".to_owned(), text.to_owned())];
        assert_eq!((read.slice.slice, read.histograms), (0, histograms("abc")));
        assert_eq!(files.next_slice("measure").unwrap(), None);
        add(LATENCY, "00,1.000,1,def\n");
        add("series.ndjson", &slice(1));
        let read = files.next_slice("measure").unwrap().unwrap();
        assert_eq!((read.slice.slice, read.histograms), (1, histograms("def")));
        assert_eq!(files.next_slice("measure").unwrap(), None);
    }
}
