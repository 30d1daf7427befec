//! Records in key order: which of them, which way, and where a walk over all of them stands.

use crate::{Result, Session};
use std::ops::{Bound, ControlFlow};

/// Which way a scan goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Ascending keys.
    Forward,
    /// Descending keys.
    Reverse,
}

/// A stretch of keys and the way through it. Its low end is in it and its high end is not, but for
/// the key that a scan in reverse begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range<'a> {
    /// It begins at the first key `>= from` (forward) or `<= from` (reverse); none: at the end that
    /// lies that way.
    pub from: Option<&'a [u8]>,
    /// It ends before the first key `>= until` (forward) or `< until` (reverse); none: with the
    /// last.
    pub until: Option<&'a [u8]>,
    /// Which way.
    pub direction: Direction,
    /// Records at most.
    pub limit: u64,
}

impl<'a> Range<'a> {
    /// All records, in this direction.
    pub fn all(direction: Direction) -> Self {
        Self { from: None, until: None, direction, limit: u64::MAX }
    }

    /// From `key` on.
    #[must_use]
    pub fn from(self, key: &'a [u8]) -> Self {
        Self { from: Some(key), ..self }
    }

    /// Up to `key`.
    #[must_use]
    pub fn until(self, key: &'a [u8]) -> Self {
        Self { until: Some(key), ..self }
    }

    /// At most `limit` records.
    #[must_use]
    pub fn limit(self, limit: u64) -> Self {
        Self { limit, ..self }
    }

    /// Its low and its high end, for engines that take both. The low one may lie above the high
    /// one: then nothing is in it.
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

    /// Whether `key`, met on the way, lies past the end.
    #[inline]
    pub fn ends_before(&self, key: &[u8]) -> bool {
        self.until.is_some_and(|until| match self.direction {
            Direction::Forward => key >= until,
            Direction::Reverse => key < until,
        })
    }
}

/// Shows records from one end of an iterator, `limit` at most. `show` shows one and returns its
/// key. Returns how many were shown, and the last key unless the iterator came to its end.
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

/// Where a walk over all records stands.
#[derive(Clone, Debug)]
pub struct Walk {
    direction: Direction,
    last: Vec<u8>,
    begun: bool,
}

impl Walk {
    /// One that has not begun.
    pub fn new(direction: Direction) -> Self {
        Self { direction, last: Vec::new(), begun: false }
    }

    /// Which way it goes.
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// The key it showed last; none: it has not begun.
    pub fn last_key(&self) -> Option<&[u8]> {
        self.begun.then_some(&self.last)
    }

    /// The keys that it has not shown.
    pub fn bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        let last = self.last_key().map_or(Bound::Unbounded, Bound::Excluded);
        match self.direction {
            Direction::Forward => (last, Bound::Unbounded),
            Direction::Reverse => (Bound::Unbounded, last),
        }
    }

    /// It showed `key`.
    #[inline]
    pub fn advance_to(&mut self, key: &[u8]) {
        self.last.clear();
        self.last.extend_from_slice(key);
        self.begun = true;
    }

    /// It came to its end, and begins anew.
    pub fn restart(&mut self) {
        self.begun = false;
    }

    /// Continues with a scan from where it stands; works for every engine that scans.
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
        // One more than asked for: it may begin with the key that was shown last.
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
