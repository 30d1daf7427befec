//! The C library that this worker links: what it is called, what it opens, how it lays out a page.
//! This file takes the place of `library.rs` among the files of `engines/lmdb`.

use kvdyno_engine::PlaceKind;
pub(crate) use lmdb_master3_sys as ffi;

pub(crate) const NAME: &str = "lmdb1";
pub(crate) const TITLE: &str = "LMDB, 1.0 line";
pub(crate) const CRATE: &str = "lmdb-master3-sys 0.2.6 (branch mdb.master3, data format of 1.0)";
pub(crate) const PLACES: &[PlaceKind] = &[PlaceKind::Directory, PlaceKind::Device];

/// `PAGEHDRSZ` in mdb.c: each page names the transaction that wrote it.
pub(crate) const PAGE_HEADER_BYTES: u64 = 24;

/// After a random load of values of just over half a page the file is 2.10 times the data.
pub(crate) const SPACE_FACTOR: f64 = 2.2;

/// The bytes that a leaf holds for a value on overflow pages: an `MDB_ovpage`.
pub(crate) const OVERFLOW_NODE_BYTES: u64 = 24;

/// The name of the file with the data.
pub(crate) const FILE: &str = "data.mdb";
pub(crate) const WRITEMAP: &str = "MDB_WRITEMAP";

/// `sizeof(MDB_db)`: the value under a database's name in the unnamed database.
pub(crate) const DATABASE_RECORD_BYTES: usize = 48;
