//! The data of nodes and links: chunks of random or of repeated bytes.

use crate::rng::Rng;
use std::ops::RangeInclusive;

/// The length of a chunk, if the buffer is as long.
const CHUNK: usize = 128;

/// Makes the data of one thread, as `LinkBench`'s `MotifDataGenerator` does.
#[derive(Debug)]
pub(super) struct Motifs {
    bytes: RangeInclusive<u8>,
    /// The share of chunks that are new bytes.
    new: f64,
    buffer: Vec<u8>,
}

impl Motifs {
    /// The generator for links.
    pub(super) fn for_links(buffer: u32, rng: &mut Rng) -> Self {
        Self::new(32..=100, 0.225, buffer, rng)
    }

    /// The generator for nodes.
    pub(super) fn for_nodes(buffer: u32, rng: &mut Rng) -> Self {
        Self::new(50..=220, 0.63, buffer, rng)
    }

    fn new(bytes: RangeInclusive<u8>, new: f64, buffer: u32, rng: &mut Rng) -> Self {
        let mut generator = Self { bytes, new, buffer: Vec::new() };
        let mut motifs = Vec::new();
        generator.random(buffer as usize, rng, &mut motifs);
        generator.buffer = motifs;
        generator
    }

    /// Appends `length` bytes.
    pub(super) fn fill(&self, length: usize, rng: &mut Rng, out: &mut Vec<u8>) {
        let chunk = CHUNK.min(self.buffer.len());
        let mut bytes_left = length;
        while bytes_left > 0 {
            let now = chunk.min(bytes_left);
            if rng.unit() < self.new {
                self.random(now, rng, out);
            } else {
                let begin = rng.below((self.buffer.len() - now + 1) as u64) as usize;
                out.extend_from_slice(&self.buffer[begin..begin + now]);
            }
            bytes_left -= now;
        }
    }

    /// Appends random bytes, four from each random number.
    fn random(&self, length: usize, rng: &mut Rng, out: &mut Vec<u8>) {
        let (first, last) = (*self.bytes.start(), *self.bytes.end());
        let range = u64::from(last - first) + 1;
        let mut bytes_left = length;
        while bytes_left > 0 {
            let number = rng.next();
            for part in 0..bytes_left.min(4) {
                // 16 bits: off by less than a part in 300.
                let bits = number >> (16 * part) & 0xffff;
                out.push(first + ((bits * range) >> 16) as u8);
            }
            bytes_left -= bytes_left.min(4);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn bytes_are_those_of_their_range_and_come_again_as_often_as_is_said() {
        let mut rng = Rng::new(&[3]);
        let links = Motifs::for_links(512, &mut rng);
        let mut out = Vec::new();
        links.fill(1_000_000, &mut rng, &mut out);
        assert_eq!(out.len(), 1_000_000);
        let mut counts = BTreeMap::<u8, u32>::new();
        for byte in &out {
            *counts.entry(*byte).or_default() += 1;
        }
        assert_eq!(counts.keys().copied().collect::<Vec<_>>(), (32..=100).collect::<Vec<_>>());
        let again = out
            .chunks(CHUNK)
            .filter(|chunk| links.buffer.windows(chunk.len()).any(|window| window == *chunk));
        let share = again.count() as f64 / (1_000_000.0 / CHUNK as f64);
        assert!((share - 0.775).abs() < 0.02, "{share}");
        out.clear();
        Motifs::for_nodes(128, &mut rng).fill(1, &mut rng, &mut out);
        assert!(out.len() == 1 && (50..=220).contains(&out[0]));
    }
}
