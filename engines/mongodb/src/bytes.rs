//! BSON, written directly into the send buffer: an operation adds only a few bytes to key and
//! value, and building and copying a document would cost more. Answers are parsed by the crate
//! `bson`.

use kvdyno_engine::server::decimal;

/// The form in which keys are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keys {
    /// As binary, unchanged.
    Binary,
    /// As text with two digits for each byte, in the same order: `FerretDB` has `SQLite` look for
    /// text, and decodes all documents itself to look for binary.
    Hex,
}

/// Writes one document; its length is filled in when it is done.
#[derive(Debug)]
pub(crate) struct Document<'a> {
    out: &'a mut Vec<u8>,
    begin_offset: usize,
}

impl<'a> Document<'a> {
    #[inline]
    pub(crate) fn begin(out: &'a mut Vec<u8>) -> Self {
        let begin_offset = out.len();
        out.extend_from_slice(&[0; 4]);
        Self { out, begin_offset }
    }

    #[inline]
    fn name(&mut self, kind: u8, name: &str) {
        self.out.push(kind);
        self.out.extend_from_slice(name.as_bytes());
        self.out.push(0);
    }

    #[inline]
    pub(crate) fn text(mut self, name: &str, text: &str) -> Self {
        self.name(0x02, name);
        self.out.extend_from_slice(&(text.len() as u32 + 1).to_le_bytes());
        self.out.extend_from_slice(text.as_bytes());
        self.out.push(0);
        self
    }

    #[inline]
    pub(crate) fn binary(mut self, name: &str, bytes: &[u8]) -> Self {
        self.name(0x05, name);
        self.out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        // The generic kind of binary.
        self.out.push(0);
        self.out.extend_from_slice(bytes);
        self
    }

    /// Writes a universally unique identifier.
    pub(crate) fn uuid(mut self, name: &str, bytes: &[u8; 16]) -> Self {
        self.name(0x05, name);
        self.out.extend_from_slice(&16_u32.to_le_bytes());
        self.out.push(0x04);
        self.out.extend_from_slice(bytes);
        self
    }

    #[inline]
    pub(crate) fn key(mut self, name: &str, key: &[u8], keys: Keys) -> Self {
        if keys == Keys::Binary {
            return self.binary(name, key);
        }
        self.name(0x02, name);
        self.out.extend_from_slice(&(2 * key.len() as u32 + 1).to_le_bytes());
        for byte in key {
            self.out
                .extend([byte >> 4, byte & 15].map(|digit| b"0123456789abcdef"[digit as usize]));
        }
        self.out.push(0);
        self
    }

    #[inline]
    pub(crate) fn flag(mut self, name: &str, flag: bool) -> Self {
        self.name(0x08, name);
        self.out.push(u8::from(flag));
        self
    }

    #[inline]
    pub(crate) fn int(mut self, name: &str, number: i32) -> Self {
        self.name(0x10, name);
        self.out.extend_from_slice(&number.to_le_bytes());
        self
    }

    pub(crate) fn long(mut self, name: &str, number: i64) -> Self {
        self.name(0x12, name);
        self.out.extend_from_slice(&number.to_le_bytes());
        self
    }

    /// Writes an inner document.
    #[inline]
    pub(crate) fn document(
        mut self,
        name: &str,
        fill: impl for<'d> FnOnce(Document<'d>) -> Document<'d>,
    ) -> Self {
        self.name(0x03, name);
        fill(Document::begin(self.out)).end();
        self
    }

    /// Writes an array with a document for each of `items`.
    #[inline]
    pub(crate) fn array<T>(
        self,
        name: &str,
        items: impl Iterator<Item = T>,
        fill: impl for<'d> Fn(Document<'d>, T) -> Document<'d>,
    ) -> Self {
        self.list(name, items, |list, index, item| list.document(index, |one| fill(one, item)))
    }

    /// Writes an array. `fill` writes each of `items` under its index.
    #[inline]
    pub(crate) fn list<T>(
        mut self,
        name: &str,
        items: impl Iterator<Item = T>,
        fill: impl for<'d> Fn(Document<'d>, &str, T) -> Document<'d>,
    ) -> Self {
        self.name(0x04, name);
        let mut list = Document::begin(self.out);
        let mut digits = [0; 20];
        for (index, item) in items.enumerate() {
            list = fill(list, index_name(index, &mut digits), item);
        }
        list.end();
        self
    }

    #[inline]
    pub(crate) fn end(self) {
        self.out.push(0);
        let length = (self.out.len() - self.begin_offset) as u32;
        self.out[self.begin_offset..self.begin_offset + 4].copy_from_slice(&length.to_le_bytes());
    }
}

/// Returns the name of a place in an array, which is its number.
#[inline]
fn index_name(number: usize, digits: &mut [u8; 20]) -> &str {
    std::str::from_utf8(decimal(number, digits)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::rawdoc;
    use bson::{Binary, spec::BinarySubtype};

    #[test]
    fn what_is_written_is_what_the_crate_writes() {
        let binary =
            |bytes: &[u8]| Binary { subtype: BinarySubtype::Generic, bytes: bytes.to_vec() };
        let expected = rawdoc! {
            "update": "kv",
            "updates": [{ "q": { "_id": binary(b"k") }, "upsert": true }],
            "in": [binary(b""), binary(b"\0b")],
            "hex": "00fe",
            "n": -1_i32,
            "id": 1_i64 << 40,
        };
        let mut written = Vec::new();
        Document::begin(&mut written)
            .text("update", "kv")
            .array("updates", [b"k"].iter(), |element, key| {
                element.document("q", |q| q.binary("_id", *key)).flag("upsert", true)
            })
            .list("in", [&b""[..], b"\0b"].iter(), |list, index, key| {
                list.key(index, key, Keys::Binary)
            })
            .key("hex", b"\0\xfe", Keys::Hex)
            .int("n", -1)
            .long("id", 1 << 40)
            .end();
        assert_eq!(written, expected.as_bytes());
        assert_eq!(index_name(1234, &mut [0; 20]), "1234");
    }
}
