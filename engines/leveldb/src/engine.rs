//! `LevelDB` behind the two traits.

#![expect(unsafe_code, reason = "calls of a C API")]

use crate::api::{self, Api, text};
use crate::session::LevelDbSession;
use crate::{describe, library};
use kvdyno_engine::{
    Counters, DataShape, Description, Durability, Engine, Error, Location, Options, Result,
    Settled, Value,
};
use std::ffi::{CStr, CString};
use std::path::Path;
use std::ptr::null_mut;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// An open `LevelDB`.
pub(crate) struct LevelDb {
    database: Arc<Database>,
    durability: Durability,
    compact_to_settle: bool,
    /// Those that went over their limit: a compaction cannot be called off.
    settling: Mutex<Vec<JoinHandle<()>>>,
}

/// An open database. Any thread may use it.
pub(crate) struct Database {
    pub(crate) api: &'static Api,
    pub(crate) raw: *mut api::Database,
}

// SAFETY: LevelDB's database is for all threads at once.
unsafe impl Send for Database {}
// SAFETY: as above.
unsafe impl Sync for Database {}

impl Engine for LevelDb {
    type Session<'e> = LevelDbSession<'e>;

    fn use_library(path: Option<&Path>) -> Result<()> {
        library::load(path).map(drop)
    }

    fn describe() -> Description {
        describe::description(library::load(None))
    }

    fn open(location: &Location, options: &Options, _data: &DataShape) -> Result<Self> {
        let api = &library::load(None)?.api;
        let settings = describe::settings(options)?;
        let folder = CString::new(location.directory()?.to_string_lossy().as_bytes())
            .map_err(|_| Error::invalid("the database's folder holds a zero byte"))?;
        let mut raw = null_mut();
        // SAFETY: a C string, settings in the shim's order, and an out parameter.
        let opened = unsafe { (api.open)(folder.as_ptr(), &raw const settings, &raw mut raw) };
        api.call_checked(opened).map_err(explain_comparator)?;
        Ok(Self {
            database: Arc::new(Database { api, raw }),
            durability: options.durability,
            compact_to_settle: options.text("settle")? == "compact",
            settling: Mutex::default(),
        })
    }

    fn session(&self) -> Result<LevelDbSession<'_>> {
        Ok(LevelDbSession::new(&self.database, self.durability))
    }

    /// `LevelDB` has no call that waits, and no call that can be cancelled. A thread does both, and
    /// continues in the background if a compaction exceeds the limit.
    fn settle(&self, limit: Duration) -> Result<Settled> {
        let deadline = Instant::now().checked_add(limit);
        let (database, everything) = (Arc::clone(&self.database), self.compact_to_settle);
        let (done, ended) = channel();
        let thread = std::thread::Builder::new().name("leveldb-settle".to_owned());
        let settling = thread.spawn(move || {
            database.compact(false);
            if everything {
                database.compact(true);
            }
            let idle = database.wait_until_idle(deadline);
            drop(database);
            // The receiver waits below or has given up; either way nothing is lost.
            let _ = done.send(idle);
        })?;
        let idle = match ended.recv_timeout(limit) {
            Ok(idle) => {
                // It ends after this message; a panic would have been printed.
                let _ = settling.join();
                idle
            }
            Err(_) => {
                if let Ok(mut others) = self.settling.lock() {
                    others.push(settling);
                }
                false
            }
        };
        let manual = if everything { "CompactRange, " } else { "" };
        let note = format!("memtable written, {manual}levels within their sizes");
        Ok(Settled { idle, note })
    }

    /// A log that is full is closed without a sync, so that a synced write behind it would not be
    /// enough: all goes into tables, which are synced.
    fn sync(&self) -> Result<()> {
        if self.durability != Durability::Commit {
            self.database.compact(false);
        }
        Ok(())
    }

    fn close(self) -> Result<()> {
        for settling in self.settling.into_inner().unwrap_or_default() {
            let _ = settling.join();
        }
        Ok(())
    }

    fn counters(&self) -> Counters {
        let names = [
            c"leveldb.stats",
            c"leveldb.sstables",
            c"leveldb.approximate-memory-usage",
            c"leveldb.num-files-at-level0",
            c"leveldb.num-files-at-level1",
            c"leveldb.num-files-at-level2",
            c"leveldb.num-files-at-level3",
            c"leveldb.num-files-at-level4",
            c"leveldb.num-files-at-level5",
            c"leveldb.num-files-at-level6",
        ];
        let figures = names.into_iter().filter_map(|name| {
            Some((name.to_string_lossy().into_owned(), figure(self.database.property(name)?)))
        });
        figures.collect()
    }
}

/// `LevelDB` names both comparators, but not which of them the database has.
fn explain_comparator(mut error: Error) -> Error {
    if error.message.contains("does not match existing comparator") {
        error.message += "; hint: the first is the database's, and kvdyno opens databases with the \
                          second alone";
    }
    error
}

fn figure(text: String) -> Value {
    text.parse().map_or(Value::Text(text), Value::Integer)
}

impl Database {
    /// Everything; or only writes the memtable into a table.
    fn compact(&self, everything: bool) {
        // SAFETY: the database is live.
        unsafe { (self.api.compact)(self.raw, i32::from(everything)) };
    }

    fn property(&self, name: &CStr) -> Option<String> {
        // SAFETY: the database is live, the name a C string; what comes back is null or a C string
        // that is copied before this thread's next call.
        unsafe {
            let value = (self.api.property)(self.raw, name.as_ptr());
            (!value.is_null()).then(|| text(value))
        }
    }

    /// Until no level is over the size at which it is compacted; whether that came in time.
    fn wait_until_idle(&self, deadline: Option<Instant>) -> bool {
        const EVERY: Duration = Duration::from_millis(10);
        // Between two compactions no level may be over its size for a moment.
        const LOOKS: u32 = 3;
        let mut idle = 0;
        while idle < LOOKS {
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return false;
            }
            std::thread::sleep(EVERY);
            let tables = self.property(c"leveldb.sstables").unwrap_or_default();
            idle = if wants_compaction(&tables) { 0 } else { idle + 1 };
        }
        true
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // SAFETY: live, and closed once; sessions borrow what holds it. Waits for its thread.
        unsafe { (self.api.close)(self.raw) };
    }
}

/// Whether `LevelDB` would compact: four files in level 0, 10 MiB in level 1, ten times as much in
/// each below (`VersionSet::Finalize`); the last is never over its size.
fn wants_compaction(tables: &str) -> bool {
    const LEVEL0_FILES: u64 = 4;
    const LEVELS: usize = 7;
    let (mut level, mut used) = (0, [0_u64; LEVELS]);
    for line in tables.lines() {
        if let Some(rest) = line.strip_prefix("--- level ") {
            let number = rest.split(' ').next().and_then(|number| number.parse().ok());
            level = number.unwrap_or(level).min(LEVELS - 1);
            continue;
        }
        // ` 17:2123456['a' @ 5 : 1 .. 'd' @ 9 : 1]`
        let file = line.trim_start().split_once(':').and_then(|(_, rest)| rest.split_once('['));
        let bytes = file.and_then(|(bytes, _)| bytes.parse::<u64>().ok());
        used[level] += if level == 0 { u64::from(bytes.is_some()) } else { bytes.unwrap_or(0) };
    }
    let mut most = 10 << 20;
    used[0] >= LEVEL0_FILES
        || used[1..LEVELS - 1].iter().any(|used| {
            let exceeds = *used >= most;
            most *= 10;
            exceeds
        })
}

#[cfg(test)]
mod tests {
    use super::wants_compaction;

    #[test]
    fn levels_over_their_sizes_want_a_compaction() {
        let wants = |level0: usize, level1: &[u64], level2: &[u64]| {
            let file = |bytes: &u64| format!(" 17:{bytes}['a' @ 5 : 1 .. 'd[' @ 9 : 1]\n");
            let files = |sizes: &[u64]| sizes.iter().map(file).collect::<String>();
            format!(
                "--- level 0 ---\n{}--- level 1 ---\n{}--- level 2 ---\n{}",
                files(&vec![9; level0]),
                files(level1),
                files(level2)
            )
        };
        assert!(!wants_compaction(""));
        assert!(!wants_compaction(&wants(3, &[10 << 19], &[99 << 20])));
        assert!(wants_compaction(&wants(4, &[], &[])));
        assert!(wants_compaction(&wants(0, &[6 << 20, 4 << 20], &[])));
        assert!(wants_compaction(&wants(0, &[], &[100 << 20])));
    }
}
