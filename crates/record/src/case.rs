//! The record of a case (`case.json`): outcome, raw counts and raw readings.

use crate::crew::RankResult;
use crate::graph::Totals;
use crate::library::Library;
use crate::operations::OpInfo;
pub use crate::outcome::{Outcome, is_from_outside};
use crate::plan::Case;
use crate::tier::TierRecord;
use crate::turns::TurnsRecord;
use crate::usage::{DatabaseSize, GroupUsage, ProcessUsage, Residency, Snapshot, ThreadsUsage};
use crate::volume::VolumeRecord;
use crate::worker::WorkerDescription;
use kvdyno_engine::graph::Audited;
use kvdyno_engine::{Counters, ErrorClass};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// `case.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaseRecord {
    /// [`crate::FORMAT`].
    pub format: String,
    /// The plan of the case, with every default written out.
    pub case: Case,
    /// 1, or more when a resumed run had to repeat it (its database was missing).
    pub attempt: u32,
    /// How the case ended.
    pub outcome: Outcome,
    /// The worker that did the work; null where none was found.
    pub worker: Option<WorkerIdentity>,
    /// The server that kept the data; null: the engine is in its worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerRecord>,
    /// How the RAM limit was enforced.
    pub ram_limit: RamLimit,
    /// The volume of its database; null where none was made for it and the suite names none.
    pub volume: Option<VolumeRecord>,
    /// The processes of other runs that were at work on this machine meanwhile. Empty is good.
    pub concurrent_runs: Vec<u32>,
    /// When the case began, by the system's clock, in nanoseconds since 1970.
    pub started_unix_ns: u64,
    /// Time from the start of the worker process to its exit.
    pub wall_ns: u64,
    /// Usage of the whole worker process from wait4(2), as `time` prints it; null: not read.
    pub process: Option<ProcessUsage>,
    /// Duration of each opening of the engine, in order.
    pub opens_ns: Vec<u64>,
    /// Duration of the engine's last closing; null: it was not reported.
    pub close_ns: Option<u64>,
    /// The worker's clock.
    pub clock: Option<Clock>,
    /// The phases, in the order they happened; a case that ended early has fewer than planned.
    pub phases: Vec<PhaseRecord>,
    /// Cases that used the database between its load and this case, in order.
    pub database_used_by: Vec<String>,
    /// The copy of the database that the case worked on; null: it worked on the database itself.
    pub database_copy: Option<CopyRecord>,
    /// The state of an earlier run that is the case's database; the case itself was not run. Null:
    /// the case was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restored: Option<StateOrigin>,
    /// Everything that could not be enforced or measured, each as a sentence. Empty is good.
    pub not_measured: Vec<String>,
}

/// How a database is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Copying {
    /// Byte by byte; holes stay holes.
    Copy,
    /// By the filesystem (`FICLONE`): both files share their blocks until one of them is written.
    Reflink,
}

/// A state, and the run that made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StateOrigin {
    /// The state's id, as in `kvdyno state list`.
    pub id: String,
    /// The run that made it.
    pub run: String,
    /// When the state was made, in nanoseconds since 1970.
    pub made_unix_ns: u64,
}

/// A copy of a database, as it was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CopyRecord {
    /// The method for all of its files: reflinks where the filesystem has them and the case only
    /// reads, else byte by byte, since the first write to a shared block moves it.
    pub method: Copying,
    /// The state of an earlier run that was copied; null: this run loaded the database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<StateOrigin>,
    /// Number of files.
    pub files: u64,
    /// Bytes in these files, holes left out.
    pub bytes: u64,
    /// Time until all of the copy was on the device.
    pub took_ns: u64,
}

/// The program that did the work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerIdentity {
    /// Where the worker's file was found.
    pub path: PathBuf,
    /// SHA-256 of the file, in hexadecimal.
    pub sha256: String,
    /// The worker's description of itself.
    pub description: WorkerDescription,
    /// The library of its engine; null: the engine is part of the worker.
    pub library: Option<Library>,
}

/// The server of a case, as its supervisor ran it: inside the RAM limit, the client outside.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerRecord {
    /// The address at which it was reached: `unix:PATH` or `tcp://***@ADDRESS:PORT`.
    pub address: String,
    /// The command of its last start, word by word.
    pub command: Vec<String>,
    /// Duration of each start, until the server answered.
    pub starts_ns: Vec<u64>,
    /// Duration of each orderly stop.
    pub stops_ns: Vec<u64>,
    /// Usage of the supervisor and the server up to their end, from wait4(2).
    pub usage: Option<ProcessUsage>,
}

/// How the RAM limit was enforced.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RamLimit {
    /// The planned limit; null: none.
    pub requested_bytes: Option<u64>,
    /// The mechanism: `cgroup v1`, `cgroup v2`; null: it was not enforced.
    pub enforced_by: Option<String>,
    /// Why the limit was not enforced.
    pub reason: Option<String>,
    /// The last readings of the memory cgroup.
    pub group: Option<GroupUsage>,
    /// The memory tier below the limit; null: none.
    pub tier: Option<TierRecord>,
}

/// The worker's clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Clock {
    /// The clock in use: `tsc` or `monotonic`.
    pub kind: String,
    /// Ticks in a second.
    pub hz: f64,
    /// Why the clock is not the fastest one; empty: it is.
    pub note: String,
    /// Drift against the system's raw clock over the case; null: not reported, or the same clock.
    pub drift_ppm: Option<f64>,
    /// The change of the system's time of day against the monotonic clock while the case ran;
    /// null: not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_of_day_step_ns: Option<i64>,
}

/// One phase of a case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseRecord {
    /// Its name in the plan.
    pub name: String,
    /// Its kind: `load`, `settle`, `verify`, `warm`, `evict`, `reopen`, `warmup`, `measure`.
    pub kind: String,
    /// When the phase began, by the system's clock, in nanoseconds since 1970.
    pub started_unix_ns: u64,
    /// Duration of the phase by the worker's clock.
    pub wall_ns: u64,
    /// Whether the phase was ended early.
    pub stopped: bool,
    /// The turns of the phase; null: it was measured at a stretch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<TurnsRecord>,
    /// Counters before the phase.
    pub before: Snapshot,
    /// Counters after the phase.
    pub after: Snapshot,
    /// Counters read once more when all dirty data was on the device (syncfs), and how long that
    /// took in nanoseconds; the phase's device writes are counted up to here. Null where nothing
    /// was written.
    pub synced: Option<(Snapshot, u64)>,
    /// The results of each role.
    pub roles: Vec<RoleResult>,
    /// The results of each rank of a crew; empty: no crew.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<RankResult>,
    /// Instructions of the phase's threads in their operations; null where valgrind does not count
    /// them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<u64>,
    /// The results of a verify phase; null for other phases.
    pub verified: Option<Verified>,
    /// Whether the engine settled, and the engine's report, for a settle phase; null for other
    /// phases.
    pub settled: Option<(bool, String)>,
    /// Records that the database had when the phase was over, by the load generator's count of what
    /// it wrote and deleted; null: unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live_records: Option<u64>,
    /// The methods of an evict phase, in words (`fadvise`, `drop_caches`); null for other phases.
    pub evicted: Option<String>,
    /// How much of the database was cached when the phase began.
    pub resident_before: Option<Residency>,
    /// How much of the database was cached when the phase ended.
    pub resident_after: Option<Residency>,
    /// Size of the database when the phase was over.
    pub database: Option<DatabaseSize>,
}

/// The results of one role in one phase. A load is one role named `load`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoleResult {
    /// The role's name.
    pub role: String,
    /// Number of its threads.
    pub threads: u32,
    /// Time from the common start to the end of its last operation.
    pub window_ns: u64,
    /// The window of each of its threads; empty: not reported, or a load, which ends with its last
    /// thread.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<ThreadWindow>,
    /// The rate of an open loop; null: closed loop.
    pub offered_per_s: Option<f64>,
    /// Operations of an open loop that were due and not begun before the end.
    pub backlog: u64,
    /// Total time that threads of an open loop spent on preparing and recording while operations
    /// were due. It is part of the response times.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub own_ns: u64,
    /// Resources that its threads used; null where the worker does not report them.
    #[serde(default)]
    pub usage: Option<ThreadsUsage>,
    /// The counts of each operation, by its name in [`crate::operations::OPERATIONS`].
    pub ops: BTreeMap<String, OpResult>,
}

/// The results of one thread of a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadWindow {
    /// Time from the common start to the end of its last operation.
    pub window_ns: u64,
    /// Operations that succeeded, of all kinds.
    pub operations: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl PhaseRecord {
    /// Returns how long the case worked on after the phase, until all that the phase had written
    /// was in its place: the volume's sync, and the settle phase with its own sync.
    pub fn deferred_ns(&self, settle: Option<&Self>) -> u64 {
        let synced = |phase: &Self| phase.synced.as_ref().map_or(0, |(_, took_ns)| *took_ns);
        synced(self) + settle.map_or(0, |settle| settle.wall_ns + synced(settle))
    }
}

/// An open loop that leaves more of its operations undone than this share has fallen behind.
pub const BEHIND: f64 = 0.01;

impl RoleResult {
    /// Its operations without flushes, which have a row of their own.
    pub fn summed_ops(&self) -> impl Iterator<Item = &OpResult> {
        self.ops.iter().filter(|(name, _)| OpInfo::is_summed(name)).map(|(_, op)| op)
    }

    /// The divisor of its counts for a rate: the window in which the sum of its threads' rates,
    /// each over the thread's own window, does the role's operations. With the longest window
    /// instead, one thread that stalls at the end would slow all others down.
    pub fn rate_window_ns(&self) -> f64 {
        let operations: u64 = self.windows.iter().map(|thread| thread.operations).sum();
        if operations == 0 {
            return self.window_ns as f64;
        }
        let worked = self.windows.iter().filter(|thread| thread.window_ns > 0);
        let per_ns: f64 =
            worked.map(|thread| thread.operations as f64 / thread.window_ns as f64).sum();
        operations as f64 / per_ns
    }

    /// Operations per second; none where the role has no window. For one operation of a mix it is
    /// exact only if all threads have the same share of it.
    pub fn per_second(&self, count: u64) -> Option<f64> {
        let window_ns = self.rate_window_ns();
        (window_ns > 0.0).then(|| count as f64 * 1e9 / window_ns)
    }

    /// Operations per second as in [`Self::per_second`], with the time for the work that the role's
    /// writes left behind.
    pub fn sustained_per_second(&self, count: u64, deferred_ns: u64) -> Option<f64> {
        let pays = self.offered_per_s.is_none() && self.ops.values().any(|op| op.write_bytes > 0);
        let window_ns = self.rate_window_ns() + if pays { deferred_ns as f64 } else { 0.0 };
        (window_ns > 0.0).then(|| count as f64 * 1e9 / window_ns)
    }

    /// Whether the role left more of its operations undone than the last moment explains: more than
    /// one for each thread.
    pub fn is_behind(&self) -> bool {
        let begun: u64 = self.ops.values().map(|op| op.count).sum();
        let due = begun + self.backlog;
        self.backlog > u64::from(self.threads) && self.backlog as f64 > due as f64 * BEHIND
    }
}

/// Raw counts of one operation of one role.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OpResult {
    /// Operations that succeeded.
    pub count: u64,
    /// Keys looked up and found (for scans: records shown).
    pub hits: u64,
    /// Keys looked up and not there.
    pub misses: u64,
    /// Values with the wrong key, length or checksum.
    pub wrong: u64,
    /// Keys or records of all operations: 1 per operation, more for scan, multiget and batch.
    pub items: u64,
    /// Bytes of keys and values shown to the load generator.
    pub read_bytes: u64,
    /// Bytes of keys and values given to the engine.
    pub write_bytes: u64,
    /// Sum of the service times.
    pub service_ns: u64,
    /// The longest service time.
    pub service_ns_max: u64,
    /// Failed operations by class; they are not in `count` and have no latency.
    pub errors: BTreeMap<ErrorClass, u64>,
    /// How often an operation met a conflict and was performed again, inside its own time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retries: u64,
}

impl OpResult {
    /// Adds the counts of another.
    pub fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.hits += other.hits;
        self.misses += other.misses;
        self.wrong += other.wrong;
        self.items += other.items;
        self.read_bytes += other.read_bytes;
        self.write_bytes += other.write_bytes;
        self.service_ns += other.service_ns;
        self.service_ns_max = self.service_ns_max.max(other.service_ns_max);
        self.retries += other.retries;
        for (class, count) in &other.errors {
            *self.errors.entry(*class).or_default() += count;
        }
    }
}

/// The results of a verify phase.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verified {
    /// Keys sampled.
    pub sampled: u64,
    /// Sampled keys that were found.
    pub hits: u64,
    /// Sampled keys with a wrong value.
    pub wrong: u64,
    /// Records counted by a scan; null: not counted.
    pub counted: Option<u64>,
    /// Records that the database should have.
    pub expected: u64,
    /// The audit of a graph; null: the data is no graph.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audit: Option<Audit>,
}

/// All counts of a graph, compared with its links.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Audit {
    /// Nodes.
    pub nodes: u64,
    /// Pairs of a node and a link type that have a count or a link.
    pub counts: u64,
    /// Visible links.
    pub links: u64,
    /// Counts that differ from the number of links that exist, or of those that a list would show.
    pub wrong: u64,
    /// The first wrong count; null: there is none.
    pub first: Option<Audited>,
    /// Totals of the loaded data, where no request has changed it; null: there were requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loaded: Option<Totals>,
}

/// `counters.json`: the engine's own numbers around each phase, by phase name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CounterFile {
    /// The numbers before and after each phase, by the phase's name.
    pub phases: BTreeMap<String, CounterPair>,
}

/// The engine's own numbers around a phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CounterPair {
    /// When the phase began.
    pub before: Counters,
    /// When the phase was over.
    pub after: Counters,
}

#[cfg(test)]
mod tests {
    use super::{Outcome, RoleResult, ThreadWindow};
    use kvdyno_engine::ErrorClass;

    const EIO: i32 = 5;
    const EROFS: i32 = 30;

    #[test]
    fn a_rate_is_the_sum_of_the_threads_rates() {
        let role = |windows: &[(u64, u64)]| RoleResult {
            role: "readers".to_owned(),
            threads: windows.len() as u32,
            window_ns: 35_000_000_000,
            windows: windows
                .iter()
                .map(|(window_ns, operations)| ThreadWindow {
                    window_ns: *window_ns,
                    operations: *operations,
                })
                .collect(),
            offered_per_s: None,
            backlog: 0,
            own_ns: 0,
            usage: None,
            ops: std::collections::BTreeMap::new(),
        };
        // Seven threads of 1000 a second; the eighth stalls from 30 to 35 s, or did nothing at all.
        let steady = [(30_000_000_000, 30_000); 7];
        let stalled = [&steady[..], &[(35_000_000_000, 30_000)]].concat();
        let rate = |windows, count| role(windows).per_second(count).unwrap();
        assert!((rate(&stalled, 240_000) - (7_000.0 + 30_000.0 / 35.0)).abs() < 1e-6);
        let idle = [&steady[..], &[(0, 0)]].concat();
        assert!((rate(&idle, 210_000) - 7_000.0).abs() < 1e-6);
        // Not reported by thread.
        assert!((rate(&[], 35_000) - 1_000.0).abs() < 1e-6);
    }

    #[test]
    fn a_crash_is_final_and_a_kill_from_outside_is_not() {
        let killed = |signal| Outcome::Killed { signal, message: String::new() };
        for signal in [4, 6, 7, 8, 11] {
            assert!(killed(signal).is_final(), "{signal}");
        }
        for signal in [1, 2, 3, 9, 15] {
            assert!(!killed(signal).is_final(), "{signal}");
        }
    }

    #[test]
    fn what_the_volume_failed_is_tried_again() {
        let failed = |class| Outcome::Failed { class, message: String::new() };
        let full = Outcome::DiskFull { message: String::new() };
        assert!(full.is_volume_failure() && !full.is_final());
        // The form of a system error in `std`.
        for errno in [EROFS, EIO] {
            let class = kvdyno_engine::Error::from(std::io::Error::from_raw_os_error(errno)).class;
            assert!(failed(class).is_volume_failure() && !failed(class).is_final(), "{errno}");
        }
        for class in [ErrorClass::Corrupt, ErrorClass::Unavailable, ErrorClass::Other] {
            assert!(!failed(class).is_volume_failure() && failed(class).is_final(), "{class:?}");
        }
    }
}
