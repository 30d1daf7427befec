//! The suite that `kvdyno drive` writes: text, to read, copy and change.

use super::job_file::JobFile;
use crate::cli::{DriveArgs, DrivePreset, DriveWay, WriteClass};
use clap::ValueEnum;
use kvdyno_record::units::parse_duration;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// SNIA PTS 2.0.2, IOPS test: shares of reads, from all to none.
const SNIA_READS: [u32; 7] = [100, 95, 65, 50, 35, 5, 0];
/// The block sizes of this test.
const SNIA_BLOCKS: [&str; 8] =
    ["1MiB", "128KiB", "64KiB", "32KiB", "16KiB", "8KiB", "4KiB", "512B"];
/// SNIA's workload-independent preconditioning: sequential writes of twice the capacity.
const SNIA_PASSES: u32 = 2;
/// The minimum number of rounds for steady state.
const SNIA_ROUNDS: u32 = 5;
/// The threads and the queue depth of the test's enterprise edition.
const SNIA_THREADS: u32 = 4;
const SNIA_DEPTH: u32 = 32;
/// The largest p99 of fdatasync that etcd's documentation accepts for its log.
const ETCD_CLAIM: &str = "
[[claim]]
text = \"etcd can keep its log here: p99 of fdatasync below 10 ms\"
holds = \"measure.writes.flush.etcd.service_ns_p99 < 10ms\"
";
/// The sizes of the file and of a block in etcd's test.
const ETCD_FILE: &str = "22MiB";
const ETCD_BLOCK: &str = "2300B";
/// Jobs of up to this duration get shorter slices: each job needs at least five.
const SHORT_NS: u64 = 60_000_000_000;

pub(super) fn suite(args: &DriveArgs, cpus: u32, file: Option<&JobFile>) -> String {
    let snia = args.preset == Some(DrivePreset::SniaIops);
    let (name, title) = title(args.preset);
    let (threads, duration) = (threads(args, cpus), duration(args));
    let trials = if snia { args.rounds.unwrap_or(SNIA_ROUNDS) } else { args.trials };
    let short = parse_duration(duration).is_ok_and(|ns| ns <= SHORT_NS);
    let swept = threads.len() > 1;
    let passes = args.precondition.or_else(|| snia.then_some(SNIA_PASSES));
    let lines = [
        (true, "# Written by `kvdyno drive`; docs/drive.md explains the measurements.".to_owned()),
        (true, format!("[suite]\nname = \"{name}\"\ntitle = \"{title}\"\n\n[run]")),
        (snia, "# Rounds.".to_owned()),
        (true, format!("trials = {trials}")),
        (short, "slice = \"100ms\"".to_owned()),
        (swept, format!("threads = {threads:?}")),
        (true, format!("\n[drive]\nsize = {:?}", size(args, file))),
        (args.preset == Some(DrivePreset::Ceiling), "preset = \"ceiling\"".to_owned()),
        (
            passes.is_some() && !args.read_only,
            format!(
                "# Number of times that the whole file is written, in order, before the first \
                 job.\nprecondition = {}",
                passes.unwrap_or_default()
            ),
        ),
        (
            args.read_only,
            "# Existing data is read, and nothing is written.\nread_only = true".to_owned(),
        ),
        (args.with_fio, "# Every job with fio as well.\nwith_fio = true".to_owned()),
        (swept, "threads = \"sweep\"".to_owned()),
        (!swept, format!("threads = {}", threads.first().unwrap_or(&1))),
        (true, format!("duration = {duration:?}")),
        (snia, "in_order = true".to_owned()),
        (!snia && !is_zero(&args.warmup), format!("warmup = {:?}", args.warmup)),
    ];
    let mut text = String::new();
    for (_, line) in lines.iter().filter(|(holds, _)| *holds) {
        text += line;
        text.push('\n');
    }
    text.extend(jobs(args, file).iter().map(JobTable::text));
    if let several @ [_, _, ..] = args.paths.as_slice() {
        text.extend(several.iter().zip(name_volumes(several)).map(write_volume));
    }
    if args.preset == Some(DrivePreset::Etcd) {
        text += ETCD_CLAIM;
    }
    text
}

/// Whether a time is zero: `0` or `0s`.
fn is_zero(time: &str) -> bool {
    time.starts_with('0') && time.trim_end_matches(char::is_alphabetic).bytes().all(|c| c == b'0')
}

/// A directory as a volume of the suite.
fn write_volume((path, name): (&PathBuf, String)) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
    let path = toml::Value::String(path.display().to_string());
    format!("\n[[volume]]\nname = \"{name}\"\nkind = \"directory\"\npath = {path}\n")
}

/// Names volumes by the ends of their paths, as long as it takes to distinguish them: `nvme0` and
/// `nvme1`, `a-data` and `b-data`.
fn name_volumes(paths: &[PathBuf]) -> Vec<String> {
    let end = |path: &PathBuf, parts: usize| {
        let all: Vec<String> =
            path.iter().map(|part| part.to_string_lossy().to_lowercase()).collect();
        let end = all[all.len().saturating_sub(parts)..].join("-");
        let end: String =
            end.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        end.trim_matches('-').to_owned()
    };
    let longest = paths.iter().map(|path| path.iter().count()).max().unwrap_or(1);
    let names_of = |parts| paths.iter().map(|path| end(path, parts)).collect::<Vec<_>>();
    let is_distinct = |names: &Vec<String>| {
        names.iter().all(|name| !name.is_empty())
            && names.iter().collect::<BTreeSet<_>>().len() == names.len()
    };
    let numbered = || (1..=paths.len()).map(|n| format!("path-{n}")).collect();
    (1..=longest).map(names_of).find(is_distinct).unwrap_or_else(numbered)
}

fn size<'a>(args: &'a DriveArgs, file: Option<&'a JobFile>) -> &'a str {
    let etcd = args.preset == Some(DrivePreset::Etcd);
    let of_file = || file.and_then(|file| file.size.as_deref());
    args.size.as_deref().or_else(of_file).unwrap_or(if etcd { ETCD_FILE } else { "auto" })
}

/// The swept thread counts; a single one is no sweep.
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

fn duration(args: &DriveArgs) -> &str {
    let snia = args.preset == Some(DrivePreset::SniaIops);
    let duration = args.round.as_deref().filter(|_| snia).or(args.duration.as_deref());
    duration.unwrap_or(match args.preset {
        None => "10s",
        // A p99 needs 1,000 flushes in each trial: from 17 a second on.
        Some(DrivePreset::SniaIops | DrivePreset::Etcd) => "60s",
        Some(_) => "30s",
    })
}

/// A job of the suite.
#[derive(Clone, Debug)]
pub(super) struct JobTable {
    pub(super) name: String,
    pub(super) way: DriveWay,
    pub(super) rw: String,
    pub(super) read_share: Option<String>,
    pub(super) block: String,
    pub(super) depth: u32,
    pub(super) threads: Option<u32>,
    pub(super) flush_every: Option<u32>,
    /// Operations per second of all its threads.
    pub(super) rate: Option<f64>,
    /// The pause after each operation, as the suite writes it.
    pub(super) think_time: Option<String>,
    pub(super) buffered: bool,
    pub(super) duration: Option<String>,
    pub(super) warmup: Option<String>,
    /// Whether each write is durable by itself.
    pub(super) durable: bool,
    /// The distribution of the blocks, as the suite writes it; none: even.
    pub(super) keys: Option<String>,
    /// The options of `io_uring` that are on.
    pub(super) polled: Vec<&'static str>,
}

impl JobTable {
    /// Returns a job without any optional setting.
    fn new(name: String, way: DriveWay, rw: &str, block: &str) -> Self {
        Self {
            name,
            way,
            rw: rw.to_owned(),
            read_share: None,
            block: block.to_owned(),
            depth: 1,
            threads: None,
            flush_every: None,
            rate: None,
            think_time: None,
            buffered: false,
            duration: None,
            warmup: None,
            durable: false,
            keys: None,
            polled: Vec::new(),
        }
    }

    fn text(&self) -> String {
        let Self { name, rw, block, .. } = self;
        let io = value_name(&self.way);
        let mut text =
            format!("\n[[drive.job]]\nname = \"{name}\"\nio = \"{io}\"\nrw = \"{rw}\"\n");
        if let Some(share) = &self.read_share {
            text += &format!("read_share = {share:?}\n");
        }
        text += &format!("block = {block:?}\n");
        if let Some(threads) = self.threads {
            text += &format!("threads = {threads}\n");
        }
        if let Some(writes) = self.flush_every {
            text += &format!("flush_every = {writes}\n");
        }
        if let Some(rate) = self.rate {
            text += &format!("rate = {rate}\n");
        }
        let times = [
            ("think_time", &self.think_time),
            ("duration", &self.duration),
            ("warmup", &self.warmup),
        ];
        for (key, time) in times {
            if let Some(time) = time {
                text += &format!("{key} = {time:?}\n");
            }
        }
        if let Some(keys) = &self.keys {
            text += &format!("keys = {keys}\n");
        }
        if self.durable {
            text += "durability = \"commit\"\n";
        }
        let ring = self.way == DriveWay::IoUring;
        if ring {
            text += &format!("depth = {}\n", self.depth);
        }
        let mut options: Vec<String> =
            self.polled.iter().map(|option| format!("{option} = true")).collect();
        options.extend(self.buffered.then(|| "direct = false".to_owned()));
        if !options.is_empty() {
            text += &format!("options = {{ {} }}\n", options.join(", "));
        }
        text
    }
}

/// Returns the jobs of the file, of the preset or of the command line, with the common options.
fn jobs(args: &DriveArgs, file: Option<&JobFile>) -> Vec<JobTable> {
    let mut jobs = match (file, args.preset) {
        (Some(file), _) => file.jobs.clone(),
        (None, Some(preset)) => preset_jobs(args, preset),
        (None, None) => typed_jobs(args),
    };
    let switches = [("sqpoll", args.sqpoll), ("iopoll", args.iopoll)];
    for job in jobs.iter_mut().filter(|job| job.way == DriveWay::IoUring) {
        let on = switches.iter().filter(|(name, on)| *on && !job.polled.contains(name));
        let on: Vec<&str> = on.map(|(name, _)| *name).collect();
        job.polled.extend(on);
    }
    for job in jobs.iter_mut().filter(|_| args.duration.is_some()) {
        job.duration = None;
    }
    jobs
}

fn preset_jobs(args: &DriveArgs, preset: DrivePreset) -> Vec<JobTable> {
    match preset {
        DrivePreset::Ceiling => Vec::new(),
        DrivePreset::Selectel => {
            let sizes = [("4KiB", 128), ("4MiB", 32), ("4KiB", 16), ("4KiB", 1)];
            let mixes = if args.read_only { &[100][..] } else { &[100, 0] };
            let each = sizes.iter().flat_map(|size| mixes.iter().map(move |reads| (size, *reads)));
            let job = |((block, depth), reads): (&(&'static str, u32), u32)| {
                let mut job = random_job(String::new(), reads, block, *depth, 1);
                job.name = name(&job.rw, block, job.way, *depth);
                job
            };
            each.map(job).collect()
        }
        DrivePreset::Raidix => {
            let mixes = if args.read_only { &[100][..] } else { &[100, 70, 50, 30, 0] };
            let name = |reads| format!("mix-{reads}-{}", 100 - reads);
            mixes.iter().map(|reads| random_job(name(*reads), *reads, "4KiB", 32, 8)).collect()
        }
        DrivePreset::SniaIops => {
            let job = |reads: u32, block: &'static str| {
                let name = format!("rw{reads}-{}", shorten_block(block));
                random_job(name, reads, block, SNIA_DEPTH, SNIA_THREADS)
            };
            let of_mix = |reads| SNIA_BLOCKS.into_iter().map(move |block| job(reads, block));
            SNIA_READS.into_iter().flat_map(of_mix).collect()
        }
        DrivePreset::Etcd => {
            let job = JobTable::new("etcd".to_owned(), DriveWay::Psync, "write", ETCD_BLOCK);
            vec![JobTable { flush_every: Some(1), buffered: true, ..job }]
        }
    }
}

/// A job for each requested combination.
fn typed_jobs(args: &DriveArgs) -> Vec<JobTable> {
    let mut jobs = Vec::new();
    for &way in &args.io {
        let depths = if way == DriveWay::IoUring { &args.depth[..] } else { &[1] };
        for rw in args.rw.iter().map(value_name) {
            for block in &args.block {
                let job = |&depth| JobTable {
                    read_share: args.read_share.clone().filter(|_| rw == "randrw" || rw == "rw"),
                    depth,
                    flush_every: args.sync.filter(|_| rw.contains('w')),
                    rate: args.rate,
                    buffered: args.buffered && way != DriveWay::Mmap,
                    durable: args.durability == Some(WriteClass::Commit) && rw.contains('w'),
                    ..JobTable::new(name(&rw, block, way, depth), way, &rw, block)
                };
                jobs.extend(depths.iter().map(job));
            }
        }
    }
    jobs
}

/// Returns a job of random reads and writes; `reads` is the percentage of reads.
fn random_job(name: String, reads: u32, block: &str, depth: u32, threads: u32) -> JobTable {
    let (rw, read_share) = match reads {
        100 => ("randread", None),
        0 => ("randwrite", None),
        share => ("randrw", Some(format!("{share}%"))),
    };
    let job = JobTable::new(name, DriveWay::IoUring, rw, block);
    JobTable { read_share, depth, threads: Some(threads), ..job }
}

fn title(preset: Option<DrivePreset>) -> (&'static str, &'static str) {
    match preset {
        None => ("drive", "the drive"),
        Some(DrivePreset::Selectel) => {
            ("drive-selectel", "the drive, as Selectel measured P4800X, P4510 and Micron (2018)")
        }
        Some(DrivePreset::Raidix) => (
            "drive-raidix",
            "the drive, as Raidix measured direct addressing (2017): 8 threads x 32 in flight",
        ),
        Some(DrivePreset::Ceiling) => {
            ("drive-ceiling", "the drive: upper bound for an engine with this many threads")
        }
        Some(DrivePreset::SniaIops) => {
            ("drive-snia-iops", "the drive by the IOPS test of SNIA's PTS 2.0.2")
        }
        Some(DrivePreset::Etcd) => ("drive-etcd", "the drive as the place of etcd's log"),
    }
}

/// `4k`, `1m`, `512`, for names.
fn shorten_block(block: &str) -> String {
    block.trim_end_matches("iB").trim_end_matches('B').to_lowercase()
}

fn name(rw: &str, block: &str, way: DriveWay, depth: u32) -> String {
    let letters = |c: &char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let block: String = shorten_block(block).chars().filter(letters).collect();
    match way {
        DriveWay::IoUring => format!("{rw}-{block}-qd{depth}"),
        way => format!("{rw}-{block}-{}", value_name(&way)),
    }
}

/// The text as the user typed it; suites use the same form.
fn value_name(value: &impl ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser as _;

    fn text(arguments: &str) -> String {
        let words = ["kvdyno", "drive"].into_iter().chain(arguments.split_whitespace());
        let Command::Drive(args) = Cli::try_parse_from(words).unwrap().command else { panic!() };
        suite(&args, 6, None)
    }

    #[test]
    fn what_is_typed_becomes_a_suite() {
        insta::assert_snapshot!("bare", text("/mnt"));
        assert!(!text("/mnt --warmup 0s").contains("warmup"));
        let synced = "/mnt --rw randread,randwrite --sync 8 --durability commit --buffered";
        insta::assert_snapshot!("synced", text(synced));
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
    fn volumes_have_names_that_distinguish_them() {
        let names = |paths: &[&str]| {
            let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
            name_volumes(&paths)
        };
        assert_eq!(names(&["/mnt/nvme0", "/mnt/nvme1"]), ["nvme0", "nvme1"]);
        assert_eq!(names(&["/mnt/a/data", "/mnt/b/data"]), ["a-data", "b-data"]);
        assert_eq!(names(&["/mnt/My Disk", "/mnt/x"]), ["my-disk", "x"]);
        assert_eq!(names(&["/", "/mnt"]), ["path-1", "path-2"]);
        assert_eq!(names(&["/mnt", "/mnt"]), ["path-1", "path-2"]);
        let suite = text("/mnt/a /mnt/b");
        assert!(
            suite.contains("name = \"b\"\nkind = \"directory\"\npath = \"/mnt/b\"\n"),
            "{suite}"
        );
    }

    #[test]
    fn presets_are_written_out() {
        insta::assert_snapshot!("selectel", text("--preset selectel --print-suite"));
        insta::assert_snapshot!("raidix", text("/mnt --preset raidix --read-only"));
        insta::assert_snapshot!("ceiling", text("/mnt --preset ceiling"));
        insta::assert_snapshot!("etcd", text("/mnt --preset etcd"));
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
