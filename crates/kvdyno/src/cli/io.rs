//! The options of recorded block I/O.

use clap::Args;
use kvdyno_record::blockio::Watch;

/// Whether block I/O is recorded in the kernel.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct IoArgs {
    /// Record block I/O in the kernel: latency by kind and by process, flushes (needs root)
    #[arg(long)]
    pub(crate) io_latency: bool,
    /// The same, and write every request to `blockio.csv` in the case's directory
    #[arg(long)]
    pub(crate) io_log: bool,
}

impl From<Watch> for IoArgs {
    fn from(watch: Watch) -> Self {
        Self { io_latency: watch == Watch::Latency, io_log: watch == Watch::Log }
    }
}

impl IoArgs {
    /// The recording mode.
    pub(crate) fn watch(self) -> Watch {
        match (self.io_log, self.io_latency) {
            (true, _) => Watch::Log,
            (false, true) => Watch::Latency,
            (false, false) => Watch::Off,
        }
    }
}
