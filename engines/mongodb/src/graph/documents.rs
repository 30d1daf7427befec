//! Nodes, links and counts as documents.

use crate::answer::{unread, whole};
use crate::bytes::Document;
use bson::{RawBsonRef, RawDocument};
use kvdyno_engine::graph::{Link, LinkKey, Node};
use kvdyno_engine::server::nonsense;
use kvdyno_engine::{Error, Result};

/// Numbers of a document are signed.
pub(super) fn large(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// By type and both ids: a node's links of a type lie together.
pub(super) fn link_key(link: LinkKey) -> [u8; 24] {
    let mut key = [0; 24];
    key[..8].copy_from_slice(&link.kind.to_be_bytes());
    key[8..16].copy_from_slice(&link.id1.to_be_bytes());
    key[16..].copy_from_slice(&link.id2.to_be_bytes());
    key
}

/// By node and type.
pub(super) fn count_key(id: u64, kind: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&id.to_be_bytes());
    key[8..].copy_from_slice(&kind.to_be_bytes());
    key
}

pub(super) fn link_ids(doc: Document<'_>, link: LinkKey) -> Document<'_> {
    doc.long("id1", large(link.id1))
        .long("link_type", large(link.kind))
        .long("id2", large(link.id2))
}

/// What a link has beside its ids.
pub(super) fn link_fields<'d>(doc: Document<'d>, link: &Link<'_>) -> Document<'d> {
    doc.int("visibility", link.visible.into())
        .int("version", link.version as i32)
        .long("time", large(link.time))
        .binary("data", link.data)
}

pub(super) fn count_ids(doc: Document<'_>, id: u64, kind: u64) -> Document<'_> {
    doc.long("id", large(id)).long("link_type", large(kind))
}

/// What a node has beside its id and type.
pub(super) fn node_fields<'d>(doc: Document<'d>, node: &Node<'_>) -> Document<'d> {
    doc.long("version", large(node.version)).int("time", node.time as i32).binary("data", node.data)
}

/// Of a command that changes one document: which, and how.
pub(super) fn update<'d>(
    doc: Document<'d>,
    which: impl for<'f> Fn(Document<'f>) -> Document<'f>,
    how: impl for<'f> Fn(Document<'f>) -> Document<'f>,
    upsert: bool,
) -> Document<'d> {
    doc.array("updates", std::iter::once(()), |one, ()| {
        one.inner("q", &which).inner("u", &how).flag("upsert", upsert)
    })
}

/// Of a command that removes one document: which.
pub(super) fn delete<'d>(
    doc: Document<'d>,
    which: impl for<'f> Fn(Document<'f>) -> Document<'f>,
) -> Document<'d> {
    doc.array("deletes", std::iter::once(()), |one, ()| one.inner("q", &which).int("limit", 1))
}

pub(super) fn node_of(document: &RawDocument) -> Result<Node<'_>> {
    let fields = Fields::parse(document)?;
    Ok(Node {
        kind: fields.number("type")? as u32,
        version: fields.number("version")?,
        time: fields.number("time")? as u32,
        data: fields.data.ok_or_else(another)?,
    })
}

pub(super) fn link_of(document: &RawDocument, id1: u64, kind: u64) -> Result<Link<'_>> {
    let fields = Fields::parse(document)?;
    Ok(Link {
        key: LinkKey { id1, kind, id2: fields.number("id2")? },
        visible: fields.number("visibility")? == 1,
        time: fields.number("time")?,
        version: fields.number("version")? as u32,
        data: fields.data.ok_or_else(another)?,
    })
}

/// Node and type, and how many links: below zero for a moment, where a link that is being added is
/// hidden before it is counted.
pub(super) fn count_of(document: &RawDocument) -> Result<((u64, u64), i64)> {
    let fields = Fields::parse(document)?;
    let node = (fields.number("id")?, fields.number("link_type")?);
    Ok((node, fields.signed("count")?))
}

/// Of a link: its node and type.
pub(super) fn place_of(document: &RawDocument) -> Result<(u64, u64)> {
    let fields = Fields::parse(document)?;
    Ok((fields.number("id1")?, fields.number("link_type")?))
}

/// Fields as they were met, so that a document is read once.
struct Fields<'d> {
    numbers: [(&'d str, i64); 6],
    count: usize,
    data: Option<&'d [u8]>,
}

impl<'d> Fields<'d> {
    fn parse(document: &'d RawDocument) -> Result<Self> {
        let mut fields = Self { numbers: [("", 0); 6], count: 0, data: None };
        for element in document {
            let (name, value) = element.map_err(unread)?;
            match value {
                RawBsonRef::Binary(binary) if name == "data" => fields.data = Some(binary.bytes),
                value => {
                    let free = fields.numbers.get_mut(fields.count);
                    if let (Some(free), Some(number)) = (free, whole(value)) {
                        *free = (name.as_str(), number);
                        fields.count += 1;
                    }
                }
            }
        }
        Ok(fields)
    }

    fn number(&self, name: &str) -> Result<u64> {
        self.signed(name)?.try_into().map_err(|_| another())
    }

    fn signed(&self, name: &str) -> Result<i64> {
        let mut numbers = self.numbers[..self.count].iter();
        numbers.find(|(other, _)| *other == name).map(|(_, number)| *number).ok_or_else(another)
    }
}

/// The error for an unexpected document.
fn another() -> Error {
    nonsense("a document of other fields")
}
