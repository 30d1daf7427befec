//! Writes a link and its count together: by a transaction of the server, in two phases, or without
//! protection.
//!
//! Two phases are for servers before 4.0, which change one document at a time. A record of the
//! change is written, both documents are changed and marked with it, the marks are removed, and
//! then the record. Changes of several clients add up in any order. Leftovers of a killed client or
//! an error can be identified, but only an audit looks for them.

use super::documents::{
    count_ids, count_key, delete, link_fields, link_ids, link_key, to_i64, update,
};
use super::{COUNTS, Handle, LINKS, TRANSACTIONS};
use crate::answer::{to_integer, unreadable_error};
use crate::bytes::{Document, Keys};
use crate::client::{TRIES, concern};
use crate::connection::{ADMIN, Target};
use bson::RawBsonRef;
use kvdyno_engine::graph::{Graph as _, Isolation, Link, LinkKey};
use kvdyno_engine::{Error, ErrorClass, Result};
use std::hash::{BuildHasher as _, RandomState};

/// The change of a link.
pub(super) enum Change<'l> {
    Add(&'l Link<'l>),
    Hide { at: LinkKey, time: u64 },
}

impl Change<'_> {
    fn key(&self) -> LinkKey {
        match self {
            Self::Add(link) => link.key,
            Self::Hide { at: key, .. } => *key,
        }
    }

    fn time(&self) -> u64 {
        match self {
            Self::Add(link) => link.time,
            Self::Hide { time, .. } => *time,
        }
    }

    /// Returns by how much the count changes. `before`: whether the link was visible; `None`: it
    /// was not there.
    fn count_delta(&self, before: Option<bool>) -> i64 {
        match self {
            Self::Add(_) => (before != Some(true)).into(),
            Self::Hide { .. } => -i64::from(before == Some(true)),
        }
    }
}

/// The part of a change that a command performs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// The whole: the command is done when it is answered.
    Alone,
    /// A part of a change in two phases, whose mark it leaves.
    Marked,
    /// A transaction's first command.
    First,
    /// A transaction's later command.
    Later,
}

/// Numbers the changes of one connection.
pub(super) struct Unit {
    session: [u8; 16],
    number: i64,
}

impl Unit {
    /// Returns a unit with a session that no other has.
    pub(super) fn new() -> Self {
        let halves = [0_u8; 2].map(|_| RandomState::new().hash_one(()).to_be_bytes());
        let mut session = [0; 16];
        session[..8].copy_from_slice(&halves[0]);
        session[8..].copy_from_slice(&halves[1]);
        // A random identifier (UUID version 4).
        session[6] = session[6] & 0x0f | 0x40;
        session[8] = session[8] & 0x3f | 0x80;
        Self { session, number: 0 }
    }

    /// Returns the name of the change in two phases.
    fn name(&self) -> [u8; 24] {
        let mut name = [0; 24];
        name[..16].copy_from_slice(&self.session);
        name[16..].copy_from_slice(&self.number.to_be_bytes());
        name
    }

    fn transaction<'d>(&self, doc: Document<'d>, part: Part) -> Document<'d> {
        let doc = doc.document("lsid", |lsid| lsid.uuid("id", &self.session));
        let doc = doc.long("txnNumber", self.number).flag("autocommit", false);
        if part == Part::First { doc.flag("startTransaction", true) } else { doc }
    }
}

impl Handle<'_> {
    /// Returns whether the link was visible before, or `None`: it was not there, or not visible
    /// where it was to be hidden.
    pub(super) fn write(&mut self, change: &Change<'_>) -> Result<Option<bool>> {
        self.unit.number += 1;
        match self.isolation {
            Isolation::None => {
                let before = self.change_link(change, Part::Alone)?;
                match change.count_delta(before) {
                    0 => {}
                    by => self.recount(change, by)?,
                }
                Ok(before)
            }
            Isolation::TwoPhase => self.write_in_two_phases(change),
            Isolation::Transaction | Isolation::Latch => {
                let done = self.write_in_transaction(change);
                if done.is_err() {
                    // The server has aborted it already, unless it never received it.
                    let _ = self.end_transaction("abortTransaction");
                }
                done
            }
        }
    }

    fn write_in_transaction(&mut self, change: &Change<'_>) -> Result<Option<bool>> {
        let before = self.change_link(change, Part::First)?;
        match change.count_delta(before) {
            0 => {}
            by => self.change_count(change, by, Part::Later)?,
        }
        self.end_transaction("commitTransaction").map(|()| before)
    }

    fn end_transaction(&mut self, command: &str) -> Result<()> {
        let (unit, journaled) = (&self.unit, self.journaled);
        let ended = self.connection.command(ADMIN, |doc| {
            concern(unit.transaction(doc.int(command, 1), Part::Later), journaled)
        });
        ended.map(drop)
    }

    fn write_in_two_phases(&mut self, change: &Change<'_>) -> Result<Option<bool>> {
        let (name, link) = (self.unit.name(), link_key(change.key()));
        self.insert(
            TRANSACTIONS,
            &[()],
            |()| 0,
            |doc, ()| doc.binary("_id", &name).text("state", "pending").binary("link", &link),
        )?;
        let before = match self.change_link(change, Part::Marked) {
            Ok(before) => before,
            Err(error) => {
                if error.class == ErrorClass::Conflict {
                    // Nothing was changed: it may be repeated.
                    let _ = self.delete_transaction(&name);
                }
                return Err(error);
            }
        };
        // A repetition would be a second change.
        let finished = self.finish(change, before, &name);
        finished.map(|()| before).map_err(|error| {
            let words = "a link is written, and its count may not be";
            Error::new(ErrorClass::Other, error.message).context(words)
        })
    }

    /// Performs the steps that follow the change of the link.
    fn finish(&mut self, change: &Change<'_>, before: Option<bool>, name: &[u8]) -> Result<()> {
        let (by, link) = (change.count_delta(before), change.key());
        if by != 0 {
            self.retry_conflicts(|handle| handle.change_count(change, by, Part::Marked))?;
            self.mark_applied(name)?;
        }
        if by != 0 || before.is_some() {
            self.unmark(LINKS, &link_key(link), name)?;
        }
        if by != 0 {
            self.unmark(COUNTS, &count_key(link.id1, link.kind), name)?;
        }
        self.delete_transaction(name)
    }

    /// Repeats `once` after a conflict: of two concurrent inserts of a document, one must retry and
    /// finds it.
    fn retry_conflicts(&mut self, mut once: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        for _ in 1..TRIES {
            match once(self) {
                Err(error) if error.class == ErrorClass::Conflict => {}
                done => return done,
            }
        }
        once(self)
    }

    fn mark_applied(&mut self, name: &[u8]) -> Result<()> {
        let journaled = self.journaled;
        let applied = self.connection.write(|doc| {
            let doc = doc.text("update", TRANSACTIONS);
            let doc = update(
                doc,
                |q| q.binary("_id", name),
                |u| u.document("$set", |set| set.text("state", "applied")),
                false,
            );
            concern(doc, journaled)
        });
        applied.map(drop)
    }

    /// Removes the mark of a change.
    fn unmark(&mut self, collection: &str, key: &[u8], name: &[u8]) -> Result<()> {
        let (keys, journaled) = (self.keys(), self.journaled);
        let result = self.connection.write(|doc| {
            let doc = doc.text("update", collection);
            let doc = update(
                doc,
                |q| q.key("_id", key, keys),
                |u| u.document("$pull", |pull| pull.binary("pending", name)),
                false,
            );
            concern(doc, journaled)
        });
        result.map(drop)
    }

    fn delete_transaction(&mut self, name: &[u8]) -> Result<()> {
        let journaled = self.journaled;
        let removed = self.connection.write(|doc| {
            let doc = doc.text("delete", TRANSACTIONS);
            concern(delete(doc, |q| q.binary("_id", name)), journaled)
        });
        removed.map(drop)
    }

    /// Writes or hides the link. Returns whether it was visible before; `None`: as in
    /// [`Self::write`].
    fn change_link(&mut self, change: &Change<'_>, part: Part) -> Result<Option<bool>> {
        let (keys, name, changed_link) = (self.keys(), self.unit.name(), change.key());
        let (unit, journaled) = (&self.unit, self.journaled);
        let reply = self.connection.command(Target::Ours, |doc| {
            let doc = doc.text("findAndModify", LINKS).document("query", |query| {
                let query = query.key("_id", &link_key(changed_link), keys);
                if matches!(change, Change::Hide { .. }) {
                    query.int("visibility", 1)
                } else {
                    query
                }
            });
            let doc = doc.document("update", |update| {
                let update = match change {
                    Change::Add(link) => update
                        .document("$set", |set| link_fields(set, link))
                        .document("$setOnInsert", |new| link_ids(new, changed_link)),
                    Change::Hide { .. } => update.document("$set", |set| set.int("visibility", 0)),
                };
                mark_pending(update, part, &name)
            });
            let doc = match keys {
                Keys::Binary => {
                    doc.document("fields", |fields| fields.int("_id", 0).int("visibility", 1))
                }
                // `FerretDB` shows the whole document.
                Keys::Hex => doc,
            };
            let doc = doc.flag("upsert", matches!(change, Change::Add(_)));
            add_concern_or_transaction(doc, unit, part, journaled)
        });
        match reply
            .map_err(|error| explain_unsupported(error, part))?
            .get("value")
            .map_err(unreadable_error)?
        {
            Some(RawBsonRef::Document(before)) => {
                let visible =
                    before.get("visibility").map_err(unreadable_error)?.and_then(to_integer);
                Ok(Some(visible == Some(1)))
            }
            _ => Ok(None),
        }
    }

    fn change_count(&mut self, change: &Change<'_>, by: i64, part: Part) -> Result<()> {
        let (keys, name, link) = (self.keys(), self.unit.name(), change.key());
        let (unit, journaled) = (&self.unit, self.journaled);
        let changed = self.connection.write(|doc| {
            let doc = update(
                doc.text("update", COUNTS),
                |q| q.key("_id", &count_key(link.id1, link.kind), keys),
                |u| {
                    let u = u.document("$inc", |inc| inc.long("count", by).int("version", 1));
                    let u = u.document("$set", |set| set.long("time", to_i64(change.time())));
                    let u = u.document("$setOnInsert", |new| count_ids(new, link.id1, link.kind));
                    mark_pending(u, part, &name)
                },
                true,
            );
            add_concern_or_transaction(doc, unit, part, journaled)
        });
        changed.map(drop)
    }

    /// Reads a count and then writes it, without protection from concurrent writers.
    fn recount(&mut self, change: &Change<'_>, by: i64) -> Result<()> {
        let (link, keys, journaled) = (change.key(), self.keys(), self.journaled);
        let counted = self.count_links(link.id1, link.kind)?.saturating_add_signed(by);
        self.retry_conflicts(|handle| {
            let changed = handle.connection.write(|doc| {
                let doc = update(
                    doc.text("update", COUNTS),
                    |q| q.key("_id", &count_key(link.id1, link.kind), keys),
                    |u| {
                        u.document("$set", |set| {
                            let set = count_ids(set, link.id1, link.kind);
                            set.long("count", to_i64(counted)).long("time", to_i64(change.time()))
                        })
                    },
                    true,
                );
                concern(doc, journaled)
            });
            changed.map(drop)
        })
    }
}

/// Marks an update in two phases with its change.
fn mark_pending<'d>(update: Document<'d>, part: Part, name: &[u8]) -> Document<'d> {
    if part != Part::Marked {
        return update;
    }
    update.document("$push", |push| push.binary("pending", name))
}

/// Adds the write concern of a command, or the transaction that it is part of.
fn add_concern_or_transaction<'d>(
    doc: Document<'d>,
    unit: &Unit,
    part: Part,
    journaled: bool,
) -> Document<'d> {
    match part {
        Part::Alone | Part::Marked => concern(doc, journaled),
        Part::First | Part::Later => unit.transaction(doc, part),
    }
}

/// Explains the error of a server without transactions, which fails at the first begin.
fn explain_unsupported(error: Error, part: Part) -> Error {
    if part != Part::First || error.class != ErrorClass::Unsupported {
        return error;
    }
    error.context(
        "transactions take a server of 4.0 or later that is a member of a replica set; \
                   `consistency = \"two_phase\"` takes none",
    )
}
