//! A graph on any ordered engine: `LinkBench`'s tables and their indexes, as keys.
//!
//! ```text
//! n id                          -> type, version, time, data
//! l type id1 id2                -> visibility, time, version, data
//! i type id1 (MAX - time) id2   -> version, data         visible links, the newest first
//! c type id                     -> count, time, version
//! ```
//!
//! Numbers are big-endian. Keys of `i` alone answer a list, as a covering index does.

mod audit;
#[cfg(test)]
mod tests;

use super::latch;
use kvdyno_engine::graph::{
    Added, Audited, Chunk, Count, Graph, GraphEngine, Isolation, Link, LinkKey, Node,
};
use kvdyno_engine::{
    Direction, Engine, Error, ErrorClass, Range, Records, Result, Session, Transaction,
    ValueVisitor, Write,
};
use std::marker::PhantomData;
use std::ops::{ControlFlow, RangeInclusive};

/// The graph of an engine that has no graph of its own.
pub(crate) struct OverKeys<E>(PhantomData<E>);

impl<E: Engine> GraphEngine for OverKeys<E> {
    type Engine = E;
    type Graph<'e> = Keyed<E::Session<'e>>;

    fn graph(engine: &E, isolation: Isolation) -> Result<Keyed<E::Session<'_>>> {
        let session = engine.session()?;
        Ok(Keyed { session, isolation, writes: Writes::default(), keys: Vec::new() })
    }
}

/// One thread's handle.
pub(crate) struct Keyed<S> {
    session: S,
    isolation: Isolation,
    /// The writes of the current request.
    writes: Writes,
    /// The keys of a request for several links.
    keys: Vec<[u8; LINK]>,
}

const NODE: usize = 9;
const LINK: usize = 25;
const BY_TIME: usize = 33;
const COUNT: usize = 17;

/// The number of counts in a page of an audit.
const PAGE: usize = 4_096;

fn node_key(id: u64) -> [u8; NODE] {
    key(b'n', [id])
}

fn link_key(link: LinkKey) -> [u8; LINK] {
    key(b'l', [link.kind, link.id1, link.id2])
}

fn time_key(link: LinkKey, time: u64) -> [u8; BY_TIME] {
    key(b'i', [link.kind, link.id1, u64::MAX - time, link.id2])
}

fn count_key(id: u64, kind: u64) -> [u8; COUNT] {
    key(b'c', [kind, id])
}

fn key<const N: usize, const BYTES: usize>(table: u8, numbers: [u64; N]) -> [u8; BYTES] {
    let mut key = [table; BYTES];
    for (part, number) in key[1..].chunks_exact_mut(8).zip(numbers) {
        part.copy_from_slice(&number.to_be_bytes());
    }
    key
}

/// Parses the number at `index` among those of a key.
fn number(key: &[u8], index: usize) -> Result<u64> {
    let bytes = key.get(1 + index * 8..).and_then(<[u8]>::first_chunk).ok_or_else(damaged_error)?;
    Ok(u64::from_be_bytes(*bytes))
}

/// The error that this module did not write a record.
fn damaged_error() -> Error {
    Error::new(ErrorClass::Corrupt, "damaged record of the graph")
}

/// Splits a value after its first `N` bytes.
fn split_chunk<const N: usize>(value: &[u8]) -> Result<(&[u8; N], &[u8])> {
    value.split_first_chunk().ok_or_else(damaged_error)
}

fn node(value: &[u8]) -> Result<Node<'_>> {
    let (kind, rest) = split_chunk(value)?;
    let (version, rest) = split_chunk(rest)?;
    let (time, data) = split_chunk(rest)?;
    Ok(Node {
        kind: u32::from_be_bytes(*kind),
        version: u64::from_be_bytes(*version),
        time: u32::from_be_bytes(*time),
        data,
    })
}

fn link(key: LinkKey, value: &[u8]) -> Result<Link<'_>> {
    let ([visible], rest) = split_chunk(value)?;
    let (time, rest) = split_chunk(rest)?;
    let (version, data) = split_chunk(rest)?;
    Ok(Link {
        key,
        visible: *visible == 1,
        time: u64::from_be_bytes(*time),
        version: u32::from_be_bytes(*version),
        data,
    })
}

/// Parses a count and its version.
fn count(value: &[u8]) -> Result<(u64, u64)> {
    let (links, rest) = split_chunk(value)?;
    let (_, rest): (&[u8; 8], _) = split_chunk(rest)?;
    let (version, _) = split_chunk(rest)?;
    Ok((u64::from_be_bytes(*links), u64::from_be_bytes(*version)))
}

/// Writes, stored one behind the other.
#[derive(Default)]
struct Writes {
    bytes: Vec<u8>,
    /// The ends of each key and of its value; none: the key is deleted.
    ends: Vec<(usize, Option<usize>)>,
}

impl Writes {
    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    fn put(&mut self, key: &[u8], parts: &[&[u8]]) {
        self.bytes.extend_from_slice(key);
        let key = self.bytes.len();
        for part in parts {
            self.bytes.extend_from_slice(part);
        }
        self.ends.push((key, Some(self.bytes.len())));
    }

    fn delete(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.ends.push((self.bytes.len(), None));
    }

    fn put_node(&mut self, id: u64, node: &Node<'_>) {
        let (kind, version) = (node.kind.to_be_bytes(), node.version.to_be_bytes());
        self.put(&node_key(id), &[&kind, &version, &node.time.to_be_bytes(), node.data]);
    }

    /// Puts a link by its ids and, if it is visible, by its time.
    fn put_link(&mut self, link: &Link<'_>) {
        let (time, version) = (link.time.to_be_bytes(), link.version.to_be_bytes());
        let visible = [u8::from(link.visible)];
        self.put(&link_key(link.key), &[&visible, &time, &version, link.data]);
        if link.visible {
            self.put(&time_key(link.key, link.time), &[&version, link.data]);
        }
    }

    fn put_count(&mut self, count: &Count, version: u64) {
        let (links, time) = (count.links.to_be_bytes(), count.time.to_be_bytes());
        let key = count_key(count.id, count.kind);
        self.put(&key, &[&links, &time, &version.to_be_bytes()]);
    }

    fn list(&self) -> Vec<Write<'_>> {
        let mut start = 0;
        let write = |&(key_end, end): &(usize, Option<usize>)| {
            let key = &self.bytes[start..key_end];
            start = end.unwrap_or(key_end);
            match end {
                Some(end) => Write::Put { key, value: &self.bytes[key_end..end] },
                None => Write::Delete { key },
            }
        };
        self.ends.iter().map(write).collect()
    }
}

/// The reads of a session, for a unit that is not a transaction.
struct Reads<'s, S>(&'s mut S);

impl<S: Session> Transaction for Reads<'_, S> {
    fn get(&mut self, key: &[u8], visit: &mut ValueVisitor<'_>) -> Result<()> {
        self.0.get(key, visit)
    }

    fn get_for_update(&mut self, key: &[u8], visit: &mut ValueVisitor<'_>) -> Result<()> {
        self.0.get(key, visit)
    }

    fn put(&mut self, _key: &[u8], _value: &[u8]) -> Result<()> {
        Err(Error::unsupported("a write beside its batch"))
    }

    fn delete(&mut self, _key: &[u8]) -> Result<()> {
        Err(Error::unsupported("a write beside its batch"))
    }

    fn scan(&mut self, range: Range<'_>, visit: &mut Records<'_>) -> Result<u64> {
        self.0.scan(range, visit)
    }
}

/// Reads the value of `key`, which does not change until the unit has ended.
fn read_for_update<R>(
    unit: &mut dyn Transaction,
    key: &[u8],
    read: impl FnOnce(&[u8]) -> Result<R>,
) -> Result<Option<R>> {
    let (mut read, mut result) = (Some(read), Ok(None));
    unit.get_for_update(key, &mut |value| {
        if let (Some(value), Some(read)) = (value, read.take()) {
            result = read(value).map(Some);
        }
    })?;
    result
}

impl<S: Session> Keyed<S> {
    /// Runs `body` and its writes as one unit, behind the latch of `list` where there are latches.
    fn unit<R>(
        &mut self,
        list: u64,
        body: impl FnOnce(&mut dyn Transaction, &mut Writes) -> Result<R>,
    ) -> Result<R> {
        let Self { session, isolation, writes, .. } = self;
        writes.clear();
        if *isolation == Isolation::Transaction {
            return session.transaction(|unit| {
                let done = body(unit, writes)?;
                for write in writes.list() {
                    match write {
                        Write::Put { key, value } => unit.put(key, value)?,
                        Write::Delete { key } => unit.delete(key)?,
                    }
                }
                Ok(done)
            });
        }
        let _guard = (*isolation == Isolation::Latch).then(|| latch::lock(list));
        let done = body(&mut Reads(session), writes)?;
        if !writes.ends.is_empty() {
            session.write(&writes.list())?;
        }
        Ok(done)
    }

    /// Changes the count of a node and type.
    fn change(
        unit: &mut dyn Transaction,
        writes: &mut Writes,
        link: LinkKey,
        time: u64,
        change: impl FnOnce(u64) -> u64,
    ) -> Result<()> {
        let stored = read_for_update(unit, &count_key(link.id1, link.kind), count)?;
        // A new count begins with version 0.
        let (links, version) = stored.map_or((0, 0), |(links, version)| (links, version + 1));
        let counted = Count { id: link.id1, kind: link.kind, links: change(links), time };
        writes.put_count(&counted, version);
        Ok(())
    }
}

impl<S: Session> Graph for Keyed<S> {
    fn add_node(&mut self, id: u64, node: &Node<'_>) -> Result<()> {
        self.unit(id, |_, writes| {
            writes.put_node(id, node);
            Ok(())
        })
    }

    fn get_node(&mut self, id: u64, visit: impl FnOnce(Option<Node<'_>>)) -> Result<()> {
        self.session.get(&node_key(id), |value| {
            visit(value.map(node).transpose()?);
            Ok(())
        })?
    }

    fn update_node(&mut self, id: u64, node: &Node<'_>) -> Result<bool> {
        self.unit(id, |unit, writes| {
            let exists = read_for_update(unit, &node_key(id), |_| Ok(()))?.is_some();
            if exists {
                writes.put_node(id, node);
            }
            Ok(exists)
        })
    }

    fn delete_node(&mut self, id: u64) -> Result<bool> {
        self.unit(id, |unit, writes| {
            let exists = read_for_update(unit, &node_key(id), |_| Ok(()))?.is_some();
            if exists {
                writes.delete(&node_key(id));
            }
            Ok(exists)
        })
    }

    fn add_link(&mut self, new: &Link<'_>) -> Result<Added> {
        let key = new.key;
        self.unit(latch::list_number(key.id1, key.kind), |unit, writes| {
            let read = |value: &[u8]| link(key, value).map(|old| (old.visible, old.time));
            let old = read_for_update(unit, &link_key(key), read)?;
            if let Some((true, time)) = old.filter(|(_, time)| *time != new.time) {
                writes.delete(&time_key(key, time));
            }
            writes.put_link(new);
            let added = match old {
                None => Added::Inserted,
                Some((false, _)) => Added::Shown,
                Some((true, _)) => return Ok(Added::Updated),
            };
            Self::change(unit, writes, key, new.time, |links| links + 1)?;
            Ok(added)
        })
    }

    fn delete_link(&mut self, key: LinkKey, time: u64) -> Result<bool> {
        self.unit(latch::list_number(key.id1, key.kind), |unit, writes| {
            let visible = read_for_update(unit, &link_key(key), |value| {
                let old = link(key, value)?;
                if old.visible {
                    writes.put_link(&Link { visible: false, ..old });
                    writes.delete(&time_key(key, old.time));
                }
                Ok(old.visible)
            })?;
            let visible = visible.unwrap_or(false);
            if visible {
                Self::change(unit, writes, key, time, |links| links.saturating_sub(1))?;
            }
            Ok(visible)
        })
    }

    fn get_links(
        &mut self,
        id1: u64,
        kind: u64,
        id2s: &[u64],
        mut visit: impl FnMut(Link<'_>),
    ) -> Result<u64> {
        let key_to = |id2: u64| LinkKey { id1, kind, id2 };
        self.keys.clear();
        self.keys.extend(id2s.iter().map(|&id2| link_key(key_to(id2))));
        let keys: Vec<&[u8]> = self.keys.iter().map(<[u8; LINK]>::as_slice).collect();
        let (mut count, mut failed) = (0, Ok(()));
        self.session.multiget(&keys, |index, value| {
            match value.map(|value| link(key_to(id2s[index]), value)) {
                Some(Ok(link)) => {
                    count += 1;
                    visit(link);
                }
                Some(Err(error)) => failed = Err(error),
                None => {}
            }
        })?;
        failed.map(|()| count)
    }

    fn list_links(
        &mut self,
        id1: u64,
        kind: u64,
        times: RangeInclusive<u64>,
        limit: u32,
        mut visit: impl FnMut(Link<'_>),
    ) -> Result<u64> {
        let (oldest, newest) = (*times.start(), *times.end());
        let from: [u8; BY_TIME] = key(b'i', [kind, id1, u64::MAX - newest, 0]);
        // Above the key of every link with the oldest time.
        let until: [u8; BY_TIME + 1] = {
            let last: [u8; BY_TIME] = key(b'i', [kind, id1, u64::MAX - oldest, u64::MAX]);
            let mut until = [0; BY_TIME + 1];
            until[..BY_TIME].copy_from_slice(&last);
            until
        };
        let range = Range::all(Direction::Forward).from(&from).until(&until);
        let mut failed = Ok(());
        let shown = self.session.scan(range.limit(limit.into()), |key, value| {
            let read = || {
                let (version, data) = split_chunk(value)?;
                let key_of_link = LinkKey { id1, kind, id2: number(key, 3)? };
                let (time, version) = (u64::MAX - number(key, 2)?, u32::from_be_bytes(*version));
                Ok(Link { key: key_of_link, visible: true, time, version, data })
            };
            match read() {
                Ok(link) => visit(link),
                Err(error) => failed = Err(error),
            }
            ControlFlow::Continue(())
        })?;
        failed.map(|()| shown)
    }

    fn count_links(&mut self, id1: u64, kind: u64) -> Result<u64> {
        let read = |value: Option<&[u8]>| value.map_or(Ok(0), |value| Ok(count(value)?.0));
        self.session.get(&count_key(id1, kind), read)?
    }

    fn load(&mut self, chunk: &Chunk<'_>) -> Result<()> {
        let Self { session, writes, .. } = self;
        writes.clear();
        chunk.nodes.iter().for_each(|(id, node)| writes.put_node(*id, node));
        chunk.links.iter().for_each(|link| writes.put_link(link));
        chunk.counts.iter().for_each(|count| writes.put_count(count, 0));
        session.write(&writes.list())
    }

    fn audit(&mut self, go_on: impl Fn() -> bool, visit: impl FnMut(Audited)) -> Result<u64> {
        self.audit_in_pages(PAGE, &go_on, visit)
    }
}
