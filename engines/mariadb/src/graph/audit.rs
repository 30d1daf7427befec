//! The audit of counts: counts and their links are two streams in one order, read side by side.

use super::row::Row;
use crate::connection::{Connection, Part, Progress};
use kvdyno_engine::Result;
use kvdyno_engine::graph::{Audited, Links, side_by_side};

const COUNTED: &str = "SELECT id, link_type, count FROM counttable \
                       FORCE INDEX (PRIMARY) ORDER BY id, link_type";
const LINKED: &str = "SELECT id1, link_type, COUNT(*) FROM linktable \
                      FORCE INDEX (id1_type) WHERE visibility = 1 \
                      GROUP BY id1, link_type ORDER BY id1, link_type";

/// The number of nodes, in three columns as the other queries have.
const NODES: &str = "SELECT COUNT(*), COUNT(*), COUNT(*) FROM nodetable";

/// Shows every node and type of both streams, until `go_on` returns false. Returns the number of
/// nodes.
pub(super) fn audit(
    counted: Connection,
    linked: Connection,
    go_on: impl Fn() -> bool,
    visit: impl FnMut(Audited),
) -> Result<u64> {
    let mut counted = Stream::start(counted, COUNTED, read_u32)?;
    let mut linked = Stream::start(linked, LINKED, read_u64)?;
    if !side_by_side(|| counted.next(), || linked.next(), go_on, visit)? {
        return Ok(0);
    }
    let nodes = Stream::start(counted.connection, NODES, read_u64)?.next()?;
    Ok(nodes.map_or(0, |(_, nodes)| nodes))
}

fn read_u32(row: &mut Row<'_>) -> Result<u64> {
    row.read_u32().map(u64::from)
}

fn read_u64(row: &mut Row<'_>) -> Result<u64> {
    row.read_u64()
}

/// The rows of a statement.
struct Stream {
    connection: Connection,
    progress: Progress,
    /// Reads the number, whose type depends on the query.
    number: fn(&mut Row<'_>) -> Result<u64>,
}

impl Stream {
    fn start(
        mut connection: Connection,
        text: &str,
        number: fn(&mut Row<'_>) -> Result<u64>,
    ) -> Result<Self> {
        let statement = connection.prepare(text)?;
        connection.execute_with(statement, std::iter::empty());
        connection.wire.send()?;
        Ok(Self { connection, progress: Progress::default(), number })
    }

    fn next(&mut self) -> Result<Option<Links>> {
        self.connection.wire.discard_parsed();
        let Part::Row(row) = self.connection.part(&mut self.progress)? else { return Ok(None) };
        let mut row = Row::new(self.connection.bytes(row));
        Ok(Some(((row.read_u64()?, row.read_u64()?), (self.number)(&mut row)?)))
    }
}
