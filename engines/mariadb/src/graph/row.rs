//! Rows in the receive buffer, and the results of statements without rows.

use super::unexpected_row_error;
use crate::lengths::parse_length;
use kvdyno_engine::Result;
use kvdyno_engine::graph::{Link, LinkKey, Node};

/// A row of a prepared statement with up to six columns, not NULL. They are read in order, each
/// with its type in the table.
pub(crate) struct Row<'b> {
    rest: &'b [u8],
}

impl<'b> Row<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        // The columns follow a zero, and a byte with a bit for each that is NULL.
        Self { rest: bytes.get(2..).unwrap_or_default() }
    }

    fn read<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (head, rest) = self.rest.split_first_chunk().ok_or_else(unexpected_row_error)?;
        self.rest = rest;
        Ok(*head)
    }

    /// Reads a TINYINT.
    pub(super) fn read_u8(&mut self) -> Result<u8> {
        self.read().map(|[byte]| byte)
    }

    /// Reads an INT.
    pub(super) fn read_u32(&mut self) -> Result<u32> {
        self.read().map(u32::from_le_bytes)
    }

    /// Reads a BIGINT.
    pub(super) fn read_u64(&mut self) -> Result<u64> {
        self.read().map(u64::from_le_bytes)
    }

    fn bytes(&mut self) -> Result<&'b [u8]> {
        let (length, begin) = parse_length(self.rest, 0).ok_or_else(unexpected_row_error)?;
        let (bytes, rest) =
            self.rest.split_at_checked(begin + length).ok_or_else(unexpected_row_error)?;
        self.rest = rest;
        Ok(&bytes[begin..])
    }

    /// Reads a node: type, version, time, data.
    pub(super) fn node(&mut self) -> Result<Node<'b>> {
        let (kind, version) = (self.read_u32()?, self.read_u64()?);
        Ok(Node { kind, version, time: self.read_u32()?, data: self.bytes()? })
    }

    /// Reads a link: its second id, visibility, time, version, data.
    pub(super) fn link(&mut self, id1: u64, kind: u64) -> Result<Link<'b>> {
        let key = LinkKey { id1, kind, id2: self.read_u64()? };
        let (visible, time) = (self.read_u8()? == 1, self.read_u64()?);
        Ok(Link { key, visible, time, version: self.read_u32()?, data: self.bytes()? })
    }
}

/// Returns the number of changed rows in a statement's result.
pub(super) fn parse_changed_rows(reply: &[u8]) -> Result<u64> {
    parse_length(reply, 1).map(|(rows, _)| rows as u64).ok_or_else(unexpected_row_error)
}

/// Returns whether an update has found its row, even if it left the row unchanged.
pub(super) fn has_matched_row(reply: &[u8]) -> bool {
    const NONE: &[u8] = b"Rows matched: 0 ";
    !reply.windows(NONE.len()).any(|words| words == NONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_taken_column_by_column() {
        let row = b"\0\0\x07\0\0\0\0\0\0\0\x01\x09\0\0\0\0\0\0\0\x02\0\0\0\x03abc";
        let link = Row::new(row).link(5, 6).unwrap();
        let key = LinkKey { id1: 5, kind: 6, id2: 7 };
        assert_eq!(link, Link { key, visible: true, time: 9, version: 2, data: b"abc" });
        assert!(Row::new(&row[..row.len() - 1]).link(5, 6).is_err(), "it is cut off");
    }

    #[test]
    fn an_update_that_changes_nothing_has_found_its_row() {
        let reply = |rows: &str| [b"\0\0\0\x02\0\0\0\x28", rows.as_bytes()].concat();
        let unchanged = reply("Rows matched: 1  Changed: 0  Warnings: 0");
        assert_eq!(
            (parse_changed_rows(&unchanged).unwrap(), has_matched_row(&unchanged)),
            (0, true)
        );
        assert!(!has_matched_row(&reply("Rows matched: 0  Changed: 0  Warnings: 0")));
        assert!(parse_changed_rows(b"\0").is_err());
    }
}
