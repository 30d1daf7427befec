//! The machine as a record tells of it: its facts, and whether its block I/O can be watched.

use kvdyno_host::{Root, facts};
use kvdyno_record::host::Host;
use std::path::Path;

/// Reads it, with the volume under `place`.
pub(crate) fn read(root: &Root, place: &Path) -> Host {
    Host { block_io: Some(kvdyno_blockio::availability(root)), ..facts::read(root, place) }
}
