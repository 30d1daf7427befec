//! A social graph: the effect of requests, and counts that match their links under concurrent
//! writers. Each isolation that the engine declares is checked.

use super::erased::{BoxEngine, BoxGraph};
use super::field::{Field, Outcome, Stop, expect, require_ability};
use crate::graph::{Added, Audited, Chunk, Count, Isolation, Link, LinkKey, Node};
use crate::{BatchKind, ErrorClass, Options, Result, Transactions};
use std::sync::Barrier;

type CheckFn = fn(&BoxEngine, Isolation, &mut BoxGraph<'_>) -> Outcome;

/// The type of all links here.
const KIND: u64 = 7;

/// How the engine keeps a link and its count together, as it is set up by default.
fn isolations(field: &Field<'_>, options: &Options) -> Vec<Isolation> {
    let abilities = field.capabilities();
    let declared = abilities.graph.iter().copied().filter(|way| *way != Isolation::None);
    let ordered = abilities.scan_forward && abilities.delete && !abilities.numbered_keys_only;
    let ordered = ordered && abilities.key_bytes_max.is_none_or(|most| most >= 33);
    match declared.collect::<Vec<_>>() {
        declared if !declared.is_empty() => declared,
        _ if !ordered => Vec::new(),
        _ if field.description.transactions(options) != Transactions::None => {
            vec![Isolation::Transaction]
        }
        _ if abilities.batch == BatchKind::Atomic => vec![Isolation::Latch],
        _ => Vec::new(),
    }
}

/// Runs `check` on a fresh database for each way.
fn check_each_way(field: &Field<'_>, check: CheckFn) -> Outcome {
    field.require_contents()?;
    let options = field.options();
    let ways = isolations(field, &options);
    require_ability(!ways.is_empty(), "to store a graph")?;
    for way in ways {
        let engine = field.open(1000)?;
        let checked = check(&engine, way, &mut engine.graph(way)?);
        checked.map_err(|stop| match stop {
            Stop::Fail(what) => Stop::Fail(format!("{way:?}: {what}")),
            skip @ Stop::Skip(_) => skip,
        })?;
        engine.close()?;
    }
    Ok(())
}

fn node(version: u64, data: &[u8]) -> Node<'_> {
    Node { kind: 3, version, time: 1_700_000_000, data }
}

fn link(id1: u64, id2: u64, time: u64, data: &[u8]) -> Link<'_> {
    Link { key: link_key(id1, id2), visible: true, time, version: 2, data }
}

fn link_key(id1: u64, id2: u64) -> LinkKey {
    LinkKey { id1, kind: KIND, id2 }
}

/// Checks requests of nodes. Their ids begin at 1, as in a store that numbers nodes itself.
pub(super) fn nodes(field: &Field<'_>) -> Outcome {
    check_each_way(field, |_, _, graph| {
        let long = vec![9; 5000];
        graph.load(&Chunk { nodes: &[(1, node(1, b"first"))], ..Chunk::default() })?;
        graph.add_node(2, &node(1, &long))?;
        let fetch = |graph: &mut BoxGraph<'_>, id| -> Result<_> {
            let mut content = None;
            graph.get_node(id, &mut |node| {
                content = node.map(|node| (node.kind, node.version, node.time, node.data.to_vec()));
            })?;
            Ok(content)
        };
        let expected = |version, data: &[u8]| Some((3, version, 1_700_000_000, data.to_vec()));
        let loaded = fetch(graph, 1)?;
        expect(loaded == expected(1, b"first"), || format!("a loaded node reads {loaded:?}"))?;
        expect(fetch(graph, 2)? == expected(1, &long), || {
            "an added node reads \
            differently"
                .into()
        })?;
        expect(graph.update_node(1, &node(8, b""))?, || {
            "update of an existing node found \
            none"
                .into()
        })?;
        let updated = fetch(graph, 1)?;
        expect(updated == expected(8, b""), || format!("an updated node reads {updated:?}"))?;
        expect(graph.delete_node(1)?, || "delete of an existing node found none".into())?;
        expect(!graph.delete_node(1)?, || "a node was deleted twice".into())?;
        expect(!graph.update_node(1, &node(9, b"x"))?, || "a deleted node was updated".into())?;
        expect(fetch(graph, 1)?.is_none(), || "a deleted node still exists".into())
    })
}

/// Checks lists, lookups and counts after links were written, hidden, shown again and overwritten.
pub(super) fn links(field: &Field<'_>) -> Outcome {
    check_each_way(field, |_, _, graph| {
        let add = |graph: &mut BoxGraph<'_>, id2, time, data, expected| {
            let added = graph.add_link(&link(5, id2, time, data))?;
            expect(added == expected, || {
                format!(
                    "add of a link: expected {expected:?}, found \
                {added:?}"
                )
            })
        };
        for id2 in 1..=6 {
            add(graph, id2, 100 + id2, b"data", Added::Inserted)?;
        }
        graph.add_link(&link(6, 1, 100, b""))?;
        add(graph, 3, 200, b"new", Added::Updated)?;
        expect(graph.delete_link(link_key(5, 4), 300)?, || {
            "delete of an existing link found \
            none"
                .into()
        })?;
        expect(!graph.delete_link(link_key(5, 4), 301)?, || "a link was deleted twice".into())?;
        expect(!graph.delete_link(link_key(5, 99), 301)?, || "no link was deleted".into())?;
        expect_links(
            graph,
            (0, u64::MAX, 10),
            &[(3, 200), (6, 106), (5, 105), (2, 102), (1, 101)],
        )?;
        expect_links(graph, (0, 106, 2), &[(6, 106), (5, 105)])?;
        expect_links(graph, (102, 105, 10), &[(5, 105), (2, 102)])?;
        let mut some = Vec::new();
        let count = graph.get_links(5, KIND, &[4, 3, 77], &mut |link| {
            some.push((link.key.id2, link.visible, link.data.to_vec()));
        })?;
        some.sort();
        let expected = [(3, true, b"new".to_vec()), (4, false, b"data".to_vec())];
        expect(count == 2 && some == expected, || format!("expected three links, found {some:?}"))?;
        expect_count(graph, 5, 5)?;
        let right = |id, links| Audited { id, kind: KIND, count: links, links, listed: links };
        let all = audit_sorted(graph)?;
        expect(all == [right(5, 5), right(6, 1)], || format!("with one link deleted: {all:?}"))?;
        add(graph, 4, 400, b"again", Added::Shown)?;
        expect_count(graph, 5, 6)?;
        expect_count(graph, 6, 1)?;
        expect_count(graph, 7, 0)?;
        let all = audit_sorted(graph)?;
        expect(all == [right(5, 6), right(6, 1)], || format!("audit: {all:?}"))
    })
}

/// Lists more links than a server sends at once by its own defaults.
pub(super) fn many_links(field: &Field<'_>) -> Outcome {
    const LINKS: u64 = 1200;
    check_each_way(field, |_, _, graph| {
        let times = 1000..1000 + LINKS;
        let links: Vec<_> = times.map(|time| link(5, time - 999, time, b"data")).collect();
        graph.load(&Chunk { links: &links, ..Chunk::default() })?;
        let newest: Vec<_> = links.iter().rev().map(|link| (link.key.id2, link.time)).collect();
        for limit in [101, 102, 500, 501, 1000, 10_000] {
            let expected = &newest[..newest.len().min(limit as usize)];
            expect_links(graph, (0, u64::MAX, limit), expected)?;
        }
        let (id2s, mut found): (Vec<u64>, _) = ((1..=200).collect(), Vec::new());
        graph.get_links(5, KIND, &id2s, &mut |link| found.push(link.key.id2))?;
        found.sort_unstable();
        expect(found == id2s, || format!("expected 200 links, found {}", found.len()))
    })
}

fn expect_links(
    graph: &mut BoxGraph<'_>,
    (oldest, newest, limit): (u64, u64, u32),
    expected: &[(u64, u64)],
) -> Outcome {
    let (mut actual, mut others) = (Vec::new(), 0);
    let count = graph.list_links(5, KIND, oldest..=newest, limit, &mut |link| {
        let data: &[u8] = if link.time == 200 { b"new" } else { b"data" };
        let intact = link.visible && link.version == 2 && link.data == data;
        others += u64::from(!intact || link.key.id1 != 5 || link.key.kind != KIND);
        actual.push((link.key.id2, link.time));
    })?;
    expect(others == 0, || format!("{others} links of a list differ from what was written"))?;
    expect(actual == expected && count == expected.len() as u64, || {
        format!(
            "list from {oldest} to {newest}, limit {limit}: expected {expected:?}, found \
            {actual:?}"
        )
    })
}

fn expect_count(graph: &mut BoxGraph<'_>, id: u64, expected: u64) -> Outcome {
    let count = graph.count_links(id, KIND)?;
    expect(count == expected, || format!("count of node {id}: expected {expected}, found {count}"))
}

/// Audits the graph. Returns the counts in the order of nodes.
fn audit_sorted(graph: &mut BoxGraph<'_>) -> Result<Vec<Audited>> {
    let mut all = Vec::new();
    graph.audit(&mut |one| all.push(one))?;
    all.sort_by_key(|one| one.id);
    Ok(all)
}

/// Checks a load in parts, one of them of several pages, and an audit that finds a wrong count.
pub(super) fn load(field: &Field<'_>) -> Outcome {
    const LINKS: u64 = 2500;
    check_each_way(field, |_, _, graph| {
        let nodes: Vec<_> = (1..=LINKS).map(|id| (id, node(1, b"node"))).collect();
        graph.load(&Chunk { nodes: &nodes, ..Chunk::default() })?;
        let links: Vec<_> = (1..=LINKS).map(|id2| link(id2 % 2 + 1, id2, id2, b"l")).collect();
        let count = |id, links| Count { id, kind: KIND, links, time: 1 };
        let (of_first, wrong) = (LINKS / 2, 3);
        let counts = [count(1, of_first), count(2, LINKS - of_first - wrong), count(9, 4)];
        graph.load(&Chunk { links: &links, counts: &counts, ..Chunk::default() })?;
        graph.load(&Chunk { links: &[link(12, 1, 1, b"l")], ..Chunk::default() })?;
        let mut all = Vec::new();
        let audited_nodes = graph.audit(&mut |one| all.push(one))?;
        expect(audited_nodes == LINKS, || {
            format!("expected {LINKS} audited nodes, found {audited_nodes}")
        })?;
        let mut rows: Vec<_> = all.iter().map(|one| (one.id, one.count, one.links)).collect();
        rows.sort_unstable();
        let half = LINKS - of_first;
        let expected = [(1, of_first, of_first), (2, half - wrong, half), (9, 4, 0), (12, 0, 1)];
        expect(rows == expected, || format!("audit: expected {expected:?}, found {rows:?}"))?;
        let right = all.iter().filter(|one| one.is_right()).count();
        expect(right == 1, || format!("expected one right count of four, found {right}"))
    })
}

/// Concurrent writers of the same links lose no count. Conflicts are retried.
pub(super) fn side_by_side(field: &Field<'_>) -> Outcome {
    const WRITERS: usize = 4;
    const WRITES: u64 = 150;
    check_each_way(field, |engine, way, graph| {
        let start = Barrier::new(WRITERS);
        std::thread::scope(|scope| {
            let writers = (0..WRITERS as u64).map(|writer| {
                let start = &start;
                scope.spawn(move || {
                    let graph = engine.graph(way);
                    start.wait();
                    let mut graph = graph?;
                    (0..WRITES).try_for_each(|number| {
                        let (id1, id2) = (number % 2 + 1, number / 2 % 5 + 1);
                        let time = number * WRITERS as u64 + writer + 1;
                        retry(|| match (number / 3 + writer) % 2 {
                            0 => graph.delete_link(link_key(id1, id2), time).map(drop),
                            _ => graph.add_link(&link(id1, id2, time, b"data")).map(drop),
                        })
                    })
                })
            });
            let writers: Vec<_> = writers.collect();
            writers.into_iter().try_for_each(|writer| match writer.join() {
                Ok(done) => done.map_err(Stop::from),
                Err(_) => Err(Stop::Fail("a writer panicked".to_owned())),
            })
        })?;
        let all = audit_sorted(graph)?;
        expect(!all.is_empty(), || "expected counts, found none".to_owned())?;
        let wrong = all.iter().find(|one| !one.is_right());
        expect(wrong.is_none(), || format!("counts differ from their links: {wrong:?}"))
    })
}

fn retry(mut once: impl FnMut() -> Result<()>) -> Result<()> {
    const TRIES: u32 = 10_000;
    for _ in 1..TRIES {
        match once() {
            Err(error) if error.class == ErrorClass::Conflict => std::thread::yield_now(),
            done => return done,
        }
    }
    once()
}
