//! Values: bytes that compress as the suite sets, with an optional header of key, version and
//! checksum.
//!
//! Values without a header are slices of one pool made before the clock starts, so a write costs
//! the load generator no copying. The pool is walked round and round, never from the same offset.

use crate::rng::Rng;
use kvdyno_engine::Session;
use kvdyno_record::workload::{Size, ValueShape};
use pool::{POOL_BYTES, compressible_bytes};
use std::sync::Arc;
use twox_hash::XxHash3_64;

mod pool;

/// Bytes of a header: key number, version, checksum.
pub(crate) const HEADER_BYTES: usize = 16;

/// Makes values for one thread.
#[derive(Clone, Debug)]
pub(crate) struct Values {
    pool: Arc<[u8]>,
    size: Size,
    longest: u64,
    cursor: usize,
    verify: bool,
}

/// The place of a prepared value: in the pool, or in the block's own bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ValueAt {
    pub(crate) start: usize,
    pub(crate) bytes: usize,
}

impl Values {
    #[cfg(test)]
    pub(crate) fn new(shape: &ValueShape, verify: bool, seed: u64) -> Self {
        Self::with_longest(shape.size.max(), shape, verify, seed)
    }

    /// Values without headers: drawn values have 20 bytes, others at most `longest`.
    #[cfg(test)]
    pub(crate) fn without_headers(longest: u64) -> Self {
        let shape = ValueShape { size: Size::Fixed { bytes: 20 }, compress_to: 1.0 };
        Self::with_longest(longest, &shape, false, 1)
    }

    /// Values of `shape`; values that are requested by their lengths may be as long as `longest`.
    pub(crate) fn with_longest(longest: u64, shape: &ValueShape, verify: bool, seed: u64) -> Self {
        let longest = longest.max(shape.size.max());
        let pool = compressible_bytes(POOL_BYTES + longest as usize, shape, seed);
        Self { pool: pool.into(), size: shape.size.clone(), longest, cursor: 0, verify }
    }

    /// The same pool for another thread, begun elsewhere.
    pub(crate) fn for_thread(&self, rng: &mut Rng) -> Self {
        Self { cursor: rng.below(POOL_BYTES as u64) as usize, ..self.clone() }
    }

    /// The bytes of the longest value.
    pub(crate) fn bytes_max(&self) -> u64 {
        self.longest
    }

    /// The bytes that [`ValueAt`] points into, given a block's own.
    #[inline]
    pub(crate) fn bytes<'b>(&'b self, arena: &'b [u8]) -> &'b [u8] {
        if self.verify { arena } else { &self.pool }
    }

    /// Prepares a value for key `number`.
    #[inline]
    pub(crate) fn prepare(
        &mut self,
        number: u64,
        version: u32,
        rng: &mut Rng,
        arena: &mut Vec<u8>,
    ) -> ValueAt {
        let bytes = self.draw_size(rng) as usize;
        self.cut(number, version, bytes, arena)
    }

    /// Prepares a value of `bytes` bytes; 0 stands for an unknown length, which is drawn. Each
    /// value has room for a header.
    pub(crate) fn prepare_long(
        &mut self,
        number: u64,
        version: u32,
        bytes: u64,
        rng: &mut Rng,
        arena: &mut Vec<u8>,
    ) -> ValueAt {
        let bytes = if bytes == 0 { self.draw_size(rng) } else { bytes.min(self.longest) };
        let least = if self.verify { HEADER_BYTES } else { 0 };
        self.cut(number, version, (bytes as usize).max(least), arena)
    }

    #[inline]
    fn cut(&mut self, number: u64, version: u32, bytes: usize, arena: &mut Vec<u8>) -> ValueAt {
        if self.cursor >= POOL_BYTES {
            self.cursor %= POOL_BYTES;
        }
        let start = self.cursor;
        self.cursor += bytes.max(1);
        if !self.verify {
            return ValueAt { start, bytes };
        }
        let begin = arena.len();
        arena.extend_from_slice(&self.pool[start..start + bytes]);
        seal(&mut arena[begin..], number, version);
        ValueAt { start: begin, bytes }
    }

    #[inline]
    fn draw_size(&self, rng: &mut Rng) -> u64 {
        match self.size {
            Size::Fixed { bytes } => bytes,
            ref size => draw(size, rng),
        }
    }
}

/// Draws a length from its distribution.
pub(crate) fn draw(size: &Size, rng: &mut Rng) -> u64 {
    match *size {
        Size::Fixed { bytes } => bytes,
        Size::Uniform { min, max } => min + rng.below(max - min + 1),
        _ => size.quantile(rng.unit()),
    }
}

/// Writes the header over the first bytes of a value.
pub(crate) fn seal(value: &mut [u8], number: u64, version: u32) {
    value[..8].copy_from_slice(&number.to_le_bytes());
    value[8..12].copy_from_slice(&version.to_le_bytes());
    let sum = checksum(value);
    value[12..HEADER_BYTES].copy_from_slice(&sum.to_le_bytes());
}

/// Whether a value is whole and belongs to key `number`.
pub(crate) fn is_sound(value: &[u8], number: u64) -> bool {
    value.len() >= HEADER_BYTES
        && value[..8] == number.to_le_bytes()
        && value[12..HEADER_BYTES] == checksum(value).to_le_bytes()
}

/// The version in a sound value.
pub(crate) fn parse_version(value: &[u8]) -> u32 {
    u32::from_le_bytes([value[8], value[9], value[10], value[11]])
}

/// The checksum of key, version and body, without the place of the checksum itself.
fn checksum(value: &[u8]) -> u32 {
    let head = u64::from_le_bytes([
        value[0], value[1], value[2], value[3], value[8], value[9], value[10], value[11],
    ]);
    let body = XxHash3_64::oneshot_with_seed(head, &value[HEADER_BYTES..]);
    let high = u64::from(u32::from_le_bytes([value[4], value[5], value[6], value[7]]));
    (body ^ (body >> 32) ^ high) as u32
}

/// Reads one word of every cache line of `value`, so that no engine is credited for bytes that were
/// never fetched.
#[inline]
pub(crate) fn touch(value: &[u8]) -> u64 {
    let mut sum = u64::from(value.last().copied().unwrap_or_default());
    let mut offset = 0;
    while offset + 8 <= value.len() {
        let word: [u8; 8] = [
            value[offset],
            value[offset + 1],
            value[offset + 2],
            value[offset + 3],
            value[offset + 4],
            value[offset + 5],
            value[offset + 6],
            value[offset + 7],
        ];
        sum ^= u64::from_le_bytes(word);
        offset += 64;
    }
    sum
}

/// Reads a value that the engine has shown, unless it has been read.
#[inline]
pub(crate) fn fetch<S: Session>(value: &[u8]) -> u64 {
    if S::SHOWS_READ_BYTES { 0 } else { touch(value) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_record::workload::Over;

    fn shape(bytes: u64, compress_to: f64) -> ValueShape {
        ValueShape { size: Size::Fixed { bytes }, compress_to }
    }

    #[test]
    fn a_sealed_value_tells_any_damage() {
        let mut values = Values::new(&shape(40, 1.0), true, 1);
        let (mut rng, mut arena) = (Rng::new(&[1]), vec![0xaa; 3]);
        let stored = values.prepare(7 << 40, 3, &mut rng, &mut arena);
        let value = &values.bytes(&arena)[stored.start..][..stored.bytes];
        assert!(is_sound(value, 7 << 40));
        assert!(!is_sound(value, 8 << 40), "another key's value");
        assert!(!is_sound(&value[..39], 7 << 40), "cut short");
        for bit in 0..40 * 8 {
            let mut flipped = value.to_vec();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(!is_sound(&flipped, 7 << 40), "bit {bit}");
        }
    }

    #[test]
    fn a_value_without_a_header_is_not_copied() {
        let mut values = Values::new(&shape(100, 0.5), false, 1);
        let (mut rng, mut arena) = (Rng::new(&[1]), Vec::new());
        let (a, b) = (
            values.prepare(1, 0, &mut rng, &mut arena),
            values.prepare(2, 0, &mut rng, &mut arena),
        );
        assert_eq!((b.start, b.bytes), (a.start + 100, 100));
        assert!(arena.is_empty());
    }

    /// Checks the mean to six of its deviations, and chi-square against evenly spaced quantiles.
    /// The shapes themselves are checked against closed forms where they are defined.
    #[test]
    fn drawn_sizes_have_the_planned_mean_and_shape() {
        const DRAWS: u32 = 400_000;
        let (location, over) = (0.0, Over::Fold);
        let sizes = [
            Size::Uniform { min: 10, max: 30 },
            Size::Normal { mean: 100.0, sigma: 20.0, min: 40, max: 160 },
            Size::Lognormal { median: 128, sigma: 1.0, max: 1 << 20 },
            Size::Geometric { p: 0.382, min: 2, max: 128 },
            Size::Pareto { min: 10, k: 0.2615, sigma: 25.45, max: 1024, location, over },
            Size::Pareto { min: 1, k: 2.517, sigma: 14.236, max: 10_000, location, over },
            Size::Pareto { min: 1, k: 0.3, sigma: 50.0, max: 90, location, over: Over::Clamp },
            Size::empirical(&[(10, 3.0), (4_000, 1.0), (77, 0.5)]),
        ];
        for size in sizes {
            let mut rng = Rng::new(&[4]);
            let mut lengths: Vec<u64> = (0..DRAWS).map(|_| draw(&size, &mut rng)).collect();
            let draws = f64::from(DRAWS);
            let mean = lengths.iter().sum::<u64>() as f64 / draws;
            let variance =
                lengths.iter().map(|bytes| (*bytes as f64 - mean).powi(2)).sum::<f64>() / draws;
            let (planned, sigma) = (size.mean(), (variance / draws).sqrt());
            // The planned mean of a folded distribution is itself a sum of 100,000 quantiles.
            let exact = if size.max() == 10_000 { 3.0 * sigma } else { 0.0 };
            assert!((mean - planned).abs() < 6.0 * sigma + exact, "{size:?}: {mean}, {planned}");
            lengths.sort_unstable();
            let even = quantiles(&size);
            let up_to = |lengths: &[u64], edge| {
                lengths.partition_point(|bytes| *bytes <= edge) as f64 / lengths.len() as f64
            };
            let (mut below, mut chi, mut cells) = ((0.0, 0.0), 0.0, 0.0);
            for edge in (1..=20).map(|cell| even[cell * even.len() / 20 - 1]) {
                let (actual, expected) = (up_to(&lengths, edge), up_to(&even, edge));
                if expected > below.1 {
                    let expected_in_bin = expected - below.1;
                    chi += draws * (actual - below.0 - expected_in_bin).powi(2) / expected_in_bin;
                    cells += 1.0;
                    below = (actual, expected);
                }
            }
            assert!(chi < cells + 6.0 * f64::sqrt(2.0 * cells), "{size:?}: {chi} of {cells}");
        }
    }

    /// A million evenly spaced quantiles.
    fn quantiles(size: &Size) -> Vec<u64> {
        let quantile = |i: u32| size.quantile((f64::from(i) + 0.5) / 1e6);
        let mut even: Vec<u64> = (0..1_000_000).map(quantile).collect();
        even.sort_unstable();
        even
    }

    /// Otherwise storage that deduplicates blocks would hold only four megabytes of any data set.
    #[test]
    fn no_value_of_a_gigabyte_repeats() {
        for bytes in [100, 4096] {
            let mut values = Values::new(&shape(bytes, 1.0), false, 1);
            let (mut rng, mut arena) = (Rng::new(&[1]), Vec::new());
            let mut starts: Vec<usize> = (0..(1 << 30) / bytes.max(4096))
                .map(|number| values.prepare(number, 0, &mut rng, &mut arena).start)
                .collect();
            let all = starts.len();
            starts.sort_unstable();
            starts.dedup();
            assert_eq!(starts.len(), all, "{bytes} bytes");
        }
    }

    #[test]
    fn every_cache_line_is_touched() {
        let mut value = vec![0u8; 4000];
        let before = touch(&value);
        for line in (0..4000 - 8).step_by(64) {
            value[line] ^= 1;
            assert_ne!(touch(&value), before, "line at {line}");
            value[line] ^= 1;
        }
        value[3999] ^= 1;
        assert_ne!(touch(&value), before, "the end");
    }
}
