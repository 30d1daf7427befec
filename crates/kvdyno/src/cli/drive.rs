//! The command line of `drive`.

use super::{KeepArgs, ViewArgs};
use clap::{Args, ValueEnum, ValueHint};
use kvdyno_record::units;
use std::path::PathBuf;

#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "\
Examples:
  kvdyno drive /mnt/nvme                          4 KiB random reads, 1, 16 and 128 in flight
  kvdyno drive /mnt/nvme --rw randrw --read-share 70% --depth 32 --threads 8 --size 16GiB
  kvdyno drive /mnt/nvme0 /mnt/nvme1              two drives, in turn, and which is faster
  kvdyno drive /mnt/nvme --preset ceiling         upper bound of what an engine could reach
  kvdyno drive /mnt/nvme --preset etcd            is fdatasync fast enough for etcd?
  kvdyno drive /mnt/nvme --rw randwrite --sync    writes, each followed by a flush
  kvdyno drive /mnt/nvme --preset selectel --with-fio
  kvdyno drive /mnt/nvme --fio-job mixed.fio      the jobs of a fio job file
  kvdyno drive --import-fio fio.json              fio's results, in the same tables
  kvdyno drive --preset raidix --print-suite      the suite that it would run, to copy
  kvdyno drive /dev/nvme1n1 --preset snia-iops --destroy-data-on=/dev/nvme1n1
  kvdyno drive /dev/nvme0n1 --read-only           reads of a device that holds data

Creates a file in the directory, writes it completely, measures, and removes it. A block device is
written only if its name is typed twice, and only if it has no mount, no filesystem and no
partitions. docs/drive.md explains the measurements.")]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch on the command line")]
pub(crate) struct DriveArgs {
    /// An empty directory on the drive, or a block device; several directories: each drive in
    /// turn, and the ratio to the first
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath,
          required_unless_present_any = ["print_suite", "import_fio"])]
    pub(crate) paths: Vec<PathBuf>,
    /// Create the directory if it does not exist, and remove it afterwards
    #[arg(long)]
    pub(crate) create_data_dir: bool,
    /// Published or customary jobs
    #[arg(long, value_enum, value_name = "NAME",
          conflicts_with_all = ["rw", "read_share", "io", "block", "depth"])]
    pub(crate) preset: Option<Preset>,
    /// The kind of work; several, separated by commas: a job for each
    #[arg(long, value_enum, value_delimiter = ',', default_value = "randread")]
    pub(crate) rw: Vec<Rw>,
    /// The share of reads in `randrw` and `rw`, as `70%`
    #[arg(long, value_name = "SHARE")]
    pub(crate) read_share: Option<String>,
    /// The system calls; several, separated by commas: a job for each
    #[arg(long, value_enum, value_delimiter = ',', default_value = "io_uring")]
    pub(crate) io: Vec<Way>,
    /// Bytes of one operation, as `4KiB,4MiB`
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "4KiB")]
    pub(crate) block: Vec<String>,
    /// Operations that each thread keeps in flight (`io_uring`)
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1,16,128",
          value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(crate) depth: Vec<u32>,
    /// Threads of a job; several: each in turn [default: 1; for the ceiling: up to all processors]
    #[arg(long, value_name = "LIST", value_delimiter = ',',
          value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(crate) threads: Vec<u32>,
    /// Duration of each job [default: 10s; with a preset 30s or 60s, see docs/drive.md]
    #[arg(long, value_name = "TIME")]
    pub(crate) duration: Option<String>,
    /// Unmeasured work of the same kind before each job; 0: none
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub(crate) warmup: String,
    /// Number of trials of each job
    #[arg(long, value_name = "N", default_value_t = 4,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) trials: u32,
    /// Size of the file, e.g. 16GiB; `auto`: at most 1 GiB in a directory, all of a device
    /// [default: auto; for etcd 22MiB]
    #[arg(long, value_name = "BYTES")]
    pub(crate) size: Option<String>,
    /// Flush after every write, or every N writes of a thread (`fdatasync`), as an operation of its
    /// own
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "1",
          conflicts_with_all = ["preset", "read_only"],
          value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(crate) sync: Option<u32>,
    /// Operations per second of each job, at equal intervals [default: as many as the drive does]
    #[arg(long, value_name = "N", conflicts_with_all = ["preset", "with_fio"],
          value_parser = units::parse_rate)]
    pub(crate) rate: Option<f64>,
    /// Durability of a completed write: async, or commit, which is `RWF_DSYNC` on each [default:
    /// async]
    #[arg(long, value_enum, value_name = "CLASS", conflicts_with = "preset")]
    pub(crate) durability: Option<WriteClass>,
    /// Go through the page cache, without `O_DIRECT`; blocks of any length
    #[arg(long, conflicts_with_all = ["preset", "iopoll"])]
    pub(crate) buffered: bool,
    /// Before the first job, write the whole file sequentially N times, 128 KiB at a time (SNIA: 2)
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "2")]
    pub(crate) precondition: Option<u32>,
    /// Duration of each of the 56 jobs in one round of `snia-iops` [default: 60s]
    #[arg(long, value_name = "TIME")]
    pub(crate) round: Option<String>,
    /// Number of rounds of `snia-iops`: it is steady when five in a row agree [default: 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(5..=25))]
    pub(crate) rounds: Option<u32>,
    /// Use a kernel thread for submission: no system calls, but one more busy processor
    #[arg(long)]
    pub(crate) sqpoll: bool,
    /// Poll for completions instead of waiting for the drive's interrupts
    #[arg(long)]
    pub(crate) iopoll: bool,
    /// Run every job with fio as well, if it is installed
    #[arg(long)]
    pub(crate) with_fio: bool,
    /// Run the jobs of a fio job file, each alone; PATH is their directory
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath,
          conflicts_with_all = ["preset", "rw", "read_share", "io", "block", "depth", "threads",
                                "sync", "rate", "durability", "buffered"])]
    pub(crate) fio_job: Option<PathBuf>,
    /// Measure nothing: make a run from a fio report (`--output-format=json+`)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["paths", "preset", "print_suite"])]
    pub(crate) import_fio: Option<PathBuf>,
    /// The block device whose data may be destroyed, by its full path and as PATH
    #[arg(long, value_name = "DEVICE", require_equals = true)]
    pub(crate) destroy_data_on: Option<PathBuf>,
    /// Write nothing: read from a block device that holds data
    #[arg(long, conflicts_with_all = ["destroy_data_on", "precondition"])]
    pub(crate) read_only: bool,
    /// Print the suite that it would run, and exit
    #[arg(long)]
    pub(crate) print_suite: bool,
    /// Show what would be done and how long it takes, without running it
    #[arg(long, conflicts_with_all = ["import_fio", "print_suite"])]
    pub(crate) plan: bool,
    #[command(flatten)]
    pub(crate) keep: KeepArgs,
    #[command(flatten)]
    pub(crate) view: ViewArgs,
}

/// Published or customary jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Preset {
    /// Selectel's drives of 2018: 4 KiB at depth 128, 16 and 1, 4 MiB at depth 32
    Selectel,
    /// Raidix's drive of 2017: 8 threads, 32 in flight each, five mixes of reads and writes
    Raidix,
    /// Upper bound for an engine: random reads by psync, `io_uring` and mmap
    Ceiling,
    /// SNIA's IOPS test: seven mixes, eight sizes, rounds until steady
    SniaIops,
    /// etcd's test of a drive: writes of 2,300 bytes, each followed by fdatasync, p99 under 10 ms
    Etcd,
}

/// What a completed write promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WriteClass {
    /// Nothing after a power loss
    Async,
    /// The write survives
    Commit,
}

/// The kind of work, in fio's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lower")]
pub(crate) enum Rw {
    /// Reads at random
    Randread,
    /// Writes at random
    Randwrite,
    /// Both at random
    Randrw,
    /// Reads in order
    Read,
    /// Writes in order
    Write,
    /// Both in order
    #[value(name = "rw")]
    Both,
}

/// The system calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum Way {
    /// Many requests at a time
    IoUring,
    /// One call that waits for each request
    Psync,
    /// A map of the file
    Mmap,
}
