//! Drives that remember, for these tests: the process that serves them is this test program again,
//! which runs one hidden test.

use kvdyno_testing::report_skip;
use kvdyno_torture::Recorder;
use std::process::Command;
use tempfile::TempDir;

pub(crate) const DRIVE_BYTES: u64 = 6 << 20;

/// The name of the hidden test.
const TEST: &str = "recorder::serve";

/// Set where it is started by [`mount`], and not by hand.
const STARTED: &str = "KVDYNO_TEST_RECORDER";

/// Mounts `drives` drives below a directory; `None`, and the reason printed, where FUSE is not to
/// be had.
pub(crate) fn mount(drives: usize) -> Option<(Recorder, TempDir)> {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Command::new(std::env::current_exe().unwrap());
    server
        .args([TEST, "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .env(STARTED, "1");
    match Recorder::mount(server, dir.path(), &vec![DRIVE_BYTES; drives]) {
        Ok(recorder) => Some((recorder, dir)),
        Err(error) => {
            report_skip("fuse", "a drive that remembers", &error.to_string());
            None
        }
    }
}

#[test]
#[ignore = "not a test: the process that `mount` starts"]
fn serve() {
    if std::env::var_os(STARTED).is_some() {
        kvdyno_torture::attend().unwrap();
    }
}
