//! Statistics of a trace, in one pass and constant memory.

use super::error::TraceError;
use super::header::{Header, Kind, Times};
use super::reader::TraceReader;
use super::request::{Op, Request};
use super::reuse::Reuse;
use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The number of windows of time that a trace is shown in.
const WINDOWS: u64 = 48;
/// Bytes of a drive that count as one key.
const BLOCK_BYTES: u64 = 4096;
/// The most blocks that are counted for one request, 64 MiB: a format allows 8 EiB.
const BLOCKS_MAX: u64 = 1 << 14;
const SECOND_NS: u64 = 1_000_000_000;
/// The shares of keys for which popularity and cache hits are computed.
const SHARES: [f64; 18] = [
    0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4,
    0.5, 0.75, 1.0,
];

/// A trace's statistics.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Statistics {
    /// Its header.
    pub header: Header,
    /// Each operation's share of all requests.
    pub mix: BTreeMap<Op, f64>,
    /// Requests per second, on average; null: times are unknown.
    pub mean_per_s: Option<f64>,
    /// Requests in the second that had the most; null: times are unknown.
    pub most_in_a_second: Option<u64>,
    /// The share of all keys that the figures below are computed from; 1: they are exact.
    pub sampled: f64,
    /// The number of distinct keys; of a drive, of blocks of 4 KiB.
    pub distinct: f64,
    /// Distinct keys with exactly one access.
    pub once: f64,
    /// Distinct keys whose first request reads: they must exist beforehand.
    pub read_first: f64,
    /// Bytes of keys; null: unknown.
    pub key_bytes: Option<Quantiles>,
    /// Bytes of values, or of ranges on a drive, in requests that write; null: none is known.
    pub written_bytes: Option<Quantiles>,
    /// Bytes of values, or of ranges on a drive, in requests that read; null: none is known.
    pub read_bytes: Option<Quantiles>,
    /// The share of requests to the most popular keys, and of hits in LRU caches of as many keys.
    pub popular: Vec<Popular>,
    /// The share of reads and writes that begin where the last one on their disk ended; null: the
    /// trace is not of a drive.
    pub sequential: Option<f64>,
    /// The number of reads and writes of more than 64 MiB. The figures of blocks are those of their
    /// first 64 MiB.
    pub cut_requests: u64,
    /// The trace in windows of equal length.
    pub windows: Vec<Window>,
}

/// The distribution of lengths over requests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Quantiles {
    /// The number of requests with a known length.
    pub count: u64,
    /// The mean.
    pub mean: f64,
    /// The shortest.
    pub min: u64,
    /// The median.
    pub p50: u64,
    /// The 90th percentile.
    pub p90: u64,
    /// The 99th percentile.
    pub p99: u64,
    /// The longest.
    pub max: u64,
}

/// The most popular keys, up to a share of all keys.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Popular {
    /// The share of all keys.
    pub keys: f64,
    /// The share of requests that go to these keys.
    pub requests: f64,
    /// The share of requests that hit in an LRU cache of as many keys.
    pub lru_hits: f64,
}

/// A window of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Window {
    /// The time of its beginning, in nanoseconds; where times are unknown, the number of requests
    /// before it.
    pub begins: u64,
    /// Requests in it.
    pub requests: u64,
    /// Requests in it that write or delete.
    pub writes: u64,
    /// Distinct keys in it: the working set.
    pub keys: f64,
    /// Keys in it without an earlier access.
    pub new_keys: f64,
}

impl Statistics {
    /// Reads a whole trace and returns its statistics.
    pub fn read(mut reader: TraceReader) -> Result<Self, TraceError> {
        let mut collector = Collector::new(reader.header().clone());
        let mut requests = Vec::new();
        while reader.next_block(&mut requests)? {
            for request in &requests {
                collector.count(request);
            }
        }
        Ok(collector.end())
    }
}

/// Collects the statistics.
struct Collector {
    header: Header,
    reuse: Reuse,
    read_first: f64,
    key_bytes: Lengths,
    written_bytes: Lengths,
    read_bytes: Lengths,
    windows: Vec<Window>,
    window_length: u64,
    number: u64,
    second: u64,
    in_second: u64,
    most_in_a_second: u64,
    /// The end of the last request on each disk.
    ends: BTreeMap<u32, u64>,
    sequential: u64,
    cut_requests: u64,
}

/// Collects lengths: quantiles by buckets, the other figures exactly.
struct Lengths {
    histogram: Histogram<u64>,
    sum: u128,
    min: u64,
    max: u64,
}

impl Lengths {
    fn new() -> Self {
        // Its bounds cover all 64 bits: an automatic histogram grows only by `record`, while
        // `saturating_record` would put longer values into the last bucket.
        let histogram = Histogram::new_with_bounds(1, u64::MAX, 3);
        let histogram = histogram.expect("a histogram of three digits");
        Self { histogram, sum: 0, min: u64::MAX, max: 0 }
    }

    fn record(&mut self, length: u64) {
        self.histogram.saturating_record(length);
        self.sum += u128::from(length);
        (self.min, self.max) = (self.min.min(length), self.max.max(length));
    }

    fn quantiles(&self) -> Option<Quantiles> {
        let count = self.histogram.len();
        // A bucket's upper end can be above the longest length.
        let quantile = |share| self.histogram.value_at_quantile(share).min(self.max);
        (count > 0).then(|| Quantiles {
            count,
            mean: self.sum as f64 / count as f64,
            min: self.min,
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            max: self.max,
        })
    }
}

impl Collector {
    fn new(header: Header) -> Self {
        let whole = if header.times == Times::None { header.requests } else { header.span_ns + 1 };
        let window_length = whole.div_ceil(WINDOWS).max(1);
        let window = |index| Window { begins: index * window_length, ..Window::default() };
        Self {
            windows: (0..whole.div_ceil(window_length)).map(window).collect(),
            window_length,
            header,
            reuse: Reuse::new(),
            read_first: 0.0,
            key_bytes: Lengths::new(),
            written_bytes: Lengths::new(),
            read_bytes: Lengths::new(),
            number: 0,
            second: 0,
            in_second: 0,
            most_in_a_second: 0,
            ends: BTreeMap::new(),
            sequential: 0,
            cut_requests: 0,
        }
    }

    fn count(&mut self, request: &Request) {
        let time = match self.header.times {
            Times::None => self.number,
            _ => request.at_ns,
        };
        self.number += 1;
        let second = request.at_ns / SECOND_NS;
        if second != self.second {
            (self.second, self.in_second) = (second, 0);
        }
        self.in_second += 1;
        self.most_in_a_second = self.most_in_a_second.max(self.in_second);
        let last = self.windows.len().saturating_sub(1);
        let window = ((time / self.window_length) as usize).min(last);
        if let Some(window) = self.windows.get_mut(window) {
            window.requests += 1;
            window.writes += u64::from(request.op.writes() || request.op == Op::Delete);
        }
        if request.key_bytes > 0 {
            self.key_bytes.record(request.key_bytes.into());
        }
        if request.value_bytes > 0 {
            match request.op {
                op if op.writes() => self.written_bytes.record(request.value_bytes),
                Op::Get | Op::Read => self.read_bytes.record(request.value_bytes),
                _ => {}
            }
        }
        match self.header.kind {
            Kind::Keys => self.access(request.key, request.op, window),
            Kind::Blocks => self.count_blocks(request, window),
        }
    }

    fn count_blocks(&mut self, request: &Request, window: usize) {
        if !matches!(request.op, Op::Read | Op::Write) {
            return;
        }
        let end = request.key.saturating_add(request.value_bytes);
        let before = self.ends.insert(request.client, end);
        self.sequential += u64::from(before == Some(request.key));
        let first = request.key / BLOCK_BYTES;
        let behind = end.div_ceil(BLOCK_BYTES).max(first + 1);
        self.cut_requests += u64::from(behind - first > BLOCKS_MAX);
        for block in first..behind.min(first + BLOCKS_MAX) {
            // Disks have blocks of their own; none has 2^44 of them.
            self.access(block ^ u64::from(request.client) << 44, request.op, window);
        }
    }

    fn access(&mut self, key: u64, op: Op, window: usize) {
        let Some(access) = self.reuse.access(key, window as u32) else { return };
        if access.first && op.reads() {
            self.read_first += access.weight;
        }
        if let Some(window) = self.windows.get_mut(window) {
            window.keys += if access.first_in_window { access.weight } else { 0.0 };
            window.new_keys += if access.first { access.weight } else { 0.0 };
        }
    }

    fn end(self) -> Statistics {
        let Self { header, reuse, .. } = self;
        let requests = header.requests.max(1) as f64;
        // Only reads and writes can be sequential.
        let placed = [Op::Read, Op::Write].iter().filter_map(|op| header.ops.get(op)).sum::<u64>();
        let timed = header.times != Times::None && header.span_ns > 0;
        let counts = reuse.counts();
        let once = counts.iter().filter(|count| **count == 1).count() as f64;
        let disk = header.kind == Kind::Blocks;
        let distinct = reuse.distinct();
        let popular = |keys: f64| Popular {
            keys,
            requests: popular(&counts, keys),
            lru_hits: reuse.hits(keys * distinct),
        };
        Statistics {
            mix: header.ops.iter().map(|(op, count)| (*op, *count as f64 / requests)).collect(),
            mean_per_s: timed.then(|| header.requests as f64 * 1e9 / header.span_ns as f64),
            most_in_a_second: timed.then_some(self.most_in_a_second),
            sampled: reuse.sampled_share(),
            once: once / reuse.sampled_share(),
            read_first: self.read_first,
            key_bytes: self.key_bytes.quantiles(),
            written_bytes: self.written_bytes.quantiles(),
            read_bytes: self.read_bytes.quantiles(),
            popular: SHARES.map(popular).into(),
            sequential: disk.then(|| self.sequential as f64 / placed.max(1) as f64),
            cut_requests: self.cut_requests,
            windows: self.windows,
            distinct,
            header,
        }
    }
}

/// Returns the share of the sample's requests that go to this share of its keys, the most popular.
fn popular(counts: &[u64], keys: f64) -> f64 {
    let all: u64 = counts.iter().sum();
    let many = ((counts.len() as f64 * keys).ceil() as usize).min(counts.len());
    let of_popular: u64 = counts[..many].iter().sum();
    of_popular as f64 / all.max(1) as f64
}
