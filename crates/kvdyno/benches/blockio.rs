//! The cost of recording block I/O in the kernel: fio's random reads with and without it, in turns,
//! as ratios; and the CPU time of the kernel programs. Needs root and fio.
//!
//! `cargo bench -p kvdyno --bench blockio -- [DIR] [PAIRS]`

#![expect(clippy::print_stdout, reason = "it is what a benchmark does")]

use kvdyno_blockio::BlockWatch;
use kvdyno_host::{Root, Storage};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

const STATISTICS: &str = "/proc/sys/kernel/bpf_stats_enabled";

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let dir = words.first().map_or("/var/tmp", String::as_str);
    let pairs: usize = words.get(1).map_or(Ok(40), |word| word.parse())?;
    let root = Root::system();
    let volume = Storage::from_path(&root, Path::new(dir))?;
    let device = volume.device.map_err(anyhow::Error::msg)?;
    let dir = tempfile::tempdir_in(dir)?;
    let file = dir.path().join("fio");
    fio(&file, 32, "--rw=write --bs=1M --runtime=60 --time_based=0 --end_fsync=1")?;
    for depth in [32, 1] {
        let mut ratios = Vec::new();
        for pair in 0..pairs {
            let run = |on: bool| -> anyhow::Result<f64> {
                let watch = on.then(|| BlockWatch::start(&root, &device, None)).transpose()?;
                let iops = fio(&file, depth, "--rw=randread --bs=4k --runtime=1 --time_based=1")?;
                drop(watch);
                Ok(iops)
            };
            // The order alternates.
            let (on, off) = if pair % 2 == 0 {
                let on = run(true)?;
                (on, run(false)?)
            } else {
                let off = run(false)?;
                (run(true)?, off)
            };
            ratios.push(on / off);
        }
        ratios.sort_by(f64::total_cmp);
        // For the median: ranks of its 95 % interval, by the binomial's normal approximation.
        let half = 0.98 * (pairs as f64).sqrt();
        let rank = |at: f64| ratios[at.round().clamp(0.0, pairs as f64 - 1.0) as usize];
        let middle = (pairs as f64 - 1.0) / 2.0;
        let (low, median, high) = (rank(middle - half), rank(middle), rank(middle + half));
        println!(
            "depth {depth}: median ratio of {pairs} pairs {median:.4} ({low:.4} to {high:.4})"
        );
    }
    let begun = Instant::now();
    let watch = BlockWatch::start(&root, &device, None)?;
    println!("loaded and attached in {:.1} ms", begun.elapsed().as_secs_f64() * 1e3);
    std::fs::write(STATISTICS, "1")?;
    let done = fio(&file, 32, "--rw=randread --bs=4k --runtime=3 --time_based=1");
    std::fs::write(STATISTICS, "0")?;
    done?;
    for (program, run_ns, runs) in watch.run_times()? {
        println!("{program}: {:.0} ns, {runs} runs", run_ns as f64 / runs.max(1) as f64);
    }
    let begun = Instant::now();
    let io = watch.read()?;
    println!("read in {:.0} us", begun.elapsed().as_secs_f64() * 1e6);
    println!("requests {}, lost {:?}", io.cells.iter().map(|c| c.count).sum::<u64>(), io.lost);
    Ok(())
}

/// Operations per second of one job.
fn fio(file: &Path, depth: u32, job: &str) -> anyhow::Result<f64> {
    let mut command = Command::new("fio");
    command.args(["--name=job", "--size=512M", "--direct=1", "--output-format=json"]);
    command.args(["--ioengine=libaio", "--group_reporting"]).arg(format!("--iodepth={depth}"));
    command.arg(format!("--filename={}", file.display())).args(job.split(' '));
    let output = command.output()?;
    anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let job = &report["jobs"][0];
    let iops = |side: &str| job[side]["iops"].as_f64().unwrap_or(0.0);
    Ok(iops("read") + iops("write"))
}
