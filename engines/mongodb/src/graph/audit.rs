//! The audit of counts: counts and their links are two streams in one order, read side by side.

use super::documents::{parse_count, parse_id1_and_kind};
use super::{COUNTS, LINKS};
use crate::answer::Page;
use crate::bytes::Document;
use crate::connection::{Connection, Find};
use bson::RawDocument;
use kvdyno_engine::Result;
use kvdyno_engine::graph::{Audited, Links, side_by_side};

/// The most documents in a page.
const PAGE: i32 = 10_000;

/// All counts in the order of their names, which is that of nodes and types.
const COUNTED: Find<'_> =
    Find { collection: COUNTS, sort: &[("_id", 1)], fields: &[], documents: PAGE, limit: u64::MAX };

/// All links in the order of the index by time, which has all these fields.
const LINKED: Find<'_> = Find {
    collection: LINKS,
    sort: &[("id1", 1), ("link_type", 1)],
    fields: &[("_id", 0), ("id1", 1), ("link_type", 1)],
    documents: PAGE,
    limit: u64::MAX,
};

/// Shows every node and type of both streams, until `go_on` returns false; then returns false.
pub(super) fn audit(
    counted: Connection,
    linked: Connection,
    go_on: impl Fn() -> bool,
    visit: impl FnMut(Audited),
) -> Result<bool> {
    let mut counts = Stream::start(counted, &COUNTED, |filter| filter)?;
    let mut links = Stream::start(linked, &LINKED, |filter| {
        // The index alone is read: it begins with the node.
        filter.document("id1", |id1| id1.long("$gte", 0)).int("visibility", 1)
    })?;
    let mut ahead = None;
    let grouped = || -> Result<Option<Links>> {
        let take = |links: &mut Stream| links.next(parse_id1_and_kind);
        let Some(next) = ahead.take().map_or_else(|| take(&mut links), |ids| Ok(Some(ids)))? else {
            return Ok(None);
        };
        let mut count = 1;
        loop {
            ahead = take(&mut links)?;
            if ahead != Some(next) {
                return Ok(Some((next, count)));
            }
            count += 1;
        }
    };
    // A count below zero is no number of links.
    let counted = |document: &RawDocument| {
        parse_count(document).map(|(next, count)| (next, count.try_into().unwrap_or(u64::MAX)))
    };
    side_by_side(|| counts.next(counted), grouped, go_on, visit)
}

/// The result of a find, document by document.
struct Stream {
    connection: Connection,
    find: &'static Find<'static>,
    page: Page,
}

impl Stream {
    fn start(
        mut connection: Connection,
        find: &'static Find<'static>,
        filter: impl for<'d> FnOnce(Document<'d>) -> Document<'d>,
    ) -> Result<Self> {
        let page = connection.find(find, filter)?;
        Ok(Self { connection, find, page })
    }

    /// Returns the next document as `read` parses it; `None`: there is no more.
    fn next<T>(&mut self, read: impl Fn(&RawDocument) -> Result<T>) -> Result<Option<T>> {
        loop {
            let mut documents = self.connection.documents(&self.page);
            if let Some(document) = documents.next() {
                let read = read(document?)?;
                self.page.documents.start = self.page.documents.end - documents.rest.len();
                return Ok(Some(read));
            }
            if self.page.cursor == 0 {
                return Ok(None);
            }
            self.page = self.connection.next_page(self.page.cursor, self.find, PAGE)?;
        }
    }
}
