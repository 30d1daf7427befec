//! What can be found: how much it weighs, and what would help.

use schemars::JsonSchema;
use serde::Serialize;

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The figures are void.
    Invalid,
    /// The figures may mislead.
    Warning,
    /// The figures hold, within this.
    Info,
}

macro_rules! kinds {
    ($($(#[doc = $doc:literal])* $kind:ident = $severity:ident $(, $advice:literal)?;)*) => {
        /// What was found. The names are stable: suites and scripts refer to them.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema,
        )]
        #[serde(rename_all = "kebab-case")]
        pub enum Id {
            $($(#[doc = $doc])* $kind,)*
        }

        impl Id {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$kind),*];

            /// How much it weighs.
            pub fn severity(self) -> Severity {
                match self {
                    $(Self::$kind => Severity::$severity,)*
                }
            }

            /// What would help, where that does not depend on what was found.
            pub(super) fn advice(self) -> &'static str {
                match self {
                    $(Self::$kind => concat!($($advice)?),)*
                }
            }
        }
    };
}

kinds! {
    /// Keys that must be there were not found.
    KeysMissing = Invalid,
        "an engine that loses data has no figures: report it with this record's folder";
    /// Values came back with the wrong key, length or checksum.
    ValuesWrong = Invalid,
        "an engine that loses data has no figures: report it with this record's folder";
    /// The verify phase found fewer records or other values than were loaded.
    VerifyFailed = Invalid,
        "an engine that loses data has no figures: report it with this record's folder";
    /// The engine said that its data is damaged.
    DataDamaged = Invalid,
        "an engine that loses data has no figures: report it with this record's folder";
    /// The record is not what was sealed when the run ended.
    RecordAltered = Invalid,
        "its figures may not be those that were measured: take the record from where it came \
         from, or run it again; `kvdyno check` says what contradicts what";
    /// A worker was built without optimisation.
    DebugBuild = Invalid,
        "build the workers with `cargo build --release`";
    /// The RAM limit was in force, and the data was cached outside it.
    RamLimitNotReal = Invalid;
    /// The RAM limit asked for was not held.
    RamLimitNotHeld = Warning;
    /// The data lies on a filesystem in memory.
    PlaceInMemory = Warning,
        "`--place DIR` on a drive; durability classes mean nothing here";
    /// Cases did not run to their end.
    CasesNotDone = Warning;
    /// A case that came to its end had failed before.
    TriedAgain = Warning,
        "its figures are of the last try; log.txt of the earlier ones has the engine's words: an \
         engine that fails now and then is one that fails";
    /// An engine does not fit its RAM limit.
    DoesNotFit = Info,
        "that is a result; smaller caches in the engine's options, or a higher RAM limit, would \
         give figures";
    /// The run is not complete.
    RunPartial = Info;
    /// The drive was not read: figures are of memory.
    DataAllCached = Info;
    /// Operations failed.
    OperationsFailed = Warning,
        "failed operations are in no figure; the case's log.txt has the engine's words";
    /// An open loop was not kept.
    OpenLoopBehind = Warning,
        "response times grow with the length of such a run: lower the role's rate, or read them \
         as \"overloaded\"";
    /// An engine did not come to rest before it was measured.
    NotSettled = Warning,
        "background work of the load runs on into what is measured next: raise the settle phase's \
         limit";
    /// An engine called writes committed that were not flushed to the drive.
    CommitNotFlushed = Warning,
        "do not read its figures as of class `commit`: look at the engine's options, at the \
         mount's (`nobarrier`), and whether the data lies in the place at all";
    /// Readers are compared beside writers of very different speed.
    WritersUnequal = Warning,
        "set a rate on the writer to compare readers alone: `rate = { per_second = N }`, below \
         what the slowest can do";
    /// An engine delayed or stopped writes while it was measured.
    WritesStalled = Warning,
        "not a steady state: its background work does not keep up with its writers; measure \
         longer, set a rate on the writer, or give it more background threads";
    /// The rate changed while it was measured.
    NotSteady = Warning,
        "not a steady state: the figure depends on when it was taken; a longer warmup and a \
         longer phase, until the thirds agree";
    /// The data lies on an overlay.
    PlaceOverlay = Warning,
        "`--place DIR` on a filesystem of a drive: in a container, a volume or a bind mount";
    /// There is no block device under the place, or it has no counters.
    DriveUncounted = Warning;
    /// Readahead is on and large.
    ReadaheadLarge = Warning;
    /// The hypervisor took CPU time away.
    CpuStolen = Warning,
        "rates are too low and tails too long by as much: a dedicated machine, or more trials";
    /// The machine was busy when the run began.
    BusyHost = Warning,
        "let the machine come to rest, or stop what else runs on it, and run again";
    /// Another run measured on the same machine at the same time.
    RunBeside = Warning,
        "each was measured beside the other: do one after the other, and these cases again";
    /// Other processes used the drive while it was measured.
    ForeignIo = Warning,
        "`kvdyno run --io-log` names them in `blockio.csv`; stop them, or use a drive of its own";
    /// Memory past the limit can go to swap.
    SwapOn = Warning,
        "`swapoff -a` for the run: an engine's cache past the limit goes to swap in place of \
         being refused";
    /// The kernel evicts cold memory by itself, limit or no limit.
    DamonOn = Warning;
    /// Others limit our memory, tighter than the machine does.
    MemoryLimitAbove = Warning,
        "cases without a RAM limit of their own ran under this one: raise it, or set `ram` in the \
         suite";
    /// Limits of CPU time that others have set stopped threads during the run.
    CpuThrottled = Warning,
        "rates are too low and tails too long by as much: raise the limit, or start outside of \
         that group";
    /// Others limit our I/O.
    IoLimitAbove = Warning,
        "these may be figures of the limit: raise it, or start outside of that group";
    /// Deleted files were discarded on the drive while it was measured.
    DiscardOnline = Warning;
    /// The drive is failing, worn or hot by its own account.
    DriveUnwell = Warning,
        "a drive in this state slows itself down: cool it or replace it, and run again";
    /// An engine was built with assertions.
    AssertionsOn = Warning,
        "build the engine without assertions (NDEBUG)";
    /// A worker's clock ran at another rate than the system's.
    ClockDrifted = Warning,
        "times and rates of these cases are wrong by as much: a machine that was suspended or \
         moved during the run, or a processor without a steady clock";
    /// The system's time of day was moved while a case ran.
    ClockStepped = Info,
        "rates and latencies hold, they are by a clock that is never moved; times of day in the \
         record, and so its place beside other logs, are off by as much: have the clock set \
         before a run, or slewed";
    /// The load generator is a large part of what was measured.
    LoadGeneratorShare = Warning,
        "it is the same for every engine and is not subtracted: ratios between engines are larger \
         than they look";
    /// Others were at the drive while it was measured by itself.
    DriveShared = Warning,
        "somebody else was at the drive, so it gave less than it can, and the device's counters \
         are too high by as much: stop what else reads or writes there, and run again";
    /// An engine made more I/Os than the bare drive could.
    AboveCeiling = Warning,
        "the raw-device baseline or the count is not what it seems: readahead or background \
         threads keep more in flight than the operations do, somebody else was at the drive (its \
         counters are of the whole device), or the drive was slower while the baseline was taken: \
         compare KB/op with reads/op, and take more trials";
    /// The drive is virtual: a cache may lie behind it.
    DriveVirtual = Info,
        "figures hold for comparing engines here; those of a drive need the drive itself";
    /// The database is small against the drive.
    SmallAgainstDrive = Info,
        "a flash drive that is nearly empty writes less inside than a full one: for figures of \
         the drive, fill most of it";
    /// What the drive itself writes is not in the figures.
    DriveInsideUnseen = Info,
        "for figures of a drive: trim it first, note how full it is, and compare the drive's own \
         counters (`nvme smart-log`) before and after";
    /// The kernel holds back writes in the background for the sake of reads.
    WritesThrottled = Info;
    /// Loaded data was not verified.
    NotVerified = Info,
        "a `verify` phase after the load proves that the engine kept what it was given";
    /// Far less of a database is on the drive than was put into it.
    DatabaseTooSmall = Warning,
        "the rest is in memory, or in files that were removed while the engine had them open: \
         residency, eviction, space and reads from the drive are not those of its data";
    /// Cases worked on a database that others had written to before.
    DatabaseShared = Info,
        "thread counts took turns on one database that aged: an effect of threads may be one of \
         age; `database = \"copy\"` in [run] gives each case a copy of what was loaded, \"fresh\" \
         its own load";
    /// Cases wrote to databases that shared their blocks with what they were copied from.
    DatabaseReflinked = Warning,
        "its writes may be several times slower than on files of its own (docs/host.md): \
         `database = \"copy\"` in [run] copies byte by byte";
    /// Requests were recorded while they were measured.
    RequestsRecorded = Info,
        "`kvdyno run` measures the same without";
    /// Measured for less than a minute.
    ShortMeasure = Info,
        "the first minutes of an LSM tree, or of a drive, are not its steady state: measure \
         longer before drawing conclusions";
    /// Too few slices to see a trend.
    FewSlices = Info,
        "a trend or a stall cannot be told from noise: shorter slices, or a longer phase";
    /// Too few trials for an interval.
    FewTrials = Info,
        "`--trials 6` for an interval, 10 or more to tell small differences";
    /// A server's client was the limit, and not the server.
    ClientBound = Warning,
        "these are figures of the client: a faster server would show none of it; fewer client \
         threads on more CPUs, or deeper pipelines, ask more of the server";
    /// Ranks of a crew stand far apart.
    ClientsUneven = Warning,
        "these are figures of unequal clients: the slow ones hold the totals down, percentiles \
         mix them with the others, and slices of ranks that began late are of another time; \
         `--table ranks` names the hosts: look for other work there, for slower processors or a \
         longer way to the server; give such a host fewer ranks, or none";
    /// A slower clock had to be used.
    SlowClock = Info,
        "each operation costs some 15 ns more than with the processor's own clock; the load \
         generator's line includes it";
    /// Tails that the machine alone would explain.
    TailBelowLoadGenerator = Info;
    /// Threads were ready to run and had no CPU.
    CpuWanting = Warning,
        "rates are too low and tails too long by as much: fewer threads, more CPUs, or nothing \
         else on the machine";
    /// Most of the time went into waiting for flushes, one a write or so.
    BoundByFlushes = Info;
    /// Most of the time went into waiting for single requests to the drive.
    BoundByLatency = Info;
    /// Most of the time went into waiting for a drive that gives no more.
    BoundByDrive = Info,
        "these are figures of the drive: fewer or smaller I/Os an operation would change them";
    /// Most of the time was spent computing.
    BoundByCpu = Info,
        "another drive would change little; `perf top` names the functions";
    /// Most of the time went into waiting for other threads.
    BoundByLock = Info;
    /// An engine built for any processor is compared where the CPU decides.
    PortableBuild = Info,
        "where the drive decides this makes no difference; where the CPU does, the engine may be \
         faster than shown: build its library for this processor (`make rocksdb-native`) and run \
         with that (`versions` or `library` in the suite)";
}

impl Id {
    /// Its stable name: `ram-limit-not-real`.
    pub fn as_str(self) -> String {
        let name = format!("{self:?}");
        let mut text = String::with_capacity(name.len() + 4);
        for (at, letter) in name.char_indices() {
            if at > 0 && letter.is_uppercase() {
                text.push('-');
            }
            text.push(letter.to_ascii_lowercase());
        }
        text
    }
}
