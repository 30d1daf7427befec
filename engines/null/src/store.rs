//! An ordered map behind a lock, for tests that must read back their writes. It is stored in one
//! file while the engine is closed, and is not optimised.

use kvdyno_engine::{
    Direction, Error, ErrorClass, Range, Records, Result, Transaction, ValueVisitor,
    Write as BatchWrite,
};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufWriter, ErrorKind, Write};
use std::ops::{Bound, ControlFlow};
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

    /// Performs all writes under one lock: a reader sees all of them or none.
    pub(crate) fn write(&self, writes: &[BatchWrite<'_>]) {
        let mut records = self.records.write().unwrap_or_else(PoisonError::into_inner);
        for write in writes {
            match write.value() {
                Some(value) => records.insert(write.key().to_vec(), value.to_vec()),
                None => records.remove(write.key()),
            };
        }
    }

    /// Runs `body` exclusively; its changes are undone if it fails.
    pub(crate) fn transaction<R>(
        &self,
        body: impl FnOnce(&mut dyn Transaction) -> Result<R>,
    ) -> Result<R> {
        let mut records = self.records.write().unwrap_or_else(PoisonError::into_inner);
        let mut within = ActiveTransaction { records: &mut records, before: Vec::new() };
        body(&mut within).inspect_err(|_| within.undo())
    }
}

/// Shows the records of `range`. Returns how many `visit` accepted: it returns `None` for the
/// others.
pub(crate) fn scan(
    records: &Map,
    range: Range<'_>,
    mut visit: impl FnMut(&[u8], &[u8]) -> Option<ControlFlow<()>>,
) -> u64 {
    let from = range.from.map_or(Bound::Unbounded, Bound::Included);
    let mut count = 0;
    let mut show = |(key, value): (&Vec<u8>, &Vec<u8>)| {
        if count == range.limit || range.ends_before(key) {
            return ControlFlow::Break(());
        }
        visit(key, value).map_or(ControlFlow::Continue(()), |flow| {
            count += 1;
            flow
        })
    };
    // The count shows how the loop ended.
    let _ = match range.direction {
        Direction::Forward => {
            records.range::<[u8], _>((from, Bound::Unbounded)).try_for_each(&mut show)
        }
        Direction::Reverse => {
            records.range::<[u8], _>((Bound::Unbounded, from)).rev().try_for_each(&mut show)
        }
    };
    count
}

/// A transaction: it changes the records directly, and keeps their old values.
struct ActiveTransaction<'r> {
    records: &'r mut Map,
    before: Vec<(Vec<u8>, Option<Vec<u8>>)>,
}

impl ActiveTransaction<'_> {
    fn undo(&mut self) {
        for (key, value) in self.before.drain(..).rev() {
            match value {
                Some(value) => self.records.insert(key, value),
                None => self.records.remove(&key),
            };
        }
    }
}

impl Transaction for ActiveTransaction<'_> {
    fn get(&mut self, key: &[u8], visit: &mut ValueVisitor<'_>) -> Result<()> {
        visit(self.records.get(key).map(Vec::as_slice));
        Ok(())
    }

    fn get_for_update(&mut self, key: &[u8], visit: &mut ValueVisitor<'_>) -> Result<()> {
        self.get(key, visit)
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let before = self.records.insert(key.to_vec(), value.to_vec());
        self.before.push((key.to_vec(), before));
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        let before = self.records.remove(key);
        self.before.push((key.to_vec(), before));
        Ok(())
    }

    fn scan(&mut self, range: Range<'_>, visit: &mut Records<'_>) -> Result<u64> {
        Ok(scan(self.records, range, |key, value| Some(visit(key, value))))
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
