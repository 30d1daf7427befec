//! The flags of `db_bench` (`tools/db_bench_tool.cc`) and their equivalents here.

/// The equivalent of a flag.
#[derive(Clone, Copy, Debug)]
pub(super) enum Flag {
    /// An option of engine `rocksdb`, in the same unit.
    Option(&'static str),
    /// The same; any negative number becomes 0.
    Least(&'static str),
    /// The same: on or off.
    Switch(&'static str),
    /// The same: one of these words, in the order of the flag's numbers, which start at this one.
    Numbered(&'static str, usize, &'static [&'static str]),
    /// The same: the flag is a share, the option is in percent.
    Percent(&'static str),
    /// The kind of database, if it is on.
    Transactions(&'static str),
    /// A `RocksDB` option of this name, which the engine takes only in `options = "name=value"`.
    Own(&'static str),
    /// A key of the suite.
    Key(&'static str),
    /// More than one key.
    Work(Work),
    /// No equivalent, and the reason.
    Nothing(&'static str),
}

/// The part of the workload that a flag changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    Benchmarks,
    Threads,
    Seed,
    Duration,
    Reads,
    BatchSize,
    SeekNexts,
    ReadWritePercent,
    WriteRateLimit,
    Sync,
    DisableWal,
}

use Flag::{Key, Least, Nothing, Numbered, Option, Own, Percent, Switch, Transactions};

const PLACE: &str = "use --data-dir to set the location of databases";
const OWN_DATABASE: &str = "each case has its own database, which the phases after its load use";
const RECORDED: &str = "every run records latencies, counts and a time line";
const OF_MIXGRAPH: &str =
    "mixgraph has its published parameters; a suite changes them in [phases.mixgraph]";
const OF_VALUES: &str = "use `value_bytes` of a suite for a distribution of lengths";
const SINGLE: &str = "a case has one database with one column family";

/// All known flags. Flags with the same name as their option are listed too: only flags with a
/// known effect are accepted.
pub(super) const FLAGS: &[(&str, Flag)] = &[
    // The engine's options.
    ("cache_size", Least("block_cache")),
    ("cache_type", Option("cache_type")),
    ("bloom_bits", Least("bloom_bits")),
    ("block_size", Option("block_size")),
    ("optimize_filters_for_memory", Switch("optimize_filters_for_memory")),
    ("cache_index_and_filter_blocks", Switch("cache_index_and_filter_blocks")),
    ("pin_l0_filter_and_index_blocks_in_cache", Switch("pin_l0_filter_and_index_blocks_in_cache")),
    ("compression_type", Option("compression")),
    ("memtablerep", Option("memtable")),
    ("compaction_style", Numbered("compaction_style", 0, &["level", "universal"])),
    ("universal_size_ratio", Option("universal_size_ratio")),
    ("universal_min_merge_width", Option("universal_min_merge_width")),
    ("universal_max_merge_width", Option("universal_max_merge_width")),
    (
        "universal_max_size_amplification_percent",
        Option("universal_max_size_amplification_percent"),
    ),
    ("enable_blob_files", Switch("enable_blob_files")),
    ("min_blob_size", Option("min_blob_size")),
    ("blob_file_size", Option("blob_file_size")),
    ("blob_compression_type", Option("blob_compression_type")),
    ("enable_blob_garbage_collection", Switch("enable_blob_garbage_collection")),
    ("blob_garbage_collection_age_cutoff", Percent("blob_garbage_collection_age_cutoff_percent")),
    ("write_buffer_size", Option("write_buffer_size")),
    ("max_write_buffer_number", Option("max_write_buffer_number")),
    ("min_write_buffer_number_to_merge", Option("min_write_buffer_number_to_merge")),
    ("target_file_size_base", Option("target_file_size_base")),
    ("max_bytes_for_level_base", Option("max_bytes_for_level_base")),
    ("max_bytes_for_level_multiplier", Option("max_bytes_for_level_multiplier")),
    ("num_levels", Option("num_levels")),
    ("level_compaction_dynamic_level_bytes", Switch("level_compaction_dynamic_level_bytes")),
    ("level0_file_num_compaction_trigger", Option("level0_file_num_compaction_trigger")),
    ("level0_slowdown_writes_trigger", Option("level0_slowdown_writes_trigger")),
    ("level0_stop_writes_trigger", Option("level0_stop_writes_trigger")),
    ("disable_auto_compactions", Switch("disable_auto_compactions")),
    ("max_background_jobs", Option("max_background_jobs")),
    ("subcompactions", Option("max_subcompactions")),
    ("open_files", Least("max_open_files")),
    ("use_direct_reads", Switch("use_direct_reads")),
    ("use_direct_io_for_flush_and_compaction", Switch("use_direct_io_for_flush_and_compaction")),
    ("mmap_read", Switch("allow_mmap_reads")),
    ("bytes_per_sync", Option("bytes_per_sync")),
    ("wal_bytes_per_sync", Option("wal_bytes_per_sync")),
    ("enable_pipelined_write", Switch("enable_pipelined_write")),
    ("statistics", Switch("statistics")),
    ("transaction_db", Transactions("pessimistic")),
    ("optimistic_transaction_db", Transactions("optimistic")),
    ("mmap_write", Own("allow_mmap_writes")),
    ("use_fsync", Own("use_fsync")),
    ("unordered_write", Own("unordered_write")),
    ("allow_concurrent_memtable_write", Own("allow_concurrent_memtable_write")),
    ("enable_write_thread_adaptive_yield", Own("enable_write_thread_adaptive_yield")),
    ("max_total_wal_size", Own("max_total_wal_size")),
    ("db_write_buffer_size", Own("db_write_buffer_size")),
    ("delayed_write_rate", Own("delayed_write_rate")),
    ("soft_pending_compaction_bytes_limit", Own("soft_pending_compaction_bytes_limit")),
    ("hard_pending_compaction_bytes_limit", Own("hard_pending_compaction_bytes_limit")),
    ("target_file_size_multiplier", Own("target_file_size_multiplier")),
    ("max_compaction_bytes", Own("max_compaction_bytes")),
    ("compaction_readahead_size", Own("compaction_readahead_size")),
    ("optimize_filters_for_hits", Own("optimize_filters_for_hits")),
    ("paranoid_checks", Own("paranoid_checks")),
    ("stats_dump_period_sec", Own("stats_dump_period_sec")),
    // The suite.
    ("num", Key("data.records")),
    ("key_size", Key("data.key_bytes")),
    ("value_size", Key("data.value_bytes")),
    ("compression_ratio", Key("data.compress_to")),
    ("benchmarks", Flag::Work(Work::Benchmarks)),
    ("threads", Flag::Work(Work::Threads)),
    ("seed", Flag::Work(Work::Seed)),
    ("duration", Flag::Work(Work::Duration)),
    ("reads", Flag::Work(Work::Reads)),
    ("batch_size", Flag::Work(Work::BatchSize)),
    ("seek_nexts", Flag::Work(Work::SeekNexts)),
    ("readwritepercent", Flag::Work(Work::ReadWritePercent)),
    ("benchmark_write_rate_limit", Flag::Work(Work::WriteRateLimit)),
    ("sync", Flag::Work(Work::Sync)),
    ("disable_wal", Flag::Work(Work::DisableWal)),
    // Flags without an equivalent.
    ("db", Nothing(PLACE)),
    ("wal_dir", Nothing(PLACE)),
    ("use_existing_db", Nothing(OWN_DATABASE)),
    ("use_existing_keys", Nothing(OWN_DATABASE)),
    ("readonly", Nothing(OWN_DATABASE)),
    ("num_multi_db", Nothing(SINGLE)),
    ("num_column_families", Nothing(SINGLE)),
    ("num_hot_column_families", Nothing(SINGLE)),
    ("histogram", Nothing(RECORDED)),
    ("stats_interval", Nothing(RECORDED)),
    ("stats_interval_seconds", Nothing(RECORDED)),
    ("stats_per_interval", Nothing(RECORDED)),
    ("report_interval_seconds", Nothing(RECORDED)),
    ("report_file", Nothing(RECORDED)),
    ("report_bg_io_stats", Nothing(RECORDED)),
    ("perf_level", Numbered("perf_level", 1, &["disable", "enable_count"])),
    ("progress_reports", Nothing(RECORDED)),
    ("value_size_distribution_type", Nothing(OF_VALUES)),
    ("value_size_min", Nothing(OF_VALUES)),
    ("value_size_max", Nothing(OF_VALUES)),
    ("key_dist_a", Nothing(OF_MIXGRAPH)),
    ("key_dist_b", Nothing(OF_MIXGRAPH)),
    ("keyrange_dist_a", Nothing(OF_MIXGRAPH)),
    ("keyrange_dist_b", Nothing(OF_MIXGRAPH)),
    ("keyrange_dist_c", Nothing(OF_MIXGRAPH)),
    ("keyrange_dist_d", Nothing(OF_MIXGRAPH)),
    ("keyrange_num", Nothing(OF_MIXGRAPH)),
    ("value_k", Nothing(OF_MIXGRAPH)),
    ("value_sigma", Nothing(OF_MIXGRAPH)),
    ("value_theta", Nothing(OF_MIXGRAPH)),
    ("iter_k", Nothing(OF_MIXGRAPH)),
    ("iter_sigma", Nothing(OF_MIXGRAPH)),
    ("iter_theta", Nothing(OF_MIXGRAPH)),
    ("mix_get_ratio", Nothing(OF_MIXGRAPH)),
    ("mix_put_ratio", Nothing(OF_MIXGRAPH)),
    ("mix_seek_ratio", Nothing(OF_MIXGRAPH)),
    ("sine_a", Nothing(OF_MIXGRAPH)),
    ("sine_b", Nothing(OF_MIXGRAPH)),
    ("sine_c", Nothing(OF_MIXGRAPH)),
    ("sine_d", Nothing(OF_MIXGRAPH)),
    ("sine_mix_rate", Nothing(OF_MIXGRAPH)),
    ("sine_mix_rate_interval_milliseconds", Nothing(OF_MIXGRAPH)),
    ("writes", Nothing("use --duration or --reads to set the length of all phases")),
    ("deletes", Nothing("use --duration or --reads to set the length of all phases")),
    ("options_file", Nothing("expected a file: --options_file=PATH")),
    ("flagfile", Nothing("use --set-db_bench @FILE for a file of flags")),
];
