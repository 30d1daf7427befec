//! Where the running kernel keeps the fields of its structures, from its own description of them
//! (BTF, `/sys/kernel/btf/vmlinux`): the layout differs between kernels, the names hardly do.
//!
//! It reads the few things that the programs need (Documentation/bpf/btf.rst). It is not a general
//! reader of BTF.

use std::ffi::CStr;

/// Kinds of types, by their numbers.
mod kind {
    pub(super) const INT: u32 = 1;
    pub(super) const PTR: u32 = 2;
    pub(super) const ARRAY: u32 = 3;
    pub(super) const STRUCT: u32 = 4;
    pub(super) const UNION: u32 = 5;
    pub(super) const ENUM: u32 = 6;
    pub(super) const TYPEDEF: u32 = 8;
    pub(super) const FUNC_PROTO: u32 = 13;
    pub(super) const VAR: u32 = 14;
    pub(super) const DATASEC: u32 = 15;
    pub(super) const DECL_TAG: u32 = 17;
    pub(super) const ENUM64: u32 = 19;
}

const MAGIC: u32 = 0xeb9f;

/// Bytes of a type before what its kind adds.
const TYPE_BYTES: usize = 12;

/// The kernel's types.
pub(super) struct Btf {
    bytes: Vec<u8>,
    /// Where each type begins; the number of a type is its place here.
    types: Vec<usize>,
    strings: usize,
}

/// A tracepoint of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tracepoint {
    /// The number of its type, by which a program is loaded for it.
    pub(super) id: u32,
    /// Which of its arguments is the `struct request`.
    pub(super) request: usize,
}

impl Btf {
    /// Reads it; `None` where it is not what it should be.
    pub(super) fn parse(bytes: Vec<u8>) -> Option<Self> {
        let mut btf = Self { bytes, types: Vec::new(), strings: 0 };
        if btf.word(0)? & 0xffff != MAGIC {
            return None;
        }
        let header = btf.word(4)? as usize;
        let section = |btf: &Self, field| Some(header + btf.word(field)? as usize);
        let begin = section(&btf, 8)?;
        let end = begin + btf.word(12)? as usize;
        btf.strings = section(&btf, 16)?;
        // Type 0 is `void`; it is not in the list.
        let mut types = vec![usize::MAX];
        let mut at = begin;
        while at < end {
            types.push(at);
            at += TYPE_BYTES + btf.added_bytes(at)?;
        }
        btf.types = types;
        Some(btf)
    }

    /// A tracepoint by name.
    pub(super) fn tracepoint(&self, name: &str) -> Option<Tracepoint> {
        let id = self.find(kind::TYPEDEF, &format!("btf_trace_{name}"))?;
        let pointer = self.referred(id)?;
        let function = self.referred(pointer)?;
        let request = self.find(kind::STRUCT, "request")?;
        let at = self.at(function)?;
        let is_request = |argument: &usize| {
            let parameter = self.word(at + TYPE_BYTES + 8 * argument + 4);
            let is_pointer = |&id: &u32| self.kind(id) == Some(kind::PTR);
            parameter.filter(is_pointer).and_then(|id| self.referred(id)) == Some(request)
        };
        // The first is the tracepoint's own, and not given to programs.
        let place = (1..self.count(at)?).find(is_request)?;
        Some(Tracepoint { id, request: place - 1 })
    }

    /// Where in a structure a field lies, in bytes; the field may be one of an unnamed union.
    pub(super) fn field(&self, structure: &str, field: &str) -> Option<i16> {
        let id = self.find(kind::STRUCT, structure)?;
        i16::try_from(self.bits_to(id, field)? / 8).ok()
    }

    /// The value of an enumerator.
    pub(super) fn enumerator(&self, name: &str) -> Option<u32> {
        (1..self.types.len() as u32).find_map(|id| {
            let size = match self.kind(id)? {
                kind::ENUM => 8,
                kind::ENUM64 => 12,
                _ => return None,
            };
            let at = self.at(id)?;
            let places = (0..self.count(at)?).map(|n| at + TYPE_BYTES + size * n);
            let mut named = places.filter(|place| self.name_at(*place) == Some(name.as_bytes()));
            self.word(named.next()? + 4)
        })
    }

    fn bits_to(&self, id: u32, field: &str) -> Option<u32> {
        let at = self.at(id)?;
        let bitfields = self.word(at + 4)? >> 31 == 1;
        (0..self.count(at)?).find_map(|n| {
            let member = at + TYPE_BYTES + 12 * n;
            let bits = self.word(member + 8)?;
            let bits = if bitfields { bits & 0x00ff_ffff } else { bits };
            let name = self.name_at(member)?;
            if name == field.as_bytes() {
                return Some(bits);
            }
            let inner = self.word(member + 4)?;
            let unnamed =
                name.is_empty() && matches!(self.kind(inner), Some(kind::STRUCT | kind::UNION));
            unnamed.then(|| self.bits_to(inner, field))?.map(|below| bits + below)
        })
    }

    fn find(&self, kind: u32, name: &str) -> Option<u32> {
        let named = |id: &u32| {
            self.kind(*id) == Some(kind)
                && self.at(*id).and_then(|at| self.name_at(at)) == Some(name.as_bytes())
        };
        (1..self.types.len() as u32).find(named)
    }

    /// The type that a pointer or another name refers to.
    fn referred(&self, id: u32) -> Option<u32> {
        self.word(self.at(id)? + 8)
    }

    fn at(&self, id: u32) -> Option<usize> {
        self.types.get(id as usize).copied().filter(|at| *at != usize::MAX)
    }

    fn kind(&self, id: u32) -> Option<u32> {
        Some(self.word(self.at(id)? + 4)? >> 24 & 0x1f)
    }

    /// How many members, values or parameters it has.
    fn count(&self, at: usize) -> Option<usize> {
        Some((self.word(at + 4)? & 0xffff) as usize)
    }

    fn added_bytes(&self, at: usize) -> Option<usize> {
        let count = self.count(at)?;
        Some(match self.word(at + 4)? >> 24 & 0x1f {
            kind::INT | kind::VAR | kind::DECL_TAG => 4,
            kind::ARRAY => 12,
            kind::STRUCT | kind::UNION | kind::DATASEC | kind::ENUM64 => 12 * count,
            kind::ENUM | kind::FUNC_PROTO => 8 * count,
            _ => 0,
        })
    }

    /// The name whose place in the strings stands here.
    fn name_at(&self, at: usize) -> Option<&[u8]> {
        let bytes = self.bytes.get(self.strings + self.word(at)? as usize..)?;
        Some(CStr::from_bytes_until_nul(bytes).ok()?.to_bytes())
    }

    fn word(&self, at: usize) -> Option<u32> {
        let bytes = self.bytes.get(at..at + 4)?;
        Some(u32::from_ne_bytes(bytes.try_into().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::kernel_types;
    use super::*;

    #[test]
    fn the_running_kernel_is_read() {
        let test = "the_running_kernel_is_read";
        let Some(btf) = kernel_types(test) else { return };
        let issue = btf.tracepoint("block_rq_issue").unwrap();
        let complete = btf.tracepoint("block_rq_complete").unwrap();
        assert!(issue.id != complete.id && complete.request == 0, "{issue:?} {complete:?}");
        assert_eq!(btf.tracepoint("block_rq_nonsense"), None);
        assert!(btf.field("request", "cmd_flags").unwrap() > 0);
        assert_ne!(btf.field("request", "__sector"), btf.field("request", "__data_len"));
        assert_eq!(btf.field("request", "nonsense"), None);
        // Inside of an unnamed union of `struct task_struct`'s neighbour.
        assert!(btf.field("page", "lru").is_some());
        assert_eq!(btf.enumerator("REQ_OP_FLUSH"), Some(2));
        assert_eq!(btf.enumerator("REQ_OP_NONSENSE"), None);
    }

    #[test]
    fn what_is_not_btf_is_refused() {
        assert!(Btf::parse(Vec::new()).is_none());
        assert!(Btf::parse(vec![0; 64]).is_none());
        // Its types are cut off.
        let mut bytes = vec![0; 24];
        bytes[..4].copy_from_slice(&0x0001_eb9f_u32.to_ne_bytes());
        bytes[4..8].copy_from_slice(&24_u32.to_ne_bytes());
        bytes[12..16].copy_from_slice(&100_u32.to_ne_bytes());
        assert!(Btf::parse(bytes).is_none());
    }
}
