//! The drive against fio, and the direct store against the drive: random 4 KiB reads of one file of
//! 1 GiB that was written completely, `O_DIRECT`, `io_uring` with registered file and buffers on
//! both sides, one thread.
//!
//! CPU time of the whole process, in kernel and user mode, per I/O: fio's from its own report, the
//! worker's from getrusage(2).

use super::tools::{identity, median, scratch};
use super::{Bench, REPEATS, SECOND};
use anyhow::{Context as _, ensure};
use kvdyno::running::runner::load_generator::random_reads;
use kvdyno::running::runner::solo::{Outcome, Solo, items_per_s};
use kvdyno_record::case::WorkerIdentity;
use kvdyno_record::engine::{Durability, Location, Value};
use kvdyno_record::protocol::Event;
use kvdyno_record::usage::ProcessUsage;
use kvdyno_record::workload::{
    Activity, Choice, Data, Key, KeyFormat, Load, LoadOrder, Mix, MixEntry, Op, Phase, Size,
    ValueShape,
};
use std::path::Path;
use std::process::Command;

const FILE_BYTES: u64 = 1 << 30;
const BLOCK_BYTES: u64 = 4096;
const DEPTHS: [u32; 3] = [1, 16, 128];
/// The direct store's bytes per block without its header.
const RECORD_BYTES: u64 = 4000;
const ONE_A_BLOCK: &[(&str, u64)] = &[("pack", 1)];
const WARMUP_S: u64 = 1;
const MEASURE_S: u64 = 3;

/// Common settings of all fio jobs.
const FIO: [&str; 12] = [
    "--name=peer",
    "--readonly",
    "--rw=randread",
    "--direct=1",
    "--ioengine=io_uring",
    "--fixedbufs=1",
    "--registerfiles=1",
    "--norandommap",
    "--randrepeat=0",
    "--time_based",
    "--thread",
    "--output-format=json",
];

/// Work at a depth, for this many seconds.
type Worked = fn(u32, u64) -> Mix;

/// The result of one run.
#[derive(Clone, Copy)]
struct Rate {
    per_s: f64,
    cpu_us: f64,
}

impl Bench {
    pub(crate) fn drive(&mut self) -> anyhow::Result<()> {
        let Ok(drive) = identity("drive") else {
            println!("drive: not built");
            return Ok(());
        };
        let volume = scratch()?;
        fill(&drive, volume.path())?;
        for depth in DEPTHS {
            let (mut rates, mut cpu) = (Vec::new(), Vec::new());
            let (mut rate_ratios, mut cpu_ratios) = (Vec::new(), Vec::new());
            for repeat in 0..REPEATS {
                // The order alternates, because the machine changes.
                let (ours, theirs) = if repeat % 2 == 0 {
                    let ours = ours(&drive, volume.path(), depth)?;
                    (ours, fio(volume.path(), depth)?)
                } else {
                    let theirs = fio(volume.path(), depth)?;
                    (ours(&drive, volume.path(), depth)?, theirs)
                };
                rates.push(ours.per_s);
                cpu.push(ours.cpu_us);
                if let Some(theirs) = theirs {
                    rate_ratios.push(ours.per_s / theirs.per_s);
                    cpu_ratios.push(ours.cpu_us / theirs.cpu_us);
                }
            }
            let name = format!("drive random reads, depth {depth}");
            let what = format!("4 KiB, io_uring, median of {REPEATS}");
            self.report(&name, median(&mut rates), "I/O/s", &what);
            self.report(&format!("{name}, CPU"), median(&mut cpu), "us/I/O", "");
            if rate_ratios.is_empty() {
                println!("{name} against fio: not on PATH");
                continue;
            }
            let what = "median of the ratios of interleaved repeats";
            self.report(&format!("{name} over fio"), median(&mut rate_ratios), "x", what);
            self.report(&format!("{name}, CPU over fio"), median(&mut cpu_ratios), "x", what);
        }
        Ok(())
    }
}

impl Bench {
    /// One record per block on either side, so that an operation is one I/O on both.
    pub(crate) fn direct(&mut self) -> anyhow::Result<()> {
        let (Ok(direct), Ok(drive)) = (identity("direct"), identity("drive")) else {
            println!("direct: not built");
            return Ok(());
        };
        let (store, volume) = (scratch()?, scratch()?);
        fill(&drive, volume.path())?;
        let records = Data { value: fixed_size(RECORD_BYTES), ..blocks(BLOCK_BYTES) };
        let load = Load { order: LoadOrder::Sequential, batch: 256, threads: 1, replay: None };
        run_with(
            &direct,
            ONE_A_BLOCK,
            store.path(),
            records.clone(),
            vec![Phase::new("load", Activity::Load(load))],
        )?;
        let works: [(&str, Worked); 2] = [("reads", reads), ("50/50 mix", half)];
        for (name, work) in works {
            for depth in [16, 128] {
                let mut ratios = Vec::new();
                for repeat in 0..REPEATS {
                    let store = || {
                        let phases = timed_phases(|seconds| work(depth, seconds));
                        run_with(&direct, ONE_A_BLOCK, store.path(), records.clone(), phases)
                    };
                    let bare = || {
                        let phases = timed_phases(|seconds| work(depth, seconds));
                        run(&drive, volume.path(), blocks(BLOCK_BYTES), phases)
                    };
                    let (store, bare) = if repeat % 2 == 0 {
                        let store = store()?;
                        (store, bare()?)
                    } else {
                        let bare = bare()?;
                        (store()?, bare)
                    };
                    ratios.push(rate(&store)?.per_s / rate(&bare)?.per_s);
                }
                let name = format!("direct random {name} over the drive, depth {depth}");
                let what = "median of the ratios of interleaved repeats";
                self.report(&name, median(&mut ratios), "x", what);
            }
        }
        Ok(())
    }
}

/// Writes the whole file.
fn fill(drive: &WorkerIdentity, volume: &Path) -> anyhow::Result<()> {
    const LARGE: u64 = 1 << 20;
    let load = Load { order: LoadOrder::Sequential, batch: 1, threads: 1, replay: None };
    run(drive, volume, blocks(LARGE), vec![Phase::new("load", Activity::Load(load))]).map(drop)
}

/// kvdyno's loop.
fn ours(drive: &WorkerIdentity, volume: &Path, depth: u32) -> anyhow::Result<Rate> {
    let phases = timed_phases(|seconds| reads(depth, seconds));
    rate(&run(drive, volume, blocks(BLOCK_BYTES), phases)?)
}

/// fio's result, or nothing if it is not installed.
fn fio(volume: &Path, depth: u32) -> anyhow::Result<Option<Rate>> {
    let file = volume.join("drive");
    let job = [
        format!("--filename={}", file.display()),
        format!("--iodepth={depth}"),
        format!("--bs={BLOCK_BYTES}"),
        format!("--size={FILE_BYTES}"),
        format!("--ramp_time={WARMUP_S}"),
        format!("--runtime={MEASURE_S}"),
    ];
    let output = match Command::new("fio").args(FIO).args(job).output() {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    ensure!(output.status.success(), "fio: {}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let job = &report["jobs"][0];
    let number = |value: &serde_json::Value| value.as_f64().context("fio left a number out");
    let busy = (number(&job["usr_cpu"])? + number(&job["sys_cpu"])?) / 100.0;
    let per_s = number(&job["read"]["iops"])?;
    Ok(Some(Rate { per_s, cpu_us: busy * 1e6 / per_s }))
}

fn blocks(bytes: u64) -> Data {
    Data {
        records: FILE_BYTES / bytes,
        key: Key::ordered(8, KeyFormat::Binary),
        value: fixed_size(bytes),
        seed: 1,
        verify: false,
        graph: None,
        from: None,
        packed: None,
    }
}

fn fixed_size(bytes: u64) -> ValueShape {
    ValueShape { size: Size::Fixed { bytes }, compress_to: 1.0 }
}

fn reads(depth: u32, seconds: u64) -> Mix {
    let mut mix = random_reads(1, seconds * SECOND);
    mix.roles[0].depth = Some(depth);
    mix
}

fn half(depth: u32, seconds: u64) -> Mix {
    let mut mix = reads(depth, seconds);
    let update = MixEntry::new(Op::Update, 1.0, Choice::Uniform);
    mix.roles[0].mix.push(update);
    mix
}

fn timed_phases(work: impl Fn(u64) -> Mix) -> Vec<Phase> {
    vec![
        Phase::new("warmup", Activity::Warmup(work(WARMUP_S))),
        Phase::new("measure", Activity::Measure(work(MEASURE_S))),
    ]
}

fn run(
    worker: &WorkerIdentity,
    volume: &Path,
    data: Data,
    phases: Vec<Phase>,
) -> anyhow::Result<Vec<Outcome>> {
    run_with(worker, &[], volume, data, phases)
}

fn run_with(
    worker: &WorkerIdentity,
    options: &[(&str, u64)],
    volume: &Path,
    data: Data,
    phases: Vec<Phase>,
) -> anyhow::Result<Vec<Outcome>> {
    let dir = scratch()?;
    let solo = Solo {
        worker,
        options: options.iter().map(|(name, value)| (*name, Value::Integer(*value))).collect(),
        durability: Durability::Async,
        data,
        phases,
        location: Location::Directory(volume.to_owned()),
        dir: dir.path(),
    };
    solo.run()
}

/// Of the last phase.
fn rate(outcomes: &[Outcome]) -> anyhow::Result<Rate> {
    let outcome = outcomes.last().context("no phase")?;
    let Event::Finished { usage_before, usage, roles, .. } = &outcome.finished else {
        anyhow::bail!("no figures");
    };
    let count: u64 = roles.iter().flat_map(|role| role.ops.values()).map(|op| op.count).sum();
    let cpu_ns = |usage: &ProcessUsage| usage.user_ns + usage.system_ns;
    let spent_ns = cpu_ns(usage) - cpu_ns(usage_before);
    Ok(Rate { per_s: items_per_s(outcome), cpu_us: spent_ns as f64 / 1e3 / count.max(1) as f64 })
}
