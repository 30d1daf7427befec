//! The case's bulk files as the first rank writes them: one line and one histogram per tag for each
//! slice, whatever the number of ranks.

use crate::slices::LATENCY;
use crate::total::Total;
use kvdyno_engine::EngineEvent;
use kvdyno_record::hlog;
use serde::Serialize;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// `series.ndjson`, `events.ndjson` and `latency.hlog` of a case.
pub struct CrewLog {
    series: File,
    events: File,
    latency: hlog::Writer,
    base_unix_ns: u64,
}

impl CrewLog {
    /// Creates the files in the case's directory; none may be there yet.
    pub fn create(dir: &Path, base_unix_ns: u64) -> io::Result<Self> {
        let make = |name: &str| {
            let path = dir.join(name);
            let with_path = |error: io::Error| {
                io::Error::new(error.kind(), format!("{}: {error}", path.display()))
            };
            File::create_new(&path).map_err(with_path)
        };
        let base = SystemTime::UNIX_EPOCH + Duration::from_nanos(base_unix_ns);
        Ok(Self {
            series: make("series.ndjson")?,
            events: make("events.ndjson")?,
            latency: hlog::Writer::create(&dir.join(LATENCY), base).map_err(io::Error::other)?,
            base_unix_ns,
        })
    }

    /// Adds a slice of a phase that began at `phase_unix_ns`.
    pub fn add(&mut self, phase_unix_ns: u64, total: &Total) -> io::Result<()> {
        let slice = &total.slice;
        let start = (phase_unix_ns + slice.start_ns).saturating_sub(self.base_unix_ns);
        let histograms: Vec<_> =
            total.tagged.iter().map(|(tag, samples)| (tag.clone(), samples.histogram())).collect();
        let histograms = histograms.iter().map(|(tag, histogram)| (tag.clone(), histogram));
        let length = Duration::from_nanos(slice.length_ns);
        self.latency
            .write(Duration::from_nanos(start), length, histograms)
            .map_err(io::Error::other)?;
        write_line(&mut self.series, slice)
    }

    /// Adds events inside the engine.
    pub fn events(&mut self, events: &[EngineEvent]) -> io::Result<()> {
        events.iter().try_for_each(|event| write_line(&mut self.events, event))
    }
}

fn write_line(file: &mut File, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    file.write_all(&line)
}

#[cfg(test)]
pub(crate) mod tests;
