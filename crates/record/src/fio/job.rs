//! A job of a report: what it read, wrote, trimmed and flushed, as counts and times of a role.

use crate::case::{OpResult, RoleResult};
use crate::hlog::{self, Kind};
use crate::series::{Slice, SliceCounts};
use crate::usage::ProcessUsage;
use hdrhistogram::Histogram;
use serde::Deserialize;
use std::collections::BTreeMap;

/// fio ends its threads within so many milliseconds of each other.
const TOGETHER_MS: u64 = 50;

/// The operation that stands for fsync(2) and fdatasync(2).
const FLUSH: &str = "flush";

/// A job with all its threads.
#[derive(Clone, Debug, Deserialize)]
pub struct Job {
    /// Its name.
    #[serde(rename = "jobname")]
    pub name: String,
    /// The host on which fio's server ran it (`--client`); none: no server did.
    #[serde(rename = "hostname", default)]
    pub client: Option<String>,
    /// The number of its group; groups run one after another.
    #[serde(rename = "groupid", default)]
    group: u64,
    /// The number of entries of the report that were merged into it.
    #[serde(skip, default = "one")]
    pub entries: u32,
    /// The errno that ended it; zero: no error.
    #[serde(default)]
    pub error: i32,
    /// Its options.
    #[serde(rename = "job options", default)]
    pub options: BTreeMap<String, String>,
    /// What was read.
    #[serde(default)]
    pub read: Side,
    /// What was written.
    #[serde(default)]
    pub write: Side,
    /// What was trimmed.
    #[serde(default)]
    pub trim: Side,
    /// fsync(2) and fdatasync(2) between writes.
    #[serde(default)]
    sync: Side,
    /// Reads, writes and trims as one sum, which cannot be taken apart (`unified_rw_reporting`).
    #[serde(default)]
    mixed: Side,
    /// The run time of all its threads together, in milliseconds.
    #[serde(rename = "job_runtime", default)]
    runtime_ms: u64,
    /// CPU time in user mode and in the kernel, in percent of that.
    #[serde(default)]
    usr_cpu: f64,
    #[serde(default)]
    sys_cpu: f64,
    #[serde(default)]
    ctx: u64,
    #[serde(default)]
    majf: u64,
    #[serde(default)]
    minf: u64,
}

/// Reads, writes, trims or syncs.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Side {
    /// Number of I/Os.
    pub total_ios: u64,
    /// Bytes that they moved.
    pub io_bytes: u64,
    /// Their duration, in milliseconds.
    runtime: u64,
    lat_ns: Times,
    slat_ns: Times,
    clat_ns: Times,
}

/// A distribution of times.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Times {
    max: u64,
    mean: f64,
    #[serde(rename = "N")]
    samples: u64,
    /// The count of each bin, by the bin's middle.
    bins: BTreeMap<u64, u64>,
}

fn one() -> u32 {
    1
}

/// A number as fio writes it: `4k` is 4096, or 4000 where `kb_base` is 1000.
pub fn number(text: &str, kb_base: u64) -> Option<u64> {
    let text = text.trim().to_lowercase();
    let text = text.trim_end_matches('b').trim_end_matches('i');
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let power = ["", "k", "m", "g", "t"].iter().position(|unit| *unit == &text[digits.len()..])?;
    digits.parse::<u64>().ok()?.checked_mul(kb_base.checked_pow(power as u32)?)
}

/// Returns the counts of roles as the only slice of a phase: fio reports a job as a whole.
pub fn slice(phase: &str, roles: &[RoleResult]) -> Slice {
    let counts = |(name, op): (&String, &OpResult)| {
        let OpResult { count, service_ns, service_ns_max, .. } = *op;
        (name.clone(), SliceCounts { count, service_ns, service_ns_max, errors: 0 })
    };
    let counts_of = |role: &RoleResult| (role.role.clone(), role.ops.iter().map(counts).collect());
    let length_ns = roles.iter().map(|role| role.window_ns).max().unwrap_or(0);
    let roles = roles.iter().map(counts_of).collect();
    Slice { phase: phase.to_owned(), slice: 0, start_ns: 0, length_ns, roles }
}

impl Job {
    /// Whether both are threads of the same job.
    pub(super) fn is_same_job(&self, other: &Self) -> bool {
        (&self.name, &self.client, self.group, &self.options)
            == (&other.name, &other.client, other.group, &other.options)
    }

    pub(super) fn add(&mut self, more: &Self) {
        self.entries += 1;
        self.error = if self.error == 0 { more.error } else { self.error };
        self.read.add(&more.read);
        self.write.add(&more.write);
        self.trim.add(&more.trim);
        self.sync.add(&more.sync);
        self.mixed.add(&more.mixed);
        let [own_ms, more_ms] = [self.runtime_ms as f64, more.runtime_ms as f64];
        let share =
            |own: f64, more: f64| (own * own_ms + more * more_ms) / (own_ms + more_ms).max(1.0);
        self.usr_cpu = share(self.usr_cpu, more.usr_cpu);
        self.sys_cpu = share(self.sys_cpu, more.sys_cpu);
        self.runtime_ms = self.runtime_ms.saturating_add(more.runtime_ms);
        self.ctx = self.ctx.saturating_add(more.ctx);
        self.majf = self.majf.saturating_add(more.majf);
        self.minf = self.minf.saturating_add(more.minf);
    }

    /// Why it has no figures; none: it has some.
    pub fn unusable(&self) -> Option<String> {
        let created = self.is_on("create_only");
        match self.error {
            0 => {}
            error => return Some(format!("it ended with error {error}")),
        }
        if self.mixed.total_ios > 0 {
            let why = "its reads and writes are reported as one (unified_rw_reporting=mixed)";
            return Some(why.to_owned());
        }
        if self.active_sides().next().is_none() {
            let what =
                if created { "it only made its file (create_only=1)" } else { "it did no I/O" };
            return Some(what.to_owned());
        }
        let timed = |side: &Side| side.total().samples > 0;
        let lacks =
            self.active_sides().any(|(_, side)| timed(side) && side.total().bins.is_empty());
        lacks.then(|| "it has no latency bins: use --output-format=json+".to_owned())
    }

    /// Why its latencies are unknown; none: they are known.
    pub fn without_times(&self) -> Option<String> {
        if self.active_sides().any(|(_, side)| side.total().samples > 0) {
            return None;
        }
        let options = ["gtod_reduce", "disable_lat", "disable_clat"];
        let option = options.into_iter().find(|option| self.is_on(option));
        let why = option.map_or_else(
            || "not in fio's report".to_owned(),
            |option| format!("not measured by fio ({option}=1)"),
        );
        Some(format!("latencies: {why}"))
    }

    /// Whether an operation ends before the next begins, whatever `iodepth` says. This holds where
    /// no engine was named, too: fio's default is psync.
    pub fn is_synchronous(&self) -> bool {
        let engine = self.option("ioengine").unwrap_or("psync");
        matches!(engine, "sync" | "psync" | "vsync" | "pvsync" | "pvsync2" | "mmap")
    }

    /// An option as it was given.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.get(name).map(String::as_str)
    }

    fn is_on(&self, name: &str) -> bool {
        self.option(name).is_some_and(|value| value == "1")
    }

    /// An option that is a number.
    pub fn number(&self, name: &str) -> Option<u64> {
        let kb_base = if self.option("kb_base") == Some("1000") { 1000 } else { 1024 };
        number(self.option(name)?, kb_base)
    }

    /// Bytes of an I/O: the bytes moved over the number of I/Os, where that is a whole number. With
    /// `ramp_time` the two were counted over different times, and it is not: then the requested
    /// size. I/Os of several sizes have a mean.
    pub fn block_bytes(&self) -> u64 {
        let sum = |value: fn(&Side) -> u64| {
            self.active_sides().map(|(_, side)| value(side)).fold(0, u64::saturating_add)
        };
        let (bytes, ios) = (sum(|side| side.io_bytes), sum(|side| side.total_ios).max(1));
        let block = self.number("bs").filter(|_| !bytes.is_multiple_of(ios));
        block.unwrap_or(bytes / ios)
    }

    /// Whether its blocks are at random places.
    pub fn is_random(&self) -> bool {
        // `read:8` is in order, with a hole behind every eighth.
        let rw = self.option("rw").or(self.option("readwrite")).unwrap_or("read");
        let rw = rw.split(':').next().unwrap_or_default();
        !matches!(rw, "read" | "write" | "rw" | "readwrite" | "trim" | "trimwrite")
    }

    /// Returns the number of its threads.
    pub fn threads(&self) -> u32 {
        if self.entries > 1 {
            self.entries
        } else {
            self.grouped_threads().unwrap_or(self.requested_threads())
        }
    }

    fn requested_threads(&self) -> u32 {
        self.number("numjobs").map_or(1, |jobs| u32::try_from(jobs).unwrap_or(u32::MAX)).max(1)
    }

    /// Returns the number of threads where `group_reporting` has made several jobs one entry: their
    /// total time over the time from first to last. The entry's name and options are those of some
    /// of them.
    pub fn grouped_threads(&self) -> Option<u32> {
        // With `verify` each thread reads what it has written, after it: the times of the two add
        // up.
        if self.entries > 1 || self.option("verify").is_some() {
            return None;
        }
        let (window_ms, threads_asked_for) = (self.window_ms(), self.requested_threads());
        let max_ms = window_ms.saturating_mul(threads_asked_for.into()).saturating_add(TOGETHER_MS);
        let threads = (self.runtime_ms as f64 / window_ms.max(1) as f64).round() as u32;
        (self.runtime_ms > max_ms && threads > threads_asked_for).then_some(threads)
    }

    fn window_ms(&self) -> u64 {
        self.read.runtime.max(self.write.runtime).max(self.trim.runtime)
    }

    /// Its run time.
    pub fn window_ns(&self) -> u64 {
        self.window_ms().saturating_mul(1_000_000)
    }

    /// Whether the report lacks the times of its flushes.
    pub fn lacks_flush_times(&self) -> bool {
        self.syncs() > 0 && self.sync.lat_ns.histogram().is_empty()
    }

    /// fsync(2) and fdatasync(2) calls between its writes.
    pub fn syncs(&self) -> u64 {
        // fio 3.33 leaves `total_ios` at zero where it calls fdatasync.
        match self.sync.lat_ns.samples {
            0 => self.sync.total_ios,
            samples => samples,
        }
    }

    /// Whether it called fsync or fdatasync after each write.
    pub fn syncs_each_write(&self) -> bool {
        let requested = self.is_on("fsync") || self.is_on("fdatasync");
        self.syncs() > 0 && (requested || self.syncs() >= self.write.total_ios)
    }

    /// Whether a write is durable before the next one begins.
    pub fn is_durable(&self) -> bool {
        let by_open = matches!(self.option("sync"), Some("1" | "sync" | "dsync"));
        self.write.total_ios > 0 && (by_open || self.syncs_each_write())
    }

    /// Returns each latency distribution with its tag; empty: the report is `json`, not `json+`.
    pub fn histograms(&self, phase: &str, role: &str) -> Vec<(String, Histogram<u64>)> {
        let mut all = Vec::new();
        for (op, side) in self.active_sides() {
            let total = side.total();
            for (kind, times) in [
                (Kind::Service, total),
                (Kind::Submit, &side.slat_ns),
                (Kind::Completion, &side.clat_ns),
            ] {
                let histogram = times.histogram();
                if !histogram.is_empty() {
                    all.push((hlog::tag(phase, role, op, kind), histogram));
                }
            }
        }
        let flushes = self.sync.lat_ns.histogram();
        if !flushes.is_empty() {
            all.push((hlog::tag(phase, role, FLUSH, Kind::Service), flushes));
        }
        all
    }

    /// Returns its reads, writes, trims and flushes as the results of a role.
    pub fn role(&self, name: &str, threads: u32) -> RoleResult {
        let mut ops: BTreeMap<String, OpResult> =
            self.active_sides().map(|(op, side)| (op.to_owned(), side.result(op))).collect();
        let count = self.syncs();
        if count > 0 {
            let times = &self.sync.lat_ns;
            let flush = OpResult {
                count,
                items: count,
                service_ns: times.sum_ns(),
                service_ns_max: times.max,
                ..OpResult::default()
            };
            ops.insert(FLUSH.to_owned(), flush);
        }
        RoleResult {
            role: name.to_owned(),
            threads,
            window_ns: self.window_ns(),
            offered_per_s: None,
            windows: Vec::new(),
            backlog: 0,
            own_ns: 0,
            usage: None,
            ops,
        }
    }

    /// Resources of its threads by fio's own account, without fio's start and end.
    pub fn usage(&self) -> ProcessUsage {
        let share = |percent: f64| (percent / 100.0 * self.runtime_ms as f64 * 1e6) as u64;
        ProcessUsage {
            user_ns: share(self.usr_cpu),
            system_ns: share(self.sys_cpu),
            // fio counts both kinds as one.
            voluntary_switches: self.ctx,
            involuntary_switches: 0,
            minor_faults: self.minf,
            major_faults: self.majf,
            input_blocks_512: 0,
            output_blocks_512: 0,
            rss_peak_bytes: 0,
            io: None,
        }
    }

    /// Returns the kinds of I/O that it did, by the names of their operations in a record.
    fn active_sides(&self) -> impl Iterator<Item = (&'static str, &Side)> {
        let sides = [("get", &self.read), ("update", &self.write), ("delete", &self.trim)];
        sides.into_iter().filter(|(_, side)| side.total_ios > 0)
    }
}

impl Side {
    fn add(&mut self, more: &Self) {
        self.total_ios = self.total_ios.saturating_add(more.total_ios);
        self.io_bytes = self.io_bytes.saturating_add(more.io_bytes);
        self.runtime = self.runtime.max(more.runtime);
        self.lat_ns.add(&more.lat_ns);
        self.slat_ns.add(&more.slat_ns);
        self.clat_ns.add(&more.clat_ns);
    }

    fn total(&self) -> &Times {
        if self.lat_ns.bins.is_empty() { &self.clat_ns } else { &self.lat_ns }
    }

    fn result(&self, op: &str) -> OpResult {
        let total = self.total();
        let bytes = |this: &str| if op == this { self.io_bytes } else { 0 };
        OpResult {
            count: self.total_ios,
            hits: if op == "get" { self.total_ios } else { 0 },
            items: self.total_ios,
            read_bytes: bytes("get"),
            write_bytes: bytes("update"),
            service_ns: total.sum_ns(),
            service_ns_max: total.max,
            ..OpResult::default()
        }
    }
}

impl Times {
    fn sum_ns(&self) -> u64 {
        (self.mean * self.samples as f64) as u64
    }

    fn add(&mut self, more: &Self) {
        let samples = self.samples.saturating_add(more.samples);
        let sum = self.mean * self.samples as f64 + more.mean * more.samples as f64;
        self.mean = sum / samples.max(1) as f64;
        self.samples = samples;
        self.max = self.max.max(more.max);
        for (middle, count) in &more.bins {
            let bin = self.bins.entry(*middle).or_default();
            *bin = bin.saturating_add(*count);
        }
    }

    fn histogram(&self) -> Histogram<u64> {
        let mut histogram = hlog::histogram();
        for (ns, count) in &self.bins {
            histogram.saturating_record_n(*ns, *count);
        }
        histogram
    }
}
