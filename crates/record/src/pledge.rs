//! The writes of a tortured worker, and its findings afterwards: the messages of its commands
//! `pledge` and `recover`, and the records of each write. Program and worker both compute from it
//! which versions must exist.
//!
//! A writer goes round its *units* again and again: single records, and batches of several. Its
//! write number `n` writes unit `n % units` at version `n / units + 1`, so a writer's writes are in
//! one order, and what is found tells which of them are there.

use kvdyno_engine::{DataShape, Error, ErrorClass, Location, Options};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::path::PathBuf;

/// Bytes of a key: a number, big-endian.
pub const KEY_BYTES: u32 = 8;

/// Lengths of values, by the record's number: within a page, near half a page, and beyond it.
const VALUE_BYTES: [usize; 3] = [100, 700, 3000];

/// Bytes of an acknowledgement: writer and number of the write, little-endian.
pub const ACKNOWLEDGEMENT_BYTES: usize = 16;

/// Stands in place of the writer in an acknowledgement that all writes so far are durable, as the
/// engine says.
pub const SYNCED: u64 = u64::MAX;

/// The units of all writers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Units {
    /// Threads that write, each its own units.
    pub writers: u64,
    /// Single records of each writer.
    pub singles: u64,
    /// Batches of each writer.
    pub batches: u64,
    /// Records of a batch.
    pub batch: u64,
}

impl Units {
    /// Units of each writer.
    pub fn units_each(&self) -> u64 {
        self.singles + self.batches
    }

    /// All records.
    pub fn records(&self) -> u64 {
        self.writers * self.records_each()
    }

    fn records_each(&self) -> u64 {
        self.singles + self.batches * self.batch
    }

    /// The records of a unit: one, or a batch's.
    pub fn unit_records(&self, writer: u64, unit: u64) -> Range<u64> {
        let first = writer * self.records_each();
        match unit.checked_sub(self.singles) {
            None => first + unit..first + unit + 1,
            Some(batch) => {
                let first = first + self.singles + batch * self.batch;
                first..first + self.batch
            }
        }
    }

    /// Unit and version of a writer's write.
    pub fn write(&self, number: u64) -> (u64, u32) {
        (number % self.units_each(), (number / self.units_each()) as u32 + 1)
    }

    /// The write that gave a unit its version.
    pub fn number(&self, unit: u64, version: u32) -> u64 {
        (u64::from(version) - 1) * self.units_each() + unit
    }

    /// The shape of the data, for the engine.
    pub fn shape(&self) -> DataShape {
        let bytes = VALUE_BYTES.map(|bytes| bytes as u64);
        DataShape {
            records: self.records(),
            records_max: self.records(),
            key_bytes: KEY_BYTES,
            value_bytes_mean: bytes.iter().sum::<u64>() / bytes.len() as u64,
            value_bytes_max: bytes.into_iter().max().unwrap_or_default(),
            sessions: self.writers as u32,
            depth: 1,
            requests: None,
        }
    }
}

/// Length of a record's values.
pub fn value_bytes(record: u64) -> usize {
    VALUE_BYTES[record as usize % VALUE_BYTES.len()]
}

/// A database that is written to or read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Victim {
    /// Its location.
    pub location: Location,
    /// The options to open it with.
    pub options: Options,
    /// The units that are in it.
    pub units: Units,
    /// Whether all of it is walked over afterwards, too: the engine can scan, and shows what it
    /// stores.
    pub walks: bool,
}

/// The input of `pledge`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pledge {
    /// The database; made where there is none.
    pub victim: Victim,
    /// Writes of each writer.
    pub writes: u64,
    /// Number of sittings. Between two of them the database is synced, closed, and opened again.
    pub sittings: u64,
    /// Writes of one writer after which the page cache is written out, as the kernel does every few
    /// seconds.
    pub writeback_every: u64,
    /// The file in which each write is acknowledged after the engine acknowledged it.
    pub acknowledgements: PathBuf,
}

/// The report of `pledge` at its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pledged {
    /// Writes that were acknowledged.
    pub acknowledged: u64,
    /// The engine's first error at a write or at the opening.
    pub refused: Option<String>,
}

/// The state of one record, by `recover`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// No such key.
    Missing,
    /// A sound value.
    Version(u32),
    /// A value that was never written.
    Torn,
    /// The engine returned an error for it.
    Refused,
}

/// The results of `recover`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recovered {
    /// The engine's error at the opening, or at the walk over all; null: there was none.
    pub unopened: Option<String>,
    /// The state of each record, by its number.
    pub readings: Vec<Reading>,
    /// Keys of a walk over all that were never written, or that lookups did not find.
    pub strangers: u64,
    /// The engine's first error at the reading of a record.
    pub error: Option<String>,
}

macro_rules! in_json {
    ($($type:ty),*) => { $(
        // Compiled here once, and not in each worker.
        impl $type {
            /// Parses a line.
            pub fn from_json(line: &str) -> kvdyno_engine::Result<Self> {
                serde_json::from_str(line).map_err(|error| line_error(&error))
            }

            /// Returns it as a line, with its line end.
            pub fn to_line(&self) -> kvdyno_engine::Result<Vec<u8>> {
                let mut line = serde_json::to_vec(self).map_err(|error| line_error(&error))?;
                line.push(b'\n');
                Ok(line)
            }
        }
    )* };
}

in_json!(Pledge, Pledged, Victim, Recovered);

fn line_error(error: &serde_json::Error) -> Error {
    Error::new(ErrorClass::Other, error.to_string())
}

/// An acknowledgement's bytes.
pub fn acknowledgement(writer: u64, number: u64) -> [u8; ACKNOWLEDGEMENT_BYTES] {
    let mut bytes = [0; ACKNOWLEDGEMENT_BYTES];
    bytes[..8].copy_from_slice(&writer.to_le_bytes());
    bytes[8..].copy_from_slice(&number.to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNITS: Units = Units { writers: 3, singles: 4, batches: 2, batch: 5 };

    #[test]
    fn every_record_belongs_to_one_unit() {
        let mut records: Vec<u64> = (0..UNITS.writers)
            .flat_map(|writer| (0..UNITS.units_each()).map(move |unit| (writer, unit)))
            .flat_map(|(writer, unit)| UNITS.unit_records(writer, unit))
            .collect();
        records.sort_unstable();
        assert_eq!(records, Vec::from_iter(0..UNITS.records()));
        assert_eq!(UNITS.unit_records(1, 0), 14..15);
        assert_eq!(UNITS.unit_records(1, 5), 23..28);
    }

    #[test]
    fn unit_and_version_tell_the_write() {
        for number in 0..40 {
            let (unit, version) = UNITS.write(number);
            assert_eq!(UNITS.number(unit, version), number);
        }
        assert_eq!(UNITS.write(0), (0, 1));
        assert_eq!(UNITS.write(13), (1, 3));
    }
}
