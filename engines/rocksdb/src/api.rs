//! The functions of `RocksDB`'s C API that this adapter calls, by name and type, as in `c.h`.
//!
//! Their types are the same from 6.29 to 11.8; that was checked with the headers of both and of
//! versions between them. Functions that some versions lack are optional; their callers handle a
//! missing one.

use kvdyno_engine::{library_functions, opaque_types};
use std::ffi::{c_char, c_int, c_uchar, c_void};

opaque_types! {
    Db Family Options Table Cache ReadOptions WriteOptions FlushOptions CompactOptions WaitOptions
    Pinned Cursor Batch Listener FlushInfo CompactionInfo StallInfo Unused
    LruOptions HyperClockOptions
    LockingDb LockingDbOptions LockingOptions OptimisticDb OptimisticOptions Transaction
}

/// Where a call of the API puts its error: null, or a message from malloc that the caller frees.
type Failure = *mut *mut c_char;
type Bytes = *const c_char;
type OnFlush = unsafe extern "C" fn(*mut c_void, *mut Db, *const FlushInfo);
type OnCompaction = unsafe extern "C" fn(*mut c_void, *mut Db, *const CompactionInfo);
type OnUnused = unsafe extern "C" fn(*mut c_void, *const Unused);
type OnIngestion = unsafe extern "C" fn(*mut c_void, *mut Db, *const Unused);
type OnError = unsafe extern "C" fn(*mut c_void, u32, *mut Unused);
type OnStall = unsafe extern "C" fn(*mut c_void, *const StallInfo);

library_functions! {
    /// The functions, without the `rocksdb_` before each name.
    #[expect(non_snake_case, reason = "the C API's own names")]
    struct Api: "rocksdb_"
    required {
        fn options_create() -> *mut Options;
        fn options_destroy(*mut Options);
        fn get_options_from_string(*const Options, Bytes, *mut Options, Failure);
        fn options_set_block_based_table_factory(*mut Options, *mut Table);
        fn options_get_disable_auto_compactions(*mut Options) -> c_uchar;
        fn options_enable_statistics(*mut Options);
        fn options_statistics_get_string(*mut Options) -> *mut c_char;
        fn block_based_options_create() -> *mut Table;
        fn block_based_options_destroy(*mut Table);
        fn block_based_options_set_block_cache(*mut Table, *mut Cache);
        fn cache_create_lru(usize) -> *mut Cache;
        fn cache_destroy(*mut Cache);

        fn open_column_families(
            *const Options, Bytes, c_int, *const Bytes, *const *const Options, *mut *mut Family,
            Failure
        ) -> *mut Db;
        fn open_column_families_with_ttl(
            *const Options, Bytes, c_int, *const Bytes, *const *const Options, *mut *mut Family,
            *const c_int, Failure
        ) -> *mut Db;
        fn column_family_handle_destroy(*mut Family);
        fn cancel_all_background_work(*mut Db, c_uchar);
        fn close(*mut Db);
        fn free(*mut c_void);

        fn readoptions_create() -> *mut ReadOptions;
        fn readoptions_destroy(*mut ReadOptions);
        fn readoptions_set_iterate_lower_bound(*mut ReadOptions, Bytes, usize);
        fn readoptions_set_iterate_upper_bound(*mut ReadOptions, Bytes, usize);
        fn get_pinned(*mut Db, *const ReadOptions, Bytes, usize, Failure) -> *mut Pinned;
        fn pinnableslice_value(*const Pinned, *mut usize) -> Bytes;
        fn pinnableslice_destroy(*mut Pinned);
        fn multi_get(
            *mut Db, *const ReadOptions, usize, *const Bytes, *const usize,
            *mut *mut c_char, *mut usize, *mut *mut c_char
        );
        fn create_iterator(*mut Db, *const ReadOptions) -> *mut Cursor;
        fn iter_seek(*mut Cursor, Bytes, usize);
        fn iter_seek_to_first(*mut Cursor);
        fn iter_seek_to_last(*mut Cursor);
        fn iter_seek_for_prev(*mut Cursor, Bytes, usize);
        fn iter_valid(*const Cursor) -> c_uchar;
        fn iter_next(*mut Cursor);
        fn iter_prev(*mut Cursor);
        fn iter_key(*const Cursor, *mut usize) -> Bytes;
        fn iter_value(*const Cursor, *mut usize) -> Bytes;
        fn iter_get_error(*const Cursor, Failure);
        fn iter_destroy(*mut Cursor);

        fn writeoptions_create() -> *mut WriteOptions;
        fn writeoptions_destroy(*mut WriteOptions);
        fn writeoptions_set_sync(*mut WriteOptions, c_uchar);
        fn writeoptions_disable_WAL(*mut WriteOptions, c_int);
        fn put(*mut Db, *const WriteOptions, Bytes, usize, Bytes, usize, Failure);
        fn delete(*mut Db, *const WriteOptions, Bytes, usize, Failure);
        fn write(*mut Db, *const WriteOptions, *mut Batch, Failure);
        fn writebatch_create() -> *mut Batch;
        fn writebatch_destroy(*mut Batch);
        fn writebatch_clear(*mut Batch);
        fn writebatch_put(*mut Batch, Bytes, usize, Bytes, usize);
        fn writebatch_delete(*mut Batch, Bytes, usize);

        fn flushoptions_create() -> *mut FlushOptions;
        fn flushoptions_destroy(*mut FlushOptions);
        fn flush(*mut Db, *const FlushOptions, Failure);
        fn flush_wal(*mut Db, c_uchar, Failure);
        fn compactoptions_create() -> *mut CompactOptions;
        fn compactoptions_destroy(*mut CompactOptions);
        fn compactoptions_set_bottommost_level_compaction(*mut CompactOptions, c_uchar);
        fn compact_range_opt(*mut Db, *mut CompactOptions, Bytes, usize, Bytes, usize);
        fn set_perf_level(c_int);
        fn property_int(*mut Db, Bytes, *mut u64) -> c_int;
        fn property_value(*mut Db, Bytes) -> *mut c_char;
    }
    optional {
        fn cache_create_hyper_clock(usize, usize) -> *mut Cache;
        fn lru_cache_options_create() -> *mut LruOptions;
        fn lru_cache_options_destroy(*mut LruOptions);
        fn lru_cache_options_set_capacity(*mut LruOptions, usize);
        fn lru_cache_options_set_num_shard_bits(*mut LruOptions, c_int);
        fn cache_create_lru_opts(*const LruOptions) -> *mut Cache;
        fn hyper_clock_cache_options_create(usize, usize) -> *mut HyperClockOptions;
        fn hyper_clock_cache_options_destroy(*mut HyperClockOptions);
        fn hyper_clock_cache_options_set_num_shard_bits(*mut HyperClockOptions, c_int);
        fn cache_create_hyper_clock_opts(*const HyperClockOptions) -> *mut Cache;
        fn get_into_buffer(
            *mut Db, *const ReadOptions, Bytes, usize, *mut c_char, usize,
            *mut usize, *mut c_uchar, Failure
        ) -> c_uchar;
        fn batched_multi_get_cf(
            *mut Db, *const ReadOptions, *mut Family, usize, *const Bytes, *const usize,
            *mut *mut Pinned, *mut *mut c_char, bool
        );

        fn disable_manual_compaction(*mut Db);
        fn enable_manual_compaction(*mut Db);
        fn wait_for_compact(*mut Db, *mut WaitOptions, Failure);
        fn wait_for_compact_options_create() -> *mut WaitOptions;
        fn wait_for_compact_options_destroy(*mut WaitOptions);
        fn wait_for_compact_options_set_timeout(*mut WaitOptions, u64);

        fn eventlistener_create(
            *mut c_void, unsafe extern "C" fn(*mut c_void), OnFlush, OnFlush, OnCompaction,
            OnCompaction, OnUnused, OnUnused, OnIngestion, OnError, OnStall, OnUnused
        ) -> *mut Listener;
        fn options_add_eventlistener(*mut Options, *mut Listener);
        fn flushjobinfo_job_id(*const FlushInfo) -> c_int;
        fn flushjobinfo_triggered_writes_slowdown(*const FlushInfo) -> c_uchar;
        fn flushjobinfo_triggered_writes_stop(*const FlushInfo) -> c_uchar;
        fn compactionjobinfo_job_id(*const CompactionInfo) -> c_int;
        fn compactionjobinfo_base_input_level(*const CompactionInfo) -> c_int;
        fn compactionjobinfo_output_level(*const CompactionInfo) -> c_int;
        fn compactionjobinfo_compaction_reason(*const CompactionInfo) -> u32;
        fn compactionjobinfo_num_input_files(*const CompactionInfo) -> usize;
        fn compactionjobinfo_total_input_bytes(*const CompactionInfo) -> u64;
        fn compactionjobinfo_total_output_bytes(*const CompactionInfo) -> u64;
        fn writestallinfo_cur(*const StallInfo) -> *const i32;
        fn writestallinfo_prev(*const StallInfo) -> *const i32;
    }
}

library_functions! {
    /// The functions that take a handle, for a column family other than the default one.
    struct FamilyApi: "rocksdb_"
    required {
        fn list_column_families(*const Options, Bytes, *mut usize, Failure) -> *mut *mut c_char;
        fn list_column_families_destroy(*mut *mut c_char, usize);
        fn get_pinned_cf(
            *mut Db, *const ReadOptions, *mut Family, Bytes, usize, Failure
        ) -> *mut Pinned;
        fn multi_get_cf(
            *mut Db, *const ReadOptions, *const *const Family, usize, *const Bytes, *const usize,
            *mut *mut c_char, *mut usize, *mut *mut c_char
        );
        fn create_iterator_cf(*mut Db, *const ReadOptions, *mut Family) -> *mut Cursor;
        fn put_cf(
            *mut Db, *const WriteOptions, *mut Family, Bytes, usize, Bytes, usize, Failure
        );
        fn delete_cf(*mut Db, *const WriteOptions, *mut Family, Bytes, usize, Failure);
        fn writebatch_put_cf(*mut Batch, *mut Family, Bytes, usize, Bytes, usize);
        fn writebatch_delete_cf(*mut Batch, *mut Family, Bytes, usize);
        fn flush_cf(*mut Db, *const FlushOptions, *mut Family, Failure);
        fn compact_range_cf_opt(
            *mut Db, *mut Family, *mut CompactOptions, Bytes, usize, Bytes, usize
        );
        fn property_int_cf(*mut Db, *mut Family, Bytes, *mut u64) -> c_int;
        fn property_value_cf(*mut Db, *mut Family, Bytes) -> *mut c_char;
    }
    optional {
        fn get_into_buffer_cf(
            *mut Db, *const ReadOptions, *mut Family, Bytes, usize, *mut c_char, usize,
            *mut usize, *mut c_uchar, Failure
        ) -> c_uchar;
    }
}

library_functions! {
    /// The functions of transactions in a column family other than the default one.
    #[expect(clippy::struct_field_names, reason = "the C API's own names")]
    struct TransactionFamilyApi: "rocksdb_"
    required {
        fn transactiondb_put_cf(
            *mut LockingDb, *const WriteOptions, *mut Family, Bytes, usize, Bytes, usize, Failure
        );
        fn transactiondb_delete_cf(
            *mut LockingDb, *const WriteOptions, *mut Family, Bytes, usize, Failure
        );
        fn transaction_get_pinned_cf(
            *mut Transaction, *const ReadOptions, *mut Family, Bytes, usize, Failure
        ) -> *mut Pinned;
        fn transaction_get_pinned_for_update_cf(
            *mut Transaction, *const ReadOptions, *mut Family, Bytes, usize, c_uchar, Failure
        ) -> *mut Pinned;
        fn transaction_put_cf(
            *mut Transaction, *mut Family, Bytes, usize, Bytes, usize, Failure
        );
        fn transaction_delete_cf(*mut Transaction, *mut Family, Bytes, usize, Failure);
        fn transaction_create_iterator_cf(
            *mut Transaction, *const ReadOptions, *mut Family
        ) -> *mut Cursor;
    }
    optional {}
}

library_functions! {
    /// The functions of transactions: from 7.10 on, the locking ones from 8.11.
    struct TransactionApi: "rocksdb_"
    required {
        fn optimistictransactiondb_open_column_families(
            *const Options, Bytes, c_int, *const Bytes, *const *const Options, *mut *mut Family,
            Failure
        ) -> *mut OptimisticDb;
        fn optimistictransactiondb_get_base_db(*mut OptimisticDb) -> *mut Db;
        fn optimistictransactiondb_close_base_db(*mut Db);
        fn optimistictransactiondb_close(*mut OptimisticDb);
        fn optimistictransaction_options_create() -> *mut OptimisticOptions;
        fn optimistictransaction_options_destroy(*mut OptimisticOptions);
        fn optimistictransaction_begin(
            *mut OptimisticDb, *const WriteOptions, *const OptimisticOptions, *mut Transaction
        ) -> *mut Transaction;
        fn transactiondb_options_create() -> *mut LockingDbOptions;
        fn transactiondb_options_destroy(*mut LockingDbOptions);
        fn transactiondb_open_column_families(
            *const Options, *const LockingDbOptions, Bytes, c_int, *const Bytes,
            *const *const Options, *mut *mut Family, Failure
        ) -> *mut LockingDb;
        fn transactiondb_close(*mut LockingDb);
        fn transactiondb_put(
            *mut LockingDb, *const WriteOptions, Bytes, usize, Bytes, usize, Failure
        );
        fn transactiondb_delete(*mut LockingDb, *const WriteOptions, Bytes, usize, Failure);
        fn transactiondb_write(*mut LockingDb, *const WriteOptions, *mut Batch, Failure);
        fn transaction_options_create() -> *mut LockingOptions;
        fn transaction_options_destroy(*mut LockingOptions);
        fn transaction_begin(
            *mut LockingDb, *const WriteOptions, *const LockingOptions, *mut Transaction
        ) -> *mut Transaction;
        fn transaction_get_pinned(
            *mut Transaction, *const ReadOptions, Bytes, usize, Failure
        ) -> *mut Pinned;
        fn transaction_get_pinned_for_update(
            *mut Transaction, *const ReadOptions, Bytes, usize, c_uchar, Failure
        ) -> *mut Pinned;
        fn transaction_put(*mut Transaction, Bytes, usize, Bytes, usize, Failure);
        fn transaction_delete(*mut Transaction, Bytes, usize, Failure);
        fn transaction_create_iterator(*mut Transaction, *const ReadOptions) -> *mut Cursor;
        fn transaction_commit(*mut Transaction, Failure);
        fn transaction_rollback(*mut Transaction, Failure);
        fn transaction_destroy(*mut Transaction);
    }
    optional {
        fn transactiondb_get_base_db(*mut LockingDb) -> *mut Db;
        fn transactiondb_close_base_db(*mut Db);
    }
}
