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
    /// The number of a type is its place here; the first is `void`.
    types: Vec<Type>,
    strings: usize,
}

/// A type, with the parts that are needed.
#[derive(Default)]
struct Type {
    kind: u32,
    /// The place of its name among the strings.
    name: u32,
    /// The target of a pointer or of an alias.
    refers: u32,
    /// How many members, values or parameters it has, and where they are.
    count: usize,
    members: usize,
    /// Whether the word with a member's place also contains the member's width.
    bit_fields: bool,
}

/// A tracepoint of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tracepoint {
    /// The number of its type, by which a program is loaded for it.
    pub(super) id: u32,
    /// The index of its argument that is the `struct request`.
    pub(super) request: usize,
}

impl Btf {
    /// Parses the kernel's description; `None`: it is malformed.
    pub(super) fn parse(bytes: Vec<u8>) -> Option<Self> {
        let mut btf = Self { bytes, types: vec![Type::default()], strings: 0 };
        if btf.read_u32(0)? & 0xffff != MAGIC {
            return None;
        }
        let header = btf.read_u32(4)? as usize;
        let mut offset = header + btf.read_u32(8)? as usize;
        let end = offset + btf.read_u32(12)? as usize;
        btf.strings = header + btf.read_u32(16)? as usize;
        while offset < end {
            let (name, info, refers) =
                (btf.read_u32(offset)?, btf.read_u32(offset + 4)?, btf.read_u32(offset + 8)?);
            let (kind, count) = (info >> 24 & 0x1f, (info & 0xffff) as usize);
            let members = offset + TYPE_BYTES;
            let bit_fields = info >> 31 == 1;
            btf.types.push(Type { kind, name, refers, count, members, bit_fields });
            offset = members
                + match kind {
                    kind::INT | kind::VAR | kind::DECL_TAG => 4,
                    kind::ARRAY => 12,
                    kind::STRUCT | kind::UNION | kind::DATASEC | kind::ENUM64 => 12 * count,
                    kind::ENUM | kind::FUNC_PROTO => 8 * count,
                    _ => 0,
                };
        }
        Some(btf)
    }

    /// A tracepoint by name.
    pub(super) fn tracepoint(&self, name: &str) -> Option<Tracepoint> {
        let id = self.find(kind::TYPEDEF, &format!("btf_trace_{name}"))?;
        let request = self.find(kind::STRUCT, "request")?;
        let pointer = self.get(self.get(id)?.refers)?;
        let function = self.get(pointer.refers)?;
        let is_request = |argument: &usize| {
            let parameter = self.read_u32(function.members + 8 * argument + 4);
            let parameter = parameter.and_then(|id| self.get(id));
            parameter.is_some_and(|parameter_type| {
                parameter_type.kind == kind::PTR && parameter_type.refers == request
            })
        };
        // The first argument is the tracepoint's own, and not passed to programs.
        let index = (1..function.count).find(is_request)?;
        Some(Tracepoint { id, request: index - 1 })
    }

    /// Returns a field's offset in a structure, in bytes; unnamed members are searched, too.
    pub(super) fn field(&self, structure: &str, field: &str) -> Option<i16> {
        let structure = self.get(self.find(kind::STRUCT, structure)?)?;
        i16::try_from(self.bits_to(structure, field)? / 8).ok()
    }

    /// The value of an enumerator.
    pub(super) fn enumerator(&self, name: &str) -> Option<u32> {
        self.types.iter().find_map(|kind_entry| {
            let size = match kind_entry.kind {
                kind::ENUM => 8,
                kind::ENUM64 => 12,
                _ => return None,
            };
            let mut values = (0..kind_entry.count).map(|n| kind_entry.members + size * n);
            self.read_u32(values.find(|offset| self.name(*offset) == Some(name))? + 4)
        })
    }

    fn bits_to(&self, structure: &Type, field: &str) -> Option<u32> {
        (0..structure.count).find_map(|n| {
            let member = structure.members + 12 * n;
            let bits = self.read_u32(member + 8)?;
            let bits = if structure.bit_fields { bits & 0x00ff_ffff } else { bits };
            let name = self.name(member)?;
            if name == field {
                return Some(bits);
            }
            let inner = self.get(self.read_u32(member + 4)?)?;
            let unnamed = name.is_empty() && matches!(inner.kind, kind::STRUCT | kind::UNION);
            unnamed.then(|| self.bits_to(inner, field))?.map(|below| bits + below)
        })
    }

    fn find(&self, kind: u32, name: &str) -> Option<u32> {
        let is_it = |entry: &Type| entry.kind == kind && self.string(entry.name) == Some(name);
        self.types.iter().position(is_it).map(|id| id as u32)
    }

    fn get(&self, id: u32) -> Option<&Type> {
        self.types.get(id as usize)
    }

    /// The name of the member or value at this offset.
    fn name(&self, offset: usize) -> Option<&str> {
        self.string(self.read_u32(offset)?)
    }

    fn string(&self, offset: u32) -> Option<&str> {
        let bytes = self.bytes.get(self.strings + offset as usize..)?;
        CStr::from_bytes_until_nul(bytes).ok()?.to_str().ok()
    }

    fn read_u32(&self, offset: usize) -> Option<u32> {
        let bytes = self.bytes.get(offset..offset + 4)?;
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
