//! The reports of fio (`--output-format=json+`), as figures of a case.
//!
//! json+ has each latency distribution whole, in bins. fio's bins are 64 to a power of two and are
//! named by their middle, so a time from here is at most 1/128 (0.8 %) off; extremes and sums are
//! exact. Where fio was not asked for total latencies (`lat_percentiles=1`), its completion
//! latencies (clat) stand for them, which are shorter by the submission.
//!
//! Without `group_reporting` fio reports each of a job's threads by itself, each with the job's
//! options: here they are one job again. With it, several jobs may be one entry.

mod job;
#[cfg(test)]
mod tests;

pub use job::{Job, Side, number, slice};

use serde::Deserialize;
use std::collections::BTreeMap;

/// Places in a text that are tried as the beginning of a report.
const BEGINNINGS_MAX: usize = 64;

/// fio's name for the sum of all clients' jobs.
const ALL_CLIENTS: &str = "All clients";

/// A report.
#[derive(Clone, Debug, Deserialize)]
pub struct Report {
    /// `fio-3.33`.
    #[serde(rename = "fio version")]
    pub version: String,
    /// When the jobs ended, in seconds; `timestamp_ms` has milliseconds, which reports of clients
    /// lack.
    #[serde(default)]
    timestamp: u64,
    #[serde(default)]
    timestamp_ms: u64,
    /// Options of all jobs.
    #[serde(rename = "global options", default)]
    global: BTreeMap<String, String>,
    /// Its jobs, each once.
    #[serde(alias = "client_stats")]
    pub jobs: Vec<Job>,
}

impl Report {
    /// Parses a report. Other output of fio on the same stream (notes, its text output) is skipped.
    /// The error describes what was found in place of a report.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut first = None;
        for start in beginnings(text).take(BEGINNINGS_MAX) {
            let mut json = serde_json::Deserializer::from_str(&text[start..]);
            match Self::deserialize(&mut json) {
                Ok(report) => return Ok(report.merge_jobs()),
                Err(error) => _ = first.get_or_insert((start, error)),
            }
        }
        Err(match first {
            Some((start, error)) => {
                let line = text[..start].matches('\n').count() + error.line();
                let what = error.to_string();
                let what = what.split(" at line ").next().unwrap_or_default();
                if error.is_eof() {
                    format!("truncated JSON (line {line})")
                } else {
                    format!("other JSON: {what} (line {line})")
                }
            }
            None => kind(text).to_owned(),
        })
    }

    /// Returns when the jobs ended.
    pub fn ended_unix_ns(&self) -> u64 {
        let ms = self.timestamp_ms.max(self.timestamp.saturating_mul(1_000));
        ms.saturating_mul(1_000_000)
    }

    /// Merges the entries of each job, and adds the options that all jobs share.
    fn merge_jobs(mut self) -> Self {
        let mut jobs: Vec<Job> = Vec::new();
        let several = self.jobs.len() > 1;
        for mut job in std::mem::take(&mut self.jobs) {
            if several && job.client.is_some() && job.name == ALL_CLIENTS {
                continue;
            }
            for (name, value) in &self.global {
                job.options.entry(name.clone()).or_insert_with(|| value.clone());
            }
            match jobs.iter_mut().find(|other| other.is_same_job(&job)) {
                Some(other) => other.add(&job),
                None => jobs.push(job),
            }
        }
        Self { jobs, ..self }
    }
}

/// Returns the offsets at which a line begins with a brace: a report does so, and its contents are
/// indented.
fn beginnings(text: &str) -> impl Iterator<Item = usize> + '_ {
    let behind_lines = text.match_indices("\n{").map(|(offset, _)| offset + 1);
    text.starts_with('{').then_some(0).into_iter().chain(behind_lines)
}

/// The kind of a text without a report.
fn kind(text: &str) -> &'static str {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let section = |line: &str| line.starts_with('[') && line.ends_with(']');
    let first = lines().find(|line| !line.starts_with(['#', ';'])).unwrap_or_default();
    if lines().next().is_none() {
        "an empty file"
    } else if section(first) {
        "a job file"
    } else if lines().any(|line| line.matches(';').count() > 40) {
        "fio's terse output"
    } else if text.contains("IOPS=") {
        "fio's text output"
    } else {
        "a text without JSON"
    }
}
