//! fjall's iterators as ranges and walks, and what goes wrong.

use fjall::{Iter, Keyspace, LsmError, UserKey};
use kvdyno_engine::{Direction, Error, ErrorClass, Result, Walk};
use std::ops::ControlFlow;

/// fjall's error with its class.
#[cold]
#[expect(clippy::needless_pass_by_value, reason = "as map_err passes it")]
pub(crate) fn failed(error: fjall::Error) -> Error {
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

/// The result of a scan: the number of records, and the last key if the range may continue.
pub(crate) struct ScanResult {
    pub(crate) count: u64,
    last: Option<UserKey>,
}

/// Shows records of `way` in this direction, `limit` at most.
#[inline]
pub(crate) fn show(
    way: &mut Iter,
    direction: Direction,
    limit: u64,
    mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
) -> Result<ScanResult> {
    let mut shown = ScanResult { count: 0, last: None };
    while shown.count < limit {
        let next = match direction {
            Direction::Forward => way.next(),
            Direction::Reverse => way.next_back(),
        };
        let Some(record) = next else { return Ok(ScanResult { last: None, ..shown }) };
        let (key, value) = record.into_inner().map_err(failed)?;
        shown.count += 1;
        let broke_off = visit(&key, &value).is_break();
        shown.last = Some(key);
        if broke_off {
            break;
        }
    }
    Ok(shown)
}

/// An iterator that is kept open from call to call of a walk, and the key it showed last.
pub(crate) struct Walking {
    way: Iter,
    stands: Option<UserKey>,
}

impl Walking {
    /// An iterator that begins after the position of `walk`.
    pub(crate) fn begin(keyspace: &Keyspace, walk: &Walk) -> Self {
        use std::ops::Bound::{Excluded, Unbounded};
        let last = walk.last().map_or(Unbounded, Excluded);
        let bounds = match walk.direction() {
            Direction::Forward => (last, Unbounded),
            Direction::Reverse => (Unbounded, last),
        };
        Self { way: keyspace.range::<&[u8], _>(bounds), stands: None }
    }

    /// Whether it is at the position of `walk`.
    pub(crate) fn goes_on(&self, walk: &Walk) -> bool {
        self.stands.as_deref() == walk.last()
    }

    /// The next `limit` records; whether there may be more is in `walk`.
    pub(crate) fn show(
        &mut self,
        walk: &mut Walk,
        limit: u64,
        visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64> {
        let ScanResult { count, last } = show(&mut self.way, walk.direction(), limit, visit)?;
        match &last {
            None => walk.ended(),
            Some(last) => walk.passed(last),
        }
        self.stands = last;
        Ok(count)
    }
}
