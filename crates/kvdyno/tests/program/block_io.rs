//! Block I/O recorded in the kernel, and commits compared with flushes.

use super::limits::doctor_finds;
use super::locations::can_mount;
use super::scratch::{Scratch, record, records};
use super::suites::{UPDATE, reads, suite};
use super::workers::{needs, needs_root};
use kvdyno_record::blockio::IoKind;

/// Whether block I/O can be recorded here, by `doctor`.
fn can_watch(scratch: &Scratch, test: &str) -> bool {
    doctor_finds(scratch, "block_io", "blockio", test)
}

#[test]
fn every_case_has_its_block_io_and_nothing_where_it_was_not_asked_for() {
    let test = "every_case_has_its_block_io_and_nothing_where_it_was_not_asked_for";
    let scratch = Scratch::new();
    if !can_watch(&scratch, test) {
        return;
    }
    scratch.write("s.toml", &reads().engine("null").text());
    scratch.run(&["run", "s.toml", "--io-log"]).assert_ok();
    let run = scratch.only_run();
    let sums = std::fs::read_to_string(run.path.join("SHA256SUMS")).unwrap();
    for case in records(&run).values() {
        assert!(case.not_measured.is_empty(), "{:?}", case.not_measured);
        let dir = run.case(&case.case, case.attempt);
        let io = dir.block_io().unwrap().unwrap();
        let phases: Vec<&str> = io.phases.iter().map(|phase| phase.phase.as_str()).collect();
        let expected: Vec<&str> = case.phases.iter().map(|phase| phase.name.as_str()).collect();
        assert_eq!(phases, expected);
        let lines = csv_lines(&dir.path.join("blockio.csv"));
        assert_eq!(io.logged, Some(lines));
        let counted = io.phases.iter().flat_map(|phase| &phase.io.cells).map(|cell| cell.count);
        assert!(counted.sum::<u64>() <= lines, "the log is of the whole case");
        for phase in &case.phases {
            let readings = dir.block_io_readings().unwrap();
            let readings = readings.collect::<Result<Vec<_>, _>>().unwrap();
            assert!(readings.iter().filter(|reading| reading.phase == phase.name).count() >= 2);
        }
        let name = dir.path.file_name().unwrap().to_str().unwrap();
        for file in ["blockio.json", "blockio.ndjson", "blockio.csv"] {
            assert!(sums.contains(&format!("cases/{name}/{file}")), "{file} is sealed");
        }
    }
    scratch.run(&["check"]).assert_code(0);
    let plain = Scratch::new();
    plain.write("s.toml", &reads().engine("null").text());
    plain.run(&["run", "s.toml"]).assert_ok();
    let run = plain.only_run();
    for case in records(&run).values() {
        let dir = run.case(&case.case, case.attempt);
        assert_eq!(dir.block_io().unwrap(), None);
        assert!(!dir.path.join("blockio.ndjson").exists());
    }
}

fn csv_lines(path: &std::path::Path) -> u64 {
    std::fs::read_to_string(path).unwrap().lines().count() as u64 - 1
}

#[test]
fn without_rights_it_runs_and_says_that_block_io_is_not_measured() {
    let test = "without_rights_it_runs_and_says_that_block_io_is_not_measured";
    if !needs_root(test) {
        return;
    }
    let scratch = Scratch::of_nobody();
    scratch.write("s.toml", &reads().engine("null").text());
    let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let words = ["run", "s.toml", "--io-latency"];
    scratch.start(scratch.kvdyno_by(&nobody, &words)).wait().assert_ok();
    for record in records(&scratch.only_run()).values() {
        let output =
            record.not_measured.iter().find(|output| output.starts_with("block I/O latency: "));
        let output = output.unwrap_or_else(|| panic!("{:?}", record.not_measured));
        let helps = output.contains("CAP_BPF");
        // The machine may have no device there, or no kernel type information.
        assert!(helps || output.contains("no device") || output.contains("BTF"), "{output}");
    }
}

/// LMDB, 2000 commits by one writer.
fn commits() -> String {
    let suite = suite().engine("lmdb").load("batch = 500").measure("operations = 2000");
    let text = suite.role("writer", UPDATE).text();
    text.replace("name = \"lmdb\"\n", "name = \"lmdb\"\ndurability = \"commit\"\n")
}

#[test]
fn each_commit_of_lmdb_is_flushed() {
    let test = "each_commit_of_lmdb_is_flushed";
    let scratch = Scratch::new();
    if !needs("lmdb", test) || !can_watch(&scratch, test) {
        return;
    }
    scratch.write("s.toml", &commits());
    scratch.run(&["run", "s.toml", "--io-latency", "--table", "io"]).assert_ok();
    let summary = scratch.run(&["show", "--json"]).json();
    assert!(!summary["findings"].to_string().contains("commit-not-flushed"), "{summary}");
    let run = scratch.only_run();
    let case = record(&run, "lmdb_t1");
    let io = run.case(&case.case, case.attempt).block_io().unwrap().unwrap();
    let cells = &io.phases.iter().find(|phase| phase.phase == "measure").unwrap().io.cells;
    let flushes = cells.iter().filter(|cell| cell.kind == IoKind::Flush).map(|cell| cell.count);
    let durable = flushes.sum::<u64>() + cells.iter().map(|cell| cell.fua).sum::<u64>();
    assert!(durable >= 2000, "{durable} for 2000 commits");
}

#[test]
fn commits_that_are_not_flushed_are_found_with_and_without_the_watch() {
    let test = "commits_that_are_not_flushed_are_found_with_and_without_the_watch";
    if !needs("lmdb", test) || !can_mount(test) {
        return;
    }
    for watch in [&["--io-latency"][..], &[]] {
        let scratch = Scratch::new();
        scratch.write("s.toml", &commits());
        std::fs::create_dir(scratch.path("mnt")).unwrap();
        std::fs::File::create(scratch.path("image")).unwrap().set_len(256 << 20).unwrap();
        // The filesystem does not flush on request.
        let mounting = "mkfs.ext4 -q -F image && mount -o loop,nobarrier image mnt";
        let words = [&["run", "s.toml", "--full", "--data-dir", "mnt"], watch].concat();
        let done = scratch.start(scratch.kvdyno_after(mounting, &words)).wait();
        done.assert_says("commit-not-flushed").assert_says("2,000 commits");
    }
}
