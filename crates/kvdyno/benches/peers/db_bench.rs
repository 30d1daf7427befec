//! The suite `db_bench` against `db_bench`, with the same flags: the rate of each phase, and the
//! share of random keys that are found. One thread, all in memory, one process from the load to the
//! last phase.

use super::engines::{output, rate};
use super::tools::{identity, median, scratch};
use super::{Bench, REPEATS};
use anyhow::{Context as _, ensure};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Flags of both. Differing defaults are set.
const FLAGS: [&str; 11] = [
    "--benchmarks=fillrandom,readrandom,readwhilewriting,seekrandom,updaterandom,overwrite",
    "--num=1000000",
    "--key_size=16",
    "--value_size=100",
    "--threads=1",
    // By operations: a duration would also end db_bench's load, with fewer records.
    "--reads=1000000",
    "--seek_nexts=10",
    "--compression_type=none",
    "--bloom_bits=10",
    "--cache_size=1073741824",
    "--enable_pipelined_write=false",
];

const PHASES: [&str; 5] =
    ["readrandom", "readwhilewriting", "seekrandom", "updaterandom", "overwrite"];

impl Bench {
    pub(crate) fn db_bench(&mut self) -> anyhow::Result<()> {
        if identity("rocksdb").is_err() {
            println!("db_bench: rocksdb is not built");
            return Ok(());
        }
        let mut ratios: Vec<Vec<f64>> = vec![Vec::new(); PHASES.len()];
        let mut hit_percents = [Vec::new(), Vec::new()];
        for _ in 0..REPEATS {
            let dir = scratch()?;
            let Some(theirs) = theirs(dir.path())? else {
                println!("db_bench: not on PATH");
                return Ok(());
            };
            let ours = ours(dir.path())?;
            for (phase, ratios) in PHASES.iter().zip(&mut ratios) {
                ratios.push(phase_figure(&ours, phase, "ops_per_s")? / rate(&theirs, phase, 0)?);
            }
            hit_percents[0].push(phase_figure(&ours, "readrandom", "found_percent")?);
            hit_percents[1].push(found_percent(&theirs)?);
        }
        let what = "by the same flags, median of the ratios of interleaved repeats";
        for (phase, mut ratios) in PHASES.iter().zip(ratios) {
            self.report(&format!("{phase} over db_bench's"), median(&mut ratios), "x", what);
        }
        let [ours, theirs] = hit_percents.each_mut().map(|percent| median(percent));
        self.report("found after fillrandom", ours, "%", &format!("db_bench: {theirs:.2} %"));
        Ok(())
    }
}

fn theirs(dir: &Path) -> anyhow::Result<Option<String>> {
    let database = format!("--db={}", dir.join("peer").display());
    output(Path::new("db_bench"), std::iter::once(database.as_str()).chain(FLAGS))
}

/// The summary of a run.
fn ours(dir: &Path) -> anyhow::Result<Value> {
    let run = Command::new(env!("CARGO_BIN_EXE_kvdyno"))
        .args(["run", "db_bench", "--engine", "rocksdb", "--trials", "1", "--json"])
        // Without a copy of the loaded database, and in the process that loaded it.
        .args(["--set", "run.database=fresh", "--set-db_bench", &FLAGS.join(" ")])
        .arg("--runs")
        .arg(dir.join("runs"))
        .output()?;
    let stderr = String::from_utf8_lossy(&run.stderr);
    ensure!(run.status.success(), "kvdyno run db_bench: {stderr}");
    serde_json::from_slice(&run.stdout).context("the summary of the run")
}

/// A figure of a phase's first role.
fn phase_figure(summary: &Value, phase: &str, figure: &str) -> anyhow::Result<f64> {
    let groups = summary["groups"].as_array().into_iter().flatten();
    let runs = groups.flat_map(|group| group["runs"].as_array().into_iter().flatten());
    let run = runs.filter(|run| run["phase"] == phase).find_map(|run| run["roles"].get(0));
    let metrics = run.and_then(|role| role["metrics"].as_array()).into_iter().flatten();
    let value = metrics.filter(|metric| metric["name"] == figure).find_map(|m| m["value"].as_f64());
    value.with_context(|| format!("no {figure} of {phase}"))
}

/// Of `readrandom`: `(63212 of 100000 found)`.
fn found_percent(text: &str) -> anyhow::Result<f64> {
    let line = text.lines().find(|line| line.starts_with("readrandom") && line.contains("found)"));
    let line = line.context("db_bench does not say what it found")?;
    let (_, counts) = line.rsplit_once('(').context("no counts")?;
    let counts: Vec<f64> = counts.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    ensure!(counts.len() == 2, "counts of {line}");
    Ok(100.0 * counts[0] / counts[1])
}
