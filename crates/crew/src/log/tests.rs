//! Logs of workers, merged, against what `HdrHistogram` itself makes of the same logs.

use super::*;
use crate::slices::{RankFiles, RankSlice};
use hdrhistogram::Histogram;
use kvdyno_record::hlog::{Intervals, Kind};
use kvdyno_record::samples::{Decoder, Samples};
use kvdyno_record::series::{Slice, SliceCounts};
use std::collections::BTreeMap;

const SECOND: u64 = 1_000_000_000;
pub(crate) const PHASE: u64 = 1_000 * SECOND;

/// Writes a worker's files. `slices` has the number of times in each slice; the times themselves
/// depend on the rank. Returns all times.
pub(crate) fn worker(dir: &Path, rank: u64, slices: &[u64]) -> Histogram<u64> {
    std::fs::create_dir(dir).unwrap();
    let mut log = CrewLog::create(dir, PHASE - SECOND * rank).unwrap();
    let mut all = hlog::histogram();
    for (number, count) in (0..).zip(slices) {
        let mut histogram = hlog::histogram();
        let (mut sum, mut max) = (0, 0);
        for n in 0..*count {
            let ns = 300 + (n * n * 7919 + rank * 104_729 + number * 31) % 50_000_000;
            histogram.record(ns).unwrap();
            (sum, max) = (sum + ns, max.max(ns));
        }
        all.add(&histogram).unwrap();
        let counts =
            SliceCounts { count: *count, service_ns: sum, service_ns_max: max, errors: rank };
        let ops = BTreeMap::from([("get".to_owned(), counts)]);
        let slice = Slice {
            phase: "measure".to_owned(),
            slice: number,
            start_ns: number * SECOND,
            length_ns: if number + 1 == slices.len() as u64 { SECOND / 2 + rank } else { SECOND },
            roles: BTreeMap::from([("readers".to_owned(), ops)]),
        };
        let tag = hlog::tag("measure", "readers", "get", Kind::Service);
        let start = Duration::from_nanos(SECOND * rank + slice.start_ns);
        let length = Duration::from_nanos(slice.length_ns);
        log.latency.write(start, length, [(tag, &histogram)]).unwrap();
        write_line(&mut log.series, &slice).unwrap();
    }
    all
}

/// Adds the slices of all ranks, as one rank that receives all of them does.
fn add_all(log: &mut CrewLog, by_rank: &[Vec<RankSlice>]) -> io::Result<()> {
    let slices = by_rank.iter().map(Vec::len).max().unwrap_or(0);
    for index in 0..slices {
        let ranks = by_rank.iter().filter_map(|rank| rank.get(index));
        let total = Total::from_slices(ranks, &mut Decoder::new())?.unwrap();
        log.add(PHASE, &total)?;
    }
    Ok(())
}

fn read_all(dir: &Path) -> Vec<RankSlice> {
    let mut files = RankFiles::open(dir).unwrap();
    assert_eq!(files.next_slice("another").unwrap(), None);
    let all = std::iter::from_fn(|| files.next_slice("measure").unwrap()).collect();
    assert_eq!(files.next_slice("measure").unwrap(), None);
    all
}

#[test]
fn what_is_merged_is_what_hdr_histogram_adds() {
    let scratch = tempfile::tempdir().unwrap();
    // A rank that ends early, one with a slice in which nothing ended, one with nothing at all.
    let ranks: [&[u64]; 4] = [&[900, 40, 7_000], &[800, 0, 3], &[10, 10], &[]];
    let (mut expected, mut by_rank) = (hlog::histogram(), Vec::new());
    for (rank, slices) in (0..).zip(ranks) {
        let dir = scratch.path().join(rank.to_string());
        expected.add(worker(&dir, rank, slices)).unwrap();
        by_rank.push(read_all(&dir));
    }
    let merged = scratch.path().join("merged");
    std::fs::create_dir(&merged).unwrap();
    let mut log = CrewLog::create(&merged, PHASE - 5 * SECOND).unwrap();
    add_all(&mut log, &by_rank).unwrap();
    let intervals: Vec<_> =
        Intervals::open(&merged.join(LATENCY)).unwrap().collect::<Result<_, _>>().unwrap();
    let starts: Vec<u64> = intervals.iter().map(|interval| interval.start.as_secs()).collect();
    assert_eq!(starts, [5, 6, 7], "one histogram a slice");
    let mut all = Samples::default();
    for interval in &intervals {
        all.add_all(interval.counts.iter().copied());
    }
    assert_eq!(all.histogram(), expected);
    let series = std::fs::read_to_string(merged.join("series.ndjson")).unwrap();
    let series = series.lines().map(|line| serde_json::from_str::<Slice>(line).unwrap());
    let rows: Vec<(u64, u64, u64, u64)> = series
        .map(|slice| {
            let get = slice.roles["readers"]["get"];
            (slice.slice, slice.length_ns, get.count, get.errors)
        })
        .collect();
    assert_eq!(
        rows,
        [(0, SECOND, 1_710, 3), (1, SECOND, 50, 3), (2, SECOND / 2 + 1, 7_003, 1)],
        "ranks that have ended are not in the last ones"
    );
}

/// Slices and histograms that do not belong together are no figures.
#[test]
fn a_slice_out_of_place_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let dirs = ["a", "b", "merged"].map(|name| scratch.path().join(name));
    worker(&dirs[0], 0, &[5, 6]);
    worker(&dirs[1], 1, &[5, 6]);
    let (one, mut other) = (read_all(&dirs[0]), read_all(&dirs[1]));
    std::fs::create_dir(&dirs[2]).unwrap();
    let mut log = CrewLog::create(&dirs[2], PHASE).unwrap();
    let shifted = [one.clone(), other[1..].to_vec()];
    let error = add_all(&mut log, &shifted).unwrap_err().to_string();
    assert_eq!(error, "a rank in `measure`: expected slice 0, found 1");
    other[0].histograms = one[1].histograms.clone();
    let error = add_all(&mut log, &[one, other]).unwrap_err().to_string();
    assert_eq!(error, "`measure/readers/get/service`, slice 0: 11 times of 10 operations");
}
