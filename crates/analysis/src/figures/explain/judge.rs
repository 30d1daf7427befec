//! What limits a role: the part that took most of its time, as a cause and a sentence with
//! evidence. Tables, answers and findings take their words from here. Where no part took most, the
//! sentence lists the main parts. Where most of the time is unknown, there is no sentence.

use super::cause::Cause;
use super::facts::{DeviceSums, Facts, mean};
use super::time::{Part, Time};
use crate::figures::lists::list;
use kvdyno_record::units::{byte_rate, bytes, duration};

/// A part above this share outweighs all others together.
const MAIN: f64 = 0.5;

/// A part below a tenth gets no clause: it changes no figure by more.
const REPORTED_MIN: f64 = 0.1;

/// From this percentage of the bare drive's most I/Os on, the drive is at its limit: on a shared
/// machine its own trials vary as much.
const DRIVE_FULL: std::ops::RangeFrom<f64> = 80.0..;

/// Flushes per write from which each write pays for one. Below, writes share flushes (several
/// writers, or a log that is synced now and then).
const FLUSH_EACH: f64 = 0.5;

/// A drive is busy if it has a request in flight for this share of the time.
const BUSY: f64 = 0.9;

/// From this size on, bytes bind requests, not their number: drives come near their bandwidth at
/// small depth.
const LARGE_BYTES: f64 = 65_536.0;

/// A drive that serves several requests at a time is busy with one already. Only with this many in
/// flight is a busy drive at its limit.
const DEPTH_MIN: f64 = 4.0;

/// Reads times their latency, over the time waited for them. Within this range the two agree;
/// outside it, readahead or other processes are in the count.
const SAME: std::ops::Range<f64> = 0.5..1.5;

/// From one page fault in ten operations on, the faults are part of each operation's kernel time.
const FAULTS_EACH: f64 = 0.1;

/// From this many CPUs on, the engine's own threads are reported.
const OWN_CPUS_MIN: f64 = 0.25;

/// A role's time in all trials together, with the facts of its phase.
pub(super) struct RoleTime<'c> {
    pub(super) subject: &'c str,
    pub(super) threads: u32,
    pub(super) time: &'c Time,
    pub(super) facts: &'c Facts,
    pub(super) of_drive_percent: Option<f64>,
    /// CPUs of the machine.
    pub(super) cpus: u32,
}

/// The cause and the sentence; none where most of the time is unknown.
pub(super) fn judge(role: &RoleTime<'_>) -> Option<(Cause, String)> {
    if role.time.total_ns() <= 0.0 {
        return None;
    }
    let share = |parts: &[Part]| role.time.share(parts);
    let cpu = share(&[Part::User, Part::System]);
    let (cause, words) = if cpu >= MAIN {
        role.judge_cpu_time()
    } else if share(&Part::AT_DEVICE) >= MAIN {
        role.judge_device_wait()
    } else if share(&[Part::RunQueue]) >= MAIN {
        (Cause::NoCpu, role.format_cpu_wait())
    } else if share(&[Part::Stall]) >= MAIN {
        (Cause::Stalls, role.format_stalls())
    } else if share(&[Part::Lock]) >= MAIN {
        role.judge_lock_wait()
    } else if share(&[Part::Idle]) >= MAIN {
        let percent = role.percent(&[Part::Idle]);
        (
            Cause::Schedule,
            format!("had nothing due for {percent} of the time: it has an offered rate"),
        )
    } else if share(&[Part::Network]) >= MAIN {
        let percent = role.percent(&[Part::Network]);
        (Cause::Server, format!("waited {percent} of the time for another process to answer"))
    } else if share(&[Part::Other]) >= MAIN {
        return None;
    } else {
        return Some((Cause::Turns, role.turns()));
    };
    Some((cause, format!("{} {words}{}", role.subject, role.format_other_parts(cause))))
}

impl RoleTime<'_> {
    /// `71 %`, or `up to 71 %` of stalls that the engine reported but did not count.
    fn percent(&self, parts: &[Part]) -> String {
        let at_most = *parts == [Part::Stall] && !self.facts.stalls_counted;
        let at_most = if at_most { "up to " } else { "" };
        format!("{at_most}{:.0} %", 100.0 * self.time.share(parts))
    }

    /// Judges its CPU time, by mode.
    fn judge_cpu_time(&self) -> (Cause, String) {
        let (user, system) = (self.time.ns(Part::User), self.time.ns(Part::System));
        let cause = if system > user { Cause::CpuSystem } else { Cause::CpuUser };
        let mut words = format!(
            "computed for {} of the time: {} in user mode, {} in the kernel",
            self.percent(&[Part::User, Part::System]),
            self.percent(&[Part::User]),
            self.percent(&[Part::System]),
        );
        if cause == Cause::CpuSystem
            && let Some(faults) = self.facts.faults_per_op
        {
            words += &if faults >= FAULTS_EACH {
                format!(", with {} page faults per operation", number(faults))
            } else {
                ", in system calls: there were hardly any page faults".to_owned()
            };
        }
        (cause, words)
    }

    /// Judges its wait for the device, by kind of request, with the device's latency.
    fn judge_device_wait(&self) -> (Cause, String) {
        let waited =
            format!("waited {} of the time for the device", self.percent(&Part::AT_DEVICE));
        let by = |part| self.time.ns(part);
        let (read, write, sync) = (by(Part::Read), by(Part::Write), by(Part::Sync));
        let flushes = self.facts.flushes_per_write().filter(|each| *each >= FLUSH_EACH);
        let reading = read > write + sync;
        if let Some(each) = flushes.filter(|_| !reading && self.may_be_flushes()) {
            return (
                Cause::Flushes,
                format!("{waited}: {}{}", self.format_flushes(each), self.format_main_kind()),
            );
        }
        let full = self.of_drive_percent.filter(|percent| DRIVE_FULL.contains(percent));
        if let Some(percent) = full {
            let words =
                format!("{waited}: it made {percent:.0} % of the I/Os that the drive can do");
            return (Cause::DriveFull, words);
        }
        let Some(device) = self.facts.device else {
            return (self.kind(read, write, sync), format!("{waited}{}", self.format_main_kind()));
        };
        if let Some(words) = self.no_more_bytes(&device) {
            return (Cause::DriveFull, format!("{waited}: {words}"));
        }
        let cause = self.kind(read, write, sync);
        let words = match cause {
            Cause::Reads => self.reads(&device),
            _ => self.format_writes(&device),
        };
        (cause, format!("{waited}{words}{}", self.format_main_kind()))
    }

    /// Describes a drive that was busy with many large requests; none: it was not. Without a
    /// measured limit there is no better evidence.
    fn no_more_bytes(&self, device: &DeviceSums) -> Option<String> {
        let busy = self.facts.busy()?;
        let depth = device.queue_ns / self.facts.wall_ns.max(1.0);
        let each = device.bytes_each()?;
        let full = busy >= BUSY && depth >= DEPTH_MIN && each >= LARGE_BYTES;
        let per_s = (device.read_bytes + device.write_bytes) * 1e9 / self.facts.wall_ns;
        full.then(|| {
            format!(
                "it was busy for {:.0} %, with {} in requests of {}, {} in flight on average",
                100.0 * busy,
                byte_rate(per_s),
                bytes(each as u64),
                number(depth)
            )
        })
    }

    /// The kind of request that most of the wait was for. Without samples, the device's times
    /// decide.
    fn kind(&self, read: f64, write: f64, sync: f64) -> Cause {
        let sampled = read + write + sync;
        if sampled < self.time.ns(Part::Device) {
            let device = self.facts.device.unwrap_or_default();
            return match (device.read_ns, device.write_ns) {
                (reads, writes) if reads > 2.0 * writes => Cause::Reads,
                (reads, writes) if writes > 2.0 * reads => Cause::Writes,
                _ => Cause::Device,
            };
        }
        match (read, write, sync) {
            _ if read > write.max(sync) => Cause::Reads,
            _ if sync > write => Cause::Syncs,
            _ => Cause::Writes,
        }
    }

    /// Whether it may wait for flushes: it has samples in writes or syncs, or all operations write.
    fn may_be_flushes(&self) -> bool {
        let sampled_ns = self.time.ns(Part::Sync) + self.time.ns(Part::Write);
        sampled_ns > 0.0 || self.facts.writes >= self.facts.ops
    }

    fn format_flushes(&self, each: f64) -> String {
        let long = self.facts.flush_ns_mean;
        let long = long.map_or_else(String::new, |ns| format!(" of {} each", duration(ns as u64)));
        format!("{} flushes per write{long}", number(each))
    }

    fn reads(&self, device: &DeviceSums) -> String {
        let (Some(ns), Some(each)) = (device.read_ns_mean(), mean(device.reads, self.facts.ops))
        else {
            return String::new();
        };
        let long = duration(ns as u64);
        let waited: f64 = [Part::Read, Part::Device].map(|part| self.time.ns(part)).iter().sum();
        let depth = device.queue_ns / self.facts.wall_ns.max(1.0);
        if SAME.contains(&(device.read_ns / waited.max(1.0))) {
            return format!(
                ": {} reads per operation, {long} each, {} in flight on average: the latency of \
                 reads explains the wait",
                number(each),
                number(depth)
            );
        }
        format!(": {} reads per operation, {long} each", number(each))
    }

    fn format_writes(&self, device: &DeviceSums) -> String {
        let Some(ns) = device.write_ns_mean() else { return String::new() };
        let per_s = device.write_bytes * 1e9 / self.facts.wall_ns.max(1.0);
        format!(": it wrote {}, {} per request", byte_rate(per_s), duration(ns as u64))
    }

    /// The kind of call in which most samples of the wait fell.
    fn format_main_kind(&self) -> String {
        let device = Part::AT_DEVICE.map(|part| self.time.ns(part)).iter().sum::<f64>();
        let kinds = [
            (Part::Sync, "in fsync and its like"),
            (Part::Write, "in calls that write"),
            (Part::Read, "in reads and page faults"),
        ];
        let share = |part| self.time.ns(part) / device.max(1.0);
        let most = kinds.into_iter().max_by(|a, b| share(a.0).total_cmp(&share(b.0)));
        let most = most.filter(|(part, _)| share(*part) >= MAIN);
        most.map_or_else(String::new, |(part, words)| {
            format!(", {:.0} % of that {words}", 100.0 * share(part))
        })
    }

    fn format_cpu_wait(&self) -> String {
        let mut words =
            format!("was ready but without a CPU {} of the time", self.percent(&[Part::RunQueue]));
        if let Some(cpus) = self.facts.cpu_ns.and_then(|ns| mean(ns, self.facts.wall_ns)) {
            let who = if self.facts.server { "server" } else { "process" };
            words +=
                &format!(": the {who} had {} of the machine's {} CPUs", number(cpus), self.cpus);
        }
        words
    }

    /// Describes stalls, with the device's load: it shows whether background work waits for it.
    fn format_stalls(&self) -> String {
        let percent = self.percent(&[Part::Stall]);
        let by = if self.facts.stalls_counted { "counts" } else { "reports" };
        let words = format!("lost {percent} of the time to the engine's stalls, as it {by} them");
        let Some(device) = self.facts.device else { return words };
        let busy = 100.0 * self.facts.busy().unwrap_or(0.0);
        let written = self.format_writes(&device);
        format!("{words}, while the device was busy for {busy:.0} %{written}")
    }

    /// Judges a wait for another thread; if that thread waits for the drive, a wait for the drive.
    fn judge_lock_wait(&self) -> (Cause, String) {
        let percent = self.percent(&[Part::Lock]);
        let mut words = format!("waited {percent} of the time for other threads (futex)");
        if let Some(each) = self.queued_for_flushes() {
            words += &format!(
                ": they queue for the single writer, which waits for the drive's flush ({})",
                self.format_flushes(each)
            );
            return (Cause::Flushes, words);
        }
        if let Some(busy) = self.facts.busy().filter(|busy| *busy >= MAIN) {
            words += &format!(", while the device was busy for {:.0} %", 100.0 * busy);
        }
        (Cause::Lock, words)
    }

    /// Flushes per write, where several threads write, none share a flush, and the drive flushes
    /// (or, without that time, is busy) most of the time: then threads wait behind a commit.
    fn queued_for_flushes(&self) -> Option<f64> {
        let each = self.facts.flushes_per_write().filter(|each| *each >= FLUSH_EACH)?;
        let flushing = self.facts.flushes.zip(self.facts.flush_ns_mean);
        let flushing = flushing.map(|(n, ns)| n * ns / self.facts.wall_ns.max(1.0));
        let most = flushing.or(self.facts.busy()).is_some_and(|share| share >= MAIN);
        (self.threads > 1 && self.may_be_flushes() && most).then_some(each)
    }

    fn turns(&self) -> String {
        let kinds: [(&[Part], &str); 8] = [
            (&[Part::User, Part::System], "computed for"),
            (&Part::AT_DEVICE, "waited for the device for"),
            (&[Part::RunQueue], "was ready but without a CPU for"),
            (&[Part::Stall], "lost to stalls"),
            (&[Part::Lock], "waited for other threads for"),
            (&[Part::Idle], "had nothing due for"),
            (&[Part::Network], "waited for another process for"),
            (&[Part::Other], "did something unknown for"),
        ];
        let mut parts_of_time: Vec<_> =
            kinds.into_iter().filter(|(parts, _)| self.time.share(parts) >= REPORTED_MIN).collect();
        parts_of_time.sort_by(|a, b| self.time.share(b.0).total_cmp(&self.time.share(a.0)));
        let words =
            parts_of_time.iter().map(|(parts, words)| format!("{words} {}", self.percent(parts)));
        let words: Vec<String> = words.collect();
        if words.is_empty() {
            return format!("{}: no part took a tenth of the time", self.subject);
        }
        format!("{} {} of the time", self.subject, list(&words))
    }

    /// Other parts of a tenth or more that distort a figure.
    fn format_other_parts(&self, cause: Cause) -> String {
        let mut words = Vec::new();
        let mut add = |main, part, text: &str| {
            if cause != main && self.time.share(&[part]) >= REPORTED_MIN {
                words.push(format!("{} {text}", self.percent(&[part])));
            }
        };
        add(Cause::Stalls, Part::Stall, "lost to the engine's stalls");
        add(Cause::NoCpu, Part::RunQueue, "ready but without a CPU");
        let at_device = self.time.share(&Part::AT_DEVICE);
        if cause == Cause::NoCpu && at_device >= REPORTED_MIN {
            words.push(format!("{} waiting for the device", self.percent(&Part::AT_DEVICE)));
        }
        if let Some(cpus) = self.cpus_of_engine() {
            let who = if self.facts.server { "server" } else { "engine's own threads" };
            words.push(format!("the {who} had {cpus:.1} CPUs"));
        }
        if words.is_empty() { String::new() } else { format!("; also {}", words.join("; ")) }
    }

    /// CPUs of the process's other threads, where there is only one role; or of the server.
    fn cpus_of_engine(&self) -> Option<f64> {
        let server = self.facts.server;
        let role_ns =
            if server { 0.0 } else { self.time.ns(Part::User) + self.time.ns(Part::System) };
        let cpus = (self.facts.cpu_ns? - role_ns) / self.facts.wall_ns.max(1.0);
        let alone = self.threads == self.facts.threads || server;
        (alone && cpus >= OWN_CPUS_MIN).then_some(cpus)
    }
}

/// `2.00`, `0.31`, `14`.
fn number(value: f64) -> String {
    if value < 9.995 { format!("{value:.2}") } else { format!("{value:.0}") }
}
