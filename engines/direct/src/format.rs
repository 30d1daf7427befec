//! The layout of the store and of a block: the format of docs/direct-format.md as pure functions
//! of bytes. It reads and writes nothing.

use kvdyno_engine::{Error, Result};
use twox_hash::XxHash3_64;

/// Everything begins on a multiple of this: the alignment that `O_DIRECT` needs on any current
/// drive.
pub const PAGE: usize = 4096;

/// Where the two header copies lie: far apart, so that no single write can take both.
pub const HEADERS: [u64; 2] = [0, 512 << 10];

/// Where the journal begins; the bytes before it belong to the headers.
pub const JOURNAL_AT: u64 = 1 << 20;

/// Bytes of a block before its first record: checksum, number, version.
pub const BLOCK_HEADER: usize = 24;

/// The longest value: a block of one such record is still read and written in one piece.
pub const VALUE_BYTES_MAX: u64 = 1 << 20;

/// The largest block, and with it the longest single write.
const BLOCK_BYTES_MAX: u64 = 4 << 20;

/// Bits of a version that count the writes of one opening; those above are the opening's epoch.
const COUNT_BITS: u32 = 40;

/// Sizes that decide where a record lies. They are fixed when a store is made, all but `records`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Keys are the numbers below this.
    pub records: u64,
    /// Length of the longest value.
    pub value_bytes: u32,
    /// Neighbouring records in one block.
    pub pack: u32,
    /// Length of a block: a multiple of [`PAGE`].
    pub block_bytes: u32,
    /// Blocks that the journal holds.
    pub journal_slots: u32,
}

impl Geometry {
    /// Returns the geometry of a new store. `pack` zero: as many records as fit into one page, and
    /// one where none fits.
    pub fn plan(records: u64, value_bytes: u64, pack: u64) -> Result<Self> {
        if value_bytes > VALUE_BYTES_MAX {
            return Err(Error::invalid(format!(
                "engine `direct`: expected values of at most {VALUE_BYTES_MAX} bytes, found \
                 {value_bytes}"
            )));
        }
        let record = record_bytes(value_bytes);
        let fits = ((PAGE - BLOCK_HEADER) as u64 / record).max(1);
        let pack = if pack == 0 { fits } else { pack };
        let bytes = (BLOCK_HEADER as u64 + pack * record).next_multiple_of(PAGE as u64);
        if bytes > BLOCK_BYTES_MAX {
            return Err(Error::invalid(format!(
                "pack = {pack} makes blocks of {bytes} bytes, expected at most {BLOCK_BYTES_MAX}; \
                 lower `pack`"
            )));
        }
        let geometry = Self {
            records,
            value_bytes: value_bytes as u32,
            pack: pack as u32,
            block_bytes: bytes as u32,
            journal_slots: (JOURNAL_BYTES / bytes).clamp(8, 1024) as u32,
        };
        geometry.with_records(records)
    }

    /// Returns the same layout for this many records, if a file can have room for them.
    pub fn with_records(self, records: u64) -> Result<Self> {
        let geometry = Self { records, ..self };
        let whole = u128::from(geometry.blocks()) * u128::from(geometry.block_bytes);
        if whole > FILE_BYTES_MAX {
            return Err(Error::invalid(format!(
                "{records} records take {whole} bytes, a file has at most {FILE_BYTES_MAX}"
            )));
        }
        Ok(geometry)
    }

    /// Returns the number of data blocks.
    pub fn blocks(&self) -> u64 {
        self.records.div_ceil(u64::from(self.pack))
    }

    /// Returns the offset of a slot of the journal.
    pub fn journal_offset(&self, slot: u64) -> u64 {
        JOURNAL_AT + slot * u64::from(self.block_bytes)
    }

    /// Returns where the data begins: at the next whole MiB past the journal.
    pub fn data_offset(&self) -> u64 {
        self.journal_offset(u64::from(self.journal_slots)).next_multiple_of(1 << 20)
    }

    /// Returns the offset of a block.
    #[inline]
    pub fn block_offset(&self, block: u64) -> u64 {
        self.data_offset() + block * u64::from(self.block_bytes)
    }

    /// Returns the length of the file, or of the used part of a device.
    pub fn file_bytes(&self) -> u64 {
        self.block_offset(self.blocks())
    }

    /// Returns the block of a record, and its place in the block.
    #[inline]
    pub fn locate(&self, record: u64) -> (u64, u32) {
        let pack = u64::from(self.pack);
        (record / pack, (record % pack) as u32)
    }

    /// Returns the records of a block, as text.
    pub fn describe_block(&self, block: u64) -> String {
        let first = block * u64::from(self.pack);
        let last = (first + u64::from(self.pack)).min(self.records).saturating_sub(1);
        format!("block {block} (records {first} to {last})")
    }

    /// Returns the bytes of the length in front of each value.
    #[inline]
    fn length_bytes(&self) -> usize {
        length_bytes(u64::from(self.value_bytes))
    }

    #[inline]
    fn record_offset(&self, index: u32) -> usize {
        let record = self.length_bytes() + self.value_bytes as usize;
        BLOCK_HEADER + index as usize * record
    }
}

/// The usual bytes of a journal. It is larger if blocks are large: it has at least eight slots.
const JOURNAL_BYTES: u64 = 4 << 20;

/// The longest file: the kernel's offsets are signed.
const FILE_BYTES_MAX: u128 = (i64::MAX >> 1) as u128;

/// Two bytes hold lengths up to 65,534, four hold longer ones; zero is "no record".
fn length_bytes(value_bytes: u64) -> usize {
    if value_bytes < u64::from(u16::MAX) { 2 } else { 4 }
}

fn record_bytes(value_bytes: u64) -> u64 {
    length_bytes(value_bytes) as u64 + value_bytes
}

/// The state of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockState {
    /// All zeros: never written or wholly lost; the two look the same.
    Empty,
    /// Sound: as it was sealed, with this version.
    Sealed(u64),
    /// Not as it was sealed: it is torn, bits have changed, or it is of another store.
    Bad,
    /// Sound, and the image of another block: a write went astray.
    Astray(u64),
}

impl BlockState {
    /// Returns the version by which copies are compared; `None`: the block cannot be trusted.
    pub fn version(self) -> Option<u64> {
        match self {
            Self::Empty => Some(0),
            Self::Sealed(version) => Some(version),
            Self::Bad | Self::Astray(_) => None,
        }
    }
}

impl std::fmt::Display for BlockState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Empty => write!(f, "never written"),
            Self::Sealed(version) => write!(f, "sound, version {version}"),
            Self::Bad => write!(f, "the checksum is wrong"),
            Self::Astray(number) => write!(f, "it is the image of block {number}"),
        }
    }
}

/// A store's geometry, and the seed that distinguishes its blocks from those of other stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// The geometry.
    pub geometry: Geometry,
    /// The seed, which is derived from the store's identity.
    pub seed: u64,
}

impl Format {
    /// Returns the state of a block from its image.
    #[inline]
    pub fn inspect(&self, block: u64, image: &[u8]) -> BlockState {
        match self.block_and_version(image) {
            Ok((number, version)) if number == block => BlockState::Sealed(version),
            Ok((number, _)) => BlockState::Astray(number),
            Err(empty) => empty,
        }
    }

    /// Returns the number and the version of a sound image, whichever block it is of.
    #[inline]
    pub fn block_and_version(&self, image: &[u8]) -> Result<(u64, u64), BlockState> {
        if read_u64(image, 0) != self.checksum(image) {
            return Err(if is_zero(image) { BlockState::Empty } else { BlockState::Bad });
        }
        Ok((read_u64(image, 8), read_u64(image, 16)))
    }

    /// Gives an image its number, version and checksum.
    #[inline]
    pub fn seal(&self, block: u64, version: u64, image: &mut [u8]) {
        image[8..16].copy_from_slice(&block.to_le_bytes());
        image[16..24].copy_from_slice(&version.to_le_bytes());
        let checksum = self.checksum(image);
        image[..8].copy_from_slice(&checksum.to_le_bytes());
    }

    #[inline]
    fn checksum(&self, image: &[u8]) -> u64 {
        XxHash3_64::oneshot_with_seed(self.seed, &image[8..])
    }

    /// Returns the value at a place of a sound or empty block.
    #[inline]
    pub fn value<'i>(&self, index: u32, image: &'i [u8]) -> Option<&'i [u8]> {
        let (begin, width) = (self.geometry.record_offset(index), self.geometry.length_bytes());
        let mut length_bytes = [0; 4];
        length_bytes[..width].copy_from_slice(&image[begin..begin + width]);
        let length = u32::from_le_bytes(length_bytes).checked_sub(1)? as usize;
        image.get(begin + width..begin + width + length)
    }

    /// Stores a value at a place, or nothing; what the place held before is zeroed.
    #[inline]
    pub fn set(&self, index: u32, value: Option<&[u8]>, image: &mut [u8]) {
        let (begin, width) = (self.geometry.record_offset(index), self.geometry.length_bytes());
        let length_bytes = value.map_or(0, |value| value.len() as u32 + 1).to_le_bytes();
        image[begin..begin + width].copy_from_slice(&length_bytes[..width]);
        let room = &mut image[begin + width..][..self.geometry.value_bytes as usize];
        let value = value.unwrap_or_default();
        room[..value.len()].copy_from_slice(value);
        room[value.len()..].fill(0);
    }
}

/// Returns the first version of an opening.
pub fn first_version(epoch: u64) -> u64 {
    epoch << COUNT_BITS
}

/// Returns the epoch of the opening that a version was written in.
pub fn version_epoch(version: u64) -> u64 {
    version >> COUNT_BITS
}

/// Returns whether all bytes are zero.
pub fn is_zero(bytes: &[u8]) -> bool {
    const ZEROS: [u8; PAGE] = [0; PAGE];
    bytes.chunks(PAGE).all(|chunk| chunk == &ZEROS[..chunk.len()])
}

#[inline]
fn read_u64(bytes: &[u8], offset: usize) -> u64 {
    let mut eight = [0; 8];
    eight.copy_from_slice(&bytes[offset..offset + 8]);
    u64::from_le_bytes(eight)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_engine::ErrorClass;
    use proptest::prelude::*;

    fn format(records: u64, value_bytes: u64, pack: u64) -> Format {
        Format { geometry: Geometry::plan(records, value_bytes, pack).unwrap(), seed: 7 }
    }

    #[test]
    fn as_many_records_as_fit_into_a_page() {
        let plan = |value, pack| {
            let geometry = Geometry::plan(1000, value, pack).unwrap();
            (geometry.pack, geometry.block_bytes)
        };
        assert_eq!(plan(32, 0), (119, 4096));
        assert_eq!(plan(100, 0), (39, 4096));
        assert_eq!(plan(4070, 0), (1, 4096));
        assert_eq!(plan(4071, 0), (1, 8192));
        assert_eq!(plan(100, 64), (64, 8192));
        assert_eq!(plan(32, 64), (64, 4096));
        assert_eq!(plan(0, 0), (2036, 4096));
        assert_eq!(plan(1 << 20, 0), (1, (1 << 20) + 4096));
    }

    #[test]
    fn what_cannot_be_laid_out_is_refused() {
        for (records, value, pack) in [(1, (1 << 20) + 1, 0), (1, 1 << 20, 64), (u64::MAX, 100, 1)]
        {
            let refused = Geometry::plan(records, value, pack).unwrap_err();
            assert_eq!(refused.class, ErrorClass::Invalid, "{refused}");
        }
        let grown = Geometry::plan(1000, 100, 1).unwrap().with_records(u64::MAX).unwrap_err();
        assert_eq!(grown.class, ErrorClass::Invalid, "{grown}");
        let most = Geometry::plan(137_000_000_000, 32, 64).unwrap();
        assert_eq!(most.file_bytes(), most.data_offset() + 137_000_000_000_u64.div_ceil(64) * 4096);
    }

    #[test]
    fn nothing_overlaps() {
        let geometry = format(1000, 100, 0).geometry;
        assert!(HEADERS[1] + PAGE as u64 <= JOURNAL_AT);
        assert!(geometry.journal_offset(geometry.journal_slots.into()) <= geometry.data_offset());
        assert_eq!(geometry.block_offset(1) - geometry.block_offset(0), 4096);
        assert_eq!(geometry.locate(39), (1, 0));
        assert_eq!(geometry.blocks(), 26);
        assert_eq!(geometry.describe_block(25), "block 25 (records 975 to 999)");
    }

    #[test]
    fn zeros_are_empty_and_hold_nothing() {
        let format = format(1000, 100, 0);
        let image = vec![0; 4096];
        assert_eq!(format.inspect(3, &image), BlockState::Empty);
        assert_eq!(format.value(5, &image), None);
    }

    #[test]
    fn another_block_or_another_stores_is_noticed() {
        let format = format(1000, 100, 0);
        let mut image = vec![0; 4096];
        format.seal(3, 9, &mut image);
        assert_eq!(format.inspect(3, &image), BlockState::Sealed(9));
        assert_eq!(format.inspect(4, &image), BlockState::Astray(3));
        assert_eq!(Format { seed: 8, ..format }.inspect(3, &image), BlockState::Bad);
    }

    proptest! {
        #[test]
        fn a_flipped_bit_is_noticed(bit in 0..4096_usize * 8, filled: u8) {
            let format = format(1000, 100, 0);
            let mut image = vec![filled; 4096];
            format.seal(3, 9, &mut image);
            image[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(format.inspect(3, &image), BlockState::Bad);
        }

        #[test]
        fn a_torn_write_is_noticed(sectors in 1..8_usize, old: u8, new: u8) {
            let format = format(1000, 4000, 0);
            let image = |byte: u8, version| {
                let mut image = vec![0; 4096];
                format.set(0, Some(&vec![byte; 4000]), &mut image);
                format.seal(3, version, &mut image);
                image
            };
            let mut torn = image(old, 1);
            torn[..sectors * 512].copy_from_slice(&image(new, 2)[..sectors * 512]);
            // Where the rest of both images is the same, nothing was torn.
            let whole = torn == image(new, 2);
            prop_assert_eq!(format.inspect(3, &torn) == BlockState::Bad, !whole);
        }

        #[test]
        fn values_are_kept_apart(
            steps in prop::collection::vec((0..39_u32, prop::option::of(0..=100_usize)), 0..60),
        ) {
            let format = format(1000, 100, 0);
            let mut image = vec![0; 4096];
            let mut model = std::collections::BTreeMap::new();
            for (step, (index, length)) in steps.into_iter().enumerate() {
                let value = length.map(|length| vec![step as u8; length]);
                format.set(index, value.as_deref(), &mut image);
                model.insert(index, value);
            }
            format.seal(3, 1, &mut image);
            prop_assert_eq!(format.inspect(3, &image), BlockState::Sealed(1));
            for index in 0..39 {
                let expected = model.get(&index).cloned().flatten();
                prop_assert_eq!(format.value(index, &image), expected.as_deref());
            }
        }
    }
}
