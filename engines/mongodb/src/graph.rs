//! `LinkBench`'s graph in its own collections. Each handle has its own connection.
//!
//! A document is looked up by its `_id`: type and both ids for a link, node and type for a count,
//! the id for a node.

mod audit;
mod documents;
mod unit;

use crate::answer::{Page, matched_count};
use crate::bytes::{Document, Keys};
use crate::client::{COMMAND_BYTES, MongoDb, concern};
use crate::connection::{Connection, Find, Target, numbers};
use documents::{count_key, node_fields, parse_count, parse_link, parse_node, to_i64};
use kvdyno_engine::graph::{
    Added, Audited, Chunk, Count, Graph, GraphEngine, Isolation, Link, LinkKey, Node,
};
use kvdyno_engine::{Error, ErrorClass, Result};
use std::ops::{ControlFlow, RangeInclusive};
use unit::{Change, Unit};

const LINKS: &str = "linktable";
const COUNTS: &str = "counttable";
const NODES: &str = "nodetable";
/// The collection of changes in two phases that are under way.
const TRANSACTIONS: &str = "transactions";

/// The index that lists of links are read from; it has all fields of a list.
const BY_TIME: [(&str, i32); 7] = [
    ("id1", 1),
    ("link_type", 1),
    ("visibility", 1),
    ("time", 1),
    ("id2", 1),
    ("version", 1),
    ("data", 1),
];

/// The index that all collections have.
const BY_NAME: &[(&str, i32)] = &[("_id", 1)];

/// The fields of a link that a list shows.
const LISTED: [(&str, i32); 6] =
    [("_id", 0), ("visibility", 1), ("time", 1), ("id2", 1), ("version", 1), ("data", 1)];

/// A find of one document by its name.
const ONE: Find<'_> = Find { collection: NODES, sort: &[], fields: &[], documents: 1, limit: 1 };

/// Creates the collections that are missing: a transaction cannot create them.
pub(crate) fn create(connection: &mut Connection) -> Result<()> {
    // A collection that is created by its own index is not created twice.
    let alone = |collection| (collection, "_id_", BY_NAME);
    let indexes = [(LINKS, "id1_type", &BY_TIME[..]), alone(COUNTS), alone(NODES)];
    for (collection, name, fields) in indexes.into_iter().chain([alone(TRANSACTIONS)]) {
        connection.write(|doc| {
            let doc = doc.text("createIndexes", collection);
            doc.array("indexes", std::iter::once(()), |index, ()| {
                index.document("key", |key| numbers(key, fields)).text("name", name)
            })
        })?;
    }
    Ok(())
}

/// The graph in collections.
pub(crate) struct Collections;

impl GraphEngine for Collections {
    type Engine = MongoDb;
    type Graph<'e> = Handle<'e>;

    fn graph(engine: &MongoDb, isolation: Isolation) -> Result<Handle<'_>> {
        let (connection, journaled) = (engine.connect_for_graph()?, engine.is_journaled());
        let unit = Unit::new();
        Ok(Handle { engine, connection, isolation, journaled, unit })
    }
}

/// One thread's handle.
pub(crate) struct Handle<'e> {
    engine: &'e MongoDb,
    connection: Connection,
    isolation: Isolation,
    /// Whether a write is answered only when it is in the journal on the disk.
    journaled: bool,
    unit: Unit,
}

impl Handle<'_> {
    fn keys(&self) -> Keys {
        self.connection.keys
    }

    /// Inserts documents that `fill` writes, in as many commands as the bytes of their `data` need.
    fn insert<T>(
        &mut self,
        collection: &str,
        mut rest: &[T],
        data: impl Fn(&T) -> usize,
        fill: impl for<'d> Fn(Document<'d>, &T) -> Document<'d>,
    ) -> Result<()> {
        /// The bytes of a document besides its data.
        const AROUND: usize = 200;
        while !rest.is_empty() {
            let mut bytes = 0;
            let fits = rest.iter().take(self.connection.writes_max).take_while(|item| {
                bytes += data(item) + AROUND;
                bytes <= COMMAND_BYTES
            });
            let (now, later) = rest.split_at(fits.count().max(1));
            let inserted = self.connection.write(|doc| {
                let doc = doc.text("insert", collection).array("documents", now.iter(), &fill);
                concern(doc.flag("ordered", false), self.journaled)
            });
            match inserted {
                // Some documents are inserted: to insert them again would be another error.
                Err(error) if now.len() > 1 && error.class == ErrorClass::Conflict => {
                    return Err(Error::new(ErrorClass::Other, error.message));
                }
                inserted => drop(inserted?),
            }
            rest = later;
        }
        Ok(())
    }

    /// Shows the links of all pages. Returns how many.
    fn show(
        &mut self,
        page: Page,
        find: &Find<'_>,
        (id1, kind): (u64, u64),
        mut visit: impl FnMut(Link<'_>),
    ) -> Result<u64> {
        self.connection.show(page, find, |document| {
            visit(parse_link(document, id1, kind)?);
            Ok(ControlFlow::Continue(()))
        })
    }
}

impl Graph for Handle<'_> {
    fn add_node(&mut self, id: u64, node: &Node<'_>) -> Result<()> {
        self.insert(
            NODES,
            &[()],
            |()| node.data.len(),
            |doc, ()| node_fields(doc.long("_id", to_i64(id)).int("type", node.kind as i32), node),
        )
    }

    fn get_node(&mut self, id: u64, visit: impl FnOnce(Option<Node<'_>>)) -> Result<()> {
        let page = self.connection.find(&ONE, |filter| filter.long("_id", to_i64(id)))?;
        let document = self.connection.documents(&page).next().transpose()?;
        visit(document.map(parse_node).transpose()?);
        Ok(())
    }

    fn update_node(&mut self, id: u64, node: &Node<'_>) -> Result<bool> {
        let reply = self.connection.write(|doc| {
            let doc = documents::update(
                doc.text("update", NODES),
                |q| q.long("_id", to_i64(id)).int("type", node.kind as i32),
                |u| u.document("$set", |set| node_fields(set, node)),
                false,
            );
            concern(doc, self.journaled)
        })?;
        Ok(matched_count(reply)? > 0)
    }

    fn delete_node(&mut self, id: u64) -> Result<bool> {
        let reply = self.connection.write(|doc| {
            let doc = doc.text("delete", NODES);
            concern(documents::delete(doc, |q| q.long("_id", to_i64(id))), self.journaled)
        })?;
        Ok(matched_count(reply)? > 0)
    }

    fn add_link(&mut self, link: &Link<'_>) -> Result<Added> {
        Ok(match self.write(&Change::Add(link))? {
            None => Added::Inserted,
            Some(false) => Added::Shown,
            Some(true) => Added::Updated,
        })
    }

    fn delete_link(&mut self, link: LinkKey, time: u64) -> Result<bool> {
        Ok(self.write(&Change::Hide { at: link, time })?.is_some())
    }

    fn get_links(
        &mut self,
        id1: u64,
        kind: u64,
        id2s: &[u64],
        visit: impl FnMut(Link<'_>),
    ) -> Result<u64> {
        // One more than can be found: so the first page is known to be the last.
        let (documents, keys) = (id2s.len() as i32 + 1, self.keys());
        let find = Find { collection: LINKS, fields: &LISTED, documents, limit: u64::MAX, ..ONE };
        let names = id2s.iter().map(|id2| documents::link_key(LinkKey { id1, kind, id2: *id2 }));
        let page = self.connection.find(&find, |filter| {
            filter.document("_id", |id| {
                id.list("$in", names, |list, index, name| list.key(index, &name, keys))
            })
        })?;
        self.show(page, &find, (id1, kind), visit)
    }

    fn list_links(
        &mut self,
        id1: u64,
        kind: u64,
        times: RangeInclusive<u64>,
        limit: u32,
        visit: impl FnMut(Link<'_>),
    ) -> Result<u64> {
        if limit == 0 {
            return Ok(0);
        }
        let (documents, limit) = (i32::try_from(limit).unwrap_or(i32::MAX), limit.into());
        let sort = [("time", -1)];
        let find = Find { collection: LINKS, sort: &sort, fields: &LISTED, documents, limit };
        let (oldest, newest) = (to_i64(*times.start()), to_i64(*times.end()));
        let page = self.connection.find(&find, |filter| {
            let filter = filter.long("id1", to_i64(id1)).long("link_type", to_i64(kind));
            let filter = filter.int("visibility", 1);
            filter.document("time", |time| time.long("$gte", oldest).long("$lte", newest))
        })?;
        self.show(page, &find, (id1, kind), visit)
    }

    fn count_links(&mut self, id1: u64, kind: u64) -> Result<u64> {
        let (find, keys) = (Find { collection: COUNTS, ..ONE }, self.keys());
        let name = count_key(id1, kind);
        let page = self.connection.find(&find, |filter| filter.key("_id", &name, keys))?;
        let document = self.connection.documents(&page).next().transpose()?;
        Ok(document
            .map(parse_count)
            .transpose()?
            .map_or(0, |(_, links)| links.try_into().unwrap_or(0)))
    }

    /// Loads by commands of many inserts, in any order and in no transaction.
    fn load(&mut self, chunk: &Chunk<'_>) -> Result<()> {
        let keys = self.keys();
        self.insert(
            NODES,
            chunk.nodes,
            |(_, node)| node.data.len(),
            |doc, (id, node)| {
                node_fields(doc.long("_id", to_i64(*id)).int("type", node.kind as i32), node)
            },
        )?;
        self.insert(
            LINKS,
            chunk.links,
            |link| link.data.len(),
            |doc, link| {
                let doc = doc.key("_id", &documents::link_key(link.key), keys);
                documents::link_fields(documents::link_ids(doc, link.key), link)
            },
        )?;
        self.insert(
            COUNTS,
            chunk.counts,
            |_: &Count| 0,
            |doc, count| {
                let doc = doc.key("_id", &count_key(count.id, count.kind), keys);
                let doc = documents::count_ids(doc, count.id, count.kind);
                let doc = doc.long("count", to_i64(count.links)).long("time", to_i64(count.time));
                doc.int("version", 0)
            },
        )
    }

    fn audit(&mut self, go_on: impl Fn() -> bool, visit: impl FnMut(Audited)) -> Result<u64> {
        if !audit::audit(
            self.engine.connect_for_graph()?,
            self.engine.connect_for_graph()?,
            go_on,
            visit,
        )? {
            return Ok(0);
        }
        let reply = self.connection.command(Target::Ours, |doc| {
            // Without a query the server would return the number that it remembers.
            doc.text("count", NODES)
                .document("query", |query| query.document("_id", |id| id.long("$gte", 0)))
        })?;
        matched_count(reply)
    }
}
