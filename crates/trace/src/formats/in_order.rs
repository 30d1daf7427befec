//! Logs of drives are written when requests complete, and say when they began: requests that were
//! in flight together are put into the order of their beginnings.

use super::{Importer, Notes, RawRequest};
use crate::error::TraceError;
use crate::header::Times;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// More than a drive has in flight.
const HELD: usize = 1 << 14;

pub(super) struct InOrder<I> {
    inner: I,
    held: BinaryHeap<Held>,
    read: u64,
    over: bool,
}

/// The earliest is the greatest; of one time, the one that was read first.
#[derive(PartialEq, Eq)]
struct Held {
    found: RawRequest,
    place: u64,
}

impl Ord for Held {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.found.at_ns, other.place).cmp(&(self.found.at_ns, self.place))
    }
}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<I> InOrder<I> {
    pub(super) fn new(inner: I) -> Self {
        Self { inner, held: BinaryHeap::new(), read: 0, over: false }
    }
}

impl<I: Importer> Importer for InOrder<I> {
    fn next(&mut self, found: &mut RawRequest, notes: &mut Notes) -> Result<bool, TraceError> {
        while !self.over && self.held.len() < HELD {
            let mut next = RawRequest::default();
            if self.inner.next(&mut next, notes)? {
                self.held.push(Held { found: next, place: self.read });
                self.read += 1;
            } else {
                self.over = true;
            }
        }
        match self.held.pop() {
            Some(first) => {
                *found = first.found;
                Ok(true)
            }
            None => Ok(false),
        }
    }

    fn times(&self) -> Times {
        self.inner.times()
    }
}
