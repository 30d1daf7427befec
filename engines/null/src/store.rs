//! An ordered map behind a lock: contents for tests that must find again what they wrote. It is
//! kept in one file while the engine is closed, and is not meant to be fast.

use kvdyno_engine::{Direction, Error, ErrorClass, Result, Write as BatchWrite};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufWriter, ErrorKind, Write};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// The records and their file.
#[derive(Debug)]
pub(crate) struct Store {
    records: RwLock<Map>,
    file: PathBuf,
}

impl Store {
    pub(crate) fn open(directory: &Path) -> Result<Self> {
        let file = directory.join("null.store");
        let records = match fs::read(&file) {
            Ok(bytes) => parse(&bytes)
                .ok_or_else(|| Error::new(ErrorClass::Corrupt, "null.store is truncated"))?,
            Err(error) if error.kind() == ErrorKind::NotFound => Map::new(),
            Err(error) => return Err(Error::from(error).context("reading null.store")),
        };
        Ok(Self { records: RwLock::new(records), file })
    }

    pub(crate) fn save(&self) -> Result<()> {
        let temporary = self.file.with_extension("new");
        let mut out = BufWriter::new(fs::File::create(&temporary)?);
        for (key, value) in &*self.read() {
            for part in [key, value] {
                out.write_all(&(part.len() as u64).to_le_bytes())?;
                out.write_all(part)?;
            }
        }
        out.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()?;
        Ok(fs::rename(temporary, &self.file)?)
    }

    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Map> {
        self.records.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn records(&self) -> u64 {
        self.read().len() as u64
    }

    /// All writes under one lock: a reader sees all of them or none.
    pub(crate) fn write(&self, writes: &[BatchWrite<'_>]) {
        let mut records = self.records.write().unwrap_or_else(PoisonError::into_inner);
        for write in writes {
            match write.value() {
                Some(value) => records.insert(write.key().to_vec(), value.to_vec()),
                None => records.remove(write.key()),
            };
        }
    }

    /// Shows records until `limit` were taken; `seen` says whether it took one.
    pub(crate) fn scan(
        &self,
        from: &[u8],
        direction: Direction,
        limit: u64,
        mut seen: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> u64 {
        let records = self.read();
        let taken = |(key, value): (&Vec<u8>, &Vec<u8>)| seen(key, value);
        let count = |shown: &mut dyn Iterator<Item = bool>| {
            shown.filter(|&taken| taken).take(limit as usize).count() as u64
        };
        match direction {
            Direction::Forward => {
                let range = (Bound::Included(from), Bound::Unbounded);
                count(&mut records.range::<[u8], _>(range).map(taken))
            }
            Direction::Reverse => {
                let range = (Bound::Unbounded, Bound::Included(from));
                count(&mut records.range::<[u8], _>(range).rev().map(taken))
            }
        }
    }
}

fn parse(mut bytes: &[u8]) -> Option<Map> {
    let mut records = Map::new();
    while !bytes.is_empty() {
        let key = part(&mut bytes)?;
        records.insert(key, part(&mut bytes)?);
    }
    Some(records)
}

fn part(bytes: &mut &[u8]) -> Option<Vec<u8>> {
    let (length, rest) = bytes.split_first_chunk()?;
    let (part, rest) = rest.split_at_checked(u64::from_le_bytes(*length) as usize)?;
    *bytes = rest;
    Some(part.to_vec())
}
