//! A graph over an ordered map: the effect of requests, and audits.

use super::*;
use std::collections::BTreeMap;

#[derive(Default)]
struct Map(BTreeMap<Vec<u8>, Vec<u8>>);

impl Session for Map {
    fn get<R>(&mut self, key: &[u8], visit: impl FnOnce(Option<&[u8]>) -> R) -> Result<R> {
        Ok(visit(self.0.get(key).map(Vec::as_slice)))
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.0.insert(key.to_vec(), value.to_vec());
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<()> {
        self.0.remove(key);
        Ok(())
    }

    fn scan(
        &mut self,
        range: Range<'_>,
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<u64> {
        let mut shown = 0;
        let from = range.from.unwrap_or_default().to_vec();
        for (key, value) in self.0.range(from..).take(range.limit as usize) {
            if range.ends_before(key) {
                break;
            }
            shown += 1;
            if visit(key, value).is_break() {
                break;
            }
        }
        Ok(shown)
    }
}

fn graph() -> Keyed<Map> {
    Keyed {
        session: Map::default(),
        isolation: Isolation::Latch,
        writes: Writes::default(),
        keys: Vec::new(),
    }
}

fn link(id1: u64, kind: u64, id2: u64, time: u64) -> Link<'static> {
    Link { key: LinkKey { id1, kind, id2 }, visible: true, time, version: 0, data: b"data" }
}

fn listed(graph: &mut Keyed<Map>, id1: u64, kind: u64, limit: u32) -> Vec<u64> {
    let mut ids = Vec::new();
    graph.list_links(id1, kind, 0..=u64::MAX, limit, |link| ids.push(link.key.id2)).unwrap();
    ids
}

fn audited(graph: &mut Keyed<Map>, page: usize) -> (u64, Vec<Audited>) {
    let mut all = Vec::new();
    let nodes = graph.audit_in_pages(page, &|| true, |audited| all.push(audited)).unwrap();
    all.sort_unstable_by_key(|audited| (audited.kind, audited.id));
    (nodes, all)
}

#[test]
fn links_come_go_and_come_back_with_their_counts() {
    let mut graph = graph();
    let key_to = |id2| LinkKey { id1: 7, kind: 1, id2 };
    assert_eq!(graph.add_link(&link(7, 1, 1, 10)), Ok(Added::Inserted));
    assert_eq!(graph.add_link(&link(7, 1, 2, 30)), Ok(Added::Inserted));
    assert_eq!(graph.add_link(&link(7, 1, 3, 20)), Ok(Added::Inserted));
    assert_eq!((graph.count_links(7, 1), graph.count_links(7, 2)), (Ok(3), Ok(0)));
    assert_eq!(listed(&mut graph, 7, 1, 9), [2, 3, 1], "the newest first");
    assert_eq!(listed(&mut graph, 7, 1, 2), [2, 3]);
    // An overwritten link is in its list once, at its new time.
    assert_eq!(graph.add_link(&link(7, 1, 1, 40)), Ok(Added::Updated));
    assert_eq!(graph.add_link(&link(7, 1, 1, 40)), Ok(Added::Updated));
    assert_eq!((listed(&mut graph, 7, 1, 9), graph.count_links(7, 1)), (vec![1, 2, 3], Ok(3)));
    assert_eq!(
        (graph.delete_link(key_to(2), 50), graph.delete_link(key_to(2), 50)),
        (Ok(true), Ok(false))
    );
    assert_eq!(graph.delete_link(key_to(9), 50), Ok(false));
    assert_eq!((listed(&mut graph, 7, 1, 9), graph.count_links(7, 1)), (vec![1, 3], Ok(2)));
    let mut found = Vec::new();
    let count = graph.get_links(7, 1, &[1, 2, 4], |link| found.push((link.key.id2, link.visible)));
    assert_eq!((count, found), (Ok(2), vec![(1, true), (2, false)]), "hidden ones are there");
    assert_eq!(graph.add_link(&link(7, 1, 2, 60)), Ok(Added::Shown));
    let (_, all) = audited(&mut graph, 9);
    assert_eq!(all, [Audited { id: 7, kind: 1, count: 3, links: 3, listed: 3 }]);
    let mut times = Vec::new();
    graph.list_links(7, 1, 20..=40, 9, |link| times.push(link.time)).unwrap();
    assert_eq!(times, [40, 20], "both ends are in it");
}

#[test]
fn nodes_are_written_where_they_are() {
    let mut graph = graph();
    let node = |version| Node { kind: 2_048, version, time: 5, data: b"node" };
    assert_eq!(graph.update_node(3, &node(2)), Ok(false));
    graph.add_node(3, &node(1)).unwrap();
    assert_eq!(graph.update_node(3, &node(2)), Ok(true));
    graph.get_node(3, |actual| assert_eq!(actual, Some(node(2)))).unwrap();
    assert_eq!((audited(&mut graph, 4).0, graph.delete_node(3)), (1, Ok(true)));
    assert_eq!((audited(&mut graph, 4).0, graph.delete_node(3)), (0, Ok(false)));
}

/// Links without a count, counts without links, and links in one index alone are found wherever a
/// page ends.
#[test]
fn an_audit_sees_everything_at_every_length_of_a_page() {
    let mut graph = graph();
    for (id, kind) in [(2, 1), (3, 1), (5, 1), (1, 2), (4, 2)] {
        for id2 in 0..id {
            graph.add_link(&link(id, kind, id2, 100 + id2)).unwrap();
        }
    }
    let right = |id, kind| Audited { id, kind, count: id, links: id, listed: id };
    let mut expected = vec![right(2, 1), right(3, 1), right(5, 1), right(1, 2), right(4, 2)];
    for page in 1..8 {
        assert_eq!(audited(&mut graph, page).1, expected, "pages of {page}");
    }
    // Links without counts before, between and behind all others; a count without links; a list
    // that misses a link.
    for (id, kind) in [(1, 1), (4, 1), (9, 2)] {
        graph.add_link(&link(id, kind, 1, 1)).unwrap();
        graph.session.0.remove(count_key(id, kind).as_slice());
        expected.push(Audited { id, kind, count: 0, links: 1, listed: 1 });
    }
    let mut writes = Writes::default();
    writes.put_count(&Count { id: 6, kind: 1, links: 8, time: 0 }, 0);
    graph.session.write(&writes.list()).unwrap();
    expected.push(Audited { id: 6, kind: 1, count: 8, links: 0, listed: 0 });
    let missed = link(3, 1, 0, 100);
    graph.session.0.remove(time_key(missed.key, missed.time).as_slice());
    expected[1].listed = 2;
    expected.sort_unstable_by_key(|audited| (audited.kind, audited.id));
    for page in 1..11 {
        let (_, counts) = audited(&mut graph, page);
        assert_eq!(counts, expected, "pages of {page}");
        assert_eq!(counts.iter().filter(|audited| !audited.is_right()).count(), 5);
    }
}
