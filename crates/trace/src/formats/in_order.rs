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
    /// The notes and the error of what is behind the last request.
    end: Notes,
    error: Option<TraceError>,
}

/// A request in the heap, and the notes of the lines up to it. The earliest is the greatest; at
/// equal times, the one that was read first.
struct QueuedRequest {
    request: RawRequest,
    order: u64,
    notes: Notes,
}

impl PartialEq for QueuedRequest {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for QueuedRequest {}

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
        let (held, end) = (BinaryHeap::new(), Notes::default());
        Self { inner, held, read: 0, ended: false, end, error: None }
    }

    /// Reads ahead. Notes and errors wait for their turn: an import may end before them.
    fn fill(&mut self)
    where
        I: Importer,
    {
        while !self.ended && self.held.len() < HELD {
            let (mut request, mut notes) = (RawRequest::default(), Notes::default());
            match self.inner.next(&mut request, &mut notes) {
                Ok(true) => {
                    self.held.push(QueuedRequest { request, order: self.read, notes });
                    self.read += 1;
                }
                Ok(false) => (self.ended, self.end) = (true, notes),
                Err(error) => (self.ended, self.error) = (true, Some(error)),
            }
        }
    }
}

impl<I: Importer> Importer for InOrder<I> {
    fn next(&mut self, request: &mut RawRequest, notes: &mut Notes) -> Result<bool, TraceError> {
        self.fill();
        if let Some(first) = self.held.pop() {
            *request = first.request;
            notes.add(first.notes);
            return Ok(true);
        }
        notes.add(std::mem::take(&mut self.end));
        self.error.take().map_or(Ok(false), Err)
    }

    fn times(&self) -> Times {
        self.inner.times()
    }
}
