//! The states of a run: databases that an earlier run made, or that this one makes for later runs.
//! Each lies in the store of its data directory, where copies can share its blocks.

use crate::exit::Complaint;
use kvdyno_host::states::{States, StoredState};
use kvdyno_record::case::{CaseRecord, StateOrigin, WorkerIdentity};
use kvdyno_record::plan::Case;
use kvdyno_record::state::StateDescription;
use kvdyno_record::units;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The name of a store in a data directory that the user named.
const IN_DATA_DIR: &str = "kvdyno-states";
/// The name of a store in the directory of runs.
const BESIDE_RUNS: &str = "states";
/// Bytes of the digest in an id: 16 digits.
const ID_BYTES: usize = 8;

/// The states that a run has found or made. Nobody removes one of them meanwhile.
#[derive(Debug)]
pub(crate) struct RunStates {
    /// The run's directory.
    run: PathBuf,
    /// Bytes of all states together; 0: none is kept.
    budget: u64,
    /// By the id of the database.
    held: BTreeMap<String, StoredState>,
}

/// The store for a data directory: inside it, or beside the run's directory if that holds it.
pub(crate) fn store_of(data_dir: &Path, run: &Path) -> PathBuf {
    match run.parent() {
        Some(runs) if data_dir.starts_with(run) => runs.join(BESIDE_RUNS),
        _ => data_dir.join(IN_DATA_DIR),
    }
}

/// The stores of a directory of runs, and of a data directory.
pub(crate) fn stores(runs: &Path, data_dir: Option<&Path>) -> Vec<PathBuf> {
    let in_data_dir = data_dir.map(|path| path.join(IN_DATA_DIR));
    in_data_dir.into_iter().chain([runs.join(BESIDE_RUNS)]).filter(|path| path.is_dir()).collect()
}

impl RunStates {
    pub(crate) fn new(run: &Path, budget: u64) -> Self {
        Self { run: run.to_owned(), budget, held: BTreeMap::new() }
    }

    /// The folder of a case's database, if it is a state that is in a store.
    pub(super) fn of_case(&self, case: &Case) -> Option<(&Path, StateOrigin)> {
        let state = self.held.get(&case.database.id)?;
        Some((state.database(), origin(state)))
    }

    /// Looks for the state that a case would make.
    pub(super) fn find(
        &mut self,
        case: &Case,
        worker: &WorkerIdentity,
        data_dir: &Path,
    ) -> Result<Option<StateOrigin>, Complaint> {
        let store = store_of(data_dir, &self.run);
        if self.budget == 0 || !store.is_dir() {
            return Ok(None);
        }
        let states = States::open(&store).map_err(complain)?;
        let Some(state) = states.find(&id(case, worker)).map_err(complain)? else {
            return Ok(None);
        };
        let origin = origin(&state);
        self.held.insert(case.database.id.clone(), state);
        Ok(Some(origin))
    }

    /// Keeps the database that a case has made: it moves into the store. Returns what was removed
    /// for it, in words.
    pub(super) fn keep(
        &mut self,
        record: &CaseRecord,
        database: &Path,
        data_dir: &Path,
        bytes: u64,
        go_on: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Option<String>, Complaint> {
        let Some(worker) = record.worker.as_ref().filter(|_| self.budget > 0) else {
            return Ok(None);
        };
        let states = States::open(&store_of(data_dir, &self.run)).map_err(complain)?;
        let removed = states.make_room(bytes, self.budget).map_err(complain)?;
        let state = states.keep(describe(record, worker, &self.run), database, go_on);
        self.held.insert(record.case.database.id.clone(), state.map_err(complain)?);
        let removed_bytes: u64 = removed.iter().map(|state| state.bytes).sum();
        Ok((removed_bytes > 0).then(|| {
            let (states, bytes) = (removed.len(), units::bytes(removed_bytes));
            format!("removed the longest unused of the kept states: {states}, {bytes}")
        }))
    }
}

fn origin(state: &StoredState) -> StateOrigin {
    let (record, description) = (state.record(), &state.record().description);
    StateOrigin {
        id: description.id.clone(),
        run: description.run.clone(),
        made_unix_ns: record.made_unix_ns,
    }
}

fn complain(error: impl std::fmt::Display) -> Complaint {
    Complaint::usage(error.to_string())
}

fn describe(record: &CaseRecord, worker: &WorkerIdentity, run: &Path) -> StateDescription {
    let case = &record.case;
    let phases: Vec<&str> = case.phases.iter().map(|phase| phase.name.as_str()).collect();
    StateDescription {
        id: id(case, worker),
        engine: case.engine.clone(),
        label: format!(
            "{}, {}: {} of {} after {}",
            case.label,
            case.options.durability.as_str(),
            units::count(case.data.records),
            units::bytes(case.user_bytes()),
            phases.join(", ")
        ),
        engine_version: worker.description.engine.version.clone(),
        library_sha256: worker.library.as_ref().map(|library| library.sha256.clone()),
        records: case.data.records,
        run: run.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        took_ns: record.wall_ns,
    }
}

/// A digest of all that a database depends on. Each trial's is another.
fn id(case: &Case, worker: &WorkerIdentity) -> String {
    let all = json!({
        "worker": worker.sha256,
        "library": worker.library.as_ref().map(|library| &library.sha256),
        "engine": case.engine,
        "options": case.options,
        "data": case.data,
        "shape": case.shape,
        "phases": case.phases,
        "ram_limit_bytes": case.ram_limit_bytes,
        "ram_limit_from": case.ram_limit_from,
        "tier": case.tier,
        "trial": case.trial,
    });
    let digest = Sha256::digest(all.to_string());
    digest.iter().take(ID_BYTES).map(|byte| format!("{byte:02x}")).collect()
}
