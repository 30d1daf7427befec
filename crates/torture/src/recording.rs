//! The history of some drives, in one order, and their possible contents after a power loss at any
//! moment of it.

use crate::image::{BLOCK, Image};
use crate::state::{State, surviving_pieces};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::ops::Range;

/// An entry of the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Bytes were written.
    Write {
        /// The index of the drive.
        drive: usize,
        /// The offset on the drive.
        at: u64,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// Bytes became zeros: a hole was punched.
    Clear {
        /// The index of the drive.
        drive: usize,
        /// The offset on the drive.
        at: u64,
        /// The number of bytes.
        length: u64,
    },
    /// All that was written to a drive before has reached its medium.
    Flush {
        /// The index of the drive.
        drive: usize,
    },
    /// An acknowledgement by the user: two numbers.
    Acknowledged([u64; 2]),
}

impl Entry {
    /// Applies the entry to a drive.
    pub(crate) fn apply(&self, image: &mut Image) {
        if let Some((_, change)) = Change::from_entry(self) {
            change.apply(0..change.length(), image);
        }
    }
}

/// The contents of drives at the beginning, and their history since.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// Lengths of the drives.
    pub(crate) lengths: Vec<u64>,
    base: Vec<Image>,
    /// The current contents of the drives: all writes.
    pub(crate) now: Vec<Image>,
    pub(crate) log: Vec<Entry>,
    /// By drive and entry, the contents with all writes before the entry: other images begin here.
    images: Vec<BTreeMap<usize, Image>>,
}

impl Recording {
    /// Begins a recording of blank drives.
    pub fn new(lengths: &[u64]) -> Self {
        let blank = vec![Image::default(); lengths.len()];
        let mut recording = Self { lengths: lengths.to_vec(), now: blank, ..Self::default() };
        recording.begin();
        recording
    }

    /// Begins a new recording, with the current contents of the drives.
    pub(crate) fn begin(&mut self) {
        self.base.clone_from(&self.now);
        self.log.clear();
        self.images = vec![BTreeMap::new(); self.base.len()];
    }

    /// Adds an entry, and applies it to its drive.
    pub fn note(&mut self, entry: Entry) {
        if let Some((drive, _)) = Change::from_entry(&entry) {
            entry.apply(&mut self.now[drive]);
        }
        self.log.push(entry);
    }

    /// Returns the contents of the drives after a power loss.
    pub(crate) fn crash_images(&mut self, state: &State) -> Vec<Image> {
        (0..self.base.len()).map(|drive| self.crash_image(drive, state)).collect()
    }

    fn crash_image(&mut self, drive: usize, state: &State) -> Image {
        let moment = state.moment.min(self.log.len());
        let flush =
            |entry: &Entry| matches!(entry, Entry::Flush { drive: other } if *other == drive);
        let flushed = match state.ignores_flushes_since {
            Some(since) => since.min(moment),
            None => self.log[..moment].iter().rposition(flush).unwrap_or(0),
        };
        let mut image = self.flushed_image(drive, flushed);
        let pending: Vec<_> = changes(&self.log[flushed..moment], drive).collect();
        let lengths: Vec<usize> = pending.iter().map(Change::length).collect();
        for (change, pieces) in pending.iter().zip(surviving_pieces(state, drive, &lengths)) {
            for piece in pieces {
                change.apply(piece, &mut image);
            }
        }
        image
    }

    /// Returns the contents of a drive with all writes before an entry, and no others.
    fn flushed_image(&mut self, drive: usize, entries: usize) -> Image {
        let (from, mut image) = match self.images[drive].range(..=entries).next_back() {
            Some((from, image)) => (*from, image.clone()),
            None => (0, self.base[drive].clone()),
        };
        for change in changes(&self.log[from..entries], drive) {
            change.apply(0..change.length(), &mut image);
        }
        self.images[drive].insert(entries, image.clone());
        image
    }

    /// Saves the drives, and this many entries, to be loaded again.
    pub(crate) fn save(&self, entries: usize, file: &mut impl Write) -> io::Result<()> {
        let mut put = |numbers: [u64; 4], bytes: &[u8]| {
            let numbers = numbers.map(u64::to_le_bytes).concat();
            file.write_all(&numbers).and_then(|()| file.write_all(bytes))
        };
        for (drive, (length, base)) in self.lengths.iter().zip(&self.base).enumerate() {
            put([DRIVE, *length, 0, 0], &[])?;
            for (offset, bytes) in base.blocks() {
                put([BASE, drive as u64, offset, bytes.len() as u64], bytes)?;
            }
        }
        for entry in self.log.iter().take(entries) {
            match entry {
                Entry::Write { drive, at: offset, bytes } => {
                    put([WRITE, *drive as u64, *offset, bytes.len() as u64], bytes)?;
                }
                Entry::Clear { drive, at: offset, length } => {
                    put([CLEAR, *drive as u64, *offset, *length], &[])?;
                }
                Entry::Flush { drive } => put([FLUSH, *drive as u64, 0, 0], &[])?,
                Entry::Acknowledged([one, other]) => put([ACKNOWLEDGED, *one, *other, 0], &[])?,
            }
        }
        Ok(())
    }

    /// Loads a recording that was saved.
    pub(crate) fn load(file: &mut impl Read) -> io::Result<Self> {
        let mut recording = Self::default();
        let mut head = [0; 32];
        while read_whole(file, &mut head)? {
            let [kind, one, other, length] = std::array::from_fn(|which| {
                head[which * 8..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
            });
            let drive = one as usize;
            let has_bytes = matches!(kind, BASE | WRITE);
            let drives = recording.lengths.len();
            let fits = match kind {
                DRIVE => recording.log.is_empty() && drives < DRIVES_MAX,
                BASE | WRITE | CLEAR => recording.lengths.get(drive).is_some_and(|bytes| {
                    // Blocks of an image are whole, also at its end.
                    let end = other.checked_add(length);
                    end.is_some_and(|end| end <= bytes.next_multiple_of(BLOCK as u64))
                }),
                FLUSH => drive < drives,
                _ => true,
            };
            if !fits || has_bytes && length > BYTES_MAX {
                return Err(damaged_recording_error());
            }
            let mut bytes = vec![0; if has_bytes { length as usize } else { 0 }];
            file.read_exact(&mut bytes)?;
            match kind {
                DRIVE => {
                    recording.lengths.push(one);
                    recording.now.push(Image::default());
                    recording.begin();
                }
                BASE => {
                    recording.now[drive].write(other, &bytes);
                    recording.base[drive].write(other, &bytes);
                }
                WRITE => recording.note(Entry::Write { drive, at: other, bytes }),
                CLEAR => recording.note(Entry::Clear { drive, at: other, length }),
                FLUSH => recording.note(Entry::Flush { drive }),
                ACKNOWLEDGED => recording.note(Entry::Acknowledged([one, other])),
                _ => return Err(damaged_recording_error()),
            }
        }
        Ok(recording)
    }
}

// Kinds of items in a saved recording: each has three numbers, and bytes after them.
const DRIVE: u64 = 0;
const BASE: u64 = 1;
const WRITE: u64 = 2;
const FLUSH: u64 = 3;
const ACKNOWLEDGED: u64 = 4;
const CLEAR: u64 = 5;

/// The most drives of a recording: no trial has more.
const DRIVES_MAX: usize = 64;

/// The most bytes of an item: no write is longer, because FUSE cuts longer ones.
const BYTES_MAX: u64 = 64 << 20;

fn damaged_recording_error() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "not a recording, or a damaged one")
}

/// Reads the numbers of an item; false: the file has ended.
fn read_whole(file: &mut impl Read, head: &mut [u8; 32]) -> io::Result<bool> {
    let first = loop {
        match file.read(head) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => break other?,
        }
    };
    if first == 0 {
        return Ok(false);
    }
    file.read_exact(&mut head[first..])?;
    Ok(true)
}

/// The effect of an entry on a drive.
enum Change<'e> {
    Bytes(u64, &'e [u8]),
    Zeros(u64, u64),
}

impl<'e> Change<'e> {
    fn from_entry(entry: &'e Entry) -> Option<(usize, Self)> {
        match entry {
            Entry::Write { drive, at: offset, bytes } => {
                Some((*drive, Self::Bytes(*offset, bytes)))
            }
            Entry::Clear { drive, at: offset, length } => {
                Some((*drive, Self::Zeros(*offset, *length)))
            }
            Entry::Flush { .. } | Entry::Acknowledged(_) => None,
        }
    }

    fn length(&self) -> usize {
        match self {
            Self::Bytes(_, bytes) => bytes.len(),
            Self::Zeros(_, length) => *length as usize,
        }
    }

    /// Applies a part of the change.
    fn apply(&self, part: Range<usize>, image: &mut Image) {
        match self {
            Self::Bytes(offset, bytes) => image.write(offset + part.start as u64, &bytes[part]),
            Self::Zeros(offset, _) => image.clear(offset + part.start as u64, part.len() as u64),
        }
    }
}

fn changes(log: &[Entry], drive: usize) -> impl Iterator<Item = Change<'_>> {
    let of_drive = move |(other, change)| (other == drive).then_some(change);
    log.iter().filter_map(Change::from_entry).filter_map(of_drive)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::Lost;

    /// Returns a recording with a base, a flushed write, and changes that were not flushed.
    fn recording() -> Recording {
        let mut recording = Recording::new(&[8192, 8192]);
        recording.note(write(0, 0, 1));
        recording.begin();
        recording.note(write(0, 1024, 2));
        recording.note(Entry::Flush { drive: 0 });
        recording.note(Entry::Acknowledged([7, 8]));
        recording.note(write(0, 1024, 3));
        recording.note(write(1, 0, 4));
        recording.note(Entry::Clear { drive: 1, at: 0, length: 512 });
        recording
    }

    fn write(drive: usize, offset: u64, byte: u8) -> Entry {
        Entry::Write { drive, at: offset, bytes: vec![byte; 1024] }
    }

    /// Returns the first bytes of both writes' places, and of the other drive.
    fn held(recording: &mut Recording, moment: usize, lost: Lost, since: Option<usize>) -> [u8; 3] {
        let state = State { number: 0, moment, lost, ignores_flushes_since: since, seed: 1 };
        let images = recording.crash_images(&state);
        [(0, 0), (0, 1024), (1, 0)].map(|(drive, offset)| {
            let mut byte = [9];
            images[drive as usize].read(offset, &mut byte);
            byte[0]
        })
    }

    #[test]
    fn what_was_flushed_stays_and_the_rest_is_lost_as_asked() {
        let mut recording = recording();
        assert_eq!(held(&mut recording, 5, Lost::None, None), [1, 3, 4]);
        assert_eq!(held(&mut recording, 5, Lost::All, None), [1, 2, 0]);
        assert_eq!(held(&mut recording, 4, Lost::None, None), [1, 3, 0]);
        assert_eq!(held(&mut recording, 1, Lost::All, None), [1, 0, 0]);
        assert_eq!(held(&mut recording, 5, Lost::All, Some(0)), [1, 0, 0], "flushes ignored");
        assert_eq!(held(&mut recording, 99, Lost::None, None), [1, 3, 0], "at the end");
    }

    #[test]
    fn a_sector_is_written_or_not() {
        let mut recording = recording();
        let mut outcomes = std::collections::BTreeSet::new();
        for seed in 0..60 {
            let lost = Lost::Sectors;
            let state = State { number: 0, moment: 5, lost, ignores_flushes_since: None, seed };
            let mut bytes = [0; 1024];
            recording.crash_images(&state)[0].read(1024, &mut bytes);
            for sector in bytes.chunks(512) {
                assert!(sector.iter().all(|byte| *byte == sector[0]));
            }
            outcomes.insert((bytes[0], bytes[512]));
        }
        assert_eq!(Vec::from_iter(outcomes), [(2, 2), (2, 3), (3, 2), (3, 3)]);
    }

    #[test]
    fn it_is_read_as_it_was_written() {
        let mut recording = recording();
        let mut bytes = Vec::new();
        recording.save(usize::MAX, &mut bytes).unwrap();
        let mut read = Recording::load(&mut bytes.as_slice()).unwrap();
        assert_eq!((&read.log, &read.lengths), (&recording.log, &recording.lengths));
        for lost in [Lost::All, Lost::None] {
            let expected = held(&mut recording, 5, lost, None);
            assert_eq!(held(&mut read, 5, lost, None), expected);
        }
        let mut first = Vec::new();
        recording.save(2, &mut first).unwrap();
        assert_eq!(Recording::load(&mut first.as_slice()).unwrap().log, recording.log[..2]);
        assert!(Recording::load(&mut &bytes[..bytes.len() - 1]).is_err(), "cut short");
        assert!(Recording::load(&mut [9; 64].as_slice()).is_err());
    }
}
