//! The description of the engine, its options, and which of them go together.

use kvdyno_engine::{
    BatchKind, Capabilities, Description, Durability, Error, OptionSpec, Options, Planning,
    PowerLoss, Result,
};
use std::collections::BTreeMap;

pub(crate) fn description() -> Description {
    Description {
        name: "drive".to_owned(),
        title: "Bare drive".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        build: BTreeMap::from([("io_uring".to_owned(), "crate io-uring 0.7, own loop".to_owned())]),
        capabilities: capabilities(),
        options: options(),
        // Every block is written once, in its place; buffers need little memory.
        planning: Planning { space_factor: 1.0, write_factor: 1.0, ram_bytes_min: 16 << 20 },
    }
}

fn capabilities() -> Capabilities {
    Capabilities {
        native_multiget: true,
        batch: BatchKind::Together,
        addressed: true,
        ..Capabilities::bare_drive([
            (
                Durability::Async,
                PowerLoss::LosesLast,
                "O_DIRECT write, answered when the drive's cache has it, never flushed (io = mmap, \
                 direct = false: when the page cache has it)",
            ),
            (
                Durability::Commit,
                PowerLoss::Keeps,
                "RWF_DSYNC on each write: with FUA where the drive has it and no metadata changed, \
                 else followed by a flush, before it is answered (io = mmap: msync of the block)",
            ),
        ])
    }
}

fn options() -> Vec<OptionSpec> {
    let flag = OptionSpec::flag;
    vec![
        OptionSpec::choice(
            "io",
            &["io_uring", "psync", "mmap"],
            "I/O calls. io_uring; psync: pread and pwrite, one at a time per thread; mmap: page \
             faults without readahead, and stores, one at a time; a failed read kills the process \
             (SIGBUS).",
        ),
        flag("registered", true, "Register files and buffers with the ring."),
        flag(
            "sqpoll",
            false,
            "A thread of the kernel polls for operations (IORING_SETUP_SQPOLL): fewer calls, a CPU \
             more.",
        ),
        flag(
            "iopoll",
            false,
            "Poll the device for completions (IORING_SETUP_IOPOLL), where it has queues for that.",
        ),
        flag(
            "direct",
            true,
            "O_DIRECT; off goes through the page cache, as io = mmap always does.",
        ),
        flag(
            "read_only",
            false,
            "Open it for reading only, and not exclusively: a device that holds data.",
        ),
    ]
}

/// The calls that perform the operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Calls {
    IoUring,
    Psync,
    Mmap,
}

/// The options, checked against each other.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct DriveOptions {
    pub(crate) calls: Calls,
    pub(crate) registered: bool,
    pub(crate) sqpoll: bool,
    pub(crate) iopoll: bool,
    pub(crate) direct: bool,
    /// Whether a write is on stable storage when it is answered.
    pub(crate) durable: bool,
    /// Whether writes are refused.
    pub(crate) read_only: bool,
}

impl DriveOptions {
    pub(crate) fn from_options(options: &Options) -> Result<Self> {
        let calls = match options.text("io")? {
            "psync" => Calls::Psync,
            "mmap" => Calls::Mmap,
            _ => Calls::IoUring,
        };
        let (sqpoll, iopoll) = (options.boolean("sqpoll")?, options.boolean("iopoll")?);
        let direct = options.boolean("direct")? && calls != Calls::Mmap;
        if (sqpoll || iopoll) && calls != Calls::IoUring {
            return Err(Error::invalid("sqpoll and iopoll need io = io_uring"));
        }
        if iopoll && !direct {
            return Err(Error::invalid("iopoll polls the device and needs direct = true"));
        }
        let registered = options.boolean("registered")?;
        let durable = options.durability == Durability::Commit;
        let read_only = options.boolean("read_only")?;
        Ok(Self { calls, registered, sqpoll, iopoll, direct, durable, read_only })
    }
}
