//! Sorts requests of drives by their start times. Their logs are written when requests complete, so
//! requests that were in flight together may be in another order.

use super::{Importer, Notes, RawRequest};
use crate::error::TraceError;
use crate::header::Times;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// The number of requests held for sorting: more than a drive has in flight.
const HELD: usize = 1 << 14;

pub(super) struct InOrder<I> {
    inner: I,
    held: BinaryHeap<QueuedRequest>,
    read: u64,
    ended: bool,
}

/// A request in the heap. The earliest is the greatest; at equal times, the one that was read
/// first.
#[derive(PartialEq, Eq)]
struct QueuedRequest {
    request: RawRequest,
    order: u64,
}

impl Ord for QueuedRequest {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.request.at_ns, other.order).cmp(&(self.request.at_ns, self.order))
    }
}

impl PartialOrd for QueuedRequest {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<I> InOrder<I> {
    pub(super) fn new(inner: I) -> Self {
        Self { inner, held: BinaryHeap::new(), read: 0, ended: false }
    }
}

impl<I: Importer> Importer for InOrder<I> {
    fn next(&mut self, request: &mut RawRequest, notes: &mut Notes) -> Result<bool, TraceError> {
        while !self.ended && self.held.len() < HELD {
            let mut next = RawRequest::default();
            if self.inner.next(&mut next, notes)? {
                self.held.push(QueuedRequest { request: next, order: self.read });
                self.read += 1;
            } else {
                self.ended = true;
            }
        }
        match self.held.pop() {
            Some(first) => {
                *request = first.request;
                Ok(true)
            }
            None => Ok(false),
        }
    }

    fn times(&self) -> Times {
        self.inner.times()
    }
}
