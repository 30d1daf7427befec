//! Writes to servers before 2.6, the first version with commands for them; `TokuMX` is like 2.4. A
//! command becomes messages that have no answer. After each of them the server is asked for its
//! result.

use crate::answer::{document, server_error, to_integer, unreadable_error};
use crate::bytes::Document;
use crate::connection::{Connection, Target};
use bson::raw::cstr;
use bson::{RawArray, RawBsonRef, RawDocument, RawDocumentBuf, rawdoc};
use kvdyno_engine::Result;
use kvdyno_engine::server::protocol_error;
use std::borrow::Cow;
use std::ops::Range;

const OP_UPDATE: u32 = 2001;
const OP_INSERT: u32 = 2002;
const OP_DELETE: u32 = 2006;

/// The flag of an insert that goes on after a document that is refused.
const GO_ON: u32 = 1;

/// The collection in which a document creates an index.
const INDEXES: &str = "system.indexes";

impl Connection {
    /// Performs a command that writes. Returns the answer to its last write.
    pub(crate) fn write_old(
        &mut self,
        fill: impl for<'d> FnOnce(Document<'d>) -> Document<'d>,
    ) -> Result<&RawDocument> {
        let mut written = Vec::new();
        fill(Document::begin(&mut written)).end();
        let command = document(&written)?;
        let concern = command.get_document("writeConcern").and_then(|doc| doc.get_bool("j"));
        let journaled = concern.unwrap_or(false);
        let mut answer = 0..0;
        for write in writes(command, |collection| self.namespace(collection))? {
            self.send_unanswered(write.kind, write.flags, write.collection, &write.rest)?;
            answer = self.get_last_error(journaled)?;
        }
        self.reply_to_command(answer)
    }

    fn get_last_error(&mut self, journaled: bool) -> Result<Range<usize>> {
        let answer = self
            .ask(Target::Ours, |doc| doc.int("getLastError", 1).int("w", 1).flag("j", journaled))?;
        let reply = self.reply_to_command(answer.clone())?;
        if reply.get_str("err").is_ok() { Err(server_error(reply)) } else { Ok(answer) }
    }
}

/// A message that writes.
#[derive(Debug, PartialEq, Eq)]
struct Write<'c> {
    kind: u32,
    /// The flags, which come before the collection.
    flags: u32,
    collection: &'c str,
    /// The bytes that follow the collection.
    rest: Vec<u8>,
}

/// Returns the messages that do what a command does.
fn writes(command: &RawDocument, namespace: impl Fn(&str) -> String) -> Result<Vec<Write<'_>>> {
    let first = command.iter().next().transpose().map_err(unreadable_error)?;
    let Some((name, RawBsonRef::String(collection))) = first else {
        return Err(protocol_error("a write without a collection"));
    };
    match name.as_str() {
        "insert" => {
            let mut rest = Vec::new();
            for element in list(command, "documents")? {
                rest.extend_from_slice(element?.as_bytes());
            }
            Ok(vec![Write { kind: OP_INSERT, flags: GO_ON, collection, rest }])
        }
        "update" => {
            let write = |element: Result<&RawDocument>| {
                let element = element?;
                let upsert = u32::from(element.get_bool("upsert").unwrap_or(false));
                let query = element.get_document("q").map_err(unreadable_error)?;
                let update = with_id(query, element.get_document("u").map_err(unreadable_error)?)?;
                let parts = [&upsert.to_le_bytes()[..], query.as_bytes(), update.as_bytes()];
                let rest = parts.concat();
                Ok(Write { kind: OP_UPDATE, flags: 0, collection, rest })
            };
            list(command, "updates")?.map(write).collect()
        }
        "delete" => {
            let write = |element: Result<&RawDocument>| {
                let element = element?;
                // With a limit it removes one document.
                let limit = element.get("limit").map_err(unreadable_error)?.and_then(to_integer);
                let single = u32::from(limit == Some(1));
                let rest = [&single.to_le_bytes()[..], subdocument(element, "q")?].concat();
                Ok(Write { kind: OP_DELETE, flags: 0, collection, rest })
            };
            list(command, "deletes")?.map(write).collect()
        }
        "createIndexes" => {
            let write = |index: Result<&RawDocument>| {
                let index = index?;
                let key = index.get_document("key").map_err(unreadable_error)?.to_owned();
                let name = index.get_str("name").map_err(unreadable_error)?;
                let about = rawdoc! { "ns": namespace(collection), "key": key, "name": name };
                let rest = about.into_bytes();
                Ok(Write { kind: OP_INSERT, flags: 0, collection: INDEXES, rest })
            };
            list(command, "indexes")?.map(write).collect()
        }
        other => Err(protocol_error(other)),
    }
}

/// Returns an update that has the query's `_id` if it replaces the document: where there is none
/// yet, `TokuMX` would make up another `_id`.
fn with_id<'d>(query: &RawDocument, update: &'d RawDocument) -> Result<Cow<'d, RawDocument>> {
    let first = update.iter().next().transpose().map_err(unreadable_error)?;
    let replaces = first.is_none_or(|(name, _)| !name.as_str().starts_with('$') && name != "_id");
    let Some(id) = query.get("_id").map_err(unreadable_error)?.filter(|_| replaces) else {
        return Ok(Cow::Borrowed(update));
    };
    let mut document = RawDocumentBuf::new();
    document.append(cstr!("_id"), id);
    for element in update {
        let (name, value) = element.map_err(unreadable_error)?;
        document.append(name, value);
    }
    Ok(Cow::Owned(document))
}

/// Returns the documents of a list in a command.
fn list<'c>(
    command: &'c RawDocument,
    name: &str,
) -> Result<impl Iterator<Item = Result<&'c RawDocument>>> {
    let array: &RawArray = command.get_array(name).map_err(unreadable_error)?;
    Ok(array.into_iter().map(|element| match element.map_err(unreadable_error)? {
        RawBsonRef::Document(element) => Ok(element),
        _ => Err(protocol_error("a write that is not a document")),
    }))
}

fn subdocument<'c>(element: &'c RawDocument, name: &str) -> Result<&'c [u8]> {
    Ok(element.get_document(name).map_err(unreadable_error)?.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(command: &RawDocument) -> Vec<Write<'_>> {
        writes(command, |collection| format!("kvdyno.{collection}")).unwrap()
    }

    #[test]
    fn commands_that_write_are_messages() {
        let (one, two) = (rawdoc! { "_id": 1 }, rawdoc! { "_id": 2 });
        let set = rawdoc! { "$set": { "v": 3 } };
        let insert = rawdoc! { "insert": "kv", "documents": [one.clone(), two.clone()] };
        let rest = [one.as_bytes(), two.as_bytes()].concat();
        let write = Write { kind: OP_INSERT, flags: GO_ON, collection: "kv", rest };
        assert_eq!(written(&insert), [write]);
        let update = rawdoc! { "update": "kv", "updates": [
            { "q": one.clone(), "u": set.clone(), "upsert": true },
            { "q": two.clone(), "u": set.clone() },
        ] };
        let updated = |upsert: u8, filter: &RawDocument| {
            let rest = [&[upsert, 0, 0, 0], filter.as_bytes(), set.as_bytes()].concat();
            Write { kind: OP_UPDATE, flags: 0, collection: "kv", rest }
        };
        assert_eq!(written(&update), [updated(1, &one), updated(0, &two)]);
        let put = rawdoc! { "update": "kv", "updates": [{ "q": one.clone(), "u": { "v": 3 } }] };
        let rest = [&[0; 4], one.as_bytes(), rawdoc! { "_id": 1, "v": 3 }.as_bytes()].concat();
        assert_eq!(written(&put), [Write { kind: OP_UPDATE, flags: 0, collection: "kv", rest }]);
        let delete = rawdoc! { "delete": "kv", "deletes": [{ "q": one.clone(), "limit": 1 }] };
        let rest = [&[1, 0, 0, 0], one.as_bytes()].concat();
        let write = Write { kind: OP_DELETE, flags: 0, collection: "kv", rest };
        assert_eq!(written(&delete), [write]);
        let index =
            rawdoc! { "createIndexes": "kv", "indexes": [{ "key": { "a": 1 }, "name": "n" }] };
        let rest = rawdoc! { "ns": "kvdyno.kv", "key": { "a": 1 }, "name": "n" }.into_bytes();
        let write = Write { kind: OP_INSERT, flags: 0, collection: INDEXES, rest };
        assert_eq!(written(&index), [write]);
        assert!(writes(&rawdoc! { "drop": "kv" }, str::to_owned).is_err());
    }
}
