//! The states of a run: databases that an earlier run made, or that this one makes for later runs.
//! Each lies in the store of its data directory, where copies can share its blocks.

use crate::exit::Complaint;
use kvdyno_host::states::{STORE, StateError, States, StoredState};
use kvdyno_host::{Root, Storage};
use kvdyno_record::case::{CaseRecord, StateOrigin, WorkerIdentity};
use kvdyno_record::origin::Origin;
use kvdyno_record::plan::Case;
use kvdyno_record::state::StateDescription;
use kvdyno_record::units;
use kvdyno_record::work::short_digest;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The name of the store in the directory of runs.
const STORE_OF_RUNS: &str = "states";
/// Bytes of the digest in an id: 16 digits.
pub(crate) const ID_BYTES: usize = 8;

/// The states that a run has taken or kept. They cannot be removed while the run holds them.
#[derive(Debug)]
pub(crate) struct RunStates {
    /// The run's directory.
    run: PathBuf,
    /// The most bytes of all kept states together. `None`: the run keeps none, but takes existing
    /// ones; 0: it does not take them either.
    budget: Option<u64>,
    /// The states in use, by the ids of their databases.
    held: BTreeMap<String, HeldState>,
}

/// A state that the run uses.
#[derive(Debug)]
struct HeldState {
    state: StoredState,
    /// Whether an earlier run loaded it.
    is_earlier: bool,
}

/// A case that makes a state, its worker, and its data directory.
pub(super) struct Maker<'c> {
    pub(super) case: &'c Case,
    pub(super) worker: WorkerIdentity,
    pub(super) data_dir: PathBuf,
    /// Whether the case has a final outcome in this run.
    pub(super) is_settled: bool,
}

/// The store for a data directory: inside it, or beside the run's directory if the data directory
/// is in there.
pub(crate) fn store_path(data_dir: &Path, run: &Path) -> PathBuf {
    match run.parent() {
        Some(runs) if data_dir.starts_with(run) => runs.join(STORE_OF_RUNS),
        _ => data_dir.join(STORE),
    }
}

/// The store in a data directory, or without one in the directory of runs.
pub(crate) fn store(data_dir: Option<&Path>, runs: &Path) -> PathBuf {
    data_dir.map_or_else(|| runs.join(STORE_OF_RUNS), |data_dir| data_dir.join(STORE))
}

/// The stores of a directory of runs, and of a data directory.
pub(crate) fn stores(runs: &Path, data_dir: Option<&Path>) -> Vec<PathBuf> {
    let in_data_dir = data_dir.map(|path| path.join(STORE));
    let stores = in_data_dir.into_iter().chain([runs.join(STORE_OF_RUNS)]);
    stores.filter(|path| path.is_dir()).collect()
}

impl RunStates {
    pub(crate) fn new(run: &Path, budget: Option<u64>) -> Self {
        Self { run: run.to_owned(), budget, held: BTreeMap::new() }
    }

    /// The directory of a case's database, if it is a state in a store.
    pub(super) fn database(&self, case: &Case) -> Option<&Path> {
        self.held.get(&case.database.id).map(|entry| entry.state.database())
    }

    /// The state that a case begins with, if an earlier run made it.
    pub(super) fn origin(&self, case: &Case) -> Option<StateOrigin> {
        let HeldState { state, is_earlier } = self.held.get(&case.database.id)?;
        let (record, description) = (state.record(), &state.record().description);
        is_earlier.then(|| StateOrigin {
            id: description.id.clone(),
            run: description.run.clone(),
            made_unix_ns: record.made_unix_ns,
        })
    }

    /// Takes the states for a trial's loads: for all of them or for none, so that figures of loads
    /// have their pairs.
    pub(super) fn take_all(&mut self, makers: &[Maker<'_>]) -> Result<(), Complaint> {
        for maker in makers {
            if let Some(origin) = &maker.case.data.from {
                self.take_copy(maker, origin)?;
            }
        }
        if self.budget == Some(0) {
            return Ok(());
        }
        let run = run_name(&self.run);
        let mut states = Vec::new();
        for maker in makers {
            if !self.held.contains_key(&maker.case.database.id) {
                states.push((maker, self.find(maker)?));
            }
        }
        let is_earlier = |state: &StoredState| state.record().description.run != run;
        let all_earlier = states.iter().all(|(_, state)| state.as_ref().is_some_and(is_earlier));
        for (maker, state) in states {
            // The run goes on with a state that it has loaded and kept itself.
            if let Some(state) = state.filter(|_| all_earlier || maker.is_settled) {
                let is_earlier = is_earlier(&state);
                self.held.insert(maker.case.database.id.clone(), HeldState { state, is_earlier });
            }
        }
        Ok(())
    }

    /// Takes the copy of the user's database.
    fn take_copy(&mut self, maker: &Maker<'_>, origin: &Origin) -> Result<(), Complaint> {
        let store = store_path(&maker.data_dir, &self.run);
        let state = States::open(&store).and_then(|states| states.find(&origin.state));
        let state = state.map_err(|error| complain(&error, &maker.data_dir, &store))?;
        let Some(state) = state else {
            let what = format!(
                "the copy of {} was removed from {}",
                origin.path.display(),
                store.display()
            );
            return Err(Complaint::usage(what).hint("a new run makes another"));
        };
        self.held.insert(maker.case.database.id.clone(), HeldState { state, is_earlier: true });
        Ok(())
    }

    /// Releases the state of a case's database, which is loaded instead.
    pub(super) fn release(&mut self, case: &Case) {
        self.held.remove(&case.database.id);
    }

    fn find(&self, maker: &Maker<'_>) -> Result<Option<StoredState>, Complaint> {
        let store = store_path(&maker.data_dir, &self.run);
        if !store.is_dir() {
            return Ok(None);
        }
        let state = States::open(&store).and_then(|states| states.find(&maker.id()));
        state.map_err(|error| complain(&error, &maker.data_dir, &store))
    }

    /// Moves the database that a case has made into the store, unless an equal state is there.
    /// `needed_bytes` must stay free for the rest of the run. Returns a sentence if other states
    /// were removed.
    pub(super) fn keep_database(
        &mut self,
        maker: &Maker<'_>,
        record: &CaseRecord,
        database: &Path,
        needed_bytes: u64,
        go_on: &mut dyn FnMut(u64) -> bool,
    ) -> Result<Option<String>, Complaint> {
        let Some(budget) = self.budget.filter(|budget| *budget > 0) else { return Ok(None) };
        if let Some(reason) = is_flawed(record) {
            return Err(Complaint::usage(reason));
        }
        if self.find(maker)?.is_some() {
            return Ok(None);
        }
        let bytes = kvdyno_host::size::measure(database).map_or(0, |size| size.used_bytes);
        let copy_bytes = if maker.case.database.is_state { 0 } else { bytes };
        let needed_bytes = needed_bytes.saturating_add(copy_bytes);
        let storage = Storage::from_path(&Root::system(), database);
        let free_bytes = storage.map_or(u64::MAX, |storage| storage.free_bytes);
        if free_bytes < needed_bytes {
            let [free, needed] = [free_bytes, needed_bytes].map(units::bytes);
            let what =
                format!("expected {needed} of free space for the rest of the run, found {free}");
            return Err(Complaint::usage(what));
        }
        let store = store_path(&maker.data_dir, &self.run);
        let complain = |error: StateError| complain(&error, &maker.data_dir, &store);
        let states = States::open(&store).map_err(complain)?;
        let removed = states.make_room(bytes, budget).map_err(complain)?;
        let description = describe(maker, record, run_name(&self.run));
        let state = states.keep(description, database, None, go_on).map_err(complain)?;
        let state = HeldState { state, is_earlier: false };
        self.held.insert(maker.case.database.id.clone(), state);
        let removed_bytes: u64 = removed.iter().map(|state| state.bytes).sum();
        Ok((removed_bytes > 0).then(|| {
            let (number, bytes) = (removed.len(), units::bytes(removed_bytes));
            format!("removed {number} of the kept states, the longest unused: {bytes}")
        }))
    }
}

fn run_name(run: &Path) -> String {
    run.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the reason why later runs should not begin with this database.
fn is_flawed(record: &CaseRecord) -> Option<String> {
    let ops =
        record.phases.iter().flat_map(|phase| &phase.roles).flat_map(|role| role.ops.values());
    let errors: u64 = ops.map(|op| op.errors.values().sum::<u64>()).sum();
    let limit = &record.ram_limit;
    if errors > 0 {
        return Some(format!("expected a load without failed operations, found {errors}"));
    }
    (limit.requested_bytes.is_some() && limit.enforced_by.is_none())
        .then(|| "its RAM limit was not enforced".to_owned())
}

/// Adds the option that leads to a store in a data directory: the commands that an error names look
/// into the store of runs.
fn complain(error: &StateError, data_dir: &Path, store: &Path) -> Complaint {
    let complaint = Complaint::usage(error.to_string());
    if store.starts_with(data_dir) {
        complaint.hint(format!("add `--data-dir {}` to `kvdyno state`", data_dir.display()))
    } else {
        complaint
    }
}

fn describe(maker: &Maker<'_>, record: &CaseRecord, run: String) -> StateDescription {
    let Maker { case, worker, .. } = maker;
    let phases: Vec<&str> = case.phases.iter().map(|phase| phase.name.as_str()).collect();
    StateDescription {
        id: maker.id(),
        engine: case.engine.clone(),
        label: format!(
            "{}, {}: {} of {} after {}, trial {}",
            case.label,
            case.options.durability.as_str(),
            units::count(case.data.records),
            units::bytes(case.user_bytes()),
            phases.join(", "),
            case.trial
        ),
        engine_version: worker.description.engine.version.clone(),
        library_sha256: worker.library.as_ref().map(|library| library.sha256.clone()),
        records: case.data.records,
        run,
        took_ns: record.wall_ns,
        sample: None,
    }
}

impl Maker<'_> {
    /// A digest of all that the database depends on. Each trial has another.
    pub(super) fn id(&self) -> String {
        let Self { case, worker, .. } = self;
        let all = json!({
            "worker": worker.sha256,
            "library": worker.library.as_ref().map(|library| &library.sha256),
            "engine": case.engine,
            "options": case.options,
            "crew": case.crew,
            "data": case.data,
            "shape": case.shape,
            "phases": case.phases,
            "ram_limit_bytes": case.ram_limit_bytes,
            "ram_limit_from": case.ram_limit_from,
            "tier": case.tier,
            "trial": case.trial,
            // Engines set their number of threads by that of processors.
            "cpus": std::thread::available_parallelism().map_or(0, usize::from),
        });
        short_digest(&all, ID_BYTES)
    }
}
