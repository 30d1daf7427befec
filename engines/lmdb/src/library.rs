//! The C library that this worker links: what it is called, what it opens, how it lays out a page.
//! The adapter's other files are compiled against either library; all differences are in this file.

use kvdyno_engine::PlaceKind;
pub(crate) use lmdb_master_sys as ffi;

pub(crate) const NAME: &str = "lmdb";
pub(crate) const TITLE: &str = "LMDB";
pub(crate) const CRATE: &str = "lmdb-master-sys 0.2.6 (branch mdb.master)";
pub(crate) const PLACES: &[PlaceKind] = &[PlaceKind::Directory];

/// `PAGEHDRSZ` in mdb.c.
pub(crate) const PAGE_HEADER_BYTES: u64 = 16;

/// After a random load of values of just over half a page the file is 2.07 times the data.
pub(crate) const SPACE_FACTOR: f64 = 2.1;

/// The bytes that a leaf holds for a value on overflow pages: a `pgno_t`.
pub(crate) const OVERFLOW_NODE_BYTES: u64 = 8;

/// The name of the file with the data.
pub(crate) const FILE: &str = "data.mdb";
pub(crate) const WRITEMAP: &str = "MDB_WRITEMAP";

/// `sizeof(MDB_db)`: the value under a database's name in the unnamed database.
pub(crate) const DATABASE_RECORD_BYTES: usize = 48;
