//! The bytes that values are cut from: random runs and runs of zeros in turn.
//!
//! A value may begin anywhere in them, and its neighbours in an engine's block may come from
//! anywhere else. So the share of zeros does not depend on the offset: runs of zeros compress
//! wherever they are cut, where a repetition compresses only beside what it repeats.

use crate::rng::Rng;
use kvdyno_record::workload::ValueShape;

/// The size of the pool: larger than the block or window of any engine's compression by default. It
/// is a prime, so that values of one length begin at every offset before one comes back, after 16
/// GiB of 4 KiB each. Values without a copy cannot do more: there are no more offsets to begin at.
pub(super) const POOL_BYTES: usize = 4_194_301;

/// The length of a random run and the zeros behind it. It is long, because compressors differ in
/// what the end of a run costs; four fit in a block of 4 KiB. It is a prime, so that values of one
/// length have every share of zeros.
const PERIOD_BYTES: usize = 1021;

/// The bytes that a compressor writes for a run of zeros: `zstd` 2 to 3, LZ4 6, and its own header.
const RUN_COST_BYTES: f64 = 8.0;

/// The bytes that a cut through a run costs: the mean of loads in key order (none) and in random
/// order.
const CUT_COST_BYTES: f64 = 2.25;

/// Makes bytes that compress to `shape.compress_to` of their length, in blocks of values of any
/// order.
pub(super) fn compressible_bytes(bytes: usize, shape: &ValueShape, seed: u64) -> Vec<u8> {
    let mut rng = Rng::new(&[seed, 0x706f_6f6c]);
    let random = random_bytes_per_period(shape);
    let mut pool = Vec::with_capacity(bytes + PERIOD_BYTES + 8);
    while pool.len() < bytes {
        let begin = pool.len();
        while pool.len() < begin + random {
            pool.extend_from_slice(&rng.next().to_le_bytes());
        }
        pool.truncate(begin + random);
        pool.resize(begin + PERIOD_BYTES, 0);
    }
    pool.truncate(bytes);
    pool
}

/// The random bytes in a period: less than the requested share, by what the compressor adds.
fn random_bytes_per_period(shape: &ValueShape) -> usize {
    let (period, share) = (PERIOD_BYTES as f64, shape.compress_to);
    if share >= 1.0 {
        return PERIOD_BYTES;
    }
    // Values from different places add a run where zeros are cut off from zeros.
    let boundaries = period / shape.size.mean().max(1.0);
    let cuts = boundaries * share * (1.0 - share);
    let added = RUN_COST_BYTES + CUT_COST_BYTES * cuts;
    (period * share - added).round().max(1.0) as usize
}

#[cfg(test)]
mod tests {
    use super::super::Values;
    use super::*;
    use crate::bijection::Bijection;
    use kvdyno_record::workload::Size;

    /// Lays values out as an engine does: one pass, in the order of loading or of hashed keys.
    fn laid_out(bytes: u64, compress_to: f64, seed: u64, random: bool) -> Vec<u8> {
        let shape = ValueShape { size: Size::Fixed { bytes }, compress_to };
        let mut rng = Rng::new(&[seed, 3]);
        let mut values = Values::new(&shape, false, seed).for_thread(&mut rng);
        let count = (512 << 10) / bytes;
        let mut start = |number| values.prepare(number, 0, &mut rng, &mut Vec::new()).start;
        let starts: Vec<usize> = (0..count).map(&mut start).collect();
        let order = Bijection::new(count, seed);
        let index = |place| if random { order.permute(place) } else { place };
        let value = |place| &values.bytes(&[])[starts[index(place) as usize]..][..bytes as usize];
        (0..count).flat_map(|place| value(place).to_vec()).collect()
    }

    /// The ratio of compressed bytes to bytes of blocks.
    fn share(data: &[u8], block: usize, compress: impl Fn(&[u8]) -> usize) -> f64 {
        let blocks = data.chunks_exact(block);
        let all = blocks.len() * block;
        blocks.map(compress).sum::<usize>() as f64 / all as f64
    }

    fn zstd_bytes(block: &[u8]) -> usize {
        zstd::bulk::compress(block, 1).unwrap().len()
    }

    fn lz4_bytes(block: &[u8]) -> usize {
        lz4_flex::block::compress(block).len()
    }

    /// Regression test: values of 50 bytes in random order compressed to twice what was asked for.
    #[test]
    fn values_compress_as_asked_in_any_order() {
        let mut off = Vec::new();
        for bytes in [50, 100, 400, 1000, 4096] {
            for compress_to in [0.25, 0.5, 0.75, 1.0] {
                for (seed, random) in [(1, false), (2, false), (3, true), (4, true)] {
                    let data = laid_out(bytes, compress_to, seed, random);
                    for block in [4 << 10, 16 << 10, 64 << 10] {
                        let zstd = share(&data, block, zstd_bytes) / compress_to - 1.0;
                        let lz4 = share(&data, block, lz4_bytes) / compress_to - 1.0;
                        // LZ4 has no codes below a byte, and a cut in 12 bytes costs it 4.
                        let small = bytes <= 100 && compress_to < 0.3;
                        let lz4_max = if small { 0.09 } else { 0.05 };
                        if zstd.abs() > 0.05 || lz4.abs() > lz4_max {
                            off.push(format!(
                                "{bytes} bytes to {compress_to}, random order {random}, blocks of \
                                 {block}: zstd {:+.1} %, LZ4 {:+.1} %",
                                100.0 * zstd,
                                100.0 * lz4
                            ));
                        }
                    }
                }
            }
        }
        assert!(off.is_empty(), "{}", off.join("\n"));
    }

    /// Lengths that are drawn: each value has its share of zeros in the mean.
    #[test]
    fn drawn_lengths_compress_as_asked() {
        let size = Size::Uniform { min: 20, max: 400 };
        let shape = ValueShape { size, compress_to: 0.5 };
        let mut values = Values::new(&shape, false, 5);
        let (mut rng, mut arena) = (Rng::new(&[5]), Vec::new());
        let mut cuts = Vec::new();
        for number in 0..4_000 {
            cuts.push(values.prepare(number, 0, &mut rng, &mut arena));
        }
        let order = Bijection::new(cuts.len() as u64, 5);
        let value = |place: usize| {
            let cut = cuts[order.permute(place as u64) as usize];
            values.bytes(&[])[cut.start..][..cut.bytes].to_vec()
        };
        let data: Vec<u8> = (0..cuts.len()).flat_map(value).collect();
        for block in [4 << 10, 64 << 10] {
            let share = share(&data, block, zstd_bytes);
            assert!((share / 0.5 - 1.0).abs() < 0.05, "blocks of {block}: {share}");
        }
    }
}
