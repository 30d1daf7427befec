//! The overhead of the load generator: the null engine, and a plan of a billion records.

use super::tools::{identity, median, scratch};
use super::{Bench, REPEATS, SECOND};
use anyhow::{Context as _, ensure};
use kvdyno::running::runner::load_generator::{random_reads, small_records};
use kvdyno::running::runner::solo::{Solo, items_per_s};
use kvdyno_record::case::WorkerIdentity;
use kvdyno_record::engine::{Durability, Location};
use kvdyno_record::workload::{Activity, Choice, Domain, Phase};
use std::process::Command;
use std::time::Instant;

const RECORDS: u64 = 1_000_000;

impl Bench {
    pub(crate) fn load_generator(&mut self) -> anyhow::Result<()> {
        let null = identity("null")?;
        let (mut one, mut ratios, mut floors) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..REPEATS {
            floors.push(clock_ns());
            let single = reads(&null, 1)?;
            let double = reads(&null, 2)?;
            one.push(1e9 / single);
            ratios.push(double / single);
        }
        let floor = format!(
            "median of {REPEATS}; one reading of the clock alone: {:.1} ns",
            median(&mut floors)
        );
        self.report("null 1 thread", median(&mut one), "ns/op", &floor);
        self.report(
            "null 2 threads over 1",
            median(&mut ratios),
            "x",
            "median of interleaved repeats",
        );
        Ok(())
    }

    /// A plan of a billion records, and the way to its first operation.
    pub(crate) fn plan(&mut self) -> anyhow::Result<()> {
        let null = identity("null")?;
        let (mut seconds, mut peaks) = (Vec::new(), Vec::new());
        for _ in 0..REPEATS {
            let dir = scratch()?;
            let started = Instant::now();
            let mut mix = random_reads(1, SECOND / 1000);
            mix.roles[0].mix[0].keys = Choice::Zipf { theta: 0.99, domain: Domain::Loaded };
            let solo = Solo {
                worker: &null,
                options: Vec::new(),
                durability: Durability::None,
                data: small_records(1_000_000_000),
                phases: vec![Phase::new("measure", Activity::Measure(mix))],
                location: Location::Directory(dir.path().to_owned()),
                dir: dir.path(),
            };
            let outcomes = solo.run()?;
            seconds.push(started.elapsed().as_secs_f64());
            peaks.push(outcomes[0].before.rss_peak_bytes as f64 / f64::from(1 << 20));
        }
        let what =
            format!("worker start, 1 ms of Zipf reads over 10^9 records, end; median of {REPEATS}");
        self.report("a billion records, start to end", median(&mut seconds), "s", &what);
        self.report(
            "a billion records, memory before the first operation",
            median(&mut peaks),
            "MiB",
            "",
        );
        let program = env!("CARGO_BIN_EXE_kvdyno");
        let mut seconds = Vec::new();
        for _ in 0..REPEATS {
            let started = Instant::now();
            let plan = ["plan", "quick", "--engine", "null", "--set", "data.records=1G", "--json"];
            let output = Command::new(program).args(plan).output()?;
            let text = String::from_utf8_lossy(&output.stdout);
            ensure!(
                text.contains("1000000000"),
                "the plan failed: {}",
                String::from_utf8_lossy(&output.stderr)
            );
            seconds.push(started.elapsed().as_secs_f64());
        }
        self.report("a billion records, kvdyno plan", median(&mut seconds), "s", "");
        Ok(())
    }
}

pub(super) fn reads(null: &WorkerIdentity, threads: u32) -> anyhow::Result<f64> {
    let dir = scratch()?;
    let solo = Solo {
        worker: null,
        options: Vec::new(),
        durability: Durability::None,
        data: small_records(RECORDS),
        phases: vec![Phase::new("measure", Activity::Measure(random_reads(threads, SECOND)))],
        location: Location::Directory(dir.path().to_owned()),
        dir: dir.path(),
    };
    Ok(items_per_s(solo.run()?.last().context("no phase")?))
}

/// One reading of the clock that the hot loop uses on this architecture.
fn clock_ns() -> f64 {
    const READINGS: u32 = 5_000_000;
    let started = Instant::now();
    for _ in 0..READINGS {
        #[cfg(target_arch = "x86_64")]
        #[expect(unsafe_code, reason = "the counter's only door")]
        // SAFETY: RDTSC reads a register; it has no precondition on x86-64.
        std::hint::black_box(unsafe { core::arch::x86_64::_rdtsc() });
        #[cfg(not(target_arch = "x86_64"))]
        std::hint::black_box(Instant::now());
    }
    started.elapsed().as_nanos() as f64 / f64::from(READINGS)
}
