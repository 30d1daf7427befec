//! A surrealkv transaction: its reads, its writes, and its errors.

use kvdyno_engine::{Direction, Error, ErrorClass, Range, Records, Result, ValueVisitor};
use std::ops::ControlFlow;
use surrealkv::{LSMIterator as _, ReadOptions, Transaction};

/// Returns surrealkv's error with its class.
#[cold]
#[expect(clippy::needless_pass_by_value, reason = "as map_err passes it")]
pub(crate) fn surrealkv_error(error: surrealkv::Error) -> Error {
    use surrealkv::Error as Surreal;
    let class = match &error {
        Surreal::Io(error) => Error::from(std::io::Error::from(error.kind())).class,
        Surreal::TransactionWriteConflict | Surreal::TransactionRetry => ErrorClass::Conflict,
        Surreal::EmptyKey | Surreal::BatchTooLarge | Surreal::InvalidArgument(_) => {
            ErrorClass::Invalid
        }
        Surreal::CorruptedBlock(_)
        | Surreal::CorruptedTableMetadata(_)
        | Surreal::InvalidTableFormat
        | Surreal::Corruption(_)
        | Surreal::ManifestCorruption(_)
        | Surreal::ManifestMissing(_)
        | Surreal::LoadManifestFail(_)
        | Surreal::WalCorruption { .. }
        | Surreal::SSTable(_) => ErrorClass::Corrupt,
        // The error that poisoned the database was the answer to another commit.
        Surreal::DatabaseStopped(_)
        | Surreal::DatabasePoisoned(_)
        | Surreal::Wal(_)
        | Surreal::CommitFail(_) => ErrorClass::Io,
        _ => ErrorClass::Other,
    };
    Error::new(class, error.to_string())
}

/// Shows the records of `range` as the transaction sees them.
pub(crate) fn scan(
    transaction: &Transaction,
    range: &Range<'_>,
    mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
) -> Result<u64> {
    let mut bounds = ReadOptions::new();
    let owned = |key: Option<&[u8]>| key.map(<[u8]>::to_vec);
    match range.direction {
        Direction::Forward => {
            bounds.set_iterate_lower_bound(owned(range.from));
            bounds.set_iterate_upper_bound(owned(range.until));
        }
        Direction::Reverse => {
            bounds.set_iterate_lower_bound(owned(range.until));
            // surrealkv excludes the upper bound, but a reverse range includes its first key. So
            // the bound is the next possible key.
            let next = |key: &[u8]| [key, &[0]].concat();
            bounds.set_iterate_upper_bound(range.from.map(next));
        }
    }
    if range.limit == 0 || is_empty(range) {
        return Ok(0);
    }
    let mut way = transaction.range_with_options(&bounds).map_err(surrealkv_error)?;
    let mut valid = match range.direction {
        Direction::Forward => way.seek_first(),
        Direction::Reverse => way.seek_last(),
    }
    .map_err(surrealkv_error)?;
    let mut count = 0;
    while valid {
        count += 1;
        let value = way.value().map_err(surrealkv_error)?;
        if visit(way.key().user_key(), &value).is_break() || count == range.limit {
            break;
        }
        valid = match range.direction {
            Direction::Forward => way.next(),
            Direction::Reverse => way.prev(),
        }
        .map_err(surrealkv_error)?;
    }
    Ok(count)
}

/// Returns whether the range's low end lies above its high end.
fn is_empty(range: &Range<'_>) -> bool {
    range.from.zip(range.until).is_some_and(|(from, until)| match range.direction {
        Direction::Forward => from >= until,
        Direction::Reverse => from < until,
    })
}

/// A transaction that reads and writes, under way.
pub(crate) struct ActiveTransaction(pub(crate) Transaction);

impl kvdyno_engine::Transaction for ActiveTransaction {
    fn get(&mut self, key: &[u8], visit: &mut ValueVisitor<'_>) -> Result<()> {
        visit(self.0.get(key).map_err(surrealkv_error)?.as_deref());
        Ok(())
    }

    fn get_for_update(&mut self, key: &[u8], visit: &mut ValueVisitor<'_>) -> Result<()> {
        visit(self.0.get_for_update(key).map_err(surrealkv_error)?.as_deref());
        Ok(())
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.0.set(key, value).map_err(surrealkv_error)
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.0.delete(key).map_err(surrealkv_error)
    }

    fn scan(&mut self, range: Range<'_>, visit: &mut Records<'_>) -> Result<u64> {
        scan(&self.0, &range, visit)
    }
}
