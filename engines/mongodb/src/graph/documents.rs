//! Nodes, links and counts as documents.

use crate::answer::{to_integer, unreadable_error};
use crate::bytes::Document;
use bson::{RawBsonRef, RawDocument};
use kvdyno_engine::graph::{Link, LinkKey, Node};
use kvdyno_engine::server::protocol_error;
use kvdyno_engine::{Error, Result};

/// Returns a number as documents have it: signed.
pub(super) fn to_i64(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Returns the name of a link: type and both ids, so that a node's links of a type lie together.
pub(super) fn link_key(link: LinkKey) -> [u8; 24] {
    let mut key = [0; 24];
    key[..8].copy_from_slice(&link.kind.to_be_bytes());
    key[8..16].copy_from_slice(&link.id1.to_be_bytes());
    key[16..].copy_from_slice(&link.id2.to_be_bytes());
    key
}

/// Returns the name of a count: node and type.
pub(super) fn count_key(id: u64, kind: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&id.to_be_bytes());
    key[8..].copy_from_slice(&kind.to_be_bytes());
    key
}

pub(super) fn link_ids(doc: Document<'_>, link: LinkKey) -> Document<'_> {
    doc.long("id1", to_i64(link.id1))
        .long("link_type", to_i64(link.kind))
        .long("id2", to_i64(link.id2))
}

/// Writes the fields of a link besides its ids.
pub(super) fn link_fields<'d>(doc: Document<'d>, link: &Link<'_>) -> Document<'d> {
    doc.int("visibility", link.visible.into())
        .int("version", link.version as i32)
        .long("time", to_i64(link.time))
        .binary("data", link.data)
}

pub(super) fn count_ids(doc: Document<'_>, id: u64, kind: u64) -> Document<'_> {
    doc.long("id", to_i64(id)).long("link_type", to_i64(kind))
}

/// Writes the fields of a node besides its id and type.
pub(super) fn node_fields<'d>(doc: Document<'d>, node: &Node<'_>) -> Document<'d> {
    doc.long("version", to_i64(node.version))
        .int("time", node.time as i32)
        .binary("data", node.data)
}

/// Writes the list of a command that changes one document: `which` one, and `how`.
pub(super) fn update<'d>(
    doc: Document<'d>,
    which: impl for<'f> Fn(Document<'f>) -> Document<'f>,
    how: impl for<'f> Fn(Document<'f>) -> Document<'f>,
    upsert: bool,
) -> Document<'d> {
    doc.array("updates", std::iter::once(()), |element, ()| {
        element.document("q", &which).document("u", &how).flag("upsert", upsert)
    })
}

/// Writes the list of a command that removes one document: `which` one.
pub(super) fn delete<'d>(
    doc: Document<'d>,
    which: impl for<'f> Fn(Document<'f>) -> Document<'f>,
) -> Document<'d> {
    doc.array("deletes", std::iter::once(()), |one, ()| one.document("q", &which).int("limit", 1))
}

pub(super) fn parse_node(document: &RawDocument) -> Result<Node<'_>> {
    let fields = Fields::parse(document)?;
    Ok(Node {
        kind: fields.number("type")? as u32,
        version: fields.number("version")?,
        time: fields.number("time")? as u32,
        data: fields.data.ok_or_else(unexpected_document_error)?,
    })
}

pub(super) fn parse_link(document: &RawDocument, id1: u64, kind: u64) -> Result<Link<'_>> {
    let fields = Fields::parse(document)?;
    Ok(Link {
        key: LinkKey { id1, kind, id2: fields.number("id2")? },
        visible: fields.number("visibility")? == 1,
        time: fields.number("time")?,
        version: fields.number("version")? as u32,
        data: fields.data.ok_or_else(unexpected_document_error)?,
    })
}

/// Returns node and type, and the number of links. It is below zero for a moment if a link that is
/// being added is hidden before it is counted.
pub(super) fn parse_count(document: &RawDocument) -> Result<((u64, u64), i64)> {
    let fields = Fields::parse(document)?;
    let node = (fields.number("id")?, fields.number("link_type")?);
    Ok((node, fields.signed_number("count")?))
}

/// Returns the node and the type of a link.
pub(super) fn parse_id1_and_kind(document: &RawDocument) -> Result<(u64, u64)> {
    let fields = Fields::parse(document)?;
    Ok((fields.number("id1")?, fields.number("link_type")?))
}

/// The fields of a document in their order, so that it is read once.
struct Fields<'d> {
    numbers: [(&'d str, i64); 6],
    count: usize,
    data: Option<&'d [u8]>,
}

impl<'d> Fields<'d> {
    fn parse(document: &'d RawDocument) -> Result<Self> {
        let mut fields = Self { numbers: [("", 0); 6], count: 0, data: None };
        for element in document {
            let (name, value) = element.map_err(unreadable_error)?;
            match value {
                RawBsonRef::Binary(binary) if name == "data" => fields.data = Some(binary.bytes),
                value => {
                    let free = fields.numbers.get_mut(fields.count);
                    if let (Some(free), Some(number)) = (free, to_integer(value)) {
                        *free = (name.as_str(), number);
                        fields.count += 1;
                    }
                }
            }
        }
        Ok(fields)
    }

    fn number(&self, name: &str) -> Result<u64> {
        self.signed_number(name)?.try_into().map_err(|_| unexpected_document_error())
    }

    fn signed_number(&self, name: &str) -> Result<i64> {
        let mut numbers = self.numbers[..self.count].iter();
        numbers
            .find(|(other, _)| *other == name)
            .map(|(_, number)| *number)
            .ok_or_else(unexpected_document_error)
    }
}

/// Returns the error for an unexpected document.
fn unexpected_document_error() -> Error {
    protocol_error("a document of other fields")
}
