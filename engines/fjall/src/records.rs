//! fjall's iterators as ranges and walks, and its errors.

use fjall::{Iter, Keyspace, LsmError, UserKey};
use kvdyno_engine::{Direction, Error, ErrorClass, Result, Walk, show_records};
use std::ops::ControlFlow;

/// Returns fjall's error with its class.
#[cold]
#[expect(clippy::needless_pass_by_value, reason = "as map_err passes it")]
pub(crate) fn fjall_error(error: fjall::Error) -> Error {
    use fjall::Error as Fjall;
    let io = |error: &std::io::Error| Error::from(std::io::Error::from(error.kind())).class;
    let class = match &error {
        Fjall::Io(error) | Fjall::Storage(LsmError::Io(error)) => io(error),
        Fjall::Locked | Fjall::InvalidVersion(_) => ErrorClass::Invalid,
        // The original error was returned by another call, or happened in a background thread.
        Fjall::Poisoned => ErrorClass::Io,
        Fjall::Storage(_)
        | Fjall::JournalRecovery(_)
        | Fjall::Decompress(_)
        | Fjall::InvalidTrailer
        | Fjall::InvalidTag(_)
        | Fjall::Unrecoverable => ErrorClass::Corrupt,
        _ => ErrorClass::Other,
    };
    Error::new(class, error.to_string())
}

/// Shows records of `way`, as [`show_records`].
#[inline]
pub(crate) fn show(
    way: &mut Iter,
    direction: Direction,
    limit: u64,
    mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
) -> Result<(u64, Option<UserKey>)> {
    show_records(way, direction, limit, |record| {
        let (key, value) = record.into_inner().map_err(fjall_error)?;
        let flow = visit(&key, &value);
        Ok((key, flow))
    })
}

/// An iterator that is kept open from call to call of a walk, and the key that was visited last.
pub(crate) struct Walking {
    way: Iter,
    direction: Direction,
    stands: Option<UserKey>,
}

impl Walking {
    /// Returns an iterator that begins after the position of `walk`.
    pub(crate) fn begin(keyspace: &Keyspace, walk: &Walk) -> Self {
        Self {
            way: keyspace.range::<&[u8], _>(walk.bounds()),
            direction: walk.direction(),
            stands: None,
        }
    }

    /// Returns whether the iterator is at the position of `walk`.
    pub(crate) fn can_continue(&self, walk: &Walk) -> bool {
        self.direction == walk.direction() && self.stands.as_deref() == walk.last_key()
    }

    /// Shows the next `limit` records; `walk` then tells whether there may be more.
    pub(crate) fn show(
        &mut self,
        walk: &mut Walk,
        limit: u64,
        visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64> {
        let (count, last) = show(&mut self.way, walk.direction(), limit, visit)?;
        match &last {
            None => walk.restart(),
            Some(last) => walk.advance_to(last),
        }
        self.stands = last;
        Ok(count)
    }
}
