//! The operations: one table with all that follows from the operation alone.

use crate::workload::{Op, Size};
use KeySource::{Chosen, Continued, Graph, Next, NoKey, Opened};
use OpTrait::{AddsRecords, Pipelined, TakesMissing, WritesValues};

/// The properties of an operation.
#[derive(Debug, PartialEq)]
pub struct OpInfo {
    /// Its name in files and columns.
    pub name: &'static str,
    /// The operation with its default arguments; none: a load of a graph, which no mix has.
    pub op: Option<Op>,
    /// What it does, as a sentence.
    pub does: &'static str,
    /// Whether it looks keys up, or shows records: its items that are not counted as missing are
    /// its hits.
    pub reads: bool,
    /// Whether it changes what is stored.
    pub writes: bool,
    /// Whether one operation deals with several keys or records, which are counted apart.
    pub many: bool,
    /// Where its keys come from.
    pub keys: KeySource,
    /// The ability that an engine needs for it; none: every engine can perform it.
    pub needs: Option<Ability>,
    traits: &'static [OpTrait],
}

/// Where the keys of an operation come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// The distribution of the operation or of its role.
    Chosen,
    /// The next number: a key that was never there.
    Next,
    /// The end of the thread's previous operation.
    Continued,
    /// The graph, whose request it is.
    Graph,
    /// Any record: the first that is looked up once the engine is open.
    Opened,
    /// No key: the operation is recorded, and never drawn from a mix.
    NoKey,
}

/// An ability of some engines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ability {
    /// Deletes.
    Delete,
    /// Scans, in the operation's direction.
    Scan,
    /// An engine inside the worker's process, which opens a database itself.
    Open,
}

/// A property that few operations have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpTrait {
    /// Several can be in flight together: none depends on another.
    Pipelined,
    /// A key that does not exist is a valid one.
    TakesMissing,
    /// It may add records.
    AddsRecords,
    /// It writes whole values of records.
    WritesValues,
}

const ONE: Size = Size::Fixed { bytes: 1 };
const TEN: Size = Size::Fixed { bytes: 10 };
const HUNDRED: Size = Size::Fixed { bytes: 100 };

/// All operations, in the order of columns.
pub static OPERATIONS: [OpInfo; 24] = [
    reads("get", Op::Get, Chosen, "Looks up one key.").with(&[Pipelined, TakesMissing]),
    writes("insert", Op::Insert, Next, "Writes a new key: the next number.").with(&[
        Pipelined,
        TakesMissing,
        AddsRecords,
        WritesValues,
    ]),
    writes("update", Op::Update, Chosen, "Writes an existing key.")
        .with(&[Pipelined, WritesValues]),
    writes("delete", Op::Delete, Chosen, "Removes a key.").needs(Ability::Delete),
    reads(
        "scan",
        Op::Scan { reverse: false, length: HUNDRED },
        Chosen,
        "Reads neighbouring records in key order.",
    )
    .with_many_items()
    .needs(Ability::Scan),
    reads("multiget", Op::Multiget { keys: TEN }, Chosen, "Looks up several keys in one call.")
        .with_many_items()
        .with(&[TakesMissing]),
    reads("rmw", Op::ReadModifyWrite, Chosen, "Reads a key and writes it again.")
        .with_writes()
        .with(&[WritesValues]),
    writes("batch", Op::Batch { writes: TEN }, Chosen, "Updates several keys in one batch.")
        .with_many_items()
        .with(&[WritesValues]),
    reads(
        "walk",
        Op::Walk { reverse: false, length: ONE },
        Continued,
        "Reads the next records in key order from the end of the thread's previous walk. After \
         the last record it starts again.",
    )
    .with_many_items()
    .needs(Ability::Scan),
    reads(
        "open",
        Op::Open { cold: false },
        Opened,
        "Closes the engine, and opens it again up to the first answer. Only the opening is timed.",
    )
    .needs(Ability::Open),
    reads(
        "recover",
        Op::Recover { cold: false, writes: 10_000 },
        Opened,
        "Kills a process that updates records (SIGKILL), and opens its database up to the first \
         answer. Only the opening is timed.",
    )
    .with_writes()
    .needs(Ability::Open),
    op("flush", Some(Op::Flush), NoKey, "Makes earlier writes durable."),
    writes("add_node", Op::AddNode, Graph, "Adds a node to a graph.").with(&[AddsRecords]),
    reads("get_node", Op::GetNode, Graph, "Looks up a node of a graph."),
    writes("update_node", Op::UpdateNode, Graph, "Writes a node of a graph again."),
    writes("delete_node", Op::DeleteNode, Graph, "Removes a node of a graph."),
    writes("add_link", Op::AddLink, Graph, "Adds a link to a graph, usually a new one.")
        .with(&[AddsRecords]),
    writes(
        "update_link",
        Op::UpdateLink,
        Graph,
        "Writes a link of a graph, usually an existing one.",
    )
    .with(&[AddsRecords]),
    writes("delete_link", Op::DeleteLink, Graph, "Hides a link of a graph."),
    reads("count_link", Op::CountLink, Graph, "Looks up a count of links."),
    reads("multiget_link", Op::MultigetLink, Graph, "Looks up several links of a node.")
        .with_many_items(),
    reads(
        "get_links_list",
        Op::GetLinksList,
        Graph,
        "Lists the links of a node, the newest first.",
    )
    .with_many_items(),
    op("load_nodes", None, Graph, "Loads the nodes of a graph.").with_writes().with_many_items(),
    op("load_links", None, Graph, "Loads the links of a graph.").with_writes().with_many_items(),
];

/// The loads of nodes and of links: the last operations of the table, and the only ones that are no
/// [`Op`].
pub const GRAPH_LOADS: [&str; 2] = ["load_nodes", "load_links"];

const fn op(name: &'static str, op: Option<Op>, keys: KeySource, does: &'static str) -> OpInfo {
    let (reads, writes, many) = (false, false, false);
    OpInfo { name, op, does, reads, writes, many, keys, needs: None, traits: &[] }
}

const fn reads(name: &'static str, of: Op, keys: KeySource, does: &'static str) -> OpInfo {
    let mut info = op(name, Some(of), keys, does);
    info.reads = true;
    info
}

const fn writes(name: &'static str, of: Op, keys: KeySource, does: &'static str) -> OpInfo {
    op(name, Some(of), keys, does).with_writes()
}

impl OpInfo {
    const fn with_writes(mut self) -> Self {
        self.writes = true;
        self
    }

    const fn with_many_items(mut self) -> Self {
        self.many = true;
        self
    }

    const fn needs(mut self, ability: Ability) -> Self {
        self.needs = Some(ability);
        self
    }

    const fn with(mut self, traits: &'static [OpTrait]) -> Self {
        self.traits = traits;
        self
    }

    /// Finds the operation of this name.
    pub fn find_by_name(name: &str) -> Option<&'static Self> {
        OPERATIONS.iter().find(|op| op.name == name)
    }

    /// Returns the operations that a mix may have.
    pub fn mix_operations() -> impl Iterator<Item = &'static Self> {
        OPERATIONS.iter().filter(|info| info.op.is_some() && info.keys != NoKey)
    }

    /// Whether a role's own figures include the operation. Flushes have a row of their own: they
    /// read and write nothing, and a job that waits for one after each write does not do twice the
    /// work.
    pub fn is_summed(name: &str) -> bool {
        Self::find_by_name(name).is_none_or(|info| info.reads || info.writes)
    }

    /// Whether it has a property.
    pub fn has(&self, property: OpTrait) -> bool {
        self.traits.contains(&property)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_in_the_table_by_the_name_of_its_file() {
        for info in &OPERATIONS {
            let Some(op) = &info.op else {
                assert!(GRAPH_LOADS.contains(&info.name));
                continue;
            };
            assert_eq!(op.info().name, info.name);
            let tag = serde_json::to_value(op).unwrap()["op"].clone();
            assert!(tag == info.name || tag == "read_modify_write", "{tag}");
        }
    }

    #[test]
    fn the_table_has_every_operation() {
        let schema = schemars::schema_for!(Op).to_value();
        let ops = schema["oneOf"].as_array().unwrap();
        assert_eq!(ops.len(), OPERATIONS.len() - GRAPH_LOADS.len());
    }
}
