//! redb's one table as the records of a database: ranges and walks in it, and errors.

use kvdyno_engine::{
    Direction, Error, ErrorClass, Range, Records, Result, Transaction, ValueVisitor, Walk,
    show_records,
};
use redb::{AccessGuard, ReadOnlyTable, ReadableTable, Table, TableDefinition};
use std::ops::ControlFlow;

/// The table's name and types: bytes, in the order of their comparison.
pub(crate) const TABLE: TableDefinition<'static, &[u8], &[u8]> = TableDefinition::new("records");

type RangeIter<'t> = redb::Range<'t, &'static [u8], &'static [u8]>;
type Guard<'t> = AccessGuard<'t, &'static [u8]>;

/// Returns redb's error with its class.
#[cold]
pub(crate) fn redb_error(error: impl Into<redb::Error>) -> Error {
    use redb::Error as Redb;
    let error = error.into();
    let class = match &error {
        Redb::Io(error) => Error::from(std::io::Error::from(error.kind())).class,
        Redb::PreviousIo => ErrorClass::Io,
        Redb::Corrupted(_) | Redb::UpgradeRequired(_) => ErrorClass::Corrupt,
        Redb::ValueTooLarge(_) | Redb::DatabaseAlreadyOpen | Redb::LockProtocolMismatch => {
            ErrorClass::Invalid
        }
        _ => ErrorClass::Other,
    };
    Error::new(class, error.to_string())
}

/// Shows records of `way`, as [`show_records`].
#[inline]
fn show<'t>(
    way: &mut RangeIter<'t>,
    direction: Direction,
    limit: u64,
    visit: &mut impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
) -> Result<(u64, Option<Guard<'t>>)> {
    show_records(way, direction, limit, |record| {
        let (key, value) = record.map_err(redb_error)?;
        let flow = visit(key.value(), value.value());
        Ok((key, flow))
    })
}

/// Shows the records of `range`.
pub(crate) fn scan(
    table: &impl ReadableTable<&'static [u8], &'static [u8]>,
    range: &Range<'_>,
    mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
) -> Result<u64> {
    let mut way = table.range::<&[u8]>(range.bounds()).map_err(redb_error)?;
    Ok(show(&mut way, range.direction, range.limit, &mut visit)?.0)
}

/// An iterator that is kept open from call to call of a walk, with its transaction.
pub(crate) struct Walking {
    way: RangeIter<'static>,
    direction: Direction,
    /// The key that was visited last.
    stands: Vec<u8>,
}

impl Walking {
    /// Returns whether the iterator is at the position of `walk`.
    pub(crate) fn can_continue(&self, walk: &Walk) -> bool {
        self.direction == walk.direction() && walk.last_key() == Some(&self.stands)
    }

    /// Returns an iterator that begins after the position of `walk`.
    pub(crate) fn begin(
        table: &ReadOnlyTable<&'static [u8], &'static [u8]>,
        walk: &Walk,
    ) -> Result<Self> {
        let way = table.range::<&[u8]>(walk.bounds()).map_err(redb_error)?;
        Ok(Self { way, direction: walk.direction(), stands: Vec::new() })
    }

    /// Shows the next `limit` records; `walk` then tells whether there may be more.
    pub(crate) fn show(
        &mut self,
        walk: &mut Walk,
        limit: u64,
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64> {
        let (count, last) = show(&mut self.way, walk.direction(), limit, &mut visit)?;
        match last {
            None => walk.restart(),
            Some(last) => {
                walk.advance_to(last.value());
                self.stands.clear();
                self.stands.extend_from_slice(last.value());
            }
        }
        Ok(count)
    }
}

/// The table in the only write transaction of its time: nothing changes what it reads.
pub(crate) struct ActiveTransaction<'t>(pub(crate) Table<'t, &'static [u8], &'static [u8]>);

impl Transaction for ActiveTransaction<'_> {
    fn get(&mut self, key: &[u8], visit: &mut ValueVisitor<'_>) -> Result<()> {
        let value = self.0.get(key).map_err(redb_error)?;
        visit(value.as_ref().map(AccessGuard::value));
        Ok(())
    }

    fn get_for_update(&mut self, key: &[u8], visit: &mut ValueVisitor<'_>) -> Result<()> {
        self.get(key, visit)
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.0.insert(key, value).map(drop).map_err(redb_error)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.0.remove(key).map(drop).map_err(redb_error)
    }

    fn scan(&mut self, range: Range<'_>, visit: &mut Records<'_>) -> Result<u64> {
        scan(&self.0, &range, visit)
    }
}
