//! The bytes of a drive, most of which were never written and are zeros. A copy shares all blocks
//! with its original until one of them is written.

use std::collections::HashMap;
use std::sync::Arc;

pub(crate) const BLOCK: usize = 4096;

/// The contents of a drive.
#[derive(Clone, Debug, Default)]
pub(crate) struct Image(HashMap<u64, Arc<[u8; BLOCK]>>);

impl Image {
    pub(crate) fn write(&mut self, mut offset: u64, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (number, within) = (offset / BLOCK as u64, (offset % BLOCK as u64) as usize);
            let (piece, rest) = bytes.split_at(bytes.len().min(BLOCK - within));
            let blank = !self.0.contains_key(&number) && piece.iter().all(|&byte| byte == 0);
            if !blank {
                let block = self.0.entry(number).or_insert_with(|| Arc::new([0; BLOCK]));
                Arc::make_mut(block)[within..within + piece.len()].copy_from_slice(piece);
            }
            (offset, bytes) = (offset + piece.len() as u64, rest);
        }
    }

    /// Sets bytes to zero, as a hole is read. Blocks that are wholly within it are forgotten.
    pub(crate) fn clear(&mut self, offset: u64, length: u64) {
        const ZEROS: [u8; BLOCK] = [0; BLOCK];
        let end = offset + length;
        let inner = offset.div_ceil(BLOCK as u64)..end / BLOCK as u64;
        if inner.is_empty() {
            for from in (offset..end).step_by(BLOCK) {
                self.write(from, &ZEROS[..(end - from).min(BLOCK as u64) as usize]);
            }
            return;
        }
        self.0.retain(|number, _| !inner.contains(number));
        self.write(offset, &ZEROS[..(inner.start * BLOCK as u64 - offset) as usize]);
        let tail = inner.end * BLOCK as u64;
        self.write(tail, &ZEROS[..(end - tail) as usize]);
    }

    pub(crate) fn read(&self, mut offset: u64, bytes: &mut [u8]) {
        let mut unread = bytes;
        while !unread.is_empty() {
            let (number, within) = (offset / BLOCK as u64, (offset % BLOCK as u64) as usize);
            let (piece, rest) = unread.split_at_mut(unread.len().min(BLOCK - within));
            match self.0.get(&number) {
                Some(block) => piece.copy_from_slice(&block[within..within + piece.len()]),
                None => piece.fill(0),
            }
            (offset, unread) = (offset + piece.len() as u64, rest);
        }
    }

    /// Returns the blocks that are stored, with their offsets; all others are zeros.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.0.iter().map(|(number, block)| (number * BLOCK as u64, block.as_slice()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the image with an array, whatever is written, cleared and copied.
    #[test]
    fn it_is_an_array_that_is_copied_cheaply() {
        const BYTES: usize = 5 * BLOCK;
        let mut draw = crate::Draw::new(&[1]);
        let (mut image, mut array) = (Image::default(), vec![0; BYTES]);
        let mut copies = Vec::new();
        for step in 0..400 {
            let offset = draw.below(BYTES);
            let length = draw.below(2 * BLOCK).min(BYTES - offset);
            if draw.below(4) == 0 {
                image.clear(offset as u64, length as u64);
                array[offset..offset + length].fill(0);
            } else {
                let bytes = vec![step as u8; length];
                image.write(offset as u64, &bytes);
                array[offset..offset + length].copy_from_slice(&bytes);
            }
            if step % 100 == 0 {
                copies.push((image.clone(), array.clone()));
            }
        }
        copies.push((image, array));
        for (image, array) in copies {
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
