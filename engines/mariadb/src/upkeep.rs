//! Work on the control connection: the tables, settling, syncing, counting.

use crate::connection::Connection;
use crate::describe::KEY_BYTES_MAX;
use kvdyno_engine::{Counters, Durability, Options, Result, Settled, Value};
use std::time::{Duration, Instant};

/// The name prefixes of the counters that are reported.
const COUNTED: [&str; 8] =
    ["Com_", "Innodb_", "Rocksdb_", "Handler_", "Bytes_", "Threads_", "Questions", "Table_"];

/// `InnoDB` leaves pages unwritten while there is room in its log. These settings have it write
/// them, as fast as the drive takes them.
const EAGER: [(&str, &str); 3] = [
    ("innodb_io_capacity_max", "100000"),
    ("innodb_io_capacity", "100000"),
    ("innodb_max_dirty_pages_pct", "0"),
];

/// The storage engine of the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    InnoDb,
    RocksDb,
}

impl Storage {
    pub(crate) fn from_options(options: &Options) -> Result<Self> {
        Ok(match options.text("storage_engine")? {
            "rocksdb" => Self::RocksDb,
            _ => Self::InnoDb,
        })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::InnoDb => "InnoDB",
            Self::RocksDb => "ROCKSDB",
        }
    }

    /// Returns the name of the setting for writing and syncing the log.
    pub(crate) fn log_setting(self) -> &'static str {
        match self {
            Self::InnoDb => "innodb_flush_log_at_trx_commit",
            Self::RocksDb => "rocksdb_flush_log_at_trx_commit",
        }
    }

    /// Returns the statements that create the tables if they are missing.
    pub(crate) fn tables(self, options: &Options) -> [String; 2] {
        // An attached server has no such option.
        let compressed = options.text("innodb_compression").is_ok_and(|word| word != "off");
        let compressed = compressed && self == Self::InnoDb;
        let more = if compressed { " PAGE_COMPRESSED=1" } else { "" };
        let engine = self.name();
        [
            format!(
                "CREATE TABLE IF NOT EXISTS kv (k VARBINARY({KEY_BYTES_MAX}) PRIMARY KEY, \
                 v MEDIUMBLOB NOT NULL) ENGINE={engine}{more}"
            ),
            format!(
                "CREATE TABLE IF NOT EXISTS synced (k INT PRIMARY KEY, n BIGINT NOT NULL) \
                 ENGINE={engine}"
            ),
        ]
    }
}

/// Returns the value of the log's setting in a class.
pub(crate) fn log_value(class: Durability) -> &'static str {
    match class {
        Durability::None => "0",
        Durability::Async => "2",
        Durability::Commit => "1",
    }
}

/// A write for the sake of its commit. The number changes each time: an unchanged row would write
/// nothing.
const COMMITTED: &str = "INSERT INTO synced VALUES (1, 1) ON DUPLICATE KEY UPDATE n = n + 1";

/// Syncs all commits by one that is synced: there is one log, and it is written in order. `FLUSH
/// ENGINE LOGS` does nothing in either engine: strace saw no write and no sync of it.
pub(crate) fn sync(control: &mut Connection, storage: Storage, class: Durability) -> Result<()> {
    let setting = storage.log_setting();
    let set = |value: &str, control: &mut Connection| {
        control.query(&format!("SET GLOBAL {setting} = {value}"), |_| ())
    };
    set(log_value(Durability::Commit), control)?;
    let synced = control.query(COMMITTED, |_| ());
    set(log_value(class), control).and(synced)
}

/// Waits until nothing is left to be written, cleaned up or merged.
pub(crate) fn settle(
    control: &mut Connection,
    storage: Storage,
    limit: Duration,
) -> Result<Settled> {
    let begun = Instant::now();
    match storage {
        Storage::RocksDb => {
            control.query("SET GLOBAL rocksdb_force_flush_memtable_now = 1", |_| ())?;
            wait(control, begun, limit, "flush and compaction", is_rocksdb_busy)
        }
        Storage::InnoDb => {
            let before = EAGER.map(|(name, _)| global_variable(control, name));
            for (name, value) in EAGER {
                control.query(&format!("SET GLOBAL {name} = {value}"), |_| ())?;
            }
            let settled =
                wait(control, begun, limit, "purge and writing of dirty pages", is_innodb_busy);
            // In reverse order: a default must not exceed its maximum.
            for ((name, _), value) in EAGER.into_iter().zip(before).rev() {
                control.query(&format!("SET GLOBAL {name} = {}", value?), |_| ())?;
            }
            settled
        }
    }
}

fn wait(
    control: &mut Connection,
    begun: Instant,
    limit: Duration,
    what: &str,
    at_work: fn(&mut Connection) -> Result<bool>,
) -> Result<Settled> {
    let remaining = limit.saturating_sub(begun.elapsed());
    Settled::poll(remaining, &format!("waited for {what}"), || {
        Ok(at_work(control)?.then(|| what.to_owned()))
    })
}

fn global_variable(control: &mut Connection, name: &str) -> Result<String> {
    let mut value = String::new();
    control.query(&format!("SELECT @@GLOBAL.{name}"), |row| {
        row.first().copied().flatten().unwrap_or_default().clone_into(&mut value);
    })?;
    Ok(value)
}

/// Tells whether `InnoDB` has work left. It removes old versions of rows after a moment; all of
/// them if there are no writers.
fn is_innodb_busy(control: &mut Connection) -> Result<bool> {
    const ASKED: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN \
                         ('Innodb_history_list_length', 'Innodb_buffer_pool_pages_dirty')";
    let mut at_work = false;
    control.query(ASKED, |row| at_work |= row.last() != Some(&Some("0")))?;
    Ok(at_work)
}

fn is_rocksdb_busy(control: &mut Connection) -> Result<bool> {
    const PENDING: &str = "SELECT SUM(VALUE) FROM information_schema.ROCKSDB_CFSTATS WHERE \
                           STAT_TYPE IN ('NUM_IMMUTABLE_MEM_TABLE', 'MEM_TABLE_FLUSH_PENDING', \
                           'COMPACTION_PENDING')";
    let mut at_work = false;
    control.query(PENDING, |row| at_work |= row.first() != Some(&Some("0")))?;
    // The status of its threads: an idle thread has no type of operation.
    control.query("SHOW ENGINE ROCKSDB STATUS", |row| {
        if let [Some("BG_THREADS"), _, Some(status)] = row {
            let mut kinds = status.lines().filter_map(|line| line.strip_prefix("operation_type:"));
            at_work |= kinds.any(|kind| !kind.trim().is_empty());
        }
    })?;
    Ok(at_work)
}

/// Returns the server's own numbers, under their names.
pub(crate) fn counters(control: &mut Connection) -> Counters {
    let mut counters = Counters::new();
    let _ = control.query("SHOW GLOBAL STATUS", |row| {
        if let [Some(name), Some(value)] = row {
            let is_counted = COUNTED.iter().any(|group| name.starts_with(group));
            if let (true, Ok(number)) = (is_counted, value.parse()) {
                counters.insert((*name).to_owned(), Value::Integer(number));
            }
        }
    });
    counters
}
