//! The runs that this user began on this machine. Only these are resumed: a resumed run loads the
//! libraries, runs the commands and writes to the paths of its record, and a record may come from a
//! stranger.
//!
//! The proof is outside the record: `~/.cache/kvdyno/begun/ID.json`.

use crate::exit::Complaint;
use crate::records::bundle::is_dir_name;
use anyhow::Context as _;
use kvdyno_record::engine::library;
use kvdyno_record::files::{RunDir, format_json, read_json, sha256, write_json};
use kvdyno_record::plan::Plan;
use kvdyno_record::run::RunRecord;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The age from which on the proof of a run without a directory is removed: it may have been moved.
const MOVED: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The proof that a run began here.
#[derive(Default, Serialize, Deserialize)]
struct Proof {
    /// The run's directory.
    path: PathBuf,
    /// Checksums of its record, one for each plan that it had: trials and rates are added.
    records: BTreeSet<String>,
}

/// Writes a run's plan, which [`check`] then knows.
pub(crate) fn write_plan(dir: &RunDir, plan: &Plan) -> anyhow::Result<()> {
    let bytes = format_json(&dir.path, plan)?;
    // Without a proof the run goes on, but cannot be resumed: `add` reports that when it starts.
    let _ = add_plan(&store(), dir, &dir.run()?, &checksum(&bytes));
    Ok(dir.write_plan(plan)?)
}

/// Adds the current plan of a run, and a record that is not written yet.
pub(crate) fn add(dir: &RunDir, run: &RunRecord) -> anyhow::Result<()> {
    add_to(&store(), dir, run)
}

/// Refuses a record that was not begun here, or has another plan.
pub(crate) fn check(dir: &RunDir) -> anyhow::Result<()> {
    check_in(&store(), dir)
}

/// Removes old proofs of runs whose directories are gone.
pub(crate) fn remove_old() {
    remove_old_in(&store(), MOVED);
}

fn store() -> PathBuf {
    library::cache().join("begun")
}

fn add_to(store: &Path, dir: &RunDir, run: &RunRecord) -> anyhow::Result<()> {
    add_plan(store, dir, run, &sha256(&dir.path.join("plan.json"))?)
}

fn add_plan(store: &Path, dir: &RunDir, run: &RunRecord, plan: &str) -> anyhow::Result<()> {
    let file = proof_file(store, run).context("there is no home directory")?;
    fs::create_dir_all(store).with_context(|| format!("failed to create {}", store.display()))?;
    let mut proof: Proof = read_json(&file).unwrap_or_default();
    proof.path.clone_from(&dir.path);
    proof.records.insert(record_checksum(dir, run, plan)?);
    Ok(write_json(&file, &proof)?)
}

fn check_in(store: &Path, dir: &RunDir) -> anyhow::Result<()> {
    let run = dir.run()?;
    let record = record_checksum(dir, &run, &sha256(&dir.path.join("plan.json"))?)?;
    let proof = proof_file(store, &run).and_then(|file| read_json::<Proof>(&file).ok());
    if proof.is_some_and(|proof| proof.records.contains(&record)) {
        return Ok(());
    }
    let path = dir.path.display();
    let what = format!(
        "{path} was not begun by this user on this machine, or was changed since: it may load any \
         library and run any command"
    );
    let hint = format!("`kvdyno rerun {path}` repeats its work with the engines of this machine");
    Err(Complaint::usage(what).hint(hint).into())
}

fn remove_old_in(store: &Path, age: Duration) {
    for entry in store.read_dir().into_iter().flatten().flatten() {
        let modified = entry.metadata().and_then(|meta| meta.modified()).ok();
        let is_old = modified.and_then(|time| time.elapsed().ok()).is_some_and(|past| past >= age);
        let is_there = |proof: Proof| proof.path.try_exists().unwrap_or(true);
        if is_old && !read_json(&entry.path()).is_ok_and(is_there) {
            // A file that cannot be removed disturbs nothing.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// None: the id is a path, or the store could be in a stranger's directory.
fn proof_file(store: &Path, run: &RunRecord) -> Option<PathBuf> {
    (store.is_absolute() && is_dir_name(&run.id)).then(|| store.join(format!("{}.json", run.id)))
}

/// The checksum of all that a resumed run obeys: its plan, the suite from which a search makes more
/// cases, and the paths that it writes to.
fn record_checksum(dir: &RunDir, run: &RunRecord, plan: &str) -> anyhow::Result<String> {
    let suite = sha256(&dir.path.join("suite.toml"))?;
    let trace = run.trace.as_ref().map(|path| path.display().to_string()).unwrap_or_default();
    Ok(checksum(format!("{plan}\0{suite}\0{}\0{trace}", run.data_dir).as_bytes()))
}

fn checksum(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kvdyno_analysis::fixture::Fixture;

    #[test]
    fn only_a_run_that_began_here_is_known_and_only_as_it_was_planned() {
        let scratch = tempfile::tempdir().unwrap();
        let (store, moved) = (scratch.path().join("begun"), scratch.path().join("moved"));
        let fixture = Fixture::new();
        let dir = fixture.write_partial(&scratch.path().join("run"));
        let refused = check_in(&store, &dir).unwrap_err();
        let complaint = crate::exit::complaint(&refused).unwrap();
        assert!(complaint.message.contains("run was not begun"), "{}", complaint.message);
        assert!(complaint.hint.as_ref().unwrap().contains("`kvdyno rerun "));
        add_to(&store, &dir, &fixture.run).unwrap();
        check_in(&store, &dir).unwrap();
        fs::rename(&dir.path, &moved).unwrap();
        let dir = RunDir { path: moved };
        check_in(&store, &dir).unwrap();

        let write_run = |run: RunRecord| dir.write_run(&run).unwrap();
        write_run(RunRecord { data_dir: "/elsewhere".to_owned(), ..fixture.run.clone() });
        check_in(&store, &dir).unwrap_err();
        write_run(RunRecord { trace: Some("/elsewhere".into()), ..fixture.run.clone() });
        check_in(&store, &dir).unwrap_err();
        write_run(RunRecord { id: "../begun/x".to_owned(), ..fixture.run.clone() });
        check_in(&store, &dir).unwrap_err();
        write_run(fixture.run.clone());
        let suite = dir.path.join("suite.toml");
        let text = fs::read(&suite).unwrap();
        fs::write(&suite, "name = \"theirs\"\n").unwrap();
        check_in(&store, &dir).unwrap_err();
        fs::write(&suite, text).unwrap();
        let mut plan = fixture.plan.clone();
        plan.cases.truncate(1);
        dir.write_plan(&plan).unwrap();
        check_in(&store, &dir).unwrap_err();
        // A plan that grew is known, and the one before it: the program may be killed in between.
        add_to(&store, &dir, &fixture.run).unwrap();
        check_in(&store, &dir).unwrap();
        dir.write_plan(&fixture.plan).unwrap();
        check_in(&store, &dir).unwrap();
    }

    #[test]
    fn a_store_without_a_home_is_not_trusted() {
        let scratch = tempfile::tempdir().unwrap();
        let fixture = Fixture::new();
        let dir = fixture.write_partial(&scratch.path().join("run"));
        assert!(add_to(Path::new(".cache"), &dir, &fixture.run).is_err());
    }

    #[test]
    fn a_proof_goes_after_its_run() {
        let scratch = tempfile::tempdir().unwrap();
        let store = scratch.path().join("begun");
        let fixture = Fixture::new();
        let dir = fixture.write_partial(&scratch.path().join("run"));
        add_to(&store, &dir, &fixture.run).unwrap();
        let proofs = || store.read_dir().unwrap().count();
        remove_old_in(&store, Duration::ZERO);
        assert_eq!(proofs(), 1, "its run is there");
        fs::remove_dir_all(&dir.path).unwrap();
        remove_old_in(&store, MOVED);
        assert_eq!(proofs(), 1, "it may have been moved");
        remove_old_in(&store, Duration::ZERO);
        assert_eq!(proofs(), 0);
    }
}
