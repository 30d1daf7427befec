//! Parsing of a server's answers: success, and documents in the receive buffer.

use bson::{RawBsonRef, RawDocument};
use kvdyno_engine::server::protocol_error;
use kvdyno_engine::{Error, ErrorClass, Result};
use std::borrow::Cow;
use std::ops::Range;

/// One page of the result of a find.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    /// The cursor for the next page; zero: this is the last page.
    pub(crate) cursor: i64,
    /// Where its documents lie in the receive buffer.
    pub(crate) documents: Range<usize>,
    /// Whether the documents are elements of an array, each behind its kind and its name; else each
    /// follows the one before.
    pub(crate) listed: bool,
}

/// The documents of a page, in its order.
#[derive(Debug)]
pub(crate) struct Documents<'a> {
    pub(crate) rest: &'a [u8],
    pub(crate) listed: bool,
}

impl<'a> Iterator for Documents<'a> {
    type Item = Result<&'a RawDocument>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.listed {
            let name_end = self.rest.iter().position(|byte| *byte == 0)?;
            self.rest = &self.rest[name_end + 1..];
        }
        if self.rest.is_empty() {
            return None;
        }
        let Some((first, rest)) = self.rest.split_at_checked(read_u32(self.rest, 0) as usize)
        else {
            self.rest = &[];
            return Some(Err(protocol_error("a truncated document")));
        };
        self.rest = rest;
        Some(document(first))
    }
}

/// Returns the key and the value of a record's document.
#[inline]
pub(crate) fn record(document: &RawDocument) -> Result<(Cow<'_, [u8]>, &[u8])> {
    let (mut key, mut value) = (None, None);
    for element in document {
        match element.map_err(unreadable_error)? {
            (name, RawBsonRef::Binary(binary)) if name == "_id" => {
                key = Some(Cow::Borrowed(binary.bytes));
            }
            (name, RawBsonRef::String(hex)) if name == "_id" => {
                key = parse_hex(hex).map(Cow::Owned);
            }
            (name, RawBsonRef::Binary(binary)) if name == "v" => value = Some(binary.bytes),
            _ => {}
        }
    }
    key.zip(value).ok_or_else(|| protocol_error("a document that is not a record"))
}

/// Returns the bytes that `text` has as hexadecimal digits.
fn parse_hex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

/// Returns the page in an answer to a command. The answer's document is at `begin` in the receive
/// buffer.
#[inline]
pub(crate) fn page(reply: &RawDocument, begin: usize, batch: &str) -> Result<Page> {
    let cursor = reply.get_document("cursor").map_err(unreadable_error)?;
    let (mut id, mut documents) = (0, None);
    for element in cursor {
        match element.map_err(unreadable_error)? {
            (name, RawBsonRef::Int64(number)) if name == "id" => id = number,
            (name, RawBsonRef::Array(array)) if name == batch => documents = Some(array),
            _ => {}
        }
    }
    let array = documents.ok_or_else(|| protocol_error("an answer without a page"))?.as_bytes();
    // The array without its length, and without the zero at its end.
    let begin = begin + array.as_ptr().addr() - reply.as_bytes().as_ptr().addr();
    let documents = begin + 4..begin + array.len() - 1;
    Ok(Page { cursor: id, documents, listed: true })
}

/// Fails unless the whole command succeeded.
#[inline]
pub(crate) fn check_success(reply: &RawDocument) -> Result<()> {
    let mut ok = false;
    for element in reply {
        match element.map_err(unreadable_error)? {
            (name, number) if name == "ok" => ok = is_one(number),
            (name, RawBsonRef::Array(errors)) if name == "writeErrors" => {
                if let Ok(Some(RawBsonRef::Document(first))) = errors.get(0) {
                    return Err(error_with_labels(reply, first));
                }
            }
            (name, RawBsonRef::Document(error)) if name == "writeConcernError" => {
                return Err(error_with_labels(reply, error));
            }
            _ => {}
        }
    }
    if ok { Ok(()) } else { Err(server_error(reply)) }
}

fn is_one(number: RawBsonRef<'_>) -> bool {
    number.as_bool().unwrap_or_else(|| to_integer(number).is_some_and(|number| number > 0))
}

/// Returns a number of any type as an integer.
pub(crate) fn to_integer(number: RawBsonRef<'_>) -> Option<i64> {
    match number {
        RawBsonRef::Double(number) => Some(number as i64),
        RawBsonRef::Int32(number) => Some(number.into()),
        RawBsonRef::Int64(number) => Some(number),
        _ => None,
    }
}

/// Returns how many documents a command has matched.
pub(crate) fn matched_count(reply: &RawDocument) -> Result<u64> {
    let number = reply.get("n").map_err(unreadable_error)?.and_then(to_integer);
    number
        .and_then(|number| number.try_into().ok())
        .ok_or_else(|| protocol_error("an answer without a number"))
}

/// The label of an error that ended a transaction, which may be tried again.
const TRANSIENT: &str = "TransientTransactionError";

/// Returns the error for a server's error document.
pub(crate) fn server_error(reply: &RawDocument) -> Error {
    error_with_labels(reply, reply)
}

/// Returns the error for a document within an answer; the answer has the labels.
fn error_with_labels(answer: &RawDocument, reply: &RawDocument) -> Error {
    let words = reply.get_str("errmsg").or_else(|_| reply.get_str("$err"));
    let words = words.or_else(|_| reply.get_str("err"));
    let words = words.unwrap_or("no reason given").to_owned();
    let code = reply.get_i32("code").unwrap_or_default();
    let labels = answer.get_array("errorLabels").ok().into_iter().flatten().flatten();
    let transient = labels.filter_map(RawBsonRef::as_str).any(|label| label == TRANSIENT);
    let class = match code {
        _ if transient => ErrorClass::Conflict,
        // A key that two clients have put at once; a write conflict; a lock that was not available;
        // an aborted transaction. 16759 and 16760 are errors of TokuMX's locks. PostgreSQL's 40001
        // and 40P01 as DocumentDB packs them: a row that another transaction has changed, a
        // deadlock.
        11000 | 112 | 24 | 251 | 16759 | 16760 | 16_777_220 | 16_908_292 => ErrorClass::Conflict,
        14031 => ErrorClass::Full,
        10334 | 17280 | 17419 | 17420 => ErrorClass::Invalid,
        // 20: a transaction on a server that is no member of a replica set.
        20 | 59 | 115 | 238 | 263 => ErrorClass::Unsupported,
        91 | 11600 => ErrorClass::Unavailable,
        _ if words.contains("no such c") => ErrorClass::Unsupported,
        _ => ErrorClass::Other,
    };
    Error::new(class, format!("{words} ({code})"))
}

#[inline]
pub(crate) fn document(bytes: &[u8]) -> Result<&RawDocument> {
    RawDocument::from_bytes(bytes).map_err(unreadable_error)
}

pub(crate) fn unreadable_error(error: impl std::fmt::Display) -> Error {
    protocol_error(&error.to_string())
}

/// Returns the number in four bytes at `offset`; zero if there are fewer.
#[inline]
pub(crate) fn read_u32(bytes: &[u8], offset: usize) -> u32 {
    let word = bytes.get(offset..).and_then(<[u8]>::first_chunk);
    word.map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::{Binary, RawDocumentBuf, rawdoc, spec::BinarySubtype};

    fn stored(key: &[u8], value: &[u8]) -> RawDocumentBuf {
        let binary =
            |bytes: &[u8]| Binary { subtype: BinarySubtype::Generic, bytes: bytes.to_vec() };
        rawdoc! { "_id": binary(key), "v": binary(value) }
    }

    #[test]
    fn records_are_read_where_they_lie() {
        let [one, two] = [stored(b"a", b"1"), stored(b"", b"")];
        let reply = rawdoc! {
            "cursor": { "id": 7_i64, "firstBatch": [one.clone(), two.clone()], "ns": "kvdyno.kv" },
            "ok": 1.0,
        };
        check_success(&reply).unwrap();
        let page_read = page(&reply, 21, "firstBatch").unwrap();
        assert_eq!(page_read.cursor, 7);
        let received = [&[0; 21][..], reply.as_bytes()].concat();
        let records = |documents: Documents<'_>| {
            let records = documents.map(|one| record(one.unwrap()).unwrap());
            records.map(|(key, value)| (key.into_owned(), value.to_vec())).collect::<Vec<_>>()
        };
        let listed = Documents { rest: &received[page_read.documents], listed: true };
        let plain = [one.as_bytes(), two.as_bytes()].concat();
        let expected = [(b"a".to_vec(), b"1".to_vec()), (Vec::new(), Vec::new())];
        assert_eq!(parse_hex("00fe"), Some(vec![0, 0xfe]));
        assert_eq!(records(listed), expected);
        assert_eq!(records(Documents { rest: &plain, listed: false }), expected);
        let mut cut = Documents { rest: &one.as_bytes()[..9], listed: false };
        assert!(cut.next().unwrap().is_err());
        assert!(cut.next().is_none());
    }

    #[test]
    fn what_was_not_done_is_an_error_with_its_class() {
        let class = |reply: RawDocumentBuf| check_success(&reply).unwrap_err().class;
        let missing = rawdoc! { "ok": 0.0, "errmsg": "no such command: 'fsync'", "code": 59 };
        assert_eq!(class(missing), ErrorClass::Unsupported);
        let twice = rawdoc! { "ok": 1, "writeErrors": [{ "code": 11000, "errmsg": "E11000" }] };
        assert_eq!(class(twice), ErrorClass::Conflict);
        let given_up = rawdoc! { "ok": 0.0, "errmsg": "x", "code": 1, "errorLabels": [TRANSIENT] };
        assert_eq!(class(given_up), ErrorClass::Conflict);
        let concern = rawdoc! { "ok": 1, "writeConcernError": { "code": 2, "errmsg": "no" } };
        assert_eq!(class(concern), ErrorClass::Other);
    }
}
