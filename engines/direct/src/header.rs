//! The header: a store's geometry and state in one page, and which of several headers is valid. It
//! reads and writes nothing.

use crate::format::{Format, Geometry, PAGE};
use kvdyno_engine::{Error, Result};
use twox_hash::XxHash3_64;

const MAGIC: &[u8; 8] = b"kvdyno-d";
const VERSION: u32 = 1;
const CLEAN: u32 = 1;
const ALONE: u32 = 2;
const CHECKSUM_AT: usize = PAGE - 8;

/// The fields of the header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The store's identity: both copies of a mirror have the same.
    pub uuid: [u8; 16],
    /// The geometry.
    pub geometry: Geometry,
    /// Grows by one with every header that is written: the highest is the newest.
    pub generation: u64,
    /// Grows by one with every opening; zero while a store is being made.
    pub epoch: u64,
    /// Whether the store was closed properly: the journal holds nothing that is not in place.
    pub clean: bool,
    /// Whether the copy was written without a mirror: another copy, if there is one, is outdated.
    pub alone: bool,
}

impl Header {
    /// Returns the bytes of the header.
    pub fn encode(&self) -> [u8; PAGE] {
        let mut page = [0; PAGE];
        let flags = if self.clean { CLEAN } else { 0 } | if self.alone { ALONE } else { 0 };
        let geometry = &self.geometry;
        let mut offset = 0;
        let mut put = |bytes: &[u8]| {
            page[offset..offset + bytes.len()].copy_from_slice(bytes);
            offset += bytes.len();
        };
        put(MAGIC);
        put(&VERSION.to_le_bytes());
        put(&flags.to_le_bytes());
        put(&self.uuid);
        put(&geometry.records.to_le_bytes());
        put(&geometry.value_bytes.to_le_bytes());
        put(&geometry.pack.to_le_bytes());
        put(&geometry.block_bytes.to_le_bytes());
        put(&geometry.journal_slots.to_le_bytes());
        put(&self.generation.to_le_bytes());
        put(&self.epoch.to_le_bytes());
        let checksum = XxHash3_64::oneshot(&page[..CHECKSUM_AT]);
        page[CHECKSUM_AT..].copy_from_slice(&checksum.to_le_bytes());
        page
    }

    /// Returns the header in a page; `None`: there is none, or it is damaged. A sound header of a
    /// later format is an error: it must not be repaired as if it were damaged.
    pub fn decode(page: &[u8]) -> Result<Option<Self>> {
        let mut fields = Fields { page, at: 0 };
        let checksum = XxHash3_64::oneshot(&page[..CHECKSUM_AT]);
        if fields.read::<8>() != *MAGIC || page[CHECKSUM_AT..] != checksum.to_le_bytes() {
            return Ok(None);
        }
        let version = fields.u32();
        if version != VERSION {
            return Err(Error::invalid(format!(
                "expected a store of format {VERSION}, found {version}"
            )));
        }
        let flags = fields.u32();
        Ok(Some(Self {
            uuid: fields.read(),
            geometry: Geometry {
                records: fields.u64(),
                value_bytes: fields.u32(),
                pack: fields.u32(),
                block_bytes: fields.u32(),
                journal_slots: fields.u32(),
            },
            generation: fields.u64(),
            epoch: fields.u64(),
            clean: flags & CLEAN != 0,
            alone: flags & ALONE != 0,
        }))
    }

    /// Returns the format of the store's blocks.
    pub fn format(&self) -> Format {
        Format { geometry: self.geometry, seed: XxHash3_64::oneshot(&self.uuid) }
    }
}

/// A reader of fields, one after the other; the page is longer than all of them.
struct Fields<'p> {
    page: &'p [u8],
    at: usize,
}

impl Fields<'_> {
    fn read<const N: usize>(&mut self) -> [u8; N] {
        let mut field = [0; N];
        field.copy_from_slice(&self.page[self.at..self.at + N]);
        self.at += N;
        field
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.read())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.read())
    }
}

/// The copies of one store that may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Both: they hold the same.
    Both,
    /// Only this one (0 or 1); the other was away while this one was written.
    Only(usize),
}

/// Judges two copies by their headers.
///
/// A header with state "alone" was written before the first block that the other copy missed.
/// Headers of a pair differ by at most one generation, after a crash between their writes, and
/// nothing else is written then. A larger difference means that an old copy was put back.
pub fn judge(first: &Header, second: &Header) -> Result<Verdict> {
    if first.uuid != second.uuid {
        return Err(Error::invalid(
            "directory and mirror contain different stores: empty one of them",
        ));
    }
    if first.alone && second.alone {
        return Err(Error::invalid(
            "directory and mirror were each written without the other: keep one, and remove the \
             other",
        ));
    }
    let newer = usize::from(second.generation > first.generation);
    let (new, old) = if newer == 0 { (first, second) } else { (second, first) };
    // A copy that ran alone and is older than its pair was brought up to date since.
    let in_step = !new.alone && new.generation - old.generation <= 1;
    Ok(if in_step { Verdict::Both } else { Verdict::Only(newer) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_engine::ErrorClass;

    fn header(generation: u64, alone: bool) -> Header {
        let geometry = Geometry::plan(1 << 40, 100, 0).unwrap();
        Header { uuid: [7; 16], geometry, generation, epoch: 3, clean: true, alone }
    }

    #[test]
    fn what_is_written_is_read() {
        for alone in [true, false] {
            let header = Header { clean: !alone, ..header(5, alone) };
            assert_eq!(Header::decode(&header.encode()).unwrap(), Some(header));
        }
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let page = header(5, true).encode();
        for bit in 0..PAGE * 8 {
            let mut flipped = page;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Header::decode(&flipped).unwrap(), None, "bit {bit}");
        }
        assert_eq!(Header::decode(&[0; PAGE]).unwrap(), None);
    }

    #[test]
    fn a_later_format_is_refused_and_not_repaired() {
        let mut page = header(5, true).encode();
        page[8] = 2;
        let checksum = XxHash3_64::oneshot(&page[..CHECKSUM_AT]);
        page[CHECKSUM_AT..].copy_from_slice(&checksum.to_le_bytes());
        assert_eq!(Header::decode(&page).unwrap_err().class, ErrorClass::Invalid);
    }

    #[test]
    fn a_copy_that_was_away_does_not_win() {
        let (pair, alone) = (false, true);
        let judged = |a: (u64, bool), b: (u64, bool)| judge(&header(a.0, a.1), &header(b.0, b.1));
        assert_eq!(judged((5, pair), (5, pair)), Ok(Verdict::Both));
        assert_eq!(judged((5, pair), (4, pair)), Ok(Verdict::Both));
        assert_eq!(judged((4, pair), (5, pair)), Ok(Verdict::Both));
        assert_eq!(judged((4, pair), (6, pair)), Ok(Verdict::Only(1)));
        assert_eq!(judged((6, alone), (5, pair)), Ok(Verdict::Only(0)));
        assert_eq!(judged((5, pair), (9, alone)), Ok(Verdict::Only(1)));
        // The one that had run alone was copied to the other, and its own header is late.
        assert_eq!(judged((5, alone), (6, pair)), Ok(Verdict::Both));
    }

    #[test]
    fn two_lives_are_not_guessed_at() {
        let (one, two) = (header(5, true), header(9, true));
        assert_eq!(judge(&one, &two).unwrap_err().class, ErrorClass::Invalid);
        let other = Header { uuid: [8; 16], ..header(5, false) };
        assert_eq!(judge(&header(5, false), &other).unwrap_err().class, ErrorClass::Invalid);
    }
}
