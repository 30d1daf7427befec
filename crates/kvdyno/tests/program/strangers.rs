//! Bug 14: processes and files of others are not touched.

use super::scratch::{Scratch, list};
use super::suites::reads;
use super::workers;
use std::fs;
use std::process::{Child, Command, Stdio};

/// Programs of somebody else, which end with the test.
#[derive(Default)]
struct Strangers(Vec<Child>);

impl Drop for Strangers {
    fn drop(&mut self) {
        for stranger in &mut self.0 {
            let _ = stranger.kill();
            let _ = stranger.wait();
        }
    }
}

/// Tools that wrap a run in `killall iostat` end the monitors of others. Here other processes have
/// the names of monitors and of kvdyno's workers, and survive.
#[test]
fn strangers_live_on() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("strangers")).unwrap();
    let mut strangers = Strangers::default();
    for name in ["iostat", "vmstat", "kvdyno-null", "kvdyno"] {
        let program = scratch.path("strangers").join(name);
        workers::install("/bin/sleep", &program);
        strangers.0.push(Command::new(program).arg("600").stdin(Stdio::null()).spawn().unwrap());
    }
    scratch.write("s.toml", &reads().ram("256MiB").engine("null").text());
    scratch.run(&["run", "s.toml"]).assert_ok();
    // A killed worker affects no other process.
    let hangs = reads().run("budget = \"1s\"").engine_as("null", "null", "hang_at_op = 100");
    scratch.write("hangs.toml", &hangs.text());
    scratch.run(&["run", "hangs.toml"]).assert_says("out of time");
    let alive: Vec<bool> =
        strangers.0.iter_mut().map(|stranger| stranger.try_wait().unwrap().is_none()).collect();
    assert_eq!(alive, [true; 4]);
    scratch.assert_nothing_left();
}

#[test]
fn files_beside_a_place_and_beside_runs_are_left_alone() {
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.path("runs/mine")).unwrap();
    scratch.write("runs/mine/notes", "precious");
    fs::create_dir(scratch.path("disk")).unwrap();
    scratch.write("disk/notes", "precious");
    scratch.write("s.toml", &reads().engine("null").text());
    scratch.run(&["run", "s.toml", "--data-dir", "disk/place", "--create-data-dir"]).assert_ok();
    assert_eq!(list(&scratch.path("disk")), ["notes"]);
    assert_eq!(list(&scratch.path("runs/mine")), ["notes"]);
    scratch.run(&["list"]).assert_code(0).assert_says("complete");
}
