//! The flags of `db_bench` (`tools/db_bench_tool.cc`) and their equivalents here.

use super::engine_flags::ENGINE_FLAGS;
use super::other_flags::OTHER_FLAGS;

/// The equivalent of a flag.
#[derive(Clone, Copy, Debug)]
pub(super) enum Flag {
    /// An option of engine `rocksdb`, in the same unit.
    Option(&'static str),
    /// An option as in `Option`; any negative number becomes 0.
    Least(&'static str),
    /// An option as in `Option`; 0 keeps `RocksDB`'s default.
    Positive(&'static str),
    /// An option that is on or off.
    Switch(&'static str),
    /// An option that is one of two words, for off and on.
    EitherWord(&'static str, [&'static str; 2]),
    /// An option that is one of these words, by the flag's number; numbers start at this one.
    Numbered(&'static str, usize, &'static [&'static str]),
    /// An option that is a power of two; a negative number means `auto`.
    PowerOrAuto(&'static str),
    /// An option in percent; the flag is a share.
    Percent(&'static str),
    /// The option `transactions`, with this kind if the flag is on.
    Transactions(&'static str),
    /// A `RocksDB` option with this path, which the engine takes only in `options = "name=value"`.
    Own(&'static str),
    /// A path as in `Own`; 0 sets nothing.
    OwnPositive(&'static str),
    /// A path as in `Own`, on or off.
    OwnSwitch(&'static str),
    /// A path as in `Own`, with one of these words by the flag's number from 0.
    OwnNumbered(&'static str, &'static [&'static str]),
    /// A path as in `Own`, with `RocksDB`'s word for each word of the flag.
    OwnWords(&'static str, &'static [(&'static str, &'static str)]),
    /// Several paths as in `Own` with these values, if the flag is on.
    OwnIf(&'static [(&'static str, &'static str)]),
    /// A key of the suite with a whole number.
    Count(&'static str),
    /// A key of the suite with a number.
    Number(&'static str),
    /// More than one key of the suite.
    Work(Work),
    /// A flag that changes nothing here. It is left out.
    Harmless,
    /// A switch that changes nothing here. It is left out.
    HarmlessSwitch,
    /// A flag that the engine sets by itself. It is left out, with the reason.
    Automatic(&'static str),
    /// A flag that must have one of these values, which change nothing here. The text is the
    /// reason.
    Only(&'static [&'static str], &'static str),
    /// A switch that must have this value. The text is the reason.
    OnlySwitch(bool, &'static str),
    /// A parameter of mixgraph, with its published value.
    Published(&'static str),
    /// A flag without equivalent. The text is the reason.
    Nothing(&'static str),
}

impl Flag {
    /// Returns whether the flag is a switch: gflags takes no word after it.
    pub(super) fn is_switch(&self) -> bool {
        use Flag::{
            EitherWord, HarmlessSwitch, OnlySwitch, OwnIf, OwnSwitch, Switch, Transactions,
        };
        matches!(
            self,
            Switch(_)
                | EitherWord(..)
                | Transactions(_)
                | OwnSwitch(_)
                | OwnIf(_)
                | HarmlessSwitch
                | OnlySwitch(..)
        ) || matches!(self, Flag::Work(work) if work.is_switch())
    }
}

/// The part of the workload that a flag changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    Benchmarks,
    Threads,
    Seed,
    Duration,
    Reads,
    Writes,
    Deletes,
    BatchSize,
    SeekNexts,
    Reverse,
    ReadWritePercent,
    WriteRateLimit,
    /// An old flag: operations of the writer beside readers.
    WritesPerSecond,
    ReadRateLimit,
    Sync,
    DisableWal,
    ExistingDatabase,
    /// The flag that selects `filter_policy` together with `bloom_bits`.
    Ribbon,
    /// The flag that sets `compression_per_level`, with `num_levels` and `compression_type`.
    MinLevelToCompress,
    /// Names of flags that may be unknown.
    UndefOk,
}

impl Work {
    fn is_switch(self) -> bool {
        use Work::{DisableWal, ExistingDatabase, Reverse, Ribbon, Sync};
        matches!(self, Reverse | Sync | DisableWal | ExistingDatabase | Ribbon)
    }
}

/// The equivalent of a flag. None: `db_bench` has no such flag.
pub(super) fn find(name: &str) -> Option<Flag> {
    all().find(|(flag_name, _)| *flag_name == name).map(|(_, flag)| flag)
}

/// All known flags. Flags with the same name as their option are listed too: only flags with a
/// known effect are accepted.
pub(super) fn all() -> impl Iterator<Item = (&'static str, Flag)> {
    [WORK_FLAGS, ENGINE_FLAGS, OTHER_FLAGS].into_iter().flatten().copied()
}

/// Flags of the workload.
const WORK_FLAGS: &[(&str, Flag)] = &[
    ("num", Flag::Count("data.records")),
    ("key_size", Flag::Count("data.key_bytes")),
    ("value_size", Flag::Count("data.value_bytes")),
    ("compression_ratio", Flag::Number("data.compress_to")),
    ("benchmarks", Flag::Work(Work::Benchmarks)),
    ("threads", Flag::Work(Work::Threads)),
    ("seed", Flag::Work(Work::Seed)),
    ("duration", Flag::Work(Work::Duration)),
    ("reads", Flag::Work(Work::Reads)),
    ("writes", Flag::Work(Work::Writes)),
    ("deletes", Flag::Work(Work::Deletes)),
    ("batch_size", Flag::Work(Work::BatchSize)),
    ("seek_nexts", Flag::Work(Work::SeekNexts)),
    ("reverse_iterator", Flag::Work(Work::Reverse)),
    ("readwritepercent", Flag::Work(Work::ReadWritePercent)),
    ("benchmark_write_rate_limit", Flag::Work(Work::WriteRateLimit)),
    ("writes_per_second", Flag::Work(Work::WritesPerSecond)),
    ("benchmark_read_rate_limit", Flag::Work(Work::ReadRateLimit)),
    ("sync", Flag::Work(Work::Sync)),
    ("disable_wal", Flag::Work(Work::DisableWal)),
    ("use_existing_db", Flag::Work(Work::ExistingDatabase)),
    ("use_ribbon_filter", Flag::Work(Work::Ribbon)),
    ("min_level_to_compress", Flag::Work(Work::MinLevelToCompress)),
    ("undefok", Flag::Work(Work::UndefOk)),
];
