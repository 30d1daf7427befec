//! Records in key order: ranges, directions, and the position of a walk over all records.

use crate::{Result, Session};
use std::ops::{Bound, ControlFlow};

/// The direction of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Ascending keys.
    Forward,
    /// Descending keys.
    Reverse,
}

/// A range of keys and the direction of a scan through it. The low end is included and the high end
/// is not, except that a reverse scan includes the key with which it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range<'a> {
    /// The scan begins at the first key `>= from` (forward) or `<= from` (reverse); none: at the
    /// lowest key (forward) or the highest (reverse).
    pub from: Option<&'a [u8]>,
    /// The scan ends before the first key `>= until` (forward) or `< until` (reverse); none: after
    /// the last key.
    pub until: Option<&'a [u8]>,
    /// The direction of the scan.
    pub direction: Direction,
    /// The most records to show.
    pub limit: u64,
}

impl<'a> Range<'a> {
    /// A range of all records.
    pub fn all(direction: Direction) -> Self {
        Self { from: None, until: None, direction, limit: u64::MAX }
    }

    /// The same range, from `key` on.
    #[must_use]
    pub fn from(self, key: &'a [u8]) -> Self {
        Self { from: Some(key), ..self }
    }

    /// The same range, up to `key`.
    #[must_use]
    pub fn until(self, key: &'a [u8]) -> Self {
        Self { until: Some(key), ..self }
    }

    /// The same range, with at most `limit` records.
    #[must_use]
    pub fn limit(self, limit: u64) -> Self {
        Self { limit, ..self }
    }

    /// Returns the low and the high end of the range, for engines that take both. The low end may
    /// lie above the high end: then the range is empty.
    #[inline]
    pub fn bounds(&self) -> (Bound<&'a [u8]>, Bound<&'a [u8]>) {
        let included = |key: Option<&'a [u8]>| key.map_or(Bound::Unbounded, Bound::Included);
        match self.direction {
            Direction::Forward => {
                (included(self.from), self.until.map_or(Bound::Unbounded, Bound::Excluded))
            }
            Direction::Reverse => (included(self.until), included(self.from)),
        }
    }

    /// Whether `key`, which the scan has reached, lies past the end of the range.
    #[inline]
    pub fn ends_before(&self, key: &[u8]) -> bool {
        self.until.is_some_and(|until| match self.direction {
            Direction::Forward => key >= until,
            Direction::Reverse => key < until,
        })
    }
}

/// Shows records from one end of an iterator, `limit` at most. `show` shows one record and returns
/// its key. Returns how many were shown, and the last key unless the iterator came to its end.
#[inline]
pub fn show_records<I: DoubleEndedIterator, K>(
    records: &mut I,
    direction: Direction,
    limit: u64,
    mut show: impl FnMut(I::Item) -> Result<(K, ControlFlow<()>)>,
) -> Result<(u64, Option<K>)> {
    let (mut shown, mut last) = (0, None);
    while shown < limit {
        let next = match direction {
            Direction::Forward => records.next(),
            Direction::Reverse => records.next_back(),
        };
        let Some(record) = next else { return Ok((shown, None)) };
        let (key, flow) = show(record)?;
        (shown, last) = (shown + 1, Some(key));
        if flow.is_break() {
            break;
        }
    }
    Ok((shown, last))
}

/// The position of a walk over all records.
#[derive(Clone, Debug)]
pub struct Walk {
    direction: Direction,
    last: Vec<u8>,
    begun: bool,
}

impl Walk {
    /// A walk that has not begun.
    pub fn new(direction: Direction) -> Self {
        Self { direction, last: Vec::new(), begun: false }
    }

    /// The direction of the walk.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// The key that was shown last; none: the walk has not begun.
    pub fn last_key(&self) -> Option<&[u8]> {
        self.begun.then_some(&self.last)
    }

    /// The bounds of the keys that were not shown yet.
    pub fn bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        let last = self.last_key().map_or(Bound::Unbounded, Bound::Excluded);
        match self.direction {
            Direction::Forward => (last, Bound::Unbounded),
            Direction::Reverse => (Bound::Unbounded, last),
        }
    }

    /// Notes that `key` was shown.
    #[inline]
    pub fn advance_to(&mut self, key: &[u8]) {
        self.last.clear();
        self.last.extend_from_slice(key);
        self.begun = true;
    }

    /// Notes that the walk came to its end: it begins anew.
    pub fn restart(&mut self) {
        self.begun = false;
    }

    /// Continues the walk by a scan from its position; works for every engine that scans.
    pub fn continue_by_scan<S: Session>(
        &mut self,
        session: &mut S,
        limit: u64,
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64> {
        let Self { direction, last, begun } = self;
        let from = std::mem::take(last);
        let after = begun.then_some(from.as_slice());
        let range = Range { from: after, ..Range::all(*direction) };
        // One more than asked for: the scan may begin with the key that was shown last.
        let range = range.limit(limit.saturating_add(u64::from(*begun)));
        let (mut shown, mut broke_off) = (0, false);
        session.scan(range, |key, value| {
            if after == Some(key) {
                return ControlFlow::Continue(());
            }
            last.clear();
            last.extend_from_slice(key);
            shown += 1;
            let visit = visit(key, value);
            broke_off = visit.is_break();
            if shown == limit { ControlFlow::Break(()) } else { visit }
        })?;
        if shown < limit && !broke_off {
            self.restart();
        } else if shown > 0 {
            self.begun = true;
        } else {
            self.last = from;
        }
        Ok(shown)
    }
}
