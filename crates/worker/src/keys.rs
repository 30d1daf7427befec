//! Key numbers as bytes, in every notation, without a branch per digit.

#![expect(
    clippy::inline_always,
    reason = "each is a part of one loop, and shows in ns per operation"
)]

use crate::key_list::KeyList;
use crate::rng::mix;
use kvdyno_engine::Result;
use kvdyno_record::workload::{Data, Key, KeyFormat, Size};
use std::io::Write as _;
use std::sync::Arc;

/// Writes keys, and parses the keys that it wrote.
#[derive(Clone, Debug)]
pub(crate) struct KeyWriter {
    digits: Digits,
    /// The distribution of lengths; none: all keys have one length.
    lengths: Option<Arc<Size>>,
    /// The keys themselves, of an existing database; none: keys are written from their numbers.
    listed: Option<Arc<KeyList>>,
}

/// Writes keys of one length: small enough to be in registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Digits {
    format: KeyFormat,
    /// The bytes of the longest key.
    bytes: usize,
    /// The number of bits that are scattered; 0: numbers are written as they are.
    scattered: u32,
}

const YCSB: &[u8] = b"user";

impl KeyWriter {
    pub(crate) fn new(key: &Key) -> Self {
        let bytes = key.bytes as usize;
        let scattered = match key.format {
            _ if key.is_ordered() => 0,
            KeyFormat::Ycsb => 63,
            KeyFormat::Hex => 64,
            KeyFormat::Binary | KeyFormat::DbBench => 64.min(8 * key.bytes),
        };
        let lengths = key.lengths.clone().map(Arc::new);
        Self { digits: Digits { format: key.format, bytes, scattered }, lengths, listed: None }
    }

    /// The writer of the keys of a data set.
    pub(crate) fn from_data(data: &Data) -> Result<Self> {
        let listed = data.from.as_ref().map(|from| KeyList::read(&from.keys)).transpose()?;
        Ok(Self { listed: listed.map(Arc::new), ..Self::new(&data.key) })
    }

    /// The length of every key; 0: lengths differ.
    #[inline]
    pub(crate) fn fixed_len(&self) -> usize {
        let differ = self.lengths.is_some()
            || self.listed.is_some()
            || self.digits.format == KeyFormat::Ycsb;
        if differ { 0 } else { self.digits.bytes }
    }

    /// The writer of keys that all have one length; none: lengths differ.
    #[inline]
    pub(crate) fn equal_length_digits(&self) -> Option<Digits> {
        (self.fixed_len() > 0).then_some(self.digits)
    }

    /// Whether keys have the order of their numbers.
    pub(crate) fn is_ordered(&self) -> bool {
        self.digits.scattered == 0 && self.listed.is_none()
    }

    /// Returns the number that a key was written from; none: this writer did not write the key.
    pub(crate) fn read(&self, key: &[u8]) -> Option<u64> {
        if self.listed.is_some() {
            return None;
        }
        let written = match self.digits.format {
            KeyFormat::Hex => {
                let digits = self.number_part(key, 16)?;
                u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?
            }
            KeyFormat::Binary => number(self.number_part(key, 8)?),
            KeyFormat::DbBench => {
                let (digits, zeros) = key.split_at_checked(key.len().min(8))?;
                let whole = zeros.iter().all(|zero| *zero == b'0');
                whole.then(|| number(digits))?
            }
            KeyFormat::Ycsb => {
                let digits = key.strip_prefix(YCSB)?;
                std::str::from_utf8(digits).ok()?.parse().ok()?
            }
        };
        let number = unscatter(written, self.digits.scattered);
        // Most keys need no allocation to be written again.
        let mut short = [0; 64];
        let length = self.fixed_len();
        if length > 0 && length <= short.len() {
            self.digits.write(number, &mut short);
            return (key == &short[..length]).then_some(number);
        }
        let mut rewritten = Vec::with_capacity(key.len());
        self.push(number, &mut rewritten);
        (rewritten == key).then_some(number)
    }

    /// The part of a key that is its number.
    fn number_part<'k>(&self, key: &'k [u8], digits: usize) -> Option<&'k [u8]> {
        if self.lengths.is_some() {
            return key.get(..digits.min(key.len()));
        }
        key.get(key.len().saturating_sub(digits)..)
    }

    /// Appends the key of `number` to `out`, and returns its length.
    pub(crate) fn push(&self, number: u64, out: &mut Vec<u8>) -> usize {
        let (start, Digits { format, bytes, scattered }) = (out.len(), self.digits);
        if let Some(listed) = &self.listed {
            out.extend_from_slice(listed.key(number));
        } else if format == KeyFormat::Ycsb {
            out.extend_from_slice(YCSB);
            // Writing to memory does not fail.
            let _ = write!(out, "{}", scatter(number, scattered));
        } else if let Some(lengths) = &self.lengths {
            let digits = if format == KeyFormat::Hex { 16 } else { 8 };
            out.resize(start + digits, 0);
            Digits { bytes: digits, ..self.digits }.write(number, &mut out[start..]);
            let u = (mix(number) >> 11) as f64 / (1u64 << 53) as f64;
            let longer = lengths.quantile(u) as usize;
            let zero = if format == KeyFormat::Binary { 0 } else { b'0' };
            out.resize(start + longer.clamp(digits, bytes), zero);
        } else {
            out.resize(start + bytes, 0);
            self.digits.write(number, &mut out[start..]);
        }
        out.len() - start
    }
}

impl Digits {
    /// The length of every key.
    #[inline]
    pub(crate) fn len(self) -> usize {
        self.bytes
    }

    /// Writes `number` into a key's place, which has [`Self::len`] bytes.
    #[inline(always)]
    pub(crate) fn write(self, number: u64, out: &mut [u8]) {
        self.write_scattered(scatter(number, self.scattered), out);
    }

    /// Whether [`Self::write`] is [`Self::write_scattered`].
    #[inline]
    pub(crate) fn is_ordered(self) -> bool {
        self.scattered == 0
    }

    /// Writes a number that is scattered already, or is not to be scattered.
    #[inline(always)]
    pub(crate) fn write_scattered(self, number: u64, out: &mut [u8]) {
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
            KeyFormat::DbBench | KeyFormat::Ycsb => {
                let digits = number.to_be_bytes();
                let digits_kept = self.bytes.min(8);
                out[..digits_kept].copy_from_slice(&digits[8 - digits_kept..]);
                out[digits_kept..].fill(b'0');
            }
        }
    }
}

fn number(digits: &[u8]) -> u64 {
    digits.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

/// The factors of [`scatter`]. They are odd, so multiplying by them can be undone modulo any power
/// of two.
const ODD: [u64; 2] = [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb];

/// A bijection of the numbers below 2^`bits` that leaves no order: `SplitMix64`'s finisher, with
/// shifts of half the bits.
fn scatter(number: u64, bits: u32) -> u64 {
    if bits == 0 {
        return number;
    }
    let (mask, half) = (u64::MAX >> (64 - bits), bits.div_ceil(2));
    let mut x = number & mask;
    for odd in ODD {
        x ^= x >> half;
        x = x.wrapping_mul(odd) & mask;
    }
    x ^ (x >> half)
}

/// Returns the number from which [`scatter`] makes `x`.
fn unscatter(mut x: u64, bits: u32) -> u64 {
    if bits == 0 {
        return x;
    }
    let (mask, half) = (u64::MAX >> (64 - bits), bits.div_ceil(2));
    // A shift by half the bits or more undoes itself.
    x ^= x >> half;
    for odd in ODD.into_iter().rev() {
        x = x.wrapping_mul(inverse(odd)) & mask;
        x ^= x >> half;
    }
    x
}

/// Computes the inverse modulo 2^64 by Newton's method: each step doubles the correct bits.
fn inverse(odd: u64) -> u64 {
    (0..6)
        .fold(odd, |inverse, _| inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse))))
}

/// Formats a number as 16 lower-case hexadecimal digits.
#[inline(always)]
fn hex(number: u64) -> [u8; 16] {
    let (high, low) = (spread_nibbles((number >> 32) as u32), spread_nibbles(number as u32));
    let mut digits = [0; 16];
    digits[..8].copy_from_slice(&letters(high).to_be_bytes());
    digits[8..].copy_from_slice(&letters(low).to_be_bytes());
    digits
}

/// Returns the eight nibbles of a number, one in each byte.
#[inline]
fn spread_nibbles(half: u32) -> u64 {
    let x = u64::from(half);
    let x = (x | (x << 16)) & 0x0000_ffff_0000_ffff;
    let x = (x | (x << 8)) & 0x00ff_00ff_00ff_00ff;
    (x | (x << 4)) & 0x0f0f_0f0f_0f0f_0f0f
}

/// Turns nibbles into digits, eight at a time: `+ '0'`, and 39 more from ten on.
#[inline]
fn letters(nibbles: u64) -> u64 {
    let from_ten = ((nibbles + 0x0606_0606_0606_0606) >> 4) & 0x0101_0101_0101_0101;
    nibbles + 0x3030_3030_3030_3030 + from_ten * 39
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use kvdyno_record::workload::KeyOrder;
    use std::collections::BTreeSet;

    fn key(format: KeyFormat, bytes: u32, number: u64) -> Vec<u8> {
        let mut out = Vec::new();
        KeyWriter::new(&Key::ordered(bytes, format)).push(number, &mut out);
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

    /// `GenerateKeyFromInt` of `db_bench_tool.cc`, without a prefix.
    #[test]
    fn db_bench_keys_are_db_benchs() {
        assert_eq!(key(KeyFormat::DbBench, 16, 0x0102), b"\0\0\0\0\0\0\x01\x0200000000");
        assert_eq!(key(KeyFormat::DbBench, 10, 258), b"\0\0\0\0\0\0\x01\x0200");
        assert_eq!(key(KeyFormat::DbBench, 4, 0x0102), b"\0\0\x01\x02");
    }

    #[test]
    fn binary_keys_keep_the_order() {
        assert_eq!(key(KeyFormat::Binary, 8, 0x0102), [0, 0, 0, 0, 0, 0, 1, 2]);
        assert_eq!(key(KeyFormat::Binary, 10, 0x0102), [0, 0, 0, 0, 0, 0, 0, 0, 1, 2]);
        assert_eq!(key(KeyFormat::Binary, 4, 0x0102), [0, 0, 1, 2]);
        assert!(key(KeyFormat::Binary, 8, 255) < key(KeyFormat::Binary, 8, 256));
    }

    /// Every notation, order and kind of length.
    fn all_keys() -> Vec<Key> {
        let key_with = |format, bytes| Key::ordered(bytes, format);
        let ordered = [
            key_with(KeyFormat::Hex, 16),
            key_with(KeyFormat::Hex, 24),
            key_with(KeyFormat::Binary, 4),
            key_with(KeyFormat::Binary, 12),
            key_with(KeyFormat::DbBench, 4),
            key_with(KeyFormat::DbBench, 16),
        ];
        let varied = [KeyFormat::Hex, KeyFormat::Binary, KeyFormat::DbBench].map(|format| Key {
            lengths: Some(Size::Uniform { min: 16, max: 40 }),
            ..key_with(format, 40)
        });
        let all: Vec<Key> = ordered.into_iter().chain(varied).collect();
        let hashed = all.clone().into_iter().chain([key_with(KeyFormat::Ycsb, 23)]);
        let hashed: Vec<Key> = hashed.map(|key| Key { order: KeyOrder::Hashed, ..key }).collect();
        all.into_iter().chain(hashed).collect()
    }

    #[test]
    fn keys_are_read_back_and_others_are_not() {
        for key in all_keys() {
            let writer = KeyWriter::new(&key);
            let mut known_keys = BTreeSet::new();
            for number in (0..300).chain([0xdead_beef, u64::from(u32::MAX)]) {
                let mut bytes = Vec::new();
                let length = writer.push(number, &mut bytes);
                assert_eq!(writer.read(&bytes), Some(number), "{key:?}");
                assert!(length == bytes.len() && length <= key.bytes as usize, "{key:?}");
                assert!(writer.fixed_len() == 0 || writer.fixed_len() == length, "{key:?}");
                assert!(known_keys.insert(bytes), "{key:?}: {number} has the key of another");
            }
            assert_eq!(writer.read(b"xxxxxxxxxxxxxxxx"), None, "{key:?}");
            assert_eq!(writer.read(b""), None, "{key:?}");
        }
    }

    #[test]
    fn the_order_of_the_numbers_is_kept_or_lost() {
        for key in all_keys() {
            let writer = KeyWriter::new(&key);
            let keys: Vec<Vec<u8>> = (0..1_000)
                .map(|number| {
                    let mut bytes = Vec::new();
                    writer.push(number, &mut bytes);
                    bytes
                })
                .collect();
            let behind = keys.windows(2).filter(|pair| pair[0] < pair[1]).count();
            if key.is_ordered() {
                assert_eq!(behind, 999, "{key:?}");
            } else {
                assert!((430..570).contains(&behind), "{key:?}: {behind} of 999");
            }
        }
    }

    /// Each sixteenth of the key space gets its share of new numbers.
    #[test]
    fn hashed_keys_land_everywhere() {
        let key = Key { order: KeyOrder::Hashed, ..Key::ordered(16, KeyFormat::Hex) };
        let writer = KeyWriter::new(&key);
        let mut counts = [0u32; 16];
        for number in 1_000_000..1_016_000 {
            let mut bytes = Vec::new();
            writer.push(number, &mut bytes);
            counts[(bytes[0] as char).to_digit(16).unwrap() as usize] += 1;
        }
        assert!(counts.iter().all(|count| (810..1_190).contains(count)), "{counts:?}");
    }

    #[test]
    fn scattering_is_undone() {
        let mut rng = Rng::new(&[3]);
        for bits in [8, 16, 24, 32, 40, 48, 56, 63, 64] {
            let mask = u64::MAX >> (64 - bits);
            for number in (0..2_000).map(|_| rng.next() & mask).chain([0, 1, mask]) {
                let scattered = scatter(number, bits);
                assert!(scattered <= mask);
                assert_eq!(unscatter(scattered, bits), number, "{bits} bits");
            }
        }
    }
}
