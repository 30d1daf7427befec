//! The C library that this worker links, also by the names that LMDB has for the same things: so
//! the files of `engines/lmdb` are compiled against it.

pub(crate) mod ffi {
    //! What `mdbx.h` declares.

    pub(crate) use signet_mdbx_sys::*;
    pub(crate) use signet_mdbx_sys::{
        MDBX_FIRST as MDB_FIRST, MDBX_LAST as MDB_LAST, MDBX_NEXT as MDB_NEXT,
        MDBX_NOTFOUND as MDB_NOTFOUND, MDBX_PREV as MDB_PREV, MDBX_SET_RANGE as MDB_SET_RANGE,
        MDBX_cursor as MDB_cursor, MDBX_cursor_op as MDB_cursor_op, MDBX_val as MDB_val,
        mdbx_cursor_get as mdb_cursor_get,
    };
}

/// `PAGEHDRSZ` in mdbx.c.
pub(crate) const PAGE_HEADER_BYTES: u64 = 20;

/// What a leaf keeps of a value on pages of its own: a `pgno_t`.
pub(crate) const OVERFLOW_NODE_BYTES: u64 = 4;

/// The file with the data, and the flag for writing through the map.
pub(crate) const FILE: &str = "mdbx.dat";
pub(crate) const WRITEMAP: &str = "MDBX_WRITEMAP";
