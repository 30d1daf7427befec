//! Times as a record counts them: the number of samples in each bucket of a histogram with the
//! record's bounds. The library's histogram has all possible buckets, 270 KB. A day of slices has
//! hundreds of thousands of intervals, so a histogram that is read takes memory for its filled
//! buckets only.

use base64::Engine as _;
use flate2::{Decompress, FlushDecompress, Status};
use hdrhistogram::Histogram;
use std::sync::LazyLock;

/// Significant digits of the histograms: finer than the recorder's own 0.78 %.
pub const SIGNIFICANT_DIGITS: u8 = 3;

/// The longest time: an hour. Longer ones are recorded as an hour; the counts have the exact
/// maximum.
pub const LONGEST_NS: u64 = 3_600_000_000_000;

/// An empty histogram of the record's precision.
///
/// # Panics
/// Never: the bounds are constants that the library accepts.
pub fn histogram() -> Histogram<u64> {
    // A copy: the library's own zeros are written one by one where it is not optimised.
    static EMPTY: LazyLock<Histogram<u64>> = LazyLock::new(|| {
        Histogram::new_with_bounds(1, LONGEST_NS, SIGNIFICANT_DIGITS)
            .expect("constant bounds are valid")
    });
    EMPTY.clone()
}

/// Buckets before their width first doubles, for three significant digits.
const EXACT: u64 = 2048;
/// Buckets of each further width.
const HALF: usize = 1024;
const HALF_BITS: u32 = 10;
/// All buckets from 1 ns to an hour.
const BUCKETS: usize = 33 * HALF;
/// Buckets that are allocated together.
const PAGE: usize = 256;

/// Memory of a page of [`Samples`].
pub const PAGE_BYTES: usize = PAGE * size_of::<u64>();

/// How many samples fell into which bucket.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    pages: Vec<Option<Box<[u64; PAGE]>>>,
    held: usize,
    count: u64,
}

impl Samples {
    /// Adds `count` samples of a value; one of more than an hour counts as an hour.
    pub fn add(&mut self, value: u64, count: u64) {
        let bucket = bucket_index(value.min(LONGEST_NS));
        let (page, slot) = (bucket / PAGE, bucket % PAGE);
        if self.pages.len() <= page {
            self.pages.resize(page + 1, None);
        }
        let page = self.pages[page].get_or_insert_with(|| {
            self.held += 1;
            Box::new([0; PAGE])
        });
        page[slot] = page[slot].saturating_add(count);
        self.count = self.count.saturating_add(count);
    }

    /// Adds samples as [`crate::hlog::Interval::counts`] and [`Samples::iter`] give them.
    pub fn add_all(&mut self, counts: impl IntoIterator<Item = (u64, u64)>) {
        counts.into_iter().for_each(|(value, count)| self.add(value, count));
    }

    /// The buckets that something fell into: their upper ends, rising, and how many.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let pages = self.pages.iter().enumerate();
        let pages =
            pages.filter_map(|(page_number, page)| Some((page_number * PAGE, page.as_ref()?)));
        pages.flat_map(|(first, page)| {
            let filled = page.iter().enumerate().filter(|(_, count)| **count > 0);
            filled.map(move |(page_number, count)| (bucket_highest(first + page_number), *count))
        })
    }

    /// Returns the number of samples.
    pub fn len(&self) -> u64 {
        self.count
    }

    /// Whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the number of allocated pages, of [`PAGE_BYTES`] each.
    pub fn pages(&self) -> usize {
        self.held
    }

    /// Adds the samples to a library's histogram with the record's bounds, which computes
    /// percentiles.
    pub fn add_to(&self, histogram: &mut Histogram<u64>) {
        self.iter().for_each(|(value, count)| histogram.saturating_record_n(value, count));
    }

    /// Returns the samples as a library's histogram.
    pub fn histogram(&self) -> Histogram<u64> {
        let mut histogram = histogram();
        self.add_to(&mut histogram);
        histogram
    }
}

/// The bucket of a value.
fn bucket_index(value: u64) -> usize {
    let doublings = (u64::BITS - (value | (EXACT - 1)).leading_zeros()) - (HALF_BITS + 1);
    ((doublings as usize) << HALF_BITS) + (value >> doublings) as usize
}

/// The largest value of a bucket.
fn bucket_highest(index: usize) -> u64 {
    let doublings = (index >> HALF_BITS).saturating_sub(1);
    let position = (index - (doublings << HALF_BITS)) as u64;
    ((position + 1) << doublings) - 1
}

/// Reads encoded histograms, one after the other, with the same buffers.
pub struct Decoder {
    inflate: Decompress,
    packed: Vec<u8>,
    plain: Vec<u8>,
}

/// First word of the encoding's second version, plain and deflated.
const COOKIE: u32 = 0x1c84_9313;
const COOKIE_DEFLATED: u32 = 0x1c84_9314;
/// Bytes of the header: cookie, length, offset, digits, lowest, highest, ratio.
const HEADER: usize = 40;
/// Bytes of one number at most.
const NUMBER: usize = 9;

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder {
    /// Creates a decoder.
    pub fn new() -> Self {
        let plain = vec![0; HEADER + BUCKETS * NUMBER];
        Self { inflate: Decompress::new(true), packed: Vec::new(), plain }
    }

    /// Decodes a histogram in base64: the upper end and the count of each filled bucket.
    pub fn read(&mut self, text: &str) -> Result<Vec<(u64, u64)>, String> {
        self.packed.clear();
        let base64 = base64::engine::general_purpose::STANDARD;
        base64.decode_vec(text, &mut self.packed).map_err(|error| error.to_string())?;
        if read_u32(&self.packed, 0) != Some(COOKIE_DEFLATED) {
            return Err("not a deflated histogram of version 2".to_owned());
        }
        self.inflate.reset(true);
        let packed = self.packed.get(8..).unwrap_or_default();
        let ended = self.inflate.decompress(packed, &mut self.plain, FlushDecompress::Finish);
        match ended.map_err(|error| error.to_string())? {
            Status::StreamEnd => {}
            _ => return Err("truncated or too long histogram".to_owned()),
        }
        let length = self.inflate.total_out() as usize;
        numbers(&self.plain[..length])
    }
}

fn read_u32(bytes: &[u8], offset: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(offset..offset + 4)?.try_into().ok()?))
}

/// Reads what a record's writer wrote: 3 digits from 1 on. The highest value in the header is not
/// needed.
fn numbers(plain: &[u8]) -> Result<Vec<(u64, u64)>, String> {
    let (cookie, length) = (read_u32(plain, 0), read_u32(plain, 4).unwrap_or(0) as usize);
    let lowest = read_u32(plain, 16).zip(read_u32(plain, 20));
    if cookie != Some(COOKIE) || read_u32(plain, 8) != Some(0) {
        return Err("not a histogram of version 2".to_owned());
    }
    if read_u32(plain, 12) != Some(u32::from(SIGNIFICANT_DIGITS)) || lowest != Some((0, 1)) {
        return Err("expected a histogram of three digits from 1 on".to_owned());
    }
    let body = plain.get(HEADER..).unwrap_or_default();
    let mut body = body.get(..length).ok_or("truncated histogram")?;
    let (mut counts, mut index) = (Vec::new(), 0_usize);
    while !body.is_empty() {
        let (number, rest) = number(body).ok_or("truncated histogram")?;
        body = rest;
        if number < 0 {
            index = index.saturating_add(number.unsigned_abs() as usize);
            continue;
        }
        if number > 0 {
            if index >= BUCKETS {
                return Err("a histogram with times above an hour".to_owned());
            }
            counts.push((bucket_highest(index), number as u64));
        }
        index = index.saturating_add(1);
    }
    Ok(counts)
}

/// A number of 1 to 9 bytes, seven bits each and the ninth eight, its sign in the lowest bit.
fn number(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let mut value = 0_u64;
    for byte_index in 0..NUMBER {
        let byte = *bytes.get(byte_index)?;
        let last = byte_index == NUMBER - 1;
        value |= u64::from(if last { byte } else { byte & 0x7f }) << (7 * byte_index);
        if last || byte & 0x80 == 0 {
            let number = (value >> 1) as i64 ^ -((value & 1) as i64);
            return Some((number, &bytes[byte_index + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hlog;

    /// Values at every edge of every width, and between.
    fn values() -> impl Iterator<Item = u64> {
        let edges = (0..42).flat_map(|bits| {
            let edge = 1_u64 << bits;
            [edge - 1, edge, edge + 1, edge + edge / 3, edge + edge / 1024]
        });
        edges.chain([LONGEST_NS]).filter(|value| *value <= LONGEST_NS)
    }

    #[test]
    fn buckets_are_those_of_the_library() {
        let histogram = histogram();
        assert_eq!(histogram.distinct_values(), BUCKETS);
        for value in values() {
            let highest = histogram.highest_equivalent(value);
            assert_eq!(bucket_highest(bucket_index(value)), highest, "{value}");
        }
        assert!(bucket_index(LONGEST_NS) < BUCKETS);
    }

    #[test]
    fn samples_become_the_same_histogram() {
        let (mut samples, mut library) = (Samples::default(), histogram());
        for (n, value) in values().enumerate() {
            samples.add(value, n as u64 + 1);
            library.record_n(value, n as u64 + 1).unwrap();
        }
        assert_eq!(samples.histogram(), library);
        assert_eq!(samples.len(), library.len());
        let mut again = Samples::default();
        again.add_all(samples.iter());
        assert_eq!(again.histogram(), library);
        let mut decoder = Decoder::new();
        let counts = decoder.read(&hlog::to_text(&library).unwrap()).unwrap();
        assert_eq!(counts, samples.iter().collect::<Vec<_>>());
    }

    #[test]
    fn few_values_take_little_memory() {
        let mut samples = Samples::default();
        (1000..1100).for_each(|value| samples.add(value * 100, 1_000_000));
        assert!(samples.pages() <= 2, "{}", samples.pages());
        samples.add(u64::MAX, 1);
        assert_eq!(samples.iter().last().map(|(_, count)| count), Some(1));
        assert_eq!((samples.pages(), samples.len()), (2, 100_000_001));
    }

    #[test]
    fn what_is_no_histogram_of_a_record_is_refused() {
        use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};
        let mut decoder = Decoder::new();
        let mut encoded = |histogram: &Histogram<u64>| {
            let mut bytes = Vec::new();
            V2DeflateSerializer::new().serialize(histogram, &mut bytes).unwrap();
            decoder.read(&base64::engine::general_purpose::STANDARD.encode(bytes))
        };
        let finer = Histogram::new_with_bounds(1, 1000, 5).unwrap();
        assert!(encoded(&finer).unwrap_err().contains("of three digits"));
        let mut wider = Histogram::new_with_bounds(1, u64::MAX / 2, 3).unwrap();
        assert_eq!(encoded(&wider), Ok(Vec::new()), "of the same precision");
        wider.record(1 << 50).unwrap();
        assert!(encoded(&wider).unwrap_err().contains("above an hour"));
        for text in ["?", "", "AAAA", "HISTFAAAAAA="] {
            assert!(decoder.read(text).is_err(), "{text}");
        }
        let whole = hlog::to_text(&histogram()).unwrap();
        for cut in (4..whole.len()).step_by(4) {
            assert!(decoder.read(&whole[..cut]).is_err(), "{cut}");
        }
    }
}
