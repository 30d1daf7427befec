//! `kvdyno-mdbx`: the worker of engine `mdbx`.
//!
//! libmdbx is derived from LMDB, and so is this adapter: sessions, cursors and the calculation of
//! sizes are the files of `engines/lmdb`, compiled against `library.rs` of this package.

#[path = "../../lmdb/src/cursor.rs"]
mod cursor;
mod describe;
mod engine;
mod library;
mod raw;
#[path = "../../lmdb/src/session.rs"]
mod session;
#[path = "../../lmdb/src/size.rs"]
mod size;
mod value;

use std::process::ExitCode;

fn main() -> ExitCode {
    kvdyno_worker::main::<engine::Mdbx>()
}

#[cfg(test)]
mod tests;
