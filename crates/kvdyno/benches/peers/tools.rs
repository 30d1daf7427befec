//! What every part needs: workers, directories, medians, a peer's output.

use anyhow::{anyhow, ensure};
use kvdyno::running::{libraries, workers};
use kvdyno_record::case::WorkerIdentity;
use kvdyno_suite::{Pick, WorkerSpec};

pub(crate) fn identity(name: &str) -> anyhow::Result<WorkerIdentity> {
    let wanted = WorkerSpec { engine: name.to_owned(), pick: Pick::Newest };
    let identity = libraries::choose(workers::find(name)?, &wanted)?
        .map_err(|why| anyhow!("{name}: {why:?}"))?;
    let path = identity.path.display();
    ensure!(!identity.description.debug_build, "{path} is a debug build");
    Ok(identity)
}

pub(crate) fn scratch() -> anyhow::Result<tempfile::TempDir> {
    // Not /tmp, which may lie in memory.
    Ok(tempfile::Builder::new().prefix("kvdyno-bench-").tempdir_in("/var/tmp")?)
}

pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
