//! `kvdyno-lmdb1`: the worker of engine `lmdb1`, LMDB as it becomes 1.0.
//!
//! It is the adapter of `engines/lmdb`, the same files compiled a second time, against the C
//! library that `library.rs` names. Two programs, because the two libraries have the same symbols:
//! in one program the linker would silently give both adapters the same one.

#[path = "../../lmdb/src/cursor.rs"]
mod cursor;
#[path = "../../lmdb/src/database.rs"]
mod database;
#[path = "../../lmdb/src/describe.rs"]
mod describe;
#[path = "../../lmdb/src/device.rs"]
mod device;
#[path = "../../lmdb/src/engine.rs"]
mod engine;
#[cfg(test)]
#[path = "../../lmdb/src/existing_tests.rs"]
mod existing_tests;
mod library;
#[path = "../../lmdb/src/raw.rs"]
mod raw;
#[path = "../../lmdb/src/session.rs"]
mod session;
#[path = "../../lmdb/src/size.rs"]
mod size;
#[cfg(test)]
mod tests;
#[path = "../../lmdb/src/value.rs"]
mod value;

use std::process::ExitCode;

fn main() -> ExitCode {
    kvdyno_worker::main::<engine::Lmdb>()
}
