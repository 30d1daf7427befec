//! Databases of the user's: copies of them are measured.

use crate::scratch::{Scratch, files_below, record};
use crate::workers::{find, needs};
use kvdyno_record::case::Outcome;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A load of an engine's, kept as a database of somebody's.
fn make(scratch: &Scratch, engine: &str) -> PathBuf {
    let suite = format!(
        "[suite]
name = \"made\"
[data]
records = 5_000
key_bytes = {{ uniform = {{ min = 20, max = 40 }} }}
value_bytes = {{ uniform = {{ min = 50, max = 300 }} }}
[run]
trials = 1
database = \"state\"
[[engine]]
name = \"{engine}\"
[[phase]]
kind = \"load\"
order = \"random\"
[[phase]]
kind = \"settle\"
[[phase]]
kind = \"measure\"
duration = \"1s\"
[[phase.role]]
name = \"readers\"
mix = [{{ op = \"get\" }}]
"
    );
    scratch.write("made.toml", &suite);
    let runs = scratch.path("made");
    let runs = runs.to_str().unwrap();
    scratch.run(&["state", "make", "made.toml", "--runs", runs]).assert_ok();
    let states = fs::read_dir(scratch.path("made/states")).unwrap().map(|entry| entry.unwrap());
    let state = states.map(|entry| entry.path()).next().unwrap();
    let own = scratch.path("own");
    fs::rename(state.join("database"), &own).unwrap();
    fs::remove_dir_all(scratch.path("made")).unwrap();
    own
}

/// Of all files, by their names.
fn digests(path: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = if path.is_dir() { files_below(path) } else { vec![path.to_owned()] };
    let digest = |file: &PathBuf| Sha256::digest(fs::read(file).unwrap()).to_vec();
    files.into_iter().map(|file| (file.clone(), digest(&file))).collect()
}

fn quick(scratch: &Scratch, engine: &str, own: &Path, more: &[&str]) -> crate::scratch::Done {
    let own = own.to_str().unwrap();
    let fixed = ["quick", engine, "--from", own, "--ram", "all", "--threads", "1", "--trials", "1"];
    let short = ["--duration", "300ms", "--no-drive"];
    scratch.run(&[&fixed[..], &short, more].concat())
}

#[test]
fn a_copy_of_ones_own_database_is_measured_and_the_original_stays() {
    let test = "a_copy_of_ones_own_database_is_measured_and_the_original_stays";
    are_measured_and_stay(&["lmdb", "sqlite", "rocksdb"], test);
}

fn are_measured_and_stay(engines: &[&str], test: &str) {
    for &engine in engines {
        let scratch = Scratch::new();
        if !needs(engine, test) {
            continue;
        }
        if !scratch.path(&format!("engines/kvdyno-{engine}")).exists() {
            scratch.link(engine, &find(engine).unwrap());
        }
        let mut own = make(&scratch, engine);
        if engine == "sqlite" {
            own = own.join("kv.sqlite");
        }
        let before = digests(&own);
        quick(&scratch, engine, &own, &[]).assert_ok();
        assert_eq!(digests(&own), before, "{engine}: the original is as it was");
        let run = scratch.only_run();
        let measured = record(&run, "_t1_r1");
        assert_eq!(measured.outcome, Outcome::Done, "{engine}");
        let from = measured.case.data.from.as_ref().unwrap();
        assert_eq!((from.sample.records, from.sample.keys), (5_000, 5_000), "{engine}");
        assert_eq!((from.sample.key_bytes.min(), from.sample.key_bytes.max()), (20, 40));
        assert_eq!((from.sample.value_bytes.min(), from.sample.value_bytes.max()), (50, 300));
        let role = &measured.phases.iter().find(|phase| phase.kind == "measure").unwrap().roles[0];
        assert!(role.ops["get"].count > 10 && role.ops["update"].count > 0, "{engine}: {role:?}");
        assert_eq!(role.ops["get"].hits, role.ops["get"].count, "{engine}");
        // A second run takes the copy that is there.
        let planned = quick(&scratch, engine, &own, &["--plan"]);
        planned.assert_ok().assert_says("5,000 records");
    }
}

#[test]
fn what_cannot_be_measured_is_refused_before_anything_is_copied() {
    let scratch = Scratch::new();
    let own = make(&scratch, "lmdb");
    let refused = |engine: &str, own: &Path, words: &str| {
        quick(&scratch, engine, own, &["--plan"]).assert_code(2).assert_says(words);
        assert!(!scratch.path("runs/states").exists(), "nothing is copied");
    };
    refused("lmdb", &scratch.path("gone"), "cannot find");
    refused("lmdb", scratch.path("made.toml").as_path(), "found another format");
    if needs("rocksdb", "what_cannot_be_measured_is_refused_before_anything_is_copied") {
        refused("rocksdb", &own, "found one of lmdb");
    }
    let linked = scratch.path("linked");
    fs::create_dir(&linked).unwrap();
    std::os::unix::fs::symlink(own.join("data.mdb"), linked.join("data.mdb")).unwrap();
    refused("lmdb", &linked, "is a symbolic link");
    let mut holder = Command::new("sh")
        .args(["-c", "exec 3< \"$0\"; echo open; exec sleep 60"])
        .arg(own.join("data.mdb"))
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = [0; 5];
    std::io::Read::read_exact(holder.stdout.as_mut().unwrap(), &mut line).unwrap();
    refused("lmdb", &own, "is open in process");
    holder.kill().unwrap();
    holder.wait().unwrap();
    fs::write(scratch.path("keys"), "").unwrap();
    let empty = scratch.path("keys");
    quick(&scratch, "lmdb", &own, &["--plan", "--keys-file", empty.to_str().unwrap()])
        .assert_code(2)
        .assert_says("expected a key on each line");
}

mod soak {
    use super::*;

    #[test]
    fn a_copy_of_a_plugins_database_is_measured_and_the_original_stays() {
        let test = "a_copy_of_a_plugins_database_is_measured_and_the_original_stays";
        are_measured_and_stay(&["leveldb", "wiredtiger"], test);
    }
}
