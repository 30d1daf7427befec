//! An audit in pages. A page is a number of counts, and the links of their nodes and types by ids
//! and by time, which lie in the same order. Graphs of any size take the memory of a page.

use super::{Keyed, count, count_key, damaged_error, key, number};
use kvdyno_engine::graph::Audited;
use kvdyno_engine::{Direction, Range, Result, Session};
use std::ops::ControlFlow;

/// The number of records between two calls of `go_on`.
const LOOK_EVERY: u64 = 65_536;

/// The keys at which a page ends and the next begins: of links by ids, and of links by time.
struct Edges([Vec<u8>; 2]);

impl<S: Session> Keyed<S> {
    /// Audits each node and type, `page` counts at a time. Returns how many nodes there are.
    pub(super) fn audit_in_pages(
        &mut self,
        page: usize,
        go_on: &impl Fn() -> bool,
        mut visit: impl FnMut(Audited),
    ) -> Result<u64> {
        let (mut counts_from, mut from) = (vec![b'c'], Edges([vec![b'l'], vec![b'i']]));
        let mut page_of_counts = Vec::with_capacity(page);
        loop {
            page_of_counts.clear();
            self.counts(&counts_from, page, &mut page_of_counts)?;
            let last = page_of_counts.last().filter(|_| page_of_counts.len() == page).copied();
            // The page ends behind the node and type of its last count; the last page, behind all
            // links.
            let until = last.map_or(Edges([vec![b'm'], vec![b'j']]), |last| {
                counts_from = count_key(last.id, last.kind).to_vec();
                counts_from.push(0);
                Edges([b'l', b'i'].map(|table| {
                    let behind: [u8; 17] = key(table, [last.kind, last.id]);
                    [behind.as_slice(), &[u8::MAX; 17]].concat()
                }))
            });
            let by_place = |audited: &mut Audited| audited.links += 1;
            self.links(&from.0[0], &until.0[0], &mut page_of_counts, go_on, by_place)?;
            let by_time = |audited: &mut Audited| audited.listed += 1;
            self.links(&from.0[1], &until.0[1], &mut page_of_counts, go_on, by_time)?;
            from = until;
            page_of_counts.iter().copied().for_each(&mut visit);
            if last.is_none() || !go_on() {
                return self.nodes(go_on);
            }
        }
    }

    /// Reads the counts of one page from `from` on.
    fn counts(&mut self, from: &[u8], page: usize, audited_page: &mut Vec<Audited>) -> Result<()> {
        let mut failed = Ok(());
        let range = Range::all(Direction::Forward).from(from).until(b"d").limit(page as u64);
        self.session.scan(range, |key, value| {
            let read = || {
                let (kind, id) = (number(key, 0)?, number(key, 1)?);
                Ok(Audited { id, kind, count: count(value)?.0, ..Audited::default() })
            };
            match read() {
                Ok(audited) => audited_page.push(audited),
                Err(error) => failed = Err(error),
            }
            ControlFlow::Continue(())
        })?;
        failed
    }

    /// Calls `add` for each visible link in `from..until`, with the entry of its node and type in
    /// `nodes_counted`. Entries are in the order of the links, and stay so where those of nodes
    /// without a count are added.
    fn links(
        &mut self,
        from: &[u8],
        until: &[u8],
        nodes_counted: &mut Vec<Audited>,
        go_on: &impl Fn() -> bool,
        add: impl Fn(&mut Audited),
    ) -> Result<()> {
        let (mut failed, mut looked, mut index) = (Ok(()), 0, 0);
        let mut uncounted = Vec::<Audited>::new();
        let range = Range::all(Direction::Forward).from(from).until(until);
        self.session.scan(range, |key, value| {
            looked += 1;
            if looked % LOOK_EVERY == 0 && !go_on() {
                return ControlFlow::Break(());
            }
            // Only links by ids may be hidden.
            if key.first() == Some(&b'l') && value.first() != Some(&1) {
                return ControlFlow::Continue(());
            }
            let (Ok(kind), Ok(id)) = (number(key, 0), number(key, 1)) else {
                failed = Err(damaged_error());
                return ControlFlow::Break(());
            };
            while nodes_counted.get(index).is_some_and(|next| (next.kind, next.id) < (kind, id)) {
                index += 1;
            }
            let is_current = |one: &&mut Audited| (one.kind, one.id) == (kind, id);
            if let Some(counted) = nodes_counted.get_mut(index).filter(is_current) {
                add(counted);
            } else if let Some(last) = uncounted.last_mut().filter(is_current) {
                add(last);
            } else {
                let mut new = Audited { id, kind, ..Audited::default() };
                add(&mut new);
                uncounted.push(new);
            }
            ControlFlow::Continue(())
        })?;
        nodes_counted.append(&mut uncounted);
        nodes_counted.sort_unstable_by_key(|audited| (audited.kind, audited.id));
        failed
    }

    fn nodes(&mut self, go_on: &impl Fn() -> bool) -> Result<u64> {
        let (range, mut looked) = (Range::all(Direction::Forward).from(b"n").until(b"o"), 0);
        self.session.scan(range, |_, _| {
            looked += 1;
            if looked % LOOK_EVERY == 0 && !go_on() {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })
    }
}
