//! An engine from outside of the repository: what `new-engine` writes passes the kit, and is run as
//! any other.

use super::scratch::{Scratch, files_below, list, records};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where it is built, so that its dependencies are there at the next time.
fn target() -> PathBuf {
    let tests = Path::new(env!("CARGO_TARGET_TMPDIR"));
    tests.parent().unwrap().join("new-engine")
}

/// Runs cargo in the crate, with what is on this machine alone.
#[track_caller]
fn cargo(dir: &Path, arguments: &[&str]) {
    let mut command = Command::new(env!("CARGO"));
    command.args(arguments).current_dir(dir).env("CARGO_TARGET_DIR", target());
    // For small files: nobody debugs this, and nobody builds it a second time.
    command.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_INCREMENTAL", "0");
    let output = command.env("CARGO_NET_OFFLINE", "true").output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let outputs = format!("{}\n{}", text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "cargo {arguments:?}: {outputs}");
}

#[test]
fn what_cannot_be_made_is_refused_and_nothing_touched() {
    let scratch = Scratch::new();
    scratch.write("file", "");
    fs::create_dir(scratch.path("kvdyno-there")).unwrap();
    let before = list(&scratch.path("."));
    for (arguments, words) in [
        (&["Mine"][..], ["`Mine`", "a-z, 0-9, - and _"]),
        (&[""], ["``", "a-z, 0-9, - and _"]),
        (&["../mine"], ["`../mine`", "a-z, 0-9, - and _"]),
        (&["lmdb"], ["`lmdb`", "kvdyno's own"]),
        (&["there"], ["kvdyno-there", "exists"]),
        (&["mine", "--into", "gone"], ["gone", "--into"]),
        (&["mine", "--into", "file"], ["file", "--into"]),
    ] {
        let done = scratch.run(&[&["new-engine"], arguments].concat());
        done.assert_code(2).assert_says(words[0]).assert_says(words[1]);
        assert_eq!(done.out, "");
    }
    assert_eq!(list(&scratch.path(".")), before);
    assert!(list(&scratch.path("kvdyno-there")).is_empty());
    scratch.assert_nothing_left();
}

mod soak {
    use super::*;

    #[test]
    fn a_new_engine_passes_the_kit_and_is_run() {
        let scratch = Scratch::new();
        fs::create_dir(scratch.path("my code")).unwrap();
        let made = scratch.run(&["new-engine", "mine", "--into", "my code"]);
        let dir = scratch.path("my code/kvdyno-mine");
        made.assert_code(0).assert_says(&format!("wrote {}", dir.display()));
        let build =
            "cargo build --release\n  KVDYNO_ENGINE_PATH=$PWD/target/release kvdyno run quick";
        made.assert_says("cargo test\n").assert_says(build);
        assert_eq!(files_below(&dir).len(), 4, "{:?}", files_below(&dir));

        cargo(&dir, &["fmt", "--check"]);
        cargo(&dir, &["clippy", "--quiet", "--all-targets", "--", "--deny", "warnings"]);
        cargo(&dir, &["test", "--quiet"]);
        cargo(&dir, &["build", "--quiet"]);
        let engines = scratch.path("mine");
        fs::create_dir(&engines).unwrap();
        fs::copy(target().join("debug/kvdyno-mine"), engines.join("kvdyno-mine")).unwrap();
        // Each time it is made in another directory, and is another crate to cargo.
        cargo(&dir, &["clean", "--quiet", "--package", "kvdyno-mine"]);

        let mut command = scratch.kvdyno(&[
            "run",
            "quick",
            "--engine",
            "mine",
            "--no-ram-limit",
            "--scale",
            "1/1000",
            "--duration",
            "200ms",
            "--threads",
            "2",
            "--trials",
            "1",
        ]);
        command.env("KVDYNO_ENGINE_PATH", &engines);
        let done = scratch.start(command).wait();
        // It was not built to be measured, and that is said.
        done.assert_code(4).assert_says("debug-build").assert_says("durability async");
        let records = records(&scratch.only_run());
        let outcomes: Vec<_> =
            records.iter().map(|(id, case)| (id, case.outcome.as_str())).collect();
        // The pilot, the load, and two threads on what was loaded.
        assert!(
            outcomes.len() == 3 && outcomes.iter().all(|(_, word)| *word == "done"),
            "{outcomes:?}"
        );
        assert!(records.values().all(|case| case.case.engine == "mine"));
        scratch.run(&["check"]).assert_says("verify");
        scratch.assert_nothing_left();
    }
}
