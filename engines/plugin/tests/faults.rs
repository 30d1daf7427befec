//! Plugins that break their contract: each is named, with what is wrong and what would be right.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use kvdyno_testing::report_skip;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A compiled plugin, in a directory of its own.
struct Plugin {
    dir: tempfile::TempDir,
    path: PathBuf,
}

/// None: there is no C compiler, and the test is skipped.
fn compile(test: &str, source: &Path, arguments: &[&str]) -> Option<Plugin> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("libkvdyno-faulty.so");
    let mut compiler = Command::new("cc");
    compiler.args(["-std=c99", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-Wno-unused"]);
    compiler.args(["-shared", "-fPIC", "-o"]).arg(&path).arg(source).args(arguments);
    let Ok(output) = compiler.arg("-lpthread").output() else {
        report_skip("compilers", test, "no `cc`");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(Plugin { dir, path })
}

fn faulty(test: &str, fault: &str) -> Option<Plugin> {
    let source = Path::new(env!("KVDYNO_SOURCE")).join("engines/plugin/tests/faulty.c");
    compile(test, &source, &[&format!("-DFAULT={fault}")])
}

impl Plugin {
    fn run(&self, command: &[&str]) -> Output {
        let mut worker = Command::new(env!("CARGO_BIN_EXE_kvdyno-plugin"));
        worker.arg("--library").arg(&self.path).args(command).output().unwrap()
    }

    /// One check of the kit, which reads.
    fn read(&self) -> Output {
        let scratch = self.dir.path().to_string_lossy().into_owned();
        self.run(&["conformance", &scratch, "shows a value exactly once"])
    }
}

/// What was printed by a process that a signal has ended.
fn read_until_killed(fault: &str, output: &Output) -> String {
    let printed = text(output);
    assert!(output.status.signal().is_some(), "{fault}: {:?} {printed}", output.status);
    printed
}

fn text(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

#[test]
fn a_library_that_is_no_plugin_is_refused_with_the_reason() {
    let test = "a_library_that_is_no_plugin_is_refused_with_the_reason";
    for (fault, words) in [
        ("OTHER_VERSION", "version 99 of kvdyno_engine.h, this kvdyno has version 1"),
        ("RUBBISH", "`describe` returns no description: expected value at line 1"),
        ("NO_GET", "its function `get` is null"),
        ("UNKNOWN_CLAIM", "unknown field `flies`"),
        ("CLAIM_WITHOUT_FUNCTION", "no function for: `delete (needs remove)`"),
        ("OTHER_NAME", "is of engine `faulty`, but it describes engine `yours`"),
    ] {
        let Some(plugin) = faulty(test, fault) else { return };
        let output = plugin.run(&["describe"]);
        let printed = text(&output);
        assert_eq!(output.status.code(), Some(2), "{fault}: {printed}");
        assert!(
            printed.starts_with("error: library /") && printed.contains(words),
            "{fault}: {printed}"
        );
    }
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("empty.c");
    std::fs::write(&source, "extern int nothing;\n").unwrap();
    let Some(plugin) = compile(test, &source, &[]) else { return };
    let printed = text(&plugin.run(&["describe"]));
    assert!(printed.contains("no function `kvdyno_get_engine`"), "{printed}");
    std::fs::write(&plugin.path, "no library").unwrap();
    let printed = text(&plugin.run(&["describe"]));
    assert!(
        printed.contains("libkvdyno-faulty.so") && printed.contains("kvdyno new-engine"),
        "{printed}"
    );
}

#[test]
fn a_program_without_a_plugin_says_what_to_name() {
    let output = Command::new(env!("CARGO_BIN_EXE_kvdyno-plugin")).arg("describe").output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output).contains("--library PATH/libkvdyno-NAME.so"), "{}", text(&output));
}

#[test]
fn a_callback_at_a_wrong_moment_ends_the_process_with_the_reason() {
    let test = "a_callback_at_a_wrong_moment_ends_the_process_with_the_reason";
    for (fault, words) in [
        ("OTHER_THREAD", "it called back from another thread than that of the call"),
        ("TOO_LATE", "it called back after the call had returned"),
        ("SHOWS_TWICE", "it showed a value twice"),
    ] {
        let Some(plugin) = faulty(test, fault) else { return };
        let printed = read_until_killed(fault, &plugin.read());
        assert!(
            printed.contains("libkvdyno-faulty.so") && printed.contains(words),
            "{fault}: {printed}"
        );
    }
}

#[test]
fn counters_are_added_on_the_thread_of_their_call_and_until_it_returns() {
    let test = "counters_are_added_on_the_thread_of_their_call_and_until_it_returns";
    for (fault, words) in [
        ("COUNTS_ELSEWHERE", "it called back from another thread than that of the call"),
        ("COUNTS_TOO_LATE", "it called back after the call had returned"),
    ] {
        let Some(plugin) = faulty(test, fault) else { return };
        let scratch = plugin.dir.path().to_string_lossy().into_owned();
        let output = plugin.run(&["conformance", &scratch, "counters and events"]);
        let printed = read_until_killed(fault, &output);
        assert!(printed.contains(words), "{fault}: {printed}");
    }
}

/// The worker speaks to the program there.
#[test]
fn what_a_plugin_prints_is_not_what_its_worker_writes() {
    let Some(plugin) = faulty("what_a_plugin_prints_is_not_what_its_worker_writes", "PRINTS")
    else {
        return;
    };
    let output = plugin.run(&["describe"]);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && printed.starts_with('{'), "{printed}");
    assert!(!printed.contains("of the engine's own"), "{printed}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("of the engine's own"));
}

#[test]
fn what_a_plugin_returns_is_an_error_with_its_words() {
    let test = "what_a_plugin_returns_is_an_error_with_its_words";
    for (fault, words) in [
        ("SHOWS_NOTHING", "`get` returned KVDYNO_OK, and showed no value"),
        ("FAILS", "get: the sector is gone"),
        ("UNKNOWN_RESULT", "`get` of the plugin returned 77"),
    ] {
        let Some(plugin) = faulty(test, fault) else { return };
        let output = plugin.read();
        let printed = text(&output);
        assert_eq!(output.status.code(), Some(1), "{fault}: {printed}");
        assert!(printed.contains(words), "{fault}: {printed}");
    }
}

#[test]
fn an_option_that_is_not_described_ends_the_process_with_its_name() {
    let test = "an_option_that_is_not_described_ends_the_process_with_its_name";
    for (fault, words) in [
        ("ASKS_FOR_NO_INTEGER", "an option `cach_bytes` of kind integer or boolean, found none"),
        ("ASKS_FOR_NO_TEXT", "an option `compresion` of kind text, found none"),
        ("ASKS_FOR_OTHER_KIND", "an option `cache_bytes` of kind text, found another kind"),
    ] {
        let Some(plugin) = faulty(test, fault) else { return };
        let printed = read_until_killed(fault, &plugin.read());
        assert!(printed.contains(words), "{fault}: {printed}");
    }
}

#[test]
fn a_crash_in_open_ends_that_process_alone() {
    let Some(plugin) = faulty("a_crash_in_open_ends_that_process_alone", "CRASHES_IN_OPEN") else {
        return;
    };
    let described = plugin.run(&["describe"]);
    assert!(described.status.success(), "{}", text(&described));
    assert_eq!(plugin.read().status.signal(), Some(11));
}
