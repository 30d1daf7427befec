//! The machine as recorded: its facts, and whether its block I/O can be recorded.

use kvdyno_host::{Root, facts};
use kvdyno_record::host::Host;
use std::path::Path;

/// Reads the machine's facts, with the storage below `data_dir`.
pub(crate) fn read(root: &Root, data_dir: &Path) -> Host {
    Host { block_io: Some(kvdyno_blockio::availability(root)), ..facts::read(root, data_dir) }
}
