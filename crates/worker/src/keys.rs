//! Key numbers as bytes, in either notation, without a branch per digit.

#![expect(
    clippy::inline_always,
    reason = "each is a part of one loop, and shows in ns per operation"
)]

use kvdyno_record::workload::{Key, KeyFormat};

/// Writes keys of one length and notation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyWriter {
    format: KeyFormat,
    bytes: usize,
}

impl KeyWriter {
    pub(crate) fn new(key: &Key) -> Self {
        Self { format: key.format, bytes: key.bytes as usize }
    }

    /// Length of every key.
    #[inline]
    pub(crate) fn len(self) -> usize {
        self.bytes
    }

    /// Length of every key; 0: they differ.
    #[inline]
    pub(crate) fn fixed_len(self) -> usize {
        self.bytes
    }

    /// The number that a key was written from; nothing where it was not written by this.
    pub(crate) fn read(self, key: &[u8]) -> Option<u64> {
        if key.len() != self.bytes {
            return None;
        }
        match self.format {
            KeyFormat::Hex => {
                let (zeros, digits) = key.split_at(self.bytes - 16);
                let digits = std::str::from_utf8(digits).ok()?;
                let number = u64::from_str_radix(digits, 16).ok()?;
                zeros.iter().all(|zero| *zero == b'0').then_some(number)
            }
            KeyFormat::Binary => {
                let (zeros, digits) = key.split_at(self.bytes.saturating_sub(8));
                let number = digits.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
                zeros.iter().all(|zero| *zero == 0).then_some(number)
            }
        }
    }

    /// Writes `number` into a key's place, which has [`Self::len`] bytes.
    #[inline(always)]
    pub(crate) fn write(self, number: u64, out: &mut [u8]) {
        let out = &mut out[..self.bytes];
        match self.format {
            KeyFormat::Hex if self.bytes == 16 => out.copy_from_slice(&hex(number)),
            KeyFormat::Hex => {
                let (zeros, digits) = out.split_at_mut(self.bytes - 16);
                zeros.fill(b'0');
                digits.copy_from_slice(&hex(number));
            }
            KeyFormat::Binary => {
                let digits = number.to_be_bytes();
                if let Some(zeros) = self.bytes.checked_sub(8) {
                    out[..zeros].fill(0);
                    out[zeros..].copy_from_slice(&digits);
                } else {
                    out.copy_from_slice(&digits[8 - self.bytes..]);
                }
            }
        }
    }
}

/// 16 lower-case hexadecimal digits.
#[inline(always)]
fn hex(number: u64) -> [u8; 16] {
    let (high, low) = (spread((number >> 32) as u32), spread(number as u32));
    let mut digits = [0; 16];
    digits[..8].copy_from_slice(&letters(high).to_be_bytes());
    digits[8..].copy_from_slice(&letters(low).to_be_bytes());
    digits
}

/// The eight nibbles of a number, one in each byte.
#[inline]
fn spread(half: u32) -> u64 {
    let x = u64::from(half);
    let x = (x | (x << 16)) & 0x0000_ffff_0000_ffff;
    let x = (x | (x << 8)) & 0x00ff_00ff_00ff_00ff;
    (x | (x << 4)) & 0x0f0f_0f0f_0f0f_0f0f
}

/// Nibbles as digits, eight at a time: `+ '0'`, and 39 more from ten on.
#[inline]
fn letters(nibbles: u64) -> u64 {
    let from_ten = ((nibbles + 0x0606_0606_0606_0606) >> 4) & 0x0101_0101_0101_0101;
    nibbles + 0x3030_3030_3030_3030 + from_ten * 39
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn key(format: KeyFormat, bytes: u32, number: u64) -> Vec<u8> {
        let mut out = vec![0xee; bytes as usize];
        KeyWriter::new(&Key { bytes, format }).write(number, &mut out);
        out
    }

    #[test]
    fn hex_keys_are_dbbench_keys() {
        let mut rng = Rng::new(&[1]);
        for number in (0..1_000).map(|_| rng.next()).chain([0, 9, 10, 15, 16, u64::MAX]) {
            assert_eq!(key(KeyFormat::Hex, 16, number), format!("{number:016x}").as_bytes());
            assert_eq!(key(KeyFormat::Hex, 20, number), format!("{number:020x}").as_bytes());
        }
    }

    #[test]
    fn keys_are_read_back_and_others_are_not() {
        for (format, bytes) in [
            (KeyFormat::Hex, 16),
            (KeyFormat::Hex, 24),
            (KeyFormat::Binary, 4),
            (KeyFormat::Binary, 12),
        ] {
            let writer = KeyWriter::new(&Key { bytes, format });
            for number in [0, 1, 255, 0xdead_beef] {
                assert_eq!(writer.read(&key(format, bytes, number)), Some(number));
            }
            assert_eq!(writer.read(&vec![b'x'; bytes as usize + 1]), None);
        }
        assert_eq!(
            KeyWriter::new(&Key { bytes: 16, format: KeyFormat::Hex }).read(&[b'x'; 16]),
            None
        );
    }

    #[test]
    fn binary_keys_keep_the_order() {
        assert_eq!(key(KeyFormat::Binary, 8, 0x0102), [0, 0, 0, 0, 0, 0, 1, 2]);
        assert_eq!(key(KeyFormat::Binary, 10, 0x0102), [0, 0, 0, 0, 0, 0, 0, 0, 1, 2]);
        assert_eq!(key(KeyFormat::Binary, 4, 0x0102), [0, 0, 1, 2]);
        assert!(key(KeyFormat::Binary, 8, 255) < key(KeyFormat::Binary, 8, 256));
    }
}
