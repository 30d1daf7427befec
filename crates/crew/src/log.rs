//! The case's bulk files as the first rank writes them: of each slice one line and one histogram a
//! tag, whatever the number of ranks.

use crate::slices::{LATENCY, RankSlice, invalid};
use kvdyno_engine::EngineEvent;
use kvdyno_record::hlog;
use kvdyno_record::samples::{Decoder, Samples};
use kvdyno_record::series::{Slice, SliceCounts};
use serde::Serialize;
use std::collections::BTreeMap;
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
    decoder: Decoder,
}

/// Histograms of a slice by tag, those of all ranks together.
type Tagged = BTreeMap<String, Samples>;

impl CrewLog {
    /// Makes them in the case's folder; none may be there yet.
    pub fn create(folder: &Path, base_unix_ns: u64) -> io::Result<Self> {
        let make = |name: &str| {
            let path = folder.join(name);
            let at = |error: io::Error| {
                io::Error::new(error.kind(), format!("{}: {error}", path.display()))
            };
            File::create_new(&path).map_err(at)
        };
        let base = SystemTime::UNIX_EPOCH + Duration::from_nanos(base_unix_ns);
        Ok(Self {
            series: make("series.ndjson")?,
            events: make("events.ndjson")?,
            latency: hlog::Writer::create(&folder.join(LATENCY), base).map_err(io::Error::other)?,
            base_unix_ns,
            decoder: Decoder::new(),
        })
    }

    /// Adds slices of a phase: each rank's, from the same slice on. A rank may have fewer.
    pub fn add(&mut self, phase_unix_ns: u64, by_rank: &[Vec<RankSlice>]) -> io::Result<()> {
        let slices = by_rank.iter().map(Vec::len).max().unwrap_or(0);
        for place in 0..slices {
            self.slice(phase_unix_ns, by_rank.iter().filter_map(|rank| rank.get(place)))?;
        }
        Ok(())
    }

    /// Adds what happened inside the engine.
    pub fn events(&mut self, events: &[EngineEvent]) -> io::Result<()> {
        events.iter().try_for_each(|event| write_line(&mut self.events, event))
    }

    fn slice<'r>(
        &mut self,
        phase_unix_ns: u64,
        ranks: impl Iterator<Item = &'r RankSlice>,
    ) -> io::Result<()> {
        let mut sum: Option<Slice> = None;
        let mut tagged = Tagged::new();
        for RankSlice { slice, histograms } in ranks {
            match &mut sum {
                Some(sum) => add(sum, slice)?,
                None => sum = Some(slice.clone()),
            }
            for (tag, encoded) in histograms {
                let counts = self.decoder.read(encoded);
                let counts = counts.map_err(|error| invalid(format!("tag `{tag}`: {error}")))?;
                tagged.entry(tag.clone()).or_default().add_all(counts);
            }
        }
        let Some(slice) = sum else { return Ok(()) };
        check(&slice, &tagged)?;
        let start = (phase_unix_ns + slice.start_ns).saturating_sub(self.base_unix_ns);
        let histograms: Vec<_> =
            tagged.into_iter().map(|(tag, samples)| (tag, samples.histogram())).collect();
        let histograms = histograms.iter().map(|(tag, histogram)| (tag.clone(), histogram));
        let length = Duration::from_nanos(slice.length_ns);
        self.latency
            .write(Duration::from_nanos(start), length, histograms)
            .map_err(io::Error::other)?;
        write_line(&mut self.series, &slice)
    }
}

/// The last slice of a rank may be shorter than the others'.
fn add(sum: &mut Slice, one: &Slice) -> io::Result<()> {
    if (&sum.phase, sum.slice, sum.start_ns) != (&one.phase, one.slice, one.start_ns) {
        let (expected, found) = (sum.slice, one.slice);
        let phase = &sum.phase;
        return Err(invalid(format!("slice {found} of a rank in `{phase}`, and not {expected}")));
    }
    sum.length_ns = sum.length_ns.max(one.length_ns);
    for (role, ops) in &one.roles {
        let known = sum.roles.entry(role.clone()).or_default();
        for (op, counts) in ops {
            let sum = known.entry(op.clone()).or_default();
            *sum = SliceCounts {
                count: sum.count + counts.count,
                service_ns: sum.service_ns + counts.service_ns,
                service_ns_max: sum.service_ns_max.max(counts.service_ns_max),
                errors: sum.errors + counts.errors,
            };
        }
    }
    Ok(())
}

/// As many times as operations: a histogram that went to another slice would be seen.
fn check(slice: &Slice, tagged: &Tagged) -> io::Result<()> {
    for (role, ops) in &slice.roles {
        for (op, counts) in ops {
            let tag = hlog::tag(&slice.phase, role, op, hlog::Kind::Service);
            let times = tagged.get(&tag).map_or(0, Samples::len);
            if times != counts.count {
                let (number, count) = (slice.slice, counts.count);
                let what = format!("`{tag}`, slice {number}: {times} times of {count} operations");
                return Err(invalid(what));
            }
        }
    }
    Ok(())
}

fn write_line(file: &mut File, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    file.write_all(&line)
}

#[cfg(test)]
mod tests;
