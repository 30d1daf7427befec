//! An open database of `RocksDB`'s, and everything about it but the operations of a session.

#![expect(unsafe_code, reason = "calls of a C API")]

use crate::api::{self, Api};
use crate::owned::{Owned, call_checked, owned_text};
use crate::transactions::{OpenTransactions, TransactionDb};
use kvdyno_engine::{Error, Result};
use std::ffi::{CStr, CString};
use std::path::Path;
use std::ptr::{null, null_mut};
use std::time::{Duration, Instant};

/// The default column family; a multiget needs its handle.
const FAMILY: &CStr = c"default";

/// The block cache, by the options.
pub(crate) struct CacheSize {
    pub(crate) bytes: usize,
    /// The approximate size of an entry, which the hyper clock cache needs.
    pub(crate) entry_bytes: Option<usize>,
}

/// Options of the database and its one family.
pub(crate) struct OpenOptions {
    api: &'static Api,
    options: Owned<api::Options>,
}

impl OpenOptions {
    /// `RocksDB`'s defaults, with a cache.
    pub(crate) fn new(api: &'static Api, cache: Option<&CacheSize>) -> Result<Self> {
        // SAFETY: constructors that do not fail; the options keep the table's, those the cache.
        unsafe {
            let options = Owned::new((api.options_create)(), api.options_destroy);
            let create = api.block_based_options_create;
            let table = Owned::new(create(), api.block_based_options_destroy);
            if let Some(cache) = cache {
                let cache = match (cache.entry_bytes, api.cache_create_hyper_clock) {
                    (None, _) => (api.cache_create_lru)(cache.bytes),
                    (Some(entry), Some(create)) => create(cache.bytes, entry),
                    (Some(_), None) => {
                        let what = "this version of RocksDB has no hyper clock cache; set \
                                    cache_type = lru_cache";
                        return Err(Error::invalid(what));
                    }
                };
                let cache = Owned::new(cache, api.cache_destroy);
                (api.block_based_options_set_block_cache)(table.raw(), cache.raw());
            }
            (api.options_set_block_based_table_factory)(options.raw(), table.raw());
            Ok(Self { api, options })
        }
    }

    /// The same, changed by `RocksDB`'s own string form.
    pub(crate) fn with(&self, text: &str) -> Result<Self> {
        let text = c_string(text)?;
        // SAFETY: both options are live, `text` is a C string, and `error` is an out parameter.
        let options = call_checked(self.api, |error| unsafe {
            let options = Owned::new((self.api.options_create)(), self.api.options_destroy);
            let parse = self.api.get_options_from_string;
            parse(self.options.raw(), text.as_ptr(), options.raw(), error);
            options
        });
        Ok(Self { api: self.api, options: options? })
    }

    pub(crate) fn enable_statistics(&self) {
        // SAFETY: the options are live.
        unsafe { (self.api.options_enable_statistics)(self.options.raw()) };
    }

    pub(crate) fn raw(&self) -> *mut api::Options {
        self.options.raw()
    }
}

/// An open database. Any thread may use it.
pub(crate) struct Database {
    pub(crate) api: &'static Api,
    pub(crate) db: *mut api::Db,
    pub(crate) transactions: Option<TransactionDb>,
    pub(crate) family: *mut api::Family,
    /// Kept for the statistics, which hang on it.
    options: OpenOptions,
}

// SAFETY: RocksDB's database is for all threads at once; options and family are only read.
unsafe impl Send for Database {}
// SAFETY: as above.
unsafe impl Sync for Database {}

impl Database {
    /// Opens the database in `folder`, or makes one.
    pub(crate) fn open(
        options: OpenOptions,
        folder: &Path,
        transactions: Option<OpenTransactions>,
    ) -> Result<Self> {
        let api = options.api;
        let folder = c_string(&folder.to_string_lossy())?;
        let (mut family, name) = (null_mut(), FAMILY.as_ptr());
        let all = options.raw().cast_const();
        let (folder, to) = (folder.as_ptr(), &raw mut family);
        let (db, transactions) = match transactions {
            None => {
                let open = api.open_column_families;
                // SAFETY: one family: one name, one set of options, room for one handle.
                let db = call_checked(api, |error| unsafe {
                    open(all, folder, 1, &raw const name, &raw const all, to, error)
                })?;
                (db, None)
            }
            Some(open) => {
                let opened = call_checked(api, |error| {
                    open(all, folder, (&raw const name, &raw const all), to, error)
                })?;
                (opened.base(), Some(opened))
            }
        };
        Ok(Self { api, db, transactions, family, options })
    }

    pub(crate) fn flush(&self) -> Result<()> {
        // SAFETY: the database is live; flush options wait for the flush by default.
        call_checked(self.api, |error| unsafe {
            let create = self.api.flushoptions_create;
            let options = Owned::new(create(), self.api.flushoptions_destroy);
            (self.api.flush)(self.db, options.raw(), error);
        })
    }

    pub(crate) fn sync_log(&self) -> Result<()> {
        // SAFETY: the database is live.
        call_checked(self.api, |error| unsafe { (self.api.flush_wal)(self.db, 1, error) })
    }

    /// Ends flushes and compactions, for good.
    pub(crate) fn cancel_background_work(&self) {
        // SAFETY: the database is live.
        unsafe { (self.api.cancel_all_background_work)(self.db, 1) };
    }

    /// Whether background work came to rest in time.
    pub(crate) fn wait_for_compact(&self, deadline: Instant) -> Result<bool> {
        let api = self.api;
        let (Some(wait), Some(create), Some(destroy), Some(set_timeout)) = (
            api.wait_for_compact,
            api.wait_for_compact_options_create,
            api.wait_for_compact_options_destroy,
            api.wait_for_compact_options_set_timeout,
        ) else {
            return Ok(self.poll_until_idle(deadline));
        };
        let remaining = deadline.saturating_duration_since(Instant::now());
        // SAFETY: database and options are live.
        let waited = call_checked(api, |error| unsafe {
            let options = Owned::new(create(), destroy);
            // Zero would mean no limit.
            set_timeout(options.raw(), remaining.as_micros().max(1) as u64);
            wait(self.db, options.raw(), error);
        });
        match waited {
            Err(error) if error.message.starts_with("Operation timed out") => Ok(false),
            other => other.map(|()| true),
        }
    }

    /// The name of the wait for background work.
    pub(crate) fn wait_name(&self) -> &'static str {
        if self.api.wait_for_compact.is_some() {
            "WaitForCompact"
        } else {
            "polling num-running-compactions and its kin"
        }
    }

    /// For versions without a call that waits.
    fn poll_until_idle(&self, deadline: Instant) -> bool {
        const EVERY: Duration = Duration::from_millis(5);
        // A job may be between two states for a moment: one look is not enough.
        const LOOKS: u32 = 3;
        // SAFETY: the options are live.
        let disabled =
            unsafe { (self.api.options_get_disable_auto_compactions)(self.options.raw()) };
        let work = [
            "rocksdb.num-running-compactions",
            "rocksdb.num-running-flushes",
            "rocksdb.mem-table-flush-pending",
            // Last: where compactions are disabled it stays on and means nothing.
            "rocksdb.compaction-pending",
        ];
        let work = &work[..work.len() - usize::from(disabled != 0)];
        let mut idle = 0;
        loop {
            let busy = work.iter().any(|name| self.number(name).is_none_or(|jobs| jobs > 0));
            idle = if busy { 0 } else { idle + 1 };
            if idle == LOOKS {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
            std::thread::sleep(EVERY);
        }
    }

    /// Compacts everything, as `db_bench`'s `compact`; returns when it is done or called off.
    pub(crate) fn compact_everything(&self) {
        /// `BottommostLevelCompaction::kForceOptimized` in `options.h`.
        const FORCE_OPTIMIZED: u8 = 3;
        let api = self.api;
        // SAFETY: the database is live; two nulls: from the first key to the last.
        unsafe {
            let options = Owned::new((api.compactoptions_create)(), api.compactoptions_destroy);
            let set = api.compactoptions_set_bottommost_level_compaction;
            set(options.raw(), FORCE_OPTIMIZED);
            (api.compact_range_opt)(self.db, options.raw(), null(), 0, null(), 0);
        }
    }

    /// Ends a manual compaction in another thread, and refuses further ones until
    /// [`Self::allow_manual_compaction`]. False: this version cannot do that.
    pub(crate) fn cancel_manual_compaction(&self) -> bool {
        let both = self.api.disable_manual_compaction.zip(self.api.enable_manual_compaction);
        // SAFETY: the database is live.
        both.map(|(disable, _)| unsafe { disable(self.db) }).is_some()
    }

    /// The counterpart of [`Self::cancel_manual_compaction`].
    pub(crate) fn allow_manual_compaction(&self) {
        if let Some(enable) = self.api.enable_manual_compaction {
            // SAFETY: the database is live.
            unsafe { enable(self.db) };
        }
    }

    /// A property that is a number.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        let (name, mut value) = (c_string(name).ok()?, 0);
        // SAFETY: the database is live, the name a C string, the value an out parameter.
        let is_known =
            unsafe { (self.api.property_int)(self.db, name.as_ptr(), &raw mut value) == 0 };
        is_known.then_some(value)
    }

    /// A property that is a text.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        let name = c_string(name).ok()?;
        // SAFETY: as in `number`; what comes back is null or ours.
        let text = unsafe { (self.api.property_value)(self.db, name.as_ptr()) };
        owned_text(self.api, text)
    }

    /// Tickers and histograms, where they are on.
    pub(crate) fn statistics(&self) -> Option<String> {
        // SAFETY: the options are live; what comes back is null or ours.
        let text = unsafe { (self.api.options_statistics_get_string)(self.options.raw()) };
        owned_text(self.api, text)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // SAFETY: the family before its database, and each once; sessions borrow the database.
        unsafe {
            (self.api.column_family_handle_destroy)(self.family);
            match &self.transactions {
                None => (self.api.close)(self.db),
                Some(transactions) => transactions.close(self.db),
            }
        }
    }
}

fn c_string(text: &str) -> Result<CString> {
    CString::new(text)
        .map_err(|_| Error::invalid("an option or the database's folder holds a zero byte"))
}
