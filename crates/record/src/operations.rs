//! The operations, with their properties by name.

/// The properties of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpInfo {
    /// In files and columns.
    pub name: &'static str,
    /// It looks keys up, or shows records: what it deals with is found unless it is missing.
    pub reads: bool,
    /// It changes what is stored.
    pub writes: bool,
    /// One operation deals with several keys or records, which are counted apart.
    pub many: bool,
}

/// All of them, in the order of columns.
pub const OPERATIONS: [OpInfo; 22] = [
    op("get", true, false, false),
    op("insert", false, true, false),
    op("update", false, true, false),
    op("delete", false, true, false),
    op("scan", true, false, true),
    op("multiget", true, false, true),
    op("rmw", true, true, false),
    op("batch", false, true, true),
    op("walk", true, false, true),
    op("flush", false, false, false),
    op("add_node", false, true, false),
    op("get_node", true, false, false),
    op("update_node", false, true, false),
    op("delete_node", false, true, false),
    op("add_link", false, true, false),
    op("update_link", false, true, false),
    op("delete_link", false, true, false),
    op("count_link", true, false, false),
    op("multiget_link", true, false, true),
    op("get_links_list", true, false, true),
    op("load_nodes", false, true, true),
    op("load_links", false, true, true),
];

/// A load of nodes, and one of links: the last, and the only ones that no mix has.
pub const GRAPH_LOADS: [&str; 2] = ["load_nodes", "load_links"];

const fn op(name: &'static str, reads: bool, writes: bool, many: bool) -> OpInfo {
    OpInfo { name, reads, writes, many }
}

impl OpInfo {
    /// The one of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        OPERATIONS.iter().find(|op| op.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::{Op, Size};

    #[test]
    fn every_operation_is_in_the_table() {
        let length = || Size::Fixed { bytes: 1 };
        let all = [
            Op::Get,
            Op::Insert,
            Op::Update,
            Op::Delete,
            Op::Scan { reverse: false, length: length() },
            Op::Multiget { keys: length() },
            Op::ReadModifyWrite,
            Op::Batch { writes: length() },
            Op::Walk { reverse: false, length: length() },
            Op::Flush,
            Op::AddNode,
            Op::GetNode,
            Op::UpdateNode,
            Op::DeleteNode,
            Op::AddLink,
            Op::UpdateLink,
            Op::DeleteLink,
            Op::CountLink,
            Op::MultigetLink,
            Op::GetLinksList,
        ];
        let names: Vec<&str> = all.iter().map(Op::name).chain(GRAPH_LOADS).collect();
        assert_eq!(names, OPERATIONS.map(|op| op.name));
        let tags = all.each_ref().map(|op| serde_json::to_value(op).expect("JSON")["op"].clone());
        assert_eq!(tags[..6], OPERATIONS.map(|op| op.name)[..6], "as in a plan");
    }
}
