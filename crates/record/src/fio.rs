//! What fio reports (`--output-format=json+`), as the figures of a case.
//!
//! json+ has each latency distribution whole, in bins: fio's are 64 to a power of two and are told
//! by their middle, so a time from here is at most 1/128 (0.8 %) off; extremes and sums are exact.
//! Where fio was not asked for total latencies (`lat_percentiles=1`), those until the answer
//! (clat) stand for them, which are shorter by the handing over.
//!
//! Without `group_reporting` fio reports each of a job's threads by itself, each with the job's
//! options: here they are one job again.

use crate::case::{OpResult, RoleResult};
use crate::hlog::{self, Kind};
use crate::series::{Slice, SliceCounts};
use crate::usage::ProcessUsage;
use hdrhistogram::Histogram;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A report.
#[derive(Clone, Debug, Deserialize)]
pub struct Report {
    /// `fio-3.33`.
    #[serde(rename = "fio version")]
    pub version: String,
    /// When it ended.
    #[serde(default)]
    pub timestamp_ms: u64,
    /// For all jobs.
    #[serde(rename = "global options", default)]
    global: BTreeMap<String, String>,
    /// Its jobs, each once.
    pub jobs: Vec<Job>,
}

/// A job with all its threads.
#[derive(Clone, Debug, Deserialize)]
pub struct Job {
    /// Its name.
    #[serde(rename = "jobname")]
    pub name: String,
    /// Which of the groups that work one after another.
    #[serde(rename = "groupid", default)]
    group: u64,
    /// How many entries of the report it was.
    #[serde(skip, default = "one")]
    pub entries: u32,
    /// The system's number of what ended it; zero: nothing did.
    pub error: i32,
    /// As it was asked for.
    #[serde(rename = "job options", default)]
    pub options: BTreeMap<String, String>,
    /// What was read.
    pub read: Side,
    /// What was written.
    pub write: Side,
    /// Of all its threads together, in milliseconds.
    #[serde(rename = "job_runtime")]
    runtime_ms: u64,
    /// Shares of that, in percent.
    usr_cpu: f64,
    sys_cpu: f64,
    ctx: u64,
    majf: u64,
    minf: u64,
}

/// Reads or writes.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Side {
    /// How many.
    pub total_ios: u64,
    /// How much.
    pub io_bytes: u64,
    /// For how long, in milliseconds.
    pub runtime: u64,
    #[serde(default)]
    lat_ns: Times,
    #[serde(default)]
    slat_ns: Times,
    #[serde(default)]
    clat_ns: Times,
}

/// A distribution of times.
#[derive(Clone, Debug, Default, Deserialize)]
struct Times {
    #[serde(default)]
    max: u64,
    #[serde(default)]
    mean: f64,
    #[serde(rename = "N", default)]
    samples: u64,
    /// How many by the middle of their bin.
    #[serde(default)]
    bins: BTreeMap<String, u64>,
}

fn one() -> u32 {
    1
}

impl Times {
    fn add(&mut self, more: &Self) {
        let samples = self.samples + more.samples;
        let sum = self.mean * self.samples as f64 + more.mean * more.samples as f64;
        self.mean = sum / samples.max(1) as f64;
        self.samples = samples;
        self.max = self.max.max(more.max);
        for (middle, count) in &more.bins {
            *self.bins.entry(middle.clone()).or_default() += count;
        }
    }

    fn histogram(&self) -> Histogram<u64> {
        let mut histogram = hlog::histogram();
        for (middle, count) in &self.bins {
            if let Ok(ns) = middle.parse() {
                histogram.saturating_record_n(ns, *count);
            }
        }
        histogram
    }
}

impl Report {
    /// Reads one. What fio says before it (it prints notes on the same stream) is passed over.
    pub fn parse(text: &str) -> Result<Self, String> {
        let start = text.find('{').ok_or("it has no JSON: --output-format=json+ writes it")?;
        let mut report: Self =
            serde_json::from_str(&text[start..]).map_err(|error| format!("not fio's: {error}"))?;
        for job in &mut report.jobs {
            for (name, value) in &report.global {
                job.options.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
        let mut jobs: Vec<Job> = Vec::new();
        for job in std::mem::take(&mut report.jobs) {
            match jobs.iter_mut().find(|other| other.is_of(&job)) {
                Some(other) => other.add(&job),
                None => jobs.push(job),
            }
        }
        report.jobs = jobs;
        Ok(report)
    }
}

impl Job {
    /// Another thread of the same job.
    fn is_of(&self, other: &Self) -> bool {
        (&self.name, self.group, &self.options) == (&other.name, other.group, &other.options)
    }

    fn add(&mut self, more: &Self) {
        self.entries += 1;
        self.error = if self.error == 0 { more.error } else { self.error };
        self.read.add(&more.read);
        self.write.add(&more.write);
        let [ours, theirs] = [self.runtime_ms as f64, more.runtime_ms as f64];
        let share = |one: f64, other: f64| (one * ours + other * theirs) / (ours + theirs).max(1.0);
        self.usr_cpu = share(self.usr_cpu, more.usr_cpu);
        self.sys_cpu = share(self.sys_cpu, more.sys_cpu);
        self.runtime_ms += more.runtime_ms;
        self.ctx += more.ctx;
        self.majf += more.majf;
        self.minf += more.minf;
    }

    /// An operation ends before the next begins, whatever `iodepth` says. So it is where no engine
    /// was named: fio's own choice is psync.
    pub fn is_synchronous(&self) -> bool {
        let engine = self.option("ioengine").unwrap_or("psync");
        matches!(engine, "sync" | "psync" | "vsync" | "pvsync" | "pvsync2" | "mmap")
    }

    /// An option as it was given.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.get(name).map(String::as_str)
    }

    /// How long it worked.
    pub fn window_ns(&self) -> u64 {
        self.read.runtime.max(self.write.runtime) * 1_000_000
    }

    /// Each latency distribution with its tag. None: the report is `json`, not `json+`.
    pub fn histograms(&self, phase: &str, role: &str) -> Vec<(String, Histogram<u64>)> {
        let mut all = Vec::new();
        for (op, side) in self.sides() {
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
        all
    }

    /// Its counts, as a role's.
    pub fn role(&self, name: &str, threads: u32) -> RoleResult {
        let ops = self.sides().map(|(op, side)| (op.to_owned(), side.result(op == "update")));
        RoleResult {
            role: name.to_owned(),
            threads,
            window_ns: self.window_ns(),
            offered_per_s: None,
            windows: Vec::new(),
            backlog: 0,
            own_ns: 0,
            usage: None,
            ops: ops.collect(),
        }
    }

    /// Its counts, as the one slice of a phase: fio tells of a job as a whole.
    pub fn slice(&self, phase: &str, role: &str) -> Slice {
        let counts = |(op, side): (&str, &Side)| {
            let OpResult { count, service_ns, service_ns_max, .. } = side.result(op == "update");
            let errors = 0;
            (op.to_owned(), SliceCounts { count, service_ns, service_ns_max, errors })
        };
        let roles = BTreeMap::from([(role.to_owned(), self.sides().map(counts).collect())]);
        let length_ns = self.window_ns();
        Slice { phase: phase.to_owned(), slice: 0, start_ns: 0, length_ns, roles }
    }

    /// What its threads used, by fio's own account: fio's start and end are not in it.
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

    /// What was done, by the operations' names here.
    fn sides(&self) -> impl Iterator<Item = (&'static str, &Side)> {
        let sides = [("get", &self.read), ("update", &self.write)];
        sides.into_iter().filter(|(_, side)| side.total_ios > 0)
    }
}

impl Side {
    fn add(&mut self, more: &Self) {
        self.total_ios += more.total_ios;
        self.io_bytes += more.io_bytes;
        self.runtime = self.runtime.max(more.runtime);
        self.lat_ns.add(&more.lat_ns);
        self.slat_ns.add(&more.slat_ns);
        self.clat_ns.add(&more.clat_ns);
    }

    fn total(&self) -> &Times {
        if self.lat_ns.bins.is_empty() { &self.clat_ns } else { &self.lat_ns }
    }

    fn result(&self, writes: bool) -> OpResult {
        let total = self.total();
        let (read_bytes, write_bytes) =
            if writes { (0, self.io_bytes) } else { (self.io_bytes, 0) };
        OpResult {
            count: self.total_ios,
            found: if writes { 0 } else { self.total_ios },
            items: self.total_ios,
            read_bytes,
            write_bytes,
            service_ns: (total.mean * total.samples as f64) as u64,
            service_ns_max: total.max,
            ..OpResult::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made by fio 3.33 on the development machine; its percentiles are fio's own words.
    const MIX: &str = include_str!("../../../fixtures/fio/mix-3.33.json");

    #[test]
    fn a_report_becomes_counts_and_the_same_percentiles() {
        let report = Report::parse(MIX).unwrap();
        let plain: serde_json::Value = serde_json::from_str(MIX).unwrap();
        assert_eq!((report.version.as_str(), report.jobs.len()), ("fio-3.33", 1));
        let job = &report.jobs[0];
        assert_eq!((job.option("rw"), job.option("iodepth")), (Some("randrw"), Some("4")));
        let role = job.role("mixed", 2);
        let histograms: BTreeMap<_, _> = job.histograms("measure", "mixed").into_iter().collect();
        assert_eq!(histograms.len(), 6);
        for (op, side) in [("get", "read"), ("update", "write")] {
            let theirs = &plain["jobs"][0][side];
            let ours = &role.ops[op];
            assert_eq!(ours.count, theirs["total_ios"].as_u64().unwrap());
            assert_eq!(ours.read_bytes + ours.write_bytes, theirs["io_bytes"].as_u64().unwrap());
            assert_eq!(ours.service_ns_max, theirs["lat_ns"]["max"].as_u64().unwrap());
            for (kind, name) in
                [("service", "lat_ns"), ("submit", "slat_ns"), ("completion", "clat_ns")]
            {
                let histogram = &histograms[&format!("measure/mixed/{op}/{kind}")];
                assert_eq!(histogram.len(), theirs[name]["N"].as_u64().unwrap());
                for (percent, value) in theirs[name]["percentile"].as_object().unwrap() {
                    let percent: f64 = percent.parse().unwrap();
                    let (ours, theirs) =
                        (histogram.value_at_percentile(percent), value.as_f64().unwrap());
                    // Theirs is a bin's middle as well, and ours is of a bin of 1/1000.
                    let error = (ours as f64 - theirs).abs() / theirs;
                    assert!(error < 0.02, "{op} {name} p{percent}: {ours} and {theirs}");
                }
            }
        }
        let usage = job.usage();
        let percent = plain["jobs"][0]["usr_cpu"].as_f64().unwrap();
        let runtime_ms = plain["jobs"][0]["job_runtime"].as_f64().unwrap();
        assert_eq!(usage.user_ns, (percent / 100.0 * runtime_ms * 1e6) as u64);
    }

    /// By fio 3.33 as well: `--numjobs=2` without `--group_reporting`; of each entry what is read.
    const TWO: &str = include_str!("../../../fixtures/fio/two-jobs-3.33.json");

    #[test]
    fn the_threads_of_a_job_are_one_job() {
        let plain: serde_json::Value = serde_json::from_str(TWO).unwrap();
        let entries = plain["jobs"].as_array().unwrap();
        let report = Report::parse(TWO).unwrap();
        assert_eq!((entries.len(), report.jobs.len()), (2, 1));
        let job = &report.jobs[0];
        assert_eq!((job.entries, job.is_synchronous()), (2, true));
        let sum = |value: fn(&serde_json::Value) -> f64| entries.iter().map(value).sum::<f64>();
        let total = |count: fn(&serde_json::Value) -> &serde_json::Value| -> u64 {
            entries.iter().map(|entry| count(entry).as_u64().unwrap()).sum()
        };
        let result = &job.role("reads", 2).ops["get"];
        let count = total(|entry| &entry["read"]["total_ios"]);
        assert_eq!(result.count, count);
        assert_eq!(job.histograms("measure", "reads")[0].1.len(), count);
        let latency = |entry: &serde_json::Value| {
            let times = &entry["read"]["lat_ns"];
            times["mean"].as_f64().unwrap() * times["N"].as_f64().unwrap()
        };
        assert!((result.service_ns as f64 / sum(latency) - 1.0).abs() < 1e-6);
        let longest = entries.iter().map(|entry| entry["read"]["lat_ns"]["max"].as_u64());
        assert_eq!(Some(result.service_ns_max), longest.max().unwrap());
        let user_ns = sum(|entry| {
            let runtime_ms = entry["job_runtime"].as_f64().unwrap();
            entry["usr_cpu"].as_f64().unwrap() / 100.0 * runtime_ms * 1e6
        });
        assert!((job.usage().user_ns as f64 - user_ns).abs() < 2.0);
        assert_eq!(job.usage().voluntary_switches, total(|entry| &entry["ctx"]));
        assert!(job.window_ns() < 1_100_000_000, "they worked at the same time");
    }

    #[test]
    fn notes_before_the_report_are_passed_over_and_nonsense_is_not() {
        assert!(Report::parse(&format!("fio: this is a note\n{MIX}")).is_ok());
        assert!(Report::parse("fio: no such file").unwrap_err().contains("json+"));
        assert!(Report::parse("{\"jobs\": 5}").unwrap_err().starts_with("not fio's"));
    }
}
