//! The current list of runs in the directory.

use super::pages::seal_time;
use crate::records::runs;
use kvdyno_analysis::answers::summary::Summary;
use kvdyno_analysis::figures::evidence::Evidence;
use kvdyno_record::files::RunDir;
use kvdyno_render::page::{RunEntry, State};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// A cache of sealed runs: they do not change, and the list is requested every few seconds. A run
/// that was sealed again is read again.
#[derive(Default)]
pub(super) struct RunList(Mutex<BTreeMap<PathBuf, (SystemTime, RunEntry)>>);

impl RunList {
    pub(super) fn entries(&self, dirs: &[PathBuf]) -> Vec<RunEntry> {
        let mut cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cache.retain(|path, _| dirs.contains(path));
        dirs.iter().map(|path| entry(path, &mut cache)).collect()
    }
}

fn entry(path: &Path, cache: &mut BTreeMap<PathBuf, (SystemTime, RunEntry)>) -> RunEntry {
    let sealed = seal_time(path);
    if let Some((time, entry)) = cache.get(path)
        && Some(*time) == sealed
    {
        return entry.clone();
    }
    let name = runs::id(path);
    match (read(&name, path), sealed) {
        (Ok(entry), Some(time)) => {
            cache.insert(path.to_owned(), (time, entry.clone()));
            entry
        }
        (Ok(entry), None) => entry,
        (Err(error), _) => RunEntry::unreadable(&name, &format!("{error:#}")),
    }
}

fn read(name: &str, path: &Path) -> anyhow::Result<RunEntry> {
    let dir = RunDir::open(path.to_owned())?;
    let evidence = Evidence::read(&dir)?;
    let state = State::new(evidence.complete, runs::is_at_work(&dir));
    Ok(RunEntry::new(name, &evidence, &Summary::from_evidence(&evidence)?, state))
}
