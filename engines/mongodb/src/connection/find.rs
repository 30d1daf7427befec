//! Finds, and the pages of their results.

use super::{Connection, HEADER_BYTES, OP_QUERY, REPLY_HEAD, Target, numbers};
use crate::answer::{Documents, Page, document, page, read_u32, server_error};
use crate::bytes::Document;
use bson::RawDocument;
use kvdyno_engine::Result;
use kvdyno_engine::server::Answers as _;
use std::ops::{ControlFlow, Range};

const OP_GET_MORE: u32 = 2005;
const OP_KILL_CURSORS: u32 = 2007;

/// Flags of an `OP_REPLY`: there is no such cursor; the query failed.
const FAILURES: u32 = 0b11;

/// A find without its filter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Find<'f> {
    pub(crate) collection: &'f str,
    /// The fields to sort by; 1: from the least on, -1: from the greatest on.
    pub(crate) sort: &'f [(&'f str, i32)],
    /// The fields to return; 1: this one, 0: not this one. Empty: all.
    pub(crate) fields: &'f [(&'f str, i32)],
    /// The most documents in a page.
    pub(crate) documents: i32,
    /// The most documents in all pages. One: they come without a cursor.
    pub(crate) limit: u64,
}

/// Writes how many documents a page has, and how many there are in all.
fn limits<'d>(doc: Document<'d>, find: &Find<'_>) -> Document<'d> {
    match i64::try_from(find.limit) {
        Ok(1) => doc.int("limit", 1).flag("singleBatch", true),
        // A page that could take one more than the limit is the last one: it has no cursor.
        // Without `batchSize` the server would end the first page at 101 documents.
        Ok(limit) => doc.long("limit", limit).int("batchSize", find.documents.saturating_add(1)),
        Err(_) => doc.int("batchSize", find.documents),
    }
}

/// Writes numbers by their names into an inner document, if there are any.
fn fill<'d>(doc: Document<'d>, name: &str, fields: &[(&str, i32)]) -> Document<'d> {
    if fields.is_empty() { doc } else { doc.document(name, |inner| numbers(inner, fields)) }
}

impl Connection {
    /// Returns the page in an answer to a command.
    #[inline]
    fn page(&self, body: Range<usize>, batch: &str) -> Result<Page> {
        let begin = body.start;
        page(self.reply_to_command(body)?, begin, batch)
    }

    /// Sends a find. Returns its first page.
    #[inline]
    pub(crate) fn find(
        &mut self,
        find: &Find<'_>,
        filter: impl for<'d> FnOnce(Document<'d>) -> Document<'d>,
    ) -> Result<Page> {
        if self.messages {
            let body = self.ask(Target::Ours, |doc| {
                let doc = doc.text("find", find.collection).document("filter", filter);
                let doc = fill(doc, "sort", find.sort);
                let doc = fill(doc, "projection", find.fields);
                limits(doc, find)
            })?;
            return self.page(body, "firstBatch");
        }
        self.begin(OP_QUERY);
        // A negative number asks for no cursor. The server would cut more documents off at 4 MiB.
        let documents = if find.limit == 1 { -1 } else { find.documents };
        self.query(&self.namespace(find.collection), documents);
        let query = Document::begin(&mut self.wire.out);
        if find.sort.is_empty() {
            filter(query).end();
        } else {
            fill(query.document("$query", filter), "$orderby", find.sort).end();
        }
        if !find.fields.is_empty() {
            numbers(Document::begin(&mut self.wire.out), find.fields).end();
        }
        self.send()?;
        self.reply()
    }

    /// Shows the documents of all pages from `page` on, until `visit` breaks off or the limit is
    /// reached. A page may have fewer documents than were asked for: the server limits its bytes.
    /// Returns how many were shown.
    #[inline]
    pub(crate) fn show(
        &mut self,
        mut page: Page,
        find: &Find<'_>,
        mut visit: impl FnMut(&RawDocument) -> Result<ControlFlow<()>>,
    ) -> Result<u64> {
        let mut count = 0;
        loop {
            let mut more = true;
            for document in self.documents(&page) {
                count += 1;
                more = visit(document?)?.is_continue() && count < find.limit;
                if !more {
                    break;
                }
            }
            match (page.cursor, more) {
                (0, _) => return Ok(count),
                (cursor, false) => return self.leave(cursor, find).map(|()| count),
                (cursor, true) => {
                    let page_size = (find.limit - count).min(find.documents as u64) as i32;
                    page = self.next_page(cursor, find, page_size)?;
                }
            }
        }
    }

    /// Asks for the next page of a cursor.
    pub(crate) fn next_page(
        &mut self,
        cursor: i64,
        find: &Find<'_>,
        documents: i32,
    ) -> Result<Page> {
        if self.messages {
            let body = self.ask(Target::Ours, |doc| {
                let doc = doc.long("getMore", cursor).text("collection", find.collection);
                // As in `limits`: the last page has no cursor if it could take one more.
                doc.int("batchSize", documents.saturating_add(1))
            })?;
            return self.page(body, "nextBatch");
        }
        self.begin(OP_GET_MORE);
        self.wire.out.extend_from_slice(&[0; 4]);
        self.name(&self.namespace(find.collection));
        self.wire.out.extend_from_slice(&documents.to_le_bytes());
        self.wire.out.extend_from_slice(&cursor.to_le_bytes());
        self.send()?;
        self.reply()
    }

    /// Leaves a cursor that was not read to its end.
    pub(crate) fn leave(&mut self, cursor: i64, find: &Find<'_>) -> Result<()> {
        if self.messages {
            let killed = self.command(Target::Ours, |doc| {
                let doc = doc.text("killCursors", find.collection);
                doc.list("cursors", std::iter::once(()), |list, index, ()| list.long(index, cursor))
            });
            return killed.map(drop);
        }
        self.begin(OP_KILL_CURSORS);
        self.wire.out.extend_from_slice(&[0; 4]);
        self.wire.out.extend_from_slice(&1_u32.to_le_bytes());
        self.wire.out.extend_from_slice(&cursor.to_le_bytes());
        // The message is not answered.
        self.send()
    }

    /// The documents of a page.
    #[inline]
    pub(crate) fn documents(&self, page: &Page) -> Documents<'_> {
        Documents { rest: self.wire.bytes(page.documents.clone()), listed: page.listed }
    }

    /// Waits for the `OP_REPLY` of a find.
    fn reply(&mut self) -> Result<Page> {
        let documents = self.answer()?;
        let head = self.wire.bytes(documents.start - REPLY_HEAD..documents.start);
        if read_u32(head, HEADER_BYTES) & FAILURES != 0 {
            let words = document(self.wire.bytes(documents));
            return Err(words.map_or_else(|error| error, server_error));
        }
        let cursor = head[HEADER_BYTES + 4..].first_chunk().copied().unwrap_or_default();
        Ok(Page { cursor: i64::from_le_bytes(cursor), documents, listed: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::tests::{connected, message, message_to};
    use crate::connection::{MESSAGE_HEAD, OP_MSG, OP_REPLY};
    use bson::{RawArrayBuf, RawDocumentBuf, cstr, rawdoc};
    use std::io::{Read as _, Write as _};
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_page_lies_where_it_was_received() {
        let record = rawdoc! { "v": 1 };
        let batch = rawdoc! { "id": 9_i64, "firstBatch": [record.clone()] };
        let reply = rawdoc! { "cursor": batch, "ok": 1.0 };
        let (mut connection, _server) = connected(&message(&reply).repeat(2));
        for _ in 0..2 {
            let body = connection.answer().unwrap();
            let page = connection.page(body, "firstBatch").unwrap();
            let documents: Vec<_> = connection.documents(&page).map(Result::unwrap).collect();
            assert_eq!((page.cursor, documents), (9, vec![record.as_ref()]));
        }
    }

    /// The documents in the collection.
    const STORED: usize = 1200;

    /// The documents that fit into the bytes of a page.
    const FIT: usize = 300;

    /// A server with one collection, which cuts its pages as `mongod` does.
    struct Server {
        stream: UnixStream,
        /// The documents that the cursor has shown, and those that it may show.
        shown: usize,
        limit: usize,
        open_cursor: bool,
        killed: bool,
    }

    impl Server {
        /// Answers one message. False: there is no other.
        fn answer(&mut self) -> bool {
            let mut length = [0; 4];
            if self.stream.read_exact(&mut length).is_err() {
                return false;
            }
            let mut request = vec![0; u32::from_le_bytes(length) as usize];
            self.stream.read_exact(&mut request[4..]).unwrap();
            let number = read_u32(&request, 4);
            let answer = match read_u32(&request, 12) {
                OP_MSG => self.answer_command(number, &request[MESSAGE_HEAD..]),
                OP_KILL_CURSORS => {
                    self.open_cursor = false;
                    return true;
                }
                kind => self.answer_old(number, kind, &request[HEADER_BYTES + 4..]),
            };
            self.stream.write_all(&answer).unwrap();
            true
        }

        /// Returns the numbers of a page's documents, and the cursor.
        fn page(&mut self, batch_size: usize, may_go_on: bool) -> (std::ops::Range<usize>, i64) {
            let rest = self.limit - self.shown;
            let page = self.shown..self.shown + batch_size.min(FIT).min(rest);
            self.shown = page.end;
            // A page that ends the cursor would have taken one more.
            self.open_cursor = may_go_on && (page.len() == batch_size || page.len() < rest);
            (page, if self.open_cursor { 9 } else { 0 })
        }

        fn answer_command(&mut self, number: u32, body: &[u8]) -> Vec<u8> {
            let body = RawDocument::from_bytes(body).unwrap();
            let count = |name| body.get_i64(name).or_else(|_| body.get_i32(name).map(i64::from));
            let batch_size = count("batchSize").map_or(101, |size| size as usize);
            let name = match body.iter().next().unwrap().unwrap().0.as_str() {
                "find" => {
                    let limit = count("limit").map_or(STORED, |limit| limit as usize);
                    (self.shown, self.limit) = (0, limit.min(STORED));
                    cstr!("firstBatch")
                }
                "getMore" => cstr!("nextBatch"),
                _ => {
                    (self.open_cursor, self.killed) = (false, true);
                    return message_to(number, &rawdoc! { "ok": 1.0 });
                }
            };
            let single = body.get_bool("singleBatch").unwrap_or(false);
            let (page, cursor) = self.page(batch_size, !single);
            let mut batch = RawArrayBuf::new();
            page.for_each(|number| batch.push(stored(number)));
            let cursor = rawdoc! { "id": cursor, name: batch };
            message_to(number, &rawdoc! { "cursor": cursor, "ok": 1.0 })
        }

        fn answer_old(&mut self, number: u32, kind: u32, rest: &[u8]) -> Vec<u8> {
            let name_end = rest.iter().position(|byte| *byte == 0).unwrap() + 1;
            let skipped = if kind == OP_QUERY { 4 } else { 0 };
            let documents = read_u32(rest, name_end + skipped) as i32;
            if kind == OP_QUERY {
                (self.shown, self.limit) = (0, STORED);
            }
            let (page, cursor) = self.page(documents.unsigned_abs() as usize, documents > 0);
            let documents: Vec<u8> = page.flat_map(|number| stored(number).into_bytes()).collect();
            let length = (REPLY_HEAD + documents.len()) as u32;
            let head = [length, 1, number, OP_REPLY, 0].map(u32::to_le_bytes).concat();
            [&head, &cursor.to_le_bytes()[..], &[0; 8], &documents].concat()
        }
    }

    fn stored(number: usize) -> RawDocumentBuf {
        rawdoc! { "_id": number as i64 }
    }

    /// The server ends a page at 101 documents where no size was asked for, and by its bytes.
    #[test]
    fn a_find_shows_all_documents_up_to_its_limit() {
        for messages in [true, false] {
            for limit in [1, 101, 102, 299, 300, 301, 500, 1000, 1200, 5000, u64::MAX] {
                let (mut connection, stream) = connected(&[]);
                connection.messages = messages;
                let served = std::thread::spawn(move || {
                    let (open_cursor, killed) = (false, false);
                    let mut server = Server { stream, shown: 0, limit: 0, open_cursor, killed };
                    while server.answer() {}
                    (server.open_cursor, server.killed)
                });
                let documents = limit.min(500) as i32;
                let find = Find { collection: "kv", sort: &[], fields: &[], documents, limit };
                let page = connection.find(&find, |filter| filter).unwrap();
                let mut shown = Vec::new();
                let count = connection.show(page, &find, |document| {
                    shown.push(document.get_i64("_id").unwrap());
                    Ok(ControlFlow::Continue(()))
                });
                drop(connection);
                let expected: Vec<_> = (0..limit.min(STORED as u64) as i64).collect();
                assert_eq!(shown, expected, "limit {limit}");
                assert_eq!(count.unwrap(), expected.len() as u64);
                // An open cursor would cost a round trip.
                let ends = (false, false);
                assert_eq!(served.join().unwrap(), ends, "limit {limit}: cursor open, killed");
            }
        }
    }
}
