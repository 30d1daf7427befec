//! Loads of chunks: rows by the hundred in one transaction.

use super::Handle;
use crate::connection::{Connection, Parameter, Statement};
use Parameter::{Bytes, Number};
use kvdyno_engine::Result;
use kvdyno_engine::graph::{Chunk, Count, Link, Node};
use kvdyno_engine::server::Answers as _;

/// The numbers of rows that a statement may have. Each is prepared once, and a chunk of any length
/// takes few statements.
const ROWS: [usize; 6] = [1_024, 256, 64, 16, 4, 1];

/// The most bytes of data in one statement, which is one packet.
const BYTES_MAX: usize = 8 << 20;

const NODES: &str = "INSERT INTO nodetable (id, type, version, time, data) VALUES ";
const LINKS: &str =
    "INSERT INTO linktable (id1, id2, link_type, visibility, data, time, version) VALUES ";
const COUNTS: &str = "INSERT INTO counttable (id, link_type, count, time, version) VALUES ";

/// Prepared statements for the rows of one table.
#[derive(Debug, Default)]
pub(super) struct Inserts([Option<Statement>; ROWS.len()]);

/// Prepared statements for a load.
#[derive(Debug, Default)]
pub(super) struct Loads {
    nodes: Inserts,
    links: Inserts,
    counts: Inserts,
}

/// Loads a chunk. The caller rolls back after an error.
pub(super) fn load(graph: &mut Handle<'_>, chunk: &Chunk<'_>) -> Result<()> {
    let Handle { connection, statements, loads, .. } = graph;
    connection.execute_with(statements.begin, std::iter::empty());
    connection.wire.send()?;
    connection.answer()?;
    loads.nodes.insert(
        connection,
        NODES,
        chunk.nodes,
        |(_, node)| node.data.len(),
        node_parameters,
    )?;
    loads.links.insert(connection, LINKS, chunk.links, |link| link.data.len(), link_parameters)?;
    loads.counts.insert(connection, COUNTS, chunk.counts, |_| 0, count_parameters)?;
    connection.execute_with(statements.commit, std::iter::empty());
    connection.wire.send()?;
    connection.answer().map(drop)
}

fn node_parameters<'p>((id, node): &(u64, Node<'p>)) -> [Parameter<'p>; 5] {
    let [id, kind, version, time] =
        [*id, node.kind.into(), node.version, node.time.into()].map(Number);
    [id, kind, version, time, Bytes(node.data)]
}

fn link_parameters<'p>(link: &Link<'p>) -> [Parameter<'p>; 7] {
    let [id1, id2, kind] = [link.key.id1, link.key.id2, link.key.kind].map(Number);
    let [visible, time, version] =
        [link.visible.into(), link.time, link.version.into()].map(Number);
    [id1, id2, kind, visible, Bytes(link.data), time, version]
}

fn count_parameters<'p>(count: &Count) -> [Parameter<'p>; 5] {
    [count.id, count.kind, count.links, count.time, 0].map(Number)
}

impl Inserts {
    /// Inserts all rows of a table.
    fn insert<'p, T, const N: usize>(
        &mut self,
        connection: &mut Connection,
        text: &str,
        rows: &[T],
        bytes: impl Fn(&T) -> usize,
        columns: impl Fn(&T) -> [Parameter<'p>; N] + Clone,
    ) -> Result<()> {
        let mut rest = rows;
        while !rest.is_empty() {
            let fits = |count: usize| {
                count == 1
                    || count <= rest.len()
                        && rest[..count].iter().map(&bytes).sum::<usize>() <= BYTES_MAX
            };
            let size = ROWS.iter().position(|count| fits(*count)).unwrap_or(ROWS.len() - 1);
            let (some, more) = rest.split_at(ROWS[size]);
            let statement = match self.0[size] {
                Some(statement) => statement,
                None => {
                    let row = format!("({})", ["?"; N].join(","));
                    let text = format!("{text}{}", vec![row.as_str(); some.len()].join(","));
                    *self.0[size].insert(connection.prepare(&text)?)
                }
            };
            connection.execute_with(statement, some.iter().flat_map(columns.clone()));
            connection.wire.send()?;
            connection.answer()?;
            rest = more;
        }
        Ok(())
    }
}
