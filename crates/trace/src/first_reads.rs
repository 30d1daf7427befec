//! Keys that a trace reads before it writes them, which must exist beforehand.

use super::error::TraceError;
use super::reader::TraceReader;
use super::request::Request;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Keys of a page, which has one bit for each.
const PAGE: u64 = 1 << 16;

/// Finds the requests that read a key without an earlier request, given all requests in order. It
/// stores one bit for each key, in pages that exist only for requested keys.
#[derive(Debug, Default)]
pub struct FirstReads {
    pages: HashMap<u64, Box<[u64]>>,
}

impl FirstReads {
    /// Returns whether this request reads a key and is the first request of that key.
    pub fn is_one(&mut self, request: &Request) -> bool {
        let page = match self.pages.entry(request.key / PAGE) {
            Entry::Occupied(page) => page.into_mut(),
            Entry::Vacant(page) => page.insert(vec![0; (PAGE / 64) as usize].into()),
        };
        let position = request.key % PAGE;
        let (word, bit) = (&mut page[(position / 64) as usize], 1 << (position % 64));
        let first = *word & bit == 0;
        *word |= bit;
        first && request.op.reads()
    }

    /// Counts the first reads of a trace.
    pub fn count(mut reader: TraceReader) -> Result<u64, TraceError> {
        let (mut first_reads, mut count) = (Self::default(), 0);
        let mut requests = Vec::new();
        while reader.next_block(&mut requests)? {
            let first = requests.iter().filter(|request| first_reads.is_one(request));
            count += first.count() as u64;
        }
        Ok(count)
    }
}
