//! What it costs to put the slices of a thousand ranks together, by one rank that hears all and by
//! ranks that pass on sums:
//!
//!     cargo run --release -p kvdyno-crew --example merge -- CASE PHASE [RANKS]
//!
//! CASE is the directory of a case that was run, by one worker or by a crew. Each slice of its
//! phase stands for what another rank has recorded of one and the same slice.

#![expect(clippy::print_stdout, reason = "it is run by hand, for its figures")]

use kvdyno_crew::{CrewLog, Gatherer, RankFiles, RankSlice, Slices, Total};
use kvdyno_record::samples::Decoder;
use std::io;
use std::path::Path;
use std::time::Instant;

/// Measured so often.
const ROUNDS: usize = 5;

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [case, phase, ranks @ ..] = words.as_slice() else {
        return Err(io::Error::other("expected CASE PHASE [RANKS]"));
    };
    let ranks = ranks.first().and_then(|ranks| ranks.parse().ok()).unwrap_or(1_000_usize);
    let recorded = read_slices(Path::new(case), phase, ranks)?;
    println!("{} recorded slices of `{phase}`, for {ranks} ranks", recorded.len());
    if recorded.is_empty() {
        return Ok(());
    }
    let slices: Vec<RankSlice> =
        (0..ranks).map(|rank| recorded[rank % recorded.len()].clone()).collect();
    let scratch = tempfile::tempdir()?;
    let written = |name: &str, round: usize, merge: Round| {
        let dir = scratch.path().join(format!("{name}{round}"));
        std::fs::create_dir(&dir)?;
        let mut log = CrewLog::create(&dir, 0)?;
        let begun = Instant::now();
        log.add(0, &merge.total)?;
        let ms = merge.head_ms + begun.elapsed().as_secs_f64() * 1e3;
        println!(
            "{name}: the first rank takes {ms:.2} ms for {} bytes of {} messages; {}",
            merge.bytes, merge.messages, merge.others
        );
        ["series.ndjson", "latency.hlog"]
            .into_iter()
            .map(|file| std::fs::read(dir.join(file)))
            .collect::<io::Result<Vec<_>>>()
    };
    for round in 0..ROUNDS {
        let flat = written("flat", round, flat(&slices)?)?;
        let tree = written("tree", round, tree(&slices)?)?;
        let bytes = flat.iter().map(Vec::len).sum::<usize>();
        assert!(flat == tree, "the two are not the same");
        println!("{bytes} bytes written, the same by both");
    }
    Ok(())
}

fn read_slices(case: &Path, phase: &str, ranks: usize) -> io::Result<Vec<RankSlice>> {
    let mut files = RankFiles::open(case)?;
    let mut recorded: Vec<RankSlice> = Vec::new();
    while recorded.len() < ranks
        && let Some(mut slice) = files.next_slice(phase)?
    {
        if !slice.histograms.is_empty() {
            (slice.slice.slice, slice.slice.start_ns) = (0, 0);
            recorded.push(slice);
        }
    }
    Ok(recorded)
}

struct Round {
    total: Total,
    head_ms: f64,
    /// What the first rank has received.
    bytes: usize,
    messages: usize,
    /// What the other ranks did.
    others: String,
}

fn message(slice: RankSlice) -> io::Result<Vec<u8>> {
    Ok(serde_json::to_vec(&Slices { slices: vec![slice], last: true })?)
}

/// Adds up a rank's own slice and the messages of those below it.
fn sum(first: &RankSlice, messages: &[Vec<u8>]) -> io::Result<Total> {
    let mut slices = vec![first.clone()];
    for message in messages {
        slices.extend(serde_json::from_slice::<Slices>(message)?.slices);
    }
    let total = Total::from_slices(&slices, &mut Decoder::new())?;
    total.ok_or_else(|| io::Error::other("no slice"))
}

fn flat(slices: &[RankSlice]) -> io::Result<Round> {
    let messages: Vec<_> = slices[1..].iter().cloned().map(message).collect::<io::Result<_>>()?;
    let begun = Instant::now();
    let total = sum(&slices[0], &messages)?;
    let head_ms = begun.elapsed().as_secs_f64() * 1e3;
    let bytes = messages.iter().map(Vec::len).sum();
    Ok(Round { total, head_ms, bytes, messages: messages.len(), others: "no other".to_owned() })
}

fn tree(slices: &[RankSlice]) -> io::Result<Round> {
    let mut messages: Vec<Vec<Vec<u8>>> = vec![Vec::new(); slices.len()];
    let mut took_ms: Vec<f64> = Vec::new();
    for rank in (1..slices.len()).rev() {
        let begun = Instant::now();
        // A rank that hears nobody sends what its worker has written.
        let sent = match messages[rank].as_slice() {
            [] => message(slices[rank].clone())?,
            below => message(sum(&slices[rank], below)?.into_rank_slice()?)?,
        };
        took_ms.push(begun.elapsed().as_secs_f64() * 1e3);
        messages[rank] = Vec::new();
        messages[Gatherer::parent_rank(rank as u32).unwrap_or(0) as usize].push(sent);
    }
    let begun = Instant::now();
    let total = sum(&slices[0], &messages[0])?;
    let head_ms = begun.elapsed().as_secs_f64() * 1e3;
    let bytes = messages[0].iter().map(Vec::len).sum();
    let (all, most) = (took_ms.iter().sum::<f64>(), took_ms.iter().copied().fold(0.0, f64::max));
    let others = format!("another at most {most:.2} ms, all others {all:.0} ms");
    Ok(Round { total, head_ms, bytes, messages: messages[0].len(), others })
}
