//! fio's options: those that kvdyno has, those that change no work, and the refused ones.

/// Options that become a part of a job, by fio's main names.
pub(super) const BUILT_IN: &[&str] = &[
    "bs",
    "direct",
    "directory",
    "fdatasync",
    "filename",
    "fsync",
    "hipri",
    "iodepth",
    "ioengine",
    "kb_base",
    "norandommap",
    "numjobs",
    "ramp_time",
    "random_distribution",
    "runtime",
    "rw",
    "rate",
    "rate_iops",
    "rwmixread",
    "size",
    "sqthread_poll",
    "stonewall",
    "sync",
    "thinktime",
    "thinktime_blocks",
    "time_based",
];

/// Options about reports, the start, or the file, which kvdyno makes itself.
pub(super) const HARMLESS: &[&str] = &[
    "allow_file_create",
    "allrandrepeat",
    "bwavgtime",
    "clat_percentiles",
    "clocksource",
    "cpus_allowed",
    "cpus_allowed_policy",
    "create_fsync",
    "create_on_open",
    "create_serialize",
    "description",
    "disable_bw_measurement",
    "disable_clat",
    "disable_lat",
    "disable_slat",
    "end_fsync",
    "eta",
    "exitall",
    "exitall_on_error",
    "fadvise_hint",
    "fallocate",
    "filename_format",
    "fixedbufs",
    "fsync_on_close",
    "group_reporting",
    "gtod_cpu",
    "gtod_reduce",
    "invalidate",
    "iomem",
    "ioscheduler",
    "lat_percentiles",
    "lockmem",
    "log_avg_msec",
    "log_hist_msec",
    "log_unix_epoch",
    "mem",
    "name",
    "new_group",
    "per_job_logs",
    "percentile_list",
    "random_generator",
    "randrepeat",
    "randseed",
    "refill_buffers",
    "registerfiles",
    "scramble_buffers",
    "slat_percentiles",
    "softrandommap",
    "thread",
    "unified_rw_reporting",
    "unit_base",
    "unlink",
    "userspace_reap",
    "write_bw_log",
    "write_hist_log",
    "write_iops_log",
    "write_lat_log",
];

/// The refused options, each with the reason and the remedy.
const REFUSED: &[(&str, &str, &str)] = &[
    ("bsrange", "kvdyno has one block size for each job", "make a section for each size"),
    ("bssplit", "kvdyno has one block size for each job", "make a section for each size"),
    ("bs_unaligned", "kvdyno has one block size for each job", "make a section for each size"),
    ("buffer_compress_percentage", "blocks are random bytes", COMPRESSIBLE),
    ("buffer_pattern", "blocks are random bytes", COMPRESSIBLE),
    ("dedupe_percentage", "blocks are random bytes", COMPRESSIBLE),
    ("zero_buffers", "blocks are random bytes", COMPRESSIBLE),
    ("fill_device", "kvdyno writes the whole file before it measures", "set `size`, remove this"),
    ("flow", "jobs do not depend on each other", "measure them one after the other"),
    ("io_size", "kvdyno's jobs end by time", "use `runtime`"),
    ("number_ios", "kvdyno's jobs end by time", "use `runtime`"),
    (
        "latency_target",
        "kvdyno does not change the depth as it runs",
        "make a section for each depth",
    ),
    ("loops", "kvdyno repeats jobs as trials", "use `--trials N`"),
    ("nrfiles", "jobs work on one file", "remove it, or use one file"),
    ("iodepth_batch", "operations are handed over as they come", "remove it"),
    ("iodepth_batch_complete", "answers are taken as they come", "remove it"),
    ("iodepth_low", "the depth is always filled", "remove it"),
    ("prio", "kvdyno sets no priority of I/O", "start kvdyno by `ionice`"),
    ("overwrite", "the file is written in full before the job", "remove it"),
    ("offset", "jobs work on the whole file", "use a file of its size"),
    ("offset_increment", "jobs work on the whole file", "use a file of its size"),
    ("rate_min", "no job ends because its rate is low", "remove it; `--target` judges rates"),
    ("rate_process", "a rate has equal gaps", "remove it, or set a `schedule` in a suite"),
    ("read_iolog", "job files do not replay traces", "`kvdyno trace import` reads the log"),
    ("startdelay", "each job starts alone", "remove it"),
    ("thinktime_spin", "a pause does not compute", "remove it"),
    ("verify", "kvdyno's own blocks are not fio's", "remove it, or verify with fio"),
    ("create_only", "nothing would be measured", "remove the section: kvdyno makes the file"),
    ("zonemode", "kvdyno has no zones", "use fio for zoned drives"),
    ("rwmixcycle", "the mix is drawn for each operation", "remove it"),
];

const COMPRESSIBLE: &str = "remove it, or measure an engine with `compress_to`";

/// The main name and the value of an option by any of its names.
pub(super) fn canonical(name: &str, value: &str) -> (String, String) {
    let name = name.to_ascii_lowercase();
    let inverse = |value: &str| if value == "0" { "1" } else { "0" }.to_owned();
    let main = match name.as_str() {
        "blocksize" => "bs",
        "readwrite" => "rw",
        "timeout" => "runtime",
        "openfiles" | "file_service_type" => "nrfiles",
        "iodepth_batch_submit" => "iodepth_batch",
        "iodepth_batch_complete_min" | "iodepth_batch_complete_max" => "iodepth_batch_complete",
        "prioclass" | "cmdprio_percentage" => "prio",
        "wait_for_previous" => "stonewall",
        "rate_iops_min" => "rate_min",
        // A range of one size is that size.
        "bsrange" | "blocksize_range" => {
            let ends = value.split_once('-').filter(|(least, most)| least == most);
            return ends.map_or(("bsrange".to_owned(), value.to_owned()), |(size, _)| {
                ("bs".to_owned(), size.to_owned())
            });
        }
        "filesize" | "fileset_size" => "size",
        "rwmixwrite" => {
            let reads = value.parse::<u32>().ok().and_then(|writes| 100_u32.checked_sub(writes));
            let reads = reads.map_or_else(|| value.to_owned(), |reads| reads.to_string());
            return ("rwmixread".to_owned(), reads);
        }
        "verify_fatal" | "do_verify" | "verify_pattern" | "verify_backlog" => "verify",
        "buffered" => return ("direct".to_owned(), inverse(value)),
        "dsync" => return ("sync".to_owned(), if value == "0" { "0" } else { "dsync" }.to_owned()),
        other => other,
    };
    (main.to_owned(), value.to_owned())
}

/// The reason why an option is refused, and the remedy; none: the option is unknown.
pub(super) fn refusal(name: &str) -> Option<(&'static str, &'static str)> {
    REFUSED.iter().find(|(refused, ..)| *refused == name).map(|(_, why, remedy)| (*why, *remedy))
}
