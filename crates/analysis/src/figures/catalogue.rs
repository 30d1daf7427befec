//! All figures by name, with unit, direction and source. Tables and exports have no others.

use super::metric::{Combine, Definition, Direction, Source};
use kvdyno_record::hlog::Kind;

macro_rules! figures {
    ($($(#[doc = $doc:literal])* $id:ident: $name:literal, $unit:literal, $direction:ident,
       $source:ident, $combine:ident;)*) => {
        $(
            $(#[doc = $doc])*
            pub static $id: Definition = Definition {
                name: $name,
                unit: $unit,
                direction: Direction::$direction,
                source: Source::$source,
                combine: Combine::$combine,
                help: concat!($($doc),*).trim_ascii_start(),
            };
        )*

        /// All figures, in this order.
        pub static ALL: &[&Definition] = &[$(&$id),*];
    };
}

figures! {
    /// Operations that succeeded per second of `rate_window_ns`. That window includes the work left
    /// behind by a role that writes without a schedule. For a role that is measured in turns, it
    /// leaves out the time that the role's threads waited for a CPU.
    OPS_PER_S: "ops_per_s", "1/s", Higher, LoadGenerator, Median;
    /// Operations that succeeded over the role's window alone.
    BURST_OPS_PER_S: "burst_ops_per_s", "1/s", Higher, LoadGenerator, Median;
    /// The time that rates are divided by: the window, plus `deferred_ns` for a role that pays for
    /// it, without waits for a CPU in turns.
    RATE_WINDOW: "rate_window_ns", "ns", Neither, LoadGenerator, Median;
    /// Keys or records dealt with per second, by the rules of `ops_per_s`.
    ITEMS_PER_S: "items_per_s", "1/s", Higher, LoadGenerator, Median;
    /// Bytes of keys and values, read and written, over `rate_window_ns`.
    USER_BYTES_PER_S: "user_bytes_per_s", "B/s", Higher, LoadGenerator, Median;
    /// The scheduled rate of an open loop.
    OFFERED_OPS_PER_S: "offered_ops_per_s", "1/s", Neither, Plan, Median;
    /// Open loop: operations that were due and had not begun at the end.
    BACKLOG: "backlog_ops", "ops", Lower, LoadGenerator, Sum;
    /// Operations that succeeded.
    OPERATIONS: "operations", "ops", Neither, LoadGenerator, Sum;
    /// Time from the common start to the end of the role's last operation.
    WINDOW: "window_ns", "ns", Neither, LoadGenerator, Median;
    /// Share of the keys looked up that were found.
    FOUND: "found_percent", "%", Higher, LoadGenerator, Median;
    /// Values read with the wrong key, length or checksum.
    WRONG: "wrong_values", "values", Lower, LoadGenerator, Sum;
    /// Operations that failed; they are in no other figure.
    ERRORS: "errors", "ops", Lower, LoadGenerator, Sum;
    /// How often an operation met a conflict and was performed again, inside its own time.
    RETRIES: "retries", "tries", Lower, LoadGenerator, Sum;
    /// Mean time from the start of a call to its end.
    SERVICE_MEAN: "service_ns_mean", "ns", Lower, LoadGenerator, Median;
    /// Median time from the start of a call to its end.
    SERVICE_P50: "service_ns_p50", "ns", Lower, LoadGenerator, Median;
    /// 90th percentile of the time from the start of a call to its end.
    SERVICE_P90: "service_ns_p90", "ns", Lower, LoadGenerator, Median;
    /// 95th percentile of the time from the start of a call to its end.
    SERVICE_P95: "service_ns_p95", "ns", Lower, LoadGenerator, Median;
    /// 99th percentile of the time from the start of a call to its end.
    SERVICE_P99: "service_ns_p99", "ns", Lower, LoadGenerator, Median;
    /// 99.9th percentile of the time from the start of a call to its end.
    SERVICE_P999: "service_ns_p99_9", "ns", Lower, LoadGenerator, Median;
    /// 99.99th percentile of the time from the start of a call to its end.
    SERVICE_P9999: "service_ns_p99_99", "ns", Lower, LoadGenerator, Median;
    /// The longest call, exactly.
    SERVICE_MAX: "service_ns_max", "ns", Lower, LoadGenerator, Maximum;
    /// Root of the mean square of the times from the start of a call to its end.
    SERVICE_RMS: "service_ns_rms", "ns", Lower, LoadGenerator, Median;
    /// Standard deviation of the times from the start of a call to its end: the root of the mean
    /// square of their distances from the mean.
    SERVICE_DEVIATION: "service_ns_deviation", "ns", Lower, LoadGenerator, Median;
    /// Share of the operations that took more than 1 ms from the start of a call to its end.
    SERVICE_OVER_1MS: "service_over_1ms_percent", "%", Lower, LoadGenerator, Median;
    /// Share of the operations that took more than 2 ms from the start of a call to its end.
    SERVICE_OVER_2MS: "service_over_2ms_percent", "%", Lower, LoadGenerator, Median;
    /// Share of the operations that took more than 4 ms from the start of a call to its end.
    SERVICE_OVER_4MS: "service_over_4ms_percent", "%", Lower, LoadGenerator, Median;
    /// Open loop: median time from an operation's scheduled start to its end.
    RESPONSE_P50: "response_ns_p50", "ns", Lower, LoadGenerator, Median;
    /// Open loop: 90th percentile of the time from an operation's scheduled start to its end.
    RESPONSE_P90: "response_ns_p90", "ns", Lower, LoadGenerator, Median;
    /// Open loop: 95th percentile of the time from an operation's scheduled start to its end.
    RESPONSE_P95: "response_ns_p95", "ns", Lower, LoadGenerator, Median;
    /// Open loop: 99th percentile of the time from an operation's scheduled start to its end.
    RESPONSE_P99: "response_ns_p99", "ns", Lower, LoadGenerator, Median;
    /// Open loop: 99.9th percentile of the time from an operation's scheduled start to its end.
    RESPONSE_P999: "response_ns_p99_9", "ns", Lower, LoadGenerator, Median;
    /// Open loop: 99.99th percentile of the time from an operation's scheduled start to its end.
    RESPONSE_P9999: "response_ns_p99_99", "ns", Lower, LoadGenerator, Median;
    /// Open loop: the longest time from scheduled start to end, to the histogram's precision.
    RESPONSE_MAX: "response_ns_max", "ns", Lower, LoadGenerator, Maximum;
    /// Open loop: root of the mean square of the times from scheduled start to end.
    RESPONSE_RMS: "response_ns_rms", "ns", Lower, LoadGenerator, Median;
    /// Open loop: standard deviation of the times from scheduled start to end.
    RESPONSE_DEVIATION: "response_ns_deviation", "ns", Lower, LoadGenerator, Median;
    /// Open loop: share of the operations that ended more than 1 ms after their scheduled start.
    RESPONSE_OVER_1MS: "response_over_1ms_percent", "%", Lower, LoadGenerator, Median;
    /// Open loop: share of the operations that ended more than 2 ms after their scheduled start.
    RESPONSE_OVER_2MS: "response_over_2ms_percent", "%", Lower, LoadGenerator, Median;
    /// Open loop: share of the operations that ended more than 4 ms after their scheduled start.
    RESPONSE_OVER_4MS: "response_over_4ms_percent", "%", Lower, LoadGenerator, Median;
    /// In flight: median time from an operation's start until it was submitted (slat).
    SUBMIT_P50: "submit_ns_p50", "ns", Lower, LoadGenerator, Median;
    /// In flight: 90th percentile of the time from an operation's start until it was submitted.
    SUBMIT_P90: "submit_ns_p90", "ns", Lower, LoadGenerator, Median;
    /// In flight: 95th percentile of the time from an operation's start until it was submitted.
    SUBMIT_P95: "submit_ns_p95", "ns", Lower, LoadGenerator, Median;
    /// In flight: 99th percentile of the time from an operation's start until it was submitted.
    SUBMIT_P99: "submit_ns_p99", "ns", Lower, LoadGenerator, Median;
    /// In flight: 99.9th percentile of the time from an operation's start until it was submitted.
    SUBMIT_P999: "submit_ns_p99_9", "ns", Lower, LoadGenerator, Median;
    /// In flight: 99.99th percentile of the time from an operation's start until it was submitted.
    SUBMIT_P9999: "submit_ns_p99_99", "ns", Lower, LoadGenerator, Median;
    /// In flight: the longest time until an operation was submitted, to the histogram's precision.
    SUBMIT_MAX: "submit_ns_max", "ns", Lower, LoadGenerator, Maximum;
    /// In flight: median time from an operation's submission to its answer (clat).
    COMPLETION_P50: "completion_ns_p50", "ns", Lower, LoadGenerator, Median;
    /// In flight: 90th percentile of the time from an operation's submission to its answer.
    COMPLETION_P90: "completion_ns_p90", "ns", Lower, LoadGenerator, Median;
    /// In flight: 95th percentile of the time from an operation's submission to its answer.
    COMPLETION_P95: "completion_ns_p95", "ns", Lower, LoadGenerator, Median;
    /// In flight: 99th percentile of the time from an operation's submission to its answer.
    COMPLETION_P99: "completion_ns_p99", "ns", Lower, LoadGenerator, Median;
    /// In flight: 99.9th percentile of the time from an operation's submission to its answer.
    COMPLETION_P999: "completion_ns_p99_9", "ns", Lower, LoadGenerator, Median;
    /// In flight: 99.99th percentile of the time from an operation's submission to its answer.
    COMPLETION_P9999: "completion_ns_p99_99", "ns", Lower, LoadGenerator, Median;
    /// In flight: the longest time from submission to answer, to the histogram's precision.
    COMPLETION_MAX: "completion_ns_max", "ns", Lower, LoadGenerator, Maximum;

    /// Records over the load's wall time, which includes the engine's sync, and `deferred_ns`. All
    /// records packed under a key count.
    RECORDS_PER_S: "records_per_s", "1/s", Higher, LoadGenerator, Median;
    /// Records over the load's wall time alone.
    BURST_RECORDS_PER_S: "burst_records_per_s", "1/s", Higher, LoadGenerator, Median;
    /// The phase's wall time.
    WALL: "wall_ns", "ns", Lower, LoadGenerator, Median;
    /// CPU time in user mode, of the whole process.
    CPU_USER: "cpu_user_ns", "ns", Lower, Kernel, Median;
    /// CPU time in the kernel, of the whole process.
    CPU_SYSTEM: "cpu_system_ns", "ns", Lower, Kernel, Median;
    /// (user + system) / wall: over 100 in background threads, under 100 waiting.
    CPU_PERCENT: "cpu_percent", "%", Neither, Kernel, Median;
    /// (user + system) up to the end of the deferred work, over the operations of all roles,
    /// background work and load generator included.
    CPU_PER_OP: "cpu_ns_per_op", "ns", Lower, KernelAndLoadGenerator, Median;
    /// The client's user and system time over the operations of all roles, where a server keeps the
    /// data: all other counts of processes are then the server's.
    CLIENT_CPU_PER_OP: "client_cpu_ns_per_op", "ns", Lower, KernelAndLoadGenerator, Median;
    /// Instructions in user mode of the threads that call the engine, while they perform
    /// operations, over the operations of all roles, or over a load's records: counted by valgrind.
    INSTRUCTIONS_PER_OP: "instructions_per_op", "1/op", Lower, Valgrind, Median;
    /// The engine's instructions per operation: all instructions, minus those of the load generator
    /// at the same work, which the null engine measures.
    ENGINE_INSTRUCTIONS_PER_OP: "engine_instructions_per_op", "1/op", Lower, Valgrind, Median;
    /// Instructions in user mode of the engine's process, counted by the processor, over the
    /// operations of all roles. They include the engine's own threads and, unless it is a server,
    /// the load generator.
    PROCESS_INSTRUCTIONS_PER_OP: "process_instructions_per_op", "1/op", Lower,
        ProcessorAndLoadGenerator, Median;
    /// Processor cycles in user mode, for the same process and operations as
    /// `process_instructions_per_op`.
    PROCESS_CYCLES_PER_OP: "process_cycles_per_op", "1/op", Lower,
        ProcessorAndLoadGenerator, Median;
    /// Cache misses in user mode, for the same process and operations as
    /// `process_instructions_per_op`.
    PROCESS_CACHE_MISSES_PER_OP: "process_cache_misses_per_op", "1/op", Lower,
        ProcessorAndLoadGenerator, Median;
    /// Branches predicted wrongly in user mode, for the same process and operations as
    /// `process_instructions_per_op`.
    PROCESS_BRANCH_MISSES_PER_OP: "process_branch_misses_per_op", "1/op", Lower,
        ProcessorAndLoadGenerator, Median;
    /// Times a thread waited for something.
    SWITCHES_VOLUNTARY: "context_switches_voluntary", "switches", Lower, Kernel, Median;
    /// Times a thread was pushed off its CPU.
    SWITCHES_INVOLUNTARY: "context_switches_involuntary", "switches", Lower, Kernel, Median;
    /// Context switches of both kinds up to the end of the deferred work, over the operations of
    /// all roles.
    SWITCHES_PER_OP: "context_switches_per_op", "1/op", Lower, KernelAndLoadGenerator, Median;
    /// Page faults served from memory.
    FAULTS_MINOR: "faults_minor", "faults", Lower, Kernel, Median;
    /// Page faults that read from a device.
    FAULTS_MAJOR: "faults_major", "faults", Lower, Kernel, Median;
    /// getrusage inputs: 512-byte units read.
    FS_INPUTS: "fs_inputs_512", "blocks", Neither, Kernel, Median;
    /// getrusage outputs: 512-byte units dirtied, whole folios at a time; not what the device
    /// wrote.
    FS_OUTPUTS: "fs_outputs_512", "blocks", Neither, Kernel, Median;
    /// The studies' write amplification: getrusage outputs over records.
    FS_OUTPUTS_PER_RECORD: "fs_outputs_512_per_record", "1/record",
        Lower, KernelAndLoadGenerator, Median;
    /// Reads completed at the device up to the end of the deferred work, by any process.
    DEVICE_READS: "device_reads", "I/Os", Neither, Device, Median;
    /// Bytes read at the device up to the end of the deferred work, by any process.
    DEVICE_READ_BYTES: "device_read_bytes", "B", Lower, Device, Median;
    /// Writes completed at the device up to the end of the sync, by any process.
    DEVICE_WRITES: "device_writes", "I/Os", Neither, Device, Median;
    /// Bytes written at the device up to the end of the sync, by any process; those of a load or
    /// measured phase and of the settling after it together.
    DEVICE_WRITE_BYTES: "device_write_bytes", "B", Lower, Device, Median;
    /// Bytes written at the device in the load and its sync.
    DEVICE_WRITE_BYTES_LOAD: "device_write_bytes_load", "B", Lower, Device, Median;
    /// Bytes written at the device while settling.
    DEVICE_WRITE_BYTES_SETTLE: "device_write_bytes_settle", "B", Lower, Device, Median;
    /// Cache flushes completed at the device.
    DEVICE_FLUSHES: "device_flushes", "flushes", Lower, Device, Median;
    /// Device reads over the operations of all roles.
    DEVICE_READS_PER_OP: "device_reads_per_op", "1/op", Lower, KernelAndLoadGenerator, Median;
    /// Bytes read at the device over the operations of all roles.
    DEVICE_READ_BYTES_PER_OP: "device_read_bytes_per_op", "B/op",
        Lower, KernelAndLoadGenerator, Median;
    /// Device writes over the operations of all roles.
    DEVICE_WRITES_PER_OP: "device_writes_per_op", "1/op", Lower, KernelAndLoadGenerator, Median;
    /// Bytes written at the device over the operations of all roles.
    DEVICE_WRITE_BYTES_PER_OP: "device_write_bytes_per_op", "B/op",
        Lower, KernelAndLoadGenerator, Median;
    /// Device reads and writes over the keys or records that all roles dealt with, or that were
    /// loaded. A key that packs several records counts as all of them in a load, and else as one.
    DEVICE_IOS_PER_RECORD: "device_ios_per_record", "1/record",
        Lower, KernelAndLoadGenerator, Median;
    /// Reads completed at the device while the phase ran, by any process, over its wall time.
    DEVICE_READS_PER_S: "device_reads_per_s", "1/s", Neither, Device, Median;
    /// Writes completed at the device while the phase ran, by any process, over its wall time.
    DEVICE_WRITES_PER_S: "device_writes_per_s", "1/s", Neither, Device, Median;
    /// Bytes read at the device while the phase ran, by any process, over its wall time.
    DEVICE_READ_BYTES_PER_S: "device_read_bytes_per_s", "B/s", Neither, Device, Median;
    /// Bytes written at the device while the phase ran, by any process, over its wall time.
    DEVICE_WRITE_BYTES_PER_S: "device_write_bytes_per_s", "B/s", Neither, Device, Median;
    /// Device I/Os per second over those of the bare drive with as many in flight.
    CEILING_SHARE: "ceiling_share_percent", "%", Neither, Device, Median;
    /// Device I/Os per second over the most that the bare drive did in any case of the run.
    DRIVE_SHARE: "drive_share_percent", "%", Neither, Device, Median;
    /// Share of the time in which a request was in flight.
    DEVICE_BUSY: "device_busy_percent", "%", Neither, Device, Median;
    /// Requests in flight on average.
    DEVICE_QUEUE: "device_queue_depth_mean", "requests", Neither, Device, Median;
    /// Device write bytes over bytes of keys and values written; the drive's own writes come on
    /// top.
    WRITE_AMPLIFICATION: "write_amplification", "B/B", Lower, KernelAndLoadGenerator, Median;
    /// Device read bytes over bytes of keys and values that the engine returned.
    READ_AMPLIFICATION: "read_amplification", "B/B", Lower, KernelAndLoadGenerator, Median;
    /// Bytes that hold data on the volume over `live_bytes`.
    SPACE_AMPLIFICATION: "space_amplification", "B/B", Lower, KernelAndLoadGenerator, Median;
    /// Bytes of keys and values of the records that are there: loaded and inserted, not deleted.
    LIVE_BYTES: "live_bytes", "B", Neither, LoadGenerator, Median;
    /// Time after the phase until all that it wrote was on the device: the volume's sync, the
    /// engine's own sync, its background work, and the volume's sync again.
    DEFERRED: "deferred_ns", "ns", Lower, LoadGenerator, Median;
    /// Bytes on the volume that hold data. Space set aside and not written is not used.
    DATABASE_USED: "database_used_bytes", "B", Lower, Kernel, Median;
    /// Bytes allocated on the volume and not written: logs and maps that grow.
    DATABASE_RESERVED: "database_reserved_bytes", "B", Neither, Kernel, Median;
    /// Sum of the files' lengths.
    DATABASE_APPARENT: "database_apparent_bytes", "B", Neither, Kernel, Median;
    /// Most memory ever resident in the process, mapped files included.
    RSS_PEAK: "rss_peak_bytes", "B", Lower, Kernel, Maximum;
    /// Bytes swapped in, from the swap made for the case, over the operations of all roles.
    SWAP_IN_BYTES_PER_OP: "swap_in_bytes_per_op", "B/op", Lower, KernelAndLoadGenerator, Median;
    /// Bytes swapped out, to the swap made for the case, over the operations of all roles.
    SWAP_OUT_BYTES_PER_OP: "swap_out_bytes_per_op", "B/op", Lower, KernelAndLoadGenerator, Median;
    /// Share of the database in the page cache when the phase began.
    RESIDENT_BEFORE: "resident_before_percent", "%", Neither, Kernel, Median;
    /// Share of the database in the page cache when it was over.
    RESIDENT_AFTER: "resident_after_percent", "%", Neither, Kernel, Median;
    /// Bytes of keys and values over the RAM limit asked for.
    DATA_TO_RAM_ASKED: "data_to_ram_asked", "B/B", Neither, Plan, Median;
    /// Bytes used by the database's files over the RAM limit in force, or over the machine's
    /// memory.
    DATA_TO_RAM: "data_to_ram", "B/B", Neither, Kernel, Median;
    /// Mean time of a read at the device, including the wait in the kernel's queue.
    DEVICE_READ_LATENCY: "device_read_ns_mean", "ns", Lower, Device, Median;
    /// Mean time of a write at the device, including the wait in the kernel's queue.
    DEVICE_WRITE_LATENCY: "device_write_ns_mean", "ns", Lower, Device, Median;
    /// Mean time of a cache flush of the whole device.
    DEVICE_FLUSH_LATENCY: "device_flush_ns_mean", "ns", Lower, Device, Median;
    /// Share of the threads' time on a CPU in user mode.
    TIME_USER: "time_user_percent", "%", Neither, KernelAndLoadGenerator, Mean;
    /// Share of the threads' time on a CPU in the kernel.
    TIME_SYSTEM: "time_system_percent", "%", Neither, KernelAndLoadGenerator, Mean;
    /// Share of the threads' time in which they were ready to run, and no CPU was free.
    TIME_RUNQUEUE: "time_runqueue_percent", "%", Neither, KernelAndLoadGenerator, Mean;
    /// Share of the threads' time waiting for the device, or for the filesystem above it.
    TIME_DEVICE: "time_device_percent", "%", Neither, KernelAndLoadGenerator, Mean;
    /// Share of the threads' time in which the engine held them up, by its own account.
    TIME_STALL: "time_stall_percent", "%", Neither, KernelAndLoadGenerator, Mean;
    /// Share of the threads' time waiting for another thread.
    TIME_LOCK: "time_lock_percent", "%", Neither, KernelAndLoadGenerator, Mean;
    /// Share of the threads' time in which an open loop had nothing due.
    TIME_IDLE: "time_idle_percent", "%", Neither, KernelAndLoadGenerator, Mean;
    /// Share of the threads' time waiting for another process, a server.
    TIME_NETWORK: "time_network_percent", "%", Neither, KernelAndLoadGenerator, Mean;
    /// Share of the threads' time spent on anything else, or not known.
    TIME_OTHER: "time_other_percent", "%", Neither, KernelAndLoadGenerator, Mean;
    /// The part of `time_device_percent` in calls that read, or for a page of a mapped file.
    TIME_DEVICE_READ: "time_device_read_percent", "%", Neither, KernelAndLoadGenerator, Mean;
    /// The part of `time_device_percent` in calls that write.
    TIME_DEVICE_WRITE: "time_device_write_percent", "%", Neither, KernelAndLoadGenerator, Mean;
    /// The part of `time_device_percent` in calls that make writes durable.
    TIME_DEVICE_SYNC: "time_device_sync_percent", "%", Neither, KernelAndLoadGenerator, Mean;
    /// Operations of a rank of a crew that succeeded, over each thread's own window: those of its
    /// closed loops, or of all its roles if it has none; for a load, records.
    RANK_OPS_PER_S: "rank_ops_per_s", "1/s", Higher, LoadGenerator, Median;
    /// A rank's `rank_ops_per_s`, over what its threads would have done had each been as fast as
    /// the median rank's of its role.
    RANK_PACE: "rank_pace_percent", "%", Neither, LoadGenerator, Median;
    /// User and system time of a rank's worker over the rank's operations.
    RANK_CPU_PER_OP: "rank_cpu_ns_per_op", "ns", Lower, KernelAndLoadGenerator, Median;
    /// User and system time of a rank's worker over the rank's window.
    RANK_CPUS: "rank_cpus", "CPUs", Neither, KernelAndLoadGenerator, Median;
    /// How much later than the first rank of its crew a rank began, by the first rank's clock.
    RANK_SKEW: "rank_skew_ns", "ns", Neither, LoadGenerator, Median;
    /// How far a rank's system clock was ahead of that of the first rank of its crew.
    CLOCK_OFFSET: "clock_offset_ns", "ns", Neither, LoadGenerator, Median;
    /// How far `clock_offset_ns` may be off, either way.
    CLOCK_ERROR: "clock_error_ns", "ns", Lower, LoadGenerator, Maximum;
    /// Share of the time of all CPUs that the hypervisor stole.
    STEAL: "steal_percent", "%", Lower, Kernel, Maximum;
}

/// The figures that the processor counts, in the order of its record.
pub static BY_PROCESSOR: [&Definition; 4] = [
    &PROCESS_INSTRUCTIONS_PER_OP,
    &PROCESS_CYCLES_PER_OP,
    &PROCESS_CACHE_MISSES_PER_OP,
    &PROCESS_BRANCH_MISSES_PER_OP,
];

/// Whether a figure is a latency: for several kinds of operations together it has no meaning.
pub fn is_latency(figure: &str) -> bool {
    ["service_", "response_", "submit_", "completion_"]
        .iter()
        .any(|clock| figure.starts_with(clock))
}

/// The figures of a clock's percentiles: p50, p90, p95, p99, p99.9, p99.99, and the longest time.
pub fn times(clock: Kind) -> [&'static Definition; 7] {
    match clock {
        Kind::Service => [
            &SERVICE_P50,
            &SERVICE_P90,
            &SERVICE_P95,
            &SERVICE_P99,
            &SERVICE_P999,
            &SERVICE_P9999,
            &SERVICE_MAX,
        ],
        Kind::Response => [
            &RESPONSE_P50,
            &RESPONSE_P90,
            &RESPONSE_P95,
            &RESPONSE_P99,
            &RESPONSE_P999,
            &RESPONSE_P9999,
            &RESPONSE_MAX,
        ],
        Kind::Submit => [
            &SUBMIT_P50,
            &SUBMIT_P90,
            &SUBMIT_P95,
            &SUBMIT_P99,
            &SUBMIT_P999,
            &SUBMIT_P9999,
            &SUBMIT_MAX,
        ],
        Kind::Completion => [
            &COMPLETION_P50,
            &COMPLETION_P90,
            &COMPLETION_P95,
            &COMPLETION_P99,
            &COMPLETION_P999,
            &COMPLETION_P9999,
            &COMPLETION_MAX,
        ],
    }
}

/// The figures of a clock's tail: shares above 1 ms, 2 ms and 4 ms, root of the mean square,
/// standard deviation. The parts of a time in flight have none.
pub fn tail(clock: Kind) -> Option<[&'static Definition; 5]> {
    match clock {
        Kind::Service => Some([
            &SERVICE_OVER_1MS,
            &SERVICE_OVER_2MS,
            &SERVICE_OVER_4MS,
            &SERVICE_RMS,
            &SERVICE_DEVIATION,
        ]),
        Kind::Response => Some([
            &RESPONSE_OVER_1MS,
            &RESPONSE_OVER_2MS,
            &RESPONSE_OVER_4MS,
            &RESPONSE_RMS,
            &RESPONSE_DEVIATION,
        ]),
        Kind::Submit | Kind::Completion => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_say_their_unit() {
        let names: BTreeSet<&str> = ALL.iter().map(|definition| definition.name).collect();
        assert_eq!(names.len(), ALL.len());
        for definition in ALL {
            let name = definition.name;
            assert!(!definition.help.is_empty(), "{name}");
            assert_eq!(name.contains("_ns"), definition.unit == "ns", "{name}");
            assert_eq!(name.contains("percent"), definition.unit == "%", "{name}");
        }
    }
}
