//! Whose code a function is.

use kvdyno_record::profile::{CUT, Function, KERNEL, VDSO};
use schemars::JsonSchema;
use serde::Serialize;

/// Whose code a function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The engine's, with libraries that are its own.
    Engine,
    /// kvdyno's: it prepares operations, calls the engine and takes times.
    LoadGenerator,
    /// The C library's, and other libraries of the language or the system.
    System,
    /// The kernel's.
    Kernel,
}

impl Origin {
    /// In a table cell.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Engine => "engine",
            Self::LoadGenerator => "load generator",
            Self::System => "system",
            Self::Kernel => "kernel",
        }
    }
}

/// Libraries that come with a system, by the beginnings of their names.
const SYSTEM: [&str; 10] = [
    "libc.so",
    "libc-",
    "libm.so",
    "libm-",
    "libpthread",
    "libstdc++",
    "libc++",
    "libgcc_s",
    "ld-linux",
    "ld-musl",
];

/// Paths of standard libraries, of C++ as of Rust: compiled into whatever uses them.
const STANDARD: [&str; 5] = ["core::", "std::", "alloc::", "hashbrown::", "__rust"];

/// Crates of kvdyno; an engine that is part of its worker has a name of its own.
const OURS: &str = "kvdyno_";

/// Whose code a function is; `caller`: whose its caller is.
pub(super) fn origin(function: &Function, caller: Option<Origin>) -> Origin {
    let name = function.name.trim_start_matches(['<', '&', '[', '(']);
    let begins = |list: &[&str], text: &str| list.iter().any(|start| text.starts_with(start));
    if function.module == KERNEL {
        Origin::Kernel
    } else if function.module == VDSO || begins(&SYSTEM, &function.module) {
        Origin::System
    } else if name.starts_with(OURS) {
        Origin::LoadGenerator
    } else if begins(&STANDARD, name) {
        caller.unwrap_or(Origin::System)
    } else if function.name == CUT || is_start(name) {
        Origin::System
    } else {
        Origin::Engine
    }
}

/// Whether a function is where programs begin, or is unknown.
fn is_start(name: &str) -> bool {
    matches!(name, "_start" | "main" | "[unknown]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_told_apart_by_its_file_and_its_name() {
        let of = |name: &str, module: &str, caller| {
            origin(&Function { name: name.to_owned(), module: module.to_owned() }, caller)
        };
        let (engine, generator) = (Some(Origin::Engine), Some(Origin::LoadGenerator));
        assert_eq!(of("mdb_get", "kvdyno-lmdb", generator), Origin::Engine);
        assert_eq!(of("rocksdb::DBImpl::Get", "librocksdb.so.9", generator), Origin::Engine);
        assert_eq!(
            of("kvdyno_worker::hot::closed_loop", "kvdyno-lmdb", None),
            Origin::LoadGenerator
        );
        assert_eq!(
            of("<kvdyno_lmdb::Session as X>::get", "kvdyno-lmdb", generator),
            Origin::LoadGenerator
        );
        assert_eq!(of("core::slice::cmp", "kvdyno-lmdb", generator), Origin::LoadGenerator);
        assert_eq!(of("std::vector<int>::push_back", "librocksdb.so", engine), Origin::Engine);
        assert_eq!(of("std::sys::thread_start", "kvdyno-lmdb", None), Origin::System);
        assert_eq!(of("memcmp", "libc.so.6", engine), Origin::System);
        assert_eq!(of("vfs_read", KERNEL, engine), Origin::Kernel);
        assert_eq!(of("clock_gettime", VDSO, generator), Origin::System);
    }
}
