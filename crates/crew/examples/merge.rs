//! What it costs the first rank to put the slices of a thousand ranks together:
//!
//!     cargo run --release -p kvdyno-crew --example merge -- CASE PHASE [RANKS]
//!
//! CASE is the folder of a case that was run, by one worker or by a crew. Each slice of its phase
//! stands for what another rank has recorded of one and the same slice.

#![expect(clippy::print_stdout, reason = "it is run by hand, for its figures")]

use kvdyno_crew::{CrewLog, RankFiles, RankSlice, Report, Slices};
use std::io;
use std::path::Path;
use std::time::Instant;

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [case, phase, ranks @ ..] = words.as_slice() else {
        return Err(io::Error::other("expected CASE PHASE [RANKS]"));
    };
    let ranks = ranks.first().and_then(|ranks| ranks.parse().ok()).unwrap_or(1_000_usize);
    let mut files = RankFiles::open(Path::new(case))?;
    let mut recorded: Vec<RankSlice> = Vec::new();
    while recorded.len() < ranks
        && let Some(slice) = files.next(phase)?
    {
        if !slice.histograms.is_empty() {
            recorded.push(slice);
        }
    }
    let count = recorded.len();
    println!("{count} recorded slices of `{phase}`, for {ranks} ranks");
    if recorded.is_empty() {
        return Ok(());
    }
    let mut messages = Vec::new();
    for rank in 0..ranks {
        let mut slice = recorded[rank % count].clone();
        (slice.slice.slice, slice.slice.start_ns) = (0, 0);
        let report = Report::Slices(Slices { slices: vec![slice], last: true });
        messages.push(serde_json::to_vec(&report)?);
    }
    let bytes: usize = messages.iter().map(Vec::len).sum();
    println!("{bytes} bytes received, {} a rank", bytes / ranks);
    let scratch = tempfile::tempdir()?;
    for round in 0..5 {
        let folder = scratch.path().join(round.to_string());
        std::fs::create_dir(&folder)?;
        let mut log = CrewLog::create(&folder, 0)?;
        let begun = Instant::now();
        let read = messages.iter().map(|message| match serde_json::from_slice(message)? {
            Report::Slices(slices) => Ok(slices.slices),
            other => Err(io::Error::other(format!("{other:?}"))),
        });
        let by_rank = read.collect::<io::Result<Vec<_>>>()?;
        let parsed = begun.elapsed();
        log.add(0, &by_rank)?;
        let ms = begun.elapsed().as_secs_f64() * 1e3;
        let written: u64 = ["series.ndjson", "latency.hlog"]
            .iter()
            .map(|name| folder.join(name).metadata().map_or(0, |meta| meta.len()))
            .sum();
        let parsed = parsed.as_secs_f64() * 1e3;
        println!(
            "round {round}: {ms:.1} ms, {parsed:.1} of it reading JSON; {written} bytes written"
        );
    }
    Ok(())
}
