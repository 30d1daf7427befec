//! The bytes of a drive, most of which are zeros that nobody ever wrote. A copy shares all blocks
//! with what it was copied from until one of them is written.

use std::collections::HashMap;
use std::sync::Arc;

const BLOCK: usize = 4096;

/// What a drive holds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Image(HashMap<u64, Arc<[u8; BLOCK]>>);

impl Image {
    pub(crate) fn write(&mut self, mut at: u64, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (number, within) = (at / BLOCK as u64, (at % BLOCK as u64) as usize);
            let (piece, rest) = bytes.split_at(bytes.len().min(BLOCK - within));
            let blank = !self.0.contains_key(&number) && piece.iter().all(|&byte| byte == 0);
            if !blank {
                let block = self.0.entry(number).or_insert_with(|| Arc::new([0; BLOCK]));
                Arc::make_mut(block)[within..within + piece.len()].copy_from_slice(piece);
            }
            (at, bytes) = (at + piece.len() as u64, rest);
        }
    }

    /// Zeros, as a hole is read. Blocks that are wholly within it are forgotten.
    pub(crate) fn clear(&mut self, at: u64, length: u64) {
        const ZEROS: [u8; BLOCK] = [0; BLOCK];
        let end = at + length;
        let inner = at.div_ceil(BLOCK as u64)..end / BLOCK as u64;
        if inner.is_empty() {
            for from in (at..end).step_by(BLOCK) {
                self.write(from, &ZEROS[..(end - from).min(BLOCK as u64) as usize]);
            }
            return;
        }
        self.0.retain(|number, _| !inner.contains(number));
        self.write(at, &ZEROS[..(inner.start * BLOCK as u64 - at) as usize]);
        let tail = inner.end * BLOCK as u64;
        self.write(tail, &ZEROS[..(end - tail) as usize]);
    }

    pub(crate) fn read(&self, mut at: u64, bytes: &mut [u8]) {
        let mut left = bytes;
        while !left.is_empty() {
            let (number, within) = (at / BLOCK as u64, (at % BLOCK as u64) as usize);
            let (piece, rest) = left.split_at_mut(left.len().min(BLOCK - within));
            match self.0.get(&number) {
                Some(block) => piece.copy_from_slice(&block[within..within + piece.len()]),
                None => piece.fill(0),
            }
            (at, left) = (at + piece.len() as u64, rest);
        }
    }

    /// Its blocks that are not zeros alone, with where they lie.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.0.iter().map(|(number, block)| (number * BLOCK as u64, block.as_slice()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against an array: whatever is written, cleared and copied.
    #[test]
    fn it_is_an_array_that_is_copied_cheaply() {
        const BYTES: usize = 5 * BLOCK;
        let mut draw = crate::Draw::new(&[1]);
        let (mut image, mut array) = (Image::default(), vec![0; BYTES]);
        let mut kept = Vec::new();
        for step in 0..400 {
            let at = draw.below(BYTES);
            let length = draw.below(2 * BLOCK).min(BYTES - at);
            if draw.below(4) == 0 {
                image.clear(at as u64, length as u64);
                array[at..at + length].fill(0);
            } else {
                let bytes = vec![step as u8; length];
                image.write(at as u64, &bytes);
                array[at..at + length].copy_from_slice(&bytes);
            }
            if step % 100 == 0 {
                kept.push((image.clone(), array.clone()));
            }
        }
        kept.push((image, array));
        for (image, array) in kept {
            let mut read = vec![1; BYTES];
            image.read(0, &mut read);
            assert!(read == array);
            let mut part = vec![1; 5000];
            image.read(3000, &mut part);
            assert!(part == array[3000..8000]);
        }
    }

    #[test]
    fn zeros_take_no_room() {
        let mut image = Image::default();
        image.write(0, &[0; 4 * BLOCK]);
        assert_eq!(image.blocks().count(), 0);
        image.write(10 * BLOCK as u64, &[1; 2 * BLOCK]);
        image.clear(0, 100 * BLOCK as u64);
        assert_eq!(image.blocks().count(), 0);
    }
}
