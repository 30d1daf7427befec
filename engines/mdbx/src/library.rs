//! The C library that this worker links. It is also exported under LMDB's names for the same
//! things, so that the files of `engines/lmdb` are compiled against it.

pub(crate) mod ffi {
    //! The declarations of `mdbx.h`.

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

/// The bytes that a leaf holds for a value on overflow pages: a `pgno_t`.
pub(crate) const OVERFLOW_NODE_BYTES: u64 = 4;

/// The name of the file with the data.
pub(crate) const FILE: &str = "mdbx.dat";
pub(crate) const WRITEMAP: &str = "MDBX_WRITEMAP";
