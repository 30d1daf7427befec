//! Permissions on the command line for block devices of a suite.

use kvdyno_host::raw::Consent;
use std::path::{Path, PathBuf};

/// Returns what a run may do to a block device of the suite.
pub(super) fn consent(destroy_allowed: &[PathBuf], device: &Path) -> Consent {
    let allowed = destroy_allowed.iter().find(|allowed| *allowed == device).cloned();
    allowed.map_or(Consent::None, Consent::Destroy)
}
