//! What was said on the command line of block devices that a suite names.

use kvdyno_host::raw::Consent;
use std::path::{Path, PathBuf};

/// What may be done to a block device that a suite names.
pub(super) fn consent(destroy_allowed: &[PathBuf], device: &Path) -> Consent {
    let allowed = destroy_allowed.iter().find(|allowed| *allowed == device).cloned();
    allowed.map_or(Consent::None, Consent::Destroy)
}
