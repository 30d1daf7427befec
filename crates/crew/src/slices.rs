//! What a rank's worker has written of a phase, slice by slice, as it goes to the first rank.

use kvdyno_engine::EngineEvent;
use kvdyno_record::series::Slice;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;

/// One slice of one rank: its counts, and the histograms behind them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankSlice {
    /// The counts.
    pub slice: Slice,
    /// By tag, as they stand in the worker's log: V2, deflated, in base64.
    pub histograms: Vec<(String, String)>,
}

/// The files of a rank's worker, read as they grow. They may have no names any more.
#[derive(Debug)]
pub struct RankFiles {
    series: BufReader<File>,
    events: BufReader<File>,
    latency: BufReader<File>,
    /// Read ahead: the slice of another phase, and the histogram of another slice.
    slice: Option<Slice>,
    histogram: Option<LogLine>,
}

/// The last of them that a worker makes.
pub(crate) const LATENCY: &str = "latency.hlog";

/// A line of a worker's log.
#[derive(Debug, PartialEq, Eq)]
struct LogLine {
    tag: String,
    /// As it is written: equal in all lines of a slice, and in no others.
    start: String,
    encoded: String,
}

impl RankFiles {
    /// Those in a folder.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let open = |name| File::open(folder.join(name)).map(BufReader::new);
        Ok(Self {
            series: open("series.ndjson")?,
            events: open("events.ndjson")?,
            latency: open(LATENCY)?,
            slice: None,
            histogram: None,
        })
    }

    /// The next slice of a phase that is over; none: there are no more.
    pub fn next(&mut self, phase: &str) -> io::Result<Option<RankSlice>> {
        if self.slice.is_none() {
            self.slice = parsed(&mut self.series)?;
        }
        let Some(slice) = self.slice.take_if(|slice| slice.phase == phase) else { return Ok(None) };
        let counts = slice.roles.values().flat_map(|ops| ops.values());
        // Of slices in which nothing ended there are no histograms.
        let histograms = if counts.map(|counts| counts.count).sum::<u64>() > 0 {
            self.logged()?
        } else {
            Vec::new()
        };
        Ok(Some(RankSlice { slice, histograms }))
    }

    /// What happened inside the engine since the last time.
    pub fn events(&mut self) -> io::Result<Vec<EngineEvent>> {
        let mut events = Vec::new();
        while let Some(event) = parsed(&mut self.events)? {
            events.push(event);
        }
        Ok(events)
    }

    /// The histograms of the next slice that has any.
    fn logged(&mut self) -> io::Result<Vec<(String, String)>> {
        let (mut start, mut histograms) = (None, Vec::new());
        loop {
            if self.histogram.is_none() {
                self.histogram = self.log_line()?;
            }
            let same = |line: &mut LogLine| start.as_ref().is_none_or(|start| *start == line.start);
            let Some(line) = self.histogram.take_if(same) else { return Ok(histograms) };
            start = Some(line.start);
            histograms.push((line.tag, line.encoded));
        }
    }

    fn log_line(&mut self) -> io::Result<Option<LogLine>> {
        let mut line = String::new();
        while self.latency.read_line(&mut line)? > 0 {
            if let Some(tagged) = line.trim_end().strip_prefix("Tag=") {
                let mut fields = tagged.splitn(5, ',').map(str::to_owned);
                let (tag, start, encoded) = (fields.next(), fields.next(), fields.nth(2));
                let bad = || invalid(format!("no line of a worker's log: {line:?}"));
                let (tag, start) = tag.zip(start).ok_or_else(bad)?;
                return Ok(Some(LogLine { tag, start, encoded: encoded.ok_or_else(bad)? }));
            }
            line.clear();
        }
        Ok(None)
    }
}

fn parsed<T: DeserializeOwned>(file: &mut impl io::BufRead) -> io::Result<Option<T>> {
    let mut line = String::new();
    if file.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    serde_json::from_str(&line).map(Some).map_err(io::Error::from)
}

pub(crate) fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}
