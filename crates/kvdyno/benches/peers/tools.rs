//! What every part needs: workers, folders, medians, a peer's output.

use anyhow::ensure;
use kvdyno::workers;
use kvdyno_record::case::WorkerIdentity;

pub(crate) fn identity(name: &str) -> anyhow::Result<WorkerIdentity> {
    let path = workers::find(name)?;
    let description = workers::describe(&path)?;
    ensure!(!description.debug_build, "{} is a debug build", path.display());
    Ok(WorkerIdentity { path, sha256: String::new(), description })
}

pub(crate) fn scratch() -> anyhow::Result<tempfile::TempDir> {
    // Not /tmp, which may lie in memory.
    Ok(tempfile::Builder::new().prefix("kvdyno-bench-").tempdir_in("/var/tmp")?)
}

pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
