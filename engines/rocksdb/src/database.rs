//! An open `RocksDB` database, and everything about it except the operations of a session.

#![expect(unsafe_code, reason = "calls of a C API")]

use crate::api::{self, Api};
use crate::cache::BlockCache;
use crate::families::{Families, NamedFamily};
use crate::owned::{Owned, call_checked, owned_text};
use crate::transactions::{FamilyArguments, OpenTransactions, TransactionDb};
use kvdyno_engine::{Error, Result};
use std::ffi::{CString, c_int};
use std::path::Path;
use std::ptr::{null, null_mut};
use std::time::{Duration, Instant};

/// Options of the database and of each of its column families.
pub(crate) struct OpenOptions {
    api: &'static Api,
    options: Owned<api::Options>,
}

impl OpenOptions {
    /// Returns `RocksDB`'s defaults, with a cache.
    pub(crate) fn new(api: &'static Api, cache: Option<&BlockCache>) -> Result<Self> {
        // SAFETY: constructors that do not fail; the options keep the table's, those the cache.
        unsafe {
            let options = Owned::new((api.options_create)(), api.options_destroy);
            let create = api.block_based_options_create;
            let table = Owned::new(create(), api.block_based_options_destroy);
            if let Some(cache) = cache {
                let cache = cache.create(api)?;
                (api.block_based_options_set_block_cache)(table.raw(), cache.raw());
            }
            (api.options_set_block_based_table_factory)(options.raw(), table.raw());
            Ok(Self { api, options })
        }
    }

    /// Returns these options, changed by `text` in `RocksDB`'s own string form.
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

/// The kind of database to open.
pub(crate) enum Semantics {
    /// A plain database.
    Plain,
    /// A database whose records expire (`DBWithTTL`).
    Expiring {
        /// The seconds from the write of a record to its end.
        seconds: c_int,
    },
    /// A database with transactions.
    Transactions(OpenTransactions),
}

/// An open database. Any thread may use it.
pub(crate) struct Database {
    pub(crate) api: &'static Api,
    pub(crate) db: *mut api::Db,
    pub(crate) transactions: Option<TransactionDb>,
    /// The handle of the chosen column family; a batched multiget always needs one.
    pub(crate) family: *mut api::Family,
    /// The chosen column family. `None`: the default one, for which there are calls without a
    /// handle.
    pub(crate) named: Option<NamedFamily>,
    /// The handles of all column families of the database.
    handles: Vec<*mut api::Family>,
    /// The options, kept because the statistics belong to them.
    options: OpenOptions,
}

// SAFETY: RocksDB's database is for all threads at once; options and family are only read.
unsafe impl Send for Database {}
// SAFETY: as above.
unsafe impl Sync for Database {}

impl Database {
    /// Opens the database in `dir`, or creates one.
    pub(crate) fn open(
        options: OpenOptions,
        dir: &Path,
        families: &Families,
        semantics: Semantics,
    ) -> Result<Self> {
        let api = options.api;
        let dir = c_string(&dir.to_string_lossy())?;
        let names: Vec<_> = families.names.iter().map(|name| name.as_ptr()).collect();
        let all = options.raw().cast_const();
        let names_count = names.len();
        let each = vec![all; names_count];
        let mut handles = vec![null_mut(); names_count];
        let arguments = FamilyArguments {
            count: names_count as c_int,
            names: names.as_ptr(),
            options: each.as_ptr(),
            handles: handles.as_mut_ptr(),
        };
        let (db, transactions) = match semantics {
            Semantics::Plain => {
                let FamilyArguments { count, names, options, handles } = arguments;
                let open = api.open_column_families;
                // SAFETY: as many names, sets of options and handles as there are families.
                let db = call_checked(api, |error| unsafe {
                    open(all, dir.as_ptr(), count, names, options, handles, error)
                })?;
                (db, None)
            }
            Semantics::Expiring { seconds } => {
                let FamilyArguments { count, names, options, handles } = arguments;
                let (open, each) = (api.open_column_families_with_ttl, vec![seconds; names_count]);
                // SAFETY: as above, and as many times to live.
                let db = call_checked(api, |error| unsafe {
                    let (dir, each) = (dir.as_ptr(), each.as_ptr());
                    open(all, dir, count, names, options, handles, each, error)
                })?;
                (db, None)
            }
            Semantics::Transactions(open) => {
                let opened = call_checked(api, |error| open(all, dir.as_ptr(), arguments, error))?;
                (opened.base(), Some(opened))
            }
        };
        let family = handles[families.chosen];
        let named = families.named.map(|calls| NamedFamily { calls, handle: family });
        Ok(Self { api, db, transactions, family, named, handles, options })
    }

    /// # Safety
    /// The options outlive the iterator, and the iterator does not outlive the database.
    #[inline]
    pub(crate) unsafe fn create_iterator(
        &self,
        options: *const api::ReadOptions,
    ) -> *mut api::Cursor {
        // SAFETY: the database is live; the rest is the caller's promise.
        unsafe {
            match self.named {
                None => (self.api.create_iterator)(self.db, options),
                Some(NamedFamily { calls, handle }) => {
                    (calls.plain.create_iterator_cf)(self.db, options, handle)
                }
            }
        }
    }

    pub(crate) fn flush(&self) -> Result<()> {
        // SAFETY: the database is live; flush options wait for the flush by default.
        call_checked(self.api, |error| unsafe {
            let create = self.api.flushoptions_create;
            let options = Owned::new(create(), self.api.flushoptions_destroy);
            match self.named {
                None => (self.api.flush)(self.db, options.raw(), error),
                Some(NamedFamily { calls, handle }) => {
                    (calls.plain.flush_cf)(self.db, options.raw(), handle, error);
                }
            }
        })
    }

    pub(crate) fn sync_log(&self) -> Result<()> {
        // SAFETY: the database is live.
        call_checked(self.api, |error| unsafe { (self.api.flush_wal)(self.db, 1, error) })
    }

    /// Ends flushes and compactions for good.
    pub(crate) fn cancel_background_work(&self) {
        // SAFETY: the database is live.
        unsafe { (self.api.cancel_all_background_work)(self.db, 1) };
    }

    /// Waits for background work; returns whether it ended before `deadline`.
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

    /// Returns the name of the call that waits for background work.
    pub(crate) fn wait_name(&self) -> &'static str {
        if self.api.wait_for_compact.is_some() {
            "WaitForCompact"
        } else {
            "polling num-running-compactions and its kin"
        }
    }

    /// Waits for background work by polling, in versions without a call that waits.
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
            // The last one: where compactions are disabled it stays on and means nothing.
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

    /// Compacts everything, as `db_bench`'s `compact`; returns when this is done or cancelled.
    pub(crate) fn compact_everything(&self) {
        /// `BottommostLevelCompaction::kForceOptimized` in `options.h`.
        const FORCE_OPTIMIZED: u8 = 3;
        let api = self.api;
        // SAFETY: the database is live; two nulls: from the first key to the last.
        unsafe {
            let options = Owned::new((api.compactoptions_create)(), api.compactoptions_destroy);
            let set = api.compactoptions_set_bottommost_level_compaction;
            set(options.raw(), FORCE_OPTIMIZED);
            match self.named {
                None => (api.compact_range_opt)(self.db, options.raw(), null(), 0, null(), 0),
                Some(NamedFamily { calls, handle }) => {
                    let compact = calls.plain.compact_range_cf_opt;
                    compact(self.db, handle, options.raw(), null(), 0, null(), 0);
                }
            }
        }
    }

    /// Ends a manual compaction in another thread, and refuses further ones until
    /// [`Self::allow_manual_compaction`]. `false`: this version cannot do that.
    pub(crate) fn cancel_manual_compaction(&self) -> bool {
        let both = self.api.disable_manual_compaction.zip(self.api.enable_manual_compaction);
        // SAFETY: the database is live.
        both.map(|(disable, _)| unsafe { disable(self.db) }).is_some()
    }

    /// Allows manual compactions again after [`Self::cancel_manual_compaction`].
    pub(crate) fn allow_manual_compaction(&self) {
        if let Some(enable) = self.api.enable_manual_compaction {
            // SAFETY: the database is live.
            unsafe { enable(self.db) };
        }
    }

    /// Returns a property that is a number.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        let (name, mut value) = (c_string(name).ok()?, 0);
        let (name, to) = (name.as_ptr(), &raw mut value);
        // SAFETY: the database is live, the name a C string, the value an out parameter.
        let outcome = unsafe {
            match self.named {
                None => (self.api.property_int)(self.db, name, to),
                Some(NamedFamily { calls, handle }) => {
                    (calls.plain.property_int_cf)(self.db, handle, name, to)
                }
            }
        };
        (outcome == 0).then_some(value)
    }

    /// Returns a property that is a text.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        let name = c_string(name).ok()?;
        // SAFETY: as in `number`; what comes back is null or ours.
        let text = unsafe {
            match self.named {
                None => (self.api.property_value)(self.db, name.as_ptr()),
                Some(NamedFamily { calls, handle }) => {
                    (calls.plain.property_value_cf)(self.db, handle, name.as_ptr())
                }
            }
        };
        owned_text(self.api, text)
    }

    /// Returns tickers and histograms; `None`: they are off.
    pub(crate) fn statistics(&self) -> Option<String> {
        // SAFETY: the options are live; what comes back is null or ours.
        let text = unsafe { (self.api.options_statistics_get_string)(self.options.raw()) };
        owned_text(self.api, text)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // SAFETY: the families before their database, and each once; sessions borrow the database.
        unsafe {
            for handle in &self.handles {
                (self.api.column_family_handle_destroy)(*handle);
            }
            match &self.transactions {
                None => (self.api.close)(self.db),
                Some(transactions) => transactions.close(self.db),
            }
        }
    }
}

pub(crate) fn c_string(text: &str) -> Result<CString> {
    CString::new(text)
        .map_err(|_| Error::invalid("an option or the database's directory holds a zero byte"))
}
