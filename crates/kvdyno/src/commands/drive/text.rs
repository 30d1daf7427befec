//! The suite that `kvdyno drive` writes: text, so that it can be read, copied and changed.

use crate::cli::{DriveArgs, DrivePreset, DriveRw, DriveWay};
use kvdyno_record::units::parse_duration;

/// SNIA PTS 2.0.2, IOPS test: shares of reads, from all to none.
const SNIA_READS: [u32; 7] = [100, 95, 65, 50, 35, 5, 0];
/// And sizes of a block.
const SNIA_BLOCKS: [&str; 8] =
    ["1MiB", "128KiB", "64KiB", "32KiB", "16KiB", "8KiB", "4KiB", "512B"];
/// Twice the capacity in order: its workload-independent preconditioning.
const SNIA_PASSES: u32 = 2;
/// The fewest rounds that can be steady.
const SNIA_ROUNDS: u32 = 5;
/// What its enterprise edition keeps in flight.
const SNIA_THREADS: u32 = 4;
const SNIA_DEPTH: u32 = 32;
/// Jobs that are no longer are shown in finer slices: five of them at least are looked at.
const SHORT_NS: u64 = 60_000_000_000;

/// The suite.
pub(super) fn suite(args: &DriveArgs, cpus: u32) -> String {
    let mut text = Text { text: String::new(), options: options(args) };
    text.head(args);
    text.section(args, cpus);
    match args.preset {
        None => text.free(args),
        Some(DrivePreset::Ceiling) => {}
        Some(DrivePreset::Selectel) => text.selectel(args.read_only),
        Some(DrivePreset::Raidix) => text.raidix(args.read_only),
        Some(DrivePreset::SniaIops) => text.snia(),
    }
    text.text
}

/// What every `io_uring` job is told.
fn options(args: &DriveArgs) -> Option<String> {
    let asked = [("sqpoll", args.sqpoll), ("iopoll", args.iopoll)];
    let asked: Vec<String> =
        asked.iter().filter(|(_, on)| *on).map(|(name, _)| format!("{name} = true")).collect();
    (!asked.is_empty()).then(|| format!("options = {{ {} }}", asked.join(", ")))
}

/// The numbers of threads that are swept; one: nothing is.
fn threads(args: &DriveArgs, cpus: u32) -> Vec<u32> {
    if !args.threads.is_empty() {
        return args.threads.clone();
    }
    if args.preset != Some(DrivePreset::Ceiling) {
        return vec![1];
    }
    let doubled = std::iter::successors(Some(1_u32), |threads| threads.checked_mul(2));
    doubled.take_while(|threads| *threads <= cpus.max(1)).collect()
}

/// How long each job is measured.
fn duration(args: &DriveArgs) -> &str {
    let snia = args.preset == Some(DrivePreset::SniaIops);
    let given = args.round.as_deref().filter(|_| snia).or(args.duration.as_deref());
    given.unwrap_or(match args.preset {
        None => "10s",
        Some(DrivePreset::SniaIops) => "60s",
        Some(_) => "30s",
    })
}

/// A job in the making.
#[derive(Clone)]
struct Job<'a> {
    name: String,
    way: DriveWay,
    rw: &'a str,
    read_share: Option<String>,
    block: &'a str,
    depth: u32,
    threads: Option<u32>,
}

struct Text {
    text: String,
    options: Option<String>,
}

impl Text {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn head(&mut self, args: &DriveArgs) {
        let (name, title) = title(args.preset);
        self.line("# Written by `kvdyno drive`; docs/drive.md says what it measures.");
        self.line("[suite]");
        self.line(&format!("name = \"{name}\""));
        self.line(&format!("title = \"{title}\"\n"));
        self.line("[run]");
        if args.preset == Some(DrivePreset::SniaIops) {
            self.line("# Rounds.");
            self.line(&format!("trials = {}", args.rounds.unwrap_or(SNIA_ROUNDS)));
        } else {
            self.line(&format!("trials = {}", args.trials));
        }
        if parse_duration(duration(args)).is_ok_and(|ns| ns <= SHORT_NS) {
            self.line("slice = \"100ms\"");
        }
    }

    /// What holds for all jobs.
    fn section(&mut self, args: &DriveArgs, cpus: u32) {
        let snia = args.preset == Some(DrivePreset::SniaIops);
        let threads = threads(args, cpus);
        if threads.len() > 1 {
            self.line(&format!("threads = {threads:?}"));
        }
        self.line("\n[drive]");
        self.line(&format!("size = {:?}", args.size));
        if args.preset == Some(DrivePreset::Ceiling) {
            self.line("preset = \"ceiling\"");
        }
        let passes = args.precondition.or_else(|| snia.then_some(SNIA_PASSES));
        if let Some(passes) = passes.filter(|_| !args.read_only) {
            self.line("# Times that all of it is written, in order, before anything is measured.");
            self.line(&format!("precondition = {passes}"));
        }
        if args.read_only {
            self.line("# What is there is read, and nothing is written.");
            self.line("read_only = true");
        }
        if args.with_fio {
            self.line("# Every job by fio as well.");
            self.line("with_fio = true");
        }
        match threads[..] {
            [only] => self.line(&format!("threads = {only}")),
            _ => self.line("threads = \"sweep\""),
        }
        self.line(&format!("duration = {:?}", duration(args)));
        if snia {
            self.line("in_order = true");
        } else {
            self.line(&format!("warmup = {:?}", args.warmup));
        }
    }

    fn job(&mut self, job: &Job) {
        self.line("\n[[drive.job]]");
        self.line(&format!("name = \"{}\"", job.name));
        self.line(&format!("io = \"{}\"", way_word(job.way)));
        self.line(&format!("rw = \"{}\"", job.rw));
        if let Some(share) = &job.read_share {
            self.line(&format!("read_share = {share:?}"));
        }
        self.line(&format!("block = {:?}", job.block));
        if let Some(threads) = job.threads {
            self.line(&format!("threads = {threads}"));
        }
        if job.way == DriveWay::IoUring {
            self.line(&format!("depth = {}", job.depth));
            if let Some(options) = self.options.clone() {
                self.line(&options);
            }
        }
    }

    /// A job for each of what was asked for.
    fn free(&mut self, args: &DriveArgs) {
        for &way in &args.io {
            let depths = if way == DriveWay::IoUring { &args.depth[..] } else { &[1] };
            for rw in args.rw.iter().map(|rw| word(*rw)) {
                let share = args.read_share.clone().filter(|_| rw == "randrw" || rw == "rw");
                for block in &args.block {
                    for &depth in depths {
                        let name = name(rw, block, way, depth);
                        let read_share = share.clone();
                        self.job(&Job { name, way, rw, read_share, block, depth, threads: None });
                    }
                }
            }
        }
    }

    fn selectel(&mut self, read_only: bool) {
        let way = DriveWay::IoUring;
        let kinds = if read_only { &["randread"][..] } else { &["randread", "randwrite"] };
        for (block, depth) in [("4KiB", 128), ("4MiB", 32), ("4KiB", 16), ("4KiB", 1)] {
            for &rw in kinds {
                let name = name(rw, block, way, depth);
                self.job(&Job { name, way, rw, read_share: None, block, depth, threads: Some(1) });
            }
        }
    }

    fn raidix(&mut self, read_only: bool) {
        let mixes = if read_only { &[100][..] } else { &[100, 70, 50, 30, 0] };
        for &reads in mixes {
            let name = format!("mix-{reads}-{}", 100 - reads);
            self.mixed(name, reads, "4KiB", 32, 8);
        }
    }

    fn snia(&mut self) {
        for reads in SNIA_READS {
            for block in SNIA_BLOCKS {
                let name = format!("rw{reads}-{}", short(block));
                self.mixed(name, reads, block, SNIA_DEPTH, SNIA_THREADS);
            }
        }
    }

    fn mixed(&mut self, name: String, reads: u32, block: &str, depth: u32, threads: u32) {
        let (rw, read_share) = match reads {
            100 => ("randread", None),
            0 => ("randwrite", None),
            share => ("randrw", Some(format!("{share}%"))),
        };
        let (way, threads) = (DriveWay::IoUring, Some(threads));
        self.job(&Job { name, way, rw, read_share, block, depth, threads });
    }
}

fn title(preset: Option<DrivePreset>) -> (&'static str, &'static str) {
    match preset {
        None => ("drive", "the bare drive"),
        Some(DrivePreset::Selectel) => (
            "drive-selectel",
            "the bare drive, as Selectel measured P4800X, P4510 and Micron (2018)",
        ),
        Some(DrivePreset::Raidix) => (
            "drive-raidix",
            "the bare drive, as Raidix measured direct addressing (2017): 8 threads x 32 in flight",
        ),
        Some(DrivePreset::Ceiling) => (
            "drive-ceiling",
            "the bare drive: what an engine could at best reach with so many threads",
        ),
        Some(DrivePreset::SniaIops) => {
            ("drive-snia-iops", "the bare drive by the IOPS test of SNIA's PTS 2.0.2")
        }
    }
}

/// `4k`, `1m`, `512`, for names.
fn short(block: &str) -> String {
    block.trim_end_matches("iB").trim_end_matches('B').to_lowercase()
}

fn name(rw: &str, block: &str, way: DriveWay, depth: u32) -> String {
    let letters = |c: &char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let block: String = short(block).chars().filter(letters).collect();
    match way {
        DriveWay::IoUring => format!("{rw}-{block}-qd{depth}"),
        way => format!("{rw}-{block}-{}", way_word(way)),
    }
}

fn word(rw: DriveRw) -> &'static str {
    match rw {
        DriveRw::Randread => "randread",
        DriveRw::Randwrite => "randwrite",
        DriveRw::Randrw => "randrw",
        DriveRw::Read => "read",
        DriveRw::Write => "write",
        DriveRw::Both => "rw",
    }
}

fn way_word(way: DriveWay) -> &'static str {
    match way {
        DriveWay::IoUring => "io_uring",
        DriveWay::Psync => "psync",
        DriveWay::Mmap => "mmap",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser as _;

    fn text(arguments: &str) -> String {
        let words = ["kvdyno", "drive"].into_iter().chain(arguments.split_whitespace());
        let Command::Drive(args) = Cli::try_parse_from(words).unwrap().command else { panic!() };
        suite(&args, 6)
    }

    #[test]
    fn what_is_typed_becomes_a_suite() {
        insta::assert_snapshot!("bare", text("/mnt"));
        insta::assert_snapshot!(
            "flags",
            text(
                "/mnt --rw randrw,read --read-share 70% --block 4KiB,128KiB --depth 4 --sqpoll \
                 --io io_uring,psync --threads 1,8 --duration 5s --size 64MiB --precondition \
                 --with-fio --trials 6"
            )
        );
    }

    #[test]
    fn presets_are_written_out() {
        insta::assert_snapshot!("selectel", text("--preset selectel --print-suite"));
        insta::assert_snapshot!("raidix", text("/mnt --preset raidix --read-only"));
        insta::assert_snapshot!("ceiling", text("/mnt --preset ceiling"));
        let snia = text("/mnt --preset snia-iops --round 10s --rounds 7");
        assert_eq!(snia.matches("[[drive.job]]").count(), 56);
        let (head, _) = snia.split_once("\n[[drive.job]]").unwrap();
        insta::assert_snapshot!("snia", head);
        assert!(
            snia.contains("rw = \"randrw\"\nread_share = \"65%\"\nblock = \"64KiB\""),
            "{snia}"
        );
    }
}
