//! The kinds of findings: their severity, and their advice.

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
    /// The figures hold, within the limits that it describes.
    Info,
}

macro_rules! kinds {
    ($($(#[doc = $doc:literal])* $kind:ident = $severity:ident $(, $advice:literal)?;)*) => {
        /// A kind of finding. The names are stable: suites and scripts refer to them.
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema,
        )]
        #[serde(rename_all = "kebab-case")]
        pub enum Id {
            $($(#[doc = $doc])* $kind,)*
        }

        impl Id {
            /// All kinds.
            pub const ALL: &'static [Self] = &[$(Self::$kind),*];

            /// How much it weighs.
            pub fn severity(self) -> Severity {
                match self {
                    $(Self::$kind => Severity::$severity,)*
                }
            }

            /// What would help, where it does not depend on the evidence.
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
        "figures of an engine that loses data are invalid: report it with this record's directory";
    /// Values came back with the wrong key, length or checksum.
    ValuesWrong = Invalid,
        "figures of an engine that loses data are invalid: report it with this record's directory";
    /// The verify phase found fewer records or other values than were loaded.
    VerifyFailed = Invalid,
        "figures of an engine that loses data are invalid: report it with this record's directory";
    /// The engine reported that its data is damaged.
    DataDamaged = Invalid,
        "figures of an engine that loses data are invalid: report it with this record's directory";
    /// The record is not what was sealed when the run ended.
    RecordAltered = Invalid,
        "its figures may not be the measured ones: fetch the record from its source again, or \
         repeat the run; `kvdyno check` lists contradictions";
    /// A worker was built without optimisation.
    DebugBuild = Invalid,
        "build the workers with `cargo build --release`";
    /// The RAM limit was in force, and the data was cached outside it.
    RamLimitNotReal = Invalid;
    /// The requested RAM limit was not enforced.
    RamLimitNotHeld = Warning;
    /// The data lies on a filesystem in memory.
    DataDirInMemory = Warning,
        "`--data-dir DIR` on a drive; durability classes mean nothing here";
    /// Cases did not run to their end.
    CasesNotDone = Warning;
    /// A case that came to its end had failed before.
    CaseRetried = Warning,
        "its figures come from the last attempt; log.txt of the earlier ones has the engine's \
         output: an engine that fails intermittently is not reliable";
    /// An engine does not fit its RAM limit.
    DoesNotFit = Info,
        "that is a result; smaller caches in the engine's options, or a higher RAM limit, would \
         give figures";
    /// The run is not complete.
    RunPartial = Info;
    /// The drive was not read: figures are of memory.
    DataAllCached = Info;
    /// The data was read into memory first, and the drive was read all the same.
    DataNotInMemory = Warning,
        "not figures of memory: caches and page cache together hold less than the data; raise the \
         RAM limit, or the engine's cache within it";
    /// Operations failed.
    OperationsFailed = Warning,
        "failed operations are in no figure; the case's log.txt has the engine's output";
    /// An open loop fell behind its rate.
    OpenLoopBehind = Warning,
        "response times grow with the length of such a run: lower the role's rate, or read them \
         as \"overloaded\"";
    /// An engine had not settled before it was measured.
    NotSettled = Warning,
        "background work of the load continues into the next measured phase: raise the settle \
         phase's limit";
    /// Writers left a tenth of their window's time or more in work behind.
    WritesDeferred = Info,
        "rates of writers include the time of this work; the burst rate excludes it. A longer \
         phase shows which of them is sustained";
    /// An engine called writes committed that were not flushed to the drive.
    CommitNotFlushed = Warning,
        "do not read its figures as class `commit`: check the engine's options, the mount's \
         (`nobarrier`), and whether the data is in the data directory at all";
    /// Readers are compared although their writers ran at very different rates.
    WritersUnequal = Warning,
        "set a rate on the writer to compare readers alone: `rate = { per_second = N }`, below \
         what the slowest can do";
    /// An engine delayed or stopped writes while it was measured.
    WritesStalled = Warning,
        "not a steady state: its background work is slower than its writers; measure longer, set \
         a rate on the writer, or give it more background threads";
    /// The rate changed while it was measured.
    NotSteady = Warning,
        "not a steady state: the figure depends on when it was taken; use a longer warmup and a \
         longer phase, or a larger `most`";
    /// The data lies on an overlay.
    DataDirOverlay = Warning,
        "`--data-dir DIR` on a filesystem of a drive: in a container, a volume or a bind mount";
    /// The data directory has no block device, or one without counters.
    DriveUncounted = Warning;
    /// Readahead is on and large.
    ReadaheadLarge = Warning;
    /// The hypervisor took CPU time away.
    CpuStolen = Warning,
        "rates are too low and tail latencies too high, by up to this share: use a dedicated \
         machine, or more trials";
    /// The machine was busy when the run began.
    BusyHost = Warning,
        "let the machine come to rest, or stop its other work, and run again";
    /// Another run measured on the same machine at the same time.
    ConcurrentRun = Warning,
        "each run disturbed the other: do one after the other, and repeat these cases";
    /// Other processes used the drive while it was measured.
    ForeignIo = Warning,
        "`kvdyno run --io-log` names them in `blockio.csv`; stop them, or use a drive of its own";
    /// Memory above the limit can go to swap.
    SwapOn = Warning,
        "`swapoff -a` for the run: an engine's cache above the limit goes to swap instead of \
         failing";
    /// The kernel evicts cold memory by itself, with or without a limit.
    DamonOn = Warning;
    /// A limit from outside is tighter than the machine's memory.
    MemoryLimitAbove = Warning,
        "cases without a RAM limit of their own ran under this one: raise it, or set `ram` in the \
         suite";
    /// CPU limits from outside stopped threads during the run.
    CpuThrottled = Warning,
        "rates are too low and tail latencies too high, by up to this share: raise the limit, or \
         start outside of that group";
    /// A limit from outside applies to our I/O.
    IoLimitAbove = Warning,
        "these may be figures of the limit: raise it, or start outside of that group";
    /// Deleted files were discarded on the drive while it was measured.
    DiscardOnline = Warning;
    /// The drive reports that it is failing, worn or hot.
    DriveUnwell = Warning,
        "a drive in this state slows itself down: cool it or replace it, and run again";
    /// An engine was built with assertions.
    AssertionsOn = Warning,
        "build the engine without assertions (NDEBUG)";
    /// A worker's clock ran at another rate than the system's.
    ClockDrifted = Warning,
        "times and rates of these cases are wrong by up to this share: the machine was suspended \
         or moved during the run, or its processor has no steady clock";
    /// The system's time of day was moved while a case ran.
    ClockStepped = Info,
        "rates and latencies are valid, their clock is never moved; times of day in the record \
         are off by as much, also against other logs: set the clock before a run, or slew it";
    /// The load generator is a large part of what was measured.
    LoadGeneratorShare = Warning,
        "it is the same for every engine and is not subtracted: ratios between engines are larger \
         than they look";
    /// Other processes used the drive while it was measured by itself.
    DriveShared = Warning,
        "another process used the drive, so it gave less than it can, and the device's counters \
         are too high by as much: stop what reads or writes there, and run again";
    /// An engine made more I/Os than the bare drive could.
    AboveCeiling = Warning,
        "the raw-device ceiling or the count is wrong: readahead or background threads keep more \
         in flight than the operations do, another process used the drive (its counters are of \
         the whole device), or the drive was slower while the ceiling was taken: compare KB/op \
         with reads/op, and take more trials";
    /// The drive is virtual: the host may cache it.
    DriveVirtual = Info,
        "figures are valid for comparing engines here; figures of a drive need the drive itself";
    /// The database is small compared with the drive.
    SmallAgainstDrive = Info,
        "a nearly empty flash drive writes less inside than a full one: for figures of the drive, \
         fill most of it";
    /// The drive's internal writes are not in the figures.
    DriveInsideUnseen = Info,
        "for figures of a drive: trim it first, note how full it is, and compare the drive's own \
         counters (`nvme smart-log`) before and after";
    /// The kernel holds back writes in the background for the sake of reads.
    WritesThrottled = Info;
    /// Loaded data was not verified.
    NotVerified = Info,
        "a `verify` phase after the load proves that the engine kept its data";
    /// Far less of a database is on the drive than was written to it.
    DatabaseTooSmall = Warning,
        "the rest is in memory, or in files that were removed while the engine had them open: \
         residency, eviction, space and reads from the drive do not cover its data";
    /// The files are far smaller than the data in them.
    DatabaseCompressed = Info,
        "its RAM holds more of its data, and its drive writes less of it, than those of an engine \
         that stores data as it is: compare engines that both compress, or neither (`kvdyno \
         engines NAME` lists the options)";
    /// Engines of one durability class lose different data in a power loss.
    PowerLossDiffers = Warning,
        "their classes differ in durability: `kvdyno engines NAME` describes each class, and \
         `durability = \"commit\"` is the same for all";
    /// Cases worked on a database that others had written to before.
    DatabaseShared = Info,
        "several thread counts used one database that aged: an effect of threads may be one of \
         age; `database = \"state\"` in [run] gives each case a copy of the load, \"fresh\" its \
         own load";
    /// In some trials of a case, fewer others had written to its database before.
    DatabaseYounger = Warning,
        "the trials of these cases measured databases of different ages: the run was resumed, a \
         case failed, or trials were added; `database = \"state\"` in [run] gives each case a copy \
         of the load, \"fresh\" its own load";
    /// Requests were recorded during the measurement.
    RequestsRecorded = Info,
        "`kvdyno run` measures the same without recording";
    /// Measured for less than a minute.
    ShortMeasure = Info,
        "the first minutes of an LSM tree, or of a drive, are not its steady state: measure \
         longer before you draw conclusions";
    /// Too few slices to see a trend.
    FewSlices = Info,
        "a trend or a stall cannot be distinguished from noise: use shorter slices, or a longer \
         phase";
    /// Too few trials for an interval.
    FewTrials = Info,
        "`kvdyno resume RUN --budget 10m` adds trials until it is decided";
    /// A server's client was the limit, not the server.
    ClientBound = Warning,
        "these are figures of the client: a faster server would not change them; use fewer client \
         threads on more CPUs, or deeper pipelines";
    /// Ranks of a crew differ widely.
    ClientsUneven = Warning,
        "slow ranks lower the totals, and percentiles mix fast and slow ones. `--table ranks` \
         names the hosts. Look there for other load, slower CPUs or a longer network path, or give \
         the host fewer ranks";
    /// A slower clock was used.
    SlowClock = Info,
        "each operation costs about 15 ns more than with the processor's own clock; the load \
         generator's line includes it";
    /// The machine alone would explain such tails.
    TailBelowLoadGenerator = Info;
    /// Threads were ready to run without a free CPU.
    CpuWanting = Warning,
        "rates are too low and tail latencies too high, by up to this share: use fewer threads, \
         more CPUs, or stop other work on the machine";
    /// Most of the time went into waiting for flushes, about one per write.
    BoundByFlushes = Info;
    /// Most of the time went into waiting for single requests to the drive.
    BoundByLatency = Info;
    /// Most of the time went into waiting for a drive at its limit.
    BoundByDrive = Info,
        "these are figures of the drive: fewer or smaller I/Os per operation would change them";
    /// Most of the time was spent computing.
    BoundByCpu = Info,
        "another drive would change little; `perf top` names the functions";
    /// Most of the time went into waiting for other threads.
    BoundByLock = Info;
    /// An engine built for any processor is compared where the CPU decides.
    PortableBuild = Info,
        "where the drive is the limit this makes no difference; where the CPU is, the engine may \
         be faster than shown: build its library for this processor (`make rocksdb-native`) and \
         run with that (`versions` or `library` in the suite)";
}

impl Id {
    /// Its stable name: `ram-limit-not-real`.
    pub fn as_str(self) -> String {
        let name = format!("{self:?}");
        let mut text = String::with_capacity(name.len() + 4);
        for (index, letter) in name.char_indices() {
            if index > 0 && letter.is_uppercase() {
                text.push('-');
            }
            text.push(letter.to_ascii_lowercase());
        }
        text
    }
}
