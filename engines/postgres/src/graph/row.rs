//! Rows as they are received, and arrays as they are sent.

use super::unexpected_row_error;
use kvdyno_engine::Result;
use kvdyno_engine::graph::{Link, LinkKey, Node};

/// The types of an array's items.
const BYTEA: u32 = 17;
const INT8: u32 = 20;
const INT4: u32 = 23;

/// A row without NULL. Its columns are read one after the other, each with its type in the table.
pub(super) struct Row<'b> {
    rest: &'b [u8],
}

impl<'b> Row<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        // The columns follow their number.
        Self { rest: bytes.get(2..).unwrap_or_default() }
    }

    fn bytes(&mut self) -> Result<&'b [u8]> {
        let (length, rest) = self.rest.split_first_chunk().ok_or_else(unexpected_row_error)?;
        let length =
            usize::try_from(i32::from_be_bytes(*length)).map_err(|_| unexpected_row_error())?;
        let (bytes, rest) = rest.split_at_checked(length).ok_or_else(unexpected_row_error)?;
        self.rest = rest;
        Ok(bytes)
    }

    fn read<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.bytes()?.try_into().map_err(|_| unexpected_row_error())
    }

    /// Reads a bigint.
    pub(super) fn read_u64(&mut self) -> Result<u64> {
        self.read().map(u64::from_be_bytes)
    }

    /// Reads an integer.
    fn read_u32(&mut self) -> Result<u32> {
        self.read().map(u32::from_be_bytes)
    }

    /// Reads a node: type, version, time, data.
    pub(super) fn node(&mut self) -> Result<Node<'b>> {
        let (kind, version) = (self.read_u32()?, self.read_u64()?);
        Ok(Node { kind, version, time: self.read_u32()?, data: self.bytes()? })
    }

    /// Reads a link: its second id, visibility, time, version, data.
    pub(super) fn link(&mut self, id1: u64, kind: u64) -> Result<Link<'b>> {
        let key = LinkKey { id1, kind, id2: self.read_u64()? };
        let (visible, time) = (self.read()? == 1_u16.to_be_bytes(), self.read_u64()?);
        Ok(Link { key, visible, time, version: self.read_u32()?, data: self.bytes()? })
    }
}

/// One binary parameter: an array of one dimension.
#[derive(Debug, Default)]
pub(super) struct Array(Vec<u8>);

impl Array {
    /// Encodes an array of bigint.
    pub(super) fn encode_bigints(&mut self, items: impl Iterator<Item = u64>) -> &[u8] {
        self.encode(INT8, items.map(super::bigint))
    }

    /// Encodes an array of integer.
    pub(super) fn encode_integers(&mut self, items: impl Iterator<Item = u32>) -> &[u8] {
        self.encode(INT4, items.map(super::integer))
    }

    /// Encodes an array of bytea.
    pub(super) fn bytes<'b>(&mut self, items: impl Iterator<Item = &'b [u8]>) -> &[u8] {
        self.encode(BYTEA, items)
    }

    fn encode<T: AsRef<[u8]>>(&mut self, kind: u32, items: impl Iterator<Item = T>) -> &[u8] {
        let Self(bytes) = self;
        bytes.clear();
        // The number of dimensions, no NULL, the type; then the number of items, and the first
        // index.
        for number in [1, 0, kind, 0, 1] {
            bytes.extend_from_slice(&number.to_be_bytes());
        }
        let mut count: u32 = 0;
        for item in items {
            let item = item.as_ref();
            bytes.extend_from_slice(&(item.len() as u32).to_be_bytes());
            bytes.extend_from_slice(item);
            count += 1;
        }
        bytes[12..16].copy_from_slice(&count.to_be_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_says_how_many_it_has() {
        let mut array = Array::default();
        let head = [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 23, 0, 0, 0, 2, 0, 0, 0, 1];
        let items = [0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0, 4, 0, 0, 0, 6];
        assert_eq!(array.encode_integers([5, 6].into_iter()), [&head[..], &items].concat());
        assert_eq!(array.bytes([&b""[..]].into_iter()).len(), 24, "nothing is left of the last");
    }

    #[test]
    fn a_row_is_taken_column_by_column() {
        let row = b"\0\x02\0\0\0\x08\0\0\0\0\0\0\0\x07\0\0\0\x04\0\0\0\x05";
        let mut row = Row::new(row);
        assert_eq!((row.read_u64().unwrap(), row.read_u32().unwrap()), (7, 5));
        assert!(row.read_u32().is_err(), "there is no third");
        assert!(Row::new(b"\0\x01\xff\xff\xff\xff").read_u64().is_err(), "NULL is none");
    }
}
